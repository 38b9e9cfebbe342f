//! What every fit asks of its input, before any arithmetic.

use super::{argument, weights_or_none};
use crate::{Extent, LinearError};
use spanwise_kernels::{Element, View, crew};

/// Numbers that are looked at together.
const CHUNK: usize = 1 << 16;

/// Rows and columns of the features, at least one of each.
pub(crate) fn features<T: Element>(
    operation: &'static str,
    x: &View<'_, T>,
) -> Result<(usize, usize), LinearError> {
    let name = argument(operation, "X");
    let dims = name.matrix(x)?;
    name.not_empty(x)?;
    Ok(dims)
}

/// The target: one finite number per row.
pub(crate) fn target(operation: &'static str, y: &[f64], rows: usize) -> Result<(), LinearError> {
    let name = argument(operation, "y");
    name.fits(Extent::Length(y.len()), "X", Extent::Rows(rows))?;
    // Whole chunks without an early end: a million numbers one at a time take as long as a tenth of a fit.
    let finite = |chunk: &[f64]| chunk.iter().fold(true, |finite, v| finite & v.is_finite());
    let finite = crew::map(y.len(), y.chunks(CHUNK), finite);
    let Some(chunk) = finite.iter().position(|&finite| !finite) else { return Ok(()) };
    let row = (chunk * CHUNK..).zip(&y[chunk * CHUNK..]).find(|(_, v)| !v.is_finite());
    row.map_or(Ok(()), |(row, &v)| Err(name.not_finite(row, 0, v)))
}

/// Observation weights: one finite number ≥ 0 per row, not all of them 0. Returns their sum; without weights every
/// row counts 1.
pub(crate) fn weights(
    operation: &'static str,
    weights: Option<&[f64]>,
    rows: usize,
) -> Result<f64, LinearError> {
    let Some(weights) = weights else { return Ok(rows as f64) };
    weights_or_none(operation, weights, rows)?;
    let total: f64 = weights.iter().sum();
    argument(operation, "sum of weights").in_range(
        total,
        total > 0.0 && total.is_finite(),
        "a finite number above 0",
    )?;
    Ok(total)
}

/// A setting that must be a finite number ≥ 0.
pub(crate) fn not_negative(
    operation: &'static str,
    name: &'static str,
    value: f64,
) -> Result<(), LinearError> {
    argument(operation, name).in_range(value, value >= 0.0 && value.is_finite(), "a finite number ≥ 0")
}

/// A setting that must be a finite number > 0.
pub(crate) fn positive(operation: &'static str, name: &'static str, value: f64) -> Result<(), LinearError> {
    argument(operation, name).in_range(value, value > 0.0 && value.is_finite(), "a finite number above 0")
}

/// As many columns as the model was fitted to, for `predict`.
pub(crate) fn same_columns<T: Element>(x: &View<'_, T>, fitted: usize) -> Result<(), LinearError> {
    let name = argument("predict", "X");
    let (_, cols) = name.matrix(x)?;
    name.fits(Extent::Columns(cols), "the fitted model", Extent::Columns(fitted))
}

/// Sums over the rows came out as NaN or infinity: the entry of `X` to blame, or, where every entry is finite, that
/// their products overflow. Looking only then keeps the check out of every healthy fit.
pub(crate) fn blame<T: Element>(operation: &'static str, x: &View<'_, T>) -> LinearError {
    match argument(operation, "X").finite(x) {
        Err(error) => error,
        Ok(()) => LinearError::Overflow { operation, argument: "X" },
    }
}

/// The same where the target may be to blame too.
pub(crate) fn blame_either<T: Element>(operation: &'static str, x: &View<'_, T>, y: &[f64]) -> LinearError {
    let largest = y.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    match blame(operation, x) {
        LinearError::Overflow { .. } if largest > 1e150 => LinearError::Overflow { operation, argument: "y" },
        error => error,
    }
}
