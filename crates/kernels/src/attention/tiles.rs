//! Products of whole tiles, where the machine has instructions for them (`simd/tiles.rs`): of bf16, of f16 where it multiplies such, and
//! else of f16 and f32 as sums of two and three bf16, which keep all of their bits.
//!
//! ```text
//! qt (parts, panels, D/2, LANES, 2)         right operand; pairs along the width, transposed; in three parts the factor too
//! k  (parts, keys, D)                       left operand; numbers of sixteen bits are read as they lie
//! s  (panels, keys, LANES)  in f32          adjusted as for every other way of multiplying; where nothing is to adjust they stay products
//! at (parts, panels, keys/2, LANES, 2)      right operand; weights of two keys                                      narrow.rs
//! vt (parts, E/16, keys/32, 16, 32)         left operand; a tile of values, transposed
//! ot (panels, E, LANES)     in f32          sums of the block, transposed as well, until the last tile has been added
//! ```
//!
//! D and E are rounded up to whole tiles with zeros, and so are the keys of a tile.
//!
//! What is not cut is moved as it is (words.rs), the rest is cut on the way (pack.rs).
//!
//! Numbers that parts cannot hold (∞, NaN, very large ones, nothing but very small ones) are noticed while they are taken apart. The block is then computed once more without
//! tiles: they give up, and nothing that they have written is read.

use super::TILE_KEYS;
use super::block::{Attend, Forward, Reach, SLOT_KEYS};
use super::buffer::Buffer;
use super::narrow::{Cut, MOST_PARTS, PairedWeights, Scores, raised};
use super::part::{Block, Tile};
use super::products::{Products, Scoring, Weighing};
use super::storage::Storage;
use super::sweep::maximum;
use crate::bf16;
use crate::simd::{Isa, TILE_DEPTH, TILE_ROWS, TileDots, TileKernel, TileProduct};
use std::ops::Range;

mod pack;
mod words;

/// Numbers to a tile of a left operand.
const TILE: usize = TILE_ROWS * TILE_DEPTH;
/// Keys that are multiplied at once: two blocks of rows.
const KEYS_AT_ONCE: usize = 2 * TILE_ROWS;

/// Rows from which on it pays to take keys and values apart, by the number of parts, less one. Fewer than sixteen do not fill a tile.
const FEWEST_ROWS: [usize; MOST_PARTS] = [16, 96, 192];
/// Quarters of the products of D and E that those of whole tiles may be at most, by the number of parts, less one.
const MOST_QUARTERS: [usize; MOST_PARTS] = [usize::MAX, 8, 5];

/// Whether whole tiles may be multiplied, and on machines that have them whether that pays. Log-sum-exps may be asked for by a backward
/// pass to come: it forms scores of f32 number by number, and they must be rounded alike in both.
#[inline]
pub(super) fn suit<T: Storage<Real = f32>, C: Cut>(isa: Isa, of: &Forward<'_, '_, T>) -> bool {
    if C::PARTS == MOST_PARTS && of.wants_lse {
        return false;
    }
    let (rows, real) = (of.block.spans.len(), of.block.keys.width() + of.block.values.width());
    let padded = tiled_depth(&of.block) + tiled_width(&of.block);
    let pays =
        rows >= FEWEST_ROWS[C::PARTS - 1] && 4 * padded <= real.saturating_mul(MOST_QUARTERS[C::PARTS - 1]);
    matches!(isa, Isa::ScalarAmx | Isa::ScalarAmxF16) || pays
}

/// `D`, rounded up to whole tiles.
#[inline(always)]
fn tiled_depth<T: Storage>(block: &Block<'_, T>) -> usize {
    block.keys.width().next_multiple_of(TILE_DEPTH)
}

/// `E`, rounded up to two whole tiles.
#[inline(always)]
fn tiled_width<T: Storage>(block: &Block<'_, T>) -> usize {
    block.values.width().next_multiple_of(2 * TILE_ROWS)
}

/// [`Forward`] on tiles of numbers that are cut.
pub(super) struct OnTiles<'a, 'b, T: Storage, C> {
    pub(super) of: Forward<'a, 'b, T>,
    pub(super) cut: C,
}

