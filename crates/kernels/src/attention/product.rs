//! The two matrix products, as register tiles.
//!
//! Scores have queries in their lanes, so that the softmax of a row never crosses lanes:
//!
//! ```text
//! scores: s[panel][key][lane] = Σ_i k[key][i] · qt[panel][i][lane]     R keys broadcast × C panels of queries
//! values: o[row][column]     += Σ_key a[panel][key][lane] · v[key][column]   R rows broadcast × C vectors of columns
//! ```
//!
//! What is multiplied are numbers, one to a lane, or pairs of bf16, two to a lane ([`Multiply`]); then `i` and `key` above
//! count pairs. The text is the same.
//!
//! Keys and values are read as they lie. R·C sums stay in registers for the whole inner loop: 8 × 2 of thirty-two
//! registers; of sixteen 6 × 2 for scores, which leaves room for two vectors and two broadcasts (4 × 3 would not, and a sum
//! that is spilled waits for memory in every step), and 4 × 2 for values, whose rows must divide a panel, and for the scores of
//! backward, whose keys lie side by side in the first cache.
//!
//! The loops over registers count, they do not iterate: an adaptor such as `zip` is a function of its own, and where a
//! build does not inline it (incremental, or without link-time optimisation) the sums' addresses escape and every step
//! goes through memory.

use super::TILE_KEYS;
use super::ahead::Ahead;
use super::multiply::Multiply;
use super::rows::Rows;
use crate::Element;
use crate::simd::{Float, Real, Registers};
use std::ops::Range;

/// So many steps of a tile of scores are written out where it has so few rows: a loop of one step is then as short as its
/// products take, and where it happens to lie badly in memory fetching its instructions takes longer.
const UNROLLED: usize = 4;
const UNROLLED_ROWS: usize = 4;

/// Panels of scores, `keys` apart; the keys of one lie one after another, a vector each.
pub(super) struct Panels<'a, A> {
    /// `(panels, keys, LANES)`.
    pub(super) data: &'a mut [A],
    /// How far apart two panels are, in numbers.
    pub(super) stride: usize,
}

/// `s = Qᵀ·K` for the keys `first..last` of a tile and consecutive panels of queries.
pub(super) struct Scores<'a, A, N> {
    /// `(panels, width, LANES)`.
    pub(super) queries: &'a [N],
    /// `D`, in lanes.
    pub(super) width: usize,
    pub(super) keys: Rows<'a, N>,
    pub(super) first: usize,
    pub(super) last: usize,
    /// Key `j` of the tile goes to `j·LANES`; up to seven vectors behind `last` are overwritten.
    pub(super) to: Panels<'a, A>,
    /// What products become scores by, where that is not in the queries.
    pub(super) factor: A,
    /// What becomes of the largest scores, where those are the products and nobody hides any.
    pub(super) tops: Tops<'a, A>,
    /// What is asked for meanwhile.
    pub(super) ahead: &'a mut Ahead,
}

