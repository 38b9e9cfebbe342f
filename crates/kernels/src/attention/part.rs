//! What a block of query rows is made of.

use super::dropout::Dropping;
use super::rows::fetch;
use super::storage::{Storage, lying_row};
use super::table::Table;
use crate::View;
use crate::simd::{MOST_LANES, Real};
use std::f64::consts::LOG2_E;
use std::ops::Range;

/// Keys `start` to `end`, the latter not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first key.
    pub start: usize,
    /// Behind the last key.
    pub end: usize,
}

impl Span {
    /// How many keys.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// The smallest span that holds both.
    #[must_use]
    #[inline]
    pub fn hull(self, other: Span) -> Span {
        if self.is_empty() {
            other
        } else if other.is_empty() {
            self
        } else {
            Span { start: self.start.min(other.start), end: self.end.max(other.end) }
        }
    }

    /// What both hold.
    #[must_use]
    #[inline]
    pub fn common(self, other: Span) -> Span {
        Span { start: self.start.max(other.start), end: self.end.min(other.end) }
    }

    /// The part inside `tile`, counted from its start.
    #[inline]
    pub(super) fn within(self, tile: &Tile) -> Range<usize> {
        let span = self.common(Span { start: tile.start, end: tile.end });
        if span.is_empty() { 0..0 } else { span.start - tile.start..span.end - tile.start }
    }
}

/// A run of keys that some row of a block sees.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    /// The first key.
    pub start: usize,
    /// Behind the last key; at most [`super::TILE_KEYS`] behind the first.
    pub end: usize,
    /// Whether bias, mask and pattern have to be looked at.
    pub dense: bool,
}

/// A coarse boolean mask of one head: one entry for each `rows × cols` scores.
#[derive(Clone, Copy, Debug)]
pub struct Pattern<'a> {
    /// Queries to an entry.
    pub rows: usize,
    /// Keys to an entry.
    pub cols: usize,
    /// `true` keeps.
    pub keep: View<'a, bool>,
}

impl Pattern<'_> {
    /// Calls `hide` with each run of `keys`, counted from their first, that `query` does not see.
    #[inline(always)]
    pub(super) fn hide(&self, query: usize, keys: Range<usize>, mut hide: impl FnMut(Range<usize>)) {
        let mut key = keys.start;
        while key < keys.end {
            let next = (key - key % self.cols + self.cols).min(keys.end);
            if self.keep.get(&[query / self.rows, key / self.cols]) != Some(true) {
                hide(key - keys.start..next - keys.start);
            }
            key = next;
        }
    }
}

/// `−slope·|i + offset − j|` is added to the score of query `i` and key `j`.
#[derive(Clone, Copy, Debug)]
pub struct Alibi {
    /// The head's slope.
    pub slope: f64,
    /// Query `i` stands at place `i + offset`.
    pub offset: i64,
}

/// Consecutive queries of one head.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a, T> {
    /// The block's row that the first of them is.
    pub row: usize,
    /// The first query.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// All queries of the head, `(N, D)`.
    pub queries: View<'a, T>,
    /// `(N, M)`.
    pub bias: Option<View<'a, T>>,
    /// `(N, M)`; `true` keeps.
    pub mask: Option<View<'a, bool>>,
    /// A coarse mask.
    pub pattern: Option<Pattern<'a>>,
    /// A bias that falls with the distance.
    pub alibi: Option<Alibi>,
    /// A logit in the denominator that has no value.
    pub sink: Option<f64>,
    /// Which weights are dropped; all parts of a block have this, or none.
    pub dropping: Option<Dropping>,
}

/// A block of query rows with the keys and values of their group.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a, T> {
    /// `(M, D)`.
    pub keys: Table<'a, T>,
    /// `(M, E)`.
    pub values: Table<'a, T>,
    /// The rows, head by head.
    pub parts: &'a [Part<'a, T>],
    /// For each row the keys that causal, window and lengths leave it.
    pub spans: &'a [Span],
    /// The tiles some row sees, in order.
    pub tiles: &'a [Tile],
    /// The factor on `q·k`.
    pub scale: f64,
    /// Scores become `c·tanh(s/c)`.
    pub softcap: Option<f64>,
}

impl<'a, T: Storage> Block<'a, T> {
    /// What `q·k` is multiplied by: scores are in units of log₂, or over the soft cap where there is one.
    #[inline(always)]
    pub(super) fn factor(&self) -> f64 {
        self.scale * self.softcap.map_or(LOG2_E, f64::recip)
    }

    /// Whether weights are dropped.
    #[inline(always)]
    pub(super) fn drops(&self) -> bool {
        self.parts.iter().any(|part| part.dropping.is_some())
    }

    /// The part of `row`, and which query of it that is. Behind the last row the last row again.
    #[inline(always)]
    pub(super) fn query(&self, row: usize) -> (&Part<'a, T>, usize) {
        let row = row.min(self.spans.len() - 1);
        // A block has one part, or a few very short ones.
        let part = self.parts.iter().rev().find(|part| part.row <= row).unwrap_or(&self.parts[0]);
        (part, part.first + row - part.row)
    }

    /// The queries of the panel of `lanes` rows that begins at `row`, as they lie; `None` where one has gaps.
    #[inline(always)]
    pub(super) fn lying_queries(&self, row: usize, lanes: usize) -> Option<[&'a [T]; MOST_LANES]> {
        let mut rows = [&[][..]; MOST_LANES];
        for lane in 0..lanes {
            let (part, query) = self.query(row + lane);
            rows[lane] = lying_row(&part.queries, query)?;
        }
        Some(rows)
    }

    /// Asks for the queries of `count` rows from `row` on, which may be behind the last.
    #[inline(always)]
    pub(super) fn fetch_queries(&self, row: usize, count: usize) {
        for row in row..(row + count).min(self.spans.len()) {
            let (part, query) = self.query(row);
            if let Some(line) = lying_row(&part.queries, query) {
                fetch(line);
            }
        }
    }

    /// Whether `row` does not see `key`.
    pub(super) fn hides(&self, row: usize, key: usize) -> bool {
        let (part, query) = self.query(row);
        let span = self.spans[row];
        key < span.start
            || key >= span.end
            || part.mask.is_some_and(|mask| mask.get(&[query, key]) != Some(true))
            || part.pattern.is_some_and(|p| p.keep.get(&[query / p.rows, key / p.cols]) != Some(true))
            || part.bias.is_some_and(|bias| {
                bias.get(&[query, key]).is_none_or(|x| x.widen_one() == T::Real::NEG_INFINITY)
            })
    }
}
