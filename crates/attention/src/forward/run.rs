//! Sharing the work among threads.
//!
//! Items own disjoint pieces of the output, because the rows of a group lie one after another in `(B, H, N, E)`. They are
//! taken from a common counter, head by head, those with the fewest keys last. Sums over rows are formed per item and added up in the
//! order in which items are begun, a matter of the shape alone, so that the result does not depend on who computed what.

use super::decode;
use super::merge::{OwnCells, Partial, Receiving, Summed, merge, own_cells};
use super::plan::{Cut, Item, Layout, items, most_rows, order, span};
use super::statistics::{Map, MapSize, Peak, Request, Statistics, Top};
use crate::share::{Sharing, Turns, share, take};
use crate::{Problem, Sizes};
use spanwise_kernels::attention::{
    self, FewKeys, MapSums, Rowwise, Scratch, Span, Storage, TopWeights, Wanted,
};
use spanwise_kernels::simd::{Isa, Real};

/// Below so many products of scores and values the threads cost more than they give.
const WORTH_SHARING: usize = 1 << 18;
/// What a row costs besides, in keys and in columns.
const ROW_COST: usize = 8;

/// One item with its own pieces of what is computed.
struct Task<'o, T> {
    item: Item,
    /// The how many-eth to be begun.
    number: usize,
    out: &'o mut [T],
    lse: &'o mut [f64],
    entropy: &'o mut [f64],
    row_sum_error: &'o mut [f64],
    peaks: &'o mut [Peak],
    cells: Option<OwnCells<'o>>,
}

/// What all tasks share.
struct Job<'p, 'a, T> {
    isa: Isa,
    problem: &'p Problem<'a, T>,
    request: Request,
    /// Weights to find per row: at least one where the largest is asked for.
    k: usize,
    map: Option<MapSize>,
    received: Option<Receiving>,
    /// Hears of rows that are done.
    told: &'p (dyn Fn(usize) + Sync),
}

