//! AVX2 with FMA: four f64 a vector.

use super::{Kernel, Lanes, Simd};
use std::arch::x86_64::{
    __m256d, __m256i, _mm_add_pd, _mm_add_sd, _mm_cvtsd_f64, _mm_unpackhi_pd, _mm256_add_pd,
    _mm256_castpd256_pd128, _mm256_extractf128_pd, _mm256_fmadd_pd, _mm256_fmsub_pd, _mm256_fnmadd_pd,
    _mm256_loadu_pd, _mm256_loadu_si256, _mm256_maskload_pd, _mm256_maskstore_pd, _mm256_mul_pd,
    _mm256_permute2f128_pd, _mm256_set1_pd, _mm256_storeu_pd, _mm256_sub_pd, _mm256_unpackhi_pd,
    _mm256_unpacklo_pd,
};

/// The token: this machine has AVX2 and FMA, and F16C, which came before them.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx2 {
    /// The token, if the processor has the instructions.
    #[inline]
    pub fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        all.then_some(Avx2(()))
    }
}

/// Where a kernel enters the instruction set.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn enter<K: Kernel>(token: Avx2, kernel: K) -> K::Output {
    kernel.run(token)
}

/// All bits set in the first `count` of four lanes.
#[inline(always)]
fn first(count: usize) -> __m256i {
    const BITS: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];
    let from = &BITS[4 - count.min(4)..][..4];
    // SAFETY: `from` holds 32 readable bytes; the callers hold the token.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

impl Simd for Avx2 {
    const GROUP: usize = 2;
    type Single = Avx2;
    type Double = Avx2;

    #[inline(always)]
    fn single(self) -> Avx2 {
        self
    }

    #[inline(always)]
    fn double(self) -> Avx2 {
        self
    }
}

// SAFETY of every block below: holding `self` proves that the instruction exists; what touches memory says more.
impl Lanes<f64> for Avx2 {
    type Vector = __m256d;
    type Square = [__m256d; 4];
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(self, x: f64) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_set1_pd(x) }
    }

    #[inline(always)]
    fn square(self, v: __m256d) -> [__m256d; 4] {
        [v; 4]
    }

    #[inline(always)]
    fn load(self, from: &[f64]) -> __m256d {
        // SAFETY: the token; the slice holds four numbers, or `[..4]` panics.
        unsafe { _mm256_loadu_pd(from[..4].as_ptr()) }
    }

    #[inline(always)]
    fn load_first(self, from: &[f64]) -> __m256d {
        // SAFETY: the token; lanes that are masked out are not read.
        unsafe { _mm256_maskload_pd(from.as_ptr(), first(from.len())) }
    }

    #[inline(always)]
    fn store(self, v: __m256d, to: &mut [f64]) {
        // SAFETY: the token; the slice holds four numbers, or `[..4]` panics.
        unsafe { _mm256_storeu_pd(to[..4].as_mut_ptr(), v) }
    }

    #[inline(always)]
    fn store_first(self, v: __m256d, to: &mut [f64]) {
        // SAFETY: the token; lanes that are masked out are not written.
        unsafe { _mm256_maskstore_pd(to.as_mut_ptr(), first(to.len()), v) }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f64) -> __m256d {
        // SAFETY: the token; the caller promises four readable numbers.
        unsafe { _mm256_loadu_pd(from) }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: __m256d, to: *mut f64) {
        // SAFETY: the token; the caller promises four writable numbers.
        unsafe { _mm256_storeu_pd(to, v) }
    }

    #[inline(always)]
    fn add(self, a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_add_pd(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_sub_pd(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m256d, b: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_mul_pd(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_fmadd_pd(a, b, c) }
    }

    #[inline(always)]
    fn neg_mul_add(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_fnmadd_pd(a, b, c) }
    }

    #[inline(always)]
    fn fused_mul_add(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_fmadd_pd(a, b, c) }
    }

    #[inline(always)]
    fn fused_mul_sub(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        // SAFETY: the token.
        unsafe { _mm256_fmsub_pd(a, b, c) }
    }

    #[inline(always)]
    fn sum(self, v: __m256d) -> f64 {
        // SAFETY: the token.
        unsafe {
            let halves = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
            _mm_cvtsd_f64(_mm_add_sd(halves, _mm_unpackhi_pd(halves, halves)))
        }
    }

    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
        // SAFETY: the token.
        unsafe {
            // a0 b0 a2 b2 | a1 b1 a3 b3 | c0 d0 c2 d2 | c1 d1 c3 d3
            let (ab_even, ab_odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            let (cd_even, cd_odd) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
            [
                _mm256_permute2f128_pd::<0x20>(ab_even, cd_even),
                _mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd),
                _mm256_permute2f128_pd::<0x31>(ab_even, cd_even),
                _mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd),
            ]
        }
    }
}
