//! One block of query rows against one tile of keys: the five products of the gradients, and the sweep between them.
//!
//! The tile is gone through in runs of [`RUN_KEYS`] keys, so that weights and their gradients leave the second cache to the
//! keys, the values and their gradients, which stay there from block to block. Of each product what is read again and again
//! is kept small enough for the first cache: g for dv, then q for dk, two vectors of columns of the keys for dq.

use super::accumulate::{Accumulate, Few};
use super::adjust::Adjust;
use super::ahead::Ahead;
use super::backward::{BiasSums, GradientRows, KeyTile};
use super::block::Reach;
use super::dropout;
use super::exp::{exp2, tanh};
use super::load::pack;
use super::multiply::Singles;
use super::part::{Span, Tile};
use super::product::{Panels, Scores, Steps, Tops, rows_at_once};
use super::rows::Rows;
use super::storage::Storage;
use super::sweep::all_finite;
use crate::Element;
use crate::simd::{Float, Real};
use std::ops::Range;

/// Keys to a run; divides a tile.
const RUN_KEYS: usize = 128;
/// dq is added up so many keys at a time: a number the compiler knows, so that it unrolls the loop over them. What the keys
/// beyond those that are seen add are zeros.
pub(super) const STEP_KEYS: usize = 8;
/// Keys to a run in scratch memory: a register tile may write up to seven keys behind the last.
pub(super) const RUN_SLOT: usize = RUN_KEYS + 8;

/// One block of rows against one tile of keys.
pub(super) struct Pair<'a, 'b, T: Storage> {
    pub(super) rows: &'a GradientRows<'b, T>,
    pub(super) panels: usize,
    /// The run of keys that is worked on.
    pub(super) run: Tile,
    pub(super) reach: Vec<Reach>,
    /// For each few rows that are multiplied at once: the keys that some of them sees.
    pub(super) few: Vec<Span>,
    /// The part of these that lies in the run, counted from its first key: by panels, and by few rows.
    pub(super) seen: Vec<Span>,
    pub(super) seen_by_few: Vec<Span>,
    /// `(panels·LANES, D)` and `(panels·LANES, E)`; zeros behind the last row.
    pub(super) q: Rows<'a, T::Real>,
    pub(super) g: Rows<'a, T::Real>,
    /// `(panels, D, LANES)` and `(panels, E, LANES)`.
    pub(super) qt: &'a mut [T::Real],
    pub(super) gt: &'a mut [T::Real],
    /// `(panels, RUN_SLOT, LANES)`: scores, then weights; and gradients of the weights, then of the scores.
    pub(super) weights: &'a mut [T::Real],
    pub(super) grads: &'a mut [T::Real],
    /// `1 − tanh²`; empty without a soft cap.
    pub(super) caps: &'a mut [T::Real],
    /// `(LANES, TILE_KEYS)`.
    pub(super) lines: &'a mut [T::Real],
    /// `(rows, dq_stride)`, and room for as many rows as are multiplied at once; added to.
    pub(super) dq: &'a mut [T::Real],
    pub(super) dq_stride: usize,
    /// Each `(panels·LANES,)`.
    pub(super) lse: &'a mut [T::Real],
    pub(super) delta: &'a mut [T::Real],
}

impl<T: Storage> Pair<'_, '_, T> {
    #[inline(always)]
    pub(super) fn run<S: Float<T::Real>>(
        mut self,
        isa: S,
        keys: &mut KeyTile<'_, T::Real>,
        bias: &mut Option<BiasSums<'_>>,
    ) {
        let (block, tile) = (&self.rows.block, self.rows.tile);
        if self.hides(keys) && !(keys.finite && self.is_finite(isa)) {
            self.rows.add_carefully(keys, self.dq, self.dq_stride, bias);
            return;
        }
        let lanes = self.panels * S::LANES;
        pack(isa, self.q, keys.depth, block.factor(), &mut self.qt[..lanes * keys.depth]);
        pack(isa, self.g, keys.width, 1.0, &mut self.gt[..lanes * keys.width]);
        for start in (tile.start..tile.end).step_by(RUN_KEYS) {
            let end = if tile.end - start < RUN_KEYS { tile.end } else { start + RUN_KEYS };
            self.run = Tile { start, end, dense: tile.dense };
            self.look();
            let mut part = keys.part(start - tile.start, end - start);
            self.add_run(isa, &mut part, bias);
        }
    }

