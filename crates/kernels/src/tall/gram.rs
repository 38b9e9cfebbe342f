//! The Gram matrix of [X − c, Y − c, 1]: all inner products of all columns, in one pass.
//!
//! The table is packed, tile by tile, into *panels* of W = LANES columns, rows one after another, so that the innermost
//! loop reads memory in order and keeps its sums in registers:
//!
//! ```text
//!  for each tile of rows:                       a tile stays in the caches
//!      pack the tile into panels
//!      for each panel i, each group of 2 or 3 panels j ≥ i:
//!          for each row k of the tile:          W × GROUP·W sums in registers; per row W broadcasts, GROUP loads
//!              sums[r][·] += panel_i[k][r] · panel_j[k][·]
//!          G[i][j] += sums
//! ```
//!
//! Only blocks on and above the diagonal are computed. Two ways to use threads, chosen by the width alone:
//!
//! * narrow (the G of a thread is small): leaves of rows, each with its own G, added along a fixed tree;
//! * wide: one G; the tiles go by one after another and the threads share its blocks. No second G, nothing to add.
//!
//! A Gram matrix squares the condition number. Its users check what that costs (see `spanwise_linear`).

use super::{Block, RowSource, Tall, pack, tree};
use crate::Matrix;
use crate::simd::{Isa, Kernel, Lanes, Simd, dispatch};
use rayon::prelude::*;
use std::ops::Range;

/// From this width on the threads share one G.
const SHARED_FROM: usize = 192;
/// Rows to a tile: a group of panels of this height fits the first cache.
const TILE: usize = 256;
/// Rows from one packed panel to the next, beyond the tile: without them all panels would fall into the same few sets of
/// the first cache.
const PADDING: usize = 8;
/// Rows to a tile where all panels together fit the first cache anyway.
const NARROW_TILE: usize = 64;
/// Panels whose blocks one work item owns, in the wide case.
const OWNED: usize = 12;

/// G = [X − c, Y − c, 1]ᵀ W [X − c, Y − c, 1], `(d + t + 1)²`, symmetric, in that order of columns.
pub fn gram(tall: &Tall<'_>) -> Matrix {
    gram_on(Isa::detected(), tall)
}

/// [`gram`] with the instructions of `isa`.
pub(super) fn gram_on(isa: Isa, tall: &Tall<'_>) -> Matrix {
    tall.check();
    let shared = tall.width() >= SHARED_FROM;
    let blocks = if shared {
        let mut blocks = dispatch(isa, NewBlocks { width: tall.width() });
        let mut packed = vec![0.0; blocks.panels * blocks.lanes * (TILE + PADDING)];
        for first in (0..tall.rows()).step_by(TILE) {
            blocks.add_tile_shared(isa, tall, first..(first + TILE).min(tall.rows()), &mut packed);
        }
        blocks
    } else {
        let leaf = tree::leaf_rows(tall.rows(), 2048);
        tree::reduce(tall.rows(), leaf, &|rows| dispatch(isa, Leaf { tall, rows }), &|mut a, b| {
            a.data.iter_mut().zip(&b.data).for_each(|(a, b)| *a += b);
            a
        })
    };
    blocks.to_matrix()
}

/// G in W × W blocks: block `(i, j)` starts at `(i · panels + j) · W²`, and lies row after row.
struct Blocks {
    /// W, the lanes of the instruction set it was computed with.
    lanes: usize,
    panels: usize,
    width: usize,
    data: Vec<f64>,
}

struct NewBlocks {
    width: usize,
}

impl Kernel for NewBlocks {
    type Output = Blocks;

    #[inline(always)]
    fn run<S: Simd>(self, _isa: S) -> Blocks {
        let (lanes, panels) = (S::LANES, self.width.div_ceil(S::LANES));
        Blocks { lanes, panels, width: self.width, data: vec![0.0; panels * panels * lanes * lanes] }
    }
}

impl Blocks {
    /// Both triangles, row-major.
    fn to_matrix(&self) -> Matrix {
        let (w, m) = (self.lanes, self.width);
        let mut matrix = Matrix::zeros(m, m);
        for i in 0..m {
            for j in i..m {
                let block = &self.data[((i / w) * self.panels + j / w) * w * w..];
                matrix[(i, j)] = block[(i % w) * w + j % w];
            }
        }
        for i in 0..m {
            for j in 0..i {
                matrix[(i, j)] = matrix[(j, i)];
            }
        }
        matrix
    }

    /// One tile, its panels packed by all threads, its blocks shared among them.
    fn add_tile_shared(&mut self, isa: Isa, tall: &Tall<'_>, rows: Range<usize>, packed: &mut [f64]) {
        let (w, panels, count) = (self.lanes, self.panels, rows.len());
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let roots = roots(tall, &rows);
        let tile = pack::Rows {
            x: tall.x.block(rows.start, count, &mut x),
            y: tall.y.block(rows.start, count, &mut y),
            roots: roots.as_deref(),
            shift: tall.shift,
        };
        packed.par_chunks_mut(OWNED * w * (TILE + PADDING)).enumerate().for_each(|(i, out)| {
            let own = i * OWNED..((i + 1) * OWNED).min(panels);
            dispatch(isa, PackPanels { rows: tile, panels: own, out });
        });
        let packed = &*packed;
        self.data.par_chunks_mut(OWNED * panels * w * w).enumerate().for_each(|(i, out)| {
            let own = i * OWNED..((i + 1) * OWNED).min(panels);
            dispatch(isa, Update { packed, stride: TILE + PADDING, rows: count, panels, own, out });
        });
    }
}

