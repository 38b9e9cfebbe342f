//! The gradients of one block and one tile, pair by pair, where something is hidden and something is not finite.
//!
//! What is hidden takes no part at all, so that no `0·∞` arises. Slow, and rarely needed.

use super::backward::{BiasSums, GradientRows, KeyTile};
use super::storage::Storage;
use crate::Element;

impl<T: Storage> GradientRows<'_, T> {
    /// Adds to `dq (rows, stride)`, to the sums of the keys, and to those of the bias.
    pub(super) fn add_carefully(
        &self,
        keys: &mut KeyTile<'_, T::Real>,
        dq: &mut [T::Real],
        stride: usize,
        bias: &mut Option<BiasSums<'_>>,
    ) {
        for row in 0..self.block.spans.len() {
            if self.lse[row] == f64::NEG_INFINITY {
                continue;
            }
            for key in keys.tile.start..keys.tile.end {
                if !self.block.hides(row, key) {
                    self.add_pair(row, key, keys, &mut dq[row * stride..], bias);
                }
            }
        }
    }

    fn add_pair(
        &self,
        row: usize,
        key: usize,
        keys: &mut KeyTile<'_, T::Real>,
        dq: &mut [T::Real],
        bias: &mut Option<BiasSums<'_>>,
    ) {
        let (part, query) = self.block.query(row);
        let grads = &self.grads[self.block.parts.iter().rposition(|part| part.row <= row).unwrap_or(0)];
        let at = key - keys.tile.start;
        let (k, v) = (keys.keys.row(at), keys.values.row(at));
        let q = |c: usize| part.queries.get(&[query, c]).map_or(0.0, Element::to_f64);
        let g = |c: usize| grads.get(&[query, c]).map_or(0.0, Element::to_f64);

        let mut score = self.block.scale * (0..keys.depth).map(|c| q(c) * k[c].to_f64()).sum::<f64>();
        let mut slope = 1.0;
        if let Some(cap) = self.block.softcap {
            let t = (score / cap).tanh();
            (score, slope) = (cap * t, 1.0 - t * t);
        }
        if let Some(bias) = part.bias {
            score += bias.get(&[query, key]).map_or(0.0, Element::to_f64);
        }
        if let Some(alibi) = part.alibi {
            score -= alibi.slope * (query as i64 + alibi.offset - key as i64).unsigned_abs() as f64;
        }
        if score == f64::NEG_INFINITY {
            return;
        }
        let weight = (score - self.lse[row]).exp();
        let kept = part.dropping.map_or(1.0, |dropping| dropping.factor_at(query, key));
        let da = (0..keys.width).map(|c| g(c) * v[c].to_f64()).sum::<f64>() * kept;
        let ds = weight * (da - self.delta[row]);
        if let Some(bias) = bias {
            let to = bias.place(self, row, key);
            bias.to[to] += ds;
        }
        let dt = ds * slope;
        let real = <T::Real as Element>::from_f64;
        let [dk_width, dv_width] = keys.padded;
        for c in 0..keys.width {
            keys.dv[at * dv_width + c] += real(weight * kept * g(c));
        }
        for c in 0..keys.depth {
            dq[c] += real(dt * k[c].to_f64());
            keys.dk[at * dk_width + c] += real(dt * q(c));
        }
    }
}

impl BiasSums<'_> {
    /// Where the sum of `row` and `key` lies.
    #[inline(always)]
    pub(super) fn place<T: Storage>(&self, rows: &GradientRows<'_, T>, row: usize, key: usize) -> usize {
        let (part, query) = rows.block.query(row);
        // Rows of a group are numbered across its heads.
        let head = (rows.first + row) / part.queries.dims()[0];
        let [head_step, query_step, key_step] = self.steps;
        head * head_step + query * query_step + (key - self.first_key) * key_step
    }
}
