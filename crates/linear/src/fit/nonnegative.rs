//! Least squares with coefficients ≥ 0, and with coefficients ≥ 0 that sum to 1.
//!
//! One pass forms the second moments, the active-set search (see `active_set`) runs on them, and two corrections with
//! residuals read from the data restore the digits that squaring cost. The certificate is computed from the data too:
//! with `r = t − Zw`, `w` is optimal exactly where `zⱼ·r = ν` on the support and `zⱼ·r ≤ ν` off it (`ν = 0` unless the
//! sum is fixed).

use super::active_set::{Columns, Optimum, minimise};
use super::factor::Cholesky;
use super::moments::{Data, Moments};
use super::passes;
use super::stand_in::StandIn;
use crate::check;
use crate::{LinearError, Summary};
use faer::Mat;
use spanwise_kernels::{Element, Matrix, View};

const NON_NEGATIVE: &str = "non-negative least squares";
const SIMPLEX: &str = "simplex least squares";

/// Settings of non-negative least squares.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::fit::NonNegative;
///
/// // Least squares would give (2, −1); the best without a negative weight is (1.5, 0).
/// let x = View::new(&[1.0, 0.0, 1.0, 1.0], &[2, 2])?;
/// let fit = NonNegative::default().fit(x, &[2.0, 1.0])?;
/// assert_eq!(fit.support, [0]);
/// assert!((fit.coefficients[0] - 1.5).abs() < 1e-14);
/// assert!(fit.certificate.holds());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NonNegative {
    /// Whether to fit an intercept of any sign.
    pub intercept: bool,
}

/// Settings of least squares over the simplex: weights ≥ 0 that sum to 1, a mixture of the columns.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::fit::Simplex;
///
/// // The columns are (0, 0), (4, 0), (0, 4); (1, 1) is half of the first and a quarter of each other.
/// let x = View::new(&[0.0, 4.0, 0.0, 0.0, 0.0, 4.0], &[2, 3])?;
/// let fit = Simplex.fit(x, &[1.0, 1.0])?;
/// assert!((fit.coefficients[0] - 0.5).abs() < 1e-14);
/// assert!(fit.residual_sum_of_squares < 1e-28);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Simplex;

/// A fit with constrained coefficients.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConstrainedFit {
    /// `w` (p), none negative.
    pub coefficients: Vec<f64>,
    /// `b`; 0 where none was asked for.
    pub intercept: f64,
    /// Columns of positive weight, rising.
    pub support: Vec<usize>,
    /// `Σ ωᵢ·(yᵢ − ŷᵢ)²`.
    pub residual_sum_of_squares: f64,
    /// Rounds of the search.
    pub rounds: usize,
    /// Why it is the best, as numbers.
    pub certificate: Optimality,
}

/// How far the optimality conditions are from holding exactly. Gradients are in units of `‖zⱼ‖·‖t‖`, so that 1e-12 is
/// small whatever the units of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Optimality {
    /// Largest gradient left on the support: 0 at the optimum.
    pub stationarity: f64,
    /// Largest gradient that points inwards off the support: at most 0 at the optimum.
    pub improvement: f64,
    /// Largest constraint violation: most negative weight, or how far the sum is from 1.
    pub feasibility: f64,
}

impl Optimality {
    /// Whether all conditions hold to 1e-9.
    pub fn holds(&self) -> bool {
        self.stationarity <= 1e-9 && self.improvement <= 1e-9 && self.feasibility <= 1e-12
    }
}

impl NonNegative {
    /// Fits `x` (n × p) to `y` (n).
    pub fn fit<T: Element>(&self, x: View<'_, T>, y: &[f64]) -> Result<ConstrainedFit, LinearError> {
        fit(NON_NEGATIVE, x, y, None, self.intercept, false)
    }