    /// What is seen of the run.
    #[inline(always)]
    fn look(&mut self) {
        for (panel, reach) in self.reach.iter().enumerate() {
            self.seen[panel] = seen(reach.some, &self.run);
        }
        for (few, &span) in self.few.iter().enumerate() {
            let Span { start, end } = seen(span, &self.run);
            self.seen_by_few[few] =
                Span { start: start - start % STEP_KEYS, end: end.next_multiple_of(STEP_KEYS) };
        }
    }

    /// All gradients of one run of keys.
    #[inline(always)]
    fn add_run<S: Float<T::Real>>(
        &mut self,
        isa: S,
        keys: &mut KeyTile<'_, T::Real>,
        bias: &mut Option<BiasSums<'_>>,
    ) {
        for first in (0..self.panels).step_by(2) {
            let panels = 2.min(self.panels - first);
            self.products(isa, keys, first, panels);
            // While they lie in the first cache.
            for panel in first..first + panels {
                self.adjust(isa, panel);
                self.weigh(isa, panel, keys.tile.len());
            }
        }
        if let Some(bias) = bias {
            self.add_bias(S::LANES, bias);
        }
        if self.rows.block.softcap.is_some() {
            self.uncap(isa);
        }
        self.add_keys(isa, keys);
        self.add_queries(isa, keys);
    }

    /// Whether some row does not see some key of the tile.
    #[inline(always)]
    fn hides(&self, keys: &KeyTile<'_, T::Real>) -> bool {
        let Span { start, end } = keys.tile;
        self.rows.tile.dense || self.reach.iter().any(|reach| reach.all.start > start || reach.all.end < end)
    }

    #[inline(always)]
    fn is_finite<S: Float<T::Real>>(&self, isa: S) -> bool {
        let rows = self.rows.lse.len();
        let numbers = |at: usize| {
            let (lse, delta) = (self.rows.lse[at], self.rows.delta[at]);
            lse == f64::NEG_INFINITY || (lse.is_finite() && delta.is_finite())
        };
        (0..rows).all(numbers) && all_finite(isa, self.q, rows) && all_finite(isa, self.g, rows)
    }

    /// Scores into `weights`, gradients of weights into `grads`, for one or two panels.
    #[inline(always)]
    fn products<S: Float<T::Real>>(
        &mut self,
        isa: S,
        keys: &KeyTile<'_, T::Real>,
        first: usize,
        panels: usize,
    ) {
        let stride = RUN_SLOT * S::LANES;
        let group = &self.seen[first..first + panels];
        let seen = group.iter().fold(Span { start: 0, end: 0 }, |hull, &seen| hull.hull(seen));
        let next = first + panels..first + panels + 2;
        let mut ahead = Ahead::of(&self.rows.block, next, S::LANES, &self.run, RUN_KEYS);
        Scores {
            queries: &self.qt[first * keys.depth * S::LANES..],
            width: keys.depth,
            keys: keys.keys,
            first: seen.start,
            last: seen.end,
            to: Panels { data: &mut self.weights[first * stride..], stride },
            factor: T::Real::ONE,
            tops: Tops::Unknown,
            ahead: &mut ahead,
        }
        .run_by::<S, Singles, 4>(isa, panels);
        Scores {
            queries: &self.gt[first * keys.width * S::LANES..],
            width: keys.width,
            keys: keys.values,
            first: seen.start,
            last: seen.end,
            to: Panels { data: &mut self.grads[first * stride..], stride },
            factor: T::Real::ONE,
            tops: Tops::Unknown,
            ahead: &mut ahead,
        }
        .run_by::<S, Singles, 4>(isa, panels);
    }

