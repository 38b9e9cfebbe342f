//! Ridge regression for many penalties at once, and the choice between them.
//!
//! The moments are formed once and rotated to tridiagonal form once; each penalty then costs a tridiagonal solve
//! (see `tridiagonal`). The errors that a choice is made by are in `left_out` (rows one by one) and `folds` (in parts).

use super::moments::{Data, Method, Moments, Solution};
use super::ridge::{RidgeFit, finished, prepared};
use super::stand_in::StandIn;
use crate::check::{self, argument};
use crate::dense::{Shifted, Tridiagonal};
use crate::{LinearError, Summary};
use spanwise_kernels::{Element, View};

pub(super) const OPERATION: &str = "ridge path";

/// Beyond this condition number a penalty is solved on its own, by the more careful ways.
const ROTATE_BELOW: f64 = 1e6;

/// Settings of a ridge regression for several penalties.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::fit::RidgePath;
///
/// let x = View::new(&[0.0, 1.0, 2.0, 3.0, 4.0], &[5, 1])?;
/// let y = [1.1, 2.9, 5.0, 7.1, 8.9];
/// let path = RidgePath::new(vec![0.1, 1.0, 10.0]);
/// let fits = path.fit(x, &y)?;
/// assert!(fits[0].coefficients[0] > fits[2].coefficients[0]);
/// let chosen = path.choose_leave_one_out(x, &y)?;
/// assert_eq!(chosen.fit.alpha, 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RidgePath {
    /// The penalties, in any order.
    pub alphas: Vec<f64>,
    /// Whether to fit an intercept.
    pub intercept: bool,
}

/// A penalty chosen by validation, and the fit to all rows that goes with it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RidgeChoice {
    /// The fit with the chosen penalty.
    pub fit: RidgeFit,
    /// Weighted mean squared error on rows left out, for each penalty in the order given. Infinite where leaving one
    /// row out leaves nothing to predict it from.
    pub errors: Vec<f64>,
}

impl RidgePath {
    /// For these penalties, with an intercept.
    pub fn new(alphas: Vec<f64>) -> Self {
        RidgePath { alphas, intercept: true }
    }

    /// `count` penalties from `lowest` to `highest`, evenly on a logarithmic scale.
    pub fn logarithmic(lowest: f64, highest: f64, count: usize) -> Result<Self, LinearError> {
        check::positive(OPERATION, "lowest", lowest)?;
        check::positive(OPERATION, "highest", highest)?;
        let step = (highest.ln() - lowest.ln()) / count.saturating_sub(1).max(1) as f64;
        let alphas = (0..count).map(|i| {
            // In two steps: the whole may be beyond the range of f64.
            let half = (0.5 * step * i as f64).exp();
            if i + 1 == count && i > 0 { highest } else { lowest * half * half }
        });
        Ok(RidgePath::new(alphas.collect()))
    }

    /// An error for each penalty where some rows have no others to be predicted from.
    pub(super) fn unknown(&self) -> Vec<f64> {
        vec![f64::INFINITY; self.alphas.len()]
    }

    pub(super) fn lowest(&self) -> f64 {
        self.alphas.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(super) fn check(&self) -> Result<(), LinearError> {
        let count = self.alphas.len();
        argument(OPERATION, "alphas").in_range(count as f64, count > 0, "at least one penalty")?;
        self.alphas.iter().try_for_each(|&alpha| check::not_negative(OPERATION, "alphas", alpha))
    }

    /// One fit per penalty, in the order given.
    pub fn fit<T: Element>(&self, x: View<'_, T>, y: &[f64]) -> Result<Vec<RidgeFit>, LinearError> {
        self.run(x, y, None)
    }

    /// One fit per penalty, with one weight ≥ 0 per row.
    pub fn fit_weighted<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
        weights: &[f64],
    ) -> Result<Vec<RidgeFit>, LinearError> {
        self.run(x, y, Some(weights))
    }

    pub(super) fn run<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<Vec<RidgeFit>, LinearError> {
        self.check()?;
        let (data, moments) = prepared(OPERATION, x, y, weights, self.intercept, self.lowest())?;
        Ok(self.solutions(&data, &moments))
    }

    /// One fit per penalty, in the order given, to target `target` of the rows that a summary has seen.
    ///
    /// ```
    /// use spanwise_kernels::View;
    /// use spanwise_linear::{Summary, fit::RidgePath};
    ///
    /// let x = View::new(&[0.0, 1.0, 2.0, 3.0, 4.0], &[5, 1])?;
    /// let summary = Summary::of(&x, &[1.0, 3.0, 5.0, 7.0, 9.0][..], None)?;
    /// let fits = RidgePath::new(vec![0.0, 10.0]).fit_summary(&summary, 0)?;
    /// assert!((fits[0].coefficients[0] - 2.0).abs() < 1e-12);
    /// assert!((fits[1].coefficients[0] - 1.0).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fit_summary(&self, summary: &Summary, target: usize) -> Result<Vec<RidgeFit>, LinearError> {
        self.check()?;
        let rows = StandIn::new(OPERATION, summary, target, self.intercept)?;
        let (data, moments) = rows.prepared(OPERATION, self.lowest())?;
        Ok(self.solutions(&data, &moments))
    }

    fn solutions<T: Element>(&self, data: &Data<'_, T>, moments: &Moments) -> Vec<RidgeFit> {
        let rotated = Tridiagonal::of(&moments.square);
        let c = rotated.rotate(&moments.right);
        let shifted: Vec<_> = self
            .alphas
            .iter()
            .map(|&alpha| rotated.solve(alpha, &c).filter(|s| s.condition < ROTATE_BELOW))
            .collect();
        // The reflections turn all solutions back together; a penalty that is too small for it keeps a column of zeros.
        let zeros = || vec![0.0; c.len()];
        let solution = |s: &Option<Shifted>| s.as_ref().map_or_else(zeros, |s| s.solution.clone());
        let mut all: Vec<Vec<f64>> = shifted.iter().map(solution).collect();
        rotated.rotate_back(&mut all);
        let fits = self.alphas.iter().zip(shifted).enumerate().map(|(k, (&alpha, shifted))| {
            let Some(shifted) = shifted else {
                return finished(moments, alpha, moments.solve(data, alpha), None);
            };
            let s = std::mem::take(&mut all[k]);
            let residual_square = moments.residual_square(alpha, &s);
            let w = moments.coefficients(data, s);
            let freedom = moments.degrees_of_freedom(alpha, shifted.inverse_trace, self.intercept);
            finished(moments, alpha, Solution { w, residual_square, method: Method::Moments }, Some(freedom))
        });
        fits.collect()
    }

    /// The fit with the least error; of equal ones the first. Where all are infinite there is nothing to choose by: too few `rows`
    /// have a weight above zero.
    pub(super) fn chosen<T: Element>(
        &self,
        data: &Data<'_, T>,
        moments: &Moments,
        errors: Vec<f64>,
        rows: u64,
    ) -> Result<RidgeChoice, LinearError> {
        let some = errors.len() == 1 || errors.iter().any(|error| *error < f64::INFINITY);
        argument(OPERATION, "rows to choose a penalty by").in_range(
            rows as f64,
            some,
            "enough that each can be predicted from the others",
        )?;
        let best = (1..errors.len()).fold(0, |best, k| if errors[k] < errors[best] { k } else { best });
        let alone = RidgePath { alphas: vec![self.alphas[best]], intercept: self.intercept };
        let fit = alone.solutions(data, moments).swap_remove(0);
        Ok(RidgeChoice { fit, errors })
    }
}
