//! Householder QR with column pivoting: the next column is always the one with the largest remainder.
//!
//! ```text
//! A P = Q R,   |R₁₁| ≥ |R₂₂| ≥ …
//! remainder norms are downdated, and computed anew where the downdate has lost half its digits
//! ```
//!
//! Tall input is first reduced to its p × p factor, so that pivoting costs p³, not np².

use super::householder::{reflect, reflector};
use super::{dot, multiply, norm, thin_qr};
use spanwise_kernels::{Matrix, stop};

/// `A[:, order] = Q R`.
pub(crate) struct Pivoted {
    /// Orthonormal columns, m × k.
    pub(crate) q: Matrix,
    /// Upper triangular with a falling diagonal, k × n.
    pub(crate) r: Matrix,
    /// Column `j` of `Q R` is column `order[j]` of A.
    pub(crate) order: Vec<usize>,
}

/// The pivoted factorisation of `a` (m × n), k = min(m, n).
pub(crate) fn pivoted_qr(a: &Matrix) -> Pivoted {
    if a.rows() > a.cols() {
        let (outer, r) = thin_qr(a);
        let inner = of_columns(&r);
        return Pivoted { q: multiply(&outer, &inner.q), ..inner };
    }
    of_columns(a)
}

fn of_columns(a: &Matrix) -> Pivoted {
    let (m, n) = (a.rows(), a.cols());
    let k = m.min(n);
    let mut columns: Vec<Vec<f64>> = (0..n).map(|j| a.col(j)).collect();
    let mut order: Vec<usize> = (0..n).collect();
    let mut left: Vec<f64> = columns.iter().map(|column| norm(column)).collect();
    let mut trusted = left.clone();
    let mut tau = Vec::with_capacity(k);
    for step in 0..k {
        stop::check();
        let pivot = (step..n).fold(step, |best, j| if left[j] > left[best] { j } else { best });
        columns.swap(step, pivot);
        order.swap(step, pivot);
        left.swap(step, pivot);
        trusted.swap(step, pivot);
        let (done, rest) = columns.split_at_mut(step + 1);
        let this = &mut done[step];
        tau.push(reflector(&mut this[step..]));
        for (column, j) in rest.iter_mut().zip(step + 1..) {
            if tau[step] != 0.0 {
                reflect(&this[step + 1..], tau[step], &mut column[step..]);
            }
            if left[j] == 0.0 {
                continue;
            }
            let share = (column[step] / left[j]).abs().min(1.0);
            left[j] *= ((1.0 - share) * (1.0 + share)).sqrt();
            if left[j] <= 1e-7 * trusted[j] {
                left[j] = norm(&column[step + 1..]);
                trusted[j] = left[j];
            }
        }
    }
    let r = Matrix::from_fn(k, n, |i, j| if i <= j { columns[j][i] } else { 0.0 });
    Pivoted { q: orthonormal(&columns, &tau, m), r, order }
}

/// The first k columns of Q, from the reflectors below the diagonal.
fn orthonormal(columns: &[Vec<f64>], tau: &[f64], m: usize) -> Matrix {
    let k = tau.len();
    let mut q = Matrix::zeros(m, k);
    for j in 0..k {
        let mut axis = vec![0.0; m];
        axis[j] = 1.0;
        for step in (0..=j).rev() {
            reflect(&columns[step][step + 1..], tau[step], &mut axis[step..]);
        }
        debug_assert!((dot(&axis, &axis) - 1.0).abs() < 1e-8);
        for (i, value) in axis.into_iter().enumerate() {
            q[(i, j)] = value;
        }
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_diagonal_falls_and_the_factors_multiply_back() {
        for (m, n) in [(4, 4), (3, 6), (50, 7), (3000, 5)] {
            let a = Matrix::from_fn(m, n, |i, j| {
                ((i * 3 + j * 5) as f64 * 0.7).cos() * 10.0_f64.powi(j as i32 % 3)
            });
            let Pivoted { q, r, order } = pivoted_qr(&a);
            let back = multiply(&q, &r);
            for i in 0..m {
                for j in 0..n {
                    assert!((back[(i, j)] - a[(i, order[j])]).abs() < 1e-11, "{m} × {n}");
                }
            }
            for i in 1..m.min(n) {
                assert!(r[(i, i)].abs() <= r[(i - 1, i - 1)].abs() * (1.0 + 1e-9) + 1e-11);
            }
        }
    }

    #[test]
    fn a_zero_matrix_has_a_zero_factor_and_no_nan() {
        let Pivoted { q, r, order } = pivoted_qr(&Matrix::zeros(3, 3));
        assert_eq!(r, Matrix::zeros(3, 3));
        assert_eq!(order, [0, 1, 2]);
        assert!(q.as_slice().iter().all(|x| x.is_finite()));
    }

    #[test]
    fn a_duplicated_column_leaves_a_zero_at_the_end() {
        let a = Matrix::new(vec![1.0, 1.0, 2.0, 2.0, 2.0, 5.0, 3.0, 3.0, -1.0], 3, 3).unwrap();
        let r = pivoted_qr(&a).r;
        assert!(r[(2, 2)].abs() < 1e-15);
        assert!(r[(1, 1)].abs() > 1.0);
    }
}
