//! Queries, keys and values of tiles whose numbers are multiplied as they are: sixteen bits each, moved and nothing else.

use super::super::TILE_KEYS;
use super::super::narrow::Cut;
use super::super::part::Block;
use super::super::products::{Scoring, Weighing};
use super::super::rows::Rows;
use super::super::storage::{Storage, copy_row};
use super::super::table::Table;
use super::pack::vector_of;
use super::{KEYS_AT_ONCE, TILE, Tiles};
use crate::bf16;
use crate::simd::{MOST_LANES, TILE_DEPTH, TILE_ROWS, TileDots};
use std::ops::Range;

/// Numbers as what lies in memory. Only types of sixteen bits get here.
#[inline(always)]
fn words<T: Storage>(numbers: &[T]) -> &[bf16] {
    T::as_words(numbers).expect("numbers of sixteen bits")
}

/// Memory for such numbers.
#[inline(always)]
fn numbers_in<T: Storage>(words: &mut [bf16]) -> &mut [T] {
    T::of_words_mut(words).expect("numbers of sixteen bits")
}

/// Some rows of a table as they lie, or copied to `memory`.
#[inline(always)]
fn rows_of<'a, T: Storage>(table: &Table<'a, T>, range: [usize; 2], memory: &'a mut [bf16]) -> Rows<'a, T> {
    Rows::stored(table, range, table.width(), numbers_in(memory))
}

/// Whether the first `count` rows hold neither an infinity nor a NaN: 0 times any of them is not 0.
#[inline(always)]
fn all_finite<T: Storage<Real = f32>, S: TileDots>(isa: S, rows: Rows<'_, T>, count: usize) -> bool {
    let none = isa.splat(0.0);
    let mut sums = [none; 4];
    for key in 0..count {
        let row = rows.row(key);
        for column in (0..row.len()).step_by(S::LANES) {
            let sum = &mut sums[key % 4];
            *sum = isa.mul_add(vector_of(isa, row, column), none, *sum);
        }
    }
    isa.sum(isa.add(isa.add(sums[0], sums[1]), isa.add(sums[2], sums[3]))) == 0.0
}

impl<C: Cut> Tiles<'_, C> {
    /// The queries of some panels, pairs along the width transposed; rows behind the last repeat it.
    #[inline(always)]
    pub(super) fn move_queries<T: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        block: &Block<'_, T>,
        panels: Range<usize>,
    ) {
        let (lanes, width) = (S::LANES, block.keys.width());
        for panel in panels.start..panels.end {
            let rows = if let Some(rows) = block.lying_queries(panel * lanes, lanes) {
                rows
            } else {
                let lines = numbers_in::<T>(self.copies);
                for lane in 0..lanes {
                    let (part, query) = block.query(panel * lanes + lane);
                    copy_row(&part.queries, query, &mut lines[lane * width..][..width]);
                }
                let mut rows = [&[][..]; MOST_LANES];
                for lane in 0..lanes {
                    rows[lane] = &lines[lane * width..][..width];
                }
                rows
            };
            for at in (0..self.depth).step_by(2 * lanes) {
                let mut square = isa.square(isa.splat(0.0));
                for lane in 0..lanes {
                    let row = words(rows[lane]);
                    let some = &row[at.min(width)..(at + 2 * lanes).min(width)];
                    square.as_mut()[lane] = isa.as_vector(isa.load_pairs(some));
                }
                let square = isa.transpose(square);
                for pair in 0..lanes {
                    let to = (panel * self.depth + at + 2 * pair) * lanes;
                    isa.store_pairs(
                        isa.as_pairs(square.as_ref()[pair]),
                        &mut self.queries[to..][..2 * lanes],
                    );
                }
            }
        }
    }

    /// The keys of a tile where they lie, if whole tiles lie there, or copied.
    #[inline(always)]
    pub(super) fn move_keys<T: Storage<Real = f32>>(
        &mut self,
        of: &Scoring<'_, '_, '_, T>,
    ) -> (*const bf16, isize, usize) {
        let (table, range) = (&of.block.keys, [of.tile.start, of.tile.end]);
        let (count, depth) = (of.tile.end - of.tile.start, self.depth);
        if table.width() == depth
            && count.is_multiple_of(KEYS_AT_ONCE)
            && let Some(rows) = Rows::lying(table, range)
        {
            return (rows.first_of(count).cast(), rows.stride(), 0);
        }
        let rows = rows_of(table, range, self.copies);
        for key in 0..count {
            let (row, to) = (words(rows.row(key)), &mut self.keys[key * depth..][..depth]);
            to[..row.len()].copy_from_slice(row);
            to[row.len()..].fill(bf16::ZERO);
        }
        self.keys[count * depth..count.next_multiple_of(KEYS_AT_ONCE) * depth].fill(bf16::ZERO);
        (self.keys.as_ptr(), depth as isize, 0)
    }

    /// The values of a tile, transposed; whether they are finite, where not all rows see all of them.
    #[inline(always)]
    pub(super) fn move_values<T: Storage<Real = f32>, S: TileDots>(
        &mut self,
        isa: S,
        of: &Weighing<'_, '_, T>,
    ) -> bool {
        let (table, range) = (&of.block.values, [of.tile.start, of.tile.end]);
        let (lanes, width, count) = (S::LANES, table.width(), of.tile.end - of.tile.start);
        let rows = rows_of(table, range, self.copies);
        for column in (0..self.width).step_by(2 * lanes) {
            for key in (0..count.next_multiple_of(TILE_DEPTH)).step_by(2 * lanes) {
                let mut squares = [isa.square(isa.splat(0.0)); 2];
                if column + 2 * lanes <= width && key + 2 * lanes <= count {
                    for pair in 0..lanes {
                        let (a, b) = (words(rows.row(key + 2 * pair)), words(rows.row(key + 2 * pair + 1)));
                        let (a, b) = (&a[column..][..2 * lanes], &b[column..][..2 * lanes]);
                        // SAFETY: both hold two vectors.
                        let two = unsafe { isa.zip_two_at(a.as_ptr(), b.as_ptr()) };
                        squares[0].as_mut()[pair] = isa.as_vector(two[0]);
                        squares[1].as_mut()[pair] = isa.as_vector(two[1]);
                    }
                } else {
                    for pair in 0..lanes {
                        for half in 0..2 {
                            let columns =
                                (column + half * lanes).min(width)..(column + (half + 1) * lanes).min(width);
                            let mut two = [&[][..]; 2];
                            for i in 0..2 {
                                if key + 2 * pair + i < count {
                                    two[i] = &words(rows.row(key + 2 * pair + i))[columns.clone()];
                                }
                            }
                            squares[half].as_mut()[pair] = isa.as_vector(isa.zip_pairs(two[0], two[1]));
                        }
                    }
                }
                for half in 0..2 {
                    let square = isa.transpose(squares[half]);
                    let first = column + half * lanes;
                    let to = (first / TILE_ROWS * (TILE_KEYS / TILE_DEPTH) + key / TILE_DEPTH) * TILE;
                    let to = to + first % TILE_ROWS * TILE_DEPTH + key % TILE_DEPTH;
                    for row in 0..lanes {
                        let pairs = isa.as_pairs(square.as_ref()[row]);
                        isa.store_pairs(pairs, &mut self.values[to + row * TILE_DEPTH..][..2 * lanes]);
                    }
                }
            }
        }
        !of.hides_some() || all_finite(isa, rows, count)
    }
}
