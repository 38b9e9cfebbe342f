//! The mergeable summary of a table.

use super::least_squares::{Settings, parts, settings};
use super::{Table, nonnegative, products, ridge};
use crate::array::with_real;
use crate::errors::OrRaise;
use crate::work;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use spanwise::linear::fit::{NonNegative, Ridge, Simplex};
use spanwise::linear::{LinearError, Summary as Inner};

/// Everything least squares, ridge and non-negative weights need of the rows seen so far.
#[pyclass(module = "spanwise._spanwise", frozen)]
pub(crate) struct Summary(std::sync::Mutex<Inner>);

impl Summary {
    fn of(inner: Inner) -> Self {
        Summary(std::sync::Mutex::new(inner))
    }

    /// The summary; a panic elsewhere would not have left it half-written, because pushes replace it whole.
    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[pymethods]
impl Summary {
    #[new]
    fn new(columns: usize, targets: usize) -> Self {
        Summary::of(Inner::new(columns, targets))
    }

    fn update(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let table = Table::new("summary", x, y, weights)?;
        let weights = table.weights()?;
        let (columns, targets) = {
            let inner = self.inner();
            (inner.columns(), inner.targets())
        };
        // Its own rows first: two threads may update at the same time, and work that is told to end leaves nothing behind.
        let products = products(&table.x, targets);
        let part = with_real!(table.x, |x| with_real!(table.y, |y| work::fit(py, products, || {
            let mut part = Inner::new(columns, targets);
            part.push(&x, &y, weights).map(|()| part)
        })));
        let part = part?.or_raise(py)?;
        work::run(py, || self.inner().merge(&part)).or_raise(py)
    }

    fn merge(&self, py: Python<'_>, other: &Summary) -> PyResult<()> {
        let copy = other.inner().clone();
        work::run(py, || self.inner().merge(&copy)).or_raise(py)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner().to_bytes())
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Summary::of(Inner::from_bytes(bytes).or_raise(py)?))
    }

    fn finish<'py>(
        &self,
        py: Python<'py>,
        asked: Settings,
        names: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let copy = self.inner().clone();
        let settings = settings(asked);
        let fit = work::run(py, || settings.fit_summary(&copy));
        parts(&fit.or_raise(py)?, names)
    }

    /// One ridge regression per target, with that target's penalty.
    #[allow(clippy::needless_pass_by_value, reason = "the interpreter hands it over")]
    fn ridge<'py>(&self, py: Python<'py>, alphas: Vec<f64>, intercept: bool) -> PyResult<Bound<'py, PyDict>> {
        let copy = self.inner().clone();
        let fits = work::run(py, || -> Result<Vec<_>, LinearError> {
            let each = alphas.iter().enumerate();
            each.map(|(target, &alpha)| Ridge { alpha, intercept }.fit_summary(&copy, target)).collect()
        });
        ridge::answer(py, &fits.or_raise(py)?)
    }

    /// One fit per target with weights that may not be negative, and that add up to 1 where `unit_sum`.
    fn nonnegative<'py>(
        &self,
        py: Python<'py>,
        intercept: bool,
        unit_sum: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let copy = self.inner().clone();
        let fits = work::run(py, || -> Result<Vec<_>, LinearError> {
            let each = 0..copy.targets();
            if unit_sum {
                return each.map(|target| Simplex.fit_summary(&copy, target)).collect();
            }
            each.map(|target| NonNegative { intercept }.fit_summary(&copy, target)).collect()
        });
        nonnegative::answer(py, &fits.or_raise(py)?)
    }

    /// Rows, columns, targets, the sum of weights, and the means of columns and targets.
    fn facts(&self) -> (u64, usize, usize, f64, Vec<f64>) {
        let inner = self.inner();
        let all = inner.columns() + inner.targets();
        let means = (0..all).map(|j| inner.mean(j)).collect();
        (inner.rows(), inner.columns(), inner.targets(), inner.weight_sum(), means)
    }
}
