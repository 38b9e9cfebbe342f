//! NEON: two registers of four f32 make a vector of eight, and what softmax needs of f32 and f64.

use super::{Float, Registers};
use crate::simd::{Lanes, Neon};
use std::arch::aarch64::{
    float32x4_t, float64x2_t, vaddq_f32, vaddq_s32, vaddq_s64, vaddvq_f32, vaddvq_u32, vaddvq_u64, vandq_u32,
    vandq_u64, vbslq_f32, vbslq_f64, vcgtq_f32, vcgtq_f64, vcvtq_s32_f32, vcvtq_s64_f64, vdivq_f32,
    vdivq_f64, vdupq_n_f32, vdupq_n_u32, vdupq_n_u64, vfmaq_f32, vfmsq_f32, vld1q_f32, vld1q_u32, vld1q_u64,
    vmaxq_f32, vmaxq_f64, vminq_f32, vminq_f64, vmulq_f32, vnegq_f32, vorrq_u32, vorrq_u64,
    vreinterpretq_f32_f64, vreinterpretq_f32_s32, vreinterpretq_f64_f32, vreinterpretq_f64_s64,
    vreinterpretq_s32_f32, vreinterpretq_s64_f64, vrndmq_f32, vrndmq_f64, vrndnq_f32, vrndnq_f64,
    vshlq_n_s32, vshlq_n_s64, vst1q_f32, vsubq_f32, vtrn1q_f32, vtrn1q_f64, vtrn2q_f32, vtrn2q_f64,
    vtstq_u32, vtstq_u64,
};

/// Lanes 0 to 3, then 4 to 7.
type Pair = [float32x4_t; 2];
/// Lanes 0 and 1, then 2 and 3.
type WidePair = [float64x2_t; 2];

/// A square of four columns of four numbers, transposed.
#[inline(always)]
unsafe fn transpose_quarter([a, b, c, d]: [float32x4_t; 4]) -> [float32x4_t; 4] {
    // SAFETY: the caller holds the token.
    unsafe {
        let wide = |x| vreinterpretq_f64_f32(x);
        let narrow = |x| vreinterpretq_f32_f64(x);
        let (ab_even, ab_odd) = (wide(vtrn1q_f32(a, b)), wide(vtrn2q_f32(a, b)));
        let (cd_even, cd_odd) = (wide(vtrn1q_f32(c, d)), wide(vtrn2q_f32(c, d)));
        [
            narrow(vtrn1q_f64(ab_even, cd_even)),
            narrow(vtrn1q_f64(ab_odd, cd_odd)),
            narrow(vtrn2q_f64(ab_even, cd_even)),
            narrow(vtrn2q_f64(ab_odd, cd_odd)),
        ]
    }
}

// SAFETY of every block below: holding `self` proves that the instruction exists; what touches memory says more.
impl Lanes<f32> for Neon {
    type Vector = Pair;
    type Square = [Pair; 8];
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(self, x: f32) -> Pair {
        // SAFETY: the token.
        unsafe { [vdupq_n_f32(x); 2] }
    }

