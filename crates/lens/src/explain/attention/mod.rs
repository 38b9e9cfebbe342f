//! Queries, keys and values, explained.
//!
//! ```text
//!  forward with statistics ──► not finite? refused, with the place it comes from
//!                          ──► entropy, largest weights, mass received, pooled map     all rows, never N × M stored
//!  a few rows of weights, recomputed in f64 ──► outputs in the hull, rank of weights    sampled rows
//!  values ──► principal directions                                                      all keys
//! ```

mod figures;
mod heads;
mod reached;
#[cfg(test)]
mod tests;
mod words;

pub(super) use figures::{drawn_of, pooled};

use super::{Computation, Explanation, Subject, settled};
use crate::LessonError;
use crate::attended::in_words;
use crate::explain::seen::{Matrices, seen};
use heads::Head;
use spanwise_attention::{MapSize, Options, Problem, Request, Sizes, forward, forward_told};
use spanwise_kernels::View;
use spanwise_kernels::attention::Storage;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Numbers the pooled maps may have in all, twice (mean and maximum).
const MAP_NUMBERS: usize = 1 << 21;
/// Cells along one side of a map.
const MOST_CELLS: usize = 256;

/// An attention problem, with the arrays it was built from.
#[derive(Clone, Copy)]
pub struct AttentionInput<'a, T> {
    /// The file, or what stands for it.
    pub source: &'a str,
    /// Queries `(…, N, D)`.
    pub q: View<'a, T>,
    /// Keys `(…, M, D)`.
    pub k: View<'a, T>,
    /// Values `(…, M, E)`.
    pub v: View<'a, T>,
    /// Scale, masks and biases.
    pub options: Options<'a, T>,
    /// The command line that makes the explanation again.
    pub command: &'a str,
}

/// Explains attention. `stage` is told what is being done, in a few words, before it is.
///
/// ```
/// use spanwise_attention::Options;
/// use spanwise_kernels::View;
/// use spanwise_lens::explain::{AttentionInput, explain_attention};
///
/// let numbers: Vec<f32> = (0..2 * 16 * 8).map(|i| (i as f32 * 0.7).sin()).collect();
/// let x = View::new(&numbers, &[2, 16, 8])?; // two heads, 16 tokens, width 8
/// let options = Options::default();
/// let input = AttentionInput { source: "two heads", q: x, k: x, v: x, options, command: "" };
/// let found = explain_attention(&input, &mut |_| ())?;
/// assert!(found.figure("heads").is_some() && !found.verdict.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn explain_attention<T: Storage>(
    input: &AttentionInput<'_, T>,
    stage: &mut dyn FnMut(&'static str),
) -> Result<Explanation, LessonError> {
    explain_attention_told(input, stage, &|_| ())
}

/// [`explain_attention`] that tells how far the pass over all keys is: `told` is called, by whichever thread, with the share
/// of the queries that are done.
pub fn explain_attention_told<T: Storage>(
    input: &AttentionInput<'_, T>,
    stage: &mut dyn FnMut(&'static str),
    told: &(dyn Fn(f64) + Sync),
) -> Result<Explanation, LessonError> {
    let problem = Problem::new(input.q, input.k, input.v, input.options)?;
    let sizes = problem.sizes();
    let mut seconds = Vec::new();
    let mut timed =
        |name: &'static str, since: Instant| seconds.push((name.to_owned(), since.elapsed().as_secs_f64()));

    stage("attention");
    let since = Instant::now();
    let cells = cells(sizes);
    let request = Request {
        lse: true,
        entropy: true,
        largest: true,
        received: true,
        row_sum_error: true,
        map: (sizes.n > 0 && sizes.m > 0)
            .then(|| MapSize { rows: cells.min(sizes.n), cols: cells.min(sizes.m) }),
        ..Request::default()
    };
    let (rows, done_rows) = (sizes.b * sizes.h * sizes.n, AtomicUsize::new(0));
    let done = forward_told(&problem, &request, &|more| {
        told((more + done_rows.fetch_add(more, Ordering::Relaxed)) as f64 / rows.max(1) as f64);
    });
    timed("attention", since);

    stage("heads");
    let since = Instant::now();
    let arrays =
        Arrays::new(input, sizes).ok_or(LessonError::Memory { what: "a view of the arrays", numbers: 0 })?;
    let run = Run { problem: &problem, arrays, done: &done, sizes, keys: seen(&problem) };
    run.refuse_lost_rows()?;
    let heads = run.heads()?;
    let moved = run.moved_by_permutation();
    timed("heads", since);

    stage("figures");
    let since = Instant::now();
    let figures = figures::figures(&run, &heads);
    let tables = vec![figures::table(&heads)];
    timed("figures", since);
    let findings = settled(words::findings(&run, &heads, moved), &figures);
    Ok(Explanation {
        subject: Subject::Attention {
            source: input.source.to_owned(),
            batch: sizes.b,
            heads: sizes.h,
            key_value_heads: sizes.g,
            queries: sizes.n,
            keys: sizes.m,
            key_width: sizes.d,
            value_width: sizes.e,
            scale: problem.scale(),
            options: in_words(problem.options()),
        },
        verdict: words::verdict(&run, &heads, &findings),
        findings,
        figures,
        tables,
        computation: Computation {
            version: env!("CARGO_PKG_VERSION"),
            command: input.command.to_owned(),
            settings: words::settings(&run, &heads),
            tolerances: vec![(
                "distance from the hull, share of the largest value".to_owned(),
                run.tolerance(),
            )],
            seconds,
        },
    })
}

/// Cells along one side of the maps: as many as all heads together have room for.
fn cells(sizes: Sizes) -> usize {
    let heads = (sizes.b * sizes.h).max(1);
    ((MAP_NUMBERS / heads) as f64).sqrt().clamp(8.0, MOST_CELLS as f64) as usize
}

/// q, k and v with all four dimensions.
struct Arrays<'a, T> {
    q: View<'a, T>,
    k: View<'a, T>,
    v: View<'a, T>,
}

