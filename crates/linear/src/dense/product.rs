//! Products of row-major matrices. Rows are cut at fixed boundaries and partial results added in their order, so the
//! bits do not depend on the number of threads.

use super::{axpy, dot};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use spanwise_kernels::{Matrix, crew, stop};

/// Rows of one work item.
const TILE: usize = 256;

/// Sees a row-major matrix as faer does.
pub(super) fn seen(x: &Matrix) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(x.as_slice(), x.rows(), x.cols())
}

/// `A (m × k) · B (k × n)`.
pub(crate) fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    debug_assert_eq!(a.cols(), b.rows());
    let (k, n) = (a.cols(), b.cols());
    let mut out = Matrix::zeros(a.rows(), n);
    if out.as_slice().is_empty() || k == 0 {
        return out;
    }
    let tiles = out.as_mut_slice().chunks_mut(TILE * n);
    crew::each(a.rows() * k * n, tiles.zip(a.as_slice().chunks(TILE * k)), |(to, from)| {
        stop::check();
        let rows = from.len() / k;
        let left = MatRef::from_row_major_slice(from, rows, k);
        let out = MatMut::from_row_major_slice_mut(to, rows, n);
        matmul(out, Accum::Replace, left, seen(b), 1.0, Par::Seq);
    });
    out
}

/// `Aᵀ (m × k)ᵀ · B (m × n)`, a k × n matrix.
pub(crate) fn multiply_transposed(a: &Matrix, b: &Matrix) -> Matrix {
    debug_assert_eq!(a.rows(), b.rows());
    let (k, n) = (a.cols(), b.cols());
    let mut out = Matrix::zeros(k, n);
    if out.as_slice().is_empty() || a.rows() == 0 {
        return out;
    }
    // At most 16 partial results, however many rows there are.
    let tile = TILE.max(a.rows().div_ceil(16));
    let tiles = a.as_slice().chunks(tile * k).zip(b.as_slice().chunks(tile * n));
    let parts = crew::map(a.rows() * k * n, tiles, |(left, right)| {
        stop::check();
        let rows = left.len() / k;
        let mut part = Matrix::zeros(k, n);
        let left = MatRef::from_row_major_slice(left, rows, k).transpose();
        let right = MatRef::from_row_major_slice(right, rows, n);
        let to = MatMut::from_row_major_slice_mut(part.as_mut_slice(), k, n);
        matmul(to, Accum::Replace, left, right, 1.0, Par::Seq);
        part
    });
    for part in parts {
        axpy(out.as_mut_slice(), 1.0, part.as_slice());
    }
    out
}

/// `A (m × n) · x (n)`.
pub(crate) fn times(a: &Matrix, x: &[f64]) -> Vec<f64> {
    (0..a.rows()).map(|i| dot(a.row(i), x)).collect()
}

/// `Aᵀ (m × n)ᵀ · y (m)`.
pub(crate) fn transposed_times(a: &Matrix, y: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; a.cols()];
    for (i, &y) in y.iter().enumerate() {
        axpy(&mut out, y, a.row(i));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(a: &Matrix, b: &Matrix) -> Matrix {
        Matrix::from_fn(a.rows(), b.cols(), |i, j| (0..a.cols()).map(|k| a[(i, k)] * b[(k, j)]).sum())
    }

    #[test]
    fn products_agree_with_the_triple_loop() {
        for (m, k, n) in [(1, 1, 1), (3, 2, 4), (300, 5, 3), (0, 2, 2), (2, 0, 2), (700, 3, 1)] {
            let a = Matrix::from_fn(m, k, |i, j| ((i * 7 + j * 3) % 11) as f64 - 5.0);
            let b = Matrix::from_fn(k, n, |i, j| ((i * 5 + j) % 7) as f64 - 3.0);
            // Small integers: every order of summation is exact.
            assert_eq!(multiply(&a, &b), plain(&a, &b));
            assert_eq!(multiply_transposed(&a.transposed(), &b), plain(&a, &b));
        }
    }

    #[test]
    fn matrix_times_vector_both_ways() {
        let a = Matrix::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2).unwrap();
        assert_eq!(times(&a, &[2.0, -1.0]), [0.0, 2.0, 4.0]);
        assert_eq!(transposed_times(&a, &[1.0, 0.0, -1.0]), [-4.0, -4.0]);
    }
}
