//! Weighted sums of value rows, lanes along the width.
//!
//! ```text
//! for each key that is not hidden:  s[column] += a[key]·v[key][column]
//! ```
//!
//! Memory is read from front to back: whole rows are added, in registers where they fit and otherwise in memory, two rows for
//! each time the sums are read and written; with thirty-two registers sixteen vectors of columns at a time. Where few vectors
//! make a row, several keys are added up side by side, so that no sum waits for the one before it, and put together every
//! [`TOGETHER`] keys: keys may come in any number of calls that begin at a multiple of it, and give the same sums.

use super::rows::Rows;
use super::storage::Storage;
use crate::simd::{Float, Real, Registers};

/// What a hidden key weighs until the values are added up: its value is not even looked at.
pub(super) const HIDDEN: f64 = -1.0;

/// Sums side by side are put together after so many keys.
pub(super) const TOGETHER: usize = 64;

/// `s += Σ a[key]·v[key]` without the hidden keys. Values are widened on the way; the columns of `s` lie as
/// [`Storage::load_two_at`] gives them. If the values are far, later ones are asked for in between.
#[inline(always)]
pub(super) fn add_values<T: Storage, S: Float<T::Real>>(
    isa: S,
    weights: &[T::Real],
    values: Rows<'_, T>,
    far: bool,
    sums: &mut [T::Real],
) {
    if far {
        add_asking::<T, S, true>(isa, weights, values, sums);
    } else {
        add_asking::<T, S, false>(isa, weights, values, sums);
    }
}

/// Whether the values of rows of `width` numbers are added one after another, however many are given at once.
#[inline(always)]
pub(super) fn one_by_one<A: Real, S: Float<A>>(width: usize) -> bool {
    width.is_multiple_of(8 * S::LANES)
}

#[inline(always)]
fn add_asking<T: Storage, S: Float<T::Real>, const ASK: bool>(
    isa: S,
    weights: &[T::Real],
    values: Rows<'_, T>,
    sums: &mut [T::Real],
) {
    let mut column = 0;
    if S::REGISTERS == Registers::ThirtyTwo {
        while sums.len() - column >= 16 * S::LANES {
            column += add_columns::<T, S, 16, 1, ASK>(isa, weights, values, sums, column);
        }
    } else if sums.len() > 8 * S::LANES {
        column = add_rows::<T, S, ASK>(isa, weights, values, sums);
    }
    while column < sums.len() {
        column += match (sums.len() - column) / S::LANES {
            8.. => add_columns::<T, S, 8, 1, ASK>(isa, weights, values, sums, column),
            4.. => add_columns::<T, S, 4, 2, ASK>(isa, weights, values, sums, column),
            2.. => add_columns::<T, S, 2, 4, ASK>(isa, weights, values, sums, column),
            1.. => add_columns::<T, S, 1, 4, ASK>(isa, weights, values, sums, column),
            0 => add_rest(isa, weights, values, sums, column),
        };
    }
}

/// All whole vectors of columns, and how many columns that are.
#[inline(always)]
fn add_rows<T: Storage, S: Float<T::Real>, const ASK: bool>(
    isa: S,
    weights: &[T::Real],
    values: Rows<'_, T>,
    sums: &mut [T::Real],
) -> usize {
    let whole = sums.len() - sums.len() % S::LANES;
    let sums = &mut sums[..whole];
    let hidden = |key: usize| weights[key] < T::Real::ZERO;
    let mut key = 0;
    let mut asked = 0;
    while key < weights.len() {
        // As many rows as are read.
        while ASK && asked < weights.len().min(key + 2) {
            values.ask(asked, 0, whole);
            asked += 1;
        }
        if hidden(key) {
            key += 1;
        } else if key + 1 < weights.len() && !hidden(key + 1) {
            let rows = [values.row(key), values.row(key + 1)];
            add_scaled::<T, S, 2>(isa, [weights[key], weights[key + 1]], rows, sums);
            key += 2;
        } else {
            add_scaled::<T, S, 1>(isa, [weights[key]], [values.row(key)], sums);
            key += 1;
        }
    }
    whole
}

