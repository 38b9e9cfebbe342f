//! Solving with an upper triangle R stored row after row. The other triangle is never read.

use super::{axpy, dot};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::{MatMut, MatRef, Par};
use spanwise_kernels::Matrix;

/// Solves `R x = b` in place.
pub(crate) fn solve_upper(r: &Matrix, b: &mut [f64]) {
    let n = b.len();
    for i in (0..n).rev() {
        b[i] = (b[i] - dot(&r.row(i)[i + 1..n], &b[i + 1..])) / r[(i, i)];
    }
}

/// Solves `Rᵀ x = b` in place.
pub(crate) fn solve_upper_transposed(r: &Matrix, b: &mut [f64]) {
    let n = b.len();
    for i in 0..n {
        let x = b[i] / r[(i, i)];
        b[i] = x;
        axpy(&mut b[i + 1..], -x, &r.row(i)[i + 1..n]);
    }
}

/// R⁻¹, upper, for its entries alone.
pub(crate) fn invert_upper(r: &Matrix) -> Matrix {
    let n = r.rows();
    let mut inverse = Matrix::zeros(n, n);
    if n > 0 {
        // Row-major upper is column-major lower, and the inverse of the transpose is the transpose of the inverse.
        let lower = MatRef::from_column_major_slice(r.as_slice(), n, n);
        let to = MatMut::from_column_major_slice_mut(inverse.as_mut_slice(), n, n);
        invert_lower_triangular(to, lower, Par::Seq);
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solving_and_inverting_undo_the_product() {
        for n in [1, 3, 40] {
            let r = Matrix::from_fn(n, n, |i, j| match i.cmp(&j) {
                std::cmp::Ordering::Less => 1.0 / (1.0 + i as f64 + j as f64),
                std::cmp::Ordering::Equal => 1.0 + i as f64,
                std::cmp::Ordering::Greater => 0.0,
            });
            let x: Vec<f64> = (0..n).map(|i| i as f64 - 1.5).collect();
            let mut b: Vec<f64> = (0..n).map(|i| (0..n).map(|j| r[(i, j)] * x[j]).sum()).collect();
            let mut c: Vec<f64> = (0..n).map(|i| (0..n).map(|j| r[(j, i)] * x[j]).sum()).collect();
            // What lies below the diagonal is not looked at.
            let filled = Matrix::from_fn(n, n, |i, j| if i > j { 9.0 } else { r[(i, j)] });
            solve_upper(&filled, &mut b);
            solve_upper_transposed(&filled, &mut c);
            let inverse = invert_upper(&r);
            for i in 0..n {
                assert!((b[i] - x[i]).abs() < 1e-12 && (c[i] - x[i]).abs() < 1e-12);
                let row: f64 = (0..n).map(|j| r[(i, j)] * inverse[(j, n - 1)]).sum();
                assert!((row - f64::from(u8::from(i == n - 1))).abs() < 1e-12);
            }
        }
    }
}
