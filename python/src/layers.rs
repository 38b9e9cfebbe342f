//! What a lens sees of a model's attention layers: the library's tallies, filled call by call.

use crate::array::{Answer, Array, Stored, numbers_of, vector, zeros};
use crate::attention::{Arrays, with_kind};
use crate::errors::{Class, raise};
use crate::explain::Explanation;
use crate::team::team;
use crate::work;
use numpy::{PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::attend::Storage;
use spanwise::explain::{HeadNumbers, Layer, LayerCall, LayerTally as Tally, explain_layers as explained};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LayerTally>()?;
    module.add_function(wrap_pyfunction!(explain_layers, module)?)
}

/// Where a call stands: the most cells along a side of its map, the place of its first key, and which queries are tokens.
type Place<'py> = (usize, usize, Option<PyReadonlyArray1<'py, bool>>);
/// Mean and largest weights of cells, (rows, cols) each.
type Cells<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Statistics of one layer.
#[pyclass(module = "spanwise._spanwise", frozen)]
pub(crate) struct LayerTally(Mutex<Tally>);

impl LayerTally {
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl LayerTally {
    #[new]
    fn new(heads: usize) -> Self {
        LayerTally(Mutex::new(Tally::new(heads)))
    }

    /// The values of a call, whose statistics are added.
    #[pyo3(signature = (q, k, v, asked, place, bits))]
    fn attend<'py>(
        &self,
        q: &Bound<'py, PyAny>,
        k: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        asked: Option<&Bound<'py, PyDict>>,
        place: Place<'py>,
        bits: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = q.py();
        let arrays = Arrays::new([q, k, v], asked, bits)?;
        with_kind!(py, arrays.kind(), T => self.attended::<T>(py, &arrays, place))
    }

    /// One entry per head, by name.
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        // Nothing of Python happens while the lock is held: others may wait for it.
        let (heads, keys) = {
            let tally = self.tally();
            let heads: Vec<HeadNumbers> = (0..tally.heads()).map(|head| tally.numbers(head)).collect();
            (heads, tally.keys())
        };
        let column = |of: fn(&HeadNumbers) -> f64| -> Vec<f64> { heads.iter().map(of).collect() };
        let counts = |of: fn(&HeadNumbers) -> u64| -> Vec<u64> { heads.iter().map(of).collect() };
        let answer = Answer::new(py)
            .with("rows", counts(|head| head.rows))?
            .with("keys", vec![keys; heads.len()])?
            .with("entropy", column(|head| head.entropy))?
            .with("entropy_share", column(|head| head.entropy_share))?
            .with("max", column(|head| head.largest))?
            .with("saturated", column(|head| head.saturated))?
            .with("top_key", counts(|head| head.top_key as u64))?
            .with("top_share", column(|head| head.top_share))?
            .with("sink_mass", column(|head| head.sink_mass))?;
        Ok(answer.done())
    }

    /// How many heads there are.
    fn heads(&self) -> usize {
        self.tally().heads()
    }

    /// How many batch entries the map is of; None without a map.
    fn map_batch(&self) -> Option<usize> {
        self.tally().map().map(|map| map.batch)
    }

    /// The map of a head that there is, of a batch entry that there is, or over all entries.
    fn map<'py>(&self, py: Python<'py>, head: usize, batch: Option<usize>) -> PyResult<Option<Cells<'py>>> {
        let found = self.tally().map().and_then(|map| Some((map.of(head, batch)?, [map.rows, map.cols])));
        let Some(((mean, max), size)) = found else { return Ok(None) };
        let shaped = |cells: Vec<f64>| -> PyResult<Bound<'py, PyAny>> {
            Ok(vector(py, cells).reshape(size)?.into_any())
        };
        Ok(Some((shaped(mean)?, shaped(max)?)))
    }

    /// What each key received, (H, M).
    fn received<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (all, size) = {
            let tally = self.tally();
            let all: Vec<f64> = (0..tally.heads()).flat_map(|head| tally.received(head).to_vec()).collect();
            (all, [tally.heads(), tally.keys()])
        };
        Ok(vector(py, all).reshape(size)?.into_any())
    }
}

impl LayerTally {
    fn attended<'py, T: Stored + Storage>(
        &self,
        py: Python<'py>,
        arrays: &Arrays<'py>,
        (cells, first_key, tokens): Place<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // The problem's own errors name its arguments; what is left after it are errors of the lens.
        let problem = arrays.problem::<T>(py)?;
        let dims = problem.output_dims();
        let view = Array::view::<T>;
        let call = LayerCall {
            q: view(&arrays.q)?,
            k: view(&arrays.k)?,
            v: view(&arrays.v)?,
            options: *problem.options(),
            team: None,
            tokens: tokens.as_ref().map(PyReadonlyArray1::as_slice).transpose()?,
            first_key,
            cells,
        };
        let out = zeros::<T>(py, dims.iter().product())?;
        {
            let mut writable = out.readwrite();
            let to = numbers_of::<T>(writable.as_slice_mut()?);
            // Into a tally of its own first: no thread waits for another that computes.
            let mut own = Tally::new(problem.sizes().h);
            let found = if crate::attention::lasts(&problem) {
                work::watch(py, &arrays.asked.stop, || own.attend(&call, to))?
            } else {
                let call = LayerCall { team: team(), ..call };
                work::run(py, || own.attend(&call, to))
            };
            let found = found.and_then(|()| self.tally().merge(own));
            found.map_err(|error| raise(py, Class::Number, error.to_string()))?;
        }
        Ok(out.reshape(&dims[..])?.into_any())
    }
}

/// The layers of a model, by name, from what a lens collected.
#[pyfunction]
fn explain_layers(
    py: Python<'_>,
    source: &str,
    layers: Vec<(String, PyRef<'_, LayerTally>)>,
) -> PyResult<Explanation> {
    let seen: Vec<(String, Tally)> =
        layers.into_iter().map(|(name, layer)| (name, layer.tally().clone())).collect();
    let named: Vec<Layer<'_>> = seen.iter().map(|(name, tally)| Layer { name, tally }).collect();
    let found = explained(source, &named);
    found.map(Explanation).map_err(|error| raise(py, Class::Number, error.to_string()))
}
