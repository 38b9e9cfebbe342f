//! A block's two products with a tile of keys, however they are multiplied.
//!
//! [`Products`] is what a block asks for; wide.rs multiplies numbers in the type sums are formed in, dots.rs pairs of bf16, tiles.rs
//! whole tiles of them. Here are the loops around the register tiles, which the first two share.

use super::TILE_KEYS;
use super::adjust::{Adjust, keeps_products};
use super::ahead::Ahead;
use super::block::{Reach, reach};
use super::multiply::Multiply;
use super::notes::{Notes, Scored, Seen};
use super::part::{Block, Tile};
use super::product::{EIGHTS, Panels, Scores, Steps, Tops, Values, rows_at_once};
use super::rows::Rows;
use super::storage::Storage;
use super::sweep::{maximum, total};
use crate::simd::{Float, Real, Registers};
use std::ops::Range;

/// From so many panels on the products with a tile take long enough for the values, or the next keys, to be asked for meanwhile.
const WORTH_FETCHING: usize = 4;
/// Keys to the largest register tile of scores.
const AT_ONCE: usize = 8;

/// The products of one block of queries, with what they are packed in.
pub(super) trait Products<T: Storage, S: Float<T::Real>> {
    /// The scores of one tile, in units of log₂, with soft cap, bias and masks.
    fn score(&mut self, isa: S, of: Scoring<'_, '_, '_, T>);
    /// `a = 2^(s − base)` for the keys of one panel and tile that it sees, and `Σa`: in place, or ready for [`Products::weigh`] and
    /// the scores left as they are.
    #[inline(always)]
    fn exponentials(
        &mut self,
        isa: S,
        _panel: usize,
        keys: Range<usize>,
        base: S::Vector,
        scores: &mut [T::Real],
    ) -> S::Vector {
        total(isa, base, &mut scores[keys.start * S::LANES..keys.end * S::LANES])
    }
    /// Whether the scores of the last tile were left as they are.
    #[inline(always)]
    fn left_scores(&self) -> bool {
        false
    }
    /// What those of a panel have still to be multiplied by.
    #[inline(always)]
    fn left_factor(&self, _panel: usize) -> T::Real {
        T::Real::ONE
    }
    /// `out = out·alpha + a·V` for one tile; `false`, and nothing added, where that could multiply the weight 0 of a hidden key
    /// with something that is not finite, or where it gives up. Sums may be kept elsewhere from one `true` to the next.
    fn weigh(&mut self, isa: S, of: Weighing<'_, '_, T>) -> bool;
    /// Whether the block has numbers that cannot be multiplied in this way: it has to be computed in another.
    #[inline(always)]
    fn gave_up(&self) -> bool {
        false
    }
}

/// Who is multiplied with which keys.
pub(super) struct Scoring<'a, 'b, 'n, T: Storage> {
    pub(super) block: &'a Block<'b, T>,
    /// What the rows of each panel see.
    pub(super) reach: &'a [Reach],
    pub(super) tile: Tile,
    /// `(LANES, TILE_KEYS)`, for biases and masks, or for the largest products of eights.
    pub(super) lines: &'a mut [T::Real],
    /// The largest score of each row so far.
    pub(super) max: &'a mut [T::Real],
    pub(super) to: Panels<'a, T::Real>,
    /// Which tile of the block it is, and what is noted about it.
    pub(super) slot: usize,
    pub(super) notes: Option<&'a mut Notes<'n, T::Real>>,
}

