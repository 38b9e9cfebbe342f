//! Hull membership: is a point a weighted mean of given points, weights not negative and adding up to 1?
//!
//! Two questions, answered in turn. Does the point lie in the *affine* hull, the flat through all points (weights of any
//! sign that add up to 1)? And does it lie in the *convex* hull? The second is Wolfe's search for the point of smallest
//! norm among all weighted means of `yᵢ = pᵢ − q`:
//!
//! ```text
//! x = the shortest yᵢ; active set S = {i}
//! repeat: j = the point furthest against x (smallest x·yⱼ); stop where x·yⱼ ≥ x·x: x is shortest
//!         add j to S
//!         repeat: z = shortest point of the flat through S
//!                 weights of z all positive: x = z, leave
//!                 otherwise walk from x towards z until a weight becomes 0; drop that point from S
//! ```
//!
//! The active set stays affinely independent, so the weights are sparse. The end is a proof either way: weights that
//! rebuild the point, or the direction from the hull's nearest point, along which every given point falls short of it.

use super::rank::rank_tolerance;
use crate::check::{Argument, argument};
use crate::dense::{Pivoted, axpy, dot, load, load_vector, norm, norm_inf, pivoted_qr, power_of_two_near};
use crate::dense::{solve_upper, transposed_times};
use crate::project::ColumnSpace;
use crate::{Extent, LinearError};
use spanwise_kernels::{Element, Matrix, View, crew, stop};

/// A hyperplane with all given points on one side and the query on the other.
#[derive(Debug, Clone, PartialEq)]
pub struct SeparatingHyperplane {
    /// A unit vector (d), pointing from the hull to the query.
    pub normal: Vec<f64>,
    /// The largest `normal · p` of a given point: every one satisfies `normal · p ≤ offset`.
    pub offset: f64,
    /// `normal · query − offset`, above 0: the width of the gap along the normal.
    pub margin: f64,
}

/// Whether a point lies in the convex hull, with what proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct HullMembership {
    /// Whether the point is a weighted mean of the given points, within `tolerance`.
    pub inside: bool,
    /// Whether it lies in their affine hull, the flat through all of them.
    pub in_affine_hull: bool,
    /// Its distance from the affine hull.
    pub affine_distance: f64,
    /// Its distance from the convex hull: 0 up to rounding where inside.
    pub distance: f64,
    /// Weights of the given points (m), none negative, adding up to 1. Inside they rebuild the query; outside they give
    /// the nearest point of the hull.
    pub weights: Vec<f64>,
    /// `Σ weights · points` (d): the query, or the nearest point to it.
    pub nearest: Vec<f64>,
    /// The proof of being outside; `None` inside.
    pub separating: Option<SeparatingHyperplane>,
    /// Whether the given points are affinely independent. If so the weights are the only ones; if not, others may
    /// give the same point.
    pub unique: bool,
    /// Distances up to this count as 0: a few roundings of the largest coordinate.
    pub tolerance: f64,
    /// Steps of the search.
    pub iterations: usize,
}

/// Points whose hull is asked about more than once.
#[derive(Debug, Clone, PartialEq)]
pub struct Hull {
    points: Matrix,
    mean: Vec<f64>,
    /// The directions of the affine hull (d × rank).
    directions: Matrix,
}

const POINTS: Argument = argument("measure", "points");
const QUERY: Argument = argument("measure", "query");

/// About how often the points are gone through for one query, at the least.
const SEARCHES: usize = 64;

/// Whether `query` (d) lies in the convex hull of the rows of `points` (m × d, m ≥ 1).
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::measure::hull_membership;
///
/// let triangle = View::new(&[0.0, 0.0, 4.0, 0.0, 0.0, 4.0], &[3, 2])?;
/// let inside = hull_membership(triangle, View::new(&[1.0, 1.0], &[2])?)?;
/// assert!(inside.inside && inside.unique);
/// assert!((inside.weights[0] - 0.5).abs() < 1e-14);
///
/// let outside = hull_membership(triangle, View::new(&[4.0, 4.0], &[2])?)?;
/// let gap = outside.separating.unwrap();
/// assert!((gap.margin - 8.0_f64.sqrt()).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn hull_membership<T: Element>(
    points: View<'_, T>,
    query: View<'_, T>,
) -> Result<HullMembership, LinearError> {
    Hull::new(points)?.membership(query)
}

/// The same for each row of `query` (t × d).
pub fn hull_membership_of_many<T: Element>(
    points: View<'_, T>,
    query: View<'_, T>,
) -> Result<Vec<HullMembership>, LinearError> {
    let hull = Hull::new(points)?;
    let queries = load(QUERY, &query)?;
    QUERY.fits(Extent::Columns(queries.cols()), "points", Extent::Columns(hull.points.cols()))?;
    let cost = queries.rows() * hull.points.rows() * hull.points.cols() * SEARCHES;
    crew::map(cost, 0..queries.rows(), |i| hull.locate(queries.row(i))).into_iter().collect()
}

