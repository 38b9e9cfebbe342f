//! Few query rows against many keys: bound by memory, so each key and each value is read once.
//!
//! ```text
//! for each chunk of keys:
//!     s[row][key] = q[row]·k[key]       lanes along the width; LANES keys at a time, transposed and added up
//!     soft cap, bias, ALiBi, masks      one number at a time: there are few
//!     m' = max(m, max s);  a = 2^(s − m');  l = l·2^(m − m') + Σa
//!     o[row] = o[row]·2^(m − m') + Σ a[key]·v[key]
//! ```
//!
//! Keys and values that are stored in fewer bits are widened in registers: what is read is what is stored.
//!
//! The result is not divided by `l`, so that runs of keys computed apart can be put together: [`Run::merge`].

use super::block::{Denominator, Scratch};
use super::dense::adjust_row;
use super::dropout::factor;
use super::exp::exp2;
use super::part::{Block, Span};
use super::rows::Rows;
use super::storage::{Storage, load_first, widen_row};
use crate::Element;
use crate::simd::{Float, FloatKernel, Real};
use std::f64::consts::LOG2_E;

/// Keys to a chunk: keys and values of one fit the first cache.
const CHUNK: usize = 64;
/// Keys that are multiplied at once, so that their sums do not wait for each other; divides every number of lanes.
const AT_ONCE: usize = 4;
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
        let scores = scratch.room.scores.reserve(rows * CHUNK);
        let packed = scratch.wide.packed.reserve(CHUNK * depth.max(width));
        let seen =
            block.spans.iter().fold(Span { start: 0, end: 0 }, |hull, &span| hull.hull(span)).common(keys);
        let mut start = seen.start;
        while start < seen.end {
            // Chunks end at multiples of their size, so that none straddles two pages of a cache.
            let count = (CHUNK - start % CHUNK).min(seen.end - start);
            let range = [start, start + count];
            if let Some(keys) = Rows::lying(&block.keys, range) {
                products(isa, queries, keys, scores, count);
            } else {
                products(isa, queries, Rows::of(isa, &block.keys, range, depth, packed), scores, count);
            }
            let lying = Rows::lying(&block.values, range);
            if lying.is_none() {
                block.values.widen_rows(isa, range, width, packed);
            }
            for row in 0..rows {
                let scores = &mut scores[row * CHUNK..][..CHUNK];
                adjust(isa, &block, row, start, &mut scores[..count]);
                // Whole vectors: what is behind the last key weighs nothing.
                scores[count..].fill(T::Real::NEG_INFINITY);
                let out = &mut run.out[row * width..][..width];
                let sums = [&mut run.max[row], &mut run.sum[row]];
                if weigh(isa, scores, sums, out) {
                    drop_out(&block, row, start, &mut scores[..count]);
                    match lying {
                        Some(values) => add_values(isa, &scores[..count], values, out),
                        None => add_values(isa, &scores[..count], Rows::gapless(packed, width), out),
                    }
                }
            }
            start += count;
        }
        run
    }
}

/// `s[row][key] = q[row]·k[key]` for `count` keys, which are widened on the way.
#[inline(always)]
fn products<T: Storage, S: Float<T::Real>>(
    isa: S,
    queries: &[T::Real],
    keys: Rows<'_, T>,
    scores: &mut [T::Real],
    count: usize,
) {
    for (query, scores) in queries.chunks_exact(keys.width()).zip(scores.chunks_exact_mut(CHUNK)) {
        dots(isa, query, keys, &mut scores[..count]);
    }
}

/// `s[key] = q·k[key]`.
#[inline(always)]
fn dots<T: Storage, S: Float<T::Real>>(isa: S, query: &[T::Real], keys: Rows<'_, T>, scores: &mut [T::Real]) {
    let (lanes, whole) = (S::LANES, query.len() - query.len() % S::LANES);
    let zero = isa.splat(T::Real::ZERO);
    for (group, scores) in scores.chunks_mut(lanes).enumerate() {
        let mut sums = isa.square(zero);
        for i in (0..scores.len()).step_by(AT_ONCE) {
            let (mut some, mut rows) = ([zero; AT_ONCE], [&keys.row(0)[..query.len()]; AT_ONCE]);
            for r in 0..AT_ONCE {
                // Past the end the last key stands in; what comes of it is not stored.
                let key = if i + r < scores.len() { i + r } else { scores.len() - 1 };
                rows[r] = &keys.row(group * lanes + key)[..query.len()];
            }
            for c in (0..whole).step_by(lanes) {
                // SAFETY: the query and each row hold a vector from `c` on.
                unsafe {
                    let q = isa.load_at(query.as_ptr().add(c));
                    for r in 0..AT_ONCE {
                        some[r] = isa.mul_add(T::load_at(isa, rows[r].as_ptr().add(c)), q, some[r]);
                    }
                }
            }
            if whole < query.len() {
                let q = isa.load_first(&query[whole..]);
                for r in 0..AT_ONCE {
                    some[r] = isa.mul_add(load_first(isa, &rows[r][whole..]), q, some[r]);
                }
            }
            sums.as_mut()[i..i + AT_ONCE].copy_from_slice(&some);
        }
        let sums = isa.transpose(sums);
        let mut total = zero;
        for &sum in sums.as_ref() {
            total = isa.add(total, sum);
        }
        isa.store_first(total, scores);
    }
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
    for (key, s) in (first..).zip(scores.iter_mut()) {
        if key < span.start || key >= span.end {
            *s = T::Real::NEG_INFINITY;
        }
    }
}

/// Scores to weights, with the maximum and the sum brought up to date; whether any key is seen.
#[inline(always)]
fn weigh<A: Real, S: Float<A>>(isa: S, scores: &mut [A], [max, sum]: [&mut A; 2], out: &mut [A]) -> bool {
    let mut top = *max;
    for &s in &*scores {
        top = if s > top { s } else { top };
    }
    let nothing = top == A::NEG_INFINITY && scores.iter().all(|&s| s == A::NEG_INFINITY);
    if nothing {
        return false;
    }
    let base = if top > A::NEG_INFINITY { top } else { A::ZERO };
    let alpha = A::from_f64((*max - base).to_f64().exp2());
    if alpha != A::ONE {
        for o in out {
            *o = *o * alpha;
        }
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
    *sum = *sum * alpha + isa.sum(total);
    *max = top;
    true
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
    out: &mut [T::Real],
) {
    let mut column = 0;
    while column < out.len() {
        // Whole rows where they fit the registers: memory is then read from front to back.
        column += match (out.len() - column) / S::LANES {
            8.. => add_columns::<T, S, 8, true>(isa, weights, values, out, column),
            4.. => add_columns::<T, S, 4, true>(isa, weights, values, out, column),
            1.. => add_columns::<T, S, 1, true>(isa, weights, values, out, column),
            0 => add_columns::<T, S, 1, false>(isa, weights, values, out, column),
        };
    }
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
