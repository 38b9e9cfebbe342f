//! **measure**: numbers that say what vectors, matrices and sets of points are like.
//!
//! | question | function |
//! |---|---|
//! | how large? | [`vector_norms`], [`matrix_norms`] |
//! | at what angle? | [`angle`], [`principal_angles`] |
//! | how many independent columns, and how surely? | [`rank`] |
//! | how much does the problem magnify errors? | [`condition`] |
//! | which columns repeat one another? | [`inflation`], [`condition_indices`], [`dependencies`], [`Factor::near_dependencies`] |
//! | is a vector a combination of the columns? | [`span_membership`] |
//! | is a point a weighted mean of the points? | [`hull_membership`], [`hull_membership_of_many`] |
//! | are the columns orthonormal? is the matrix positive definite? | [`orthogonality`], [`largest_cosine`], [`definiteness`] |
//! | over how many directions is the matrix spread? | [`effective_rank`] |
//! | all of these, of one pass over the rows | [`Factor`]; of batches [`FactorStream`] |
//!
//! Each answer carries what it needs to be checked without trusting the code that found it.

mod angles;
mod collinearity;
mod condition;
mod definiteness;
mod dependencies;
mod effective_rank;
mod factor;
mod formula;
mod hull;
mod near;
mod norms;
mod orthogonality;
mod rank;
mod span;
#[cfg(test)]
mod tests;

pub use angles::{angle, principal_angles};
pub use collinearity::{ConditionIndices, Inflation, condition_indices, inflation};
pub(crate) use condition::of_factor as condition_of_factor;
pub use condition::{Condition, condition};
pub use definiteness::{Definiteness, definiteness, definiteness_of_stored};
pub use dependencies::{Dependency, dependencies};
pub use effective_rank::{EffectiveRank, effective_rank};
pub use factor::{ColumnAngle, Factor, FactorStream, SpanAngles};
pub(crate) use formula::{Formula, short_number};
pub use hull::{Hull, HullMembership, SeparatingHyperplane, hull_membership, hull_membership_of_many};
pub use near::NearDependency;
pub(crate) use near::{Independent, is_inflated};
pub use norms::{MatrixNorms, VectorNorms, matrix_norms, vector_norms};
pub use orthogonality::{Orthogonality, largest_cosine, orthogonality};
pub(crate) use rank::stored_precision;
pub use rank::{Rank, rank, rank_band, rank_tolerance, rank_tolerance_of};
pub use span::{SpanMembership, span_membership};

/// The rank alone, of a matrix that errors will call `name`.
pub(crate) fn rank_of_factor(
    name: crate::check::Argument,
    x: &spanwise_kernels::Matrix,
) -> Result<usize, crate::LinearError> {
    Ok(rank::of_factor(name, x, f64::EPSILON / 2.0)?.rank)
}

/// A copy with columns of length 1.
#[cfg(test)]
pub(crate) fn unit_columns_of(x: &spanwise_kernels::Matrix) -> spanwise_kernels::Matrix {
    crate::dense::unit_columns(x).0
}
