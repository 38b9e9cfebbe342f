//! The few largest weights of each row, in order, lane by lane; for more of them see top.rs.
//!
//! ```text
//! for each tile, after its products:
//!     bound = the K-th largest of the list and of the pools' maxima            K vectors in order: no lane is looked at
//!     hits = the keys of which some lane's score reaches its bound
//!     for each of them:  put the scores into the lists of their lanes          K comparisons, four choices each, no branch
//! ```
//!
//! At least `K` scores are no smaller than the bound, so nothing below it is among the largest; and few keys reach it. A score
//! that does not exceed the ones in a list goes behind them, so that of equal ones the first key comes first. Larger scores have
//! larger weights, and a score does not depend on what the softmax has seen so far.

use super::TILE_KEYS;
use super::exp::exp2;
use super::product::EIGHTS;
use super::statistics::{Peak, TopWeights};
use super::top::{Look, slightly_less};
use crate::simd::{Float, MOST_LANES, Real};
use std::ops::Range;

/// Lists are so long, or hold one.
const MOST: usize = 8;
/// Keys are numbers of the type sums are formed in, which has to tell them apart.
const MOST_KEYS: usize = 1 << 24;

/// The largest scores so far and their keys.
pub(super) struct Largest<A> {
    /// How many are looked for.
    k: usize,
    /// `(panels, 2, K, LANES)`: scores, largest first, and their keys.
    lists: Vec<A>,
}

impl<A: Real> Largest<A> {
    /// Whether so many of so many keys are few enough.
    pub(super) fn suits(k: usize, keys: usize) -> bool {
        k <= MOST && keys <= MOST_KEYS
    }

    /// None yet, for the `k` largest of each of `rows` rows, those behind the last included.
    pub(super) fn new(k: usize, rows: usize) -> Self {
        Largest { k, lists: vec![A::NEG_INFINITY; rows * 2 * length(k)] }
    }

    /// Looks at one panel of one tile.
    #[inline(always)]
    pub(super) fn look<S: Float<A>>(&mut self, isa: S, panel: usize, first_key: usize, look: &Look<'_, A>) {
        match self.k {
            1 => self.look_for::<S, 1>(isa, panel, first_key, look),
            _ => self.look_for::<S, MOST>(isa, panel, first_key, look),
        }
    }

    #[inline(always)]
    fn look_for<S: Float<A>, const K: usize>(
        &mut self,
        isa: S,
        panel: usize,
        first_key: usize,
        look: &Look<'_, A>,
    ) {
        let lanes = S::LANES;
        let memory = &mut self.lists[panel * 2 * K * lanes..][..2 * K * lanes];
        let (mut scores, mut keys) = ([isa.splat(A::NEG_INFINITY); K], [isa.splat(A::ZERO); K]);
        for i in 0..K {
            scores[i] = isa.load(&memory[i * lanes..]);
            keys[i] = isa.load(&memory[(K + i) * lanes..]);
        }
        let mut hits = [0u16; TILE_KEYS];
        let hits = find::<A, S, K>(isa, scores, look, &mut hits);
        if hits.is_empty() {
            return;
        }
        for &hit in hits {
            let score = isa.load(&look.scores[usize::from(hit) * lanes..]);
            let key = isa.splat(A::from_f64((first_key + usize::from(hit)) as f64));
            // From the last to the first: the one before is still as it was.
            for i in (0..K).rev() {
                let [mut own, mut its_key] = [score, key];
                if i > 0 {
                    own = isa.where_greater(score, scores[i - 1], scores[i - 1], score);
                    its_key = isa.where_greater(score, scores[i - 1], keys[i - 1], key);
                }
                keys[i] = isa.where_greater(score, scores[i], its_key, keys[i]);
                scores[i] = isa.where_greater(score, scores[i], own, scores[i]);
            }
        }
        for i in 0..K {
            isa.store(scores[i], &mut memory[i * lanes..]);
            isa.store(keys[i], &mut memory[(K + i) * lanes..]);
        }
    }

