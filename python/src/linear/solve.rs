//! Systems of equations.

use super::{columns_of, products};
use crate::array::{Answer, Array, Name, vector};
use crate::errors::{Class, OrRaise, raise};
use crate::work;
use numpy::PyArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::View;
use spanwise::linear::LinearError;
use spanwise::linear::solve::{Factor, Method, Solution, Way};

fn name(argument: &'static str) -> Name {
    Name { operation: "solve", argument }
}

/// `A x = b` for `a` (n × p, f64) and each column of `b` (n × t, f64).
#[pyfunction]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    method: &str,
    jitter: f64,
    tolerance: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let (a, b) = (Array::real(a, name("A"))?, Array::real(b, name("b"))?);
    let products = products(&a, columns_of(&b));
    let (a, b) = (a.view::<f64>()?, b.view::<f64>()?);
    let way = match method {
        "auto" => Way::Auto { tolerance },
        "lu" => Way::Lu,
        "cholesky" => Way::Cholesky { max_jitter: jitter },
        "qr" => Way::Qr,
        "svd" => Way::Svd { tolerance },
        other => {
            let message = format!(
                "solve: `method` is {other:?}; expected \"auto\", \"lu\", \"cholesky\", \"qr\" or \"svd\""
            );
            return Err(raise(py, Class::Number, message));
        }
    };
    let transposed = b.transposed();
    let columns: Vec<View<'_, f64>> =
        if b.rank() < 2 { vec![b] } else { (0..b.dims()[1]).filter_map(|q| transposed.at(q)).collect() };
    // One factorisation for all right-hand sides.
    let solutions = || -> Result<Vec<Solution>, LinearError> {
        let factor = Factor::new(a, way)?;
        columns.iter().map(|&b| factor.solve(b)).collect()
    };
    let found = work::fit(py, products, solutions)?.or_raise(py)?;
    let of = |of: fn(&Solution) -> f64| found.iter().map(of).collect::<Vec<f64>>();
    let unknowns = a.dims().get(1).copied().unwrap_or(0);
    let flat = found.iter().flat_map(|solution| solution.x.iter().copied()).collect();
    let method = found.first().map_or("none", |solution| match solution.method {
        Method::Lu => "lu",
        Method::Cholesky => "cholesky",
        Method::Qr => "qr",
        Method::Svd => "svd",
        _ => "other",
    });
    Ok(Answer::new(py)
        .with("x", vector(py, flat).reshape([found.len(), unknowns])?)?
        .vector("residual_norm", of(|solution| solution.residual_norm))?
        .vector("relative_residual", of(|solution| solution.relative_residual))?
        .vector("backward_error", of(|solution| solution.backward_error))?
        .vector("condition", of(|solution| solution.condition))?
        .with("rank", found.first().map_or(0, |solution| solution.rank))?
        .with("jitter", found.first().map_or(0.0, |solution| solution.jitter))?
        .with("method", method)?
        .done())
}
