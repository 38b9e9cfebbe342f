//! What is noted about the weights of a block, tile by tile, while they lie in cache.
//!
//! The softmax reduces scores by the largest *so far*, so what is summed up over a tile belongs to the maximum of that tile and is
//! brought to the last one when all are known:
//!
//! ```text
//! after the products of a panel and a tile:
//!     maxima[pool] = the largest score of each pool; who may be among the largest       largest.rs, top.rs
//! with its exponentials, a = 2^(s − m):
//!     sums[pool] = Σa            moment = 2^(m' − m)·(moment + (m' − m)·l') + Σ a·(s − m)         m', l': those before
//!     exact = 2^(m' − m)·exact + Σa, in f64 and with what rounding took from the tile's sum
//!     bases[tile] = m
//! ```
//!
//! The weights themselves are kept only where each key's received mass is asked for: that is a sum over rows, each with a
//! factor that is known last.

use super::TILE_KEYS;
use super::exp::exp2;
use super::largest::Largest;
use super::part::{Span, Tile};
use super::pools::Pools;
use super::statistics::Wanted;
use super::sweep::{Sums, exponentials, maximum};
use super::top::{Candidates, Look};
use crate::simd::{Float, MOST_LANES, Real};
use std::ops::Range;

/// More than the weights of a pool can add up to: what rounding takes from a sum that begins with it is a difference of differences.
const MORE: f64 = 2.0 * TILE_KEYS as f64;

/// What is noted about the rows of a block.
pub(super) struct Notes<'a, A> {
    pub(super) pools: &'a Pools,
    /// `(panels, pools, LANES)`: largest scores; empty where nobody asks.
    pub(super) maxima: &'a mut [A],
    /// `(panels, pools, LANES)`: sums of `2^(s − m)`; empty where nobody asks.
    pub(super) sums: &'a mut [A],
    /// `(tiles, panels·LANES)`: the maximum so far, in the end what sums of that tile are multiplied by.
    pub(super) bases: &'a mut [A],
    /// `panels·LANES`.
    pub(super) rows: usize,
    /// `(panels·LANES,)`: `Σ a·log₂ a`, `a` before the division; empty where nobody asks.
    pub(super) moment: &'a mut [A],
    /// `(panels·LANES,)`: `Σ a` without rounding; empty where nobody asks.
    pub(super) exact: Vec<f64>,
    pub(super) peaks: Peaks<'a, A>,
    /// Whether somebody reads the weights when all are known.
    pub(super) keeps_weights: bool,
}

/// Who may be among the largest weights.
pub(super) enum Peaks<'a, A> {
    /// Nobody asks.
    None,
    /// A few of each row.
    Few(Largest<A>),
    /// Many of each row.
    Many(Candidates<'a, A>),
}

/// What is asked, in the numbers that decide how much memory it takes.
#[allow(clippy::struct_excessive_bools, reason = "a list of independent wishes")]
#[derive(Clone, Copy)]
pub(super) struct Asked {
    /// Vectors for each pool: maxima, sums.
    pub(super) maxima: bool,
    pub(super) sums: bool,
    pub(super) moment: bool,
    pub(super) exact: bool,
    pub(super) weights: bool,
    /// How many largest weights.
    pub(super) k: usize,
}

impl Asked {
    pub(super) fn of(wanted: &Wanted<'_>) -> Self {
        let k = wanted.top.as_ref().map_or(0, |top| top.k);
        Asked {
            maxima: wanted.map.is_some() || k > 0,
            sums: wanted.map.is_some(),
            moment: wanted.entropy.is_some(),
            exact: wanted.row_sum_error.is_some(),
            weights: wanted.received.is_some(),
            k,
        }
    }

    /// Numbers that [`Notes`] of so many rows, pools and tiles need.
    pub(super) fn numbers(&self, rows: usize, pools: usize, tiles: usize) -> usize {
        let pooled = pools * (usize::from(self.maxima) + usize::from(self.sums));
        rows * (pooled + tiles + usize::from(self.moment))
    }
}

