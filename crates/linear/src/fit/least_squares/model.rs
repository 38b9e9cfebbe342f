//! A fitted model.

use super::dependency::Dependency;
use super::rank::Rank;
use super::solver::Solver;
use crate::check::{self, argument};
use crate::fit::{Distribution, FisherF, StudentT};
use crate::summary::{Borrowed, Scaled, times_power_of_two};
use crate::{Extent, LinearError, RowSource};
use spanwise_kernels::Matrix;
use spanwise_kernels::tall::multiply;

/// Squares below this share of a target's own are what rounding its values leaves: about (9u)².
pub(crate) const ROUNDING: f64 = 1e-30;

/// How a model was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Cholesky factor of the Gram matrix of the columns, where conditioning allows it.
    Gram,
    /// Householder reflections, at any conditioning.
    Householder,
    /// Cholesky factor of the Gram matrix of the rows: no more rows than columns.
    Dual,
    /// Singular values of the columns scaled to length 1: no more rows than columns, of sizes so far apart that [`Method::Dual`] does
    /// not meet the rows. Of all solutions the one that is smallest in units of the columns' lengths.
    UnitColumns,
}

/// One coefficient with what is known about it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Coefficient {
    /// Its value.
    pub value: f64,
    /// Its standard error; NaN without degrees of freedom, and for a coefficient the data do not determine.
    pub standard_error: f64,
    /// Decimal digits that agree with the exact solution of the data as stored, at least; never above 15.5.
    pub computed_digits: f64,
    /// Decimal digits that the rounding of the data itself leaves, at least; never above 14.
    pub data_digits: f64,
}

impl Coefficient {
    /// The decimal digits that can be trusted: no more than the computation has, and no more than the data allow.
    pub fn digits(&self) -> f64 {
        self.computed_digits.min(self.data_digits)
    }

    /// The value in units of its standard error.
    pub fn t(&self) -> f64 {
        self.value / self.standard_error
    }
}

/// A lower and an upper end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// What was fitted for one target.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TargetFit {
    /// One a column.
    pub coefficients: Vec<Coefficient>,
    /// The intercept, if the model has one.
    pub intercept: Option<Coefficient>,
    /// Σ w (y − ŷ)²; of a target beyond about 1e±150 it may overflow or vanish, which [`TargetFit::unexplained`] does not.
    pub residual_squares: f64,
    /// Σ w (y − ȳ)² with an intercept, Σ w y² without.
    pub total_squares: f64,
    /// Σ w y².
    pub squares: f64,
    /// The same three in a unit in which none of them overflows or vanishes.
    pub(super) shares: Shares,
    /// The coefficients in units in which all of them can be stored, where some cannot be as they are.
    pub(super) kept: Option<Kept>,
}

/// The sums of squares of a target times 2^exponent: residual, total and all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shares {
    pub(super) residual: f64,
    pub(super) total: f64,
    pub(super) all: f64,
    pub(super) exponent: i32,
}

/// Coefficients of the columns times their powers of two, for the target times its own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kept {
    pub(super) coefficients: Vec<f64>,
    pub(super) intercept: f64,
    pub(super) exponent: i32,
    /// The columns whose coefficients are too large or too small as they are.
    pub(super) out_of_range: Vec<usize>,
}

impl TargetFit {
    /// Whether the target varies by more than the rounding of its values; without an intercept, whether it is not 0 throughout.
    pub fn varies(&self) -> bool {
        self.shares.total > ROUNDING * self.shares.all
    }

    /// The part of the target's variation that the fit leaves: residual over total squares, whatever the target's unit. NaN where
    /// it does not vary.
    pub fn unexplained(&self) -> f64 {
        if self.varies() { self.shares.residual / self.shares.total } else { f64::NAN }
    }

    /// The columns whose coefficients f64 cannot hold: infinite, or rounded to 0 or nearly so. Predictions are right all the same.
    pub fn out_of_range(&self) -> &[usize] {
        self.kept.as_ref().map_or(&[], |kept| &kept.out_of_range)
    }

    /// Whether the fit leaves no more of the target than the rounding of its values: nothing to estimate errors from.
    pub fn is_exact(&self) -> bool {
        self.shares.residual <= ROUNDING * self.shares.all
    }
}

