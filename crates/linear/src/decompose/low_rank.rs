//! The closest matrix of a given rank.

use super::svd::{check_count, svd};
use crate::LinearError;
use crate::dense::{leading_columns, multiply, norm, scale_columns};
use spanwise_kernels::{Element, Matrix, View};

/// `X ≈ left · right`, the closest matrix of its rank in both norms.
#[derive(Debug, Clone, PartialEq)]
pub struct LowRank {
    /// n × k.
    pub left: Matrix,
    /// k × p, orthonormal rows.
    pub right: Matrix,
    /// `‖X − left·right‖` in the Frobenius norm: the root of the sum of the squares left out.
    pub frobenius_error: f64,
    /// `‖X − left·right‖` in the spectral norm: the largest singular value left out.
    pub spectral_error: f64,
    /// `frobenius_error` as a share of `‖X‖`; 0 for a zero matrix.
    pub relative_error: f64,
}

impl LowRank {
    /// `left · right`, n × p.
    pub fn matrix(&self) -> Matrix {
        multiply(&self.left, &self.right)
    }
}

/// The closest matrix of rank `k` to `x` (n × p), with its error in both norms.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::decompose::low_rank;
///
/// let x = View::new(&[3.0, 0.0, 0.0, 4.0], &[2, 2])?;
/// let closest = low_rank(x, 1)?;
/// assert!((closest.spectral_error - 3.0).abs() < 1e-15);
/// assert!((closest.matrix()[(1, 1)] - 4.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn low_rank<T: Element>(x: View<'_, T>, k: usize) -> Result<LowRank, LinearError> {
    let all = svd(x)?;
    let s = &all.singular_values;
    check_count(k, s.len())?;
    let mut left = leading_columns(&all.u, k);
    scale_columns(&mut left, &s[..k]);
    let frobenius_error = norm(&s[k..]);
    // As shares of the largest, so that the norm of all of them cannot overflow.
    let shares: Vec<f64> = s.iter().map(|sigma| sigma / s[0]).collect();
    Ok(LowRank {
        left,
        right: leading_columns(&all.v, k).transposed(),
        frobenius_error,
        spectral_error: s.get(k).copied().unwrap_or(0.0),
        relative_error: if s[0] > 0.0 { norm(&shares[k..]) / norm(&shares) } else { 0.0 },
    })
}
