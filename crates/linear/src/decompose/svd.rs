//! Singular values: orthonormal directions of rows and columns, and the strength that joins each pair.
//!
//! Tall and wide matrices are first reduced to their triangular factor. The randomized form finds the leading
//! directions of a matrix too large for that (see `krylov`).

use super::fix_signs;
use super::krylov::{Table, leading_directions};
use crate::LinearError;
use crate::check::{Argument, argument};
use crate::dense::{self, Vectors, leading_columns, load, multiply, scale_columns};
use spanwise_kernels::{Element, Matrix, View};

/// `X = U diag(s) Vᵀ`.
#[derive(Debug, Clone, PartialEq)]
pub struct Svd {
    /// Left singular vectors, one per column: n × k, or n × n where full.
    pub u: Matrix,
    /// Singular values, largest first.
    pub singular_values: Vec<f64>,
    /// Right singular vectors, one per column: p × k, or p × p where full.
    pub v: Matrix,
}

impl Svd {
    /// `U diag(s) Vᵀ`, n × p.
    pub fn matrix(&self) -> Matrix {
        let k = self.singular_values.len();
        let mut left = leading_columns(&self.u, k);
        scale_columns(&mut left, &self.singular_values);
        multiply(&left, &leading_columns(&self.v, k).transposed())
    }
}

/// How a randomized decomposition looks for the leading directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sketch {
    /// Directions tried beyond those asked for.
    pub oversampling: usize,
    /// How often X and its transpose are applied to sharpen the directions; every round's directions are kept.
    pub power_iterations: usize,
    /// Where the random numbers start: the same seed gives the same answer.
    pub seed: u64,
}

impl Default for Sketch {
    fn default() -> Self {
        Sketch { oversampling: 10, power_iterations: 7, seed: 0 }
    }
}

const X: Argument = argument("decompose", "X");

/// The thin SVD of `x` (n × p): k = min(n, p) singular values and as many vectors on each side.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::decompose::svd;
///
/// let x = View::new(&[0.0, 2.0, 3.0, 0.0, 0.0, 0.0], &[3, 2])?;
/// let s = svd(x)?.singular_values;
/// assert!((s[0] - 3.0).abs() < 1e-15 && (s[1] - 2.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn svd<T: Element>(x: View<'_, T>) -> Result<Svd, LinearError> {
    factored(X, &load(X, &x)?, Vectors::Thin)
}

/// The full SVD of `x` (n × p): complete orthonormal bases on both sides.
pub fn svd_full<T: Element>(x: View<'_, T>) -> Result<Svd, LinearError> {
    factored(X, &load(X, &x)?, Vectors::Full)
}

/// The `k` largest singular values of `x` (n × p) and their vectors, exact.
pub fn svd_truncated<T: Element>(x: View<'_, T>, k: usize) -> Result<Svd, LinearError> {
    let mut thin = svd(x)?;
    check_count(k, thin.singular_values.len())?;
    thin.singular_values.truncate(k);
    Ok(Svd { u: leading_columns(&thin.u, k), v: leading_columns(&thin.v, k), ..thin })
}

/// The `k` largest singular values of `x` (n × p) and their vectors, by random projection.
///
/// Exact to rounding where the singular values fall fast; otherwise each is a lower bound that more iterations raise.
pub fn svd_randomized<T: Element>(x: View<'_, T>, k: usize, sketch: Sketch) -> Result<Svd, LinearError> {
    let x = load(X, &x)?;
    check_count(k, x.rows().min(x.cols()))?;
    let (rows, columns) = (x.view(), x.view().transposed());
    leading_directions(X, &Table { rows: &rows, columns: &columns, mean: None }, k, sketch)
}

pub(super) fn check_count(k: usize, most: usize) -> Result<(), LinearError> {
    let count = argument("decompose", "k");
    count.in_range(k as f64, (1..=most).contains(&k), "between 1 and the smaller side of `X`")
}

/// The exact decomposition with signs fixed.
pub(crate) fn factored(x_argument: Argument, x: &Matrix, vectors: Vectors) -> Result<Svd, LinearError> {
    let Argument { operation, name } = x_argument;
    let failed = |_| LinearError::Unconverged { operation, argument: name };
    let dense::factor::Factors { mut u, s, mut v } = dense::svd(x, vectors).map_err(failed)?;
    if s.iter().any(|s| !s.is_finite()) {
        return Err(LinearError::Overflow { operation, argument: name });
    }
    fix_signs(&mut v, Some(&mut u));
    Ok(Svd { u, singular_values: s, v })
}
