//! The `k` largest weights of each row, found among the scores while they come by; for a few see largest.rs.
//!
//! ```text
//! for each tile, after its products:
//!     bound = the k-th largest of all pools' maxima so far     k vectors, sorted as each pool comes by: no lane is looked at
//!     for each pool in which some lane exceeds its bound:
//!         for each score above it:                             to the end of the lane's list
//! in the end: the k largest of what is still above the bound
//! ```
//!
//! At least `k` scores are no smaller than the bound, so nothing below it is among the largest; and few pools hold anything
//! above it. A list that is full is cut to its `k` largest, and the last of them is the bound from then on. Larger scores have
//! larger weights, and a score does not depend on what the softmax has seen so far: equal scores are equal, and the first key
//! comes first.

use super::exp::exp2;
use super::pools::Pool;
use super::statistics::{Peak, TopWeights};
use crate::simd::{Float, MOST_LANES, Real};
use std::ops::Range;

/// Up to so many largest weights a bound is found from pools: sorting takes a few instructions for each of them and each pool.
const MOST_SORTED: usize = 32;
/// Lists have room for so many times as many as are looked for, and for at least so many: more are seldom met.
const TIMES: usize = 6;
const ROOM: usize = 16;

/// One panel of one tile.
pub(super) struct Look<'a, A> {
    /// The tile's.
    pub(super) pools: &'a [Pool],
    /// The keys that the panel sees, counted from the tile's start.
    pub(super) keys: Range<usize>,
    /// `(pools, LANES)`.
    pub(super) maxima: &'a [A],
    /// `(keys, LANES)`.
    pub(super) scores: &'a [A],
    /// `(EIGHTS, LANES)`: the largest of each eight keys, where they are known; then `keys` begins with an eight.
    pub(super) eights: Option<&'a [A]>,
}

/// Who may be among the largest.
pub(super) struct Candidates<'a, A> {
    k: usize,
    /// `(panels, sorted, LANES)`: the largest of the pools' maxima, in order.
    largest: Vec<A>,
    /// `(panels·LANES,)`: what does not exceed this is not among the largest.
    bounds: Vec<A>,
    /// `(panels·LANES,)`: how long each list is.
    counts: Vec<usize>,
    /// `(panels·LANES, room)`: scores and their keys.
    lists: &'a mut [(A, usize)],
    room: usize,
}

impl<'a, A: Real> Candidates<'a, A> {
    /// None yet, for the `k` largest of `keys` keys.
    pub(super) fn new(k: usize, rows: usize, keys: usize, memory: &'a mut Vec<(A, usize)>) -> Self {
        // More than the keys, or a cut makes room.
        let room = if k <= MOST_SORTED { TIMES * k } else { 2 * k }.min(keys).max(ROOM) + 1;
        if memory.len() < rows * room {
            memory.resize(rows * room, (A::ZERO, 0));
        }
        Candidates {
            k,
            largest: vec![A::NEG_INFINITY; rows * sorted(k)],
            bounds: vec![A::NEG_INFINITY; rows],
            counts: vec![0; rows],
            lists: &mut memory[..rows * room],
            room,
        }
    }

    /// Looks at one panel of one tile.
    #[inline(always)]
    pub(super) fn look<S: Float<A>>(&mut self, isa: S, panel: usize, first_key: usize, look: Look<'_, A>) {
        let Look { pools, keys, maxima, scores, .. } = look;
        let lanes = S::LANES;
        if sorted(self.k) > 0 {
            self.raise(isa, panel, maxima);
        }
        for (i, pool) in pools.iter().enumerate() {
            let bound = isa.load(&self.bounds[panel * lanes..]);
            if isa.greater(isa.load(&maxima[i * lanes..]), bound) == 0 {
                continue;
            }
            let keys = pool.within(&keys).unwrap_or(0..0);
            // As many keys at a time as their bits fill a word: no branch for each of them.
            for first in keys.clone().step_by(64 / lanes) {
                let count = if keys.end - first < 64 / lanes { keys.end - first } else { 64 / lanes };
                let scores = &scores[first * lanes..][..count * lanes];
                let mut bits = 0u64;
                for key in 0..count {
                    let own = isa.greater(isa.load(&scores[key * lanes..]), bound);
                    bits |= u64::from(own) << (key * lanes);
                }
                while bits != 0 {
                    let at = bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    self.add(panel * lanes + at % lanes, scores[at], first_key + first + at / lanes);
                }
            }
        }
    }

    /// Sorts the maxima of a tile's pools in, and raises the bounds with them.
    #[inline(always)]
    fn raise<S: Float<A>>(&mut self, isa: S, panel: usize, maxima: &[A]) {
        const K: usize = MOST_SORTED;
        let lanes = S::LANES;
        let memory = &mut self.largest[panel * K * lanes..][..K * lanes];
        let mut largest = [isa.splat(A::NEG_INFINITY); K];
        for i in 0..K {
            largest[i] = isa.load(&memory[i * lanes..]);
        }
        // Of two pools together once there are as many as are looked for: half the work for nearly the same bound.
        let together = if memory[(self.k - 1) * lanes] > A::NEG_INFINITY { 2 } else { 1 };
        for max in maxima.chunks(together * lanes) {
            let mut x = isa.load(max);
            if max.len() > lanes {
                x = isa.max(x, isa.load(&max[lanes..]));
            }
            for i in 0..K {
                let old = largest[i];
                // A NaN, which only lost rows have, is passed on and forgotten.
                largest[i] = isa.max(x, old);
                x = isa.min(x, old);
            }
        }
        for i in 0..K {
            isa.store(largest[i], &mut memory[i * lanes..]);
        }
        let last = isa.load(&memory[(self.k - 1) * lanes..]);
        let bounds = &mut self.bounds[panel * lanes..][..lanes];
        // So that what equals it exceeds it.
        isa.store(isa.max(slightly_less(isa, last), isa.load(bounds)), bounds);
    }

