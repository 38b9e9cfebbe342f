//! A matrix known by what it does to vectors.

use crate::dense::{axpy, dot};
use spanwise_kernels::{Matrix, View};

/// A linear map of `cols` numbers to `rows` numbers: all that an iterative solver asks for.
///
/// A dense [`Matrix`], a [`View`] of two dimensions and a [`CsrMatrix`](crate::CsrMatrix) are operators; anything else
/// that can be applied, such as a convolution, can be made one.
pub trait Operator {
    /// How many numbers come out.
    fn rows(&self) -> usize;

    /// How many numbers go in.
    fn cols(&self) -> usize;

    /// Writes `A x` (rows) to `out`; `x` has `cols` numbers.
    fn apply(&self, x: &[f64], out: &mut [f64]);

    /// Writes `Aᵀ y` (cols) to `out`; `y` has `rows` numbers.
    fn apply_transposed(&self, y: &[f64], out: &mut [f64]);

    /// The diagonal, where it is known: what Jacobi's preconditioner divides by.
    fn diagonal(&self) -> Option<Vec<f64>> {
        None
    }
}

impl Operator for Matrix {
    fn rows(&self) -> usize {
        Matrix::rows(self)
    }

    fn cols(&self) -> usize {
        Matrix::cols(self)
    }

    fn apply(&self, x: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = dot(self.row(i), x);
        }
    }

    fn apply_transposed(&self, y: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (i, &y) in y.iter().enumerate() {
            axpy(out, y, self.row(i));
        }
    }

    fn diagonal(&self) -> Option<Vec<f64>> {
        Some((0..Matrix::rows(self).min(Matrix::cols(self))).map(|i| self[(i, i)]).collect())
    }
}

/// A view of two dimensions; any other has no rows and no columns.
impl Operator for View<'_, f64> {
    fn rows(&self) -> usize {
        if self.rank() == 2 { self.dims()[0] } else { 0 }
    }

    fn cols(&self) -> usize {
        if self.rank() == 2 { self.dims()[1] } else { 0 }
    }

    fn apply(&self, x: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.at(i).map_or(0.0, |row| row.iter().zip(x).map(|(a, x)| a * x).sum());
        }
    }

    fn apply_transposed(&self, y: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (i, &y) in y.iter().enumerate() {
            if let Some(row) = self.at(i) {
                out.iter_mut().zip(row.iter()).for_each(|(out, a)| *out += a * y);
            }
        }
    }

    fn diagonal(&self) -> Option<Vec<f64>> {
        (0..Operator::rows(self).min(Operator::cols(self))).map(|i| self.get(&[i, i])).collect()
    }
}
