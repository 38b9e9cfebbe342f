//! Tails and quantiles of the four distributions that regression results are judged by.
//!
//! Tails keep their relative accuracy (about 1e-14, one digit less beyond 1e-200): a p-value of 1e-40 is 1e-40, not
//! `1 − 1`. Ask for the tail you need, `upper` or `lower`, rather than subtracting from 1. Quantiles are found from the
//! tails on a logarithmic scale, by a bracketing secant method.

use super::special;
use crate::LinearError;
use crate::check::argument;

const OPERATION: &str = "distribution";

/// A continuous distribution by its two tails.
pub trait Distribution {
    /// `P(variable ≤ x)`.
    fn lower(&self, x: f64) -> f64;

    /// `P(variable > x)`, with its own relative accuracy.
    fn upper(&self, x: f64) -> f64;

    /// Whether it is symmetric about 0; otherwise it lives on the positive numbers.
    fn is_symmetric(&self) -> bool;

    /// The `x` with `P(variable ≤ x) = p`; an error unless 0 ≤ p ≤ 1.
    fn quantile(&self, p: f64) -> Result<f64, LinearError> {
        argument(OPERATION, "p").in_range(p, (0.0..=1.0).contains(&p), "a probability from 0 to 1")?;
        if self.is_symmetric() && p < 0.5 {
            return Ok(-self.upper_quantile(p)?);
        }
        if p <= 0.5 && !self.is_symmetric() {
            return Ok(root_on_log_scale(p, |x| self.lower(x), true));
        }
        self.upper_quantile(1.0 - p)
    }

    /// The `x` with `P(variable > x) = q`: for small `q` more accurate than the quantile of `1 − q`.
    fn upper_quantile(&self, q: f64) -> Result<f64, LinearError> {
        argument(OPERATION, "q").in_range(q, (0.0..=1.0).contains(&q), "a probability from 0 to 1")?;
        if self.is_symmetric() && q >= 0.5 {
            return Ok(if q == 0.5 { 0.0 } else { -self.upper_quantile(1.0 - q)? });
        }
        if q > 0.5 {
            return Ok(root_on_log_scale(1.0 - q, |x| self.lower(x), true));
        }
        Ok(root_on_log_scale(q, |x| self.upper(x), false))
    }
}

/// The standard normal distribution.
///
/// ```
/// use spanwise_linear::fit::{Distribution, Normal};
///
/// assert!((Normal.quantile(0.975)? - 1.959963984540054).abs() < 1e-14);
/// # Ok::<(), spanwise_linear::LinearError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Normal;

/// Student's t.
///
/// ```
/// use spanwise_linear::fit::{Distribution, StudentT};
///
/// // One degree of freedom is the Cauchy distribution: a quarter lies beyond 1.
/// assert!((StudentT::new(1.0)?.upper(1.0) - 0.25).abs() < 1e-15);
/// # Ok::<(), spanwise_linear::LinearError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StudentT {
    degrees: f64,
}

/// Fisher's F.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FisherF {
    numerator: f64,
    denominator: f64,
}

/// χ², the sum of squares of independent standard normals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChiSquared {
    degrees: f64,
}

/// Degrees of freedom outside this range make no sense in a regression and would cost digits.
fn degrees(name: &'static str, value: f64) -> Result<f64, LinearError> {
    let fits = (1e-3..=1e12).contains(&value);
    argument(OPERATION, name).in_range(value, fits, "degrees of freedom from 0.001 to 1e12")?;
    Ok(value)
}

impl StudentT {
    /// With so many degrees of freedom, not necessarily a whole number.
    pub fn new(degrees_of_freedom: f64) -> Result<Self, LinearError> {
        Ok(StudentT { degrees: degrees("degrees_of_freedom", degrees_of_freedom)? })
    }

    /// `P(|variable| > |t|)`: the p-value of a t statistic.
    pub fn two_sided(&self, t: f64) -> f64 {
        let (square, nu) = (t * t, self.degrees);
        if square == f64::INFINITY {
            // t² overflows long before the tail does where the degrees are few.
            return two_sided_far(t.abs(), nu);
        }
        special::beta(nu / 2.0, 0.5, nu / (nu + square), square / (nu + square)).0
    }
}

/// The leading term of the tail beyond 1e154, where squares overflow: proportional to t^(−ν).
fn two_sided_far(t: f64, nu: f64) -> f64 {
    if t == f64::INFINITY {
        return 0.0;
    }
    let near = 1e150_f64;
    let square = near * near;
    special::beta(nu / 2.0, 0.5, nu / (nu + square), square / (nu + square)).0 * (near / t).powf(nu)
}

impl FisherF {
    /// With so many degrees of freedom above and below.
    pub fn new(numerator: f64, denominator: f64) -> Result<Self, LinearError> {
        Ok(FisherF {
            numerator: degrees("numerator", numerator)?,
            denominator: degrees("denominator", denominator)?,
        })
    }

