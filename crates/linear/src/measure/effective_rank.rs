//! Over how many directions a matrix is spread: rank as a matter of degree.

use crate::LinearError;
use crate::check::argument;
use crate::dense::{norm, r_factor, singular_values};
use spanwise_kernels::{Element, View};

/// Three smooth counts of directions; each is k for k equal singular values, and 0 for a zero matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectiveRank {
    /// The exponential of the entropy of `σ / Σσ`.
    pub entropy: f64,
    /// `(Σσ²)² / Σσ⁴`, the participation ratio of the squares.
    pub participation: f64,
    /// `Σσ² / σ₁²`, the stable rank.
    pub stable: f64,
}

/// The effective rank of `x` (n × p).
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::measure::effective_rank;
///
/// let two = effective_rank(View::new(&[5.0, 0.0, 0.0, 5.0], &[2, 2])?)?;
/// assert!((two.entropy - 2.0).abs() < 1e-14 && (two.participation - 2.0).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn effective_rank<T: Element>(x: View<'_, T>) -> Result<EffectiveRank, LinearError> {
    let name = argument("measure", "X");
    let s = singular_values(&r_factor(name, &x)?)
        .map_err(|_| LinearError::Unconverged { operation: "measure", argument: "X" })?;
    of_singular_values(&s)
}

/// The effective rank of anything with these singular values.
pub(super) fn of_singular_values(s: &[f64]) -> Result<EffectiveRank, LinearError> {
    let size = norm(s);
    if !size.is_finite() {
        return Err(LinearError::Overflow { operation: "measure", argument: "X" });
    }
    if size == 0.0 {
        return Ok(EffectiveRank { entropy: 0.0, participation: 0.0, stable: 0.0 });
    }
    let s: Vec<f64> = s.iter().map(|s| s / size).collect(); // Σσ² = 1
    let sum: f64 = s.iter().sum();
    let entropy: f64 = s.iter().filter(|&&s| s > 0.0).map(|s| -(s / sum) * (s / sum).ln()).sum();
    Ok(EffectiveRank {
        entropy: entropy.exp(),
        participation: 1.0 / s.iter().map(|s| s.powi(4)).sum::<f64>(),
        stable: 1.0 / (s[0] * s[0]),
    })
}
