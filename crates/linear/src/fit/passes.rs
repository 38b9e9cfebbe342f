//! The passes over the rows of `X` that every fit is made of. All reading of the data happens here.
//!
//! Rows are read in tiles of at most [`TILE`] rows, converted to f64 into a small buffer that stays in cache,
//! and used while they are there. Three products are all that is needed:
//!
//! ```text
//! times               tile · w            (t × p)(p)     → t          predictions
//! transposed times    tileᵀ · v           (p × t)(t)     → p          gradients
//! gram                tileᵀ · tile        (p × t)(t × p) → p × p      second moments, Hessians
//! ```
//!
//! Threads never change a bit of the result: rows are cut into chunks at boundaries that depend on the shape
//! alone, each chunk is summed in order, and the chunks are added in order. Where the p × p result is large,
//! keeping one per chunk would cost more than it gains; then the tiles come one after another and the *result*
//! is cut into column blocks, each summed in order by whoever takes it.

use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;
use spanwise_kernels::{Element, Matrix, View};
use std::ops::Range;

/// Rows of one tile.
pub(crate) const TILE: usize = 256;

/// At most so many chunks, each with its own accumulator.
const CHUNKS: usize = 32;

/// From this width on one accumulator is shared and cut by columns.
const SHARED_WIDTH: usize = 320;

/// Columns of one block of a shared accumulator.
const BLOCK: usize = 128;

/// `0..n` cut at boundaries that depend on `n` alone, each but the last a whole number of tiles.
pub(crate) fn chunks(n: usize) -> Vec<Range<usize>> {
    let rows = n.div_ceil(CHUNKS).next_multiple_of(TILE).max(TILE);
    (0..n.div_ceil(rows)).map(|c| c * rows..((c + 1) * rows).min(n)).collect()
}

/// The tiles of a chunk, in order.
pub(crate) fn tiles(chunk: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = chunk.end;
    chunk.step_by(TILE).map(move |start| start..(start + TILE).min(end))
}

/// `work` on every chunk of `0..n` in parallel; the results in order of the chunks.
pub(crate) fn map_chunks<A: Send>(n: usize, work: impl Fn(Range<usize>) -> A + Send + Sync) -> Vec<A> {
    chunks(n).into_par_iter().map(work).collect()
}

/// Rows `rows` of `x` (n × p) as f64: row `i` starts at `i · stride` of `tile`.
pub(crate) fn load<T: Element>(x: &View<'_, T>, rows: Range<usize>, stride: usize, tile: &mut [f64]) {
    let columns = x.transposed();
    if let [_, 1] = x.strides() {
        for (i, out) in rows.zip(tile.chunks_mut(stride)) {
            let row = x.row(&[i]).unwrap_or(&[]);
            out.iter_mut().zip(row).for_each(|(out, v)| *out = v.to_f64());
        }
    } else if let [1, _] = x.strides() {
        for j in 0..x.dims()[1] {
            let column = columns.row(&[j]).map_or(&[][..], |column| &column[rows.clone()]);
            column.iter().zip(tile.iter_mut().skip(j).step_by(stride)).for_each(|(v, out)| *out = v.to_f64());
        }
    } else {
        for (i, out) in rows.zip(tile.chunks_mut(stride)) {
            let row = x.at(i);
            out.iter_mut().zip(row.iter().flat_map(View::iter)).for_each(|(out, v)| *out = v.to_f64());
        }
    }
}

/// Some rows of `X`, shifted, with a 1 appended where there is an intercept (t × width), and the three products of
/// them that an iteration needs. The rows are read once and stay in cache between the products.
pub(crate) struct Block {
    width: usize,
    tile: Vec<f64>,
    scaled: Vec<f64>,
}

impl Block {
    /// Room for [`TILE`] rows.
    pub(crate) fn new(width: usize) -> Self {
        Block { width, tile: Vec::with_capacity(TILE * width), scaled: Vec::new() }
    }

    /// Reads `rows`; `shift` has one entry per column of `x`, and what is left of the width is 1.
    pub(crate) fn read<T: Element>(&mut self, x: &View<'_, T>, rows: Range<usize>, shift: &[f64]) {
        self.tile.resize(rows.len() * self.width, 0.0);
        let by_rows = matches!(x.strides(), [_, 1]);
        if !by_rows {
            load(x, rows.clone(), self.width, &mut self.tile);
        }
        for (i, row) in rows.zip(self.tile.chunks_exact_mut(self.width)) {
            let (features, rest) = row.split_at_mut(shift.len());
            rest.fill(1.0);
            match x.row(&[i]).filter(|_| by_rows) {
                Some(from) => {
                    let shifted = from.iter().zip(shift).map(|(v, c)| v.to_f64() - c);
                    features.iter_mut().zip(shifted).for_each(|(to, v)| *to = v);
                }
                None => features.iter_mut().zip(shift).for_each(|(v, c)| *v -= c),
            }
        }
    }

