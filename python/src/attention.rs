//! `spanwise.attention` and `spanwise.weights`: the library's problem from arrays, and its answers as arrays.

use crate::array::{Answer, Array, Kind, Name, Stored, numbers_of, vector};
use crate::errors::{Class, OrRaise, raise};
use crate::work;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::View;
use spanwise::attend::{
    Alignment, Causal, MapSize, Options, Peak, Problem, Request, Statistics, Window, forward_into,
    weights as rectangle,
};
use spanwise_kernels::attention::Storage;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(attention, module)?)?;
    module.add_function(wrap_pyfunction!(weights, module)?)
}

fn name(argument: &'static str) -> Name {
    Name { operation: "attention", argument }
}

/// What is asked beyond q, k and v.
#[derive(Default)]
pub(crate) struct Asked<'py> {
    scale: Option<f64>,
    softcap: Option<f64>,
    bias: Option<Bound<'py, PyAny>>,
    mask: Option<Bound<'py, PyAny>>,
    /// `square`, `top-left` or `bottom-right`.
    causal: Option<String>,
    /// Keys before and after a query's place, and the diagonal.
    window: Option<(Option<usize>, Option<usize>, Option<String>)>,
    alibi: Option<Vec<f64>>,
    lengths: Option<Vec<usize>>,
    sinks: Option<Vec<f64>>,
}

/// An entry of a dictionary that need not be there.
fn entry<'py, T>(from: &Bound<'py, PyDict>, key: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    from.get_item(key)?.map(|value| value.extract()).transpose()
}

impl<'py> Asked<'py> {
    /// From a dictionary of those that were given.
    pub(crate) fn new(given: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Asked::default()) };
        Ok(Asked {
            scale: entry(given, "scale")?,
            softcap: entry(given, "softcap")?,
            bias: given.get_item("bias")?,
            mask: given.get_item("mask")?,
            causal: entry(given, "causal")?,
            window: entry(given, "window")?,
            alibi: entry(given, "alibi")?,
            lengths: entry(given, "lengths")?,
            sinks: entry(given, "sinks")?,
        })
    }
}

/// The statistics that a dictionary wants.
fn request_of(wanted: &Bound<'_, PyDict>) -> PyResult<Request> {
    let asks = |key: &str| wanted.contains(key);
    let map: Option<(usize, usize)> = entry(wanted, "map")?;
    Ok(Request {
        lse: asks("lse")?,
        entropy: asks("entropy")?,
        largest: asks("max")?,
        top_k: entry(wanted, "top_k")?.unwrap_or(0),
        received: asks("received")?,
        row_sum_error: asks("row_sum_error")?,
        map: map.map(|(rows, cols)| MapSize { rows, cols }),
    })
}

/// The arrays of one call, alive as long as the views of them.
pub(crate) struct Arrays<'py> {
    pub(crate) q: Array<'py>,
    pub(crate) k: Array<'py>,
    pub(crate) v: Array<'py>,
    bias: Option<Array<'py>>,
    mask: Option<Array<'py>>,
}

impl<'py> Arrays<'py> {
    pub(crate) fn new([q, k, v]: [&Bound<'py, PyAny>; 3], asked: &Asked<'py>, bits: bool) -> PyResult<Self> {
        let take = if bits { Array::of_bits } else { Array::new };
        Ok(Arrays {
            q: take(q, name("q"))?,
            k: take(k, name("k"))?,
            v: take(v, name("v"))?,
            bias: asked.bias.as_ref().map(|bias| take(bias, name("bias"))).transpose()?,
            mask: asked.mask.as_ref().map(|mask| Array::new(mask, name("mask"))).transpose()?,
        })
    }

    /// The checked problem.
    pub(crate) fn problem<'a, T: Stored + Storage>(
        &'a self,
        py: Python<'_>,
        asked: &'a Asked<'_>,
    ) -> PyResult<Problem<'a, T>> {
        let options = Options {
            scale: asked.scale,
            softcap: asked.softcap,
            bias: self.bias.as_ref().map(Array::view::<T>).transpose()?,
            mask: self.mask.as_ref().map(Array::view::<bool>).transpose()?,
            causal: asked.causal.as_deref().map(|word| causal(py, word)).transpose()?,
            window: window(py, asked)?,
            alibi: asked.alibi.as_deref(),
            lengths: asked.lengths.as_deref(),
            sinks: asked.sinks.as_deref(),
            ..Options::default()
        };
        let (q, k, v): (View<'_, T>, _, _) = (self.q.view()?, self.k.view()?, self.v.view()?);
        Problem::new(q, k, v, options).or_raise(py)
    }
}

