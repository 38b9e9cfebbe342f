//! `spanwise.linear`: arrays in, one library call without the interpreter's lock, named parts out.

mod classes;
mod decompose;
mod geometry;
mod kernel;
mod least_squares;
mod measure;
mod nonnegative;
mod ridge;
mod solve;
mod summary;

use crate::array::{Array, Name, vector, with_real};
use crate::errors::{Class, raise};
use crate::work;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use spanwise::linear::RowSource;
use spanwise::linear::fit::{Distribution, StudentT};
use spanwise_kernels::tall::multiply;
use std::borrow::Cow;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<summary::Summary>()?;
    module.add_class::<kernel::KernelModel>()?;
    module.add_function(wrap_pyfunction!(least_squares::lstsq, module)?)?;
    module.add_function(wrap_pyfunction!(ridge::ridge, module)?)?;
    module.add_function(wrap_pyfunction!(nonnegative::nonnegative, module)?)?;
    module.add_function(wrap_pyfunction!(ridge::ridge_errors, module)?)?;
    module.add_function(wrap_pyfunction!(ridge::ridge_path, module)?)?;
    module.add_function(wrap_pyfunction!(classes::logistic, module)?)?;
    module.add_function(wrap_pyfunction!(kernel::kernel_ridge, module)?)?;
    module.add_function(wrap_pyfunction!(decompose::pca, module)?)?;
    module.add_function(wrap_pyfunction!(decompose::pca_transform, module)?)?;
    module.add_function(wrap_pyfunction!(decompose::pca_inverse_transform, module)?)?;
    module.add_function(wrap_pyfunction!(decompose::svd, module)?)?;
    module.add_function(wrap_pyfunction!(decompose::qr, module)?)?;
    module.add_function(wrap_pyfunction!(solve::solve, module)?)?;
    module.add_function(wrap_pyfunction!(measure::rank, module)?)?;
    module.add_function(wrap_pyfunction!(measure::condition, module)?)?;
    module.add_function(wrap_pyfunction!(measure::project, module)?)?;
    module.add_function(wrap_pyfunction!(measure::in_span, module)?)?;
    module.add_function(wrap_pyfunction!(measure::in_hull, module)?)?;
    module.add_function(wrap_pyfunction!(geometry::angle, module)?)?;
    module.add_function(wrap_pyfunction!(geometry::column_angles, module)?)?;
    module.add_function(wrap_pyfunction!(geometry::principal_angles, module)?)?;
    module.add_function(wrap_pyfunction!(geometry::orthogonality, module)?)?;
    module.add_function(wrap_pyfunction!(geometry::definiteness, module)?)?;
    module.add_function(wrap_pyfunction!(geometry::basis, module)?)?;
    module.add_function(wrap_pyfunction!(geometry::onto_components, module)?)?;
    module.add_function(wrap_pyfunction!(geometry::change_of_basis, module)?)?;
    module.add_function(wrap_pyfunction!(predict, module)?)?;
    module.add_function(wrap_pyfunction!(t_quantile, module)?)
}

/// What every fit is given.
struct Table<'py> {
    /// n × d, f64 or f32, any strides.
    x: Array<'py>,
    /// n, or n × t, f64 or f32.
    y: Array<'py>,
    /// n, f64 without gaps.
    weights: Option<Array<'py>>,
}

impl<'py> Table<'py> {
    fn new(
        operation: &'static str,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
        weights: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let real = |of, argument| Array::real(of, Name { operation, argument });
        let weights = weights.map(|weights| real(weights, "weights")).transpose()?;
        Ok(Table { x: real(x, "X")?, y: real(y, "y")?, weights })
    }

    fn weights(&self) -> PyResult<Option<&[f64]>> {
        self.weights.as_ref().map(Array::slice).transpose()
    }
}

/// About how many multiplications it takes to factor a matrix and to solve for `targets` right-hand sides.
fn products(of: &Array<'_>, targets: usize) -> f64 {
    let [rows, cols] = match *of.shape() {
        [rows, cols] => [rows as f64, cols as f64],
        _ => [of.shape().iter().product::<usize>() as f64, 1.0],
    };
    rows * cols * (rows.min(cols) + targets as f64)
}

/// How many columns a vector or a matrix has.
fn columns_of(of: &Array<'_>) -> usize {
    of.shape().get(1).copied().unwrap_or(1)
}

