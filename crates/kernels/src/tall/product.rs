//! Xw and Xᵀv: as fast as memory can be read.
//!
//! Each element is used once, so there is nothing to pack and nothing to keep: the loops only have to read forward and
//! have enough sums in flight. Row-major memory with few columns takes LANES rows at once (a single short row would spend
//! its time adding up lanes); with many columns, one row after another with four sums. Column-major memory goes by
//! strips of rows whose result stays in the second cache, or the first: many columns at once where the processor follows
//! them by itself, else few, with the next ones asked for.

use super::tree::{self, Cut};
use super::{Block, Layout, RowSource};
use crate::simd::{Isa, Kernel, Lanes, Simd, dispatch, fetches_across_pages, prefetch, prefetch_near};
use crate::{crew, stop};

/// Up to this many columns several rows are taken at once.
const INTERLEAVED_UP_TO: usize = 32;
/// How far ahead of rows memory is fetched, in numbers: two pages. The machine's own fetching ends where a page does.
const AHEAD: usize = 1024;
/// Numbers in a cache line.
const LINE: usize = 8;
/// Elements of X to a work item, at least. Smaller ones read a quarter slower: fetching begins anew with each.
const GRAIN: usize = 1 << 19;
/// Rows of column-major memory to a work item, about: each column is then read in runs of several pages.
const LONG: usize = 4096;
/// Work items to a thread, at least, where a longer run of each column would leave fewer.
const ITEMS: usize = 2;
/// Rows to a strip of column-major memory: a run of pages of each column, while the result stays near.
const STRIP: usize = 8192;
/// The same where the next columns are asked for, which stay in the second cache until their turn.
const STRIP_ASKING: usize = 2048;
/// Columns of a strip that are added at a time: so many places the processor's own fetching follows.
const TOGETHER: usize = 12;
/// The same of what those leave: each turn reads and writes the strip's results once.
const TOGETHER_LEFT: usize = 8;
/// The same where the next columns are asked for, and of what is then left.
const TOGETHER_ASKING: usize = 4;
/// What a number of X costs, in multiplications at full speed: it has to come from memory.
const COST: usize = 8;

/// Rows to a strip.
#[inline(always)]
const fn strip(asked: bool) -> usize {
    if asked { STRIP_ASKING } else { STRIP }
}

/// `out[i] = offset + Σⱼ x[i, j] · w[j]`.
///
/// `w` has as many numbers as `x` has columns, `out` as many as it has rows.
pub fn multiply(x: &dyn RowSource, w: &[f64], offset: f64, out: &mut [f64]) {
    multiply_on(Isa::detected(), !fetches_across_pages(), x, w, offset, out);
}

/// [`multiply`] with the instructions of `isa`, where columns are `asked` for or not: to the same bits.
pub(super) fn multiply_on(isa: Isa, asked: bool, x: &dyn RowSource, w: &[f64], offset: f64, out: &mut [f64]) {
    assert_eq!(w.len(), x.cols(), "one weight a column");
    assert_eq!(out.len(), x.rows(), "one result a row");
    let grain = item_rows(x, strip(asked));
    let cost = COST * w.len() * out.len();
    crew::each(cost, out.chunks_mut(grain).enumerate(), |(i, out)| {
        stop::check();
        let mut scratch = Vec::new();
        let x = x.block(i * grain, out.len(), &mut scratch);
        assert!(x.rows() == out.len() && x.cols() == w.len());
        dispatch(isa, Multiply { asked, x, w, offset, out });
    });
}

/// Rows to a work item: whole strips where they are many, and of memory that lies in columns as many as make long runs, in parts of about
/// the same size, a multiple of the threads. What a row comes to does not depend on how rows are cut, so that may depend on threads.
fn item_rows(x: &dyn RowSource, strip: usize) -> usize {
    let rows = (GRAIN / x.cols().max(1)).max(1);
    let rows = rows.next_multiple_of(if rows < strip { 64 } else { strip });
    let mut converted = Vec::new();
    match x.block(0, x.rows().min(2), &mut converted).layout() {
        Layout::Columns { .. } if converted.is_empty() => {
            let fewest = ITEMS * rayon::current_num_threads();
            let parts = (x.rows() / LONG / fewest * fewest).max(fewest);
            rows.max(x.rows().div_ceil(parts).next_multiple_of(64))
        }
        _ => rows,
    }
}

/// `result[j] = Σᵢ x[i, j] · v[i]`.
///
/// `v` has as many numbers as `x` has rows.
pub fn transpose_multiply(x: &dyn RowSource, v: &[f64]) -> Vec<f64> {
    transpose_multiply_on(Isa::detected(), x, v)
}

