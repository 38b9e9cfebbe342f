//! The loop over the tiles of one block of query rows.

use super::TILE_KEYS;
use super::denominator::Denominator;
use super::dropout;
use super::exp::exp2;
use super::largest::Largest;
use super::notes::{Asked, Notes, Peaks, Seen, Step};
use super::part::{Block, Span, Tile};
use super::pools::Pools;
use super::product::{Panels, rows_at_once};
use super::products::{Products, Scoring, Weighing};
use super::rows::fetch;
use super::scratch::{Room, Scratch};
use super::statistics::{Settled, Wanted};
use super::storage::Storage;
use super::sweep::total;
use super::top::Candidates;
use super::wide::Wide;
use crate::Element;
use crate::simd::{Float, FloatKernel, Real};

/// Keys to a tile in scratch memory: a register tile may write up to seven keys behind the last.
pub(super) const SLOT_KEYS: usize = TILE_KEYS + 8;
/// Outputs of a block up to so many bytes are asked for ahead: more would drive out what is still needed.
const FETCHED_UP_TO: usize = 128 << 10;

/// Attention of one block: a [`FloatKernel`] whose fields are its arguments.
pub struct Forward<'a, 'b, T: Storage> {
    /// What to attend to.
    pub block: Block<'b, T>,
    /// Where to work.
    pub scratch: &'a mut Scratch<T::Real>,
    /// `(rows, E)`.
    pub out: &'a mut [T],
    /// `(rows,)`: the logarithm of each row's denominator; −∞ for an empty row.
    pub lse: &'a mut [f64],
    /// Whether anybody wants those of rows that are not empty.
    pub wants_lse: bool,
    /// Statistics of the weights, where asked for.
    pub wanted: Option<Wanted<'a>>,
}

/// Which keys the rows of a panel see: some of them, all of them.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    pub(super) some: Span,
    pub(super) all: Span,
}

/// The parts of [`Scratch`] in use, with their shapes.
struct Work<'a, 'b, T: Storage, P> {
    block: Block<'b, T>,
    products: P,
    reach: Vec<Reach>,
    /// `E`, rounded up to whole vectors.
    width: usize,
    /// How far apart two panels of scores are.
    stride: usize,
    /// `(LANES, TILE_KEYS)`.
    lines: &'a mut [T::Real],
    /// `(panels, slots, SLOT_KEYS, LANES)`: scores, then weights, unless the products keep those themselves.
    scores: &'a mut [T::Real],
    /// `(panels, SLOT_KEYS, LANES)`: the weights of a tile after dropout; empty without it.
    dropped: &'a mut [T::Real],
    /// `(rows, width)`, or more rows. Whatever before the first tile.
    out: &'a mut [T::Real],
    /// Each `(panels·LANES,)`: the maximum so far and in the end the inverse of the denominator, the
    /// maximum with the scores that are not weights yet, the sum so far, and what `out` is multiplied by.
    max: &'a mut [T::Real],
    next: &'a mut [T::Real],
    sum: &'a mut [T::Real],
    alpha: &'a mut [T::Real],
    /// `(rows,)`: the share of each denominator that the sink takes.
    shares: Vec<f64>,
    /// For statistics.
    notes: Option<Notes<'a, T::Real>>,
}

/// One tile.
#[derive(Clone, Copy)]
struct At {
    tile: Tile,
    /// Which one of the block.
    number: usize,
    /// Where its scores lie.
    slot: usize,
    /// Whether no other comes after it.
    last: bool,
}

impl<T: Storage> FloatKernel<T::Real> for Forward<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Float<T::Real>>(self, isa: S) {
        let Forward { block, scratch, out, lse, wants_lse, mut wanted } = self;
        if block.spans.is_empty() {
            return;
        }
        let products = Wide::new(isa, &block, &mut scratch.wide);
        let wanted = wanted.as_mut();
        Attend { block, room: &mut scratch.room, out, lse: (lse, wants_lse), wanted }.run(isa, products);
    }
}

/// Attention of one block that has rows, with its products made ready.
pub(super) struct Attend<'a, 'b, 'w, T: Storage> {
    pub(super) block: Block<'b, T>,
    pub(super) room: &'a mut Room<T::Real>,
    pub(super) out: &'a mut [T],
    /// Log-sum-exps, and whether they are wanted.
    pub(super) lse: (&'a mut [f64], bool),
    pub(super) wanted: Option<&'a mut Wanted<'w>>,
}

