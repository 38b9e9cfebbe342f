//! The `k` largest weights of each row.
//!
//! ```text
//! bound = the k-th largest of the pools' maxima         k vectors, sorted as each pool comes by: no lane is looked at
//! for each pool in which some lane exceeds its bound:
//!     for each such lane and each weight above it:      into the lane's sorted list
//! ```
//!
//! At least `k` weights are no smaller than the bound, so nothing below it is among the largest; and few pools hold anything
//! above it. Ties go to the first key, because pools and keys come in order.

use super::statistics::{Panel, TopWeights};
use super::storage::Storage;
use crate::Element;
use crate::simd::{Float, MOST_LANES, Real};

/// Up to so many largest weights a bound is found first: sorting takes a few instructions for each of them and each pool.
const MOST_SORTED: usize = 32;

impl<T: Storage> Panel<'_, '_, T> {
    #[inline(always)]
    pub(super) fn top<S: Float<T::Real>>(&self, isa: S, top: &mut TopWeights<'_>) {
        let (lanes, k) = (S::LANES, top.k);
        let mut below = [T::Real::ZERO; MOST_LANES];
        isa.store(self.bound(isa, k), &mut below);
        let mut found = vec![(T::Real::ZERO, None); lanes * k];
        let mut line = [T::Real::ZERO; MOST_LANES];
        for (i, pool) in self.pools.runs.iter().enumerate() {
            let max = isa.load(&self.pools.maxima[i * lanes..]);
            if !isa.any_greater(max, isa.load(&below)) {
                continue;
            }
            isa.store(max, &mut line);
            let first = pool.slot * self.slot;
            let start = self.block.tiles[pool.slot].start;
            for lane in 0..lanes {
                if line[lane] <= below[lane] {
                    continue;
                }
                let list = &mut found[lane * k..][..k];
                for key in pool.start..pool.end {
                    let weight = self.scores[first + key * lanes + lane];
                    if weight > below[lane] && weight > list[k - 1].0 {
                        insert(list, weight, start + key);
                    }
                }
                // Once there are k, only what is larger than the last of them counts.
                below[lane] = if list[k - 1].0 > below[lane] { list[k - 1].0 } else { below[lane] };
            }
        }
        for (lane, row) in self.rows().enumerate() {
            let inverse = self.inverse[lane].to_f64();
            for i in 0..k {
                let (weight, key) = found[lane * k + i];
                top.weights[row * k + i] = weight.to_f64() * inverse;
                top.keys[row * k + i] = if inverse.is_nan() { None } else { key };
            }
        }
    }

    /// A number that the `k` largest weights of each lane exceed, if there are so many above 0; 0 where there is no better one.
    #[inline(always)]
    fn bound<S: Float<T::Real>>(&self, isa: S, k: usize) -> S::Vector {
        let zero = isa.splat(T::Real::ZERO);
        if k > MOST_SORTED.min(self.pools.runs.len()) {
            return zero;
        }
        let mut largest = [zero; MOST_SORTED];
        let largest = &mut largest[..k];
        for max in self.pools.maxima.chunks_exact(S::LANES) {
            let mut x = isa.load(max);
            for i in 0..k {
                let old = largest[i];
                // A NaN, which only lost rows have, is passed on and forgotten.
                largest[i] = isa.max(x, old);
                x = isa.min(x, old);
            }
        }
        // A little less, so that what equals it is above; numbers so small that nothing is less by so little fall to 0.
        let last = largest[k - 1];
        let less = isa.mul(last, isa.splat(T::Real::from_f64(1.0 - 1.0 / 1_048_576.0)));
        isa.where_greater(last, less, less, zero)
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
