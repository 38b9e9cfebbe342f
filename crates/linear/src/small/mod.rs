//! Small dense factors: triangles of a few hundred columns, on one thread, so that their bits depend on nothing else.

mod cholesky;
mod columns;
mod triangular;

pub(crate) use cholesky::cholesky;
pub(crate) use columns::{Columns, norm};
pub(crate) use triangular::{invert_upper, solve_upper, solve_upper_transposed};
