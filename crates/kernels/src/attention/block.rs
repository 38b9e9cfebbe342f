//! The loop over the tiles of one block of query rows.

use super::TILE_KEYS;
use super::dropout;
use super::exp::exp2;
use super::part::{Block, Span, Tile};
use super::pools::{Pools, pools};
use super::product::Panels;
use super::products::{Products, Scoring, Weighing};
use super::scratch::{Room, Scratch};
use super::statistics::{Panel, Received, Wanted};
use super::storage::Storage;
use super::sweep::exponentials;
use super::wide::Wide;
use crate::Element;
use crate::simd::{Float, FloatKernel, Real};
use std::f64::consts::{LN_2, LOG2_E};
use std::ops::Range;

/// Keys to a tile in scratch memory: a register tile may write up to seven keys behind the last.
pub(super) const SLOT_KEYS: usize = TILE_KEYS + 8;

/// Attention of one block: a [`FloatKernel`] whose fields are its arguments.
pub struct Forward<'a, 'b, T: Storage> {
    /// What to attend to.
    pub block: Block<'b, T>,
    /// Where to work.
    pub scratch: &'a mut Scratch<T::Real>,
    /// `(rows, E)`.
    pub out: &'a mut [T],
    /// `(rows,)`: the logarithm of each row's denominator.
    pub lse: &'a mut [f64],
    /// Statistics of the weights, where asked for. All scores of the block are then kept.
    pub wanted: Option<Wanted<'a>>,
}

/// Which keys the rows of a panel see: some of them, all of them.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    pub(super) some: Span,
    pub(super) all: Span,
}

/// The parts of [`Scratch`] in use, with their shapes.
struct Work<'a, 'b, T: Storage, P> {
    block: Block<'b, T>,
    products: P,
    reach: Vec<Reach>,
    /// `E`, rounded up to whole vectors.
    width: usize,
    /// How far apart two panels of scores are.
    stride: usize,
    /// `(LANES, TILE_KEYS)`.
    lines: &'a mut [T::Real],
    /// `(panels, slots, SLOT_KEYS, LANES)`: scores, then weights.
    scores: &'a mut [T::Real],
    /// `(panels, SLOT_KEYS, LANES)`: the weights of a tile after dropout; empty without it.
    dropped: &'a mut [T::Real],
    /// `(panels·LANES, width)`.
    out: &'a mut [T::Real],
    /// Each `(panels·LANES,)`: the maximum so far and in the end the inverse of the denominator, the
    /// maximum with the scores that are not weights yet, the sum so far, `Σ a·log₂ a`, and what `out` is multiplied by.
    max: &'a mut [T::Real],
    next: &'a mut [T::Real],
    sum: &'a mut [T::Real],
    moment: &'a mut [T::Real],
    alpha: &'a mut [T::Real],
    /// `(rows,)`: the share of each denominator that the sink takes.
    shares: Vec<f64>,
}

impl<T: Storage> FloatKernel<T::Real> for Forward<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Float<T::Real>>(self, isa: S) {
        let Forward { block, scratch, out, lse, wanted } = self;
        if block.spans.is_empty() {
            return;
        }
        let products = Wide::new(isa, &block, &mut scratch.wide);
        Attend { block, room: &mut scratch.room, out, lse, wanted }.run(isa, products);
    }
}

/// Attention of one block that has rows, with its products made ready.
pub(super) struct Attend<'a, 'b, T: Storage> {
    pub(super) block: Block<'b, T>,
    pub(super) room: &'a mut Room<T::Real>,
    pub(super) out: &'a mut [T],
    pub(super) lse: &'a mut [f64],
    pub(super) wanted: Option<Wanted<'a>>,
}

