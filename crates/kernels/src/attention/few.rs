//! Any number of query rows against a handful of keys that all of them see: mostly reading queries and writing outputs.
//!
//! ```text
//! for each group of LANES rows:
//!     s[key] = factor·q·k          lanes along the width; one square of LANES rows, transposed and added up, for each key
//!     m = max s;  a[key] = 2^(s[key] − m);  l = Σ a[key]                     lanes are rows
//!     for each row:  o = Σ a[key]·v[key] / l                                lanes along the width again
//! ```
//!
//! Tiles ([`Forward`](super::Forward)) would transpose all queries first, and fill their registers with keys that are not there.
//! Whatever changes scores or hides keys is left to [`Rowwise`](super::Rowwise).

use super::denominator::Denominator;
use super::part::{Block, Part};
use super::rows::Rows;
use super::rowwise::dot;
use super::scratch::Scratch;
use super::storage::Storage;
use super::table::Table;
use crate::Element;
use crate::simd::{Float, FloatKernel, MOST_LANES, Real};

/// Keys there may be.
pub const FEW_KEYS: usize = 8;

/// Attention of a block with few keys: a [`FloatKernel`] whose fields are its arguments. The block must be
/// [plain](FewKeys::suits).
pub struct FewKeys<'a, 'b, T: Storage> {
    /// What to attend to.
    pub block: Block<'b, T>,
    /// Where to work.
    pub scratch: &'a mut Scratch<T::Real>,
    /// `(rows, E)`.
    pub out: &'a mut [T],
    /// `(rows,)`: the logarithm of each row's denominator; −∞ for an empty row.
    pub lse: &'a mut [f64],
    /// Whether anybody wants those of rows that are not empty.
    pub wants_lse: bool,
}

impl<T: Storage> FewKeys<'_, '_, T> {
    /// Whether all rows see all of a few keys, and nothing but the factor changes their scores.
    pub fn suits(block: &Block<'_, T>) -> bool {
        let keys = block.keys.rows();
        let plain = |part: &Part<'_, T>| {
            (part.bias.is_none() && part.mask.is_none() && part.pattern.is_none())
                && (part.alibi.is_none() && part.sink.is_none() && part.dropping.is_none())
        };
        (1..=FEW_KEYS).contains(&keys)
            && block.softcap.is_none()
            && block.parts.iter().all(plain)
            && block.spans.iter().all(|span| span.start == 0 && span.end == keys)
    }
}

/// What a group of rows weighs: `(keys, LANES)`, and the inverses of the denominators.
struct Weights<A> {
    of: [[A; MOST_LANES]; FEW_KEYS],
    inverse: [A; MOST_LANES],
}

impl<T: Storage> FloatKernel<T::Real> for FewKeys<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Float<T::Real>>(self, isa: S) {
        let FewKeys { block, scratch, out, lse, wants_lse } = self;
        let (depth, width, count) = (block.keys.width(), block.values.width(), block.keys.rows());
        assert!(count <= FEW_KEYS);
        let room = scratch.wide.packed.reserve(FEW_KEYS * (depth + width) + S::LANES * depth + width);
        let (packed, room) = room.split_at_mut(FEW_KEYS * depth);
        let keys = Rows::of(isa, &block.keys, [0, count], depth, packed);
        let (packed, room) = room.split_at_mut(FEW_KEYS * width);
        let values = Rows::of(isa, &block.values, [0, count], width, packed);
        let (packed, line) = room.split_at_mut(S::LANES * depth);
        let zero = T::Real::ZERO;
        let mut weights = Weights { of: [[zero; MOST_LANES]; FEW_KEYS], inverse: [zero; MOST_LANES] };
        let factor = T::Real::from_f64(block.factor());
        for part in block.parts {
            let all = Table::Whole(part.queries);
            for first in (0..part.count).step_by(S::LANES) {
                let rows = S::LANES.min(part.count - first);
                let (from, row) = (part.first + first, part.row + first);
                let queries = Rows::of(isa, &all, [from, from + rows], depth, packed);
                let lse = &mut lse[row..row + rows];
                weigh(isa, (queries, rows), (keys, count), factor, &mut weights, (lse, wants_lse));
                for lane in 0..rows {
                    let out = &mut out[(row + lane) * width..][..width];
                    add_values(isa, &weights, lane, (values, count), line);
                    T::narrow(line, out);
                }
            }
        }
    }
}

