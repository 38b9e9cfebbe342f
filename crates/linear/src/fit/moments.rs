//! The centred second moments of a weighted regression, and the solution of one ridge problem from them.
//!
//! With `ω` the weights, `x̄`, `ȳ` the weighted means (0 without an intercept) and `Z` the rows `√ωᵢ·(xᵢ − x̄)`,
//! `t` the targets `√ωᵢ·(yᵢ − ȳ)`, ridge regression is `min ‖t − Z·w‖² + α‖w‖²`, and the intercept is `ȳ − x̄·w`.
//!
//! ```text
//! n > p   primal   S = ZᵀZ (p × p),  b = Zᵀt :   (S + α)·w = b
//! n ≤ p   dual     S = ZZᵀ (n × n),  b = t   :   (S + α)·a = b,   w = Zᵀa
//! ```
//!
//! Forming `S` squares the condition number. How much that costs is bounded by `α`, or estimated from the factor:
//!
//! ```text
//! unit-scaled ‖(S + α)⁻¹‖ ≤ 1e6     solve once                                 about ten digits or more
//!                         ≤ 1e12    and correct with residuals read from the data, twice
//!                         beyond    singular values of the unit-scaled triangular factor; minimum norm
//! ```
//!
//! In the dual with an intercept `√ω` is a null vector of `S`, and `t` has no part along it. Adding `τ·√ω√ωᵀ/Σω`
//! fills that hole without touching the solution.

use super::factor::{Cholesky, diagonal};
use super::least_squares::ROUNDING;
use super::passes;
use super::singular;
use crate::LinearError;
use crate::check::{self, SMALLEST_SQUARES};
use crate::dense::Inner;
use faer::Mat;
use spanwise_kernels::{Element, Matrix, View};

/// Above this the solution is corrected with residuals read from the data.
const CORRECT_ABOVE: f64 = 1e6;
/// Above this squares are not enough.
const SINGULAR_ABOVE: f64 = 1e12;

/// The data of a weighted regression.
#[derive(Clone, Copy)]
pub(crate) struct Data<'a, T> {
    pub(crate) x: View<'a, T>,
    pub(crate) y: &'a [f64],
    pub(crate) weights: Option<&'a [f64]>,
    /// Sum of the weights.
    pub(crate) total: f64,
    pub(crate) intercept: bool,
}

impl<T: Element> Data<'_, T> {
    /// Rows with a weight above zero.
    pub(crate) fn weighted_rows(&self) -> u64 {
        self.weights.map_or(self.rows(), |w| w.iter().filter(|w| **w > 0.0).count()) as u64
    }

    pub(crate) fn rows(&self) -> usize {
        self.x.dims()[0]
    }

    pub(crate) fn cols(&self) -> usize {
        self.x.dims()[1]
    }

    /// `√ωᵢ`.
    pub(crate) fn root(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i].sqrt())
    }

    fn y_mean(&self) -> f64 {
        let from = |c: f64| passes::weighted_sum(self.y, self.weights, c) / self.total;
        // What rounding leaves of many equal values, the second round takes away.
        let near = from(0.0);
        near + from(near)
    }
}

/// The means of a table whose rows are about them already.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// `x̄` (p).
    pub(crate) x: Vec<f64>,
    /// `ȳ`.
    pub(crate) y: f64,
}

/// Second moments, centred where there is an intercept.
pub(crate) struct Moments {
    /// `x̄` (p).
    pub(crate) centre: Vec<f64>,
    /// `ȳ`.
    pub(crate) y_centre: f64,
    /// `S`, both halves.
    pub(crate) square: Matrix,
    /// `b`.
    pub(crate) right: Vec<f64>,
    /// `tᵀt`.
    pub(crate) y_square: f64,
    /// `Σ ω`.
    pub(crate) total: f64,
    pub(crate) dual: bool,
    /// `τ`, 0 where nothing was added.
    pub(crate) filled: f64,
    /// What was subtracted before the rows came here.
    pub(crate) origin: Option<Origin>,
}

/// Whether the sampled shift lies so far from some column's mean that centring would cost digits: a sample without the
/// few rows that make the mean, or rows in an unlucky order. Then one more pass with the true means is worth it.
fn missed(gram: &Matrix, shift: &[f64], total: f64) -> bool {
    let ones = shift.len() + 1;
    shift.iter().enumerate().any(|(j, shift)| {
        let off = gram[(j, ones)] / total;
        let removed = total * off * off;
        removed > 100.0 * (gram[(j, j)] - removed) && off.abs() > 1e-12 * shift.abs()
    })
}

