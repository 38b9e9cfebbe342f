//! Blocks of rows into the two shapes the kernels compute with.
//!
//! ```text
//!  panels   W = LANES columns side by side, rows one after another    out[p·W·stride + k·W + lane]    for outer products
//!  columns  one column after another                                  out[j·stride + k]               for dot products
//! ```
//!
//! Both subtract the shift and multiply row `k` by `roots[k]` (the square root of its weight) on the way, so a
//! weighted, centred table costs no pass of its own.

use super::{Block, Layout};
use crate::simd::Lanes;
use std::ops::Range;

/// Rows of row-major memory that go through all panels before the next ones.
const ROWS_AT_ONCE: usize = 16;

/// What is packed: `t` rows of [X, Y, 1], shifted and weighted.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub x: Block<'a>,
    pub y: Block<'a>,
    /// Square roots of the rows' weights.
    pub roots: Option<&'a [f64]>,
    /// Of x, then of y.
    pub shift: &'a [f64],
}

impl Rows<'_> {
    #[inline(always)]
    fn root(&self, k: usize) -> f64 {
        self.roots.map_or(1.0, |roots| roots[k])
    }

    /// Column `column ≥ d` into one lane of a panel: a shifted target, or the ones.
    #[inline(always)]
    fn extra_lane(&self, column: usize, lane: usize, lanes: usize, out: &mut [f64]) {
        let target = column - self.x.cols();
        let rows = out.chunks_exact_mut(lanes).take(self.x.rows());
        if target >= self.y.cols() {
            rows.for_each(|row| row[lane] = 1.0);
        } else {
            let (first, step) = match self.y.layout() {
                Layout::Rows { stride } => (target, stride.max(1)),
                Layout::Columns { stride } => (target * stride, 1),
            };
            let (values, shift) = (self.y.data()[first..].iter().step_by(step), self.shift[column]);
            rows.zip(values).for_each(|(row, y)| row[lane] = y - shift);
        }
        if let Some(roots) = self.roots {
            out.chunks_exact_mut(lanes).zip(roots).for_each(|(row, root)| row[lane] *= root);
        }
    }
}

/// Panels `panels` of [X, Y, 1] into `out`, which starts at the first of them; `stride` rows to a panel.
///
/// Lanes beyond the last column are not written: they must be zero already.
#[inline(always)]
pub(super) fn panels<S: Lanes<f64>>(
    isa: S,
    rows: &Rows<'_>,
    panels: Range<usize>,
    stride: usize,
    out: &mut [f64],
) {
    let (w, d) = (S::LANES, rows.x.cols());
    let width = d + rows.y.cols() + 1;
    if let Layout::Rows { .. } = rows.x.layout() {
        // A few rows at a time through all panels: their cache lines are shared by neighbouring panels.
        for start in (0..rows.x.rows()).step_by(ROWS_AT_ONCE) {
            let some = start..rows.x.rows().min(start + ROWS_AT_ONCE);
            for p in panels.start..panels.end.min(d.div_ceil(w)) {
                let out = &mut out[(p - panels.start) * stride * w..][..stride * w];
                if (p + 1) * w <= d {
                    panel_of_rows::<S, true>(isa, rows, p * w, some.clone(), out);
                } else {
                    panel_of_rows::<S, false>(isa, rows, p * w, some.clone(), out);
                }
            }
        }
    }
    for p in panels.clone() {
        let out = &mut out[(p - panels.start) * stride * w..][..stride * w];
        let first = p * w;
        if first < d
            && let Layout::Columns { .. } = rows.x.layout()
        {
            panel_of_columns(isa, rows, first, w.min(d - first), out);
        }
        for column in first.max(d)..width.min(first + w) {
            rows.extra_lane(column, column - first, w, out);
        }
    }
}

