//! f32 and what softmax needs, without an instruction set.

use super::{Float, Registers};
use crate::simd::{Lanes, Scalar};
use std::array::from_fn;

impl Lanes<f32> for Scalar {
    type Vector = [f32; 4];
    type Square = [[f32; 4]; 4];
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(self, x: f32) -> [f32; 4] {
        [x; 4]
    }

    #[inline(always)]
    fn square(self, v: [f32; 4]) -> [[f32; 4]; 4] {
        [v; 4]
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> [f32; 4] {
        from_fn(|i| from[i])
    }

    #[inline(always)]
    fn load_first(self, from: &[f32]) -> [f32; 4] {
        from_fn(|i| from.get(i).copied().unwrap_or(0.0))
    }

    #[inline(always)]
    fn store(self, v: [f32; 4], to: &mut [f32]) {
        to[..4].copy_from_slice(&v);
    }

    #[inline(always)]
    fn store_first(self, v: [f32; 4], to: &mut [f32]) {
        let count = to.len().min(4);
        to[..count].copy_from_slice(&v[..count]);
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> [f32; 4] {
        // SAFETY: the caller promises four readable numbers; an array has no stricter alignment than its elements.
        unsafe { from.cast::<[f32; 4]>().read() }
    }

    #[inline(always)]
    unsafe fn store_at(self, v: [f32; 4], to: *mut f32) {
        // SAFETY: the caller promises four writable numbers.
        unsafe { to.cast::<[f32; 4]>().write(v) }
    }

    #[inline(always)]
    fn add(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i] + b[i])
    }

    #[inline(always)]
    fn sub(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i] - b[i])
    }

    #[inline(always)]
    fn mul(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i] * b[i])
    }

    #[inline(always)]
    fn mul_add(self, a: [f32; 4], b: [f32; 4], c: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i] * b[i] + c[i])
    }

    #[inline(always)]
    fn neg_mul_add(self, a: [f32; 4], b: [f32; 4], c: [f32; 4]) -> [f32; 4] {
        from_fn(|i| c[i] - a[i] * b[i])
    }

    #[inline(always)]
    fn fused_mul_add(self, a: [f32; 4], b: [f32; 4], c: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i].mul_add(b[i], c[i]))
    }

    #[inline(always)]
    fn fused_mul_sub(self, a: [f32; 4], b: [f32; 4], c: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i].mul_add(b[i], -c[i]))
    }

    #[inline(always)]
    fn sum(self, v: [f32; 4]) -> f32 {
        (v[0] + v[2]) + (v[1] + v[3])
    }

    #[inline(always)]
    fn transpose(self, rows: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
        from_fn(|i| from_fn(|j| rows[j][i]))
    }
}

impl Float<f32> for Scalar {
    const REGISTERS: Registers = Registers::Sixteen;
    const LOWEST_EXPONENT: f32 = -127.0;

    #[inline(always)]
    fn max(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }

    #[inline(always)]
    fn min(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }

    #[inline(always)]
    fn div(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        from_fn(|i| a[i] / b[i])
    }

    #[inline(always)]
    fn where_greater(self, a: [f32; 4], b: [f32; 4], yes: [f32; 4], no: [f32; 4]) -> [f32; 4] {
        from_fn(|i| if a[i] > b[i] { yes[i] } else { no[i] })
    }

    #[inline(always)]
    fn where_set(self, bits: u32, yes: [f32; 4], no: [f32; 4]) -> [f32; 4] {
        from_fn(|i| if bits >> i & 1 == 1 { yes[i] } else { no[i] })
    }

    #[inline(always)]
    fn greater(self, a: [f32; 4], b: [f32; 4]) -> u32 {
        (0..4).map(|i| u32::from(a[i] > b[i]) << i).sum()
    }

    #[inline(always)]
    fn floor(self, a: [f32; 4]) -> [f32; 4] {
        let near = Float::<f32>::round(self, a);
        from_fn(|i| if near[i] > a[i] { near[i] - 1.0 } else { near[i] })
    }

    #[inline(always)]
    fn round(self, a: [f32; 4]) -> [f32; 4] {
        // Adding 1.5·2²³ leaves no room for a fraction; right for |a| < 2²², which exponents never leave.
        const MAGIC: f32 = 12_582_912.0;
        from_fn(|i| (a[i] + MAGIC) - MAGIC)
    }

    #[inline(always)]
    fn scale(self, p: [f32; 4], n: [f32; 4]) -> [f32; 4] {
        from_fn(|i| f32::from_bits(p[i].to_bits().wrapping_add_signed((n[i] as i32) << 23)))
    }
}

impl Float<f64> for Scalar {
    const REGISTERS: Registers = Registers::Sixteen;
    const LOWEST_EXPONENT: f64 = -1023.0;

    #[inline(always)]
    fn max(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }

    #[inline(always)]
    fn min(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }

    #[inline(always)]
    fn div(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        from_fn(|i| a[i] / b[i])
    }

    #[inline(always)]
    fn where_greater(self, a: [f64; 4], b: [f64; 4], yes: [f64; 4], no: [f64; 4]) -> [f64; 4] {
        from_fn(|i| if a[i] > b[i] { yes[i] } else { no[i] })
    }

    #[inline(always)]
    fn where_set(self, bits: u32, yes: [f64; 4], no: [f64; 4]) -> [f64; 4] {
        from_fn(|i| if bits >> i & 1 == 1 { yes[i] } else { no[i] })
    }

    #[inline(always)]
    fn greater(self, a: [f64; 4], b: [f64; 4]) -> u32 {
        (0..4).map(|i| u32::from(a[i] > b[i]) << i).sum()
    }

    #[inline(always)]
    fn floor(self, a: [f64; 4]) -> [f64; 4] {
        let near = Float::<f64>::round(self, a);
        from_fn(|i| if near[i] > a[i] { near[i] - 1.0 } else { near[i] })
    }

    #[inline(always)]
    fn round(self, a: [f64; 4]) -> [f64; 4] {
        // Adding 1.5·2⁵² leaves no room for a fraction; right for |a| < 2⁵¹, which exponents never leave.
        const MAGIC: f64 = 6_755_399_441_055_744.0;
        from_fn(|i| (a[i] + MAGIC) - MAGIC)
    }

    #[inline(always)]
    fn scale(self, p: [f64; 4], n: [f64; 4]) -> [f64; 4] {
        from_fn(|i| f64::from_bits(p[i].to_bits().wrapping_add_signed((n[i] as i64) << 52)))
    }
}
