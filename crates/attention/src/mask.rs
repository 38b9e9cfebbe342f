//! Which keys a query sees. All restrictions combine by *and*.

use crate::{AttentionError, Sizes};
use spanwise_kernels::View;
use std::fmt;
use std::ops::Range;

/// Which diagonal causal masks and windows follow where queries and keys differ in number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alignment {
    /// Query `i` stands at key `i`: the first query beside the first key.
    TopLeft,
    /// Query `i` stands at key `i + M − N`: the last query beside the last key.
    BottomRight,
}

impl Alignment {
    /// How far the diagonal is shifted to the right.
    pub fn offset(self, queries: usize, keys: usize) -> i64 {
        match self {
            Alignment::TopLeft => 0,
            Alignment::BottomRight => keys as i64 - queries as i64,
        }
    }
}

impl fmt::Display for Alignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Alignment::TopLeft => "top-left",
            Alignment::BottomRight => "bottom-right",
        })
    }
}

/// No query sees a key beyond its own place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Causal {
    /// As many queries as keys, so that both alignments agree; anything else is refused.
    Square,
    /// Causal along a named diagonal.
    Aligned(Alignment),
}

/// A query sees only keys near its own place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// How many keys before its place a query sees; `None` for all.
    pub left: Option<usize>,
    /// How many keys after its place a query sees; `None` for all.
    pub right: Option<usize>,
    /// The diagonal. `None` follows causal, if given, and otherwise needs as many queries as keys.
    pub alignment: Option<Alignment>,
}

/// A coarse boolean mask: one entry for each block of queries × keys.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a> {
    /// Queries per block.
    pub rows: usize,
    /// Keys per block.
    pub cols: usize,
    /// `true` keeps; broadcasts to `(B, H, ⌈N/rows⌉, ⌈M/cols⌉)`.
    pub keep: View<'a, bool>,
}

/// The restrictions of one problem, checked, with every diagonal resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visibility<'a> {
    /// `(B, H, N, M)`.
    pub(crate) mask: Option<View<'a, bool>>,
    /// With `keep` of shape `(B, H, ⌈N/rows⌉, ⌈M/cols⌉)`.
    pub(crate) blocks: Option<Blocks<'a>>,
    /// Keys per batch entry, `(B,)`.
    pub(crate) lengths: Option<&'a [usize]>,
    /// The lowest and the highest key a query at place `p` sees, relative to `p`.
    pub(crate) left: Option<i64>,
    pub(crate) right: Option<i64>,
    /// Query `i` stands at place `i + offset`.
    pub(crate) offset: i64,
}

impl Visibility<'_> {
    /// The keys among the first `keys` that causal, window and lengths leave to query `i` of batch entry `b`.
    pub(crate) fn range(&self, keys: usize, b: usize, i: usize) -> Range<usize> {
        let keys = self.lengths.map_or(keys, |lengths| lengths.get(b).copied().unwrap_or(0)) as i64;
        let place = i64::try_from(i).unwrap_or(i64::MAX).saturating_add(self.offset);
        let start = self.left.map_or(0, |left| place.saturating_sub(left).clamp(0, keys));
        let end =
            self.right.map_or(keys, |right| place.saturating_add(right).saturating_add(1).clamp(0, keys));
        if start < end { start as usize..end as usize } else { 0..0 }
    }

    /// Whether query `i` of head `h` in batch entry `b` sees key `j`.
    pub(crate) fn keeps(&self, b: usize, h: usize, i: usize, j: usize) -> bool {
        let place = i as i64 + self.offset;
        let key = j as i64;
        self.left.is_none_or(|left| key >= place - left)
            && self.right.is_none_or(|right| key <= place + right)
            && self.lengths.is_none_or(|lengths| j < lengths[b])
            && self.mask.is_none_or(|mask| mask.get(&[b, h, i, j]) == Some(true))
            && self
                .blocks
                .is_none_or(|blocks| blocks.keep.get(&[b, h, i / blocks.rows, j / blocks.cols]) == Some(true))
    }
}

/// The diagonal that causal and window share.
pub(crate) fn resolve_alignment(
    causal: Option<Causal>,
    window: Option<Window>,
    sizes: &Sizes,
) -> Result<Alignment, AttentionError> {
    let square = sizes.n == sizes.m;
    let ambiguous = |argument| AttentionError::Alignment { argument, queries: sizes.n, keys: sizes.m };
    let of_window = window.and_then(|w| w.alignment);
    match (causal, of_window) {
        (Some(Causal::Square), _) if !square => Err(ambiguous("causal")),
        (Some(Causal::Aligned(causal)), Some(window)) if causal != window && !square => {
            Err(AttentionError::Diagonals { causal, window })
        }
        (Some(Causal::Aligned(alignment)), _) | (_, Some(alignment)) => Ok(alignment),
        (None, None) if window.is_some() && !square => Err(ambiguous("window")),
        // Square, or nothing that follows a diagonal: both alignments are the same.
        _ => Ok(Alignment::TopLeft),
    }
}