/// Columns `first ..` of some rows of row-major memory: each row gives one vector.
#[inline(always)]
fn panel_of_rows<S: Lanes<f64>, const FULL: bool>(
    isa: S,
    rows: &Rows<'_>,
    first: usize,
    some: Range<usize>,
    out: &mut [f64],
) {
    let Layout::Rows { stride } = rows.x.layout() else { return };
    let (data, d) = (rows.x.data(), rows.x.cols());
    let count = S::LANES.min(d - first);
    let shift = isa.load_first(&rows.shift[first..first + count]);
    let out = &mut out[some.start * S::LANES..some.end * S::LANES];
    for (k, to) in some.zip(out.chunks_exact_mut(S::LANES)) {
        let from = &data[k * stride + first..][..count];
        let v = isa.sub(if FULL { isa.load(from) } else { isa.load_first(from) }, shift);
        isa.store(if rows.roots.is_some() { isa.mul(v, isa.splat(rows.root(k))) } else { v }, to);
    }
}

/// Columns `first .. first + count` of column-major memory: squares of LANES rows, transposed.
#[inline(always)]
fn panel_of_columns<S: Lanes<f64>>(isa: S, rows: &Rows<'_>, first: usize, count: usize, out: &mut [f64]) {
    let Layout::Columns { stride } = rows.x.layout() else { return };
    let (data, t, w) = (rows.x.data(), rows.x.rows(), S::LANES);
    for k in (0..t).step_by(w) {
        let height = w.min(t - k);
        let mut square = isa.square(isa.zero());
        for (i, v) in square.as_mut().iter_mut().enumerate().take(count) {
            let from = &data[(first + i) * stride + k..][..height];
            let loaded = if height == w { isa.load(from) } else { isa.load_first(from) };
            *v = isa.sub(loaded, isa.splat(rows.shift[first + i]));
        }
        let square = isa.transpose(square);
        for (i, &v) in square.as_ref().iter().enumerate().take(height) {
            let v = if rows.roots.is_some() { isa.mul(v, isa.splat(rows.root(k + i))) } else { v };
            isa.store(v, &mut out[(k + i) * w..]);
        }
    }
}

/// The columns of X alone, one after another, `stride` apart; rows beyond the block up to the next multiple of LANES
/// become zero. No shift, no weight.
#[inline(always)]
pub(super) fn columns<S: Lanes<f64>>(isa: S, x: &Block<'_>, stride: usize, out: &mut [f64]) {
    let (t, d, w) = (x.rows(), x.cols(), S::LANES);
    let padded = t.next_multiple_of(w);
    match x.layout() {
        Layout::Columns { stride: from } => {
            for j in 0..d {
                let to = &mut out[j * stride..][..padded];
                to[..t].copy_from_slice(&x.data()[j * from..][..t]);
                to[t..].fill(0.0);
            }
        }
        Layout::Rows { stride: from } => {
            for k in (0..t).step_by(w) {
                let height = w.min(t - k);
                for j in (0..d).step_by(w) {
                    let count = w.min(d - j);
                    let mut square = isa.square(isa.zero());
                    for (i, v) in square.as_mut().iter_mut().enumerate().take(height) {
                        let row = &x.data()[(k + i) * from + j..][..count];
                        *v = if count == w { isa.load(row) } else { isa.load_first(row) };
                    }
                    let square = isa.transpose(square);
                    for (i, &v) in square.as_ref().iter().enumerate().take(count) {
                        isa.store(v, &mut out[(j + i) * stride + k..]);
                    }
                }
            }
        }
    }
}

/// Shifts a packed column and multiplies it by the roots.
#[inline(always)]
pub(super) fn shift_and_weight(column: &mut [f64], shift: f64, roots: Option<&[f64]>) {
    match roots {
        Some(roots) => {
            for (x, root) in column.iter_mut().zip(roots) {
                *x = (*x - shift) * root;
            }
        }
        None => {
            for x in column {
                *x -= shift;
            }
        }
    }
}
