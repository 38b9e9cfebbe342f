//! Many batches of rows, summarised as a tree.
//!
//! A chain of merges rounds once per batch, always the large summary against a small one, and over thousands of batches
//! that adds up. Summaries of equal size are merged first, as binary digits are carried, so a row's part is rounded once
//! per doubling:
//!
//! ```text
//!  batches   1   2   3   4   5   6   7   8
//!            └─┬─┘   └─┬─┘   └─┬─┘   └─┬─┘
//!              └───┬───┘       └───┬───┘
//!                  └───────┬───────┘
//! ```

use super::Summary;
use crate::{LinearError, RowSource};

/// Rows that come in batches, of which nothing is kept but summaries: one per doubling of the rows.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::{LeastSquares, SummaryStream};
///
/// let mut stream = SummaryStream::new(1, 1);
/// for batch in 0..100 {
///     let x = [f64::from(batch), f64::from(batch) + 0.5];
///     stream.push(&View::new(&x, &[2, 1])?, &x.map(|x| 3.0 * x + 1.0)[..], None)?;
/// }
/// let model = LeastSquares::new().fit_summary(&stream.finish())?;
/// assert!((model.target().coefficients[0].value - 3.0).abs() < 1e-13);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SummaryStream {
    /// Larger ones first.
    parts: Vec<Summary>,
    columns: usize,
    targets: usize,
}

impl SummaryStream {
    /// Of no rows of `columns` columns and `targets` targets.
    pub fn new(columns: usize, targets: usize) -> Self {
        SummaryStream { parts: Vec::new(), columns, targets }
    }

    /// Adds a batch; see [`Summary::push`].
    pub fn push(
        &mut self,
        x: &(impl RowSource + ?Sized),
        y: &(impl RowSource + ?Sized),
        weights: Option<&[f64]>,
    ) -> Result<(), LinearError> {
        let mut part = Summary::new(self.columns, self.targets);
        if let Some(first) = self.parts.first() {
            // One shift for all, so that merging need not change it.
            part.shift.clone_from(&first.shift);
        }
        part.push(x, y, weights)?;
        while let Some(before) = self.parts.pop_if(|before| before.rows() <= part.rows()) {
            part = joined(before, part);
        }
        self.parts.push(part);
        Ok(())
    }

    /// How many rows with a weight above zero there were.
    pub fn rows(&self) -> u64 {
        self.parts.iter().map(Summary::rows).sum()
    }

    /// The summary of all rows so far; more may follow.
    pub fn finish(&self) -> Summary {
        let smallest_first = self.parts.iter().rev().cloned();
        let all = smallest_first.reduce(|small, large| joined(large, small));
        all.unwrap_or_else(|| Summary::new(self.columns, self.targets))
    }
}

fn joined(mut earlier: Summary, later: Summary) -> Summary {
    earlier.absorb(later);
    earlier
}