/// The columns of a matrix or of one vector, each without gaps: borrowed where they lie so.
fn target_columns<'a>(y: &'a Array<'_>) -> PyResult<Vec<Cow<'a, [f64]>>> {
    let y = y.view::<f64>()?;
    if let (Some(column), 1) = (y.as_slice(), y.cols()) {
        return Ok(vec![Cow::Borrowed(column)]);
    }
    Ok((0..y.cols()).map(|q| (0..y.rows()).map(|i| number(&y, i, q)).collect()).collect())
}

fn number(y: &spanwise::View<'_, f64>, i: usize, q: usize) -> f64 {
    let found = if y.rank() < 2 { y.get(&[i]) } else { y.get(&[i, q]) };
    found.unwrap_or(f64::NAN)
}

/// `t × n` predictions `intercepts[q] + Σⱼ x[i, j]·coefficients[q, j]`. Numbers in `x` that are not finite are refused.
#[pyfunction]
fn predict<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    coefficients: &Bound<'py, PyAny>,
    intercepts: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let of = |argument| Name { operation: "predict", argument };
    let (x, w) = (Array::real(x, of("X"))?, Array::real(coefficients, of("coefficients"))?);
    let (x_shape, w) = (x.shape().to_vec(), w.view::<f64>()?);
    let b = Array::real(intercepts, of("intercept"))?;
    let (w, [t, d], b) = match (w.as_slice(), w.dims(), b.slice()?) {
        (Some(slice), &[t, d], b) if b.len() == t => (slice, [t, d], b),
        _ => {
            let message =
                "predict: `coefficients` is not a matrix without gaps, one row per target".to_owned();
            return Err(raise(py, Class::Shape, message));
        }
    };
    let n = match x_shape[..] {
        [n, columns] if columns == d => n,
        [_, columns] => {
            let message = format!(
                "predict: `X` has {columns} columns, the fitted model has {d} columns; they must be equal"
            );
            return Err(raise(py, Class::Shape, message));
        }
        _ => {
            let message = format!("predict: `X` has {} dimensions; expected 2 dimensions", x_shape.len());
            return Err(raise(py, Class::Shape, message));
        }
    };
    let out = PyArray1::<f64>::zeros(py, t * n, false);
    let finite = {
        let mut writable = out.readwrite();
        let out = writable.as_slice_mut()?;
        with_real!(x, |x| work::run(py, || {
            for (q, out) in out.chunks_exact_mut(n.max(1)).enumerate() {
                multiply(&x, &w[q * d..(q + 1) * d], b[q], out);
            }
            // One non-finite number of a row makes its prediction non-finite; zero coefficients do not hide it.
            if out.iter().all(|y| y.is_finite()) { None } else { first_not_finite(&x) }
        }))
    };
    if let Some((row, column, value)) = finite {
        let message =
            format!("predict: `X` holds {value} at row {row}, column {column}; expected finite numbers");
        return Err(raise(py, Class::NotFinite, message));
    }
    out.reshape([t, n])
}

/// The first number of a table that is not finite.
fn first_not_finite(x: &dyn RowSource) -> Option<(usize, usize, f64)> {
    let (mut scratch, cols) = (Vec::new(), x.cols());
    (0..x.rows()).find_map(|i| {
        let row = x.block(i, 1, &mut scratch);
        let j = (0..cols).find(|&j| !row.get(0, j).is_finite())?;
        Some((i, j, row.get(0, j)))
    })
}

/// The reach, in standard errors, of a two-sided interval of a `confidence`.
#[pyfunction]
fn t_quantile(py: Python<'_>, degrees_of_freedom: f64, confidence: f64) -> PyResult<f64> {
    if !(confidence > 0.0 && confidence < 1.0) {
        let message = format!("interval: `confidence` is {confidence}; expected a number between 0 and 1");
        return Err(raise(py, Class::Number, message));
    }
    let student = StudentT::new(degrees_of_freedom).ok();
    Ok(student.and_then(|t| t.upper_quantile(0.5 * (1.0 - confidence)).ok()).unwrap_or(f64::NAN))
}

/// A list of places.
fn indices<'py>(py: Python<'py>, list: &[usize]) -> Bound<'py, PyArray1<i64>> {
    vector(py, list.iter().map(|&i| i as i64).collect())
}
