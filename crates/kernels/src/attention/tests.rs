//! The exponentials, everywhere they are used, on every instruction set.

use super::exp::exp2_for_bf16;
use super::{exp2, tanh};
use crate::simd::{Float, FloatKernel, Isa, Real};

/// One function of every number of a list whose length is a multiple of sixteen.
struct Map<'a, A> {
    numbers: &'a mut [A],
    tanh: bool,
}

impl<A: Real> FloatKernel<A> for Map<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run<S: Float<A>>(self, isa: S) {
        for x in self.numbers.chunks_exact_mut(S::LANES) {
            let y = if self.tanh { tanh(isa, isa.load(x)) } else { exp2(isa, isa.load(x)) };
            isa.store(y, x);
        }
    }
}

fn sweep<A: Real>(low: f64, high: f64, count: usize) -> Vec<A> {
    (0..count).map(|i| A::from_f64(low + (high - low) * (i as f64 + 0.37) / count as f64)).collect()
}

/// Distance in units of the last place of the exact result.
fn ulps(found: f64, exact: f64, epsilon: f64) -> f64 {
    let unit = exact.abs().log2().floor().exp2() * epsilon;
    (found - exact).abs() / unit
}

#[test]
fn powers_of_two_are_within_two_ulp_on_every_instruction_set() {
    for isa in Isa::available() {
        for (low, high) in [(-126.0, 127.0), (-30.0, 0.0), (-1.0, 1.0), (-1e-3, 1e-3), (-1e-7, 1e-7)] {
            let x = sweep::<f32>(low, high, 1 << 16);
            let mut y = x.clone();
            f32::dispatch(isa, Map { numbers: &mut y, tanh: false });
            for (&x, &y) in x.iter().zip(&y) {
                let off = ulps(f64::from(y), f64::from(x).exp2(), f64::from(f32::EPSILON));
                assert!(off <= 2.0, "{isa}: 2^{x:e} is off by {off} ULP");
            }
        }
        for (low, high) in [(-1022.0, 1023.0), (-60.0, 0.0), (-1.0, 1.0), (-1e-6, 1e-6)] {
            let x = sweep::<f64>(low, high, 4096);
            let mut y = x.clone();
            f64::dispatch(isa, Map { numbers: &mut y, tanh: false });
            for (&x, &y) in x.iter().zip(&y) {
                // The library's own power is within half a unit or so.
                let off = ulps(y, x.exp2(), f64::EPSILON);
                assert!(off <= 2.0, "{isa}: 2^{x:e} is off by {off} ULP");
            }
        }
    }
}

/// Powers of two that are rounded to bf16 next.
struct Rough<'a>(&'a mut [f32]);

impl FloatKernel<f32> for Rough<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Float<f32>>(self, isa: S) {
        for x in self.0.chunks_exact_mut(S::LANES) {
            isa.store(exp2_for_bf16(isa, isa.load(x)), x);
        }
    }
}

#[test]
fn powers_for_bf16_are_a_thousand_times_closer_than_it_can_tell() {
    for isa in Isa::available() {
        for (low, high) in [(-126.0, 0.0), (-2.0, 0.0), (-1e-6, 1e-6)] {
            let x = sweep::<f32>(low, high, 1 << 14);
            let mut y = x.clone();
            f32::dispatch(isa, Rough(&mut y));
            for (&x, &y) in x.iter().zip(&y) {
                let exact = f64::from(x).exp2();
                assert!((f64::from(y) - exact).abs() <= 3.1e-6 * exact, "{isa}: 2^{x:e} = {y:e}");
            }
        }
        let mut below = [-1e-30, -f32::MIN_POSITIVE, -f32::from_bits(1), -1e-40].repeat(4);
        f32::dispatch(isa, Rough(&mut below));
        assert!(below.iter().all(|y| (y - 1.0).abs() <= 3.1e-6), "{isa}: {below:?}");
        let mut ends = [f32::NEG_INFINITY, f32::NAN, 0.0, -1.0].repeat(4);
        f32::dispatch(isa, Rough(&mut ends));
        assert!(ends[0] == 0.0 && ends[1].is_nan() && ends[2..4] == [1.0, 0.5], "{isa}: {ends:?}");
    }
}

fn ends_are_exact<A: Real>(isa: Isa) {
    // Just below an integer: the fraction is rounded to 1, or to what is next to it.
    for below in [1e-30, f64::from(f32::MIN_POSITIVE), f64::from(f32::from_bits(1)), 5e-324] {
        let mut y = [A::from_f64(-below); 16];
        A::dispatch(isa, Map { numbers: &mut y, tanh: false });
        assert!(y.iter().all(|y| (y.to_f64() - 1.0).abs() <= 1.2e-7), "{isa}: 2^−{below:e}");
    }
    let special = [0.0, f64::NEG_INFINITY, -1e30, f64::NAN, 1.0, -1.0, -2000.0, -0.0];
    let mut y: Vec<A> = special.iter().cycle().take(16).map(|&x| A::from_f64(x)).collect();
    A::dispatch(isa, Map { numbers: &mut y, tanh: false });
    let y: Vec<f64> = y.iter().map(|y| y.to_f64()).collect();
    assert_eq!(y[..3], [1.0, 0.0, 0.0], "{isa}");
    assert!(y[3].is_nan(), "{isa}");
    assert_eq!(y[4..8], [2.0, 0.5, 0.0, 1.0], "{isa}");
}

#[test]
fn hidden_keys_weigh_exactly_nothing_and_nan_stays_nan() {
    for isa in Isa::available() {
        ends_are_exact::<f32>(isa);
        ends_are_exact::<f64>(isa);
    }
}

#[test]
fn below_the_smallest_normal_number_powers_stay_below_it() {
    for isa in Isa::available() {
        let mut y = sweep::<f32>(-140.0, -126.0, 1024);
        f32::dispatch(isa, Map { numbers: &mut y, tanh: false });
        assert!(y.iter().all(|&y| (0.0..=f32::MIN_POSITIVE).contains(&y)), "{isa}");
    }
}

#[test]
fn the_hyperbolic_tangent_keeps_its_relative_accuracy_near_zero() {
    for isa in Isa::available() {
        for scale in [1e-6, 1e-2, 0.4, 3.0, 30.0] {
            let x = sweep::<f32>(-scale, scale, 2048);
            let mut y = x.clone();
            f32::dispatch(isa, Map { numbers: &mut y, tanh: true });
            for (&x, &y) in x.iter().zip(&y) {
                let exact = f64::from(x).tanh();
                assert!((f64::from(y) - exact).abs() <= 6e-7 * exact.abs(), "{isa}: tanh {x:e} = {y:e}");
            }
            let x = sweep::<f64>(-scale, scale, 2048);
            let mut y = x.clone();
            f64::dispatch(isa, Map { numbers: &mut y, tanh: true });
            for (&x, &y) in x.iter().zip(&y) {
                assert!((y - x.tanh()).abs() <= 2e-15 * x.tanh().abs(), "{isa}: tanh {x:e} = {y:e}");
            }
        }
        let mut ends = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0].repeat(4);
        f32::dispatch(isa, Map { numbers: &mut ends, tanh: true });
        assert_eq!(ends[..2], [1.0, -1.0], "{isa}");
        assert!(ends[2].is_nan() && ends[3] == 0.0, "{isa}");
    }
}
