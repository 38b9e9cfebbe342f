//! AVX2 with FMA: eight f32 a vector, and what softmax needs of f32 and f64.

use super::{Float, Registers};
use crate::simd::{Avx2, Lanes};
use crate::{bf16, f16};
use std::arch::x86_64::{
    __m256, __m256d, __m256i, _CMP_GT_OQ, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT,
    _MM_FROUND_TO_NEG_INF, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_loadu_si128, _mm_movehl_ps,
    _mm_shuffle_ps, _mm256_add_epi32, _mm256_add_pd, _mm256_add_ps, _mm256_and_si256, _mm256_blendv_pd,
    _mm256_blendv_ps, _mm256_castpd_si256, _mm256_castps_si256, _mm256_castps256_ps128, _mm256_castsi256_pd,
    _mm256_castsi256_ps, _mm256_cmp_pd, _mm256_cmp_ps, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64,
    _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_cvtps_epi32, _mm256_div_pd, _mm256_div_ps,
    _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_fmsub_ps, _mm256_fnmadd_ps, _mm256_loadu_ps,
    _mm256_loadu_si256, _mm256_maskload_ps, _mm256_maskstore_ps, _mm256_max_pd, _mm256_max_ps, _mm256_min_pd,
    _mm256_min_ps, _mm256_movemask_pd, _mm256_movemask_ps, _mm256_mul_pd, _mm256_mul_ps,
    _mm256_permute2f128_ps, _mm256_round_pd, _mm256_round_ps, _mm256_set1_epi32, _mm256_set1_epi64x,
    _mm256_set1_pd, _mm256_set1_ps, _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_shuffle_ps,
    _mm256_slli_epi32, _mm256_slli_epi64, _mm256_storeu_ps, _mm256_sub_ps, _mm256_unpackhi_ps,
    _mm256_unpacklo_ps,
};

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
/// Rounding of exponents that leaves a fraction of 0 to 1.
const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;

/// All bits set in the first `count` of eight lanes.
#[inline(always)]
fn first(count: usize) -> __m256i {
    const BITS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    let from = &BITS[8 - count.min(8)..][..8];
    // SAFETY: `from` holds 32 readable bytes; the callers hold the token.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

/// From rows a, b, c, d the columns j and j + 4 of both halves: `(aⱼ bⱼ cⱼ dⱼ)` for j = 0 … 3.
#[inline(always)]
unsafe fn transpose_quarters(a: __m256, b: __m256, c: __m256, d: __m256) -> [__m256; 4] {
    // SAFETY: the caller holds the token.
    unsafe {
        let (ab_low, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd_low, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(ab_low, cd_low),
            _mm256_shuffle_ps::<0xee>(ab_low, cd_low),
            _mm256_shuffle_ps::<0x44>(ab_high, cd_high),
            _mm256_shuffle_ps::<0xee>(ab_high, cd_high),
        ]
    }
}

// SAFETY of every block below: holding `self` proves that the instruction exists; what touches memory says more.
impl Lanes<f32> for Avx2 {
    type Vector = __m256;
    type Square = [__m256; 8];
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    fn square(self, v: __m256) -> [__m256; 8] {
        [v; 8]
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> __m256 {
        // SAFETY: the token; the slice holds eight numbers, or `[..8]` panics.
        unsafe { _mm256_loadu_ps(from[..8].as_ptr()) }
    }

    #[inline(always)]
    fn load_first(self, from: &[f32]) -> __m256 {
        // SAFETY: the token; lanes that are masked out are not read.
        unsafe { _mm256_maskload_ps(from.as_ptr(), first(from.len())) }
    }

    #[inline(always)]
    fn store(self, v: __m256, to: &mut [f32]) {
        // SAFETY: the token; the slice holds eight numbers, or `[..8]` panics.
        unsafe { _mm256_storeu_ps(to[..8].as_mut_ptr(), v) }
    }

    #[inline(always)]
    fn store_first(self, v: __m256, to: &mut [f32]) {
        // SAFETY: the token; lanes that are masked out are not written.
        unsafe { _mm256_maskstore_ps(to.as_mut_ptr(), first(to.len()), v) }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> __m256 {
        // SAFETY: the token; the caller promises eight readable numbers.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: __m256, to: *mut f32) {
        // SAFETY: the token; the caller promises eight writable numbers.
        unsafe { _mm256_storeu_ps(to, v) }
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_mul_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn neg_mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_fnmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn fused_mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn fused_mul_sub(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_fmsub_ps(a, b, c) }
    }

    #[inline(always)]
    fn sum(self, v: __m256) -> f32 {
        // SAFETY: the token.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    #[inline(always)]
    fn transpose(self, [a, b, c, d, e, f, g, h]: [__m256; 8]) -> [__m256; 8] {
        // SAFETY: the token.
        unsafe {
            let (top, bottom) = (transpose_quarters(a, b, c, d), transpose_quarters(e, f, g, h));
            [
                _mm256_permute2f128_ps::<0x20>(top[0], bottom[0]),
                _mm256_permute2f128_ps::<0x20>(top[1], bottom[1]),
                _mm256_permute2f128_ps::<0x20>(top[2], bottom[2]),
                _mm256_permute2f128_ps::<0x20>(top[3], bottom[3]),
                _mm256_permute2f128_ps::<0x31>(top[0], bottom[0]),
                _mm256_permute2f128_ps::<0x31>(top[1], bottom[1]),
                _mm256_permute2f128_ps::<0x31>(top[2], bottom[2]),
                _mm256_permute2f128_ps::<0x31>(top[3], bottom[3]),
            ]
        }
    }
}

impl Float<f32> for Avx2 {
    const REGISTERS: Registers = Registers::Sixteen;
    const LOWEST_EXPONENT: f32 = -127.0;

    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_min_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_div_ps(a, b) }
    }

    #[inline(always)]
    fn where_greater(self, a: __m256, b: __m256, yes: __m256, no: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) }
    }

    #[inline(always)]
    fn where_set(self, bits: u32, yes: __m256, no: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe {
            let own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let set = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits as i32), own), own);
            _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(set))
        }
    }

    #[inline(always)]
    fn greater(self, a: __m256, b: __m256) -> u32 {
        // SAFETY: the token.
        unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) as u32 }
    }

    #[inline(always)]
    fn floor(self, a: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_round_ps::<DOWN>(a) }
    }

    #[inline(always)]
    fn round(self, a: __m256) -> __m256 {
        // SAFETY: the token.
        unsafe { _mm256_round_ps::<NEAREST>(a) }
    }

    #[inline(always)]
    fn scale(self, p: __m256, n: __m256) -> __m256 {
        // SAFETY: the token. Adding to the exponent field multiplies by a power of two.
        unsafe {
            let exponent = _mm256_slli_epi32::<23>(_mm256_cvtps_epi32(n));
            _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), exponent))
        }
    }

    #[inline(always)]
    unsafe fn load_bf16_at(self, from: *const bf16) -> __m256 {
        // SAFETY: the token; the caller promises eight readable numbers. bf16 are the upper halves of f32.
        unsafe {
            let halves = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(halves))
        }
    }

    const BF16_IN_HALVES: bool = true;

    #[inline(always)]
    unsafe fn load_two_bf16_at(self, from: *const bf16) -> [__m256; 2] {
        // SAFETY: the token; the caller promises sixteen readable numbers. The lower half of a word comes first in memory.
        unsafe {
            let both = _mm256_loadu_si256(from.cast());
            let odd = _mm256_and_si256(both, _mm256_set1_epi32(i32::MIN >> 15));
            [_mm256_castsi256_ps(_mm256_slli_epi32::<16>(both)), _mm256_castsi256_ps(odd)]
        }
    }

    #[inline(always)]
    unsafe fn load_f16_at(self, from: *const f16) -> __m256 {
        // SAFETY: the token; the caller promises eight readable numbers.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.cast())) }
    }
}

