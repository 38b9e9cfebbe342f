//! A least-squares problem reduced to a triangle, whichever way.
//!
//! The *terms* of a model are the columns its coefficients belong to: the ones (term 0, where there is an intercept), then
//! the features. Both ways end in the same numbers:
//!
//! ```text
//!  A = [1, X − c] (or X)      A D⁻¹ = Q R,  D = column norms,  z = Qᵀ(Y − c),  rss = ‖Y − c‖² − ‖z‖²
//! ```
//!
//! Householder reflections give R with an error of a few u; the Gram matrix with about uκ², for a third of the work.

use crate::Summary;
use crate::small::{cholesky, norm, solve_upper_transposed};
use spanwise_kernels::Matrix;
use spanwise_kernels::tall::{Tall, Triangle, gram};

/// The reduced problem: `k` terms, `t` targets.
#[derive(Clone, Debug)]
pub(super) struct Reduced {
    pub intercept: bool,
    /// `k × k`, upper, columns of norm 1.
    pub r: Matrix,
    /// `k` column norms of the shifted terms; 0 for a column that is zero throughout.
    pub scales: Vec<f64>,
    /// `k` column norms of the terms as given.
    pub norms: Vec<f64>,
    /// `k × t`.
    pub z: Matrix,
    /// `t` squared distances of the targets from the span.
    pub residual_squares: Vec<f64>,
    /// `t`: Σ w (y − ȳ)² with an intercept, Σ w y² without.
    pub total_squares: Vec<f64>,
    /// Of the features, then of the targets; zeros without an intercept.
    pub shift: Vec<f64>,
    pub rows: u64,
    /// From the Gram matrix, so that R has an error of about uκ².
    pub squared: bool,
}

impl Reduced {
    /// How many terms.
    pub(super) fn terms(&self) -> usize {
        self.scales.len()
    }

    /// Σ w y² of target `q`.
    pub(super) fn squares(&self, q: usize) -> f64 {
        if !self.intercept {
            return self.total_squares[q];
        }
        // Along the ones: Σ w (y − c), to which the shift adds c Σ w, both over √Σ w.
        let c = self.shift[self.terms() - 1 + q];
        let along = self.z[(0, q)] + c * self.r[(0, 0)] * self.scales[0];
        self.total_squares[q] + along * along
    }

    /// From the Gram matrix; `None` where it is not positive definite in f64.
    pub(super) fn from_gram(tall: &Tall<'_>, intercept: bool) -> Option<Reduced> {
        let (d, t) = (tall.x.cols(), tall.y.cols());
        let g = gram(tall);
        let ones = d + t;
        // Where term i lies in G, whose columns are X, Y, 1.
        let at = |i: usize| match (intercept, i) {
            (true, 0) => ones,
            (true, i) => i - 1,
            (false, i) => i,
        };
        let k = d + usize::from(intercept);
        let scales: Vec<f64> = (0..k).map(|i| g[(at(i), at(i))].sqrt()).collect();
        if !scales.iter().all(|s| *s > 1e-130 && *s < 1e130) {
            return None;
        }
        let scaled = Matrix::from_fn(k, k, |i, j| g[(at(i), at(j))] / (scales[i] * scales[j]));
        let r = cholesky(&scaled)?;
        let mut z = Matrix::zeros(k, t);
        let (mut residual_squares, mut total_squares) = (Vec::new(), Vec::new());
        for q in 0..t {
            let mut column: Vec<f64> = (0..k).map(|i| g[(at(i), d + q)] / scales[i]).collect();
            solve_upper_transposed(&r, &mut column);
            let squares = g[(d + q, d + q)];
            // Squares of small targets vanish, and of large ones overflow; the other way keeps them in units of their own.
            if !(1e-260..1e260).contains(&squares) {
                return None;
            }
            let explained: f64 = column.iter().map(|z| z * z).sum();
            residual_squares.push((squares - explained).max(0.0));
            total_squares.push(if intercept { (squares - column[0].powi(2)).max(0.0) } else { squares });
            (0..k).for_each(|i| z[(i, q)] = column[i]);
        }
        let weight_sum = g[(ones, ones)];
        let norms = (0..k)
            .map(|i| {
                if intercept && i > 0 {
                    // Σ w x² = Σ w (x − c)² + 2 c Σ w (x − c) + c² Σ w, all of one sign up to rounding.
                    let c = tall.shift[i - 1];
                    (g[(i - 1, i - 1)] + 2.0 * c * g[(i - 1, ones)] + c * c * weight_sum).max(0.0).sqrt()
                } else {
                    scales[i]
                }
            })
            .collect();
        let (shift, rows) = (tall.shift.to_vec(), tall.rows() as u64);
        let squared = true;
        Some(Reduced {
            intercept,
            r,
            scales,
            norms,
            z,
            residual_squares,
            total_squares,
            shift,
            rows,
            squared,
        })
    }

    /// From the triangle of a summary, in the units the summary keeps its columns in.
    pub(super) fn from_summary(summary: &Summary, intercept: bool) -> Reduced {
        let d = summary.columns();
        let kept = |c: f64, e: i32| crate::summary::times_power_of_two(c, e);
        let shift: Vec<f64> =
            summary.shift().iter().zip(summary.exponents()).map(|(&c, &e)| kept(c, e)).collect();
        if intercept {
            return Reduced::from_triangle(summary.triangle(), d, true, shift, summary);
        }
        // Without an intercept: undo the shift, leave out the column of ones, fold the first row into the rest.
        let m = summary.triangle().width();
        let at = |i: usize, j: usize| summary.triangle().at(i, j);
        let (mut rest, mut first) = (Triangle::zeros(m - 1), Triangle::zeros(m - 1));
        for j in 1..m {
            first.as_mut_slice()[j - 1] = at(0, j) + at(0, 0) * shift[j - 1];
            for i in 1..=j {
                rest.as_mut_slice()[(i - 1) * (m - 1) + j - 1] = at(i, j);
            }
        }
        rest.merge(&first);
        let zeros = vec![0.0; shift.len()];
        Reduced::from_triangle(&rest, d, false, zeros, summary)
    }

    fn from_triangle(
        triangle: &Triangle,
        d: usize,
        intercept: bool,
        shift: Vec<f64>,
        summary: &Summary,
    ) -> Reduced {
        let k = d + usize::from(intercept);
        let t = triangle.width() - k;
        let column = |j: usize| -> Vec<f64> { (0..=j).map(|i| triangle.at(i, j)).collect() };
        let scales: Vec<f64> = (0..k).map(|j| norm(&column(j))).collect();
        let norms = (0..k)
            .map(|j| {
                let mut column = column(j);
                if intercept && j > 0 {
                    column[0] += triangle.at(0, 0) * shift[j - 1];
                }
                norm(&column)
            })
            .collect();
        let r = Matrix::from_fn(k, k, |i, j| {
            if i <= j && scales[j] > 0.0 { triangle.at(i, j) / scales[j] } else { 0.0 }
        });
        let squares =
            |q: usize, from: usize| -> f64 { (from..=k + q).map(|i| triangle.at(i, k + q).powi(2)).sum() };
        Reduced {
            intercept,
            r,
            scales,
            norms,
            z: Matrix::from_fn(k, t, |i, q| triangle.at(i, k + q)),
            residual_squares: (0..t).map(|q| squares(q, k)).collect(),
            total_squares: (0..t).map(|q| squares(q, usize::from(intercept))).collect(),
            shift,
            rows: summary.rows(),
            squared: false,
        }
    }
}