/// One solution.
pub(crate) struct Solution {
    pub(crate) w: Vec<f64>,
    pub(crate) residual_square: f64,
    pub(crate) method: Method,
}

/// `S + α`, factored.
pub(crate) struct Factored {
    factor: Cholesky,
    /// `‖(S + α)⁻¹‖`, unit-scaled: an estimate, or a bound where that is small enough.
    norm: f64,
}

impl Factored {
    /// `tr (S + α)⁻¹`.
    pub(crate) fn inverse_trace(&self) -> f64 {
        diagonal(&self.factor.inverse()).iter().sum()
    }
}

/// Factors `S + α`; `None` where a pivot is not positive.
fn factored(mut shifted: Matrix, alpha: f64) -> Option<Factored> {
    for i in 0..shifted.rows() {
        shifted[(i, i)] += alpha;
    }
    let scale: Vec<f64> = (0..shifted.rows()).map(|i| shifted[(i, i)]).collect();
    let factor = Cholesky::of(shifted)?;
    // No eigenvalue of S + α is below α. An estimate reads the factor several times.
    let bound = scale.iter().fold(0.0, |most: f64, &s| most.max(s)) / alpha;
    let norm = if bound <= CORRECT_ABOVE { bound } else { factor.scaled_inverse_norm(&scale) };
    Some(Factored { factor, norm })
}

/// How a ridge problem was solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// One factorisation of the second moments.
    Moments,
    /// The same, then corrected with residuals read from the data.
    Corrected,
    /// Singular values of the data's triangular factor: the problem is singular or nearly so.
    Singular,
}

impl Moments {
    /// One pass over the rows; two in the dual.
    pub(crate) fn new<T: Element>(data: &Data<'_, T>) -> Self {
        if data.rows() <= data.cols() { Self::dual(data) } else { Self::primal(data) }
    }

    pub(crate) fn primal<T: Element>(data: &Data<'_, T>) -> Self {
        let p = data.cols();
        let y_shift = if data.intercept { data.y_mean() } else { 0.0 };
        let mut shift = if data.intercept { passes::near_mean(&data.x, data.weights) } else { vec![0.0; p] };
        let mut gram = passes::second_moments(&data.x, data.y, data.weights, &shift, y_shift);
        if data.intercept && missed(&gram, &shift, data.total) {
            shift.iter_mut().enumerate().for_each(|(j, c)| *c += gram[(j, p + 1)] / data.total);
            gram = passes::second_moments(&data.x, data.y, data.weights, &shift, y_shift);
        }
        let off = |j: usize| if data.intercept { gram[(j, p + 1)] / data.total } else { 0.0 };
        let centred = |i: usize, j: usize| gram[(i, j)] - data.total * off(i) * off(j);
        let offs: Vec<f64> = (0..p).map(off).collect();
        let mut square = Matrix::zeros(p, p);
        for (j, off_j) in offs.iter().enumerate() {
            // Whole slices: for thousands of columns the indices would cost more than the sums.
            let factor = data.total * off_j;
            let entries = square.row_mut(j).iter_mut().zip(gram.row(j)).zip(&offs);
            entries.for_each(|((v, sum), off_i)| *v = sum - factor * off_i);
        }
        Moments {
            centre: (0..p).map(|j| shift[j] + off(j)).collect(),
            y_centre: y_shift + off(p),
            square,
            right: (0..p).map(|j| centred(j, p)).collect(),
            y_square: centred(p, p),
            total: data.total,
            dual: false,
            filled: 0.0,
            origin: None,
        }
    }

    fn dual<T: Element>(data: &Data<'_, T>) -> Self {
        let (n, p) = (data.rows(), data.cols());
        let y_centre = if data.intercept { data.y_mean() } else { 0.0 };
        let centre = if data.intercept {
            let share: Vec<f64> = (0..n).map(|i| data.weights.map_or(1.0, |w| w[i]) / data.total).collect();
            passes::transposed_times(&data.x, &share)
        } else {
            vec![0.0; p]
        };
        let right: Vec<f64> = (0..n).map(|i| (data.y[i] - y_centre) * data.root(i)).collect();
        let y_square = passes::dot(&right, &right);
        let means = data.intercept.then_some(&centre[..]);
        let columns = data.x.transposed();
        let products = Inner { columns: &columns, means, weights: data.weights, fill: true }.products();
        let (square, filled) = (products.square, products.filled);
        let (total, origin) = (data.total, None);
        Moments { centre, y_centre, square, right, y_square, total, dual: true, filled, origin }
    }

