//! Small factorisations of the fits: Cholesky with jitter and triangular factors; always sequential where they are the
//! library's own, so that their bits do not depend on the number of threads.

pub(crate) use crate::dense::{Cholesky, column, diagonal};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::{Mat, Par};

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
        if let Some(factor) = Cholesky::new(&shifted) {
            // Pivots at the level of rounding mean that the matrix is singular all the same.
            let sound = |(i, &d): (usize, &f64)| factor.pivot(i).powi(2) > 1e-14 * d;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_indefinite_matrix_has_no_factor_and_a_singular_one_needs_jitter() {
        let indefinite = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 2.0 });
        assert!(Cholesky::new(&indefinite).is_none());
        let ones = Mat::from_fn(3, 3, |_, _| 1.0);
        let (_, jitter) = cholesky_with_jitter(&ones).unwrap();
        assert!(jitter > 0.0);
        assert_eq!(cholesky_with_jitter(&Mat::identity(3, 3)).unwrap().1, 0.0);
    }
}
