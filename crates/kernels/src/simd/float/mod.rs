//! What softmax needs beyond sums and products: maxima, comparisons, powers of two; and kernels over one float type.
//!
//! [`Lanes`] is the arithmetic every kernel shares. [`Float`] adds what an exponential is made of. A kernel that is
//! written for *either* f32 or f64 is a [`FloatKernel`] and enters its instruction set through [`Real::dispatch`], which
//! picks the vectors of the right width from the token.

mod scalar;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;

use super::{Isa, Kernel, Lanes, Simd, dispatch};
use crate::{Element, bf16, f16};
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// How many vector registers there are, which decides how many sums of a matrix product stay in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registers {
    /// x86 before AVX-512; NEON's thirty-two count as sixteen pairs.
    Sixteen,
    /// AVX-512.
    ThirtyTwo,
}

/// Lanes of floating-point numbers that can be compared and raised to powers.
pub trait Float<T: Copy>: Lanes<T> {
    /// How many vectors there is room for.
    const REGISTERS: Registers;
    /// What exponents are raised to before [`Float::scale`]: there the result is exactly 0.
    const LOWEST_EXPONENT: T;

    /// The larger one; `b` or NaN where either is NaN.
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The smaller one; `b` or NaN where either is NaN.
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a / b`.
    fn div(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `yes` where `a > b`, otherwise, and where either is NaN, `no`.
    fn where_greater(
        self,
        a: Self::Vector,
        b: Self::Vector,
        yes: Self::Vector,
        no: Self::Vector,
    ) -> Self::Vector;
    /// `yes` in the lanes whose bit is set in `bits`, the lowest for the first lane; `no` in the others.
    fn where_set(self, bits: u32, yes: Self::Vector, no: Self::Vector) -> Self::Vector;
    /// A bit for each lane where `a > b`, the lowest for the first lane.
    fn greater(self, a: Self::Vector, b: Self::Vector) -> u32;
    /// The nearest integer, ties to even.
    fn round(self, a: Self::Vector) -> Self::Vector;
    /// The largest integer that is no larger; of numbers that exponents can be.
    fn floor(self, a: Self::Vector) -> Self::Vector;
    /// `(n, r)` where `r` is what `x` has above the largest integer that is no larger, and [`Float::scale`] by `n` is by that
    /// integer; 0 for `r` of −∞, by whose `n` scaling gives 0.
    #[inline(always)]
    fn split(self, x: Self::Vector) -> (Self::Vector, Self::Vector) {
        // `max` gives its second operand where that is NaN.
        let x = self.max(self.splat(Self::LOWEST_EXPONENT), x);
        let n = self.floor(x);
        (n, self.sub(x, n))
    }
    /// `p · 2ⁿ` for an integer `n`, or one that [`Float::split`] gave, and `p` near 1, where the result is a normal number; 0
    /// where `n` is [`Float::LOWEST_EXPONENT`] and `p` is 1.
    fn scale(self, p: Self::Vector, n: Self::Vector) -> Self::Vector;
    /// Lane `i` is the sum of the lanes of row `i`.
    #[inline(always)]
    fn row_sums(self, rows: Self::Square) -> Self::Vector {
        let columns = self.transpose(rows);
        let mut total = columns.as_ref()[0];
        for column in 1..Self::LANES {
            total = self.add(total, columns.as_ref()[column]);
        }
        total
    }
    /// A vector of bf16, widened.
    ///
    /// # Safety
    /// `from` must be valid for reading [`Lanes::LANES`] numbers.
    #[inline(always)]
    unsafe fn load_bf16_at(self, from: *const bf16) -> Self::Vector
    where
        T: Real,
    {
        let mut line = [T::ZERO; MOST_LANES];
        for lane in 0..Self::LANES {
            // SAFETY: the caller promises as many numbers as there are lanes.
            line[lane] = T::of_bf16(unsafe { *from.add(lane) });
        }
        self.load(&line)
    }
    /// Whether [`Float::load_two_bf16_at`] gives the numbers at even places and those at odd ones: a shift and a mask do for both, which
    /// is faster where halves of vectors are slow to widen.
    const BF16_IN_HALVES: bool = false;
    /// Two vectors of bf16, widened: in order, or in halves.
    ///
    /// # Safety
    /// `from` must be valid for reading twice [`Lanes::LANES`] numbers.
    #[inline(always)]
    unsafe fn load_two_bf16_at(self, from: *const bf16) -> [Self::Vector; 2]
    where
        T: Real,
    {
        // SAFETY: the caller's promise.
        unsafe { [self.load_bf16_at(from), self.load_bf16_at(from.add(Self::LANES))] }
    }
    /// A vector of f16, widened.
    ///
    /// # Safety
    /// `from` must be valid for reading [`Lanes::LANES`] numbers.
    #[inline(always)]
    unsafe fn load_f16_at(self, from: *const f16) -> Self::Vector
    where
        T: Real,
    {
        let mut line = [T::ZERO; MOST_LANES];
        for lane in 0..Self::LANES {
            // SAFETY: the caller promises as many numbers as there are lanes.
            line[lane] = T::of_f16(unsafe { *from.add(lane) });
        }
        self.load(&line)
    }
    /// Up to a vector of bf16, widened, and zeros after them.
    #[inline(always)]
    fn load_first_bf16(self, from: &[bf16]) -> Self::Vector
    where
        T: Real,
    {
        let mut line = [T::ZERO; MOST_LANES];
        for lane in 0..from.len().min(Self::LANES) {
            line[lane] = T::of_bf16(from[lane]);
        }
        self.load(&line)
    }
    /// The same of f16.
    #[inline(always)]
    fn load_first_f16(self, from: &[f16]) -> Self::Vector
    where
        T: Real,
    {
        let mut line = [T::ZERO; MOST_LANES];
        for lane in 0..from.len().min(Self::LANES) {
            line[lane] = T::of_f16(from[lane]);
        }
        self.load(&line)
    }
}

/// Lanes of the widest vector there is.
pub(crate) const MOST_LANES: usize = 16;

/// A computation over lanes of `T` that runs on any instruction set. A struct whose fields are the arguments.
pub trait FloatKernel<T: Copy> {
    /// What it computes.
    type Output;

    /// Must be `#[inline(always)]`, like everything it calls.
    fn run<S: Float<T>>(self, isa: S) -> Self::Output;
}

