//! Weights of a tile as pairs of bf16, ready to be multiplied with values.
//!
//! ```text
//! at (parts, panels, keys/2, LANES, 2)        weights of keys 2j and 2j + 1 side by side
//! ```
//!
//! One part is the weight rounded to bf16. Two or three are the leading 16 or 24 bits of it, eight to a part (`simd/tiles.rs`).
//! Pairs of keys begin at even places of a tile. Where a panel sees only one key of a pair the other weighs 0.

use super::block::SLOT_KEYS;
use super::exp::{exp2, exp2_for_bf16};
use super::products::Weighing;
use super::storage::Storage;
use crate::bf16;
use crate::simd::PairDots;
use std::ops::Range;

/// The most parts a number is cut into.
pub(super) const MOST_PARTS: usize = 3;

/// Weights of a tile, in pairs.
pub(super) struct PairedWeights<'a> {
    /// `(parts, panels, SLOT_KEYS/2, LANES, 2)`.
    pub(super) pairs: &'a mut [bf16],
    pub(super) parts: usize,
    pub(super) panels: usize,
}

/// `(a[i], b[i])` in so many parts, cut off one after another; what is behind them is nothing.
#[inline(always)]
fn zip_parts<S: PairDots>(isa: S, parts: usize, [mut a, mut b]: [S::Vector; 2]) -> [S::Pairs; MOST_PARTS] {
    let mut found = [isa.zip_truncated(a, b); MOST_PARTS];
    for part in 1..parts {
        (a, b) = (isa.sub(a, isa.truncated(a)), isa.sub(b, isa.truncated(b)));
        found[part] = isa.zip_truncated(a, b);
    }
    found
}

impl PairedWeights<'_> {
    /// Numbers from a part to the next, on so many lanes.
    #[inline(always)]
    pub(super) fn part(&self, lanes: usize) -> usize {
        self.panels * SLOT_KEYS * lanes
    }

    /// Weights of keys `key` and `key + 1` for one panel.
    #[inline(always)]
    fn put<S: PairDots>(&mut self, isa: S, panel: usize, key: usize, [a, b]: [S::Vector; 2]) {
        let (part, at) = (self.part(S::LANES), (panel * SLOT_KEYS + key) * S::LANES);
        if self.parts == 1 {
            isa.store_pairs(isa.narrow_pairs(a, b), &mut self.pairs[at..][..2 * S::LANES]);
            return;
        }
        let found = zip_parts(isa, self.parts, [a, b]);
        for i in 0..self.parts {
            isa.store_pairs(found[i], &mut self.pairs[i * part + at..][..2 * S::LANES]);
        }
    }

    /// `2^(s − base)` of the first vector of `scores`; the log-sum-exps of all types but bf16 are those of f32.
    #[inline(always)]
    fn weight<S: PairDots>(&self, isa: S, scores: &[f32], base: S::Vector) -> S::Vector {
        let x = isa.sub(isa.load(scores), base);
        if self.parts == 1 { exp2_for_bf16(isa, x) } else { exp2(isa, x) }
    }

    /// `2^(s − base)` for the keys of one panel that it sees, and their sum.
    #[inline(always)]
    pub(super) fn exponentials<S: PairDots>(
        &mut self,
        isa: S,
        panel: usize,
        keys: Range<usize>,
        base: S::Vector,
        scores: &[f32],
    ) -> S::Vector {
        let (lanes, zero) = (S::LANES, isa.splat(0.0));
        let (first, last) = (keys.start.next_multiple_of(2), keys.end / 2 * 2);
        let mut sums = [zero; 4];
        if keys.is_empty() {
            return zero;
        }
        if keys.start < first {
            let a = self.weight(isa, &scores[keys.start * lanes..], base);
            sums[0] = a;
            self.put(isa, panel, first - 2, [zero, a]);
        }
        let mut key = first;
        while key + 4 <= last {
            let four = &scores[key * lanes..][..4 * lanes];
            let mut a = [zero; 4];
            for i in 0..4 {
                a[i] = self.weight(isa, &four[i * lanes..], base);
                sums[i] = isa.add(sums[i], a[i]);
            }
            self.put(isa, panel, key, [a[0], a[1]]);
            self.put(isa, panel, key + 2, [a[2], a[3]]);
            key += 4;
        }
        while key < keys.end {
            let a = self.weight(isa, &scores[key * lanes..], base);
            let mut b = zero;
            if key + 1 < keys.end {
                b = self.weight(isa, &scores[(key + 1) * lanes..], base);
            }
            sums[1] = isa.add(sums[1], isa.add(a, b));
            self.put(isa, panel, key, [a, b]);
            key += 2;
        }
        isa.add(isa.add(sums[0], sums[1]), isa.add(sums[2], sums[3]))
    }

    /// The weights of each panel that it sees, where somebody else has formed them; what it does not see of its first and last pair
    /// weighs 0.
    #[inline(always)]
    pub(super) fn narrow<T: Storage<Real = f32>, S: PairDots>(&mut self, isa: S, of: &Weighing<'_, '_, T>) {
        let (lanes, zero) = (S::LANES, isa.splat(0.0));
        for (panel, reach) in of.reach.iter().enumerate() {
            let seen = reach.some.within(&of.tile);
            let from = &of.weights[panel * of.stride..];
            if seen.is_empty() {
                continue;
            }
            if seen.start % 2 == 1 {
                let second = isa.load(&from[seen.start * lanes..]);
                self.put(isa, panel, seen.start - 1, [zero, second]);
            }
            let (first, last) = (seen.start.next_multiple_of(2), seen.end / 2 * 2);
            for key in (first..last).step_by(2) {
                let pair = &from[key * lanes..][..2 * lanes];
                self.put(isa, panel, key, [isa.load(pair), isa.load(&pair[lanes..])]);
            }
            if seen.end % 2 == 1 && last >= seen.start {
                self.put(isa, panel, last, [isa.load(&from[last * lanes..]), zero]);
            }
        }
    }

    /// Zeros for the keys of a panel between `around`, an even number of them, and `seen`.
    #[inline(always)]
    pub(super) fn clear<S: PairDots>(
        &mut self,
        _: S,
        panel: usize,
        around: &Range<usize>,
        seen: &Range<usize>,
    ) {
        let (lanes, part) = (S::LANES, self.part(S::LANES));
        let (first, last) = (seen.start / 2 * 2, seen.end.next_multiple_of(2));
        let gaps = if seen.is_empty() {
            [around.clone(), 0..0]
        } else {
            [around.start..first.max(around.start), last.min(around.end)..around.end]
        };
        for i in 0..self.parts {
            let from = i * part + panel * SLOT_KEYS * lanes;
            for gap in &gaps {
                self.pairs[from + gap.start * lanes..from + gap.end * lanes].fill(bf16::ZERO);
            }
        }
    }
}
