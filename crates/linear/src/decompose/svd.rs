//! Singular values: orthonormal directions of rows and columns, and the strength that joins each pair.
//!
//! Tall and wide matrices are first reduced to their triangular factor. The randomized form finds the leading
//! directions of a matrix too large for that:
//!
//! ```text
//! X (n × p), l = k + oversampling
//! Y = X Ω            Ω (p × l) normal from the seed
//! repeat: Y ← X (Xᵀ Y), orthonormalised between the products
//! B = Qᵀ X (l × p)   small; its SVD gives X ≈ (Q U) s Vᵀ
//! ```

use super::fix_signs;
use super::random::Random;
use crate::LinearError;
use crate::check::{Argument, argument};
use crate::dense::{
    self, Vectors, leading_columns, load, multiply, multiply_transposed, scale_columns, thin_qr,
};
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
    /// How often X and its transpose are applied to sharpen the directions.
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
/// Exact to rounding where the singular values fall fast; otherwise each is a lower bound that power iterations raise.
pub fn svd_randomized<T: Element>(x: View<'_, T>, k: usize, sketch: Sketch) -> Result<Svd, LinearError> {
    let x = load(X, &x)?;
    check_count(k, x.rows().min(x.cols()))?;
    randomized(X, &x, k, sketch)
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

/// The randomized decomposition of `x`, 1 ≤ k ≤ min(n, p).
pub(crate) fn randomized(
    x_argument: Argument,
    x: &Matrix,
    k: usize,
    sketch: Sketch,
) -> Result<Svd, LinearError> {
    let (n, p) = (x.rows(), x.cols());
    let width = k.saturating_add(sketch.oversampling).min(n.min(p));
    let mut random = Random::new(sketch.seed);
    let mut y = multiply(x, &Matrix::from_fn(p, width, |_, _| random.normal())); // n × l
    let mut q = thin_qr(&y).0;
    for _ in 0..sketch.power_iterations {
        let z = thin_qr(&multiply_transposed(x, &q)).0; // p × l
        y = multiply(x, &z);
        q = thin_qr(&y).0;
    }
    let b = multiply_transposed(&q, x); // l × p
    let small = factored(x_argument, &b, Vectors::Thin)?;
    let mut singular_values = small.singular_values;
    singular_values.truncate(k);
    let u = multiply(&q, &leading_columns(&small.u, k));
    Ok(Svd { u, singular_values, v: leading_columns(&small.v, k) })
}
