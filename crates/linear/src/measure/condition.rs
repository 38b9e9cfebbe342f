//! Condition numbers: how much a problem magnifies relative errors of its data.

use crate::LinearError;
use crate::check::{Argument, argument};
use crate::dense::{self, r_factor, unit_columns};
use spanwise_kernels::{Element, Matrix, View};

/// The ratio of the largest to the smallest singular value, before and after columns are scaled to length 1.
///
/// The raw number changes with the units of each column; the scaled one does not, and is the one that limits the
/// digits of a least-squares solution. Both are infinite where a singular value is exactly 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// Of the columns as they are.
    pub raw: f64,
    /// Of the columns scaled to length 1.
    pub unit_scaled: f64,
}

/// The condition numbers of `x` (n × p, not empty). More columns than rows: of its min(n, p) singular values.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::measure::condition;
///
/// // Orthogonal columns of very different length: badly scaled, perfectly conditioned.
/// let found = condition(View::new(&[1e6, 0.0, 0.0, 1.0], &[2, 2])?)?;
/// assert!((found.raw / 1e6 - 1.0).abs() < 1e-14);
/// assert!((found.unit_scaled - 1.0).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn condition<T: Element>(x: View<'_, T>) -> Result<Condition, LinearError> {
    let name = argument("measure", "X");
    name.not_empty(&x)?;
    of_factor(name, &r_factor(name, &x)?)
}

/// The condition numbers of anything with triangular factor `r`.
pub(crate) fn of_factor(name: Argument, r: &Matrix) -> Result<Condition, LinearError> {
    let values = |x: &Matrix| {
        let failed = |_| LinearError::Unconverged { operation: name.operation, argument: name.name };
        dense::singular_values(x).map_err(failed)
    };
    of_singular_values(name, &values(r)?, &values(&unit_columns(r).0)?)
}

/// The condition numbers of columns with the singular values `raw`, and `unit` where they are scaled to length 1.
pub(super) fn of_singular_values(
    name: Argument,
    raw: &[f64],
    unit: &[f64],
) -> Result<Condition, LinearError> {
    let ratio = |s: &[f64]| {
        if s.iter().any(|s| !s.is_finite()) {
            return Err(LinearError::Overflow { operation: name.operation, argument: name.name });
        }
        Ok(match (s.first(), s.last()) {
            (Some(&large), Some(&small)) if small > 0.0 => large / small,
            _ => f64::INFINITY,
        })
    };
    Ok(Condition { raw: ratio(raw)?, unit_scaled: ratio(unit)? })
}