/// A fitted linear model of one or more targets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinearFit {
    pub(super) targets: Vec<TargetFit>,
    pub(super) rank: Rank,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) method: Method,
    pub(super) rows: u64,
    pub(super) log_weights: f64,
    pub(super) passes: usize,
    pub(super) condition: f64,
    pub(super) condition_bound: f64,
    /// Of the kept terms, in units of 2^exponent; `None` where there are no more rows than columns.
    pub(super) solver: Option<Solver>,
    /// Of the columns, for the solver.
    pub(super) exponents: Vec<i32>,
}

impl LinearFit {
    /// How many columns the model takes.
    pub fn columns(&self) -> usize {
        self.targets.first().map_or(0, |target| target.coefficients.len())
    }

    /// What was fitted, target by target.
    pub fn targets(&self) -> &[TargetFit] {
        &self.targets
    }

    /// The first target's fit.
    pub fn target(&self) -> &TargetFit {
        &self.targets[0]
    }

    /// The rank of the terms.
    pub fn rank(&self) -> &Rank {
        &self.rank
    }

    /// Each dependent column as a formula. With more than 512 columns and no more rows than columns, where all depend on all, those
    /// that are constant or another one in other units (`x[j] = a·x[i] + c`).
    pub fn dependencies(&self) -> &[Dependency] {
        &self.dependencies
    }

    /// Whether the data leave one value to the coefficient of `column`, or, where `None`, to the intercept: it has no part in a
    /// dependency, or columns were dropped so that it has a standard error.
    pub fn determines(&self, column: Option<usize>) -> bool {
        let target = self.target();
        let coefficient = match column {
            Some(j) => target.coefficients.get(j),
            None => target.intercept.as_ref(),
        };
        if self.rank.is_full() || coefficient.is_some_and(|c| c.standard_error.is_finite()) {
            return true;
        }
        // Where not all formulas are told, any column may have a part in the others.
        let all_told = self.dependencies.len() == self.rank.terms - self.rank.rank;
        let has_part = |found: &Dependency| match column {
            Some(j) => found.touches(j),
            None => found.constant != 0.0,
        };
        all_told && !self.dependencies.iter().any(has_part)
    }

    /// How it was computed.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Rows with a weight above zero.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Passes over the data for refinement.
    pub fn refinement_steps(&self) -> usize {
        self.passes
    }

    /// The condition number of the independent terms, shifted near their means unless those are small, and scaled to norm 1:
    /// an estimate from below.
    pub fn condition(&self) -> f64 {
        self.condition
    }

    /// An upper bound of the same condition number.
    pub fn condition_bound(&self) -> f64 {
        self.condition_bound
    }

    /// Rows beyond the rank; 0 where there are none.
    pub fn degrees_of_freedom(&self) -> u64 {
        self.rows.saturating_sub(self.rank.rank as u64)
    }

    /// `n × t` predictions for the rows of `x`.
    pub fn predict(&self, x: &(impl RowSource + ?Sized)) -> Result<Matrix, LinearError> {
        let x = &Borrowed(x);
        self.check_columns("predict", x)?;
        let (n, t) = (x.rows(), self.targets.len());
        let mut all = Matrix::zeros(n, t);
        for (q, target) in self.targets.iter().enumerate() {
            let column = self.predicted(x, target);
            column.into_iter().enumerate().for_each(|(i, value)| all[(i, q)] = value);
        }
        Ok(all)
    }

    /// `n` predictions of one target.
    pub(super) fn predicted(&self, x: &dyn RowSource, target: &TargetFit) -> Vec<f64> {
        let mut column = vec![0.0; x.rows()];
        if let Some(kept) = &target.kept {
            let zeros = vec![0.0; self.exponents.len()];
            let scaled = Scaled::new(x, &zeros, &self.exponents);
            multiply(&scaled, &kept.coefficients, kept.intercept, &mut column);
            for value in &mut column {
                *value = times_power_of_two(*value, -kept.exponent);
            }
            return column;
        }
        let w: Vec<f64> = target.coefficients.iter().map(|c| c.value).collect();
        multiply(x, &w, target.intercept.map_or(0.0, |c| c.value), &mut column);
        column
    }

