//! The library's errors as Python exceptions: one class for each kind, the library's own wording, a `hint:` line below.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use spanwise::attend::AttentionError;
use spanwise::linear::LinearError;
use spanwise_kernels::ShapeError;

/// The classes of `spanwise.errors`.
#[derive(Clone, Copy)]
pub(crate) enum Class {
    Shape,
    Number,
    NotFinite,
    Singular,
    Convergence,
    SummaryBytes,
    Dtype,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Class::Shape => "ShapeError",
            Class::Number => "NumberError",
            Class::NotFinite => "NotFiniteError",
            Class::Singular => "SingularError",
            Class::Convergence => "ConvergenceError",
            Class::SummaryBytes => "SummaryBytesError",
            Class::Dtype => "DtypeError",
        }
    }
}

/// An exception of one of the package's classes.
pub(crate) fn raise(py: Python<'_>, class: Class, message: String) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("spanwise.errors").map(Bound::unbind));
    let found = module.and_then(|module| module.bind(py).getattr(class.name()));
    match found.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
        Ok(class) => PyErr::from_type(class, message),
        Err(error) => error,
    }
}

pub(crate) fn with_hint(message: String, hint: Option<String>) -> String {
    match hint {
        Some(hint) => format!("{message}\nhint: {hint}"),
        None => message,
    }
}

/// A result of the library as one of Python.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, LinearError> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| {
            let class = match error {
                LinearError::Dimensions { .. }
                | LinearError::Mismatch { .. }
                | LinearError::Empty { .. }
                | LinearError::NotSquare { .. }
                | LinearError::Merge { .. } => Class::Shape,
                LinearError::NotFinite { .. } => Class::NotFinite,
                LinearError::Singular { .. } | LinearError::NotPositiveDefinite { .. } => Class::Singular,
                LinearError::NoConvergence { .. } | LinearError::Unconverged { .. } => Class::Convergence,
                LinearError::Bytes { .. } => Class::SummaryBytes,
                _ => Class::Number,
            };
            raise(py, class, with_hint(error.to_string(), error.hint()))
        })
    }
}

impl<T> OrRaise<T> for Result<T, AttentionError> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| {
            let class = match error {
                AttentionError::Number { .. } | AttentionError::Length { .. } => Class::Number,
                _ => Class::Shape,
            };
            raise(py, class, with_hint(error.to_string(), error.hint()))
        })
    }
}

/// A shape that cannot be viewed, with the operation and the argument that the library does not know here.
pub(crate) fn shape_error(py: Python<'_>, operation: &str, argument: &str, error: &ShapeError) -> PyErr {
    raise(py, Class::Shape, format!("{operation}: `{argument}`: {error}"))
}
