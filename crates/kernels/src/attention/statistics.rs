//! What is asked about the weights of a block, while they lie in scratch memory.
//!
//! `a[panel][key][lane]` are the weights before the division, `inverse[row]` what they are multiplied by. Each statistic is
//! one sweep. A row lost to a NaN has an inverse of NaN; what is hidden in it (`a = 0`) stays 0.

use super::TILE_KEYS;
use super::part::Block;
use super::storage::Storage;
use crate::Element;
use crate::simd::{Float, Real};
use std::f64::consts::LN_2;

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

pub(super) struct Weights<'a, 'b, T: Storage> {
    pub(super) block: &'a Block<'b, T>,
    /// `(panels, slots, …, LANES)`.
    pub(super) scores: &'a mut [T::Real],
    pub(super) stride: usize,
    pub(super) slot: usize,
    /// `(panels·LANES,)`.
    pub(super) inverse: &'a mut [T::Real],
    /// `(panels·LANES,)`: `Σ a`, `a` before the division.
    pub(super) sum: &'a [T::Real],
    /// `(panels·LANES,)`: `Σ a·log₂ a`, `a` before the division.
    pub(super) moment: &'a [T::Real],
    /// `(rows,)`.
    pub(super) sink_share: &'a [f64],
}

impl<T: Storage> Weights<'_, '_, T> {
    #[inline(always)]
    pub(super) fn sweep<S: Float<T::Real>>(mut self, isa: S, wanted: Wanted<'_>) {
        if let Some(entropy) = wanted.entropy {
            self.entropy(entropy);
        }
        if let Some(error) = wanted.row_sum_error {
            self.row_sum_error(isa, error);
        }
        if let Some(mut top) = wanted.top {
            self.top(isa, &mut top);
        }
        if let Some(mut map) = wanted.map {
            self.map(isa, &mut map);
        }
        if let Some(received) = wanted.received {
            // Last, for it clears the rows that are lost.
            self.clear_lost(S::LANES, received);
            self.received(isa, received);
        }
    }

    /// The weights of all keys of one panel, tile by tile.
    #[inline(always)]
    fn panel(&self, lanes: usize, panel: usize) -> impl Iterator<Item = (usize, &[T::Real])> {
        self.block.tiles.iter().enumerate().map(move |(slot, tile)| {
            let first = panel * self.stride + slot * self.slot;
            (tile.start, &self.scores[first..][..(tile.end - tile.start) * lanes])
        })
    }

    /// `ln(a·inverse) = ln 2·(log₂ a + log₂ inverse)`; a row without keys has no entropy.
    fn entropy(&self, entropy: &mut [f64]) {
        for (row, entropy) in entropy.iter_mut().enumerate() {
            let inverse = self.inverse[row].to_f64();
            let bits = (self.moment[row].to_f64() + self.sum[row].to_f64() * inverse.log2()) * inverse;
            *entropy = if inverse == 0.0 { 0.0 } else { -bits * LN_2 };
        }
    }

    /// The sum is formed again with its rounding errors carried along.
    #[inline(always)]
    fn row_sum_error<S: Float<T::Real>>(&self, isa: S, error: &mut [f64]) {
        let rows = self.block.spans.len();
        let mut line = vec![T::Real::ZERO; 2 * S::LANES];
        for first in (0..rows).step_by(S::LANES) {
            let (mut sum, mut carried) = (isa.splat(T::Real::ZERO), isa.splat(T::Real::ZERO));
            for (_, weights) in self.panel(S::LANES, first / S::LANES) {
                for a in weights.chunks_exact(S::LANES) {
                    let a = isa.load(a);
                    let next = isa.add(sum, a);
                    let part = isa.sub(next, sum);
                    let lost = isa.add(isa.sub(sum, isa.sub(next, part)), isa.sub(a, part));
                    carried = isa.add(carried, lost);
                    sum = next;
                }
            }
            isa.store(sum, &mut line[..S::LANES]);
            isa.store(carried, &mut line[S::LANES..]);
            for row in first..(first + S::LANES).min(rows) {
                let total = line[row - first].to_f64() + line[S::LANES + row - first].to_f64();
                error[row] = (total * self.inverse[row].to_f64() + self.sink_share[row] - 1.0).abs();
            }
        }
    }

