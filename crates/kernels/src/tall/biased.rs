//! Residual and gradient with twice the precision, at half the price: sums that start at a large number.
//!
//! `residual.rs` finds what each addition lost by six more additions. Where a bound of the sum is known beforehand, there is a
//! shorter way: let the sum S start at σ = 2ᵏ, far above anything that will be added. All its values then lie on one grid, so that
//!
//! ```text
//!  S' = fma(x, w, S)         rounds x·w to the grid
//!  x·w − (S' − S)            is what the grid left out: S' − S is exact, and fma gives the rest rounded once
//! ```
//!
//! and after the last term S − σ is exact, too. Each term costs two multiply-adds and two additions. Row by row, LANES rows at once,
//! lanes along the columns:
//!
//! ```text
//!  for each LANES rows, as many times as the first cache holds the rows:
//!      for each vector of columns v, each row i:   Sᵢ, eᵢ += x[i][v] · w[v]
//!      r = y − b − Σ lanes (Sᵢ − σ) − Σ lanes eᵢ                      σ goes before the lanes are added: two σ would leave the grid
//!  for each three vectors of columns, each of these rows i:   Gᵥ, hᵥ += x[i][v] · rᵢ
//! ```
//!
//! The bounds: `Σⱼ |xⱼ wⱼ| ≤ Σⱼ ‖xⱼ‖ |wⱼ|` in every row, and `|Σ xⱼ r| ≤ ‖xⱼ‖ ‖r‖` for every part of the rows. ‖r‖ is known
//! for certain only at the end; where it was guessed too low there is no answer, and the caller takes the other way.

use super::aligned::Aligned;
use super::residual::two_sum;
use super::tree::{self, Cut};
use super::{Block, Compensated, Layout, Tall, Twofold, pack, prefetch};
use crate::simd::{Isa, Kernel, Lanes, Simd, dispatch};
use std::ops::Range;

/// Rows to a tile, of memory that does not lie row by row.
const TILE: usize = 64;
/// Up to this many columns the memory after some rows is fetched: longer rows are streams of their own.
const FETCHED_BELOW: usize = 256;
/// Up to this many columns, column-major memory is turned into rows, of which a tile then takes half a second cache of 1 MiB.
pub(super) const TURNED_UP_TO: usize = 1024;
/// Numbers of the rows whose residuals are formed before their gradient: with what belongs to them less than half of the first cache,
/// unless there are more than 256 columns.
const STAYING: usize = 2048;
/// How far above all sums σ starts, at least.
const MARGIN: f64 = 16.0;

/// What is known of a table before the pass.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    /// `d` numbers, each at least as large as its column's norm.
    pub columns: &'a [f64],
    /// `t` guesses, meant to be at least as large as the norm of each target's residual.
    pub residuals: &'a [f64],
}

/// [`residual_and_gradient`](super::residual_and_gradient) of rows without weights at coefficients without low parts, where the
/// sums are bounded: `t × (d + 1)`, a target's `d` weights, then its intercept.
///
/// `None` where a bound did not hold, or is of a size that leaves no room above or below it, or where many columns lie one after
/// another in memory: turning them into rows would cost more than is won.
pub fn residual_and_gradient_within(
    tall: &Tall<'_>,
    coefficients: &[f64],
    bounds: Bounds<'_>,
) -> Option<Compensated> {
    residual_and_gradient_within_on(Isa::detected(), tall, coefficients, bounds)
}

