//! The largest weight of each row, where no other is asked for.
//!
//! ```text
//! for each tile, after its products:
//!     at = the first pool whose maximum exceeds all before it            a comparison and a choice for each pool, lane by lane
//!     for each lane in which the row's maximum has changed:
//!         key = the first key of that pool with that score
//! ```
//!
//! A row's maximum changes in few tiles, so few scores are looked at one by one. The largest score is the row's last maximum, and
//! its weight before the division is 1.

use super::statistics::{Peak, TopWeights};
use super::top::Look;
use crate::simd::{Float, MOST_LANES, Real};

/// The keys of the largest scores so far, one for each row, those behind the last row included.
pub(super) struct Largest(Vec<Option<usize>>);

impl Largest {
    /// None yet.
    pub(super) fn new(rows: usize) -> Self {
        Largest(vec![None; rows])
    }

    /// Looks at one panel of one tile. `before` is the largest score of each row before it.
    #[inline(always)]
    pub(super) fn look<A: Real, S: Float<A>>(
        &mut self,
        isa: S,
        panel: usize,
        first_key: usize,
        before: S::Vector,
        look: &Look<'_, A>,
    ) {
        let (lanes, one) = (S::LANES, isa.splat(A::ONE));
        let (mut max, mut number, mut at) = (before, isa.splat(A::ZERO), isa.splat(A::ZERO));
        for pool in 0..look.pools.len() {
            let own = isa.load(&look.maxima[pool * lanes..]);
            at = isa.where_greater(own, max, number, at);
            // A NaN, which only lost rows have, is forgotten.
            max = isa.where_greater(own, max, own, max);
            number = isa.add(number, one);
        }
        let mut changed = isa.greater(max, before);
        if changed == 0 {
            return;
        }
        let (mut pools, mut tops) = ([A::ZERO; MOST_LANES], [A::ZERO; MOST_LANES]);
        isa.store(at, &mut pools);
        isa.store(max, &mut tops);
        while changed != 0 {
            let lane = changed.trailing_zeros() as usize;
            changed &= changed - 1;
            let pool = look.pools[pools[lane].to_f64() as usize];
            let keys = pool.within(&look.keys).unwrap_or(0..0);
            let (mut found, mut key) = (keys.start, keys.end);
            // From the last to the first, and without a branch: the first stays.
            while key > keys.start {
                key -= 1;
                found = if look.scores[key * lanes + lane] == tops[lane] { key } else { found };
            }
            self.0[panel * lanes + lane] = Some(first_key + found);
        }
    }

    /// Writes the largest of all rows, with the factors of their weights.
    pub(super) fn take<A: Real>(&self, inverse: &[A], top: &mut TopWeights<'_>) {
        for row in 0..top.peaks.len() {
            let weight = inverse[row].to_f64();
            let key = if weight.is_nan() { None } else { self.0[row] };
            top.peaks[row] = Peak { weight, key };
        }
    }
}
