//! Sequences of different lengths, laid end to end.
//!
//! ```text
//! q (H, total queries, D)     sequence s: rows query_offsets[s] .. query_offsets[s + 1]
//! k (G, total keys, D)        sequence s: rows key_offsets[s] .. key_offsets[s + 1]
//! ```
//!
//! Each sequence attends to itself alone. Its problem is a view of the packed arrays, so nothing is padded and nothing
//! copied; memory in the order `(total, H, D)` is a permuted view. What depends on positions (causal, window, `ALiBi`,
//! dropout) counts them within the sequence, and dropout takes the sequence's number for the batch entry's.

use crate::backward::{Upstream, backward};
use crate::forward::{Statistics, forward};
use crate::{AttentionError, Options, Problem, Request};
use rayon::prelude::*;
use spanwise_kernels::attention::Storage;
use spanwise_kernels::{Shape, View};
use std::ops::Range;

/// Where sequences begin and end: entry `s` is the first row of sequence `s`, the last entry the number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offsets<'a> {
    /// In q.
    pub queries: &'a [usize],
    /// In k and v.
    pub keys: &'a [usize],
}

/// A packed batch, checked.
#[derive(Clone, Debug)]
pub struct Packed<'a, T> {
    problems: Vec<Problem<'a, T>>,
    offsets: Offsets<'a>,
    /// H, and G.
    heads: [usize; 2],
    /// D, and E.
    widths: [usize; 2],
}

/// What came out of [`forward_packed`].
#[derive(Clone, Debug, PartialEq)]
pub struct PackedForward<T> {
    /// `(H, total queries, E)`, row-major.
    pub values: Vec<T>,
    /// `(H, total queries)`: the log-sum-exps; `None` unless asked for.
    pub lse: Option<Vec<f64>>,
    /// What was asked for, sequence by sequence.
    pub statistics: Vec<Statistics>,
}

/// What came out of [`backward_packed`], row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedGradients<T> {
    /// `(H, total queries, D)`.
    pub q: Vec<T>,
    /// `(G, total keys, D)`.
    pub k: Vec<T>,
    /// `(G, total keys, E)`.
    pub v: Vec<T>,
    /// `(H,)`; `None` without sinks.
    pub sinks: Option<Vec<f64>>,
}

impl<'a, T: Storage> Packed<'a, T> {
    /// q is `(H, total queries, D)`, k `(G, total keys, D)`, v `(G, total keys, E)`; a missing head axis is 1.
    ///
    /// Options that name single scores of one rectangle (bias, mask, blocks, lengths) do not fit sequences of different lengths
    /// and are refused.
    pub fn new(
        q: View<'a, T>,
        k: View<'a, T>,
        v: View<'a, T>,
        offsets: Offsets<'a>,
        options: Options<'a, T>,
    ) -> Result<Self, AttentionError> {
        for (argument, view) in [("q", q), ("k", k), ("v", v)] {
            if view.rank() < 2 || view.rank() > 3 {
                return Err(AttentionError::PackedRank { argument, found: view.shape() });
            }
        }
        for (argument, given) in [
            ("bias", options.bias.is_some()),
            ("mask", options.mask.is_some()),
            ("blocks", options.blocks.is_some()),
            ("lengths", options.lengths.is_some()),
        ] {
            if given {
                return Err(AttentionError::PackedOption { argument });
            }
        }
        let [q, k, v] = [q, k, v].map(|view| view.with_leading_axes(3));
        let sequences = check_offsets(offsets, q.dims()[1], k.dims()[1])?;
        let of = |view: View<'a, T>, rows: Range<usize>| view.narrowed(1, rows).unwrap_or(view);
        // Also without any sequence the arrays have to fit each other.
        let whole = Problem::new(q, k, v, Options { causal: None, window: None, ..options })?.sizes();
        let mut problems = Vec::with_capacity(sequences);
        for s in 0..sequences {
            let (queries, keys) = (row_range(offsets.queries, s), row_range(offsets.keys, s));
            let mut problem = Problem::new(of(q, queries), of(k, keys.clone()), of(v, keys), options)?;
            problem.first_batch = s;
            problems.push(problem);
        }
        Ok(Packed { problems, offsets, heads: [whole.h, whole.g], widths: [whole.d, whole.e] })
    }

