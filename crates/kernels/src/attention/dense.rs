//! Bias and boolean masks, added to one panel of scores: `s (keys, LANES)`, where the lanes are query rows.
//!
//! Both lie in memory query by query as a rule, and are needed key by key. How they get there decides what they cost:
//!
//! ```text
//! bias, one vector x for each key:
//!     the same for every key            x once for the panel
//!     the same for every query          a number of the line, in every lane
//!     queries side by side in memory    x as it lies
//!     otherwise                         LANES lines, LANES keys at a time, transposed in registers
//!   s = −∞ where x = −∞, otherwise s + max(lowest, x·log₂e)
//!
//! mask, one bit for each query and key:
//!     for each line from the last to the first:   bits[key] = 2·bits[key] + keep[key]
//!   s = s where the lane's bit is set, otherwise −∞
//! ```
//!
//! The largest score of each row comes with them, from registers.
//!
//! A line of booleans is a line of bytes, so the shift and the addition run over many keys at once, and a panel costs a byte
//! of reading for each score. What is hidden is −∞ whatever the product was: NaN − ∞ would be NaN.

use super::TILE_KEYS;
use super::part::{Block, Part};
use super::storage::{Storage, widen_row};
use crate::simd::{Float, MOST_LANES, Real, prefetch};
use std::f64::consts::LOG2_E;

/// Some keys of one panel of one tile.
pub(super) struct Dense<'a, 'b, T: Storage> {
    pub(super) block: &'a Block<'b, T>,
    /// The panel's first row.
    pub(super) row: usize,
    /// The first key.
    pub(super) first: usize,
    /// `(keys, LANES)`.
    pub(super) scores: &'a mut [T::Real],
    /// Room for LANES lines of [`TILE_KEYS`] numbers.
    pub(super) lines: &'a mut [T::Real],
}

