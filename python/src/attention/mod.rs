//! Attention on arrays: the library's problem from arrays, and its answers as arrays.

mod asked;
mod backward;
mod cache;
mod weights;

use crate::array::{Answer, Stored, numbers_of, vector, zeros};
use crate::errors::{Class, OrRaise, raise};
use crate::team::team;
use crate::work;
use asked::request_of;
pub(crate) use asked::{Arrays, causal as causal_of};
use numpy::PyArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::attend::{Peak, Problem, Request, Sizes, Statistics, forward_into};
use spanwise_kernels::attention::Storage;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<cache::KVCache>()?;
    module.add_function(wrap_pyfunction!(attention, module)?)?;
    module.add_function(wrap_pyfunction!(backward::attention_backward, module)?)?;
    module.add_function(wrap_pyfunction!(weights::weights, module)?)?;
    module.add_function(wrap_pyfunction!(weights::scores, module)?)
}

/// `$body` with `$T` as the number type of a storage kind.
macro_rules! with_kind {
    ($py:expr, $kind:expr, $T:ident => $body:expr) => {
        match $kind {
            $crate::array::Kind::F64 => {
                type $T = f64;
                $body
            }
            $crate::array::Kind::F32 => {
                type $T = f32;
                $body
            }
            $crate::array::Kind::F16 => {
                type $T = spanwise::f16;
                $body
            }
            $crate::array::Kind::Bf16 => {
                type $T = spanwise::bf16;
                $body
            }
            $crate::array::Kind::Bool => Err($crate::attention::no_numbers($py)),
        }
    };
}
pub(crate) use with_kind;

pub(crate) fn no_numbers(py: Python<'_>) -> PyErr {
    raise(py, Class::Dtype, "attention: `q` has dtype bool; expected floating-point numbers".to_owned())
}

/// The values, held as the storage type of `q` or as its 16-bit words, and the statistics that were wanted.
type Attended<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyDict>>);

/// Attention of arrays of one storage type; `bits` says that words of 16 bits are bf16.
#[pyfunction]
#[pyo3(signature = (q, k, v, asked=None, wanted=None, bits=false))]
fn attention<'py>(
    q: &Bound<'py, PyAny>,
    k: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    asked: Option<&Bound<'py, PyDict>>,
    wanted: Option<&Bound<'py, PyDict>>,
    bits: bool,
) -> PyResult<Attended<'py>> {
    let py = q.py();
    let wanted = wanted.map(request_of).transpose()?;
    let arrays = Arrays::new([q, k, v], asked, bits)?;
    with_kind!(py, arrays.kind(), T => attended::<T>(py, &arrays, wanted))
}

fn attended<'py, T: Stored + Storage>(
    py: Python<'py>,
    arrays: &Arrays<'py>,
    request: Option<Request>,
) -> PyResult<Attended<'py>> {
    let problem = arrays.problem::<T>(py)?;
    let dims = problem.output_dims();
    let out = zeros::<T>(py, dims.iter().product())?;
    let statistics = {
        let mut writable = out.readwrite();
        let out = numbers_of::<T>(writable.as_slice_mut()?);
        let request = request.unwrap_or_default();
        if lasts(&problem) {
            work::watch(py, &arrays.asked.stop, || forward_into(&problem, &request, out))?.or_raise(py)?
        } else {
            let problem = on_team(&problem);
            work::run(py, || forward_into(&problem, &request, out)).or_raise(py)?
        }
    };
    let values = out.reshape(&dims[..])?.into_any();
    let leading = &dims[..dims.len() - 1];
    let statistics = request.map(|_| told(py, leading, problem.sizes().m, statistics)).transpose()?;
    Ok((values, statistics))
}

/// A problem that the calling thread evaluates itself, with the team it has.
pub(crate) fn on_team<'a, T: Storage>(problem: &Problem<'a, T>) -> Problem<'a, T> {
    match team() {
        Some(team) => problem.on(team),
        None => *problem,
    }
}

/// Whether a problem is large enough for its user to lose patience: from about a fifth of a second on.
pub(crate) fn lasts<T: Storage>(problem: &Problem<'_, T>) -> bool {
    let Sizes { b, h, n, m, d, e, .. } = problem.sizes();
    (b * h * n).saturating_mul(m).saturating_mul(d + e) >= 1 << 33
}

/// Statistics as arrays. `leading` is (…, N): the output's dimensions without its width.
fn told<'py>(
    py: Python<'py>,
    leading: &[usize],
    keys: usize,
    found: Statistics,
) -> PyResult<Bound<'py, PyDict>> {
    let heads = &leading[..leading.len() - 1];
    let shaped = |numbers: Vec<f64>, last: &[usize]| -> PyResult<Bound<'py, PyAny>> {
        Ok(vector(py, numbers).reshape([heads, last].concat())?.into_any())
    };
    let rows = &leading[leading.len() - 1..];
    let mut answer = Answer::new(py).with("empty_rows", found.empty_rows)?;
    for (key, numbers) in
        [("lse", found.lse), ("entropy", found.entropy), ("row_sum_error", found.row_sum_error)]
    {
        if let Some(numbers) = numbers {
            answer = answer.with(key, shaped(numbers, rows)?)?;
        }
    }
    if let Some(received) = found.received {
        answer = answer.with("received", shaped(received, &[keys])?)?;
    }
    let keys_of = |peaks: &[Peak]| -> Vec<i64> {
        peaks.iter().map(|peak| peak.key.map_or(-1, |key| key as i64)).collect()
    };
    let weights_of = |peaks: &[Peak]| -> Vec<f64> { peaks.iter().map(|peak| peak.weight).collect() };
    if let Some(peaks) = found.largest {
        answer = answer
            .with("max", shaped(weights_of(&peaks), rows)?)?
            .with("max_key", vector(py, keys_of(&peaks)).reshape(leading)?)?;
    }
    if let Some(top) = found.top {
        let last = [rows, &[top.k]].concat();
        answer = answer
            .with("top_k", shaped(weights_of(&top.peaks), &last)?)?
            .with("top_k_keys", vector(py, keys_of(&top.peaks)).reshape([heads, &last].concat())?)?;
    }
    if let Some(map) = found.map {
        let cells = [map.rows, map.cols];
        answer =
            answer.with("map_mean", shaped(map.mean, &cells)?)?.with("map_max", shaped(map.max, &cells)?)?;
    }
    Ok(answer.done())
}