    /// Writes the largest of `count` rows from `row` on, a panel of them, with the rows' last maxima and the factors of their weights.
    #[inline(always)]
    pub(super) fn take<S: Float<A>>(
        &self,
        isa: S,
        row: usize,
        count: usize,
        [last, inverse]: [&[A]; 2],
        top: &mut TopWeights<'_>,
    ) {
        let (lanes, length) = (S::LANES, length(self.k));
        let memory = &self.lists[row * 2 * length..][..2 * length * lanes];
        let (base, mut before) = (isa.load(last), isa.splat(A::ONE));
        for i in 0..self.k {
            // Larger scores have larger weights but for the rounding of the exponentials.
            before = isa.min(exp2(isa, isa.sub(isa.load(&memory[i * lanes..]), base)), before);
            let mut line = [A::ZERO; MOST_LANES];
            isa.store(before, &mut line);
            let keys = &memory[(length + i) * lanes..];
            for lane in 0..count {
                let (weight, inverse) = (line[lane].to_f64(), inverse[lane].to_f64());
                let seen = weight > 0.0 && !inverse.is_nan();
                let key = if seen { Some(keys[lane].to_f64() as usize) } else { None };
                top.peaks[(row + lane) * self.k + i] = Peak { weight: weight * inverse, key };
            }
        }
    }
}

/// How long the lists are for `k`.
fn length(k: usize) -> usize {
    if k == 1 { 1 } else { MOST }
}

/// The keys of which some lane's score may be among its largest, with those that are in `largest` so far.
#[inline(always)]
fn find<'h, A: Real, S: Float<A>, const K: usize>(
    isa: S,
    mut largest: [S::Vector; K],
    look: &Look<'_, A>,
    hits: &'h mut [u16; TILE_KEYS],
) -> &'h [u16] {
    let lanes = S::LANES;
    for max in look.maxima.chunks_exact(lanes) {
        let mut x = isa.load(max);
        for i in 0..K {
            let old = largest[i];
            // A NaN, which only lost rows have, is passed on and forgotten.
            largest[i] = isa.max(x, old);
            x = isa.min(x, old);
        }
    }
    // So that what equals it exceeds it.
    let bound = slightly_less(isa, largest[K - 1]);
    let (keys, mut count) = (&look.keys, 0);
    if let Some(eights) = look.eights {
        let mut groups = [0u16; EIGHTS];
        let mut reached = 0;
        for eight in keys.start / 8..keys.end.div_ceil(8) {
            groups[reached % EIGHTS] = eight as u16;
            reached += usize::from(isa.greater(isa.load(&eights[eight * lanes..]), bound) != 0);
        }
        for &eight in &groups[..reached] {
            let first = 8 * usize::from(eight);
            let group = first..if first + 8 < keys.end { first + 8 } else { keys.end };
            count = search(isa, look.scores, group, bound, (&mut *hits, count));
        }
    } else {
        for (pool, max) in look.pools.iter().zip(look.maxima.chunks_exact(lanes)) {
            if isa.greater(isa.load(max), bound) != 0 {
                let group = pool.within(keys).unwrap_or(0..0);
                count = search(isa, look.scores, group, bound, (&mut *hits, count));
            }
        }
    }
    &hits[..count]
}

/// Appends to the first `count` hits those keys of a group of which some lane's score exceeds its bound; gives how many there are then.
#[inline(always)]
fn search<A: Real, S: Float<A>>(
    isa: S,
    scores: &[A],
    group: Range<usize>,
    bound: S::Vector,
    (hits, mut count): (&mut [u16; TILE_KEYS], usize),
) -> usize {
    let scores = &scores[group.start * S::LANES..group.end * S::LANES];
    for (key, score) in group.zip(scores.chunks_exact(S::LANES)) {
        // No branch: which keys these are cannot be foreseen. There are no more than keys in a tile.
        hits[count % TILE_KEYS] = key as u16;
        count += usize::from(isa.greater(isa.load(score), bound) != 0);
    }
    count
}
