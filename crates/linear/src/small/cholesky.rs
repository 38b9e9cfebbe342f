//! `G = RᵀR`.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltRegularization, cholesky_in_place, cholesky_in_place_scratch};
use faer::{MatMut, Par, Spec};
use spanwise_kernels::Matrix;

/// The upper R of a symmetric positive definite G, of which the upper triangle is read; `None` where a pivot is not
/// positive.
pub(crate) fn cholesky(g: &Matrix) -> Option<Matrix> {
    let n = g.rows();
    let mut r = g.clone();
    if n == 0 {
        return Some(r);
    }
    // Row-major upper is column-major lower: the factor L with G = LLᵀ is Rᵀ in place.
    let lower = MatMut::from_column_major_slice_mut(r.as_mut_slice(), n, n);
    let mut memory =
        MemBuffer::try_new(cholesky_in_place_scratch::<f64>(n, Par::Seq, Spec::default())).ok()?;
    let stack = MemStack::new(&mut memory);
    cholesky_in_place(lower, LltRegularization::default(), Par::Seq, stack, Spec::default()).ok()?;
    for i in 0..n {
        r.row_mut(i)[..i].fill(0.0);
    }
    (0..n).all(|i| r[(i, i)] > 0.0 && r[(i, i)].is_finite()).then_some(r)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_multiplies_back_to_the_matrix() {
        for n in [0, 1, 2, 5, 70] {
            let g = Matrix::from_fn(
                n,
                n,
                |i, j| if i == j { n as f64 } else { 1.0 / (1.0 + i.abs_diff(j) as f64) },
            );
            let r = cholesky(&g).unwrap();
            for i in 0..n {
                for j in 0..n {
                    let product: f64 = (0..n).map(|k| r[(k, i)] * r[(k, j)]).sum();
                    assert!((product - g[(i, j)]).abs() < 1e-12 * n as f64);
                }
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_no_factor() {
        assert!(cholesky(&Matrix::new(vec![1.0, 2.0, 2.0, 1.0], 2, 2).unwrap()).is_none());
        assert!(cholesky(&Matrix::zeros(3, 3)).is_none());
        assert!(cholesky(&Matrix::from_fn(2, 2, |_, _| f64::NAN)).is_none());
    }
}