impl<T: Storage> Attend<'_, '_, '_, T> {
    /// Whether it was done: products may give up, and then nothing that was written means anything.
    #[inline(always)]
    pub(super) fn run<S: Float<T::Real>, P: Products<T, S>>(self, isa: S, products: P) -> bool {
        let Attend { block, room, out, mut lse, wanted } = self;
        let (rows, value_width) = (block.spans.len(), block.values.width());
        let (panels, width) = (rows.div_ceil(S::LANES), value_width.next_multiple_of(S::LANES));
        let padded = panels * S::LANES;
        let asked = wanted.as_ref().map(|wanted| Asked::of(wanted));
        let keeps_weights = asked.is_some_and(|asked| asked.weights);
        let slots = if keeps_weights { block.tiles.len().max(1) } else { 1 };
        let stride = slots * SLOT_KEYS * S::LANES;
        let drops = block.drops();

        // Sums are formed where outputs belong, if those are as wide as sums and rows are multiplied in whole groups.
        let fits = value_width == width && rows % rows_at_once::<T::Real, S>() == 0;
        let (out_rows, out) = match if fits { T::as_reals_mut(out) } else { Err(out) } {
            Ok(there) => (there, None),
            Err(out) => (room.out.reserve(padded * width), Some(out)),
        };
        let (max, rest) = room.rows.reserve(padded * 4).split_at_mut(padded);
        let (next, rest) = rest.split_at_mut(padded);
        let (sum, alpha) = rest.split_at_mut(padded);
        max.fill(T::Real::NEG_INFINITY);
        next.fill(T::Real::NEG_INFINITY);
        sum.fill(T::Real::ZERO);

        let cells = wanted.as_ref().and_then(|wanted| wanted.cells(block.keys.rows()));
        let pools = asked.map(|asked| Pools::new(block.tiles, cells, asked.maxima));
        let notes = asked.zip(pools.as_ref()).map(|(asked, pools)| {
            let numbers = asked.numbers(padded, pools.all.len(), block.tiles.len());
            let peaks = match asked.k {
                0 => Peaks::None,
                k if Largest::<T::Real>::suits(k, block.keys.rows()) => Peaks::Few(Largest::new(k, padded)),
                k => Peaks::Many(Candidates::new(k, padded, block.keys.rows(), &mut room.candidates)),
            };
            Notes::new(asked, pools, padded, room.notes.reserve(numbers), peaks)
        });
        let mut work = Work {
            reach: (0..panels).map(|panel| reach(&block, panel * S::LANES, S::LANES)).collect(),
            width,
            stride,
            products,
            lines: room.lines.reserve(S::LANES * TILE_KEYS),
            scores: room.scores.reserve(panels * stride),
            dropped: room.dropped.reserve(if drops { panels * SLOT_KEYS * S::LANES } else { 0 }),
            out: out_rows,
            max,
            next,
            sum,
            alpha,
            shares: vec![0.0; rows],
            notes,
            block,
        };
        let mut divided = false;
        for (at, tile) in block.tiles.iter().enumerate() {
            let last = at + 1 == block.tiles.len();
            let at = At { tile: *tile, number: at, slot: if slots > 1 { at } else { 0 }, last };
            work.score(isa, at);
            if work.products.gave_up() {
                return false;
            }
            if last
                && let Some(out) = &out
                && size_of_val(*out) <= FETCHED_UP_TO
            {
                // They are written last, row by row, and by then should be at hand.
                fetch(out);
            }
            for panel in 0..panels {
                work.softmax(isa, panel, at);
            }
            if last {
                work.divide(&mut lse);
            }
            divided = work.weigh(isa, at);
            if work.products.gave_up() {
                return false;
            }
        }
        if block.tiles.is_empty() {
            work.divide(&mut lse);
        }
        if let Some(wanted) = wanted {
            work.statistics(isa, wanted);
        }
        work.finish(out, divided);
        true
    }
}

/// What scores are reduced by: the maximum. Where nothing has been seen yet that is −∞, and −∞ − −∞ would be NaN.
#[inline(always)]
fn base_of<A: Real, S: Float<A>>(isa: S, max: S::Vector) -> S::Vector {
    isa.where_greater(max, isa.splat(A::NEG_INFINITY), max, isa.splat(A::ZERO))
}

pub(super) fn reach<T>(block: &Block<'_, T>, first: usize, count: usize) -> Reach {
    let rows = &block.spans[first..(first + count).min(block.spans.len())];
    let every = Span { start: 0, end: usize::MAX };
    Reach {
        some: rows.iter().fold(Span { start: 0, end: 0 }, |hull, &span| hull.hull(span)),
        all: rows.iter().fold(every, |common, &span| common.common(span)),
    }
}

