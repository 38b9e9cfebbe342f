//! Sweeps over a tile: maxima, exponentials, what is not finite.

use super::exp::exp2;
use super::pools::POOL_KEYS;
use super::rows::Rows;
use crate::simd::{Float, Real};

/// The larger of `max` and all vectors of `scores`.
#[inline(always)]
pub(super) fn maximum<A: Real, S: Float<A>>(isa: S, max: S::Vector, scores: &[A]) -> S::Vector {
    let mut four = [max; 4];
    let mut fours = scores.chunks_exact(4 * S::LANES);
    for s in &mut fours {
        for i in 0..4 {
            four[i] = isa.max(four[i], isa.load(&s[i * S::LANES..]));
        }
    }
    for s in fours.remainder().chunks_exact(S::LANES) {
        four[0] = isa.max(four[0], isa.load(s));
    }
    isa.max(isa.max(four[0], four[1]), isa.max(four[2], four[3]))
}

/// What exponentials add up to, lane by lane.
#[derive(Clone, Copy)]
pub(super) struct Sums<V> {
    /// What it began with, and `Σa`.
    pub(super) sum: V,
    /// `Σ a·(s − base)`; untouched where it is not asked for.
    pub(super) moment: V,
    /// What rounding took from the sum; untouched where it is not asked for.
    pub(super) lost: V,
}

impl<V: Copy> Sums<V> {
    /// Of nothing.
    #[inline(always)]
    pub(super) fn none<A: Real, S: Float<A, Vector = V>>(isa: S) -> Self {
        let zero = isa.splat(A::ZERO);
        Sums { sum: zero, moment: zero, lost: zero }
    }
}

/// `a = 2^(s − base)` in place, added to `sums`, as many of them side by side: `Σa`, with `MOMENT` also `Σ a·(s − base)`, with
/// `EXACT` also what rounding takes from a `Σa` that began at 2 or more.
#[inline(always)]
pub(super) fn exponentials<A: Real, S: Float<A>, const WIDE: usize, const MOMENT: bool, const EXACT: bool>(
    isa: S,
    base: S::Vector,
    scores: &mut [A],
    mut sums: [Sums<S::Vector>; WIDE],
) -> [Sums<S::Vector>; WIDE] {
    if scores.len() == POOL_KEYS * S::LANES {
        // A number the compiler knows. The inner loop counts: a sum that were chosen by a remainder would live in memory.
        for first in (0..POOL_KEYS).step_by(WIDE) {
            for i in 0..WIDE {
                let one = &mut scores[(first + i) * S::LANES..][..S::LANES];
                sums[i] = exponential::<A, S, MOMENT, EXACT>(isa, base, sums[i], one);
            }
        }
        return sums;
    }
    let mut groups = scores.chunks_exact_mut(WIDE * S::LANES);
    for s in &mut groups {
        for i in 0..WIDE {
            let one = &mut s[i * S::LANES..][..S::LANES];
            sums[i] = exponential::<A, S, MOMENT, EXACT>(isa, base, sums[i], one);
        }
    }
    for s in groups.into_remainder().chunks_exact_mut(S::LANES) {
        sums[0] = exponential::<A, S, MOMENT, EXACT>(isa, base, sums[0], s);
    }
    sums
}

/// `a = 2^(s − base)` in place, and `Σa`.
#[inline(always)]
pub(super) fn total<A: Real, S: Float<A>>(isa: S, base: S::Vector, scores: &mut [A]) -> S::Vector {
    let [a, b, c, d] = exponentials::<_, S, 4, false, false>(isa, base, scores, [Sums::none(isa); 4]);
    isa.add(isa.add(a.sum, b.sum), isa.add(c.sum, d.sum))
}

/// One vector of [`exponentials`], added to `sums`.
#[inline(always)]
fn exponential<A: Real, S: Float<A>, const MOMENT: bool, const EXACT: bool>(
    isa: S,
    base: S::Vector,
    mut sums: Sums<S::Vector>,
    scores: &mut [A],
) -> Sums<S::Vector> {
    let x = isa.sub(isa.load(scores), base);
    let a = exp2(isa, x);
    isa.store(a, scores);
    if MOMENT {
        // 0·−∞ is NaN; 0 times the lowest exponent is 0.
        sums.moment = isa.mul_add(a, isa.max(isa.splat(S::LOWEST_EXPONENT), x), sums.moment);
    }
    let next = isa.add(sums.sum, a);
    if EXACT {
        // No weight is larger than the sum, which began at 2, so what rounding takes is a difference of differences.
        sums.lost = isa.add(sums.lost, isa.sub(a, isa.sub(next, sums.sum)));
    }
    sums.sum = next;
    sums
}

/// Whether the first `count` rows hold neither an infinity nor a NaN: 0 times any of them is not 0.
#[inline(always)]
pub(super) fn all_finite<A: Real, S: Float<A>>(isa: S, rows: Rows<'_, A>, count: usize) -> bool {
    let zero = isa.splat(A::ZERO);
    // Four sums, so that none waits for the one before it.
    let mut four = [zero; 4];
    for row in 0..count {
        let mut fours = rows.row(row).chunks_exact(4 * S::LANES);
        for x in &mut fours {
            for i in 0..4 {
                four[i] = isa.mul_add(isa.load(&x[i * S::LANES..]), zero, four[i]);
            }
        }
        for x in fours.remainder().chunks_exact(S::LANES) {
            four[0] = isa.mul_add(isa.load(x), zero, four[0]);
        }
    }
    isa.sum(isa.add(isa.add(four[0], four[1]), isa.add(four[2], four[3]))) == A::ZERO
}
