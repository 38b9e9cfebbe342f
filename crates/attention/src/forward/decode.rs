//! Few queries, many keys: as fast as memory can be read.
//!
//! Each group of heads is cut into runs of keys at boundaries that depend on the shape alone, the runs are computed by
//! whoever is free, and put together in their order.

use super::plan::{Item, Layout};
use crate::share::{Sharing, Turns, share};
use crate::{Problem, Sizes};
use spanwise_kernels::attention::{FEW_KEYS, Rowwise, Run, Scratch, Span, Storage};
use spanwise_kernels::simd::{Isa, Real, fetches_across_pages};

/// Query rows of a group up to which it is better to read each key once than to fill the lanes with queries.
const FEW_ROWS: usize = 4;
/// From so many groups on each is one piece of work, its runs one after another: memory is read faster from front to back.
const ENOUGH_GROUPS: usize = 32;
/// Runs of keys to a group, at most.
const MOST_RUNS: usize = 8;
/// A run has at least about so many keys.
const KEYS_PER_RUN: usize = 1024;

/// Bytes of keys and values that no cache holds; few in tests, so that the table of cases has problems on both sides.
const FAR: usize = if cfg!(test) { 32 << 10 } else { 32 << 20 };

/// Whether a problem of this shape is computed here.
pub(super) fn suits(sizes: &Sizes) -> bool {
    sizes.h > 0 && sizes.n > 0 && sizes.h / sizes.g * sizes.n <= FEW_ROWS && !has_few_keys(sizes)
}

/// Whether rows with so few keys are computed one by one, lanes along the width: tiles would be mostly empty.
pub(super) fn has_few_keys(sizes: &Sizes) -> bool {
    sizes.m <= FEW_KEYS
}

/// Outputs `(B, H, N, E)` and log-sum-exps `(B, H, N)`.
pub(super) fn run<T: Storage>(
    isa: Isa,
    problem: &Problem<'_, T>,
    out: &mut [T],
    (lse, wants_lse): (&mut [f64], bool),
    shared: bool,
) {
    let Sizes { b, h, g, n, m, d, e, .. } = problem.sizes;
    let rows = h / g * n;
    let runs = (m / KEYS_PER_RUN).clamp(1, MOST_RUNS);
    let keys = m.div_ceil(runs).next_multiple_of(64);
    let bytes = [g, m, d + e, size_of::<T>()].into_iter().fold(b, usize::saturating_mul);
    // Tests take both ways on every machine.
    let far = bytes >= FAR && (cfg!(test) || !fetches_across_pages());
    let item = |of: usize| Item { batch: of / g, group: of % g, rows: 0..rows, size: rows };
    let span = |run: usize| Span { start: run * keys, end: ((run + 1) * keys).min(m) };
    let one = |at: usize, scratch: &mut Scratch<T::Real>| -> Run<T::Real> {
        let item = item(at / runs);
        let layout = Layout::of_rows(problem, &item, 0..rows);
        let (block, keys) = (layout.block(problem, &item), span(at % runs));
        T::Real::dispatch(isa, Rowwise { block, keys, far, scratch })
    };
    let (team, stopped) = (problem.team, || problem.is_stopped());
    if e > 0 && (runs == 1 || b * g >= ENOUGH_GROUPS) {
        let parts = out.chunks_exact_mut(rows * e).zip(lse.chunks_exact_mut(rows)).enumerate();
        let sharing = Sharing { team, shared, turns: Turns::Runs, stopped };
        let memory = || (Scratch::lent(), Layout::empty());
        share(parts.collect(), sharing, memory, |(of, (out, lse)), (scratch, layout)| {
            let item = item(of);
            layout.lay(problem, &item, 0..rows);
            let block = layout.block(problem, &item);
            let mut total =
                T::Real::dispatch(isa, Rowwise { block, keys: span(0), far, scratch: &mut *scratch });
            for run in 1..runs {
                let run =
                    T::Real::dispatch(isa, Rowwise { block, keys: span(run), far, scratch: &mut *scratch });
                total.merge(&run);
                scratch.give_back(run);
            }
            total.finish(&block, out, (lse, wants_lse));
            scratch.give_back(total);
        });
        return;
    }
    let all: Vec<usize> = (0..b * g * runs).collect();
    let sharing = Sharing { team, shared, turns: Turns::Runs, stopped };
    let mut results = share(all, sharing, Scratch::lent, |at, scratch| one(at, scratch)).into_iter();
    for of in 0..b * g {
        let first = results.next();
        let Some(mut total) = first else { return };
        for run in results.by_ref().take(runs - 1) {
            total.merge(&run);
        }
        let item = item(of);
        let layout = Layout::of_rows(problem, &item, 0..rows);
        let own = of * rows..(of + 1) * rows;
        let out = &mut out[own.start * e..own.end * e];
        total.finish(&layout.block(problem, &item), out, (&mut lse[own], wants_lse));
    }
}
