//! Work cut at fixed boundaries, merged along a fixed tree.

use crate::{crew, stop};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// How a table is cut: the tree depends on these numbers alone, so floating-point results do not depend on the threads.
pub(super) struct Cut {
    pub(super) rows: usize,
    /// Rows to a leaf.
    pub(super) leaf: usize,
    /// About how many multiplications a row takes.
    pub(super) cost: usize,
}

/// Maps each leaf and merges neighbours pairwise, in parallel.
pub(super) fn reduce<T: Send>(
    Cut { rows, leaf, cost }: Cut,
    map: &(dyn Fn(Range<usize>) -> T + Sync),
    merge: &(dyn Fn(T, T) -> T + Sync),
) -> T {
    let leaf = leaf.max(1);
    let leaves = rows.div_ceil(leaf).max(1);
    // One for each inner node: the first of its two halves to be ready waits there for the other. Number 0 is for the whole.
    let waiting: Vec<Mutex<Option<T>>> = (0..leaves.next_power_of_two()).map(|_| Mutex::new(None)).collect();
    let at = |node: usize| waiting[node].lock().unwrap_or_else(PoisonError::into_inner);
    crew::each(rows.saturating_mul(cost), 0..leaves, |i| {
        stop::check();
        let (mut node, mut found) = (node_of(i, leaves), map(i * leaf..((i + 1) * leaf).min(rows)));
        while node > 1 {
            let other = {
                let mut waiting = at(node / 2);
                match waiting.take() {
                    Some(other) => other,
                    None => return *waiting = Some(found),
                }
            };
            found = if node % 2 == 0 { merge(found, other) } else { merge(other, found) };
            node /= 2;
        }
        *at(0) = Some(found);
    });
    let whole = at(0).take();
    whole.expect("every leaf was mapped, so all were merged")
}

/// The number of a leaf in the tree whose root is 1, whose nodes have the halves 2·node and 2·node + 1, and whose leaves are `0..leaves`.
fn node_of(leaf: usize, leaves: usize) -> usize {
    let (mut node, mut held) = (1, 0..leaves);
    while held.len() > 1 {
        let middle = held.start + held.len() / 2;
        (node, held) =
            if leaf < middle { (2 * node, held.start..middle) } else { (2 * node + 1, middle..held.end) };
    }
    node
}

/// Rows to a leaf: at least `least`, and few enough leaves (64) that merging them costs little.
pub(super) fn leaf_rows(rows: usize, least: usize) -> usize {
    rows.div_ceil(64).next_multiple_of(256).max(least)
}
