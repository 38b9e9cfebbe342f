//! Numbers of twice the precision: an unevaluated sum of two f64.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// `high + low`, where `low` is at most half a unit in the last place of `high`: about 32 decimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twofold {
    /// The rounded value.
    pub high: f64,
    /// What rounding left out.
    pub low: f64,
}

/// `a + b` exactly, as its rounded value and the rest (Knuth).
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

impl Twofold {
    /// Zero.
    pub const ZERO: Twofold = Twofold { high: 0.0, low: 0.0 };

    /// `high + low` of any two numbers, normalised.
    #[inline(always)]
    pub fn new(high: f64, low: f64) -> Self {
        let (high, low) = two_sum(high, low);
        Twofold { high, low }
    }

    /// The product of two f64, exactly.
    #[inline(always)]
    pub fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Twofold { high, low: a.mul_add(b, -high) }
    }
}

impl From<f64> for Twofold {
    #[inline(always)]
    fn from(high: f64) -> Self {
        Twofold { high, low: 0.0 }
    }
}

impl Add for Twofold {
    type Output = Twofold;

    #[inline(always)]
    fn add(self, other: Twofold) -> Twofold {
        let (sum, rest) = two_sum(self.high, other.high);
        Twofold::new(sum, rest + (self.low + other.low))
    }
}

impl AddAssign for Twofold {
    #[inline(always)]
    fn add_assign(&mut self, other: Twofold) {
        *self = *self + other;
    }
}

impl Neg for Twofold {
    type Output = Twofold;

    #[inline(always)]
    fn neg(self) -> Twofold {
        Twofold { high: -self.high, low: -self.low }
    }
}

impl Sub for Twofold {
    type Output = Twofold;

    #[inline(always)]
    fn sub(self, other: Twofold) -> Twofold {
        self + -other
    }
}

impl Mul<f64> for Twofold {
    type Output = Twofold;

    #[inline(always)]
    fn mul(self, factor: f64) -> Twofold {
        let product = Twofold::product(self.high, factor);
        Twofold::new(product.high, self.low.mul_add(factor, product.low))
    }
}

impl Mul for Twofold {
    type Output = Twofold;

    #[inline(always)]
    fn mul(self, other: Twofold) -> Twofold {
        let product = Twofold::product(self.high, other.high);
        let rest = self.high.mul_add(other.low, self.low.mul_add(other.high, product.low));
        Twofold::new(product.high, rest)
    }
}

impl Div for Twofold {
    type Output = Twofold;

    /// A rounded quotient, and that of what it leaves, twice.
    #[inline(always)]
    fn div(self, by: Twofold) -> Twofold {
        let first = self.high / by.high;
        let left = self - by * first;
        let second = left.high / by.high;
        let left = left - by * second;
        Twofold::new(first, second) + Twofold::from(left.high / by.high)
    }
}