/// Attention into `out`, which has the right length.
pub(super) fn run<T: Storage>(
    isa: Isa,
    problem: &Problem<'_, T>,
    request: &Request,
    out: &mut [T],
    told: &(dyn Fn(usize) + Sync),
) -> Statistics {
    let Sizes { b, h, n, m, d, e, .. } = problem.sizes;
    let map = request
        .map
        .map(|map| MapSize { rows: map.rows.clamp(1, n.max(1)), cols: map.cols.clamp(1, m.max(1)) });
    let k = request.top_k.max(usize::from(request.largest)).min(m);
    let isa = fitting::<T::Real>(isa, &problem.sizes);
    let mut job = Job { isa, problem, request: *request, k, map, received: None, told };
    let summed = request.received || map.is_some();
    let cut = Cut { most_rows: most_rows(isa), row_bytes: job.row_bytes(), summed };
    let rows = b * h * n;
    let sized = |wanted: bool| if wanted { rows } else { 0 };
    let mut lse = vec![f64::NEG_INFINITY; rows];
    let mut entropy = vec![0.0; sized(request.entropy)];
    let mut row_sum_error = vec![0.0; sized(request.row_sum_error)];
    let mut peaks = vec![Peak { weight: 0.0, key: None }; rows * k];

    let shared = rows.saturating_mul(m + ROW_COST).saturating_mul(d + e + ROW_COST) >= WORTH_SHARING;
    if decode::suits(&problem.sizes) && !request.needs_weights() {
        decode::run(isa, problem, out, (&mut lse, request.lse), shared);
        told(rows);
        let empty_rows = lse.iter().filter(|&&x| x == f64::NEG_INFINITY).count();
        return Statistics { empty_rows, lse: request.lse.then_some(lse), ..Statistics::default() };
    }
    let mut summed = Summed::new(&problem.sizes, map);
    let items = items(&problem.sizes, &cut);
    job.received = request.received.then(|| Receiving::new(&problem.sizes, items.len()));
    let cells = match map {
        Some(size) => own_cells(&problem.sizes, &items, size, &mut summed.mean, &mut summed.max),
        None => items.iter().map(|_| None).collect(),
    };
    let order = shared.then(|| {
        let weights: Vec<usize> = items.iter().map(|item| job.weight(item)).collect();
        order(&items, &weights)
    });
    let mut tasks = Vec::with_capacity(items.len());
    {
        let (mut out, mut lse) = (&mut *out, &mut lse[..]);
        let (mut entropy, mut row_sum_error) = (&mut entropy[..], &mut row_sum_error[..]);
        let mut peaks = &mut peaks[..];
        for (number, (item, cells)) in items.into_iter().zip(cells).enumerate() {
            let rows = item.rows.len();
            tasks.push(Task {
                out: take(&mut out, rows * e),
                lse: take(&mut lse, rows),
                entropy: take(&mut entropy, if request.entropy { rows } else { 0 }),
                row_sum_error: take(&mut row_sum_error, if request.row_sum_error { rows } else { 0 }),
                peaks: take(&mut peaks, rows * k),
                cells,
                item,
                number,
            });
        }
    }
    // Sums are added in the order in which items are begun, so that few of them wait for their turn.
    if let Some(order) = order {
        for (number, at) in order.into_iter().enumerate() {
            tasks[at].number = number;
        }
        tasks.sort_by_key(|task| task.number);
    }
    let sharing =
        Sharing { team: problem.team, shared, turns: Turns::Next, stopped: || problem.is_stopped() };
    let memory = || (Scratch::lent(), Layout::empty());
    let partials = share(tasks, sharing, memory, |task, (scratch, layout)| job.run(task, scratch, layout));

    let summed = merge(&problem.sizes, map, summed, partials);
    let (largest, top) = match (request.largest, request.top_k > 0) {
        (true, true) => (Some(first_peaks(&peaks, k, rows)), Some(Top { k, peaks })),
        (true, false) => (Some(if k == 0 { first_peaks(&peaks, k, rows) } else { peaks }), None),
        (false, wanted) => (None, wanted.then_some(Top { k, peaks })),
    };
    Statistics {
        empty_rows: lse.iter().filter(|&&x| x == f64::NEG_INFINITY).count(),
        largest,
        top,
        entropy: request.entropy.then_some(entropy),
        row_sum_error: request.row_sum_error.then_some(row_sum_error),
        received: job.received.map(Receiving::into_sum),
        map: map.map(|size| Map { rows: size.rows, cols: size.cols, mean: summed.mean, max: summed.max }),
        lse: request.lse.then_some(lse),
    }
}

/// Vectors half as wide where those of AVX-512 would stay half empty in most of what is done: narrow keys or values with few rows or
/// few keys.
fn fitting<A: Real>(isa: Isa, sizes: &Sizes) -> Isa {
    let lanes = 64 / size_of::<A>();
    let half_empty = |width: usize| width < 4 * lanes && (1..=lanes / 2).contains(&(width % lanes));
    let few = sizes.h.checked_div(sizes.g).unwrap_or(0) * sizes.n <= lanes / 2 || decode::has_few_keys(sizes);
    let narrower = isa.has_avx512() && few && (half_empty(sizes.d) || half_empty(sizes.e));
    if narrower { Isa::Avx2 } else { isa }
}

/// The first of the `k` peaks of each row; without any key there is none.
fn first_peaks(peaks: &[Peak], k: usize, rows: usize) -> Vec<Peak> {
    if k == 0 {
        return vec![Peak { weight: 0.0, key: None }; rows];
    }
    peaks.iter().step_by(k).copied().collect()
}

