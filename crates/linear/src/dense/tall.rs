//! QR of matrices with many rows, tile by tile.
//!
//! ```text
//! X = [X₁; X₂; …]      Xᵢ = Qᵢ Rᵢ                 in parallel, each tile in cache
//! [R₁; R₂; …] = Q' R   the same again, until one tile is left
//! Q = diag(Q₁, Q₂, …) Q'
//! ```
//!
//! As stable as one long Householder factorisation, and the tiles' boundaries depend on the shape alone. Where only R is
//! wanted and no square leaves the range of f64, the loops of `spanwise_kernels::tall` do the same faster. They put a column of
//! ones first:
//!
//! ```text
//! [1, X] = Q [ρ rᵀ; 0 S]   hence   XᵀX = rrᵀ + SᵀS = [r; S]ᵀ[r; S]:   R of X is the R of that small stack
//! ```

use super::{Packed, Reflectors, load_rows, multiply};
use crate::LinearError;
use crate::check::Argument;
use spanwise_kernels::tall::{NoColumns, Tall, triangle};
use spanwise_kernels::{Element, Matrix, View, crew};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Rows of one tile: long enough that stacking the factors at least quarters the rows.
fn tile_rows(cols: usize) -> usize {
    (4 * cols).max(1024)
}

/// `X (m × n) = Q (m × k) R (k × n)`, k = min(m, n).
pub(crate) fn thin_qr(x: &Matrix) -> (Matrix, Matrix) {
    let (m, n) = (x.rows(), x.cols());
    let tile = tile_rows(n);
    if m <= tile || n == 0 {
        let factored = Reflectors::of_rows(x.as_slice(), n);
        return if n == 0 {
            (Matrix::zeros(m, 0), Matrix::zeros(0, 0))
        } else {
            (factored.q(m.min(n)), factored.r())
        };
    }
    let cost = 4 * m * n * n;
    let factored = crew::map(cost, x.as_slice().chunks(tile * n), |rows| Reflectors::of_rows(rows, n));
    let factors: Vec<Matrix> = factored.iter().map(Reflectors::r).collect();
    let (merged, r) = thin_qr(&stacked(&factors, n));
    // Rows of Q' that belong to each tile.
    let ends = factors.iter().scan(0, |end, factor| {
        *end += factor.rows();
        Some(*end)
    });
    let places: Vec<(usize, usize)> =
        ends.zip(&factors).map(|(end, factor)| (end - factor.rows(), factor.rows())).collect();
    let mut q = Matrix::zeros(m, n);
    let tiles = q.as_mut_slice().chunks_mut(tile * n).zip(&factored).zip(places);
    crew::each(cost, tiles, |((to, tile), (first, count))| {
        let part = Matrix::from_fn(count, n, |i, j| merged[(first + i, j)]);
        to.copy_from_slice(multiply(&tile.q(count), &part).as_slice());
    });
    (q, r)
}

/// R (k × n) of `X = Q R`, without Q; reads `x` tile by tile and keeps no copy of it.
pub(crate) fn r_factor<T: Element>(argument: Argument, x: &View<'_, T>) -> Result<Matrix, LinearError> {
    let (rows, cols) = argument.matrix(x)?;
    r_factor_of_rows(rows, cols, |first, tile| load_rows(argument, x, first, tile))
}

/// The same of rows that `fill(first, tile)` writes.
pub(crate) fn r_factor_of_rows(
    rows: usize,
    cols: usize,
    fill: impl Fn(usize, &mut [f64]) -> Result<(), LinearError> + Sync,
) -> Result<Matrix, LinearError> {
    if rows > tile_rows(cols)
        && cols > 0
        && let Some(r) = by_triangle(rows, cols, &fill)?
    {
        return Ok(r);
    }
    by_tiles(rows, cols, &fill)
}

/// By the loops over tall tables; `None` where a column's squares may have left the range of f64.
fn by_triangle(
    rows: usize,
    cols: usize,
    fill: &(impl Fn(usize, &mut [f64]) -> Result<(), LinearError> + Sync),
) -> Result<Option<Matrix>, LinearError> {
    // A row source has no way to fail: the error of the first row that has one is kept here.
    let failed: Mutex<Option<(usize, LinearError)>> = Mutex::new(None);
    let pack = |range: Range<usize>, tile: &mut [f64]| {
        if let Err(error) = fill(range.start, tile) {
            tile.fill(0.0);
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            if failed.as_ref().is_none_or(|(first, _)| range.start < *first) {
                *failed = Some((range.start, error));
            }
        }
    };
    let (x, shift) = (Packed { rows, cols, pack }, vec![0.0; cols]);
    let found = triangle(&Tall { x: &x, y: &NoColumns(rows), weights: None, shift: &shift });
    if let Some((_, error)) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let stack = Matrix::from_fn(cols + 1, cols, |i, j| if i <= j + 1 { found.at(i, j + 1) } else { 0.0 });
    let safe = (0..cols).all(|j| {
        let size = (0..=j + 1).fold(0.0_f64, |most, i| most.max(stack[(i, j)].abs()));
        // NaN is not.
        (1e-140..1e140).contains(&size) && (0..=j + 1).all(|i| stack[(i, j)].is_finite())
    });
    Ok(safe.then(|| Reflectors::of_rows(stack.as_slice(), cols).r()))
}