    /// Keeps a sorted list for each lane, and looks closer only where some lane beats the last of its list.
    #[inline(always)]
    fn top<S: Float<T::Real>>(&self, isa: S, top: &mut TopWeights<'_>) {
        let (rows, lanes, k) = (self.block.spans.len(), S::LANES, top.k);
        let mut line = vec![T::Real::ZERO; 2 * lanes];
        let mut found = vec![(T::Real::ZERO, None); lanes * k];
        for first in (0..rows).step_by(lanes) {
            found.fill((T::Real::ZERO, None));
            line.fill(T::Real::ZERO);
            let mut last = isa.splat(T::Real::ZERO);
            for (start, weights) in self.panel(lanes, first / lanes) {
                for i in 0..weights.len() / lanes {
                    let (key, a) = (start + i, isa.load(&weights[i * lanes..]));
                    if !isa.any_greater(a, last) {
                        continue;
                    }
                    let (line, lasts) = line.split_at_mut(lanes);
                    isa.store(a, line);
                    for lane in 0..lanes {
                        if line[lane] > lasts[lane] {
                            let list = &mut found[lane * k..][..k];
                            insert(list, line[lane], key);
                            lasts[lane] = list[k - 1].0;
                        }
                    }
                    last = isa.load(lasts);
                }
            }
            for row in first..(first + lanes).min(rows) {
                let inverse = self.inverse[row].to_f64();
                for i in 0..k {
                    let (weight, key) = found[(row - first) * k + i];
                    top.weights[row * k + i] = weight.to_f64() * inverse;
                    top.keys[row * k + i] = if inverse.is_nan() { None } else { key };
                }
            }
        }
    }

