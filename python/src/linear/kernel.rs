//! Kernel ridge regression.

use super::Table;
use crate::array::{Array, Name, matrix, vector, with_real};
use crate::errors::{Class, OrRaise, raise};
use crate::work;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use spanwise::linear::fit::{Kernel, KernelRidge, KernelRidgeFit, Landmarks};
use spanwise::{Matrix, View};

fn name(argument: &'static str) -> Name {
    Name { operation: "kernel ridge", argument }
}

/// What a kernel is called and its numbers: `gamma`, `degree`, `constant`.
type Described = (String, Option<f64>, u32, f64);

fn kernel_of(py: Python<'_>, (word, gamma, degree, constant): Described) -> PyResult<Kernel> {
    match word.as_str() {
        "rbf" => Ok(Kernel::Rbf { gamma }),
        "polynomial" => Ok(Kernel::Polynomial { degree, gamma, constant }),
        other => {
            let message = format!("kernel ridge: `kernel` is {other:?}; expected \"rbf\" or \"polynomial\"");
            Err(raise(py, Class::Number, message))
        }
    }
}

fn described(kernel: Kernel) -> Described {
    match kernel {
        Kernel::Polynomial { degree, gamma, constant } => ("polynomial".to_owned(), gamma, degree, constant),
        Kernel::Rbf { gamma } => ("rbf".to_owned(), gamma, 1, 0.0),
        _ => ("other".to_owned(), None, 1, 0.0),
    }
}

/// A fitted kernel ridge regression.
#[pyclass(module = "spanwise._spanwise", frozen)]
pub(crate) struct KernelModel(KernelRidgeFit);

/// Fits `y` and `weights` (n, f64 without gaps). `drawn`: how many landmarks (`None` for the library's choice, 0 for all rows)
/// and the seed of the draw.
#[pyfunction]
pub(crate) fn kernel_ridge(
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    weights: Option<&Bound<'_, PyAny>>,
    kernel: Described,
    alpha: f64,
    drawn: (Option<usize>, u64),
    leave_one_out: bool,
) -> PyResult<KernelModel> {
    let py = x.py();
    let table = Table::new("kernel ridge", x, y, weights)?;
    let (y, weights) = (table.y.slice()?, table.weights()?);
    let (landmarks, seed) = drawn;
    let landmarks = match landmarks {
        None => Landmarks::Auto,
        Some(0) => Landmarks::All,
        Some(count) => Landmarks::Count(count),
    };
    let settings = KernelRidge { kernel: kernel_of(py, kernel)?, alpha, landmarks, seed, leave_one_out };
    // The matrix of all pairs at least; how many landmarks there are is the library's choice.
    let rows = y.len() as f64;
    let fit = with_real!(table.x, |x| work::fit(py, 100.0 * rows * rows, || match weights {
        Some(weights) => settings.fit_weighted(x, y, weights),
        None => settings.fit(x, y),
    }));
    Ok(KernelModel(fit?.or_raise(py)?))
}

#[pymethods]
impl KernelModel {
    /// From what `__reduce__` gives.
    #[new]
    fn new(
        py: Python<'_>,
        kernel: Described,
        landmarks: &Bound<'_, PyAny>,
        coefficients: Vec<f64>,
        facts: (f64, Option<f64>, f64, bool),
    ) -> PyResult<Self> {
        let landmarks = Array::real(landmarks, name("landmarks"))?;
        let view: View<'_, f64> = landmarks.view()?;
        let &[rows, cols] = view.dims() else {
            return Err(raise(py, Class::Shape, "kernel ridge: `landmarks` is not a matrix".to_owned()));
        };
        let points = Matrix::from_fn(rows, cols, |i, j| view.get(&[i, j]).unwrap_or(f64::NAN));
        let kernel = kernel_of(py, kernel)?;
        let mut fit = KernelRidgeFit::from_parts(kernel, points, coefficients).or_raise(py)?;
        (fit.residual_sum_of_squares, fit.leave_one_out_error, fit.jitter, fit.exact) = facts;
        Ok(KernelModel(fit))
    }

    /// `f(x)` (n) for `x` (n × p).
    fn predict<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let x = Array::real(x, Name { operation: "predict", argument: "X" })?;
        let (values, fault) = with_real!(x, |x| work::run(py, || {
            let values = self.0.predict(x);
            let finite = values.as_ref().is_ok_and(|values| values.iter().all(|value| value.is_finite()));
            let fault = if finite || x.rank() != 2 { None } else { super::first_not_finite(&x) };
            (values, fault)
        }));
        if let Some((row, column, value)) = fault {
            let message =
                format!("predict: `X` holds {value} at row {row}, column {column}; expected finite numbers");
            return Err(raise(py, Class::NotFinite, message));
        }
        Ok(vector(py, values.or_raise(py)?))
    }

    #[getter]
    fn kernel(&self) -> Described {
        described(self.0.kernel)
    }

    #[getter]
    fn landmarks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        matrix(py, &self.0.landmarks)
    }

    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.0.coefficients.clone())
    }

    /// Residual sum of squares, leave-one-out error, jitter, whether every row is a landmark.
    #[getter]
    fn facts(&self) -> (f64, Option<f64>, f64, bool) {
        let fit = &self.0;
        (fit.residual_sum_of_squares, fit.leave_one_out_error, fit.jitter, fit.exact)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (py, model) = (slf.py(), slf.get());
        let arguments = (model.kernel(), model.landmarks(py)?, model.0.coefficients.clone(), model.facts());
        Ok((slf.get_type().into_any(), arguments.into_pyobject(py)?.into_any()))
    }
}