impl<T: Storage, P> Work<'_, '_, T, P> {
    /// The scores of one tile, and the maximum with them.
    #[inline(always)]
    fn score<S: Float<T::Real>>(&mut self, isa: S, at: At)
    where
        P: Products<T, S>,
    {
        let offset = at.slot * SLOT_KEYS * S::LANES;
        let of = Scoring {
            block: &self.block,
            reach: &self.reach,
            tile: at.tile,
            lines: self.lines,
            max: self.next,
            to: Panels { data: &mut self.scores[offset..], stride: self.stride },
            slot: at.number,
            notes: self.notes.as_mut(),
        };
        self.products.score(isa, of);
    }

    /// Scores of one panel and tile to weights, with the maximum and the sum brought up to date.
    #[inline(always)]
    fn softmax<S: Float<T::Real>>(&mut self, isa: S, panel: usize, at: At)
    where
        P: Products<T, S>,
    {
        let lanes = S::LANES;
        let rows = panel * lanes..(panel + 1) * lanes;
        let seen = Seen::new(at.number, at.tile, self.reach[panel].some);
        let first = panel * self.stride + at.slot * SLOT_KEYS * lanes;
        let scores = &mut self.scores[first..][..(at.tile.end - at.tile.start) * lanes];
        let old = isa.load(&self.max[rows.clone()]);
        let max = isa.load(&self.next[rows.clone()]);
        let base = base_of(isa, max);
        let alpha = exp2(isa, isa.sub(old, base));
        let before = isa.load(&self.sum[rows.clone()]);
        let sum = if let Some(notes) = &mut self.notes {
            if notes.keeps_weights {
                // Sweeps over whole tiles find zeros where the panel sees nothing.
                scores[..seen.keys.start * lanes].fill(T::Real::ZERO);
                scores[seen.keys.end * lanes..].fill(T::Real::ZERO);
            }
            let step = Step { old, max, base, alpha, sum: before };
            notes.exponentials(isa, panel, &seen, &step, scores)
        } else if self.dropped.is_empty() {
            self.products.exponentials(isa, panel, seen.keys, base, scores)
        } else {
            total(isa, base, &mut scores[seen.keys.start * lanes..seen.keys.end * lanes])
        };
        isa.store(max, &mut self.max[rows.clone()]);
        isa.store(isa.mul_add(before, alpha, sum), &mut self.sum[rows.clone()]);
        isa.store(alpha, &mut self.alpha[rows]);
    }

    /// `out = out·alpha + a·V` for one tile; after the last one also divided, unless it says otherwise.
    #[inline(always)]
    fn weigh<S: Float<T::Real>>(&mut self, isa: S, At { tile, slot, number, last }: At) -> bool
    where
        P: Products<T, S>,
    {
        let lanes = S::LANES;
        self.drop_out(isa, slot, tile);
        let (weights, stride) = if self.dropped.is_empty() {
            (&self.scores[slot * SLOT_KEYS * lanes..], self.stride)
        } else {
            (&*self.dropped, SLOT_KEYS * lanes)
        };
        let divides = last && self.dropped.is_empty();
        let of = Weighing {
            block: &self.block,
            reach: &self.reach,
            tile,
            weights,
            stride,
            alpha: (number > 0).then_some(&*self.alpha),
            inverse: divides.then_some(&*self.max),
            out: &mut *self.out,
            width: self.width,
            next: self.block.tiles.get(number + 1).copied(),
        };
        let left = self.products.left_scores();
        let done = self.products.weigh(isa, of);
        if !done && !self.products.gave_up() {
            if left {
                self.exponentials_in_place(isa, slot, tile);
            }
            self.weigh_carefully(lanes, slot, tile, number == 0);
        }
        done && divides
    }

    /// Scores of one tile to weights, after the softmax has left them as they are.
    #[inline(always)]
    fn exponentials_in_place<S: Float<T::Real>>(&mut self, isa: S, slot: usize, tile: Tile)
    where
        P: Products<T, S>,
    {
        let lanes = S::LANES;
        for panel in 0..self.reach.len() {
            let seen = self.reach[panel].some.within(&tile);
            let max = isa.load(&self.next[panel * lanes..]);
            let base = base_of(isa, max);
            let first = panel * self.stride + slot * SLOT_KEYS * lanes;
            let scores = &mut self.scores[first + seen.start * lanes..first + seen.end * lanes];
            let factor = self.products.left_factor(panel);
            for score in scores.iter_mut() {
                *score = *score * factor;
            }
            total(isa, base, scores);
        }
    }

