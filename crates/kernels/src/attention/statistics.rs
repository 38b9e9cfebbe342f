//! What is asked about the weights of a block, while they lie in scratch memory.
//!
//! `a[panel][key][lane]` are the weights before the division, `inverse[row]` what they are multiplied by. Panel by panel, once
//! its exponentials are formed:
//!
//! ```text
//! entropy          from Σ a·log₂ a, which the exponentials' sweep has formed
//! largest weights  by way of the largest of each pool                            top.rs
//! map              from the pools' sums and maxima
//! row sums         one sweep over the weights
//! ```
//!
//! What each key receives is a sum over rows, so over panels: tile by tile, just before the tile's weighted sum reads the same
//! weights. A row lost to a NaN has an inverse of NaN; what is hidden in it (`a = 0`) stays 0.

use super::part::{Block, Tile};
use super::pools::Pools;
use super::storage::Storage;
use crate::Element;
use crate::simd::{Float, MOST_LANES, Real};
use std::f64::consts::LN_2;
use std::ops::Range;

/// The statistics to fill in, each for the rows of the block.
#[derive(Default)]
pub struct Wanted<'a> {
    /// `(rows,)`: `−Σ a·ln a`.
    pub entropy: Option<&'a mut [f64]>,
    /// `(rows,)`: how far the weights and the sink's share are from adding up to 1.
    pub row_sum_error: Option<&'a mut [f64]>,
    /// The largest weights.
    pub top: Option<TopWeights<'a>>,
    /// `(parts, M)`: what each key receives from the rows of each part is added to it.
    pub received: Option<&'a mut [f64]>,
    /// A map of cells.
    pub map: Option<MapSums<'a>>,
}

/// The `k` largest weights of each row, largest first; ties go to the first key.
pub struct TopWeights<'a> {
    /// How many.
    pub k: usize,
    /// `(rows, k)`; 0 where a row has fewer keys, NaN in a row that is lost to a NaN.
    pub weights: &'a mut [f64],
    /// `(rows, k)`; `None` where there is no such key.
    pub keys: &'a mut [Option<usize>],
}

/// Cells of a pooled map: sums and maxima.
pub struct MapSums<'a> {
    /// `(rows,)`: which row of cells a query row belongs to.
    pub cell_rows: &'a [usize],
    /// Cells to a row. Cell `c` holds the keys from `c·M/cols` to `(c + 1)·M/cols`.
    pub cols: usize,
    /// `(cell rows, cols)`, added to.
    pub sum: &'a mut [f64],
    /// `(cell rows, cols)`, raised.
    pub max: &'a mut [f64],
}

impl Wanted<'_> {
    /// Columns of cells, if a map is wanted, and the keys they share.
    pub(super) fn cells(&self, keys: usize) -> Option<[usize; 2]> {
        self.map.as_ref().map(|map| [map.cols, keys])
    }
}

/// The weights of one panel.
pub(super) struct Panel<'a, 'b, T: Storage> {
    pub(super) block: &'a Block<'b, T>,
    /// The panel's first row.
    pub(super) row: usize,
    /// `(slots, …, LANES)`.
    pub(super) scores: &'a mut [T::Real],
    /// How far apart two tiles are.
    pub(super) slot: usize,
    pub(super) pools: &'a Pools<'a, T::Real>,
    /// `(LANES,)`.
    pub(super) inverse: &'a [T::Real],
    /// `(LANES,)`: `Σ a`, `a` before the division.
    pub(super) sum: &'a [T::Real],
    /// `(LANES,)`: `Σ a·log₂ a`, `a` before the division.
    pub(super) moment: &'a [T::Real],
    /// `(rows,)`, of the whole block.
    pub(super) sink_share: &'a [f64],
}

impl<T: Storage> Panel<'_, '_, T> {
    #[inline(always)]
    pub(super) fn take<S: Float<T::Real>>(mut self, isa: S, wanted: &mut Wanted<'_>) {
        if let Some(entropy) = &mut wanted.entropy {
            self.entropy(entropy);
        }
        if let Some(error) = &mut wanted.row_sum_error {
            self.row_sum_error(isa, error);
        }
        if let Some(top) = &mut wanted.top {
            self.top(isa, top);
        }
        if let Some(map) = &mut wanted.map {
            self.map(isa, map);
        }
        if let Some(received) = &mut wanted.received {
            // Last, for it clears the rows that are lost.
            self.clear_lost(S::LANES, received);
        }
    }

    /// The rows of the block that the panel holds.
    pub(super) fn rows(&self) -> Range<usize> {
        self.row..(self.row + self.inverse.len()).min(self.block.spans.len())
    }