    /// Puts a score into the list of `row`.
    #[inline(always)]
    fn add(&mut self, row: usize, score: A, key: usize) {
        let count = self.counts[row];
        self.lists[row * self.room + count] = (score, key);
        self.counts[row] = count + 1;
        if count + 1 == self.room {
            self.cut(row);
        }
    }

    /// Leaves the `k` largest in a full list.
    #[cold]
    fn cut(&mut self, row: usize) {
        let list = &mut self.lists[row * self.room..][..self.room];
        sort(list);
        self.counts[row] = self.k;
        let (last, bound) = (list[self.k - 1].0, &mut self.bounds[row]);
        *bound = if last > *bound { last } else { *bound };
    }

    /// Writes the largest of `count` rows from `row` on, a panel of them, with the rows' last maxima and the factors of their weights.
    #[inline(always)]
    pub(super) fn take<S: Float<A>>(
        &mut self,
        isa: S,
        row: usize,
        count: usize,
        [last, inverse]: [&[A]; 2],
        top: &mut TopWeights<'_>,
    ) {
        let k = self.k;
        let mut lengths = [0; MOST_LANES];
        for lane in 0..count {
            let (row, bound) = (row + lane, self.bounds[row + lane]);
            let list = &mut self.lists[row * self.room..][..self.counts[row]];
            let mut kept = 0;
            for i in 0..list.len() {
                let one = list[i];
                list[kept] = one;
                // A list that was cut holds scores that equal its bound.
                kept += usize::from(one.0 >= bound);
            }
            sort(&mut list[..kept]);
            lengths[lane] = kept.min(k);
        }
        let base = isa.load(last);
        for i in 0..k {
            let mut line = [A::NEG_INFINITY; MOST_LANES];
            for lane in 0..count {
                if i < lengths[lane] {
                    line[lane] = self.lists[(row + lane) * self.room + i].0;
                }
            }
            isa.store(exp2(isa, isa.sub(isa.load(&line), base)), &mut line);
            for lane in 0..count {
                let (weight, inverse) = (line[lane].to_f64(), inverse[lane].to_f64());
                let seen = weight > 0.0 && !inverse.is_nan();
                let key = if seen { Some(self.lists[(row + lane) * self.room + i].1) } else { None };
                top.peaks[(row + lane) * k + i] = Peak { weight: weight * inverse, key };
            }
        }
        for row in row..row + count {
            // Larger scores have larger weights but for the rounding of the exponentials.
            let peaks = &mut top.peaks[row * k..][..k];
            for i in 1..k {
                peaks[i].weight = peaks[i].weight.min(peaks[i - 1].weight);
            }
        }
    }
}

/// How many maxima are sorted for `k`.
fn sorted(k: usize) -> usize {
    if k <= MOST_SORTED { MOST_SORTED } else { 0 }
}

/// A little less than each lane of `x`.
#[inline(always)]
pub(super) fn slightly_less<A: Real, S: Float<A>>(isa: S, x: S::Vector) -> S::Vector {
    let size = isa.max(x, isa.sub(isa.splat(A::ZERO), x));
    let share = isa.splat(A::from_f64(1.0 / 1_048_576.0));
    isa.neg_mul_add(size, share, isa.sub(x, isa.splat(A::from_f64(1e-30))))
}

/// Largest scores first, and of equal ones the first key; lists hold their equal scores in the order of the keys.
#[inline(always)]
fn sort<A: Real>(list: &mut [(A, usize)]) {
    const FEW: usize = 16;
    if list.len() > FEW {
        list.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(std::cmp::Ordering::Equal));
        return;
    }
    // The place of each is the number of those before it, which vectors count without a branch.
    let (mut scores, mut places) = ([A::NEG_INFINITY; FEW], [0u32; FEW]);
    let mut unsorted = [(A::ZERO, 0); FEW];
    for (i, one) in list.iter().enumerate() {
        (scores[i], unsorted[i]) = (one.0, *one);
    }
    for i in 0..list.len() {
        let own = scores[i];
        for j in 0..FEW {
            places[j] += u32::from(own > scores[j]) + u32::from(own == scores[j]) * u32::from(i < j);
        }
    }
    for i in 0..list.len() {
        list[places[i] as usize] = unsorted[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_stay_in_the_order_of_their_keys() {
        for length in 0..=20 {
            // A few different scores, each several times, and one that is no weight at all.
            let of = |key: usize| if key % 7 == 5 { f32::NEG_INFINITY } else { (key * 5 % 4) as f32 - 2.0 };
            let mut list: Vec<(f32, usize)> = (0..length).map(|key| (of(key), key)).collect();
            let mut expected = list.clone();
            expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            sort(&mut list);
            assert_eq!(list, expected);
        }
    }
}
