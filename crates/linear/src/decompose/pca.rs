//! Principal components: the directions along which rows vary most.
//!
//! Four ways to the same answer; [`PcaMethod::Auto`] chooses by shape.
//!
//! ```text
//! Covariance   n ≫ p     one pass: C = Σ (x−μ)(x−μ)ᵀ (p × p), its eigenvectors
//! Dual         p ≫ n     K = Xc Xcᵀ (n × n), its eigenvectors u; directions Xcᵀu / s
//! Randomized   both large, few components: random projection with power iterations
//! Exact        otherwise, and wherever small components matter: SVD of the triangular factor of Xc
//! ```
//!
//! The first two square the singular values, which costs half the digits of small ones: where a component asked for
//! is below 1e-6 of the largest they hand over to the exact method. The result says which method was used.

use super::svd::{Sketch, check_count, randomized};
use super::{factored, fix_signs};
use crate::check::{Argument, argument};
use crate::dense::{self, Vectors, leading_columns, load, load_rows, multiply, r_factor_of_rows};
use crate::{Extent, LinearError};
use spanwise_kernels::tall::{NoColumns, Tall, gram};
use spanwise_kernels::{Element, Matrix, View};

/// How principal components are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PcaMethod {
    /// Chosen by shape.
    #[default]
    Auto,
    /// SVD of the centred rows' triangular factor: the most digits.
    Exact,
    /// Eigenvectors of the p × p covariance: fastest for many rows.
    Covariance,
    /// Eigenvectors of the n × n matrix of inner products: fastest for few rows and many columns.
    Dual,
    /// Random projection: fastest for few components of a matrix large both ways.
    Randomized,
}

/// What to compute, and how.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PcaOptions {
    /// How many components; all of them where `None`.
    pub components: Option<usize>,
    /// The method.
    pub method: PcaMethod,
    /// Settings of [`PcaMethod::Randomized`].
    pub sketch: Sketch,
}

/// Directions of largest variance, the mean they pass through, and how much each explains.
#[derive(Debug, Clone, PartialEq)]
pub struct Pca {
    /// One direction per row, orthonormal (k × p).
    pub components: Matrix,
    /// The mean row (p).
    pub mean: Vec<f64>,
    /// The variance along each direction, with n − 1 in the denominator (k).
    pub explained_variance: Vec<f64>,
    /// The same as shares of the total variance (k); 0 where the rows do not vary.
    pub explained_variance_ratio: Vec<f64>,
    /// Singular values of the centred rows (k).
    pub singular_values: Vec<f64>,
    /// The sum of all columns' variances.
    pub total_variance: f64,
    /// How many rows were seen.
    pub rows: usize,
    /// The method that was used; never [`PcaMethod::Auto`].
    pub method: PcaMethod,
}

const X: Argument = argument("decompose", "X");

impl Pca {
    /// The coordinates of each row of `x` (n × p) along the components: n × k.
    pub fn transform<T: Element>(&self, x: View<'_, T>) -> Result<Matrix, LinearError> {
        let mut x = load(X, &x)?;
        X.fits(Extent::Columns(x.cols()), "components", Extent::Columns(self.mean.len()))?;
        centre(&mut x, &self.mean);
        Ok(multiply(&x, &self.components.transposed()))
    }

    /// The rows that have these coordinates (n × k): n × p.
    pub fn inverse_transform<T: Element>(&self, scores: View<'_, T>) -> Result<Matrix, LinearError> {
        let name = argument("decompose", "scores");
        let scores = load(name, &scores)?;
        name.fits(Extent::Columns(scores.cols()), "components", Extent::Rows(self.components.rows()))?;
        let mut rows = multiply(&scores, &self.components);
        for i in 0..rows.rows() {
            rows.row_mut(i).iter_mut().zip(&self.mean).for_each(|(x, mean)| *x += mean);
        }
        Ok(rows)
    }
}

/// The principal components of the rows of `x` (n × p, at least two rows).
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::decompose::{PcaOptions, pca};
///
/// // Points on the line y = 2x, around (1, 2).
/// let x = View::new(&[0.0, 0.0, 1.0, 2.0, 2.0, 4.0], &[3, 2])?;
/// let found = pca(x, PcaOptions { components: Some(1), ..PcaOptions::default() })?;
/// assert_eq!(found.mean, [1.0, 2.0]);
/// assert!((found.components[(0, 1)] / found.components[(0, 0)] - 2.0).abs() < 1e-14);
/// assert!((found.explained_variance_ratio[0] - 1.0).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pca<T: Element>(x: View<'_, T>, options: PcaOptions) -> Result<Pca, LinearError> {
    let (n, p) = X.matrix(&x)?;
    X.not_empty(&x)?;
    argument("decompose", "rows of X").in_range(n as f64, n >= 2, "at least 2")?;
    let k = options.components.unwrap_or(n.min(p));
    check_count(k, n.min(p))?;
    let method = match options.method {
        PcaMethod::Auto => by_shape(n, p, k),
        method => method,
    };
    let squared = match method {
        PcaMethod::Covariance => by_covariance(&x, k)?,
        PcaMethod::Dual => by_inner_products(&x, k)?,
        PcaMethod::Randomized => Some(by_projection(&x, k, options.sketch)?),
        _ => None,
    };
    match squared {
        Some(found) => Ok(found),
        None => exact(&x, k),
    }
}

