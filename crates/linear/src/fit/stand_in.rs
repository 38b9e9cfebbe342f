//! A summary as the data of a regression: a few rows with the inner products of all, so that a fit of a summary is the fit of these
//! rows, by the same text.
//!
//! ```text
//!  with an intercept    Z = R[1.., X], t = R[1.., y], about x̄ and ȳ        b = ȳ − x̄·w
//!  without              Z = R[0.., X], t = R[0.., y], as they are
//! ```

use super::moments::{Data, Moments, Origin};
use super::passes::dot;
use super::ridge::RidgeFit;
use crate::check::{self, argument};
use crate::{LinearError, Summary};
use spanwise_kernels::Matrix;

/// Rows that stand for all rows of a summary.
#[derive(Clone, Debug)]
pub(crate) struct StandIn {
    x: Matrix,
    y: Vec<f64>,
    /// The means, where the rows are about them.
    origin: Option<Origin>,
    /// `Σ ω`.
    total: f64,
}

impl StandIn {
    /// For target `target` of all rows seen, about their means where there is an intercept.
    pub(crate) fn new(
        operation: &'static str,
        summary: &Summary,
        target: usize,
        intercept: bool,
    ) -> Result<Self, LinearError> {
        let rows = summary.rows() as usize;
        let (d, t) = (summary.columns(), summary.targets());
        // Rows there were, as a fit of them all at once says.
        let weightless = rows == 0 && summary.zero_weight_rows() > 0;
        argument(operation, "sum of weights").in_range(0.0, !weightless, "a finite number above 0")?;
        check::table(operation, "X", rows, d)?;
        check::table(operation, "y", rows, t)?;
        argument(operation, "target").in_range(target as f64, target < t, "one of the summary's targets")?;
        let few = summary.few_rows(intercept);
        let x = Matrix::from_fn(few.rows(), d, |i, j| few[(i, j)]);
        let y = few.col(d + target);
        for (argument, numbers) in [("X", x.as_slice()), ("y", &y[..])] {
            if numbers.iter().any(|v| !v.is_finite()) {
                return Err(LinearError::Overflow { operation, argument });
            }
        }
        let origin = || Origin { x: (0..d).map(|j| summary.mean(j)).collect(), y: summary.mean(d + target) };
        Ok(StandIn { x, y, origin: intercept.then(origin), total: summary.weight_sum() })
    }

    /// The rows, which have no means to take off any more.
    pub(crate) fn data(&self) -> Data<'_, f64> {
        Data { x: self.x.view(), y: &self.y, weights: None, total: self.total, intercept: false }
    }

    /// The rows and their moments, checked for penalties of at least `alpha`.
    pub(crate) fn prepared(
        &self,
        operation: &'static str,
        alpha: f64,
    ) -> Result<(Data<'_, f64>, Moments), LinearError> {
        let data = self.data();
        let moments = self.moments();
        moments.check(operation, &data, alpha)?;
        Ok((data, moments))
    }

    /// The moments of all rows; not those of the dual, as there are more rows than columns.
    pub(crate) fn moments(&self) -> Moments {
        Moments { origin: self.origin.clone(), ..Moments::primal(&self.data()) }
    }

    /// `Σ ωᵢ·(yᵢ − b − xᵢ·w)²` of rows about their means: what the fit leaves about them, and how far it misses them.
    pub(crate) fn squared_errors(&self, fit: &RidgeFit) -> f64 {
        let w = &fit.coefficients[..];
        let error = |(i, y): (usize, &f64)| (y - dot(self.x.row(i), w)).powi(2);
        let about: f64 = self.y.iter().enumerate().map(error).sum();
        let missed = self.origin.as_ref().map_or(0.0, |at| at.y - fit.intercept - dot(&at.x, w));
        about + self.total * missed * missed
    }

    /// `Σ ω`.
    pub(crate) fn total(&self) -> f64 {
        self.total
    }
}