impl<T: Storage> Scoring<'_, '_, '_, T> {
    /// The panels, two at a time.
    #[inline(always)]
    pub(super) fn groups(&self) -> impl Iterator<Item = Range<usize>> + use<T> {
        let all = self.reach.len();
        (0..all).step_by(2).map(move |first| first..if first + 2 < all { first + 2 } else { all })
    }

    /// Whether the panels meet their first keys.
    #[inline(always)]
    pub(super) fn is_first(&self) -> bool {
        self.slot == 0
    }

    /// Asks for a share of the tile's values, which will be used next: as much as these panels are of all.
    #[inline(always)]
    pub(super) fn fetch_values(&self, panels: &Range<usize>) {
        let (all, keys) = (self.reach.len(), self.tile.end - self.tile.start);
        if all < WORTH_FETCHING {
            return;
        }
        if let Some(rows) = Rows::lying(&self.block.values, [self.tile.start, self.tile.end]) {
            rows.fetch(keys * panels.start / all..keys * panels.end / all);
        }
    }

    /// Some panels, one or two, with `queries (panels, width, LANES)` of all and the keys of the tile. `factor` is what the products
    /// still have to be multiplied by.
    #[inline(always)]
    pub(super) fn run<S: Float<T::Real>, M: Multiply<T::Real, S>>(
        &mut self,
        isa: S,
        panels: Range<usize>,
        queries: &[M::Number],
        keys: Rows<'_, M::Number>,
        factor: T::Real,
    ) {
        let seen = [panels.start, panels.end - 1].map(|panel| self.reach[panel].some.within(&self.tile));
        let plain = self.is_plain(&panels, &seen[0]);
        let noted = self.notes.is_some();
        let mut ahead = self.ahead::<S>(panels.end..panels.end + 2);
        let eights = plain && noted && S::REGISTERS == Registers::ThirtyTwo && seen[0].start % 8 == 0;
        for (panels, keys_seen) in shared(panels.clone(), seen) {
            let (stride, width) = (self.to.stride, self.block.keys.width().div_ceil(M::PER_LANE));
            let rows = panels.start * S::LANES..panels.end * S::LANES;
            Scores {
                queries: &queries[panels.start * width * S::LANES * M::PER_LANE..],
                width,
                keys,
                first: keys_seen.start,
                last: keys_seen.end,
                to: Panels { data: &mut self.to.data[panels.start * stride..], stride },
                factor,
                tops: match eights {
                    true => Tops::OfEights(&mut *self.lines),
                    false if plain && !noted => Tops::OfRows(&mut self.max[rows]),
                    false => Tops::Unknown,
                },
                ahead: &mut ahead,
            }
            .run::<S, M>(isa, panels.len());
        }
        if plain && !noted {
            return;
        }
        // While they lie in the first cache.
        for panel in panels.start..panels.end {
            if plain {
                let first = (panel - panels.start) * EIGHTS * S::LANES;
                self.maximum(isa, panel, eights.then_some(first));
            } else {
                self.finish(isa, panel);
            }
        }
    }

    /// From the products of one panel to its scores, and the maximum with them. Biases and masks of the panel after the next are asked for
    /// at once here: tiles are multiplied too fast for anything between them.
    #[inline(always)]
    pub(super) fn settle<S: Float<T::Real>>(&mut self, isa: S, panel: usize) {
        let mut ahead = self.ahead::<S>(panel + 2..panel + 3);
        ahead.ask(ahead.left());
        self.finish(isa, panel);
    }

    #[inline(always)]
    fn finish<S: Float<T::Real>>(&mut self, isa: S, panel: usize) {
        let top = self.adjust(isa, panel);
        if let (Some(top), None) = (top, &self.notes) {
            let max = &mut self.max[panel * S::LANES..(panel + 1) * S::LANES];
            isa.store(isa.max(isa.load(max), top), max);
        } else {
            self.maximum(isa, panel, None);
        }
    }

    /// The biases and masks of panels that come later.
    #[inline(always)]
    fn ahead<S: Float<T::Real>>(&self, panels: Range<usize>) -> Ahead {
        Ahead::of(self.block, panels, S::LANES, &self.tile, TILE_KEYS)
    }

    /// Whether the products with these keys are all the scores that these panels have in the tile.
    #[inline(always)]
    pub(super) fn is_plain(&self, panels: &Range<usize>, seen: &Range<usize>) -> bool {
        for panel in panels.start..panels.end {
            let reach = &self.reach[panel];
            if reach.some.within(&self.tile) != *seen || reach.all.within(&self.tile) != *seen {
                return false;
            }
        }
        keeps_products(self.block, &self.tile)
    }

    /// What changes the scores of one panel after the product; the largest of them where they are known.
    #[inline(always)]
    fn adjust<S: Float<T::Real>>(&mut self, isa: S, panel: usize) -> Option<S::Vector> {
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
        .run(isa)
    }

    /// The maximum with the scores of one panel, and what is noted about them; the largest of each eight keys may lie in `lines` already.
    #[inline(always)]
    fn maximum<S: Float<T::Real>>(&mut self, isa: S, panel: usize, eights: Option<usize>) {
        let (lanes, reach) = (S::LANES, self.reach[panel]);
        let seen = reach.some.within(&self.tile);
        let scores = &self.to.data[panel * self.to.stride..][..seen.end * lanes];
        let rows = panel * lanes..(panel + 1) * lanes;
        let max = isa.load(&self.max[rows.clone()]);
        let max = match &mut self.notes {
            Some(notes) => {
                let seen = Seen::new(self.slot, self.tile, reach.some);
                let eights = match eights {
                    Some(first) => Some(&self.lines[first..][..EIGHTS * lanes]),
                    None => None,
                };
                notes.maximum(isa, panel, seen, max, Scored { scores, eights })
            }
            None => maximum(isa, max, &scores[seen.start * lanes..]),
        };
        isa.store(max, &mut self.max[rows]);
    }
}

