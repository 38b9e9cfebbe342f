//! NEON: two registers of two f64 make a vector of four, so that a register tile is as large as on AVX2.

use super::{Kernel, Lanes, Simd};
use std::arch::aarch64::{
    float64x2_t, vaddq_f64, vaddvq_f64, vdupq_n_f64, vfmaq_f64, vfmsq_f64, vld1q_f64, vmulq_f64, vnegq_f64,
    vst1q_f64, vsubq_f64, vzip1q_f64, vzip2q_f64,
};

/// The token: this machine has NEON.
#[derive(Clone, Copy, Debug)]
pub struct Neon(());

impl Neon {
    /// The token, if the processor has the instructions.
    #[inline]
    pub fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Neon(()))
    }
}

/// Where a kernel enters the instruction set.
#[target_feature(enable = "neon")]
pub(super) fn enter<K: Kernel>(token: Neon, kernel: K) -> K::Output {
    kernel.run(token)
}

impl Simd for Neon {
    const GROUP: usize = 2;
    type Single = Neon;
    type Double = Neon;

    #[inline(always)]
    fn single(self) -> Neon {
        self
    }

    #[inline(always)]
    fn double(self) -> Neon {
        self
    }
}

/// Lanes 0 and 1, then 2 and 3.
type Pair = [float64x2_t; 2];

// SAFETY of every block below: holding `self` proves that the instruction exists; what touches memory says more.
impl Lanes<f64> for Neon {
    type Vector = Pair;
    type Square = [Pair; 4];
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(self, x: f64) -> Pair {
        // SAFETY: the token.
        unsafe { [vdupq_n_f64(x); 2] }
    }

    #[inline(always)]
    fn square(self, v: Pair) -> [Pair; 4] {
        [v; 4]
    }

    #[inline(always)]
    fn load(self, from: &[f64]) -> Pair {
        // SAFETY: the slice holds four numbers, or `[..4]` panics.
        unsafe { self.load_at(from[..4].as_ptr()) }
    }

    #[inline(always)]
    fn load_first(self, from: &[f64]) -> Pair {
        let mut four = [0.0; 4];
        let count = from.len().min(4);
        four[..count].copy_from_slice(&from[..count]);
        self.load(&four)
    }

    #[inline(always)]
    fn store(self, v: Pair, to: &mut [f64]) {
        // SAFETY: the slice holds four numbers, or `[..4]` panics.
        unsafe { self.store_at(v, to[..4].as_mut_ptr()) }
    }

    #[inline(always)]
    fn store_first(self, v: Pair, to: &mut [f64]) {
        let mut four = [0.0; 4];
        self.store(v, &mut four);
        let count = to.len().min(4);
        to[..count].copy_from_slice(&four[..count]);
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f64) -> Pair {
        // SAFETY: the token; the caller promises four readable numbers.
        unsafe { [vld1q_f64(from), vld1q_f64(from.add(2))] }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: Pair, to: *mut f64) {
        // SAFETY: the token; the caller promises four writable numbers.
        unsafe {
            vst1q_f64(to, v[0]);
            vst1q_f64(to.add(2), v[1]);
        }
    }

    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vaddq_f64(a[0], b[0]), vaddq_f64(a[1], b[1])] }
    }

    #[inline(always)]
    fn sub(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vsubq_f64(a[0], b[0]), vsubq_f64(a[1], b[1])] }
    }

    #[inline(always)]
    fn mul(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vmulq_f64(a[0], b[0]), vmulq_f64(a[1], b[1])] }
    }

    #[inline(always)]
    fn mul_add(self, a: Pair, b: Pair, c: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vfmaq_f64(c[0], a[0], b[0]), vfmaq_f64(c[1], a[1], b[1])] }
    }

    #[inline(always)]
    fn neg_mul_add(self, a: Pair, b: Pair, c: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vfmsq_f64(c[0], a[0], b[0]), vfmsq_f64(c[1], a[1], b[1])] }
    }

    #[inline(always)]
    fn fused_mul_add(self, a: Pair, b: Pair, c: Pair) -> Pair {
        Lanes::<f64>::mul_add(self, a, b, c)
    }

    #[inline(always)]
    fn fused_mul_sub(self, a: Pair, b: Pair, c: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { Lanes::<f64>::mul_add(self, a, b, [vnegq_f64(c[0]), vnegq_f64(c[1])]) }
    }

    #[inline(always)]
    fn sum(self, v: Pair) -> f64 {
        // SAFETY: the token.
        unsafe { vaddvq_f64(vaddq_f64(v[0], v[1])) }
    }

    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [Pair; 4]) -> [Pair; 4] {
        // SAFETY: the token.
        unsafe {
            [
                [vzip1q_f64(a[0], b[0]), vzip1q_f64(c[0], d[0])],
                [vzip2q_f64(a[0], b[0]), vzip2q_f64(c[0], d[0])],
                [vzip1q_f64(a[1], b[1]), vzip1q_f64(c[1], d[1])],
                [vzip2q_f64(a[1], b[1]), vzip2q_f64(c[1], d[1])],
            ]
        }
    }
}
