//! The passes over the rows of `X` that every fit is made of.
//!
//! ```text
//! times               X · w                  predictions
//! transposed times    Xᵀ · v                 gradients
//! second moments      [X, y, 1]ᵀ·W·[X, y, 1]
//! gram                AᵀA                    of rows that are computed as they are needed
//! ```
//!
//! The loops themselves are in `spanwise_kernels::tall`; what is read here and there besides goes tile by tile, at most
//! [`TILE`] rows converted to f64 into a small buffer that stays in cache. Threads never change a bit of a result: rows are
//! cut at boundaries that depend on the shape alone, and partial sums are added in a fixed order.

use crate::dense::Packed;
use crate::summary::offsets_are_small;
use faer::Mat;
use spanwise_kernels::tall::{self, NoColumns, Tall};
use spanwise_kernels::{Element, Matrix, View, crew, stop};
use std::ops::Range;

/// Rows of one tile.
pub(crate) const TILE: usize = 256;

/// At most so many chunks, each with its own accumulator.
const CHUNKS: usize = 32;

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

/// `work` on every chunk of `0..n` in parallel, a row of which takes about `cost` multiplications; the results in order of the chunks.
pub(crate) fn map_chunks<A: Send>(n: usize, cost: usize, work: impl Fn(Range<usize>) -> A + Sync) -> Vec<A> {
    crew::map(n * cost, chunks(n).into_iter(), |chunk| {
        stop::check();
        work(chunk)
    })
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

/// `Σ ωᵢ·(yᵢ − c)`: chunk by chunk in parallel, and eight sums to a chunk.
pub(crate) fn weighted_sum(y: &[f64], weights: Option<&[f64]>, c: f64) -> f64 {
    let of_chunk = |rows: Range<usize>| {
        let mut lanes = [0.0; 8];
        let eights = y[rows.clone()].chunks(8);
        if let Some(weights) = weights {
            for (y, w) in eights.zip(weights[rows].chunks(8)) {
                lanes.iter_mut().zip(y).zip(w).for_each(|((sum, y), w)| *sum += w * (y - c));
            }
        } else {
            eights.for_each(|y| lanes.iter_mut().zip(y).for_each(|(sum, y)| *sum += y - c));
        }
        lanes.iter().sum::<f64>()
    };
    map_chunks(y.len(), 8, of_chunk).iter().sum()
}

/// The first `width` rows and columns of a symmetric matrix.
fn leading(square: &Matrix, width: usize) -> Mat<f64> {
    Mat::from_fn(width, width, |i, j| square[(j, i)])
}

/// `AᵀA` (width × width, both halves) of a matrix of `rows` × `width` that `pack` writes tile by tile, row-major.
pub(crate) fn gram(rows: usize, width: usize, pack: impl Fn(Range<usize>, &mut [f64]) + Sync) -> Mat<f64> {
    let (x, shift) = (Packed { rows, cols: width, pack }, vec![0.0; width]);
    leading(&tall::gram(&Tall { x: &x, y: &NoColumns(rows), weights: None, shift: &shift }), width)
}

/// `Σ ωᵢ·aᵢaᵢᵀ` with `aᵢ = (xᵢ − shift, yᵢ − y_shift, 1)`: (p + 2) × (p + 2), both halves.
pub(crate) fn second_moments<T: Element>(
    x: &View<'_, T>,
    y: &[f64],
    weights: Option<&[f64]>,
    shift: &[f64],
    y_shift: f64,
) -> Matrix {
    let shift: Vec<f64> = shift.iter().copied().chain([y_shift]).collect();
    let y = View::new(y, &[y.len()]).expect("a slice has one dimension");
    tall::gram(&Tall { x, y: &y, weights, shift: &shift })
}

/// `X · Wᵀ + b`: one column of the result (n × k) per row of `w` (k × p) and entry of `b` (k).
pub(crate) fn times<T: Element>(x: &View<'_, T>, w: &Matrix, b: &[f64]) -> Matrix {
    /// Rows that stay in cache while all k products are formed.
    const ROWS: usize = 4 * TILE;
    let (n, p, k) = (x.dims()[0], w.cols(), w.rows());
    let mut out = Matrix::zeros(n, k);
    if n == 0 || k == 0 {
        return out;
    }
    if k == 1 {
        tall::multiply(x, w.row(0), b[0], out.as_mut_slice());
        return out;
    }
    crew::each(n * p * k, out.as_mut_slice().chunks_mut(ROWS * k).enumerate(), |(t, out)| {
        let rows = out.len() / k;
        let mut tile = vec![0.0; rows * p];
        load(x, t * ROWS..t * ROWS + rows, p, &mut tile);
        let tile = View::new(&tile, &[rows, p]).expect("whole rows");
        let mut products = vec![0.0; rows];
        for (c, offset) in b.iter().enumerate() {
            tall::multiply(&tile, w.row(c), *offset, &mut products);
            out.iter_mut().skip(c).step_by(k).zip(&products).for_each(|(out, v)| *out = *v);
        }
    });
    out
}

/// `Xᵀ · v` (p).
pub(crate) fn transposed_times<T: Element>(x: &View<'_, T>, v: &[f64]) -> Vec<f64> {
    tall::transpose_multiply(x, v)
}

/// A point near the middle of the rows (p): the weighted mean of up to 256 rows of positive weight, taken evenly.
/// Subtracting it before squares are formed keeps the digits that a large common offset would push out; where no offset is large
/// it is 0, and rows are used as they lie.
pub(crate) fn near_mean<T: Element>(x: &View<'_, T>, weights: Option<&[f64]>) -> Vec<f64> {
    let (n, p) = (x.dims()[0], x.dims()[1]);
    let sampled = n.min(256);
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let (mut mean, mut square) = (vec![0.0; p], vec![0.0; p]);
    let mut row = vec![0.0; p];
    let mut total = 0.0;
    for s in 0..sampled {
        let part = s * n / sampled..(s + 1) * n / sampled;
        let Some(i) = part.into_iter().find(|&i| weight(i) > 0.0) else { continue };
        load(x, i..i + 1, p, &mut row);
        total += weight(i);
        let share = weight(i) / total;
        mean.iter_mut().zip(&row).for_each(|(mean, v)| *mean += share * (v - *mean));
        square.iter_mut().zip(&row).for_each(|(square, v)| *square += share * (v * v - *square));
    }
    if offsets_are_small(&mean, &square) {
        mean.fill(0.0);
    }
    mean
}

#[cfg(test)]
#[path = "tests/passes.rs"]
mod tests;
