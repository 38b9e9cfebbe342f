//! Ridge regression: `min Σ ωᵢ·(yᵢ − b − xᵢ·w)² + α‖w‖²`, the intercept `b` not penalised.
//!
//! `alpha` means what scikit-learn's `alpha` means. One pass over the rows forms the centred second moments; the rest
//! is a small symmetric system (see `moments` for the algebra, `ridge_path` for many `alpha` at once).

use super::moments::{Data, Factored, Method, Moments, Solution};
use super::passes;
use super::stand_in::StandIn;
use crate::check;
use crate::{LinearError, Summary};
use spanwise_kernels::{Element, Matrix, View};

const OPERATION: &str = "ridge";

/// Up to this many unknowns the degrees of freedom cost next to nothing and are always given.
const CHEAP_TRACE: usize = 256;

/// Settings of a ridge regression with one penalty.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::fit::Ridge;
///
/// // y = 1 + 2x exactly; Σ(x − 2)² = 10, so a penalty of 10 halves the slope and keeps the means.
/// let x = View::new(&[0.0, 1.0, 2.0, 3.0, 4.0], &[5, 1])?;
/// let y = [1.0, 3.0, 5.0, 7.0, 9.0];
/// let fit = Ridge::new(10.0).fit(x, &y)?;
/// assert!((fit.coefficients[0] - 1.0).abs() < 1e-12);
/// assert!((fit.intercept - 3.0).abs() < 1e-12);
/// assert_eq!(fit.predict(x)?.len(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ridge {
    /// Weight of `‖w‖²`; 0 is least squares of minimum norm.
    pub alpha: f64,
    /// Whether to fit an intercept.
    pub intercept: bool,
}

impl Default for Ridge {
    fn default() -> Self {
        Ridge { alpha: 1.0, intercept: true }
    }
}

/// A fitted ridge regression.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RidgeFit {
    /// The penalty it was fitted with.
    pub alpha: f64,
    /// `b`; 0 where none was asked for.
    pub intercept: f64,
    /// `w` (p).
    pub coefficients: Vec<f64>,
    /// `Σ ωᵢ·(yᵢ − ŷᵢ)²`.
    pub residual_sum_of_squares: f64,
    /// `1 − residual / total` sum of squares, about the mean where there is an intercept; NaN where the total is 0 or
    /// no more than rounding.
    pub r_squared: f64,
    /// Trace of the hat matrix, the intercept counting 1. `None` where it would cost more than the fit itself: one
    /// penalty and many columns, or a singular problem.
    pub degrees_of_freedom: Option<f64>,
    /// How the system was solved.
    pub method: Method,
}

impl Ridge {
    /// With this penalty, and an intercept.
    pub fn new(alpha: f64) -> Self {
        Ridge { alpha, intercept: true }
    }

    /// Fits `x` (n × p) to `y` (n).
    pub fn fit<T: Element>(&self, x: View<'_, T>, y: &[f64]) -> Result<RidgeFit, LinearError> {
        self.run(x, y, None)
    }