/// Where the vectors of a bias come from.
#[allow(clippy::large_enum_variant, reason = "one lives on the stack for each panel")]
#[derive(Clone, Copy)]
enum Source<'a, A, V> {
    /// One vector for all keys.
    Same(V),
    /// One number for all queries.
    Line(&'a [A]),
    /// The vector of key `k` begins at `start + k·step`.
    Columns { data: &'a [A], start: isize, step: isize },
    /// A line of keys for each lane.
    Lines([&'a [A]; MOST_LANES]),
}

impl<T: Storage> Dense<'_, '_, T> {
    /// The largest scores, lane by lane: they pass through registers here. All parts of a block have a bias, or none; and so with masks.
    #[inline(always)]
    pub(super) fn run<S: Float<T::Real>>(mut self, isa: S) -> Option<S::Vector> {
        let part = self.block.query(self.row).0;
        let (biased, masked) = (part.bias.is_some(), part.mask.is_some() || part.pattern.is_some());
        let mut top = None;
        if biased {
            top = Some(self.bias(isa));
        }
        if masked {
            top = Some(self.mask(isa));
        }
        top
    }

    #[inline(always)]
    fn bias<S: Float<T::Real>>(&mut self, isa: S) -> S::Vector {
        let lanes = S::LANES;
        let mut top = isa.splat(T::Real::NEG_INFINITY);
        let keys = self.scores.len() / lanes;
        let source = source(isa, self.block, [self.row, self.first, keys], self.lines);
        let lead = source.lead(lanes).min(keys);
        if lead > 0 {
            top = source.add(isa, 0, &mut self.scores[..lead * lanes], lead, top);
        }
        let whole = keys - (keys - lead) % lanes;
        for k in (lead..whole).step_by(lanes) {
            // As many keys as lanes: a number the compiler knows, so that the square stays in registers.
            top = source.add(isa, k, &mut self.scores[k * lanes..(k + lanes) * lanes], lanes, top);
        }
        if whole < keys {
            top = source.add(isa, whole, &mut self.scores[whole * lanes..], keys - whole, top);
        }
        top
    }

    #[inline(always)]
    fn mask<S: Float<T::Real>>(&mut self, isa: S) -> S::Vector {
        let keys = self.scores.len() / S::LANES;
        let mut bits = [0u16; TILE_KEYS];
        let bits = &mut bits[..keys];
        for lane in (0..S::LANES).rev() {
            let (part, query) = self.block.query(self.row + lane);
            let mut line = [true; TILE_KEYS];
            let keep = kept(part, query, self.first, &mut line[..keys]);
            for k in 0..keys {
                bits[k] = bits[k] << 1 | u16::from(keep[k]);
            }
        }
        let (zero, hidden) = (isa.splat(T::Real::ZERO), isa.splat(T::Real::NEG_INFINITY));
        let mut top = hidden;
        for k in 0..keys {
            let s = &mut self.scores[k * S::LANES..][..S::LANES];
            // Without the 0 the compiler makes it a masked store, for which some processors take twenty steps.
            let score = isa.add(isa.load(s), zero);
            let score = isa.where_set(u32::from(bits[k]), score, hidden);
            isa.store(score, s);
            top = isa.max(top, score);
        }
        top
    }
}

/// Where the bias of the panel that begins at `row` is to be found, for `keys` keys from `first` on.
#[inline(always)]
fn source<'a, T: Storage, S: Float<T::Real>>(
    isa: S,
    block: &Block<'a, T>,
    [row, first, keys]: [usize; 3],
    lines: &'a mut [T::Real],
) -> Source<'a, T::Real, S::Vector> {
    let lanes = S::LANES;
    let stride = keys.next_multiple_of(lanes);
    let (part, query) = block.query(row);
    let Some(bias) = &part.bias else { return Source::Same(isa.splat(T::Real::ZERO)) };
    let [row_stride, key_stride] = [bias.strides()[0], bias.strides()[1]];
    let of_one_part = row + lanes <= part.row + part.count;
    if key_stride == 0 {
        for lane in 0..lanes {
            let (part, query) = block.query(row + lane);
            lines[lane] =
                part.bias.and_then(|bias| bias.get(&[query, first])).map_or(T::Real::ZERO, T::widen_one);
        }
        return Source::Same(isa.load(lines));
    }
    if row_stride == 0 && of_one_part {
        widen_row(bias, query, first, &mut lines[..keys]);
        return Source::Line(&lines[..keys]);
    }
    let (data, start) = bias.memory();
    if row_stride == 1
        && of_one_part
        && let Some(data) = T::as_reals(data)
    {
        let start = start as isize + query as isize + first as isize * key_stride;
        return Source::Columns { data, start, step: key_stride };
    }
    let mut own: [&'a [T::Real]; MOST_LANES] = [&[]; MOST_LANES];
    for (lane, line) in lines.chunks_exact_mut(stride).take(lanes).enumerate() {
        let (part, query) = block.query(row + lane);
        let Some(bias) = &part.bias else { continue };
        let (data, start) = bias.memory();
        own[lane] = match T::as_reals(data) {
            Some(data) if key_stride == 1 => {
                &data[(start as isize + query as isize * row_stride) as usize + first..][..keys]
            }
            _ => {
                widen_row(bias, query, first, &mut line[..keys]);
                &line[..keys]
            }
        };
    }
    Source::Lines(own)
}

impl<A: Real, V: Copy> Source<'_, A, V> {
    /// Keys before the first vector that lies within one line of the cache, for all queries alike. Where queries are a power of two
    /// apart, their lines of the cache drive each other out, and what a vector leaves of one has to come again.
    #[inline(always)]
    fn lead(&self, lanes: usize) -> usize {
        match self {
            Source::Lines(lines) => {
                let [lead, next] =
                    [lines[0], lines[1]].map(|line| line.as_ptr().align_offset(lanes * size_of::<A>()));
                if lead == next { lead } else { 0 }
            }
            _ => 0,
        }
    }

    /// Adds the bias of the keys from `k` on to their scores, of which there are at most as many as lanes, and gives the larger of these and
    /// `top`. Each source adds what it finds itself: a square that is handed on goes through memory.
    #[inline(always)]
    fn add<S: Float<A, Vector = V>>(&self, isa: S, k: usize, scores: &mut [A], keys: usize, mut top: V) -> V {
        let scores = &mut scores[..keys * S::LANES];
        match self {
            Source::Same(x) => {
                for key in 0..keys {
                    top = add_one(isa, top, *x, &mut scores[key * S::LANES..]);
                }
            }
            Source::Line(line) => {
                for key in 0..keys {
                    top = add_one(isa, top, isa.splat(line[k + key]), &mut scores[key * S::LANES..]);
                }
            }
            Source::Columns { data, start, step } => {
                for key in 0..keys {
                    let at = *start + (k + key) as isize * *step;
                    top = add_one(isa, top, isa.load(&data[at as usize..]), &mut scores[key * S::LANES..]);
                    // Where the next panel's vector ends: these lines are far apart, and nothing else foresees them.
                    if let Some(next) = data.get(at as usize + 2 * S::LANES - 1..) {
                        prefetch(next.as_ptr());
                    }
                }
            }
            Source::Lines(lines) => {
                let mut square = isa.square(isa.splat(A::ZERO));
                for lane in 0..S::LANES {
                    let line = &lines[lane][k..k + keys];
                    square.as_mut()[lane] =
                        if keys == S::LANES { isa.load(line) } else { isa.load_first(line) };
                }
                let square = isa.transpose(square);
                for key in 0..keys {
                    top = add_one(isa, top, square.as_ref()[key], &mut scores[key * S::LANES..]);
                }
            }
        }
        top
    }
}

/// Adds a vector of biases to a vector of scores, in units of log₂, and gives the larger of these and `top`.
#[inline(always)]
fn add_one<A: Real, S: Float<A>>(isa: S, top: S::Vector, bias: S::Vector, scores: &mut [A]) -> S::Vector {
    let score = biased(isa, isa.load(scores), bias);
    isa.store(score, scores);
    isa.max(top, score)
}

/// A score with its bias, in units of log₂. A finite bias stays finite: only −∞ hides, whatever the score is.
#[inline(always)]
fn biased<A: Real, S: Float<A>>(isa: S, score: S::Vector, bias: S::Vector) -> S::Vector {
    let (hidden, lowest) = (isa.splat(A::NEG_INFINITY), isa.splat(A::LOWEST));
    let scaled = isa.mul(bias, isa.splat(A::from_f64(LOG2_E)));
    isa.where_greater(lowest, bias, hidden, isa.add(score, isa.max(lowest, scaled)))
}

/// Bias, mask and pattern of one row: its scores with the keys from `first` on, at most [`TILE_KEYS`], one after another.
#[inline(always)]
pub(super) fn adjust_row<T: Storage, S: Float<T::Real>>(
    isa: S,
    block: &Block<'_, T>,
    row: usize,
    first: usize,
    scores: &mut [T::Real],
) {
    let (part, query) = block.query(row);
    if let Some(bias) = &part.bias {
        let mut line = [T::Real::ZERO; TILE_KEYS];
        let line = &mut line[..scores.len()];
        widen_row(bias, query, first, line);
        for (s, x) in scores.chunks_mut(S::LANES).zip(line.chunks(S::LANES)) {
            isa.store_first(biased(isa, isa.load_first(s), isa.load_first(x)), s);
        }
    }
    if part.mask.is_some() || part.pattern.is_some() {
        let mut line = [true; TILE_KEYS];
        let keep = kept(part, query, first, &mut line[..scores.len()]);
        for k in 0..scores.len() {
            let score = scores[k];
            // Both sides are there and one is taken, which the compiler can do in vectors.
            scores[k] = if keep[k] { score } else { T::Real::NEG_INFINITY };
        }
    }
}

/// Which keys from `first` on mask and pattern leave to `query`: as they lie, or gathered in `line`, which is all true.
#[inline(always)]
fn kept<'a, T: Storage>(part: &Part<'a, T>, query: usize, first: usize, line: &'a mut [bool]) -> &'a [bool] {
    if let Some(mask) = &part.mask {
        let (data, start) = mask.memory();
        let (row_stride, stride) = (mask.strides()[0], mask.strides()[1]);
        let start = start as isize + query as isize * row_stride + first as isize * stride;
        match stride {
            1 if part.pattern.is_none() => return &data[start as usize..][..line.len()],
            1 => line.copy_from_slice(&data[start as usize..][..line.len()]),
            0 => line.fill(data[start as usize]),
            _ => {
                for k in 0..line.len() {
                    line[k] = data[(start + k as isize * stride) as usize];
                }
            }
        }
    }
    if let Some(pattern) = &part.pattern {
        pattern.hide(query, first..first + line.len(), |run| line[run].fill(false));
    }
    line
}
