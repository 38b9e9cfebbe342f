//! What register tiles multiply: numbers, or pairs of bf16.

use crate::simd::{Float, PairDots, Real};
use crate::{Element, bf16};

/// What the lanes of an operand hold, and how two of them are multiplied.
pub(super) trait Multiply<A: Real, S: Float<A>> {
    /// How numbers lie in memory.
    type Number: Element;
    /// A vector of them.
    type Operand: Copy;
    /// Numbers to a lane.
    const PER_LANE: usize;

    /// A vector from `from` on.
    ///
    /// # Safety
    /// `from` must be valid for reading `LANES·PER_LANE` numbers.
    unsafe fn load_at(isa: S, from: *const Self::Number) -> Self::Operand;
    /// One lane, in all of them.
    ///
    /// # Safety
    /// `from` must be valid for reading `PER_LANE` numbers.
    unsafe fn splat_at(isa: S, from: *const Self::Number) -> Self::Operand;
    /// `a·b + sum`.
    fn add(isa: S, a: Self::Operand, b: Self::Operand, sum: S::Vector) -> S::Vector;
    /// A score from a sum.
    fn score(isa: S, sum: S::Vector, factor: S::Vector) -> S::Vector;
}

/// One number to a lane, in the type sums are formed in. The factor of the scores is in the queries.
pub(super) struct Singles;

impl<A: Real, S: Float<A>> Multiply<A, S> for Singles {
    type Number = A;
    type Operand = S::Vector;
    const PER_LANE: usize = 1;

    #[inline(always)]
    unsafe fn load_at(isa: S, from: *const A) -> S::Vector {
        // SAFETY: the caller's promise.
        unsafe { isa.load_at(from) }
    }

    #[inline(always)]
    unsafe fn splat_at(isa: S, from: *const A) -> S::Vector {
        // SAFETY: the caller's promise.
        isa.splat(unsafe { *from })
    }

    #[inline(always)]
    fn add(isa: S, a: S::Vector, b: S::Vector, sum: S::Vector) -> S::Vector {
        isa.mul_add(a, b, sum)
    }

    #[inline(always)]
    fn score(_: S, sum: S::Vector, _: S::Vector) -> S::Vector {
        sum
    }
}

/// Two bf16 to a lane. The factor would have to be rounded to bf16 if it were in the queries, so the sums are multiplied.
pub(super) struct Pairs;

impl<S: PairDots> Multiply<f32, S> for Pairs {
    type Number = bf16;
    type Operand = S::Pairs;
    const PER_LANE: usize = 2;

    #[inline(always)]
    unsafe fn load_at(isa: S, from: *const bf16) -> S::Pairs {
        // SAFETY: the caller's promise.
        unsafe { isa.load_pairs_at(from) }
    }

    #[inline(always)]
    unsafe fn splat_at(isa: S, from: *const bf16) -> S::Pairs {
        // SAFETY: the caller's promise.
        unsafe { isa.splat_pair_at(from) }
    }

    #[inline(always)]
    fn add(isa: S, a: S::Pairs, b: S::Pairs, sum: S::Vector) -> S::Vector {
        isa.dot_pairs(a, b, sum)
    }

    #[inline(always)]
    fn score(isa: S, sum: S::Vector, factor: S::Vector) -> S::Vector {
        isa.mul(sum, factor)
    }
}
