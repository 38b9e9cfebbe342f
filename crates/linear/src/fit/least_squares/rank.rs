//! How many directions the terms span, and which of them do it.
//!
//! Each term is scaled to norm 1 *as given* (offset included): what is left of it outside the span of others is then a
//! fraction of its own size, and f64 data cannot say anything about fractions of a few u. The tolerance is the
//! one of every decision about rank, [`crate::measure::rank_tolerance_of`]; it does not depend on the number of rows.
//!
//! ```text
//!  rank     pivoted QR: always take the term with the most left; stop where that is below the tolerance
//!  which    in order: keep a term if enough of it is left outside the span of those kept before, so that the later
//!           columns are said to depend on the earlier ones; where that disagrees with the rank, the pivots decide
//! ```

use super::reduced::Reduced;
use crate::measure::rank_band;
use crate::small::Columns;

/// The rank of the terms, and how sure it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rank {
    /// Independent terms, the intercept among them.
    pub rank: usize,
    /// All terms: the features, and one for the intercept.
    pub terms: usize,
    /// A term of which no more than this fraction lies outside the span of the others is dependent.
    pub tolerance: f64,
    /// The smallest fraction, of a term that was kept, outside the span of those kept before.
    pub smallest_kept: f64,
    /// The largest such fraction of a term that was called dependent; 0 where there is none.
    pub largest_dropped: f64,
    /// The rank that the smallest tolerance of the band would give.
    pub rank_if_tighter: usize,
    /// The rank that the largest tolerance of the band would give.
    pub rank_if_looser: usize,
    /// The dependent features, by column number.
    pub dependent: Vec<usize>,
}

impl Rank {
    /// How far apart the kept and the dropped are: `smallest_kept / largest_dropped`, where nothing was dropped
    /// `smallest_kept / tolerance`.
    pub fn gap(&self) -> f64 {
        let below = if self.rank == self.terms { self.tolerance } else { self.largest_dropped };
        if below > 0.0 { self.smallest_kept / below } else { f64::INFINITY }
    }

    /// Whether all terms are independent.
    pub fn is_full(&self) -> bool {
        self.rank == self.terms
    }

    /// The band around the tolerance, [`rank_band`].
    pub fn band(&self) -> (f64, f64) {
        rank_band(self.tolerance)
    }

    /// Whether some tolerance of the band would change the rank.
    pub fn would_change(&self) -> bool {
        self.rank_if_tighter != self.rank || self.rank_if_looser != self.rank
    }
}

/// The rank, the terms that are kept, and those that are not.
pub(super) struct Decision {
    pub rank: Rank,
    pub kept: Vec<usize>,
    pub dropped: Vec<usize>,
}

/// All terms are independent beyond doubt, the weakest by `smallest`.
pub(super) fn full(reduced: &Reduced, tolerance: f64, smallest: f64) -> Decision {
    let terms = reduced.terms();
    let rank = Rank {
        rank: terms,
        terms,
        tolerance,
        smallest_kept: smallest,
        largest_dropped: 0.0,
        rank_if_tighter: terms,
        rank_if_looser: terms,
        dependent: Vec::new(),
    };
    Decision { rank, kept: (0..terms).collect(), dropped: Vec::new() }
}

/// Decides by pivoted QR of the triangle.
pub(super) fn decide(reduced: &Reduced, tolerance: f64) -> Decision {
    let k = reduced.terms();
    let pinned = usize::from(reduced.intercept && reduced.scales[0] > 0.0);
    let (order, pivots) = pivoted(&unit_columns(reduced), pinned);
    let rank_at = |tolerance: f64| pivots.iter().take_while(|&&p| p > tolerance).count();
    let rank = rank_at(tolerance);
    let (mut kept, mut fractions) = in_order(&unit_columns(reduced), tolerance);
    if kept.len() != rank {
        kept = order[..rank].to_vec();
        kept.sort_unstable();
        fractions = (0..k).map(|_| 0.0).collect();
        for (&j, &p) in order.iter().zip(&pivots) {
            fractions[j] = p;
        }
    }
    let dropped: Vec<usize> = (0..k).filter(|j| !kept.contains(j)).collect();
    let features = usize::from(reduced.intercept);
    let (low, high) = rank_band(tolerance);
    let report = Rank {
        rank,
        terms: k,
        tolerance,
        smallest_kept: kept.iter().map(|&j| fractions[j]).fold(f64::INFINITY, f64::min),
        largest_dropped: dropped.iter().map(|&j| fractions[j]).fold(0.0, f64::max),
        rank_if_tighter: rank_at(low),
        rank_if_looser: rank_at(high),
        dependent: dropped.iter().filter(|&&j| j >= features).map(|j| j - features).collect(),
    };
    Decision { rank: report, kept, dropped }
}

/// The triangle's columns, each in units of the norm its term has as given. The first row of a later column is not
/// part of what is left of it, so the shift does not matter.
fn unit_columns(reduced: &Reduced) -> Columns {
    let mut columns = Columns::of(&reduced.r, 0..reduced.terms());
    for (j, column) in columns.columns.iter_mut().enumerate() {
        let unit = if reduced.norms[j] > 0.0 { reduced.scales[j] / reduced.norms[j] } else { 0.0 };
        for x in column.iter_mut() {
            *x *= unit;
        }
    }
    columns
}

/// Terms in the order of most left, and what was left of each when it was taken. The first `pinned` come first.
fn pivoted(columns: &Columns, pinned: usize) -> (Vec<usize>, Vec<f64>) {
    let mut work = columns.clone();
    let k = work.columns.len();
    let mut left: Vec<usize> = (0..k).collect();
    let (mut order, mut pivots) = (Vec::new(), Vec::new());
    for step in 0..k {
        let rests: Vec<f64> = left.iter().map(|&j| work.rest(j, step)).collect();
        let best = if step < pinned {
            0
        } else {
            // The first of equals, so that the earlier column is kept.
            (0..rests.len()).fold(0, |best, i| if rests[i] > rests[best] { i } else { best })
        };
        let (j, rest) = (left.remove(best), rests[best]);
        order.push(j);
        pivots.push(rest);
        if rest == 0.0 {
            // Nothing is left of any other either.
            order.extend(left.iter().copied());
            pivots.resize(k, 0.0);
            break;
        }
        work.reflect(j, step);
    }
    (order, pivots)
}

/// Terms kept in order, and of every term the fraction left outside the span of those kept before it.
fn in_order(columns: &Columns, tolerance: f64) -> (Vec<usize>, Vec<f64>) {
    let mut work = columns.clone();
    let (mut kept, mut fractions) = (Vec::new(), Vec::new());
    for j in 0..work.columns.len() {
        let rest = work.rest(j, kept.len());
        fractions.push(rest);
        if rest > tolerance {
            work.reflect(j, kept.len());
            kept.push(j);
        }
    }
    (kept, fractions)
}
