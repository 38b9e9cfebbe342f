//! The incomplete beta and gamma functions, from which the tails of Student's t, F and χ² follow.
//!
//! Each is a *density* times a *fraction*. The density is where digits are usually lost: written with `ln Γ` it is the
//! exponential of a small difference of large numbers. Loader's form avoids that. With
//! `δ(a) = ln Γ(a+1) − ln(√(2πa)·(a/e)ᵃ)` (small, from Stirling's series) and `D(a, m) = a·ln(a/m) + m − a` (never
//! formed as a difference where `a ≈ m`):
//!
//! ```text
//! mᵃe⁻ᵐ / Γ(a+1)                    = e^(−δ(a) − D(a, m)) / √(2πa)
//! Γ(a+b)/(Γ(a)Γ(b)) · xᵃyᵇ          = √(ab/(2π(a+b))) · e^(δ(a+b) − δ(a) − δ(b) − D(a, (a+b)x) − D(b, (a+b)y))
//! ```
//!
//! The fractions are a power series (gamma, left of the mean) and continued fractions evaluated by Lentz's method.
//! Where the complement is asked for, the side that is small is the one computed.

use std::f64::consts::PI;

/// Terms after which an expansion is given up; reached only for parameters beyond about 1e10.
const TERMS: usize = 200_000;

/// Coefficients of Stirling's series in odd powers of 1/a.
const SERIES: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360_360.0,
    1.0 / 156.0,
    -3617.0 / 122_400.0,
];

/// `ln Γ(a+1) − ln(√(2πa)·(a/e)ᵃ)` for a > 0.
fn stirling_error(mut a: f64) -> f64 {
    // δ(a) − δ(a+1) = (a + ½)·ln(1 + 1/a) − 1 climbs to where the series holds.
    let mut climbed = 0.0;
    while a < 16.0 {
        climbed += (a + 0.5) * (1.0 / a).ln_1p() - 1.0;
        a += 1.0;
    }
    let square = 1.0 / (a * a);
    climbed + SERIES.iter().rev().fold(0.0, |sum, c| sum * square + c) / a
}

/// `D(a, m) = a·ln(a/m) + m − a` for a, m > 0.
fn deviance(a: f64, m: f64) -> f64 {
    if (a - m).abs() > 0.1 * (a + m) {
        return a * (a / m).ln() + m - a;
    }
    // a/m = (1 + v)/(1 − v), and ln of that is 2·(v + v³/3 + v⁵/5 + …).
    let v = (a - m) / (a + m);
    let mut sum = (a - m) * v;
    let mut term = 2.0 * a * v;
    for k in 1..1000 {
        term *= v * v;
        let next = sum + term / f64::from(2 * k + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// `b₀ + a₁/(b₁ + a₂/(b₂ + …))` by Lentz's method; `term(k)` gives `(aₖ, bₖ)`.
fn continued_fraction(b0: f64, term: impl Fn(usize) -> (f64, f64)) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut value = guard(b0);
    let (mut c, mut d) = (value, 0.0);
    for k in 1..TERMS {
        let (a, b) = term(k);
        d = 1.0 / guard(b + a * d);
        c = guard(b + a / c);
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// Regularised incomplete gamma functions `P(a, x)` and `Q(a, x) = 1 − P`, for a > 0 and x ≥ 0.
pub(crate) fn gamma(a: f64, x: f64) -> (f64, f64) {
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if x == f64::INFINITY {
        return (1.0, 0.0);
    }
    // xᵃe⁻ˣ/Γ(a+1)
    let density = (-stirling_error(a) - deviance(a, x)).exp() / (2.0 * PI * a).sqrt();
    if x < a + 1.0 {
        let (mut sum, mut term) = (1.0, 1.0);
        for k in 1..TERMS {
            term *= x / (a + k as f64);
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        let p = density * sum;
        return (p, 1.0 - p);
    }
    let fraction = continued_fraction(x + 1.0 - a, |k| {
        let k = k as f64;
        (-k * (k - a), x + 2.0 * k + 1.0 - a)
    });
    let q = density * a / fraction;
    (1.0 - q, q)
}

/// Regularised incomplete beta functions `I_x(a, b)` and `1 − I_x(a, b)`; `y` is `1 − x`, given so that neither loses
/// digits near 1.
pub(crate) fn beta(a: f64, b: f64, x: f64, y: f64) -> (f64, f64) {
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if y <= 0.0 {
        return (1.0, 0.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        let (upper, lower) = beta(b, a, y, x);
        return (lower, upper);
    }
    let n = a + b;
    let exponent =
        stirling_error(n) - stirling_error(a) - stirling_error(b) - deviance(a, n * x) - deviance(b, n * y);
    let density = (a * b / (2.0 * PI * n)).sqrt() * exponent.exp();
    // Didonato and Morris' fraction: a − (a+b)·x, which may be a small difference, enters once, as a·y − b·x.
    let near = a * y - b * x + 1.0;
    let fraction = continued_fraction(a * near / (a + 1.0), |k| {
        let m = k as f64;
        let odd = a + 2.0 * m - 1.0;
        let top = (a + m - 1.0) / odd * ((n + m - 1.0) / odd) * m * (b - m) * x * x;
        (top, m + m * (b - m) * x / odd + (a + m) * (near + m * (1.0 + y)) / (a + 2.0 * m + 1.0))
    });
    let lower = density / fraction;
    (lower, 1.0 - lower)
}
