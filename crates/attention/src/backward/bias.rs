//! The gradient of the bias, in the bias's own shape: shares of ranges of keys, added up in their order.

use crate::share::InOrder;
use crate::{Problem, Sizes};
use spanwise_kernels::attention::{BiasSums, Storage};
use std::ops::Range;
use std::sync::Mutex;

/// The gradient so far.
pub(super) struct BiasTotal {
    /// The bias's own dimensions.
    dims: [usize; 4],
    sums: Mutex<SoFar>,
}

struct SoFar {
    total: Vec<f64>,
    shares: InOrder<BiasShare>,
}

/// What one range of keys of one group of heads adds.
pub(super) struct BiasShare {
    /// `(heads, queries, keys)`, each 1 along an axis that repeats.
    dims: [usize; 3],
    /// The first of those in the total: batch entry, head and key.
    first: [usize; 3],
    first_key: usize,
    sums: Vec<f64>,
}

impl BiasShare {
    /// In the kernel's terms.
    pub(super) fn sums(&mut self) -> BiasSums<'_> {
        let [heads, queries, keys] = self.dims;
        let step = |count: usize, step: usize| if count == 1 { 0 } else { step };
        BiasSums {
            to: &mut self.sums,
            steps: [step(heads, queries * keys), step(queries, keys), step(keys, 1)],
            first_key: self.first_key,
        }
    }
}

impl BiasTotal {
    /// Of a problem that has a bias, from so many shares.
    pub(super) fn new<T: Storage>(problem: &Problem<'_, T>, shares: usize) -> Option<Self> {
        let dims = problem.bias_dims()?;
        let total = vec![0.0; dims.iter().product()];
        Some(BiasTotal { dims, sums: Mutex::new(SoFar { total, shares: InOrder::new(shares) }) })
    }

    /// An empty share of the keys `keys` of a batch entry's group of heads.
    pub(super) fn share<T: Storage>(
        &self,
        problem: &Problem<'_, T>,
        [batch, group]: [usize; 2],
        keys: &Range<usize>,
    ) -> BiasShare {
        let Sizes { h, g, .. } = problem.sizes;
        let [batches, heads, queries, all_keys] = self.dims;
        let own = |count: usize, index: usize| if count == 1 { 0 } else { index };
        let dims = [if heads == 1 { 1 } else { h / g }, queries, if all_keys == 1 { 1 } else { keys.len() }];
        BiasShare {
            dims,
            first: [own(batches, batch), own(heads, group * (h / g)), own(all_keys, keys.start)],
            first_key: keys.start,
            sums: vec![0.0; dims.iter().product()],
        }
    }

    /// Adds share number `at`, as soon as those before it have been added.
    pub(super) fn add(&self, at: usize, share: BiasShare) {
        let Ok(mut so_far) = self.sums.lock() else { return };
        let SoFar { total, shares } = &mut *so_far;
        shares.put(at, share, |share| self.add_now(total, &share));
    }

    fn add_now(&self, total: &mut [f64], share: &BiasShare) {
        let [_, heads, queries, keys] = self.dims;
        let [batch, first_head, first_key] = share.first;
        let width = share.dims[2];
        for (line, sums) in share.sums.chunks_exact(width.max(1)).enumerate() {
            let (head, query) = (first_head + line / queries, line % queries);
            let to = ((batch * heads + head) * queries + query) * keys + first_key;
            for (to, x) in total[to..to + width].iter_mut().zip(sums) {
                *to += x;
            }
        }
    }

    /// All of it.
    pub(super) fn finish(self) -> Vec<f64> {
        self.sums.into_inner().map(|so_far| so_far.total).unwrap_or_default()
    }
}