/// A type that sums are formed in: f32 or f64.
pub trait Real:
    Element<Accumulator = Self>
    + PartialOrd
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// Where nothing is left.
    const NEG_INFINITY: Self;
    /// The lowest finite number.
    const LOWEST: Self;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// `(2^r − 1)/r` for `0 ≤ r ≤ 1`, lowest power first: the smallest error of `2^r` for this degree.
    const POWER: &'static [Self];
    /// The same for `|r| ≤ ½`, and exact near 0.
    const POWER_NEAR_ONE: &'static [Self];

    /// Exact.
    fn of_bf16(x: bf16) -> Self;
    /// Exact.
    fn of_f16(x: f16) -> Self;
    /// Runs `kernel` with the instructions of `isa`, or with the best the machine has below it.
    fn dispatch<K: FloatKernel<Self>>(isa: Isa, kernel: K) -> K::Output;
}

impl Real for f32 {
    const NEG_INFINITY: f32 = f32::NEG_INFINITY;
    const LOWEST: f32 = f32::MIN;
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    // Error 2.9e-9.
    #[expect(clippy::approx_constant, reason = "near ln 2, and not ln 2")]
    const POWER: &'static [f32] =
        &[0.693_147, 0.240_229_9, 0.055_482_447, 0.009_681_268, 0.001_241_386_4, 0.000_217_987_78];
    // Relative error 2.0e-9.
    const POWER_NEAR_ONE: &'static [f32] = &[
        std::f32::consts::LN_2,
        0.240_226_48,
        0.055_503_324,
        0.009_618_438,
        0.001_339_887_4,
        0.000_153_533_62,
    ];

    #[inline(always)]
    fn of_bf16(x: bf16) -> f32 {
        f32::from_bits(u32::from(x.to_bits()) << 16)
    }

    #[inline(always)]
    fn of_f16(x: f16) -> f32 {
        x.to_f32()
    }

    #[inline]
    fn dispatch<K: FloatKernel<f32>>(isa: Isa, kernel: K) -> K::Output {
        dispatch(isa, Single(kernel))
    }
}

impl Real for f64 {
    const NEG_INFINITY: f64 = f64::NEG_INFINITY;
    const LOWEST: f64 = f64::MIN;
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    // Error 4.6e-18.
    const POWER: &'static [f64] = &[
        0.693_147_180_559_946_2,
        0.240_226_506_959_050_98,
        0.055_504_108_665_815_15,
        0.009_618_129_097_733_838,
        0.001_333_355_871_846_384_2,
        0.000_154_035_096_246_997_63,
        1.525_322_680_757_221_6e-5,
        1.320_772_927_325_916e-6,
        1.025_808_103_979_272_3e-7,
        6.538_585_314_747_973e-9,
        6.302_298_609_690_665e-10,
    ];
    // Relative error 3.4e-18.
    const POWER_NEAR_ONE: &'static [f64] = &[
        std::f64::consts::LN_2,
        0.240_226_506_959_101_3,
        0.055_504_108_664_820_08,
        0.009_618_129_107_594_12,
        0.001_333_355_814_677_465,
        0.000_154_035_304_571_113_6,
        1.525_273_349_309_594e-5,
        1.321_543_528_268_066_3e-6,
        1.017_819_958_644_790_9e-7,
        7.073_783_184_458_316e-9,
        4.434_768_928_626_276e-10,
    ];

    #[inline(always)]
    fn of_bf16(x: bf16) -> f64 {
        f64::from(f32::of_bf16(x))
    }

    #[inline(always)]
    fn of_f16(x: f16) -> f64 {
        x.to_f64()
    }

    #[inline]
    fn dispatch<K: FloatKernel<f64>>(isa: Isa, kernel: K) -> K::Output {
        dispatch(isa, Double(kernel))
    }
}

struct Single<K>(K);

impl<K: FloatKernel<f32>> Kernel for Single<K> {
    type Output = K::Output;

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> K::Output {
        self.0.run(isa.single())
    }
}

struct Double<K>(K);

impl<K: FloatKernel<f64>> Kernel for Double<K> {
    type Output = K::Output;

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> K::Output {
        self.0.run(isa.double())
    }
}
