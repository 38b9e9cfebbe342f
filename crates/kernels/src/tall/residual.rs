//! The residual y − Xw − b and the gradient Xᵀ W (y − Xw − b), both as if computed with twice the precision.
//!
//! Refinement stands or falls with these two: near the solution the residual is what is left of large terms, and the
//! gradient is what is left of a large sum. Both are formed with error-free transformations: a product is its rounded
//! value plus `fma(x, w, −product)`, a sum its rounded value plus what Knuth's two-sum says was lost.
//!
//! ```text
//!  for each tile of rows, as columns:
//!      for each sliver of 4 vectors of rows:                 all of it in registers
//!          (s, e) = y − b;  for each column j: (s, e) −= xⱼ · wⱼ
//!          for each column j: (gⱼ, hⱼ) += xⱼ · (s, e)          lane by lane, in memory
//! ```

use super::tree::{self, Cut};
use super::{Block, Tall, Twofold, pack};
use crate::simd::{Isa, Kernel, Lanes, Simd, dispatch};
use crate::{crew, stop};
use std::ops::Range;

/// Rows to a tile.
const TILE: usize = 64;
/// Vectors of rows whose residuals are held in registers.
const SLIVER: usize = 4;
/// What a number of X costs, in multiplications at full speed.
const COST: usize = 16;

/// What one pass gives, for each of `t` targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Compensated {
    /// `t × (d + 1)`: Xᵀ W r for each column, then Σ w r.
    pub gradient: Vec<Twofold>,
    /// `t` sums of squares Σ w r².
    pub squares: Vec<f64>,
}

/// The gradient and the residual sum of squares at `coefficients`: `t × (d + 1)`, a target's `d` weights, then its
/// intercept. The shift plays no part: X and Y are taken as they are.
pub fn residual_and_gradient(tall: &Tall<'_>, coefficients: &[Twofold]) -> Compensated {
    residual_and_gradient_on(Isa::detected(), tall, coefficients)
}

/// [`residual_and_gradient`] with the instructions of `isa`.
pub(super) fn residual_and_gradient_on(isa: Isa, tall: &Tall<'_>, coefficients: &[Twofold]) -> Compensated {
    tall.check();
    let (d, t) = (tall.x.cols(), tall.y.cols());
    assert_eq!(coefficients.len(), t * (d + 1), "a weight for each column and an intercept, for each target");
    let least = ((1 << 17) / (d + 1)).next_multiple_of(TILE);
    tree::reduce(
        Cut { rows: tall.rows(), leaf: tree::leaf_rows(tall.rows(), least), cost: COST * (d + 1) * t },
        &|rows| dispatch(isa, Leaf { tall, coefficients, rows }),
        &|a, b| a.plus(&b),
    )
}

impl Compensated {
    /// Of the rows of both.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(a, b)| *a += *b);
        self.squares.iter_mut().zip(&other.squares).for_each(|(a, b)| *a += b);
        self
    }
}

/// `out[i] = y[i, target] − Σⱼ x[i, j] wⱼ − b`, rounded once; `coefficients` are that target's `d + 1`.
pub fn residuals(tall: &Tall<'_>, target: usize, coefficients: &[Twofold], out: &mut [f64]) {
    tall.check();
    let d = tall.x.cols();
    assert!(target < tall.y.cols() && coefficients.len() == d + 1 && out.len() == tall.rows());
    let isa = Isa::detected();
    let chunk = ((1 << 16) / (d + 1)).next_multiple_of(TILE);
    let cost = COST * (d + 1) * out.len();
    crew::each(cost, out.chunks_mut(chunk).enumerate(), |(i, out)| {
        stop::check();
        dispatch(isa, Rounded { tall, target, coefficients, first: i * chunk, out });
    });
}

struct Rounded<'a> {
    tall: &'a Tall<'a>,
    target: usize,
    coefficients: &'a [Twofold],
    first: usize,
    out: &'a mut [f64],
}

impl Kernel for Rounded<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) {
        let mut tile = Tile::new(self.tall, self.coefficients);
        for (i, out) in self.out.chunks_mut(TILE).enumerate() {
            tile.fill(isa, self.tall, self.first + i * TILE, out.len());
            tile.take_target(self.target);
            for (s, out) in out.chunks_mut(SLIVER * S::LANES).enumerate() {
                let r = tile.residual(isa, s * SLIVER * S::LANES, 0);
                for (q, out) in out.chunks_mut(S::LANES).enumerate() {
                    isa.store_first(r[q].0, out);
                }
            }
        }
    }
}

