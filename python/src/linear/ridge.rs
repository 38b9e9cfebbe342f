//! Ridge regression.

use super::{Table, products, target_columns};
use crate::array::{Answer, vector, with_real};
use crate::errors::OrRaise;
use crate::work;
use numpy::PyArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::linear::LinearError;
use spanwise::linear::fit::{Ridge, RidgeFit, RidgeMethod, RidgePath};

/// One fit per column of `y` (n × t, f64), with that column's penalty.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "the interpreter hands it over")]
pub(crate) fn ridge<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    alphas: Vec<f64>,
    weights: Option<&Bound<'py, PyAny>>,
    intercept: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let py = x.py();
    let table = Table::new("ridge", x, y, weights)?;
    let weights = table.weights()?;
    let targets = target_columns(&table.y)?;
    let products = targets.len() as f64 * products(&table.x, 1);
    let fits = with_real!(table.x, |x| work::fit(py, products, || -> Result<Vec<RidgeFit>, LinearError> {
        let targets: Vec<&[f64]> = targets.iter().map(|y| &y[..]).collect();
        // Targets that follow each other with the same penalty share the products of the columns.
        let mut fits = Vec::with_capacity(targets.len());
        for alphas in alphas.chunk_by(|a, b| a == b) {
            let own = &targets[fits.len()..][..alphas.len()];
            fits.extend(Ridge { alpha: alphas[0], intercept }.fit_targets(x, own, weights)?);
        }
        Ok(fits)
    }));
    let fits = fits?.or_raise(py)?;
    answer(py, &fits)
}

/// One row of coefficients per fit.
pub(super) fn answer<'py>(py: Python<'py>, fits: &[RidgeFit]) -> PyResult<Bound<'py, PyDict>> {
    let of = |of: fn(&RidgeFit) -> f64| fits.iter().map(of).collect::<Vec<f64>>();
    let columns = fits.first().map_or(0, |fit| fit.coefficients.len());
    let flat = fits.iter().flat_map(|fit| fit.coefficients.iter().copied()).collect();
    let method = fits.first().map_or("moments", |fit| match fit.method {
        RidgeMethod::Moments => "moments",
        RidgeMethod::Corrected => "corrected",
        RidgeMethod::Singular => "singular",
        _ => "other",
    });
    Ok(Answer::new(py)
        .with("coefficients", vector(py, flat).reshape([fits.len(), columns])?)?
        .vector("intercept", of(|fit| fit.intercept))?
        .vector("residual_squares", of(|fit| fit.residual_sum_of_squares))?
        .vector("r_squared", of(|fit| fit.r_squared))?
        .vector("degrees_of_freedom", of(|fit| fit.degrees_of_freedom.unwrap_or(f64::NAN)))?
        .with("method", method)?
        .done())
}

/// Mean squared errors on rows left out, each by itself: `t × penalties`.
#[pyfunction]
pub(crate) fn ridge_errors<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    alphas: Vec<f64>,
    weights: Option<&Bound<'py, PyAny>>,
    intercept: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let table = Table::new("ridge", x, y, weights)?;
    let weights = table.weights()?;
    let targets = target_columns(&table.y)?;
    let path = RidgePath { alphas, intercept };
    let products = targets.len() as f64 * products(&table.x, path.alphas.len());
    let errors =
        with_real!(table.x, |x| work::fit(py, products, || -> Result<Vec<Vec<f64>>, LinearError> {
            let each = targets.iter().map(|y| {
                let choice = match weights {
                    Some(weights) => path.choose_leave_one_out_weighted(x, y, weights),
                    None => path.choose_leave_one_out(x, y),
                };
                choice.map(|choice| choice.errors)
            });
            each.collect()
        }));
    let errors = errors?.or_raise(py)?;
    let rows = errors.len();
    Ok(vector(py, errors.concat()).reshape([rows, path.alphas.len()])?.into_any())
}

/// Coefficients and intercepts of one target for several penalties: `penalties × d` and `penalties`.
#[pyfunction]
pub(crate) fn ridge_path<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    alphas: Vec<f64>,
    weights: Option<&Bound<'py, PyAny>>,
    intercept: bool,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = x.py();
    let table = Table::new("ridge", x, y, weights)?;
    let weights = table.weights()?;
    let y = table.y.slice()?;
    let path = RidgePath { alphas, intercept };
    let products = products(&table.x, path.alphas.len());
    let fits = with_real!(table.x, |x| work::fit(py, products, || match weights {
        Some(weights) => path.fit_weighted(x, y, weights),
        None => path.fit(x, y),
    }));
    let fits = fits?.or_raise(py)?;
    let columns = fits.first().map_or(0, |fit| fit.coefficients.len());
    let intercepts = vector(py, fits.iter().map(|fit| fit.intercept).collect()).into_any();
    let flat = fits.iter().flat_map(|fit| fit.coefficients.iter().copied()).collect();
    Ok((vector(py, flat).reshape([fits.len(), columns])?.into_any(), intercepts))
}