impl<T: Storage> Attend<'_, '_, T> {
    #[inline(always)]
    pub(super) fn run<S: Float<T::Real>, P: Products<T, S>>(self, isa: S, products: P) {
        let Attend { block, room, out, lse, mut wanted } = self;
        let (rows, value_width) = (block.spans.len(), block.values.width());
        let (panels, width) = (rows.div_ceil(S::LANES), value_width.next_multiple_of(S::LANES));
        let padded = panels * S::LANES;
        let slots = if wanted.is_some() { block.tiles.len().max(1) } else { 1 };
        let stride = slots * SLOT_KEYS * S::LANES;
        let drops = block.parts.iter().any(|part| part.dropping.is_some());

        let out_rows = room.out.reserve(padded * width);
        out_rows.fill(T::Real::ZERO);
        let (max, rest) = room.rows.reserve(padded * 5).split_at_mut(padded);
        let (next, rest) = rest.split_at_mut(padded);
        let (sum, rest) = rest.split_at_mut(padded);
        let (moment, alpha) = rest.split_at_mut(padded);
        max.fill(T::Real::NEG_INFINITY);
        next.fill(T::Real::NEG_INFINITY);
        sum.fill(T::Real::ZERO);
        moment.fill(T::Real::ZERO);

        let mut work = Work {
            reach: (0..panels).map(|panel| reach(&block, panel * S::LANES, S::LANES)).collect(),
            width,
            stride,
            products,
            lines: room.lines.reserve(S::LANES * TILE_KEYS),
            scores: room.scores.reserve(panels * stride),
            dropped: room.dropped.reserve(if drops { panels * SLOT_KEYS * S::LANES } else { 0 }),
            out: out_rows,
            max,
            next,
            sum,
            moment,
            alpha,
            shares: vec![0.0; rows],
            block,
        };
        let runs = wanted.as_ref().map(|wanted| pools(block.tiles, wanted.cells(block.keys.rows())));
        let pooled = room.pools.reserve(2 * S::LANES * runs.as_ref().map_or(0, Vec::len));
        let (sums, maxima) = pooled.split_at_mut(pooled.len() / 2);
        let mut pools = runs.as_ref().map(|runs| Pools { runs, sums, maxima });
        for segment in block.tiles.chunks(slots) {
            for (slot, tile) in segment.iter().enumerate() {
                work.score(isa, slot, *tile);
            }
            for panel in 0..panels {
                work.softmax(isa, panel, segment, pools.as_mut());
                if let (Some(wanted), Some(pools)) = (&mut wanted, &pools) {
                    work.statistics(isa, panel, lse, wanted, pools);
                }
            }
            let mut received = wanted.as_mut().and_then(|wanted| Received::new(&block, work.max, wanted));
            for (slot, tile) in segment.iter().enumerate() {
                if let Some(received) = &mut received {
                    received.add(isa, *tile, &work.scores[slot * SLOT_KEYS * S::LANES..], stride);
                }
                work.weigh(isa, slot, *tile);
            }
        }
        if wanted.is_none() || block.tiles.is_empty() {
            work.divide(0..padded, lse);
        }
        work.finish(out);
    }
}

pub(super) fn reach<T>(block: &Block<'_, T>, first: usize, count: usize) -> Reach {
    let rows = &block.spans[first..(first + count).min(block.spans.len())];
    let every = Span { start: 0, end: usize::MAX };
    Reach {
        some: rows.iter().fold(Span { start: 0, end: 0 }, |hull, &span| hull.hull(span)),
        all: rows.iter().fold(every, |common, &span| common.common(span)),
    }
}

impl<T: Storage, P> Work<'_, '_, T, P> {
    /// The scores of one tile, into `slot`, and the maximum with them.
    #[inline(always)]
    fn score<S: Float<T::Real>>(&mut self, isa: S, slot: usize, tile: Tile)
    where
        P: Products<T, S>,
    {
        let offset = slot * SLOT_KEYS * S::LANES;
        let of = Scoring {
            block: &self.block,
            reach: &self.reach,
            tile,
            lines: self.lines,
            max: self.next,
            to: Panels { data: &mut self.scores[offset..], stride: self.stride },
        };
        self.products.score(isa, of);
    }

