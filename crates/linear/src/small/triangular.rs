//! Solving with an upper triangle R.

use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::{MatMut, MatRef, Par};
use spanwise_kernels::Matrix;

/// R⁻¹, upper.
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

/// x with R x = b, in place.
pub(crate) fn solve_upper(r: &Matrix, b: &mut [f64]) {
    for i in (0..b.len()).rev() {
        let row = r.row(i);
        let later: f64 = (i + 1..b.len()).map(|j| row[j] * b[j]).sum();
        b[i] = (b[i] - later) / row[i];
    }
}

/// x with Rᵀ x = b, in place.
pub(crate) fn solve_upper_transposed(r: &Matrix, b: &mut [f64]) {
    for i in 0..b.len() {
        let row = r.row(i);
        b[i] /= row[i];
        let x = b[i];
        for j in i + 1..b.len() {
            b[j] -= row[j] * x;
        }
    }
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
            solve_upper(&r, &mut b);
            solve_upper_transposed(&r, &mut c);
            let inverse = invert_upper(&r);
            for i in 0..n {
                assert!((b[i] - x[i]).abs() < 1e-12 && (c[i] - x[i]).abs() < 1e-12);
                let row: f64 = (0..n).map(|j| r[(i, j)] * inverse[(j, n - 1)]).sum();
                assert!((row - f64::from(u8::from(i == n - 1))).abs() < 1e-12);
            }
        }
    }
}
