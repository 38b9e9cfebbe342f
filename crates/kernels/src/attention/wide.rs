//! Products of numbers in the type sums are formed in: what is stored otherwise is widened, a tile at a time.

use super::TILE_KEYS;
use super::buffer::Buffer;
use super::multiply::Singles;
use super::part::Block;
use super::products::{Products, Scoring, Tiled, Weighing};
use super::rows::Rows;
use super::storage::{Storage, widen_row};
use super::sweep::all_finite;
use crate::Element;
use crate::simd::{Float, MOST_LANES, Real, Registers};
use std::ops::Range;

/// From so many query rows on values are copied in strips before they are used: rows that lie a power of two apart share
/// few sets of the first cache and would push each other out of it.
const STRIPS_FROM: usize = 32;
/// Where eight rows are formed at once a tile of values is read so seldom that it may come from the second cache, if its rows lie no
/// further apart than this many bytes.
const NEAR: usize = 512;
/// So few bytes of values stay in the first cache however they lie.
const SMALL_TILE: usize = 16 << 10;

/// Memory of [`Wide`].
pub(super) struct WideBuffers<A> {
    pub(super) queries: Buffer<A>,
    lines: Buffer<A>,
    pub(super) packed: Buffer<A>,
    strips: Buffer<A>,
}

impl<A: Real> WideBuffers<A> {
    pub(super) const fn new() -> Self {
        WideBuffers {
            queries: Buffer::new(),
            lines: Buffer::new(),
            packed: Buffer::new(),
            strips: Buffer::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.queries.bytes() + self.lines.bytes() + self.packed.bytes() + self.strips.bytes()
    }
}

/// A block's products, number by number.
pub(super) struct Wide<'a, A> {
    /// `(panels, D, LANES)`, with the factor of the scores in them; packed when they are first used.
    queries: &'a mut [A],
    /// Queries that do not lie in rows.
    lines: &'a mut [A],
    /// A tile of keys or values.
    packed: &'a mut [A],
    /// A tile of values, two vectors of columns after another: `(strips, TILE_KEYS, 2·LANES)`.
    strips: &'a mut [A],
}

impl<'a, A: Real> Wide<'a, A> {
    #[inline(always)]
    pub(super) fn new<T: Storage<Real = A>, S: Float<A>>(
        _: S,
        block: &Block<'_, T>,
        buffers: &'a mut WideBuffers<A>,
    ) -> Self {
        let panels = block.spans.len().div_ceil(S::LANES);
        let (depth, width) = (block.keys.width(), block.values.width().next_multiple_of(S::LANES));
        Wide {
            queries: buffers.queries.reserve(panels * depth * S::LANES),
            lines: buffers.lines.reserve(S::LANES * depth),
            packed: buffers.packed.reserve(TILE_KEYS * width.max(depth)),
            strips: buffers.strips.reserve(TILE_KEYS * width.next_multiple_of(2 * S::LANES)),
        }
    }
}

/// `qt[panel][i][lane] = factor·q[row][i]` for some panels; rows behind the last repeat it.
#[inline(always)]
fn pack_queries<T: Storage, S: Float<T::Real>>(
    isa: S,
    block: &Block<'_, T>,
    panels: Range<usize>,
    lines: &mut [T::Real],
    queries: &mut [T::Real],
) {
    let (lanes, depth) = (S::LANES, block.keys.width());
    let factor = isa.splat(T::Real::from_f64(block.factor()));
    for panel in panels.start..panels.end {
        let to = &mut queries[panel * depth * lanes..][..depth * lanes];
        if let Some(rows) = block.lying_queries(panel * lanes, lanes) {
            pack_panel::<T, S>(isa, rows, depth, factor, to);
            continue;
        }
        for lane in 0..lanes {
            let (part, query) = block.query(panel * lanes + lane);
            widen_row(&part.queries, query, 0, &mut lines[lane * depth..][..depth]);
        }
        let mut rows = [&[][..]; MOST_LANES];
        for lane in 0..lanes {
            rows[lane] = &lines[lane * depth..][..depth];
        }
        pack_panel::<T::Real, S>(isa, rows, depth, factor, to);
    }
}

/// `to[i][lane] = factor·rows[lane][i]`.
#[inline(always)]
fn pack_panel<T: Storage, S: Float<T::Real>>(
    isa: S,
    rows: [&[T]; MOST_LANES],
    depth: usize,
    factor: S::Vector,
    to: &mut [T::Real],
) {
    let lanes = S::LANES;
    let whole = depth - depth % lanes;
    let mut square = isa.square(factor);
    for i in (0..whole).step_by(lanes) {
        for lane in 0..lanes {
            let row = &rows[lane][i..][..lanes];
            // SAFETY: the slice holds a vector.
            let x = unsafe { T::load_at(isa, row.as_ptr()) };
            square.as_mut()[lane] = isa.mul(x, factor);
        }
        let columns = isa.transpose(square);
        for column in 0..lanes {
            isa.store(columns.as_ref()[column], &mut to[(i + column) * lanes..]);
        }
    }
    if whole < depth {
        for lane in 0..lanes {
            square.as_mut()[lane] = isa.mul(T::load_first(isa, &rows[lane][whole..]), factor);
        }
        let columns = isa.transpose(square);
        for column in 0..depth - whole {
            isa.store(columns.as_ref()[column], &mut to[(whole + column) * lanes..]);
        }
    }
}

