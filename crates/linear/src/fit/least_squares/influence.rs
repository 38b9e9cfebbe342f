//! What single rows do: leverage, Cook's distance, studentised residuals, intervals of predictions.
//!
//! With A = Q R the leverage of row i is `w ‖R⁻ᵀ a‖²`: the R⁻¹ of the fit is applied to each row, in parallel.

use super::dependency::Dependency;
use super::model::{Interval, LinearFit};
use super::solver::Solver;
use crate::check::{self, argument};
use crate::summary::{Borrowed, times_power_of_two};
use crate::{Block, Extent, LinearError, RowSource};
use spanwise_kernels::crew;
use spanwise_kernels::tall::{Tall, Twofold, residuals};

/// Rows to a work item.
const CHUNK: usize = 512;
/// A formula that holds to this share of the sizes of its terms is not broken: rounding of its coefficients leaves less.
const UNBROKEN: f64 = 1e-9;

/// The influence of each row on the fit of one target.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Influence {
    /// y − ŷ.
    pub residuals: Vec<f64>,
    /// How much of its own prediction each row determines, between 0 and 1.
    pub leverage: Vec<f64>,
    /// Residuals in units of their standard deviation, which the fit with all rows estimates.
    pub studentised: Vec<f64>,
    /// The same, with the deviation estimated without the row itself.
    pub externally_studentised: Vec<f64>,
    /// How far the coefficients move if the row is left out.
    pub cooks_distance: Vec<f64>,
}

impl LinearFit {
    /// Leverage of each row of `x`: `w aᵀ(AᵀWA)⁻¹a`. For rows that were not fitted it says how far they extrapolate.
    pub fn leverage(
        &self,
        x: &(impl RowSource + ?Sized),
        weights: Option<&[f64]>,
    ) -> Result<Vec<f64>, LinearError> {
        let x = &Borrowed(x);
        self.check_columns("leverage", x)?;
        if let Some(weights) = weights {
            check::weights_or_none("leverage", weights, x.rows())?;
        }
        let Some(solver) = &self.solver else {
            // No more rows than columns: every row is met exactly.
            return Ok(vec![1.0; x.rows()]);
        };
        let n = x.rows();
        let mut all = vec![0.0; n];
        let cost = n * solver.len() * solver.len();
        crew::each(cost, all.chunks_mut(CHUNK).enumerate(), |(c, out)| {
            let mut scratch = Vec::new();
            let block = x.block(c * CHUNK, out.len(), &mut scratch);
            let mut row = vec![0.0; solver.len()];
            for (i, out) in out.iter_mut().enumerate() {
                self.scaled_row(solver, &block, i, &mut row);
                let weight = weights.map_or(1.0, |w| w[c * CHUNK + i]);
                *out = weight * squared_distance(solver, &row);
            }
        });
        Ok(all)
    }

    /// The kept terms of row `i`, shifted and scaled as the solver has them.
    fn scaled_row(&self, solver: &Solver, block: &Block<'_>, i: usize, row: &mut [f64]) {
        for (p, a) in row.iter_mut().enumerate() {
            let value = match (solver.intercept, solver.kept[p]) {
                (true, 0) => 1.0,
                (intercept, term) => {
                    let j = term - usize::from(intercept);
                    times_power_of_two(block.get(i, j), self.exponents[j]) - solver.shift[p]
                }
            };
            *a = value / solver.scales[p];
        }
    }

    /// The influence of the rows the model was fitted with, for target `index` (a column of `y`).
    pub fn influence(
        &self,
        x: &(impl RowSource + ?Sized),
        y: &(impl RowSource + ?Sized),
        weights: Option<&[f64]>,
        index: usize,
    ) -> Result<Influence, LinearError> {
        let operation = "influence";
        let leverage = self.leverage(x, weights)?;
        let (x, y) = (&Borrowed(x), &Borrowed(y));
        let name = argument(operation, "y");
        name.fits(Extent::Rows(y.rows()), "X", Extent::Rows(x.rows()))?;
        name.fits(Extent::Columns(y.cols()), "the fitted model", Extent::Columns(self.targets.len()))?;
        self.check_target(operation, index)?;
        check::finite_rows(operation, "y", y)?;
        let target = &self.targets[index];
        let residual = self.residuals(x, y, index);
        let (p, freedom) = (self.rank.rank as f64, self.degrees_of_freedom() as f64);
        // In the unit in which squares neither overflow nor vanish.
        let variance = target.shares.residual / freedom;
        let mut all = Influence {
            studentised: Vec::with_capacity(x.rows()),
            externally_studentised: Vec::with_capacity(x.rows()),
            cooks_distance: Vec::with_capacity(x.rows()),
            residuals: residual,
            leverage,
        };
        for (i, (&r, &h)) in all.residuals.iter().zip(&all.leverage).enumerate() {
            let r = times_power_of_two(r, target.shares.exponent) * weights.map_or(1.0, |w| w[i].sqrt());
            let studentised = r / (variance * (1.0 - h)).sqrt();
            let without = (freedom - studentised * studentised) / (freedom - 1.0);
            all.studentised.push(studentised);
            all.externally_studentised.push(studentised / without.sqrt());
            all.cooks_distance.push(studentised * studentised * h / ((1.0 - h) * p));
        }
        Ok(all)
    }

