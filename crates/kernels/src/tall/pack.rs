//! Blocks of rows into the shapes the kernels compute with.
//!
//! ```text
//!  panels   eight columns side by side, rows one after another    out[p·8·stride + k·8 + lane]    for outer products
//!  rows     all columns side by side, rows one after another      out[k·stride + j]               for those of narrow tables
//!  columns  one column after another                              out[j·stride + k]               for dot products
//! ```
//!
//! All subtract the shift and multiply row `k` by `roots[k]` (the square root of its weight) on the way, so a
//! weighted, centred table costs no pass of its own. A row of a panel is one cache line. Row-major memory is read strictly
//! forward, a whole row at a time: only then does the machine fetch ahead.

use super::{Block, Layout, prefetch};
use crate::simd::Lanes;

/// Columns to a panel.
pub(crate) const PANEL: usize = 8;

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

    /// Column `column ≥ d` into one lane of its panel: a shifted target, or the ones.
    #[inline(always)]
    fn extra_column(&self, column: usize, stride: usize, out: &mut [f64]) {
        let (target, t) = (column - self.x.cols(), self.x.rows());
        let lane = column % PANEL;
        let (rows, _) = out[(column / PANEL) * stride * PANEL..][..t * PANEL].as_chunks_mut::<PANEL>();
        if target >= self.y.cols() {
            for row in rows.iter_mut() {
                row[lane] = 1.0;
            }
        } else if t > 0 {
            let (first, step) = match self.y.layout() {
                Layout::Rows { stride } => (target, stride.max(1)),
                Layout::Columns { stride } => (target * stride, 1),
            };
            let (values, shift) = (&self.y.data()[first..], self.shift[column]);
            if step == 1 {
                rows.iter_mut().zip(values).for_each(|(row, y)| row[lane] = y - shift);
            } else {
                rows.iter_mut().zip(values.iter().step_by(step)).for_each(|(row, y)| row[lane] = y - shift);
            }
        }
        if let Some(roots) = self.roots {
            rows.iter_mut().zip(roots).for_each(|(row, root)| row[lane] *= root);
        }
    }
}

/// All panels of [X, Y, 1] into `out`; `stride` rows to a panel.
///
/// Lanes beyond the last column must be zero already, and stay so.
#[inline(always)]
pub(super) fn panels<S: Lanes<f64>>(isa: S, rows: &Rows<'_>, stride: usize, out: &mut [f64]) {
    let (d, t) = (rows.x.cols(), rows.x.rows());
    let width = d + rows.y.cols() + 1;
    assert!(t <= stride && width.div_ceil(PANEL) * stride * PANEL <= out.len());
    features(isa, rows, Place { row: PANEL, panel: stride * PANEL }, out);
    (d..width).for_each(|column| rows.extra_column(column, stride, out));
}

/// Where eight columns side by side of a row go.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Numbers from one row to the next.
    pub row: usize,
    /// Numbers from eight columns to the next eight.
    pub panel: usize,
}

/// X alone, shifted and weighted. What follows the last column in its eight may be written over with zeros.
#[inline(always)]
pub(super) fn features<S: Lanes<f64>>(isa: S, rows: &Rows<'_>, place: Place, out: &mut [f64]) {
    let (d, t) = (rows.x.cols(), rows.x.rows());
    if d == 0 || t == 0 {
        return;
    }
    let last = (t - 1) * place.row + (d.div_ceil(PANEL) - 1) * place.panel;
    assert!(last + PANEL <= out.len() && d <= rows.shift.len());
    assert!(rows.roots.is_none_or(|roots| roots.len() == t));
    match (rows.x.layout(), rows.roots) {
        (Layout::Rows { stride: from }, None) => features_of_rows::<S, false>(isa, rows, from, place, out),
        (Layout::Rows { stride: from }, Some(_)) => features_of_rows::<S, true>(isa, rows, from, place, out),
        (Layout::Columns { stride: from }, _) => {
            for first in (0..d).step_by(S::LANES) {
                let out = &mut out[(first / PANEL) * place.panel + first % PANEL..];
                features_of_columns(isa, rows, from, (first, place.row), out);
            }
        }
    }
}

