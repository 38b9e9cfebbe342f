//! Principal components, singular values, QR.

use super::products;
use crate::array::{Answer, Array, Name, matrix, with_real};
use crate::errors::{Class, OrRaise, raise};
use crate::work;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::linear::decompose::{self as library, Pca, PcaMethod, PcaOptions, Sketch};
use spanwise::{Matrix, View};

fn name(argument: &'static str) -> Name {
    Name { operation: "decompose", argument }
}

/// Principal components of the rows of `x` (n × p).
#[pyfunction]
pub(crate) fn pca<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    components: Option<usize>,
    method: &str,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let x = Array::real(x, name("X"))?;
    let method = match method {
        "auto" => PcaMethod::Auto,
        "exact" => PcaMethod::Exact,
        "covariance" => PcaMethod::Covariance,
        "dual" => PcaMethod::Dual,
        "randomized" => PcaMethod::Randomized,
        other => {
            let message = format!(
                "decompose: `method` is {other:?}; expected \"auto\", \"exact\", \"covariance\", \"dual\" or \
                 \"randomized\""
            );
            return Err(raise(py, Class::Number, message));
        }
    };
    let options = PcaOptions { components, method, sketch: Sketch { seed, ..Sketch::default() } };
    let products = products(&x, 0);
    let found = with_real!(x, |x| work::fit(py, products, || library::pca(x, options)))?.or_raise(py)?;
    let method = match found.method {
        PcaMethod::Covariance => "covariance",
        PcaMethod::Dual => "dual",
        PcaMethod::Randomized => "randomized",
        _ => "exact",
    };
    Ok(Answer::new(py)
        .matrix("components", &found.components)?
        .vector("mean", found.mean)?
        .vector("explained_variance", found.explained_variance)?
        .vector("explained_variance_ratio", found.explained_variance_ratio)?
        .vector("singular_values", found.singular_values)?
        .with("total_variance", found.total_variance)?
        .with("rows", found.rows)?
        .with("method", method)?
        .done())
}

/// Components and mean as the library takes them.
pub(super) fn rebuilt(components: &Bound<'_, PyAny>, mean: &Bound<'_, PyAny>) -> PyResult<Pca> {
    let components = Array::real(components, name("components"))?;
    let mean = Array::real(mean, name("mean"))?;
    let directions: View<'_, f64> = components.view()?;
    let (rows, cols) = match *directions.dims() {
        [rows, cols] => (rows, cols),
        _ => (1, directions.len()),
    };
    let numbers = directions.to_vec();
    Ok(Pca {
        components: Matrix::from_fn(rows, cols, |i, j| numbers[i * cols + j]),
        mean: mean.slice()?.to_vec(),
        explained_variance: Vec::new(),
        explained_variance_ratio: Vec::new(),
        singular_values: Vec::new(),
        total_variance: 0.0,
        rows: 0,
        method: PcaMethod::Exact,
    })
}

/// Coordinates (n × k) of the rows of `x` (n × p).
#[pyfunction]
pub(crate) fn pca_transform<'py>(
    x: &Bound<'py, PyAny>,
    components: &Bound<'py, PyAny>,
    mean: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (x, pca) = (Array::real(x, name("X"))?, rebuilt(components, mean)?);
    let scores = with_real!(x, |x| work::run(mean.py(), || pca.transform(x)));
    matrix(mean.py(), &scores.or_raise(mean.py())?)
}

/// Rows (n × p) of coordinates (n × k).
#[pyfunction]
pub(crate) fn pca_inverse_transform<'py>(
    scores: &Bound<'py, PyAny>,
    components: &Bound<'py, PyAny>,
    mean: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (scores, pca) = (Array::real(scores, name("scores"))?, rebuilt(components, mean)?);
    let rows = with_real!(scores, |scores| work::run(mean.py(), || pca.inverse_transform(scores)));
    matrix(mean.py(), &rows.or_raise(mean.py())?)
}

/// What `svd` gives: U, s, Vᵀ.
type Factors<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

/// `U, s, Vᵀ`: thin, full, or of the `k` largest singular values, by random projection where there is a seed.
#[pyfunction]
pub(crate) fn svd<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    k: Option<usize>,
    full: bool,
    seed: Option<u64>,
) -> PyResult<Factors<'py>> {
    let x = Array::real(x, name("X"))?;
    let products = products(&x, 0);
    let found = with_real!(x, |x| work::fit(py, products, || match (k, seed) {
        (Some(k), Some(seed)) => library::svd_randomized(x, k, Sketch { seed, ..Sketch::default() }),
        (Some(k), None) => library::svd_truncated(x, k),
        (None, _) if full => library::svd_full(x),
        (None, _) => library::svd(x),
    }))?
    .or_raise(py)?;
    let right = matrix(py, &found.v.transposed())?;
    Ok((matrix(py, &found.u)?, crate::array::vector(py, found.singular_values), right))
}

/// What `qr` gives: Q, R.
type Triangular<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

/// `Q, R`, thin or full.
#[pyfunction]
pub(crate) fn qr<'py>(py: Python<'py>, x: &Bound<'py, PyAny>, full: bool) -> PyResult<Triangular<'py>> {
    let x = Array::real(x, name("X"))?;
    let products = products(&x, 0);
    let found = with_real!(x, |x| work::fit(py, products, || if full {
        library::qr_full(x)
    } else {
        library::qr(x)
    }))?
    .or_raise(py)?;
    Ok((matrix(py, &found.q)?, matrix(py, &found.r)?))
}
