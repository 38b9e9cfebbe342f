//! AVX-512: eight f64 a vector.
//!
//! The token comes in three kinds: plain, with products of bf16 pairs, and with products of whole tiles of them besides. What does
//! not multiply pairs or tiles is one text for all, and only kernels on pairs and on tiles are compiled for the others.

use super::{Kernel, Lanes, PairKernel, Simd, TileKernel};
use std::arch::x86_64::{
    __m512d, __mmask8, _mm512_add_pd, _mm512_fmadd_pd, _mm512_fmsub_pd, _mm512_fnmadd_pd, _mm512_loadu_pd,
    _mm512_mask_storeu_pd, _mm512_maskz_loadu_pd, _mm512_mul_pd, _mm512_reduce_add_pd, _mm512_set1_pd,
    _mm512_shuffle_f64x2, _mm512_storeu_pd, _mm512_sub_pd, _mm512_unpackhi_pd, _mm512_unpacklo_pd,
};

/// The token: this machine has AVX-512 (F, BW, DQ and VL, which come together), with `BF16` the products of bf16 pairs, and with `AMX`
/// those of tiles, which the system lets this process use.
#[derive(Clone, Copy, Debug)]
pub struct Avx512<const BF16: bool = false, const AMX: bool = false>(());

impl Avx512 {
    /// The token, if the processor has the instructions.
    #[inline]
    pub fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        all.then_some(Avx512(()))
    }

    /// The token with products of bf16 pairs, if the processor has them.
    #[inline]
    pub fn detect_bf16() -> Option<Avx512<true>> {
        let all = Avx512::detect().is_some() && is_x86_feature_detected!("avx512bf16");
        all.then_some(Avx512(()))
    }

    /// The token with products of tiles too, if the processor has them and the system lets this process use them.
    #[inline]
    pub fn detect_amx() -> Option<Avx512<true, true>> {
        let all = Avx512::detect_bf16().is_some() && super::tiles::amx::is_permitted();
        all.then_some(Avx512(()))
    }
}

/// Where a kernel enters the instruction set.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn enter<K: Kernel>(token: Avx512, kernel: K) -> K::Output {
    kernel.run(token)
}

/// Where a kernel on bf16 pairs enters it.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
pub(super) fn enter_pairs<K: PairKernel>(token: Avx512<true>, kernel: K) -> K::Output {
    kernel.run(token)
}

/// Where a kernel on tiles enters it. Instructions on tiles are written as such, so the compiler need not know them.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
pub(super) fn enter_tiles<K: TileKernel>(token: Avx512<true, true>, kernel: K) -> K::Output {
    kernel.run(token)
}

/// A one for each of the first `count` of eight lanes.
#[inline(always)]
fn first(count: usize) -> __mmask8 {
    if count >= 8 { 0xff } else { (1 << count) - 1 }
}

/// From four vectors whose 128-bit quarters are `(a0 a1 a2 a3)`, `(b0 …)`, `(c0 …)`, `(d0 …)`, the four made of equal
/// quarters: `(a0 b0 c0 d0)`, `(a1 b1 c1 d1)` and so on.
#[inline(always)]
unsafe fn transpose_quarters(a: __m512d, b: __m512d, c: __m512d, d: __m512d) -> [__m512d; 4] {
    // SAFETY: the caller holds the token.
    unsafe {
        // 0x88 takes quarters 0 and 2 of both, 0xdd takes 1 and 3.
        let (ab_even, ab_odd) = (_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0xdd>(a, b));
        let (cd_even, cd_odd) = (_mm512_shuffle_f64x2::<0x88>(c, d), _mm512_shuffle_f64x2::<0xdd>(c, d));
        [
            _mm512_shuffle_f64x2::<0x88>(ab_even, cd_even),
            _mm512_shuffle_f64x2::<0x88>(ab_odd, cd_odd),
            _mm512_shuffle_f64x2::<0xdd>(ab_even, cd_even),
            _mm512_shuffle_f64x2::<0xdd>(ab_odd, cd_odd),
        ]
    }
}

impl<const BF16: bool, const AMX: bool> Simd for Avx512<BF16, AMX> {
    const GROUP: usize = 3;
    type Single = Self;
    type Double = Self;

    #[inline(always)]
    fn single(self) -> Self {
        self
    }

    #[inline(always)]
    fn double(self) -> Self {
        self
    }
}

// SAFETY of every block below: holding `self` proves that the instruction exists; what touches memory says more.
impl<const BF16: bool, const AMX: bool> Lanes<f64> for Avx512<BF16, AMX> {
    type Vector = __m512d;
    type Square = [__m512d; 8];
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(self, x: f64) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_set1_pd(x) }
    }

    #[inline(always)]
    fn square(self, v: __m512d) -> [__m512d; 8] {
        [v; 8]
    }

    #[inline(always)]
    fn load(self, from: &[f64]) -> __m512d {
        // SAFETY: the token; the slice holds eight numbers, or `[..8]` panics.
        unsafe { _mm512_loadu_pd(from[..8].as_ptr()) }
    }

    #[inline(always)]
    fn load_first(self, from: &[f64]) -> __m512d {
        // SAFETY: the token; lanes that are masked out are not read.
        unsafe { _mm512_maskz_loadu_pd(first(from.len()), from.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, v: __m512d, to: &mut [f64]) {
        // SAFETY: the token; the slice holds eight numbers, or `[..8]` panics.
        unsafe { _mm512_storeu_pd(to[..8].as_mut_ptr(), v) }
    }

    #[inline(always)]
    fn store_first(self, v: __m512d, to: &mut [f64]) {
        // SAFETY: the token; lanes that are masked out are not written.
        unsafe { _mm512_mask_storeu_pd(to.as_mut_ptr(), first(to.len()), v) }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f64) -> __m512d {
        // SAFETY: the token; the caller promises eight readable numbers.
        unsafe { _mm512_loadu_pd(from) }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: __m512d, to: *mut f64) {
        // SAFETY: the token; the caller promises eight writable numbers.
        unsafe { _mm512_storeu_pd(to, v) }
    }

    #[inline(always)]
    fn add(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_add_pd(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_sub_pd(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_mul_pd(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_fmadd_pd(a, b, c) }
    }

    #[inline(always)]
    fn neg_mul_add(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_fnmadd_pd(a, b, c) }
    }

    #[inline(always)]
    fn fused_mul_add(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_fmadd_pd(a, b, c) }
    }

    #[inline(always)]
    fn fused_mul_sub(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        // SAFETY: the token.
        unsafe { _mm512_fmsub_pd(a, b, c) }
    }

    #[inline(always)]
    fn sum(self, v: __m512d) -> f64 {
        // SAFETY: the token.
        unsafe { _mm512_reduce_add_pd(v) }
    }

    #[inline(always)]
    fn transpose(self, [a, b, c, d, e, f, g, h]: [__m512d; 8]) -> [__m512d; 8] {
        // SAFETY: the token.
        unsafe {
            // Pairs of rows: even lanes (a0 b0 a2 b2 …) and odd lanes (a1 b1 a3 b3 …), two lanes to a quarter.
            let even = transpose_quarters(
                _mm512_unpacklo_pd(a, b),
                _mm512_unpacklo_pd(c, d),
                _mm512_unpacklo_pd(e, f),
                _mm512_unpacklo_pd(g, h),
            );
            let odd = transpose_quarters(
                _mm512_unpackhi_pd(a, b),
                _mm512_unpackhi_pd(c, d),
                _mm512_unpackhi_pd(e, f),
                _mm512_unpackhi_pd(g, h),
            );
            [even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3]]
        }
    }
}
