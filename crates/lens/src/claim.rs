//! A claim and the check that proves it.
//!
//! Two ways of forming the same sum agree up to rounding: each of `n` operations errs by at most `ε` (the unit
//! roundoff is ε/2, and two sides err) relative to the sum of the absolute terms. So a tolerance here is always
//! (operations) · ε · Σ|terms|, row by row, never a number that happens to work.

use crate::number;
use serde::Serialize;

/// A statement, how it was checked, and what came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// What is claimed, as a sentence.
    pub statement: String,
    /// What was measured, as a formula.
    pub check: String,
    /// The measurement; 0 where both sides agree to the last bit.
    #[serde(serialize_with = "number")]
    pub residual: f64,
    /// How large the residual may be.
    #[serde(serialize_with = "number")]
    pub tolerance: f64,
    /// Where the tolerance comes from.
    pub rule: String,
    /// Whether the residual is within the tolerance; a residual that is not a number is not.
    pub holds: bool,
}

/// A residual with what it may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) residual: f64,
    pub(crate) tolerance: f64,
}

impl Measured {
    /// Nothing to allow for: the comparison is exact.
    pub(crate) fn exact(residual: f64) -> Self {
        Measured { residual, tolerance: 0.0 }
    }

    fn holds(self) -> bool {
        // False for NaN, and for an infinite residual whatever is allowed.
        self.residual.is_finite() && self.residual <= self.tolerance
    }

    /// How much of the tolerance is used up; beyond 1, or NaN as infinity, where it does not hold.
    fn strain(self) -> f64 {
        match self {
            _ if !self.holds() => f64::INFINITY,
            Measured { residual: 0.0, .. } => 0.0,
            _ => self.residual / self.tolerance,
        }
    }

    /// The measurement that comes closest to failing.
    pub(crate) fn worst(all: impl IntoIterator<Item = Measured>) -> Self {
        all.into_iter()
            .reduce(|worst, next| if next.strain() > worst.strain() { next } else { worst })
            .unwrap_or(Measured::exact(0.0))
    }
}

impl Claim {
    /// The claim with its measurement; `check` and `rule` are formulas for the two numbers.
    pub(crate) fn new(statement: &str, check: &str, rule: &str, measured: Measured) -> Self {
        Claim {
            statement: statement.to_owned(),
            check: check.to_owned(),
            residual: measured.residual,
            tolerance: measured.tolerance,
            rule: rule.to_owned(),
            holds: measured.holds(),
        }
    }
}

/// `|left − right|` against `operations · ε · Σ|terms|`.
pub(crate) fn compare(left: f64, right: f64, operations: usize, absolute_sum: f64) -> Measured {
    Measured { residual: (left - right).abs(), tolerance: operations as f64 * f64::EPSILON * absolute_sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_residual_that_is_not_a_number_never_holds() {
        let tolerance = f64::INFINITY;
        for residual in [f64::NAN, f64::INFINITY] {
            assert!(!Claim::new("", "", "", Measured { residual, tolerance }).holds);
        }
    }

    #[test]
    fn the_worst_measurement_is_the_one_closest_to_failing() {
        let small_but_tight = Measured { residual: 1.0, tolerance: 1.5 };
        let large_but_loose = Measured { residual: 5.0, tolerance: 100.0 };
        let worst = Measured::worst([large_but_loose, small_but_tight, Measured::exact(0.0)]);
        assert_eq!(worst.residual, 1.0);
        let failed = Measured::worst([small_but_tight, Measured::exact(f64::NAN), large_but_loose]);
        assert!(failed.residual.is_nan());
    }
}