    #[inline(always)]
    fn map<S: Float<T::Real>>(&self, isa: S, map: &mut MapSums<'_>) {
        let (rows, lanes, keys) = (self.block.spans.len(), S::LANES, self.block.keys.rows());
        let mut line = vec![T::Real::ZERO; 2 * lanes];
        for first in (0..rows).step_by(lanes) {
            let own = first..(first + lanes).min(rows);
            // Rows of one row of cells that are not lost go together; lanes without a row of their own add nothing.
            let cell_row = map.cell_rows[first];
            let alike =
                own.clone().all(|row| map.cell_rows[row] == cell_row && !self.inverse[row].to_f64().is_nan());
            let together = alike.then_some(cell_row);
            line.fill(T::Real::ZERO);
            line[..own.len()].copy_from_slice(&self.inverse[own]);
            let factors = isa.load(&line);
            for (start, weights) in self.panel(lanes, first / lanes) {
                let end = start + weights.len() / lanes;
                let mut key = start;
                while key < end {
                    // The cell that holds the key: the largest c with c·M/cols ≤ key, rounded down.
                    let cell = ((key + 1) * map.cols - 1) / keys;
                    let until = ((cell + 1) * keys / map.cols).clamp(key + 1, end);
                    let (mut sum, mut max) = (isa.splat(T::Real::ZERO), isa.splat(T::Real::ZERO));
                    for a in weights[(key - start) * lanes..(until - start) * lanes].chunks_exact(lanes) {
                        let a = isa.load(a);
                        sum = isa.add(sum, a);
                        max = isa.max(max, a);
                    }
                    key = until;
                    if let Some(cell_row) = together {
                        let to = cell_row * map.cols + cell;
                        map.sum[to] += isa.sum(isa.mul(sum, factors)).to_f64();
                        max = isa.mul(max, factors);
                        // Most cells are no larger than what has been seen: no need to look at each lane.
                        if !isa.any_greater(max, isa.splat(T::Real::from_f64(map.max[to]))) {
                            continue;
                        }
                        isa.store(max, &mut line[..lanes]);
                        map.max[to] = line[..lanes].iter().fold(map.max[to], |max, x| x.to_f64().max(max));
                        continue;
                    }
                    isa.store(sum, &mut line[..lanes]);
                    isa.store(max, &mut line[lanes..]);
                    for row in first..(first + lanes).min(rows) {
                        let (sum, max) = (line[row - first].to_f64(), line[lanes + row - first].to_f64());
                        if sum != 0.0 {
                            let inverse = self.inverse[row].to_f64();
                            let to = map.cell_rows[row] * map.cols + cell;
                            map.sum[to] += sum * inverse;
                            let weight = if sum.is_nan() { sum } else { max * inverse };
                            if weight.is_nan() || weight > map.max[to] {
                                map.max[to] = weight;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Rows with an inverse of NaN give NaN to the keys they see, and are set to 0, so that they disturb no other.
    fn clear_lost(&mut self, lanes: usize, received: &mut [f64]) {
        let keys = self.block.keys.rows();
        for row in 0..self.inverse.len() {
            if !self.inverse[row].to_f64().is_nan() {
                continue;
            }
            let part = self.part_of(row);
            for (slot, tile) in self.block.tiles.iter().enumerate() {
                let first = row / lanes * self.stride + slot * self.slot + row % lanes;
                for key in tile.start..tile.end {
                    let a = &mut self.scores[first + (key - tile.start) * lanes];
                    if *a != T::Real::ZERO {
                        received[part * keys + key] = f64::NAN;
                    }
                    *a = T::Real::ZERO;
                }
            }
            self.inverse[row] = T::Real::ZERO;
        }
    }

    fn part_of(&self, row: usize) -> usize {
        let row = row.min(self.block.spans.len() - 1);
        self.block.parts.iter().rposition(|part| part.row <= row).unwrap_or(0)
    }

    /// Each key's weights over the rows of each part: products with the inverses, LANES keys at a time, transposed.
    #[inline(always)]
    fn received<S: Float<T::Real>>(&self, isa: S, received: &mut [f64]) {
        let (lanes, keys) = (S::LANES, self.block.keys.rows());
        let panels = self.inverse.len() / lanes;
        let mut factors = vec![T::Real::ZERO; self.inverse.len()];
        let mut line = vec![T::Real::ZERO; lanes];
        for (p, part) in self.block.parts.iter().enumerate() {
            factors.fill(T::Real::ZERO);
            let rows = part.row..part.row + part.count;
            factors[rows.clone()].copy_from_slice(&self.inverse[rows.clone()]);
            let touched = rows.start / lanes..rows.end.div_ceil(lanes).min(panels);
            for (slot, tile) in self.block.tiles.iter().enumerate() {
                for first in (0..TILE_KEYS.min(tile.end - tile.start)).step_by(lanes) {
                    let count = lanes.min(tile.end - tile.start - first);
                    let mut square = isa.square(isa.splat(T::Real::ZERO));
                    for panel in touched.clone() {
                        let factor = isa.load(&factors[panel * lanes..]);
                        let at = panel * self.stride + slot * self.slot + first * lanes;
                        let weights = &self.scores[at..][..count * lanes];
                        for key in 0..count {
                            let a = isa.load(&weights[key * lanes..]);
                            square.as_mut()[key] = isa.mul_add(a, factor, square.as_ref()[key]);
                        }
                    }
                    let square = isa.transpose(square);
                    let mut sums = isa.splat(T::Real::ZERO);
                    for &row in square.as_ref() {
                        sums = isa.add(sums, row);
                    }
                    isa.store(sums, &mut line);
                    let to = &mut received[p * keys + tile.start + first..][..count];
                    for (to, x) in to.iter_mut().zip(&line) {
                        *to += x.to_f64();
                    }
                }
            }
        }
    }
}

/// Puts `weight` behind those of `list` that are at least as large; the last one drops out.
#[inline(always)]
fn insert<A: Real>(list: &mut [(A, Option<usize>)], weight: A, key: usize) {
    let mut at = list.len() - 1;
    while at > 0 && list[at - 1].0 < weight {
        list[at] = list[at - 1];
        at -= 1;
    }
    list[at] = (weight, Some(key));
}
