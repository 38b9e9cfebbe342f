//! Outer products of rows as they lie: the Gram matrix of a table that is not wide.
//!
//! Panels (`pack.rs`, `outer.rs`) pay where each number is used hundreds of times. With twenty columns moving the numbers costs
//! as much as multiplying them, and the targets and the ones fill a panel of their own. Here a tile is some rows one after
//! another, in the caller's memory where nothing has to be subtracted, and the first cache holds all of them:
//!
//! ```text
//!  for each block of 4 (AVX-512: 8) columns I:
//!      for each group of up to 3 vectors of columns J from I's own on:      per row k: |I| broadcasts, |J| / lanes loads
//!          sums[i][·] = Σₖ xₖ[i] · xₖ[J]                                     both from one row: two addresses and fixed offsets
//!  for each two targets (the ones are one of them):
//!      for each group of up to 6 vectors of columns J:   sums[q][·] = Σₖ yₖ[q] · xₖ[J]
//! ```
//!
//! 20 columns, a target and the ones are 70 multiply-adds a row with four lanes, 84 by panels; 50 with eight lanes, where the last two
//! blocks share a round through the rows. Four by three sums, three
//! vectors and one broadcast are the 16 registers of AVX2, without a spill since nothing else lies in them.
//!
//! The last vector of a row may reach beyond its last column, into the next row: what that gives lies in rows and columns of G that
//! belong to the targets, and is written over at the end. A row without memory after it is copied first.

use super::aligned::Aligned;
use super::gram::Sums;
use super::outer::{Ahead, start};
use super::pack::{self, PANEL, Rows};
use super::{Block, Layout, prefetch};
use crate::simd::{Lanes, Simd};

/// Rows to a tile at most: up to half of a first cache of 48 KiB. With half as many the beginnings and ends of the rounds are felt.
pub(super) const TILE: usize = 96;

/// Rows to a tile: with four lanes, where a round takes longer and first caches are smaller, half as many.
pub(super) const fn height<S: Lanes<f64>>() -> usize {
    if S::LANES < PANEL { TILE / 2 } else { TILE }
}

/// Up to this many columns: with 50 or more panels are as fast, since each number is used often.
pub(super) const UP_TO: usize = 32;
/// Up to this many targets, the ones among them.
pub(super) const TARGETS_UP_TO: usize = 4;
/// Rows a multiple of so many numbers apart fall into few sets of the first cache.
const FEW_SETS: usize = 64;
/// Vectors of columns to a group, beside targets.
const BESIDE: usize = 6;

/// Numbers from one copied row to the next: whole cache lines, an odd number of them, so that rows fall into all sets.
pub(super) fn stride(d: usize) -> usize {
    (d.div_ceil(PANEL) | 1) * PANEL
}

/// Rows one after another.
#[derive(Clone, Copy)]
pub(super) struct Tile<'a> {
    /// Each row with so much memory after its first number as `d` rounded up to [`PANEL`].
    data: &'a [f64],
    stride: usize,
    rows: usize,
}

impl<'a> Tile<'a> {
    /// `rows` rows of `d` numbers in `data`; `None` where the last one has too little memory after it.
    #[inline(always)]
    pub(super) fn new(data: &'a [f64], stride: usize, rows: usize, d: usize) -> Option<Self> {
        let reach = rows.saturating_sub(1) * stride + d.next_multiple_of(PANEL);
        (rows > 0 && reach <= data.len()).then_some(Tile { data, stride, rows })
    }

    /// [X − c], weighted: where it lies, or copied into `scratch` (`TILE` × [`stride`]).
    #[inline(always)]
    pub(super) fn of<S: Simd>(isa: S, rows: &Rows<'a>, scratch: &'a mut [f64]) -> Self {
        let d = rows.x.cols();
        let as_it_lies = match rows.x.layout() {
            Layout::Rows { stride } if rows.roots.is_none() && !stride.is_multiple_of(FEW_SETS) => {
                let unshifted = rows.shift[..d].iter().all(|&c| c == 0.0);
                Tile::new(rows.x.data(), stride, rows.x.rows(), d).filter(|_| unshifted)
            }
            _ => None,
        };
        if let Some(tile) = as_it_lies {
            return tile;
        }
        let stride = stride(d);
        pack::features(isa, rows, pack::Place { row: stride, panel: PANEL }, scratch);
        Tile { data: scratch, stride, rows: rows.x.rows() }
    }
}

/// The targets of a tile's rows, the ones (or the roots of the weights) last: [`TILE`] numbers each, zeros after the last row.
pub(super) struct Targets {
    numbers: Vec<f64>,
    count: usize,
}

