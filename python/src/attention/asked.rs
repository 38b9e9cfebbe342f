//! What a call of attention asks, from a dictionary of those options that were given.

use crate::array::{Array, Kind, Name, Stored};
use crate::errors::{Class, OrRaise, raise};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::View;
use spanwise::attend::{Alignment, Causal, Dropout, MapSize, Options, Problem, Request, Window};
use spanwise_kernels::attention::Storage;
use std::sync::atomic::AtomicBool;

pub(super) fn name(argument: &'static str) -> Name {
    Name { operation: "attention", argument }
}

/// What is asked beyond q, k and v, and the flag that ends the work.
#[derive(Default)]
pub(crate) struct Asked<'py> {
    scale: Option<f64>,
    softcap: Option<f64>,
    bias: Option<Array<'py>>,
    mask: Option<Array<'py>>,
    /// `square`, `top-left` or `bottom-right`.
    causal: Option<String>,
    /// Keys before and after a query's place, and the diagonal.
    window: Option<(Option<usize>, Option<usize>, Option<String>)>,
    alibi: Option<Vec<f64>>,
    lengths: Option<Vec<usize>>,
    sinks: Option<Vec<f64>>,
    /// Probability and seed.
    dropout: Option<(f64, u64)>,
    pub(crate) stop: AtomicBool,
}

/// An entry of a dictionary that need not be there.
fn entry<'py, T>(from: &Bound<'py, PyDict>, key: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    from.get_item(key)?.map(|value| value.extract()).transpose()
}

/// An array; with `bits` words of 16 bits are bit patterns of bf16.
pub(super) fn take<'py>(
    object: &Bound<'py, PyAny>,
    argument: &'static str,
    bits: bool,
) -> PyResult<Array<'py>> {
    if bits { Array::of_bits(object, name(argument)) } else { Array::new(object, name(argument)) }
}

impl<'py> Asked<'py> {
    pub(super) fn new(given: Option<&Bound<'py, PyDict>>, bits: bool) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Asked::default()) };
        Ok(Asked {
            scale: entry(given, "scale")?,
            softcap: entry(given, "softcap")?,
            bias: given.get_item("bias")?.map(|bias| take(&bias, "bias", bits)).transpose()?,
            mask: given.get_item("mask")?.map(|mask| take(&mask, "mask", false)).transpose()?,
            causal: entry(given, "causal")?,
            window: entry(given, "window")?,
            alibi: entry(given, "alibi")?,
            lengths: entry(given, "lengths")?,
            sinks: entry(given, "sinks")?,
            dropout: entry(given, "dropout")?,
            stop: AtomicBool::new(false),
        })
    }

    /// The bias's own shape.
    pub(super) fn bias_shape(&self) -> Option<&[usize]> {
        self.bias.as_ref().map(Array::shape)
    }

    /// How many sinks there are.
    pub(super) fn sink_count(&self) -> Option<usize> {
        self.sinks.as_ref().map(Vec::len)
    }

    pub(super) fn options<T: Stored>(&self, py: Python<'_>) -> PyResult<Options<'_, T>> {
        Ok(Options {
            scale: self.scale,
            softcap: self.softcap,
            bias: self.bias.as_ref().map(Array::view::<T>).transpose()?,
            mask: self.mask.as_ref().map(Array::view::<bool>).transpose()?,
            causal: self.causal.as_deref().map(|word| causal(py, word)).transpose()?,
            window: self.window(py)?,
            alibi: self.alibi.as_deref(),
            lengths: self.lengths.as_deref(),
            sinks: self.sinks.as_deref(),
            dropout: self.dropout.map(|(probability, seed)| Dropout { probability, seed }),
            stop: Some(&self.stop),
            ..Options::default()
        })
    }

    fn window(&self, py: Python<'_>) -> PyResult<Option<Window>> {
        let Some((left, right, word)) = &self.window else { return Ok(None) };
        let alignment = word.as_deref().map(|word| alignment(py, "window", word)).transpose()?;
        Ok(Some(Window { left: *left, right: *right, alignment }))
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

/// The diagonal that a word means.
pub(crate) fn causal(py: Python<'_>, word: &str) -> PyResult<Causal> {
    if word == "square" {
        return Ok(Causal::Square);
    }
    alignment(py, "causal", word).map(Causal::Aligned)
}

/// The statistics that a dictionary wants.
pub(super) fn request_of(wanted: &Bound<'_, PyDict>) -> PyResult<Request> {
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
    pub(crate) asked: Asked<'py>,
}

impl<'py> Arrays<'py> {
    pub(crate) fn new(
        [q, k, v]: [&Bound<'py, PyAny>; 3],
        asked: Option<&Bound<'py, PyDict>>,
        bits: bool,
    ) -> PyResult<Self> {
        let (q, k, v) = (take(q, "q", bits)?, take(k, "k", bits)?, take(v, "v", bits)?);
        Ok(Arrays { q, k, v, asked: Asked::new(asked, bits)? })
    }

    /// The storage type of `q`.
    pub(crate) fn kind(&self) -> Kind {
        self.q.kind()
    }

    /// The checked problem.
    pub(crate) fn problem<T: Stored + Storage>(&self, py: Python<'_>) -> PyResult<Problem<'_, T>> {
        let (q, k, v): (View<'_, T>, _, _) = (self.q.view()?, self.k.view()?, self.v.view()?);
        Problem::new(q, k, v, self.asked.options(py)?).or_raise(py)
    }
}