impl<'a, 'b, T: Storage<Real = f32>, C: Cut> TileKernel for OnTiles<'a, 'b, T, C> {
    /// What was given, where tiles cannot hold its numbers.
    type Output = Option<Forward<'a, 'b, T>>;

    #[inline(always)]
    fn run<S: TileDots>(mut self, isa: S) -> Self::Output {
        let Forward { block, scratch, out, lse, wants_lse, wanted } = &mut self.of;
        if block.spans.is_empty() {
            return None;
        }
        let products = Tiles::new(isa, self.cut, block, &mut scratch.tiles);
        let attend = Attend {
            block: *block,
            room: &mut scratch.room,
            out,
            lse: (lse, *wants_lse),
            wanted: wanted.as_mut(),
        };
        isa.begin_tiles();
        let done = attend.run(isa, products);
        isa.end_tiles();
        if done { None } else { Some(self.of) }
    }
}

/// Memory of [`Tiles`].
pub(super) struct TileBuffers {
    queries: Buffer<bf16>,
    lines: Buffer<f32>,
    copies: Buffer<bf16>,
    keys: Buffer<bf16>,
    values: Buffer<bf16>,
    weights: Buffer<bf16>,
    sums: Buffer<f32>,
    factors: Buffer<f32>,
}

impl TileBuffers {
    pub(super) const fn new() -> Self {
        TileBuffers {
            queries: Buffer::new(),
            lines: Buffer::new(),
            copies: Buffer::new(),
            keys: Buffer::new(),
            values: Buffer::new(),
            weights: Buffer::new(),
            sums: Buffer::new(),
            factors: Buffer::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let TileBuffers { queries, lines, copies, keys, values, weights, sums, factors } = self;
        let narrow: usize = [queries, copies, keys, values, weights].into_iter().map(Buffer::bytes).sum();
        narrow + lines.bytes() + sums.bytes() + factors.bytes()
    }
}

/// A block's products, tile by tile.
struct Tiles<'a, C> {
    /// `(parts, panels, depth/2, LANES, 2)`; packed when they are first used.
    queries: &'a mut [bf16],
    /// Rows that do not lie as they are needed: widened to be cut, or copied.
    lines: &'a mut [f32],
    copies: &'a mut [bf16],
    /// `(parts, TILE_KEYS, depth)`.
    keys: &'a mut [bf16],
    /// `(parts, width/16, TILE_KEYS/32, 16, 32)`.
    values: &'a mut [bf16],
    weights: PairedWeights<'a, C>,
    /// `(panels, width, LANES)`.
    sums: &'a mut [f32],
    /// What the scores of each panel have still to be multiplied by.
    factors: &'a mut [f32],
    /// Whether the sums so far are in `sums`, not where the block has them.
    holds_sums: bool,
    /// The exponentials have left their weights in `weights`.
    narrowed: bool,
    gave_up: bool,
    panels: usize,
    /// `D` and `E`, rounded up.
    depth: usize,
    width: usize,
    factor: f32,
}

impl<'a, C: Cut> Tiles<'a, C> {
    #[inline(always)]
    fn new<T: Storage<Real = f32>, S: TileDots>(
        _: S,
        cut: C,
        block: &Block<'_, T>,
        buffers: &'a mut TileBuffers,
    ) -> Self {
        let (parts, panels) = (C::PARTS, block.spans.len().div_ceil(S::LANES));
        let (depth, width) = (tiled_depth(block), tiled_width(block));
        let lines = (TILE_KEYS * block.keys.width().max(block.values.width())).max(S::LANES * depth);
        let weights = buffers.weights.reserve(parts * panels * SLOT_KEYS * S::LANES);
        Tiles {
            queries: buffers.queries.reserve(parts * panels * depth * S::LANES),
            lines: buffers.lines.reserve(if parts > 1 { lines } else { 0 }),
            copies: buffers.copies.reserve(if parts > 1 { 0 } else { lines }),
            keys: buffers.keys.reserve(parts * TILE_KEYS * depth),
            values: buffers.values.reserve(parts * TILE_KEYS * width),
            weights: PairedWeights { pairs: weights, cut, panels },
            sums: buffers.sums.reserve(panels * width * S::LANES),
            factors: buffers.factors.reserve(panels),
            holds_sums: false,
            narrowed: false,
            gave_up: false,
            panels,
            depth,
            width,
            factor: block.factor() as f32,
        }
    }

