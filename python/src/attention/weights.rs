//! Exact rectangles of the weights and of the scores.

use super::asked::{Arrays, name};
use super::with_kind;
use crate::array::{Array, Stored, rows_of};
use crate::errors::OrRaise;
use crate::work;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::attend::{scores as scores_of, weights as weights_of};
use spanwise_kernels::attention::Storage;

/// Where a rectangle lies: batch and head, rows, columns.
type Place = ([usize; 2], (usize, usize), (usize, usize));

/// The weights of some queries and keys of one head, from q, k and the log-sum-exps (one per row, f64 without gaps).
#[pyfunction]
#[pyo3(signature = (q, k, lse, place, asked=None, bits=false))]
pub(super) fn weights<'py>(
    q: &Bound<'py, PyAny>,
    k: &Bound<'py, PyAny>,
    lse: &Bound<'py, PyAny>,
    place: Place,
    asked: Option<&Bound<'py, PyDict>>,
    bits: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let lse = Array::real(lse, name("lse"))?;
    // The values do not matter here; the keys have as many rows.
    let arrays = Arrays::new([q, k, k], asked, bits)?;
    with_kind!(q.py(), arrays.kind(), T => rectangle::<T>(q.py(), &arrays, Some(lse.slice()?), place))
}

/// The scores of some queries and keys of one head.
#[pyfunction]
#[pyo3(signature = (q, k, place, asked=None, bits=false))]
pub(super) fn scores<'py>(
    q: &Bound<'py, PyAny>,
    k: &Bound<'py, PyAny>,
    place: Place,
    asked: Option<&Bound<'py, PyDict>>,
    bits: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = Arrays::new([q, k, k], asked, bits)?;
    with_kind!(q.py(), arrays.kind(), T => rectangle::<T>(q.py(), &arrays, None, place))
}

/// Weights with log-sum-exps, scores without.
fn rectangle<'py, T: Stored + Storage>(
    py: Python<'py>,
    arrays: &Arrays<'py>,
    lse: Option<&[f64]>,
    (of, rows, cols): Place,
) -> PyResult<Bound<'py, PyAny>> {
    let problem = arrays.problem::<T>(py)?;
    let work = || match lse {
        Some(lse) => weights_of(&problem, lse, of, rows.0..rows.1, cols.0..cols.1),
        None => scores_of(&problem, of, rows.0..rows.1, cols.0..cols.1),
    };
    let products = rows.1.saturating_sub(rows.0).saturating_mul(cols.1.saturating_sub(cols.0));
    let found = if products.saturating_mul(problem.sizes().d) >= 1 << 25 {
        work::watch(py, &arrays.asked.stop, work)?
    } else {
        work::run(py, work)
    };
    Ok(rows_of(py, found.or_raise(py)?, rows.1 - rows.0, cols.1 - cols.0)?.into_any())
}
