//! Weights of a tile as pairs of bf16 or f16, ready to be multiplied with values.
//!
//! ```text
//! at (parts, panels, keys/2, LANES, 2)        weights of keys 2j and 2j + 1 side by side
//! ```
//!
//! One part is the weight rounded to bf16 or f16. Two or three are the leading 16 or 24 bits of it, eight to a part (`simd/tiles.rs`).
//! Pairs of keys begin at even places of a tile. Where a panel sees only one key of a pair the other weighs 0.
//!
//! Numbers of f16 end at 2¹⁶ and are normal down to 2⁻¹⁴ only, so there weights are multiplied by 2¹⁵: all that are at least 2⁻²⁹ of the
//! largest keep all of their bits.

use super::block::SLOT_KEYS;
use super::exp::{exp2, exp2_for_bf16};
use super::products::Weighing;
use super::storage::Storage;
use crate::bf16;
use crate::simd::{PairDots, TileNumbers, TilesOfF16};
use std::ops::Range;
use std::slice::from_raw_parts_mut;

/// The most parts a number is cut into.
pub(super) const MOST_PARTS: usize = 3;

/// How numbers are given to products of pairs and of tiles.
pub(super) trait Cut: Copy {
    /// How many numbers of sixteen bits add up to one.
    const PARTS: usize;
    /// Weights are multiplied by two to this power.
    const RAISED_BY: i32 = 0;
    /// What is multiplied.
    fn numbers(self) -> TileNumbers;
}

/// So many bf16.
#[derive(Clone, Copy)]
pub(super) struct InParts<const N: usize>;

impl<const N: usize> Cut for InParts<N> {
    const PARTS: usize = N;

    #[inline(always)]
    fn numbers(self) -> TileNumbers {
        TileNumbers::Parts(N)
    }
}

/// Numbers of f16 as they are.
#[derive(Clone, Copy)]
pub(super) struct AsF16(pub(super) TilesOfF16);

impl Cut for AsF16 {
    const PARTS: usize = 1;
    const RAISED_BY: i32 = 15;

    #[inline(always)]
    fn numbers(self) -> TileNumbers {
        TileNumbers::F16(self.0)
    }
}

/// Two to the power of `by`.
#[inline(always)]
pub(super) const fn raised(by: i32) -> f32 {
    f32::from_bits(((127 + by) as u32) << 23)
}

/// Scores of one panel, and by what they become weights: `2^(s·factor − base)`.
pub(super) struct Scores<'a, V> {
    /// `(keys, LANES)`.
    pub(super) all: &'a [f32],
    pub(super) factor: f32,
    pub(super) base: V,
}

/// Weights of a tile, in pairs.
pub(super) struct PairedWeights<'a, C> {
    /// `(parts, panels, SLOT_KEYS/2, LANES, 2)`.
    pub(super) pairs: &'a mut [bf16],
    pub(super) cut: C,
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

