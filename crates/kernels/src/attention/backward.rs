//! Gradients of one tile of keys, over all blocks of query rows that see it.
//!
//! ```text
//! K, V of the tile, widened once                                       (keys, D), (keys, E)
//! for each block of rows that sees the tile:
//!     s  (panels, keys, LANES) = qt · Kᵀ; soft cap, bias, masks        as forward
//!     da (panels, keys, LANES) = gt · Vᵀ                               gt: the output's gradient, packed like qt
//!     a  = 2^(s − lse);  ds = a·(da − δ)                               both in place, one sweep
//!     dv (keys, E) += aᵀ·g      dk (keys, D) += dsᵀ·q      dq (rows, D) += ds·K
//! dk·scale, dv, rounded once
//! ```
//!
//! Weights are computed again from the log-sum-exp, so nothing of size N·M is kept. δ = g·o, known before. With dropout `a`
//! becomes `a·r` for dv and `da` becomes `da·r`, where r is 0 or 1/(1 − p). A soft cap multiplies `ds` by 1 − tanh² before
//! it reaches q and k. s and da are the register tiles of forward's scores, whose lanes are queries; the other three products
//! add to what is in memory (`accumulate.rs`), and their lanes are columns.
//!
//! Whoever owns a tile of keys owns its dk and dv; dq is added up over tiles by the caller, in a fixed order.
//!
//! Rows that only fill a panel have zeros for q and g and a log-sum-exp of +∞: they weigh nothing. Where a tile hides
//! something and one of its numbers is not finite, `0·∞` must not happen, and the block takes the way of careful.rs. What
//! happens to one block is in pair.rs.

use super::TILE_KEYS;
use super::block::{SLOT_KEYS, reach};
use super::buffer::Buffer;
use super::load::Room;
use super::pair::{Pair, RUN_SLOT, STEP_KEYS};
use super::part::{Block, Span, Tile};
use super::product::rows_at_once;
use super::rows::Rows;
use super::storage::Storage;
use super::sweep::all_finite;
use super::table::Table;
use crate::simd::{Float, FloatKernel, MOST_LANES, Real};
use crate::{Element, View};

/// Memory the gradients are worked out in; one per thread.
pub struct BackwardScratch<A> {
    keys: Buffer<A>,
    values: Buffer<A>,
    dk: Buffer<A>,
    dv: Buffer<A>,
    q: Buffer<A>,
    g: Buffer<A>,
    qt: Buffer<A>,
    gt: Buffer<A>,
    weights: Buffer<A>,
    grads: Buffer<A>,
    caps: Buffer<A>,
    lines: Buffer<A>,
    rows: Buffer<A>,
}

impl<A: Real> BackwardScratch<A> {
    /// Empty; it grows with the first tile.
    pub const fn new() -> Self {
        BackwardScratch {
            keys: Buffer::new(),
            values: Buffer::new(),
            dk: Buffer::new(),
            dv: Buffer::new(),
            q: Buffer::new(),
            g: Buffer::new(),
            qt: Buffer::new(),
            gt: Buffer::new(),
            weights: Buffer::new(),
            grads: Buffer::new(),
            caps: Buffer::new(),
            lines: Buffer::new(),
            rows: Buffer::new(),
        }
    }
}

impl<A: Real> Default for BackwardScratch<A> {
    fn default() -> Self {
        BackwardScratch::new()
    }
}

/// A block of rows with what is known about its outputs.
#[derive(Clone, Copy, Debug)]
pub struct GradientRows<'a, T> {
    /// The rows.
    pub block: Block<'a, T>,
    /// The part of the keys' tile they see.
    pub tile: Tile,
    /// For each part the output's gradient, `(N, E)`.
    pub grads: &'a [View<'a, T>],
    /// `(rows,)`: log-sum-exps.
    pub lse: &'a [f64],
    /// `(rows,)`: the products of gradient and output.
    pub delta: &'a [f64],
    /// Where the first row lies among those of the group.
    pub first: usize,
}

/// Where the gradient of the bias is added up.
pub struct BiasSums<'a> {
    /// The sums.
    pub to: &'a mut [f64],
    /// How far apart two heads of the group, two queries and two keys are: 0 along an axis that repeats.
    pub steps: [usize; 3],
    /// The key that the first sum belongs to.
    pub first_key: usize,
}

/// Gradients of one tile of keys: a [`FloatKernel`] whose fields are its arguments.
pub struct Backward<'a, 'b, T: Storage> {
    /// The keys.
    pub tile: Span,
    /// Those who see them.
    pub blocks: &'a [GradientRows<'b, T>],
    /// `(M, D)`.
    pub keys: Table<'b, T>,
    /// `(M, E)`.
    pub values: Table<'b, T>,
    /// The group's rows, laid out as [`query_sums`] says, without the scale; added to.
    pub dq: &'a mut [T::Real],
    /// `(keys, D)`.
    pub dk: &'a mut [T],
    /// `(keys, E)`.
    pub dv: &'a mut [T],
    /// Where the bias has a gradient.
    pub bias: Option<BiasSums<'a>>,
    /// The factor on `q·k`.
    pub scale: f64,
    /// Where to work.
    pub scratch: &'a mut BackwardScratch<T::Real>,
}