    /// `out = block · w`.
    pub(crate) fn times(&self, w: &[f64], out: &mut [f64]) {
        for (row, out) in self.tile.chunks_exact(self.width).zip(out) {
            *out = dot(row, w);
        }
    }

    /// `sums += blockᵀ · v`.
    pub(crate) fn add_transposed_times(&self, v: &[f64], sums: &mut [f64]) {
        add_tile_transposed_times(&self.tile, v, sums);
    }

    /// `sums += blockᵀ · diag(weights) · block`, lower half only; no weight is negative.
    pub(crate) fn add_gram(&mut self, weights: &[f64], sums: MatMut<'_, f64>) {
        self.scaled.resize(self.tile.len(), 0.0);
        let rows = self.tile.chunks_exact(self.width).zip(self.scaled.chunks_exact_mut(self.width));
        for ((from, to), weight) in rows.zip(weights) {
            let root = weight.sqrt();
            to.iter_mut().zip(from).for_each(|(to, v)| *to = root * v);
        }
        add_tile_gram(&self.scaled, self.width, sums);
    }
}

/// `sums += tileᵀ · v` for a row-major tile (t × p).
fn add_tile_transposed_times(tile: &[f64], v: &[f64], sums: &mut [f64]) {
    for (row, &v) in tile.chunks_exact(sums.len()).zip(v) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += v * x);
    }
}

/// `sums += tileᵀ · tile`, lower half only, for a row-major tile (t × width).
fn add_tile_gram(tile: &[f64], width: usize, sums: MatMut<'_, f64>) {
    let tile = MatRef::from_row_major_slice(tile, tile.len() / width, width);
    triangular_matmul(
        sums,
        BlockStructure::TriangularLower,
        Accum::Add,
        tile.transpose(),
        BlockStructure::Rectangular,
        tile,
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
}

/// Eight partial sums, so that the additions do not wait for each other.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a8.zip(b8) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (b + f)) + ((c + g) + (d + h)) + rest
}

/// `AᵀA` (width × width, both halves) of a matrix of `rows` × `width` that `pack` writes tile by tile, row-major.
pub(crate) fn gram(rows: usize, width: usize, pack: impl Fn(Range<usize>, &mut [f64]) + Sync) -> Mat<f64> {
    let mut sums = if width < SHARED_WIDTH {
        let parts = map_chunks(rows, |chunk| {
            let mut sums = Mat::zeros(width, width);
            let mut tile = vec![0.0; TILE * width];
            for range in tiles(chunk) {
                let tile = &mut tile[..range.len() * width];
                pack(range, tile);
                add_tile_gram(tile, width, sums.as_mut());
            }
            sums
        });
        let mut parts = parts.into_iter();
        let first = parts.next().unwrap_or_else(|| Mat::zeros(width, width));
        parts.fold(first, |sums, part| sums + part)
    } else {
        gram_in_blocks(rows, width, &pack)
    };
    mirror(sums.as_mut());
    sums
}

/// The lower half of `AᵀA` where the result is large: four tiles at a time, the result cut by columns.
fn gram_in_blocks(rows: usize, width: usize, pack: &(impl Fn(Range<usize>, &mut [f64]) + Sync)) -> Mat<f64> {
    let mut sums = Mat::zeros(width, width);
    let batch = 4 * TILE;
    let mut buffer = vec![0.0; batch.min(rows) * width];
    for start in (0..rows).step_by(batch) {
        let end = (start + batch).min(rows);
        let filled = &mut buffer[..(end - start) * width];
        let quarter = (TILE / 4) * width;
        filled.par_chunks_mut(quarter).enumerate().for_each(|(q, tile)| {
            let first = start + q * (TILE / 4);
            pack(first..first + tile.len() / width, tile);
        });
        let tile = MatRef::from_row_major_slice(&*filled, end - start, width);
        sums.par_col_chunks_mut(BLOCK).enumerate().for_each(|(b, block)| {
            // Columns j.. of the result need the rows from j on: the lower half, with the diagonal block whole.
            let (j, cols) = (b * BLOCK, block.ncols());
            let lower = block.subrows_mut(j, width - j);
            let (left, right) = (tile.subcols(j, width - j), tile.subcols(j, cols));
            faer::linalg::matmul::matmul(lower, Accum::Add, left.transpose(), right, 1.0, Par::Seq);
        });
    }
    sums
}

