//! Cutting a problem into blocks of query rows, and finding the tiles of keys each block sees.
//!
//! The query heads of one group share their keys, so the rows of a group are numbered `h·N + i` across its heads and
//! cut into blocks of about equal size. Every cut depends on the shape alone, never on the number of threads.

use crate::{Problem, Sizes};
use spanwise_kernels::View;
use spanwise_kernels::attention::{Alibi, Block, Part, Pattern, Span, Storage, TILE_KEYS, Tile};
use spanwise_kernels::simd::Isa;
use std::cmp::Reverse;
use std::ops::Range;

/// Query rows to a block: whole register tiles on every instruction set.
const BLOCK_ROWS: usize = 64;
/// From so many rows on a block is twice as large, and each tile of values is copied half as often.
const LARGE_FROM: usize = 512;
/// Where so many blocks are left for threads to share, blocks are as large as the second cache allows.
const ENOUGH_BLOCKS: usize = 16;
/// One block alone is halved from so many products on, for two threads to share; into multiples of so many rows, whole panels on every
/// instruction set.
const WORTH_HALVING: usize = 1 << 20;
const HALVED_TO: usize = 16;
/// A block has so few rows that what is noted and kept about them fits into this many bytes.
const NOTED_BYTES: usize = 32 << 20;
/// The largest blocks are for rows about which no more than this is noted and kept in all: threads keep memory for that, and more would
/// leave the caches before it is used.
const NOTED_IN_CACHE: usize = 4 << 20;
/// Sums over rows (received mass, maps) are formed by at most so many items of a group.
const ITEMS_PER_GROUP: usize = 16;

/// One piece of work: consecutive blocks of one group of heads.
pub(crate) struct Item {
    pub(crate) batch: usize,
    pub(crate) group: usize,
    /// All its rows, within the group.
    pub(crate) rows: Range<usize>,
    /// Rows to a block.
    pub(crate) size: usize,
}

impl Item {
    /// Rows that are computed together, within the group.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (Range { start, end }, size) = (self.rows.clone(), self.size);
        (start..end).step_by(size).map(move |first| first..(first + size).min(end))
    }

    /// The query heads the item's rows belong to.
    pub(crate) fn heads(&self, sizes: &Sizes) -> Range<usize> {
        let (rows, first) = (&self.rows, self.group * (sizes.h / sizes.g));
        first + rows.start / sizes.n..first + (rows.end - 1) / sizes.n + 1
    }
}

/// What decides the cuts.
pub(crate) struct Cut {
    /// Rows to the largest block.
    pub(crate) most_rows: usize,
    /// Bytes that are noted and kept about each row.
    pub(crate) row_bytes: usize,
    /// Sums over the rows of a head are formed.
    pub(crate) summed: bool,
}

/// Rows to a block whose scores with a tile of keys, queries and sums stay in the second cache: processors with AVX-512 have 1 MiB and
/// more of it, others as little as 256 KiB.
pub(crate) fn most_rows(isa: Isa) -> usize {
    if isa.has_avx512() { 4 * BLOCK_ROWS } else { 2 * BLOCK_ROWS }
}

/// All work of a problem, in the order of its rows.
pub(crate) fn items(sizes: &Sizes, cut: &Cut) -> Vec<Item> {
    if sizes.b == 0 || sizes.h == 0 || sizes.n == 0 {
        return Vec::new();
    }
    let rows = sizes.h / sizes.g * sizes.n;
    let mut size = block_size(sizes.b * sizes.g, rows, cut);
    if sizes.b * sizes.g == 1 && rows <= size && rows * sizes.m * (sizes.d + sizes.e) >= WORTH_HALVING {
        size = rows.div_ceil(2).next_multiple_of(HALVED_TO).min(size);
    }
    let per_item = if cut.summed {
        let items = (4 * ITEMS_PER_GROUP).div_ceil(sizes.b * sizes.g).clamp(1, ITEMS_PER_GROUP);
        rows.div_ceil(size).div_ceil(items) * size
    } else {
        size
    };
    let mut items = Vec::with_capacity(sizes.b * sizes.g * rows.div_ceil(per_item));
    for batch in 0..sizes.b {
        for group in 0..sizes.g {
            let starts = (0..rows).step_by(per_item);
            items.extend(starts.map(|first| {
                let rows = first..(first + per_item).min(rows);
                Item { batch, group, rows, size }
            }));
        }
    }
    items
}