/// [`transpose_multiply`] with the instructions of `isa`.
pub(super) fn transpose_multiply_on(isa: Isa, x: &dyn RowSource, v: &[f64]) -> Vec<f64> {
    assert_eq!(v.len(), x.rows(), "one number a row");
    let leaf = tree::leaf_rows(x.rows(), (GRAIN / x.cols().max(1)).next_multiple_of(64));
    tree::reduce(
        Cut { rows: x.rows(), leaf, cost: COST * x.cols() },
        &|rows| {
            let mut scratch = Vec::new();
            let block = x.block(rows.start, rows.len(), &mut scratch);
            assert!(block.rows() == rows.len() && block.cols() == x.cols());
            dispatch(isa, TransposeMultiply { x: block, v: &v[rows] })
        },
        &|mut a, b| {
            a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
            a
        },
    )
}

struct Multiply<'a> {
    asked: bool,
    x: Block<'a>,
    w: &'a [f64],
    offset: f64,
    out: &'a mut [f64],
}

impl Kernel for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, isa: S) {
        match self.x.layout() {
            Layout::Rows { stride } if self.w.len() <= INTERLEAVED_UP_TO => self.several_rows(isa, stride),
            Layout::Rows { stride } => self.row_by_row(isa, stride),
            Layout::Columns { stride } if self.asked => self.columns::<S, true>(isa, stride),
            Layout::Columns { stride } => self.columns::<S, false>(isa, stride),
        }
    }
}

impl Multiply<'_> {
    /// LANES rows at a time; lane `i` of the transposed sums belongs to row `i`.
    #[inline(always)]
    fn several_rows<S: Lanes<f64>>(&mut self, isa: S, stride: usize) {
        let (data, d, lanes) = (self.x.data(), self.w.len(), S::LANES);
        let whole = d - d % lanes;
        let offset = isa.splat(self.offset);
        let fetched = if stride < 2 * d { stride } else { 0 };
        for (step, out) in self.out.chunks_mut(lanes).enumerate() {
            let mut sums = isa.square(isa.zero());
            let ahead = data.as_ptr().wrapping_add(step * lanes * stride + AHEAD);
            (0..lanes * fetched).step_by(LINE).for_each(|line| prefetch_near(ahead.wrapping_add(line)));
            for (i, sum) in sums.as_mut().iter_mut().enumerate().take(out.len()) {
                let row = &data[(step * lanes + i) * stride..][..d];
                for (x, w) in row.chunks_exact(lanes).zip(self.w.chunks_exact(lanes)) {
                    *sum = isa.mul_add(isa.load(x), isa.load(w), *sum);
                }
                if whole < d {
                    *sum = isa.mul_add(isa.load_first(&row[whole..]), isa.load_first(&self.w[whole..]), *sum);
                }
            }
            let sums = isa.transpose(sums);
            let total = sums.as_ref().iter().fold(offset, |total, &v| isa.add(total, v));
            isa.store_first(total, out);
        }
    }

    /// One row after another, four sums in flight.
    #[inline(always)]
    fn row_by_row<S: Lanes<f64>>(&mut self, isa: S, stride: usize) {
        let d = self.w.len();
        let fetched = if stride < 2 * d { d } else { 0 };
        for (i, out) in self.out.iter_mut().enumerate() {
            let row = &self.x.data()[i * stride..][..d];
            let ahead = row.as_ptr().wrapping_add(AHEAD);
            (0..fetched).step_by(LINE).for_each(|line| prefetch_near(ahead.wrapping_add(line)));
            *out = self.offset + dot(isa, row, self.w);
        }
    }

    /// Strips of rows. The first strip ends where a cache line of the columns begins: a vector that lies in two lines
    /// costs as much as two when lines come from memory.
    #[inline(always)]
    fn columns<S: Lanes<f64>, const ASK: bool>(&mut self, isa: S, stride: usize) {
        let before_line = self.x.data().as_ptr().align_offset(LINE * size_of::<f64>()).min(self.out.len());
        let (first, rest) = std::mem::take(&mut self.out).split_at_mut(before_line);
        let rows = strip(ASK);
        self.strip::<S, ASK>(isa, stride, 0, first);
        for (s, strip) in rest.chunks_mut(rows).enumerate() {
            self.strip::<S, ASK>(isa, stride, before_line + s * rows, strip);
        }
    }

    /// Rows from `start` of column-major memory. Columns are added in their order, so how many at a time does not change a bit.
    #[inline(always)]
    fn strip<S: Lanes<f64>, const ASK: bool>(&self, isa: S, stride: usize, start: usize, out: &mut [f64]) {
        let (mut j, d) = (0, self.w.len());
        if d == 0 {
            out.fill(self.offset);
        }
        while !ASK && d - j >= TOGETHER {
            self.add_columns::<S, TOGETHER, ASK>(isa, stride, [start, j], out);
            j += TOGETHER;
        }
        if !ASK && d - j >= TOGETHER_LEFT {
            self.add_columns::<S, TOGETHER_LEFT, ASK>(isa, stride, [start, j], out);
            j += TOGETHER_LEFT;
        }
        while d - j >= TOGETHER_ASKING {
            self.add_columns::<S, TOGETHER_ASKING, ASK>(isa, stride, [start, j], out);
            j += TOGETHER_ASKING;
        }
        match d - j {
            1 => self.add_columns::<S, 1, ASK>(isa, stride, [start, j], out),
            2 => self.add_columns::<S, 2, ASK>(isa, stride, [start, j], out),
            3 => self.add_columns::<S, 3, ASK>(isa, stride, [start, j], out),
            _ => {}
        }
    }

    /// `out += Σ w[j]·x[start.., j]` over `N` columns from `j` on; the first ones begin with the offset.
    #[inline(always)]
    fn add_columns<S: Lanes<f64>, const N: usize, const ASK: bool>(
        &self,
        isa: S,
        stride: usize,
        [start, j]: [usize; 2],
        out: &mut [f64],
    ) {
        let (d, rows) = (self.w.len(), out.len());
        let mut columns = [self.x.data(); N];
        let mut w = [isa.zero(); N];
        for i in 0..N {
            columns[i] = &self.x.data()[(j + i) * stride + start..][..rows];
            w[i] = isa.splat(self.w[j + i]);
        }
        // The next columns, or the first ones of the next strip.
        let after = j + N;
        let (next, count) = if after < d { (after * stride, d - after) } else { (rows, d) };
        let (next, count) = (self.x.data().as_ptr().wrapping_add(next + start), count.min(TOGETHER_ASKING));
        for k in (0..rows).step_by(S::LANES) {
            let end = rows.min(k + S::LANES);
            if ASK && k % LINE == 0 {
                (0..count).for_each(|i| prefetch(next.wrapping_add(i * stride + k)));
            }
            let mut sum = if j == 0 { isa.splat(self.offset) } else { load(isa, &out[k..end]) };
            for i in 0..N {
                // Products are rounded before they are added, as they are where few numbers make a row: the same bits either way.
                sum = isa.add(sum, isa.mul(load(isa, &columns[i][k..end]), w[i]));
            }
            isa.store_first(sum, &mut out[k..end]);
        }
    }
}

