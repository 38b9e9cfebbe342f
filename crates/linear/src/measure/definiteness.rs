//! Whether a symmetric matrix curves upwards in every direction.

use super::rank::stored_precision;
use crate::LinearError;
use crate::check::argument;
use crate::decompose::{SymmetricEigen, symmetric_eigen};
use crate::dense::{cholesky, compensated, load, norm_inf};
use spanwise_kernels::{Element, View};

/// What a symmetric matrix is, with the direction that proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Definiteness {
    /// Every direction curves upwards: `vᵀAv > 0`, and Cholesky's factorisation exists.
    pub positive_definite: bool,
    /// No direction curves downwards beyond rounding.
    pub positive_semidefinite: bool,
    /// The smallest eigenvalue.
    pub smallest: f64,
    /// The largest eigenvalue.
    pub largest: f64,
    /// A unit vector (n), the certificate: the one of least curvature, and of greatest where no direction curves upwards and one curves
    /// downwards. Where the matrix is not positive definite, `vᵀAv ≤ tolerance` can be checked by hand.
    pub direction: Vec<f64>,
    /// `vᵀAv` of that direction, computed anew in twice the precision.
    pub curvature: f64,
    /// Eigenvalues within this of 0 count as 0.
    pub tolerance: f64,
}

/// No direction curves upwards beyond rounding, and one curves downwards.
fn curves_downwards(smallest: f64, largest: f64, tolerance: f64) -> bool {
    largest <= tolerance && smallest < -tolerance
}

/// Checks the symmetric `a` (n × n, not empty) for positive definiteness.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::measure::definiteness;
///
/// let saddle = definiteness(View::new(&[1.0, 2.0, 2.0, 1.0], &[2, 2])?)?;
/// assert!(!saddle.positive_semidefinite);
/// assert!((saddle.curvature + 1.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn definiteness<T: Element>(a: View<'_, T>) -> Result<Definiteness, LinearError> {
    definiteness_of_stored(a, T::DTYPE.bits())
}

/// The same of numbers that had this many binary digits before they became what they are: an eigenvalue that their rounding, or that of
/// f32 where it is coarser, may have moved from 0 counts as 0.
pub fn definiteness_of_stored<T: Element>(a: View<'_, T>, bits: u32) -> Result<Definiteness, LinearError> {
    let name = argument("measure", "A");
    let n = name.square(&a)?;
    name.not_empty(&a)?;
    let matrix = load(name, &a)?;
    crate::decompose::check_symmetric("measure", &matrix)?;
    let SymmetricEigen { values, vectors } = symmetric_eigen(matrix.view())?;
    let (smallest, largest) = (values[n - 1], values[0]);
    let relative = (16.0 * f64::EPSILON * n.max(8) as f64).max(16.0 * stored_precision(bits));
    let tolerance = relative * norm_inf(&values);
    let direction = vectors.col(if curves_downwards(smallest, largest, tolerance) { 0 } else { n - 1 });
    let image =
        (0..n).map(|i| compensated::dot(0.0, matrix.row(i).iter().copied(), direction.iter().copied()));
    let curvature = compensated::dot(0.0, image, direction.iter().copied());
    if !curvature.is_finite() {
        return Err(LinearError::Overflow { operation: "measure", argument: "A" });
    }
    Ok(Definiteness {
        positive_definite: smallest > tolerance && cholesky(&matrix).is_ok(),
        positive_semidefinite: smallest >= -tolerance,
        smallest,
        largest,
        direction,
        curvature,
        tolerance,
    })
}