    /// The weights of one tile, with zeros where they are dropped. Those of the softmax stay, for its statistics.
    #[inline(always)]
    fn drop_out<S: Float<T::Real>>(&mut self, isa: S, slot: usize, tile: Tile) {
        if self.dropped.is_empty() {
            return;
        }
        for (panel, reach) in self.reach.iter().enumerate() {
            let Some(mut lanes) = dropout::Panel::new(&self.block, panel * S::LANES, S::LANES) else {
                return;
            };
            let from = panel * self.stride + slot * SLOT_KEYS * S::LANES;
            let to = panel * SLOT_KEYS * S::LANES;
            for key in reach.some.within(&tile) {
                let weights = isa.load(&self.scores[from + key * S::LANES..]);
                let kept = isa.mul(weights, lanes.kept(isa, tile.start + key));
                isa.store(kept, &mut self.dropped[to + key * S::LANES..]);
            }
        }
    }

    /// [`Work::weigh`] where a hidden key may have a value that is not finite: `0·∞` is NaN, so it is left out.
    fn weigh_carefully(&mut self, lanes: usize, slot: usize, tile: Tile, first: bool) {
        let value_width = self.block.values.width();
        let mut line = vec![T::Real::ZERO; value_width];
        for row in 0..self.block.spans.len() {
            let out = &mut self.out[row * self.width..][..value_width];
            for o in out.iter_mut() {
                *o = if first { T::Real::ZERO } else { *o * self.alpha[row] };
            }
            for key in tile.start..tile.end {
                if self.block.hides(row, key) {
                    continue;
                }
                let panel = row / lanes * self.stride + row % lanes;
                let mut weight = self.scores[panel + (slot * SLOT_KEYS + key - tile.start) * lanes];
                let (part, query) = self.block.query(row);
                if part.dropping.is_some_and(|dropping| dropping.drops(dropping.row(query), key)) {
                    weight = T::Real::ZERO;
                }
                self.block.values.widen_row(key, &mut line);
                for (o, &v) in out.iter_mut().zip(&line) {
                    *o += weight * v;
                }
            }
        }
    }

    /// What weights are multiplied by, in place of the maxima, 0 behind the last row; and the logarithms of the denominators.
    fn divide(&mut self, (lse, wanted): &mut (&mut [f64], bool)) {
        for row in 0..self.shares.len() {
            let (max, sum) = (self.max[row].to_f64(), self.sum[row].to_f64());
            let denominator = Denominator::new(max, sum, self.block.query(row).0.sink);
            self.max[row] = T::Real::from_f64(denominator.inverse);
            lse[row] = denominator.lse(*wanted);
            self.shares[row] = denominator.sink_share;
        }
        self.max[self.shares.len()..].fill(T::Real::ZERO);
    }

    /// All that is wanted of the weights.
    #[inline(always)]
    fn statistics<S: Float<T::Real>>(&mut self, isa: S, wanted: &mut Wanted<'_>) {
        let Some(notes) = &mut self.notes else { return };
        for last in self.next.iter_mut() {
            // Nothing but −∞ and NaN is not larger.
            *last = if *last > T::Real::NEG_INFINITY { *last } else { T::Real::ZERO };
        }
        Settled {
            block: &self.block,
            notes,
            weights: self.scores,
            stride: self.stride,
            slot: SLOT_KEYS * S::LANES,
            inverse: self.max,
            last: self.next,
            sum: self.sum,
            sink_share: &self.shares,
        }
        .take(isa, wanted);
    }

    /// Multiplies by the inverses of the denominators, unless that is done, and rounds into `out`, unless sums are there.
    #[inline(always)]
    fn finish(self, out: Option<&mut [T]>, divided: bool) {
        let (value_width, inverse) = (self.block.values.width(), self.max);
        if !divided {
            let kept = dropout::factor(&self.block);
            for row in 0..self.shares.len() {
                let sums = &mut self.out[row * self.width..][..value_width];
                if inverse[row] == T::Real::ZERO {
                    sums.fill(T::Real::ZERO);
                }
                for o in sums {
                    *o = *o * (inverse[row] * kept);
                }
            }
        }
        let Some(out) = out else { return };
        for (row, to) in out.chunks_exact_mut(value_width.max(1)).enumerate() {
            T::narrow(&self.out[row * self.width..][..value_width], to);
        }
    }
}