/// How many rows to a block, so that the `rows` of each of some groups are cut into blocks of about equal size.
fn block_size(groups: usize, rows: usize, cut: &Cut) -> usize {
    let worth_it = cut.row_bytes * cut.most_rows <= NOTED_IN_CACHE;
    let usual = if worth_it && groups * rows >= ENOUGH_BLOCKS * cut.most_rows {
        cut.most_rows
    } else if rows >= LARGE_FROM {
        2 * BLOCK_ROWS
    } else {
        BLOCK_ROWS
    };
    let fitting = NOTED_BYTES / cut.row_bytes.max(1);
    let most = (fitting - fitting % 16).clamp(16, usual);
    rows.div_ceil(rows.div_ceil(most)).next_multiple_of(8).min(most)
}

/// The order in which items are begun, from what each weighs: head by head, whose keys then stay in cache, the heaviest of a head first; but
/// the lightest of all, an eighth of the work, at the end, so that threads end together.
pub(crate) fn order(items: &[Item], weights: &[usize]) -> Vec<usize> {
    let mut light: Vec<usize> = (0..items.len()).collect();
    light.sort_by_key(|&at| (weights[at], Reverse(at)));
    let mut left = weights.iter().sum::<usize>() / 8;
    let count = light
        .iter()
        .take_while(|&&at| {
            let fits = weights[at] <= left;
            left = left.saturating_sub(weights[at]);
            fits
        })
        .count();
    let mut all = light.split_off(count);
    all.sort_by_key(|&at| (items[at].batch, items[at].group, Reverse(weights[at]), at));
    all.extend(light.into_iter().rev());
    all
}

/// The rows of one block, in the kernel's terms.
pub(crate) struct Layout<'a, T> {
    pub(crate) parts: Vec<Part<'a, T>>,
    pub(crate) spans: Vec<Span>,
    pub(crate) tiles: Vec<Tile>,
}

impl<'a, T: Storage> Layout<'a, T> {
    /// Of no rows.
    pub(crate) const fn empty() -> Self {
        Layout { parts: Vec::new(), spans: Vec::new(), tiles: Vec::new() }
    }

    pub(crate) fn new(problem: &Problem<'a, T>, item: &Item, rows: Range<usize>) -> Self {
        let mut layout = Layout::of_rows(problem, item, rows);
        layout.find_tiles();
        layout
    }

    /// Without the tiles.
    pub(crate) fn of_rows(problem: &Problem<'a, T>, item: &Item, rows: Range<usize>) -> Self {
        let mut layout = Layout::empty();
        layout.lay(problem, item, rows);
        layout
    }

    /// Other rows, in the same memory, without the tiles.
    pub(crate) fn lay(&mut self, problem: &Problem<'a, T>, item: &Item, rows: Range<usize>) {
        let Layout { parts, spans, tiles } = self;
        lay_parts(problem, item, rows, parts);
        spans.clear();
        for part in parts {
            spans.extend((part.first..part.first + part.count).map(|i| span(problem, item.batch, i)));
        }
        tiles.clear();
    }

    /// The tiles that some row sees.
    pub(crate) fn find_tiles(&mut self) {
        find_tiles(&self.parts, &self.spans, &mut self.tiles);
    }

    /// All of it, with the keys and values of the group.
    pub(crate) fn block<'l>(&'l self, problem: &Problem<'a, T>, item: &Item) -> Block<'l, T> {
        Block {
            keys: problem.k.table(item.batch, item.group),
            values: problem.v.table(item.batch, item.group),
            parts: &self.parts,
            spans: &self.spans,
            tiles: &self.tiles,
            scale: problem.scale,
            softcap: problem.softcap,
        }
    }
}

