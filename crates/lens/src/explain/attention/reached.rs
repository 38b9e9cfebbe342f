//! Numbers that are not finite and reach an output.
//!
//! What is hidden reaches nothing. What a query sees takes its row along, and with the row every sum over rows: the mass that
//! keys receive, means, maps. No number said about such weights would be a measure, so they are refused, with the place
//! the first of them comes from and how many rows are lost.
//!
//! ```text
//! lost row    = its log-sum-exp is NaN or +∞, or one of its outputs is not finite
//! where from  = of the first lost row: q, then k, bias and v of the keys it sees, then what its head has
//! nowhere     = q·k, or the sum of values, is too large for the type that it is formed in
//! ```

use super::Run;
use crate::LessonError;
use spanwise_attention::scores;
use spanwise_kernels::attention::Storage;
use spanwise_kernels::{Dtype, Element, View};

/// A number, the array that holds it, and where.
struct Found {
    argument: &'static str,
    value: f64,
    at: Vec<usize>,
}

impl<T: Storage> Run<'_, T> {
    /// An error where an output is lost.
    pub(super) fn refuse_lost_rows(&self) -> Result<(), LessonError> {
        let s = self.sizes;
        let lse = self.done.statistics.lse.as_deref().unwrap_or_default();
        let is_lost = |&row: &usize| {
            let outputs = &self.done.values[row * s.e..(row + 1) * s.e];
            lse[row].is_nan() || lse[row] == f64::INFINITY || outputs.iter().any(|o| !o.to_f64().is_finite())
        };
        let mut lost = (0..lse.len()).filter(is_lost);
        let Some(first) = lost.next() else { return Ok(()) };
        let (rows, of) = (1 + lost.count(), lse.len());
        let [batch, head, row] = [first / (s.h * s.n), first / s.n % s.h, first % s.n];
        Err(match self.source_of([batch, head, row])? {
            Some(Found { argument, value, at }) => LessonError::Reached { argument, value, at, rows, of },
            None => LessonError::Overflow {
                in_scores: !lse[first].is_finite(),
                widest: T::DTYPE == Dtype::F64,
                batch,
                head,
                row,
                rows,
                of,
            },
        })
    }

    /// Where the first number comes from that a row is lost to.
    fn source_of(&self, [b, h, i]: [usize; 3]) -> Result<Option<Found>, LessonError> {
        let (s, options) = (self.sizes, self.problem.options());
        let row = scores(self.problem, [b, h], i..i + 1, 0..s.m)?;
        let seen: Vec<usize> = (0..s.m).filter(|&j| row[j] != f64::NEG_INFINITY).collect();
        let bias = options.bias.and_then(|bias| bias.broadcast_to(&[s.b, s.h, s.n, s.m]).ok());
        let in_bias = |bias: View<'_, T>| seen.iter().find_map(|&j| not_finite("bias", &bias, [b, h, i, j]));
        let group = s.group(h);
        let (q, k, v) = (&self.arrays.q, &self.arrays.k, &self.arrays.v);
        let found = in_row("q", q, [b, h, i])
            .or_else(|| seen.iter().find_map(|&j| in_row("k", k, [b, group, j])))
            .or_else(|| in_bias(bias?))
            .or_else(|| seen.iter().find_map(|&j| in_row("v", v, [b, group, j])))
            .or_else(|| of_head("alibi", options.alibi, h))
            .or_else(|| of_head("sinks", options.sinks, h));
        Ok(found)
    }
}

/// The first number of a row of q, k or v that is not finite.
fn in_row<T: Element>(argument: &'static str, array: &View<'_, T>, [b, h, row]: [usize; 3]) -> Option<Found> {
    let mut places = (0..array.dims()[3]).map(|column| [b, h, row, column]);
    places.find_map(|at| not_finite(argument, array, at))
}

/// The number at a place, where it is not finite. Along an axis that repeats, its index is 0: it is one number for all.
fn not_finite<T: Element>(argument: &'static str, array: &View<'_, T>, at: [usize; 4]) -> Option<Found> {
    let value = array.get(&at)?.to_f64();
    let own = |axis: usize| if array.strides()[axis] == 0 { 0 } else { at[axis] };
    (!value.is_finite()).then(|| Found { argument, value, at: (0..4).map(own).collect() })
}

fn of_head(argument: &'static str, numbers: Option<&[f64]>, head: usize) -> Option<Found> {
    let value = *numbers?.get(head)?;
    (!value.is_finite()).then(|| Found { argument, value, at: vec![head] })
}
