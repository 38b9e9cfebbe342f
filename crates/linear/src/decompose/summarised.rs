//! Decompositions of rows that were not kept: what a summary of them determines.
//!
//! A summary holds the inner products of the columns, so it knows their right directions and strengths; left directions have
//! an entry for each row and need the rows themselves.

use super::pca::of_factor;
use super::svd::check_count;
use super::{Pca, factored};
use crate::check::{self, argument};
use crate::dense::{Vectors, leading_columns};
use crate::{LinearError, Summary};
use spanwise_kernels::Matrix;

const OPERATION: &str = "decompose";

/// Singular values and right directions of rows that are gone.
#[derive(Debug, Clone, PartialEq)]
pub struct RightSvd {
    /// Singular values, largest first (k).
    pub singular_values: Vec<f64>,
    /// Right singular vectors, one per column (p × k).
    pub v: Matrix,
    /// The sum of the squares of all entries.
    pub squares: f64,
}

/// The principal components of the rows that a summary has seen, of its columns without its targets. Weights count in means and
/// sums of squares, rows in the degrees of freedom.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::decompose::pca_from_summary;
/// use spanwise_linear::{NoColumns, Summary};
///
/// let x = View::new(&[0.0, 0.0, 1.0, 2.0, 2.0, 4.0], &[3, 2])?;
/// let found = pca_from_summary(&Summary::of(&x, &NoColumns(3), None)?, Some(1))?;
/// assert_eq!(found.mean, [1.0, 2.0]);
/// assert!((found.components[(0, 1)] / found.components[(0, 0)] - 2.0).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pca_from_summary(summary: &Summary, components: Option<usize>) -> Result<Pca, LinearError> {
    let (rows, most) = sizes(summary)?;
    argument(OPERATION, "rows of X").in_range(rows as f64, rows >= 2, "at least 2")?;
    let k = components.unwrap_or(most);
    check_count(k, most)?;
    let mean = (0..summary.columns()).map(|j| summary.mean(j)).collect();
    of_factor(&columns(summary, true)?, mean, rows, k)
}

/// The `k` largest singular values of the rows that a summary has seen, each times the root of its weight, and their right
/// directions; all of them where `k` is `None`.
pub fn svd_from_summary(summary: &Summary, k: Option<usize>) -> Result<RightSvd, LinearError> {
    let (_, most) = sizes(summary)?;
    let k = k.unwrap_or(most);
    check_count(k, most)?;
    let found = factored(argument(OPERATION, "X"), &columns(summary, false)?, Vectors::Thin)?;
    Ok(RightSvd {
        squares: found.singular_values.iter().map(|s| s * s).sum(),
        singular_values: found.singular_values[..k].to_vec(),
        v: leading_columns(&found.v, k),
    })
}

/// Rows, and the smaller side of the table.
fn sizes(summary: &Summary) -> Result<(usize, usize), LinearError> {
    let (rows, columns) = (summary.rows() as usize, summary.columns());
    check::table(OPERATION, "X", rows, columns)?;
    Ok((rows, rows.min(columns)))
}

/// Rows that stand for all, without the targets.
fn columns(summary: &Summary, about_means: bool) -> Result<Matrix, LinearError> {
    let few = summary.few_rows(about_means);
    let p = summary.columns();
    let x = Matrix::from_fn(few.rows() - summary.targets(), p, |i, j| few[(i, j)]);
    if x.as_slice().iter().any(|v| !v.is_finite()) {
        return Err(LinearError::Overflow { operation: OPERATION, argument: "X" });
    }
    Ok(x)
}