    /// One problem for each sequence.
    pub fn problems(&self) -> &[Problem<'a, T>] {
        &self.problems
    }

    /// Queries and keys of all sequences.
    fn totals(&self) -> [usize; 2] {
        [self.offsets.queries, self.offsets.keys].map(|offsets| offsets.last().copied().unwrap_or(0))
    }
}

fn row_range(offsets: &[usize], s: usize) -> Range<usize> {
    offsets[s]..offsets[s + 1]
}

/// How many sequences there are, if the offsets begin at 0, never fall, and end at the number of rows.
fn check_offsets(offsets: Offsets<'_>, queries: usize, keys: usize) -> Result<usize, AttentionError> {
    let counts = [offsets.queries.len(), offsets.keys.len()];
    if counts[0] != counts[1] || counts[0] == 0 {
        return Err(AttentionError::OffsetCount { queries: counts[0], keys: counts[1] });
    }
    for (argument, list, rows) in
        [("query_offsets", offsets.queries, queries), ("key_offsets", offsets.keys, keys)]
    {
        for (at, &found) in list.iter().enumerate() {
            let lowest = if at == 0 { 0 } else { list[at - 1] };
            let lowest = if at + 1 == list.len() { rows } else { lowest };
            let highest = if at == 0 && list.len() > 1 { 0 } else { rows };
            if found < lowest || found > highest {
                return Err(AttentionError::Offset { argument, at, found, lowest, highest });
            }
        }
    }
    Ok(counts[0] - 1)
}

/// [`forward`] of every sequence.
///
/// ```
/// use spanwise_attention::{Causal, Offsets, Options, Packed, Request, forward_packed};
/// use spanwise_kernels::View;
///
/// // Two sequences, of 1 and 2 rows.
/// let x = [5.0f32, 1.0, 1.0];
/// let x = View::new(&x, &[3, 1])?;
/// let offsets = Offsets { queries: &[0, 1, 3], keys: &[0, 1, 3] };
/// let options = Options { causal: Some(Causal::Square), ..Options::default() };
/// let packed = Packed::new(x, x, x, offsets, options)?;
/// assert_eq!(forward_packed(&packed, &Request::default()).values, [5.0, 1.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn forward_packed<T: Storage>(packed: &Packed<'_, T>, request: &Request) -> PackedForward<T> {
    let ([heads, _], [_, width], [total, _]) = (packed.heads, packed.widths, packed.totals());
    let results: Vec<_> = packed.problems.par_iter().map(|problem| forward(problem, request)).collect();
    let mut values = vec![T::default(); heads * total * width];
    let mut lse = request.lse.then(|| vec![0.0; heads * total]);
    let mut statistics = Vec::with_capacity(results.len());
    for (s, result) in results.into_iter().enumerate() {
        let rows = row_range(packed.offsets.queries, s);
        scatter(&result.values, &mut values, &rows, [total, width]);
        if let (Some(to), Some(from)) = (&mut lse, &result.statistics.lse) {
            scatter(from, to, &rows, [total, 1]);
        }
        statistics.push(result.statistics);
    }
    PackedForward { values, lse, statistics }
}

