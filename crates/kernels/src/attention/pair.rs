//! One block of query rows against one tile of keys: the five products of the gradients, and the sweep between them.

use super::TILE_KEYS;
use super::adjust::Adjust;
use super::backward::{BiasSums, GradientRows, KeyTile};
use super::block::{Reach, SLOT_KEYS, reach};
use super::dropout;
use super::exp::{exp2, tanh};
use super::multiply::Singles;
use super::part::Span;
use super::product::{Panels, Scores, Steps, Values, rows_at_once};
use super::rows::Rows;
use super::storage::{Storage, widen_row};
use super::sweep::all_finite;
use crate::Element;
use crate::simd::{Float, Real};
use std::f64::consts::LOG2_E;

/// One block of rows against one tile of keys.
pub(super) struct Pair<'a, 'b, T: Storage> {
    pub(super) rows: &'a GradientRows<'b, T>,
    pub(super) panels: usize,
    /// How far apart two rows of `q` and of `g` are.
    pub(super) strides: [usize; 2],
    pub(super) reach: Vec<Reach>,
    /// `(panels·LANES, D)` and `(panels·LANES, E)`; zeros behind the last row.
    pub(super) q: &'a mut [T::Real],
    pub(super) g: &'a mut [T::Real],
    /// `(panels, D, LANES)` and `(panels, E, LANES)`.
    pub(super) qt: &'a mut [T::Real],
    pub(super) gt: &'a mut [T::Real],
    /// `(panels, SLOT_KEYS, LANES)`: scores, then weights; and gradients of the weights, then of the scores.
    pub(super) weights: &'a mut [T::Real],
    pub(super) grads: &'a mut [T::Real],
    /// `1 − tanh²`; empty without a soft cap.
    pub(super) caps: &'a mut [T::Real],
    /// `(LANES, TILE_KEYS)`.
    pub(super) lines: &'a mut [T::Real],
    /// `(panels·LANES, padded D)`.
    pub(super) dq: &'a mut [T::Real],
    /// Each `(panels·LANES,)`.
    pub(super) lse: &'a mut [T::Real],
    pub(super) delta: &'a mut [T::Real],
    /// Eight of them: sums are added to what is there.
    pub(super) ones: &'a mut [T::Real],
}

impl<T: Storage> Pair<'_, '_, T> {
    #[inline(always)]
    pub(super) fn run<S: Float<T::Real>>(
        mut self,
        isa: S,
        keys: &mut KeyTile<'_, T::Real>,
        dq: &mut [T::Real],
        bias: &mut Option<BiasSums<'_>>,
    ) {
        let rows = self.rows.block.spans.len();
        self.load(keys);
        self.dq.fill(T::Real::ZERO);
        let (block, depth) = (&self.rows.block, keys.depth);
        if self.hides(keys) && !(keys.finite && self.is_finite(isa, keys)) {
            self.rows.add_carefully(keys, &mut self.dq[..], bias);
        } else {
            let factor = block.scale * block.softcap.map_or(LOG2_E, f64::recip);
            pack::<T, S>(isa, self.q, self.strides[0], depth, factor, self.qt);
            pack::<T, S>(isa, self.g, self.strides[1], keys.width, 1.0, self.gt);
            self.products(isa, keys);
            self.adjust(isa);
            for panel in 0..self.panels {
                self.weigh(isa, panel, keys.tile.len());
            }
            if let Some(bias) = bias {
                self.add_bias(S::LANES, bias);
            }
            if block.softcap.is_some() {
                self.uncap(isa);
            }
            self.add_keys(isa, keys);
            self.add_queries(isa, keys);
        }
        for row in 0..rows {
            let to = &mut dq[(self.rows.first + row) * depth..][..depth];
            let from = &self.dq[row * keys.padded[0]..][..depth];
            for c in 0..depth {
                to[c] += from[c];
            }
        }
    }

    /// Queries, gradients of outputs, log-sum-exps and δ of the block's rows.
    #[inline(always)]
    fn load(&mut self, keys: &KeyTile<'_, T::Real>) {
        let GradientRows { block, grads, lse, delta, .. } = self.rows;
        let [q_stride, g_stride] = self.strides;
        self.q.fill(T::Real::ZERO);
        self.g.fill(T::Real::ZERO);
        for (p, part) in block.parts.iter().enumerate() {
            for i in 0..part.count {
                let row = part.row + i;
                widen_row(&part.queries, part.first + i, 0, &mut self.q[row * q_stride..][..keys.depth]);
                widen_row(&grads[p], part.first + i, 0, &mut self.g[row * g_stride..][..keys.width]);
            }
        }
        for row in 0..self.lse.len() {
            // A row that sees nothing, or is none, weighs nothing: 2^(s − ∞).
            let seen = row < lse.len() && lse[row] != f64::NEG_INFINITY;
            self.lse[row] = T::Real::from_f64(if seen { lse[row] * LOG2_E } else { f64::INFINITY });
            self.delta[row] = T::Real::from_f64(if seen { delta[row] } else { 0.0 });
            if row < lse.len() && !seen {
                self.g[row * g_stride..][..keys.width].fill(T::Real::ZERO);
            }
        }
    }