    /// y − ŷ of target `index`, with twice the precision where the coefficients can be stored as they are.
    fn residuals(&self, x: &dyn RowSource, y: &dyn RowSource, index: usize) -> Vec<f64> {
        let target = &self.targets[index];
        if target.kept.is_some() {
            let mut scratch = Vec::new();
            let block = y.block(0, y.rows(), &mut scratch);
            let predicted = self.predicted(x, target);
            return predicted.iter().enumerate().map(|(i, fitted)| block.get(i, index) - fitted).collect();
        }
        let mut coefficients: Vec<Twofold> =
            target.coefficients.iter().map(|c| Twofold::from(c.value)).collect();
        coefficients.push(Twofold::from(target.intercept.map_or(0.0, |c| c.value)));
        let shift = vec![0.0; x.cols() + y.cols()];
        let mut residual = vec![0.0; x.rows()];
        residuals(&Tall { x, y, weights: None, shift: &shift }, index, &coefficients, &mut residual);
        residual
    }

    /// For each row of `x` the first of the [dependencies](LinearFit::dependencies) that it breaks. The rows of the fit keep to all of
    /// them, so they do not determine what is predicted there: it is a matter of which solution was taken.
    ///
    /// ```
    /// use spanwise_kernels::View;
    /// use spanwise_linear::LeastSquares;
    ///
    /// let x = View::new(&[1.0, 3.0, 2.0, 4.0, 5.0, 7.0, 6.0, 8.0], &[4, 2])?; // the second is the first plus 2
    /// let fit = LeastSquares::new().fit(&x, &[1.0, 2.5, 5.0, 6.5][..])?;
    /// let rows = View::new(&[3.0, 5.0, 3.0, 9.0], &[2, 2])?;
    /// assert_eq!(fit.broken_dependencies(&rows)?, [None, Some(0)]);
    /// assert!(fit.prediction_intervals(&rows, 0, 0.95)?[1].lower.is_nan());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn broken_dependencies(
        &self,
        x: &(impl RowSource + ?Sized),
    ) -> Result<Vec<Option<usize>>, LinearError> {
        let x = &Borrowed(x);
        self.check_columns("predict", x)?;
        let mut all = vec![None; x.rows()];
        if self.dependencies.is_empty() {
            return Ok(all);
        }
        // What a formula leaves of all rows together may be that of one.
        let rows = (self.rows as f64).sqrt();
        let share = |found: &Dependency| {
            UNBROKEN.max(8.0 * self.rank.tolerance).max(8.0 * rows * found.relative_residual)
        };
        let shares: Vec<f64> = self.dependencies.iter().map(share).collect();
        for (c, out) in all.chunks_mut(CHUNK).enumerate() {
            let mut scratch = Vec::new();
            let block = x.block(c * CHUNK, out.len(), &mut scratch);
            for (i, out) in out.iter_mut().enumerate() {
                let mut formulas = self.dependencies.iter().zip(&shares);
                *out = formulas.position(|(found, &share)| found.is_broken(share, |j| block.get(i, j)));
            }
        }
        Ok(all)
    }

    /// For each row of `x`, the interval that holds a new observation of target `index` with probability `confidence`; NaN where
    /// the row [breaks a dependency](LinearFit::broken_dependencies). That of the mean alone is [`LinearFit::mean_intervals`].
    pub fn prediction_intervals(
        &self,
        x: &(impl RowSource + ?Sized),
        index: usize,
        confidence: f64,
    ) -> Result<Vec<Interval>, LinearError> {
        self.intervals(&Borrowed(x), index, confidence, 1.0)
    }

    /// For each row of `x`, the interval that holds the mean of target `index` there with probability `confidence`; NaN where
    /// the row [breaks a dependency](LinearFit::broken_dependencies).
    pub fn mean_intervals(
        &self,
        x: &(impl RowSource + ?Sized),
        index: usize,
        confidence: f64,
    ) -> Result<Vec<Interval>, LinearError> {
        self.intervals(&Borrowed(x), index, confidence, 0.0)
    }

    fn intervals(
        &self,
        x: &dyn RowSource,
        index: usize,
        confidence: f64,
        noise: f64,
    ) -> Result<Vec<Interval>, LinearError> {
        self.check_target("interval", index)?;
        let statistics = self.statistics(index).expect("the target was checked");
        let reach = self.t_quantile(confidence)? * statistics.residual_deviation;
        let leverage = self.leverage(x, None)?;
        let predicted = self.predict(x)?;
        let broken = self.broken_dependencies(x)?;
        let interval = |(i, h): (usize, &f64)| {
            if broken[i].is_some() {
                return Interval { lower: f64::NAN, upper: f64::NAN };
            }
            let (middle, reach) = (predicted[(i, index)], reach * (noise + h).sqrt());
            Interval { lower: middle - reach, upper: middle + reach }
        };
        Ok(leverage.iter().enumerate().map(interval).collect())
    }
}

/// ‖R⁻ᵀ a‖².
fn squared_distance(solver: &Solver, row: &[f64]) -> f64 {
    // Row-major R⁻¹: (R⁻ᵀa)ⱼ = Σ_{i ≤ j} R⁻¹[i][j] aᵢ.
    let mut v = vec![0.0; row.len()];
    for (i, &a) in row.iter().enumerate() {
        if a != 0.0 {
            v[i..].iter_mut().zip(&solver.inverse.row(i)[i..]).for_each(|(v, r)| *v += a * r);
        }
    }
    v.iter().map(|v| v * v).sum()
}
