//! Angles, orthogonality, definiteness; bases, components, a change of basis.

use super::products;
use crate::array::{Answer, Array, Name, matrix, vector, with_real};
use crate::errors::OrRaise;
use crate::work;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::View;
use spanwise::linear::measure::{self as library, Factor};
use spanwise::linear::project as projections;

fn name(argument: &'static str) -> Name {
    Name { operation: "measure", argument }
}

fn projecting(argument: &'static str) -> Name {
    Name { operation: "project", argument }
}

/// The angle between `a` and `b` (n, f64); NaN where one is zero.
#[pyfunction]
pub(crate) fn angle(py: Python<'_>, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<f64> {
    let (a, b) = (Array::real(a, name("a"))?, Array::real(b, name("b"))?);
    let found = library::angle(a.view::<f64>()?, b.view::<f64>()?).or_raise(py)?;
    Ok(found.unwrap_or(f64::NAN))
}

/// The `most` pairs of columns of `x` (n × p) nearest to one line: first, second, angle, angle without means.
#[pyfunction]
pub(crate) fn column_angles(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    most: usize,
) -> PyResult<Vec<(usize, usize, f64, f64)>> {
    let x = Array::real(x, name("X"))?;
    let products = products(&x, 0);
    let nothing = View::new(&[], &[x.shape().first().copied().unwrap_or(0), 0]);
    let nothing: View<'_, f64> = nothing.expect("no numbers in no columns");
    let angles = |factor: Factor| factor.column_angles(most);
    let found = with_real!(x, |x| work::fit(py, products, || Factor::of(x, nothing).map(angles)))?;
    let pair = |found: library::ColumnAngle| {
        (found.first, found.second, found.angle, found.centred.unwrap_or(f64::NAN))
    };
    Ok(found.or_raise(py)?.into_iter().map(pair).collect())
}

/// The principal angles between the spans of `a` (n × p) and `b` (n × q).
#[pyfunction]
pub(crate) fn principal_angles<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (a, b) = (Array::real(a, name("A"))?, Array::real(b, name("B"))?);
    let products = products(&a, 0) + products(&b, 0);
    let found = with_real!(a, |a| with_real!(b, |b| work::fit(py, products, || {
        library::principal_angles(a, b)
    })))?;
    Ok(vector(py, found.or_raise(py)?))
}

/// How far the columns of `x` (n × p) are from orthogonal, and from length 1.
#[pyfunction]
pub(crate) fn orthogonality<'py>(py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let x = Array::real(x, name("X"))?;
    let products = products(&x, 0);
    let found = with_real!(x, |x| work::fit(py, products, || library::orthogonality(x)))?.or_raise(py)?;
    Ok(Answer::new(py)
        .with("orthogonal", found.orthogonal)?
        .with("orthonormal", found.orthonormal)?
        .with("largest_cosine", found.largest_cosine)?
        .with("worst_pair", found.worst_pair)?
        .with("length_error", found.length_error)?
        .with("tolerance", found.tolerance)?
        .done())
}

/// Whether the symmetric `a` (n × n) is positive definite.
#[pyfunction]
pub(crate) fn definiteness<'py>(py: Python<'py>, a: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let a = Array::real(a, name("A"))?;
    let products = products(&a, 0);
    let found = with_real!(a, |a| work::fit(py, products, || library::definiteness(a)))?.or_raise(py)?;
    Ok(Answer::new(py)
        .with("positive_definite", found.positive_definite)?
        .with("positive_semidefinite", found.positive_semidefinite)?
        .with("smallest", found.smallest)?
        .with("largest", found.largest)?
        .vector("direction", found.direction)?
        .with("curvature", found.curvature)?
        .with("tolerance", found.tolerance)?
        .done())
}

/// An orthonormal basis of the span of the columns of `x` (n × p), or of its `complement`.
#[pyfunction]
pub(crate) fn basis<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    complement: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let x = Array::real(x, projecting("X"))?;
    let products = products(&x, 0);
    let found = with_real!(x, |x| work::fit(py, products, || {
        if complement { projections::complement_basis(x) } else { projections::orthonormal_basis(x) }
    }))?;
    matrix(py, &found.or_raise(py)?)
}

/// The rows of `x` (n × p) seen through components (k × p) around a mean (p).
#[pyfunction]
pub(crate) fn onto_components<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    components: &Bound<'py, PyAny>,
    mean: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, pca) = (Array::real(x, projecting("X"))?, super::decompose::rebuilt(components, mean)?);
    let products = products(&x, 0);
    let found = with_real!(x, |x| work::fit(py, products, || projections::onto_components(x, &pca)))?;
    let found = found.or_raise(py)?;
    Ok(Answer::new(py)
        .matrix("scores", &found.scores)?
        .matrix("rebuilt", &found.reconstruction)?
        .vector("distances", found.distances)?
        .with("relative_error", found.relative_error)?
        .done())
}

/// The model `x` (n × p, f64) times `w` (p, f64) in the columns `x` times `b` (p × p, f64).
#[pyfunction]
pub(crate) fn change_of_basis<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    w: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, w) = (Array::real(x, projecting("X"))?, Array::real(w, projecting("w"))?);
    let b = Array::real(b, projecting("B"))?;
    let products = products(&x, 0) + products(&b, 0);
    let (x, w, b) = (x.view::<f64>()?, w.view::<f64>()?, b.view::<f64>()?);
    let found = work::fit(py, products, || projections::change_of_basis(x, w, b))?.or_raise(py)?;
    Ok(Answer::new(py)
        .matrix("features", &found.features)?
        .vector("coefficients", found.weights)?
        .vector("prediction", found.prediction)?
        .with("error", found.error)?
        .with("condition", found.condition)?
        .done())
}