impl Hull {
    /// Takes the rows of `points` (m × d), at least one.
    pub fn new<T: Element>(points: View<'_, T>) -> Result<Self, LinearError> {
        POINTS.not_empty(&points)?;
        let points = load(POINTS, &points)?;
        let (m, d) = (points.rows(), points.cols());
        let mut mean = vec![0.0; d];
        for i in 0..m {
            axpy(&mut mean, 1.0 / m as f64, points.row(i));
        }
        // One point is subtracted, not the mean: differences of points are exact more often.
        let spread = Matrix::from_fn(d, m - 1, |i, j| points[(j + 1, i)] - points[(0, i)]);
        if spread.as_slice().iter().chain(&mean).any(|x| !x.is_finite()) {
            return Err(LinearError::Overflow { operation: POINTS.operation, argument: POINTS.name });
        }
        let directions = ColumnSpace::of_matrix(&spread, f64::EPSILON / 2.0)?.basis;
        Ok(Hull { points, mean, directions })
    }

    /// Where `query` (d) lies.
    pub fn membership<T: Element>(&self, query: View<'_, T>) -> Result<HullMembership, LinearError> {
        let query = load_vector(QUERY, &query)?;
        QUERY.fits(Extent::Length(query.len()), "points", Extent::Columns(self.points.cols()))?;
        self.locate(&query)
    }

    fn locate(&self, query: &[f64]) -> Result<HullMembership, LinearError> {
        let (m, d) = (self.points.rows(), self.points.cols());
        let size = norm_inf(self.points.as_slice()).max(norm_inf(query));
        let tolerance = rank_tolerance(d) * size;
        let mut off: Vec<f64> = query.iter().zip(&self.mean).map(|(q, mean)| q - mean).collect();
        for _ in 0..2 {
            let along = transposed_times(&self.directions, &off);
            axpy(&mut off, -1.0, &crate::dense::times(&self.directions, &along));
        }
        let affine_distance = norm(&off);
        let search = Search::new(&self.points, query);
        if !affine_distance.is_finite() || search.y.as_slice().iter().any(|y| !y.is_finite()) {
            return Err(LinearError::Overflow { operation: POINTS.operation, argument: POINTS.name });
        }
        let found = search.run()?;
        let mut nearest = vec![0.0; d];
        for (i, &weight) in found.weights.iter().enumerate() {
            axpy(&mut nearest, weight, self.points.row(i));
        }
        let away: Vec<f64> = query.iter().zip(&nearest).map(|(q, near)| q - near).collect();
        let distance = norm(&away);
        let inside = distance <= tolerance;
        Ok(HullMembership {
            inside,
            in_affine_hull: affine_distance <= tolerance,
            affine_distance,
            distance,
            separating: if inside { None } else { self.separate(query, &away, distance) },
            weights: found.weights,
            nearest,
            unique: self.directions.cols() + 1 == m,
            tolerance,
            iterations: found.iterations,
        })
    }

    /// The hyperplane across `away`, with its margin measured on the points themselves.
    fn separate(&self, query: &[f64], away: &[f64], distance: f64) -> Option<SeparatingHyperplane> {
        let normal: Vec<f64> = away.iter().map(|x| x / distance).collect();
        // Measured from the query, so that a large common offset does not hide a small gap.
        let gap = |i: usize| {
            let from: Vec<f64> = query.iter().zip(self.points.row(i)).map(|(q, p)| q - p).collect();
            dot(&normal, &from)
        };
        let margin = (0..self.points.rows()).map(gap).fold(f64::INFINITY, f64::min);
        let offset = dot(&normal, query) - margin;
        (margin > 0.0).then_some(SeparatingHyperplane { normal, offset, margin })
    }
}

/// Wolfe's search for the shortest weighted mean of `yᵢ = (pᵢ − q) / unit`.
struct Search {
    y: Matrix,
    /// The points in use and their weights; positive, adding up to 1.
    active: Vec<usize>,
    lambda: Vec<f64>,
    /// `Σ λ y` (d).
    x: Vec<f64>,
}

struct Found {
    weights: Vec<f64>,
    iterations: usize,
}

impl Search {
    fn new(points: &Matrix, query: &[f64]) -> Self {
        let mut y = Matrix::from_fn(points.rows(), points.cols(), |i, j| points[(i, j)] - query[j]);
        let unit = 1.0 / power_of_two_near(norm_inf(y.as_slice()));
        y.as_mut_slice().iter_mut().for_each(|y| *y *= unit);
        let shortest = (0..y.rows())
            .map(|i| norm(y.row(i)))
            .enumerate()
            .fold((0, f64::INFINITY), |best, (i, size)| if size < best.1 { (i, size) } else { best })
            .0;
        let x = y.row(shortest).to_vec();
        Search { y, active: vec![shortest], lambda: vec![1.0], x }
    }

