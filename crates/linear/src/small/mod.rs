//! Householder QR of a small matrix kept as columns, on one thread, beside the small factors it is used with.

mod columns;

pub(crate) use crate::dense::{invert_upper, norm, solve_upper, solve_upper_transposed};
pub(crate) use columns::Columns;

use spanwise_kernels::Matrix;

/// The upper R with `G = RᵀR`; `None` where a pivot is not positive.
pub(crate) fn cholesky(g: &Matrix) -> Option<Matrix> {
    crate::dense::cholesky(g).ok()
}