/// The keys that causal, window and lengths leave to query `i` of batch entry `b`.
pub(crate) fn span<T>(problem: &Problem<'_, T>, b: usize, i: usize) -> Span {
    let Range { start, end } = problem.visibility.range(problem.sizes.m, b, i);
    Span { start, end }
}

fn lay_parts<'a, T: Storage>(
    problem: &Problem<'a, T>,
    item: &Item,
    rows: Range<usize>,
    parts: &mut Vec<Part<'a, T>>,
) {
    let Sizes { h, g, n, .. } = problem.sizes;
    parts.clear();
    let mut row = rows.start;
    while row < rows.end {
        let (head, first) = (item.group * (h / g) + row / n, row % n);
        let count = (n - first).min(rows.end - row);
        let b = item.batch;
        parts.push(Part {
            row: row - rows.start,
            first,
            count,
            queries: matrix(&problem.q, b, head),
            bias: problem.bias.map(|bias| matrix(&bias, b, head)),
            mask: problem.visibility.mask.map(|mask| matrix(&mask, b, head)),
            pattern: problem.visibility.blocks.map(|blocks| Pattern {
                rows: blocks.rows,
                cols: blocks.cols,
                keep: matrix(&blocks.keep, b, head),
            }),
            alibi: problem.alibi.map(|(slopes, offset)| Alibi { slope: slopes[head], offset }),
            sink: problem.sinks.map(|sinks| sinks[head]),
            dropping: problem.dropping(b, head),
        });
        row += count;
    }
}

/// The matrix of batch entry `b` and head `h`.
pub(crate) fn matrix<'a, U: Copy>(view: &View<'a, U>, b: usize, h: usize) -> View<'a, U> {
    view.at(b).and_then(|view| view.at(h)).expect("the problem has checked the shapes")
}

/// What a coarse or a boolean mask says about a piece of the scores.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Nothing,
    Everything,
    Some,
}

impl Seen {
    fn of(kept: usize, all: usize) -> Seen {
        match kept {
            0 => Seen::Nothing,
            _ if kept == all => Seen::Everything,
            _ => Seen::Some,
        }
    }

    /// Of two pieces side by side.
    fn beside(self, other: Seen) -> Seen {
        if self == other { self } else { Seen::Some }
    }

    /// Of two masks on the same piece.
    fn and(self, other: Seen) -> Seen {
        match (self, other) {
            (Seen::Nothing, _) | (_, Seen::Nothing) => Seen::Nothing,
            (Seen::Everything, Seen::Everything) => Seen::Everything,
            _ => Seen::Some,
        }
    }
}