impl<'a, A: Real> Notes<'a, A> {
    /// Nothing yet, about `rows` rows, lanes without a row included; `memory` holds [`Asked::numbers`].
    pub(super) fn new(
        asked: Asked,
        pools: &'a Pools,
        rows: usize,
        memory: &'a mut [A],
        peaks: Peaks<'a, A>,
    ) -> Self {
        let pooled = rows * pools.all.len();
        let (maxima, rest) = memory.split_at_mut(if asked.maxima { pooled } else { 0 });
        let (sums, rest) = rest.split_at_mut(if asked.sums { pooled } else { 0 });
        let (moment, bases) = rest.split_at_mut(if asked.moment { rows } else { 0 });
        moment.fill(A::ZERO);
        Notes {
            pools,
            maxima,
            sums,
            bases,
            rows,
            moment,
            exact: vec![0.0; if asked.exact { rows } else { 0 }],
            peaks,
            keeps_weights: asked.weights,
        }
    }

    /// The larger of `max` and all scores of one panel and tile, `(keys, LANES)`, with what is noted on the way.
    #[inline(always)]
    pub(super) fn maximum<S: Float<A>>(
        &mut self,
        isa: S,
        panel: usize,
        Seen { slot, tile, keys }: Seen,
        mut max: S::Vector,
        Scored { scores, eights }: Scored<'_, A>,
    ) -> S::Vector {
        let lanes = S::LANES;
        if self.maxima.is_empty() {
            return match eights {
                Some(eights) => {
                    maximum(isa, max, &eights[keys.start / 8 * lanes..keys.end.div_ceil(8) * lanes])
                }
                None => maximum(isa, max, &scores[keys.start * lanes..keys.end * lanes]),
            };
        }
        let nothing = isa.splat(A::NEG_INFINITY);
        let own = self.pools.of(slot);
        let first = panel * self.pools.all.len() * lanes;
        let maxima = &mut self.maxima[first + own.start * lanes..first + own.end * lanes];
        let pools = &self.pools.all[own];
        for (i, pool) in pools.iter().enumerate() {
            let largest = match (pool.within(&keys), eights) {
                (Some(own), Some(eights))
                    if own.start % 8 == 0 && (own.end % 8 == 0 || own.end == keys.end) =>
                {
                    // One or two of them.
                    let [one, other] = [own.start / 8, (own.end - 1) / 8];
                    isa.max(isa.load(&eights[one * lanes..]), isa.load(&eights[other * lanes..]))
                }
                (Some(own), _) => maximum(isa, nothing, &scores[own.start * lanes..own.end * lanes]),
                (None, _) => nothing,
            };
            isa.store(largest, &mut maxima[i * lanes..]);
            max = isa.max(max, largest);
        }
        if !keys.is_empty() {
            let look = Look { pools, keys, maxima, scores, eights };
            match &mut self.peaks {
                Peaks::None => {}
                Peaks::Few(largest) => largest.look(isa, panel, tile.start, &look),
                Peaks::Many(candidates) => candidates.look(isa, panel, tile.start, look),
            }
        }
        max
    }

    /// Scores of one panel and tile to weights; gives their sum.
    #[inline(always)]
    pub(super) fn exponentials<S: Float<A>>(
        &mut self,
        isa: S,
        panel: usize,
        seen: &Seen,
        step: &Step<S::Vector>,
        scores: &mut [A],
    ) -> S::Vector {
        let lanes = S::LANES;
        let rows = panel * lanes..(panel + 1) * lanes;
        let sums = match (self.moment.is_empty(), self.exact.is_empty()) {
            (true, true) => self.pooled::<S, false, false>(isa, panel, seen, step.base, scores),
            (false, true) => self.pooled::<S, true, false>(isa, panel, seen, step.base, scores),
            (true, false) => self.pooled::<S, false, true>(isa, panel, seen, step.base, scores),
            (false, false) => self.pooled::<S, true, true>(isa, panel, seen, step.base, scores),
        };
        isa.store(step.max, &mut self.bases[seen.slot * self.rows + rows.start..]);
        if !self.moment.is_empty() {
            // 0·−∞ is NaN; 0 times the lowest exponent is 0.
            let moved = isa.max(isa.splat(S::LOWEST_EXPONENT), isa.sub(step.old, step.base));
            let before = isa.mul_add(moved, step.sum, isa.load(&self.moment[rows.clone()]));
            let moment = isa.mul_add(before, step.alpha, sums.moment);
            isa.store(moment, &mut self.moment[rows.clone()]);
        }
        if !self.exact.is_empty() {
            let mut lines = [[A::ZERO; MOST_LANES]; 3];
            for (line, v) in [step.alpha, sums.exact, sums.lost].into_iter().enumerate() {
                isa.store(v, &mut lines[line]);
            }
            for (lane, exact) in self.exact[rows].iter_mut().enumerate() {
                let [alpha, sum, lost] = [0, 1, 2].map(|line| lines[line][lane].to_f64());
                *exact = *exact * alpha + ((sum - MORE) + lost);
            }
        }
        sums.total
    }