impl Targets {
    pub(super) fn new(count: usize) -> Self {
        Targets { numbers: vec![0.0; count * TILE], count }
    }

    /// `[Y − c, 1]`, weighted, of some rows.
    #[inline(always)]
    pub(super) fn fill(&mut self, rows: &Rows<'_>) {
        let (d, t) = (rows.x.cols(), rows.x.rows());
        for (q, to) in self.numbers.chunks_exact_mut(TILE).enumerate() {
            let (to, after) = to.split_at_mut(t);
            after.fill(0.0);
            if q < rows.y.cols() {
                let shift = rows.shift[d + q];
                match rows.y.layout() {
                    Layout::Columns { stride } => {
                        let from = &rows.y.data()[q * stride..][..t];
                        to.iter_mut().zip(from).for_each(|(to, y)| *to = y - shift);
                    }
                    Layout::Rows { .. } => {
                        to.iter_mut().enumerate().for_each(|(k, to)| *to = rows.y.get(k, q) - shift);
                    }
                }
            } else {
                to.fill(1.0);
            }
            if let Some(roots) = rows.roots {
                to.iter_mut().zip(roots).for_each(|(to, root)| *to *= root);
            }
        }
    }
}

/// The Gram matrix of [X, Y, 1], growing tile by tile.
pub(super) struct Narrow {
    d: usize,
    targets: usize,
    /// Of X; what lies beyond its columns means nothing.
    sums: Sums,
    /// Target by target against the columns of X, `d` rounded up to [`PANEL`] each.
    beside: Aligned,
    /// Target by target against the targets.
    corner: Vec<f64>,
    /// Rounds through the rows of a tile.
    rounds: usize,
}

impl Narrow {
    pub(super) fn new(d: usize, targets: usize) -> Self {
        let width = d.next_multiple_of(PANEL);
        Narrow {
            d,
            targets,
            sums: Sums::zeros((d + targets).div_ceil(PANEL)),
            beside: Aligned::zeros(targets * width),
            corner: vec![0.0; targets * targets],
            rounds: 0,
        }
    }

    /// Adds a tile. `next` is the block it was made of: the memory after it is fetched.
    #[inline(always)]
    pub(super) fn add<S: Simd>(
        &mut self,
        isa: S,
        tile: Tile<'_>,
        targets: &Targets,
        next: Option<Block<'_>>,
    ) {
        assert!(targets.count == self.targets && tile.rows <= TILE);
        let mut pass = Pass { tile, ahead: Ahead::of(next, self.rounds * tile.rows, tile.data), rounds: 0 };
        if S::LANES == PANEL {
            self.blocks::<S, 8>(isa, &mut pass);
        } else {
            self.blocks::<S, 4>(isa, &mut pass);
        }
        self.targets(isa, &mut pass, targets);
        // The same for every tile.
        self.rounds = pass.rounds;
    }

    /// X against itself: blocks of ROWS columns against all vectors from their own on.
    #[inline(always)]
    fn blocks<S: Simd, const ROWS: usize>(&mut self, isa: S, pass: &mut Pass<'_>) {
        let vectors = self.d.div_ceil(S::LANES);
        for first in (0..self.d).step_by(ROWS) {
            let mut v = first / S::LANES;
            if S::LANES == PANEL && vectors - v == 2 {
                // The last two blocks in one round through the rows.
                let to = &mut self.sums.data;
                if self.d - first - ROWS <= 4 {
                    pass.stairs::<S, ROWS, 4>(isa, first, to);
                } else {
                    pass.stairs::<S, ROWS, 8>(isa, first, to);
                }
                break;
            }
            while v < vectors {
                // Four are two and two: one alone would wait for its own sums.
                let count = match vectors - v {
                    4 => 2,
                    left => left.min(3),
                };
                let to = &mut self.sums.data;
                match count {
                    1 => pass.sums::<S, ROWS, 1, 2>(isa, first, v, to),
                    2 => pass.sums::<S, ROWS, 2, 1>(isa, first, v, to),
                    _ => pass.sums::<S, ROWS, 3, 1>(isa, first, v, to),
                }
                v += count;
            }
        }
    }

