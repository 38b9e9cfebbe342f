//! The loops over a tall table: everything that touches all rows.
//!
//! A table is a [`RowSource`]: it hands out *blocks* of consecutive rows as f64, either straight from memory (row-major
//! or column-major f64) or converted into scratch (f32, odd strides, sparse rows). The kernels see blocks only, so each
//! algorithm is written once.
//!
//! ```text
//!  RowSource ──block──► pack.rs ──► panels of eight columns ──► gram.rs, outer.rs   Gram matrix of [X − c, Y − c, 1]
//!                              ├──► rows ─────────────────────► narrow.rs       the same where columns are few
//!                              └──► columns ──────────────────► householder.rs   R factor of [1, X − c, Y − c]
//!            ──block──────────────► columns ──────────────────► residual.rs      y − Xw and Xᵀ(y − Xw), compensated
//!            ──block──────────────► rows ─────────────────────► biased.rs        the same where the sums are bounded
//!                              └──► panels, reweighted ───────► reweighted.rs    the Gram matrix of a Newton step
//!            ──block──────────────► product.rs                                   Xw, Xᵀv
//! ```
//!
//! Threads: rows are cut at boundaries that depend on the shape alone, and partial results are merged along a fixed
//! tree, so the bits of every result are the same for any number of threads.

#![allow(unsafe_code)] // the innermost loops read packed tiles through pointers

mod aligned;
mod biased;
mod gram;
mod householder;
mod narrow;
pub(crate) mod outer;
mod pack;
mod product;
mod residual;
mod reweighted;
mod slots;
mod source;
mod tree;
mod twofold;

#[cfg(test)]
mod tests;

pub(crate) use aligned::Aligned;
pub use biased::{Bounds, residual_and_gradient_within};
pub use gram::{gram, gram_of_columns};
pub use householder::{Triangle, triangle};
pub(crate) use pack::PANEL;
pub use product::{multiply, transpose_multiply};
pub use residual::{Compensated, residual_and_gradient, residuals};
pub use reweighted::{Reweighted, Scored, reweighted_gram};
pub use source::{Block, Layout, NoColumns, RowSource};
pub use twofold::Twofold;

use crate::simd::prefetch;

/// A tall least-squares table: `n` rows of `d` columns and `t` targets, with weights.
#[derive(Clone, Copy)]
pub struct Tall<'a> {
    /// `n × d`.
    pub x: &'a dyn RowSource,
    /// `n × t`; [`NoColumns`] where there is no target.
    pub y: &'a dyn RowSource,
    /// `n` weights, finite and not negative; all 1 where absent.
    pub weights: Option<&'a [f64]>,
    /// `d + t` numbers, subtracted from the columns of `x`, then of `y`.
    pub shift: &'a [f64],
}

impl Tall<'_> {
    /// How many rows.
    pub fn rows(&self) -> usize {
        self.x.rows()
    }

    /// `d + t + 1`: the columns, the targets and the column of ones.
    pub fn width(&self) -> usize {
        self.x.cols() + self.y.cols() + 1
    }

    /// The parts agree: checked once, before any loop.
    fn check(&self) {
        assert_eq!(self.x.rows(), self.y.rows(), "x and y have as many rows");
        assert_eq!(self.shift.len() + 1, self.width(), "one shift a column");
        assert!(self.weights.is_none_or(|w| w.len() == self.rows()), "one weight a row");
    }
}
