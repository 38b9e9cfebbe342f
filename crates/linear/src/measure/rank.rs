//! Rank: how many columns are independent, decided on unit-scaled columns.
//!
//! ```text
//! D = diag(‖X[:, j]‖),  X D⁻¹ = Q R,  σ = singular values of R
//! rank = how many σ exceed tolerance · σ₁
//! ```
//!
//! Scaling makes the answer independent of units; the tolerance depends on the number of columns, not of rows, because
//! the triangular factor of any number of rows carries the same relative rounding.

use crate::check::{Argument, argument};
use crate::dense::{self, r_factor, unit_columns};
use crate::{LinearError, RowSource};
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
    /// The band around the tolerance, [`rank_band`].
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

/// The tolerance of every decision about rank, for numbers of f64: [`rank_tolerance_of`] with a precision of 2⁻⁵³.
pub fn rank_tolerance(columns: usize) -> f64 {
    rank_tolerance_of(columns, f64::EPSILON / 2.0)
}

/// The one rule of rank: what is at most this share of a column (or of the largest singular value of columns of length
/// 1) counts as nothing.
///
/// Sixteen roundings of f64 per column, of at least 32 columns, because each column adds its own rounding to a
/// factorisation; and at least sixteen times the `precision` (relative rounding) of the numbers as they are stored, because
/// what f32 cannot tell apart does not become independent by being converted. Rows do not matter: more of them do not
/// make numbers less precise.
pub fn rank_tolerance_of(columns: usize, precision: f64) -> f64 {
    (16.0 * f64::EPSILON * columns.max(32) as f64).max(16.0 * precision)
}

/// The band around a tolerance: where the rank is another at one of its ends it is not certain, in a measure as in a fit.
///
/// A sixteenth of the tolerance is one rounding per column: what is below is nothing. A hundred times it (at most 1) is what rounding of
/// the data, not of sums, may reach.
pub fn rank_band(tolerance: f64) -> (f64, f64) {
    (tolerance / 16.0, (tolerance * 100.0).min(1.0))
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
    of_factor(name, &r_factor(name, &x)?, x.precision())
}

/// The precision of numbers that had this many binary digits where they were stored, as far as rank depends on it: of shorter types than
/// f32 what counts as nothing would be hundredths, so theirs is that of f32.
pub(crate) fn stored_precision(bits: u32) -> f64 {
    f64::powi(0.5, bits.min(f64::MANTISSA_DIGITS) as i32).min(f64::from(f32::EPSILON) / 2.0)
}

/// The rank of anything with triangular factor `r` (k × p) of numbers that were stored with this precision.
pub(crate) fn of_factor(name: Argument, r: &Matrix, precision: f64) -> Result<Rank, LinearError> {
    let unit = unit_columns(r).0;
    let failed = |_| LinearError::Unconverged { operation: name.operation, argument: name.name };
    let singular_values = dense::singular_values(&unit).map_err(failed)?;
    Ok(of_singular_values(singular_values, r.cols(), precision))
}

/// The rank of `columns` columns of length 1 that have these singular values.
pub(super) fn of_singular_values(singular_values: Vec<f64>, columns: usize, precision: f64) -> Rank {
    let tolerance = rank_tolerance_of(columns, precision);
    let largest = singular_values.first().copied().unwrap_or(0.0);
    let above = |tolerance: f64| singular_values.iter().filter(|&&s| s > tolerance * largest).count();
    let rank = above(tolerance);
    let band = rank_band(tolerance);
    let gap = match (rank.checked_sub(1).map(|last| singular_values[last]), singular_values.get(rank)) {
        (Some(kept), Some(&left)) if left > 0.0 => kept / left,
        _ => f64::INFINITY,
    };
    let rank_in_band = (above(band.1), above(band.0));
    Rank { rank, columns, tolerance, singular_values, gap, band, rank_in_band }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::dependencies;
    use crate::testing::wavy;

    #[test]
    fn one_rule_decides_rank_for_measures_and_fits() {
        assert_eq!(rank_tolerance(3), 512.0 * f64::EPSILON);
        assert_eq!(rank_tolerance(100), 1600.0 * f64::EPSILON);
        // What f32 cannot tell apart is dependent, in a measure as in a fit.
        let wide = Matrix::from_fn(60, 3, |i, j| {
            let (a, b) = ((i as f64 * 0.37).sin(), (i as f64 * 0.71).cos());
            [a, b, 0.3 * a + 0.7 * b][j]
        });
        let short: Vec<f32> = wide.as_slice().iter().map(|&x| x as f32).collect();
        let y: Vec<f64> = (0..60).map(|i| (f64::from(i) * 0.11).sin()).collect();
        let short = View::new(&short, &[60, 3]).unwrap();
        let fitted = crate::LeastSquares::new().intercept(false).fit(&short, &y[..]).unwrap();
        let measured = rank(short).unwrap();
        assert_eq!((measured.rank, fitted.rank().rank), (2, 2));
        assert_eq!(measured.tolerance, fitted.rank().tolerance);
        assert_eq!(dependencies(short, false, None).unwrap().len(), 1);
        for p in [3, 40] {
            let x = wavy(90, p);
            let fitted =
                crate::LeastSquares::new().intercept(false).fit(&x.view(), &vec![1.0; 90][..]).unwrap();
            assert_eq!(rank(x.view()).unwrap().tolerance, fitted.rank().tolerance);
        }
    }
}