/// Two panels, or one, and the keys they see, cut into what both see and what only one of them does: before that, and behind it. Register
/// tiles may write some keys behind their last, so the order matters; and they have `AT_ONCE` keys, so both may get a few more.
#[inline(always)]
fn shared(panels: Range<usize>, [a, b]: [Range<usize>; 2]) -> [(Range<usize>, Range<usize>); 3] {
    let first = if a.start > b.start { a.start } else { b.start };
    let last = if a.end < b.end { a.end } else { b.end };
    let hull = [if a.start < b.start { a.start } else { b.start }, if a.end > b.end { a.end } else { b.end }];
    if first >= last || panels.len() < 2 {
        // One after the other, or only one.
        let none = (panels.clone(), 0..0);
        let [one, other] = [panels.start..panels.start + 1, panels.end - 1..panels.end];
        return if panels.len() < 2 { [(one, a), none.clone(), none] } else { [(one, a), (other, b), none] };
    }
    let last = first + (last - first).next_multiple_of(AT_ONCE);
    let last = if last < hull[1] { last } else { hull[1] };
    let earlier = if a.start < b.start { panels.start } else { panels.end - 1 };
    let later = if a.end > b.end { panels.start } else { panels.end - 1 };
    [(earlier..earlier + 1, hull[0]..first), (panels, first..last), (later..later + 1, last..hull[1])]
}

/// Weights of one tile and where their sums go.
pub(super) struct Weighing<'a, 'b, T: Storage> {
    pub(super) block: &'a Block<'b, T>,
    /// What the rows of each panel see.
    pub(super) reach: &'a [Reach],
    pub(super) tile: Tile,
    /// `(panels, keys, LANES)`, panels `stride` apart, unless [`Products::exponentials`] has put them elsewhere; nothing is said
    /// about keys that no row of a panel sees.
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
    /// The tile that comes after this one.
    pub(super) next: Option<Tile>,
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
    /// Whether some row of the block does not see some key of the tile.
    #[inline(always)]
    pub(super) fn hides_some(&self) -> bool {
        let all = 0..self.tile.end - self.tile.start;
        self.tile.dense || self.reach.iter().any(|reach| reach.all.within(&self.tile) != all)
    }

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
        let next = self.next.and_then(|tile| Rows::lying(&self.block.keys, [tile.start, tile.end]));
        let coming = self.next.map_or(0, |tile| tile.end - tile.start);
        for column in (0..width).step_by(2 * lanes) {
            let columns = (width - column).min(2 * lanes);
            let values = match values {
                Tiled::Rows(rows) => rows.columns(column * per, columns * per),
                Tiled::Strips(strips) => {
                    Rows::gapless(&strips[column * TILE_KEYS..][..TILE_KEYS * 2 * lanes], 2 * lanes * per)
                }
            };
            for row in (0..rows).step_by(at_once) {
                if column == 0
                    && rows >= WORTH_FETCHING * lanes
                    && let Some(keys) = &next
                {
                    keys.fetch(coming * row / rows..(coming * (row + at_once) / rows).min(coming));
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_share_what_both_see_and_each_gets_all_it_sees() {
        let spans = || (0..20).flat_map(|start| (start..20).map(move |end| start..end));
        for a in spans() {
            for b in spans() {
                let mut got = [[false; 32]; 2];
                for (panels, keys) in shared(4..6, [a.clone(), b.clone()]) {
                    for panel in panels {
                        keys.clone().for_each(|key| got[panel - 4][key] = true);
                    }
                }
                for key in 0..20 {
                    let whose = [a.contains(&key), b.contains(&key)];
                    assert!((got[0][key] || !whose[0]) && (got[1][key] || !whose[1]), "{a:?} {b:?}");
                    let nobody = !whose[0] && !whose[1] && (got[0][key] || got[1][key]);
                    assert!(!nobody, "{a:?} {b:?}: {key}");
                }
            }
            let alone = shared(4..5, [a.clone(), a.clone()]);
            assert_eq!(alone[0], (4..5, a));
            assert!(alone[1].1.is_empty() && alone[2].1.is_empty());
        }
    }
}
