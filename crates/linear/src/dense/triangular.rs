//! Solving with an upper triangle R stored row after row. The other triangle is never read.
//!
//! A solution uses each number of R once, so where R is megabytes it takes as long as R takes to read, and two threads read faster
//! than one: rows go by blocks, within a block one after another, and what a block has to do with the rest in parallel.

use super::{axpy, dot};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{MatMut, MatRef, Par};
use spanwise_kernels::{Matrix, crew};

/// Rows of a block; up to twice as many are one block.
const BLOCK: usize = 512;
/// Numbers of a row, or rows of a block, that are a work item.
const COLUMNS: usize = 256;
const ROWS: usize = 32;
/// Rows of an inverse that are a work item.
const INVERTED: usize = 64;
/// What a number of R costs, in multiplications at full speed: it has to come from memory.
const COST: usize = 8;

/// Solves `R x = b` in place.
pub(crate) fn solve_upper(r: &Matrix, b: &mut [f64]) {
    let n = b.len();
    if n <= 2 * BLOCK {
        return solve_upper_block(r, b, 0);
    }
    for first in (0..n).step_by(BLOCK).rev() {
        let (known, solved) = b[first..].split_at_mut(BLOCK.min(n - first));
        let (next, solved) = (first + known.len(), &*solved);
        let cost = COST * known.len() * solved.len();
        crew::each(cost, known.chunks_mut(ROWS).enumerate(), |(c, known)| {
            for (i, b) in (first + c * ROWS..).zip(known) {
                *b -= dot(&r.row(i)[next..n], solved);
            }
        });
        solve_upper_block(r, known, first);
    }
}

/// The same of the block on the diagonal that starts at `first` and has as many rows as `b`.
fn solve_upper_block(r: &Matrix, b: &mut [f64], first: usize) {
    let end = first + b.len();
    for i in (0..b.len()).rev() {
        let row = &r.row(first + i)[first + i..end];
        b[i] = (b[i] - dot(&row[1..], &b[i + 1..])) / row[0];
    }
}

/// Solves `Rᵀ x = b` in place.
pub(crate) fn solve_upper_transposed(r: &Matrix, b: &mut [f64]) {
    let n = b.len();
    if n <= 2 * BLOCK {
        return solve_transposed_block(r, b, 0);
    }
    for first in (0..n).step_by(BLOCK) {
        let (known, rest) = b[first..].split_at_mut(BLOCK.min(n - first));
        solve_transposed_block(r, known, first);
        let (next, known) = (first + known.len(), &*known);
        let cost = COST * known.len() * rest.len();
        crew::each(cost, rest.chunks_mut(COLUMNS).enumerate(), |(c, rest)| {
            for (i, x) in (first..).zip(known) {
                axpy(rest, -x, &r.row(i)[next + c * COLUMNS..][..rest.len()]);
            }
        });
    }
}

/// The same of the block on the diagonal that starts at `first` and has as many rows as `b`.
fn solve_transposed_block(r: &Matrix, b: &mut [f64], first: usize) {
    let end = first + b.len();
    for i in 0..b.len() {
        let row = &r.row(first + i)[first + i..end];
        b[i] /= row[0];
        let x = b[i];
        axpy(&mut b[i + 1..], -x, &row[1..]);
    }
}

/// R⁻¹, upper, for its entries alone. [`INVERTED`] of its rows at a time, each set by itself.
pub(crate) fn invert_upper(r: &Matrix) -> Matrix {
    let n = r.rows();
    let mut inverse = Matrix::zeros(n, n);
    // Row-major upper is column-major lower, and the inverse of the transpose is the transpose of the inverse.
    let lower = MatRef::from_column_major_slice(r.as_slice(), n, n);
    let rows = inverse.as_mut_slice().chunks_mut((INVERTED * n).max(1)).enumerate();
    crew::each(n * n * n / 6, rows, |(c, rows)| {
        let (first, count) = (c * INVERTED, rows.len() / n);
        (0..count).for_each(|i| rows[i * n + first + i] = 1.0);
        let columns = MatMut::from_column_major_slice_mut(rows, n, count).subrows_mut(first, n - first);
        let lower = lower.submatrix(first, first, n - first, n - first);
        solve_lower_triangular_in_place(lower, columns, Par::Seq);
    });
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solving_and_inverting_undo_the_product() {
        for n in [0, 1, 3, 40, 2 * INVERTED + 5, 2 * BLOCK, 2 * BLOCK + 1, 3 * BLOCK + 77] {
            let r = Matrix::from_fn(n, n, |i, j| match i.cmp(&j) {
                std::cmp::Ordering::Less => 1.0 / (1.0 + i as f64 + j as f64),
                std::cmp::Ordering::Equal => 1.0 + i as f64,
                std::cmp::Ordering::Greater => 0.0,
            });
            let x: Vec<f64> = (0..n).map(|i| i as f64 - 1.5).collect();
            let mut b: Vec<f64> = (0..n).map(|i| (0..n).map(|j| r[(i, j)] * x[j]).sum()).collect();
            let mut c: Vec<f64> = (0..n).map(|i| (0..n).map(|j| r[(j, i)] * x[j]).sum()).collect();
            // What lies below the diagonal is not looked at.
            let filled = Matrix::from_fn(n, n, |i, j| if i > j { 9.0 } else { r[(i, j)] });
            solve_upper(&filled, &mut b);
            solve_upper_transposed(&filled, &mut c);
            let (inverse, tolerance) = (invert_upper(&filled), 1e-13 * n.max(10) as f64);
            for i in 0..n {
                assert!((b[i] - x[i]).abs() < tolerance && (c[i] - x[i]).abs() < tolerance);
                let row: f64 = (0..n).map(|j| r[(i, j)] * inverse[(j, n - 1)]).sum();
                assert!((row - f64::from(u8::from(i == n - 1))).abs() < 1e-12);
            }
        }
    }
}
