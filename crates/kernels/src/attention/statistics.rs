//! What is asked about the weights of a block, from what was noted tile by tile (notes.rs).
//!
//! ```text
//! entropy          from Σ a·log₂ a
//! row sums         from the sum without rounding
//! largest weights  from the candidates                                           largest.rs, top.rs
//! map              pools' sums times the factors of their tiles, pools' largest scores
//! received         Σ over rows of the kept weights times the factors of their tiles
//! ```
//!
//! `inverse[row]` is what `2^(s − last)` is multiplied by to become a weight, `last` being the row's last maximum; weights of a
//! tile were formed with the maximum so far, and have factors of their own. A row lost to a NaN has an inverse of NaN; what is
//! hidden in it (`a = 0`) stays 0.

use super::TILE_KEYS;
use super::exp::exp2;
use super::notes::{Notes, Peaks};
use super::part::Block;
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
    /// `(rows, k)`.
    pub peaks: &'a mut [Peak],
}

/// A weight and its key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The weight: 0 where a row has fewer keys, NaN in a row that is lost to a NaN.
    pub weight: f64,
    /// The first key that has it; `None` in a row without keys and in one lost to a NaN.
    pub key: Option<usize>,
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

/// A block whose rows have seen all their keys.
pub(super) struct Settled<'a, 'b, 'n, T: Storage> {
    pub(super) block: &'a Block<'b, T>,
    pub(super) notes: &'a mut Notes<'n, T::Real>,
    /// `(panels, slots, SLOT_KEYS, LANES)`: the weights, where they are kept.
    pub(super) weights: &'a mut [T::Real],
    /// How far apart two panels, and two tiles of one, are.
    pub(super) stride: usize,
    pub(super) slot: usize,
    /// `(panels·LANES,)`: 0 behind the last row.
    pub(super) inverse: &'a [T::Real],
    /// `(panels·LANES,)`: the last maxima; 0 where nothing is seen.
    pub(super) last: &'a [T::Real],
    /// `(panels·LANES,)`: `Σ a`, `a` before the division.
    pub(super) sum: &'a [T::Real],
    /// `(rows,)`.
    pub(super) sink_share: &'a [f64],
}