/// [`backward`] of every sequence. `output` and `grad` of `upstream` are `(H, total queries, E)`, `lse` is
/// `(H, total queries)`.
pub fn backward_packed<T: Storage>(
    packed: &Packed<'_, T>,
    upstream: &Upstream<'_, T>,
) -> Result<PackedGradients<T>, AttentionError> {
    let ([heads, groups], [d, e], [total, total_keys]) = (packed.heads, packed.widths, packed.totals());
    for (argument, view) in [("output", upstream.output), ("grad", upstream.grad)] {
        if view.rank() > 3 || view.with_leading_axes(3).dims() != [heads, total, e] {
            let expected = Shape::new(&[heads, total, e]).unwrap_or(view.shape());
            let found = view.shape();
            return Err(AttentionError::Shape { argument, found, expected, letters: "H, queries, E" });
        }
    }
    let (found, expected) = (upstream.lse.len(), heads * total);
    if found != expected {
        return Err(AttentionError::Count { argument: "lse", found, expected, per: "row" });
    }
    let (output, grad) = (upstream.output.with_leading_axes(3), upstream.grad.with_leading_axes(3));
    let one = |s: usize| {
        let rows = row_range(packed.offsets.queries, s);
        let of =
            |view: View<'_, T>| view.narrowed(1, rows.clone()).map(|view| view.to_vec()).unwrap_or_default();
        let (output, grad) = (of(output), of(grad));
        let lse: Vec<f64> =
            (0..heads).flat_map(|h| &upstream.lse[h * total..][rows.clone()]).copied().collect();
        let dims = [heads, rows.len(), e];
        let view = |data| View::new(data, &dims);
        match (view(&output), view(&grad)) {
            (Ok(output), Ok(grad)) => backward(&packed.problems[s], &Upstream { output, lse: &lse, grad }),
            // The shapes were checked above.
            _ => Err(AttentionError::OutputLength { found: output.len(), expected: dims.iter().product() }),
        }
    };
    let results: Result<Vec<_>, _> = (0..packed.problems.len()).into_par_iter().map(one).collect();
    let has_sinks = packed.problems.first().is_some_and(|problem| problem.sinks.is_some());
    let mut to = PackedGradients {
        q: vec![T::default(); heads * total * d],
        k: vec![T::default(); groups * total_keys * d],
        v: vec![T::default(); groups * total_keys * e],
        sinks: has_sinks.then(|| vec![0.0; heads]),
    };
    for (s, found) in results?.into_iter().enumerate() {
        let (queries, keys) = (row_range(packed.offsets.queries, s), row_range(packed.offsets.keys, s));
        scatter(&found.q, &mut to.q, &queries, [total, d]);
        scatter(&found.k, &mut to.k, &keys, [total_keys, d]);
        scatter(&found.v, &mut to.v, &keys, [total_keys, e]);
        if let (Some(to), Some(from)) = (&mut to.sinks, &found.sinks) {
            to.iter_mut().zip(from).for_each(|(to, x)| *to += x);
        }
    }
    Ok(to)
}