/// Which method suits the shape.
fn by_shape(n: usize, p: usize, k: usize) -> PcaMethod {
    const SMALL: usize = 1000; // a symmetric eigenproblem of this size takes a fraction of a second
    let few = k * 5 < n.min(p);
    match () {
        () if p <= SMALL && n >= 4 * p => PcaMethod::Covariance,
        () if n <= SMALL && p >= 4 * n => PcaMethod::Dual,
        () if n.min(p) > 300 && few => PcaMethod::Randomized,
        () => PcaMethod::Exact,
    }
}

/// Principal components from a triangular factor, without the rows: what a mergeable summary keeps.
///
/// `r` (k × p) is the R factor of the *centred* rows: `RᵀR = Σ (x−μ)(x−μ)ᵀ`. Where a factor carries a leading column
/// of ones, that is its block below and right of the first entry. `mean` is μ (p), `rows` their number.
pub fn pca_from_factor(
    r: View<'_, f64>,
    mean: View<'_, f64>,
    rows: usize,
    components: Option<usize>,
) -> Result<Pca, LinearError> {
    let name = argument("decompose", "R");
    name.not_empty(&r)?;
    let r = load(name, &r)?;
    let mean_name = argument("decompose", "mean");
    let mean = dense::load_vector(mean_name, &mean)?;
    mean_name.fits(Extent::Length(mean.len()), "R", Extent::Columns(r.cols()))?;
    argument("decompose", "rows").in_range(rows as f64, rows >= 2, "at least 2")?;
    let k = components.unwrap_or(r.rows().min(r.cols()));
    check_count(k, r.rows().min(r.cols()))?;
    of_factor(&r, mean, rows, k)
}

/// What is known before variances are turned into shares.
struct Directions {
    components: Matrix,
    singular_values: Vec<f64>,
    mean: Vec<f64>,
    /// `Σ ‖x − μ‖²`.
    squares: f64,
    rows: usize,
    method: PcaMethod,
}

fn finished(found: Directions) -> Result<Pca, LinearError> {
    let Directions { components, singular_values, mean, squares, rows, method } = found;
    let freedom = (rows - 1) as f64;
    let explained_variance: Vec<f64> = singular_values.iter().map(|s| s * s / freedom).collect();
    let total_variance = squares / freedom;
    if !total_variance.is_finite() || mean.iter().any(|mean| !mean.is_finite()) {
        return Err(LinearError::Overflow { operation: X.operation, argument: X.name });
    }
    let share = |variance: &f64| if total_variance > 0.0 { variance / total_variance } else { 0.0 };
    Ok(Pca {
        components,
        mean,
        explained_variance_ratio: explained_variance.iter().map(share).collect(),
        explained_variance,
        singular_values,
        total_variance,
        rows,
        method,
    })
}

fn of_factor(r: &Matrix, mean: Vec<f64>, rows: usize, k: usize) -> Result<Pca, LinearError> {
    let all = factored(X, r, Vectors::Thin)?;
    let squares = all.singular_values.iter().map(|s| s * s).sum();
    finished(Directions {
        components: leading_columns(&all.v, k).transposed(),
        singular_values: all.singular_values[..k].to_vec(),
        mean,
        squares,
        rows,
        method: PcaMethod::Exact,
    })
}

fn exact<T: Element>(x: &View<'_, T>, k: usize) -> Result<Pca, LinearError> {
    let (n, p) = X.matrix(x)?;
    let mean = column_means(x)?;
    let r = r_factor_of_rows(n, p, |first, tile| {
        load_rows(X, x, first, tile)?;
        subtract(tile, &mean);
        Ok(())
    })?;
    of_factor(&r, mean, n, k)
}

/// `None` where the components asked for reach below what squared values resolve.
fn by_covariance<T: Element>(x: &View<'_, T>, k: usize) -> Result<Option<Pca>, LinearError> {
    let (n, p) = X.matrix(x)?;
    // Shifted by a mean of a few rows, one pass is enough and little cancels in the correction at the end.
    let shift = sampled_mean(x)?;
    let moments = gram(&Tall { x, y: &NoColumns(n), weights: None, shift: &shift });
    let offset: Vec<f64> = moments.row(p)[..p].iter().map(|sum| sum / n as f64).collect();
    let mut squares = Matrix::from_fn(p, p, |i, j| moments[(i, j)]);
    let before: f64 = (0..p).map(|i| squares[(i, i)]).sum();
    for i in 0..p {
        for j in 0..p {
            squares[(i, j)] -= n as f64 * offset[i] * offset[j];
        }
    }
    let mean: Vec<f64> = shift.iter().zip(&offset).map(|(shift, offset)| shift + offset).collect();
    let total: f64 = (0..p).map(|i| squares[(i, i)]).sum();
    // A correction that cancels many digits means the sampled rows were not typical.
    if !total.is_finite() || total < 1e-3 * before {
        return Ok(None);
    }
    let Some((singular_values, vectors)) = leading_eigen(&squares, k)? else { return Ok(None) };
    let components = vectors.transposed();
    finished(Directions {
        components,
        singular_values,
        mean,
        squares: total,
        rows: n,
        method: PcaMethod::Covariance,
    })
    .map(Some)
}

