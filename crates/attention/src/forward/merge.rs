//! Sums over the rows of a head, formed item by item and put together in order.

use super::plan::Item;
use super::statistics::MapSize;
use crate::Sizes;
use crate::share::{InOrder, take};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What keys receive, `(B, H, M)`, added up in the order in which items are begun, while they end, so that few sums are alive at a time.
pub(super) struct Receiving(Mutex<Received>);

struct Received {
    /// `(B, H, M)`.
    sum: Vec<f64>,
    /// Of each item where its heads begin in `sum`, and its sums.
    items: InOrder<(usize, Vec<f64>)>,
    /// Memory of sums that have been added.
    spare: Vec<Vec<f64>>,
}

impl Receiving {
    /// Zeros.
    pub(super) fn new(sizes: &Sizes, items: usize) -> Self {
        Receiving(Mutex::new(Received {
            sum: vec![0.0; sizes.b * sizes.h * sizes.m],
            items: InOrder::new(items),
            spare: Vec::new(),
        }))
    }

    /// Zeros for an item: `(heads of the item, M)`.
    pub(super) fn begin(&self, sizes: &Sizes, item: &Item) -> Vec<f64> {
        let mut own = self.lock().spare.pop().unwrap_or_default();
        own.clear();
        own.resize(item.heads(sizes).len() * sizes.m, 0.0);
        own
    }

    /// Takes the sums of item `number`.
    pub(super) fn end(&self, sizes: &Sizes, item: &Item, number: usize, own: Vec<f64>) {
        let first = (item.batch * sizes.h + item.heads(sizes).start) * sizes.m;
        let mut all = self.lock();
        let Received { sum, items, spare } = &mut *all;
        items.put(number, (first, own), |(first, own)| {
            sum[first..].iter_mut().zip(&own).for_each(|(to, x)| *to += x);
            spare.push(own);
        });
    }

    /// All of it.
    pub(super) fn into_sum(self) -> Vec<f64> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).sum
    }

    fn lock(&self) -> MutexGuard<'_, Received> {
        // Who panics while it is held takes the whole call along.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sums of one item, but for what keys receive.
pub(super) struct Partial {
    pub(super) map: Option<PartialMap>,
}

/// The cells of a map that one item touches.
pub(super) struct PartialMap {
    size: MapSize,
    /// The first row of cells, among those of all heads.
    first_row: usize,
    pub(super) cols: usize,
    /// `(cell rows of the item, cols)`; empty where no other item touches them, and they are written where they belong.
    pub(super) sum: Vec<f64>,
    pub(super) max: Vec<f64>,
}

/// Cells that one item alone touches, where they belong: `(cell rows of the item, cols)`.
pub(super) struct OwnCells<'o> {
    pub(super) sum: &'o mut [f64],
    pub(super) max: &'o mut [f64],
}

/// Where the rows of one block find their sums.
pub(super) struct Cells {
    /// Where the block's first head begins in what the item's keys receive.
    pub(super) received: usize,
    /// For each row its row of cells.
    pub(super) rows: Vec<usize>,
}

impl Partial {
    /// Nothing yet. `alone` where the item has [`OwnCells`].
    pub(super) fn new(sizes: &Sizes, item: &Item, map: Option<MapSize>, alone: bool) -> Self {
        Partial {
            map: map.map(|size| {
                let rows = cell_rows(sizes, item, size);
                let none = vec![0.0; if alone { 0 } else { rows.len() * size.cols }];
                PartialMap { size, first_row: rows.start, cols: size.cols, sum: none.clone(), max: none }
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

/// The rows of cells, among those of all heads of all batch entries, that an item touches.
fn cell_rows(sizes: &Sizes, item: &Item, size: MapSize) -> Range<usize> {
    let rows = &item.rows;
    cell_row(sizes, item, size, rows.start)..cell_row(sizes, item, size, rows.end - 1) + 1
}

/// For each item its cells in `sum` and `max`, `(B, H, rows, cols)`, if no other item touches one of them.
pub(super) fn own_cells<'o>(
    sizes: &Sizes,
    items: &[Item],
    size: MapSize,
    mut sum: &'o mut [f64],
    mut max: &'o mut [f64],
) -> Vec<Option<OwnCells<'o>>> {
    let rows: Vec<Range<usize>> = items.iter().map(|item| cell_rows(sizes, item, size)).collect();
    let mut next = 0;
    let mut own = Vec::with_capacity(items.len());
    for (at, Range { start, end }) in rows.iter().cloned().enumerate() {
        let shared =
            (at > 0 && rows[at - 1].end > start) || rows.get(at + 1).is_some_and(|rows| rows.start < end);
        own.push((!shared).then(|| {
            for rest in [&mut sum, &mut max] {
                take(rest, (start - next) * size.cols);
            }
            next = end;
            let count = (end - start) * size.cols;
            OwnCells { sum: take(&mut sum, count), max: take(&mut max, count) }
        }));
    }
    own
}

/// The row of cells, among those of all heads of all batch entries, that a row of the item's group belongs to.
fn cell_row(sizes: &Sizes, item: &Item, size: MapSize, row: usize) -> usize {
    let head = item.batch * sizes.h + item.group * (sizes.h / sizes.g) + row / sizes.n;
    // The largest r with r·N/rows ≤ i, rounded down.
    head * size.rows + ((row % sizes.n + 1) * size.rows - 1) / sizes.n
}

/// The cells of all heads.
pub(super) struct Summed {
    /// `(B, H, rows, cols)`.
    pub(super) mean: Vec<f64>,
    /// `(B, H, rows, cols)`.
    pub(super) max: Vec<f64>,
}

impl Summed {
    /// Zeros, as many as are asked for.
    pub(super) fn new(sizes: &Sizes, map: Option<MapSize>) -> Self {
        let cells = map.map_or(0, |size| sizes.b * sizes.h * size.rows * size.cols);
        Summed { mean: vec![0.0; cells], max: vec![0.0; cells] }
    }
}

/// Adds up what the items have found, in their order; `summed` holds what was written where it belongs.
pub(super) fn merge(
    sizes: &Sizes,
    map: Option<MapSize>,
    mut summed: Summed,
    partials: Vec<Partial>,
) -> Summed {
    for partial in partials {
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
