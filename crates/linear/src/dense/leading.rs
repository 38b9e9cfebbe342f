//! The largest few eigenvalues of a symmetric matrix and their vectors, without the others.
//!
//! ```text
//! A = Q·T·Qᵀ, T tridiagonal                           4/3·n³ flops, a third of what all vectors cost
//! bisection: how many eigenvalues of T are above x    n divisions for each x, exact counts: none is missed
//! inverse iteration on T − λ, orthogonal to those before, from the largest down
//! vectors of A: Q·Y
//! ```
//!
//! Equal eigenvalues come out as often as they are there, because they are counted, and their vectors orthonormal,
//! because each is kept orthogonal to the others. Where a vector does not settle, all of them are computed.

use super::factor::Unconverged;
use super::{
    Tridiagonal, axpy, dot, leading_columns, norm, norm_inf, power_of_two_near, scaled, symmetric_eigen,
};
use spanwise_kernels::Matrix;

/// Up to this share of all eigenvectors, computing a few pays.
const FEW: usize = 4;
/// Rounds of inverse iteration at most.
const ROUNDS: usize = 5;

/// The `k` largest eigenvalues of the symmetric `a` (n × n), falling, and their vectors (n × k).
pub(crate) fn leading_eigen(a: &Matrix, k: usize) -> Result<(Vec<f64>, Matrix), Unconverged> {
    let n = a.rows();
    if FEW * k <= n
        && let Some(found) = few(a, k)
    {
        return Ok(found);
    }
    let (rising, vectors) = symmetric_eigen(a)?;
    let values = rising.iter().rev().take(k).copied().collect();
    let falling = Matrix::from_fn(n, n, |i, j| vectors[(i, n - 1 - j)]);
    Ok((values, leading_columns(&falling, k)))
}

/// By bisection and inverse iteration; `None` where a vector does not settle.
fn few(a: &Matrix, k: usize) -> Option<(Vec<f64>, Matrix)> {
    let n = a.rows();
    let unit = power_of_two_near(norm_inf(a.as_slice()));
    let tridiagonal = Tridiagonal::of(&Matrix::from_fn(n, n, |i, j| a[(i, j)] / unit));
    let t = Bands { diagonal: tridiagonal.diagonal(), below: tridiagonal.below() };
    let values = t.largest(k)?;
    let mut vectors: Vec<Vec<f64>> = Vec::with_capacity(k);
    for (which, &value) in values.iter().enumerate() {
        let vector = t.vector(value, which, &vectors)?;
        vectors.push(vector);
    }
    tridiagonal.rotate_back(&mut vectors);
    Some((scaled(&values, unit), Matrix::from_fn(n, k, |i, j| vectors[j][i])))
}

/// A symmetric tridiagonal matrix.
struct Bands<'a> {
    /// n.
    diagonal: &'a [f64],
    /// n − 1.
    below: &'a [f64],
}

impl Bands<'_> {
    /// An upper bound of every eigenvalue's magnitude: the largest sum of a row.
    fn bound(&self) -> f64 {
        let at = |i: Option<usize>| i.and_then(|i| self.below.get(i)).map_or(0.0, |b| b.abs());
        let row = |(i, d): (usize, &f64)| d.abs() + at(i.checked_sub(1)) + at(Some(i));
        self.diagonal.iter().enumerate().map(row).fold(0.0, f64::max)
    }

    /// How many eigenvalues are above `x`: the positive pivots of T − x.
    fn above(&self, x: f64, tiny: f64) -> usize {
        let (mut count, mut pivot) = (0, 1.0);
        for (i, d) in self.diagonal.iter().enumerate() {
            let taken = if i == 0 { 0.0 } else { self.below[i - 1] * self.below[i - 1] / pivot };
            pivot = d - x - taken;
            if pivot.abs() < tiny {
                pivot = -tiny;
            }
            count += usize::from(pivot > 0.0);
        }
        count
    }

    /// The `k` largest eigenvalues, falling, each to the last bits of the largest; `None` for NaN.
    fn largest(&self, k: usize) -> Option<Vec<f64>> {
        let bound = self.bound();
        if !bound.is_finite() {
            return None;
        }
        let tiny = f64::MIN_POSITIVE / f64::EPSILON * (1.0 + bound * bound);
        let width = f64::EPSILON * bound;
        // Bounds of eigenvalue i: more than i of them are above `low`, at most i above `high`.
        let (mut low, mut high) = (vec![-bound - width; k], vec![bound + width; k]);
        for i in 0..k {
            while high[i] - low[i] > width {
                let middle = 0.5 * (low[i] + high[i]);
                let count = self.above(middle, tiny);
                for j in i..k {
                    if count > j {
                        low[j] = low[j].max(middle);
                    } else {
                        high[j] = high[j].min(middle);
                    }
                }
            }
        }
        Some(low.iter().zip(&high).map(|(low, high)| 0.5 * (low + high)).collect())
    }

    /// The unit vector of eigenvalue `value`, orthogonal to `earlier`; `None` where it does not settle.
    fn vector(&self, value: f64, which: usize, earlier: &[Vec<f64>]) -> Option<Vec<f64>> {
        let n = self.diagonal.len();
        let bound = self.bound().max(f64::MIN_POSITIVE);
        let factor = Shifted::new(self, value, f64::EPSILON * bound);
        let mut v: Vec<f64> =
            (0..n).map(|i| ((i * 7919 + which * 104_729 + 13) % 1013) as f64 / 1013.0 - 0.45).collect();
        for _ in 0..ROUNDS {
            factor.solve(&mut v);
            let size = norm_inf(&v);
            for v in &mut v {
                *v /= size;
            }
            for _ in 0..2 {
                for other in earlier {
                    let along = -dot(other, &v);
                    axpy(&mut v, along, other);
                }
            }
            let length = norm(&v);
            for v in &mut v {
                *v /= length;
            }
            if self.residual(value, &v) <= 8.0 * f64::EPSILON * bound {
                return Some(v);
            }
        }
        // Among neighbours nearly as close as rounding, each is only as good as those before it.
        (self.residual(value, &v) <= 1024.0 * f64::EPSILON * bound).then_some(v)
    }

    /// `‖T v − λ v‖`.
    fn residual(&self, value: f64, v: &[f64]) -> f64 {
        let n = v.len();
        let rest: Vec<f64> = (0..n)
            .map(|i| {
                let before = if i > 0 { self.below[i - 1] * v[i - 1] } else { 0.0 };
                let after = if i + 1 < n { self.below[i] * v[i + 1] } else { 0.0 };
                (self.diagonal[i] - value) * v[i] + before + after
            })
            .collect();
        norm(&rest)
    }
}