fn alignment(py: Python<'_>, argument: &str, word: &str) -> PyResult<Alignment> {
    match word {
        "top-left" => Ok(Alignment::TopLeft),
        "bottom-right" => Ok(Alignment::BottomRight),
        other => {
            let message =
                format!("attention: `{argument}` is {other:?}; expected \"top-left\" or \"bottom-right\"");
            Err(raise(py, Class::Number, message))
        }
    }
}

fn causal(py: Python<'_>, word: &str) -> PyResult<Causal> {
    if word == "square" {
        return Ok(Causal::Square);
    }
    alignment(py, "causal", word).map(Causal::Aligned)
}

fn window(py: Python<'_>, asked: &Asked<'_>) -> PyResult<Option<Window>> {
    let Some((left, right, word)) = &asked.window else { return Ok(None) };
    let alignment = word.as_deref().map(|word| alignment(py, "window", word)).transpose()?;
    Ok(Some(Window { left: *left, right: *right, alignment }))
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
    let asked = Asked::new(asked)?;
    let wanted = wanted.map(request_of).transpose()?;
    let arrays = Arrays::new([q, k, v], &asked, bits)?;
    match arrays.q.kind() {
        Kind::F64 => attended::<f64>(py, &arrays, &asked, wanted),
        Kind::F32 => attended::<f32>(py, &arrays, &asked, wanted),
        Kind::F16 => attended::<spanwise::f16>(py, &arrays, &asked, wanted),
        Kind::Bf16 => attended::<spanwise::bf16>(py, &arrays, &asked, wanted),
        Kind::Bool => Err(no_numbers(py)),
    }
}

pub(crate) fn no_numbers(py: Python<'_>) -> PyErr {
    raise(py, Class::Dtype, "attention: `q` has dtype bool; expected floating-point numbers".to_owned())
}

fn attended<'py, T: Stored + Storage>(
    py: Python<'py>,
    arrays: &Arrays<'py>,
    asked: &Asked<'py>,
    request: Option<Request>,
) -> PyResult<Attended<'py>> {
    let problem = arrays.problem::<T>(py, asked)?;
    let dims = problem.output_dims();
    let out = PyArray1::<T::Held>::zeros(py, dims.iter().product::<usize>(), false);
    let statistics = {
        let mut writable = out.readwrite();
        let out = numbers_of::<T>(writable.as_slice_mut()?);
        work::run(py, || forward_into(&problem, &request.unwrap_or_default(), out)).or_raise(py)?
    };
    let values = out.reshape(&dims[..])?.into_any();
    let leading = &dims[..dims.len() - 1];
    let statistics = request.map(|_| told(py, leading, problem.sizes().m, statistics)).transpose()?;
    Ok((values, statistics))
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

/// Where a rectangle of weights lies: batch and head, rows, columns.
type Place = ([usize; 2], (usize, usize), (usize, usize));

/// The weights of some queries and keys of one head, from q, k and the log-sum-exps (one per row, f64 without gaps).
#[pyfunction]
#[pyo3(signature = (q, k, lse, place, asked=None, bits=false))]
fn weights<'py>(
    q: &Bound<'py, PyAny>,
    k: &Bound<'py, PyAny>,
    lse: &Bound<'py, PyAny>,
    place: Place,
    asked: Option<&Bound<'py, PyDict>>,
    bits: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = q.py();
    let asked = Asked::new(asked)?;
    let lse = Array::real(lse, name("lse"))?;
    let lse = lse.slice()?;
    // The values do not matter here; the keys have as many rows.
    let arrays = Arrays::new([q, k, k], &asked, bits)?;
    match arrays.q.kind() {
        Kind::F64 => exact::<f64>(py, &arrays, &asked, lse, place),
        Kind::F32 => exact::<f32>(py, &arrays, &asked, lse, place),
        Kind::F16 => exact::<spanwise::f16>(py, &arrays, &asked, lse, place),
        Kind::Bf16 => exact::<spanwise::bf16>(py, &arrays, &asked, lse, place),
        Kind::Bool => Err(no_numbers(py)),
    }
}

fn exact<'py, T: Stored + Storage>(
    py: Python<'py>,
    arrays: &Arrays<'py>,
    asked: &Asked<'py>,
    lse: &[f64],
    (of, rows, cols): Place,
) -> PyResult<Bound<'py, PyAny>> {
    let problem = arrays.problem::<T>(py, asked)?;
    let found = work::run(py, || rectangle(&problem, lse, of, rows.0..rows.1, cols.0..cols.1));
    Ok(crate::array::rows_of(py, found.or_raise(py)?, rows.1 - rows.0, cols.1 - cols.0)?.into_any())
}