    /// Scores of one panel to weights, with the maximum and the sum brought up to date.
    #[inline(always)]
    fn softmax<S: Float<T::Real>>(
        &mut self,
        isa: S,
        panel: usize,
        tiles: &[Tile],
        pools: Option<&mut Pools<'_, T::Real>>,
    ) {
        let lanes = S::LANES;
        let rows = panel * lanes..(panel + 1) * lanes;
        let reach = self.reach[panel].some;
        let slot = |slot: usize, keys: Range<usize>| {
            let first = panel * self.stride + slot * SLOT_KEYS * lanes;
            first + keys.start * lanes..first + keys.end * lanes
        };
        let old = isa.load(&self.max[rows.clone()]);
        let max = isa.load(&self.next[rows.clone()]);
        // Where nothing has been seen yet the maximum is −∞, and −∞ − −∞ would be NaN.
        let nothing = isa.splat(T::Real::NEG_INFINITY);
        let base = isa.where_greater(max, nothing, max, isa.splat(T::Real::ZERO));
        let alpha = exp2(isa, isa.sub(old, base));
        let mut sum = isa.mul(isa.load(&self.sum[rows.clone()]), alpha);
        let mut moment = isa.splat(T::Real::ZERO);
        if let Some(pools) = pools {
            for (i, tile) in tiles.iter().enumerate() {
                // Sweeps over whole tiles find zeros where the panel sees nothing.
                let (all, seen) = (slot(i, 0..tile.end - tile.start), slot(i, reach.within(tile)));
                self.scores[all.start..seen.start.clamp(all.start, all.end)].fill(T::Real::ZERO);
                self.scores[seen.end.clamp(all.start, all.end)..all.end].fill(T::Real::ZERO);
            }
            let scores = &mut self.scores[panel * self.stride..][..self.stride];
            let seen = |slot: usize| reach.within(&tiles[slot]);
            let found = pools.exponentials(isa, base, scores, SLOT_KEYS * lanes, seen);
            sum = isa.add(sum, found.sum);
            moment = found.moment;
        } else {
            for (i, tile) in tiles.iter().enumerate() {
                let seen = slot(i, reach.within(tile));
                sum = isa.add(sum, exponentials::<_, S, 4, false>(isa, base, &mut self.scores[seen]).sum);
            }
        }
        isa.store(max, &mut self.max[rows.clone()]);
        isa.store(sum, &mut self.sum[rows.clone()]);
        isa.store(moment, &mut self.moment[rows.clone()]);
        isa.store(alpha, &mut self.alpha[rows]);
    }

    /// `out = out·alpha + a·V` for one tile.
    #[inline(always)]
    fn weigh<S: Float<T::Real>>(&mut self, isa: S, slot: usize, tile: Tile)
    where
        P: Products<T, S>,
    {
        let lanes = S::LANES;
        if slot > 0 {
            // The maximum of the segment is known since its first tile.
            self.alpha.fill(T::Real::ONE);
        }
        self.drop_out(isa, slot, tile);
        let (weights, stride) = if self.dropped.is_empty() {
            (&self.scores[slot * SLOT_KEYS * lanes..], self.stride)
        } else {
            (&*self.dropped, SLOT_KEYS * lanes)
        };
        let of = Weighing {
            block: &self.block,
            reach: &self.reach,
            tile,
            weights,
            stride,
            alpha: self.alpha,
            out: &mut *self.out,
            width: self.width,
        };
        if !self.products.weigh(isa, of) {
            self.weigh_carefully(lanes, slot, tile);
        }
    }

    /// The weights of one tile, with zeros where they are dropped. Those of the softmax stay, for its statistics.
    #[inline(always)]
    fn drop_out<S: Float<T::Real>>(&mut self, isa: S, slot: usize, tile: Tile) {
        if self.dropped.is_empty() {
            return;
        }
        for (panel, reach) in self.reach.iter().enumerate() {
            let Some(mut lanes) = dropout::Panel::new(&self.block, panel * S::LANES, S::LANES) else {
                return;
            };
            let from = panel * self.stride + slot * SLOT_KEYS * S::LANES;
            let to = panel * SLOT_KEYS * S::LANES;
            for key in reach.some.within(&tile) {
                let weights = isa.load(&self.scores[from + key * S::LANES..]);
                let kept = isa.mul(weights, lanes.kept(isa, tile.start + key));
                isa.store(kept, &mut self.dropped[to + key * S::LANES..]);
            }
        }
    }