    /// What products become scores by, where that is not in the queries.
    #[inline(always)]
    fn factor(&self) -> f32 {
        if C::PARTS == MOST_PARTS { 1.0 } else { self.factor }
    }

    /// Scores of one or two panels with the keys of a tile, and the maxima with them.
    #[inline(always)]
    fn score_panels<T: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        of: &mut Scoring<'_, '_, '_, T>,
        panels: Range<usize>,
        (keys, row, part): (*const bf16, isize, usize),
    ) {
        let lanes = S::LANES;
        let two = [panels.start, panels.end - 1];
        let seen = seen_by(of.reach, two, &of.tile);
        let around = around(&seen);
        // Products may stay what they are where their maximum is that of scores, and nobody looks at them but exponentials().
        let factor = self.factor();
        let alone = of.notes.is_none() && !of.block.drops();
        let stays = alone && of.is_plain(&panels, &seen[0]) && factor >= f32::MIN_POSITIVE;
        let (size, stride) = (self.depth * lanes, of.to.stride);
        assert!(self.queries.len() >= C::PARTS * self.panels * size && panels.end <= self.panels);
        assert!(of.to.data.len() >= two[1] * stride + around.end * lanes);
        let mut max = [isa.splat(f32::NEG_INFINITY); 2];
        for key in (around.start..around.end).step_by(KEYS_AT_ONCE) {
            // SAFETY: whoever takes keys gives rows up to a multiple of `KEYS_AT_ONCE`; queries of all panels and room for the scores of
            // all these keys have been checked above.
            unsafe {
                let to = of.to.data.as_mut_ptr().add(key * lanes);
                let to = [to.add(two[0] * stride), to.add(two[1] * stride)];
                let queries = self.queries.as_ptr();
                let first = keys.wrapping_offset(key as isize * row);
                isa.multiply_tiles(&TileProduct {
                    numbers: self.weights.cut.numbers(),
                    a: [first, first.wrapping_offset(TILE_ROWS as isize * row)],
                    a_row: row,
                    a_step: TILE_DEPTH,
                    a_part: part,
                    b: [queries.add(two[0] * size), queries.add(two[1] * size)],
                    b_part: self.panels * size,
                    c: [to, [to[0].add(TILE_ROWS * lanes), to[1].add(TILE_ROWS * lanes)]],
                    steps: self.depth / TILE_DEPTH,
                    adds: false,
                });
            }
            for i in 0..panels.len() {
                let (start, end) = (key.max(seen[i].start), (key + KEYS_AT_ONCE).min(seen[i].end));
                let first = two[i] * stride;
                let products = &mut of.to.data[first + start.min(end) * lanes..first + end * lanes];
                if stays {
                    max[i] = maximum(isa, max[i], products);
                } else if factor != 1.0 {
                    for product in products.chunks_exact_mut(lanes) {
                        isa.store(isa.mul(isa.load(product), isa.splat(factor)), product);
                    }
                }
            }
        }
        for i in 0..panels.len() {
            self.factors[two[i]] = if stays { factor } else { 1.0 };
            if stays {
                let to = &mut of.max[two[i] * lanes..];
                isa.store(isa.max(isa.load(to), isa.mul(max[i], isa.splat(factor))), to);
            } else {
                of.settle(isa, two[i]);
            }
        }
    }

    /// Adds the products of one or two panels to their sums, which are multiplied by `alpha` first, or begin here.
    #[inline(always)]
    fn weigh_panels<T: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        of: &Weighing<'_, '_, T>,
        panels: Range<usize>,
    ) {
        let lanes = S::LANES;
        let two = [panels.start, panels.end - 1];
        let seen = seen_by(of.reach, two, &of.tile);
        let around = around(&seen);
        let size = self.width * lanes;
        for i in 0..panels.len() {
            let sums = &mut self.sums[two[i] * size..][..size];
            match of.alpha {
                Some(alpha) => {
                    let alpha = isa.load(&alpha[two[i] * lanes..]);
                    // A maximum that stays leaves sums as they are, and most do after some tiles.
                    let changes = isa.greater(isa.splat(1.0), alpha) != 0;
                    for at in (0..if changes { size } else { 0 }).step_by(lanes) {
                        let sum = isa.mul(isa.load(&sums[at..]), alpha);
                        isa.store(sum, &mut sums[at..]);
                    }
                }
                None if around.is_empty() => sums.fill(0.0),
                None => {}
            }
            self.weights.clear(isa, two[i], &around, &seen[i]);
        }
        if around.is_empty() {
            return;
        }
        let part = self.weights.part(lanes);
        assert!(self.weights.pairs.len() >= C::PARTS * part && panels.end <= self.panels);
        assert!(self.values.len() >= C::PARTS * TILE_KEYS * self.width && around.end <= TILE_KEYS);
        assert!(self.sums.len() >= self.panels * size);
        let sums = self.sums.as_mut_ptr();
        for column in (0..self.width).step_by(2 * TILE_ROWS) {
            // SAFETY: values, weights and sums of all columns, keys and panels have been checked above.
            unsafe {
                let tiles = column / TILE_ROWS * (TILE_KEYS / TILE_DEPTH) + around.start / TILE_DEPTH;
                let values = self.values.as_ptr().add(tiles * TILE);
                let weights = self.weights.pairs.as_ptr().add(around.start * lanes);
                let to = sums.add(column * lanes);
                let to = [to.add(two[0] * size), to.add(two[1] * size)];
                isa.multiply_tiles(&TileProduct {
                    numbers: self.weights.cut.numbers(),
                    a: [values, values.add(TILE_KEYS / TILE_DEPTH * TILE)],
                    a_row: TILE_DEPTH as isize,
                    a_step: TILE,
                    a_part: TILE_KEYS * self.width,
                    b: [weights.add(two[0] * SLOT_KEYS * lanes), weights.add(two[1] * SLOT_KEYS * lanes)],
                    b_part: part,
                    c: [to, [to[0].add(TILE_ROWS * lanes), to[1].add(TILE_ROWS * lanes)]],
                    steps: around.len() / TILE_DEPTH,
                    adds: of.alpha.is_some(),
                });
            }
        }
    }

    /// The sums of all rows to where the block has them, multiplied by `inverse` where there is one; or back from there.
    #[inline(always)]
    fn transpose_sums<T: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        of: &mut Weighing<'_, '_, T>,
        gives: bool,
    ) {
        let (lanes, rows) = (S::LANES, of.block.spans.len());
        for panel in 0..self.panels {
            let lowered = raised(if gives { -C::RAISED_BY } else { C::RAISED_BY });
            let by = match of.inverse {
                Some(inverse) if gives => isa.mul(isa.load(&inverse[panel * lanes..]), isa.splat(lowered)),
                _ => isa.splat(lowered),
            };
            let present = lanes.min(rows - panel * lanes);
            for column in (0..of.width).step_by(lanes) {
                let mut square = isa.square(isa.splat(0.0));
                let sums = &mut self.sums[(panel * self.width + column) * lanes..][..lanes * lanes];
                if gives {
                    for i in 0..lanes {
                        square.as_mut()[i] = isa.mul(isa.load(&sums[i * lanes..]), by);
                    }
                }
                for row in 0..if gives { 0 } else { present } {
                    let from = (panel * lanes + row) * of.width + column;
                    square.as_mut()[row] = isa.load(&of.out[from..]);
                }
                let square = isa.transpose(square);
                if !gives {
                    for i in 0..lanes {
                        isa.store(isa.mul(square.as_ref()[i], by), &mut sums[i * lanes..]);
                    }
                }
                for row in 0..if gives { present } else { 0 } {
                    let to = (panel * lanes + row) * of.width + column;
                    isa.store(square.as_ref()[row], &mut of.out[to..]);
                }
            }
        }
        self.holds_sums = !gives;
    }
}

