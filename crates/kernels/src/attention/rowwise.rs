//! Few query rows against many keys, or any rows against few keys. The former are bound by memory, so each key and each value is read once.
//!
//! ```text
//! for each chunk of keys:
//!     for each piece:  s[row][key] = q[row]·k[key]     lanes along the width; LANES keys at a time, transposed and added up
//!     soft cap, bias, ALiBi, masks                     masks and biases by vectors, the rest one by one
//!     m' = max(m, max s);  a = 2^(s − m');  l = l·2^(m − m') + Σa
//!     for each piece:  o[row] = o[row]·2^(m − m') + Σ a[key]·v[key]
//! ```
//!
//! While weights are formed nothing is read, so chunks are long; a piece stays in cache until the last row has used it.
//!
//! Keys and values that are stored in fewer bits are widened in registers: what is read is what is stored.
//!
//! The result is not divided by `l`, so that runs of keys computed apart can be put together: [`Run::merge`].

use super::TILE_KEYS;
use super::block::Denominator;
use super::dense::adjust_row;
use super::dropout::factor;
use super::exp::exp2;
use super::part::{Block, Span};
use super::rows::Rows;
use super::scratch::Scratch;
use super::storage::{Storage, load_first, widen_row};
use super::table::Table;
use crate::Element;
use crate::simd::{Float, FloatKernel, MOST_LANES, Real};
use std::f64::consts::LOG2_E;

/// Keys whose weights are formed at once: a tile's, which is what [`adjust_row`] takes.
const CHUNK: usize = TILE_KEYS;
/// Keys that are read at once; divides [`CHUNK`]. Their values are added up before they are added to the sums so far.
const PIECE: usize = 64;
/// Sums of one product, so that they do not wait for each other.
const SUMS: usize = 4;
/// So few products are added up one by one, and not as a square.
const FEW: usize = 2;
/// What a hidden key weighs until the values are added up: its value is not even looked at.
const HIDDEN: f64 = -1.0;

/// Attention of a few rows over a run of keys, before the division.
#[derive(Clone, Debug, PartialEq)]
pub struct Run<A> {
    /// `(rows, E)`: `Σ 2^(s − max)·v`.
    pub out: Vec<A>,
    /// `(rows,)`: the largest score, in units of log₂.
    pub max: Vec<A>,
    /// `(rows,)`: `Σ 2^(s − max)`.
    pub sum: Vec<A>,
}

/// Few rows over the keys of `keys`: a [`FloatKernel`] whose fields are its arguments. The block's tiles do not matter.
pub struct Rowwise<'a, 'b, T: Storage> {
    /// What to attend to.
    pub block: Block<'b, T>,
    /// Which keys.
    pub keys: Span,
    /// Where to work.
    pub scratch: &'a mut Scratch<T::Real>,
}

impl<T: Storage> FloatKernel<T::Real> for Rowwise<'_, '_, T> {
    type Output = Run<T::Real>;

