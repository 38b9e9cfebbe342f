//! One pass of iteratively reweighted least squares: scores, weights that follow from them, and the Gram matrix with these weights.
//!
//! Newton's method for a logistic loss needs at each step `Xᵀ W X` and `Xᵀ r`, where the weight and the residual of a row follow
//! from its score. With the target z = r / W the second is a column of the first, so that one Gram pass gives both, and a tile is
//! read from memory once:
//!
//! ```text
//!  for each tile of rows:
//!      pack [X − c, 0, 1]                                     as for any Gram matrix
//!      s = (X − c) w + b                                      from the packed rows
//!      √W, √W z = what the caller makes of s
//!      [X − c, 0, 1] ← [√W (X − c), √W z, √W]
//!      G += its outer products
//! ```

use super::aligned::Aligned;
use super::gram::Sums;
use super::outer::{Tile, Update};
use super::pack::{self, PANEL};
use super::tree::{self, Cut};
use super::{Block, Layout, RowSource};
use crate::Matrix;
use crate::simd::{Isa, Kernel, Lanes, Simd, dispatch};
use std::ops::Range;

/// Rows to a tile.
const TILE: usize = 64;

/// The table and the point at which its rows are scored.
#[derive(Clone, Copy)]
pub struct Reweighted<'a> {
    /// `n × d`.
    pub x: &'a dyn RowSource,
    /// `d` numbers, subtracted from the columns.
    pub shift: &'a [f64],
    /// `d` numbers: the score of a row is `offset + (x − shift) · w`.
    pub w: &'a [f64],
    /// The score of a row that equals the shift.
    pub offset: f64,
    /// Only every so many tiles of 64 rows; 1 for all rows.
    pub every: usize,
}

/// Some rows and their scores, and what is to be made of them.
pub struct Scored<'a> {
    /// Which rows.
    pub rows: Range<usize>,
    /// Their scores.
    pub scores: &'a [f64],
    /// To be written: the square roots of their weights.
    pub roots: &'a mut [f64],
    /// To be written: their targets z times these roots, which is `r / √W`: a number even where W underflows.
    pub targets: &'a mut [f64],
}

