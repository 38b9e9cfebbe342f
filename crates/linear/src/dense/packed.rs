//! A table that is computed as it is read.

use spanwise_kernels::tall::{Block, Layout, RowSource};
use std::ops::Range;

/// Rows that are computed as they are needed: `pack(rows, tile)` writes them, row-major.
pub(crate) struct Packed<F> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) pack: F,
}

impl<F: Fn(Range<usize>, &mut [f64]) + Sync> RowSource for Packed<F> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn cols(&self) -> usize {
        self.cols
    }

    fn block<'a>(&'a self, first: usize, count: usize, scratch: &'a mut Vec<f64>) -> Block<'a> {
        scratch.clear();
        scratch.resize(count * self.cols, 0.0);
        (self.pack)(first..first + count, scratch);
        Block::new(scratch, count, self.cols, Layout::Rows { stride: self.cols })
    }
}
