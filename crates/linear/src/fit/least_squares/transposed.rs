//! A wide table seen from its columns: what was a column is a row.

use crate::{Block, Layout, RowSource};
use spanwise_kernels::{Matrix, crew};

/// The transpose of a block, without a copy.
pub(super) struct Transposed<'a> {
    block: Block<'a>,
}

impl<'a> Transposed<'a> {
    pub(super) fn new(block: &Block<'a>) -> Self {
        let layout = match block.layout() {
            Layout::Rows { stride } => Layout::Columns { stride },
            Layout::Columns { stride } => Layout::Rows { stride },
        };
        Transposed { block: Block::new(block.data(), block.cols(), block.rows(), layout) }
    }

    /// What is transposed, each value changed by `of(value, row of this)`.
    pub(super) fn filled(&self, of: impl Fn(f64, usize) -> f64) -> Matrix {
        Matrix::from_fn(self.cols(), self.rows(), |i, j| of(self.block.get(j, i), j))
    }

    /// Σ (x − mean)² of each row.
    pub(super) fn squares_about(&self, means: &[f64]) -> Vec<f64> {
        let square = |j: usize| (0..self.cols()).map(|i| (self.block.get(j, i) - means[j]).powi(2)).sum();
        crew::map(8 * self.rows() * self.cols(), 0..self.rows(), square)
    }
}

impl RowSource for Transposed<'_> {
    fn rows(&self) -> usize {
        self.block.rows()
    }

    fn cols(&self) -> usize {
        self.block.cols()
    }

    fn block<'a>(&'a self, first: usize, count: usize, _scratch: &'a mut Vec<f64>) -> Block<'a> {
        let start = match self.block.layout() {
            Layout::Rows { stride } => first * stride,
            Layout::Columns { .. } => first,
        };
        let data = if count == 0 { &[] } else { &self.block.data()[start..] };
        Block::new(data, count, self.cols(), self.block.layout())
    }
}