impl<'a, T: Storage> Arrays<'a, T> {
    fn new(input: &AttentionInput<'a, T>, s: Sizes) -> Option<Self> {
        let whole = |view: View<'a, T>, dims: &[usize; 4]| view.with_leading_axes(4).broadcast_to(dims).ok();
        Some(Arrays {
            q: whole(input.q, &[s.b, s.h, s.n, s.d])?,
            k: whole(input.k, &[s.b, s.g, s.m, s.d])?,
            v: whole(input.v, &[s.b, s.g, s.m, s.e])?,
        })
    }
}

/// A problem that was evaluated.
struct Run<'a, T> {
    problem: &'a Problem<'a, T>,
    arrays: Arrays<'a, T>,
    done: &'a spanwise_attention::Forward<T>,
    sizes: Sizes,
    /// How many keys each row sees, `B × H × N`.
    keys: Vec<usize>,
}

impl<T: Storage> Run<'_, T> {
    /// How far an output may be from the recomputed one: roundings of the type, times the root of the number of keys and
    /// the size of the scores, whose rounding the exponential makes a relative error of the weights.
    fn tolerance(&self) -> f64 {
        let unit = match T::DTYPE.size() {
            8 => f64::EPSILON,
            4 => f64::from(f32::EPSILON),
            _ => 2.0_f64.powi(-8),
        };
        let lse = self.done.statistics.lse.as_deref().unwrap_or_default();
        let scores = lse.iter().map(|x| x.abs()).filter(|x| x.is_finite()).fold(0.0, f64::max);
        unit * (8.0 + (self.sizes.m as f64).sqrt() + 4.0 * scores)
    }

    /// Whether places matter: then permuting keys changes outputs, as it should.
    fn is_positional(&self) -> bool {
        let options = self.problem.options();
        options.bias.is_some()
            || options.alibi.is_some()
            || options.mask.is_some()
            || options.causal.is_some()
            || options.window.is_some()
            || options.blocks.is_some()
            || options.lengths.is_some()
    }

    /// The largest change of an output when keys and values are turned around, as a share of the largest value; a few
    /// queries of the first head, without masks and biases.
    fn moved_by_permutation(&self) -> Option<f64> {
        let s = self.sizes;
        if s.b * s.h * s.n * s.m * s.d * s.e == 0 {
            return None;
        }
        let (q, k, v) =
            (self.arrays.q.at(0)?.at(0)?, self.arrays.k.at(0)?.at(0)?, self.arrays.v.at(0)?.at(0)?);
        let copied = |view: &View<'_, T>, order: &mut dyn Iterator<Item = usize>, width: usize| {
            let mut data = Vec::new();
            for i in order {
                data.extend((0..width).filter_map(|c| view.get(&[i, c])));
            }
            data
        };
        // Without masks nothing is hidden, so what is not finite is left out.
        let finite = |view: &View<'_, T>, i: usize, width: usize| {
            (0..width).all(|c| view.get(&[i, c]).is_some_and(|x| x.to_f64().is_finite()))
        };
        let chosen: Vec<usize> = (0..s.n).filter(|&i| finite(&q, i, s.d)).take(8).collect();
        let kept: Vec<usize> = (0..s.m).filter(|&j| finite(&k, j, s.d) && finite(&v, j, s.e)).collect();
        let queries = copied(&q, &mut chosen.iter().copied(), s.d);
        let options = Options {
            scale: Some(self.problem.scale()),
            softcap: self.problem.options().softcap,
            ..Options::default()
        };
        let outputs = |turned: bool| {
            let mut order = kept.clone();
            if turned {
                order.reverse();
            }
            let keys = copied(&k, &mut order.iter().copied(), s.d);
            let values = copied(&v, &mut order.iter().copied(), s.e);
            let views = (
                View::new(&queries, &[chosen.len(), s.d]).ok()?,
                View::new(&keys, &[kept.len(), s.d]).ok()?,
                View::new(&values, &[kept.len(), s.e]).ok()?,
            );
            let problem = Problem::new(views.0, views.1, views.2, options).ok()?;
            let largest = values.iter().map(|x| x.to_f64().abs()).fold(0.0, f64::max);
            Some((forward(&problem, &Request::default()).values, largest))
        };
        let ((plain, largest), (turned, _)) = (outputs(false)?, outputs(true)?);
        let moved =
            plain.iter().zip(&turned).map(|(a, b)| (a.to_f64() - b.to_f64()).abs()).fold(0.0, f64::max);
        (largest > 0.0).then(|| moved / largest)
    }

    /// What is known of each head.
    fn heads(&self) -> Result<Vec<Head>, LessonError> {
        let total = self.sizes.b * self.sizes.h;
        let (matrices, h) = (Matrices::new(self.problem), self.sizes.h.max(1));
        (0..total).map(|at| Head::new(self, &matrices, [at / h, at % h])).collect()
    }
}
