//! Sparse rows.

use crate::sparse::check_parts;
use crate::{Block, Layout, LinearError, RowSource};

/// A sparse table in compressed rows: of row `i`, the entries `indptr[i] .. indptr[i + 1]`.
///
/// Rows are spread out tile by tile, so a fit never holds the dense table.
///
/// ```
/// use spanwise_linear::CsrRows;
///
/// // [[0, 5], [7, 0]]
/// let x = CsrRows::new(2, &[0, 1, 2], &[1, 0], &[5.0, 7.0])?;
/// # Ok::<(), spanwise_linear::LinearError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CsrRows<'a> {
    columns: usize,
    indptr: &'a [usize],
    indices: &'a [usize],
    values: &'a [f64],
}

impl<'a> CsrRows<'a> {
    /// A table of `indptr.len() − 1` rows and `columns` columns. Entries of one row that name the same column add up.
    pub fn new(
        columns: usize,
        indptr: &'a [usize],
        indices: &'a [usize],
        values: &'a [f64],
    ) -> Result<Self, LinearError> {
        check_parts(columns, indptr, indices, values)?;
        Ok(CsrRows::of_checked(columns, indptr, indices, values))
    }

    /// Of parts that were checked before.
    pub(crate) fn of_checked(
        columns: usize,
        indptr: &'a [usize],
        indices: &'a [usize],
        values: &'a [f64],
    ) -> Self {
        CsrRows { columns, indptr, indices, values }
    }
}

impl RowSource for CsrRows<'_> {
    fn rows(&self) -> usize {
        self.indptr.len() - 1
    }

    fn cols(&self) -> usize {
        self.columns
    }

    fn block<'a>(&'a self, first: usize, count: usize, scratch: &'a mut Vec<f64>) -> Block<'a> {
        scratch.clear();
        scratch.resize(count * self.columns, 0.0);
        for i in 0..count {
            for entry in self.indptr[first + i]..self.indptr[first + i + 1] {
                scratch[i * self.columns + self.indices[entry]] += self.values[entry];
            }
        }
        Block::new(scratch, count, self.columns, Layout::Rows { stride: self.columns })
    }
}