    /// The targets against X and against each other.
    #[inline(always)]
    fn targets<S: Simd>(&mut self, isa: S, pass: &mut Pass<'_>, targets: &Targets) {
        let (vectors, width) = (self.d.div_ceil(S::LANES), self.d.next_multiple_of(PANEL));
        let most = vectors.div_ceil(vectors.div_ceil(BESIDE).max(1)).max(1);
        for (y, to) in targets.numbers.chunks(2 * TILE).zip(self.beside.chunks_mut((2 * width).max(1))) {
            for v in (0..vectors).step_by(most) {
                let count = most.min(vectors - v);
                if y.len() == TILE {
                    pass.beside::<S, 1>(isa, y, (v, count), to);
                } else {
                    pass.beside::<S, 2>(isa, y, (v, count), to);
                }
            }
        }
        for q in 0..self.targets {
            for other in q..self.targets {
                let mut sum = isa.zero();
                for k in (0..TILE).step_by(S::LANES) {
                    let (a, b) = (&targets.numbers[q * TILE + k..], &targets.numbers[other * TILE + k..]);
                    sum = isa.mul_add(isa.load(a), isa.load(b), sum);
                }
                self.corner[q * self.targets + other] += isa.sum(sum);
            }
        }
    }

    /// All of it as one triangle.
    pub(super) fn finish(mut self) -> Sums {
        let width = self.d.next_multiple_of(PANEL);
        for q in 0..self.targets {
            let column = self.d + q;
            let panel = &mut self.sums.data[start(column / PANEL)..];
            let mut put = |row: usize, sum: f64| panel[row * PANEL + column % PANEL] = sum;
            (0..self.d).for_each(|i| put(i, self.beside[q * width + i]));
            (0..=q).for_each(|other| put(self.d + other, self.corner[other * self.targets + q]));
        }
        self.sums
    }
}

/// A way down the rows of a tile.
struct Walk {
    left: *const f64,
    right: *const f64,
    stride: usize,
    fetched: *const f64,
    step: usize,
}

impl Walk {
    /// The products of one row, and on to the next.
    ///
    /// # Safety
    /// ROWS numbers from `left` on and VECTORS vectors from `right` on must be readable.
    #[inline(always)]
    unsafe fn row<S: Lanes<f64>, const ROWS: usize, const VECTORS: usize>(
        &mut self,
        isa: S,
        sums: &mut [[S::Vector; VECTORS]; ROWS],
    ) {
        prefetch(self.fetched);
        let mut b = [isa.zero(); VECTORS];
        for v in 0..VECTORS {
            // SAFETY: the caller's promise.
            b[v] = unsafe { isa.load_at(self.right.add(v * S::LANES)) };
        }
        for r in 0..ROWS {
            // SAFETY: the caller's promise.
            let a = isa.splat(unsafe { *self.left.add(r) });
            for v in 0..VECTORS {
                sums[r][v] = isa.mul_add(a, b[v], sums[r][v]);
            }
        }
        self.fetched = self.fetched.wrapping_add(self.step);
        self.left = self.left.wrapping_add(self.stride);
        self.right = self.right.wrapping_add(self.stride);
    }
}

/// One tile on its way.
struct Pass<'a> {
    tile: Tile<'a>,
    ahead: Ahead,
    /// Rounds through the rows so far.
    rounds: usize,
}