    /// Upper and lower tail.
    fn tails(&self, x: f64) -> (f64, f64) {
        if x.is_nan() {
            return (x, x);
        }
        if x <= 0.0 {
            return (1.0, 0.0);
        }
        let scaled = self.numerator * x;
        if scaled == f64::INFINITY {
            return (0.0, 1.0);
        }
        let sum = self.denominator + scaled;
        special::beta(self.denominator / 2.0, self.numerator / 2.0, self.denominator / sum, scaled / sum)
    }
}

impl ChiSquared {
    /// With so many degrees of freedom.
    pub fn new(degrees_of_freedom: f64) -> Result<Self, LinearError> {
        Ok(ChiSquared { degrees: degrees("degrees_of_freedom", degrees_of_freedom)? })
    }
}

impl Normal {
    /// `P(|variable| > |z|)`: the p-value of a z statistic.
    pub fn two_sided(&self, z: f64) -> f64 {
        2.0 * self.upper(z.abs())
    }
}

impl Distribution for Normal {
    fn lower(&self, x: f64) -> f64 {
        self.upper(-x)
    }

    fn upper(&self, x: f64) -> f64 {
        // erfc falls so steeply that the rounding of x/√2 would show: 1/√2 is taken to twice the digits.
        const LOW: f64 = -4.833_646_656_726_457e-17;
        let z = x * std::f64::consts::FRAC_1_SQRT_2;
        if z.abs() > 40.0 || z.is_nan() {
            return 0.5 * libm::erfc(z);
        }
        let error = x.mul_add(std::f64::consts::FRAC_1_SQRT_2, -z) + x * LOW;
        0.5 * (libm::erfc(z) - std::f64::consts::FRAC_2_SQRT_PI * (-z * z).exp() * error)
    }

    fn is_symmetric(&self) -> bool {
        true
    }
}

impl Distribution for StudentT {
    fn lower(&self, x: f64) -> f64 {
        self.upper(-x)
    }

    fn upper(&self, x: f64) -> f64 {
        if x.is_nan() {
            return x;
        }
        let tail = 0.5 * self.two_sided(x);
        if x >= 0.0 { tail } else { 1.0 - tail }
    }

    fn is_symmetric(&self) -> bool {
        true
    }
}

impl Distribution for FisherF {
    fn lower(&self, x: f64) -> f64 {
        self.tails(x).1
    }

    fn upper(&self, x: f64) -> f64 {
        self.tails(x).0
    }

    fn is_symmetric(&self) -> bool {
        false
    }
}

impl Distribution for ChiSquared {
    fn lower(&self, x: f64) -> f64 {
        if x.is_nan() { x } else { special::gamma(self.degrees / 2.0, x / 2.0).0 }
    }

    fn upper(&self, x: f64) -> f64 {
        if x.is_nan() { x } else { special::gamma(self.degrees / 2.0, x / 2.0).1 }
    }

    fn is_symmetric(&self) -> bool {
        false
    }
}

/// The x > 0 at which a monotone `tail` equals `p`. In `u = ln x` the logarithm of a tail is nearly straight, so the
/// Illinois variant of the secant rule closes its bracket in a dozen steps.
fn root_on_log_scale(p: f64, tail: impl Fn(f64) -> f64, rising: bool) -> f64 {
    if p == 0.0 {
        return if rising { 0.0 } else { f64::INFINITY };
    }
    // Positive to the right of the root.
    let sign = if rising { 1.0 } else { -1.0 };
    let off = |u: f64| {
        let value = tail(u.exp());
        if value > 0.0 { sign * (value / p).ln() } else { -sign * 1e4 }
    };
    let (mut low, mut high, mut step) = (0.0, 0.0, 1.0);
    let (mut off_low, mut off_high) = (off(0.0), off(0.0));
    while off_low > 0.0 && low > -740.0 {
        (high, off_high) = (low, off_low);
        low -= step;
        step *= 2.0;
        off_low = off(low);
    }
    while off_high < 0.0 && high < 709.0 {
        (low, off_low) = (high, off_high);
        high = f64::min(high + step, 709.0);
        step *= 2.0;
        off_high = off(high);
    }
    if off_low > 0.0 {
        return 0.0;
    }
    if off_high < 0.0 {
        return f64::INFINITY;
    }
    let mut last_side = 0;
    for _ in 0..200 {
        if off_low == 0.0 || high - low <= 1e-16 * low.abs().max(high.abs()) {
            break;
        }
        let secant = high - off_high * (high - low) / (off_high - off_low);
        let middle = if secant > low && secant < high { secant } else { f64::midpoint(low, high) };
        if middle == low || middle == high {
            break;
        }
        let value = off(middle);
        if value > 0.0 {
            (high, off_high) = (middle, value);
            if last_side == 1 {
                off_low /= 2.0;
            }
            last_side = 1;
        } else {
            (low, off_low) = (middle, value);
            if last_side == -1 {
                off_high /= 2.0;
            }
            last_side = -1;
        }
        if value == 0.0 {
            break;
        }
    }
    if off_low.abs() <= off_high.abs() { low.exp() } else { high.exp() }
}

#[cfg(test)]
#[path = "tests/distributions.rs"]
mod tests;
