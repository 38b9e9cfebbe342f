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

/// What a run of exponentials adds up to, lane by lane.
#[derive(Clone, Copy)]
pub(super) struct Sums<V> {
    /// `Σa`.
    pub(super) sum: V,
    /// `Σ a·(s − base)`; 0 where it is not asked for.
    pub(super) moment: V,
    /// The largest `a`, if there is no NaN among them; 0 where it is not asked for.
    pub(super) max: V,
}

/// `a = 2^(s − base)` in place; gives `Σa` and, with `STATISTICS`, the rest of [`Sums`]. `WIDE` vectors are summed side by side.
#[inline(always)]
pub(super) fn exponentials<A: Real, S: Float<A>, const WIDE: usize, const STATISTICS: bool>(
    isa: S,
    base: S::Vector,
    scores: &mut [A],
) -> Sums<S::Vector> {
    let zero = isa.splat(A::ZERO);
    let mut wide = [Sums { sum: zero, moment: zero, max: zero }; WIDE];
    let mut groups = scores.chunks_exact_mut(WIDE * S::LANES);
    for s in &mut groups {
        for i in 0..WIDE {
            let one = &mut s[i * S::LANES..][..S::LANES];
            wide[i] = exponential::<A, S, STATISTICS>(isa, base, wide[i], one);
        }
    }
    for s in groups.into_remainder().chunks_exact_mut(S::LANES) {
        wide[0] = exponential::<A, S, STATISTICS>(isa, base, wide[0], s);
    }
    let mut half = WIDE / 2;
    while half > 0 {
        for i in 0..half {
            let (a, b) = (wide[2 * i], wide[2 * i + 1]);
            wide[i] = Sums {
                sum: isa.add(a.sum, b.sum),
                moment: isa.add(a.moment, b.moment),
                max: isa.max(a.max, b.max),
            };
        }
        half /= 2;
    }
    wide[0]
}

/// One vector of [`exponentials`], added to `sums`.
#[inline(always)]
fn exponential<A: Real, S: Float<A>, const STATISTICS: bool>(
    isa: S,
    base: S::Vector,
    sums: Sums<S::Vector>,
    scores: &mut [A],
) -> Sums<S::Vector> {
    let x = isa.sub(isa.load(scores), base);
    let a = exp2(isa, x);
    isa.store(a, scores);
    let sum = isa.add(sums.sum, a);
    if STATISTICS {
        // 0·−∞ is NaN; 0 times the lowest exponent is 0.
        let moment = isa.mul_add(a, isa.max(isa.splat(S::LOWEST_EXPONENT), x), sums.moment);
        Sums { sum, moment, max: isa.max(sums.max, a) }
    } else {
        Sums { sum, ..sums }
    }
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
