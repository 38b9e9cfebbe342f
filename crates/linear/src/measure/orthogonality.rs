//! Whether columns are orthogonal, and of length 1.

use super::rank::rank_tolerance_of;
use crate::check::argument;
use crate::dense::{load, multiply_transposed, norm_inf, unit_columns};
use crate::{Extent, LinearError, RowSource};
use spanwise_kernels::{Element, Matrix, View};

/// How far columns are from being orthogonal and from length 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Orthogonality {
    /// All columns are orthogonal to each other, within the tolerance.
    pub orthogonal: bool,
    /// They are orthogonal and all of length 1.
    pub orthonormal: bool,
    /// The largest magnitude of a cosine between two columns.
    pub largest_cosine: f64,
    /// The pair it belongs to: the certificate. `None` where there are fewer than two columns.
    pub worst_pair: Option<(usize, usize)>,
    /// The largest distance of a column's length from 1.
    pub length_error: f64,
    /// Cosines and length errors up to this count as 0.
    pub tolerance: f64,
}

/// Checks the columns of `x` (n × p).
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::measure::orthogonality;
///
/// let found = orthogonality(View::new(&[1.0, 1.0, 1.0, -1.0], &[2, 2])?)?;
/// assert!(found.orthogonal && !found.orthonormal);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn orthogonality<T: Element>(x: View<'_, T>) -> Result<Orthogonality, LinearError> {
    Ok(of_factor(&load(argument("measure", "X"), &x)?, x.precision()))
}

/// The same of any matrix whose columns have these lengths and angles, of numbers that were stored with this precision.
pub(super) fn of_factor(x: &Matrix, precision: f64) -> Orthogonality {
    let tolerance = rank_tolerance_of(x.cols(), precision);
    let (unit, norms) = unit_columns(x);
    let cosines = multiply_transposed(&unit, &unit);
    let (mut largest_cosine, mut worst_pair) = (0.0, None);
    for i in 0..x.cols() {
        for j in 0..i {
            let cosine = cosines[(i, j)].abs();
            if worst_pair.is_none() || cosine > largest_cosine {
                (largest_cosine, worst_pair) = (cosine, Some((j, i)));
            }
        }
    }
    let length_error = norms.iter().fold(0.0_f64, |worst, norm| worst.max((norm - 1.0).abs()));
    let orthogonal = largest_cosine <= tolerance;
    let orthonormal = orthogonal && length_error <= tolerance;
    Orthogonality { orthogonal, orthonormal, largest_cosine, worst_pair, length_error, tolerance }
}

/// The largest magnitude of a cosine between a column of `a` (n × p) and a column of `b` (n × q): 0 where every one is orthogonal to every
/// other, and where there are none.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::measure::largest_cosine;
///
/// let a = View::new(&[1.0, 0.0, 0.0, 1.0, 0.0, 0.0], &[3, 2])?;
/// let b = View::new(&[0.0, 3.0, 4.0], &[3, 1])?;
/// assert!((largest_cosine(a, b)? - 0.6).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn largest_cosine<T: Element>(a: View<'_, T>, b: View<'_, T>) -> Result<f64, LinearError> {
    let a = load(argument("measure", "A"), &a)?;
    let name = argument("measure", "B");
    let b = load(name, &b)?;
    name.fits(Extent::Rows(b.rows()), "A", Extent::Rows(a.rows()))?;
    Ok(norm_inf(multiply_transposed(&unit_columns(&a).0, &unit_columns(&b).0).as_slice()))
}