/// `(heads, rows, width)` into its rows of `(heads, total, width)`.
fn scatter<U: Copy>(from: &[U], to: &mut [U], rows: &Range<usize>, [total, width]: [usize; 2]) {
    let len = rows.len() * width;
    for (head, from) in from.chunks_exact(len.max(1)).enumerate() {
        to[(head * total + rows.start) * width..][..len].copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::tests::cases::numbers;
    use crate::forward::tests::{distance, same_bits};
    use crate::{Alignment, Causal, Dropout, Window};

    const QUERIES: [usize; 5] = [0, 70, 70, 75, 100];
    const KEYS: [usize; 5] = [0, 90, 93, 99, 400];

    fn options() -> Options<'static, f64> {
        Options {
            causal: Some(Causal::Aligned(Alignment::BottomRight)),
            window: Some(Window { left: Some(50), right: None, alignment: None }),
            dropout: Some(Dropout { probability: 0.2, seed: 3 }),
            sinks: Some(&[0.5, -0.5]),
            alibi: Some(&[0.1, 0.2]),
            ..Options::default()
        }
    }

    #[test]
    fn a_packed_batch_is_its_sequences_one_by_one() {
        let (q, k, v) = (
            numbers::<f64>(1, 2 * 100 * 6, 1.0),
            numbers::<f64>(2, 400 * 6, 1.0),
            numbers::<f64>(3, 400 * 4, 1.0),
        );
        let grad = numbers::<f64>(4, 2 * 100 * 4, 1.0);
        // q lies as (total, H, D).
        let q_view = View::new(&q, &[100, 2, 6]).unwrap().permuted(&[1, 0, 2]).unwrap();
        let (k_view, v_view) = (View::new(&k, &[400, 6]).unwrap(), View::new(&v, &[400, 4]).unwrap());
        let offsets = Offsets { queries: &QUERIES, keys: &KEYS };
        let packed = Packed::new(q_view, k_view, v_view, offsets, options()).unwrap();
        let found = forward_packed(&packed, &Request { lse: true, ..Request::default() });
        let lse = found.lse.unwrap();
        let grad_view = View::new(&grad, &[2, 100, 4]).unwrap();
        let output = View::new(&found.values, &[2, 100, 4]).unwrap();
        let gradients = backward_packed(&packed, &Upstream { output, lse: &lse, grad: grad_view }).unwrap();
        let mut dsinks = [0.0; 2];
        for s in 0..4 {
            let exact = crate::reference::attend(&packed.problems()[s]);
            let n = QUERIES[s + 1] - QUERIES[s];
            let grad: Vec<f64> = grad_view.narrowed(1, QUERIES[s]..QUERIES[s + 1]).unwrap().to_vec();
            let slopes =
                crate::reference::backward(&packed.problems()[s], View::new(&grad, &[1, 2, n, 4]).unwrap());
            for head in 0..2 {
                let row = head * 100 + QUERIES[s];
                let own = &exact.values[head * n * 4..][..n * 4];
                assert!(distance(&found.values[row * 4..][..n * 4], own) < 1e-13, "sequence {s}");
                assert!(distance(&lse[row..][..n], &exact.lse[head * n..][..n]) < 1e-13, "sequence {s}");
                let dq = &slopes.q[head * n * 6..][..n * 6];
                assert!(distance(&gradients.q[row * 6..][..n * 6], dq) < 1e-13, "sequence {s}");
                dsinks[head] += slopes.sinks.as_ref().unwrap()[head];
            }
            let keys = KEYS[s]..KEYS[s + 1];
            assert!(distance(&gradients.k[keys.start * 6..keys.end * 6], &slopes.k) < 1e-13, "sequence {s}");
            assert!(distance(&gradients.v[keys.start * 4..keys.end * 4], &slopes.v) < 1e-13, "sequence {s}");
        }
        assert!(distance(&gradients.sinks.unwrap(), &dsinks) < 1e-13);
    }

    #[test]
    fn packed_and_padded_drop_the_same_weights() {
        let (n, width) = (30, 8);
        let x = numbers::<f32>(1, 2 * n * width, 1.0);
        let options = Options { dropout: Some(Dropout { probability: 0.5, seed: 9 }), ..Options::default() };
        let batch = View::new(&x, &[2, 1, n, width]).unwrap();
        let padded = forward(&Problem::new(batch, batch, batch, options).unwrap(), &Request::default());
        let flat = View::new(&x, &[2 * n, width]).unwrap();
        let offsets = [0, n, 2 * n];
        let offsets = Offsets { queries: &offsets, keys: &offsets };
        let packed = Packed::new(flat, flat, flat, offsets, options).unwrap();
        assert!(same_bits(&forward_packed(&packed, &Request::default()).values, &padded.values));
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let x = [0.0f64; 6];
        let view = View::new(&x, &[6, 1]).unwrap();
        let refuse = |queries: &[usize], keys: &[usize], options| {
            Packed::new(view, view, view, Offsets { queries, keys }, options).unwrap_err().to_string()
        };
        let none = Options::default;
        assert_eq!(
            refuse(&[0, 6], &[0, 3, 6], none()),
            "attention: `query_offsets` has 2 entries, `key_offsets` has 3; they must be equal, one more than there are sequences"
        );
        assert_eq!(
            refuse(&[0, 4, 2, 6], &[0, 1, 2, 6], none()),
            "attention: `query_offsets`[2] is 2; expected 4 to 6"
        );
        assert_eq!(refuse(&[0, 6], &[0, 5], none()), "attention: `key_offsets`[1] is 5; expected 6 to 6");
        assert_eq!(refuse(&[1, 6], &[0, 6], none()), "attention: `query_offsets`[0] is 1; expected 0 to 0");
        let lengths = Options { lengths: Some(&[1]), ..none() };
        assert_eq!(
            refuse(&[0, 6], &[0, 6], lengths),
            "attention: `lengths` cannot be given for packed sequences, whose lengths differ"
        );
        let four = View::new(&x, &[1, 1, 6, 1]).unwrap();
        let offsets = Offsets { queries: &[0, 6], keys: &[0, 6] };
        assert!(matches!(
            Packed::new(four, view, view, offsets, none()),
            Err(AttentionError::PackedRank { argument: "q", .. })
        ));
    }
}
