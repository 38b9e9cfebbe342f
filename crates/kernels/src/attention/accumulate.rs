//! Sums of weighted rows, added to what is in memory: the products that make gradients.
//!
//! ```text
//! o[r][column] += Σ_i a[r, i] · v[i][column]         R rows of o × C vectors of columns in registers
//! ```
//!
//! The loops around these register tiles are short, so what surrounds a tile must be little: all that is read and written is
//! checked once for a whole rectangle of tiles, and a tile is six words.

use super::product::{Steps, rows_at_once};
use super::rows::Rows;
use crate::simd::{Float, Real, Registers};

/// A rectangle of sums: rows of `out`, a few at a time, over all columns of `rows`.
pub(super) struct Accumulate<'a, A> {
    pub(super) weights: &'a [A],
    /// How the weights lie; `inner` is a number the compiler knows.
    pub(super) steps: Steps,
    /// What is weighted, and how many there are.
    pub(super) rows: Rows<'a, A>,
    pub(super) count: usize,
    /// Rows of `stride` numbers; added to.
    pub(super) out: &'a mut [A],
    pub(super) stride: usize,
}

/// A few rows of `out`: where their weights begin, and which rows are weighted, in multiples of `steps.inner`.
#[derive(Clone, Copy)]
pub(super) struct Few {
    pub(super) weights: usize,
    pub(super) out: usize,
    pub(super) first: usize,
    pub(super) rounds: usize,
}

/// One register tile.
struct Tile<A> {
    weights: *const A,
    rows: *const A,
    stride: isize,
    rounds: usize,
    out: *mut A,
    out_stride: usize,
}

impl<A: Real> Accumulate<'_, A> {
    /// Whether `few` lies inside the memory, whatever its columns.
    #[inline(always)]
    fn holds<S: Float<A>>(&self, few: Few) -> bool {
        let (at_once, Steps { row, step, inner, outer }) = (rows_at_once::<A, S>(), self.steps);
        let last = (at_once - 1) * row + (inner - 1) * step + few.rounds.wrapping_sub(1) * outer;
        few.rounds > 0
            && few.weights + last < self.weights.len()
            && few.first + few.rounds * inner <= self.count
            && (few.out + at_once) * self.stride <= self.out.len()
    }

    /// All that is said about `rows` for the whole rectangle: they lie inside the memory, are whole vectors and no wider than `out`.
    #[inline(always)]
    fn check<S: Float<A>>(&self) {
        assert!(self.rows.width() <= self.stride && self.rows.width().is_multiple_of(S::LANES));
        if self.count > 0 {
            // The first and the last row lie inside the memory, so all between them do.
            let _ = (self.rows.row(0), self.rows.row(self.count - 1));
        }
    }

    /// Few rows after few rows, all columns of each: for `rows` that fit into the first cache.
    #[inline(always)]
    pub(super) fn by_rows<S: Float<A>>(&mut self, isa: S, few: impl Iterator<Item = Few>) {
        self.check::<S>();
        for few in few {
            assert!(self.holds::<S>(few));
            let mut column = 0;
            while column < self.rows.width() {
                // SAFETY: `check` and `holds` say so, and the column is one of the rows'.
                unsafe { self.add(isa, few, column) };
                column += 2 * S::LANES;
            }
        }
    }

    /// Two vectors of columns after another, all rows of each: where only so many columns of `rows` fit into the first cache.
    #[inline(always)]
    pub(super) fn by_columns<S: Float<A>>(&mut self, isa: S, few: &(impl Iterator<Item = Few> + Clone)) {
        self.check::<S>();
        let mut column = 0;
        while column < self.rows.width() {
            for few in few.clone() {
                assert!(self.holds::<S>(few));
                // SAFETY: `check` and `holds` say so, and the column is one of the rows'.
                unsafe { self.add(isa, few, column) };
            }
            column += 2 * S::LANES;
        }
    }

    /// One or two vectors of columns of a few rows.
    ///
    /// # Safety
    /// `check` and `holds` must have been true, and `column` the first of a vector of columns.
    #[inline(always)]
    unsafe fn add<S: Float<A>>(&mut self, isa: S, few: Few, column: usize) {
        // SAFETY: what is true of all columns of the few rows is true of these.
        unsafe {
            let tile = Tile {
                weights: self.weights.as_ptr().add(few.weights),
                rows: self
                    .rows
                    .start()
                    .wrapping_offset(few.first as isize * self.rows.stride() + column as isize),
                stride: self.rows.stride(),
                rounds: few.rounds,
                out: self.out.as_mut_ptr().add(few.out * self.stride + column),
                out_stride: self.stride,
            };
            match (S::REGISTERS, self.rows.width() - column >= 2 * S::LANES) {
                (Registers::Sixteen, true) => tile.run::<S, 4, 2>(isa, self.steps),
                (Registers::Sixteen, false) => tile.run::<S, 4, 1>(isa, self.steps),
                (Registers::ThirtyTwo, true) => tile.run::<S, 8, 2>(isa, self.steps),
                (Registers::ThirtyTwo, false) => tile.run::<S, 8, 1>(isa, self.steps),
            }
        }
    }
}

impl<A: Real> Tile<A> {
    /// # Safety
    /// Memory must hold all that [`Accumulate::holds`] asks for.
    #[inline(always)]
    unsafe fn run<S: Float<A>, const R: usize, const C: usize>(self, isa: S, steps: Steps) {
        let Steps { row, step, inner, outer } = steps;
        let lanes = S::LANES;
        let mut sums = [[isa.splat(A::ZERO); C]; R];
        // SAFETY: the caller's promise; both pointers walk one step further than is read.
        unsafe {
            let (mut weights, mut rows) = (self.weights, self.rows);
            for _ in 0..self.rounds {
                for i in 0..inner {
                    let mut v = [isa.load_at(rows); C];
                    for c in 1..C {
                        v[c] = isa.load_at(rows.add(c * lanes));
                    }
                    for r in 0..R {
                        let a = isa.splat(*weights.add(i * step + r * row));
                        for c in 0..C {
                            sums[r][c] = isa.mul_add(a, v[c], sums[r][c]);
                        }
                    }
                    rows = rows.wrapping_offset(self.stride);
                }
                weights = weights.wrapping_add(outer);
            }
            // What is there is added at the end: so the rounding of a long sum grows with its blocks, not with its terms.
            for r in 0..R {
                for c in 0..C {
                    let out = self.out.add(r * self.out_stride + c * lanes);
                    isa.store_at(isa.add(isa.load_at(out), sums[r][c]), out);
                }
            }
        }
    }
}