/// Where the largest products go while they are still in registers.
pub(super) enum Tops<'a, A> {
    /// Nowhere.
    Unknown,
    /// `(panels, LANES)`, which are raised to them.
    OfRows(&'a mut [A]),
    /// `(panels, EIGHTS, LANES)`: of each eight keys, counted from the tile's start. Register tiles must have eight keys and begin at
    /// multiples of eight.
    OfEights(&'a mut [A]),
}

/// Eights of keys to a tile.
pub(super) const EIGHTS: usize = TILE_KEYS / 8;

impl<A: Real, N: Element> Scores<'_, A, N> {
    /// `panels` of them, in as few and as wide register tiles as there are.
    #[inline(always)]
    pub(super) fn run<S: Float<A>, M: Multiply<A, S, Number = N>>(self, isa: S, panels: usize) {
        self.run_by::<S, M, 6>(isa, panels);
    }

    /// The same, `FEW` keys to a register tile where there are sixteen registers: 6 or 4.
    #[inline(always)]
    pub(super) fn run_by<S: Float<A>, M: Multiply<A, S, Number = N>, const FEW: usize>(
        mut self,
        isa: S,
        panels: usize,
    ) {
        assert!(self.queries.len() >= panels * self.width * S::LANES * M::PER_LANE);
        let room = (self.last + 7) * S::LANES;
        assert!(panels == 0 || self.to.data.len() >= (panels - 1) * self.to.stride + room);
        if self.first < self.last {
            let lanes = ..self.width * M::PER_LANE;
            let _ = (&self.keys.row(self.first)[lanes], &self.keys.row(self.last - 1)[lanes]);
        }
        let mut panel = 0;
        while panel < panels {
            let (first, last) = (self.first, self.last);
            panel += match (S::REGISTERS, panels - panel) {
                (Registers::Sixteen, 2..) => {
                    let rest = first + before_fours(FEW, last - first);
                    self.group::<S, M, FEW, 2>(isa, panel, first..rest);
                    self.group::<S, M, 4, 2>(isa, panel, rest..last)
                }
                (Registers::ThirtyTwo, 2..) => self.group::<S, M, 8, 2>(isa, panel, first..last),
                _ => self.group::<S, M, 8, 1>(isa, panel, first..last),
            };
        }
    }

    #[inline(always)]
    fn group<S: Float<A>, M: Multiply<A, S, Number = N>, const R: usize, const C: usize>(
        &mut self,
        isa: S,
        panel: usize,
        range: Range<usize>,
    ) -> usize {
        let stride = self.keys.stride();
        let mut j = range.start;
        let mut key = self.keys.start().wrapping_offset((j as isize).wrapping_mul(stride));
        let asked = self.ahead.left().div_ceil(range.len().div_ceil(R).max(1));
        while j < range.end {
            self.ahead.ask(asked);
            let mut keys = [key; R];
            for r in 1..R {
                // Past the end the last key stands in: its scores are never looked at, and change no maximum.
                keys[r] = if j + r < range.end { keys[r - 1].wrapping_offset(stride) } else { keys[r - 1] };
            }
            // SAFETY: `run_by` has checked the first and the last key, so all between them hold `width` lanes.
            unsafe { self.tile::<S, M, R, C>(isa, panel, j, keys) };
            key = key.wrapping_offset((R as isize).wrapping_mul(stride));
            j += R;
        }
        C
    }

    /// # Safety
    /// Each key must hold `width` lanes, and `run_by` must have checked the rest.
    #[inline(always)]
    unsafe fn tile<S: Float<A>, M: Multiply<A, S, Number = N>, const R: usize, const C: usize>(
        &mut self,
        isa: S,
        panel: usize,
        j: usize,
        pointers: [*const N; R],
    ) {
        let (lanes, width, per) = (S::LANES, self.width, M::PER_LANE);
        let mut sums = [[isa.splat(A::ZERO); C]; R];
        // SAFETY: `run_by` has checked that the queries hold `panel + C` panels of `width` vectors and that the scores
        // hold a vector for each of the keys j … j + R − 1 in each panel; the caller promises the keys.
        unsafe {
            let queries = self.queries.as_ptr().add(panel * width * lanes * per);
            let whole = if R == UNROLLED_ROWS { width - width % UNROLLED } else { 0 };
            let mut i = 0;
            while i < whole {
                for step in 0..UNROLLED {
                    sums = step_of::<A, S, M, R, C>(isa, queries, width, pointers, i + step, sums);
                }
                i += UNROLLED;
            }
            while i < width {
                sums = step_of::<A, S, M, R, C>(isa, queries, width, pointers, i, sums);
                i += 1;
            }
            let factor = isa.splat(self.factor);
            let to = self.to.data.as_mut_ptr().add(panel * self.to.stride + j * lanes);
            for r in 0..R {
                for c in 0..C {
                    sums[r][c] = M::score(isa, sums[r][c], factor);
                    isa.store_at(sums[r][c], to.add(c * self.to.stride + r * lanes));
                }
            }
        }
        if let Tops::Unknown = self.tops {
            return;
        }
        for c in 0..C {
            // Behind the last key stands the last one again, which changes nothing.
            let mut two = [sums[0][c], sums[1][c]];
            for r in 2..R {
                two[r % 2] = isa.max(two[r % 2], sums[r][c]);
            }
            let top = isa.max(two[0], two[1]);
            match &mut self.tops {
                Tops::Unknown => {}
                Tops::OfRows(max) => {
                    let max = &mut max[(panel + c) * lanes..][..lanes];
                    isa.store(isa.max(isa.load(max), top), max);
                }
                Tops::OfEights(max) => isa.store(top, &mut max[((panel + c) * EIGHTS + j / 8) * lanes..]),
            }
        }
    }
}

