//! Exponentials, in vectors.
//!
//! ```text
//! 2^x = 2^n · 2^r      n = the largest integer not above x, 0 ≤ r ≤ 1
//! 2^r = 1 + r·P(r)     P of degree 5 (f32), 10 (f64) or 3 (weights that become bf16), smallest error
//! ```
//!
//! `x − n` is exact but for `−½ < x < 0`, where it may lose two thirds of a unit of the result; with the last roundings that
//! is within 2 ULP where the result is a normal number. Below the smallest normal number the result lies between 0 and that
//! number; `2^−∞` is exactly 0, which is what a hidden key weighs. NaN stays NaN.

use crate::simd::{Float, Real};

/// `2^x` for `x` up to 127 (f32) or 1023 (f64).
#[inline(always)]
pub fn exp2<A: Real, S: Float<A>>(isa: S, x: S::Vector) -> S::Vector {
    power(isa, x, A::POWER)
}

/// `2^x` with a relative error of 3·10⁻⁶: for what is rounded to bf16, which takes up to a thousand times as much.
#[inline(always)]
pub(super) fn exp2_for_bf16<S: Float<f32>>(isa: S, x: S::Vector) -> S::Vector {
    power(isa, x, &[0.693_044_84, 0.241_280_23, 0.052_242_436, 0.013_426_708])
}

/// `2^n·(1 + r·P(r))`.
#[inline(always)]
fn power<A: Real, S: Float<A>>(isa: S, x: S::Vector, coefficients: &[A]) -> S::Vector {
    let (n, r) = isa.split(x);
    isa.scale(isa.mul_add(polynomial(isa, r, coefficients), r, isa.splat(A::ONE)), n)
}

/// `tanh(x)`, by way of `E = exp(2x) − 1`, as `E / (E + 2)`: no cancellation near 0.
#[inline(always)]
pub fn tanh<A: Real, S: Float<A>>(isa: S, x: S::Vector) -> S::Vector {
    // Beyond ±20 the result is ±1 in every type, and 2^y must stay finite.
    let (low, high) = (isa.splat(A::from_f64(-20.0)), isa.splat(A::from_f64(20.0)));
    let x = isa.max(low, isa.min(high, x));
    let y = isa.mul(x, isa.splat(A::from_f64(2.0 * std::f64::consts::LOG2_E)));
    let n = isa.round(y);
    let r = isa.sub(y, n);
    let tail = isa.mul(polynomial(isa, r, A::POWER_NEAR_ONE), r);
    // 2^n·(1 + tail) − 1, where 2^n − 1 is exact for small n: near 0 all of it is `tail`.
    let power = isa.scale(isa.splat(A::ONE), n);
    let e = isa.mul_add(power, tail, isa.sub(power, isa.splat(A::ONE)));
    isa.div(e, isa.add(e, isa.splat(A::from_f64(2.0))))
}

/// The sum of `coefficients[i]·rⁱ`.
#[inline(always)]
fn polynomial<A: Real, S: Float<A>>(isa: S, r: S::Vector, coefficients: &[A]) -> S::Vector {
    let (&last, others) = coefficients.split_last().expect("a polynomial has coefficients");
    let mut p = isa.splat(last);
    for &c in others.iter().rev() {
        p = isa.mul_add(p, r, isa.splat(c));
    }
    p
}
