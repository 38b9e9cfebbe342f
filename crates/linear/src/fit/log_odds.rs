//! The loss of two classes, row by row, with whole vectors of rows at a time.
//!
//! With `s` the log-odds of the second class and `e = e^{−|s|}`, the less likely class has probability `e/(1+e)`, the
//! other `1/(1+e)`, and the loss of a row is `ln(1+e)`, plus `|s|` where the row is on the wrong side. Everything is
//! written without branches, as plain arithmetic over slices, and entered through [`dispatch`], so that the
//! compiler turns it into vectors of the machine at hand:
//!
//! ```text
//! e^x, x ≤ 0     x = k·ln 2 + r, |r| ≤ ln 2 / 2;  Σ rⁿ/n! up to n = 13;  2^k added to the exponent's bits
//! ln(1+e)        2·atanh(z), z = e/(2+e) ≤ 1/3;   2z·Σ z²ⁿ/(2n+1) up to n = 17
//! ```
//!
//! Both are good to a few units in the last place, relative, for every e: nothing cancels. Only adding and multiplying
//! is used, so that all instruction sets give the same bits.

use spanwise_kernels::simd::{Isa, Kernel, Simd, dispatch};

/// What is known of each row after its score: four numbers, in slices of one length.
pub(crate) struct LogOdds<'a> {
    /// In.
    pub(crate) scores: &'a [f64],
    /// Out: the probability of the first class.
    pub(crate) first: &'a mut [f64],
    /// Out: the probability of the second class.
    pub(crate) second: &'a mut [f64],
    /// Out: `ln(1+e)`.
    pub(crate) losses: &'a mut [f64],
}

impl LogOdds<'_> {
    pub(crate) fn compute(self) {
        dispatch(Isa::detected(), self);
    }
}

impl Kernel for LogOdds<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _isa: S) {
        let out = self.first.iter_mut().zip(self.second).zip(self.losses);
        for (&score, ((first, second), loss)) in self.scores.iter().zip(out) {
            let e = exp_of_negative(-score.abs());
            let more = 1.0 / (1.0 + e);
            let less = e * more;
            let positive = score > 0.0;
            *first = if positive { less } else { more };
            *second = if positive { more } else { less };
            *loss = ln_1p_of_fraction(e);
        }
    }
}

/// `1/n!`, from n = 13 down to 0.
const INVERSE_FACTORIALS: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// `e^x` for x ≤ 0; 0 below the smallest normal number; NaN for NaN.
#[inline(always)]
fn exp_of_negative(x: f64) -> f64 {
    // Adding 1.5·2⁵² rounds to an integer and leaves it in the low bits.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    // ln 2 in two parts; the first has zeros at its end, so that k times it is exact.
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const SMALLEST: f64 = -708.0;
    let bounded = if x < SMALLEST { SMALLEST } else { x };
    let shifted = bounded * std::f64::consts::LOG2_E + ROUNDER;
    let k = shifted - ROUNDER;
    let r = (bounded - k * LN_2_HIGH) - k * LN_2_LOW;
    let mut sum = INVERSE_FACTORIALS[0];
    for c in &INVERSE_FACTORIALS[1..] {
        sum = sum * r + c;
    }
    let scaled = f64::from_bits(sum.to_bits().wrapping_add(shifted.to_bits() << 52));
    let scaled = if x < SMALLEST { 0.0 } else { scaled };
    if x.is_nan() { x } else { scaled }
}

/// `1/(2n+1)`, from n = 17 down to 0.
const INVERSE_ODDS: [f64; 18] = [
    1.0 / 35.0,
    1.0 / 33.0,
    1.0 / 31.0,
    1.0 / 29.0,
    1.0 / 27.0,
    1.0 / 25.0,
    1.0 / 23.0,
    1.0 / 21.0,
    1.0 / 19.0,
    1.0 / 17.0,
    1.0 / 15.0,
    1.0 / 13.0,
    1.0 / 11.0,
    1.0 / 9.0,
    1.0 / 7.0,
    1.0 / 5.0,
    1.0 / 3.0,
    1.0,
];

/// `ln(1 + e)` for 0 ≤ e ≤ 1.
#[inline(always)]
fn ln_1p_of_fraction(e: f64) -> f64 {
    let z = e / (2.0 + e);
    let square = z * z;
    let mut sum = INVERSE_ODDS[0];
    for c in &INVERSE_ODDS[1..] {
        sum = sum * square + c;
    }
    2.0 * z * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_and_logarithms_agree_with_the_standard_library() {
        let mut score = -707.0;
        while score < 0.0 {
            let (e, expected) = (exp_of_negative(score), score.exp());
            assert!((e / expected - 1.0).abs() < 6e-16, "{score}: {e} against {expected}");
            let (loss, expected) = (ln_1p_of_fraction(e), e.ln_1p());
            assert!((loss / expected - 1.0).abs() < 8e-16, "{e}: {loss} against {expected}");
            score *= if score < -1e-3 { 0.9973 } else { 0.5 };
            if score > -1e-300 {
                break;
            }
        }
        assert_eq!((exp_of_negative(0.0), exp_of_negative(-800.0)), (1.0, 0.0));
        assert_eq!(exp_of_negative(f64::NEG_INFINITY), 0.0);
        assert_eq!(ln_1p_of_fraction(0.0), 0.0);
        // A payload in the low bits, as some programs mark missing values.
        assert!(exp_of_negative(f64::from_bits(f64::NAN.to_bits() | 0x7a2)).is_nan());
    }

    #[test]
    fn every_row_has_its_probabilities_whatever_the_length() {
        for n in [0, 1, 3, 4, 7, 64, 101] {
            let scores: Vec<f64> = (0..n).map(|i| 0.37 * i as f64 - 12.0).collect();
            let (mut first, mut second, mut losses) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
            LogOdds { scores: &scores, first: &mut first, second: &mut second, losses: &mut losses }
                .compute();
            for i in 0..n {
                let p = 1.0 / (1.0 + (-scores[i]).exp());
                assert!((second[i] - p).abs() < 1e-15 && (first[i] + second[i] - 1.0).abs() < 1e-15);
                assert!((losses[i] - (-scores[i].abs()).exp().ln_1p()).abs() < 1e-15);
            }
        }
    }
}