    #[inline(always)]
    fn square(self, v: Pair) -> [Pair; 8] {
        [v; 8]
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> Pair {
        // SAFETY: the slice holds eight numbers, or `[..8]` panics.
        unsafe { self.load_at(from[..8].as_ptr()) }
    }

    #[inline(always)]
    fn load_first(self, from: &[f32]) -> Pair {
        let mut eight = [0.0; 8];
        let count = from.len().min(8);
        eight[..count].copy_from_slice(&from[..count]);
        self.load(&eight)
    }

    #[inline(always)]
    fn store(self, v: Pair, to: &mut [f32]) {
        // SAFETY: the slice holds eight numbers, or `[..8]` panics.
        unsafe { self.store_at(v, to[..8].as_mut_ptr()) }
    }

    #[inline(always)]
    fn store_first(self, v: Pair, to: &mut [f32]) {
        let mut eight = [0.0; 8];
        self.store(v, &mut eight);
        let count = to.len().min(8);
        to[..count].copy_from_slice(&eight[..count]);
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> Pair {
        // SAFETY: the token; the caller promises eight readable numbers.
        unsafe { [vld1q_f32(from), vld1q_f32(from.add(4))] }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: Pair, to: *mut f32) {
        // SAFETY: the token; the caller promises eight writable numbers.
        unsafe {
            vst1q_f32(to, v[0]);
            vst1q_f32(to.add(4), v[1]);
        }
    }

    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vaddq_f32(a[0], b[0]), vaddq_f32(a[1], b[1])] }
    }

    #[inline(always)]
    fn sub(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vsubq_f32(a[0], b[0]), vsubq_f32(a[1], b[1])] }
    }

    #[inline(always)]
    fn mul(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vmulq_f32(a[0], b[0]), vmulq_f32(a[1], b[1])] }
    }

    #[inline(always)]
    fn mul_add(self, a: Pair, b: Pair, c: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vfmaq_f32(c[0], a[0], b[0]), vfmaq_f32(c[1], a[1], b[1])] }
    }

    #[inline(always)]
    fn neg_mul_add(self, a: Pair, b: Pair, c: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vfmsq_f32(c[0], a[0], b[0]), vfmsq_f32(c[1], a[1], b[1])] }
    }

    #[inline(always)]
    fn fused_mul_add(self, a: Pair, b: Pair, c: Pair) -> Pair {
        Lanes::<f32>::mul_add(self, a, b, c)
    }

    #[inline(always)]
    fn fused_mul_sub(self, a: Pair, b: Pair, c: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { Lanes::<f32>::mul_add(self, a, b, [vnegq_f32(c[0]), vnegq_f32(c[1])]) }
    }

    #[inline(always)]
    fn sum(self, v: Pair) -> f32 {
        // SAFETY: the token.
        unsafe { vaddvq_f32(vaddq_f32(v[0], v[1])) }
    }

    #[inline(always)]
    fn transpose(self, [a, b, c, d, e, f, g, h]: [Pair; 8]) -> [Pair; 8] {
        // SAFETY: the token. Four squares of 4 × 4; the off-diagonal ones change places.
        unsafe {
            let top_left = transpose_quarter([a[0], b[0], c[0], d[0]]);
            let bottom_left = transpose_quarter([e[0], f[0], g[0], h[0]]);
            let top_right = transpose_quarter([a[1], b[1], c[1], d[1]]);
            let bottom_right = transpose_quarter([e[1], f[1], g[1], h[1]]);
            std::array::from_fn(|i| {
                if i < 4 { [top_left[i], bottom_left[i]] } else { [top_right[i - 4], bottom_right[i - 4]] }
            })
        }
    }
}

/// The bit of each lane.
const BITS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
const WIDE_BITS: [u64; 4] = [1, 2, 4, 8];

impl Float<f32> for Neon {
    const REGISTERS: Registers = Registers::Sixteen;
    const LOWEST_EXPONENT: f32 = -127.0;

    #[inline(always)]
    fn max(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vmaxq_f32(a[0], b[0]), vmaxq_f32(a[1], b[1])] }
    }

    #[inline(always)]
    fn min(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vminq_f32(a[0], b[0]), vminq_f32(a[1], b[1])] }
    }

    #[inline(always)]
    fn div(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vdivq_f32(a[0], b[0]), vdivq_f32(a[1], b[1])] }
    }

    #[inline(always)]
    fn where_greater(self, a: Pair, b: Pair, yes: Pair, no: Pair) -> Pair {
        // SAFETY: the token.
        unsafe {
            [vbslq_f32(vcgtq_f32(a[0], b[0]), yes[0], no[0]), vbslq_f32(vcgtq_f32(a[1], b[1]), yes[1], no[1])]
        }
    }

    #[inline(always)]
    fn where_set(self, bits: u32, yes: Pair, no: Pair) -> Pair {
        // SAFETY: the token; there are two vectors of own bits.
        unsafe {
            let bits = vdupq_n_u32(bits);
            let (low, high) = (vld1q_u32(BITS.as_ptr()), vld1q_u32(BITS.as_ptr().add(4)));
            [vbslq_f32(vtstq_u32(bits, low), yes[0], no[0]), vbslq_f32(vtstq_u32(bits, high), yes[1], no[1])]
        }
    }

    #[inline(always)]
    fn greater(self, a: Pair, b: Pair) -> u32 {
        // SAFETY: the token; there are two vectors of own bits.
        unsafe {
            let low = vandq_u32(vcgtq_f32(a[0], b[0]), vld1q_u32(BITS.as_ptr()));
            let high = vandq_u32(vcgtq_f32(a[1], b[1]), vld1q_u32(BITS.as_ptr().add(4)));
            vaddvq_u32(vorrq_u32(low, high))
        }
    }

    #[inline(always)]
    fn floor(self, a: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vrndmq_f32(a[0]), vrndmq_f32(a[1])] }
    }

    #[inline(always)]
    fn round(self, a: Pair) -> Pair {
        // SAFETY: the token.
        unsafe { [vrndnq_f32(a[0]), vrndnq_f32(a[1])] }
    }

    #[inline(always)]
    fn scale(self, p: Pair, n: Pair) -> Pair {
        // SAFETY: the token. Adding to the exponent field multiplies by a power of two.
        let one = |p, n| unsafe {
            let exponent = vshlq_n_s32::<23>(vcvtq_s32_f32(n));
            vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(p), exponent))
        };
        [one(p[0], n[0]), one(p[1], n[1])]
    }
}