    #[inline(always)]
    fn run<S: Float<T::Real>>(self, isa: S) -> Run<T::Real> {
        let Rowwise { block, keys, scratch } = self;
        let (rows, depth, width) = (block.spans.len(), block.keys.width(), block.values.width());
        let mut run = Run {
            out: vec![T::Real::ZERO; rows * width],
            max: vec![T::Real::NEG_INFINITY; rows],
            sum: vec![T::Real::ZERO; rows],
        };
        let scale = T::Real::from_f64(block.scale * block.softcap.map_or(LOG2_E, f64::recip));
        let queries = scratch.wide.queries.reserve(rows * depth);
        for (row, to) in queries.chunks_exact_mut(depth).enumerate() {
            let (part, query) = block.query(row);
            widen_row(&part.queries, query, 0, to);
            for x in to {
                *x = *x * scale;
            }
        }
        // How far apart the scores of two rows are: whole vectors.
        let stride = block.keys.rows().next_multiple_of(MOST_LANES).min(CHUNK);
        let scores = scratch.room.scores.reserve(rows * stride);
        let (packed, sums) = scratch
            .wide
            .packed
            .reserve(PIECE * depth.max(width) + width)
            .split_at_mut(PIECE * depth.max(width));
        let seen =
            block.spans.iter().fold(Span { start: 0, end: 0 }, |hull, &span| hull.hull(span)).common(keys);
        let mut start = seen.start;
        while start < seen.end {
            // Chunks and pieces end at multiples of their size, so that no piece straddles two pages of a cache.
            let chunk = Span { start, end: seen.end.min((start / CHUNK + 1) * CHUNK) };
            for piece in pieces(chunk) {
                let scores = &mut scores[piece.start - start..];
                score(isa, &block.keys, piece, queries, packed, (scores, stride));
            }
            for row in 0..rows {
                let scores = &mut scores[row * stride..][..chunk.len().next_multiple_of(S::LANES)];
                adjust(isa, &block, row, start, &mut scores[..chunk.len()]);
                // Whole vectors: what is behind the last key weighs nothing.
                scores[chunk.len()..].fill(T::Real::NEG_INFINITY);
                let out = &mut run.out[row * width..][..width];
                weigh(isa, scores, [&mut run.max[row], &mut run.sum[row]], out);
                drop_out(&block, row, start, &mut scores[..chunk.len()]);
            }
            for piece in pieces(chunk) {
                let weights = &scores[piece.start - start..];
                add_piece(isa, &block.values, piece, (weights, stride), [packed, sums], &mut run.out);
            }
            start = chunk.end;
        }
        run
    }
}

/// A chunk, piece by piece.
#[inline(always)]
fn pieces(chunk: Span) -> impl Iterator<Item = Span> {
    let first = chunk.start / PIECE;
    (first..chunk.end.div_ceil(PIECE))
        .map(move |at| Span { start: at * PIECE, end: (at + 1) * PIECE }.common(chunk))
}

/// `s[row][key] = q[row]·k[key]` for the keys of a piece, which are widened on the way; `packed` is for those that do not lie
/// in rows.
#[inline(always)]
fn score<T: Storage, S: Float<T::Real>>(
    isa: S,
    keys: &Table<'_, T>,
    piece: Span,
    queries: &[T::Real],
    packed: &mut [T::Real],
    (scores, stride): (&mut [T::Real], usize),
) {
    let (range, count) = ([piece.start, piece.end], piece.len());
    let rows = queries.chunks_exact(keys.width()).zip(scores.chunks_mut(stride));
    if let Some(lying) = Rows::lying(keys, range) {
        for (query, scores) in rows {
            dots(isa, query, lying, &mut scores[..count]);
        }
    } else {
        keys.widen_rows(isa, range, keys.width(), packed);
        for (query, scores) in rows {
            dots(isa, query, Rows::gapless(packed, keys.width()), &mut scores[..count]);
        }
    }
}

/// `o[row] += Σ a[row][key]·v[key]` for the keys of a piece.
#[inline(always)]
fn add_piece<T: Storage, S: Float<T::Real>>(
    isa: S,
    values: &Table<'_, T>,
    piece: Span,
    (weights, stride): (&[T::Real], usize),
    [packed, sums]: [&mut [T::Real]; 2],
    out: &mut [T::Real],
) {
    let (range, count, width) = ([piece.start, piece.end], piece.len(), values.width());
    let rows = out.chunks_exact_mut(width.max(1)).zip(weights.chunks(stride));
    if let Some(lying) = Rows::lying(values, range) {
        for (out, weights) in rows {
            add_values(isa, &weights[..count], lying, sums, out);
        }
    } else {
        values.widen_rows(isa, range, width, packed);
        for (out, weights) in rows {
            add_values(isa, &weights[..count], Rows::gapless(packed, width), sums, out);
        }
    }
}

