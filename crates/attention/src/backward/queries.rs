//! The gradient of the queries: each range of keys adds its share, in the order of the ranges.
//!
//! Memory of shares that have been added serves the next ranges, so that as many are alive as are worked on or wait for their
//! turn: fresh memory for each would cost a page fault for every 4 KiB of it.

use crate::Problem;
use crate::share::InOrder;
use spanwise_kernels::Element;
use spanwise_kernels::attention::{Storage, query_sums};
use spanwise_kernels::simd::Real;
use std::sync::Mutex;

/// The gradients of all groups of heads so far.
pub(super) struct QueryTotal<'o, T: Storage> {
    groups: Vec<Mutex<Group<'o, T>>>,
    /// Memory that is free again.
    spare: Mutex<Vec<Vec<T::Real>>>,
    /// Ranges of keys to a group.
    ranges: usize,
    /// Rows of a group, and their width.
    rows: usize,
    depth: usize,
    scale: f64,
}

struct Group<'o, T: Storage> {
    shares: InOrder<Vec<T::Real>>,
    total: Option<Vec<T::Real>>,
    /// `(rows, D)`.
    to: &'o mut [T],
}

impl<'o, T: Storage> QueryTotal<'o, T> {
    /// For groups of `rows` rows, each with as many `ranges` of keys. Without keys all gradients are zeros.
    pub(super) fn new(problem: &Problem<'_, T>, rows: usize, ranges: usize, to: &'o mut [T]) -> Self {
        let depth = problem.sizes.d;
        if ranges == 0 {
            to.fill(T::default());
        }
        let group = |to| Mutex::new(Group { shares: InOrder::new(ranges), total: None, to });
        let groups = to.chunks_mut((rows * depth).max(1)).map(group).collect();
        QueryTotal { groups, spare: Mutex::default(), ranges, rows, depth, scale: problem.scale }
    }

    /// Zeros to add a share up in, laid out as [`query_sums`] says.
    pub(super) fn share(&self) -> Vec<T::Real> {
        let spare = self.spare.lock().ok().and_then(|mut spare| spare.pop());
        if let Some(mut share) = spare {
            share.fill(T::Real::ZERO);
            return share;
        }
        vec![T::Real::ZERO; query_sums(self.rows, self.depth).iter().product()]
    }

    /// Adds the share of range number `at` among those of all groups, as soon as those before it in its group have been added.
    pub(super) fn add(&self, at: usize, share: Vec<T::Real>) {
        let Some(Ok(mut group)) = self.groups.get(at / self.ranges).map(Mutex::lock) else { return };
        let Group { shares, total, to } = &mut *group;
        shares.put(at % self.ranges, share, |share| {
            if let Some(total) = total {
                for i in 0..total.len() {
                    total[i] += share[i];
                }
                self.free(share);
            } else {
                *total = Some(share);
            }
        });
        if shares.is_done()
            && let Some(total) = total.take()
        {
            self.finish(total, to);
        }
    }

    fn finish(&self, mut total: Vec<T::Real>, to: &mut [T]) {
        let scale = T::Real::from_f64(self.scale);
        let [_, stride] = query_sums(self.rows, self.depth);
        for (sum, to) in total.chunks_exact_mut(stride).zip(to.chunks_exact_mut(self.depth)) {
            let sum = &mut sum[..self.depth];
            for x in sum.iter_mut() {
                *x = *x * scale;
            }
            T::narrow(sum, to);
        }
        self.free(total);
    }

    fn free(&self, share: Vec<T::Real>) {
        if let Ok(mut spare) = self.spare.lock() {
            spare.push(share);
        }
    }
}