/// Gradient and squares of some rows, on one thread.
struct Leaf<'a> {
    tall: &'a Tall<'a>,
    coefficients: &'a [Twofold],
    rows: Range<usize>,
}

impl Kernel for Leaf<'_> {
    type Output = Compensated;

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> Compensated {
        let (d, t) = (self.tall.x.cols(), self.tall.y.cols());
        let mut tile = Tile::new(self.tall, self.coefficients);
        // For each target, for each column and the ones: LANES sums, then LANES rests.
        let mut sums = vec![0.0; t * (d + 1) * 2 * S::LANES];
        let mut squares = vec![isa.zero(); t];
        for first in self.rows.clone().step_by(TILE) {
            let count = TILE.min(self.rows.end - first);
            tile.fill(isa, self.tall, first, count);
            for target in 0..t {
                tile.take_target(target);
                let sums = &mut sums[target * (d + 1) * 2 * S::LANES..][..(d + 1) * 2 * S::LANES];
                for k in (0..count).step_by(SLIVER * S::LANES) {
                    let residual = tile.residual(isa, k, target * (d + 1));
                    let weighted = tile.weighted(isa, k, residual, &mut squares[target]);
                    tile.add_gradient(isa, k, weighted, sums);
                }
            }
        }
        let gradient = sums
            .chunks_exact(2 * S::LANES)
            .map(|g| (0..S::LANES).fold(Twofold::ZERO, |sum, i| sum + Twofold::new(g[i], g[S::LANES + i])))
            .collect();
        Compensated { gradient, squares: squares.into_iter().map(|v| isa.sum(v)).collect() }
    }
}

/// A tile of rows as columns, padded with zeros to `TILE` rows.
struct Tile<'a> {
    coefficients: &'a [Twofold],
    /// Whether some coefficient has a low part.
    precise: bool,
    d: usize,
    /// `d × TILE`.
    x: Vec<f64>,
    /// `t × TILE`.
    y: Vec<f64>,
    /// The target's TILE numbers.
    target: Vec<f64>,
    /// TILE weights; zero beyond the last row.
    weights: Vec<f64>,
    scratch: Vec<f64>,
}

impl<'a> Tile<'a> {
    fn new(tall: &Tall<'_>, coefficients: &'a [Twofold]) -> Self {
        let d = tall.x.cols();
        Tile {
            coefficients,
            precise: coefficients.iter().any(|c| c.low != 0.0),
            d,
            x: vec![0.0; d * TILE],
            y: vec![0.0; tall.y.cols() * TILE],
            target: vec![0.0; TILE],
            weights: vec![0.0; TILE],
            scratch: Vec::new(),
        }
    }

    #[inline(always)]
    fn fill<S: Lanes<f64>>(&mut self, isa: S, tall: &Tall<'_>, first: usize, count: usize) {
        if count < TILE {
            self.x.fill(0.0);
            self.y.fill(0.0);
        }
        let x: Block<'_> = tall.x.block(first, count, &mut self.scratch);
        assert!(x.rows() == count && x.cols() == self.d);
        pack::columns(isa, &x, TILE, &mut self.x);
        pack::columns(isa, &tall.y.block(first, count, &mut self.scratch), TILE, &mut self.y);
        self.weights.fill(0.0);
        match tall.weights {
            Some(weights) => self.weights[..count].copy_from_slice(&weights[first..first + count]),
            None => self.weights[..count].fill(1.0),
        }
    }

    #[inline(always)]
    fn take_target(&mut self, target: usize) {
        self.target.copy_from_slice(&self.y[target * TILE..][..TILE]);
    }

    /// Residuals of rows `k ..`, as (rounded, rest). `offset` is where the target's coefficients start.
    #[inline(always)]
    fn residual<S: Lanes<f64>>(&self, isa: S, k: usize, offset: usize) -> Sliver<S> {
        let (weights, intercept) = self.coefficients[offset..=offset + self.d].split_at(self.d);
        let b = intercept[0];
        let mut r = [(isa.zero(), isa.zero()); SLIVER];
        for (q, r) in r.iter_mut().enumerate() {
            let y = isa.load(&self.target[k + q * S::LANES..]);
            let (sum, rest) = two_sum(isa, y, isa.splat(-b.high));
            *r = (sum, isa.add(rest, isa.splat(-b.low)));
        }
        if self.precise {
            self.subtract_columns::<S, true>(isa, k, weights, &mut r);
        } else {
            self.subtract_columns::<S, false>(isa, k, weights, &mut r);
        }
        for r in &mut r {
            *r = fast_two_sum(isa, r.0, r.1);
        }
        r
    }

