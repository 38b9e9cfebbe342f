//! The leading directions of a matrix too large to factor: a block Krylov space of random directions.
//!
//! ```text
//! X (n × p), l = k + oversampling
//! Q₀ = orthonormal basis of X Ω            Ω (p × l) normal from the seed
//! for each round i:
//!     Zᵢ = Xᵀ Qᵢ                           (p × l), kept
//!     Qᵢ₊₁ = X Zᵢ, orthonormalised, and orthogonal to Q₀ … Qᵢ
//! B = [Z₀ Z₁ …] = Xᵀ Q                     (p × L), L = l·(rounds + 1): its SVD V s Wᵀ gives X ≈ (Q W) s Vᵀ
//! ```
//!
//! Power iterations keep the last round alone and need the gap between singular values to work for them; the space of
//! all rounds holds every polynomial of `XXᵀ` of their degree, the best of which separates far closer values, for the same
//! products with X. B costs nothing more: its columns are the Zᵢ.
//!
//! X may be centred as it is multiplied: `(X − 1μᵀ)W = XW − 1(μᵀW)`, `(X − 1μᵀ)ᵀV = XᵀV − μ(1ᵀV)`.

use super::svd::{Sketch, Svd, factored};
use crate::LinearError;
use crate::Seeded;
use crate::check::Argument;
use crate::dense::{
    Vectors, axpy, leading_columns, multiply, multiply_transposed, norm, scale_columns, table_times, thin_qr,
    transposed_times,
};
use spanwise_kernels::Matrix;
use spanwise_kernels::tall::RowSource;

/// A table that is read, never copied, and centred as it is multiplied.
pub(super) struct Table<'a> {
    /// X (n × p).
    pub(super) rows: &'a dyn RowSource,
    /// Xᵀ (p × n).
    pub(super) columns: &'a dyn RowSource,
    /// μ (p).
    pub(super) mean: Option<&'a [f64]>,
}

impl Table<'_> {
    /// `(X − 1μᵀ) · W`: n × k of p × k.
    pub(super) fn times(&self, w: &Matrix) -> Matrix {
        let mut out = table_times(self.rows, w);
        if let Some(mean) = self.mean {
            let taken = transposed_times(w, mean);
            (0..out.rows()).for_each(|i| axpy(out.row_mut(i), -1.0, &taken));
        }
        out
    }

    /// `(X − 1μᵀ)ᵀ · V`: p × k of n × k.
    pub(super) fn transposed_times(&self, v: &Matrix) -> Matrix {
        let mut out = table_times(self.columns, v);
        if let Some(mean) = self.mean {
            let sums = transposed_times(v, &vec![1.0; v.rows()]);
            mean.iter().enumerate().for_each(|(j, mean)| axpy(out.row_mut(j), -mean, &sums));
        }
        out
    }
}

/// The `k` leading singular values of a table, 1 ≤ k ≤ min(n, p), with their vectors and signs fixed.
pub(super) fn leading_directions(
    argument: Argument,
    x: &Table<'_>,
    k: usize,
    sketch: Sketch,
) -> Result<Svd, LinearError> {
    let (n, p) = (x.rows.rows(), x.rows.cols());
    let side = n.min(p);
    let width = k.saturating_add(sketch.oversampling).min(side);
    let mut random = Seeded::new(sketch.seed);
    let mut next = x.times(&Matrix::from_fn(p, width, |_, _| random.normal())); // n × l
    let (mut basis, mut images) = (Vec::new(), Vec::new());
    for round in 0..=sketch.power_iterations {
        // No more directions than the matrix has.
        let left = side.saturating_sub(basis.len() * width);
        if left == 0 {
            break;
        }
        let q = orthonormal(leading_columns(&next, left), &basis); // n × l
        let z = x.transposed_times(&q); // p × l
        if round < sketch.power_iterations {
            // Only the directions count: columns of length 1 keep the next product within range.
            let mut unit = z.clone();
            let lengths: Vec<f64> = (0..z.cols()).map(|j| norm(&z.col(j))).collect();
            let inverse = |length: &f64| if *length > 0.0 { 1.0 / length } else { 0.0 };
            scale_columns(&mut unit, &lengths.iter().map(inverse).collect::<Vec<_>>());
            next = x.times(&unit);
        }
        basis.push(q);
        images.push(z);
    }
    let small = factored(argument, &side_by_side(&images, p), Vectors::Thin)?; // V s Wᵀ of p × L
    let singular_values = small.singular_values[..k].to_vec();
    let mut u = multiply(&side_by_side(&basis, n), &leading_columns(&small.v, k));
    let mut v = leading_columns(&small.u, k);
    super::fix_signs(&mut v, Some(&mut u));
    Ok(Svd { u, singular_values, v })
}

/// An orthonormal basis of what is left of `y` outside `basis`; twice is enough.
fn orthonormal(mut y: Matrix, basis: &[Matrix]) -> Matrix {
    for _ in 0..2 {
        for q in basis {
            let inside = multiply(q, &multiply_transposed(q, &y));
            axpy(y.as_mut_slice(), -1.0, inside.as_slice());
        }
        y = thin_qr(&y).0;
    }
    y
}

/// `[A B …]`, each of `rows` rows.
fn side_by_side(parts: &[Matrix], rows: usize) -> Matrix {
    let mut out = Matrix::zeros(rows, parts.iter().map(Matrix::cols).sum());
    for i in 0..rows {
        let mut to = out.row_mut(i);
        for part in parts {
            let (here, rest) = to.split_at_mut(part.cols());
            here.copy_from_slice(part.row(i));
            to = rest;
        }
    }
    out
}
