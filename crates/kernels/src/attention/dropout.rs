//! Which weights are dropped: a function of the seed and of the place, and of nothing else.
//!
//! ```text
//! row key  (k₀, k₁) = mix64(mix64(mix64(mix64(seed) + batch) + head) + query)   once per row
//! dropped  ⇔ mix32(mix32(key ⊕ k₀) + k₁) < p·2³²                              once per weight
//! ```
//!
//! There is no state, so no order: forward and backward, any tile, any thread and any instruction set find the same weights
//! dropped, and nothing has to be stored. Both mixers are bijections whose outputs pass the usual batteries for a counter;
//! the second key between two rounds keeps the rows from being shifted copies of each other. All of it is arithmetic of
//! 32-bit integers without a branch, which the compiler turns into vectors.

use super::part::Block;
use super::storage::Storage;
use crate::Element;
use crate::simd::{Float, MOST_LANES, Real};

/// Dropout of one head of one batch entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropping {
    /// Stands for seed, batch entry and head.
    stream: u64,
    /// Weights whose number lies below are dropped.
    threshold: u32,
    /// What the others are multiplied by: `1/(1 − p)`.
    pub(super) factor: f64,
}

/// A row's place in the stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RowKey {
    first: u32,
    second: u32,
}

impl Dropping {
    /// With `probability` in `0..1`.
    pub fn new(probability: f64, seed: u64, batch: usize, head: usize) -> Self {
        Dropping {
            stream: mix64(mix64(mix64(seed).wrapping_add(batch as u64)).wrapping_add(head as u64)),
            // Saturates where the probability is within 2⁻³³ of 1.
            threshold: (probability * 2f64.powi(32)).round() as u32,
            factor: 1.0 / (1.0 - probability),
        }
    }

    /// What the weight of `query` and `key` is multiplied by: 0 or `1/(1 − p)`.
    pub fn factor_at(&self, query: usize, key: usize) -> f64 {
        if self.drops(self.row(query), key) { 0.0 } else { self.factor }
    }

    #[inline(always)]
    pub(super) fn row(&self, query: usize) -> RowKey {
        let key = mix64(self.stream.wrapping_add(query as u64));
        RowKey { first: key as u32, second: (key >> 32) as u32 }
    }

    #[inline(always)]
    pub(super) fn drops(&self, row: RowKey, key: usize) -> bool {
        number(row, key as u32) < self.threshold
    }
}

/// What the weights of a panel are multiplied by, before the division by `1 − p`: 0 or 1.
pub(super) struct Panel<A> {
    rows: [RowKey; MOST_LANES],
    threshold: u32,
    line: [A; MOST_LANES],
}

impl<A: Real> Panel<A> {
    /// Of the rows from `first` on; `None` without dropout.
    #[inline(always)]
    pub(super) fn new<T: Storage<Real = A>>(
        block: &Block<'_, T>,
        first: usize,
        lanes: usize,
    ) -> Option<Self> {
        let dropping = block.parts.first()?.dropping?;
        let none = RowKey { first: 0, second: 0 };
        let mut panel =
            Panel { rows: [none; MOST_LANES], threshold: dropping.threshold, line: [A::ZERO; MOST_LANES] };
        for lane in 0..lanes.min(MOST_LANES) {
            let (part, query) = block.query(first + lane);
            // All parts have dropout, or none has.
            panel.rows[lane] = part.dropping.map_or(none, |dropping| dropping.row(query));
        }
        Some(panel)
    }

    /// 0 or 1 for each lane and `key`.
    #[inline(always)]
    pub(super) fn kept<S: Float<A>>(&mut self, isa: S, key: usize) -> S::Vector {
        for lane in 0..S::LANES {
            let kept = number(self.rows[lane], key as u32) >= self.threshold;
            self.line[lane] = if kept { A::ONE } else { A::ZERO };
        }
        isa.load(&self.line)
    }
}

/// What kept weights are multiplied by; 1 without dropout.
#[inline(always)]
pub(super) fn factor<T: Storage>(block: &Block<'_, T>) -> T::Real {
    let dropping = block.parts.first().and_then(|part| part.dropping);
    dropping.map_or(T::Real::ONE, |dropping| T::Real::from_f64(dropping.factor))
}

#[inline(always)]
fn number(row: RowKey, key: u32) -> u32 {
    mix32(mix32(key ^ row.first).wrapping_add(row.second))
}

/// A bijection of 32 bits: every input bit flips every output bit half of the time.
#[inline(always)]
fn mix32(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// A bijection of 64 bits, with an increment in front so that 0 is no fixed point.
#[inline(always)]
fn mix64(x: u64) -> u64 {
    let mut x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of 256 × 256 weights are kept.
    fn kept(dropping: &Dropping) -> usize {
        (0..1 << 16).filter(|at| dropping.factor_at(at / 256, at % 256) > 0.0).count()
    }

    #[test]
    fn as_many_weights_are_dropped_as_were_asked_for() {
        for probability in [0.0, 0.1, 0.5, 0.9] {
            for head in 0..4 {
                let share = kept(&Dropping::new(probability, 7, 1, head)) as f64 / 65536.0;
                // Five standard deviations of a fair draw.
                let allowed = 5.0 * (probability * (1.0 - probability) / 65536.0).sqrt();
                assert!((share - (1.0 - probability)).abs() <= allowed, "{probability} {head}: {share}");
            }
        }
    }

    #[test]
    fn neighbours_in_every_direction_are_dropped_independently() {
        let half = |seed, batch, head| Dropping::new(0.5, seed, batch, head);
        let of = |dropping: Dropping, query, key| dropping.factor_at(query, key) > 0.0;
        let agree = |other: &dyn Fn(usize, usize) -> bool| {
            let own = half(3, 0, 0);
            let same = (0..1 << 16).filter(|at| of(own, at / 256, at % 256) == other(at / 256, at % 256));
            same.count() as f64 / 65536.0
        };
        let shares = [
            agree(&|i, j| of(half(3, 0, 0), i, j + 1)),
            agree(&|i, j| of(half(3, 0, 0), i + 1, j)),
            agree(&|i, j| of(half(3, 0, 0), i + 1, j + 1)),
            agree(&|i, j| of(half(3, 0, 0), j, i)),
            agree(&|i, j| of(half(3, 0, 1), i, j)),
            agree(&|i, j| of(half(3, 1, 0), i, j)),
            agree(&|i, j| of(half(4, 0, 0), i, j)),
        ];
        for (i, share) in shares.iter().enumerate() {
            assert!((share - 0.5).abs() < 0.01, "direction {i}: {share}");
        }
    }
}
