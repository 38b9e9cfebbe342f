//! What a row's weights are divided by.

use std::f64::consts::{LN_2, LOG2_E};

/// The sum of a row's exponentials, sink included.
pub(super) struct Denominator {
    /// What `2^(s − max)` is multiplied by to become a weight.
    pub(super) inverse: f64,
    /// How much of it is the sink's; an empty row counts as all sink.
    pub(super) sink_share: f64,
    /// The denominator is `2^top·total`.
    top: f64,
    total: f64,
}

impl Denominator {
    /// From a row's maximum (in units of log₂), its sum of `2^(s − max)`, and its sink.
    #[inline]
    pub(super) fn new(max: f64, sum: f64, sink: Option<f64>) -> Self {
        if sum == 0.0 {
            return Denominator { inverse: 0.0, sink_share: 1.0, top: f64::NEG_INFINITY, total: 1.0 };
        }
        let Some(sink) = sink else {
            return Denominator { inverse: sum.recip(), sink_share: 0.0, top: max, total: sum };
        };
        let sink = sink * LOG2_E;
        let top = if sink > max { sink } else { max };
        let total = sum * (max - top).exp2() + (sink - top).exp2();
        Denominator {
            inverse: (max - top).exp2() / total,
            sink_share: (sink - top).exp2() / total,
            top,
            total,
        }
    }

    /// Its logarithm. Where nobody wants that, still −∞ for an empty row, and 0 for others: a logarithm takes as long as two
    /// hundred products.
    #[inline]
    pub(super) fn lse(&self, wanted: bool) -> f64 {
        if self.top == f64::NEG_INFINITY && self.total == 1.0 {
            f64::NEG_INFINITY
        } else if wanted {
            (self.top + self.total.log2()) * LN_2
        } else {
            0.0
        }
    }
}
