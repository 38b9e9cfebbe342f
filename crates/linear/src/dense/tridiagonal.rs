//! `A = Q·T·Qᵀ` with `T` tridiagonal: after it, `(A + α·I)⁻¹·b` costs O(n) for each further `α`, and so does the
//! trace of the inverse. It costs a third of what all eigenvectors cost.
//!
//! ```text
//! once:       A → Q, T                            4/3·n³ flops
//!             c = Qᵀ·b
//! each α:     (T + α·I)·z = c                     n divisions: T + α·I = L·D·Lᵀ
//!             tr (T + α·I)⁻¹ = Σ 1/(dᵢ + uᵢ − tᵢ − α)     d: pivots from the top, u: from the bottom
//! once:       X = Q·Z for all α together
//! ```

use super::{extreme_unit, scaled};
use spanwise_kernels::Matrix;
use spanwise_kernels::symmetric;

pub(crate) struct Tridiagonal {
    /// Q, and T in a unit of its own.
    turned: symmetric::Tridiagonal,
    diagonal: Vec<f64>,
    below: Vec<f64>,
}

/// The solution of one shifted system, in the rotated coordinates.
pub(crate) struct Shifted {
    pub(crate) solution: Vec<f64>,
    /// `tr (A + α·I)⁻¹`.
    pub(crate) inverse_trace: f64,
    /// An estimate of the condition number of `A + α·I`: its norm times the largest entry of its inverse.
    pub(crate) condition: f64,
}

impl Tridiagonal {
    /// Of a symmetric matrix, both halves given.
    pub(crate) fn of(a: &Matrix) -> Self {
        // In this unit no square of an entry that matters overflows or underflows.
        let unit = extreme_unit(a.as_slice());
        let turned = if unit == 1.0 {
            symmetric::Tridiagonal::of(a)
        } else {
            symmetric::Tridiagonal::of(&Matrix::from_fn(a.rows(), a.rows(), |i, j| a[(i, j)] / unit))
        };
        let (diagonal, below) = (scaled(&turned.diagonal, unit), scaled(&turned.beside, unit));
        Tridiagonal { turned, diagonal, below }
    }

    /// T's diagonal (n).
    pub(crate) fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    /// T below its diagonal (n − 1).
    pub(crate) fn below(&self) -> &[f64] {
        &self.below
    }

    /// `Qᵀ·b`.
    pub(crate) fn rotate(&self, b: &[f64]) -> Vec<f64> {
        let mut turned = [b.to_vec()];
        self.turned.turn(&mut turned);
        let [turned] = turned;
        turned
    }

    /// `Q·z` for each `z`, in place.
    pub(crate) fn rotate_back(&self, vectors: &mut [Vec<f64>]) {
        self.turned.turn_back(vectors);
    }

    /// `(T + alpha·I)⁻¹·c`; `None` where the shifted matrix is not positive definite.
    pub(crate) fn solve(&self, alpha: f64, c: &[f64]) -> Option<Shifted> {
        let n = c.len();
        let shifted = |i: usize| self.diagonal[i] + alpha;
        let mut pivots = vec![0.0; n];
        let mut z = c.to_vec();
        for i in 0..n {
            pivots[i] = shifted(i);
            if i > 0 {
                let factor = self.below[i - 1] / pivots[i - 1];
                pivots[i] -= factor * self.below[i - 1];
                z[i] -= factor * z[i - 1];
            }
            if pivots[i] <= 0.0 || !pivots[i].is_finite() {
                return None;
            }
        }
        for i in (0..n).rev() {
            let next = if i + 1 < n { self.below[i] * z[i + 1] } else { 0.0 };
            z[i] = (z[i] - next) / pivots[i];
        }
        let (mut inverse_trace, mut largest, mut norm) = (0.0, 0.0_f64, 0.0_f64);
        let mut pivot_below = 0.0;
        for i in (0..n).rev() {
            let from_below = if i + 1 < n { self.below[i].powi(2) / pivot_below } else { 0.0 };
            pivot_below = shifted(i) - from_below;
            let entry = pivots[i] - from_below;
            if pivot_below <= 0.0 || entry <= 0.0 {
                return None;
            }
            inverse_trace += 1.0 / entry;
            largest = largest.max(1.0 / entry);
            let left = if i > 0 { self.below[i - 1].abs() } else { 0.0 };
            let right = self.below.get(i).map_or(0.0, |b| b.abs());
            norm = norm.max(left + shifted(i).abs() + right);
        }
        Some(Shifted { solution: z, inverse_trace, condition: norm * largest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::{Cholesky, diagonal};
    use faer::Mat;

    #[test]
    fn shifted_systems_agree_with_cholesky_at_every_size() {
        for n in [1, 2, 3, 10, 33, 70, 150] {
            let a = Mat::from_fn(n + 5, n, |i, j| (1.0 + i as f64 * 1.7 + (j * j) as f64 * 0.37).sin());
            let a = a.transpose() * &a;
            let b: Vec<f64> = (0..n).map(|i| (i as f64 * 0.9).cos()).collect();
            let tridiagonal = Tridiagonal::of(&Matrix::from_fn(n, n, |i, j| a[(i, j)]));
            let c = tridiagonal.rotate(&b);
            for alpha in [0.1, 1.0, 100.0] {
                let shifted = tridiagonal.solve(alpha, &c).unwrap();
                let mut solution = [shifted.solution];
                tridiagonal.rotate_back(&mut solution);
                let direct = Cholesky::new(&(&a + alpha * Mat::<f64>::identity(n, n))).unwrap();
                for (found, expected) in solution[0].iter().zip(direct.solve_vector(&b)) {
                    assert!((found - expected).abs() < 1e-10 * (1.0 + expected.abs()), "n = {n}");
                }
                let trace: f64 = diagonal(&direct.inverse()).iter().sum();
                assert!((shifted.inverse_trace - trace).abs() < 1e-10 * trace);
                assert!(shifted.condition >= 1.0);
            }
        }
    }
}
