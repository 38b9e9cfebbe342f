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

/// Rows taken together: sums of a slice are sums of every eighth row, added at the end, so that nothing waits for them.
const TOGETHER: usize = 8;

/// What follows from the scores of some rows, in slices of one length.
pub(crate) struct LogOdds<'a> {
    /// In: scores; out: residuals, the probability of the second class less whether the row belongs to it, times the row's weight.
    pub(crate) scores: &'a mut [f64],
    /// 1 for rows of the second class.
    pub(crate) labels: &'a [usize],
    pub(crate) weights: Option<&'a [f64]>,
    /// Out: the probability of the first class.
    pub(crate) first: &'a mut [f64],
    /// Out: the probability of the second class.
    pub(crate) second: &'a mut [f64],
}

/// Sums over some rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Totals {
    pub(crate) loss: f64,
    pub(crate) weight: f64,
    /// The largest |score| of a row with weight.
    pub(crate) spread: f64,
    /// Whether every row with weight is on its side.
    pub(crate) separates: bool,
}

impl LogOdds<'_> {
    pub(crate) fn compute(self) -> Totals {
        dispatch(Isa::detected(), self)
    }
}

impl Kernel for LogOdds<'_> {
    type Output = Totals;

    #[inline(always)]
    fn run<S: Simd>(self, _isa: S) -> Totals {
        let n = self.scores.len();
        assert!(self.labels.len() == n && self.first.len() == n && self.second.len() == n);
        assert!(self.weights.is_none_or(|weights| weights.len() == n));
        let mut sums = Lanes::default();
        let ones = [1.0; TOGETHER];
        let mut at = 0;
        while at + TOGETHER <= n {
            let rows = at..at + TOGETHER;
            let weights = match self.weights {
                Some(weights) => weights[rows.clone()].as_chunks().0[0],
                None => ones,
            };
            let mut some = Rows { weights, ..Rows::default() };
            some.scores.copy_from_slice(&self.scores[rows.clone()]);
            some.labels.copy_from_slice(&self.labels[rows.clone()]);
            some.compute(&mut sums);
            self.scores[rows.clone()].copy_from_slice(&some.scores);
            self.first[rows.clone()].copy_from_slice(&some.first);
            self.second[rows].copy_from_slice(&some.second);
            at += TOGETHER;
        }
        if at < n {
            // The rows that are missing have no weight.
            let (mut some, left) = (Rows::default(), n - at);
            some.weights[..left]
                .copy_from_slice(self.weights.map_or(&ones[..left], |weights| &weights[at..]));
            some.scores[..left].copy_from_slice(&self.scores[at..]);
            some.labels[..left].copy_from_slice(&self.labels[at..]);
            some.compute(&mut sums);
            self.scores[at..].copy_from_slice(&some.scores[..left]);
            self.first[at..].copy_from_slice(&some.first[..left]);
            self.second[at..].copy_from_slice(&some.second[..left]);
        }
        sums.totals()
    }
}

/// Eight rows.
#[derive(Default)]
struct Rows {
    scores: [f64; TOGETHER],
    labels: [usize; TOGETHER],
    weights: [f64; TOGETHER],
    first: [f64; TOGETHER],
    second: [f64; TOGETHER],
}

/// [`Totals`] of every eighth row.
#[derive(Default)]
struct Lanes {
    loss: [f64; TOGETHER],
    weight: [f64; TOGETHER],
    spread: [f64; TOGETHER],
    /// Not 0 where a row with weight is on the other side.
    astray: [u64; TOGETHER],
}

impl Rows {
    #[inline(always)]
    fn compute(&mut self, sums: &mut Lanes) {
        for i in 0..TOGETHER {
            let (score, weight, is_second) = (self.scores[i], self.weights[i], self.labels[i] == 1);
            let size = score.abs();
            let e = exp_of_negative(-size);
            let more = 1.0 / (1.0 + e);
            let less = e * more;
            let first = if score > 0.0 { less } else { more };
            let second = if score > 0.0 { more } else { less };
            // Towards the row's own class.
            let own = if is_second { score } else { -score };
            // A score that is no number is on no side.
            let right_side = own > 0.0;
            let against = if right_side { 0.0 } else { size };
            let counts = weight > 0.0;
            sums.loss[i] += weight * (ln_1p_of_fraction(e) + against);
            sums.weight[i] += weight;
            sums.spread[i] = if counts && size > sums.spread[i] { size } else { sums.spread[i] };
            sums.astray[i] |= u64::from(counts && !right_side);
            self.scores[i] = weight * if is_second { -first } else { second };
            (self.first[i], self.second[i]) = (first, second);
        }
    }
}

