//! Small dense building blocks in f64 that every verb shares.
//!
//! Loading checks values and converts; products and tall factors cut rows at fixed boundaries, so their bits do not
//! depend on the number of threads; the small factors come from faer, always called sequentially.

mod cholesky;
pub(crate) mod compensated;
pub(crate) mod factor;
mod householder;
mod inner;
mod leading;
mod load;
mod packed;
mod pivoted;
mod product;
mod table;
mod tall;
mod triangular;
mod tridiagonal;
mod vector;

pub(crate) use cholesky::{Cholesky, cholesky, column, diagonal};
pub(crate) use factor::{Factors, Vectors, eigen_of, lu, singular_values, svd, svd_of, symmetric_eigen};
pub(crate) use householder::Reflectors;
pub(crate) use inner::{Centred, Inner, Products};
pub(crate) use leading::leading_eigen;
pub(crate) use load::{load, load_rows, load_vector};
pub(crate) use packed::Packed;
pub(crate) use pivoted::{Pivoted, pivoted_qr};
pub(crate) use product::{multiply, multiply_transposed, times, transposed_times};
pub(crate) use table::{ColumnSizes, column_sizes, table_times};
pub(crate) use tall::{r_factor, r_factor_of_rows, thin_qr};
pub(crate) use triangular::{invert_upper, solve_upper, solve_upper_transposed};
pub(crate) use tridiagonal::{Shifted, Tridiagonal};
pub(crate) use vector::{axpy, dot, extreme_unit, norm, norm_inf, power_of_two_near, scaled};

use spanwise_kernels::Matrix;

/// The distance from 1 to the next f64, halved: the relative error of one rounding.
pub(crate) const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// The identity, `n` × `n`.
pub(crate) fn identity(n: usize) -> Matrix {
    Matrix::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 })
}

/// The first `k` columns of `x`.
pub(crate) fn leading_columns(x: &Matrix, k: usize) -> Matrix {
    let k = k.min(x.cols());
    let mut out = Matrix::zeros(x.rows(), k);
    for i in 0..x.rows() {
        out.row_mut(i).copy_from_slice(&x.row(i)[..k]);
    }
    out
}

/// Column `j` of `x` multiplied by `by[j]`.
pub(crate) fn scale_columns(x: &mut Matrix, by: &[f64]) {
    for i in 0..x.rows() {
        for (entry, factor) in x.row_mut(i).iter_mut().zip(by) {
            *entry *= factor;
        }
    }
}

/// The Euclidean norm of each column, safe from overflow and underflow.
pub(crate) fn column_norms(x: &Matrix) -> Vec<f64> {
    let (units, norms) = scaled_norms(x);
    units.iter().zip(norms).map(|(unit, norm)| unit * norm).collect()
}

/// A copy with columns of norm 1 (zero columns stay), and the norms they had.
pub(crate) fn unit_columns(x: &Matrix) -> (Matrix, Vec<f64>) {
    let (units, norms) = scaled_norms(x);
    let mut unit = x.clone();
    for i in 0..x.rows() {
        for ((entry, unit), norm) in unit.row_mut(i).iter_mut().zip(&units).zip(&norms) {
            // Neither step leaves the range of f64, even where the norm itself does.
            *entry = if *norm > 0.0 { *entry / unit / norm } else { 0.0 };
        }
    }
    (unit, units.iter().zip(norms).map(|(unit, norm)| unit * norm).collect())
}

/// For each column a power of two near its largest entry, and the norm of the column divided by it.
fn scaled_norms(x: &Matrix) -> (Vec<f64>, Vec<f64>) {
    let mut largest = vec![0.0_f64; x.cols()];
    for i in 0..x.rows() {
        for (big, entry) in largest.iter_mut().zip(x.row(i)) {
            *big = big.max(entry.abs());
        }
    }
    let units: Vec<f64> = largest.into_iter().map(power_of_two_near).collect();
    let mut squares = vec![0.0; x.cols()];
    for i in 0..x.rows() {
        for ((sum, entry), unit) in squares.iter_mut().zip(x.row(i)).zip(&units) {
            let scaled = entry / unit;
            *sum += scaled * scaled;
        }
    }
    (units, squares.into_iter().map(f64::sqrt).collect())
}