    /// `ln(a·inverse) = ln 2·(log₂ a + log₂ inverse)`; a row without keys has no entropy.
    fn entropy(&self, entropy: &mut [f64]) {
        for (lane, row) in self.rows().enumerate() {
            let inverse = self.inverse[lane].to_f64();
            let bits = (self.moment[lane].to_f64() + self.sum[lane].to_f64() * inverse.log2()) * inverse;
            entropy[row] = if inverse == 0.0 { 0.0 } else { -bits * LN_2 };
        }
    }

    /// The sum is formed again with its rounding errors carried along.
    #[inline(always)]
    fn row_sum_error<S: Float<T::Real>>(&self, isa: S, error: &mut [f64]) {
        let zero = isa.splat(T::Real::ZERO);
        // Two sums, so that neither waits for the other.
        let (mut sums, mut carried) = ([zero; 2], [zero; 2]);
        for (slot, tile) in self.block.tiles.iter().enumerate() {
            let weights = &self.scores[slot * self.slot..][..(tile.end - tile.start) * S::LANES];
            let mut pairs = weights.chunks_exact(2 * S::LANES);
            for a in &mut pairs {
                for i in 0..2 {
                    (sums[i], carried[i]) = two_sum(isa, sums[i], carried[i], &a[i * S::LANES..]);
                }
            }
            if let [_, ..] = pairs.remainder() {
                (sums[0], carried[0]) = two_sum(isa, sums[0], carried[0], pairs.remainder());
            }
        }
        let mut line = [[T::Real::ZERO; MOST_LANES]; 4];
        for (v, line) in [sums[0], sums[1], carried[0], carried[1]].into_iter().zip(&mut line) {
            isa.store(v, line);
        }
        for (lane, row) in self.rows().enumerate() {
            let total: f64 = line.iter().map(|line| line[lane].to_f64()).sum();
            error[row] = (total * self.inverse[lane].to_f64() + self.sink_share[row] - 1.0).abs();
        }
    }

    #[inline(always)]
    fn map<S: Float<T::Real>>(&self, isa: S, map: &mut MapSums<'_>) {
        let rows = self.rows();
        // Rows of one row of cells that are not lost go together; lanes without a row of their own add nothing.
        let cell_row = map.cell_rows[rows.start];
        let alike = rows.clone().all(|row| map.cell_rows[row] == cell_row)
            && self.inverse.iter().all(|inverse| !inverse.to_f64().is_nan());
        let mut line = [T::Real::ZERO; MOST_LANES];
        line[..rows.len()].copy_from_slice(&self.inverse[..rows.len()]);
        let factors = isa.load(&line);
        let (pools, zero) = (self.pools.runs, isa.splat(T::Real::ZERO));
        let mut first = 0;
        while first < pools.len() {
            let cell = pools[first].cell;
            let (mut sum, mut max) = (zero, zero);
            while first < pools.len() && pools[first].cell == cell {
                sum = isa.add(sum, isa.load(&self.pools.sums[first * S::LANES..]));
                max = isa.max(max, isa.load(&self.pools.maxima[first * S::LANES..]));
                first += 1;
            }
            if !alike {
                self.add_to_cells(isa, map, cell, [sum, max]);
                continue;
            }
            let to = cell_row * map.cols + cell;
            map.sum[to] += isa.sum(isa.mul(sum, factors)).to_f64();
            let max = isa.mul(max, factors);
            // Most cells are no larger than what has been seen: no need to look at each lane.
            if isa.any_greater(max, isa.splat(T::Real::from_f64(map.max[to]))) {
                map.max[to] = largest_lane(isa, max).max(map.max[to]);
            }
        }
    }

    /// The sums and maxima of one cell, row by row.
    fn add_to_cells<S: Float<T::Real>>(
        &self,
        isa: S,
        map: &mut MapSums<'_>,
        cell: usize,
        [sum, max]: [S::Vector; 2],
    ) {
        let mut lines = [[T::Real::ZERO; MOST_LANES]; 2];
        isa.store(sum, &mut lines[0]);
        isa.store(max, &mut lines[1]);
        for (lane, row) in self.rows().enumerate() {
            let (sum, max) = (lines[0][lane].to_f64(), lines[1][lane].to_f64());
            if sum != 0.0 {
                let inverse = self.inverse[lane].to_f64();
                let to = map.cell_rows[row] * map.cols + cell;
                map.sum[to] += sum * inverse;
                let weight = if sum.is_nan() { sum } else { max * inverse };
                if weight.is_nan() || weight > map.max[to] {
                    map.max[to] = weight;
                }
            }
        }
    }

