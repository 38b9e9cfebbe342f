//! No more rows than columns of sizes far apart: the smallest solution in units of the columns' lengths.
//!
//! Powers of one column reach from 1 to 1e20, and K = Xc Xcᵀ knows the small columns only to u times the large ones: coefficients of
//! the smallest Σ w² cannot meet the targets in f64 any more. With D the lengths of the centred columns,
//!
//! ```text
//!  Xc D⁻¹ = U S Vᵀ (n × d, thin),     D w = V S⁻¹ Uᵀ (y − ȳ):     of all solutions the one with the smallest Σ (D w)²
//! ```
//!
//! which squares nothing and does not depend on the columns' units.

use super::transposed::Transposed;
use crate::dense::{Factors, Vectors, leading_columns, norm, svd, times, transposed_times};
use spanwise_kernels::Matrix;

/// The decomposition of the unit columns, as far as their rank reaches.
pub(super) struct UnitColumns {
    /// `n × r`.
    u: Matrix,
    /// `r`.
    s: Vec<f64>,
    /// `d × r`.
    v: Matrix,
    /// `d`: 1/length, 0 for a column of length 0.
    pub(super) scale: Vec<f64>,
}

impl UnitColumns {
    /// Of the columns whose transpose is `rows`, less their `means`; `None` where the decomposition does not converge.
    pub(super) fn new(rows: &Transposed<'_>, means: &[f64], rank: usize) -> Option<UnitColumns> {
        let lengths = rows.squares_about(means).into_iter().map(f64::sqrt);
        let scale: Vec<f64> = lengths.map(|length| if length > 0.0 { 1.0 / length } else { 0.0 }).collect();
        let unit = rows.filled(|value, j| (value - means[j]) * scale[j]);
        let Factors { u, s, v } = svd(&unit, Vectors::Thin).ok()?;
        let rank = s.iter().take(rank).take_while(|&&s| s > 0.0).count();
        let kept = s[..rank].to_vec();
        Some(UnitColumns { u: leading_columns(&u, rank), s: kept, v: leading_columns(&v, rank), scale })
    }

    /// Of the unit columns.
    pub(super) fn condition(&self) -> f64 {
        self.s.first().zip(self.s.last()).map_or(1.0, |(first, last)| first / last)
    }

    /// The coefficients that give `target`, as far as the columns reach.
    pub(super) fn solve(&self, target: &[f64]) -> Vec<f64> {
        let mut along = transposed_times(&self.u, target);
        along.iter_mut().zip(&self.s).for_each(|(along, s)| *along /= s);
        let mut w = times(&self.v, &along);
        w.iter_mut().zip(&self.scale).for_each(|(w, scale)| *w *= scale);
        w
    }

    /// √Σ (D w)².
    pub(super) fn size(&self, w: &[f64]) -> f64 {
        let unit = |(w, &scale): (&f64, &f64)| if scale > 0.0 { w / scale } else { 0.0 };
        norm(&w.iter().zip(&self.scale).map(unit).collect::<Vec<f64>>())
    }
}
