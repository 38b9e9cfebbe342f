//! Attention over a run of keys before the division, and how runs are put together.

use super::denominator::Denominator;
use super::dropout::factor;
use super::part::Block;
use super::storage::Storage;
use crate::simd::Real;

/// Attention of a few rows over a run of keys, before the division.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run<A> {
    /// `(rows, E)`: `Σ 2^(s − max)·v`.
    pub out: Vec<A>,
    /// `(rows,)`: the largest score, in units of log₂.
    pub max: Vec<A>,
    /// `(rows,)`: `Σ 2^(s − max)`.
    pub sum: Vec<A>,
}

impl<A: Real> Run<A> {
    /// Of no keys yet, in the memory it has.
    pub(super) fn begin(&mut self, rows: usize, width: usize) {
        let fill = |list: &mut Vec<A>, count, x| {
            list.clear();
            list.resize(count, x);
        };
        fill(&mut self.out, rows * width, A::ZERO);
        fill(&mut self.max, rows, A::NEG_INFINITY);
        fill(&mut self.sum, rows, A::ZERO);
    }

    /// How many bytes it holds.
    pub(super) fn bytes(&self) -> usize {
        (self.out.capacity() + self.max.capacity() + self.sum.capacity()) * size_of::<A>()
    }

    /// Adds a run over other keys.
    pub fn merge(&mut self, other: &Run<A>) {
        let width = self.out.len() / self.max.len().max(1);
        for row in 0..self.max.len() {
            let (a, b) = (self.max[row], other.max[row]);
            let top = if a > b { a } else { b };
            let top = if top > A::NEG_INFINITY { top } else { A::ZERO };
            let factor = |max: A| A::from_f64((max - top).to_f64().exp2());
            let (mine, others) = (factor(a), factor(b));
            self.sum[row] = self.sum[row] * mine + other.sum[row] * others;
            let out = &mut self.out[row * width..][..width];
            for (o, &x) in out.iter_mut().zip(&other.out[row * width..]) {
                *o = *o * mine + x * others;
            }
            self.max[row] = if a > b { a } else { b };
        }
    }

    /// Divides by the denominators: the outputs of all rows into `out`, the log-sum-exps into `lse`, as far as they are wanted:
    /// otherwise −∞ for an empty row and 0 for others.
    pub fn finish<T: Storage<Real = A>>(
        &mut self,
        block: &Block<'_, T>,
        out: &mut [T],
        (lse, wants_lse): (&mut [f64], bool),
    ) {
        let width = block.values.width();
        for (row, lse) in lse.iter_mut().enumerate() {
            let sink = block.query(row).0.sink;
            let denominator = Denominator::new(self.max[row].to_f64(), self.sum[row].to_f64(), sink);
            *lse = denominator.lse(wants_lse);
            let inverse = A::from_f64(denominator.inverse) * factor(block);
            let from = &mut self.out[row * width..][..width];
            for o in from.iter_mut() {
                *o = *o * inverse;
            }
            T::narrow(from, &mut out[row * width..][..width]);
        }
    }
}
