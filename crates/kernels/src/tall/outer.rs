//! A packed tile added to the panels of G: `G[i][j] += Σₖ aₖ[i] · aₖ[j]` for i ≤ j, as outer products in registers.
//!
//! A *group* is as many panels as the registers take side by side: one of eight columns where there are 16 registers of four
//! lanes (AVX2), three where there are 32 of eight (AVX-512). Groups come in *blocks* that stay in the second cache, so that
//! however wide the table, its packed panels come from beyond once per block:
//!
//! ```text
//!  for each block of groups:
//!      for each set of 6 or 4 (AVX-512: 8) columns I before it:      I stays in the first cache
//!          for each group of panels J of the block:                  per row k: |I| broadcasts, |J| / lanes loads
//!              sums[i][·] = Σₖ aₖ[i] · aₖ[J]                          12 to 24 sums: more than the latency of two pipes
//!      for each group of panels J of the block:
//!          for each set of columns I of the block before J:          the same
//!          for each panel P of J:                                    the diagonal: row i of P against the vectors of J from
//!              sums[i][·] = Σₖ aₖ[i] · aₖ[J from P]                   its own on, so little is computed twice
//! ```
//!
//! The order of the loops changes no sum: each is over the rows of the tile, in their order.
//!
//! Six columns by two vectors use 12 of 16 registers for sums; 4 × 3 would need 17 with its operands, and the compiler would store
//! and load one of them in every round.

use super::Block;
use super::pack::PANEL;
use super::{Layout, prefetch};
use crate::simd::{Kernel, Lanes, Simd};
use std::ops::Range;

/// A tile of rows, packed into panels of [`PANEL`] columns.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a> {
    /// `panels × stride × PANEL`.
    pub packed: &'a [f64],
    /// Rows from one panel to the next.
    pub stride: usize,
    /// Rows that count.
    pub rows: usize,
    pub panels: usize,
}

impl Tile<'_> {
    /// The panels lie inside the memory.
    #[inline(always)]
    fn check(&self) {
        assert!(self.rows <= self.stride && self.panels * self.stride * PANEL <= self.packed.len());
    }

    /// Where a column begins; its numbers are [`PANEL`] apart.
    #[inline(always)]
    fn column(&self, column: usize) -> *const f64 {
        self.packed[(column / PANEL) * self.stride * PANEL + column % PANEL..].as_ptr()
    }
}

/// Numbers of G before panel `p`: each panel is as high as its last column is far, row after row, so G is kept as a triangle.
#[inline(always)]
pub(crate) fn start(p: usize) -> usize {
    p * (p + 1) / 2 * (PANEL * PANEL)
}

/// Some panels of G, by shares of at most `most` panels, each with its panels. `g` begins in the first of them, and where it begins
/// some rows down, so does each share.
pub(crate) fn shares(
    mut g: &mut [f64],
    panels: Range<usize>,
    most: usize,
) -> Vec<(Range<usize>, &mut [f64])> {
    let mut shares = Vec::new();
    for first in panels.clone().step_by(most) {
        let last = panels.end.min(first + most);
        let (share, rest) = g.split_at_mut(g.len().min(start(last) - start(first)));
        shares.push((first..last, share));
        g = rest;
    }
    shares
}

/// Adds a tile to some panels of G.
pub(crate) struct Update<'a> {
    pub tile: Tile<'a>,
    /// The panel of G that the tile begins with; its columns are also the rows of G from this panel's on.
    pub before: usize,
    /// Which panels of the tile.
    pub panels: Range<usize>,
    /// The panels of G that these stand for, from the first row that the tile stands for.
    pub out: &'a mut [f64],
    /// The rows of the tile, where they lie; the memory after them is fetched.
    pub next: Option<Block<'a>>,
}

impl Kernel for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) {
        let Tile { packed, rows, panels, .. } = self.tile;
        self.tile.check();
        assert!(self.panels.end <= panels);
        // As many whole panels as GROUP vectors are wide, at least one.
        let most = (S::GROUP * S::LANES / PANEL).max(1);
        let ahead = Ahead::of(self.next, register_tiles(panels, most) * rows, packed);
        let origin = start(self.before + self.panels.start);
        let place = Place { before: self.before, origin, out: self.out };
        let mut products = Products { left: self.tile, tile: self.tile, place, ahead };
        for first in self.panels.clone().step_by(BLOCK) {
            products.block(isa, Groups { panels: first..self.panels.end.min(first + BLOCK), most });
        }
    }
}

/// Adds to eight rows of some panels of G: one panel of a tile's columns against all of another tile of as many rows.
pub(crate) struct Across<'a> {
    pub left: Tile<'a>,
    /// Which panel of `left`, and so which rows of `out`.
    pub panel: usize,
    pub right: Tile<'a>,
    /// The panel of G that `right` begins with.
    pub before: usize,
    /// The panels of G that `right` stands for, from the first row that `left` stands for.
    pub out: &'a mut [f64],
}