    /// Rows with an inverse of NaN give NaN to the keys they see, and their weights are set to 0, so that they disturb no other.
    /// What the row's output is multiplied by stays NaN.
    fn clear_lost(&mut self, lanes: usize, received: &mut [f64]) {
        let keys = self.block.keys.rows();
        // Lanes behind the last row repeat it, and are lost with it.
        for lane in 0..self.inverse.len() {
            if !self.inverse[lane].to_f64().is_nan() {
                continue;
            }
            let row = self.row + lane;
            let part = self.block.parts.iter().rposition(|part| part.row <= row).unwrap_or(0);
            for (slot, tile) in self.block.tiles.iter().enumerate() {
                for key in tile.start..tile.end {
                    let a = &mut self.scores[slot * self.slot + (key - tile.start) * lanes + lane];
                    if *a != T::Real::ZERO {
                        received[part * keys + key] = f64::NAN;
                    }
                    *a = T::Real::ZERO;
                }
            }
        }
    }
}

/// The largest number of a vector without NaN.
#[inline(always)]
fn largest_lane<A: Real, S: Float<A>>(isa: S, v: S::Vector) -> f64 {
    let mut line = [A::ZERO; MOST_LANES];
    isa.store(v, &mut line);
    let mut half = S::LANES / 2;
    while half > 0 {
        for i in 0..half {
            line[i] = if line[i + half] > line[i] { line[i + half] } else { line[i] };
        }
        half /= 2;
    }
    line[0].to_f64()
}

/// `a` added to `sum`, and what rounding took from it to `carried`.
#[inline(always)]
fn two_sum<A: Real, S: Float<A>>(
    isa: S,
    sum: S::Vector,
    carried: S::Vector,
    a: &[A],
) -> (S::Vector, S::Vector) {
    let a = isa.load(a);
    let next = isa.add(sum, a);
    let part = isa.sub(next, sum);
    let lost = isa.add(isa.sub(sum, isa.sub(next, part)), isa.sub(a, part));
    (next, isa.add(carried, lost))
}

/// What each key receives from the rows of each part.
pub(super) struct Received<'a, A> {
    /// `(parts, M)`.
    mass: &'a mut [f64],
    keys: usize,
    /// `(parts, panels·LANES)`: the rows' inverses, 0 outside the part and in lost rows.
    factors: Vec<A>,
    /// For each part the rows it holds.
    rows: Vec<Range<usize>>,
}

impl<'a, A: Real> Received<'a, A> {
    /// Nothing yet, with the inverses of all rows; `None` where it is not wanted.
    pub(super) fn new<T: Storage<Real = A>>(
        block: &Block<'_, T>,
        inverse: &[A],
        wanted: &'a mut Wanted<'_>,
    ) -> Option<Self> {
        let mass = wanted.received.as_deref_mut()?;
        let rows: Vec<_> = block.parts.iter().map(|part| part.row..part.row + part.count).collect();
        let mut factors = vec![A::ZERO; rows.len() * inverse.len()];
        for (rows, factors) in rows.iter().zip(factors.chunks_exact_mut(inverse.len())) {
            for row in rows.clone().filter(|&row| !inverse[row].to_f64().is_nan()) {
                factors[row] = inverse[row];
            }
        }
        Some(Received { mass, keys: block.keys.rows(), factors, rows })
    }

    /// The weights of one tile times the inverses, LANES keys at a time, transposed. `weights` begins at the tile's slot in the first
    /// panel; panels are `stride` apart.
    #[inline(always)]
    pub(super) fn add<S: Float<A>>(&mut self, isa: S, tile: Tile, weights: &[A], stride: usize) {
        let lanes = S::LANES;
        let mut line = [A::ZERO; MOST_LANES];
        let padded = self.factors.len() / self.rows.len();
        for (part, rows) in self.rows.iter().enumerate() {
            let factors = &self.factors[part * padded..][..padded];
            for first in (0..tile.end - tile.start).step_by(lanes) {
                let mut square = isa.square(isa.splat(A::ZERO));
                for panel in rows.start / lanes..rows.end.div_ceil(lanes) {
                    let factor = isa.load(&factors[panel * lanes..]);
                    // Behind the tile's last key lies something; what comes of it is left in its lanes.
                    let weights = &weights[panel * stride + first * lanes..][..lanes * lanes];
                    for key in 0..lanes {
                        let a = isa.load(&weights[key * lanes..]);
                        square.as_mut()[key] = isa.mul_add(a, factor, square.as_ref()[key]);
                    }
                }
                let square = isa.transpose(square);
                let mut sums = isa.splat(A::ZERO);
                for &row in square.as_ref() {
                    sums = isa.add(sums, row);
                }
                isa.store(sums, &mut line);
                let count = lanes.min(tile.end - tile.start - first);
                let to = &mut self.mass[part * self.keys + tile.start + first..][..count];
                for i in 0..count {
                    to[i] += line[i].to_f64();
                }
            }
        }
    }
}
