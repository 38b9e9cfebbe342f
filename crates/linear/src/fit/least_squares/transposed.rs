//! A wide table seen from its columns: what was a column is a row.

use crate::{Block, Layout, RowSource};
use rayon::prelude::*;

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

/// The same with the mean of each row subtracted from it.
pub(super) struct Centred<'a> {
    rows: &'a Transposed<'a>,
    means: &'a [f64],
}

impl<'a> Centred<'a> {
    pub(super) fn new(rows: &'a Transposed<'a>, means: &'a [f64]) -> Self {
        Centred { rows, means }
    }

    /// Σ (x − mean)² of each row.
    pub(super) fn row_squares(&self) -> Vec<f64> {
        (0..self.rows())
            .into_par_iter()
            .map(|j| (0..self.cols()).map(|i| (self.rows.block.get(j, i) - self.means[j]).powi(2)).sum())
            .collect()
    }
}

impl RowSource for Centred<'_> {
    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn cols(&self) -> usize {
        self.rows.cols()
    }

    fn block<'a>(&'a self, first: usize, count: usize, scratch: &'a mut Vec<f64>) -> Block<'a> {
        let cols = self.cols();
        scratch.clear();
        scratch.reserve(count * cols);
        for i in 0..cols {
            scratch.extend((first..first + count).map(|j| self.rows.block.get(j, i) - self.means[j]));
        }
        Block::new(scratch, count, cols, Layout::Columns { stride: count })
    }
}

/// √Σ x² of each column of a block.
pub(super) fn column_norms(block: &Block<'_>) -> Vec<f64> {
    const CHUNK: usize = 64;
    let (n, d) = (block.rows(), block.cols());
    let mut norms = vec![0.0; d];
    norms.par_chunks_mut(CHUNK).enumerate().for_each(|(c, norms)| {
        for i in 0..n {
            for (q, sum) in norms.iter_mut().enumerate() {
                *sum += block.get(i, c * CHUNK + q).powi(2);
            }
        }
        for sum in norms.iter_mut() {
            *sum = sum.sqrt();
        }
    });
    norms
}
