//! Biases and masks that will be needed next are asked for while products are formed, a row with each register tile or so. All at once
//! they would take longer to come than there is anything else to do.

use super::part::{Block, Tile};
use super::storage::Storage;
use crate::View;
use crate::simd::prefetch;
use std::ops::Range;

/// Bytes that memory brings at once.
const CACHE_LINE: usize = 64;

/// What is to be asked for: the same keys of some rows.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    rows: usize,
    bias: Line,
    mask: Line,
}

impl Ahead {
    pub(super) const NOTHING: Ahead = Ahead { rows: 0, bias: Line::NONE, mask: Line::NONE };

    /// For some panels of `lanes` rows and the keys of a tile. Panels behind the block's last are those that the next tile begins with,
    /// `step` keys on: nobody has to have them.
    #[inline(always)]
    pub(super) fn of<T: Storage>(
        block: &Block<'_, T>,
        panels: Range<usize>,
        lanes: usize,
        tile: &Tile,
        step: usize,
    ) -> Ahead {
        if !tile.dense {
            return Ahead::NOTHING;
        }
        let all = block.spans.len().div_ceil(lanes);
        let key = if panels.start < all { tile.start } else { tile.start + step };
        let panel = panels.start % all;
        let row = panel * lanes;
        let (part, query) = block.query(row);
        // Rows of several short parts lie in several places.
        let rows = (part.row + part.count - row.min(part.row + part.count)).min(panels.len() * lanes);
        let keys = key..key + (tile.end - tile.start);
        let (bias, mask) = (Line::of(part.bias, query, &keys), Line::of(part.mask, query, &keys));
        Ahead { rows: if bias.bytes + mask.bytes > 0 { rows } else { 0 }, bias, mask }
    }

    /// How many rows there are.
    #[inline(always)]
    pub(super) fn left(&self) -> usize {
        self.rows
    }

    /// Asks for the next `rows`, as far as there are so many.
    #[inline(always)]
    pub(super) fn ask(&mut self, rows: usize) {
        for _ in 0..rows.min(self.rows) {
            self.bias.ask();
            self.mask.ask();
            self.rows -= 1;
        }
    }
}

/// A run of keys of one row.
#[derive(Clone, Copy)]
struct Line {
    start: *const u8,
    bytes: usize,
    /// From one row to the next, in bytes.
    step: isize,
}

impl Line {
    const NONE: Line = Line { start: std::ptr::null(), bytes: 0, step: 0 };

    /// Nothing where keys do not lie side by side, or where all rows are one.
    #[inline(always)]
    fn of<T: Copy>(view: Option<View<'_, T>>, query: usize, keys: &Range<usize>) -> Line {
        let Some(view) = view else { return Line::NONE };
        let ([row_stride, key_stride], (data, start)) =
            ([view.strides()[0], view.strides()[1]], view.memory());
        if row_stride == 0 || key_stride != 1 {
            return Line::NONE;
        }
        // Addresses alone: a stride of an axis of length 1 may be anything, and rows may end before these keys.
        let at = (start as isize).wrapping_add((query as isize).wrapping_mul(row_stride));
        Line {
            start: data.as_ptr().wrapping_offset(at).wrapping_add(keys.start).cast(),
            bytes: (keys.end - keys.start) * size_of::<T>(),
            step: row_stride.wrapping_mul(size_of::<T>() as isize),
        }
    }

    /// Asks for it and goes on to the next row.
    #[inline(always)]
    fn ask(&mut self) {
        // Lines of the cache from the one on that it begins in.
        let before = self.start.addr() % CACHE_LINE;
        let first = self.start.wrapping_sub(before);
        let end = if self.bytes > 0 { before + self.bytes } else { 0 };
        let mut at = 0;
        while at < end {
            prefetch(first.wrapping_add(at));
            at += CACHE_LINE;
        }
        self.start = self.start.wrapping_offset(self.step);
    }
}
