//! **project**: what of a vector lies in a column space, and what lies outside.
//!
//! | function | gives |
//! |---|---|
//! | [`project`], [`project_matrix`] | the part inside the span, the part outside, the angle between vector and span |
//! | [`ColumnSpace`] | the same for many vectors from one factorisation |
//! | [`orthonormal_basis`], [`complement_basis`] | orthonormal directions of the span, and of what is orthogonal to it |
//! | [`onto_components`] | rows projected onto principal components, and rebuilt |
//! | [`change_of_basis`] | other columns with the same span, other weights, the same prediction |

mod basis;
mod change_of_basis;
mod column_space;
mod components;
#[cfg(test)]
mod tests;

pub use basis::{complement_basis, orthonormal_basis};
pub use change_of_basis::{ChangeOfBasis, change_of_basis};
pub use column_space::{COMPLEMENT_ROWS, ColumnSpace, MatrixProjection, Projection, project, project_matrix};
pub use components::{ComponentProjection, onto_components};