/// All of `from`, at most one vector.
#[inline(always)]
fn load<S: Lanes<f64>>(isa: S, from: &[f64]) -> S::Vector {
    if from.len() >= S::LANES { isa.load(from) } else { isa.load_first(from) }
}

/// `Σ aᵢ bᵢ` of two slices of the same length.
#[inline(always)]
fn dot<S: Lanes<f64>>(isa: S, a: &[f64], b: &[f64]) -> f64 {
    let step = 4 * S::LANES;
    let mut sums = [isa.zero(); 4];
    let (whole_a, rest_a) = a.split_at(a.len() - a.len() % step);
    let (whole_b, rest_b) = b[..a.len()].split_at(whole_a.len());
    for (a, b) in whole_a.chunks_exact(step).zip(whole_b.chunks_exact(step)) {
        for (q, sum) in sums.iter_mut().enumerate() {
            let at = q * S::LANES;
            *sum = isa.mul_add(isa.load(&a[at..]), isa.load(&b[at..]), *sum);
        }
    }
    for (a, b) in rest_a.chunks(S::LANES).zip(rest_b.chunks(S::LANES)) {
        sums[0] = isa.mul_add(load(isa, a), load(isa, b), sums[0]);
    }
    isa.sum(isa.add(isa.add(sums[0], sums[1]), isa.add(sums[2], sums[3])))
}

struct TransposeMultiply<'a> {
    x: Block<'a>,
    v: &'a [f64],
}

impl Kernel for TransposeMultiply<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> Vec<f64> {
        let d = self.x.cols();
        match self.x.layout() {
            Layout::Columns { stride } => {
                (0..d).map(|j| dot(isa, &self.x.data()[j * stride..][..self.v.len()], self.v)).collect()
            }
            Layout::Rows { stride } => {
                let mut out = vec![0.0; d];
                for (group, v) in self.v.chunks(4).enumerate() {
                    let row = |i: usize| &self.x.data()[(group * 4 + i) * stride..][..d];
                    if let &[v0, v1, v2, v3] = v {
                        add_four_rows(isa, [row(0), row(1), row(2), row(3)], [v0, v1, v2, v3], &mut out);
                    } else {
                        for (i, &v) in v.iter().enumerate() {
                            out.iter_mut().zip(row(i)).for_each(|(out, x)| *out += x * v);
                        }
                    }
                }
                out
            }
        }
    }
}

/// `out += Σ rows[i] · v[i]`.
#[inline(always)]
fn add_four_rows<S: Lanes<f64>>(isa: S, rows: [&[f64]; 4], v: [f64; 4], out: &mut [f64]) {
    let d = out.len();
    let v = v.map(|v| isa.splat(v));
    for k in (0..d).step_by(S::LANES) {
        let end = d.min(k + S::LANES);
        let term = |i: usize, sum| isa.mul_add(load(isa, &rows[i][k..end]), v[i], sum);
        let sum = term(1, term(0, load(isa, &out[k..end])));
        let other = term(3, isa.mul(load(isa, &rows[2][k..end]), v[2]));
        isa.store_first(isa.add(sum, other), &mut out[k..end]);
    }
}