/// `s[key] = q·k[key]`. One key after another, so that memory is read from front to back.
#[inline(always)]
fn dots<T: Storage, S: Float<T::Real>>(isa: S, query: &[T::Real], keys: Rows<'_, T>, scores: &mut [T::Real]) {
    let zero = isa.splat(T::Real::ZERO);
    if scores.len() <= FEW {
        for i in 0..scores.len() {
            scores[i] = isa.sum(dot(isa, query, keys.row(i)));
        }
        return;
    }
    for (group, scores) in scores.chunks_mut(S::LANES).enumerate() {
        let mut sums = isa.square(zero);
        for i in 0..scores.len() {
            sums.as_mut()[i] = dot(isa, query, keys.row(group * S::LANES + i));
        }
        let sums = isa.transpose(sums);
        let mut total = zero;
        for &sum in sums.as_ref() {
            total = isa.add(total, sum);
        }
        isa.store_first(total, scores);
    }
}

/// Vectors whose lanes add up to `q·k`.
#[inline(always)]
pub(super) fn dot<T: Storage, S: Float<T::Real>>(isa: S, query: &[T::Real], key: &[T]) -> S::Vector {
    let (lanes, key) = (S::LANES, &key[..query.len()]);
    let mut sums = [isa.splat(T::Real::ZERO); SUMS];
    let mut c = 0;
    while c + SUMS * lanes <= query.len() {
        for i in 0..SUMS {
            // SAFETY: query and key hold a vector from `c + i·lanes` on.
            unsafe {
                let q = isa.load_at(query.as_ptr().add(c + i * lanes));
                sums[i] = isa.mul_add(T::load_at(isa, key.as_ptr().add(c + i * lanes)), q, sums[i]);
            }
        }
        c += SUMS * lanes;
    }
    while c + lanes <= query.len() {
        // SAFETY: query and key hold a vector from `c` on.
        unsafe {
            let q = isa.load_at(query.as_ptr().add(c));
            sums[0] = isa.mul_add(T::load_at(isa, key.as_ptr().add(c)), q, sums[0]);
        }
        c += lanes;
    }
    if c < query.len() {
        sums[1] = isa.mul_add(load_first(isa, &key[c..]), isa.load_first(&query[c..]), sums[1]);
    }
    isa.add(isa.add(sums[0], sums[1]), isa.add(sums[2], sums[3]))
}

/// Soft cap, bias, `ALiBi` and masks, as far as they are asked for.
#[inline(always)]
fn adjust<T: Storage, S: Float<T::Real>>(
    isa: S,
    block: &Block<'_, T>,
    row: usize,
    first: usize,
    scores: &mut [T::Real],
) {
    let (part, query) = block.query(row);
    if let Some(cap) = block.softcap {
        for s in scores.iter_mut() {
            *s = T::Real::from_f64(s.to_f64().tanh() * cap * LOG2_E);
        }
    }
    adjust_row(isa, block, row, first, scores);
    if let Some(alibi) = part.alibi {
        let slope = alibi.slope * LOG2_E;
        for (key, s) in (first..).zip(scores.iter_mut()) {
            let distance = (query as i64 + alibi.offset - key as i64).unsigned_abs() as f64;
            *s = T::Real::from_f64(s.to_f64() - slope * distance);
        }
    }
    let span = block.spans[row];
    let count = scores.len();
    scores[..span.start.saturating_sub(first).min(count)].fill(T::Real::NEG_INFINITY);
    scores[span.end.saturating_sub(first).min(count)..].fill(T::Real::NEG_INFINITY);
}

