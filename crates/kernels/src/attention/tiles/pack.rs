//! Queries, keys and values of tiles, cut into two or three parts.

use super::super::TILE_KEYS;
use super::super::narrow::{Cut, MOST_PARTS};
use super::super::part::Block;
use super::super::products::{Scoring, Weighing};
use super::super::rows::Rows;
use super::super::storage::{Storage, widen_row};
use super::{KEYS_AT_ONCE, TILE, Tiles};
use crate::bf16;
use crate::simd::{MOST_LANES, TILE_DEPTH, TILE_ROWS, TileDots};
use std::ops::Range;

/// What the largest number of a tile must exceed: parts and their products with weights count as 0 below 2⁻¹²⁶, which must not be
/// seen beside it.
const SMALLEST: f32 = 1.0 / (1u64 << 60) as f32;
/// What no number may exceed: were a product of parts to overflow, another would with the opposite sign, and −∞ + ∞ is no score.
const LARGEST: f32 = (1u64 << 56) as f32;

/// What has been seen among numbers that were taken apart.
#[derive(Clone, Copy)]
struct Watch<V> {
    /// 0 unless there was an infinity or NaN.
    zero: V,
    /// The largest size.
    largest: V,
}

impl<V: Copy> Watch<V> {
    #[inline(always)]
    fn new<S: TileDots<Vector = V>>(isa: S) -> Self {
        Watch { zero: isa.splat(0.0), largest: isa.splat(0.0) }
    }

    #[inline(always)]
    fn see<S: TileDots<Vector = V>>(&mut self, isa: S, x: V) {
        let none = isa.splat(0.0);
        self.zero = isa.mul_add(x, none, self.zero);
        self.largest = isa.max(self.largest, isa.max(x, isa.sub(none, x)));
    }

    #[inline(always)]
    fn is_finite<S: TileDots<Vector = V>>(self, isa: S) -> bool {
        isa.sum(self.zero) == 0.0
    }

    /// Whether the sum of several parts serves for all of it.
    #[inline(always)]
    fn is_fit<S: TileDots<Vector = V>>(self, isa: S) -> bool {
        let exceeds = |bound: f32| isa.greater(self.largest, isa.splat(bound)) != 0;
        self.is_finite(isa) && !exceeds(LARGEST) && (exceeds(SMALLEST) || !exceeds(0.0))
    }
}

/// The vector of `row` from `at` on, widened, with zeros behind its end.
#[inline(always)]
pub(super) fn vector_of<T: Storage<Real = f32>, S: TileDots>(isa: S, row: &[T], at: usize) -> S::Vector {
    if at + S::LANES <= row.len() {
        // SAFETY: the row holds a vector from `at` on.
        unsafe { T::load_at(isa, row.as_ptr().add(at)) }
    } else if at < row.len() {
        T::load_first(isa, &row[at..])
    } else {
        isa.splat(0.0)
    }
}

/// Two vectors of numbers in so many parts: one vector behind the other, or number beside number.
#[inline(always)]
fn parts_of<S: TileDots, const ZIPPED: bool>(
    isa: S,
    parts: usize,
    [mut a, mut b]: [S::Vector; 2],
) -> [S::Pairs; MOST_PARTS] {
    let mut found = [isa.zip_truncated(a, b); MOST_PARTS];
    for part in 0..parts {
        // The last part is all that is left, which a bf16 can hold.
        let (mut x, mut y) = (a, b);
        if part + 1 < parts {
            (x, y) = (isa.rounded(a), isa.rounded(b));
            (a, b) = (isa.sub(a, x), isa.sub(b, y));
        }
        found[part] = if ZIPPED { isa.zip_truncated(x, y) } else { isa.join_truncated(x, y) };
    }
    found
}

