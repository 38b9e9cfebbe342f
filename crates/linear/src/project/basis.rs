//! Orthonormal bases of a span and of what is orthogonal to it.

use super::ColumnSpace;
use crate::LinearError;
use spanwise_kernels::{Element, Matrix, View};

/// An orthonormal basis of the span of the columns of `x` (n × p), one direction per column: n × rank.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::project::orthonormal_basis;
///
/// // Two columns, one direction.
/// let basis = orthonormal_basis(View::new(&[3.0, 6.0, 4.0, 8.0], &[2, 2])?)?;
/// assert_eq!(basis.cols(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn orthonormal_basis<T: Element>(x: View<'_, T>) -> Result<Matrix, LinearError> {
    Ok(ColumnSpace::new(x)?.basis)
}

/// An orthonormal basis of everything orthogonal to the columns of `x` (n × p): n × (n − rank), n at most [`COMPLEMENT_ROWS`](super::COMPLEMENT_ROWS).
pub fn complement_basis<T: Element>(x: View<'_, T>) -> Result<Matrix, LinearError> {
    ColumnSpace::new(x)?.complement()
}