    #[inline(always)]
    fn subtract_columns<S: Lanes<f64>, const PRECISE: bool>(
        &self,
        isa: S,
        k: usize,
        weights: &[Twofold],
        r: &mut Sliver<S>,
    ) {
        for (column, w) in self.x.chunks_exact(TILE).zip(weights) {
            let (high, low) = (isa.splat(-w.high), isa.splat(-w.low));
            for (q, (sum, rest)) in r.iter_mut().enumerate() {
                let x = isa.load(&column[k + q * S::LANES..]);
                let product = isa.mul(x, high);
                let lost = isa.fused_mul_sub(x, high, product);
                let (total, error) = two_sum(isa, *sum, product);
                *sum = total;
                *rest = isa.add(*rest, isa.add(error, lost));
                if PRECISE {
                    *rest = isa.mul_add(x, low, *rest);
                }
            }
        }
    }

    /// The residuals times their weights; adds `Σ w r²`. Rows beyond the last have weight zero.
    #[inline(always)]
    fn weighted<S: Lanes<f64>>(
        &self,
        isa: S,
        k: usize,
        mut r: Sliver<S>,
        squares: &mut S::Vector,
    ) -> Sliver<S> {
        for (q, r) in r.iter_mut().enumerate() {
            let w = isa.load(&self.weights[k + q * S::LANES..]);
            let product = isa.mul(r.0, w);
            let lost = isa.fused_mul_sub(r.0, w, product);
            *squares = isa.mul_add(product, r.0, *squares);
            *r = (product, isa.mul_add(r.1, w, lost));
        }
        r
    }

    /// Adds `x · r` to each column's sums, and `r` to the last one's.
    #[inline(always)]
    fn add_gradient<S: Lanes<f64>>(&self, isa: S, k: usize, r: Sliver<S>, sums: &mut [f64]) {
        let (columns, ones) = sums.split_at_mut(self.d * 2 * S::LANES);
        for (column, g) in self.x.chunks_exact(TILE).zip(columns.chunks_exact_mut(2 * S::LANES)) {
            let (high, low) = g.split_at_mut(S::LANES);
            let (mut sum, mut rest) = (isa.load(high), isa.load(low));
            for (q, r) in r.iter().enumerate() {
                let x = isa.load(&column[k + q * S::LANES..]);
                let product = isa.mul(x, r.0);
                let lost = isa.fused_mul_sub(x, r.0, product);
                let (total, error) = two_sum(isa, sum, product);
                sum = total;
                rest = isa.mul_add(x, r.1, isa.add(rest, isa.add(error, lost)));
            }
            isa.store(sum, high);
            isa.store(rest, low);
        }
        let (high, low) = ones.split_at_mut(S::LANES);
        for r in &r {
            let (total, error) = two_sum(isa, isa.load(high), r.0);
            isa.store(total, high);
            isa.store(isa.add(isa.load(low), isa.add(error, r.1)), low);
        }
    }
}

/// Residuals of `SLIVER` vectors of rows: (rounded, rest).
type Sliver<S> = [(<S as Lanes<f64>>::Vector, <S as Lanes<f64>>::Vector); SLIVER];

/// `a + b` exactly, as its rounded value and the rest (Knuth).
#[inline(always)]
pub(super) fn two_sum<S: Lanes<f64>>(isa: S, a: S::Vector, b: S::Vector) -> (S::Vector, S::Vector) {
    let sum = isa.add(a, b);
    let b_part = isa.sub(sum, a);
    (sum, isa.add(isa.sub(a, isa.sub(sum, b_part)), isa.sub(b, b_part)))
}

/// [`two_sum`] where `a` is not smaller than `b`.
#[inline(always)]
fn fast_two_sum<S: Lanes<f64>>(isa: S, a: S::Vector, b: S::Vector) -> (S::Vector, S::Vector) {
    let sum = isa.add(a, b);
    (sum, isa.sub(b, isa.sub(sum, a)))
}
