//! Some rows of `X` at a time, and the three products of them that an iteration needs.

use super::passes::load;
use faer::MatMut;
use spanwise_kernels::tall::{self, NoColumns, Tall};
use spanwise_kernels::{Element, View};
use std::ops::Range;

/// Some rows of `X`, shifted, with a 1 appended where there is an intercept (t × width). They are read once and stay in
/// cache between the products.
pub(crate) struct Block {
    width: usize,
    tile: Vec<f64>,
    zeros: Vec<f64>,
}

impl Block {
    /// Of no rows yet.
    pub(crate) fn new(width: usize) -> Self {
        Block { width, tile: Vec::new(), zeros: vec![0.0; width] }
    }

    /// How many rows of `width` numbers stay in the second cache, and are enough for the products to be worth their
    /// preparation.
    pub(crate) fn most_rows(width: usize) -> usize {
        ((1 << 16) / width.max(1)).clamp(64, 1024)
    }

    /// Reads `rows`; `shift` has one entry per column of `x`, and what is left of the width is 1.
    pub(crate) fn read<T: Element>(&mut self, x: &View<'_, T>, rows: Range<usize>, shift: &[f64]) {
        self.tile.resize(rows.len() * self.width, 0.0);
        let by_rows = matches!(x.strides(), [_, 1]);
        if !by_rows {
            load(x, rows.clone(), self.width, &mut self.tile);
        }
        for (i, row) in rows.zip(self.tile.chunks_exact_mut(self.width)) {
            let (features, rest) = row.split_at_mut(shift.len());
            rest.fill(1.0);
            match x.row(&[i]).filter(|_| by_rows) {
                Some(from) => {
                    let shifted = from.iter().zip(shift).map(|(v, c)| v.to_f64() - c);
                    features.iter_mut().zip(shifted).for_each(|(to, v)| *to = v);
                }
                None => features.iter_mut().zip(shift).for_each(|(v, c)| *v -= c),
            }
        }
    }

    fn rows(&self) -> View<'_, f64> {
        View::new(&self.tile, &[self.tile.len() / self.width.max(1), self.width]).expect("whole rows")
    }

    /// `out = block · w`.
    pub(crate) fn times(&self, w: &[f64], out: &mut [f64]) {
        tall::multiply(&self.rows(), w, 0.0, out);
    }

    /// `sums += blockᵀ · v`.
    pub(crate) fn add_transposed_times(&self, v: &[f64], sums: &mut [f64]) {
        let products = tall::transpose_multiply(&self.rows(), v);
        sums.iter_mut().zip(products).for_each(|(sum, v)| *sum += v);
    }

    /// `sums += blockᵀ · diag(weights) · block`, both halves; no weight is negative.
    pub(crate) fn add_gram(&self, weights: &[f64], mut sums: MatMut<'_, f64>) {
        let rows = self.rows();
        let none = NoColumns(weights.len());
        let gram = tall::gram(&Tall { x: &rows, y: &none, weights: Some(weights), shift: &self.zeros });
        for j in 0..self.width {
            // Symmetric: row j is column j. The column of ones at the end is not asked for here.
            let column = sums.as_mut().col_mut(j);
            column.iter_mut().zip(gram.row(j)).for_each(|(sum, v)| *sum += v);
        }
    }
}
