//! Cutting the keys into ranges, sharing them among threads, and adding up what they give in a fixed order.

use super::bias::{BiasShare, BiasTotal};
use super::queries::QueryTotal;
use super::{GradientsMut, Upstream};
use crate::forward::plan::{Item, Layout, matrix};
use crate::share::{Sharing, Turns, share, take};
use crate::{Problem, Sizes};
use rayon::prelude::*;
use spanwise_kernels::attention::{Backward, BackwardScratch, GradientRows, Span, Storage, TILE_KEYS};
use spanwise_kernels::simd::{Isa, Real};
use spanwise_kernels::{Element, View};
use std::ops::Range;

/// Query rows to a block.
const BLOCK_ROWS: usize = 64;
/// About so many ranges of keys are worked on in all, and at most so many to a group of heads: each has its own dq.
const RANGES: usize = 16;
const RANGES_PER_GROUP: usize = 8;
/// Below so many products the threads cost more than they give.
const WORTH_SHARING: usize = 1 << 18;

/// One range of keys of one group.
struct Task<'o, T> {
    /// Its place among all tasks.
    at: usize,
    batch: usize,
    group: usize,
    keys: Range<usize>,
    dk: &'o mut [T],
    dv: &'o mut [T],
}

/// What all tasks share.
struct Job<'p, 'a, T: Storage> {
    isa: Isa,
    problem: &'p Problem<'a, T>,
    upstream: &'p Upstream<'a, T>,
    /// `(B, H, N)`: products of gradient and output.
    delta: &'p [f64],
    queries: &'p QueryTotal<'p, T>,
    bias: Option<&'p BiasTotal>,
}

/// All gradients; every length and shape has been checked.
pub(super) fn run<T: Storage>(
    isa: Isa,
    problem: &Problem<'_, T>,
    upstream: &Upstream<'_, T>,
    into: GradientsMut<'_, T>,
) {
    let Sizes { b, h, g, n, m, d, e } = problem.sizes;
    let delta = deltas(problem, upstream);
    if let (Some(to), Some(sinks)) = (into.sinks, problem.sinks) {
        add_sinks(problem, upstream.lse, &delta, sinks, to);
    }
    let rows = h.checked_div(g).unwrap_or(0) * n;
    let ranges = key_ranges(&problem.sizes);
    let (mut dk, mut dv) = (into.k, into.v);
    let mut tasks = Vec::new();
    for at in 0..b * g {
        for keys in &ranges {
            let (dk, dv) = (take(&mut dk, keys.len() * d), take(&mut dv, keys.len() * e));
            tasks.push(Task { at: tasks.len(), batch: at / g, group: at % g, keys: keys.clone(), dk, dv });
        }
    }
    let total = into.bias.as_ref().and_then(|_| BiasTotal::new(problem, tasks.len()));
    let queries = QueryTotal::new(problem, rows, ranges.len(), into.q);
    let job = Job { isa, problem, upstream, delta: &delta, queries: &queries, bias: total.as_ref() };
    let shared = (b * h * n).saturating_mul(m).saturating_mul(d + e) >= WORTH_SHARING;
    // In their order few sums wait for their turn, and where a mask is causal each head's heaviest task comes first.
    let sharing =
        Sharing { team: problem.team, shared, turns: Turns::Next, stopped: || problem.is_stopped() };
    share(tasks, sharing, BackwardScratch::new, |task, scratch| job.run(task, scratch));
    if let (Some(to), Some(total)) = (into.bias, total) {
        let sums = total.finish();
        for (to, x) in to.iter_mut().zip(sums) {
            *to = T::from_f64(x);
        }
    }
}

/// δ = g·o of each row, `(B, H, N)`, in f64.
fn deltas<T: Storage>(problem: &Problem<'_, T>, upstream: &Upstream<'_, T>) -> Vec<f64> {
    let Sizes { b, h, n, e, .. } = problem.sizes;
    let mut delta = vec![0.0; b * h * n];
    delta.par_chunks_mut(n.max(1)).enumerate().for_each(|(head, delta)| {
        let (output, grad) =
            (matrix(&upstream.output, head / h, head % h), matrix(&upstream.grad, head / h, head % h));
        for (i, delta) in delta.iter_mut().enumerate() {
            *delta = if let (Some(o), Some(g)) = (output.row(&[i]), grad.row(&[i])) {
                dot(o, g)
            } else {
                let at = |view: &View<'_, T>, c| view.get(&[i, c]).map_or(0.0, Element::to_f64);
                (0..e).map(|c| at(&output, c) * at(&grad, c)).sum()
            };
        }
    });
    delta
}

