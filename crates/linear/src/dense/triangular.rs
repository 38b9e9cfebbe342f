//! Substitution with a triangular factor stored row after row. The other triangle is never read.

use super::{axpy, dot};
use spanwise_kernels::Matrix;

/// Solves `L x = b` in place.
pub(crate) fn solve_lower(l: &Matrix, b: &mut [f64]) {
    for i in 0..b.len() {
        let (done, rest) = b.split_at_mut(i);
        rest[0] = (rest[0] - dot(&l.row(i)[..i], done)) / l[(i, i)];
    }
}

/// Solves `Lᵀ x = b` in place.
pub(crate) fn solve_lower_transposed(l: &Matrix, b: &mut [f64]) {
    for i in (0..b.len()).rev() {
        let x = b[i] / l[(i, i)];
        b[i] = x;
        axpy(&mut b[..i], -x, &l.row(i)[..i]);
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitution_undoes_the_product() {
        let l = Matrix::new(vec![2.0, 9.0, 9.0, 1.0, 4.0, 9.0, 3.0, -1.0, 0.5], 3, 3).unwrap();
        let r = l.transposed();
        let x = [1.0, -2.0, 4.0];
        let lower = [2.0, -7.0, 7.0];
        let upper = [12.0, -12.0, 2.0];
        for (solve, factor, right) in [
            (solve_lower as fn(&Matrix, &mut [f64]), &l, lower),
            (solve_lower_transposed, &l, upper),
            (solve_upper, &r, upper),
            (solve_upper_transposed, &r, lower),
        ] {
            let mut b = right;
            solve(factor, &mut b);
            assert_eq!(b, x);
        }
    }
}
