//! What is asked of tables that are read block by block.

use super::argument;
use crate::summary::{SelectedRows, largest_by_column};
use crate::{Extent, LinearError};
use spanwise_kernels::tall::RowSource;
use spanwise_kernels::{Shape, crew};

/// Rows looked at by one work item.
const CHUNK: usize = 4096;

/// The first number of `source` that is not finite, row by row.
fn find_not_finite(source: &dyn RowSource) -> Option<(usize, usize, f64)> {
    let rows = source.rows();
    let chunk = (CHUNK * 16 / source.cols().max(1)).max(1);
    let cost = 4 * rows * source.cols();
    let found = crew::map(cost, 0..rows.div_ceil(chunk), |c| {
        let (first, count) = (c * chunk, chunk.min(rows - c * chunk));
        let mut scratch = Vec::new();
        let block = source.block(first, count, &mut scratch);
        let mut at = (0..count).flat_map(|i| (0..block.cols()).map(move |j| (i, j)));
        at.find(|&(i, j)| !block.get(i, j).is_finite()).map(|(i, j)| (first + i, j, block.get(i, j)))
    });
    found.into_iter().flatten().next()
}

/// All numbers are finite, or the first that is not, as an error.
pub(crate) fn finite_rows(
    operation: &'static str,
    name: &'static str,
    source: &dyn RowSource,
) -> Result<(), LinearError> {
    match find_not_finite(source) {
        None => Ok(()),
        Some((row, column, value)) => Err(argument(operation, name).not_finite(row, column, value)),
    }
}

/// Below this, sums of squares have lost digits to the end of f64's range.
pub(crate) const SMALLEST_SQUARES: f64 = f64::MIN_POSITIVE / f64::EPSILON;

/// How far the numbers of each column are from its first one, or from 0 where `centred` is false, at most. Rows of weight 0 do not
/// count. Looking only where sums of squares came out below [`SMALLEST_SQUARES`] keeps this out of healthy fits.
pub(crate) fn spreads(source: &dyn RowSource, centred: bool, weights: Option<&[f64]>) -> Vec<f64> {
    let seen: Vec<usize> = (0..source.rows()).filter(|&i| weights.is_none_or(|w| w[i] > 0.0)).collect();
    let mut from = vec![0.0; source.cols()];
    if let Some(&first) = seen.first().filter(|_| centred) {
        let mut scratch = Vec::new();
        let row = source.block(first, 1, &mut scratch);
        from.iter_mut().enumerate().for_each(|(j, from)| *from = row.get(0, j));
    }
    largest_by_column(&SelectedRows::new(source, &seen), &from)
}

/// Whether numbers this far apart differ, but by so little that the squares are none.
pub(crate) fn vanishes(spread: f64) -> bool {
    spread > 0.0 && spread * spread < SMALLEST_SQUARES
}

/// At least one row of at least one column.
pub(crate) fn table(
    operation: &'static str,
    argument: &'static str,
    rows: usize,
    columns: usize,
) -> Result<(), LinearError> {
    if rows > 0 && columns > 0 {
        return Ok(());
    }
    let found = Shape::new(&[rows, columns]).expect("two dimensions");
    Err(LinearError::Empty { operation, argument, found })
}

/// One weight a row, finite, not negative; all may be zero.
pub(crate) fn weights_or_none(
    operation: &'static str,
    weights: &[f64],
    rows: usize,
) -> Result<(), LinearError> {
    let name = argument(operation, "weights");
    name.fits(Extent::Length(weights.len()), "X", Extent::Rows(rows))?;
    for (row, &value) in weights.iter().enumerate() {
        if !value.is_finite() {
            return Err(name.not_finite(row, 0, value));
        }
        if value < 0.0 {
            return Err(LinearError::NegativeWeight { operation, row, value });
        }
    }
    Ok(())
}
