//! Small symmetric factorisations, with the same bits for any number of threads.
//!
//! The library underneath may choose its order of summation by the number of threads, so it is only ever called
//! sequentially; what is worth running in parallel is cut here, at fixed boundaries:
//!
//! ```text
//! for each panel of 128 columns:
//!     factor the diagonal block, solve the rows below it           (sequential)
//!     subtract panel · panelᵀ from what is left, block by block    (parallel over column blocks)
//! ```

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place as solve_lower, solve_upper_triangular_in_place as solve_upper,
};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Columns of one panel.
const PANEL: usize = 128;

/// `A = L·Lᵀ` of a symmetric positive definite `A`.
pub(crate) struct Cholesky {
    /// `L` in the lower half; the upper half is not used.
    factor: Mat<f64>,
}

impl Cholesky {
    /// Reads the lower half of `a`. `None` where a pivot is not positive.
    pub(crate) fn new(mut a: Mat<f64>) -> Option<Self> {
        let n = a.nrows();
        if n <= 2 * PANEL {
            factor_in_place(a.as_mut())?;
            return Some(Cholesky { factor: a });
        }
        for k in (0..n).step_by(PANEL) {
            let width = PANEL.min(n - k);
            let left = a.as_mut().submatrix_mut(k, k, n - k, n - k);
            let (mut panel, mut rest) = left.split_at_col_mut(width);
            let (mut corner, mut below) = panel.as_mut().split_at_row_mut(width);
            factor_in_place(corner.as_mut())?;
            // below · Lᵀ⁻¹, written as L⁻¹ · belowᵀ; row blocks do not touch each other.
            let corner = corner.as_ref();
            below.as_mut().par_row_chunks_mut(PANEL).for_each(|block| {
                solve_lower(corner, block.transpose_mut(), Par::Seq);
            });
            let below = below.as_ref();
            let rest = rest.as_mut().subrows_mut(width, n - k - width);
            rest.par_col_chunks_mut(PANEL).enumerate().for_each(|(b, block)| {
                let (j, cols) = (b * PANEL, block.ncols());
                let (mut top, bottom) = block.subrows_mut(j, below.nrows() - j).split_at_row_mut(cols);
                let right = below.subrows(j, cols);
                let low = below.subrows(j + cols, below.nrows() - j - cols);
                triangular_matmul(
                    top.as_mut(),
                    BlockStructure::TriangularLower,
                    Accum::Add,
                    right,
                    BlockStructure::Rectangular,
                    right.transpose(),
                    BlockStructure::Rectangular,
                    -1.0,
                    Par::Seq,
                );
                faer::linalg::matmul::matmul(bottom, Accum::Add, low, right.transpose(), -1.0, Par::Seq);
            });
        }
        Some(Cholesky { factor: a })
    }

    /// `A⁻¹·B`, in place.
    pub(crate) fn solve(&self, mut b: MatMut<'_, f64>) {
        self.forward(b.as_mut());
        self.backward(b);
    }

    /// `L⁻¹·B`, in place.
    pub(crate) fn forward(&self, b: MatMut<'_, f64>) {
        solve_lower(self.factor.as_ref(), b, Par::Seq);
    }

    /// `L⁻ᵀ·B`, in place.
    pub(crate) fn backward(&self, b: MatMut<'_, f64>) {
        solve_upper(self.factor.transpose(), b, Par::Seq);
    }

    /// `A⁻¹·v`.
    pub(crate) fn solve_vector(&self, v: &[f64]) -> Vec<f64> {
        let mut out = column(v);
        self.solve(out.as_mut());
        out.col_as_slice(0).to_vec()
    }

    /// `A⁻¹` as a matrix, for its entries alone (standard errors); systems are solved, never multiplied by it.
    pub(crate) fn inverse(&self) -> Mat<f64> {
        let mut inverse = Mat::identity(self.factor.nrows(), self.factor.nrows());
        self.solve(inverse.as_mut());
        inverse
    }