    pub(super) fn check_columns(
        &self,
        operation: &'static str,
        x: &dyn RowSource,
    ) -> Result<(), LinearError> {
        let (found, expected) = (Extent::Columns(x.cols()), Extent::Columns(self.columns()));
        argument(operation, "X").fits(found, "the fitted model", expected)?;
        check::finite_rows(operation, "X", x)
    }

    pub(super) fn check_target(&self, operation: &'static str, index: usize) -> Result<(), LinearError> {
        let expected = "a number below the number of targets";
        argument(operation, "target").in_range(index as f64, index < self.targets.len(), expected)
    }

    /// P of a value at least as far from 0 as this coefficient's, if it were 0.
    pub fn p_value(&self, coefficient: &Coefficient) -> f64 {
        let t = coefficient.t();
        match StudentT::new(self.degrees_of_freedom() as f64) {
            Ok(student) if !t.is_nan() => student.two_sided(t),
            _ => f64::NAN,
        }
    }

    /// The interval that holds the coefficient with probability `confidence` (such as 0.95).
    pub fn confidence_interval(
        &self,
        coefficient: &Coefficient,
        confidence: f64,
    ) -> Result<Interval, LinearError> {
        let reach = self.t_quantile(confidence)? * coefficient.standard_error;
        Ok(Interval { lower: coefficient.value - reach, upper: coefficient.value + reach })
    }

    pub(super) fn t_quantile(&self, confidence: f64) -> Result<f64, LinearError> {
        let within = confidence > 0.0 && confidence < 1.0;
        argument("interval", "confidence").in_range(confidence, within, "a number between 0 and 1")?;
        // Without degrees of freedom there is no interval.
        StudentT::new(self.degrees_of_freedom() as f64)
            .map_or(Ok(f64::NAN), |student| student.upper_quantile(0.5 * (1.0 - confidence)))
    }

    /// Statistics of the fit of target `index`, as a whole.
    pub fn statistics(&self, index: usize) -> Option<Statistics> {
        let target = self.targets.get(index)?;
        let (n, p) = (self.rows as f64, self.rank.rank as f64);
        let freedom = n - p;
        let intercept = f64::from(u8::from(target.intercept.is_some()));
        let Shares { residual, total, exponent, .. } = target.shares;
        let unexplained = target.unexplained();
        let explained_freedom = p - intercept;
        let f = if freedom > 0.0 && explained_freedom > 0.0 && target.varies() {
            ((total - residual) / explained_freedom) / (residual / freedom)
        } else {
            f64::NAN
        };
        // The squares are in units of 2^(−2·exponent).
        let log_variance = (residual / n).ln() - 2.0 * f64::from(exponent) * std::f64::consts::LN_2;
        let log_likelihood =
            -0.5 * n * ((2.0 * std::f64::consts::PI).ln() + log_variance + 1.0) + 0.5 * self.log_weights;
        Some(Statistics {
            residual_deviation: if freedom > 0.0 {
                times_power_of_two((residual / freedom).sqrt(), -exponent)
            } else {
                f64::NAN
            },
            r_squared: 1.0 - unexplained,
            adjusted_r_squared: if freedom > 0.0 {
                1.0 - unexplained * (n - intercept) / freedom
            } else {
                f64::NAN
            },
            f,
            f_p_value: FisherF::new(explained_freedom, freedom)
                .ok()
                .filter(|_| !f.is_nan())
                .map_or(f64::NAN, |fisher| fisher.upper(f)),
            log_likelihood,
            aic: 2.0 * p - 2.0 * log_likelihood,
            bic: n.ln() * p - 2.0 * log_likelihood,
        })
    }
}

/// Statistics of a fit as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// √(rss / degrees of freedom).
    pub residual_deviation: f64,
    /// The part of the target's variation that is explained; NaN where the target does not vary.
    pub r_squared: f64,
    /// The same, corrected for the number of terms.
    pub adjusted_r_squared: f64,
    /// Of the hypothesis that all coefficients but the intercept are 0.
    pub f: f64,
    /// P of an F at least as large under that hypothesis.
    pub f_p_value: f64,
    /// Gaussian, at the maximum over the variance.
    pub log_likelihood: f64,
    /// 2 · rank − 2 · log-likelihood (the variance is not counted as a parameter).
    pub aic: f64,
    /// ln(rows) · rank − 2 · log-likelihood.
    pub bic: f64,
}
