//! Collinearity: how much columns repeat one another, and which of them together.
//!
//! Both measures come from the singular values and right vectors of the unit-scaled triangular factor:
//!
//! ```text
//! VIFⱼ                   = Σₖ vⱼₖ² / σₖ²      centred columns
//! proportion of j at k   = (vⱼₖ² / σₖ²) / Σ   columns as they are, the intercept among them
//! ```

use super::rank::rank_tolerance_of;
use crate::check::{Argument, argument};
use crate::decompose::{Svd, factored};
use crate::dense::{Vectors, load_rows, r_factor_of_rows, unit_columns};
use crate::{LinearError, RowSource};
use spanwise_kernels::{Element, Matrix, View};

/// How much collinearity inflates the variance of each coefficient.
#[derive(Debug, Clone, PartialEq)]
pub struct Inflation {
    /// `1 / (1 − R²)` of each column regressed on the others (p): 1 where it repeats nothing, infinite where it is
    /// determined by them (or by the intercept: a constant column).
    pub vif: Vec<f64>,
    /// `R²` of those regressions (p): `1 − 1/vif`.
    pub r_squared: Vec<f64>,
}

/// Condition indices and variance proportions after Belsley.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionIndices {
    /// `σ₁ / σₖ`, smallest first; infinite where σₖ is 0 up to rounding. Above 30 a dependency is usually called
    /// strong.
    pub indices: Vec<f64>,
    /// Row `k`, column `j`: the share of coefficient `j`'s variance that comes from direction `k`. Each column adds
    /// up to 1. Two or more large shares in a row with a large index name the columns that depend on each other.
    /// Infinite variance, that of columns in an exact dependency, is shared equally among the infinite indices: which
    /// of such directions is which is not determined.
    pub proportions: Matrix,
    /// Whether column 0 of `proportions` is the intercept; the columns of X follow.
    pub intercept: bool,
}

const X: Argument = argument("measure", "X");

/// Variance inflation factors of the columns of `x` (n × p). With `intercept` the columns are centred first, as in a
/// regression that has one.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::measure::inflation;
///
/// let x = View::new(&[1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -1.0, -1.0], &[4, 2])?;
/// let orthogonal = inflation(x, true)?;
/// assert!((orthogonal.vif[0] - 1.0).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn inflation<T: Element>(x: View<'_, T>, intercept: bool) -> Result<Inflation, LinearError> {
    X.not_empty(&x)?;
    inflation_of(&factor_of(&x, intercept)?, intercept, x.precision())
}

/// The same from the square factor of the columns, after the ones where `intercept`.
pub(super) fn inflation_of(
    factor: &Matrix,
    intercept: bool,
    precision: f64,
) -> Result<Inflation, LinearError> {
    let p = factor.cols() - usize::from(intercept);
    // With a leading column of ones, the block below and right of the first entry is the factor of centred columns.
    let first = usize::from(intercept);
    let centred = Matrix::from_fn(p, p, |i, j| factor[(i + first, j + first)]);
    let whole = Matrix::from_fn(p + first, p, |i, j| factor[(i, j + first)]);
    let sizes = crate::dense::column_norms(&whole);
    let (mut unit, norms) = unit_columns(&centred);
    let tolerance = rank_tolerance_of(p, precision);
    // What centring leaves of a constant column is rounding.
    let constant: Vec<bool> = norms.iter().zip(&sizes).map(|(&n, &size)| n <= tolerance * size).collect();
    for i in 0..p {
        unit.row_mut(i).iter_mut().zip(&constant).for_each(|(x, &is)| *x = if is { 0.0 } else { *x });
    }
    let Svd { singular_values: s, v, .. } = factored(X, &unit, Vectors::Thin)?;
    let there = s.iter().take_while(|&&sigma| sigma > tolerance * s[0]).count();
    let vif: Vec<f64> = (0..p)
        .map(|j| {
            if constant[j] || tied(&v, j, there) {
                return f64::INFINITY;
            }
            let sum: f64 = (0..there).map(|k| (v[(j, k)] / s[k]).powi(2)).sum();
            sum.max(1.0)
        })
        .collect();
    let r_squared = vif.iter().map(|vif| 1.0 - 1.0 / vif).collect();
    Ok(Inflation { vif, r_squared })
}

/// Condition indices and variance proportions of the columns of `x` (n × p), with a leading column of ones where
/// `intercept`. Columns are scaled to length 1 but not centred.
pub fn condition_indices<T: Element>(
    x: View<'_, T>,
    intercept: bool,
) -> Result<ConditionIndices, LinearError> {
    X.not_empty(&x)?;
    condition_indices_of(&factor_of(&x, intercept)?, intercept, x.precision())
}

/// The same from the square factor of the columns, after the ones where `intercept`.
pub(super) fn condition_indices_of(
    factor: &Matrix,
    intercept: bool,
    precision: f64,
) -> Result<ConditionIndices, LinearError> {
    let unit = unit_columns(factor).0;
    let Svd { singular_values: s, v, .. } = factored(X, &unit, Vectors::Thin)?;
    let columns = s.len();
    let floor = rank_tolerance_of(columns, precision) * s[0];
    let there = s.iter().take_while(|&&sigma| sigma > floor).count();
    let proportions = (0..columns).map(|j| {
        let mut shares = vec![0.0; columns];
        if tied(&v, j, there) {
            shares[there..].fill(1.0 / (columns - there) as f64);
        } else {
            for (k, share) in shares[..there].iter_mut().enumerate() {
                *share = (v[(j, k)] * (s[0] / s[k])).powi(2);
            }
            let total: f64 = shares.iter().sum();
            for share in &mut shares {
                *share /= total;
            }
        }
        shares
    });
    let proportions: Vec<Vec<f64>> = proportions.collect();
    Ok(ConditionIndices {
        indices: s.iter().map(|&sigma| if sigma > floor { s[0] / sigma } else { f64::INFINITY }).collect(),
        proportions: Matrix::from_fn(columns, columns, |k, j| proportions[j][k]),
        intercept,
    })
}

/// Whether column `j` takes part in a direction that is nothing: those of `v` from `there` on.
fn tied(v: &Matrix, j: usize, there: usize) -> bool {
    (there..v.cols()).any(|k| v[(j, k)].abs() > 1e-6)
}

/// The triangular factor of `x`, after a column of ones where `intercept`, padded with zero rows to a square.
pub(super) fn factor_of<T: Element>(x: &View<'_, T>, intercept: bool) -> Result<Matrix, LinearError> {
    let (n, p) = X.matrix(x)?;
    let first = usize::from(intercept);
    let columns = p + first;
    let r = r_factor_of_rows(n, columns, |start, tile| {
        if !intercept {
            return load_rows(X, x, start, tile);
        }
        let mut rows = vec![0.0; tile.len() / columns * p];
        load_rows(X, x, start, &mut rows)?;
        for (i, to) in tile.chunks_exact_mut(columns).enumerate() {
            to[0] = 1.0;
            to[1..].copy_from_slice(&rows[i * p..(i + 1) * p]);
        }
        Ok(())
    })?;
    if r.as_slice().iter().any(|x| !x.is_finite()) {
        return Err(LinearError::Overflow { operation: X.operation, argument: X.name });
    }
    Ok(Matrix::from_fn(columns, columns, |i, j| if i < r.rows() { r[(i, j)] } else { 0.0 }))
}