    /// Soft cap, bias and masks, with the soft cap's derivative kept.
    #[inline(always)]
    fn adjust<S: Float<T::Real>>(&mut self, isa: S, panel: usize) {
        let first = panel * RUN_SLOT * S::LANES;
        let seen = self.seen[panel];
        if !self.caps.is_empty() {
            for key in seen.start..seen.end {
                let at = first + key * S::LANES;
                let t = tanh(isa, isa.load(&self.weights[at..]));
                isa.store(isa.neg_mul_add(t, t, isa.splat(T::Real::ONE)), &mut self.caps[at..]);
            }
        }
        let adjust = Adjust {
            block: &self.rows.block,
            tile: self.run,
            row: panel * S::LANES,
            keys: seen.start..seen.end,
            common: self.reach[panel].all.within(&self.run),
            scores: &mut self.weights[first..][..RUN_KEYS * S::LANES],
            lines: self.lines,
        };
        adjust.run(isa);
    }

    /// `a = 2^(s − lse)` and `ds = a·(da − δ)` for one panel, zeros where it sees nothing.
    #[inline(always)]
    fn weigh<S: Float<T::Real>>(&mut self, isa: S, panel: usize, count: usize) {
        let lanes = S::LANES;
        let lse = isa.load(&self.lse[panel * lanes..]);
        let delta = isa.load(&self.delta[panel * lanes..]);
        let seen = self.seen[panel];
        let first = panel * RUN_SLOT * lanes;
        let end = first + count.next_multiple_of(STEP_KEYS) * lanes;
        let weights = &mut self.weights[first..end];
        let grads = &mut self.grads[first..end];
        for numbers in [&mut *weights, &mut *grads] {
            numbers[..seen.start * lanes].fill(T::Real::ZERO);
            numbers[seen.end * lanes..].fill(T::Real::ZERO);
        }
        if let Some(mut kept) = dropout::Panel::new(&self.rows.block, panel * lanes, lanes) {
            let factor = isa.splat(dropout::factor(&self.rows.block));
            for key in seen.start..seen.end {
                let at = key * lanes;
                let a = exp2(isa, isa.sub(isa.load(&weights[at..]), lse));
                let r = isa.mul(kept.kept(isa, self.run.start + key), factor);
                let da = isa.mul(isa.load(&grads[at..]), r);
                isa.store(isa.mul(a, isa.sub(da, delta)), &mut grads[at..]);
                isa.store(isa.mul(a, r), &mut weights[at..]);
            }
        } else {
            let (weights, grads) = (
                &mut weights[seen.start * lanes..seen.end * lanes],
                &mut grads[seen.start * lanes..seen.end * lanes],
            );
            let fours = seen.len() / 4;
            for four in 0..fours {
                let range = four * 4 * lanes..(four + 1) * 4 * lanes;
                differentiate::<T, S, 4>(isa, lse, delta, &mut weights[range.clone()], &mut grads[range]);
            }
            for key in fours * 4..seen.len() {
                let range = key * lanes..(key + 1) * lanes;
                differentiate::<T, S, 1>(isa, lse, delta, &mut weights[range.clone()], &mut grads[range]);
            }
        }
    }

    /// `ds` of each row and key, where the bias's own shape puts it.
    #[inline(always)]
    fn add_bias(&self, lanes: usize, bias: &mut BiasSums<'_>) {
        let [_, _, key_step] = bias.steps;
        for row in 0..self.rows.block.spans.len() {
            let seen = self.seen[row / lanes];
            let from = row / lanes * RUN_SLOT * lanes + row % lanes;
            let to = bias.place(self.rows, row, self.run.start);
            for key in seen.start..seen.end {
                bias.to[to + key * key_step] += self.grads[from + key * lanes].to_f64();
            }
        }
    }

    #[inline(always)]
    fn uncap<S: Float<T::Real>>(&mut self, isa: S) {
        for (panel, &seen) in self.seen.iter().enumerate() {
            let first = panel * RUN_SLOT * S::LANES;
            for key in seen.start..seen.end {
                let at = first + key * S::LANES;
                let ds = isa.mul(isa.load(&self.grads[at..]), isa.load(&self.caps[at..]));
                isa.store(ds, &mut self.grads[at..]);
            }
        }
    }

    /// `dv += aᵀ·g`, then `dk += dsᵀ·q`: one after the other, so that what is read again for every few keys, g or q, fits
    /// into the first cache.
    #[inline(always)]
    fn add_keys<S: Float<T::Real>>(&mut self, isa: S, keys: &mut KeyTile<'_, T::Real>) {
        self.add_along_rows(isa, keys.tile.len(), self.weights, self.g, keys.dv);
        self.add_along_rows(isa, keys.tile.len(), self.grads, self.q, keys.dk);
    }