/// Scores to weights, with the maximum and the sum brought up to date.
#[inline(always)]
fn weigh<A: Real, S: Float<A>>(isa: S, scores: &mut [A], [max, sum]: [&mut A; 2], out: &mut [A]) {
    let top = largest(isa, *max, scores);
    if top == A::NEG_INFINITY && scores.iter().all(|&s| s == A::NEG_INFINITY) {
        scores.fill(A::from_f64(HIDDEN));
        return;
    }
    let base = if top > A::NEG_INFINITY { top } else { A::ZERO };
    // Before the first key there is nothing to scale.
    if base != *max && *max > A::NEG_INFINITY {
        let alpha = A::from_f64((*max - base).to_f64().exp2());
        for o in out {
            *o = *o * alpha;
        }
        *sum = *sum * alpha;
    }
    let (base, hidden) = (isa.splat(base), isa.splat(A::from_f64(HIDDEN)));
    let lowest = isa.splat(A::LOWEST);
    let mut total = isa.splat(A::ZERO);
    for s in scores.chunks_exact_mut(S::LANES) {
        let score = isa.load(s);
        let a = exp2(isa, isa.sub(score, base));
        total = isa.add(total, a);
        isa.store(isa.where_greater(lowest, score, hidden, a), s);
    }
    *sum += isa.sum(total);
    *max = top;
}

/// The largest of `max` and `scores`, whole vectors of them; those that are NaN do not count.
#[inline(always)]
fn largest<A: Real, S: Float<A>>(isa: S, max: A, scores: &[A]) -> A {
    let mut four = [isa.splat(max); 4];
    let mut fours = scores.chunks_exact(4 * S::LANES);
    for s in &mut fours {
        for i in 0..4 {
            let s = isa.load(&s[i * S::LANES..]);
            four[i] = isa.where_greater(s, four[i], s, four[i]);
        }
    }
    for s in fours.remainder().chunks_exact(S::LANES) {
        let s = isa.load(s);
        four[0] = isa.where_greater(s, four[0], s, four[0]);
    }
    let mut line = [max; MOST_LANES];
    isa.store(isa.max(isa.max(four[0], four[1]), isa.max(four[2], four[3])), &mut line);
    let mut top = max;
    for s in line {
        top = if s > top { s } else { top };
    }
    top
}

/// The weights that dropout takes become 0; what is hidden stays so.
#[inline(always)]
fn drop_out<T: Storage>(block: &Block<'_, T>, row: usize, first: usize, weights: &mut [T::Real]) {
    let (part, query) = block.query(row);
    let Some(dropping) = part.dropping else { return };
    let row = dropping.row(query);
    for i in 0..weights.len() {
        let hidden = weights[i] < T::Real::ZERO;
        if !hidden && dropping.drops(row, first + i) {
            weights[i] = T::Real::ZERO;
        }
    }
}

/// `o += Σ a[key]·v[key]` without the hidden keys. Values are widened on the way.
#[inline(always)]
fn add_values<T: Storage, S: Float<T::Real>>(
    isa: S,
    weights: &[T::Real],
    values: Rows<'_, T>,
    sums: &mut [T::Real],
    out: &mut [T::Real],
) {
    let mut column = 0;
    // Memory is read from front to back: whole rows are added, in registers where they fit, otherwise in memory.
    if out.len() > 8 * S::LANES {
        column = add_rows(isa, weights, values, sums, out);
    }
    while column < out.len() {
        column += match (out.len() - column) / S::LANES {
            8.. => add_columns::<T, S, 8, true>(isa, weights, values, out, column),
            4.. => add_columns::<T, S, 4, true>(isa, weights, values, out, column),
            1.. => add_columns::<T, S, 1, true>(isa, weights, values, out, column),
            0 => add_columns::<T, S, 1, false>(isa, weights, values, out, column),
        };
    }
}

