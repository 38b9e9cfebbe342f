//! Products of whole tiles of bf16, where the machine has instructions for them (`simd/tiles.rs`): of bf16 itself, and of f16 and f32
//! as sums of two and three parts, which keep all of their bits.
//!
//! ```text
//! qt (parts, panels, D/2, LANES, 2)         right operand; pairs along the width, transposed; in three parts the factor too
//! k  (parts, keys, D)                       left operand; bf16 is read as it lies
//! s  (panels, keys, LANES)  in f32          adjusted as for every other way of multiplying
//! at (parts, panels, keys/2, LANES, 2)      right operand; weights of two keys                                      narrow.rs
//! vt (parts, E/16, keys/32, 16, 32)         left operand; a tile of values, transposed
//! ot (panels, E, LANES)     in f32          sums of the block, transposed as well, until the last tile has been added
//! ```
//!
//! D and E are rounded up to whole tiles with zeros, and so are the keys of a tile.
//!
//! Numbers that parts cannot hold (∞, NaN, very large ones, nothing but very small ones) are noticed while they are taken apart. The block is then computed once more without
//! tiles: they give up, and nothing that they have written is read.

use super::TILE_KEYS;
use super::block::{Attend, Forward, SLOT_KEYS};
use super::buffer::Buffer;
use super::narrow::{MOST_PARTS, PairedWeights};
use super::part::Block;
use super::products::{Products, Scoring, Weighing};
use super::storage::Storage;
use crate::bf16;
use crate::simd::{Isa, TILE_DEPTH, TILE_ROWS, TileDots, TileKernel, TileProduct};
use std::ops::Range;