/// [`residual_and_gradient_within`] with the instructions of `isa`.
pub(super) fn residual_and_gradient_within_on(
    isa: Isa,
    tall: &Tall<'_>,
    coefficients: &[f64],
    bounds: Bounds<'_>,
) -> Option<Compensated> {
    tall.check();
    let (d, t) = (tall.x.cols(), tall.y.cols());
    assert_eq!(coefficients.len(), t * (d + 1), "a weight for each column and an intercept, for each target");
    assert!(bounds.columns.len() == d && bounds.residuals.len() == t && tall.weights.is_none());
    let layout = tall.x.block(0, tall.rows().min(2), &mut Vec::new()).layout();
    if d > TURNED_UP_TO && matches!(layout, Layout::Columns { .. }) {
        return None;
    }
    let targets: Vec<Target> = coefficients
        .chunks_exact(d + 1)
        .zip(bounds.residuals)
        .map(|(w, &residual)| Target::new(w, bounds.columns, residual))
        .collect::<Option<_>>()?;
    let least = ((1 << 17) / (d + 1)).next_multiple_of(TILE);
    let found = tree::reduce(
        Cut { rows: tall.rows(), leaf: tree::leaf_rows(tall.rows(), least), cost: 8 * (d + 1) * t },
        &|rows| dispatch(isa, Leaf { tall, targets: &targets, rows }),
        &|a, b| a.plus(&b),
    );
    let within = found.squares.iter().zip(bounds.residuals).all(|(squares, bound)| *squares <= bound * bound);
    within.then_some(found)
}

/// The least power of two that is [`MARGIN`] times `bound`; `None` where sums near it would overflow or vanish.
fn sigma(bound: f64) -> Option<f64> {
    let bound = (MARGIN * bound).max(1e-150);
    (bound < 1e150).then(|| 2f64.powi(bound.log2().ceil() as i32))
}

/// The coefficients of one target and where its sums start.
struct Target {
    /// `d` weights, then zeros up to a multiple of eight.
    weights: Aligned,
    intercept: f64,
    /// σ of a row's sum.
    row: f64,
    /// σ of each column's sum, then ones up to a multiple of eight.
    columns: Vec<f64>,
}

impl Target {
    fn new(coefficients: &[f64], norms: &[f64], residual: f64) -> Option<Self> {
        let (w, intercept) = coefficients.split_at(norms.len());
        let reach: f64 = w.iter().zip(norms).map(|(w, norm)| w.abs() * norm).sum();
        let mut columns = norms.iter().map(|norm| sigma(norm * residual)).collect::<Option<Vec<f64>>>()?;
        columns.resize(norms.len().next_multiple_of(pack::PANEL), 1.0);
        let mut weights = Aligned::zeros(columns.len());
        weights[..w.len()].copy_from_slice(w);
        Some(Target { weights, intercept: intercept[0], row: sigma(reach)?, columns })
    }
}

/// Gradient and squares of some rows, on one thread.
struct Leaf<'a> {
    tall: &'a Tall<'a>,
    targets: &'a [Target],
    rows: Range<usize>,
}

impl Kernel for Leaf<'_> {
    type Output = Compensated;

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> Compensated {
        let Tall { x, y, .. } = *self.tall;
        let d = x.cols();
        let mut sums: Vec<Sums<S>> = self.targets.iter().map(|target| Sums::new(isa, target)).collect();
        let mut rest = Compensated::zeros(self.targets.len() * (d + 1), self.targets.len());
        let width = d.next_multiple_of(pack::PANEL);
        let mut rows = Aligned::zeros(width * TILE);
        let (mut x_scratch, mut y_scratch) = (Vec::new(), Vec::new());
        let mut target_rows = vec![0.0; TILE];
        let mut residuals = Residuals { high: [0.0; TILE], low: [0.0; TILE] };
        for first in self.rows.clone().step_by(TILE) {
            let count = TILE.min(self.rows.end - first);
            let block = x.block(first, count, &mut x_scratch);
            let y = y.block(first, count, &mut y_scratch);
            assert!(block.rows() == count && block.cols() == d && y.rows() == count);
            let (data, stride) = match block.layout() {
                Layout::Rows { stride } => (block.data(), stride),
                Layout::Columns { .. } => {
                    pack::rows(isa, &block, width, &mut rows);
                    (&*rows, width)
                }
            };
            let whole = count - count % S::LANES;
            let short = d < FETCHED_BELOW && stride < 2 * d && matches!(block.layout(), Layout::Rows { .. });
            let later = d.div_ceil(3 * S::LANES);
            // Rows are read twice: as many at a time as stay in the first cache.
            let height = (STAYING / stride.max(1) / S::LANES).clamp(1, TILE / S::LANES) * S::LANES;
            for (q, (target, sums)) in self.targets.iter().zip(&mut sums).enumerate() {
                (0..count).for_each(|k| target_rows[k] = y.get(k, q));
                for first in (0..whole).step_by(height) {
                    let end = whole.min(first + height);
                    let mut ahead =
                        Ahead::new(&data[first * stride..], (end - first) * stride, short && q == 0);
                    for k in (first..end).step_by(S::LANES) {
                        let some = SomeRows { data: &data[k * stride..], stride, d };
                        // Some lines of each row are left to the second time they are read.
                        ahead.fetch((S::LANES * stride / pack::PANEL).saturating_sub(S::LANES * later));
                        let r = some.residual(isa, target, &target_rows[k..]);
                        sums.add_residual(isa, r);
                        isa.store(r.0, &mut residuals.high[k - first..]);
                        isa.store(r.1, &mut residuals.low[k - first..]);
                    }
                    let some = SomeRows { data: &data[first * stride..], stride, d };
                    some.add_gradient(isa, &residuals, end - first, &mut ahead, sums);
                }
                (whole..count).for_each(|k| rest.add_row(&block, k, q, target_rows[k], target));
            }
        }
        let found = Compensated {
            gradient: self
                .targets
                .iter()
                .zip(&sums)
                .flat_map(|(target, sums)| sums.gradient(isa, target, d))
                .collect(),
            squares: sums.iter().map(|sums| isa.sum(sums.squares)).collect(),
        };
        found.plus(&rest)
    }
}