/// `Σ a·b` in f64, as eight sums, none of which waits for another.
fn dot<T: Storage>(a: &[T], b: &[T]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_whole, a_rest) = a.as_chunks::<8>();
    let (b_whole, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_whole.iter().zip(b_whole) {
        for i in 0..8 {
            sums[i] += a[i].to_f64() * b[i].to_f64();
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a.to_f64() * b.to_f64()).sum();
    sums.iter().sum::<f64>() + rest
}

/// A sink has no value, so its gradient is `−Σ a_sink·δ`; rows that see nothing have none.
fn add_sinks<T: Storage>(
    problem: &Problem<'_, T>,
    lse: &[f64],
    delta: &[f64],
    sinks: &[f64],
    to: &mut [f64],
) {
    let Sizes { h, n, .. } = problem.sizes;
    to.fill(0.0);
    for (row, (&lse, &delta)) in lse.iter().zip(delta).enumerate() {
        let head = row / n % h;
        if lse != f64::NEG_INFINITY {
            to[head] -= (sinks[head] - lse).exp() * delta;
        }
    }
}

/// The keys of a group, cut at multiples of a tile into about equal ranges: a matter of the shape alone.
fn key_ranges(sizes: &Sizes) -> Vec<Range<usize>> {
    let tiles = sizes.m.div_ceil(TILE_KEYS);
    let wanted = RANGES.div_ceil((sizes.b * sizes.g).max(1)).min(RANGES_PER_GROUP);
    let each = tiles.div_ceil(wanted).max(1) * TILE_KEYS;
    (0..sizes.m).step_by(each).map(|first| first..(first + each).min(sizes.m)).collect()
}

impl<T: Storage> Job<'_, '_, T> {
    /// The keys' own gradients are written, those of queries and bias are added.
    fn run(&self, task: Task<'_, T>, scratch: &mut BackwardScratch<T::Real>) {
        let Sizes { h, g, n, d, e, .. } = self.problem.sizes;
        let rows = h / g * n;
        let item = Item { batch: task.batch, group: task.group, rows: 0..rows, size: BLOCK_ROWS };
        let blocks: Vec<Range<usize>> = item.blocks().collect();
        let layouts: Vec<Layout<'_, T>> =
            blocks.iter().map(|rows| Layout::new(self.problem, &item, rows.clone())).collect();
        let first_head = item.batch * h + item.group * (h / g);
        let grads: Vec<Vec<View<'_, T>>> = blocks
            .iter()
            .map(|rows| {
                let heads = rows.start / n..(rows.end - 1) / n + 1;
                heads.map(|of| matrix(&self.upstream.grad, item.batch, item.group * (h / g) + of)).collect()
            })
            .collect();
        let mut dq = self.queries.share();
        let mut bias = self.bias.map(|total| total.share(self.problem, [task.batch, task.group], &task.keys));
        let (mut dk, mut dv) = (task.dk, task.dv);
        for start in task.keys.clone().step_by(TILE_KEYS) {
            if self.problem.is_stopped() {
                break;
            }
            let tile = Span { start, end: (start + TILE_KEYS).min(task.keys.end) };
            let mut seeing = Vec::with_capacity(blocks.len());
            for (at, layout) in layouts.iter().enumerate() {
                let Ok(found) = layout.tiles.binary_search_by_key(&start, |tile| tile.start) else {
                    continue;
                };
                let own = first_head * n + blocks[at].start..first_head * n + blocks[at].end;
                seeing.push(GradientRows {
                    block: layout.block(self.problem, &item),
                    tile: layout.tiles[found],
                    grads: &grads[at],
                    lse: &self.upstream.lse[own.clone()],
                    delta: &self.delta[own],
                    first: blocks[at].start,
                });
            }
            let kernel = Backward {
                tile,
                blocks: &seeing,
                keys: self.problem.k.table(item.batch, item.group),
                values: self.problem.v.table(item.batch, item.group),
                dq: &mut dq,
                dk: take(&mut dk, tile.len() * d),
                dv: take(&mut dv, tile.len() * e),
                bias: bias.as_mut().map(BiasShare::sums),
                scale: self.problem.scale,
                scratch: &mut *scratch,
            };
            T::Real::dispatch(self.isa, kernel);
        }
        if let (Some(total), Some(share)) = (self.bias, bias) {
            total.add(task.at, share);
        }
        self.queries.add(task.at, dq);
    }
}