/// `T − λ` factored with row exchanges: upper bands of width three, and what was subtracted.
struct Shifted {
    /// Diagonal and the two bands above it, row by row.
    upper: Vec<[f64; 3]>,
    /// For each step whether the rows were exchanged, and the factor.
    steps: Vec<(bool, f64)>,
}

impl Shifted {
    /// Pivots below `least` in magnitude become `least`: λ is an eigenvalue, so one of them would be zero.
    fn new(t: &Bands<'_>, value: f64, least: f64) -> Self {
        let n = t.diagonal.len();
        let band = |i: usize| t.below.get(i).copied().unwrap_or(0.0);
        let mut upper = Vec::with_capacity(n);
        let mut steps = Vec::with_capacity(n);
        let mut row = [t.diagonal[0] - value, band(0), 0.0];
        for i in 1..n {
            let next = [band(i - 1), t.diagonal[i] - value, band(i)];
            let exchange = next[0].abs() > row[0].abs();
            let (mut pivot, other) = if exchange { (next, row) } else { (row, next) };
            if pivot[0].abs() < least {
                pivot[0] = least;
            }
            let factor = other[0] / pivot[0];
            row = [other[1] - factor * pivot[1], other[2] - factor * pivot[2], 0.0];
            upper.push(pivot);
            steps.push((exchange, factor));
        }
        if row[0].abs() < least {
            row[0] = least;
        }
        upper.push(row);
        Shifted { upper, steps }
    }

    /// `(T − λ)⁻¹ v` in place.
    fn solve(&self, v: &mut [f64]) {
        for (i, &(exchange, factor)) in self.steps.iter().enumerate() {
            if exchange {
                v.swap(i, i + 1);
            }
            v[i + 1] -= factor * v[i];
        }
        for i in (0..v.len()).rev() {
            let known = |k: usize| v.get(i + k).copied().unwrap_or(0.0) * self.upper[i][k];
            v[i] = (v[i] - known(1) - known(2)) / self.upper[i][0];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::multiply;
    use super::*;

    /// `H·diag(values)·H` with a reflection H that mixes all axes.
    fn with_spectrum(values: &[f64]) -> Matrix {
        let n = values.len();
        let v: Vec<f64> = (0..n).map(|i| 1.0 + (i as f64 * 0.7).sin()).collect();
        let square = dot(&v, &v);
        let h = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j] / square);
        let scaled = Matrix::from_fn(n, n, |i, j| h[(i, j)] * values[j]);
        multiply(&scaled, &h)
    }

    #[test]
    fn the_few_agree_with_all_of_them() {
        let repeated: Vec<f64> =
            (0..40).map(|i| if i < 5 { 3.0 } else { 1.0 / (1.0 + f64::from(i)) }).collect();
        let falling: Vec<f64> = (0..90).map(|i| 0.8_f64.powi(i)).collect();
        let signs: Vec<f64> = (0..33).map(|i| f64::from(i) - 16.0).collect();
        let near: Vec<f64> = (0..64).map(|i| 1.0 + 1e-13 * f64::from(i)).collect();
        for (values, scale) in [(&repeated, 1.0), (&falling, 1e200), (&signs, 1e-200), (&near, 1.0)] {
            let values: Vec<f64> = values.iter().map(|v| v * scale).collect();
            let a = with_spectrum(&values);
            let mut sorted = values.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            for k in [1, 3, 8] {
                let (found, vectors) = few(&a, k).unwrap();
                for (found, expected) in found.iter().zip(&sorted) {
                    assert!((found - expected).abs() <= 1e-13 * sorted[0], "{found} {expected}");
                }
                let image = multiply(&a, &vectors);
                for j in 0..k {
                    let (v, mut rest) = (vectors.col(j), image.col(j));
                    axpy(&mut rest, -found[j], &v);
                    assert!(norm(&rest) <= 1e-12 * sorted[0].abs(), "{}", norm(&rest));
                    for i in 0..=j {
                        let expected = f64::from(u8::from(i == j));
                        assert!((dot(&vectors.col(i), &v) - expected).abs() < 1e-13);
                    }
                }
            }
        }
    }

    #[test]
    fn matrices_that_fall_apart_are_no_trouble() {
        for n in [4, 9, 20] {
            let zero = leading_eigen(&Matrix::zeros(n, n), 1).unwrap();
            assert_eq!(zero.0, [0.0]);
            let identity = leading_eigen(&super::super::identity(n), n / 4).unwrap();
            assert!(identity.0.iter().all(|v| (v - 1.0).abs() < 1e-15));
        }
    }
}