    /// Fits with one weight ≥ 0 per row; a weight of 0 is the same as leaving the row out.
    pub fn fit_weighted<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
        weights: &[f64],
    ) -> Result<RidgeFit, LinearError> {
        self.run(x, y, Some(weights))
    }

    /// One fit per target (each n), with one weight ≥ 0 per row where given. The products of the columns and their
    /// factor are formed once; each target costs a pass over `x` (n × p) of its own.
    ///
    /// ```
    /// use spanwise_kernels::View;
    /// use spanwise_linear::fit::Ridge;
    ///
    /// let x = View::new(&[0.0, 1.0, 2.0, 3.0, 4.0], &[5, 1])?;
    /// let fits = Ridge::new(10.0).fit_targets(x, &[&[1.0, 3.0, 5.0, 7.0, 9.0], &[4.0, 3.0, 2.0, 1.0, 0.0]], None)?;
    /// assert!((fits[0].coefficients[0] - 1.0).abs() < 1e-12);
    /// assert!((fits[1].coefficients[0] + 0.5).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fit_targets<T: Element>(
        &self,
        x: View<'_, T>,
        targets: &[&[f64]],
        weights: Option<&[f64]>,
    ) -> Result<Vec<RidgeFit>, LinearError> {
        check::not_negative(OPERATION, "alpha", self.alpha)?;
        let Some(first) = targets.first() else { return Ok(Vec::new()) };
        let (mut data, mut moments) = prepared(OPERATION, x, first, weights, self.intercept, self.alpha)?;
        let (factor, trace) = self.factored(&mut moments);
        let mut fits = Vec::with_capacity(targets.len());
        for (i, &y) in targets.iter().enumerate() {
            if i > 0 {
                check::target(OPERATION, y, data.rows())?;
                data.y = y;
                moments.aim(&data);
                if !moments.target_is_finite() {
                    return Err(check::blame_either(OPERATION, &x, y));
                }
                moments.check_target(OPERATION, &data)?;
            }
            fits.push(self.solved(&data, &moments, factor.as_ref(), trace));
        }
        Ok(fits)
    }

    /// Fits target `target` of the rows that a summary has seen, the same to rounding as from the rows themselves.
    ///
    /// ```
    /// use spanwise_kernels::View;
    /// use spanwise_linear::{Summary, fit::Ridge};
    ///
    /// let x = View::new(&[0.0, 1.0, 2.0, 3.0, 4.0], &[5, 1])?;
    /// let summary = Summary::of(&x, &[1.0, 3.0, 5.0, 7.0, 9.0][..], None)?;
    /// let fit = Ridge::new(10.0).fit_summary(&summary, 0)?;
    /// assert!((fit.coefficients[0] - 1.0).abs() < 1e-12);
    /// assert!((fit.intercept - 3.0).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fit_summary(&self, summary: &Summary, target: usize) -> Result<RidgeFit, LinearError> {
        check::not_negative(OPERATION, "alpha", self.alpha)?;
        let rows = StandIn::new(OPERATION, summary, target, self.intercept)?;
        let (data, mut moments) = rows.prepared(OPERATION, self.alpha)?;
        let (factor, trace) = self.factored(&mut moments);
        Ok(self.solved(&data, &moments, factor.as_ref(), trace))
    }

    /// The factor of `S + α`, and the trace of its inverse where that costs next to nothing.
    fn factored(&self, moments: &mut Moments) -> (Option<Factored>, Option<f64>) {
        let factor = moments.take_factor(self.alpha);
        let cheap = factor.as_ref().filter(|_| moments.right.len() <= CHEAP_TRACE);
        let trace = cheap.map(Factored::inverse_trace);
        (factor, trace)
    }

    fn solved<T: Element>(
        &self,
        data: &Data<'_, T>,
        moments: &Moments,
        factor: Option<&Factored>,
        trace: Option<f64>,
    ) -> RidgeFit {
        let solution = moments.solve_by(factor, data, self.alpha);
        let freedom = trace.filter(|_| solution.method != Method::Singular);
        let freedom = freedom.map(|t| moments.degrees_of_freedom(self.alpha, t, self.intercept));
        finished(moments, self.alpha, solution, freedom)
    }

    fn run<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<RidgeFit, LinearError> {
        Ok(self.fit_targets(x, &[y], weights)?.remove(0))
    }
}

/// Checked data and their moments, for penalties of at least `alpha`.
pub(crate) fn prepared<'a, T: Element>(
    operation: &'static str,
    x: View<'a, T>,
    y: &'a [f64],
    weights: Option<&'a [f64]>,
    intercept: bool,
    alpha: f64,
) -> Result<(Data<'a, T>, Moments), LinearError> {
    let (rows, _) = check::features(operation, &x)?;
    check::target(operation, y, rows)?;
    let total = check::weights(operation, weights, rows)?;
    let data = Data { x, y, weights, total, intercept };
    let moments = Moments::new(&data);
    moments.check(operation, &data, alpha)?;
    Ok((data, moments))
}

/// The public result of one solution.
pub(crate) fn finished(moments: &Moments, alpha: f64, solution: Solution, freedom: Option<f64>) -> RidgeFit {
    let unexplained = || solution.residual_square / moments.y_square;
    let r_squared = if moments.target_varies() { 1.0 - unexplained() } else { f64::NAN };
    RidgeFit {
        alpha,
        intercept: moments.intercept(&solution.w),
        coefficients: solution.w,
        residual_sum_of_squares: solution.residual_square,
        r_squared,
        degrees_of_freedom: freedom,
        method: solution.method,
    }
}

impl RidgeFit {
    /// `b + X·w` (n) for `x` (n × p).
    pub fn predict<T: Element>(&self, x: View<'_, T>) -> Result<Vec<f64>, LinearError> {
        check::same_columns(&x, self.coefficients.len())?;
        let p = self.coefficients.len();
        let row = Matrix::from_fn(1, p, |_, j| self.coefficients[j]);
        Ok(passes::times(&x, &row, &[self.intercept]).as_slice().to_vec())
    }
}

#[cfg(test)]
#[path = "tests/ridge.rs"]
mod tests;
