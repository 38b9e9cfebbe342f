//! Linear models and what they certify: least squares, projections, decompositions, solves and measures.
//!
//! Everything is f64 inside. Inputs are [`spanwise_kernels::View`]s with any strides, or [`RowSource`]s: sparse rows,
//! batches. Results are plain data. The loops over all rows are in `spanwise_kernels::tall`.
//!
//! - [`design`]: named columns of numbers and categories as the columns of a model
//! - [`fit`]: least squares, ridge, logistic and softmax regression, constrained, polynomial and kernel fits
//! - [`project`]: what of a vector lies in a column space, and what outside
//! - [`decompose`]: QR, SVD, eigen, principal components, low rank
//! - [`solve`]: linear systems, each answer with its error
//! - [`measure`]: norms, angles, rank, conditioning, span and hull membership
//! - [`summary`]: a table reduced to one triangle, mergeable
//! - [`mod@reference`]: the weighted sum itself, by rows and by columns

mod check;
pub mod decompose;
mod dense;
pub mod design;
mod error;
pub mod fit;
#[cfg(test)]
mod hostile;
pub mod measure;
pub mod project;
pub mod reference;
mod seeded;
mod small;
pub mod solve;
mod sparse;
pub mod summary;
#[cfg(test)]
mod testing;

pub use error::{BytesFault, Extent, LinearError};
#[doc(inline)]
pub use fit::{Deficiency, LeastSquares, LinearFit};
pub use seeded::Seeded;
pub use spanwise_kernels::tall::{Block, Layout, NoColumns, RowSource};
pub use sparse::CsrMatrix;
#[doc(inline)]
pub use summary::{CsrRows, Summary, SummaryStream};