    /// `to (keys, width) += weightsᵀ·rows`, a few keys at a time over all panels that see one of them.
    #[inline(always)]
    fn add_along_rows<S: Float<T::Real>>(
        &self,
        isa: S,
        keys: usize,
        weights: &[T::Real],
        rows: Rows<'_, T::Real>,
        to: &mut [T::Real],
    ) {
        let (lanes, at_once) = (S::LANES, rows_at_once::<T::Real, S>());
        let outer = RUN_SLOT * lanes;
        let mut product = Accumulate {
            weights,
            steps: Steps { row: lanes, step: 1, inner: lanes, outer },
            rows,
            count: self.panels * lanes,
            out: to,
            stride: rows.width(),
        };
        let few = |key: usize, [first, last]: [usize; 2]| Few {
            weights: first * outer + key * lanes,
            out: key,
            first: first * lanes,
            rounds: last - first,
        };
        let starts = (0..keys).step_by(at_once);
        if self.seen.iter().all(|seen| seen.start == 0 && seen.end == keys) {
            product.by_rows(isa, starts.map(|key| few(key, [0, self.panels])));
        } else {
            let seeing = |key| self.seeing(key, at_once).map(|panels| few(key, panels));
            product.by_rows(isa, starts.filter_map(seeing));
        }
    }

    /// From the first to behind the last panel that sees one of the `count` keys from `key` on.
    #[inline(always)]
    fn seeing(&self, key: usize, count: usize) -> Option<[usize; 2]> {
        let [mut first, mut last] = [self.panels, 0];
        for panel in 0..self.panels {
            let seen = self.seen[panel];
            if seen.start < key + count && seen.end > key {
                first = if panel < first { panel } else { first };
                last = panel + 1;
            }
        }
        (first < last).then_some([first, last])
    }

    /// `dq += ds·K`, a few rows at a time over the keys that one of them sees: two vectors of columns after another, so that
    /// what is read again for every few rows fits into the first cache.
    #[inline(always)]
    fn add_queries<S: Float<T::Real>>(&mut self, isa: S, keys: &KeyTile<'_, T::Real>) {
        let (lanes, at_once) = (S::LANES, rows_at_once::<T::Real, S>());
        let few = |(few, seen): (usize, &Span)| {
            let row = few * at_once;
            let weights = (row / lanes * RUN_SLOT + seen.start) * lanes + row % lanes;
            Few { weights, out: row, first: seen.start, rounds: seen.len() / STEP_KEYS }
        };
        let seen = self.seen_by_few.iter().enumerate().filter(|(_, seen)| !seen.is_empty());
        Accumulate {
            weights: self.grads,
            steps: Steps { row: 1, step: lanes, inner: STEP_KEYS, outer: STEP_KEYS * lanes },
            rows: keys.keys,
            count: keys.tile.len().next_multiple_of(STEP_KEYS),
            out: self.dq,
            stride: self.dq_stride,
        }
        .by_columns(isa, &seen.map(few));
    }
}

/// Which keys of `run`, counted from its first, are in `span`.
#[inline(always)]
fn seen(span: Span, run: &Tile) -> Span {
    let Range { start, end } = span.within(run);
    Span { start, end }
}

/// `a = 2^(s − lse)` and `ds = a·(da − δ)` for a few keys.
#[inline(always)]
fn differentiate<T: Storage, S: Float<T::Real>, const KEYS: usize>(
    isa: S,
    lse: S::Vector,
    delta: S::Vector,
    weights: &mut [T::Real],
    grads: &mut [T::Real],
) {
    let (weights, grads) = (&mut weights[..KEYS * S::LANES], &mut grads[..KEYS * S::LANES]);
    for key in 0..KEYS {
        let at = key * S::LANES;
        let a = exp2(isa, isa.sub(isa.load(&weights[at..]), lse));
        let da = isa.load(&grads[at..]);
        isa.store(isa.mul(a, isa.sub(da, delta)), &mut grads[at..]);
        isa.store(a, &mut weights[at..]);
    }
}
