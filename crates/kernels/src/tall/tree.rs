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
    let leaf = leaf.max(1);
    let leaves = rows.div_ceil(leaf).max(1);
    subtree(0..leaves, &|i| map(i * leaf..((i + 1) * leaf).min(rows)), merge)
}

fn subtree<T: Send>(
    leaves: Range<usize>,
    map: &(dyn Fn(usize) -> T + Sync),
    merge: &(dyn Fn(T, T) -> T + Sync),
) -> T {
    if leaves.len() <= 1 {
        stop::check();
        return map(leaves.start);
    }
    let middle = leaves.start + leaves.len() / 2;
    let (left, right) =
        rayon::join(|| subtree(leaves.start..middle, map, merge), || subtree(middle..leaves.end, map, merge));
    merge(left, right)
}

/// Rows to a leaf: at least `least`, and few enough leaves (64) that merging them costs little.
pub(super) fn leaf_rows(rows: usize, least: usize) -> usize {
    rows.div_ceil(64).next_multiple_of(256).max(least)
}
