//! Linear models and what they certify: least squares, projections, decompositions, solves and measures.
//!
//! Everything is f64 inside. Inputs are [`spanwise_kernels::View`]s with any strides; results are plain data.
//!
//! - [`fit`]: ridge, logistic and softmax regression, constrained, polynomial and kernel fits
//! - [`project`]: what of a vector lies in a column space, and what outside
//! - [`decompose`]: QR, SVD, eigen, principal components, low rank
//! - [`solve`]: linear systems, each answer with its error
//! - [`measure`]: norms, angles, rank, conditioning, span and hull membership
//! - [`mod@reference`]: the weighted sum itself, by rows and by columns

mod check;
pub mod decompose;
mod dense;
mod error;
pub mod fit;
#[cfg(test)]
mod hostile;
pub mod measure;
pub mod project;
pub mod reference;
pub mod solve;
mod sparse;
#[cfg(test)]
mod testing;

pub use error::{Extent, LinearError};
pub use sparse::CsrMatrix;
