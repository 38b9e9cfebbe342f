//! Whether a symmetric matrix curves upwards in every direction.

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
    /// The unit vector of least curvature (n): the certificate. Where the matrix is not positive definite,
    /// `vᵀAv ≤ tolerance` can be checked by hand.
    pub direction: Vec<f64>,
    /// `vᵀAv` of that direction, computed anew in twice the precision.
    pub curvature: f64,
    /// Eigenvalues within this of 0 count as 0.
    pub tolerance: f64,
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
    let name = argument("measure", "A");
    let n = name.square(&a)?;
    name.not_empty(&a)?;
    let matrix = load(name, &a)?;
    crate::decompose::check_symmetric("measure", &matrix)?;
    let SymmetricEigen { values, vectors } = symmetric_eigen(matrix.view())?;
    let direction = vectors.col(n - 1);
    let image =
        (0..n).map(|i| compensated::dot(0.0, matrix.row(i).iter().copied(), direction.iter().copied()));
    let curvature = compensated::dot(0.0, image, direction.iter().copied());
    if !curvature.is_finite() {
        return Err(LinearError::Overflow { operation: "measure", argument: "A" });
    }
    let tolerance = 16.0 * f64::EPSILON * n.max(8) as f64 * norm_inf(&values);
    let smallest = values[n - 1];
    Ok(Definiteness {
        positive_definite: smallest > tolerance && cholesky(&matrix).is_ok(),
        positive_semidefinite: smallest >= -tolerance,
        smallest,
        largest: values[0],
        direction,
        curvature,
        tolerance,
    })
}