impl Across<'_> {
    #[inline(always)]
    pub(crate) fn run<S: Simd>(self, isa: S) {
        self.left.check();
        self.right.check();
        assert!(self.right.rows <= self.left.rows);
        let most = (S::GROUP * S::LANES / PANEL).max(1);
        let ahead = Ahead::of(None, 0, self.right.packed);
        let place = Place { before: self.before, origin: start(self.before), out: self.out };
        let mut products = Products { left: self.left, tile: self.right, place, ahead };
        for group in (Groups { panels: 0..self.right.panels, most }) {
            let (mut first, end) = (self.panel * PANEL, (self.panel + 1) * PANEL);
            while first < end {
                let height = height::<S>(end - first);
                products.set(isa, height, first, group.clone());
                first += height;
            }
        }
    }
}

/// Panels to a block: with 128 rows some 100 KiB, in the second cache of every machine. A multiple of every group's width.
pub(crate) const BLOCK: usize = 12;

/// Panels taken by groups of at most `most`.
#[derive(Clone)]
struct Groups {
    panels: Range<usize>,
    most: usize,
}

impl Iterator for Groups {
    type Item = Range<usize>;

    #[inline(always)]
    fn next(&mut self) -> Option<Range<usize>> {
        let (first, left) = (self.panels.start, self.panels.len());
        // Four are two and two: a group of one leaves half of the pipeline idle.
        let group =
            if left == self.most + 1 && self.most > 1 { left.div_ceil(2) } else { left.min(self.most) };
        self.panels.start += group;
        (group > 0).then_some(first..first + group)
    }
}

/// About how many register tiles of sums there are, `most` panels wide: sets of six or eight columns before each group, and its
/// diagonal.
fn register_tiles(panels: usize, most: usize) -> usize {
    let height = if most == 1 { 6 } else { PANEL };
    (0..panels).step_by(most).map(|p| (p * PANEL).div_ceil(height) + most.min(panels - p)).sum()
}

/// Outer products of the columns of two tiles, which may be the same.
struct Products<'a> {
    left: Tile<'a>,
    tile: Tile<'a>,
    place: Place<'a>,
    ahead: Ahead,
}

/// Where sums lie in G.
struct Place<'a> {
    /// The panel of G that the tile begins with.
    before: usize,
    /// Numbers of G before the panel that `out` begins with.
    origin: usize,
    out: &'a mut [f64],
}

impl Place<'_> {
    /// Row `row` of the tile's panel `panel`, from there on.
    #[inline(always)]
    fn at(&mut self, panel: usize, row: usize) -> &mut [f64] {
        &mut self.out[start(self.before + panel) - self.origin + row * PANEL..]
    }
}

