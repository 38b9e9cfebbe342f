//! A block's two products with a tile of keys, however they are multiplied.
//!
//! [`Products`] is what a block asks for; wide.rs multiplies numbers in the type sums are formed in, dots.rs pairs of bf16.
//! Here are the loops around the register tiles, which both share.

use super::TILE_KEYS;
use super::adjust::Adjust;
use super::block::{Reach, reach};
use super::multiply::Multiply;
use super::notes::{Notes, Seen};
use super::part::{Block, Span, Tile};
use super::product::{Panels, Scores, Steps, Values, rows_at_once};
use super::rows::Rows;
use super::storage::Storage;
use super::sweep::maximum;
use crate::simd::Float;

/// The products of one block of queries, with what they are packed in.
pub(super) trait Products<T: Storage, S: Float<T::Real>> {
    /// The scores of one tile, in units of log₂, with soft cap, bias and masks.
    fn score(&mut self, isa: S, of: Scoring<'_, '_, '_, T>);
    /// `out = out·alpha + a·V` for one tile; `false`, and nothing done, where that could multiply the weight 0 of a hidden key
    /// with something that is not finite.
    fn weigh(&mut self, isa: S, of: Weighing<'_, '_, T>) -> bool;
}

/// Who is multiplied with which keys.
pub(super) struct Scoring<'a, 'b, 'n, T: Storage> {
    pub(super) block: &'a Block<'b, T>,
    /// What the rows of each panel see.
    pub(super) reach: &'a [Reach],
    pub(super) tile: Tile,
    /// `(LANES, TILE_KEYS)`, for biases and masks.
    pub(super) lines: &'a mut [T::Real],
    /// The largest score of each row so far.
    pub(super) max: &'a mut [T::Real],
    pub(super) to: Panels<'a, T::Real>,
    /// Which tile of the block it is, and what is noted about it.
    pub(super) slot: usize,
    pub(super) notes: Option<&'a mut Notes<'n, T::Real>>,
}

impl<T: Storage> Scoring<'_, '_, '_, T> {
    /// All panels, two at a time, with `queries (panels, width, LANES)` and the keys of the tile. `factor` is what the products
    /// still have to be multiplied by.
    #[inline(always)]
    pub(super) fn run<S: Float<T::Real>, M: Multiply<T::Real, S>>(
        mut self,
        isa: S,
        queries: &[M::Number],
        keys: Rows<'_, M::Number>,
        factor: T::Real,
    ) {
        let stride = self.to.stride;
        let width = self.block.keys.width().div_ceil(M::PER_LANE);
        for first in (0..self.reach.len()).step_by(2) {
            let panels = 2.min(self.reach.len() - first);
            let group = &self.reach[first..first + panels];
            let seen = group.iter().fold(Span { start: 0, end: 0 }, |hull, reach| hull.hull(reach.some));
            let seen = seen.within(&self.tile);
            Scores {
                queries: &queries[first * width * S::LANES * M::PER_LANE..],
                width,
                keys,
                first: seen.start,
                last: seen.end,
                to: Panels { data: &mut self.to.data[first * stride..], stride },
                factor,
            }
            .run::<S, M>(isa, panels);
            // While they lie in the first cache.
            for panel in first..first + panels {
                self.adjust(isa, panel);
            }
        }
    }

    /// What changes the scores of one panel after the product, and the maximum with them.
    #[inline(always)]
    fn adjust<S: Float<T::Real>>(&mut self, isa: S, panel: usize) {
        let (lanes, reach) = (S::LANES, self.reach[panel]);
        let seen = reach.some.within(&self.tile);
        let scores = &mut self.to.data[panel * self.to.stride..][..TILE_KEYS * lanes];
        Adjust {
            block: self.block,
            tile: self.tile,
            row: panel * lanes,
            keys: seen.clone(),
            common: reach.all.within(&self.tile),
            scores,
            lines: self.lines,
        }
        .run(isa);
        let scores = &self.to.data[panel * self.to.stride..][..seen.end * lanes];
        let rows = panel * lanes..(panel + 1) * lanes;
        let max = isa.load(&self.max[rows.clone()]);
        let max = match &mut self.notes {
            Some(notes) => {
                notes.maximum(isa, panel, Seen::new(self.slot, self.tile, reach.some), max, scores)
            }
            None => maximum(isa, max, &scores[seen.start * lanes..]),
        };
        isa.store(max, &mut self.max[rows]);
    }
}

/// Weights of one tile and where their sums go.
pub(super) struct Weighing<'a, 'b, T: Storage> {
    pub(super) block: &'a Block<'b, T>,
    /// What the rows of each panel see.
    pub(super) reach: &'a [Reach],
    pub(super) tile: Tile,
    /// `(panels, keys, LANES)`, panels `stride` apart; nothing is said about keys that no row of a panel sees.
    pub(super) weights: &'a [T::Real],
    pub(super) stride: usize,
    /// What each row of `out` is multiplied by first; where there is nothing, `out` is not even read.
    pub(super) alpha: Option<&'a [T::Real]>,
    /// What it is multiplied by last.
    pub(super) inverse: Option<&'a [T::Real]>,
    /// `(rows, width)`.
    pub(super) out: &'a mut [T::Real],
    /// `E`, rounded up to whole vectors.
    pub(super) width: usize,
}

/// Values of a tile.
#[derive(Clone, Copy)]
pub(super) enum Tiled<'a, N> {
    /// Row by row.
    Rows(Rows<'a, N>),
    /// Two vectors of columns after another: `(strips, TILE_KEYS, 2·LANES)`, or `(strips, TILE_KEYS/2, 2·LANES)` of pairs.
    Strips(&'a [N]),
}

impl<T: Storage> Weighing<'_, '_, T> {
    /// All columns of all rows.
    #[inline(always)]
    pub(super) fn run<S: Float<T::Real>, M: Multiply<T::Real, S>>(
        self,
        isa: S,
        weights: &[M::Number],
        stride: usize,
        values: Tiled<'_, M::Number>,
    ) {
        let (lanes, per, width) = (S::LANES, M::PER_LANE, self.width);
        let (rows, at_once) = (self.block.spans.len(), rows_at_once::<T::Real, S>());
        for column in (0..width).step_by(2 * lanes) {
            let columns = (width - column).min(2 * lanes);
            let values = match values {
                Tiled::Rows(rows) => rows.columns(column * per, columns * per),
                Tiled::Strips(strips) => {
                    Rows::gapless(&strips[column * TILE_KEYS..][..TILE_KEYS * 2 * lanes], 2 * lanes * per)
                }
            };
            for row in (0..rows).step_by(at_once) {
                let panel = &self.reach[row / lanes];
                let mut seen = panel.some.within(&self.tile);
                if seen != panel.all.within(&self.tile) {
                    // Not all rows of the panel see the same keys.
                    seen = reach(self.block, row, at_once).some.within(&self.tile);
                }
                let (first, last) = (seen.start / per, seen.end.div_ceil(per));
                let from = row / lanes * stride + (first * lanes + row % lanes) * per;
                Values {
                    weights: &weights[from..],
                    steps: Steps::along_keys(lanes, per, last - first),
                    rows: values,
                    first,
                    last,
                    alpha: self.alpha.map(|alpha| &alpha[row..]),
                    inverse: self.inverse.map(|inverse| &inverse[row..]),
                    out: &mut self.out[row * width..],
                    width,
                    column,
                }
                .run::<S, M>(isa, columns / lanes);
            }
        }
    }
}