    fn run(mut self) -> Result<Found, LinearError> {
        let (m, d) = (self.y.rows(), self.y.cols());
        let most = 50 * (m + d) + 1000;
        let mut iterations = 0;
        let mut shortest = f64::INFINITY;
        while iterations < most {
            stop::check();
            let size = dot(&self.x, &self.x);
            // Rounding alone would go on for ever: each round must shorten x.
            if size >= shortest * (1.0 - 4.0 * f64::EPSILON) || size <= f64::MIN_POSITIVE {
                break;
            }
            shortest = size;
            let along = |i: usize| dot(self.y.row(i), &self.x);
            let (j, least) = (0..m)
                .map(|i| (i, along(i)))
                .fold((0, f64::INFINITY), |best, here| if here.1 < best.1 { here } else { best });
            if least >= size * (1.0 - 8.0 * f64::EPSILON) || self.active.contains(&j) {
                break;
            }
            let before = (self.active.clone(), self.lambda.clone(), self.x.clone());
            self.active.push(j);
            self.lambda.push(0.0);
            iterations += self.settle();
            if dot(&self.x, &self.x) > size {
                (self.active, self.lambda, self.x) = before;
                break;
            }
        }
        if iterations >= most {
            let residual = norm(&self.x);
            return Err(LinearError::NoConvergence {
                operation: "measure",
                iterations,
                residual,
                tolerance: 0.0,
            });
        }
        let mut weights = vec![0.0; m];
        let total: f64 = self.lambda.iter().sum();
        for (&i, lambda) in self.active.iter().zip(&self.lambda) {
            weights[i] = lambda / total;
        }
        Ok(Found { weights, iterations })
    }

    /// Walks to the shortest point of the flat through the active points, dropping those whose weight becomes 0 on
    /// the way; returns the steps taken.
    fn settle(&mut self) -> usize {
        let mut steps = 0;
        loop {
            steps += 1;
            let target = self.flat_minimum();
            if target.iter().all(|&mu| mu > 0.0) || self.active.len() == 1 {
                self.lambda = target;
                break;
            }
            // How far towards the target before a weight becomes 0.
            let reach = |(lambda, mu): (&f64, &f64)| if mu <= &0.0 { lambda / (lambda - mu) } else { 1.0 };
            let theta = self.lambda.iter().zip(&target).map(reach).fold(1.0, f64::min);
            let first_to_go = (0..target.len()).filter(|&k| target[k] <= 0.0).min_by(|&a, &b| {
                reach((&self.lambda[a], &target[a])).total_cmp(&reach((&self.lambda[b], &target[b])))
            });
            let moved = self.lambda.iter().zip(&target).map(|(lambda, mu)| lambda + theta * (mu - lambda));
            let kept: Vec<(usize, f64)> = (self.active.iter().copied().zip(moved).enumerate())
                .filter(|&(k, (_, weight))| Some(k) != first_to_go && weight > 1e-15)
                .map(|(_, pair)| pair)
                .collect();
            if kept.is_empty() {
                break;
            }
            (self.active, self.lambda) = kept.into_iter().unzip();
        }
        self.x.fill(0.0);
        for (&i, &lambda) in self.active.iter().zip(&self.lambda) {
            axpy(&mut self.x, lambda, self.y.row(i));
        }
        steps
    }

    /// Weights, of any sign and adding up to 1, of the shortest point of the flat through the active points.
    ///
    /// ```text
    /// least squares: y₀ + Σ μₖ (yₖ − y₀) as short as possible
    /// ```
    fn flat_minimum(&self) -> Vec<f64> {
        let (d, k) = (self.y.cols(), self.active.len());
        if k == 1 {
            return vec![1.0];
        }
        let origin = self.y.row(self.active[0]);
        let edges = Matrix::from_fn(d, k - 1, |i, j| self.y[(self.active[j + 1], i)] - origin[i]);
        let Pivoted { q, r, order } = pivoted_qr(&edges);
        let size = r.rows();
        let largest = r[(0, 0)].abs();
        let rank = (0..size).take_while(|&i| r[(i, i)].abs() > 1e-14 * largest && largest > 0.0).count();
        let mut solution: Vec<f64> = transposed_times(&q, origin)[..rank].iter().map(|x| -x).collect();
        let leading = Matrix::from_fn(rank, rank, |i, j| r[(i, j)]);
        solve_upper(&leading, &mut solution);
        let mut weights = vec![0.0; k];
        for (at, value) in order.into_iter().zip(solution) {
            weights[at + 1] = value;
        }
        weights[0] = 1.0 - weights[1..].iter().sum::<f64>();
        weights
    }
}