/// Tile by tile, at any scale.
fn by_tiles(
    rows: usize,
    cols: usize,
    fill: &(impl Fn(usize, &mut [f64]) -> Result<(), LinearError> + Sync),
) -> Result<Matrix, LinearError> {
    let tile = tile_rows(cols);
    let factors = crew::map(2 * rows * cols * cols, (0..rows).step_by(tile), |first| {
        let mut values = vec![0.0; tile.min(rows - first) * cols];
        fill(first, &mut values)?;
        Ok(Reflectors::of_rows(&values, cols).r())
    });
    let mut factors = factors.into_iter().collect::<Result<Vec<Matrix>, LinearError>>()?;
    while factors.len() > 1 {
        let stack = stacked(&factors, cols);
        let tiles = stack.as_slice().chunks(tile * cols.max(1));
        factors =
            crew::map(2 * stack.rows() * cols * cols, tiles, |values| Reflectors::of_rows(values, cols).r());
    }
    Ok(factors.pop().unwrap_or_else(|| Matrix::zeros(0, cols)))
}

/// All rows of `parts`, one after another.
fn stacked(parts: &[Matrix], cols: usize) -> Matrix {
    let values: Vec<f64> = parts.iter().flat_map(|part| part.as_slice().iter().copied()).collect();
    let rows = parts.iter().map(Matrix::rows).sum();
    Matrix::new(values, rows, cols).expect("each part has `cols` columns")
}

#[cfg(test)]
mod tests {
    use super::super::{identity, multiply_transposed};
    use super::*;
    use crate::check::argument;

    #[test]
    fn tiles_merge_into_one_factorisation() {
        for m in [10, 1024, 1025, 5000, 30_000] {
            let x = Matrix::from_fn(m, 3, |i, j| ((i + 1) as f64 * (j as f64 + 0.3)).sin());
            let (q, r) = thin_qr(&x);
            let back = multiply(&q, &r);
            let error =
                back.as_slice().iter().zip(x.as_slice()).fold(0.0_f64, |e, (a, b)| e.max((a - b).abs()));
            assert!(error < 1e-13, "{m} rows: {error}");
            let square = multiply_transposed(&q, &q);
            let expected = identity(3);
            let off = square.as_slice().iter().zip(expected.as_slice());
            assert!(off.fold(0.0_f64, |e, (a, b)| e.max((a - b).abs())) < 1e-13);
            let alone = r_factor(argument("test", "X"), &x.view()).unwrap();
            for (a, b) in alone.as_slice().iter().zip(r.as_slice()) {
                assert!((a.abs() - b.abs()).abs() < 1e-10, "{a} {b}");
            }
        }
    }

    #[test]
    fn both_ways_to_the_factor_agree_and_extreme_scales_take_the_slow_one() {
        let x = Matrix::from_fn(5000, 4, |i, j| ((i + 1) as f64 * (j as f64 + 0.3)).sin() + j as f64);
        let copy = |scale: f64| {
            let x = &x;
            move |first: usize, tile: &mut [f64]| {
                let from = &x.as_slice()[first * 4..][..tile.len()];
                tile.iter_mut().zip(from).for_each(|(to, from)| *to = scale * from);
                Ok(())
            }
        };
        let fast = by_triangle(5000, 4, &copy(1.0)).unwrap().unwrap();
        let slow = by_tiles(5000, 4, &copy(1.0)).unwrap();
        for (a, b) in fast.as_slice().iter().zip(slow.as_slice()) {
            assert!((a.abs() - b.abs()).abs() < 1e-11, "{a} {b}");
        }
        for scale in [0.0, 1e-200, 1e200] {
            assert!(by_triangle(5000, 4, &copy(scale)).unwrap().is_none());
            let r = r_factor_of_rows(5000, 4, copy(scale)).unwrap();
            assert!(
                (r[(0, 0)].abs() - scale * slow[(0, 0)].abs()).abs() <= 1e-13 * scale * slow[(0, 0)].abs()
            );
        }
    }

    #[test]
    fn the_error_of_the_first_bad_row_is_the_one_reported() {
        let mut x = Matrix::from_fn(20_000, 3, |i, j| (i * 3 + j) as f64);
        x[(15_000, 2)] = f64::NAN;
        x[(9_000, 1)] = f64::INFINITY;
        let error = r_factor(argument("test", "X"), &x.view()).unwrap_err();
        assert!(matches!(error, LinearError::NotFinite { row: 9_000, column: 1, .. }), "{error}");
    }

    #[test]
    fn a_merge_keeps_a_dependency_of_one_in_a_million_millions() {
        let x = Matrix::from_fn(100_000, 2, |i, j| {
            let base = (i as f64 * 0.37).sin();
            if j == 0 { base } else { base + 1e-12 * (i as f64 * 0.91).cos() }
        });
        let r = r_factor(argument("test", "X"), &x.view()).unwrap();
        let relative = r[(1, 1)].abs() / r[(0, 0)].abs();
        assert!((0.9e-12..1.1e-12).contains(&relative), "{relative:e}");
    }
}