impl Products<'_> {
    /// All columns up to the block's own against its panels.
    #[inline(always)]
    fn block<S: Simd>(&mut self, isa: S, groups: Groups) {
        let before = groups.panels.start * PANEL;
        let mut first = 0;
        while first < before {
            let height = height::<S>(before - first);
            for group in groups.clone() {
                if group.end == groups.panels.end {
                    // The last columns of the next set: they come from far where the table is wide.
                    let panel = (first + 2 * height - 1).min(before - 1) / PANEL;
                    self.ahead.panel = Some(self.left.column(panel * PANEL));
                }
                self.set(isa, height, first, group);
            }
            first += height;
        }
        for group in groups {
            let own = group.start * PANEL;
            let mut first = before;
            while first < own {
                let height = height::<S>(own - first);
                self.set(isa, height, first, group.clone());
                first += height;
            }
            self.diagonal(isa, group);
        }
    }

    /// A set of `height` columns from `first` on against a group of panels.
    #[inline(always)]
    fn set<S: Simd>(&mut self, isa: S, height: usize, first: usize, group: Range<usize>) {
        let panel = group.start;
        match (group.len() * (PANEL / S::LANES), height) {
            (1, _) => self.sums::<S, 8, 1, false>(isa, first, panel),
            (3, _) => self.sums::<S, 8, 3, false>(isa, first, panel),
            (2, PANEL) => self.sums::<S, 8, 2, false>(isa, first, panel),
            (2, 4) => self.sums::<S, 4, 2, false>(isa, first, panel),
            (2, _) => self.sums::<S, 6, 2, false>(isa, first, panel),
            (_, 4) => self.sums::<S, 4, 4, false>(isa, first, panel),
            (_, _) => self.sums::<S, 6, 4, false>(isa, first, panel),
        }
    }

    /// A group of panels against itself.
    #[inline(always)]
    fn diagonal<S: Simd>(&mut self, isa: S, group: Range<usize>) {
        for p in group.clone() {
            let first = p * PANEL;
            match (group.end - p) * (PANEL / S::LANES) {
                1 => self.sums::<S, 8, 1, true>(isa, first, p),
                2 => self.sums::<S, 8, 2, true>(isa, first, p),
                3 => self.sums::<S, 8, 3, true>(isa, first, p),
                _ => self.sums::<S, 8, 4, true>(isa, first, p),
            }
        }
    }

    /// Columns `first .. first + ROWS` against VECTORS vectors of columns from `panel` on. On the diagonal, row `r` leaves out the
    /// vectors before its own.
    #[inline(always)]
    fn sums<S: Lanes<f64>, const ROWS: usize, const VECTORS: usize, const DIAGONAL: bool>(
        &mut self,
        isa: S,
        first: usize,
        panel: usize,
    ) {
        let rows = self.tile.rows;
        let per_panel = PANEL / S::LANES;
        assert!(first + ROWS <= self.left.panels * PANEL);
        assert!(panel + VECTORS.div_ceil(per_panel) <= self.tile.panels);
        let mut left = [self.left.packed.as_ptr(); ROWS];
        for (r, left) in left.iter_mut().enumerate() {
            *left = self.left.column(first + r);
        }
        let mut right = [self.tile.packed.as_ptr(); VECTORS];
        for (v, right) in right.iter_mut().enumerate() {
            *right = self.tile.column(panel * PANEL + v * S::LANES);
        }
        // Where G is large its lines are far away; they arrive while the sums are formed.
        for v in (0..VECTORS).step_by(per_panel) {
            let out = self.place.at(panel + v / per_panel, first);
            (0..ROWS).for_each(|r| prefetch(out[r * PANEL..].as_ptr()));
        }
        let (fetched, step) = self.ahead.take(rows);
        let mut sums = [[isa.zero(); VECTORS]; ROWS];
        for k in 0..rows {
            prefetch(fetched.wrapping_add(k * step));
            // SAFETY: all columns lie inside the tiles' panels (asserted above), k is below the rows of both, and the panels lie
            // inside `packed` (asserted where the tiles came in).
            unsafe {
                let mut b = [isa.zero(); VECTORS];
                for (b, right) in b.iter_mut().zip(right) {
                    *b = isa.load_at(right.add(k * PANEL));
                }
                for r in 0..ROWS {
                    let a = isa.splat(*left[r].add(k * PANEL));
                    for v in 0..VECTORS {
                        if !DIAGONAL || v >= r / S::LANES {
                            sums[r][v] = isa.mul_add(a, b[v], sums[r][v]);
                        }
                    }
                }
            }
        }
        for v in 0..VECTORS {
            let out = self.place.at(panel + v / per_panel, first);
            for r in 0..ROWS {
                let to = &mut out[r * PANEL + (v % per_panel) * S::LANES..][..S::LANES];
                isa.store(isa.add(isa.load(to), sums[r][v]), to);
            }
        }
    }
}

/// How many of the columns left go into the next set: 8 = 4 + 4 and 4, all others by sixes; where a vector is a panel, by eights.
#[inline(always)]
fn height<S: Simd>(left: usize) -> usize {
    match left {
        _ if S::LANES == PANEL => PANEL,
        4 | 8 => 4,
        _ => 6,
    }
}

/// The memory after a block of rows, fetched evenly while the block is computed with: a burst would fill the queues to memory and
/// stall the arithmetic.
pub(super) struct Ahead {
    from: *const f64,
    /// Numbers to each round of a loop; 0 where nothing is to be fetched.
    step: usize,
    /// Rounds left until all is fetched.
    rounds: usize,
    /// A packed panel that is needed soon, fetched where nothing else has to be.
    panel: Option<*const f64>,
    /// Where nothing has to be fetched any more: memory that is in the first cache.
    idle: *const f64,
}

impl Ahead {
    /// What follows `block`, in so many rounds.
    #[inline(always)]
    pub(super) fn of(block: Option<Block<'_>>, rounds: usize, packed: &[f64]) -> Self {
        let idle = packed.as_ptr();
        match block.map(|block| (block, block.layout())) {
            // Rows with wide gaps are left to the machine, and so are columns: packing fetches those.
            Some((block, Layout::Rows { stride })) if stride < 2 * block.cols() && rounds > 0 => {
                let numbers = block.rows() * stride;
                let step = numbers.div_ceil(rounds).min(PANEL);
                let from = block.data().as_ptr().wrapping_add(numbers);
                Ahead { from, step, rounds: numbers.div_ceil(step.max(1)), panel: None, idle }
            }
            _ => Ahead { from: idle, step: 0, rounds: 0, panel: None, idle },
        }
    }

    /// Where the next `rounds` begin to fetch, and how far apart.
    #[inline(always)]
    pub(super) fn take(&mut self, rounds: usize) -> (*const f64, usize) {
        let panel = self.panel.take();
        if self.rounds == 0 {
            return panel.map_or((self.idle, 0), |panel| (panel, PANEL));
        }
        let from = self.from;
        self.from = from.wrapping_add(rounds * self.step);
        self.rounds = self.rounds.saturating_sub(rounds);
        (from, self.step)
    }
}
