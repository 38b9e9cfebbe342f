//! Products of bf16 in pairs, added up in f32.
//!
//! ```text
//! pairs:  (x₀, y₀) (x₁, y₁) …                one pair of bf16 to a lane of f32
//! dot:    s[lane] + a.y·b.y + a.x·b.x        twice the products of a fused multiply-add in one instruction
//! ```
//!
//! The instruction (`vdpbf16ps`) adds the pair's second product first, rounds to nearest even after each of the two additions, takes
//! numbers below 2⁻¹²⁶ for 0 and gives 0 where a sum is one, whatever the control register says. A product of two bf16 has
//! sixteen significant bits and, between 2⁻¹²⁶ and 2¹²⁸, is exact in f32, so that there a plain multiplication and a plain addition round as a
//! fused one does: that is the emulation, which any machine runs ([`Isa::ScalarBf16`]) and which the tests hold the kernels on
//! pairs against the reference with.

use super::{Float, Isa, Scalar};
use crate::{bf16, f16};
use std::array::from_fn;
use std::slice::from_raw_parts;

#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(test)]
mod tests;

/// Lanes of f32 that pairs of bf16 are multiplied into.
///
/// Numbers of a pair lie one after another in memory; nothing has to be aligned beyond a bf16.
pub trait PairDots: Float<f32> {
    /// As many pairs as a vector has lanes.
    type Pairs: Copy;

    /// The pairs of `from`, at most a vector of them, and zeros after them, also for the second of half a pair.
    fn load_pairs(self, from: &[bf16]) -> Self::Pairs;
    /// `(a[i], b[i])` for the first lanes of both, with zeros where there are fewer.
    fn zip_pairs(self, a: &[bf16], b: &[bf16]) -> Self::Pairs;
    /// `(a[i], b[i])` for two vectors of both.
    ///
    /// # Safety
    /// `a` and `b` must be valid for reading `2·LANES` numbers.
    #[inline(always)]
    unsafe fn zip_two_at(self, a: *const bf16, b: *const bf16) -> [Self::Pairs; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (from_raw_parts(a, 2 * Self::LANES), from_raw_parts(b, 2 * Self::LANES));
            let (low, high) = (..Self::LANES, Self::LANES..);
            [self.zip_pairs(&a[low], &b[low]), self.zip_pairs(&a[high.clone()], &b[high])]
        }
    }
    /// `(a[i], b[i])`, rounded to nearest even; what is no normal number may become 0.
    fn narrow_pairs(self, a: Self::Vector, b: Self::Vector) -> Self::Pairs;
    /// `(a[i], b[i])`, rounded to the nearest f16, ties to even: pairs to be moved like those of bf16.
    fn narrow_pairs_f16(self, a: Self::Vector, b: Self::Vector) -> Self::Pairs;
    /// Into the first `2·LANES` numbers of `to`; panics where there are fewer.
    fn store_pairs(self, pairs: Self::Pairs, to: &mut [bf16]);
    /// A vector of pairs.
    ///
    /// # Safety
    /// `from` must be valid for reading `2·LANES` numbers.
    unsafe fn load_pairs_at(self, from: *const bf16) -> Self::Pairs;
    /// One pair in every lane.
    ///
    /// # Safety
    /// `from` must be valid for reading two numbers.
    unsafe fn splat_pair_at(self, from: *const bf16) -> Self::Pairs;
    /// The bits of each pair as those of a number, to be moved and not to be computed with.
    fn as_vector(self, pairs: Self::Pairs) -> Self::Vector;
    /// The inverse.
    fn as_pairs(self, vector: Self::Vector) -> Self::Pairs;
    /// The eight leading significant bits of each lane: a bf16, the rest cut off.
    fn truncated(self, x: Self::Vector) -> Self::Vector;
    /// The nearest number of eight significant bits to each lane; of two that are as near the one farther from 0.
    fn rounded(self, x: Self::Vector) -> Self::Vector;
    /// `(a[i], b[i])`, cut off.
    fn zip_truncated(self, a: Self::Vector, b: Self::Vector) -> Self::Pairs;
    /// The lanes of `a` and then those of `b`, cut off, one after another.
    fn join_truncated(self, a: Self::Vector, b: Self::Vector) -> Self::Pairs;
    /// `sum + a.1·b.1 + a.0·b.0`, in this order.
    fn dot_pairs(self, a: Self::Pairs, b: Self::Pairs, sum: Self::Vector) -> Self::Vector;
}

/// A computation on pairs of bf16. A struct whose fields are the arguments.
pub trait PairKernel {
    /// What it computes.
    type Output;

    /// Must be `#[inline(always)]`, like everything it calls.
    fn run<S: PairDots>(self, isa: S) -> Self::Output;
}

