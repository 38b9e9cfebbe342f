//! QR of matrices with many rows, tile by tile.
//!
//! ```text
//! X = [X₁; X₂; …]      Xᵢ = Qᵢ Rᵢ                 in parallel, each tile in cache
//! [R₁; R₂; …] = Q' R   the same again, until one tile is left
//! Q = diag(Q₁, Q₂, …) Q'
//! ```
//!
//! As stable as one long Householder factorisation, and the tiles' boundaries depend on the shape alone.

use super::{Reflectors, load_rows, multiply};
use crate::LinearError;
use crate::check::Argument;
use rayon::prelude::*;
use spanwise_kernels::{Element, Matrix, View};

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
    let factored: Vec<Reflectors> =
        x.as_slice().par_chunks(tile * n).map(|rows| Reflectors::of_rows(rows, n)).collect();
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
    q.as_mut_slice().par_chunks_mut(tile * n).zip(&factored).zip(places).for_each(
        |((to, tile), (first, count))| {
            let part = Matrix::from_fn(count, n, |i, j| merged[(first + i, j)]);
            to.copy_from_slice(multiply(&tile.q(count), &part).as_slice());
        },
    );
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
    let tile = tile_rows(cols);
    let starts: Vec<usize> = (0..rows).step_by(tile).collect();
    let factors: Result<Vec<Matrix>, LinearError> = starts
        .par_iter()
        .map(|&first| {
            let mut values = vec![0.0; tile.min(rows - first) * cols];
            fill(first, &mut values)?;
            Ok(Reflectors::of_rows(&values, cols).r())
        })
        .collect();
    let mut factors = factors?;
    while factors.len() > 1 {
        let stack = stacked(&factors, cols);
        factors = stack
            .as_slice()
            .par_chunks(tile * cols.max(1))
            .map(|values| Reflectors::of_rows(values, cols).r())
            .collect();
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
