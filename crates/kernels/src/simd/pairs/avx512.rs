//! Pairs of bf16 on AVX-512: sixteen to a vector.

use super::PairDots;
use crate::bf16;
use crate::simd::Avx512;
use std::arch::x86_64::{
    __m512, __m512bh, __m512i, __mmask16, __mmask32, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT,
    _mm256_maskz_loadu_epi16, _mm512_add_epi32, _mm512_and_si512, _mm512_castps_si512,
    _mm512_castsi256_si512, _mm512_castsi512_ps, _mm512_cvtne2ps_pbh, _mm512_cvtps_ph, _mm512_dpbf16_ps,
    _mm512_inserti64x4, _mm512_loadu_si512, _mm512_maskz_loadu_epi16, _mm512_permutex2var_epi16,
    _mm512_permutexvar_epi16, _mm512_set1_epi32, _mm512_srli_epi32, _mm512_storeu_si512,
    _mm512_ternarylogic_epi32,
};
use std::mem::transmute;

/// Where the numbers of two halves go so that they alternate: 0, 16, 1, 17 and so on.
const ALTERNATING: [u16; 32] = {
    let mut places = [0; 32];
    let mut i = 0;
    while i < 32 {
        places[i] = (i / 2 + i % 2 * 16) as u16;
        i += 1;
    }
    places
};

/// The same of two vectors, the second of which begins at 32: 0, 32, 1, 33 and so on, and the upper halves of both.
const ALTERNATING_OF_TWO: [[u16; 32]; 2] = {
    let mut places = [[0; 32]; 2];
    let mut i = 0;
    while i < 64 {
        places[i / 32][i % 32] = (i / 2 + i % 2 * 32) as u16;
        i += 1;
    }
    places
};

/// The upper halves of the numbers of two vectors, one after another.
const UPPER_HALVES: [u16; 32] = {
    let mut places = [0; 32];
    let mut i = 0;
    while i < 32 {
        places[i] = (2 * i + 1) as u16;
        i += 1;
    }
    places
};

/// The bits of an f32 that a bf16 keeps.
const UPPER: i32 = 0xffff_0000_u32 as i32;

/// The numbers of the lower and of the upper half, alternating.
#[inline(always)]
unsafe fn alternate(halves: __m512i) -> __m512i {
    // SAFETY: the caller holds the token; both types are 64 bytes of integers.
    unsafe { _mm512_permutexvar_epi16(transmute::<[u16; 32], __m512i>(ALTERNATING), halves) }
}

/// A one for each of the first `count` of sixteen lanes.
#[inline(always)]
fn first_16(count: usize) -> __mmask16 {
    if count >= 16 { 0xffff } else { (1 << count) - 1 }
}

/// A one for each of the first `count` of thirty-two.
#[inline(always)]
fn first_32(count: usize) -> __mmask32 {
    if count >= 32 { 0xffff_ffff } else { (1 << count) - 1 }
}

// SAFETY of every block below: holding `self` proves that the instruction exists; what touches memory says more.
impl<const AMX: bool> PairDots for Avx512<true, AMX> {
    type Pairs = __m512i;

    #[inline(always)]
    fn load_pairs(self, from: &[bf16]) -> __m512i {
        // SAFETY: the token; lanes that are masked out are not read.
        unsafe { _mm512_maskz_loadu_epi16(first_32(from.len()), from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn zip_pairs(self, a: &[bf16], b: &[bf16]) -> __m512i {
        // SAFETY: the token; lanes that are masked out are not read.
        unsafe {
            let low = _mm256_maskz_loadu_epi16(first_16(a.len()), a.as_ptr().cast());
            let high = _mm256_maskz_loadu_epi16(first_16(b.len()), b.as_ptr().cast());
            alternate(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high))
        }
    }

    #[inline(always)]
    unsafe fn zip_two_at(self, a: *const bf16, b: *const bf16) -> [__m512i; 2] {
        // SAFETY: the token; the caller promises thirty-two readable numbers behind each; both types are 64 bytes of integers.
        unsafe {
            let (a, b) = (_mm512_loadu_si512(a.cast()), _mm512_loadu_si512(b.cast()));
            let [low, high] = transmute::<[[u16; 32]; 2], [__m512i; 2]>(ALTERNATING_OF_TWO);
            [_mm512_permutex2var_epi16(a, low, b), _mm512_permutex2var_epi16(a, high, b)]
        }
    }

    #[inline(always)]
    fn narrow_pairs(self, a: __m512, b: __m512) -> __m512i {
        // SAFETY: the token; both types are 64 bytes of integers. The second argument becomes the lower half.
        unsafe { alternate(transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(b, a))) }
    }

    #[inline(always)]
    fn narrow_pairs_f16(self, a: __m512, b: __m512) -> __m512i {
        // SAFETY: the token.
        unsafe {
            let low = _mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a);
            let high = _mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(b);
            alternate(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high))
        }
    }

    #[inline(always)]
    fn store_pairs(self, pairs: __m512i, to: &mut [bf16]) {
        // SAFETY: the token; the slice holds thirty-two numbers, or `[..32]` panics.
        unsafe { _mm512_storeu_si512(to[..32].as_mut_ptr().cast(), pairs) }
    }

    #[inline(always)]
    unsafe fn load_pairs_at(self, from: *const bf16) -> __m512i {
        // SAFETY: the token; the caller promises thirty-two readable numbers.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn splat_pair_at(self, from: *const bf16) -> __m512i {
        // SAFETY: the token; the caller promises two readable numbers.
        unsafe { _mm512_set1_epi32(from.cast::<i32>().read_unaligned()) }
    }

    #[inline(always)]
    fn as_vector(self, pairs: __m512i) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_castsi512_ps(pairs) }
    }

    #[inline(always)]
    fn as_pairs(self, vector: __m512) -> __m512i {
        // SAFETY: the token.
        unsafe { _mm512_castps_si512(vector) }
    }

    #[inline(always)]
    fn truncated(self, x: __m512) -> __m512 {
        // SAFETY: the token.
        unsafe { _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(UPPER))) }
    }

    #[inline(always)]
    fn rounded(self, x: __m512) -> __m512 {
        // SAFETY: the token.
        let up = unsafe { _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000)) };
        // SAFETY: the token.
        self.truncated(unsafe { _mm512_castsi512_ps(up) })
    }

    #[inline(always)]
    fn zip_truncated(self, a: __m512, b: __m512) -> __m512i {
        // SAFETY: the token. 0xf8 is `x | (y & z)`.
        unsafe {
            let low = _mm512_srli_epi32::<16>(_mm512_castps_si512(a));
            _mm512_ternarylogic_epi32::<0xf8>(low, _mm512_castps_si512(b), _mm512_set1_epi32(UPPER))
        }
    }

    #[inline(always)]
    fn join_truncated(self, a: __m512, b: __m512) -> __m512i {
        // SAFETY: the token; both types are 64 bytes of integers.
        unsafe {
            let places = transmute::<[u16; 32], __m512i>(UPPER_HALVES);
            _mm512_permutex2var_epi16(_mm512_castps_si512(a), places, _mm512_castps_si512(b))
        }
    }

    #[inline(always)]
    fn dot_pairs(self, a: __m512i, b: __m512i, sum: __m512) -> __m512 {
        // SAFETY: the token; both types are 64 bytes of integers.
        unsafe {
            let (a, b) = (transmute::<__m512i, __m512bh>(a), transmute::<__m512i, __m512bh>(b));
            _mm512_dpbf16_ps(sum, a, b)
        }
    }
}