impl Float<f64> for Avx2 {
    const REGISTERS: Registers = Registers::Sixteen;
    const LOWEST_EXPONENT: f64 = -1023.0;

    #[inline(always)]
    fn max(self, a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_max_pd(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_min_pd(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_div_pd(a, b) }
    }

    #[inline(always)]
    fn where_greater(self, a: __m256d, b: __m256d, yes: __m256d, no: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_blendv_pd(no, yes, _mm256_cmp_pd::<_CMP_GT_OQ>(a, b)) }
    }

    #[inline(always)]
    fn where_set(self, bits: u32, yes: __m256d, no: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe {
            let own = _mm256_setr_epi64x(1, 2, 4, 8);
            let set = _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(i64::from(bits)), own), own);
            _mm256_blendv_pd(no, yes, _mm256_castsi256_pd(set))
        }
    }

    #[inline(always)]
    fn greater(self, a: __m256d, b: __m256d) -> u32 {
        // SAFETY: the token.
        unsafe { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(a, b)) as u32 }
    }

    #[inline(always)]
    fn floor(self, a: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_round_pd::<DOWN>(a) }
    }

    #[inline(always)]
    fn round(self, a: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_round_pd::<NEAREST>(a) }
    }

    #[inline(always)]
    fn scale(self, p: __m256d, n: __m256d) -> __m256d {
        // SAFETY: the token. There is no conversion to 64-bit integers, but 1.5·2⁵² + 1023 + n has the exponent field of
        // 2ⁿ in its lowest bits. Multiplying by 2ⁿ, not adding to p's exponent, keeps a NaN with any payload a NaN.
        unsafe {
            const MAGIC: f64 = 6_755_399_441_055_744.0 + 1023.0;
            let field = _mm256_castpd_si256(_mm256_add_pd(n, _mm256_set1_pd(MAGIC)));
            _mm256_mul_pd(p, _mm256_castsi256_pd(_mm256_slli_epi64::<52>(field)))
        }
    }
}
