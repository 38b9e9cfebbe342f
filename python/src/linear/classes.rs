//! Logistic and softmax regression.

use super::products;
use crate::array::{Answer, Array, Name, with_real};
use crate::errors::{Class, OrRaise, raise};
use crate::work;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::linear::fit::{Logistic, Optimiser, SeparationKind};

fn name(argument: &'static str) -> Name {
    Name { operation: "logistic regression", argument }
}

/// `codes` (n, i64 without gaps) are indices of classes.
#[pyfunction]
pub(crate) fn logistic<'py>(
    x: &Bound<'py, PyAny>,
    codes: &Bound<'py, PyArray1<i64>>,
    weights: Option<&Bound<'py, PyAny>>,
    penalty: f64,
    intercept: bool,
    optimiser: &str,
    limits: (f64, usize),
) -> PyResult<Bound<'py, PyDict>> {
    let py = x.py();
    let x = Array::real(x, name("X"))?;
    let weights = weights.map(|weights| Array::real(weights, name("weights"))).transpose()?;
    let weights = weights.as_ref().map(Array::slice).transpose()?;
    let labels = codes.readonly();
    let labels = labels.as_slice()?;
    let optimiser = match optimiser {
        "auto" => Optimiser::Auto,
        "newton" => Optimiser::Newton,
        "lbfgs" => Optimiser::Lbfgs,
        other => {
            let message = format!(
                "logistic regression: `optimiser` is {other:?}; expected \"auto\", \"newton\" or \"lbfgs\""
            );
            return Err(raise(py, Class::Number, message));
        }
    };
    let (tolerance, iterations) = limits;
    let settings = Logistic { penalty, intercept, optimiser, tolerance, iterations };
    // A handful of steps, each with a Gram matrix of its own.
    let products = 8.0 * products(&x, 1);
    let fit = with_real!(x, |x| work::fit(py, products, || match weights {
        Some(weights) => settings.fit_weighted(x, labels, weights),
        None => settings.fit(x, labels),
    }));
    let fit = fit?.or_raise(py)?;
    let errors = fit.standard_errors.as_ref().map(|errors| crate::array::matrix(py, errors)).transpose()?;
    let constant_errors = fit.intercept_standard_errors.map(|errors| crate::array::vector(py, errors));
    let separation = fit.separation.as_ref().map(|found| {
        let kind = match found.kind {
            SeparationKind::Complete => "complete",
            _ => "quasi-complete",
        };
        (kind, found.columns.clone(), found.separated_rows, found.boundary_rows)
    });
    Ok(Answer::new(py)
        .with("classes", crate::array::vector(py, fit.classes))?
        .matrix("coefficients", &fit.coefficients)?
        .vector("intercepts", fit.intercepts)?
        .with("standard_errors", errors)?
        .with("intercept_standard_errors", constant_errors)?
        .with("deviance", fit.deviance)?
        .with("null_deviance", fit.null_deviance)?
        .with("r_squared", fit.r_squared)?
        .with("converged", fit.convergence.converged)?
        .with("iterations", fit.convergence.iterations)?
        .with("gradient_norm", fit.convergence.gradient_norm)?
        .with("dependent", fit.convergence.jitter > 0.0)?
        .with("separation", separation)?
        .done())
}
