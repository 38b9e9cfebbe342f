//! Short runs of keys over which weights are pooled: what maps add up, and what the search for the largest looks at first.
//!
//! A pool never crosses the border of a tile or of a cell of the map, so that a cell is a sum of
//! whole pools.

use super::TILE_KEYS;
use super::part::Tile;
use std::ops::Range;

/// Keys to a pool, at most, where somebody looks at pools.
pub(super) const POOL_KEYS: usize = 16;

/// Keys of one tile, and the cell of the map they belong to.
#[derive(Clone, Copy)]
pub(super) struct Pool {
    /// Which tile of the block.
    pub(super) slot: usize,
    /// Counted from the tile's start.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Column of cells; 0 without a map.
    pub(super) cell: usize,
}

impl Pool {
    /// The part of it inside `seen`, as far as it is there.
    #[inline(always)]
    pub(super) fn within(&self, seen: &Range<usize>) -> Option<Range<usize>> {
        let start = if self.start > seen.start { self.start } else { seen.start };
        let end = if self.end < seen.end { self.end } else { seen.end };
        if start < end { Some(start..end) } else { None }
    }
}

/// The pools of a block's keys, in order.
pub(super) struct Pools {
    pub(super) all: Vec<Pool>,
    /// Where each tile's pools begin, and the end of all.
    first: Vec<usize>,
}

impl Pools {
    /// Of all tiles. `cells` is the number of columns of the map, and of keys they share; `short` where
    /// somebody looks at pools; otherwise each tile is one.
    pub(super) fn new(tiles: &[Tile], cells: Option<[usize; 2]>, short: bool) -> Self {
        let most = if short { POOL_KEYS } else { TILE_KEYS };
        let (mut all, mut first) = (Vec::new(), vec![0]);
        for (slot, tile) in tiles.iter().enumerate() {
            let mut start = tile.start;
            while start < tile.end {
                let whole = (start + most - (start - tile.start) % most).min(tile.end);
                let (cell, end) = match cells {
                    // The cell that holds the key: the largest c with c·M/cols ≤ key, rounded down.
                    Some([cols, keys]) => {
                        let cell = ((start + 1) * cols - 1) / keys;
                        (cell, ((cell + 1) * keys / cols).clamp(start + 1, whole))
                    }
                    None => (0, whole),
                };
                all.push(Pool { slot, start: start - tile.start, end: end - tile.start, cell });
                start = end;
            }
            first.push(all.len());
        }
        Pools { all, first }
    }

    /// The pools of one tile, as places in `all`.
    #[inline(always)]
    pub(super) fn of(&self, slot: usize) -> Range<usize> {
        self.first[slot]..self.first[slot + 1]
    }
}
