//! Batches of rows ► the factor of them all.

use super::super::norms::AbsoluteSums;
use super::{Factor, X, Y, add_rows};
use crate::{LinearError, SummaryStream};
use spanwise_kernels::View;

/// Rows that come in batches, of which nothing is kept but what a [`Factor`] needs.
#[derive(Debug, Clone)]
pub struct FactorStream {
    stream: SummaryStream,
    sums: AbsoluteSums,
}

impl FactorStream {
    /// Of no rows of `columns` columns, and `others` to compare with them.
    pub fn new(columns: usize, others: usize) -> Self {
        FactorStream { stream: SummaryStream::new(columns, others), sums: AbsoluteSums::new(columns) }
    }

    /// Adds a batch of rows: `x` (m × p) and `y` (m × t).
    pub fn push(&mut self, x: View<'_, f64>, y: View<'_, f64>) -> Result<(), LinearError> {
        X.matrix(&x)?;
        Y.matrix(&y)?;
        self.stream.push(&x, &y, None)?;
        add_rows(&mut self.sums, &x)
    }

    /// The columns of all rows so far; at least one row and one column.
    pub fn finish(&self) -> Result<Factor, LinearError> {
        let summary = self.stream.finish();
        crate::check::table(X.operation, X.name, summary.rows() as usize, summary.columns())?;
        Factor::of_summary(&summary, self.sums.clone())
    }
}