/// `None` where the components asked for reach below what squared values resolve.
fn by_inner_products<T: Element>(x: &View<'_, T>, k: usize) -> Result<Option<Pca>, LinearError> {
    let (n, p) = X.matrix(x)?;
    let mean = column_means(x)?;
    let mut centred = load(X, x)?;
    centre(&mut centred, &mean);
    let columns = centred.view().transposed();
    let zeros = vec![0.0; n];
    let products = gram(&Tall { x: &columns, y: &NoColumns(p), weights: None, shift: &zeros });
    let inner = Matrix::from_fn(n, n, |i, j| products[(i, j)]);
    let total: f64 = (0..n).map(|i| inner[(i, i)]).sum();
    if !total.is_finite() {
        return Ok(None);
    }
    let Some((singular_values, left)) = leading_eigen(&inner, k)? else { return Ok(None) };
    let mut directions = dense::multiply_transposed(&centred, &left); // p × k
    dense::scale_columns(&mut directions, &singular_values.iter().map(|s| 1.0 / s).collect::<Vec<_>>());
    fix_signs(&mut directions, None);
    let components = directions.transposed();
    finished(Directions {
        components,
        singular_values,
        mean,
        squares: total,
        rows: n,
        method: PcaMethod::Dual,
    })
    .map(Some)
}

fn by_projection<T: Element>(x: &View<'_, T>, k: usize, sketch: Sketch) -> Result<Pca, LinearError> {
    let mean = column_means(x)?;
    let mut centred = load(X, x)?;
    centre(&mut centred, &mean);
    let size = dense::norm(centred.as_slice());
    let found = randomized(X, &centred, k, sketch)?;
    finished(Directions {
        components: found.v.transposed(),
        singular_values: found.singular_values,
        mean,
        squares: size * size,
        rows: centred.rows(),
        method: PcaMethod::Randomized,
    })
}

/// The `k` largest eigenvalues of a matrix of squares, as singular values, and their vectors with signs fixed.
fn leading_eigen(squares: &Matrix, k: usize) -> Result<Option<(Vec<f64>, Matrix)>, LinearError> {
    let n = squares.rows();
    let failed = |_| LinearError::Unconverged { operation: X.operation, argument: X.name };
    let (rising, vectors) = dense::symmetric_eigen(squares).map_err(failed)?;
    let (largest, smallest) = (rising[n - 1], rising[n - k]);
    // Rounding is relative to the largest square: below 1e-12 of it fewer than four digits are left.
    if smallest.is_nan() || smallest <= 1e-12 * largest || largest <= 0.0 {
        return Ok(None);
    }
    let singular_values = rising.iter().rev().take(k).map(|square| square.max(0.0).sqrt()).collect();
    let mut leading = Matrix::from_fn(n, k, |i, j| vectors[(i, n - 1 - j)]);
    fix_signs(&mut leading, None);
    Ok(Some((singular_values, leading)))
}

/// The mean of each column, one pass over tiles, refined by the mean of what is left after subtracting it.
fn column_means<T: Element>(x: &View<'_, T>) -> Result<Vec<f64>, LinearError> {
    let (n, p) = X.matrix(x)?;
    let shift = sampled_mean(x)?;
    let mut sums = vec![0.0; p];
    let mut tile = vec![0.0; 256 * p];
    for first in (0..n).step_by(256) {
        let tile = &mut tile[..256.min(n - first) * p];
        load_rows(X, x, first, tile)?;
        subtract(tile, &shift);
        tile.chunks_exact(p).for_each(|row| dense::axpy(&mut sums, 1.0, row));
    }
    Ok(shift.iter().zip(&sums).map(|(shift, sum)| shift + sum / n as f64).collect())
}

/// The mean of up to 256 rows spread evenly over `x`.
fn sampled_mean<T: Element>(x: &View<'_, T>) -> Result<Vec<f64>, LinearError> {
    let (n, p) = X.matrix(x)?;
    let count = n.min(256);
    let mut mean = vec![0.0; p];
    let mut row = vec![0.0; p];
    for i in 0..count {
        load_rows(X, x, i * n / count, &mut row)?;
        dense::axpy(&mut mean, 1.0 / count as f64, &row);
    }
    Ok(mean)
}

fn subtract(rows: &mut [f64], mean: &[f64]) {
    for row in rows.chunks_exact_mut(mean.len().max(1)) {
        row.iter_mut().zip(mean).for_each(|(x, mean)| *x -= mean);
    }
}

fn centre(x: &mut Matrix, mean: &[f64]) {
    subtract(x.as_mut_slice(), mean);
}
