//! Linear models and what they certify: least squares, projections, decompositions, solves and measures.
//!
//! Everything is f64 inside. Inputs are [`spanwise_kernels::View`]s with any strides; results are plain data.

mod check;
mod error;
pub mod reference;

pub use error::{Extent, LinearError};