/// Row-major memory, `from` numbers from one row to the next: each row gives a vector or two to each eight columns.
#[inline(always)]
fn features_of_rows<S: Lanes<f64>, const WEIGHTED: bool>(
    isa: S,
    rows: &Rows<'_>,
    from: usize,
    place: Place,
    out: &mut [f64],
) {
    let (w, d) = (S::LANES, rows.x.cols());
    let (panels, left) = (d / PANEL, d % PANEL);
    let (shift, last_shift) = (rows.shift.as_ptr(), &rows.shift[d - left..d]);
    for k in 0..rows.x.rows() {
        let row = &rows.x.data()[k * from..][..d];
        let (whole, last) = row.split_at(d - left);
        let root = isa.splat(rows.root(k));
        let weigh = |x| if WEIGHTED { isa.mul(x, root) } else { x };
        let (mut from, mut shift) = (whole.as_ptr(), shift);
        let mut to = out[k * place.row..].as_mut_ptr();
        for _ in 0..panels {
            for v in (0..PANEL).step_by(w) {
                // SAFETY: the row and the shift hold PANEL numbers for each of the panels; so does `out`, for row k < t at its
                // place: asserted by the caller.
                unsafe {
                    let x = isa.sub(isa.load_at(from.add(v)), isa.load_at(shift.add(v)));
                    isa.store_at(weigh(x), to.add(v));
                }
            }
            from = from.wrapping_add(PANEL);
            shift = shift.wrapping_add(PANEL);
            to = to.wrapping_add(place.panel);
        }
        if left > 0 {
            let to = &mut out[panels * place.panel + k * place.row..][..PANEL];
            let parts = last.chunks(w).zip(last_shift.chunks(w)).zip(to.chunks_exact_mut(w));
            for ((x, shift), to) in parts {
                let x = if x.len() == w {
                    isa.sub(isa.load(x), isa.load(shift))
                } else {
                    isa.sub(isa.load_first(x), isa.load_first(shift))
                };
                isa.store(weigh(x), to);
            }
        }
    }
}

/// Columns `first .. first + LANES`, or what is left of them, of column-major memory: squares of LANES rows, transposed, into
/// rows of `out` that are `step` numbers apart; zeros behind the last column.
#[inline(always)]
fn features_of_columns<S: Lanes<f64>>(
    isa: S,
    rows: &Rows<'_>,
    from: usize,
    (first, step): (usize, usize),
    out: &mut [f64],
) {
    let (data, t, w) = (rows.x.data(), rows.x.rows(), S::LANES);
    let count = w.min(rows.x.cols() - first);
    let whole = t - t % w;
    let shifts = isa.load_first(&rows.shift[first..first + count]);
    let data_at = data[first * from..].as_ptr();
    assert!(whole == 0 || (first + count - 1) * from + t <= data.len());
    assert!(whole == 0 || (whole - 1) * step + w <= out.len());
    for k in (0..whole).step_by(w) {
        let mut square = isa.square(isa.zero());
        for (i, v) in square.as_mut().iter_mut().enumerate().take(count) {
            if k % PANEL == 0 {
                // The same column of the next tile.
                prefetch(data_at.wrapping_add(i * from + k + t));
            }
            // SAFETY: `count` columns of t rows from `first` on lie inside the block: asserted above.
            *v = unsafe { isa.load_at(data_at.add(i * from + k)) };
        }
        let square = isa.transpose(square);
        for (i, &v) in square.as_ref().iter().enumerate() {
            let v = isa.sub(v, shifts);
            let v = if rows.roots.is_some() { isa.mul(v, isa.splat(rows.root(k + i))) } else { v };
            // SAFETY: row k + i < t lies inside `out`: asserted above.
            unsafe { isa.store_at(v, out.as_mut_ptr().add((k + i) * step)) };
        }
    }
    for k in whole..t {
        for i in 0..count {
            let x = data[(first + i) * from + k] - rows.shift[first + i];
            out[k * step + i] = x * rows.root(k);
        }
    }
}

/// Column-major memory row by row, `stride` numbers apart, at least as many as there are columns rounded up to LANES. No shift, no
/// weight.
#[inline(always)]
pub(super) fn rows<S: Lanes<f64>>(isa: S, x: &Block<'_>, stride: usize, out: &mut [f64]) {
    let Layout::Columns { stride: from } = x.layout() else { return };
    let (t, d, w) = (x.rows(), x.cols(), S::LANES);
    for k in (0..t).step_by(w) {
        let height = w.min(t - k);
        for j in (0..d).step_by(w) {
            let mut square = isa.square(isa.zero());
            for (i, v) in square.as_mut().iter_mut().enumerate().take(w.min(d - j)) {
                let column = &x.data()[(j + i) * from + k..][..height];
                if k.is_multiple_of(PANEL) {
                    // The same column of the next tile.
                    prefetch(column.as_ptr().wrapping_add(t));
                }
                *v = if height == w { isa.load(column) } else { isa.load_first(column) };
            }
            let square = isa.transpose(square);
            for (i, &v) in square.as_ref().iter().enumerate().take(height) {
                isa.store(v, &mut out[(k + i) * stride + j..]);
            }
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