/// All whole vectors of columns, and how many columns that are.
#[inline(always)]
fn add_rows<T: Storage, S: Float<T::Real>>(
    isa: S,
    weights: &[T::Real],
    values: Rows<'_, T>,
    sums: &mut [T::Real],
    out: &mut [T::Real],
) -> usize {
    let lanes = S::LANES;
    let whole = out.len() - out.len() % lanes;
    let sums = &mut sums[..whole];
    sums.fill(T::Real::ZERO);
    for key in 0..weights.len() {
        if weights[key] < T::Real::ZERO {
            continue;
        }
        let weight = isa.splat(weights[key]);
        let value = values.row(key)[..whole].as_ptr();
        for column in (0..whole).step_by(lanes) {
            // SAFETY: the row and the sums hold a vector from `column` on.
            unsafe {
                let sum = sums.as_mut_ptr().add(column);
                let v = T::load_at(isa, value.add(column));
                isa.store_at(isa.mul_add(weight, v, isa.load_at(sum)), sum);
            }
        }
    }
    for column in (0..whole).step_by(lanes) {
        let out = &mut out[column..][..lanes];
        isa.store(isa.add(isa.load(&sums[column..]), isa.load(out)), out);
    }
    whole
}

/// `C` vectors of columns, or the columns that are left where they are no `WHOLE` one; and how many columns that are.
#[inline(always)]
fn add_columns<T: Storage, S: Float<T::Real>, const C: usize, const WHOLE: bool>(
    isa: S,
    weights: &[T::Real],
    values: Rows<'_, T>,
    out: &mut [T::Real],
    column: usize,
) -> usize {
    let mut sums = [isa.splat(T::Real::ZERO); C];
    for key in 0..weights.len() {
        if weights[key] < T::Real::ZERO {
            continue;
        }
        let weight = isa.splat(weights[key]);
        let value = &values.row(key)[column..];
        if !WHOLE {
            sums[0] = isa.mul_add(weight, load_first(isa, value), sums[0]);
            continue;
        }
        let value = value[..C * S::LANES].as_ptr();
        for c in 0..C {
            // SAFETY: the row holds C vectors from `column` on.
            let v = unsafe { T::load_at(isa, value.add(c * S::LANES)) };
            sums[c] = isa.mul_add(weight, v, sums[c]);
        }
    }
    let out = &mut out[column..];
    if !WHOLE {
        isa.store_first(isa.add(sums[0], isa.load_first(out)), out);
        return out.len();
    }
    for c in 0..C {
        let out = &mut out[c * S::LANES..][..S::LANES];
        isa.store(isa.add(sums[c], isa.load(out)), out);
    }
    C * S::LANES
}

impl<A: Real> Run<A> {
    /// Adds a run over other keys.
    pub fn merge(&mut self, other: &Run<A>) {
        let width = self.out.len() / self.max.len().max(1);
        for row in 0..self.max.len() {
            let (a, b) = (self.max[row], other.max[row]);
            let top = if a > b { a } else { b };
            let top = if top > A::NEG_INFINITY { top } else { A::ZERO };
            let factor = |max: A| A::from_f64((max - top).to_f64().exp2());
            let (mine, others) = (factor(a), factor(b));
            self.sum[row] = self.sum[row] * mine + other.sum[row] * others;
            let out = &mut self.out[row * width..][..width];
            for (o, &x) in out.iter_mut().zip(&other.out[row * width..]) {
                *o = *o * mine + x * others;
            }
            self.max[row] = if a > b { a } else { b };
        }
    }

    /// Divides by the denominators: the outputs of all rows into `out`, the log-sum-exps into `lse`.
    pub fn finish<T: Storage<Real = A>>(mut self, block: &Block<'_, T>, out: &mut [T], lse: &mut [f64]) {
        let width = block.values.width();
        for (row, lse) in lse.iter_mut().enumerate() {
            let sink = block.query(row).0.sink;
            let denominator = Denominator::new(self.max[row].to_f64(), self.sum[row].to_f64(), sink);
            *lse = denominator.lse;
            let inverse = A::from_f64(denominator.inverse) * factor(block);
            let from = &mut self.out[row * width..][..width];
            for o in from.iter_mut() {
                *o = *o * inverse;
            }
            T::narrow(from, &mut out[row * width..][..width]);
        }
    }
}