/// The weights of a group of rows.
#[inline(always)]
fn weigh<A: Storage<Real = A> + Real, S: Float<A>>(
    isa: S,
    (queries, rows): (Rows<'_, A>, usize),
    (keys, count): (Rows<'_, A>, usize),
    factor: A,
    weights: &mut Weights<A>,
    (lse, wants_lse): (&mut [f64], bool),
) {
    let (zero, nothing) = (isa.splat(A::ZERO), isa.splat(A::NEG_INFINITY));
    let mut scores = [zero; FEW_KEYS];
    let mut max = nothing;
    for key in 0..count {
        let mut sums = isa.square(zero);
        if rows == S::LANES {
            // A number the compiler knows, so that the square stays in registers.
            for lane in 0..S::LANES {
                sums.as_mut()[lane] = dot(isa, queries.row(lane), keys.row(key));
            }
        } else {
            for lane in 0..rows {
                sums.as_mut()[lane] = dot(isa, queries.row(lane), keys.row(key));
            }
        }
        scores[key] = isa.mul(isa.row_sums(sums), isa.splat(factor));
        max = isa.max(max, scores[key]);
    }
    let base = isa.where_greater(max, nothing, max, zero);
    let mut sum = zero;
    for key in 0..count {
        let a = super::exp::exp2(isa, isa.sub(scores[key], base));
        sum = isa.add(sum, a);
        isa.store(a, &mut weights.of[key]);
    }
    // A denominator of 0 stays 0, and NaN stays NaN.
    let inverse = isa.where_greater(sum, zero, isa.div(isa.splat(A::ONE), sum), sum);
    isa.store(inverse, &mut weights.inverse);
    let (mut tops, mut totals) = ([A::ZERO; MOST_LANES], [A::ZERO; MOST_LANES]);
    isa.store(max, &mut tops);
    isa.store(sum, &mut totals);
    for lane in 0..rows {
        lse[lane] = Denominator::new(tops[lane].to_f64(), totals[lane].to_f64(), None).lse(wants_lse);
    }
}

/// One row's `Σ a[key]·v[key] / l`.
#[inline(always)]
fn add_values<A: Storage<Real = A> + Real, S: Float<A>>(
    isa: S,
    weights: &Weights<A>,
    lane: usize,
    (values, count): (Rows<'_, A>, usize),
    to: &mut [A],
) {
    let inverse = weights.inverse[lane];
    if inverse == A::ZERO {
        to.fill(A::ZERO);
        return;
    }
    let mut column = 0;
    while column < to.len() {
        column += match (to.len() - column) / S::LANES {
            4.. => add_columns::<A, S, 4>(isa, weights, lane, (values, count), &mut to[column..], column),
            1.. => add_columns::<A, S, 1>(isa, weights, lane, (values, count), &mut to[column..], column),
            0 => {
                let mut sum = isa.splat(A::ZERO);
                for key in 0..count {
                    let v = A::load_first(isa, &values.row(key)[column..]);
                    sum = isa.mul_add(isa.splat(weights.of[key][lane]), v, sum);
                }
                isa.store_first(isa.mul(sum, isa.splat(inverse)), &mut to[column..]);
                S::LANES
            }
        };
    }
}

/// `C` vectors of columns, and how many columns that are.
#[inline(always)]
fn add_columns<A: Storage<Real = A> + Real, S: Float<A>, const C: usize>(
    isa: S,
    weights: &Weights<A>,
    lane: usize,
    (values, count): (Rows<'_, A>, usize),
    to: &mut [A],
    column: usize,
) -> usize {
    let mut sums = [isa.splat(A::ZERO); C];
    for key in 0..count {
        let weight = isa.splat(weights.of[key][lane]);
        let value = &values.row(key)[column..][..C * S::LANES];
        for c in 0..C {
            // SAFETY: the row holds C vectors from `column` on.
            let v = unsafe { isa.load_at(value.as_ptr().add(c * S::LANES)) };
            sums[c] = isa.mul_add(weight, v, sums[c]);
        }
    }
    let (inverse, to) = (isa.splat(weights.inverse[lane]), &mut to[..C * S::LANES]);
    for c in 0..C {
        isa.store(isa.mul(sums[c], inverse), &mut to[c * S::LANES..]);
    }
    C * S::LANES
}