    /// Whether some row does not see some key of the tile.
    #[inline(always)]
    fn hides(&self, keys: &KeyTile<'_, T::Real>) -> bool {
        let Span { start, end } = keys.tile;
        self.rows.tile.dense || self.reach.iter().any(|reach| reach.all.start > start || reach.all.end < end)
    }

    #[inline(always)]
    fn is_finite<S: Float<T::Real>>(&self, isa: S, keys: &KeyTile<'_, T::Real>) -> bool {
        let rows = self.rows.lse.len();
        let numbers = |at: usize| {
            let (lse, delta) = (self.rows.lse[at], self.rows.delta[at]);
            lse == f64::NEG_INFINITY || (lse.is_finite() && delta.is_finite())
        };
        (0..rows).all(numbers)
            && all_finite(isa, Rows::spaced(self.q, self.strides[0], keys.padded[0]), rows)
            && all_finite(isa, Rows::spaced(self.g, self.strides[1], keys.padded[1]), rows)
    }

    /// Scores into `weights`, gradients of weights into `grads`.
    #[inline(always)]
    fn products<S: Float<T::Real>>(&mut self, isa: S, keys: &KeyTile<'_, T::Real>) {
        let stride = SLOT_KEYS * S::LANES;
        for first in (0..self.panels).step_by(2) {
            let panels = 2.min(self.panels - first);
            let group = &self.reach[first..first + panels];
            let seen = group.iter().fold(Span { start: 0, end: 0 }, |hull, reach| hull.hull(reach.some));
            let seen = seen.within(&self.rows.tile);
            Scores {
                queries: &self.qt[first * keys.depth * S::LANES..],
                width: keys.depth,
                keys: keys.keys,
                first: seen.start,
                last: seen.end,
                to: Panels { data: &mut self.weights[first * stride..], stride },
                factor: T::Real::ONE,
            }
            .run::<S, Singles>(isa, panels);
            Scores {
                queries: &self.gt[first * keys.width * S::LANES..],
                width: keys.width,
                keys: keys.values,
                first: seen.start,
                last: seen.end,
                to: Panels { data: &mut self.grads[first * stride..], stride },
                factor: T::Real::ONE,
            }
            .run::<S, Singles>(isa, panels);
        }
    }

    /// Soft cap, bias and masks, with the soft cap's derivative kept.
    #[inline(always)]
    fn adjust<S: Float<T::Real>>(&mut self, isa: S) {
        for (panel, reach) in self.reach.iter().enumerate() {
            let first = panel * SLOT_KEYS * S::LANES;
            let seen = reach.some.within(&self.rows.tile);
            if !self.caps.is_empty() {
                for key in seen.start..seen.end {
                    let at = first + key * S::LANES;
                    let t = tanh(isa, isa.load(&self.weights[at..]));
                    isa.store(isa.neg_mul_add(t, t, isa.splat(T::Real::ONE)), &mut self.caps[at..]);
                }
            }
            let adjust = Adjust {
                block: &self.rows.block,
                tile: self.rows.tile,
                row: panel * S::LANES,
                keys: seen,
                common: reach.all.within(&self.rows.tile),
                scores: &mut self.weights[first..][..TILE_KEYS * S::LANES],
                lines: self.lines,
            };
            adjust.run(isa);
        }
    }

