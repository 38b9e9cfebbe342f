//! Ridge regression where squares are not enough: the triangular factor of the data and its singular values.
//!
//! ```text
//! primal   [Z | t] is reduced to its triangular factor [R | c] batch by batch (batches of a few thousand rows;
//!          a Householder factorisation of much taller input would drop columns it believes to be rounding)
//!          A = [R; √α·I] with its columns scaled to unit length, right-hand side [c; 0]
//! dual     A = Z (n × p) itself, each singular value σ answering σ/(σ² + α)
//! ```
//!
//! Scaling the columns makes the decision about rank independent of the user's units. Where the rank is short, many
//! solutions fit equally well; the one of least norm *in the user's units* is returned, as the limit α → 0 gives.

use super::factor;
use super::moments::{Data, Method, Moments, Solution};
use super::passes;
use crate::dense::svd_of;
use faer::linalg::svd::ComputeSvdVectors;
use faer::{Mat, MatRef};
use spanwise_kernels::Element;

/// Singular values below this share of the largest count as 0.
fn cut_off(rows: usize, cols: usize) -> f64 {
    8.0 * f64::EPSILON * rows.max(cols) as f64
}

pub(crate) fn solve<T: Element>(data: &Data<'_, T>, moments: &Moments, alpha: f64) -> Solution {
    let w = if moments.dual { dual(data, moments, alpha) } else { primal(data, moments, alpha) };
    let residual = moments.residual(data, &w);
    Solution { w, residual_square: passes::dot(&residual, &residual), method: Method::Singular }
}

fn dual<T: Element>(data: &Data<'_, T>, moments: &Moments, alpha: f64) -> Vec<f64> {
    let (n, p) = (data.rows(), data.cols());
    let z = rows_centred(data, moments, 0..n).subcols(0, p).to_owned();
    let Some((u, s, v)) = svd_of(z, ComputeSvdVectors::Thin) else { return vec![0.0; p] };
    let cut = s.first().copied().unwrap_or(0.0) * cut_off(n, p);
    let mut w = vec![0.0; p];
    for (k, &sigma) in s.iter().enumerate().filter(|&(_, &sigma)| sigma > cut) {
        let along = passes::dot(u.col_as_slice(k), &moments.right) * sigma / (sigma * sigma + alpha);
        w.iter_mut().zip(v.col_as_slice(k)).for_each(|(w, v)| *w += along * v);
    }
    w
}

fn primal<T: Element>(data: &Data<'_, T>, moments: &Moments, alpha: f64) -> Vec<f64> {
    let p = data.cols();
    let r = triangular_factor(data, moments);
    let height = r.nrows();
    // A = [R; √α·I], unit columns; a zero column stays zero and gets no weight.
    let mut a = Mat::from_fn(height + p, p, |i, j| match i.checked_sub(height) {
        None => r[(i, j)],
        Some(k) if k == j => alpha.sqrt(),
        Some(_) => 0.0,
    });
    let lengths: Vec<f64> =
        (0..p).map(|j| passes::dot(a.col_as_slice(j), a.col_as_slice(j)).sqrt()).collect();
    for (j, &length) in lengths.iter().enumerate().filter(|&(_, &length)| length > 0.0) {
        a.col_as_slice_mut(j).iter_mut().for_each(|v| *v /= length);
    }
    let right: Vec<f64> = (0..height + p).map(|i| if i < height { r[(i, p)] } else { 0.0 }).collect();
    let Some((u, s, v)) = svd_of(a, ComputeSvdVectors::Thin) else { return vec![0.0; p] };
    let cut = s.first().copied().unwrap_or(0.0) * cut_off(p, p);
    let rank = s.iter().take_while(|&&sigma| sigma > cut).count();
    let mut w = vec![0.0; p];
    for (k, sigma) in s.iter().enumerate().take(rank) {
        let along = passes::dot(u.col_as_slice(k), &right) / sigma;
        w.iter_mut().zip(v.col_as_slice(k)).for_each(|(w, v)| *w += along * v);
    }
    // A zero column is a direction of the null space by itself, of any length: rounding in its place must not become one.
    let unscale = |j: usize, v: f64| if lengths[j] > 0.0 { v / lengths[j] } else { v };
    let mut w: Vec<f64> = w.into_iter().enumerate().map(|(j, w)| unscale(j, w)).collect();
    remove_null_part(&mut w, v.subcols(rank, p - rank), &unscale);
    w.iter_mut().zip(&lengths).filter(|(_, length)| **length == 0.0).for_each(|(w, _)| *w = 0.0);
    w
}

/// Subtracts from `w` its part in the null space, whose scaled basis is `null`: Gram–Schmidt, twice for each vector.
fn remove_null_part(w: &mut [f64], null: MatRef<'_, f64>, unscale: &impl Fn(usize, f64) -> f64) {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for k in 0..null.ncols() {
        let mut b: Vec<f64> = (0..w.len()).map(|j| unscale(j, null[(j, k)])).collect();
        for _ in 0..2 {
            for earlier in &basis {
                let along = passes::dot(earlier, &b);
                b.iter_mut().zip(earlier).for_each(|(b, e)| *b -= along * e);
            }
        }
        let length = passes::dot(&b, &b).sqrt();
        if length > 0.0 {
            for b in &mut b {
                *b /= length;
            }
            basis.push(b);
        }
    }
    for _ in 0..2 {
        for b in &basis {
            let along = passes::dot(b, w);
            w.iter_mut().zip(b).for_each(|(w, b)| *w -= along * b);
        }
    }
}

/// `[Z | t]` for some rows, centred and weighted (rows × (p + 1)).
fn rows_centred<T: Element>(data: &Data<'_, T>, moments: &Moments, rows: std::ops::Range<usize>) -> Mat<f64> {
    let p = data.cols();
    let mut tile = vec![0.0; rows.len() * (p + 1)];
    passes::load(&data.x, rows.clone(), p + 1, &mut tile);
    for (i, row) in rows.clone().zip(tile.chunks_exact_mut(p + 1)) {
        let root = data.root(i);
        row[p] = (data.y[i] - moments.y_centre) * root;
        row.iter_mut().zip(&moments.centre).for_each(|(v, c)| *v = (*v - c) * root);
    }
    MatRef::from_row_major_slice(&tile, rows.len(), p + 1).to_owned()
}

/// The triangular factor of `[Z | t]` ((p + 1) × (p + 1), or fewer rows).
fn triangular_factor<T: Element>(data: &Data<'_, T>, moments: &Moments) -> Mat<f64> {
    let (n, width) = (data.rows(), data.cols() + 1);
    let batch = (2 * width).clamp(512, 4096);
    let mut r: Mat<f64> = Mat::zeros(0, width);
    for start in (0..n).step_by(batch) {
        let rows = rows_centred(data, moments, start..(start + batch).min(n));
        let stacked = Mat::from_fn(r.nrows() + rows.nrows(), width, |i, j| {
            if i < r.nrows() { r[(i, j)] } else { rows[(i - r.nrows(), j)] }
        });
        r = factor::triangular(stacked);
    }
    r
}