impl Pass<'_> {
    /// Columns `first .. first + ROWS` against VECTORS vectors from vector `v` on; every PHASES-th row has sums of its own.
    #[inline(always)]
    fn sums<S: Lanes<f64>, const ROWS: usize, const VECTORS: usize, const PHASES: usize>(
        &mut self,
        isa: S,
        first: usize,
        v: usize,
        to: &mut [f64],
    ) {
        let Tile { data, stride, rows } = self.tile;
        let reach = (first + ROWS).max((v + VECTORS) * S::LANES);
        assert!((rows - 1) * stride + reach <= data.len());
        let (fetched, step) = self.ahead.take(rows);
        self.rounds += 1;
        let (left, right) = (data[first..].as_ptr(), data[v * S::LANES..].as_ptr());
        let mut walk = Walk { left, right, stride, fetched, step };
        let mut sums = [[[isa.zero(); VECTORS]; ROWS]; PHASES];
        // SAFETY: `rows` rows in all, and of each the columns up to `reach` lie inside the memory: asserted above.
        unsafe {
            for _ in 0..rows / PHASES {
                for sums in &mut sums {
                    walk.row(isa, sums);
                }
            }
            for _ in 0..rows % PHASES {
                walk.row(isa, &mut sums[0]);
            }
        }
        for w in 0..VECTORS {
            let column = (v + w) * S::LANES;
            let panel = &mut to[start(column / PANEL) + first * PANEL + column % PANEL..];
            for r in 0..ROWS {
                let to = &mut panel[r * PANEL..][..S::LANES];
                let mut sum = isa.load(to);
                for phase in &sums {
                    sum = isa.add(sum, phase[r][w]);
                }
                isa.store(sum, to);
            }
        }
    }

    /// Columns `first .. first + ROWS`, which are one vector, against themselves and the last vector, and the first LAST columns of
    /// that one against itself.
    #[inline(always)]
    fn stairs<S: Lanes<f64>, const ROWS: usize, const LAST: usize>(
        &mut self,
        isa: S,
        first: usize,
        to: &mut [f64],
    ) {
        let Tile { data, stride, rows } = self.tile;
        assert!(
            ROWS == PANEL
                && S::LANES == PANEL
                && LAST <= PANEL
                && (rows - 1) * stride + first + 2 * ROWS <= data.len()
        );
        let (mut fetched, step) = self.ahead.take(rows);
        self.rounds += 1;
        let mut row = data[first..].as_ptr();
        let mut upper = [[isa.zero(); 2]; ROWS];
        let mut lower = [isa.zero(); LAST];
        for _ in 0..rows {
            prefetch(fetched);
            // SAFETY: `rows` rows in all, and of each two vectors from `first` on lie inside the memory: asserted above.
            unsafe {
                let b = [isa.load_at(row), isa.load_at(row.add(ROWS))];
                for r in 0..ROWS {
                    let a = isa.splat(*row.add(r));
                    upper[r] = [isa.mul_add(a, b[0], upper[r][0]), isa.mul_add(a, b[1], upper[r][1])];
                }
                for r in 0..LAST {
                    lower[r] = isa.mul_add(isa.splat(*row.add(ROWS + r)), b[1], lower[r]);
                }
            }
            fetched = fetched.wrapping_add(step);
            row = row.wrapping_add(stride);
        }
        let own = start(first / PANEL) + first * PANEL;
        let last = start(first / PANEL + 1) + first * PANEL;
        for r in 0..ROWS {
            add_to(isa, upper[r][0], &mut to[own + r * PANEL..]);
            add_to(isa, upper[r][1], &mut to[last + r * PANEL..]);
        }
        for r in 0..LAST {
            add_to(isa, lower[r], &mut to[last + (ROWS + r) * PANEL..]);
        }
    }

    /// COUNT targets ([`TILE`] numbers each) against `count` vectors from vector `v` on.
    #[inline(always)]
    fn beside<S: Lanes<f64>, const COUNT: usize>(
        &mut self,
        isa: S,
        y: &[f64],
        (v, count): (usize, usize),
        to: &mut [f64],
    ) {
        match count {
            1 => self.beside_vectors::<S, COUNT, 1>(isa, y, v, to),
            2 => self.beside_vectors::<S, COUNT, 2>(isa, y, v, to),
            3 => self.beside_vectors::<S, COUNT, 3>(isa, y, v, to),
            4 => self.beside_vectors::<S, COUNT, 4>(isa, y, v, to),
            5 => self.beside_vectors::<S, COUNT, 5>(isa, y, v, to),
            _ => self.beside_vectors::<S, COUNT, 6>(isa, y, v, to),
        }
    }

    #[inline(always)]
    fn beside_vectors<S: Lanes<f64>, const COUNT: usize, const VECTORS: usize>(
        &mut self,
        isa: S,
        y: &[f64],
        v: usize,
        to: &mut [f64],
    ) {
        let Tile { data, stride, rows } = self.tile;
        assert!((rows - 1) * stride + (v + VECTORS) * S::LANES <= data.len());
        assert!(rows <= TILE && y.len() == COUNT * TILE);
        let mut right = data[v * S::LANES..].as_ptr();
        let (mut fetched, step) = self.ahead.take(rows);
        self.rounds += 1;
        let mut sums = [[isa.zero(); VECTORS]; COUNT];
        for k in 0..rows {
            prefetch(fetched);
            // SAFETY: row k < rows, and of each row the vectors up to v + VECTORS lie inside the memory; `y` holds TILE numbers for
            // each of COUNT: all asserted above.
            unsafe {
                let mut a = [isa.zero(); COUNT];
                for (q, a) in a.iter_mut().enumerate() {
                    *a = isa.splat(*y.get_unchecked(q * TILE + k));
                }
                for w in 0..VECTORS {
                    let b = isa.load_at(right.add(w * S::LANES));
                    for q in 0..COUNT {
                        sums[q][w] = isa.mul_add(a[q], b, sums[q][w]);
                    }
                }
            }
            fetched = fetched.wrapping_add(step);
            right = right.wrapping_add(stride);
        }
        let width = to.len() / COUNT;
        for (sums, to) in sums.iter().zip(to.chunks_exact_mut(width)) {
            for (w, sum) in sums.iter().enumerate() {
                let to = &mut to[(v + w) * S::LANES..][..S::LANES];
                isa.store(isa.add(isa.load(to), *sum), to);
            }
        }
    }
}

/// `to += sum`, one vector.
#[inline(always)]
fn add_to<S: Lanes<f64>>(isa: S, sum: S::Vector, to: &mut [f64]) {
    isa.store(isa.add(isa.load(to), sum), to);
}