impl Lanes {
    fn totals(&self) -> Totals {
        Totals {
            loss: self.loss.iter().sum(),
            weight: self.weight.iter().sum(),
            spread: self.spread.iter().fold(0.0, |most, &size| if size > most { size } else { most }),
            separates: self.astray.iter().all(|&astray| astray == 0),
        }
    }
}

/// The roots of the weights that a step of Newton's method gives the rows, and their residuals over these roots.
pub(crate) struct NewtonWeights<'a> {
    pub(crate) weights: Option<&'a [f64]>,
    pub(crate) first: &'a [f64],
    pub(crate) second: &'a [f64],
    /// No root is smaller.
    pub(crate) least: f64,
    /// Out.
    pub(crate) roots: &'a mut [f64],
    /// In: residuals; out: these over the roots.
    pub(crate) residuals: &'a mut [f64],
}

impl NewtonWeights<'_> {
    pub(crate) fn compute(self) {
        dispatch(Isa::detected(), self);
    }
}

impl Kernel for NewtonWeights<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _isa: S) {
        let n = self.roots.len();
        let (first, second, residuals) = (&self.first[..n], &self.second[..n], &mut self.residuals[..n]);
        for i in 0..n {
            self.roots[i] = first[i] * second[i];
        }
        if let Some(weights) = self.weights {
            let weights = &weights[..n];
            for i in 0..n {
                self.roots[i] *= weights[i];
            }
        }
        for i in 0..n {
            let root = self.roots[i].sqrt();
            let root = if root > self.least { root } else { self.least };
            self.roots[i] = root;
            residuals[i] /= root;
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
    fn every_row_has_its_probabilities_and_its_share_of_the_sums_whatever_the_length() {
        for (n, weighted) in [0, 1, 3, 4, 7, 8, 9, 64, 101].into_iter().flat_map(|n| [(n, false), (n, true)])
        {
            let scores: Vec<f64> = (0..n).map(|i| 0.37 * i as f64 - 12.0).collect();
            let labels: Vec<usize> = (0..n).map(|i| i % 3 % 2).collect();
            let weights: Vec<f64> = (0..n).map(|i| if weighted { (i % 4) as f64 } else { 1.0 }).collect();
            let given = weighted.then_some(&weights[..]);
            let (mut first, mut second, mut residuals) = (vec![0.0; n], vec![0.0; n], scores.clone());
            let totals = LogOdds {
                scores: &mut residuals,
                labels: &labels,
                weights: given,
                first: &mut first,
                second: &mut second,
            }
            .compute();
            let (mut loss, mut spread, mut separates) = (0.0, 0.0_f64, true);
            for i in 0..n {
                let p = 1.0 / (1.0 + (-scores[i]).exp());
                assert!((second[i] - p).abs() < 1e-15 && (first[i] + second[i] - 1.0).abs() < 1e-15);
                let residual = weights[i] * (p - labels[i] as f64);
                assert!((residuals[i] - residual).abs() <= 1e-15 * weights[i]);
                let own = if labels[i] == 1 { scores[i] } else { -scores[i] };
                loss += weights[i] * ((-own.abs()).exp().ln_1p() + (-own).max(0.0));
                if weights[i] > 0.0 {
                    spread = spread.max(own.abs());
                    separates &= own > 0.0;
                }
            }
            assert!((totals.loss - loss).abs() <= 1e-14 * loss);
            assert_eq!(
                (totals.weight, totals.spread, totals.separates),
                (weights.iter().sum(), spread, separates)
            );
            let (mut roots, mut over) = (vec![0.0; n], residuals.clone());
            NewtonWeights {
                weights: given,
                first: &first,
                second: &second,
                least: 1e-3,
                roots: &mut roots,
                residuals: &mut over,
            }
            .compute();
            for i in 0..n {
                let root = (weights[i] * first[i] * second[i]).sqrt().max(1e-3);
                assert!((roots[i] / root - 1.0).abs() < 1e-15 && over[i] == residuals[i] / roots[i]);
            }
        }
    }
}
