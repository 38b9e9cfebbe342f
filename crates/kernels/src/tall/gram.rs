//! The Gram matrix of [X − c, Y − c, 1]: all inner products of all columns, in one pass.
//!
//! The table is packed, tile by tile, into panels of eight columns (`pack.rs`), and each tile is added to G as a sum of outer
//! products held in registers (`outer.rs`). Only what lies on and above the diagonal is computed.
//!
//! ```text
//!  narrow   leaves of rows, each with its own G, added along a fixed tree
//!               for each tile of rows:  outer products of the rows as they lie (`narrow.rs`)
//!  usual    the same, with
//!               for each tile of rows:  pack; for each group of panels: outer products with all columns before it
//!  wide     one G; the tiles of a batch are packed by all threads, then each work item takes some panels of G through
//!           all tiles of the batch. No second G, nothing to add
//! ```
//!
//! Which of them is decided by the numbers of columns and targets alone, so the bits do not depend on the threads. While a tile is multiplied,
//! the memory of the next one is fetched: neither the arithmetic nor the memory waits for the other.
//!
//! A Gram matrix squares the condition number. Its users check what that costs (see `spanwise_linear`).

use super::aligned::Aligned;
use super::narrow::{self, Narrow, Targets};
use super::outer::{self, Tile, Update};
use super::pack::{self, PANEL};
use super::slots::{self, Slots};
use super::tree::{self, Cut};
use super::{Block, RowSource, Tall};
use crate::simd::{Isa, Kernel, Simd, dispatch};
use crate::{Matrix, crew, memory, stop};
use std::ops::{DerefMut, Range};

/// From this width on the threads share one G.
const SHARED_FROM: usize = 1024;
/// Rows to a tile where each leaf has its own G: three panels of this height are little more than half of the first cache, and
/// those of a hundred columns fit the second.
const TILE: usize = 96;
/// Rows to a tile where G is shared.
const SHARED_TILE: usize = 128;
/// Rows from one packed panel to the next, beyond the tile: without it the panels would all fall into the same sets of the caches.
const PADDING: usize = 1;
/// Tiles to a batch, in the wide case.
const BATCH: usize = 8;

/// Panels of G to a work item, in the wide case: later panels are higher, and a core that another program uses half of the time does
/// less. A multiple of every register tile's width.
const SHARE: usize = 6;

/// What a number of G costs where it is turned into rows, in multiplications at full speed.
const COST: usize = 8;

/// G = [X − c, Y − c, 1]ᵀ W [X − c, Y − c, 1], `(d + t + 1)²`, symmetric, in that order of columns.
pub fn gram(tall: &Tall<'_>) -> Matrix {
    gram_on(Isa::detected(), tall)
}

/// [`gram`] without the column of ones: `(d + t)²`.
pub fn gram_of_columns(tall: &Tall<'_>) -> Matrix {
    formed(Isa::detected(), tall, tall.width() - 1)
}

/// [`gram`] with the instructions of `isa`.
pub(super) fn gram_on(isa: Isa, tall: &Tall<'_>) -> Matrix {
    formed(isa, tall, tall.width())
}

/// The first `width` rows and columns of G.
fn formed(isa: Isa, tall: &Tall<'_>, width: usize) -> Matrix {
    tall.check();
    if tall.width() >= SHARED_FROM {
        return shared(isa, tall).to_matrix(width);
    }
    let leaf = tree::leaf_rows(tall.rows(), least_rows(tall));
    let cut = Cut { rows: tall.rows(), leaf, cost: tall.width().pow(2) / 2 };
    if (1..=narrow::UP_TO).contains(&tall.x.cols()) && tall.y.cols() < narrow::TARGETS_UP_TO {
        let of_leaf = |rows| dispatch(isa, NarrowLeaf { tall, rows });
        let whole = tree::reduce(cut, &of_leaf, &|mut a, b| {
            a.add(&b);
            a
        });
        return whole.to_matrix(width);
    }
    let panels = tall.width().div_ceil(PANEL);
    let len = outer::start(panels) + panels * PANEL * (TILE + PADDING);
    let mut memory = slots::memory(tall.rows().div_ceil(leaf), len);
    let slots = Slots::new(&mut memory, len);
    let of_leaf = |rows| {
        let mut sums = Sums { panels, data: slots.take() };
        dispatch(isa, Leaf { tall, rows, panels, memory: &mut sums.data });
        sums
    };
    let whole = tree::reduce(cut, &of_leaf, &|mut a, b| {
        a.add(&b);
        slots.give_back(b.data);
        a
    });
    whole.to_matrix(width)
}

