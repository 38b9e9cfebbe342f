//! Few query rows against many keys, or any rows against few keys. The former are bound by memory, so each key and each value is read once.
//!
//! ```text
//! s = scores of the first chunk of keys
//! for each chunk:
//!     soft cap, bias, ALiBi, masks                     masks and biases by vectors, the rest one by one
//!     m' = max(m, max s);  a = 2^(s − m');  l = l·2^(m − m') + Σa
//!     for each piece, in turn:
//!         s[row][key] = q[row]·k[key]                  of the next chunk; lanes along the width, LANES keys at a time
//!         o[row] = o[row]·2^(m − m') + Σ a[key]·v[key] of this one
//! ```
//!
//! Where the machine's own fetching ends with a page, memory is read fastest in two places in turn, keys and values, if lines a page
//! ahead are asked for in both. Elsewhere, and from a cache, loops that end rarely and ask for nothing are faster. While weights
//! are formed nothing is read, so chunks are long. The values of a chunk are added up before they are added to the sums so far; how
//! the chunk is cut into pieces does not change a bit of them.
//!
//! Keys and values that are stored in fewer bits are widened in registers: what is read is what is stored. Where bf16 come as even and
//! odd halves of words, queries are parted into halves first and outputs joined last.
//!
//! The result is not divided by `l`, so that runs of keys computed apart can be put together: [`Run::merge`].

use super::TILE_KEYS;
use super::add::{HIDDEN, TOGETHER, add_values, one_by_one};
use super::dense::adjust_row;
use super::exp::exp2;
use super::part::{Block, Span};
use super::rows::Rows;
use super::run::Run;
use super::scratch::Scratch;
use super::storage::{Storage, widen_row};
use super::table::Table;
use crate::Element;
use crate::simd::{Float, FloatKernel, MOST_LANES, Real, Registers};
use std::f64::consts::LOG2_E;

/// Keys whose weights are formed at once.
const CHUNK: usize = 1024;
/// Keys, or values, that are read at once where they lie in one place: few enough that further queries find them in a cache.
const RUN: usize = 256;
/// Keys that are read at once where a chunk does not lie in one place; divides [`RUN`], which divides [`CHUNK`], and the pages of a cache.
const PIECE: usize = TOGETHER;
/// Keys, or values, that are read at once where memory is read in two places in turn, if values are added one after another; divides
/// [`PIECE`], and is a multiple of the lanes.
const TURN: usize = 16;
/// Sums of one product, so that they do not wait for each other.
const SUMS: usize = 4;
/// So few products are added up one by one, and not as a square.
const FEW: usize = 2;

/// Few rows over the keys of `keys`: a [`FloatKernel`] whose fields are its arguments. The block's tiles do not matter.
pub struct Rowwise<'a, 'b, T: Storage> {
    /// What to attend to.
    pub block: Block<'b, T>,
    /// Which keys.
    pub keys: Span,
    /// Whether keys and values come from memory that the processor does not fetch by itself.
    pub far: bool,
    /// Where to work.
    pub scratch: &'a mut Scratch<T::Real>,
}

impl<T: Storage> FloatKernel<T::Real> for Rowwise<'_, '_, T> {
    type Output = Run<T::Real>;

