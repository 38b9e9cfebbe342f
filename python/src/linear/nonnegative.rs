//! Weights that may not be negative.

use super::{Table, products, target_columns};
use crate::array::{Answer, vector, with_real};
use crate::errors::OrRaise;
use crate::work;
use numpy::PyArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::linear::LinearError;
use spanwise::linear::fit::{ConstrainedFit, NonNegative, Simplex};

/// One fit per column of `y` (n × t, f64).
#[pyfunction]
pub(crate) fn nonnegative<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
    intercept: bool,
    unit_sum: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let py = x.py();
    let table = Table::new("non-negative least squares", x, y, weights)?;
    let weights = table.weights()?;
    let targets = target_columns(&table.y)?;
    let products = targets.len() as f64 * products(&table.x, 1);
    let plain = NonNegative { intercept };
    let fits =
        with_real!(table.x, |x| work::fit(py, products, || -> Result<Vec<ConstrainedFit>, LinearError> {
            let each = targets.iter().map(|y| match (weights, unit_sum) {
                (Some(weights), true) => Simplex.fit_weighted(x, y, weights),
                (Some(weights), false) => plain.fit_weighted(x, y, weights),
                (None, true) => Simplex.fit(x, y),
                (None, false) => plain.fit(x, y),
            });
            each.collect()
        }));
    answer(py, &fits?.or_raise(py)?)
}

/// One row of coefficients per fit.
pub(super) fn answer<'py>(py: Python<'py>, fits: &[ConstrainedFit]) -> PyResult<Bound<'py, PyDict>> {
    let of = |of: fn(&ConstrainedFit) -> f64| fits.iter().map(of).collect::<Vec<f64>>();
    let columns = fits.first().map_or(0, |fit| fit.coefficients.len());
    let flat = fits.iter().flat_map(|fit| fit.coefficients.iter().copied()).collect();
    let support: Vec<Vec<usize>> = fits.iter().map(|fit| fit.support.clone()).collect();
    Ok(Answer::new(py)
        .with("coefficients", vector(py, flat).reshape([fits.len(), columns])?)?
        .vector("intercept", of(|fit| fit.intercept))?
        .with("support", support)?
        .vector("residual_squares", of(|fit| fit.residual_sum_of_squares))?
        .vector("stationarity", of(|fit| fit.certificate.stationarity))?
        .vector("improvement", of(|fit| fit.certificate.improvement))?
        .vector("feasibility", of(|fit| fit.certificate.feasibility))?
        .done())
}