/// Runs `kernel` with the instructions of `isa`, or gives it back where that has no products of pairs.
#[inline]
pub fn dispatch_pairs<K: PairKernel>(isa: Isa, kernel: K) -> Result<K::Output, K> {
    match isa {
        Isa::ScalarBf16 => Ok(kernel.run(Scalar::new())),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Bf16 => match super::Avx512::detect_bf16() {
            // SAFETY: the token proves that the machine has the instructions.
            Some(token) => Ok(unsafe { super::avx512::enter_pairs(token, kernel) }),
            None => Err(kernel),
        },
        _ => Err(kernel),
    }
}

/// 0 in place of what is no normal number, with its sign.
#[inline(always)]
fn flushed(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE { 0.0f32.copysign(x) } else { x }
}

#[inline(always)]
fn upper_half(x: f32) -> bf16 {
    bf16::from_bits((x.to_bits() >> 16) as u16)
}

#[inline(always)]
fn widened(x: bf16) -> f32 {
    flushed(f32::from_bits(u32::from(x.to_bits()) << 16))
}

impl PairDots for Scalar {
    type Pairs = [[bf16; 2]; 4];

    #[inline(always)]
    fn load_pairs(self, from: &[bf16]) -> [[bf16; 2]; 4] {
        from_fn(|i| from_fn(|j| from.get(2 * i + j).copied().unwrap_or(bf16::ZERO)))
    }

    #[inline(always)]
    fn zip_pairs(self, a: &[bf16], b: &[bf16]) -> [[bf16; 2]; 4] {
        from_fn(|i| [a, b].map(|of| of.get(i).copied().unwrap_or(bf16::ZERO)))
    }

    #[inline(always)]
    fn narrow_pairs(self, a: [f32; 4], b: [f32; 4]) -> [[bf16; 2]; 4] {
        from_fn(|i| [a[i], b[i]].map(|x| bf16::from_f32(flushed(x))))
    }

    #[inline(always)]
    fn narrow_pairs_f16(self, a: [f32; 4], b: [f32; 4]) -> [[bf16; 2]; 4] {
        from_fn(|i| [a[i], b[i]].map(|x| bf16::from_bits(f16::from_f32(x).to_bits())))
    }

    #[inline(always)]
    fn store_pairs(self, pairs: [[bf16; 2]; 4], to: &mut [bf16]) {
        to[..8].copy_from_slice(pairs.as_flattened());
    }

    #[inline(always)]
    unsafe fn load_pairs_at(self, from: *const bf16) -> [[bf16; 2]; 4] {
        // SAFETY: the caller promises eight readable numbers; an array has no stricter alignment than its elements.
        unsafe { from.cast::<[[bf16; 2]; 4]>().read() }
    }

    #[inline(always)]
    unsafe fn splat_pair_at(self, from: *const bf16) -> [[bf16; 2]; 4] {
        // SAFETY: the caller promises two readable numbers.
        [unsafe { from.cast::<[bf16; 2]>().read() }; 4]
    }

    #[inline(always)]
    fn as_vector(self, pairs: [[bf16; 2]; 4]) -> [f32; 4] {
        pairs.map(|[x, y]| f32::from_bits(u32::from(x.to_bits()) | u32::from(y.to_bits()) << 16))
    }

    #[inline(always)]
    fn as_pairs(self, vector: [f32; 4]) -> [[bf16; 2]; 4] {
        vector.map(|v| [v.to_bits() as u16, (v.to_bits() >> 16) as u16].map(bf16::from_bits))
    }

    #[inline(always)]
    fn truncated(self, x: [f32; 4]) -> [f32; 4] {
        x.map(|x| f32::from_bits(x.to_bits() & 0xffff_0000))
    }

    #[inline(always)]
    fn rounded(self, x: [f32; 4]) -> [f32; 4] {
        self.truncated(x.map(|x| f32::from_bits(x.to_bits().wrapping_add(0x8000))))
    }

    #[inline(always)]
    fn zip_truncated(self, a: [f32; 4], b: [f32; 4]) -> [[bf16; 2]; 4] {
        from_fn(|i| [a[i], b[i]].map(upper_half))
    }

    #[inline(always)]
    fn join_truncated(self, a: [f32; 4], b: [f32; 4]) -> [[bf16; 2]; 4] {
        let four = |x: [f32; 4]| [[x[0], x[1]], [x[2], x[3]]].map(|pair| pair.map(upper_half));
        let ([p, q], [r, s]) = (four(a), four(b));
        [p, q, r, s]
    }

    #[inline(always)]
    fn dot_pairs(self, a: [[bf16; 2]; 4], b: [[bf16; 2]; 4], sum: [f32; 4]) -> [f32; 4] {
        from_fn(|i| {
            let second = flushed(flushed(sum[i]) + widened(a[i][1]) * widened(b[i][1]));
            flushed(second + widened(a[i][0]) * widened(b[i][0]))
        })
    }
}