/// Rows to a leaf at least: enough that a leaf's own G costs little beside them. Where G is large this weighs more than the number
/// of leaves, but there have to be some for the threads to share, and at the end they wait for the last.
fn least_rows(tall: &Tall<'_>) -> usize {
    if tall.width() < 192 {
        return 2048;
    }
    tall.rows().div_ceil(8).next_multiple_of(128).min(1024)
}

/// G by panels of [`PANEL`] columns, each down to its last column, row after row; then, in a slot, room for packed rows.
pub(super) struct Sums<D = Vec<f64>> {
    panels: usize,
    pub data: D,
}

impl Sums {
    pub(super) fn zeros(panels: usize) -> Self {
        Sums { panels, data: memory::zeros(outer::start(panels)) }
    }
}

impl<D: DerefMut<Target = [f64]> + Sync> Sums<D> {
    /// Adds the sums of other rows.
    pub(super) fn add(&mut self, other: &Self) {
        let end = outer::start(self.panels);
        self.data[..end].iter_mut().zip(&other.data[..end]).for_each(|(a, b)| *a += b);
    }

    /// Both triangles of the first `width` columns, row-major.
    pub(super) fn to_matrix(&self, width: usize) -> Matrix {
        let mut matrix = memory::room(width * width);
        let of_panel = |p: usize| (p..self.panels).map(|p| &self.data[outer::start(p)..outer::start(p + 1)]);
        let entries = &mut matrix.spare_capacity_mut()[..width * width];
        let blocks = entries.chunks_mut((PANEL * width).max(1)).enumerate();
        // The rows of panel p: what is before its end is the panel itself, turned; what is after, its rows of later panels.
        crew::each(COST * width * width, blocks, |(p, rows)| {
            let (end, count) = (width.min((p + 1) * PANEL), rows.len() / width);
            for panel in of_panel(p).take(1) {
                for (i, sums) in panel.chunks_exact(PANEL).enumerate().take(end) {
                    for (r, &sum) in sums.iter().enumerate().take(count).filter(|(r, _)| p * PANEL + r >= i) {
                        rows[r * width + i].write(sum);
                        if i >= p * PANEL {
                            rows[(i - p * PANEL) * width + p * PANEL + r].write(sum);
                        }
                    }
                }
            }
            for (panel, first) in of_panel(p + 1).zip((end..width).step_by(PANEL)) {
                let own = &panel[p * PANEL * PANEL..];
                for (row, sums) in rows.chunks_exact_mut(width).zip(own.chunks_exact(PANEL)) {
                    let to = &mut row[first..width.min(first + PANEL)];
                    for (to, &sum) in to.iter_mut().zip(sums) {
                        to.write(sum);
                    }
                }
            }
        });
        // SAFETY: the blocks are all rows, and of each row the columns before the end of its own panel and those from there on were
        // written: every entry.
        unsafe { matrix.set_len(width * width) };
        Matrix::new(matrix, width, width).expect("width rows of width")
    }
}