impl Float<f64> for Neon {
    const REGISTERS: Registers = Registers::Sixteen;
    const LOWEST_EXPONENT: f64 = -1023.0;

    #[inline(always)]
    fn max(self, a: WidePair, b: WidePair) -> WidePair {
        // SAFETY: the token.
        unsafe { [vmaxq_f64(a[0], b[0]), vmaxq_f64(a[1], b[1])] }
    }

    #[inline(always)]
    fn min(self, a: WidePair, b: WidePair) -> WidePair {
        // SAFETY: the token.
        unsafe { [vminq_f64(a[0], b[0]), vminq_f64(a[1], b[1])] }
    }

    #[inline(always)]
    fn div(self, a: WidePair, b: WidePair) -> WidePair {
        // SAFETY: the token.
        unsafe { [vdivq_f64(a[0], b[0]), vdivq_f64(a[1], b[1])] }
    }

    #[inline(always)]
    fn where_greater(self, a: WidePair, b: WidePair, yes: WidePair, no: WidePair) -> WidePair {
        // SAFETY: the token.
        unsafe {
            [vbslq_f64(vcgtq_f64(a[0], b[0]), yes[0], no[0]), vbslq_f64(vcgtq_f64(a[1], b[1]), yes[1], no[1])]
        }
    }

    #[inline(always)]
    fn where_set(self, bits: u32, yes: WidePair, no: WidePair) -> WidePair {
        // SAFETY: the token; there are two vectors of own bits.
        unsafe {
            let bits = vdupq_n_u64(u64::from(bits));
            let (low, high) = (vld1q_u64(WIDE_BITS.as_ptr()), vld1q_u64(WIDE_BITS.as_ptr().add(2)));
            [vbslq_f64(vtstq_u64(bits, low), yes[0], no[0]), vbslq_f64(vtstq_u64(bits, high), yes[1], no[1])]
        }
    }

    #[inline(always)]
    fn greater(self, a: WidePair, b: WidePair) -> u32 {
        // SAFETY: the token; there are two vectors of own bits.
        unsafe {
            let low = vandq_u64(vcgtq_f64(a[0], b[0]), vld1q_u64(WIDE_BITS.as_ptr()));
            let high = vandq_u64(vcgtq_f64(a[1], b[1]), vld1q_u64(WIDE_BITS.as_ptr().add(2)));
            vaddvq_u64(vorrq_u64(low, high)) as u32
        }
    }

    #[inline(always)]
    fn floor(self, a: WidePair) -> WidePair {
        // SAFETY: the token.
        unsafe { [vrndmq_f64(a[0]), vrndmq_f64(a[1])] }
    }

    #[inline(always)]
    fn round(self, a: WidePair) -> WidePair {
        // SAFETY: the token.
        unsafe { [vrndnq_f64(a[0]), vrndnq_f64(a[1])] }
    }

    #[inline(always)]
    fn scale(self, p: WidePair, n: WidePair) -> WidePair {
        // SAFETY: the token. Adding to the exponent field multiplies by a power of two.
        let one = |p, n| unsafe {
            let exponent = vshlq_n_s64::<52>(vcvtq_s64_f64(n));
            vreinterpretq_f64_s64(vaddq_s64(vreinterpretq_s64_f64(p), exponent))
        };
        [one(p[0], n[0]), one(p[1], n[1])]
    }
}