    /// `S` without `τ`.
    pub(crate) fn unfilled<T: Element>(&self, data: &Data<'_, T>) -> Mat<f64> {
        let (n, share) = (self.square.rows(), self.filled / data.total);
        let added = |i: usize, j: usize| if share > 0.0 { share * data.root(i) * data.root(j) } else { 0.0 };
        Mat::from_fn(n, n, |i, j| self.square[(i, j)] - added(i, j))
    }

    /// Whether every moment is a number; where not, the data hold NaN, infinity or numbers too large to square.
    pub(crate) fn finite(&self) -> bool {
        self.target_is_finite() && (0..self.square.rows()).all(|i| self.square[(i, i)].is_finite())
    }

    /// The same of what depends on the target.
    pub(crate) fn target_is_finite(&self) -> bool {
        self.y_square.is_finite() && self.right.iter().all(|v| v.is_finite())
    }

    /// An error where sums are no numbers, or squares vanish that no penalty of at least `alpha` makes up for.
    pub(crate) fn check<T: Element>(
        &self,
        operation: &'static str,
        data: &Data<'_, T>,
        alpha: f64,
    ) -> Result<(), LinearError> {
        if !self.finite() {
            return Err(check::blame_either(operation, &data.x, data.y));
        }
        self.check_target(operation, data)?;
        self.check_columns(operation, data, alpha)
    }

    /// An error where squares of the target are below the range of f64.
    pub(crate) fn check_target<T: Element>(
        &self,
        operation: &'static str,
        data: &Data<'_, T>,
    ) -> Result<(), LinearError> {
        let y = View::new(data.y, &[data.rows(), 1]).expect("as many numbers as rows");
        let spread = || check::spreads(&y, data.intercept, data.weights)[0];
        if self.y_square < SMALLEST_SQUARES && check::vanishes(spread()) {
            return Err(LinearError::Underflow { operation, argument: "y" });
        }
        Ok(())
    }

    /// An error where squares of the columns are, and no penalty of at least `alpha` makes up for it.
    pub(crate) fn check_columns<T: Element>(
        &self,
        operation: &'static str,
        data: &Data<'_, T>,
        alpha: f64,
    ) -> Result<(), LinearError> {
        let suspected = |i: usize| self.square[(i, i)] + alpha < SMALLEST_SQUARES;
        // Where all squares of a dual were 0, 1 was added.
        let none = self.dual && self.filled == 1.0 && alpha < SMALLEST_SQUARES;
        let columns: Vec<bool> = (0..self.square.rows()).map(suspected).collect();
        let worth_a_look = if self.dual { columns.iter().all(|&it| it) } else { columns.contains(&true) };
        if !(none || worth_a_look) {
            return Ok(());
        }
        let spreads = check::spreads(&data.x, data.intercept, data.weights);
        let vanishes = if self.dual {
            check::vanishes(spreads.into_iter().fold(0.0, f64::max))
        } else {
            spreads.into_iter().zip(columns).any(|(spread, suspected)| suspected && check::vanishes(spread))
        };
        if vanishes { Err(LinearError::Underflow { operation, argument: "X" }) } else { Ok(()) }
    }

    /// `ȳ − x̄·w`.
    pub(crate) fn intercept(&self, w: &[f64]) -> f64 {
        let origin = |origin: &Origin| origin.y - passes::dot(&origin.x, w);
        self.constant(w) + self.origin.as_ref().map_or(0.0, origin)
    }

    /// The same for the rows as they came.
    fn constant(&self, w: &[f64]) -> f64 {
        self.y_centre - passes::dot(&self.centre, w)
    }

    /// `w` from the solution of `(S + α)·s = b`: itself, or `Zᵀs` in the dual.
    pub(crate) fn coefficients<T: Element>(&self, data: &Data<'_, T>, s: Vec<f64>) -> Vec<f64> {
        if !self.dual {
            return s;
        }
        let s: Vec<f64> = s.iter().enumerate().map(|(i, s)| s * data.root(i)).collect();
        let sum: f64 = s.iter().sum();
        let mut w = passes::transposed_times(&data.x, &s);
        w.iter_mut().zip(&self.centre).for_each(|(w, c)| *w -= c * sum);
        w
    }

    /// `‖t − Zw‖²` where `(S + α)·s = b` holds: `α²‖s‖²` in the dual, `tᵀt − wᵀb − α‖w‖²` otherwise.
    pub(crate) fn residual_square(&self, alpha: f64, s: &[f64]) -> f64 {
        let square = passes::dot(s, s);
        if self.dual {
            return alpha * alpha * square;
        }
        (self.y_square - passes::dot(s, &self.right) - alpha * square).max(0.0)
    }

