//! Rank, conditioning, projections, membership of span and hull.

use super::{columns_of, indices, products};
use crate::array::{Answer, Array, Name, with_real};
use crate::errors::OrRaise;
use crate::work;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::View;
use spanwise::linear::RowSource;
use spanwise::linear::measure::{self as library, HullMembership};
use spanwise::linear::project as projections;

fn name(argument: &'static str) -> Name {
    Name { operation: "measure", argument }
}

/// The numerical rank of the columns of `x` and how sure it is.
#[pyfunction]
pub(crate) fn rank<'py>(py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let x = Array::real(x, name("X"))?;
    let products = products(&x, 0);
    let found = with_real!(x, |x| work::fit(py, products, || library::rank(x)))?.or_raise(py)?;
    let sure = found.is_sure();
    Ok(Answer::new(py)
        .with("rank", found.rank)?
        .with("columns", found.columns)?
        .with("tolerance", found.tolerance)?
        .vector("singular_values", found.singular_values)?
        .with("gap", found.gap)?
        .with("band", found.band)?
        .with("rank_in_band", found.rank_in_band)?
        .with("sure", sure)?
        .done())
}

/// The condition numbers of the columns of `x`: as they are, and scaled to length 1.
#[pyfunction]
pub(crate) fn condition(py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<(f64, f64)> {
    let x = Array::real(x, name("X"))?;
    let products = products(&x, 0);
    let found = with_real!(x, |x| work::fit(py, products, || library::condition(x)))?.or_raise(py)?;
    Ok((found.raw, found.unit_scaled))
}

/// The columns of `y` (n × t, f64) split by the span of the columns of `x` (n × p, f64).
#[pyfunction]
pub(crate) fn project<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let of = |argument| Name { operation: "project", argument };
    let (x, y) = (Array::real(x, of("X"))?, Array::real(y, of("v"))?);
    let products = products(&x, columns_of(&y));
    let (x, y) = (x.view::<f64>()?, y.view::<f64>()?);
    let found = work::fit(py, products, || projections::project_matrix(x, y))?.or_raise(py)?;
    Ok(Answer::new(py)
        .matrix("inside", &found.inside)?
        .matrix("outside", &found.outside)?
        .vector("angle", found.angles.iter().map(|angle| angle.unwrap_or(f64::NAN)).collect())?
        .matrix("coefficients", &found.coefficients)?
        .with("rank", found.rank)?
        .done())
}

/// Whether `v` (n, f64) lies in the span of the columns of `x` (n × p, f64).
#[pyfunction]
pub(crate) fn in_span<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, v) = (Array::real(x, name("X"))?, Array::real(v, name("v"))?);
    let products = products(&x, 0);
    let (x, v) = (x.view::<f64>()?, v.view::<f64>()?);
    let found = work::fit(py, products, || library::span_membership(x, v))?.or_raise(py)?;
    Ok(Answer::new(py)
        .with("inside", found.inside)?
        .vector("coefficients", found.coefficients)?
        .vector("outside", found.outside)?
        .with("residual", found.residual)?
        .with("orthogonality", found.orthogonality)?
        .with("rank", found.rank)?
        .with("unique", found.unique)?
        .with("tolerance", found.tolerance)?
        .done())
}

/// Whether each row of `queries` (t × d, f64) lies in the convex hull of the rows of `points` (m × d, f64).
#[pyfunction]
pub(crate) fn in_hull<'py>(
    py: Python<'py>,
    points: &Bound<'py, PyAny>,
    queries: &Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let (points, queries) = (Array::real(points, name("points"))?, Array::real(queries, name("query"))?);
    let (points, queries): (View<'_, f64>, View<'_, f64>) = (points.view()?, queries.view()?);
    // Each query takes some passes over the points, each pass by an active set of at most d + 1 of them.
    let [m, d] = [points.rows() as f64, points.cols() as f64];
    let products = m * d * d * queries.rows() as f64;
    let found =
        work::fit(py, products, || library::hull_membership_of_many(points, queries))?.or_raise(py)?;
    found.into_iter().map(|found| membership(py, found)).collect()
}

fn membership(py: Python<'_>, found: HullMembership) -> PyResult<Bound<'_, PyDict>> {
    let separating =
        found.separating.map(|plane| (crate::array::vector(py, plane.normal), plane.offset, plane.margin));
    let support: Vec<usize> = (0..found.weights.len()).filter(|&i| found.weights[i] > 0.0).collect();
    Ok(Answer::new(py)
        .with("inside", found.inside)?
        .with("in_affine_hull", found.in_affine_hull)?
        .with("affine_distance", found.affine_distance)?
        .with("distance", found.distance)?
        .with("support", indices(py, &support))?
        .vector("weights", found.weights)?
        .vector("nearest", found.nearest)?
        .with("separating", separating)?
        .with("unique", found.unique)?
        .with("tolerance", found.tolerance)?
        .done())
}