/// The tiles some row sees, and whether bias and masks have to be looked at there.
fn find_tiles<T: Storage>(parts: &[Part<'_, T>], spans: &[Span], tiles: &mut Vec<Tile>) {
    let hull = spans.iter().fold(Span { start: 0, end: 0 }, |hull, &span| hull.hull(span));
    let biased = parts.iter().any(|part| part.bias.is_some());
    let mut start = hull.start / TILE_KEYS * TILE_KEYS;
    while start < hull.end {
        let end = (start + TILE_KEYS).min(hull.end);
        let keys = start.max(hull.start)..end;
        let seen = parts.iter().map(|part| seen(part, keys.clone())).reduce(Seen::beside);
        match seen {
            None | Some(Seen::Nothing) => {}
            Some(seen) => tiles.push(Tile { start, end, dense: biased || seen == Seen::Some }),
        }
        start += TILE_KEYS;
    }
}

fn seen<T>(part: &Part<'_, T>, keys: Range<usize>) -> Seen {
    let queries = part.first..part.first + part.count;
    let coarse = part.pattern.map_or(Seen::Everything, |pattern| {
        let rows = queries.start / pattern.rows..(queries.end - 1) / pattern.rows + 1;
        let cols = keys.start / pattern.cols..(keys.end - 1) / pattern.cols + 1;
        look(&pattern.keep, rows, cols)
    });
    if coarse == Seen::Nothing {
        return coarse;
    }
    coarse.and(part.mask.map_or(Seen::Everything, |mask| look(&mask, queries, keys)))
}

/// What a piece of a boolean matrix holds. Stops where it has seen both.
fn look(mask: &View<'_, bool>, rows: Range<usize>, cols: Range<usize>) -> Seen {
    // All rows are the same one where the mask is broadcast along the queries.
    let rows = if mask.strides()[0] == 0 { rows.start..rows.start + 1 } else { rows };
    let mut all = None;
    for row in rows {
        let kept = match mask.row(&[row]) {
            // Adding up bytes, a few at a time, is something the compiler can do in vectors.
            Some(line) => line[cols.clone()]
                .chunks(128)
                .map(|bits| usize::from(bits.iter().fold(0u8, |sum, &bit| sum + u8::from(bit))))
                .sum(),
            None => cols.clone().filter(|&col| mask.get(&[row, col]) == Some(true)).count(),
        };
        let seen = Seen::of(kept, cols.len());
        let both = all.map_or(seen, |all: Seen| all.beside(seen));
        if both == Seen::Some {
            return both;
        }
        all = Some(both);
    }
    all.unwrap_or(Seen::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of each item of one batch entry or several.
    fn rows(b: usize, n: usize, m: usize, most_rows: usize) -> Vec<usize> {
        let sizes = Sizes { b, h: 1, g: 1, n, m, d: 64, e: 64 };
        let cut = Cut { most_rows, row_bytes: 0, summed: false };
        items(&sizes, &cut).iter().map(|item| item.rows.len()).collect()
    }

    #[test]
    fn one_block_alone_is_halved_where_that_is_worth_it() {
        assert_eq!(rows(1, 32, 2048, 128), [16, 16]);
        assert_eq!(rows(1, 50, 2048, 128), [32, 18]);
        assert_eq!(rows(1, 7, 2048, 128), [7]);
        assert_eq!(rows(1, 32, 32, 128), [32]);
        assert_eq!(rows(2, 32, 2048, 128), [32, 32]);
    }

    #[test]
    fn items_are_begun_head_by_head_and_the_lightest_come_last() {
        let item = |group, first| Item { batch: 0, group, rows: first..first + 64, size: 64 };
        let items: Vec<Item> =
            [0, 1, 2].into_iter().flat_map(|group| [item(group, 0), item(group, 64)]).collect();
        assert_eq!(order(&items, &[1, 3, 1, 3, 1, 3]), [1, 0, 3, 2, 5, 4]);
        assert_eq!(order(&items, &[1, 9, 1, 9, 1, 9]), [1, 3, 5, 0, 2, 4]);
        assert_eq!(order(&items, &[9; 6]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(order(&[], &[]), [0; 0]);
    }

    #[test]
    fn blocks_are_large_where_enough_of_them_are_left() {
        assert_eq!(rows(1, 4096, 64, 256), [256; 16]);
        assert_eq!(rows(1, 2048, 64, 256), [128; 16]);
        assert_eq!(rows(1, 500, 64, 256), [64, 64, 64, 64, 64, 64, 64, 52]);
        assert_eq!(rows(32, 128, 64, 256), [128; 32]);
        assert_eq!(rows(3, 128, 64, 256), [64; 6]);
        // Unless too much is kept about their rows.
        for (m, expected) in [(2048, 256), (8192, 128)] {
            let sizes = Sizes { b: 1, h: 1, g: 1, n: 4096, m, d: 64, e: 64 };
            let kept = Cut { most_rows: 256, row_bytes: 4 * m, summed: false };
            assert!(items(&sizes, &kept).iter().all(|item| item.rows.len() == expected));
        }
    }
}