/// G = [X − c, z, 1]ᵀ W [X − c, z, 1], `(d + 2)²`, and what `weigh` said of the tiles, merged in order.
pub fn reweighted_gram<A: Send>(
    problem: &Reweighted<'_>,
    weigh: &(dyn Fn(Scored<'_>) -> A + Sync),
    merge: &(dyn Fn(A, A) -> A + Sync),
) -> (Matrix, Option<A>) {
    reweighted_gram_on(Isa::detected(), problem, weigh, merge)
}

/// [`reweighted_gram`] with the instructions of `isa`.
pub(super) fn reweighted_gram_on<A: Send>(
    isa: Isa,
    problem: &Reweighted<'_>,
    weigh: &(dyn Fn(Scored<'_>) -> A + Sync),
    merge: &(dyn Fn(A, A) -> A + Sync),
) -> (Matrix, Option<A>) {
    let d = problem.x.cols();
    assert!(problem.shift.len() == d && problem.w.len() == d && problem.every > 0);
    let tiles = problem.x.rows().div_ceil(TILE).div_ceil(problem.every);
    let (sums, said) = tree::reduce(
        Cut { rows: tiles, leaf: tiles.div_ceil(64).max(4), cost: TILE * (d + 2).pow(2) / 2 },
        &|tiles| dispatch(isa, Leaf { problem, tiles, weigh, merge }),
        &|(mut a, said), (b, also)| {
            a.add(&b);
            (a, both(said, also, merge))
        },
    );
    (sums.to_matrix(d + 2), said)
}

fn both<A>(a: Option<A>, b: Option<A>, merge: &(dyn Fn(A, A) -> A + Sync)) -> Option<A> {
    match (a, b) {
        (Some(a), Some(b)) => Some(merge(a, b)),
        (a, b) => a.or(b),
    }
}

/// Some of the tiles, on one thread.
struct Leaf<'a, A> {
    problem: &'a Reweighted<'a>,
    tiles: Range<usize>,
    weigh: &'a (dyn Fn(Scored<'_>) -> A + Sync),
    merge: &'a (dyn Fn(A, A) -> A + Sync),
}

impl<A> Kernel for Leaf<'_, A> {
    type Output = (Sums, Option<A>);

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> (Sums, Option<A>) {
        let Reweighted { x, shift, w, offset, every } = *self.problem;
        let (n, d) = (x.rows(), x.cols());
        let panels = (d + 2).div_ceil(PANEL);
        let mut sums = Sums::zeros(panels);
        let mut said = None;
        let stride = TILE + 1;
        let mut packed = Aligned::zeros(panels * PANEL * stride);
        let mut weights = Aligned::zeros(panels * PANEL);
        weights[..d].copy_from_slice(w);
        // Of the X columns, then of z.
        let shift: Vec<f64> = shift.iter().copied().chain([0.0]).collect();
        let zeros = [0.0; TILE];
        let (mut scores, mut roots, mut targets) = ([0.0; TILE], [0.0; TILE], [0.0; TILE]);
        let mut scratch = Vec::new();
        for first in self.tiles.map(|tile| tile * every * TILE) {
            let count = TILE.min(n - first);
            let block = x.block(first, count, &mut scratch);
            assert!(block.rows() == count && block.cols() == d, "a row source gave a block of another shape");
            let y = Block::new(&zeros, count, 1, Layout::Columns { stride: count });
            pack::panels(isa, &pack::Rows { x: block, y, roots: None, shift: &shift }, stride, &mut packed);
            let mut tile = Weighing { packed: &mut packed, stride, panels, count };
            tile.score(isa, &weights, offset, &mut scores);
            let (roots, targets) = (&mut roots[..count], &mut targets[..count]);
            let rows = first..first + count;
            let scored = Scored { rows, scores: &scores[..count], roots, targets };
            said = both(said, Some((self.weigh)(scored)), self.merge);
            tile.weigh(isa, roots, targets, d);
            let tile = Tile { packed: &packed, stride, rows: count, panels };
            let next = Some(block).filter(|_| every == 1 && first + count < n);
            Update { tile, before: 0, panels: 0..panels, out: &mut sums.data, next }.run(isa);
        }
        (sums, said)
    }
}

/// A packed tile before it is multiplied.
struct Weighing<'a> {
    packed: &'a mut [f64],
    stride: usize,
    panels: usize,
    count: usize,
}

impl Weighing<'_> {
    /// `scores[k] = offset + row k · weights`; the numbers after the last row are of no use.
    #[inline(always)]
    fn score<S: Lanes<f64>>(&self, isa: S, weights: &[f64], offset: f64, scores: &mut [f64; TILE]) {
        for (k, scores) in (0..self.count).step_by(S::LANES).zip(scores.chunks_exact_mut(S::LANES)) {
            let mut sums = isa.square(isa.zero());
            for p in 0..self.panels {
                let rows = &self.packed[(p * self.stride + k) * PANEL..];
                for (v, w) in weights[p * PANEL..][..PANEL].chunks_exact(S::LANES).enumerate() {
                    let w = isa.load(w);
                    for (i, sum) in sums.as_mut().iter_mut().enumerate() {
                        *sum = isa.mul_add(isa.load(&rows[i * PANEL + v * S::LANES..]), w, *sum);
                    }
                }
            }
            let sums = isa.transpose(sums);
            isa.store(sums.as_ref().iter().fold(isa.splat(offset), |sum, &v| isa.add(sum, v)), scores);
        }
    }

    /// Multiplies row `k` by `roots[k]`; its column `d` becomes `targets[k]`.
    #[inline(always)]
    fn weigh<S: Lanes<f64>>(&mut self, isa: S, roots: &[f64], targets: &[f64], d: usize) {
        for (p, panel) in self.packed.chunks_exact_mut(self.stride * PANEL).enumerate() {
            let (rows, _) = panel.as_chunks_mut::<PANEL>();
            for (row, root) in rows.iter_mut().zip(roots) {
                let root = isa.splat(*root);
                for row in row.chunks_exact_mut(S::LANES) {
                    isa.store(isa.mul(isa.load(row), root), row);
                }
            }
            if p == d / PANEL {
                rows.iter_mut().zip(targets).for_each(|(row, z)| row[d % PANEL] = *z);
            }
        }
    }
}