/// How many of `count` keys are multiplied `many` at a time before the rest are four at a time, so that few register tiles
/// reach behind the last key.
#[inline(always)]
fn before_fours(many: usize, count: usize) -> usize {
    let whole = count - count % many;
    match count % many {
        _ if many <= 4 => 0,
        // Two tiles of four in place of one of six that is nearly empty.
        1 | 2 if whole > 0 => whole - many,
        1..=4 => whole,
        // None is left over, or one of six has room for one more.
        _ => count,
    }
}

/// One step of a tile of scores: `sums[r][c] += k[r][i]·q[c][i]`.
///
/// # Safety
/// `queries` must hold `C` panels of `width` vectors, and each key, like them, more than `i` lanes.
#[inline(always)]
unsafe fn step_of<A: Real, S: Float<A>, M: Multiply<A, S>, const R: usize, const C: usize>(
    isa: S,
    queries: *const M::Number,
    width: usize,
    keys: [*const M::Number; R],
    i: usize,
    mut sums: [[S::Vector; C]; R],
) -> [[S::Vector; C]; R] {
    let (vector, per) = (S::LANES * M::PER_LANE, M::PER_LANE);
    // SAFETY: the caller's promise.
    unsafe {
        let mut q = [M::load_at(isa, queries.add(i * vector)); C];
        for c in 1..C {
            q[c] = M::load_at(isa, queries.add((c * width + i) * vector));
        }
        for r in 0..R {
            let k = M::splat_at(isa, keys[r].add(i * per));
            for c in 0..C {
                sums[r][c] = M::add(isa, k, q[c], sums[r][c]);
            }
        }
    }
    sums
}

/// `o = o·alpha + a·V` for a run of keys and a few rows of one panel; and, with other steps through the weights, the
/// same product over the rows of several panels for a few keys, as gradients of keys and values would be (they are formed in `accumulate.rs`).
pub(super) struct Values<'a, A, N> {
    /// From the first weight of the first output row on.
    pub(super) weights: &'a [N],
    /// How the weights lie.
    pub(super) steps: Steps,
    /// The columns that are added to, one or two vectors of them; a row for each key or pair of keys.
    pub(super) rows: Rows<'a, N>,
    pub(super) first: usize,
    pub(super) last: usize,
    /// What each row of `out` is multiplied by first; where there is nothing, `out` is not even read.
    pub(super) alpha: Option<&'a [A]>,
    /// What each row is multiplied by last; 0 makes zeros, whatever the sum is.
    pub(super) inverse: Option<&'a [A]>,
    /// `(rows, width)`.
    pub(super) out: &'a mut [A],
    pub(super) width: usize,
    /// The first column of `out`.
    pub(super) column: usize,
}

/// How far apart weights are, in numbers: those of output row `r` and value row `i` at `r·row + i/inner·outer + i%inner·step`.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    pub(super) row: usize,
    pub(super) step: usize,
    /// How many value rows are one `step` apart before an `outer` one follows; divides their number.
    pub(super) inner: usize,
    pub(super) outer: usize,
}

impl Steps {
    /// `(keys, LANES)` of `per_lane` numbers: output rows are lanes, value rows are keys or pairs of them.
    #[inline(always)]
    pub(super) fn along_keys(lanes: usize, per_lane: usize, keys: usize) -> Steps {
        Steps { row: per_lane, step: lanes * per_lane, inner: keys.max(1), outer: 0 }
    }
}

