//! Sums over the rows of a head, formed item by item and put together in order.

use super::plan::Item;
use super::statistics::MapSize;
use crate::Sizes;
use std::ops::Range;

/// The sums of one item.
pub(super) struct Partial {
    /// Where the item's heads begin among all heads of all batch entries.
    first_head: usize,
    /// `(heads of the item, M)`.
    pub(super) received: Option<Vec<f64>>,
    pub(super) map: Option<PartialMap>,
}

/// The cells of a map that one item touches.
pub(super) struct PartialMap {
    size: MapSize,
    /// The first row of cells, among those of all heads.
    first_row: usize,
    pub(super) cols: usize,
    /// `(cell rows of the item, cols)`.
    pub(super) sum: Vec<f64>,
    pub(super) max: Vec<f64>,
}

/// Where the rows of one block find their sums in a [`Partial`].
pub(super) struct Cells {
    /// The first number of `received` of the block's first head.
    pub(super) received: usize,
    /// For each row its row of cells.
    pub(super) rows: Vec<usize>,
}

impl Partial {
    pub(super) fn new(sizes: &Sizes, item: &Item, received: bool, map: Option<MapSize>) -> Self {
        let (heads, rows) = (item.heads(sizes), item.rows());
        Partial {
            first_head: item.batch * sizes.h + heads.start,
            received: received.then(|| vec![0.0; heads.len() * sizes.m]),
            map: map.map(|size| {
                let first_row = cell_row(sizes, item, size, rows.start);
                let count = cell_row(sizes, item, size, rows.end - 1) + 1 - first_row;
                let none = vec![0.0; count * size.cols];
                PartialMap { size, first_row, cols: size.cols, sum: none.clone(), max: none }
            }),
        }
    }

    pub(super) fn cells(&self, sizes: &Sizes, item: &Item, rows: Range<usize>) -> Cells {
        let head = item.group * (sizes.h / sizes.g) + rows.start / sizes.n;
        Cells {
            received: (head - item.heads(sizes).start) * sizes.m,
            rows: self.map.as_ref().map_or_else(Vec::new, |map| {
                rows.map(|row| cell_row(sizes, item, map.size, row) - map.first_row).collect()
            }),
        }
    }
}

/// The row of cells, among those of all heads of all batch entries, that a row of the item's group belongs to.
fn cell_row(sizes: &Sizes, item: &Item, size: MapSize, row: usize) -> usize {
    let head = item.batch * sizes.h + item.group * (sizes.h / sizes.g) + row / sizes.n;
    // The largest r with r·N/rows ≤ i, rounded down.
    head * size.rows + ((row % sizes.n + 1) * size.rows - 1) / sizes.n
}

/// Sums over all rows.
pub(super) struct Summed {
    /// `(B, H, M)`.
    pub(super) received: Vec<f64>,
    /// `(B, H, rows, cols)`.
    pub(super) mean: Vec<f64>,
    /// `(B, H, rows, cols)`.
    pub(super) max: Vec<f64>,
}

/// Adds up what the items have found, in their order.
pub(super) fn merge(sizes: &Sizes, received: bool, map: Option<MapSize>, partials: Vec<Partial>) -> Summed {
    let heads = sizes.b * sizes.h;
    let cells = map.map_or(0, |size| heads * size.rows * size.cols);
    let mut summed = Summed {
        received: vec![0.0; if received { heads * sizes.m } else { 0 }],
        mean: vec![0.0; cells],
        max: vec![0.0; cells],
    };
    for partial in partials {
        if let Some(received) = partial.received {
            let to = &mut summed.received[partial.first_head * sizes.m..];
            to.iter_mut().zip(received).for_each(|(to, x)| *to += x);
        }
        if let Some(map) = partial.map {
            let first = map.first_row * map.cols;
            summed.mean[first..].iter_mut().zip(map.sum).for_each(|(to, x)| *to += x);
            for (to, x) in summed.max[first..].iter_mut().zip(map.max) {
                if x.is_nan() || x > *to {
                    *to = x;
                }
            }
        }
    }
    if let Some(size) = map {
        let keys: Vec<f64> = (0..size.cols)
            .map(|c| ((c + 1) * sizes.m / size.cols - c * sizes.m / size.cols) as f64)
            .collect();
        for (row, cells) in summed.mean.chunks_exact_mut(size.cols).enumerate() {
            let r = row % size.rows;
            let queries = ((r + 1) * sizes.n / size.rows - r * sizes.n / size.rows) as f64;
            for c in 0..size.cols {
                // A cell is empty only where there is no query or no key at all.
                cells[c] /= (queries * keys[c]).max(1.0);
            }
        }
    }
    summed
}
