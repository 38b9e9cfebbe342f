//! Gradients of attention as arrays.

use super::asked::{Arrays, name, take};
use super::{lasts, on_team, with_kind};
use crate::array::{Array, Stored, numbers_of, vector, zeros};
use crate::errors::OrRaise;
use crate::work;
use numpy::PyArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::attend::{GradientsMut, Sizes, Upstream, backward_into};
use spanwise_kernels::attention::Storage;

/// The gradients of q, k and v, of the bias where it is wanted, and of the sinks where there are some.
type Slopes<'py> = ([Bound<'py, PyAny>; 3], Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Gradients from what attention gave with the same arguments (`output`, `lse` as f64 without gaps) and the gradient `grad` of its
/// output.
#[pyfunction]
#[pyo3(signature = (q, k, v, upstream, asked=None, wants_bias=false, bits=false))]
pub(super) fn attention_backward<'py>(
    q: &Bound<'py, PyAny>,
    k: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    upstream: [Bound<'py, PyAny>; 3],
    asked: Option<&Bound<'py, PyDict>>,
    wants_bias: bool,
    bits: bool,
) -> PyResult<Slopes<'py>> {
    let py = q.py();
    let arrays = Arrays::new([q, k, v], asked, bits)?;
    let [output, lse, grad] = upstream;
    let given = Given {
        output: take(&output, "output", bits)?,
        lse: Array::real(&lse, name("lse"))?,
        grad: take(&grad, "grad", bits)?,
    };
    with_kind!(py, arrays.kind(), T => slopes::<T>(py, &arrays, &given, wants_bias))
}

/// What backward starts from.
struct Given<'py> {
    output: Array<'py>,
    lse: Array<'py>,
    grad: Array<'py>,
}

fn slopes<'py, T: Stored + Storage>(
    py: Python<'py>,
    arrays: &Arrays<'py>,
    given: &Given<'py>,
    wants_bias: bool,
) -> PyResult<Slopes<'py>> {
    let problem = arrays.problem::<T>(py)?;
    let Sizes { b, h, g, n, m, d, e } = problem.sizes();
    let first = 4 - problem.output_dims().len();
    let upstream =
        Upstream { output: given.output.view()?, lse: given.lse.slice()?, grad: given.grad.view()? };

    let shapes = [[b, h, n, d], [b, g, m, d], [b, g, m, e]];
    let count = |dims: &[usize]| dims.iter().product::<usize>();
    let [dq, dk, dv] = shapes.map(|dims| zeros::<T>(py, count(&dims)));
    let (dq, dk, dv) = (dq?, dk?, dv?);
    let bias_dims = arrays.asked.bias_shape().filter(|_| wants_bias);
    let dbias = bias_dims.map(|dims| zeros::<T>(py, count(dims))).transpose()?;
    let mut dsinks = arrays.asked.sink_count().map(|sinks| vec![0.0; sinks]);
    {
        let (mut q, mut k, mut v) = (dq.readwrite(), dk.readwrite(), dv.readwrite());
        let mut bias = dbias.as_ref().map(PyArrayMethods::readwrite);
        let into = GradientsMut {
            q: numbers_of::<T>(q.as_slice_mut()?),
            k: numbers_of::<T>(k.as_slice_mut()?),
            v: numbers_of::<T>(v.as_slice_mut()?),
            bias: bias.as_mut().map(|bias| bias.as_slice_mut()).transpose()?.map(numbers_of::<T>),
            sinks: dsinks.as_deref_mut(),
        };
        if lasts(&problem) {
            let work = || backward_into(&problem, &upstream, into);
            work::watch(py, &arrays.asked.stop, work)?.or_raise(py)?;
        } else {
            let problem = on_team(&problem);
            work::run(py, || backward_into(&problem, &upstream, into)).or_raise(py)?;
        }
    }
    let shaped = |of: Bound<'py, numpy::PyArray1<T::Held>>, dims: &[usize]| -> PyResult<Bound<'py, PyAny>> {
        Ok(of.reshape(dims)?.into_any())
    };
    let all = [
        shaped(dq, &shapes[0][first..])?,
        shaped(dk, &shapes[1][first..])?,
        shaped(dv, &shapes[2][first..])?,
    ];
    let dbias = match (dbias, bias_dims) {
        (Some(dbias), Some(dims)) => Some(shaped(dbias, dims)?),
        _ => None,
    };
    Ok((all, dbias, dsinks.map(|dsinks| vector(py, dsinks).into_any())))
}