impl Compensated {
    fn zeros(gradient: usize, targets: usize) -> Self {
        Compensated { gradient: vec![Twofold::ZERO; gradient], squares: vec![0.0; targets] }
    }

    /// One row, number by number.
    fn add_row(&mut self, x: &Block<'_>, k: usize, target: usize, y: f64, to: &Target) {
        let d = x.cols();
        let mut r = Twofold::from(y) - Twofold::from(to.intercept);
        (0..d).for_each(|j| r += -Twofold::product(x.get(k, j), to.weights[j]));
        let gradient = &mut self.gradient[target * (d + 1)..][..=d];
        (0..d).for_each(|j| gradient[j] += r * x.get(k, j));
        gradient[d] += r;
        self.squares[target] += r.high * r.high;
    }
}

/// The residuals of some rows: rounded, and what rounding left out.
struct Residuals {
    high: [f64; TILE],
    low: [f64; TILE],
}

/// LANES residuals: rounded, and what rounding left out.
type Residual<S> = (<S as Lanes<f64>>::Vector, <S as Lanes<f64>>::Vector);

/// The sums of one target.
struct Sums<S: Lanes<f64>> {
    /// One for each column, from its σ on.
    grid: Vec<f64>,
    /// What the grid left out.
    rest: Vec<f64>,
    /// Σ r, LANES of them.
    ones: Residual<S>,
    squares: S::Vector,
}

impl<S: Lanes<f64>> Sums<S> {
    #[inline(always)]
    fn new(isa: S, target: &Target) -> Self {
        let rest = vec![0.0; target.columns.len()];
        Sums { grid: target.columns.clone(), rest, ones: (isa.zero(), isa.zero()), squares: isa.zero() }
    }

    #[inline(always)]
    fn add_residual(&mut self, isa: S, r: Residual<S>) {
        self.squares = isa.mul_add(r.0, r.0, self.squares);
        let (sum, lost) = two_sum(isa, self.ones.0, r.0);
        self.ones = (sum, isa.add(self.ones.1, isa.add(lost, r.1)));
    }

    /// `d` numbers, then Σ r.
    #[inline(always)]
    fn gradient(&self, isa: S, target: &Target, d: usize) -> Vec<Twofold> {
        let columns = self.grid.iter().zip(&target.columns).zip(&self.rest);
        let mut all: Vec<Twofold> =
            columns.take(d).map(|((g, s), rest)| Twofold::new(g - s, *rest)).collect();
        let mut ones = [0.0; 2 * pack::PANEL];
        isa.store(self.ones.0, &mut ones);
        isa.store(self.ones.1, &mut ones[pack::PANEL..]);
        let (high, low) = ones.split_at(pack::PANEL);
        all.push(high.iter().zip(low).fold(Twofold::ZERO, |sum, (&h, &l)| sum + Twofold::new(h, l)));
        all
    }
}