    /// Fits with one weight ≥ 0 per row.
    pub fn fit_weighted<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
        weights: &[f64],
    ) -> Result<ConstrainedFit, LinearError> {
        fit(NON_NEGATIVE, x, y, Some(weights), self.intercept, false)
    }

    /// Fits target `target` of the rows that a summary has seen, the same to rounding as from the rows themselves.
    ///
    /// ```
    /// use spanwise_kernels::View;
    /// use spanwise_linear::{Summary, fit::NonNegative};
    ///
    /// let x = View::new(&[1.0, 0.0, 1.0, 1.0], &[2, 2])?;
    /// let summary = Summary::of(&x, &[2.0, 1.0][..], None)?;
    /// let fit = NonNegative::default().fit_summary(&summary, 0)?;
    /// assert_eq!(fit.support, [0]);
    /// assert!((fit.coefficients[0] - 1.5).abs() < 1e-14);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fit_summary(&self, summary: &Summary, target: usize) -> Result<ConstrainedFit, LinearError> {
        fit_summary(NON_NEGATIVE, summary, target, self.intercept, false)
    }
}

impl Simplex {
    /// Fits `x` (n × p) to `y` (n).
    pub fn fit<T: Element>(&self, x: View<'_, T>, y: &[f64]) -> Result<ConstrainedFit, LinearError> {
        fit(SIMPLEX, x, y, None, false, true)
    }

    /// Fits with one weight ≥ 0 per row.
    pub fn fit_weighted<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
        weights: &[f64],
    ) -> Result<ConstrainedFit, LinearError> {
        fit(SIMPLEX, x, y, Some(weights), false, true)
    }

    /// Fits target `target` of the rows that a summary has seen, the same to rounding as from the rows themselves.
    pub fn fit_summary(&self, summary: &Summary, target: usize) -> Result<ConstrainedFit, LinearError> {
        fit_summary(SIMPLEX, summary, target, false, true)
    }
}

/// Columns seen through their second moments.
struct FromMoments<'a>(&'a Moments);

impl Columns for FromMoments<'_> {
    fn count(&self) -> usize {
        self.0.right.len()
    }

    fn inner(&self, i: usize, j: usize) -> f64 {
        self.0.square[(i, j)]
    }

    fn toward(&self, j: usize) -> f64 {
        self.0.right[j]
    }

    fn gradient(&self, support: &[usize], w: &[f64]) -> Vec<f64> {
        let mut gradient = self.0.right.clone();
        for &i in support {
            let column = self.0.square.row(i);
            gradient.iter_mut().zip(column).for_each(|(g, c)| *g -= w[i] * c);
        }
        gradient
    }
}

fn fit<T: Element>(
    operation: &'static str,
    x: View<'_, T>,
    y: &[f64],
    weights: Option<&[f64]>,
    intercept: bool,
    unit_sum: bool,
) -> Result<ConstrainedFit, LinearError> {
    let (rows, _) = check::features(operation, &x)?;
    check::target(operation, y, rows)?;
    let total = check::weights(operation, weights, rows)?;
    let data = Data { x, y, weights, total, intercept };
    searched(operation, &data, &Moments::primal(&data), unit_sum)
}

fn fit_summary(
    operation: &'static str,
    summary: &Summary,
    target: usize,
    intercept: bool,
    unit_sum: bool,
) -> Result<ConstrainedFit, LinearError> {
    let rows = StandIn::new(operation, summary, target, intercept)?;
    searched(operation, &rows.data(), &rows.moments(), unit_sum)
}

fn searched<T: Element>(
    operation: &'static str,
    data: &Data<'_, T>,
    moments: &Moments,
    unit_sum: bool,
) -> Result<ConstrainedFit, LinearError> {
    if !moments.finite() {
        return Err(check::blame_either(operation, &data.x, data.y));
    }
    moments.check_columns(operation, data, 0.0)?;
    let noise = 1e-13 * moments.y_square.sqrt().max(largest_length(moments, unit_sum));
    let mut optimum = minimise(&FromMoments(moments), unit_sum, noise);
    for _ in 0..2 {
        correct(data, moments, &mut optimum, unit_sum);
    }
    let residual = moments.residual(data, &optimum.w);
    let certificate = certify(data, moments, &optimum, &residual, unit_sum);
    Ok(ConstrainedFit {
        intercept: moments.intercept(&optimum.w),
        coefficients: optimum.w,
        support: optimum.support,
        residual_sum_of_squares: passes::dot(&residual, &residual),
        rounds: optimum.rounds,
        certificate,
    })
}

