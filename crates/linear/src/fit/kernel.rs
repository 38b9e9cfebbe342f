//! Kernels: similarities of rows that are inner products in some feature space.
//!
//! Squared distances come from products, `‖x‖² + ‖z‖² − 2·x·z`, of rows shifted near their mean, so that a common
//! offset costs no digits.

use super::passes::{self, TILE};
use crate::LinearError;
use crate::check::{self, argument};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use spanwise_kernels::{Element, Matrix, View, crew, stop};
use std::ops::Range;

const OPERATION: &str = "kernel ridge";

/// A similarity of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kernel {
    /// `exp(−γ‖x − z‖²)`.
    Rbf {
        /// `γ`; `None` takes 1 / (columns · variance of all entries of `X`).
        gamma: Option<f64>,
    },
    /// `(γ·x·z + constant)^degree`.
    Polynomial {
        /// The degree, at least 1.
        degree: u32,
        /// `γ`; `None` takes 1 / columns.
        gamma: Option<f64>,
        /// The constant, at least 0.
        constant: f64,
    },
}

/// A kernel with everything filled in, and the landmarks in the form it needs.
pub(crate) struct Resolved {
    kernel: Kernel,
    gamma: f64,
    /// Shifted landmarks (m × p), row-major.
    pub(crate) points: Matrix,
    squares: Vec<f64>,
    shift: Vec<f64>,
}

impl Resolved {
    pub(crate) fn new(kernel: Kernel, gamma: f64, landmarks: &Matrix) -> Self {
        let shift = match kernel {
            Kernel::Rbf { .. } => passes::near_mean(&landmarks.view(), None),
            Kernel::Polynomial { .. } => vec![0.0; landmarks.cols()],
        };
        let points = Matrix::from_fn(landmarks.rows(), landmarks.cols(), |i, j| landmarks[(i, j)] - shift[j]);
        let squares = (0..points.rows()).map(|i| passes::dot(points.row(i), points.row(i))).collect();
        Resolved { kernel, gamma, points, squares, shift }
    }

    /// `k(xᵢ, zⱼ)` for some rows (t × m).
    pub(crate) fn tile<T: Element>(&self, x: &View<'_, T>, rows: Range<usize>) -> Mat<f64> {
        stop::check();
        let (t, m, p) = (rows.len(), self.points.rows(), self.points.cols());
        let mut tile = vec![0.0; t * p];
        passes::load(x, rows, p, &mut tile);
        for row in tile.chunks_exact_mut(p) {
            row.iter_mut().zip(&self.shift).for_each(|(v, c)| *v -= c);
        }
        let left = MatRef::from_row_major_slice(&tile, t, p);
        let right = MatRef::from_row_major_slice(self.points.as_slice(), m, p);
        let mut out = Mat::zeros(t, m);
        matmul(out.as_mut(), Accum::Replace, left, right.transpose(), 1.0, Par::Seq);
        let squares: Vec<f64> = tile.chunks_exact(p).map(|row| passes::dot(row, row)).collect();
        for j in 0..m {
            for (product, square) in out.col_as_slice_mut(j).iter_mut().zip(&squares) {
                *product = match self.kernel {
                    Kernel::Rbf { .. } => {
                        let distance = (square + self.squares[j] - 2.0 * *product).max(0.0);
                        (-self.gamma * distance).exp()
                    }
                    Kernel::Polynomial { degree, constant, .. } => {
                        self.gamma.mul_add(*product, constant).powi(degree as i32)
                    }
                };
            }
        }
        out
    }

    /// The whole kernel matrix (n × m).
    pub(crate) fn matrix<T: Element>(&self, x: &View<'_, T>) -> Mat<f64> {
        let n = x.dims()[0];
        let cost = n * self.points.rows() * (self.points.cols() + 16);
        let tiles = crew::map(cost, (0..n).step_by(TILE), |start| self.tile(x, start..(start + TILE).min(n)));
        Mat::from_fn(n, self.points.rows(), |i, j| tiles[i / TILE][(i % TILE, j)])
    }

    /// The landmarks as they were given.
    pub(crate) fn unshifted(&self) -> Matrix {
        Matrix::from_fn(self.points.rows(), self.points.cols(), |i, j| self.points[(i, j)] + self.shift[j])
    }
}

/// The kernel with `γ` filled in, and `γ`. A row counts as often as its weight says, of which `roots` are the roots.
pub(crate) fn resolve<T: Element>(
    kernel: Kernel,
    x: &View<'_, T>,
    roots: Option<&[f64]>,
) -> Result<(Kernel, f64), LinearError> {
    let cols = x.dims()[1] as f64;
    match kernel {
        Kernel::Rbf { gamma } => {
            let gamma = gamma.unwrap_or_else(|| 1.0 / (cols * variance(x, roots)));
            check::positive(OPERATION, "gamma", gamma)?;
            Ok((Kernel::Rbf { gamma: Some(gamma) }, gamma))
        }
        Kernel::Polynomial { degree, gamma, constant } => {
            let gamma = gamma.unwrap_or(1.0 / cols);
            check::positive(OPERATION, "gamma", gamma)?;
            check::not_negative(OPERATION, "constant", constant)?;
            let fits = (1..=100).contains(&degree);
            argument(OPERATION, "degree").in_range(f64::from(degree), fits, "from 1 to 100")?;
            Ok((Kernel::Polynomial { degree, gamma: Some(gamma), constant }, gamma))
        }
    }
}

/// Variance of all entries; 1 where they are all equal. Of entries whose squares vanish it is 0, of which γ cannot be formed.
fn variance<T: Element>(x: &View<'_, T>, roots: Option<&[f64]>) -> f64 {
    let (rows, cols) = (x.dims()[0], x.dims()[1]);
    let weight = |entry: usize| roots.map_or(1.0, |roots| roots[entry / cols].powi(2));
    let n = cols as f64 * (0..rows).map(|row| weight(row * cols)).sum::<f64>();
    let entries = || x.iter().enumerate().map(|(entry, v)| (weight(entry) / n, v.to_f64()));
    let mean = entries().map(|(share, v)| share * v).sum::<f64>();
    let variance = entries().map(|(share, v)| share * (v - mean).powi(2)).sum::<f64>();
    let mut all = entries().map(|(_, v)| v);
    let first = all.next();
    if variance == 0.0 && all.all(|v| Some(v) == first) { 1.0 } else { variance }
}
