//! Least squares.
//!
//! ```text
//!  many rows     Gram matrix of the shifted columns ──Cholesky──► R      kept where uκ² is far below what is asked
//!                otherwise Householder reflections ─────────────► R      at any conditioning; also for summaries
//!                rank of R ──► kept terms, formulas of the others ──► solve ──► refine on the data ──► minimum norm
//!  few rows      Gram matrix of the rows ──Cholesky──► solve ──► refine       (wide.rs)
//! ```
//!
//! The settings are one type ([`LeastSquares`]), the fitted model another ([`LinearFit`]).

mod alike;
mod conditioning;
mod dependency;
mod finish;
mod influence;
mod model;
mod precise;
mod rank;
mod reduced;
mod refine;
mod solver;
mod transposed;
mod unit_columns;
mod wide;

#[cfg(test)]
mod tests;

pub use dependency::Dependency;
pub use influence::Influence;
pub(crate) use model::ROUNDING;
pub use model::{Coefficient, Interval, LinearFit, Method, Statistics, TargetFit};
pub use rank::Rank;

use crate::check::{self, argument};
use crate::measure::{rank_band, rank_tolerance_of};
use crate::summary::{Borrowed, Scaled, SelectedRows, Stored, sampled_shift};
use crate::{Extent, LinearError, RowSource, Summary};
use finish::Outcome;
use rank::Decision;
use reduced::Reduced;
use refine::{Known, Refinement, unshifted};
use solver::Solver;
use spanwise_kernels::tall::{Tall, Twofold};
use wide::Wide;

const OPERATION: &str = "fit";
/// Half a unit in the last place of 1.
const U: f64 = f64::EPSILON / 2.0;
/// The Gram matrix is used where its relative error 4uκ² is below this: standard errors keep six digits.
const SQUARED_ERROR: f64 = 1e-6;
/// Tables of at most this many numbers are always reflected: it costs nothing there.
const ALWAYS_REFLECT: usize = 1 << 16;
/// With more columns than this, and no more rows than columns, the Gram matrix of the rows is used.
const WIDE_FROM: usize = 512;

/// What becomes of columns that depend on others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deficiency {
    /// Of all solutions, the one with the smallest Σ w², the intercept not counted. With more columns than rows of sizes so far apart
    /// (powers of one column) that no f64 solution of that kind meets the rows, lengths of columns are the unit of w. A column that
    /// others give but for a constant 1e10 times as large has a coefficient of 0.
    #[default]
    MinimumNorm,
    /// Dependent columns are left out: their coefficient is 0.
    Drop,
}

/// The settings of a least-squares fit.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::LeastSquares;
///
/// let x = View::new(&[0.0, 1.0, 2.0, 3.0], &[4, 1])?;
/// let y = [1.0, 3.0, 5.0, 7.0];
/// let model = LeastSquares::new().fit(&x, &y[..])?;
/// assert_eq!(model.target().coefficients[0].value, 2.0);
/// assert_eq!(model.target().intercept.unwrap().value, 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeastSquares {
    intercept: bool,
    deficiency: Deficiency,
    tolerance: Option<f64>,
    refinement: usize,
    precision: f64,
}

impl Default for LeastSquares {
    fn default() -> Self {
        LeastSquares::new()
    }
}

impl LeastSquares {
    /// With an intercept, minimum norm, the default tolerance, and refinement as long as it helps.
    pub fn new() -> Self {
        LeastSquares {
            intercept: true,
            deficiency: Deficiency::MinimumNorm,
            tolerance: None,
            refinement: 5,
            precision: U,
        }
    }

    /// Whether the model has an intercept.
    #[must_use]
    pub fn intercept(self, intercept: bool) -> Self {
        LeastSquares { intercept, ..self }
    }

    /// What becomes of columns that depend on others.
    #[must_use]
    pub fn deficiency(self, deficiency: Deficiency) -> Self {
        LeastSquares { deficiency, ..self }
    }

    /// The fraction of a column outside the span of the others at or below which it is dependent.
    #[must_use]
    pub fn tolerance(self, tolerance: f64) -> Self {
        LeastSquares { tolerance: Some(tolerance), ..self }
    }

    /// At most this many passes of refinement.
    #[must_use]
    pub fn refinement(self, most_steps: usize) -> Self {
        LeastSquares { refinement: most_steps, ..self }
    }

    /// The numbers had this many binary digits before they became f64, such as 24 of f32: no more certain digits are claimed than
    /// that leaves, and a column that others give to that rounding, or to that of f32 where it is coarser, is dependent.
    #[must_use]
    pub fn stored_bits(self, bits: u32) -> Self {
        LeastSquares { precision: f64::powi(0.5, bits.min(53) as i32), ..self }
    }

