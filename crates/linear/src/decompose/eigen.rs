//! The axes of a symmetric matrix.

use super::fix_signs;
use crate::LinearError;
use crate::check::argument;
use crate::dense::{self, load, norm_inf};
use spanwise_kernels::{Element, Matrix, View};

/// `A = V diag(λ) Vᵀ`.
#[derive(Debug, Clone, PartialEq)]
pub struct SymmetricEigen {
    /// Eigenvalues, largest first.
    pub values: Vec<f64>,
    /// Eigenvectors, one per column, orthonormal (n × n).
    pub vectors: Matrix,
}

/// Eigenvalues and eigenvectors of the symmetric `a` (n × n).
///
/// An asymmetry beyond rounding is refused, with the pair of entries that differs most.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::decompose::symmetric_eigen;
///
/// let a = View::new(&[2.0, 1.0, 1.0, 2.0], &[2, 2])?;
/// let eigen = symmetric_eigen(a)?;
/// assert!((eigen.values[0] - 3.0).abs() < 1e-15 && (eigen.values[1] - 1.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn symmetric_eigen<T: Element>(a: View<'_, T>) -> Result<SymmetricEigen, LinearError> {
    let name = argument("decompose", "A");
    name.square(&a)?;
    let a = load(name, &a)?;
    check_symmetric("decompose", &a)?;
    let (mut values, rising) = dense::symmetric_eigen(&a)
        .map_err(|_| LinearError::Unconverged { operation: "decompose", argument: "A" })?;
    if values.iter().any(|value| !value.is_finite()) {
        return Err(LinearError::Overflow { operation: "decompose", argument: "A" });
    }
    values.reverse();
    let n = a.rows();
    let mut vectors = Matrix::from_fn(n, n, |i, j| rising[(i, n - 1 - j)]);
    fix_signs(&mut vectors, None);
    Ok(SymmetricEigen { values, vectors })
}

/// Refuses an asymmetry beyond a few roundings of the largest entry.
pub(crate) fn check_symmetric(operation: &'static str, a: &Matrix) -> Result<(), LinearError> {
    let allowed = 100.0 * f64::EPSILON * norm_inf(a.as_slice());
    let (mut row, mut column, mut difference) = (0, 0, 0.0);
    for i in 0..a.rows() {
        for j in 0..i {
            let apart = (a[(i, j)] - a[(j, i)]).abs();
            if apart > difference {
                (row, column, difference) = (i, j, apart);
            }
        }
    }
    if difference > allowed {
        return Err(LinearError::NotSymmetric { operation, argument: "A", row, column, difference });
    }
    Ok(())
}
