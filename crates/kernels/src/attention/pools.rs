//! Weights of a row pooled over short runs of keys: what maps add up, and what the search for the largest looks at first.
//!
//! A run has at most [`POOL_KEYS`] keys and never crosses the border of a tile or of a cell of the map, so that a cell is a sum
//! of whole runs. For each run and each row of a panel the sum and the largest of the weights are kept while the
//! exponentials are formed, when they cost an addition and a comparison each; no later sweep has to read the weights for them.

use super::part::Tile;
use super::sweep::{Sums, exponentials};
use crate::simd::{Float, Real};
use std::ops::Range;

/// Keys to a run, at most.
const POOL_KEYS: usize = 16;

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

/// The runs of a block's keys, with the pooled weights of one panel.
pub(super) struct Pools<'a, A> {
    pub(super) runs: &'a [Pool],
    /// `(pools, LANES)`.
    pub(super) sums: &'a mut [A],
    /// `(pools, LANES)`.
    pub(super) maxima: &'a mut [A],
}

/// The runs of all tiles, in order. `cells` is the number of columns of the map, and of keys they share.
pub(super) fn pools(tiles: &[Tile], cells: Option<[usize; 2]>) -> Vec<Pool> {
    let mut pools = Vec::new();
    for (slot, tile) in tiles.iter().enumerate() {
        let mut start = tile.start;
        while start < tile.end {
            let whole = (start + POOL_KEYS - (start - tile.start) % POOL_KEYS).min(tile.end);
            let (cell, end) = match cells {
                // The cell that holds the key: the largest c with c·M/cols ≤ key, rounded down.
                Some([cols, keys]) => {
                    let cell = ((start + 1) * cols - 1) / keys;
                    (cell, ((cell + 1) * keys / cols).clamp(start + 1, whole))
                }
                None => (0, whole),
            };
            pools.push(Pool { slot, start: start - tile.start, end: end - tile.start, cell });
            start = end;
        }
    }
    pools
}

impl<A: Real> Pools<'_, A> {
    /// Scores of one panel to weights, pool by pool: `scores` begins at the panel's first slot, slots are `slot` numbers apart,
    /// and `seen` gives the keys of each tile that the panel sees.
    #[inline(always)]
    pub(super) fn exponentials<S: Float<A>>(
        &mut self,
        isa: S,
        base: S::Vector,
        scores: &mut [A],
        slot: usize,
        seen: impl Fn(usize) -> Range<usize>,
    ) -> Sums<S::Vector> {
        let zero = isa.splat(A::ZERO);
        let mut total = Sums { sum: zero, moment: zero, max: zero };
        let (mut last, mut own) = (usize::MAX, 0..0);
        for (i, pool) in self.runs.iter().enumerate() {
            if pool.slot != last {
                (last, own) = (pool.slot, seen(pool.slot));
            }
            let (start, end) = (pool.start.max(own.start), pool.end.min(own.end));
            let found = if start < end {
                let first = pool.slot * slot;
                let run = &mut scores[first + start * S::LANES..first + end * S::LANES];
                // Three sums of four vectors would not stay in sixteen registers.
                exponentials::<A, S, 2, true>(isa, base, run)
            } else {
                Sums { sum: zero, moment: zero, max: zero }
            };
            isa.store(found.sum, &mut self.sums[i * S::LANES..]);
            isa.store(found.max, &mut self.maxima[i * S::LANES..]);
            total.sum = isa.add(total.sum, found.sum);
            total.moment = isa.add(total.moment, found.moment);
        }
        total
    }
}