    #[inline(always)]
    fn run<S: Float<T::Real>>(self, isa: S) -> Run<T::Real> {
        // Columns are in the order of `Storage::load_two_at` until the end, however keys and values lie: the same sums are formed of
        // a view, of pages and of one array.
        let Rowwise { block, keys, far, scratch } = self;
        let (rows, depth, width) = (block.spans.len(), block.keys.width(), block.values.width());
        let mut run = scratch.run(rows, width);
        let scale = T::Real::from_f64(block.factor());
        let queries = scratch.wide.queries.reserve(rows * depth);
        for (row, to) in queries.chunks_exact_mut(depth).enumerate() {
            let (part, query) = block.query(row);
            widen_row(&part.queries, query, 0, to);
            for x in &mut *to {
                *x = *x * scale;
            }
            if T::in_halves::<S>() {
                part_halves::<T::Real, S>(to);
            }
        }
        // How far apart the scores of two rows are: whole vectors.
        let stride = block.keys.rows().next_multiple_of(MOST_LANES).min(CHUNK);
        let (mut scores, mut next) =
            scratch.room.scores.reserve(2 * rows * stride).split_at_mut(rows * stride);
        let (packed, sums) = scratch
            .wide
            .packed
            .reserve(PIECE * depth.max(width) + rows * width)
            .split_at_mut(PIECE * depth.max(width));
        let seen =
            block.spans.iter().fold(Span { start: 0, end: 0 }, |hull, &span| hull.hull(span)).common(keys);
        let turn = if one_by_one::<T::Real, S>(width) { TURN } else { PIECE };
        let reading = Reading { far, turn };
        let mut chunk = chunk_from(seen.start, seen);
        for piece in reading.pieces(&block.keys, chunk) {
            let scores = &mut scores[piece.start - chunk.start..];
            score::<T, S>(isa, (&block.keys, piece, far), queries, packed, (scores, stride));
        }
        while !chunk.is_empty() {
            for row in 0..rows {
                let scores = &mut scores[row * stride..][..chunk.len().next_multiple_of(S::LANES)];
                adjust(isa, &block, row, chunk.start, &mut scores[..chunk.len()]);
                // Whole vectors: what is behind the last key weighs nothing.
                scores[chunk.len()..].fill(T::Real::NEG_INFINITY);
                let out = &mut run.out[row * width..][..width];
                weigh(isa, scores, [&mut run.max[row], &mut run.sum[row]], out);
                drop_out(&block, row, chunk.start, &mut scores[..chunk.len()]);
            }
            sums.fill(T::Real::ZERO);
            let after = chunk_from(chunk.end, seen);
            let mut keys = reading.pieces(&block.keys, after);
            let mut values = reading.pieces(&block.values, chunk);
            // A piece of the next keys, a piece of these values, in turn; then what is left of either.
            loop {
                let (key_piece, value_piece) = (keys.next(), values.next());
                if let Some(piece) = key_piece {
                    let scores = &mut next[piece.start - after.start..];
                    score::<T, S>(isa, (&block.keys, piece, far), queries, packed, (scores, stride));
                }
                if let Some(piece) = value_piece {
                    let weights = &scores[piece.start - chunk.start..];
                    add_piece::<T, S>(isa, (&block.values, piece, far), (weights, stride), packed, sums);
                }
                if key_piece.is_none() && value_piece.is_none() {
                    break;
                }
            }
            for (o, &sum) in run.out.iter_mut().zip(&*sums) {
                *o += sum;
            }
            (chunk, scores, next) = (after, next, scores);
        }
        if T::in_halves::<S>() && width > 0 {
            for out in run.out.chunks_exact_mut(width) {
                join_halves::<T::Real, S>(out);
            }
        }
        run
    }
}

/// From the order of numbers to that of [`Storage::load_two_at`] in halves: of each two vectors the even places first.
#[inline(always)]
fn part_halves<A: Real, S: Float<A>>(line: &mut [A]) {
    let mut halves = [A::ZERO; 2 * MOST_LANES];
    for two in line.chunks_exact_mut(2 * S::LANES) {
        for at in 0..2 * S::LANES {
            halves[at % 2 * S::LANES + at / 2] = two[at];
        }
        two.copy_from_slice(&halves[..2 * S::LANES]);
    }
}

/// The inverse of [`part_halves`].
#[inline(always)]
fn join_halves<A: Real, S: Float<A>>(line: &mut [A]) {
    let mut joined = [A::ZERO; 2 * MOST_LANES];
    for two in line.chunks_exact_mut(2 * S::LANES) {
        for at in 0..2 * S::LANES {
            joined[at] = two[at % 2 * S::LANES + at / 2];
        }
        two.copy_from_slice(&joined[..2 * S::LANES]);
    }
}

/// The chunk of keys that begins with `start`. Chunks and pieces end at multiples of their size, so that no piece straddles two
/// pages of a cache.
#[inline(always)]
fn chunk_from(start: usize, seen: Span) -> Span {
    Span { start, end: seen.end.min((start / CHUNK + 1) * CHUNK).max(start) }
}

/// How keys and values are read.
#[derive(Clone, Copy)]
struct Reading {
    /// From memory that has to be asked for: in two places in turn.
    far: bool,
    /// Keys to a turn.
    turn: usize,
}