/// One G, shared by the threads.
fn shared(isa: Isa, tall: &Tall<'_>) -> Sums {
    let panels = tall.width().div_ceil(PANEL);
    let mut sums = Sums::zeros(panels);
    let stride = SHARED_TILE + PADDING;
    let tile_len = panels * PANEL * stride;
    let mut packed = Aligned::zeros(BATCH * tile_len);
    let rows_of = |first: usize| first..(first + SHARED_TILE).min(tall.rows());
    for batch in (0..tall.rows()).step_by(BATCH * SHARED_TILE) {
        let firsts: Vec<usize> = (batch..tall.rows()).step_by(SHARED_TILE).take(BATCH).collect();
        let numbers = firsts.len() * tile_len;
        crew::each(COST * numbers, packed.chunks_mut(tile_len).zip(&firsts), |(out, &first)| {
            dispatch(isa, Pack { tall, rows: rows_of(first), stride, out });
        });
        let packed = &*packed;
        let all = panels;
        let shares = outer::shares(&mut sums.data, 0..panels, SHARE);
        crew::each(numbers * panels * PANEL / 2, shares.into_iter(), |(panels, out)| {
            stop::check();
            for (packed, &first) in packed.chunks_exact(tile_len).zip(&firsts) {
                let tile = Tile { packed, stride, rows: rows_of(first).len(), panels: all };
                dispatch(isa, Update { tile, before: 0, panels: panels.clone(), out: &mut *out, next: None });
            }
        });
    }
    sums
}

/// The square roots of some rows' weights.
fn roots(tall: &Tall<'_>, rows: &Range<usize>) -> Option<Vec<f64>> {
    tall.weights.map(|weights| weights[rows.clone()].iter().map(|w| w.sqrt()).collect())
}

/// Packs one tile.
struct Pack<'a> {
    tall: &'a Tall<'a>,
    rows: Range<usize>,
    stride: usize,
    out: &'a mut [f64],
}

impl Kernel for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let roots = roots(self.tall, &self.rows);
        let (first, count) = (self.rows.start, self.rows.len());
        let rows = pack::Rows {
            x: checked(self.tall.x, first, count, &mut x),
            y: checked(self.tall.y, first, count, &mut y),
            roots: roots.as_deref(),
            shift: self.tall.shift,
        };
        pack::panels(isa, &rows, self.stride, self.out);
    }
}

/// The G of some rows of few columns, on one thread.
struct NarrowLeaf<'a> {
    tall: &'a Tall<'a>,
    rows: Range<usize>,
}

impl Kernel for NarrowLeaf<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> Sums {
        let Tall { x, y, shift, .. } = *self.tall;
        let (d, targets) = (x.cols(), y.cols() + 1);
        let (mut sums, mut beside) = (Narrow::new(d, targets), Targets::new(targets));
        let mut scratch = Aligned::zeros(narrow::TILE * narrow::stride(d));
        let (mut x_scratch, mut y_scratch) = (Vec::new(), Vec::new());
        let height = narrow::height::<S>();
        for first in self.rows.clone().step_by(height) {
            stop::check();
            let count = height.min(self.rows.end - first);
            let roots = roots(self.tall, &(first..first + count));
            let rows = pack::Rows {
                x: checked(x, first, count, &mut x_scratch),
                y: checked(y, first, count, &mut y_scratch),
                roots: roots.as_deref(),
                shift,
            };
            beside.fill(&rows);
            let next = Some(rows.x).filter(|_| first + count < self.rows.end);
            sums.add(isa, narrow::Tile::of(isa, &rows, &mut scratch), &beside, next);
        }
        sums.finish()
    }
}

/// The G of some rows, on one thread.
struct Leaf<'a> {
    tall: &'a Tall<'a>,
    rows: Range<usize>,
    panels: usize,
    /// Zeros: G, and room for packed rows.
    memory: &'a mut [f64],
}

impl Kernel for Leaf<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) {
        let (panels, stride) = (self.panels, TILE + PADDING);
        let (sums, packed) = self.memory.split_at_mut(outer::start(panels));
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for first in self.rows.clone().step_by(TILE) {
            stop::check();
            let count = TILE.min(self.rows.end - first);
            let roots = roots(self.tall, &(first..first + count));
            let rows = pack::Rows {
                x: checked(self.tall.x, first, count, &mut x),
                y: checked(self.tall.y, first, count, &mut y),
                roots: roots.as_deref(),
                shift: self.tall.shift,
            };
            pack::panels(isa, &rows, stride, packed);
            let tile = Tile { packed, stride, rows: count, panels };
            let next = Some(rows.x).filter(|_| first + count < self.rows.end);
            Update { tile, before: 0, panels: 0..panels, out: sums, next }.run(isa);
        }
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