    /// Trace of the hat matrix, the intercept included, from `tr (S + α)⁻¹`.
    pub(crate) fn degrees_of_freedom(&self, alpha: f64, inverse_trace: f64, intercept: bool) -> f64 {
        let hole = if self.filled > 0.0 { self.filled / (self.filled + alpha) } else { 0.0 };
        self.right.len() as f64 - alpha * inverse_trace - hole + f64::from(u8::from(intercept))
    }

    /// The ridge solution for one `alpha`, by the ladder above.
    pub(crate) fn solve<T: Element>(&self, data: &Data<'_, T>, alpha: f64) -> Solution {
        self.solve_by(factored(self.square.clone(), alpha).as_ref(), data, alpha)
    }

    /// Whether the target varies by more than the rounding of its values; without an intercept, whether it is not 0 throughout.
    pub(crate) fn target_varies(&self) -> bool {
        let y_mean = self.y_centre + self.origin.as_ref().map_or(0.0, |origin| origin.y);
        let away = y_mean.abs() * self.total.sqrt();
        self.y_square.max(0.0).sqrt() > ROUNDING.sqrt() * away
    }

    /// The factor of `S + α` in the memory of `S`, which is gone afterwards.
    pub(crate) fn take_factor(&mut self, alpha: f64) -> Option<Factored> {
        factored(std::mem::take(&mut self.square), alpha)
    }

    /// Another target of the same rows: everything that depends on it anew, `S` as it is.
    pub(crate) fn aim<T: Element>(&mut self, data: &Data<'_, T>) {
        self.y_centre = if data.intercept { data.y_mean() } else { 0.0 };
        let rooted: Vec<f64> =
            data.y.iter().enumerate().map(|(i, y)| (y - self.y_centre) * data.root(i)).collect();
        self.y_square = passes::dot(&rooted, &rooted);
        self.right = if self.dual {
            rooted
        } else {
            let weighted: Vec<f64> = rooted.iter().enumerate().map(|(i, t)| t * data.root(i)).collect();
            let sum: f64 = weighted.iter().sum();
            let mut right = passes::transposed_times(&data.x, &weighted);
            right.iter_mut().zip(&self.centre).for_each(|(r, c)| *r -= c * sum);
            right
        };
    }

    /// The same by a factor of `S + α`; `None` where there is none.
    pub(crate) fn solve_by<T: Element>(
        &self,
        factored: Option<&Factored>,
        data: &Data<'_, T>,
        alpha: f64,
    ) -> Solution {
        let Some(&Factored { ref factor, norm }) = factored else {
            return singular::solve(data, self, alpha);
        };
        // In the dual without penalty the answer interpolates; rank is the whole question.
        if norm > SINGULAR_ABOVE || norm.is_nan() {
            return singular::solve(data, self, alpha);
        }
        let mut s = factor.solve_vector(&self.right);
        if norm <= CORRECT_ABOVE {
            let residual_square = self.residual_square(alpha, &s);
            return Solution { w: self.coefficients(data, s), residual_square, method: Method::Moments };
        }
        let mut w = self.coefficients(data, s.clone());
        let mut residual = self.residual(data, &w);
        for _ in 0..2 {
            let gradient = self.gradient(data, &residual, alpha, &s);
            s.iter_mut().zip(factor.solve_vector(&gradient)).for_each(|(s, d)| *s += d);
            w = self.coefficients(data, s.clone());
            residual = self.residual(data, &w);
        }
        Solution { residual_square: passes::dot(&residual, &residual), w, method: Method::Corrected }
    }

    /// `t − Zw` (n), read from the data.
    pub(crate) fn residual<T: Element>(&self, data: &Data<'_, T>, w: &[f64]) -> Vec<f64> {
        let row = Matrix::new(w.to_vec(), 1, w.len()).unwrap_or_default();
        let fitted = passes::times(&data.x, &row, &[self.constant(w)]);
        fitted.as_slice().iter().zip(data.y).enumerate().map(|(i, (f, y))| (y - f) * data.root(i)).collect()
    }

    /// What is left of `b − (S + α)·s`, from the residual `t − Zw`.
    pub(crate) fn gradient<T: Element>(
        &self,
        data: &Data<'_, T>,
        residual: &[f64],
        alpha: f64,
        s: &[f64],
    ) -> Vec<f64> {
        if self.dual {
            return residual.iter().zip(s).map(|(r, s)| r - alpha * s).collect();
        }
        let rooted: Vec<f64> = residual.iter().enumerate().map(|(i, r)| r * data.root(i)).collect();
        let sum: f64 = rooted.iter().sum();
        let mut gradient = passes::transposed_times(&data.x, &rooted);
        for (j, g) in gradient.iter_mut().enumerate() {
            *g -= self.centre[j] * sum + alpha * s[j];
        }
        gradient
    }
}