impl<C: Cut> PairedWeights<'_, C> {
    /// Numbers from a part to the next, on so many lanes.
    #[inline(always)]
    pub(super) fn part(&self, lanes: usize) -> usize {
        self.panels * SLOT_KEYS * lanes
    }

    /// Panics where there is no room for the weights of `panel`.
    #[inline(always)]
    fn check(&self, lanes: usize, panel: usize) {
        assert!(
            panel < self.panels && self.pairs.len() >= C::PARTS * self.part(lanes),
            "room for all weights"
        );
    }

    /// Weights of keys `key` and `key + 1` for one panel.
    ///
    /// # Safety
    /// [`PairedWeights::check`] has looked at the panel, and `key + 2` is no more than [`SLOT_KEYS`].
    #[inline(always)]
    unsafe fn put<S: PairDots>(&mut self, isa: S, panel: usize, key: usize, [a, b]: [S::Vector; 2]) {
        let (part, at) = (self.part(S::LANES), (panel * SLOT_KEYS + key) * S::LANES);
        let found = match self.cut.numbers() {
            TileNumbers::Parts(1) => [isa.narrow_pairs(a, b); MOST_PARTS],
            TileNumbers::F16(_) => [isa.narrow_pairs_f16(a, b); MOST_PARTS],
            TileNumbers::Parts(parts) => zip_parts(isa, parts, [a, b]),
        };
        for i in 0..C::PARTS {
            // SAFETY: the caller's promise.
            let to = unsafe { from_raw_parts_mut(self.pairs.as_mut_ptr().add(i * part + at), 2 * S::LANES) };
            isa.store_pairs(found[i], to);
        }
    }

    /// `2^(s·factor − base)` of the scores of one key, as it is raised; the log-sum-exps of all types but bf16 are those of f32.
    ///
    /// The product is rounded before anything is taken from it, as that of the maximum was: the exponent of the largest score is then 0 and
    /// no other is above. Rounded once, it would be what the maximum lost: beyond 2³¹ that may be more than an exponent holds.
    ///
    /// # Safety
    /// `scores` must be valid for reading a vector.
    #[inline(always)]
    unsafe fn weight<S: PairDots>(
        &self,
        isa: S,
        scores: *const f32,
        [factor, base]: [S::Vector; 2],
    ) -> S::Vector {
        // SAFETY: the caller's promise.
        let product = isa.mul(unsafe { isa.load_at(scores) }, factor);
        let x = isa.sub(product, base);
        match self.cut.numbers() {
            TileNumbers::Parts(1) => exp2_for_bf16(isa, x),
            TileNumbers::Parts(_) => exp2(isa, x),
            TileNumbers::F16(_) => isa.mul(exp2(isa, x), isa.splat(raised(C::RAISED_BY))),
        }
    }

    /// `2^(s·factor − base)` for the keys of one panel that it sees, and their sum, both as they are raised.
    #[inline(always)]
    pub(super) fn exponentials<S: PairDots>(
        &mut self,
        isa: S,
        panel: usize,
        keys: Range<usize>,
        of: &Scores<'_, S::Vector>,
    ) -> S::Vector {
        let (lanes, zero) = (S::LANES, isa.splat(0.0));
        let (first, last) = (keys.start.next_multiple_of(2), keys.end / 2 * 2);
        let mut sums = [zero; 4];
        if keys.is_empty() {
            return zero;
        }
        self.check(lanes, panel);
        assert!(keys.end < SLOT_KEYS && of.all.len() >= keys.end * lanes);
        let scores = of.all.as_ptr();
        let by = [isa.splat(of.factor), of.base];
        // SAFETY: room for the weights of all these keys and their scores have been checked above.
        unsafe {
            if keys.start < first {
                let a = self.weight(isa, scores.add(keys.start * lanes), by);
                sums[0] = a;
                self.put(isa, panel, first - 2, [zero, a]);
            }
            let mut key = first;
            while key + 4 <= last {
                let mut a = [zero; 4];
                for i in 0..4 {
                    a[i] = self.weight(isa, scores.add((key + i) * lanes), by);
                    sums[i] = isa.add(sums[i], a[i]);
                }
                self.put(isa, panel, key, [a[0], a[1]]);
                self.put(isa, panel, key + 2, [a[2], a[3]]);
                key += 4;
            }
            while key < keys.end {
                let a = self.weight(isa, scores.add(key * lanes), by);
                let mut b = zero;
                if key + 1 < keys.end {
                    b = self.weight(isa, scores.add((key + 1) * lanes), by);
                }
                sums[1] = isa.add(sums[1], isa.add(a, b));
                self.put(isa, panel, key, [a, b]);
                key += 2;
            }
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
            if seen.is_empty() {
                continue;
            }
            self.check(lanes, panel);
            let from = &of.weights[panel * of.stride..][..seen.end * lanes];
            assert!(seen.end < SLOT_KEYS);
            for key in (seen.start / 2 * 2..seen.end).step_by(2) {
                let mut pair = [zero; 2];
                for i in 0..2 {
                    if seen.contains(&(key + i)) {
                        pair[i] = isa.load(&from[(key + i) * lanes..]);
                        if C::RAISED_BY > 0 {
                            pair[i] = isa.mul(pair[i], isa.splat(raised(C::RAISED_BY)));
                        }
                    }
                }
                // SAFETY: the room has been checked, and the last pair ends at most one behind what is seen.
                unsafe { self.put(isa, panel, key, pair) };
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
        for i in 0..C::PARTS {
            let from = i * part + panel * SLOT_KEYS * lanes;
            for gap in &gaps {
                if !gap.is_empty() {
                    self.pairs[from + gap.start * lanes..from + gap.end * lanes].fill(bf16::ZERO);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Isa, PairKernel, dispatch_pairs};

    /// The sum of the weights of so many keys whose products are all the same.
    struct Alike<C> {
        product: f32,
        factor: f32,
        keys: usize,
        cut: C,
    }

    impl<C: Cut> PairKernel for Alike<C> {
        type Output = f32;

        #[inline(always)]
        fn run<S: PairDots>(self, isa: S) -> f32 {
            let products = vec![self.product; self.keys * S::LANES];
            let mut pairs = vec![bf16::ZERO; C::PARTS * SLOT_KEYS * S::LANES];
            let mut weights = PairedWeights { pairs: &mut pairs, cut: self.cut, panels: 1 };
            let base = isa.mul(isa.splat(self.product), isa.splat(self.factor));
            let scores = Scores { all: &products, factor: self.factor, base };
            let sum = weights.exponentials(isa, 0, 0..self.keys, &scores);
            let mut line = vec![0.0; S::LANES];
            isa.store(isa.mul(sum, isa.splat(raised(-C::RAISED_BY))), &mut line);
            assert!(line.iter().all(|&x| x.to_bits() == line[0].to_bits()));
            line[0]
        }
    }

    #[test]
    fn what_rounding_takes_from_the_largest_score_is_no_exponent() {
        let emulated = TilesOfF16::of(Isa::ScalarAmxF16).unwrap();
        let factor = std::f32::consts::LOG2_E;
        for isa in Isa::available() {
            for product in [98304.0 * 98304.0, 98304.0 * 73728.0, 4.0 * 49152.0 * 36864.0, 1.0, -3e30] {
                let keys = 7;
                let one = dispatch_pairs(isa, Alike { product, factor, keys, cut: InParts::<1> });
                let two = dispatch_pairs(isa, Alike { product, factor, keys, cut: InParts::<2> });
                let f16 = dispatch_pairs(isa, Alike { product, factor, keys, cut: AsF16(emulated) });
                let expected = one.is_ok().then_some(keys as f32);
                assert_eq!([one.ok(), two.ok(), f16.ok()], [expected; 3], "{isa} {product}");
            }
        }
    }
}