    /// `a = 2^(s − lse)` and `ds = a·(da − δ)` for one panel, zeros where it sees nothing.
    #[inline(always)]
    fn weigh<S: Float<T::Real>>(&mut self, isa: S, panel: usize, count: usize) {
        let lanes = S::LANES;
        let lse = isa.load(&self.lse[panel * lanes..]);
        let delta = isa.load(&self.delta[panel * lanes..]);
        let seen = self.reach[panel].some.within(&self.rows.tile);
        let first = panel * SLOT_KEYS * lanes;
        let end = first + count.next_multiple_of(8) * lanes;
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
                let r = isa.mul(kept.kept(isa, self.rows.tile.start + key), factor);
                let da = isa.mul(isa.load(&grads[at..]), r);
                isa.store(isa.mul(a, isa.sub(da, delta)), &mut grads[at..]);
                isa.store(isa.mul(a, r), &mut weights[at..]);
            }
        } else {
            for key in seen.start..seen.end {
                let at = key * lanes;
                let a = exp2(isa, isa.sub(isa.load(&weights[at..]), lse));
                let da = isa.load(&grads[at..]);
                isa.store(isa.mul(a, isa.sub(da, delta)), &mut grads[at..]);
                isa.store(a, &mut weights[at..]);
            }
        }
    }

    /// `ds` of each row and key, where the bias's own shape puts it.
    #[inline(always)]
    fn add_bias(&self, lanes: usize, bias: &mut BiasSums<'_>) {
        let [_, _, key_step] = bias.steps;
        for row in 0..self.rows.block.spans.len() {
            let seen = self.reach[row / lanes].some.within(&self.rows.tile);
            let from = row / lanes * SLOT_KEYS * lanes + row % lanes;
            let to = bias.place(self.rows, row, self.rows.tile.start);
            for key in seen.start..seen.end {
                bias.to[to + key * key_step] += self.grads[from + key * lanes].to_f64();
            }
        }
    }

    #[inline(always)]
    fn uncap<S: Float<T::Real>>(&mut self, isa: S) {
        for (panel, reach) in self.reach.iter().enumerate() {
            let first = panel * SLOT_KEYS * S::LANES;
            let seen = reach.some.within(&self.rows.tile);
            for key in seen.start..seen.end {
                let at = first + key * S::LANES;
                let ds = isa.mul(isa.load(&self.grads[at..]), isa.load(&self.caps[at..]));
                isa.store(ds, &mut self.grads[at..]);
            }
        }
    }

    /// `dv += aᵀ·g` and `dk += dsᵀ·q`, a few keys at a time over all panels that see one of them.
    #[inline(always)]
    fn add_keys<S: Float<T::Real>>(&mut self, isa: S, keys: &mut KeyTile<'_, T::Real>) {
        let (lanes, at_once) = (S::LANES, rows_at_once::<T::Real, S>());
        let stride = SLOT_KEYS * lanes;
        for key in (0..keys.tile.len()).step_by(at_once) {
            let [mut first, mut last] = [self.panels, 0];
            for panel in 0..self.panels {
                let seen = self.reach[panel].some.within(&self.rows.tile);
                if seen.start < key + at_once && seen.end > key {
                    first = if panel < first { panel } else { first };
                    last = panel + 1;
                }
            }
            if first >= last {
                continue;
            }
            let range = [first * lanes, last * lanes];
            let steps = Steps::along_rows(lanes, stride);
            let from = first * stride + key * lanes;
            let [dk_width, dv_width] = keys.padded;
            let of = Product { steps, range, alpha: self.ones };
            let g = Rows::spaced(self.g, self.strides[1], dv_width);
            of.add(isa, &self.weights[from..], g, &mut keys.dv[key * dv_width..], dv_width);
            let q = Rows::spaced(self.q, self.strides[0], dk_width);
            of.add(isa, &self.grads[from..], q, &mut keys.dk[key * dk_width..], dk_width);
        }
    }

    /// `dq += ds·K`, a few rows at a time over the keys that one of them sees.
    #[inline(always)]
    fn add_queries<S: Float<T::Real>>(&mut self, isa: S, keys: &KeyTile<'_, T::Real>) {
        let (lanes, at_once) = (S::LANES, rows_at_once::<T::Real, S>());
        let width = keys.padded[0];
        for row in (0..self.rows.block.spans.len()).step_by(at_once) {
            let seen = reach(&self.rows.block, row, at_once).some.within(&self.rows.tile);
            let from = row / lanes * SLOT_KEYS * lanes + seen.start * lanes + row % lanes;
            let steps = Steps::along_keys(lanes, 1, seen.len());
            let of = Product { steps, range: [seen.start, seen.end], alpha: self.ones };
            if !seen.is_empty() {
                of.add(isa, &self.grads[from..], keys.keys, &mut self.dq[row * width..], width);
            }
        }
    }
}

/// A few rows of a product, all their columns.
struct Product<'a, A> {
    steps: Steps,
    /// The value rows.
    range: [usize; 2],
    alpha: &'a [A],
}

impl<A: Real> Product<'_, A> {
    #[inline(always)]
    fn add<S: Float<A>>(&self, isa: S, weights: &[A], rows: Rows<'_, A>, out: &mut [A], width: usize) {
        for column in (0..width).step_by(2 * S::LANES) {
            let columns = if width - column < 2 * S::LANES { width - column } else { 2 * S::LANES };
            Values {
                weights,
                steps: self.steps,
                rows: rows.columns(column, columns),
                first: self.range[0],
                last: self.range[1],
                alpha: self.alpha,
                out: &mut *out,
                width,
                column,
            }
            .run::<S, Singles>(isa, columns / S::LANES);
        }
    }
}

/// `to[panel][i][lane] = factor·from[row][i]`.
#[inline(always)]
fn pack<T: Storage, S: Float<T::Real>>(
    isa: S,
    from: &[T::Real],
    stride: usize,
    width: usize,
    factor: f64,
    to: &mut [T::Real],
) {
    let lanes = S::LANES;
    let factor = isa.splat(T::Real::from_f64(factor));
    for panel in 0..from.len() / (stride * lanes) {
        for i in (0..width).step_by(lanes) {
            let mut square = isa.square(factor);
            for lane in 0..lanes {
                let x = isa.load(&from[(panel * lanes + lane) * stride + i..]);
                square.as_mut()[lane] = isa.mul(x, factor);
            }
            let square = isa.transpose(square);
            for column in 0..lanes.min(width - i) {
                isa.store(square.as_ref()[column], &mut to[(panel * width + i + column) * lanes..]);
            }
        }
    }
}
