//! Work cut at fixed boundaries, merged along a fixed tree.

use crate::stop;
use std::ops::Range;

/// Cuts `0..rows` into leaves of `leaf` rows, maps each and merges neighbours pairwise, in parallel.
///
/// The tree depends on `rows` and `leaf` alone, so floating-point results do not depend on the threads.
pub(super) fn reduce<T: Send>(
    rows: usize,
    leaf: usize,
    map: &(dyn Fn(Range<usize>) -> T + Sync),
    merge: &(dyn Fn(T, T) -> T + Sync),
) -> T {
    reduce_by(true, rows, leaf, map, merge)
}

/// [`reduce`] by all threads, or by this one alone: the tree is the same, and so are the bits. Work of a fraction of a millisecond is done
/// sooner alone where another program shares the cores, since each wait for all threads may last as long as its turn.
pub(super) fn reduce_by<T: Send>(
    all_threads: bool,
    rows: usize,
    leaf: usize,
    map: &(dyn Fn(Range<usize>) -> T + Sync),
    merge: &(dyn Fn(T, T) -> T + Sync),
) -> T {
    let leaf = leaf.max(1);
    let leaves = rows.div_ceil(leaf).max(1);
    subtree(all_threads, 0..leaves, &|i| map(i * leaf..((i + 1) * leaf).min(rows)), merge)
}

fn subtree<T: Send>(
    all_threads: bool,
    leaves: Range<usize>,
    map: &(dyn Fn(usize) -> T + Sync),
    merge: &(dyn Fn(T, T) -> T + Sync),
) -> T {
    if leaves.len() <= 1 {
        stop::check();
        return map(leaves.start);
    }
    let middle = leaves.start + leaves.len() / 2;
    let left = || subtree(all_threads, leaves.start..middle, map, merge);
    let right = || subtree(all_threads, middle..leaves.end, map, merge);
    let (left, right) = if all_threads { rayon::join(left, right) } else { (left(), right()) };
    merge(left, right)
}

/// Rows to a leaf: at least `least`, and few enough leaves (64) that merging them costs little.
pub(super) fn leaf_rows(rows: usize, least: usize) -> usize {
    rows.div_ceil(64).next_multiple_of(256).max(least)
}