/// `sums += Σ weight·row` over `R` rows, whole vectors.
#[inline(always)]
fn add_scaled<T: Storage, S: Float<T::Real>, const R: usize>(
    isa: S,
    weights: [T::Real; R],
    rows: [&[T]; R],
    sums: &mut [T::Real],
) {
    let (lanes, whole) = (S::LANES, sums.len());
    let (mut own, mut from) = ([isa.splat(T::Real::ZERO); R], [rows[0].as_ptr(); R]);
    for r in 0..R {
        own[r] = isa.splat(weights[r]);
        from[r] = rows[r][..whole].as_ptr();
    }
    let mut column = 0;
    // SAFETY: the rows and the sums hold the vectors from `column` on that are read and written.
    unsafe {
        while column + 2 * lanes <= whole {
            let to = sums.as_mut_ptr().add(column);
            let (mut a, mut b) = (isa.load_at(to), isa.load_at(to.add(lanes)));
            for r in 0..R {
                let [x, y] = T::load_two_at(isa, from[r].add(column));
                a = isa.mul_add(own[r], x, a);
                b = isa.mul_add(own[r], y, b);
            }
            isa.store_at(a, to);
            isa.store_at(b, to.add(lanes));
            column += 2 * lanes;
        }
        if column + lanes <= whole {
            let to = sums.as_mut_ptr().add(column);
            let mut a = isa.load_at(to);
            for r in 0..R {
                a = isa.mul_add(own[r], T::load_at(isa, from[r].add(column)), a);
            }
            isa.store_at(a, to);
        }
    }
}

/// `C` vectors of columns, `R` keys side by side; and how many columns that are.
#[inline(always)]
fn add_columns<T: Storage, S: Float<T::Real>, const C: usize, const R: usize, const ASK: bool>(
    isa: S,
    weights: &[T::Real],
    values: Rows<'_, T>,
    to: &mut [T::Real],
    column: usize,
) -> usize {
    let lanes = S::LANES;
    let to = &mut to[column..][..C * lanes];
    let mut sums = [[isa.splat(T::Real::ZERO); C]; R];
    for c in 0..C {
        sums[0][c] = isa.load(&to[c * lanes..]);
    }
    if weights.is_empty() {
        return C * lanes;
    }
    // Decided once: what is not an instruction for a number leaves the processor room for reading ahead.
    let hides = any_hidden(isa, weights);
    let (rows, stride) = (values.columns(column, C * lanes).first_of(weights.len()), values.stride());
    // One sum of each column needs no putting together, and a loop that ends rarely is read faster.
    let together = if R == 1 { weights.len() } else { TOGETHER };
    for start in (0..weights.len()).step_by(together) {
        let end = weights.len().min(start + together);
        for first in (start..end).step_by(R) {
            for r in 0..R {
                let key = first + r;
                if key >= end {
                    continue;
                }
                if ASK {
                    values.ask(key, column, C * lanes);
                }
                if hides && weights[key] < T::Real::ZERO {
                    continue;
                }
                let weight = isa.splat(weights[key]);
                // SAFETY: there is a row for each weight, and it holds C vectors from `column` on.
                unsafe {
                    let value = rows.offset(key as isize * stride);
                    let mut c = 0;
                    while c + 2 <= C {
                        let [x, y] = T::load_two_at(isa, value.add(c * lanes));
                        sums[r][c] = isa.mul_add(weight, x, sums[r][c]);
                        sums[r][c + 1] = isa.mul_add(weight, y, sums[r][c + 1]);
                        c += 2;
                    }
                    if c < C {
                        sums[r][c] = isa.mul_add(weight, T::load_at(isa, value.add(c * lanes)), sums[r][c]);
                    }
                }
            }
        }
        for r in 1..R {
            for c in 0..C {
                sums[0][c] = isa.add(sums[0][c], sums[r][c]);
                sums[r][c] = isa.splat(T::Real::ZERO);
            }
        }
    }
    for c in 0..C {
        isa.store(sums[0][c], &mut to[c * lanes..]);
    }
    C * lanes
}

/// Whether some key weighs what hidden ones do.
#[inline(always)]
fn any_hidden<A: Real, S: Float<A>>(isa: S, weights: &[A]) -> bool {
    let (zero, mut hidden) = (isa.splat(A::ZERO), 0);
    let whole = weights.len() - weights.len() % S::LANES;
    for at in (0..whole).step_by(S::LANES) {
        hidden |= isa.greater(zero, isa.load(&weights[at..]));
    }
    for at in whole..weights.len() {
        hidden |= u32::from(weights[at] < A::ZERO);
    }
    hidden != 0
}

/// The columns behind the last whole vector, and how many they are.
#[inline(always)]
fn add_rest<T: Storage, S: Float<T::Real>>(
    isa: S,
    weights: &[T::Real],
    values: Rows<'_, T>,
    sums: &mut [T::Real],
    column: usize,
) -> usize {
    let to = &mut sums[column..];
    let mut sum = isa.load_first(to);
    for key in 0..weights.len() {
        if weights[key] < T::Real::ZERO {
            continue;
        }
        sum = isa.mul_add(isa.splat(weights[key]), T::load_first(isa, &values.row(key)[column..]), sum);
    }
    isa.store_first(sum, to);
    to.len()
}