mod pack;

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
pub(super) fn suit<T: Storage<Real = f32>>(isa: Isa, of: &Forward<'_, '_, T>) -> bool {
    if T::PARTS == MOST_PARTS && of.wants_lse {
        return false;
    }
    let (rows, real) = (of.block.spans.len(), of.block.keys.width() + of.block.values.width());
    let padded = tiled_depth(&of.block) + tiled_width(&of.block);
    let pays =
        rows >= FEWEST_ROWS[T::PARTS - 1] && 4 * padded <= real.saturating_mul(MOST_QUARTERS[T::PARTS - 1]);
    isa == Isa::ScalarAmx || pays
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

/// [`Forward`] on tiles.
pub(super) struct OnTiles<'a, 'b, T: Storage>(pub(super) Forward<'a, 'b, T>);

impl<'a, 'b, T: Storage<Real = f32>> TileKernel for OnTiles<'a, 'b, T> {
    /// What was given, where tiles cannot hold its numbers.
    type Output = Option<Forward<'a, 'b, T>>;

    #[inline(always)]
    fn run<S: TileDots>(mut self, isa: S) -> Self::Output {
        let Forward { block, scratch, out, lse, wants_lse, wanted } = &mut self.0;
        if block.spans.is_empty() {
            return None;
        }
        let products = Tiles::new(isa, block, &mut scratch.tiles);
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
        if done { None } else { Some(self.0) }
    }
}

/// Memory of [`Tiles`].
pub(super) struct TileBuffers {
    queries: Buffer<bf16>,
    lines: Buffer<f32>,
    keys: Buffer<bf16>,
    values: Buffer<bf16>,
    weights: Buffer<bf16>,
    sums: Buffer<f32>,
}

impl TileBuffers {
    pub(super) const fn new() -> Self {
        TileBuffers {
            queries: Buffer::new(),
            lines: Buffer::new(),
            keys: Buffer::new(),
            values: Buffer::new(),
            weights: Buffer::new(),
            sums: Buffer::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let TileBuffers { queries, lines, keys, values, weights, sums } = self;
        let narrow: usize = [queries, keys, values, weights].into_iter().map(Buffer::bytes).sum();
        narrow + lines.bytes() + sums.bytes()
    }
}

/// A block's products, tile by tile.
struct Tiles<'a> {
    /// `(parts, panels, depth/2, LANES, 2)`; packed when they are first used.
    queries: &'a mut [bf16],
    /// Rows that do not lie as they are needed, widened.
    lines: &'a mut [f32],
    /// `(parts, TILE_KEYS, depth)`.
    keys: &'a mut [bf16],
    /// `(parts, width/16, TILE_KEYS/32, 16, 32)`.
    values: &'a mut [bf16],
    weights: PairedWeights<'a>,
    /// `(panels, width, LANES)`.
    sums: &'a mut [f32],
    /// Whether the sums so far are in `sums`, not where the block has them.
    holds_sums: bool,
    /// The exponentials have left their weights in `weights`.
    narrowed: bool,
    gave_up: bool,
    parts: usize,
    panels: usize,
    /// `D` and `E`, rounded up.
    depth: usize,
    width: usize,
    factor: f32,
}

impl<'a> Tiles<'a> {
    #[inline(always)]
    fn new<T: Storage<Real = f32>, S: TileDots>(
        _: S,
        block: &Block<'_, T>,
        buffers: &'a mut TileBuffers,
    ) -> Self {
        let (parts, panels) = (T::PARTS, block.spans.len().div_ceil(S::LANES));
        let (depth, width) = (tiled_depth(block), tiled_width(block));
        let lines = (TILE_KEYS * block.keys.width().max(block.values.width())).max(S::LANES * depth);
        let weights = buffers.weights.reserve(parts * panels * SLOT_KEYS * S::LANES);
        Tiles {
            queries: buffers.queries.reserve(parts * panels * depth * S::LANES),
            lines: buffers.lines.reserve(lines),
            keys: buffers.keys.reserve(parts * TILE_KEYS * depth),
            values: buffers.values.reserve(parts * TILE_KEYS * width),
            weights: PairedWeights { pairs: weights, parts, panels },
            sums: buffers.sums.reserve(panels * width * S::LANES),
            holds_sums: false,
            narrowed: false,
            gave_up: false,
            parts,
            panels,
            depth,
            width,
            factor: block.factor() as f32,
        }
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
        let seen = two.map(|panel| of.reach[panel].some.within(&of.tile));
        let plain = of.is_plain(&panels, &seen[0]) && of.notes.is_none();
        let around = around(&seen);
        let (size, stride) = (self.depth * lanes, of.to.stride);
        assert!(self.queries.len() >= self.parts * self.panels * size && panels.end <= self.panels);
        assert!(of.to.data.len() >= two[1] * stride + around.end * lanes);
        let mut max = two.map(|panel| isa.load(&of.max[panel * lanes..]));
        for key in (around.start..around.end).step_by(KEYS_AT_ONCE) {
            let to = of.to.data.as_mut_ptr();
            // SAFETY: `take_keys` gives rows up to a multiple of `KEYS_AT_ONCE`; queries of all panels and room for the scores of all
            // these keys have been checked above.
            unsafe {
                let to =
                    [key, key + TILE_ROWS].map(|key| two.map(|panel| to.add(panel * stride + key * lanes)));
                let first = keys.wrapping_offset(key as isize * row);
                isa.multiply_tiles(&TileProduct {
                    parts: self.parts,
                    a: [first, first.wrapping_offset(TILE_ROWS as isize * row)],
                    a_row: row,
                    a_step: TILE_DEPTH,
                    a_part: part,
                    b: two.map(|panel| self.queries.as_ptr().add(panel * size)),
                    b_part: self.panels * size,
                    c: to,
                    steps: self.depth / TILE_DEPTH,
                    adds: false,
                });
            }
            for i in 0..panels.len() {
                let (start, end) = (key.max(seen[i].start), (key + KEYS_AT_ONCE).min(seen[i].end));
                let first = two[i] * stride;
                let scores = &mut of.to.data[first + start.min(end) * lanes..first + end * lanes];
                max[i] = self.scale(isa, max[i], scores);
            }
        }
        for i in 0..panels.len() {
            if plain {
                isa.store(max[i], &mut of.max[two[i] * lanes..]);
            } else {
                of.settle(isa, two[i]);
            }
        }
    }

    /// From products to scores, while they are at hand, and the larger of `max` and them.
    #[inline(always)]
    fn scale<S: TileDots>(&self, isa: S, max: S::Vector, scores: &mut [f32]) -> S::Vector {
        let mut two = [max; 2];
        let mut pairs = scores.chunks_exact_mut(2 * S::LANES);
        for pair in &mut pairs {
            for i in 0..2 {
                two[i] = isa.max(two[i], self.score(isa, &mut pair[i * S::LANES..]));
            }
        }
        let last = pairs.into_remainder();
        if !last.is_empty() {
            two[0] = isa.max(two[0], self.score(isa, last));
        }
        isa.max(two[0], two[1])
    }

    /// The first vector of products as scores, there and as a result.
    #[inline(always)]
    fn score<S: TileDots>(&self, isa: S, products: &mut [f32]) -> S::Vector {
        let mut s = isa.load(products);
        if self.parts < MOST_PARTS {
            s = isa.mul(s, isa.splat(self.factor));
            isa.store(s, products);
        }
        s
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
        let seen = two.map(|panel| of.reach[panel].some.within(&of.tile));
        let around = around(&seen);
        let size = self.width * lanes;
        for i in 0..panels.len() {
            let sums = &mut self.sums[two[i] * size..][..size];
            match of.alpha {
                Some(alpha) => {
                    let alpha = isa.load(&alpha[two[i] * lanes..]);
                    for at in (0..size).step_by(lanes) {
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
        assert!(self.weights.pairs.len() >= self.parts * part && panels.end <= self.panels);
        assert!(self.values.len() >= self.parts * TILE_KEYS * self.width && around.end <= TILE_KEYS);
        assert!(self.sums.len() >= self.panels * size);
        let sums = self.sums.as_mut_ptr();
        for column in (0..self.width).step_by(2 * TILE_ROWS) {
            // SAFETY: values, weights and sums of all columns, keys and panels have been checked above.
            unsafe {
                let blocks = [column, column + TILE_ROWS];
                isa.multiply_tiles(&TileProduct {
                    parts: self.parts,
                    a: blocks.map(|column| {
                        let tiles = column / TILE_ROWS * (TILE_KEYS / TILE_DEPTH) + around.start / TILE_DEPTH;
                        self.values.as_ptr().add(tiles * TILE)
                    }),
                    a_row: TILE_DEPTH as isize,
                    a_step: TILE,
                    a_part: TILE_KEYS * self.width,
                    b: two.map(|panel| {
                        self.weights.pairs.as_ptr().add((panel * SLOT_KEYS + around.start) * lanes)
                    }),
                    b_part: part,
                    c: blocks.map(|column| two.map(|panel| sums.add(panel * size + column * lanes))),
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
            let inverse = match of.inverse {
                Some(inverse) => isa.load(&inverse[panel * lanes..]),
                None => isa.splat(1.0),
            };
            let present = lanes.min(rows - panel * lanes);
            for column in (0..of.width).step_by(lanes) {
                let mut square = isa.square(isa.splat(0.0));
                let sums = &mut self.sums[(panel * self.width + column) * lanes..][..lanes * lanes];
                if gives {
                    for i in 0..lanes {
                        square.as_mut()[i] = isa.mul(isa.load(&sums[i * lanes..]), inverse);
                    }
                }
                for row in 0..if gives { 0 } else { present } {
                    let from = (panel * lanes + row) * of.width + column;
                    square.as_mut()[row] = isa.load(&of.out[from..]);
                }
                let square = isa.transpose(square);
                if !gives {
                    for i in 0..lanes {
                        isa.store(square.as_ref()[i], &mut sums[i * lanes..]);
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

impl<T: Storage<Real = f32>, S: TileDots> Products<T, S> for Tiles<'_> {
    #[inline(always)]
    fn score(&mut self, isa: S, mut of: Scoring<'_, '_, '_, T>) {
        let keys = self.take_keys(isa, &of);
        for panels in of.groups() {
            if of.is_first() {
                of.block.fetch_queries(panels.end * S::LANES, 2 * S::LANES);
                self.pack_queries(isa, of.block, panels.clone());
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
        self.weights.exponentials(isa, panel, keys, base, scores)
    }

    #[inline(always)]
    fn left_scores(&self) -> bool {
        self.narrowed
    }

    #[inline(always)]
    fn weigh(&mut self, isa: S, mut of: Weighing<'_, '_, T>) -> bool {
        let (finite, fit) = self.take_values(isa, &of);
        let narrowed = std::mem::take(&mut self.narrowed);
        if self.parts > 1 && !fit {
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
