//! Rank: how many columns are independent, decided on unit-scaled columns.
//!
//! ```text
//! D = diag(‖X[:, j]‖),  X D⁻¹ = Q R,  σ = singular values of R
//! rank = how many σ exceed tolerance · σ₁
//! ```
//!
//! Scaling makes the answer independent of units; the tolerance depends on the number of columns, not of rows, because
//! the triangular factor of any number of rows carries the same relative rounding.

use crate::LinearError;
use crate::check::{Argument, argument};
use crate::dense::{self, r_factor, unit_columns};
use spanwise_kernels::{Element, Matrix, View};

/// The numerical rank, and how sure it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// How many columns are independent.
    pub rank: usize,
    /// How many columns there are.
    pub columns: usize,
    /// Singular values at most this share of the largest count as zero.
    pub tolerance: f64,
    /// Singular values of the unit-scaled columns, largest first.
    pub singular_values: Vec<f64>,
    /// The last singular value that counts over the first that does not; infinite where that one is 0 or absent.
    pub gap: f64,
    /// The lower and the upper end of the band around the tolerance: a sixteenth of it, which is one rounding per
    /// column, and a thousand times it.
    pub band: (f64, f64),
    /// The rank at the upper and at the lower end of the band: at most and at least `rank`.
    pub rank_in_band: (usize, usize),
}

impl Rank {
    /// Whether all columns are independent.
    pub fn is_full(&self) -> bool {
        self.rank == self.columns
    }

    /// Whether the rank is the same everywhere in the band.
    pub fn is_sure(&self) -> bool {
        self.rank_in_band.0 == self.rank_in_band.1
    }
}

/// The share of the largest singular value below which one counts as zero: sixteen roundings per column, of at least
/// eight columns.
pub fn rank_tolerance(columns: usize) -> f64 {
    16.0 * f64::EPSILON * columns.max(8) as f64
}

/// The rank of the columns of `x` (n × p), with its tolerance, gap and band.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::measure::rank;
///
/// // The second column is a thousandth of the first: one direction, whatever the units.
/// let x = View::new(&[1.0, 0.001, 2.0, 0.002, 3.0, 0.003], &[3, 2])?;
/// let found = rank(x)?;
/// assert_eq!(found.rank, 1);
/// assert!(found.is_sure());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rank<T: Element>(x: View<'_, T>) -> Result<Rank, LinearError> {
    let name = argument("measure", "X");
    of_factor(name, &r_factor(name, &x)?)
}

/// The rank of anything with triangular factor `r` (k × p).
pub(crate) fn of_factor(name: Argument, r: &Matrix) -> Result<Rank, LinearError> {
    let unit = unit_columns(r).0;
    let failed = |_| LinearError::Unconverged { operation: name.operation, argument: name.name };
    let singular_values = dense::singular_values(&unit).map_err(failed)?;
    let columns = r.cols();
    let tolerance = rank_tolerance(columns);
    let largest = singular_values.first().copied().unwrap_or(0.0);
    let above = |tolerance: f64| singular_values.iter().filter(|&&s| s > tolerance * largest).count();
    let rank = above(tolerance);
    let band = (tolerance / 16.0, tolerance * 1000.0);
    let gap = match (rank.checked_sub(1).map(|last| singular_values[last]), singular_values.get(rank)) {
        (Some(kept), Some(&left)) if left > 0.0 => kept / left,
        _ => f64::INFINITY,
    };
    let rank_in_band = (above(band.1), above(band.0));
    Ok(Rank { rank, columns, tolerance, singular_values, gap, band, rank_in_band })
}