/// The memory after some rows, fetched line by line while these are computed with: rows that are short follow each other closely, so
/// what comes next is known, and in bursts the arithmetic would wait for memory and memory for the arithmetic.
struct Ahead {
    at: *const f64,
    /// From one line to the next; 0 where nothing is to be fetched.
    step: usize,
}

impl Ahead {
    #[inline(always)]
    fn new(data: &[f64], numbers: usize, wanted: bool) -> Self {
        if wanted {
            Ahead { at: data.as_ptr().wrapping_add(numbers), step: pack::PANEL }
        } else {
            Ahead { at: data.as_ptr(), step: 0 }
        }
    }

    /// The next so many lines.
    #[inline(always)]
    fn fetch(&mut self, lines: usize) {
        if self.step > 0 {
            for _ in 0..lines {
                prefetch(self.at);
                self.at = self.at.wrapping_add(self.step);
            }
        }
    }

    /// The next line.
    #[inline(always)]
    fn next(&mut self) {
        prefetch(self.at);
        self.at = self.at.wrapping_add(self.step);
    }
}

/// LANES rows of `d` numbers, `stride` apart.
#[derive(Clone, Copy)]
struct SomeRows<'a> {
    data: &'a [f64],
    stride: usize,
    d: usize,
}

impl SomeRows<'_> {
    /// Vector `v` of the columns of row `i`; zeros beyond the last column.
    ///
    /// # Safety
    /// Row `i` must lie inside `data`, and `v` must begin before column `d`; LAST says that it may reach beyond it.
    #[inline(always)]
    unsafe fn vector<S: Lanes<f64>, const LAST: bool>(&self, isa: S, i: usize, v: usize) -> S::Vector {
        // SAFETY: the caller's promise; of the last vector no more than the row has is read.
        unsafe {
            let at = self.data.as_ptr().add(i * self.stride + v * S::LANES);
            if LAST {
                isa.load_first(std::slice::from_raw_parts(at, self.d - v * S::LANES))
            } else {
                isa.load_at(at)
            }
        }
    }

    #[inline(always)]
    fn residual<S: Lanes<f64>>(&self, isa: S, target: &Target, y: &[f64]) -> Residual<S> {
        assert!((S::LANES - 1) * self.stride + self.d <= self.data.len() && self.d <= target.weights.len());
        let sigma = isa.splat(target.row);
        let mut sums = (isa.square(sigma), isa.square(isa.zero()));
        let whole = self.d / S::LANES;
        let mut weights = target.weights.chunks_exact(S::LANES);
        for (v, w) in weights.by_ref().take(whole).enumerate() {
            self.add_products::<S, false>(isa, v, isa.load(w), &mut sums);
        }
        if let Some(w) = weights.next().filter(|_| whole * S::LANES < self.d) {
            self.add_products::<S, true>(isa, whole, isa.load(w), &mut sums);
        }
        let (mut grid, rest) = sums;
        for grid in grid.as_mut() {
            *grid = isa.sub(*grid, sigma);
        }
        // On the grid, so these sums are exact.
        let (grid, rest) = (lanes_of_each(isa, grid), lanes_of_each(isa, rest));
        let (r, lost) = two_sum(isa, isa.load(y), isa.sub(isa.zero(), grid));
        let (r, lost_too) = two_sum(isa, r, isa.splat(-target.intercept));
        two_sum(isa, r, isa.sub(isa.add(lost, lost_too), rest))
    }

    /// Vector `v` of the columns of LANES rows, times their weights.
    #[inline(always)]
    fn add_products<S: Lanes<f64>, const LAST: bool>(
        &self,
        isa: S,
        v: usize,
        w: S::Vector,
        (grid, rest): &mut (S::Square, S::Square),
    ) {
        for i in 0..S::LANES {
            // SAFETY: LANES rows lie inside `data`, asserted where they are taken; v · LANES < d, and without LAST no vector ends beyond.
            let x = unsafe { self.vector::<S, LAST>(isa, i, v) };
            let next = isa.fused_mul_add(x, w, grid.as_ref()[i]);
            let taken = isa.sub(next, grid.as_ref()[i]);
            grid.as_mut()[i] = next;
            rest.as_mut()[i] = isa.add(rest.as_ref()[i], isa.fused_mul_sub(x, w, taken));
        }
    }

    /// Adds `x · r` of `rows` rows to each column's sums.
    #[inline(always)]
    fn add_gradient<S: Lanes<f64>>(
        &self,
        isa: S,
        r: &Residuals,
        rows: usize,
        ahead: &mut Ahead,
        sums: &mut Sums<S>,
    ) {
        let whole = self.d / S::LANES;
        let mut v = 0;
        while v < whole {
            // Four are two and two: one alone would wait for its own sums.
            let count = match whole - v {
                4 => 2,
                left => left.min(3),
            };
            // The last vector goes with those before it where there is room.
            let last = v + count == whole && whole * S::LANES < self.d && count < 3;
            match (count, last) {
                (1, false) => self.columns::<S, 1, false>(isa, (r, rows), v, ahead, sums),
                (1, true) => self.columns::<S, 2, true>(isa, (r, rows), v, ahead, sums),
                (2, false) => self.columns::<S, 2, false>(isa, (r, rows), v, ahead, sums),
                (2, true) => self.columns::<S, 3, true>(isa, (r, rows), v, ahead, sums),
                _ => self.columns::<S, 3, false>(isa, (r, rows), v, ahead, sums),
            }
            v += count + usize::from(last);
        }
        if v * S::LANES < self.d {
            self.columns::<S, 1, true>(isa, (r, rows), v, ahead, sums);
        }
    }

    /// The same of VECTORS vectors of columns from `v` on, the last of which may reach beyond the row.
    #[inline(always)]
    fn columns<S: Lanes<f64>, const VECTORS: usize, const LAST: bool>(
        &self,
        isa: S,
        (r, rows): (&Residuals, usize),
        v: usize,
        ahead: &mut Ahead,
        sums: &mut Sums<S>,
    ) {
        assert!(0 < rows && rows <= TILE && (rows - 1) * self.stride + self.d <= self.data.len());
        let end = (v + VECTORS) * S::LANES;
        assert!(if LAST { end - S::LANES < self.d } else { end <= self.d });
        let (grid, rest) = (&mut sums.grid[v * S::LANES..end], &mut sums.rest[v * S::LANES..end]);
        let (mut sum, mut left_out) = ([isa.zero(); VECTORS], [isa.zero(); VECTORS]);
        for q in 0..VECTORS {
            (sum[q], left_out[q]) = (isa.load(&grid[q * S::LANES..]), isa.load(&rest[q * S::LANES..]));
        }
        for i in 0..rows {
            ahead.next();
            let (high, low) = (isa.splat(r.high[i]), isa.splat(r.low[i]));
            for q in 0..VECTORS {
                // SAFETY: `rows` rows lie inside `data`, and of each the vectors up to the last, which ends beyond the row where LAST
                // says so: asserted above.
                let x = unsafe {
                    if LAST && q + 1 == VECTORS {
                        self.vector::<S, true>(isa, i, v + q)
                    } else {
                        self.vector::<S, false>(isa, i, v + q)
                    }
                };
                let next = isa.fused_mul_add(x, high, sum[q]);
                let taken = isa.sub(next, sum[q]);
                sum[q] = next;
                left_out[q] = isa.add(left_out[q], isa.mul_add(x, low, isa.fused_mul_sub(x, high, taken)));
            }
        }
        for q in 0..VECTORS {
            isa.store(sum[q], &mut grid[q * S::LANES..]);
            isa.store(left_out[q], &mut rest[q * S::LANES..]);
        }
    }
}

/// The sum of the lanes of each row of a square, by pairs: a chain of additions would be waited for.
#[inline(always)]
fn lanes_of_each<S: Lanes<f64>>(isa: S, square: S::Square) -> S::Vector {
    let mut columns = isa.transpose(square);
    let columns = columns.as_mut();
    let mut left = S::LANES;
    while left > 1 {
        left /= 2;
        for i in 0..left {
            columns[i] = isa.add(columns[i], columns[i + left]);
        }
    }
    columns[0]
}