/// The square roots of some rows' weights.
fn roots(tall: &Tall<'_>, rows: &Range<usize>) -> Option<Vec<f64>> {
    tall.weights.map(|weights| weights[rows.clone()].iter().map(|w| w.sqrt()).collect())
}

/// Packs some panels of a tile.
struct PackPanels<'a> {
    rows: pack::Rows<'a>,
    panels: Range<usize>,
    out: &'a mut [f64],
}

impl Kernel for PackPanels<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) {
        pack::panels(isa, &self.rows, self.panels, TILE + PADDING, self.out);
    }
}

/// Adds a packed tile to the rows of blocks `own`.
struct Update<'a> {
    packed: &'a [f64],
    /// Rows from one packed panel to the next.
    stride: usize,
    /// Rows that count.
    rows: usize,
    panels: usize,
    own: Range<usize>,
    /// Blocks `own × panels`.
    out: &'a mut [f64],
}

impl Kernel for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, isa: S) {
        let Range { start, end } = self.own;
        if end - start > 8 {
            // Panels j outside: a group of them stays in the first cache while the panels i go by.
            for j in (start..self.panels).step_by(S::GROUP) {
                let group = S::GROUP.min(self.panels - j);
                for i in start..end.min(j + group) {
                    self.pair(isa, i, j, group);
                }
            }
        } else {
            for i in start..end {
                let mut j = i;
                while j < self.panels {
                    // Four are two and two: a group of one leaves half of the pipeline idle.
                    let left = self.panels - j;
                    let group = if left == 4 { 2 } else { left.min(S::GROUP) };
                    self.pair(isa, i, j, group);
                    j += group;
                }
            }
        }
    }
}

impl Update<'_> {
    /// Panel `i` against panels `j .. j + group`.
    #[inline(always)]
    fn pair<S: Lanes<f64>>(&mut self, isa: S, i: usize, j: usize, group: usize) {
        match group {
            1 => self.outer_products::<S, 1>(isa, i, j),
            2 => self.outer_products::<S, 2>(isa, i, j),
            _ => self.outer_products::<S, 3>(isa, i, j),
        }
    }

    /// `G[i][j + g] += Σₖ panel_i[k] ⊗ panel_(j+g)[k]` for `g < GROUP`.
    #[inline(always)]
    fn outer_products<S: Lanes<f64>, const GROUP: usize>(&mut self, isa: S, i: usize, j: usize) {
        let (w, panel) = (S::LANES, self.stride * S::LANES);
        assert!(self.rows <= self.stride && (i + 1) * panel <= self.packed.len());
        assert!((j + GROUP) * panel <= self.packed.len());
        let left = self.packed[i * panel..].as_ptr();
        let right = self.packed[j * panel..].as_ptr();
        let mut sums = [isa.square(isa.zero()); GROUP];
        for k in 0..self.rows {
            // SAFETY: k < rows ≤ stride, and panels i and j .. j + GROUP lie inside `packed`: asserted above.
            unsafe {
                let mut b = [isa.zero(); GROUP];
                for (g, b) in b.iter_mut().enumerate() {
                    *b = isa.load_at(right.add(g * panel + k * w));
                }
                for r in 0..w {
                    let a = isa.splat(*left.add(k * w + r));
                    for g in 0..GROUP {
                        let sum = &mut sums[g].as_mut()[r];
                        *sum = isa.mul_add(a, b[g], *sum);
                    }
                }
            }
        }
        let blocks = &mut self.out[((i - self.own.start) * self.panels + j) * w * w..][..GROUP * w * w];
        for (sum, block) in sums.iter().zip(blocks.chunks_exact_mut(w * w)) {
            for (&v, row) in sum.as_ref().iter().zip(block.chunks_exact_mut(w)) {
                isa.store(isa.add(isa.load(row), v), row);
            }
        }
    }
}

/// The G of some rows, on one thread.
struct Leaf<'a> {
    tall: &'a Tall<'a>,
    rows: Range<usize>,
}

impl Kernel for Leaf<'_> {
    type Output = Blocks;

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> Blocks {
        let mut blocks = NewBlocks { width: self.tall.width() }.run(isa);
        let panels = blocks.panels;
        let tile = if panels * S::LANES <= 32 { NARROW_TILE } else { TILE };
        let mut packed = vec![0.0; panels * S::LANES * (tile + PADDING)];
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for first in self.rows.clone().step_by(tile) {
            let count = tile.min(self.rows.end - first);
            let roots = roots(self.tall, &(first..first + count));
            let rows = pack::Rows {
                x: checked(self.tall.x, first, count, &mut x),
                y: checked(self.tall.y, first, count, &mut y),
                roots: roots.as_deref(),
                shift: self.tall.shift,
            };
            pack::panels(isa, &rows, 0..panels, tile + PADDING, &mut packed);
            let out = &mut blocks.data;
            Update { packed: &packed, stride: tile + PADDING, rows: count, panels, own: 0..panels, out }
                .run(isa);
        }
        blocks
    }
}

/// A block of the promised shape.
fn checked<'a>(
    source: &'a dyn RowSource,
    first: usize,
    count: usize,
    scratch: &'a mut Vec<f64>,
) -> Block<'a> {
    let cols = source.cols();
    let block = source.block(first, count, scratch);
    assert!(block.rows() == count && block.cols() == cols, "a row source gave a block of another shape");
    block
}