/// How many rows of a panel one call of [`Values::run`] takes: a divisor of LANES.
#[inline(always)]
pub(super) fn rows_at_once<A: Real, S: Float<A>>() -> usize {
    match S::REGISTERS {
        Registers::Sixteen => 4,
        Registers::ThirtyTwo => 8,
    }
}

impl<A: Real, N: Element> Values<'_, A, N> {
    /// `vectors` of columns: one or two.
    #[inline(always)]
    pub(super) fn run<S: Float<A>, M: Multiply<A, S, Number = N>>(mut self, isa: S, vectors: usize) {
        match (S::REGISTERS, vectors) {
            (Registers::Sixteen, 2..) => self.tile::<S, M, 4, 2>(isa),
            (Registers::Sixteen, _) => self.tile::<S, M, 4, 1>(isa),
            (Registers::ThirtyTwo, 2..) => self.tile::<S, M, 8, 2>(isa),
            (Registers::ThirtyTwo, _) => self.tile::<S, M, 8, 1>(isa),
        }
    }

    #[inline(always)]
    fn tile<S: Float<A>, M: Multiply<A, S, Number = N>, const R: usize, const C: usize>(&mut self, isa: S) {
        let (lanes, count) = (S::LANES, self.last - self.first);
        let mut sums = [[isa.splat(A::ZERO); C]; R];
        if count > 0 {
            // The first and the last row lie inside the memory, so all between them do.
            let vector = lanes * M::PER_LANE;
            let values = self.rows.row(self.first)[..C * vector].as_ptr();
            let _ = &self.rows.row(self.last - 1)[..C * vector];
            let stride = self.rows.stride();
            let Steps { row, step, inner, outer } = self.steps;
            assert!(count % inner == 0);
            let rounds = count / inner;
            let last = (R - 1) * row + (rounds - 1) * outer + (inner - 1) * step;
            assert!(self.weights.len() >= last + M::PER_LANE);
            // SAFETY: all that is read has been checked above; `values` walks from the first to the last row
            // and one step further, which is not read.
            unsafe {
                let mut values = values;
                for round in 0..rounds {
                    let weights = self.weights.as_ptr().add(round * outer);
                    for i in 0..inner {
                        let mut v = [M::load_at(isa, values); C];
                        for c in 1..C {
                            v[c] = M::load_at(isa, values.add(c * vector));
                        }
                        for r in 0..R {
                            let a = M::splat_at(isa, weights.add(i * step + r * row));
                            for c in 0..C {
                                sums[r][c] = M::add(isa, a, v[c], sums[r][c]);
                            }
                        }
                        values = values.wrapping_offset(stride);
                    }
                }
            }
        } else if self.alpha.is_some() && self.inverse.is_none() {
            return;
        }
        self.store::<S, R, C>(isa, sums);
    }

    /// `out = (out·alpha + sums)·inverse`.
    #[inline(always)]
    fn store<S: Float<A>, const R: usize, const C: usize>(&mut self, isa: S, mut sums: [[S::Vector; C]; R]) {
        let lanes = S::LANES;
        assert!(self.column + C * lanes <= self.width && self.out.len() >= R * self.width);
        let out = self.out[self.column..].as_mut_ptr();
        for r in 0..R {
            // SAFETY: each of the R rows holds C vectors from `column` on.
            unsafe {
                let out = out.add(r * self.width);
                if let Some(alpha) = self.alpha {
                    let alpha = isa.splat(alpha[r]);
                    for c in 0..C {
                        sums[r][c] = isa.mul_add(isa.load_at(out.add(c * lanes)), alpha, sums[r][c]);
                    }
                }
                if let Some(inverse) = self.inverse {
                    let (inverse, zero) = (isa.splat(inverse[r]), isa.splat(A::ZERO));
                    for c in 0..C {
                        // Not even NaN comes through where nothing is seen.
                        let seen = isa.where_greater(inverse, zero, sums[r][c], zero);
                        sums[r][c] = isa.mul(seen, inverse);
                    }
                }
                for c in 0..C {
                    isa.store_at(sums[r][c], out.add(c * lanes));
                }
            }
        }
    }
}
