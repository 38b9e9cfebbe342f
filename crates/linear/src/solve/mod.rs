//! **solve**: `A x = b`, and how well it was solved. No inverse is ever formed.
//!
//! | function | for | answers |
//! |---|---|---|
//! | [`lu`] | square | the exact solution, or that there is none |
//! | [`cholesky`] | symmetric positive definite | the same at half the work; a jitter where allowed, and reported |
//! | [`qr`] | at least as many rows as columns, full rank | least squares |
//! | [`svd`] | anything | least squares of minimum norm |
//! | [`conjugate_gradients`] | symmetric positive definite, known by its products | to a tolerance |
//! | [`lsmr`] | anything, known by its products (sparse) | least squares of minimum norm, to a tolerance |
//!
//! [`Factor`] is any of the first four, asked for by name or chosen by the matrix. Every [`Solution`] carries its residual, its
//! backward error and an estimate of the condition number.

mod answer;
mod cholesky;
mod conjugate_gradients;
mod estimate;
mod factor;
mod lsmr;
mod lu;
mod operator;
mod qr;
mod svd;
#[cfg(test)]
mod tests;

pub use answer::{Method, Solution};
pub use cholesky::{CholeskyFactor, cholesky};
pub use conjugate_gradients::{CgOptions, Preconditioner, conjugate_gradients};
pub use factor::{Factor, Way};
pub use lsmr::{LsmrOptions, lsmr};
pub use lu::{LuFactor, lu};
pub use operator::Operator;
pub use qr::{QrFactor, qr};
pub use svd::{SvdFactor, svd};

pub(crate) use lu::of_matrix as lu_of;