/// On the simplex the target may be short and the columns long: gradients are then noise on the columns' scale.
fn largest_length(moments: &Moments, unit_sum: bool) -> f64 {
    let lengths = (0..moments.right.len()).map(|j| moments.square[(j, j)].max(0.0).sqrt());
    if unit_sum { lengths.fold(0.0, f64::max) } else { 0.0 }
}

/// One corrected solve on the support; kept only if every weight stays positive.
fn correct<T: Element>(data: &Data<'_, T>, moments: &Moments, optimum: &mut Optimum, unit_sum: bool) {
    let support = &optimum.support;
    let k = support.len();
    if k == 0 {
        return;
    }
    let lift = if unit_sum { moments.square[(support[0], support[0])].max(1e-300) } else { 0.0 };
    let gram = Mat::from_fn(k, k, |i, j| moments.square[(support[i], support[j])] + lift);
    let Some(factor) = Cholesky::new(&gram) else { return };
    let gradient = gradient(data, moments, &moments.residual(data, &optimum.w));
    let right: Vec<f64> = support.iter().map(|&j| gradient[j]).collect();
    let mut step = factor.solve_vector(&right);
    if unit_sum {
        let ones = factor.solve_vector(&vec![1.0; k]);
        let sum: f64 = support.iter().map(|&j| optimum.w[j]).sum();
        let excess = (1.0 - sum - step.iter().sum::<f64>()) / ones.iter().sum::<f64>();
        step.iter_mut().zip(&ones).for_each(|(s, one)| *s += excess * one);
    }
    let moved: Vec<f64> = support.iter().zip(&step).map(|(&j, s)| optimum.w[j] + s).collect();
    if moved.iter().all(|w| *w > 0.0 && w.is_finite()) {
        support.iter().zip(moved).for_each(|(&j, w)| optimum.w[j] = w);
    }
}

/// `Zᵀr`, read from the data.
fn gradient<T: Element>(data: &Data<'_, T>, moments: &Moments, residual: &[f64]) -> Vec<f64> {
    moments.gradient(data, residual, 0.0, &vec![0.0; data.cols()])
}

fn certify<T: Element>(
    data: &Data<'_, T>,
    moments: &Moments,
    optimum: &Optimum,
    residual: &[f64],
    unit_sum: bool,
) -> Optimality {
    let gradient = gradient(data, moments, residual);
    let sum: f64 = optimum.w.iter().sum();
    let multiplier: f64 =
        if unit_sum { gradient.iter().zip(&optimum.w).map(|(g, w)| g * w).sum::<f64>() } else { 0.0 };
    let target = moments.y_square.sqrt().max(largest_length(moments, unit_sum));
    let mut certificate = Optimality {
        stationarity: 0.0,
        improvement: 0.0,
        feasibility: if unit_sum { (sum - 1.0).abs() } else { 0.0 },
    };
    for (j, g) in gradient.iter().enumerate() {
        let unit = moments.square[(j, j)].max(0.0).sqrt() * target;
        let slope = if unit > 0.0 { (g - multiplier) / unit } else { 0.0 };
        if optimum.w[j] > 0.0 {
            certificate.stationarity = certificate.stationarity.max(slope.abs());
        } else {
            certificate.improvement = certificate.improvement.max(slope);
        }
        certificate.feasibility = certificate.feasibility.max(-optimum.w[j]);
    }
    if !optimum.finished {
        // The search ran out of rounds: the conditions above say how far it got, and they do not hold.
        certificate.improvement = certificate.improvement.max(1e-8);
    }
    certificate
}

impl ConstrainedFit {
    /// `b + X·w` (n) for `x` (n × p).
    pub fn predict<T: Element>(&self, x: View<'_, T>) -> Result<Vec<f64>, LinearError> {
        check::same_columns(&x, self.coefficients.len())?;
        let row = Matrix::from_fn(1, self.coefficients.len(), |_, j| self.coefficients[j]);
        Ok(passes::times(&x, &row, &[self.intercept]).as_slice().to_vec())
    }
}

#[cfg(test)]
#[path = "tests/nonnegative.rs"]
mod tests;
