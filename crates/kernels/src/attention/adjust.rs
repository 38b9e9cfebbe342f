//! From products to scores: soft cap, bias, `ALiBi`, masks. One small sweep for each that is asked for, bias and
//! masks in `dense.rs`.
//!
//! All of it happens to one panel of one tile: `s (keys, LANES)`, where the lanes are query rows.

use super::dense::Dense;
use super::exp::tanh;
use super::part::{Block, Tile};
use super::storage::Storage;
use crate::Element;
use crate::simd::{Float, Real};
use std::f64::consts::LOG2_E;
use std::ops::Range;

/// One panel of one tile.
pub(super) struct Adjust<'a, 'b, T: Storage> {
    pub(super) block: &'a Block<'b, T>,
    pub(super) tile: Tile,
    /// The panel's first row.
    pub(super) row: usize,
    /// The tile's keys that some row of the panel sees.
    pub(super) keys: Range<usize>,
    /// The tile's keys that spans leave to all rows of the panel.
    pub(super) common: Range<usize>,
    /// `(TILE_KEYS, LANES)`.
    pub(super) scores: &'a mut [T::Real],
    /// Room for LANES lines of [`super::TILE_KEYS`] numbers.
    pub(super) lines: &'a mut [T::Real],
}

/// Whether [`Adjust`] changes nothing in a tile of which each row sees all: what it asks but for spans.
#[inline(always)]
pub(super) fn keeps_products<T>(block: &Block<'_, T>, tile: &Tile) -> bool {
    block.softcap.is_none() && !tile.dense && block.parts.iter().all(|part| part.alibi.is_none())
}

impl<T: Storage> Adjust<'_, '_, T> {
    /// The largest scores, lane by lane, where they are known.
    #[inline(always)]
    pub(super) fn run<S: Float<T::Real>>(mut self, isa: S) -> Option<S::Vector> {
        if self.keys.is_empty() {
            return None;
        }
        let mut top = None;
        if let Some(cap) = self.block.softcap {
            self.cap(isa, cap);
        }
        if self.tile.dense {
            let keys = self.keys.start * S::LANES..self.keys.end * S::LANES;
            top = Dense {
                block: self.block,
                row: self.row,
                first: self.tile.start + self.keys.start,
                scores: &mut self.scores[keys],
                lines: self.lines,
            }
            .run(isa);
        }
        if self.block.parts.iter().any(|part| part.alibi.is_some()) {
            self.alibi(isa);
            top = None;
        }
        if self.common != self.keys {
            self.spans(isa);
            top = None;
        }
        top
    }

    /// `s` is `scale·q·k/c` and becomes `c·log₂e·tanh(s)`.
    #[inline(always)]
    fn cap<S: Float<T::Real>>(&mut self, isa: S, cap: f64) {
        let factor = isa.splat(T::Real::from_f64(cap * LOG2_E));
        for s in self.scores[self.keys.start * S::LANES..self.keys.end * S::LANES].chunks_exact_mut(S::LANES)
        {
            isa.store(isa.mul(factor, tanh(isa, isa.load(s))), s);
        }
    }

    /// `− slope·|place − key|`, places and keys counted from the tile's start, where they are small.
    #[inline(always)]
    fn alibi<S: Float<T::Real>>(&mut self, isa: S) {
        let (slopes, places) = self.lines.split_at_mut(S::LANES);
        for lane in 0..S::LANES {
            let (part, query) = self.block.query(self.row + lane);
            let (slope, place) = match part.alibi {
                Some(alibi) => (alibi.slope, query as i64 + alibi.offset - self.tile.start as i64),
                None => (0.0, 0),
            };
            slopes[lane] = T::Real::from_f64(slope * LOG2_E);
            places[lane] = T::Real::from_f64(place as f64);
        }
        let (slopes, places) = (isa.load(slopes), isa.load(places));
        for key in self.keys.start..self.keys.end {
            let s = &mut self.scores[key * S::LANES..][..S::LANES];
            let key = isa.splat(T::Real::from_f64(key as f64));
            let distance = isa.max(isa.sub(places, key), isa.sub(key, places));
            isa.store(isa.neg_mul_add(slopes, distance, isa.load(s)), s);
        }
    }

    /// −∞ where a key lies outside a row's span.
    #[inline(always)]
    fn spans<S: Float<T::Real>>(&mut self, isa: S) {
        let (starts, ends) = self.lines.split_at_mut(S::LANES);
        for lane in 0..S::LANES {
            let row = (self.row + lane).min(self.block.spans.len() - 1);
            let span = self.block.spans[row].within(&self.tile);
            starts[lane] = T::Real::from_f64(span.start as f64);
            ends[lane] = T::Real::from_f64(span.end as f64);
        }
        let (starts, ends) = (isa.load(starts), isa.load(ends));
        let hidden = isa.splat(T::Real::NEG_INFINITY);
        let outside = if self.common.is_empty() {
            [self.keys.clone(), 0..0]
        } else {
            [self.keys.start..self.common.start, self.common.end..self.keys.end]
        };
        for keys in outside {
            for key in keys {
                let s = &mut self.scores[key * S::LANES..][..S::LANES];
                let key = isa.splat(T::Real::from_f64(key as f64));
                // Without the 0 the compiler makes it a masked store, for which some processors take twenty steps.
                let score = isa.add(isa.load(s), isa.splat(T::Real::ZERO));
                let before_end = isa.where_greater(ends, key, score, hidden);
                isa.store(isa.where_greater(starts, key, hidden, before_end), s);
            }
        }
    }
}