impl<C: Cut> Tiles<'_, C> {
    /// The queries of some panels, in parts; rows behind the last repeat it.
    #[inline(always)]
    pub(super) fn pack_queries<T: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        block: &Block<'_, T>,
        panels: Range<usize>,
    ) {
        let width = block.keys.width();
        let mut watch = Watch::new(isa);
        for panel in panels.start..panels.end {
            if let Some(rows) = block.lying_queries(panel * S::LANES, S::LANES) {
                self.pack_panel(isa, panel, rows, &mut watch);
                continue;
            }
            for lane in 0..S::LANES {
                let (part, query) = block.query(panel * S::LANES + lane);
                widen_row(&part.queries, query, 0, &mut self.lines[lane * width..][..width]);
            }
            // Taken out for a moment, so that what is packed can be written beside it.
            let lines = std::mem::take(&mut self.lines);
            let mut rows = [&[][..]; MOST_LANES];
            for lane in 0..S::LANES {
                rows[lane] = &lines[lane * width..][..width];
            }
            self.pack_panel::<f32, S>(isa, panel, rows, &mut watch);
            self.lines = lines;
        }
        self.gave_up |= !watch.is_fit(isa);
    }

    #[inline(always)]
    fn pack_panel<U: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        panel: usize,
        rows: [&[U]; MOST_LANES],
        watch: &mut Watch<S::Vector>,
    ) {
        let (lanes, parts) = (S::LANES, C::PARTS);
        let part_size = self.panels * self.depth * lanes;
        let factor = isa.splat(self.factor);
        for at in (0..self.depth).step_by(2 * lanes) {
            let mut squares = [isa.square(isa.splat(0.0)); MOST_PARTS];
            for lane in 0..lanes {
                let mut two = [vector_of(isa, rows[lane], at), vector_of(isa, rows[lane], at + lanes)];
                for i in 0..2 {
                    if parts == MOST_PARTS {
                        two[i] = isa.mul(two[i], factor);
                    }
                    watch.see(isa, two[i]);
                }
                let found = parts_of::<S, false>(isa, parts, two);
                for part in 0..parts {
                    squares[part].as_mut()[lane] = isa.as_vector(found[part]);
                }
            }
            for part in 0..parts {
                let square = isa.transpose(squares[part]);
                let to = part * part_size + (panel * self.depth + at) * lanes;
                for pair in 0..lanes {
                    let to = &mut self.queries[to + pair * 2 * lanes..][..2 * lanes];
                    isa.store_pairs(isa.as_pairs(square.as_ref()[pair]), to);
                }
            }
        }
    }

    /// The keys of a tile as left operand: the first row, from a row to the next and from a part to the next.
    #[inline(always)]
    pub(super) fn cut_keys<T: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        of: &Scoring<'_, '_, '_, T>,
    ) -> (*const bf16, isize, usize) {
        let (table, range) = (&of.block.keys, [of.tile.start, of.tile.end]);
        let count = of.tile.end - of.tile.start;
        let mut watch = Watch::new(isa);
        if let Some(rows) = Rows::lying(table, range) {
            self.pack_keys(isa, rows, count, &mut watch);
        } else {
            let lines = std::mem::take(&mut self.lines);
            let rows = Rows::of(isa, table, range, table.width(), lines);
            self.pack_keys::<f32, S>(isa, rows, count, &mut watch);
            self.lines = lines;
        }
        self.gave_up |= !watch.is_fit(isa);
        (self.keys.as_ptr(), self.depth as isize, TILE_KEYS * self.depth)
    }

    #[inline(always)]
    fn pack_keys<U: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        rows: Rows<'_, U>,
        count: usize,
        watch: &mut Watch<S::Vector>,
    ) {
        let (lanes, parts, depth) = (S::LANES, C::PARTS, self.depth);
        for key in 0..count {
            let row = rows.row(key);
            for at in (0..depth).step_by(2 * lanes) {
                let two = [vector_of(isa, row, at), vector_of(isa, row, at + lanes)];
                watch.see(isa, two[0]);
                watch.see(isa, two[1]);
                let found = parts_of::<S, false>(isa, parts, two);
                for part in 0..parts {
                    let to = (part * TILE_KEYS + key) * depth + at;
                    isa.store_pairs(found[part], &mut self.keys[to..][..2 * lanes]);
                }
            }
        }
        let padded = count.next_multiple_of(KEYS_AT_ONCE);
        for part in 0..parts {
            let rows = (part * TILE_KEYS + count) * depth..(part * TILE_KEYS + padded) * depth;
            self.keys[rows].fill(bf16::ZERO);
        }
    }

    /// The values of a tile, transposed and in parts; whether they are finite, and whether they can be cut.
    #[inline(always)]
    pub(super) fn cut_values<T: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        of: &Weighing<'_, '_, T>,
    ) -> (bool, bool) {
        let (table, range) = (&of.block.values, [of.tile.start, of.tile.end]);
        let count = of.tile.end - of.tile.start;
        let mut watch = Watch::new(isa);
        if let Some(rows) = Rows::lying(table, range) {
            self.pack_values(isa, rows, count, &mut watch);
        } else {
            let lines = std::mem::take(&mut self.lines);
            let rows = Rows::of(isa, table, range, table.width(), lines);
            self.pack_values::<f32, S>(isa, rows, count, &mut watch);
            self.lines = lines;
        }
        (watch.is_finite(isa), watch.is_fit(isa))
    }

    #[inline(always)]
    fn pack_values<U: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        rows: Rows<'_, U>,
        count: usize,
        watch: &mut Watch<S::Vector>,
    ) {
        let (lanes, parts) = (S::LANES, C::PARTS);
        let part_size = TILE_KEYS * self.width;
        let none = isa.splat(0.0);
        for step in 0..count.div_ceil(TILE_DEPTH) {
            for column in (0..self.width).step_by(lanes) {
                let to = (column / TILE_ROWS * (TILE_KEYS / TILE_DEPTH) + step) * TILE;
                let to = to + column % TILE_ROWS * TILE_DEPTH;
                for first in (0..TILE_DEPTH).step_by(2 * lanes) {
                    let mut squares = [isa.square(none); MOST_PARTS];
                    for pair in 0..lanes {
                        let key = step * TILE_DEPTH + first + 2 * pair;
                        let mut two = [none; 2];
                        for i in 0..2 {
                            if key + i < count {
                                two[i] = vector_of(isa, rows.row(key + i), column);
                                watch.see(isa, two[i]);
                            }
                        }
                        let found = parts_of::<S, true>(isa, parts, two);
                        for part in 0..parts {
                            squares[part].as_mut()[pair] = isa.as_vector(found[part]);
                        }
                    }
                    for part in 0..parts {
                        let square = isa.transpose(squares[part]);
                        for row in 0..lanes {
                            let to = part * part_size + to + row * TILE_DEPTH + first;
                            let pairs = isa.as_pairs(square.as_ref()[row]);
                            isa.store_pairs(pairs, &mut self.values[to..][..2 * lanes]);
                        }
                    }
                }
            }
        }
    }
}
