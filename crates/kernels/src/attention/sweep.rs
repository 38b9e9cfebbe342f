//! Sweeps over a tile: maxima, exponentials, what is not finite.

use super::exp::exp2;
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

/// `a = 2^(s − base)` in place; gives `Σa` and, if asked, `Σ a·(s − base)`.
#[inline(always)]
pub(super) fn exponentials<A: Real, S: Float<A>, const MOMENT: bool>(
    isa: S,
    base: S::Vector,
    scores: &mut [A],
) -> (S::Vector, S::Vector) {
    let zero = isa.splat(A::ZERO);
    let (mut sums, mut moments) = ([zero; 4], [zero; 4]);
    let mut fours = scores.chunks_exact_mut(4 * S::LANES);
    for s in &mut fours {
        for i in 0..4 {
            let one = &mut s[i * S::LANES..][..S::LANES];
            let (a, moment) = exponential::<A, S, MOMENT>(isa, base, moments[i], one);
            (sums[i], moments[i]) = (isa.add(sums[i], a), moment);
        }
    }
    for s in fours.into_remainder().chunks_exact_mut(S::LANES) {
        let (a, moment) = exponential::<A, S, MOMENT>(isa, base, moments[0], s);
        (sums[0], moments[0]) = (isa.add(sums[0], a), moment);
    }
    (
        isa.add(isa.add(sums[0], sums[1]), isa.add(sums[2], sums[3])),
        isa.add(isa.add(moments[0], moments[1]), isa.add(moments[2], moments[3])),
    )
}

/// One vector of [`exponentials`]: `a`, and the moment with `a·(s − base)` added.
#[inline(always)]
fn exponential<A: Real, S: Float<A>, const MOMENT: bool>(
    isa: S,
    base: S::Vector,
    moment: S::Vector,
    scores: &mut [A],
) -> (S::Vector, S::Vector) {
    let x = isa.sub(isa.load(scores), base);
    let a = exp2(isa, x);
    isa.store(a, scores);
    if MOMENT {
        // 0·−∞ is NaN; 0 times the lowest number is 0.
        (a, isa.mul_add(a, isa.max(isa.splat(A::LOWEST), x), moment))
    } else {
        (a, moment)
    }
}

/// Whether the first `count` rows hold neither an infinity nor a NaN: 0 times any of them is not 0.
#[inline(always)]
pub(super) fn all_finite<A: Real, S: Float<A>>(isa: S, rows: Rows<'_, A>, count: usize) -> bool {
    let zero = isa.splat(A::ZERO);
    let mut sum = zero;
    for row in 0..count {
        for x in rows.row(row).chunks_exact(S::LANES) {
            sum = isa.mul_add(isa.load(x), zero, sum);
        }
    }
    isa.sum(sum) == A::ZERO
}