    /// An estimate of `‖D·A⁻¹·D‖` with `D` the square roots of `diagonal` (A's own): how far the unit-scaled
    /// matrix is from singular. A few steps of inverse iteration from a fixed start; never above the truth.
    pub(crate) fn scaled_inverse_norm(&self, diagonal: &[f64]) -> f64 {
        let scale: Vec<f64> = diagonal.iter().map(|d| d.sqrt()).collect();
        let mut v: Vec<f64> =
            (0..scale.len()).map(|i| ((i * 7919 + 13) % 1013) as f64 / 1013.0 - 0.45).collect();
        let mut norm = 0.0;
        // Where one solve reads megabytes, two steps must do; they find the order of magnitude.
        let steps = if scale.len() > 512 { 2 } else { 4 };
        for _ in 0..steps {
            let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
            let scaled: Vec<f64> = v.iter().zip(&scale).map(|(v, d)| v / length * d).collect();
            v = self.solve_vector(&scaled).iter().zip(&scale).map(|(v, d)| v * d).collect();
            norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        }
        norm
    }
}

/// The lower Cholesky factor of a block, sequentially.
fn factor_in_place(mut a: MatMut<'_, f64>) -> Option<()> {
    let n = a.nrows();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(n, Par::Seq, faer::Spec::default()));
    cholesky_in_place(
        a.as_mut(),
        faer::linalg::cholesky::llt::factor::LltRegularization::default(),
        Par::Seq,
        MemStack::new(&mut memory),
        faer::Spec::default(),
    )
    .ok()?;
    // A NaN pivot compares with nothing, so it is looked for.
    (0..n).all(|i| a[(i, i)] > 0.0 && a[(i, i)].is_finite()).then_some(())
}

/// A Cholesky factor of `A + jitter·diag(A)`, with the smallest jitter of 0, 1e-14, 1e-12, … that succeeds.
pub(crate) fn cholesky_with_jitter(a: &Mat<f64>) -> Option<(Cholesky, f64)> {
    let diagonal: Vec<f64> = (0..a.nrows()).map(|i| a[(i, i)]).collect();
    let largest = diagonal.iter().fold(0.0, |m: f64, &d| m.max(d));
    if !largest.is_finite() {
        return None;
    }
    let floor = if largest > 0.0 { largest } else { 1.0 };
    let mut jitter = 0.0;
    loop {
        let mut shifted = a.clone();
        if jitter > 0.0 {
            for (i, &d) in diagonal.iter().enumerate() {
                // A zero column has no scale of its own.
                shifted[(i, i)] = d + jitter * if d > 1e-12 * floor { d } else { floor };
            }
        }
        if let Some(factor) = Cholesky::new(shifted) {
            // Pivots at the level of rounding mean that the matrix is singular all the same.
            let sound = |(i, &d): (usize, &f64)| factor.factor[(i, i)].powi(2) > 1e-14 * d;
            if jitter > 0.0 || diagonal.iter().enumerate().all(sound) {
                return Some((factor, jitter));
            }
        }
        jitter = if jitter == 0.0 { 1e-12 } else { jitter * 100.0 };
        if jitter > 1.0 {
            return None;
        }
    }
}

/// Thin singular value decomposition `A = U·diag(s)·Vᵀ`, singular values falling; `None` for NaN or infinity.
pub(crate) fn svd(a: MatRef<'_, f64>) -> Option<(Mat<f64>, Vec<f64>, Mat<f64>)> {
    use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
    let (m, n) = a.shape();
    let k = m.min(n);
    let (mut u, mut v) = (Mat::zeros(m, k), Mat::zeros(n, k));
    let mut s = faer::diag::Diag::<f64>::zeros(k);
    let thin = ComputeSvdVectors::Thin;
    let mut memory = MemBuffer::new(svd_scratch::<f64>(m, n, thin, thin, Par::Seq, faer::Spec::default()));
    let stack = MemStack::new(&mut memory);
    svd(a, s.as_mut(), Some(u.as_mut()), Some(v.as_mut()), Par::Seq, stack, faer::Spec::default()).ok()?;
    let s = (0..k).map(|i| s.column_vector()[i]).collect();
    Some((u, s, v))
}

