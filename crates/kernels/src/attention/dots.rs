//! Products of bf16 in pairs, where the machine has instructions for them: twice the products of f32 in the same time.
//!
//! ```text
//! qt (panels, D/2, LANES, 2)             pairs along the width, transposed; the factor comes after the product
//! k  (keys, D)                           read as it lies, a pair broadcast; copied where D is odd or strides are not 1
//! s  (panels, keys, LANES)  in f32       adjusted as for every other type; without statistics they stay scores
//! at (panels, keys/2, LANES, 2)          weights of two keys, rounded to bf16                                 narrow.rs
//! v  (strips, keys/2, 2·LANES, 2)        values of two keys side by side, in strips
//! ```
//!
//! Packing the values costs a hundredth of the products with a block of 128 rows, so every block packs its own tiles and no
//! memory grows with the keys.
//!
//! Two things are rounded that wider products keep: weights to eight bits, as every implementation with products of bf16
//! does, and numbers and sums below 2⁻¹²⁶ to 0. Exponentials that go straight to pairs are themselves good to 3·10⁻⁶
//! (`exp.rs`), and so is the log-sum-exp then; with statistics they are those of f32. Other products of q and k are
//! exact and their sums are f32 as before. The denominator is the sum of the weights *before* they are rounded: it is the one
//! that the log-sum-exp, the statistics and the backward pass speak of, the rounding of many weights cancels in the sum of
//! values as it would in the denominator, and a weight that alone decides a row is the largest, 2⁰, which is exact.
//!
//! Where a panel sees only one key of a pair the other weighs 0, and its value is multiplied by that: so a tile counts as hiding
//! something unless all rows see all of it.

use super::TILE_KEYS;
use super::block::{Attend, Forward, SLOT_KEYS};
use super::buffer::Buffer;
use super::multiply::Pairs;
use super::narrow::{InParts, PairedWeights, Scores};
use super::part::Block;
use super::products::{Products, Scoring, Tiled, Weighing};
use super::rows::Rows;
use super::storage::copy_row;
use crate::bf16;
use crate::simd::{MOST_LANES, PairDots, PairKernel};
use std::ops::Range;

/// Beyond this factor what sums below 2⁻¹²⁶ lose could be seen in a score.
const LARGEST_FACTOR: f64 = (1u64 << 63) as f64;

/// [`Forward`] on pairs.
pub(super) struct OnPairs<'a, 'b>(pub(super) Forward<'a, 'b, bf16>);

/// Whether the block's numbers suit products of pairs.
#[inline]
pub(super) fn suit(block: &Block<'_, bf16>) -> bool {
    block.factor().abs() <= LARGEST_FACTOR
}

impl PairKernel for OnPairs<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: PairDots>(self, isa: S) {
        let Forward { block, scratch, out, lse, wants_lse, mut wanted } = self.0;
        if block.spans.is_empty() {
            return;
        }
        let products = Dots::new(isa, &block, &mut scratch.dots);
        let wanted = wanted.as_mut();
        Attend { block, room: &mut scratch.room, out, lse: (lse, wants_lse), wanted }.run(isa, products);
    }
}

/// Memory of [`Dots`].
pub(super) struct DotBuffers {
    queries: Buffer<bf16>,
    lines: Buffer<bf16>,
    keys: Buffer<bf16>,
    strips: Buffer<bf16>,
    weights: Buffer<bf16>,
}

impl DotBuffers {
    pub(super) const fn new() -> Self {
        DotBuffers {
            queries: Buffer::new(),
            lines: Buffer::new(),
            keys: Buffer::new(),
            strips: Buffer::new(),
            weights: Buffer::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.queries.bytes()
            + self.lines.bytes()
            + self.keys.bytes()
            + self.strips.bytes()
            + self.weights.bytes()
    }
}

/// A block's products, pair by pair.
struct Dots<'a> {
    /// `(panels, D/2, LANES, 2)`; packed when they are first used.
    queries: &'a mut [bf16],
    /// Queries of a panel that do not lie in rows.
    lines: &'a mut [bf16],
    /// Rows that do not lie as they are needed.
    rows: &'a mut [bf16],
    /// `(strips, TILE_KEYS/2, 2·LANES, 2)`.
    strips: &'a mut [bf16],
    weights: PairedWeights<'a, InParts<1>>,
    factor: f32,
    /// The exponentials have left their weights in `weights`.
    narrowed: bool,
}

impl<'a> Dots<'a> {
    #[inline(always)]
    fn new<S: PairDots>(_: S, block: &Block<'_, bf16>, buffers: &'a mut DotBuffers) -> Self {
        let panels = block.spans.len().div_ceil(S::LANES);
        let (depth, width) = (block.keys.width(), block.values.width());
        let weights = buffers.weights.reserve(panels * SLOT_KEYS * S::LANES);
        Dots {
            queries: buffers.queries.reserve(panels * depth.next_multiple_of(2) * S::LANES),
            lines: buffers.lines.reserve(depth * S::LANES),
            rows: buffers.keys.reserve(TILE_KEYS * depth.next_multiple_of(2).max(width)),
            strips: buffers.strips.reserve(TILE_KEYS * width.next_multiple_of(2 * S::LANES)),
            weights: PairedWeights { pairs: weights, cut: InParts, panels },
            factor: block.factor() as f32,
            narrowed: false,
        }
    }