impl<T: Storage> Settled<'_, '_, '_, T> {
    #[inline(always)]
    pub(super) fn take<S: Float<T::Real>>(mut self, isa: S, wanted: &mut Wanted<'_>) {
        self.notes.settle(isa, self.last, self.inverse);
        if let Some(entropy) = &mut wanted.entropy {
            self.entropy(entropy);
        }
        if let Some(error) = &mut wanted.row_sum_error {
            self.row_sum_error(error);
        }
        if let Some(top) = &mut wanted.top {
            self.top(isa, top);
        }
        if let Some(map) = &mut wanted.map {
            self.map(isa, map);
        }
        if let Some(received) = &mut wanted.received {
            self.clear_lost(S::LANES, received);
            self.received(isa, received);
        }
    }

    #[inline(always)]
    fn top<S: Float<T::Real>>(&mut self, isa: S, top: &mut TopWeights<'_>) {
        let rows = self.sink_share.len();
        for row in (0..rows).step_by(S::LANES) {
            let (count, of) = (S::LANES.min(rows - row), [&self.last[row..], &self.inverse[row..]]);
            match &mut self.notes.peaks {
                Peaks::None => {}
                Peaks::Few(largest) => largest.take(isa, row, count, of, top),
                Peaks::Many(candidates) => candidates.take(isa, row, count, of, top),
            }
        }
    }

    /// `ln(a·inverse) = ln 2·(log₂ a + log₂ inverse)`; a row without keys has no entropy.
    fn entropy(&self, entropy: &mut [f64]) {
        for (row, entropy) in entropy.iter_mut().enumerate() {
            let inverse = self.inverse[row].to_f64();
            let moment = self.notes.moment[row].to_f64();
            let bits = (moment + self.sum[row].to_f64() * inverse.log2()) * inverse;
            *entropy = if inverse == 0.0 { 0.0 } else { -bits * LN_2 };
        }
    }

    fn row_sum_error(&self, error: &mut [f64]) {
        for (row, error) in error.iter_mut().enumerate() {
            let total = self.notes.exact[row] * self.inverse[row].to_f64();
            *error = (total + self.sink_share[row] - 1.0).abs();
        }
    }

    #[inline(always)]
    fn map<S: Float<T::Real>>(&self, isa: S, map: &mut MapSums<'_>) {
        let panels = self.inverse.len() / S::LANES;
        let logarithms: Vec<T::Real> =
            self.inverse.iter().map(|inverse| T::Real::from_f64(inverse.to_f64().log2())).collect();
        let mut panel = 0;
        while panel < panels {
            if self.is_lost(S::LANES, panel) {
                self.add_rows(isa, panel, &logarithms, map);
                panel += 1;
                continue;
            }
            let (first, rows) = (panel, self.cell_rows(S::LANES, panel, map));
            panel += 1;
            // Rows are in order, and so are their rows of cells.
            let one = |rows: &[usize; MOST_LANES]| rows[0] == rows[S::LANES - 1];
            while panel < panels && one(&rows) && !self.is_lost(S::LANES, panel) {
                if self.cell_rows(S::LANES, panel, map) != rows {
                    break;
                }
                panel += 1;
            }
            self.add_panels(isa, first..panel, &rows, &logarithms, map);
        }
    }

    /// Whether a row of a panel is lost.
    fn is_lost(&self, lanes: usize, panel: usize) -> bool {
        let rows = panel * lanes..((panel + 1) * lanes).min(self.sink_share.len());
        self.inverse[rows].iter().any(|inverse| inverse.to_f64().is_nan())
    }

    /// The row of cells that each lane of a panel belongs to; lanes behind the last row, which add nothing, are taken for it.
    fn cell_rows(&self, lanes: usize, panel: usize, map: &MapSums<'_>) -> [usize; MOST_LANES] {
        let last = self.sink_share.len() - 1;
        let mut rows = [map.cell_rows[((panel + 1) * lanes - 1).min(last)]; MOST_LANES];
        for lane in 0..lanes {
            rows[lane] = map.cell_rows[(panel * lanes + lane).min(last)];
        }
        rows
    }

    /// Over the pools from `at` on that belong to one cell, for each lane of a panel: the sum, the logarithm of the largest weight, and
    /// the sum before the factors. `at` is then behind them.
    #[inline(always)]
    fn cell<S: Float<T::Real>>(
        &self,
        isa: S,
        panel: usize,
        at: &mut usize,
        logarithms: &[T::Real],
    ) -> [S::Vector; 3] {
        let (lanes, pools) = (S::LANES, &self.notes.pools.all[..]);
        let zero = isa.splat(T::Real::ZERO);
        let (mut sum, mut plain, mut max) = (zero, zero, isa.splat(T::Real::NEG_INFINITY));
        let (cell, rows) = (pools[*at].cell, panel * lanes..(panel + 1) * lanes);
        while *at < pools.len() && pools[*at].cell == cell {
            let from = (panel * pools.len() + *at) * lanes;
            let one = isa.load(&self.notes.sums[from..]);
            let factor = isa.load(&self.notes.bases[pools[*at].slot * self.inverse.len() + rows.start..]);
            sum = isa.mul_add(one, factor, sum);
            plain = isa.add(plain, one);
            max = isa.max(max, isa.load(&self.notes.maxima[from..]));
            *at += 1;
        }
        // Two steps: the difference of two scores is as good as exact, however large both are.
        let max = isa.add(isa.sub(max, isa.load(&self.last[rows.clone()])), isa.load(&logarithms[rows]));
        [sum, max, plain]
    }

    /// Panels of one row of cells, or one panel of several, up to LANES cells that follow each other at a time, transposed. `rows` are the
    /// rows of cells of the lanes.
    #[inline(always)]
    fn add_panels<S: Float<T::Real>>(
        &self,
        isa: S,
        panels: Range<usize>,
        rows: &[usize; MOST_LANES],
        logarithms: &[T::Real],
        map: &mut MapSums<'_>,
    ) {
        let (lanes, pools) = (S::LANES, &self.notes.pools.all[..]);
        let (zero, nothing) = (isa.splat(T::Real::ZERO), isa.splat(T::Real::NEG_INFINITY));
        let mut first = 0;
        while first < pools.len() {
            let (mut sums, mut maxima) = (isa.square(zero), isa.square(nothing));
            let (cell, mut count, mut next) = (pools[first].cell, 0, first);
            for panel in panels.clone() {
                (count, next) = (0, first);
                while count < lanes && next < pools.len() && pools[next].cell == cell + count {
                    let [sum, max, _] = self.cell(isa, panel, &mut next, logarithms);
                    sums.as_mut()[count] = isa.add(sums.as_ref()[count], sum);
                    maxima.as_mut()[count] = isa.max(maxima.as_ref()[count], max);
                    count += 1;
                }
            }
            first = next;
            let (sums, maxima) = (isa.transpose(sums), isa.transpose(maxima));
            let mut lane = 0;
            while lane < lanes {
                let row = rows[lane];
                let (mut sum, mut max) = (zero, nothing);
                while lane < lanes && rows[lane] == row {
                    sum = isa.add(sum, sums.as_ref()[lane]);
                    max = isa.max(max, maxima.as_ref()[lane]);
                    lane += 1;
                }
                let mut lines = [[T::Real::ZERO; MOST_LANES]; 2];
                isa.store(sum, &mut lines[0]);
                isa.store(exp2(isa, max), &mut lines[1]);
                let to = row * map.cols + cell..row * map.cols + cell + count;
                for (to, x) in map.sum[to.clone()].iter_mut().zip(&lines[0]) {
                    *to += x.to_f64();
                }
                for (to, x) in map.max[to].iter_mut().zip(&lines[1]) {
                    *to = if x.to_f64() > *to { x.to_f64() } else { *to };
                }
            }
        }
    }

    /// A panel in which a row is lost: row by row.
    #[inline(always)]
    fn add_rows<S: Float<T::Real>>(
        &self,
        isa: S,
        panel: usize,
        logarithms: &[T::Real],
        map: &mut MapSums<'_>,
    ) {
        let pools = &self.notes.pools.all[..];
        let rows = panel * S::LANES..((panel + 1) * S::LANES).min(self.sink_share.len());
        let mut at = 0;
        while at < pools.len() {
            let cell = pools[at].cell;
            let [sum, max, plain] = self.cell(isa, panel, &mut at, logarithms);
            let found = [sum, exp2(isa, max), plain];
            let mut lines = [[T::Real::ZERO; MOST_LANES]; 3];
            for i in 0..3 {
                isa.store(found[i], &mut lines[i]);
            }
            for (lane, row) in rows.clone().enumerate() {
                let [sum, max, plain] = [0, 1, 2].map(|i| lines[i][lane].to_f64());
                // What a lost row does not see stays 0.
                if plain != 0.0 {
                    let to = map.cell_rows[row] * map.cols + cell;
                    map.sum[to] += sum;
                    let weight = if sum.is_nan() { sum } else { max };
                    if weight.is_nan() || weight > map.max[to] {
                        map.max[to] = weight;
                    }
                }
            }
        }
    }

    /// Rows with an inverse of NaN give NaN to the keys they see, and their weights are set to 0, so that they disturb no other.
    fn clear_lost(&mut self, lanes: usize, received: &mut [f64]) {
        let (keys, rows) = (self.block.keys.rows(), self.sink_share.len());
        // Lanes behind the last row repeat it, and are lost with it.
        for at in 0..self.inverse.len() {
            let row = at.min(rows - 1);
            if !self.inverse[row].to_f64().is_nan() {
                continue;
            }
            let part = self.block.parts.iter().rposition(|part| part.row <= row).unwrap_or(0);
            for (slot, tile) in self.block.tiles.iter().enumerate() {
                let first = at / lanes * self.stride + slot * self.slot + at % lanes;
                for key in tile.start..tile.end {
                    let a = &mut self.weights[first + (key - tile.start) * lanes];
                    if *a != T::Real::ZERO {
                        received[part * keys + key] = f64::NAN;
                    }
                    *a = T::Real::ZERO;
                }
            }
        }
    }

    /// What each key receives from the rows of each part: weights times factors, a few panels at a time, so that memory is read from front
    /// to back; then LANES keys at a time, transposed.
    #[inline(always)]
    fn received<S: Float<T::Real>>(&self, isa: S, mass: &mut [f64]) {
        let (lanes, zero) = (S::LANES, isa.splat(T::Real::ZERO));
        let (padded, keys) = (self.inverse.len(), self.block.keys.rows());
        let mut factors = vec![T::Real::ZERO; padded];
        // (TILE_KEYS, LANES)
        let mut sums = vec![T::Real::ZERO; TILE_KEYS * lanes];
        let mut line = [T::Real::ZERO; MOST_LANES];
        // From the last to the first: the weights of the last tiles are still in a cache, and those of the first will be, when the next
        // block begins to write there.
        for (slot, tile) in self.block.tiles.iter().enumerate().rev() {
            for (i, part) in self.block.parts.iter().enumerate() {
                let rows = part.row..part.row + part.count;
                factors.fill(T::Real::ZERO);
                for row in rows.clone() {
                    let factor = self.notes.bases[slot * padded + row];
                    factors[row] = if factor.to_f64().is_nan() { T::Real::ZERO } else { factor };
                }
                let count = tile.end - tile.start;
                let sums = &mut sums[..count.next_multiple_of(lanes) * lanes];
                sums.fill(T::Real::ZERO);
                let (mut panel, last) = (rows.start / lanes, rows.end.div_ceil(lanes));
                while panel < last {
                    let from = &self.weights[panel * self.stride + slot * self.slot..];
                    let own = &factors[panel * lanes..];
                    panel += if last - panel >= 8 {
                        add_weighted::<_, S, 8>(isa, from, self.stride, own, &mut sums[..count * lanes])
                    } else if last - panel >= 4 {
                        add_weighted::<_, S, 4>(isa, from, self.stride, own, &mut sums[..count * lanes])
                    } else {
                        add_weighted::<_, S, 1>(isa, from, self.stride, own, &mut sums[..count * lanes])
                    };
                }
                for first in (0..count).step_by(lanes) {
                    let mut square = isa.square(zero);
                    for key in 0..lanes {
                        square.as_mut()[key] = isa.load(&sums[(first + key) * lanes..]);
                    }
                    let square = isa.transpose(square);
                    let mut total = zero;
                    for i in 0..lanes {
                        total = isa.add(total, square.as_ref()[i]);
                    }
                    isa.store(total, &mut line);
                    let count = lanes.min(count - first);
                    let to = &mut mass[i * keys + tile.start + first..][..count];
                    for i in 0..count {
                        to[i] += line[i].to_f64();
                    }
                }
            }
        }
    }
}

/// Adds to `sums (keys, LANES)` the weights of `P` panels that lie `stride` apart, each times its factors; gives `P`.
#[inline(always)]
fn add_weighted<A: Real, S: Float<A>, const P: usize>(
    isa: S,
    weights: &[A],
    stride: usize,
    factors: &[A],
    sums: &mut [A],
) -> usize {
    let mut own = [isa.splat(A::ZERO); P];
    let mut panels = [&weights[..sums.len()]; P];
    for p in 0..P {
        own[p] = isa.load(&factors[p * S::LANES..]);
        panels[p] = &weights[p * stride..][..sums.len()];
    }
    for at in (0..sums.len()).step_by(S::LANES) {
        let mut sum = isa.load(&sums[at..]);
        for p in 0..P {
            sum = isa.mul_add(isa.load(&panels[p][at..]), own[p], sum);
        }
        isa.store(sum, &mut sums[at..]);
    }
    P
}