impl<T: Storage, S: Float<T::Real>> Products<T, S> for Wide<'_, T::Real> {
    #[inline(always)]
    fn score(&mut self, isa: S, mut of: Scoring<'_, '_, '_, T>) {
        let (table, range) = (&of.block.keys, [of.tile.start, of.tile.end]);
        let keys = Rows::of(isa, table, range, table.width(), self.packed);
        for panels in of.groups() {
            if of.is_first() {
                of.block.fetch_queries(panels.end * S::LANES, 2 * S::LANES);
                pack_queries(isa, of.block, panels.clone(), self.lines, self.queries);
            }
            of.fetch_values(&panels);
            of.run::<S, Singles>(isa, panels, self.queries, keys, T::Real::ONE);
        }
    }

    #[inline(always)]
    fn weigh(&mut self, isa: S, of: Weighing<'_, '_, T>) -> bool {
        let (tile, count) = (of.tile, of.tile.end - of.tile.start);
        let range = [tile.start, tile.end];
        let hides =
            tile.dense || of.reach.iter().any(|reach| reach.some.within(&tile) != reach.all.within(&tile));
        let (weights, stride) = (of.weights, of.stride);
        let small = count * of.width * size_of::<T::Real>() <= SMALL_TILE;
        if of.block.spans.len() >= STRIPS_FROM && !small && !are_near::<T, S>(&of) {
            if let Some(values) = Rows::lying(&of.block.values, range) {
                cut_strips(isa, values, count, self.strips);
            } else {
                let values = Rows::of(isa, &of.block.values, range, of.block.values.width(), self.packed);
                cut_strips(isa, values, count, self.strips);
            }
            if hides && !strips_are_finite(isa, self.strips, count, of.width) {
                return false;
            }
            of.run::<S, Singles>(isa, weights, stride, Tiled::Strips(self.strips));
        } else {
            let values = Rows::of(isa, &of.block.values, range, of.width, self.packed);
            if hides && !all_finite(isa, values, count) {
                return false;
            }
            of.run::<S, Singles>(isa, weights, stride, Tiled::Rows(values));
        }
        true
    }
}

/// Whether the values of a tile can be used where they lie, and lie so that this costs nothing.
#[inline(always)]
fn are_near<T: Storage, S: Float<T::Real>>(of: &Weighing<'_, '_, T>) -> bool {
    let values = &of.block.values;
    S::REGISTERS == Registers::ThirtyTwo
        && values.width() == of.width
        && match values.memory([of.tile.start, of.tile.end]) {
            Some((data, _, stride)) => {
                T::as_reals(data).is_some() && stride.unsigned_abs() <= NEAR / size_of::<T>()
            }
            None => false,
        }
}

/// The first `count` rows, widened and cut into strips of two vectors: `(strips, TILE_KEYS, 2·LANES)`. A last vector that is
/// not whole ends in zeros.
#[inline(always)]
fn cut_strips<T: Storage, S: Float<T::Real>>(
    isa: S,
    rows: Rows<'_, T>,
    count: usize,
    strips: &mut [T::Real],
) {
    let (lanes, strip) = (S::LANES, TILE_KEYS * 2 * S::LANES);
    let (whole, rest) = (rows.width() / lanes, rows.width() % lanes);
    assert!(count <= TILE_KEYS && strips.len() >= rows.width().div_ceil(2 * lanes) * strip);
    for key in 0..count {
        let row = rows.row(key);
        for vector in 0..whole {
            let to = vector / 2 * strip + (key * 2 + vector % 2) * lanes;
            // SAFETY: the row holds vector `vector`; the strips hold two vectors for each key of a tile.
            unsafe {
                let x = T::load_at(isa, row.as_ptr().add(vector * lanes));
                isa.store_at(x, strips.as_mut_ptr().add(to));
            }
        }
        if rest > 0 {
            let to = whole / 2 * strip + (key * 2 + whole % 2) * lanes;
            isa.store(T::load_first(isa, &row[whole * lanes..]), &mut strips[to..]);
        }
    }
}

/// Whether the strips of `count` keys and `width` columns hold neither an infinity nor a NaN.
#[inline(always)]
fn strips_are_finite<A: Real, S: Float<A>>(isa: S, strips: &[A], count: usize, width: usize) -> bool {
    let step = 2 * S::LANES;
    for column in (0..width).step_by(step) {
        let columns = if width - column < step { width - column } else { step };
        let strip = &strips[column * TILE_KEYS..][..TILE_KEYS * step];
        if !all_finite(isa, Rows::spaced(strip, step, columns), count) {
            return false;
        }
    }
    true
}