    /// Values of keys 2j and 2j + 1 side by side; behind the last key zeros.
    #[inline(always)]
    fn pack_values<S: PairDots>(&mut self, isa: S, of: &Weighing<'_, '_, bf16>) {
        let (tile, width, vector) = (of.tile, of.block.values.width(), 2 * S::LANES);
        let count = tile.end - tile.start;
        let values = Rows::stored(&of.block.values, [tile.start, tile.end], width, self.rows);
        for key in (0..count).step_by(2) {
            let a = values.row(key);
            let b = if key + 1 < count { values.row(key + 1) } else { &[] };
            let whole = if b.is_empty() { 0 } else { width - width % vector };
            for column in (0..whole).step_by(vector) {
                let to = &mut self.strips[column * TILE_KEYS + key * vector..][..2 * vector];
                // SAFETY: both rows hold a vector of columns and the next from `column` on.
                let [low, high] = unsafe { isa.zip_two_at(a.as_ptr().add(column), b.as_ptr().add(column)) };
                isa.store_pairs(low, to);
                isa.store_pairs(high, &mut to[vector..]);
            }
            for column in (whole..of.width).step_by(S::LANES) {
                let end = if column + S::LANES < width { column + S::LANES } else { width };
                let b = if b.is_empty() { b } else { &b[column..end] };
                let (strip, half) = (column / vector, column / S::LANES % 2);
                let to = strip * TILE_KEYS * vector + (key + half) * vector;
                isa.store_pairs(isa.zip_pairs(&a[column..end], b), &mut self.strips[to..]);
            }
        }
    }

    /// Whether the packed values of `count` keys hold neither an infinity nor a NaN: 0 times any of them is not 0.
    #[inline(always)]
    fn all_finite<S: PairDots>(&self, isa: S, count: usize, width: usize) -> bool {
        let vector = 2 * S::LANES;
        let zero = isa.load_pairs(&[]);
        let mut sum = isa.splat(0.0);
        for column in (0..width).step_by(S::LANES) {
            let (strip, half) = (column / vector, column / S::LANES % 2);
            for key in (0..count).step_by(2) {
                let from = strip * TILE_KEYS * vector + (key + half) * vector;
                sum = isa.dot_pairs(isa.load_pairs(&self.strips[from..][..vector]), zero, sum);
            }
        }
        isa.sum(sum) == 0.0
    }
}

/// `qt[panel][i][lane] = (q[row][2i], q[row][2i + 1])` for some panels, with a 0 where the width is odd; rows behind the last repeat it.
#[inline(always)]
fn pack_queries<S: PairDots>(
    isa: S,
    block: &Block<'_, bf16>,
    panels: Range<usize>,
    lines: &mut [bf16],
    queries: &mut [bf16],
) {
    let (lanes, depth) = (S::LANES, block.keys.width());
    let pairs = depth.div_ceil(2);
    for panel in panels.start..panels.end {
        let to = &mut queries[panel * 2 * pairs * lanes..][..2 * pairs * lanes];
        let mut rows = [&[][..]; MOST_LANES];
        if let Some(lying) = block.lying_queries(panel * lanes, lanes) {
            rows = lying;
        } else {
            for lane in 0..lanes {
                let (part, query) = block.query(panel * lanes + lane);
                copy_row(&part.queries, query, &mut lines[lane * depth..][..depth]);
            }
            for lane in 0..lanes {
                rows[lane] = &lines[lane * depth..][..depth];
            }
        }
        for i in (0..pairs).step_by(lanes) {
            let mut square = isa.square(isa.splat(0.0));
            for lane in 0..lanes {
                square.as_mut()[lane] = isa.as_vector(isa.load_pairs(&rows[lane][2 * i..]));
            }
            let square = isa.transpose(square);
            for pair in 0..lanes.min(pairs - i) {
                isa.store_pairs(isa.as_pairs(square.as_ref()[pair]), &mut to[(i + pair) * 2 * lanes..]);
            }
        }
    }
}

impl<S: PairDots> Products<bf16, S> for Dots<'_> {
    #[inline(always)]
    fn score(&mut self, isa: S, mut of: Scoring<'_, '_, '_, bf16>) {
        let (table, range) = (&of.block.keys, [of.tile.start, of.tile.end]);
        let keys = Rows::stored(table, range, table.width().next_multiple_of(2), self.rows);
        for panels in of.groups() {
            if of.is_first() {
                of.block.fetch_queries(panels.end * S::LANES, 2 * S::LANES);
                pack_queries(isa, of.block, panels.clone(), self.lines, self.queries);
            }
            of.fetch_values(&panels);
            of.run::<S, Pairs>(isa, panels, self.queries, keys, self.factor);
        }
    }

    #[inline(always)]
    fn exponentials(
        &mut self,
        isa: S,
        panel: usize,
        keys: Range<usize>,
        base: S::Vector,
        scores: &mut [f32],
    ) -> S::Vector {
        self.narrowed = true;
        let scores = Scores { all: scores, factor: 1.0, base };
        self.weights.exponentials(isa, panel, keys, &scores)
    }

    #[inline(always)]
    fn left_scores(&self) -> bool {
        self.narrowed
    }

    #[inline(always)]
    fn weigh(&mut self, isa: S, of: Weighing<'_, '_, bf16>) -> bool {
        let count = of.tile.end - of.tile.start;
        self.pack_values(isa, &of);
        if of.hides_some() && !self.all_finite(isa, count, of.width) {
            self.narrowed = false;
            return false;
        }
        if !std::mem::take(&mut self.narrowed) {
            self.weights.narrow(isa, &of);
        }
        of.run::<S, Pairs>(isa, self.weights.pairs, SLOT_KEYS * S::LANES, Tiled::Strips(self.strips));
        true
    }
}

#[cfg(test)]
mod tests;