    /// Fits `y` (`n × t`, or one column) to the columns of `x` (`n × d`).
    pub fn fit(
        &self,
        x: &(impl RowSource + ?Sized),
        y: &(impl RowSource + ?Sized),
    ) -> Result<LinearFit, LinearError> {
        self.check(&Borrowed(x), &Borrowed(y))?;
        self.fit_kept(&Borrowed(x), &Borrowed(y), None)
    }

    /// The same, minimising Σ w (y − ŷ)². A row of weight zero is as if it were not there.
    pub fn fit_weighted(
        &self,
        x: &(impl RowSource + ?Sized),
        y: &(impl RowSource + ?Sized),
        weights: &[f64],
    ) -> Result<LinearFit, LinearError> {
        let (x, y): (&dyn RowSource, &dyn RowSource) = (&Borrowed(x), &Borrowed(y));
        self.check(x, y)?;
        check::weights(OPERATION, Some(weights), x.rows())?;
        if weights.iter().all(|&w| w > 0.0) {
            return self.fit_kept(x, y, Some(weights));
        }
        let kept: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        let weights: Vec<f64> = kept.iter().map(|&i| weights[i]).collect();
        self.fit_kept(&SelectedRows::new(x, &kept), &SelectedRows::new(y, &kept), Some(&weights))
    }

    /// Fits what a summary has seen. The data cannot be read again, so nothing is refined.
    pub fn fit_summary(&self, summary: &Summary) -> Result<LinearFit, LinearError> {
        let rows = summary.rows() as usize;
        // Rows there were, as a fit of them all at once says.
        let weightless = rows == 0 && summary.zero_weight_rows() > 0;
        argument(OPERATION, "sum of weights").in_range(0.0, !weightless, "a finite number above 0")?;
        check::table(OPERATION, "X", rows, summary.columns())?;
        check::table(OPERATION, "y", rows, summary.targets())?;
        let tolerance = self.checked_tolerance(summary.columns(), self.rank_precision())?;
        let reduced = Reduced::from_summary(summary, self.intercept);
        let (decision, solver, z, residual_squares) = decide(&reduced, tolerance);
        let targets = (0..summary.targets())
            .map(|q| {
                let start =
                    unshifted(&solver, &solver.solve(z.col(q)), target_shift(&reduced, summary.columns(), q));
                finish::unrefined(&solver, &start, residual_squares[q], self.precision)
            })
            .collect();
        let (exponents, log_weights) = (summary.exponents(), summary.log_weight_sum());
        Ok(self.finish(&reduced, decision, solver, targets, exponents, log_weights))
    }

    /// Shapes and settings.
    fn check(&self, x: &dyn RowSource, y: &dyn RowSource) -> Result<(), LinearError> {
        argument(OPERATION, "y").fits(Extent::Rows(y.rows()), "X", Extent::Rows(x.rows()))?;
        check::table(OPERATION, "X", x.rows(), x.cols())?;
        check::table(OPERATION, "y", y.rows(), y.cols())?;
        self.checked_tolerance(x.cols(), U).map(|_| ())
    }

    /// What columns may differ by and still count as dependent: of shorter types than f32 it would be hundredths.
    fn rank_precision(&self) -> f64 {
        self.precision.min(f64::from(f32::EPSILON) / 2.0)
    }

    fn checked_tolerance(&self, columns: usize, precision: f64) -> Result<f64, LinearError> {
        match self.tolerance {
            None => Ok(rank_tolerance_of(columns + usize::from(self.intercept), precision)),
            Some(tolerance) => {
                let (within, expected) = ((0.0..1.0).contains(&tolerance), "a number from 0 to below 1");
                argument(OPERATION, "tolerance").in_range(tolerance, within, expected)?;
                Ok(tolerance)
            }
        }
    }