    /// [`Work::weigh`] where a hidden key may have a value that is not finite: `0·∞` is NaN, so it is left out.
    fn weigh_carefully(&mut self, lanes: usize, slot: usize, tile: Tile) {
        let value_width = self.block.values.width();
        let mut line = vec![T::Real::ZERO; value_width];
        for row in 0..self.block.spans.len() {
            let out = &mut self.out[row * self.width..][..value_width];
            for o in out.iter_mut() {
                *o = *o * self.alpha[row];
            }
            for key in tile.start..tile.end {
                if self.block.hides(row, key) {
                    continue;
                }
                let panel = row / lanes * self.stride + row % lanes;
                let mut weight = self.scores[panel + (slot * SLOT_KEYS + key - tile.start) * lanes];
                let (part, query) = self.block.query(row);
                if part.dropping.is_some_and(|dropping| dropping.drops(dropping.row(query), key)) {
                    weight = T::Real::ZERO;
                }
                self.block.values.widen_row(key, &mut line);
                for (o, &v) in out.iter_mut().zip(&line) {
                    *o += weight * v;
                }
            }
        }
    }

    /// What weights of `rows` are multiplied by, in place of their maxima; and the logarithms of their denominators.
    fn divide(&mut self, rows: Range<usize>, lse: &mut [f64]) {
        for row in rows {
            let (max, sum) = (self.max[row].to_f64(), self.sum[row].to_f64());
            let denominator = Denominator::new(max, sum, self.block.query(row).0.sink);
            self.max[row] = T::Real::from_f64(denominator.inverse);
            if let Some(lse) = lse.get_mut(row) {
                *lse = denominator.lse;
                self.shares[row] = denominator.sink_share;
            }
        }
    }

    /// All that is wanted of one panel's weights, which are divided first; but what keys receive.
    #[inline(always)]
    fn statistics<S: Float<T::Real>>(
        &mut self,
        isa: S,
        panel: usize,
        lse: &mut [f64],
        wanted: &mut Wanted<'_>,
        pools: &Pools<'_, T::Real>,
    ) {
        let rows = panel * S::LANES..(panel + 1) * S::LANES;
        self.divide(rows.clone(), lse);
        Panel {
            block: &self.block,
            row: rows.start,
            scores: &mut self.scores[panel * self.stride..][..self.stride],
            slot: SLOT_KEYS * S::LANES,
            pools,
            inverse: &self.max[rows.clone()],
            sum: &self.sum[rows.clone()],
            moment: &self.moment[rows],
            sink_share: &self.shares,
        }
        .take(isa, wanted);
    }

    /// Multiplies by the inverses of the denominators.
    #[inline(always)]
    fn finish(self, out: &mut [T]) {
        let (value_width, inverse) = (self.block.values.width(), self.max);
        let kept = dropout::factor(&self.block);
        for (row, to) in out.chunks_exact_mut(value_width.max(1)).enumerate() {
            let from = &mut self.out[row * self.width..][..value_width];
            if inverse[row] == T::Real::ZERO {
                from.fill(T::Real::ZERO);
            }
            for o in from.iter_mut() {
                *o = *o * (inverse[row] * kept);
            }
            T::narrow(from, to);
        }
    }
}

/// What a row's weights are divided by.
pub(super) struct Denominator {
    /// What `2^(s − max)` is multiplied by to become a weight.
    pub(super) inverse: f64,
    /// Its logarithm.
    pub(super) lse: f64,
    /// How much of it is the sink's; an empty row counts as all sink.
    pub(super) sink_share: f64,
}

impl Denominator {
    /// From a row's maximum (in units of log₂), its sum of `2^(s − max)`, and its sink.
    pub(super) fn new(max: f64, sum: f64, sink: Option<f64>) -> Self {
        if sum == 0.0 {
            return Denominator { inverse: 0.0, lse: f64::NEG_INFINITY, sink_share: 1.0 };
        }
        let Some(sink) = sink else {
            return Denominator { inverse: sum.recip(), lse: (max + sum.log2()) * LN_2, sink_share: 0.0 };
        };
        let sink = sink * LOG2_E;
        let top = if sink > max { sink } else { max };
        let total = sum * (max - top).exp2() + (sink - top).exp2();
        Denominator {
            inverse: (max - top).exp2() / total,
            lse: (top + total.log2()) * LN_2,
            sink_share: (sink - top).exp2() / total,
        }
    }
}
