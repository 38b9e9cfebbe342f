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

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::tridiag::{tridiag_in_place, tridiag_in_place_scratch};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply,
    apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj as apply_transposed,
};
use faer::{Conj, Mat, MatRef, Par};
use spanwise_kernels::{Matrix, stop};

/// Reflections of one block.
const BLOCK: usize = 32;

pub(crate) struct Tridiagonal {
    /// Householder vectors below the subdiagonal (n × n).
    vectors: Mat<f64>,
    /// Their coefficients, by blocks.
    coefficients: Mat<f64>,
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
    /// Of a symmetric matrix.
    pub(crate) fn of(a: &Matrix) -> Self {
        Self::new(MatRef::from_column_major_slice(a.as_slice(), a.rows(), a.rows()).to_owned())
    }

    /// Reads the lower half of `a`.
    pub(crate) fn new(mut a: Mat<f64>) -> Self {
        stop::beside(move || {
            let n = a.nrows();
            let mut coefficients = Mat::zeros(BLOCK.min(n.max(2) - 1), n.saturating_sub(1));
            let mut memory =
                MemBuffer::new(tridiag_in_place_scratch::<f64>(n, Par::Seq, faer::Spec::default()));
            let stack = MemStack::new(&mut memory);
            tridiag_in_place(a.as_mut(), coefficients.as_mut(), Par::Seq, stack, faer::Spec::default());
            let diagonal = (0..n).map(|i| a[(i, i)]).collect();
            let below = (1..n).map(|i| a[(i, i - 1)]).collect();
            Tridiagonal { vectors: a, coefficients, diagonal, below }
        })
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
        let mut b = super::column(b);
        self.reflect(&mut b, true);
        b.col_as_slice(0).to_vec()
    }

    /// `Q·Z`, in place.
    pub(crate) fn rotate_back(&self, z: &mut Mat<f64>) {
        self.reflect(z, false);
    }

    fn reflect(&self, b: &mut Mat<f64>, transposed: bool) {
        let n = self.diagonal.len();
        if n < 2 {
            return;
        }
        let vectors = self.vectors.as_ref().submatrix(1, 0, n - 1, n - 1);
        let mut memory = MemBuffer::new(apply_scratch::<f64>(n - 1, self.coefficients.nrows(), b.ncols()));
        let stack = MemStack::new(&mut memory);
        let rows = b.as_mut().subrows_mut(1, n - 1);
        let run = if transposed { apply_transposed } else { apply };
        run(vectors, self.coefficients.as_ref(), Conj::No, rows, Par::Seq, stack);
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
    use crate::dense::{Cholesky, column, diagonal};

    #[test]
    fn shifted_systems_agree_with_cholesky_at_every_size() {
        for n in [1, 2, 3, 10, 33, 70, 150] {
            let a = Mat::from_fn(n + 5, n, |i, j| (1.0 + i as f64 * 1.7 + (j * j) as f64 * 0.37).sin());
            let a = a.transpose() * &a;
            let b: Vec<f64> = (0..n).map(|i| (i as f64 * 0.9).cos()).collect();
            let tridiagonal = Tridiagonal::new(a.clone());
            let c = tridiagonal.rotate(&b);
            for alpha in [0.1, 1.0, 100.0] {
                let shifted = tridiagonal.solve(alpha, &c).unwrap();
                let mut solution = column(&shifted.solution);
                tridiagonal.rotate_back(&mut solution);
                let direct = Cholesky::new(&(&a + alpha * Mat::<f64>::identity(n, n))).unwrap();
                for (found, expected) in solution.col_as_slice(0).iter().zip(direct.solve_vector(&b)) {
                    assert!((found - expected).abs() < 1e-10 * (1.0 + expected.abs()), "n = {n}");
                }
                let trace: f64 = diagonal(&direct.inverse()).iter().sum();
                assert!((shifted.inverse_trace - trace).abs() < 1e-10 * trace);
                assert!(shifted.condition >= 1.0);
            }
        }
    }
}