/// `Σ ωᵢ·aᵢaᵢᵀ` with `aᵢ = (xᵢ − shift, yᵢ − y_shift, 1)`: (p + 2) × (p + 2), both halves.
pub(crate) fn second_moments<T: Element>(
    x: &View<'_, T>,
    y: &[f64],
    weights: Option<&[f64]>,
    shift: &[f64],
    y_shift: f64,
) -> Mat<f64> {
    let (n, p) = (x.dims()[0], x.dims()[1]);
    let width = p + 2;
    gram(n, width, |rows, tile| {
        load(x, rows.clone(), width, tile);
        for (i, row) in rows.zip(tile.chunks_exact_mut(width)) {
            let root = weights.map_or(1.0, |w| w[i].sqrt());
            row[p] = (y[i] - y_shift) * root;
            row[p + 1] = root;
            row.iter_mut().zip(shift).for_each(|(v, c)| *v = (*v - c) * root);
        }
    })
}

/// `ZZᵀ` (n × n) with the rows `rootsᵢ·(xᵢ − centre)`: each column of `X` is one row of the sum.
pub(crate) fn row_products<T: Element>(x: &View<'_, T>, centre: &[f64], roots: &[f64]) -> Mat<f64> {
    let (n, p) = (x.dims()[0], x.dims()[1]);
    let columns = x.transposed();
    gram(p, n, |cols, tile| {
        load(&columns, cols.clone(), n, tile);
        for (j, column) in cols.zip(tile.chunks_exact_mut(n)) {
            column.iter_mut().zip(roots).for_each(|(v, root)| *v = (*v - centre[j]) * root);
        }
    })
}

/// Copies the lower half onto the upper, in small squares: one side of a copy always jumps, and only a square of it
/// stays in cache.
pub(crate) fn mirror(mut square: MatMut<'_, f64>) {
    const SIDE: usize = 32;
    let n = square.ncols();
    for first_column in (0..n).step_by(SIDE) {
        for first_row in (0..=first_column).step_by(SIDE) {
            for j in first_column..(first_column + SIDE).min(n) {
                for i in first_row..(first_row + SIDE).min(j) {
                    square[(i, j)] = square[(j, i)];
                }
            }
        }
    }
}

/// `X · Wᵀ + b`: one column of the result (n × k) per row of `w` (k × p) and entry of `b` (k).
pub(crate) fn times<T: Element>(x: &View<'_, T>, w: &Matrix, b: &[f64]) -> Matrix {
    let (n, p, k) = (x.dims()[0], w.cols(), w.rows());
    let mut out = Matrix::zeros(n, k);
    if n == 0 || k == 0 {
        return out;
    }
    out.as_mut_slice().par_chunks_mut(TILE * k).enumerate().for_each(|(t, out)| {
        let rows = out.len() / k;
        let mut tile = vec![0.0; rows * p];
        load(x, t * TILE..t * TILE + rows, p, &mut tile);
        for (row, out) in tile.chunks_exact(p).zip(out.chunks_exact_mut(k)) {
            for (c, out) in out.iter_mut().enumerate() {
                *out = dot(row, w.row(c)) + b[c];
            }
        }
    });
    out
}

/// `Xᵀ · v` (p).
pub(crate) fn transposed_times<T: Element>(x: &View<'_, T>, v: &[f64]) -> Vec<f64> {
    let (n, p) = (x.dims()[0], x.dims()[1]);
    let parts = map_chunks(n, |chunk| {
        let mut sums = vec![0.0; p];
        let mut tile = vec![0.0; TILE * p];
        for range in tiles(chunk) {
            let tile = &mut tile[..range.len() * p];
            load(x, range.clone(), p, tile);
            add_tile_transposed_times(tile, &v[range], &mut sums);
        }
        sums
    });
    let mut sums = vec![0.0; p];
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
    }
    sums
}

/// A point near the middle of the rows (p): the weighted mean of up to 256 rows of positive weight, taken evenly.
/// Subtracting it before squares are formed keeps the digits that a large common offset would push out.
pub(crate) fn near_mean<T: Element>(x: &View<'_, T>, weights: Option<&[f64]>) -> Vec<f64> {
    let (n, p) = (x.dims()[0], x.dims()[1]);
    let sampled = n.min(256);
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let mut mean = vec![0.0; p];
    let mut row = vec![0.0; p];
    let mut total = 0.0;
    for s in 0..sampled {
        let part = s * n / sampled..(s + 1) * n / sampled;
        let Some(i) = part.into_iter().find(|&i| weight(i) > 0.0) else { continue };
        load(x, i..i + 1, p, &mut row);
        total += weight(i);
        let share = weight(i) / total;
        mean.iter_mut().zip(&row).for_each(|(mean, v)| *mean += share * (v - *mean));
    }
    mean
}

#[cfg(test)]
#[path = "tests/passes.rs"]
mod tests;