    /// Rows whose weights are all above zero.
    fn fit_kept(
        &self,
        x: &dyn RowSource,
        y: &dyn RowSource,
        weights: Option<&[f64]>,
    ) -> Result<LinearFit, LinearError> {
        let tolerance = self.checked_tolerance(x.cols(), x.precision().max(self.rank_precision()))?;
        let [x, y] = [x, y].map(|source| Stored { source, precision: self.precision });
        let (x, y): (&dyn RowSource, &dyn RowSource) = (&x, &y);
        let (n, d) = (x.rows(), x.cols());
        if n <= d && d > WIDE_FROM && self.deficiency == Deficiency::MinimumNorm {
            let (intercept, refinement) = (self.intercept, self.refinement);
            return Wide { intercept, x, y, weights, tolerance, refinement }.fit();
        }
        let log_weights = weights.map_or(0.0, |w| w.iter().map(|w| w.ln()).sum());
        let tall_enough = n > d + 1 && n.saturating_mul(d + 1) > ALWAYS_REFLECT;
        if tall_enough {
            let shift = if self.intercept { sampled_shift(x, y) } else { vec![0.0; d + y.cols()] };
            let tall = Tall { x, y, weights, shift: &shift };
            if let Some((reduced, solver)) = by_gram(&tall, self.intercept, tolerance) {
                let smallest = solver.smallest_fraction();
                let decision = rank::full(&reduced, tolerance, smallest);
                let z = reduced.z.clone();
                let targets = self.refined(&tall, &reduced, &solver, &z, &reduced.residual_squares);
                return Ok(self.finish(
                    &reduced,
                    decision,
                    solver,
                    targets,
                    &vec![0; d + y.cols()],
                    log_weights,
                ));
            }
        }
        let summary = Summary::of_kept(OPERATION, x, y, weights)?;
        let reduced = Reduced::from_summary(&summary, self.intercept);
        let (decision, mut solver, z, residual_squares) = decide(&reduced, tolerance);
        let exponents = summary.exponents();
        let zeros = vec![0.0; exponents.len()];
        let scaled_x = Scaled::new(x, &zeros[..d], &exponents[..d]);
        let scaled_y = Scaled::new(y, &zeros[d..], &exponents[d..]);
        let (x, y): (&dyn RowSource, &dyn RowSource) =
            if exponents.iter().all(|&e| e == 0) { (x, y) } else { (&scaled_x, &scaled_y) };
        let tall = Tall { x, y, weights, shift: &zeros };
        solver.precise_rows = precise::row_norms(&tall, &solver);
        let targets = self.refined(&tall, &reduced, &solver, &z, &residual_squares);
        Ok(self.finish(&reduced, decision, solver, targets, exponents, log_weights))
    }

    /// The coefficients of the kept terms, refined on the data.
    fn refined(
        &self,
        tall: &Tall<'_>,
        reduced: &Reduced,
        solver: &Solver,
        z: &spanwise_kernels::Matrix,
        residual_squares: &[f64],
    ) -> Vec<refine::Refined> {
        let d = tall.x.cols();
        let starts: Vec<Vec<Twofold>> = (0..tall.y.cols())
            .map(|q| unshifted(solver, &solver.solve(z.col(q)), target_shift(reduced, d, q)))
            .collect();
        if self.refinement == 0 {
            let precision = tall.x.precision().max(tall.y.precision());
            let unrefined = |(s, &rss): (&Vec<Twofold>, &f64)| finish::unrefined(solver, s, rss, precision);
            return starts.iter().zip(residual_squares).map(unrefined).collect();
        }
        let known = Known::of(tall, reduced);
        Refinement { tall, solver, most_steps: self.refinement, known }.run(starts)
    }

    fn finish(
        &self,
        reduced: &Reduced,
        decision: Decision,
        solver: Solver,
        targets: Vec<refine::Refined>,
        exponents: &[i32],
        log_weights: f64,
    ) -> LinearFit {
        finish::finish(Outcome {
            reduced,
            decision,
            solver,
            targets,
            exponents,
            log_weights,
            minimum_norm: self.deficiency == Deficiency::MinimumNorm,
        })
    }
}

/// What was subtracted from target `q` of a problem of `d` features.
fn target_shift(reduced: &Reduced, d: usize, q: usize) -> f64 {
    reduced.shift[d + q]
}

/// By the Gram matrix, if its error does no harm and no term is near to depending on others.
fn by_gram(tall: &Tall<'_>, intercept: bool, tolerance: f64) -> Option<(Reduced, Solver)> {
    let reduced = Reduced::from_gram(tall, intercept)?;
    let solver = Solver::full(&reduced);
    let kappa = solver.condition_bound;
    let harmless = 4.0 * U * kappa * kappa < SQUARED_ERROR;
    (harmless && solver.smallest_fraction() > rank_band(tolerance).1).then_some((reduced, solver))
}

/// The rank, the solver of the kept terms, their z and what they leave of the targets' squares.
fn decide(reduced: &Reduced, tolerance: f64) -> (Decision, Solver, spanwise_kernels::Matrix, Vec<f64>) {
    let k = reduced.terms();
    if (0..k).all(|j| reduced.r[(j, j)] != 0.0) {
        let solver = Solver::full(reduced);
        let smallest = solver.smallest_fraction();
        if smallest > rank_band(tolerance).1 {
            let decision = rank::full(reduced, tolerance, smallest);
            return (decision, solver, reduced.z.clone(), reduced.residual_squares.clone());
        }
    }
    let decision = rank::decide(reduced, tolerance);
    let (solver, z, residual_squares) = Solver::kept(reduced, &decision.kept);
    (decision, solver, z, residual_squares)
}