    /// The exponentials of a tile, pool by pool: their sum, and what else is summed with them. One vector after another: adding
    /// takes less time than an exponential, and more sums would not stay in sixteen registers.
    #[inline(always)]
    fn pooled<S: Float<A>, const MOMENT: bool, const EXACT: bool>(
        &mut self,
        isa: S,
        panel: usize,
        seen: &Seen,
        base: S::Vector,
        scores: &mut [A],
    ) -> OfTile<S::Vector> {
        let lanes = S::LANES;
        let mut sums = Sums::none(isa);
        let zero = sums.sum;
        let begin = if EXACT { isa.splat(A::from_f64(2.0)) } else { zero };
        let mut of_tile =
            OfTile { total: zero, moment: zero, exact: isa.splat(A::from_f64(MORE)), lost: zero };
        for at in self.pools.of(seen.slot) {
            (sums.sum, sums.lost) = (begin, zero);
            if let Some(keys) = self.pools.all[at].within(&seen.keys) {
                let scores = &mut scores[keys.start * lanes..keys.end * lanes];
                [sums] = exponentials::<A, S, 1, MOMENT, EXACT>(isa, base, scores, [sums]);
            }
            let mut sum = sums.sum;
            if EXACT {
                let own = isa.sub(sum, begin);
                let next = isa.add(of_tile.exact, own);
                let lost = isa.sub(own, isa.sub(next, of_tile.exact));
                of_tile.lost = isa.add(of_tile.lost, isa.add(lost, sums.lost));
                of_tile.exact = next;
                sum = isa.add(own, sums.lost);
            }
            if !self.sums.is_empty() {
                isa.store(sum, &mut self.sums[(panel * self.pools.all.len() + at) * lanes..]);
            }
            of_tile.total = isa.add(of_tile.total, sum);
        }
        of_tile.moment = sums.moment;
        of_tile
    }

    /// The maxima become factors: what sums and weights of each tile are multiplied by in the end. `last` are the rows' last
    /// maxima, 0 where nothing is seen, and `inverse` what weights formed with those are multiplied by.
    #[inline(always)]
    pub(super) fn settle<S: Float<A>>(&mut self, isa: S, last: &[A], inverse: &[A]) {
        for bases in self.bases.chunks_exact_mut(last.len()) {
            for at in (0..last.len()).step_by(S::LANES) {
                let moved = isa.sub(isa.load(&bases[at..]), isa.load(&last[at..]));
                isa.store(isa.mul(exp2(isa, moved), isa.load(&inverse[at..])), &mut bases[at..]);
            }
        }
    }
}

/// What the exponentials of one panel and tile add up to.
struct OfTile<V> {
    /// `Σa`.
    total: V,
    /// `Σ a·(s − base)`, where somebody asks.
    moment: V,
    /// [`MORE`]` + Σa`, and what rounding took from it, where somebody asks.
    exact: V,
    lost: V,
}

/// The scores of one panel and tile.
#[derive(Clone, Copy)]
pub(super) struct Scored<'a, A> {
    /// `(keys, LANES)`.
    pub(super) scores: &'a [A],
    /// `(EIGHTS, LANES)`: the largest of each eight keys that are seen, where they are known.
    pub(super) eights: Option<&'a [A]>,
}

/// Which keys a panel sees of a tile.
#[derive(Clone)]
pub(super) struct Seen {
    /// Which tile of the block.
    pub(super) slot: usize,
    pub(super) tile: Tile,
    /// Counted from the tile's start.
    pub(super) keys: Range<usize>,
}

impl Seen {
    pub(super) fn new(slot: usize, tile: Tile, span: Span) -> Self {
        Seen { slot, tile, keys: span.within(&tile) }
    }
}

/// How the softmax of a panel goes on by a tile.
pub(super) struct Step<V> {
    /// The largest score before and with the tile; the latter once more, 0 where nothing has been seen.
    pub(super) old: V,
    pub(super) max: V,
    pub(super) base: V,
    /// `2^(old − base)`.
    pub(super) alpha: V,
    /// `Σ 2^(s − old)` before the tile.
    pub(super) sum: V,
}
