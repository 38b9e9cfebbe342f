//! **decompose**: a matrix as a product of simpler ones.
//!
//! | function | gives |
//! |---|---|
//! | [`qr`], [`qr_full`] | an orthonormal basis and a triangle |
//! | [`pivoted_qr`] | the same, with the most independent columns first and the rank |
//! | [`svd`], [`svd_full`], [`svd_truncated`], [`svd_randomized`] | orthonormal directions and their strengths |
//! | [`symmetric_eigen`] | the axes of a symmetric matrix |
//! | [`pca`], [`pca_from_factor`], [`pca_from_summary`] | the directions of largest variance |
//! | [`svd_from_summary`] | right directions and strengths of rows that were not kept |
//! | [`low_rank`] | the closest matrix of a given rank, and how far it is |
//!
//! Signs are fixed (a direction's entry of largest magnitude is positive, R's diagonal is not negative), so the same
//! input gives the same factors whatever method or number of threads made them.

mod eigen;
mod krylov;
mod low_rank;
mod pca;
mod pivoted_qr;
mod qr;
mod summarised;
mod svd;
#[cfg(test)]
mod tests;

pub use eigen::{SymmetricEigen, symmetric_eigen};
pub use low_rank::{LowRank, low_rank};
pub use pca::{Pca, PcaMethod, PcaOptions, pca, pca_from_factor};
pub use pivoted_qr::{PivotedQr, pivoted_qr, pivoted_qr_by_length};
pub use qr::{Qr, qr, qr_full};
pub use summarised::{RightSvd, pca_from_summary, svd_from_summary};
pub use svd::{Sketch, Svd, svd, svd_full, svd_randomized, svd_truncated};

pub(crate) use eigen::check_symmetric;
pub(crate) use pivoted_qr::of_stored as pivoted;
pub(crate) use svd::factored;

use spanwise_kernels::Matrix;

/// Makes the leading entry of each column of `v` positive, and turns the columns of `u` along with them.
///
/// The leading entry is the first whose magnitude comes within a thousandth of the largest: rounding cannot change
/// which of two equal entries that is.
fn fix_signs(v: &mut Matrix, mut u: Option<&mut Matrix>) {
    for j in 0..v.cols() {
        let largest = (0..v.rows()).fold(0.0_f64, |big, i| big.max(v[(i, j)].abs()));
        let leading = (0..v.rows()).map(|i| v[(i, j)]).find(|x| x.abs() >= 0.999 * largest);
        if leading.is_some_and(|x| x < 0.0) {
            (0..v.rows()).for_each(|i| v[(i, j)] = -v[(i, j)]);
            if let Some(u) = u.as_deref_mut().filter(|u| j < u.cols()) {
                (0..u.rows()).for_each(|i| u[(i, j)] = -u[(i, j)]);
            }
        }
    }
}
