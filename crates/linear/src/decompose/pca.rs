//! Principal components: the directions along which rows vary most.
//!
//! Four ways to the same answer; [`PcaMethod::Auto`] chooses by shape.
//!
//! ```text
//! Covariance   p ≤ n     one pass: C = Σ (x−μ)(x−μ)ᵀ (p × p), its leading eigenvectors
//! Dual         n < p     K = Xc Xcᵀ (n × n), its leading eigenvectors u; directions Xcᵀu / s
//! Randomized   both large, few components: a Krylov space of random directions
//! Exact        otherwise, and wherever small components matter: SVD of the triangular factor of Xc
//! ```
//!
//! The first two square the singular values, which costs half the digits of small ones: where a component asked for
//! is too small beside the largest they hand over to the exact method. The result says which method was used.

use super::krylov::{Table, leading_directions};
use super::svd::{Sketch, check_count};
use super::{factored, fix_signs};
use crate::check::{self, Argument, argument};
use crate::dense::{
    self, Inner, Vectors, column_sizes, leading_columns, load, load_rows, multiply, r_factor_of_rows,
};
use crate::summary::offsets_are_small;
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

/// Which method suits the shape: squares where the smaller side is small, a projection where a few components of
/// something large are asked for.
fn by_shape(n: usize, p: usize, k: usize) -> PcaMethod {
    const SMALL: usize = 1000; // reducing a symmetric matrix of this size takes a fraction of a second
    const TINY: usize = 500; // up to here the exact method is as quick as anything
    match () {
        () if n.max(p) <= TINY && n < 10 * p => PcaMethod::Exact,
        () if p <= n && p <= SMALL => PcaMethod::Covariance,
        () if n < p && n <= SMALL => PcaMethod::Dual,
        () if k * 5 < n.min(p) => PcaMethod::Randomized,
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
    if squares < check::SMALLEST_SQUARES && singular_values.iter().any(|s| *s > 0.0) {
        return Err(LinearError::Underflow { operation: X.operation, argument: X.name });
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

pub(super) fn of_factor(r: &Matrix, mean: Vec<f64>, rows: usize, k: usize) -> Result<Pca, LinearError> {
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
    let before: f64 = (0..p).map(|i| moments[(i, i)]).sum();
    let mut squares = Matrix::zeros(p, p);
    for (i, own) in offset.iter().enumerate() {
        let entries = squares.row_mut(i).iter_mut().zip(moments.row(i)).zip(&offset);
        entries.for_each(|((to, from), offset)| *to = from - n as f64 * own * offset);
    }
    let mean: Vec<f64> = shift.iter().zip(&offset).map(|(shift, offset)| shift + offset).collect();
    let total: f64 = (0..p).map(|i| squares[(i, i)]).sum();
    // A correction that cancels many digits means the sampled rows were not typical.
    if !total.is_finite() || total < 1e-3 * before {
        return Ok(None);
    }
    let Some((singular_values, mut vectors)) = leading_squares(&squares, k, resolved(n, p))? else {
        return Ok(None);
    };
    fix_signs(&mut vectors, None);
    let (components, method) = (vectors.transposed(), PcaMethod::Covariance);
    finished(Directions { components, singular_values, mean, squares: total, rows: n, method }).map(Some)
}

/// `None` where the components asked for reach below what squared values resolve.
fn by_inner_products<T: Element>(x: &View<'_, T>, k: usize) -> Result<Option<Pca>, LinearError> {
    let (n, p) = X.matrix(x)?;
    let columns = x.transposed();
    let mean = column_sizes(&columns).means;
    let inner = Inner { columns: &columns, means: Some(&mean), weights: None, fill: false }.products();
    if !inner.trace.is_finite() {
        return Ok(None);
    }
    let Some((singular_values, left)) = leading_squares(&inner.square, k, resolved(n, p))? else {
        return Ok(None);
    };
    let mut directions = Table { rows: x, columns: &columns, mean: Some(&mean) }.transposed_times(&left); // p × k
    dense::scale_columns(&mut directions, &singular_values.iter().map(|s| 1.0 / s).collect::<Vec<_>>());
    fix_signs(&mut directions, None);
    let (components, squares, method) = (directions.transposed(), inner.trace, PcaMethod::Dual);
    finished(Directions { components, singular_values, mean, squares, rows: n, method }).map(Some)
}

fn by_projection<T: Element>(x: &View<'_, T>, k: usize, sketch: Sketch) -> Result<Pca, LinearError> {
    let (n, columns) = (x.dims()[0], x.transposed());
    let sizes = column_sizes(&columns);
    let (mean, total) = (sizes.means, sizes.norms.iter().map(|norm| norm * norm).sum::<f64>());
    let offsets = n as f64 * dense::dot(&mean, &mean);
    if !total.is_finite() {
        return Err(check::blame(X.operation, x));
    }
    let (squares, found) = if offsets < 0.99 * total {
        // Centred as products are formed: no copy of the rows.
        let table = Table { rows: x, columns: &columns, mean: Some(&mean) };
        (total - offsets, leading_directions(X, &table, k, sketch)?)
    } else {
        let mut centred = load(X, x)?;
        centre(&mut centred, &mean);
        let size = dense::norm(centred.as_slice());
        let (rows, columns) = (centred.view(), centred.view().transposed());
        let table = Table { rows: &rows, columns: &columns, mean: None };
        (size * size, leading_directions(X, &table, k, sketch)?)
    };
    let (components, method) = (found.v.transposed(), PcaMethod::Randomized);
    let singular_values = found.singular_values;
    finished(Directions { components, singular_values, mean, squares, rows: n, method })
}

/// The smallest share of the largest square that a component may have for squares to be enough. Rounding is relative to
/// the largest: below 1e-12 of it fewer than four digits are left. Where the exact method is within reach, it takes over
/// where three would be lost.
fn resolved(n: usize, p: usize) -> f64 {
    if n >= 10 * p { 1e-12 } else { 1e-6 }
}

/// The `k` largest eigenvalues of a matrix of squares, as singular values, and their vectors; `None` where one of them is
/// not above `least` of the largest.
fn leading_squares(
    squares: &Matrix,
    k: usize,
    least: f64,
) -> Result<Option<(Vec<f64>, Matrix)>, LinearError> {
    let failed = |_| LinearError::Unconverged { operation: X.operation, argument: X.name };
    let (falling, vectors) = dense::leading_eigen(squares, k).map_err(failed)?;
    let (largest, smallest) = (falling[0], falling[k - 1]);
    if smallest.is_nan() || smallest <= least * largest || largest <= 0.0 {
        return Ok(None);
    }
    Ok(Some((falling.iter().map(|square| square.sqrt()).collect(), vectors)))
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

/// The mean of up to 256 rows spread evenly over `x`; zeros where that loses no digit: then rows are used as they lie.
fn sampled_mean<T: Element>(x: &View<'_, T>) -> Result<Vec<f64>, LinearError> {
    let (n, p) = X.matrix(x)?;
    let count = n.min(256);
    let (mut means, mut squares) = (vec![0.0; p], vec![0.0; p]);
    let mut row = vec![0.0; p];
    for i in 0..count {
        load_rows(X, x, i * n / count, &mut row)?;
        let share = 1.0 / (i + 1) as f64;
        means.iter_mut().zip(&row).for_each(|(mean, x)| *mean += share * (x - *mean));
        squares.iter_mut().zip(&row).for_each(|(square, x)| *square += share * (x * x - *square));
    }
    if offsets_are_small(&means, &squares) {
        means.fill(0.0);
    }
    Ok(means)
}

fn subtract(rows: &mut [f64], mean: &[f64]) {
    for row in rows.chunks_exact_mut(mean.len().max(1)) {
        row.iter_mut().zip(mean).for_each(|(x, mean)| *x -= mean);
    }
}

fn centre(x: &mut Matrix, mean: &[f64]) {
    subtract(x.as_mut_slice(), mean);
}