/// What each of two panels sees of a tile.
#[inline(always)]
fn seen_by(reach: &[Reach], [a, b]: [usize; 2], tile: &Tile) -> [Range<usize>; 2] {
    [reach[a].some.within(tile), reach[b].some.within(tile)]
}

/// Whole tiles of keys around what two panels see.
#[inline(always)]
fn around([a, b]: &[Range<usize>; 2]) -> Range<usize> {
    let (start, end) = match (a.is_empty(), b.is_empty()) {
        (true, true) => return 0..0,
        (false, true) => (a.start, a.end),
        (true, false) => (b.start, b.end),
        (false, false) => (a.start.min(b.start), a.end.max(b.end)),
    };
    start / TILE_DEPTH * TILE_DEPTH..end.next_multiple_of(TILE_DEPTH)
}

/// Queries, keys and values: as words where they are not cut.
impl<C: Cut> Tiles<'_, C> {
    #[inline(always)]
    fn take_queries<T: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        block: &Block<'_, T>,
        panels: Range<usize>,
    ) {
        if C::PARTS == 1 {
            self.move_queries(isa, block, panels);
        } else {
            self.pack_queries(isa, block, panels);
        }
    }

    /// The keys of a tile as left operand: the first row, from a row to the next and from a part to the next.
    #[inline(always)]
    fn take_keys<T: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        of: &Scoring<'_, '_, '_, T>,
    ) -> (*const bf16, isize, usize) {
        if C::PARTS == 1 { self.move_keys(of) } else { self.cut_keys(isa, of) }
    }

    /// The values of a tile, transposed; whether they are finite, as far as that matters, and whether they can be cut.
    #[inline(always)]
    fn take_values<T: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        of: &Weighing<'_, '_, T>,
    ) -> (bool, bool) {
        if C::PARTS == 1 { (self.move_values(isa, of), true) } else { self.cut_values(isa, of) }
    }
}

