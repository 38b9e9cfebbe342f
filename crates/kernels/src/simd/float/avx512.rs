//! AVX-512: sixteen f32 a vector, and what softmax needs of f32 and f64.

use super::{Float, Registers};
use crate::simd::{Avx512, Lanes};
use crate::{bf16, f16};
use std::arch::x86_64::{
    __m512, __m512d, __mmask16, _CMP_GT_OQ, _mm256_loadu_si256, _mm256_maskz_loadu_epi16, _mm512_add_ps,
    _mm512_castpd_ps, _mm512_castps_pd, _mm512_castsi512_ps, _mm512_cmp_pd_mask, _mm512_cmp_ps_mask,
    _mm512_cvtepu16_epi32, _mm512_cvtph_ps, _mm512_div_pd, _mm512_div_ps, _mm512_fmadd_ps, _mm512_fmsub_ps,
    _mm512_fnmadd_ps, _mm512_loadu_ps, _mm512_mask_blend_pd, _mm512_mask_blend_ps, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_ps, _mm512_max_pd, _mm512_max_ps, _mm512_min_pd, _mm512_min_ps, _mm512_mul_ps,
    _mm512_reduce_add_ps, _mm512_reduce_pd, _mm512_reduce_ps, _mm512_roundscale_pd, _mm512_roundscale_ps,
    _mm512_scalef_pd, _mm512_scalef_ps, _mm512_set1_ps, _mm512_shuffle_f32x4, _mm512_slli_epi32,
    _mm512_storeu_ps, _mm512_sub_ps, _mm512_unpackhi_pd, _mm512_unpackhi_ps, _mm512_unpacklo_pd,
    _mm512_unpacklo_ps,
};

/// A one for each of the first `count` of sixteen lanes.
#[inline(always)]
fn first(count: usize) -> __mmask16 {
    if count >= 16 { 0xffff } else { (1 << count) - 1 }
}

/// From rows a, b, c, d the columns j, j + 4, j + 8, j + 12 in the four quarters: `(aⱼ bⱼ cⱼ dⱼ)` for j = 0 … 3.
#[inline(always)]
unsafe fn transpose_within(a: __m512, b: __m512, c: __m512, d: __m512) -> [__m512; 4] {
    // SAFETY: the caller holds the token.
    unsafe {
        let low = (_mm512_castps_pd(_mm512_unpacklo_ps(a, b)), _mm512_castps_pd(_mm512_unpacklo_ps(c, d)));
        let high = (_mm512_castps_pd(_mm512_unpackhi_ps(a, b)), _mm512_castps_pd(_mm512_unpackhi_ps(c, d)));
        [
            _mm512_castpd_ps(_mm512_unpacklo_pd(low.0, low.1)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(low.0, low.1)),
            _mm512_castpd_ps(_mm512_unpacklo_pd(high.0, high.1)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(high.0, high.1)),
        ]
    }
}

/// From four vectors whose 128-bit quarters are `(a0 a1 a2 a3)`, `(b0 …)`, `(c0 …)`, `(d0 …)`, the four made of equal
/// quarters: `(a0 b0 c0 d0)`, `(a1 b1 c1 d1)` and so on.
#[inline(always)]
unsafe fn transpose_quarters(a: __m512, b: __m512, c: __m512, d: __m512) -> [__m512; 4] {
    // SAFETY: the caller holds the token.
    unsafe {
        // 0x88 takes quarters 0 and 2 of both, 0xdd takes 1 and 3.
        let (ab_even, ab_odd) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
        let (cd_even, cd_odd) = (_mm512_shuffle_f32x4::<0x88>(c, d), _mm512_shuffle_f32x4::<0xdd>(c, d));
        [
            _mm512_shuffle_f32x4::<0x88>(ab_even, cd_even),
            _mm512_shuffle_f32x4::<0x88>(ab_odd, cd_odd),
            _mm512_shuffle_f32x4::<0xdd>(ab_even, cd_even),
            _mm512_shuffle_f32x4::<0xdd>(ab_odd, cd_odd),
        ]
    }
}