impl<'a, T: Storage> Job<'_, 'a, T> {
    /// About how many bytes the kernel notes and keeps for each row of a block: the weights for what keys receive, a sum and a maximum
    /// for each pool of keys, and the candidates for the largest.
    fn row_bytes(&self) -> usize {
        let m = self.problem.sizes.m;
        let weights = if self.request.received { m } else { 0 };
        let pools =
            if self.k > 0 || self.map.is_some() { m / 16 + self.map.map_or(0, |map| map.cols) } else { 0 };
        (weights + 2 * pools) * size_of::<T::Real>() + m.min(2 * self.k) * size_of::<(T::Real, usize)>()
    }

    /// About how much work an item is.
    fn weight(&self, item: &Item) -> usize {
        let seen = &self.problem.visibility;
        if seen.left.is_none() && seen.right.is_none() {
            return item.rows.len() * span(self.problem, item.batch, 0).len();
        }
        item.rows.clone().map(|row| span(self.problem, item.batch, row % self.problem.sizes.n).len()).sum()
    }

    /// All blocks of one item.
    fn run(&self, task: Task<'_, T>, scratch: &mut Scratch<T::Real>, layout: &mut Layout<'a, T>) -> Partial {
        let Sizes { e, .. } = self.problem.sizes;
        let Task { item, number, out, lse, entropy, row_sum_error, peaks, cells: mut own_cells } = task;
        let alone = own_cells.is_some();
        let sizes = &self.problem.sizes;
        let mut partial = Partial::new(sizes, &item, self.map, alone);
        if let Some(own) = &mut own_cells {
            // Zeros they are already, but of a page of zeros that was only read the system makes a copy once it is written, and tells
            // all other processors.
            own.sum.fill(0.0);
            own.max.fill(0.0);
        }
        let mut received = self.received.as_ref().map(|received| received.begin(sizes, &item));
        let few = !self.request.needs_weights() && decode::has_few_keys(sizes);
        let first = item.rows.start;
        for rows in item.blocks() {
            if self.problem.is_stopped() {
                break;
            }
            layout.lay(self.problem, &item, rows.clone());
            if !few {
                layout.find_tiles();
            }
            let own = rows.start - first..rows.end - first;
            let cells = partial.cells(&self.problem.sizes, &item, rows.clone());
            let wanted = self.request.needs_weights().then(|| Wanted {
                entropy: self.request.entropy.then(|| &mut entropy[own.clone()]),
                row_sum_error: self.request.row_sum_error.then(|| &mut row_sum_error[own.clone()]),
                top: (self.k > 0).then(|| TopWeights {
                    k: self.k,
                    peaks: &mut peaks[own.start * self.k..own.end * self.k],
                }),
                received: received.as_mut().map(|received| &mut received[cells.received..]),
                map: partial.map.as_mut().map(|map| {
                    let (sum, max) = match &mut own_cells {
                        Some(own) => (&mut *own.sum, &mut *own.max),
                        None => (&mut map.sum[..], &mut map.max[..]),
                    };
                    MapSums { cell_rows: &cells.rows, cols: map.cols, sum, max }
                }),
            });
            let block = layout.block(self.problem, &item);
            let (out, lse) = (&mut out[own.start * e..own.end * e], &mut lse[own.clone()]);
            let wants_lse = self.request.lse;
            if few && FewKeys::suits(&block) {
                let kernel = FewKeys { block, scratch: &mut *scratch, out, lse, wants_lse };
                T::Real::dispatch(self.isa, kernel);
            } else if few {
                let keys = Span { start: 0, end: self.problem.sizes.m };
                let mut run =
                    T::Real::dispatch(self.isa, Rowwise { block, keys, far: false, scratch: &mut *scratch });
                run.finish(&block, out, (lse, wants_lse));
                scratch.give_back(run);
            } else {
                let kernel =
                    attention::Forward { block, scratch: &mut *scratch, out, lse, wants_lse, wanted };
                T::attend(self.isa, kernel);
            }
            (self.told)(rows.len());
        }
        if let (Some(all), Some(own)) = (&self.received, received) {
            all.end(sizes, &item, number, own);
        }
        partial
    }
}
