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
//!  for each LANES rows:
//!      for each vector of columns v, each row i:   Sᵢ, eᵢ += x[i][v] · w[v]
//!      r = y − b − Σ lanes (Sᵢ − σ) − Σ lanes eᵢ                      σ goes before the lanes are added: two σ would leave the grid
//!      for each vector of columns v, each row i:   Gᵥ, hᵥ += x[i][v] · rᵢ
//! ```
//!
//! The bounds: `Σⱼ |xⱼ wⱼ| ≤ Σⱼ ‖xⱼ‖ |wⱼ|` in every row, and `|Σ xⱼ r| ≤ ‖xⱼ‖ ‖r‖` for every part of the rows. ‖r‖ is known
//! for certain only at the end; where it was guessed too low there is no answer, and the caller takes the other way.

use super::aligned::Aligned;
use super::residual::two_sum;
use super::{Block, Compensated, Layout, Tall, Twofold, pack, prefetch, tree};
use crate::simd::{Isa, Kernel, Lanes, Simd, dispatch};
use std::ops::Range;

/// Rows to a tile, of memory that does not lie row by row.
const TILE: usize = 64;
/// Numbers of columns for which the same place a few rows on is fetched: longer rows are streams of their own.
const FETCHED: Range<usize> = 33..256;
/// Up to this many columns, column-major memory is turned into rows.
const TURNED_UP_TO: usize = 32;
/// How many times LANES rows ahead memory is fetched.
const AHEAD: usize = 2;
/// Of shorter rows, which follow each other closely, the memory one page on is fetched: so many numbers.
const PAGE: usize = 512;
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
        tall.rows(),
        tree::leaf_rows(tall.rows(), least),
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
            let short = d < FETCHED.start && stride < 2 * d && matches!(block.layout(), Layout::Rows { .. });
            for (q, (target, sums)) in self.targets.iter().zip(&mut sums).enumerate() {
                (0..count).for_each(|k| target_rows[k] = y.get(k, q));
                for k in (0..whole).step_by(S::LANES) {
                    let some = SomeRows { data: &data[k * stride..], stride, d };
                    if short && q == 0 {
                        some.fetch_a_page_on::<S>();
                    }
                    let r = some.residual(isa, target, &target_rows[k..]);
                    sums.add_residual(isa, r);
                    some.add_gradient(isa, r, sums);
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

/// LANES rows of `d` numbers, `stride` apart.
#[derive(Clone, Copy)]
struct SomeRows<'a> {
    data: &'a [f64],
    stride: usize,
    d: usize,
}

impl SomeRows<'_> {
    /// As much memory as these rows take, one page on.
    #[inline(always)]
    fn fetch_a_page_on<S: Lanes<f64>>(&self) {
        for at in (0..S::LANES * self.stride).step_by(pack::PANEL) {
            prefetch(self.data.as_ptr().wrapping_add(PAGE + at));
        }
    }

    /// Vector `v` of the columns of row `i`; zeros beyond the last column.
    #[inline(always)]
    fn vector<S: Lanes<f64>>(&self, isa: S, i: usize, v: usize, whole: bool) -> S::Vector {
        let at = i * self.stride + v * S::LANES;
        if whole {
            // SAFETY: v · LANES + LANES ≤ d numbers of row i < LANES, all inside `data`: asserted where the rows are taken.
            unsafe { isa.load_at(self.data.as_ptr().add(at)) }
        } else {
            isa.load_first(&self.data[at..i * self.stride + self.d])
        }
    }

    #[inline(always)]
    fn residual<S: Lanes<f64>>(&self, isa: S, target: &Target, y: &[f64]) -> Residual<S> {
        assert!((S::LANES - 1) * self.stride + self.d <= self.data.len() && self.d <= target.weights.len());
        let sigma = isa.splat(target.row);
        let (mut grid, mut rest) = (isa.square(sigma), isa.square(isa.zero()));
        let whole = self.d / S::LANES;
        for (v, w) in target.weights.chunks_exact(S::LANES).enumerate().take(self.d.div_ceil(S::LANES)) {
            let w = isa.load(w);
            for i in 0..S::LANES {
                if FETCHED.contains(&self.d) && (v * S::LANES).is_multiple_of(pack::PANEL) {
                    // The same place a few rows on: the machine follows one stream better than LANES.
                    let at = (i + AHEAD * S::LANES) * self.stride + v * S::LANES;
                    prefetch(self.data.as_ptr().wrapping_add(at));
                }
                let x = self.vector(isa, i, v, v < whole);
                let next = isa.fused_mul_add(x, w, grid.as_ref()[i]);
                let taken = isa.sub(next, grid.as_ref()[i]);
                grid.as_mut()[i] = next;
                rest.as_mut()[i] = isa.add(rest.as_ref()[i], isa.fused_mul_sub(x, w, taken));
            }
        }
        for grid in grid.as_mut() {
            *grid = isa.sub(*grid, sigma);
        }
        // On the grid, so these sums are exact.
        let grid = isa.transpose(grid).as_ref().iter().fold(isa.zero(), |sum, &v| isa.add(sum, v));
        let rest = isa.transpose(rest).as_ref().iter().fold(isa.zero(), |sum, &v| isa.add(sum, v));
        let (r, lost) = two_sum(isa, isa.load(y), isa.sub(isa.zero(), grid));
        let (r, lost_too) = two_sum(isa, r, isa.splat(-target.intercept));
        two_sum(isa, r, isa.sub(isa.add(lost, lost_too), rest))
    }

    #[inline(always)]
    fn add_gradient<S: Lanes<f64>>(&self, isa: S, r: Residual<S>, sums: &mut Sums<S>) {
        assert!((S::LANES - 1) * self.stride + self.d <= self.data.len());
        let mut numbers = [0.0; 2 * pack::PANEL];
        isa.store(r.0, &mut numbers);
        isa.store(r.1, &mut numbers[pack::PANEL..]);
        let (mut high, mut low) = (isa.square(isa.zero()), isa.square(isa.zero()));
        for i in 0..S::LANES {
            high.as_mut()[i] = isa.splat(numbers[i]);
            low.as_mut()[i] = isa.splat(numbers[pack::PANEL + i]);
        }
        let whole = self.d / S::LANES;
        let columns = sums.grid.chunks_exact_mut(S::LANES).zip(sums.rest.chunks_exact_mut(S::LANES));
        for (v, (grid, rest)) in columns.enumerate().take(self.d.div_ceil(S::LANES)) {
            let (mut sum, mut left_out) = (isa.load(grid), isa.load(rest));
            for i in 0..S::LANES {
                let x = self.vector(isa, i, v, v < whole);
                let (high, low) = (high.as_ref()[i], low.as_ref()[i]);
                let next = isa.fused_mul_add(x, high, sum);
                let taken = isa.sub(next, sum);
                sum = next;
                left_out = isa.add(left_out, isa.mul_add(x, low, isa.fused_mul_sub(x, high, taken)));
            }
            isa.store(sum, grid);
            isa.store(left_out, rest);
        }
    }
}