/// In each quarter the sums of that quarter's lanes of four rows: half of the moves that a transposition takes.
#[inline(always)]
unsafe fn sums_of_four(a: __m512, b: __m512, c: __m512, d: __m512) -> __m512 {
    // SAFETY: the caller holds the token.
    unsafe {
        let ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
        let (ab, cd) = (_mm512_castps_pd(ab), _mm512_castps_pd(cd));
        let (low, high) = (_mm512_unpacklo_pd(ab, cd), _mm512_unpackhi_pd(ab, cd));
        _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high))
    }
}

/// The quarters of `a` added by pairs, then those of `b`.
#[inline(always)]
unsafe fn sums_of_quarters(a: __m512, b: __m512) -> __m512 {
    // SAFETY: the caller holds the token.
    unsafe { _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b)) }
}

// SAFETY of every block below: holding `self` proves that the instruction exists; what touches memory says more.
impl<const BF16: bool, const AMX: bool> Lanes<f32> for Avx512<BF16, AMX> {
    type Vector = __m512;
    type Square = [__m512; 16];
    const LANES: usize = 16;

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn square(self, v: __m512) -> [__m512; 16] {
        [v; 16]
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> __m512 {
        // SAFETY: the token; the slice holds sixteen numbers, or `[..16]` panics.
        unsafe { _mm512_loadu_ps(from[..16].as_ptr()) }
    }

    #[inline(always)]
    fn load_first(self, from: &[f32]) -> __m512 {
        // SAFETY: the token; lanes that are masked out are not read.
        unsafe { _mm512_maskz_loadu_ps(first(from.len()), from.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, v: __m512, to: &mut [f32]) {
        // SAFETY: the token; the slice holds sixteen numbers, or `[..16]` panics.
        unsafe { _mm512_storeu_ps(to[..16].as_mut_ptr(), v) }
    }

    #[inline(always)]
    fn store_first(self, v: __m512, to: &mut [f32]) {
        // SAFETY: the token; lanes that are masked out are not written.
        unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), first(to.len()), v) }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> __m512 {
        // SAFETY: the token; the caller promises sixteen readable numbers.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: __m512, to: *mut f32) {
        // SAFETY: the token; the caller promises sixteen writable numbers.
        unsafe { _mm512_storeu_ps(to, v) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn neg_mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_fnmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn fused_mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn fused_mul_sub(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_fmsub_ps(a, b, c) }
    }

    #[inline(always)]
    fn sum(self, v: __m512) -> f32 {
        // SAFETY: the token.
        unsafe { _mm512_reduce_add_ps(v) }
    }

    #[inline(always)]
    fn transpose(self, r: [__m512; 16]) -> [__m512; 16] {
        // SAFETY: the token.
        unsafe {
            let a = transpose_within(r[0], r[1], r[2], r[3]);
            let b = transpose_within(r[4], r[5], r[6], r[7]);
            let c = transpose_within(r[8], r[9], r[10], r[11]);
            let d = transpose_within(r[12], r[13], r[14], r[15]);
            // Column j of rows 0–3, 4–7, 8–11, 12–15; quarter q of it is column j + 4q.
            let [w0, w4, w8, w12] = transpose_quarters(a[0], b[0], c[0], d[0]);
            let [w1, w5, w9, w13] = transpose_quarters(a[1], b[1], c[1], d[1]);
            let [w2, w6, w10, w14] = transpose_quarters(a[2], b[2], c[2], d[2]);
            let [w3, w7, w11, w15] = transpose_quarters(a[3], b[3], c[3], d[3]);
            [w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15]
        }
    }
}

impl<const BF16: bool, const AMX: bool> Float<f32> for Avx512<BF16, AMX> {
    const REGISTERS: Registers = Registers::ThirtyTwo;
    const LOWEST_EXPONENT: f32 = -200.0;

    #[inline(always)]
    fn row_sums(self, r: [__m512; 16]) -> __m512 {
        // SAFETY: the token.
        unsafe {
            let (a, b) = (sums_of_four(r[0], r[1], r[2], r[3]), sums_of_four(r[4], r[5], r[6], r[7]));
            let (c, d) = (sums_of_four(r[8], r[9], r[10], r[11]), sums_of_four(r[12], r[13], r[14], r[15]));
            sums_of_quarters(sums_of_quarters(a, b), sums_of_quarters(c, d))
        }
    }

    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_min_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_div_ps(a, b) }
    }

