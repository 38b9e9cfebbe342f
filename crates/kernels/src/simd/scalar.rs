//! No instruction set at all: four numbers at a time, so that the compiler may use what its baseline has.

use super::{Lanes, Simd};
use std::array::from_fn;

/// The token of the plain implementation.
#[derive(Clone, Copy, Debug)]
pub struct Scalar(());

impl Scalar {
    /// Every machine has it.
    pub const fn new() -> Self {
        Scalar(())
    }
}

impl Default for Scalar {
    fn default() -> Self {
        Scalar::new()
    }
}

impl Simd for Scalar {
    const GROUP: usize = 2;
    type Single = Scalar;
    type Double = Scalar;

    #[inline(always)]
    fn single(self) -> Scalar {
        self
    }

    #[inline(always)]
    fn double(self) -> Scalar {
        self
    }
}

impl Lanes<f64> for Scalar {
    type Vector = [f64; 4];
    type Square = [[f64; 4]; 4];
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(self, x: f64) -> [f64; 4] {
        [x; 4]
    }

    #[inline(always)]
    fn square(self, v: [f64; 4]) -> [[f64; 4]; 4] {
        [v; 4]
    }

    #[inline(always)]
    fn load(self, from: &[f64]) -> [f64; 4] {
        from_fn(|i| from[i])
    }

    #[inline(always)]
    fn load_first(self, from: &[f64]) -> [f64; 4] {
        from_fn(|i| from.get(i).copied().unwrap_or(0.0))
    }

    #[inline(always)]
    fn store(self, v: [f64; 4], to: &mut [f64]) {
        to[..4].copy_from_slice(&v);
    }

    #[inline(always)]
    fn store_first(self, v: [f64; 4], to: &mut [f64]) {
        let count = to.len().min(4);
        to[..count].copy_from_slice(&v[..count]);
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f64) -> [f64; 4] {
        // SAFETY: the caller promises four readable numbers; an array has no stricter alignment than its elements.
        unsafe { from.cast::<[f64; 4]>().read() }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: [f64; 4], to: *mut f64) {
        // SAFETY: the caller promises four writable numbers.
        unsafe { to.cast::<[f64; 4]>().write(v) }
    }

    #[inline(always)]
    fn add(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn sub(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        from_fn(|i| a[i] - b[i])
    }

    #[inline(always)]
    fn mul(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        from_fn(|i| a[i] * b[i])
    }

    // Without hardware a fused product is a function call, so the fast one rounds twice.
    #[inline(always)]
    fn mul_add(self, a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        from_fn(|i| a[i] * b[i] + c[i])
    }

    #[inline(always)]
    fn neg_mul_add(self, a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        from_fn(|i| c[i] - a[i] * b[i])
    }

    #[inline(always)]
    fn fused_mul_add(self, a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        from_fn(|i| a[i].mul_add(b[i], c[i]))
    }

    #[inline(always)]
    fn fused_mul_sub(self, a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        from_fn(|i| a[i].mul_add(b[i], -c[i]))
    }

    #[inline(always)]
    fn sum(self, v: [f64; 4]) -> f64 {
        (v[0] + v[2]) + (v[1] + v[3])
    }

    #[inline(always)]
    fn transpose(self, rows: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
        from_fn(|i| from_fn(|j| rows[j][i]))
    }
}