impl<T: Storage<Real = f32>, S: TileDots, C: Cut> Products<T, S> for Tiles<'_, C> {
    #[inline(always)]
    fn score(&mut self, isa: S, mut of: Scoring<'_, '_, '_, T>) {
        let keys = self.take_keys(isa, &of);
        for panels in of.groups() {
            if of.is_first() {
                of.block.fetch_queries(panels.end * S::LANES, 2 * S::LANES);
                self.take_queries(isa, of.block, panels.clone());
            }
            of.fetch_values(&panels);
            self.score_panels(isa, &mut of, panels, keys);
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
        let scores = Scores { all: scores, factor: self.factors[panel], base };
        let sum = self.weights.exponentials(isa, panel, keys, &scores);
        isa.mul(sum, isa.splat(raised(-C::RAISED_BY)))
    }

    #[inline(always)]
    fn left_scores(&self) -> bool {
        self.narrowed
    }

    #[inline(always)]
    fn left_factor(&self, panel: usize) -> f32 {
        self.factors[panel]
    }

    #[inline(always)]
    fn weigh(&mut self, isa: S, mut of: Weighing<'_, '_, T>) -> bool {
        let (finite, fit) = self.take_values(isa, &of);
        let narrowed = std::mem::take(&mut self.narrowed);
        if C::PARTS > 1 && !fit {
            self.gave_up = true;
            return false;
        }
        if of.hides_some() && !finite {
            if self.holds_sums {
                of.inverse = None;
                self.transpose_sums(isa, &mut of, true);
            }
            return false;
        }
        if !narrowed {
            self.weights.narrow(isa, &of);
        }
        if of.alpha.is_some() && !self.holds_sums {
            self.transpose_sums(isa, &mut of, false);
        }
        self.holds_sums = true;
        for first in (0..self.panels).step_by(2) {
            let panels = first..(first + 2).min(self.panels);
            self.weigh_panels(isa, &of, panels);
        }
        if of.next.is_none() {
            self.transpose_sums(isa, &mut of, true);
        }
        true
    }

    #[inline(always)]
    fn gave_up(&self) -> bool {
        self.gave_up
    }
}