/// A tile of keys with the sums of its gradients.
pub(super) struct KeyTile<'a, A> {
    pub(super) tile: Span,
    /// `(keys, depth)` and `(keys, width)`, widened.
    pub(super) keys: Rows<'a, A>,
    pub(super) values: Rows<'a, A>,
    /// `D` and `E`, and both rounded up to whole vectors.
    pub(super) depth: usize,
    pub(super) width: usize,
    pub(super) padded: [usize; 2],
    /// `(SLOT_KEYS, padded)`.
    pub(super) dk: &'a mut [A],
    pub(super) dv: &'a mut [A],
    pub(super) finite: bool,
}

/// How far apart rows of `width` numbers are laid: an odd number of cache lines, so that the same columns of all rows do not
/// fall into the same few sets of the cache.
fn spread<A>(width: usize) -> usize {
    let line = 64 / size_of::<A>();
    (width.div_ceil(line) | 1) * line
}

/// How many rows and columns sums of dq have room for, where `rows` of width `depth` are added up: whole vectors, whatever the
/// instruction set, and as many rows as are multiplied at once.
pub fn query_sums(rows: usize, depth: usize) -> [usize; 2] {
    [rows, depth].map(|count| count.next_multiple_of(MOST_LANES))
}

impl<A: Real> KeyTile<'_, A> {
    /// The keys from `first` on, `count` of them.
    #[inline(always)]
    pub(super) fn part(&mut self, first: usize, count: usize) -> KeyTile<'_, A> {
        let start = self.tile.start + first;
        KeyTile {
            tile: Span { start, end: start + count },
            keys: self.keys.from(first),
            values: self.values.from(first),
            dk: &mut self.dk[first * self.padded[0]..],
            dv: &mut self.dv[first * self.padded[1]..],
            ..*self
        }
    }
}

impl<T: Storage> FloatKernel<T::Real> for Backward<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Float<T::Real>>(mut self, isa: S) {
        let (count, depth, width) = (self.tile.len(), self.keys.width(), self.values.width());
        let padded = [depth.next_multiple_of(S::LANES), width.next_multiple_of(S::LANES)];
        let strides = padded.map(spread::<T::Real>);
        let scratch = self.scratch;
        let key_rows = scratch.keys.reserve(count.next_multiple_of(STEP_KEYS) * strides[0]);
        let value_rows = scratch.values.reserve(count * strides[1]);
        let range = [self.tile.start, self.tile.end];
        self.keys.widen_rows(isa, range, strides[0], key_rows);
        key_rows[count * strides[0]..].fill(T::Real::ZERO);
        self.values.widen_rows(isa, range, strides[1], value_rows);
        let (dk, dv) = (scratch.dk.reserve(SLOT_KEYS * padded[0]), scratch.dv.reserve(SLOT_KEYS * padded[1]));
        dk.fill(T::Real::ZERO);
        dv.fill(T::Real::ZERO);
        let finite = all_finite(isa, Rows::spaced(key_rows, strides[0], padded[0]), count)
            && all_finite(isa, Rows::spaced(value_rows, strides[1], padded[1]), count);
        let mut keys = KeyTile {
            tile: self.tile,
            keys: Rows::spaced(key_rows, strides[0], padded[0]),
            values: Rows::spaced(value_rows, strides[1], padded[1]),
            depth,
            width,
            padded,
            dk,
            dv,
            finite,
        };
        for rows in self.blocks {
            let panels = rows.block.spans.len().div_ceil(S::LANES);
            let lanes = panels * S::LANES;
            let tiles = panels * RUN_SLOT * S::LANES;
            let capped = if rows.block.softcap.is_some() { tiles } else { 0 };
            let lines = S::LANES * TILE_KEYS.max(strides[0]).max(strides[1]);
            let (lse, delta) = scratch.rows.reserve(2 * lanes).split_at_mut(lanes);
            let [_, dq_stride] = query_sums(0, depth);
            let (block, at_once) = (&rows.block, rows_at_once::<T::Real, S>());
            let starts = (0..block.spans.len()).step_by(at_once);
            let few: Vec<Span> = starts.map(|row| reach(block, row, at_once).some).collect();
            let nothing = Span { start: 0, end: 0 };
            rows.totals(lse, delta);
            let q = scratch.q.reserve(lanes * strides[0]);
            let g = scratch.g.reserve(lanes * strides[1]);
            Pair {
                rows,
                panels,
                run: rows.tile,
                reach: (0..panels).map(|panel| reach(block, panel * S::LANES, S::LANES)).collect(),
                seen: vec![nothing; panels],
                seen_by_few: vec![nothing; few.len()],
                few,
                q: rows.queries::<S>(Room { memory: q, stride: strides[0], width: depth, padded: padded[0] }),
                g: rows.upstream::<S>(Room { memory: g, stride: strides[1], width, padded: padded[1] }),
                qt: scratch.qt.reserve(lanes * padded[0]),
                gt: scratch.gt.reserve(lanes * padded[1]),
                weights: scratch.weights.reserve(tiles),
                grads: scratch.grads.reserve(tiles),
                caps: scratch.caps.reserve(capped),
                lines: scratch.lines.reserve(lines),
                dq: &mut self.dq[rows.first * dq_stride..],
                dq_stride,
                lse,
                delta,
            }
            .run(isa, &mut keys, &mut self.bias);
        }
        let scale = T::Real::from_f64(self.scale);
        for key in 0..count {
            let dk = &mut keys.dk[key * padded[0]..][..depth];
            for x in dk.iter_mut() {
                *x = *x * scale;
            }
            T::narrow(dk, &mut self.dk[key * depth..][..depth]);
            T::narrow(&keys.dv[key * padded[1]..][..width], &mut self.dv[key * width..][..width]);
        }
    }
}