impl Reading {
    /// A chunk of keys or values, piece by piece.
    #[inline(always)]
    fn pieces<T: Storage>(self, table: &Table<'_, T>, chunk: Span) -> impl Iterator<Item = Span> {
        let pieces = |size: usize| {
            let last = if chunk.is_empty() { chunk.start / size } else { chunk.end.div_ceil(size) };
            (chunk.start / size..last)
                .map(move |at| Span { start: at * size, end: (at + 1) * size }.common(chunk))
        };
        // A chunk that begins elsewhere is cut where pages are, so that keys are grouped alike.
        pieces(match chunk.start.is_multiple_of(PIECE) {
            true if self.far => self.turn,
            true if pieces(RUN).all(|run| Rows::lying(table, [run.start, run.end]).is_some()) => RUN,
            _ => PIECE,
        })
    }
}

/// `s[row][key] = q[row]·k[key]` for the keys of a piece, which are widened on the way; `packed` is for those that do not lie
/// in rows.
#[inline(always)]
fn score<T: Storage, S: Float<T::Real>>(
    isa: S,
    (keys, piece, mut far): (&Table<'_, T>, Span, bool),
    queries: &[T::Real],
    packed: &mut [T::Real],
    (scores, stride): (&mut [T::Real], usize),
) {
    let (range, count) = ([piece.start, piece.end], piece.len());
    let rows = queries.chunks_exact(keys.width()).zip(scores.chunks_mut(stride));
    if let Some(lying) = Rows::lying(keys, range) {
        for (query, scores) in rows {
            dots::<T, S>(isa, query, lying, far, &mut scores[..count]);
            // The next query finds them in a cache.
            far = false;
        }
    } else {
        pack::<T, S>(isa, keys, piece, packed);
        for (query, scores) in rows {
            let keys = Rows::gapless(packed, keys.width());
            dots(isa, query, keys, false, &mut scores[..count]);
        }
    }
}

/// `s[row] += Σ a[row][key]·v[key]` for the keys of a piece.
#[inline(always)]
fn add_piece<T: Storage, S: Float<T::Real>>(
    isa: S,
    (values, piece, mut far): (&Table<'_, T>, Span, bool),
    (weights, stride): (&[T::Real], usize),
    packed: &mut [T::Real],
    sums: &mut [T::Real],
) {
    let (range, count, width) = ([piece.start, piece.end], piece.len(), values.width());
    let rows = sums.chunks_exact_mut(width.max(1)).zip(weights.chunks(stride));
    if let Some(lying) = Rows::lying(values, range) {
        for (sums, weights) in rows {
            add_values::<T, S>(isa, &weights[..count], lying, far, sums);
            far = false;
        }
    } else {
        pack::<T, S>(isa, values, piece, packed);
        for (sums, weights) in rows {
            let values = Rows::gapless(packed, width);
            add_values(isa, &weights[..count], values, false, sums);
        }
    }
}

/// Rows that do not lie without gaps, widened into `packed`, in the order in which lying ones are loaded.
#[inline(always)]
fn pack<T: Storage, S: Float<T::Real>>(isa: S, table: &Table<'_, T>, piece: Span, packed: &mut [T::Real]) {
    let width = table.width();
    table.widen_rows(isa, [piece.start, piece.end], width, packed);
    if T::in_halves::<S>() {
        for row in 0..piece.len() {
            part_halves::<T::Real, S>(&mut packed[row * width..][..width]);
        }
    }
}

/// `s[key] = q·k[key]`. One key after another, so that memory is read from front to back; if the keys are far, later ones are asked
/// for in between.
#[inline(always)]
fn dots<T: Storage, S: Float<T::Real>>(
    isa: S,
    query: &[T::Real],
    keys: Rows<'_, T>,
    far: bool,
    scores: &mut [T::Real],
) {
    let zero = isa.splat(T::Real::ZERO);
    for (group, scores) in scores.chunks_mut(S::LANES).enumerate() {
        let keys = keys.from(group * S::LANES);
        if scores.len() == S::LANES {
            let many = S::REGISTERS == Registers::ThirtyTwo && query.len() % S::LANES == 0;
            let own = match query.len() / S::LANES {
                4 if many => dots_of::<T, S, 4>(isa, query, keys, far),
                8 if many => dots_of::<T, S, 8>(isa, query, keys, far),
                16 if many => dots_of::<T, S, 16>(isa, query, keys, far),
                _ => {
                    let mut sums = isa.square(zero);
                    // A number the compiler knows, so that the square stays in registers.
                    for i in 0..S::LANES {
                        if far {
                            keys.ask(i, 0, query.len());
                        }
                        sums.as_mut()[i] = dot::<T, S>(isa, query, keys.row(i));
                    }
                    isa.row_sums(sums)
                }
            };
            isa.store(own, scores);
        } else if scores.len() <= FEW {
            for i in 0..scores.len() {
                scores[i] = isa.sum(dot::<T, S>(isa, query, keys.row(i)));
            }
        } else {
            let mut sums = isa.square(zero);
            for i in 0..scores.len() {
                sums.as_mut()[i] = dot::<T, S>(isa, query, keys.row(i));
            }
            isa.store_first(isa.row_sums(sums), scores);
        }
    }
}

/// The same for LANES keys whose width is `C` vectors, an even number: as much of the query as there is room for stays in registers.
#[inline(always)]
fn dots_of<T: Storage, S: Float<T::Real>, const C: usize>(
    isa: S,
    query: &[T::Real],
    keys: Rows<'_, T>,
    far: bool,
) -> S::Vector {
    // Decided here, not for each key, so that the square stays in registers.
    if far {
        dots_asking::<T, S, C, true>(isa, query, keys)
    } else {
        dots_asking::<T, S, C, false>(isa, query, keys)
    }
}

#[inline(always)]
fn dots_asking<T: Storage, S: Float<T::Real>, const C: usize, const ASK: bool>(
    isa: S,
    query: &[T::Real],
    keys: Rows<'_, T>,
) -> S::Vector {
    assert!(keys.width() == C * S::LANES);
    let mut q = [isa.splat(T::Real::ZERO); C];
    for c in 0..C {
        q[c] = isa.load(&query[c * S::LANES..]);
    }
    let mut square = isa.square(q[0]);
    let (first, stride) = (keys.first_of(S::LANES), keys.stride());
    for i in 0..S::LANES {
        if ASK {
            keys.ask(i, 0, C * S::LANES);
        }
        // SAFETY: the rows lie within the data, and each holds C vectors. One sum, so that they are read from front to back.
        unsafe {
            let key = first.offset(i as isize * stride);
            let [x, y] = T::load_two_at(isa, key);
            let mut sum = isa.mul_add(y, q[1], isa.mul(x, q[0]));
            for c in (2..C).step_by(2) {
                let [x, y] = T::load_two_at(isa, key.add(c * S::LANES));
                sum = isa.mul_add(y, q[c + 1], isa.mul_add(x, q[c], sum));
            }
            square.as_mut()[i] = sum;
        }
    }
    isa.row_sums(square)
}

/// Vectors whose lanes add up to `q·k`; the query is in the order of [`Storage::load_two_at`].
#[inline(always)]
pub(super) fn dot<T: Storage, S: Float<T::Real>>(isa: S, query: &[T::Real], key: &[T]) -> S::Vector {
    let (lanes, key) = (S::LANES, &key[..query.len()]);
    if query.len() == lanes {
        // SAFETY: both hold a vector.
        return unsafe { isa.mul(T::load_at(isa, key.as_ptr()), isa.load_at(query.as_ptr())) };
    }
    let mut sums = [isa.splat(T::Real::ZERO); SUMS];
    let mut c = 0;
    // SAFETY: query and key hold all vectors up to the one that is compared with their length.
    unsafe {
        let (q, k) = (query.as_ptr(), key.as_ptr());
        while c + SUMS * lanes <= query.len() {
            for i in 0..SUMS / 2 {
                let at = c + 2 * i * lanes;
                let [x, y] = T::load_two_at(isa, k.add(at));
                sums[2 * i] = isa.mul_add(x, isa.load_at(q.add(at)), sums[2 * i]);
                sums[2 * i + 1] = isa.mul_add(y, isa.load_at(q.add(at + lanes)), sums[2 * i + 1]);
            }
            c += SUMS * lanes;
        }
        if c + 2 * lanes <= query.len() {
            let [x, y] = T::load_two_at(isa, k.add(c));
            sums[0] = isa.mul_add(x, isa.load_at(q.add(c)), sums[0]);
            sums[1] = isa.mul_add(y, isa.load_at(q.add(c + lanes)), sums[1]);
            c += 2 * lanes;
        }
        if c + lanes <= query.len() {
            sums[2] = isa.mul_add(T::load_at(isa, k.add(c)), isa.load_at(q.add(c)), sums[2]);
            c += lanes;
        }
    }
    if c < query.len() {
        sums[3] = isa.mul_add(T::load_first(isa, &key[c..]), isa.load_first(&query[c..]), sums[3]);
    }
    isa.add(isa.add(sums[0], sums[1]), isa.add(sums[2], sums[3]))
}

/// Soft cap, bias, `ALiBi` and masks, as far as they are asked for.
#[inline(always)]
fn adjust<T: Storage, S: Float<T::Real>>(
    isa: S,
    block: &Block<'_, T>,
    row: usize,
    first: usize,
    scores: &mut [T::Real],
) {
    let (part, query) = block.query(row);
    if let Some(cap) = block.softcap {
        for s in scores.iter_mut() {
            *s = T::Real::from_f64(s.to_f64().tanh() * cap * LOG2_E);
        }
    }
    for (i, scores) in scores.chunks_mut(TILE_KEYS).enumerate() {
        adjust_row(isa, block, row, first + i * TILE_KEYS, scores);
    }
    if let Some(alibi) = part.alibi {
        let slope = alibi.slope * LOG2_E;
        for (key, s) in (first..).zip(scores.iter_mut()) {
            let distance = (query as i64 + alibi.offset - key as i64).unsigned_abs() as f64;
            *s = T::Real::from_f64(s.to_f64() - slope * distance);
        }
    }
    let span = block.spans[row];
    let count = scores.len();
    scores[..span.start.saturating_sub(first).min(count)].fill(T::Real::NEG_INFINITY);
    scores[span.end.saturating_sub(first).min(count)..].fill(T::Real::NEG_INFINITY);
}

/// Scores to weights, with the maximum and the sum brought up to date.
#[inline(always)]
fn weigh<A: Real, S: Float<A>>(isa: S, scores: &mut [A], [max, sum]: [&mut A; 2], out: &mut [A]) {
    let top = largest(isa, *max, scores);
    if top == A::NEG_INFINITY && scores.iter().all(|&s| s == A::NEG_INFINITY) {
        scores.fill(A::from_f64(HIDDEN));
        return;
    }
    let base = if top > A::NEG_INFINITY { top } else { A::ZERO };
    // Before the first key there is nothing to scale.
    if base != *max && *max > A::NEG_INFINITY {
        let alpha = A::from_f64((*max - base).to_f64().exp2());
        for o in out {
            *o = *o * alpha;
        }
        *sum = *sum * alpha;
    }
    let (base, hidden) = (isa.splat(base), isa.splat(A::from_f64(HIDDEN)));
    let lowest = isa.splat(A::LOWEST);
    let mut total = isa.splat(A::ZERO);
    for s in scores.chunks_exact_mut(S::LANES) {
        let score = isa.load(s);
        let a = exp2(isa, isa.sub(score, base));
        total = isa.add(total, a);
        isa.store(isa.where_greater(lowest, score, hidden, a), s);
    }
    *sum += isa.sum(total);
    *max = top;
}

/// The largest of `max` and `scores`, whole vectors of them; those that are NaN do not count.
#[inline(always)]
fn largest<A: Real, S: Float<A>>(isa: S, max: A, scores: &[A]) -> A {
    let mut four = [isa.splat(max); 4];
    let mut fours = scores.chunks_exact(4 * S::LANES);
    for s in &mut fours {
        for i in 0..4 {
            let s = isa.load(&s[i * S::LANES..]);
            four[i] = isa.where_greater(s, four[i], s, four[i]);
        }
    }
    for s in fours.remainder().chunks_exact(S::LANES) {
        let s = isa.load(s);
        four[0] = isa.where_greater(s, four[0], s, four[0]);
    }
    let mut line = [max; MOST_LANES];
    isa.store(isa.max(isa.max(four[0], four[1]), isa.max(four[2], four[3])), &mut line);
    let mut top = max;
    for s in line {
        top = if s > top { s } else { top };
    }
    top
}

/// The weights that dropout takes become 0; what is hidden stays so.
#[inline(always)]
fn drop_out<T: Storage>(block: &Block<'_, T>, row: usize, first: usize, weights: &mut [T::Real]) {
    let (part, query) = block.query(row);
    let Some(dropping) = part.dropping else { return };
    let row = dropping.row(query);
    for i in 0..weights.len() {
        let hidden = weights[i] < T::Real::ZERO;
        if !hidden && dropping.drops(row, first + i) {
            weights[i] = T::Real::ZERO;
        }
    }
}