/// Eigenvalues (rising) and eigenvectors of a symmetric matrix; `None` for NaN or infinity.
pub(crate) fn eigen(a: MatRef<'_, f64>) -> Option<(Vec<f64>, Mat<f64>)> {
    use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
    let n = a.nrows();
    let mut values = faer::diag::Diag::<f64>::zeros(n);
    let mut vectors = Mat::zeros(n, n);
    let wanted = ComputeEigenvectors::Yes;
    let mut memory =
        MemBuffer::new(self_adjoint_evd_scratch::<f64>(n, wanted, Par::Seq, faer::Spec::default()));
    let stack = MemStack::new(&mut memory);
    let out = Some(vectors.as_mut());
    self_adjoint_evd(a, values.as_mut(), out, Par::Seq, stack, faer::Spec::default()).ok()?;
    Some(((0..n).map(|i| values.column_vector()[i]).collect(), vectors))
}

/// The triangular factor of a QR factorisation (at most as many rows as columns).
pub(crate) fn triangular(mut a: Mat<f64>) -> Mat<f64> {
    use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
    let (m, n) = a.shape();
    let k = m.min(n);
    if k == 0 {
        return Mat::zeros(0, n);
    }
    let block = recommended_block_size::<f64>(m, n);
    let mut coefficients = Mat::zeros(block, k);
    let mut memory = MemBuffer::new(qr_in_place_scratch::<f64>(m, n, block, Par::Seq, faer::Spec::default()));
    let stack = MemStack::new(&mut memory);
    qr_in_place(a.as_mut(), coefficients.as_mut(), Par::Seq, stack, faer::Spec::default());
    Mat::from_fn(k, n, |i, j| if i <= j { a[(i, j)] } else { 0.0 })
}

/// A slice as a matrix of one column.
pub(crate) fn column(v: &[f64]) -> Mat<f64> {
    Mat::from_fn(v.len(), 1, |i, _| v[i])
}

/// The diagonal of a square matrix.
pub(crate) fn diagonal(a: &Mat<f64>) -> Vec<f64> {
    (0..a.nrows()).map(|i| a[(i, i)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::seeded::Seeded;

    fn positive_definite(n: usize) -> Mat<f64> {
        let mut random = Seeded::new(7);
        let a = Mat::from_fn(n, n, |_, _| random.normal());
        a.transpose() * &a + Mat::<f64>::identity(n, n)
    }

    #[test]
    fn blocked_and_whole_factors_solve_the_same_system() {
        for n in [1, 5, 256, 257, 300, 401] {
            let a = positive_definite(n);
            let truth: Vec<f64> = (0..n).map(|i| (i % 7) as f64 - 3.0).collect();
            let b = &a * column(&truth);
            let found = Cholesky::new(a).unwrap().solve_vector(b.col_as_slice(0));
            for (found, truth) in found.iter().zip(&truth) {
                assert!((found - truth).abs() < 1e-8, "n = {n}: {found} against {truth}");
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_has_no_factor_and_a_singular_one_needs_jitter() {
        let indefinite = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 2.0 });
        assert!(Cholesky::new(indefinite).is_none());
        let ones = Mat::from_fn(3, 3, |_, _| 1.0);
        let (_, jitter) = cholesky_with_jitter(&ones).unwrap();
        assert!(jitter > 0.0);
        assert_eq!(cholesky_with_jitter(&Mat::identity(3, 3)).unwrap().1, 0.0);
    }

    #[test]
    fn the_scaled_inverse_norm_does_not_depend_on_units() {
        let unit = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 0.99 });
        let scale = [1e-6, 1e6];
        let scaled = Mat::from_fn(2, 2, |i, j| unit[(i, j)] * scale[i] * scale[j]);
        let norm = |a: Mat<f64>| {
            let d = diagonal(&a);
            Cholesky::new(a).unwrap().scaled_inverse_norm(&d)
        };
        assert!((norm(unit) - 100.0).abs() < 1e-6);
        assert!((norm(scaled) - 100.0).abs() < 1e-6);
    }
}