    #[inline(always)]
    fn where_greater(self, a: __m512, b: __m512, yes: __m512, no: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b), no, yes) }
    }

    #[inline(always)]
    fn where_set(self, bits: u32, yes: __m512, no: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_mask_blend_ps(bits as u16, no, yes) }
    }

    #[inline(always)]
    fn greater(self, a: __m512, b: __m512) -> u32 {
        // SAFETY: the token.
        unsafe { u32::from(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b)) }
    }

    #[inline(always)]
    fn floor(self, a: __m512) -> __m512 {
        // SAFETY: the token. 9: no fraction bits, downwards, no exception.
        unsafe { _mm512_roundscale_ps::<9>(a) }
    }

    #[inline(always)]
    fn round(self, a: __m512) -> __m512 {
        // SAFETY: the token. 8: no fraction bits, to nearest even, no exception.
        unsafe { _mm512_roundscale_ps::<8>(a) }
    }

    #[inline(always)]
    fn split(self, x: __m512) -> (__m512, __m512) {
        // SAFETY: the token. 9: no fraction bits, downwards, no exception. Of −∞ nothing is left, and −∞ scales to 0. Scaling
        // rounds downwards by itself.
        unsafe { (x, _mm512_reduce_ps::<9>(x)) }
    }

    #[inline(always)]
    fn scale(self, p: __m512, n: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_scalef_ps(p, n) }
    }

    #[inline(always)]
    unsafe fn load_bf16_at(self, from: *const bf16) -> __m512 {
        // SAFETY: the token; the caller promises sixteen readable numbers. bf16 are the upper halves of f32.
        unsafe {
            let halves = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(halves))
        }
    }

    #[inline(always)]
    unsafe fn load_f16_at(self, from: *const f16) -> __m512 {
        // SAFETY: the token; the caller promises sixteen readable numbers.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    fn load_first_bf16(self, from: &[bf16]) -> __m512 {
        // SAFETY: the token; lanes that are masked out are not read.
        unsafe {
            let halves = _mm256_maskz_loadu_epi16(first(from.len()), from.as_ptr().cast());
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(halves)))
        }
    }

    #[inline(always)]
    fn load_first_f16(self, from: &[f16]) -> __m512 {
        // SAFETY: the token; lanes that are masked out are not read.
        unsafe { _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(from.len()), from.as_ptr().cast())) }
    }
}

impl<const BF16: bool, const AMX: bool> Float<f64> for Avx512<BF16, AMX> {
    const REGISTERS: Registers = Registers::ThirtyTwo;
    const LOWEST_EXPONENT: f64 = -1200.0;

    #[inline(always)]
    fn max(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_max_pd(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_min_pd(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_div_pd(a, b) }
    }

    #[inline(always)]
    fn where_greater(self, a: __m512d, b: __m512d, yes: __m512d, no: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b), no, yes) }
    }

    #[inline(always)]
    fn where_set(self, bits: u32, yes: __m512d, no: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_mask_blend_pd(bits as u8, no, yes) }
    }

    #[inline(always)]
    fn greater(self, a: __m512d, b: __m512d) -> u32 {
        // SAFETY: the token.
        unsafe { u32::from(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b)) }
    }

    #[inline(always)]
    fn floor(self, a: __m512d) -> __m512d {
        // SAFETY: the token. 9: no fraction bits, downwards, no exception.
        unsafe { _mm512_roundscale_pd::<9>(a) }
    }

    #[inline(always)]
    fn round(self, a: __m512d) -> __m512d {
        // SAFETY: the token. 8: no fraction bits, to nearest even, no exception.
        unsafe { _mm512_roundscale_pd::<8>(a) }
    }

    #[inline(always)]
    fn split(self, x: __m512d) -> (__m512d, __m512d) {
        // SAFETY: the token. 9: no fraction bits, downwards, no exception. Of −∞ nothing is left, and −∞ scales to 0. Scaling
        // rounds downwards by itself.
        unsafe { (x, _mm512_reduce_pd::<9>(x)) }
    }

    #[inline(always)]
    fn scale(self, p: __m512d, n: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_scalef_pd(p, n) }
    }
}
