//! Angles between vectors and between subspaces.
//!
//! A cosine near 1 says little about a small angle, and a sine near 1 little about a large one. Each angle is
//! therefore taken from whichever of the two is smaller.

use crate::check::argument;
use crate::dense::{self, load, load_vector, multiply, multiply_transposed, norm, scaled};
use crate::project::ColumnSpace;
use crate::{Extent, LinearError, RowSource};
use spanwise_kernels::{Element, Matrix, View};

/// The angle between `a` and `b` (both n), from 0 to π; `None` where one of them is zero and has no direction.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::measure::angle;
///
/// let a = View::new(&[1.0, 0.0], &[2])?;
/// let b = View::new(&[1.0, 1e-9], &[2])?;
/// assert!((angle(a, b)?.unwrap() - 1e-9).abs() < 1e-24);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn angle<T: Element>(a: View<'_, T>, b: View<'_, T>) -> Result<Option<f64>, LinearError> {
    let a = load_vector(argument("measure", "a"), &a)?;
    let name = argument("measure", "b");
    let b = load_vector(name, &b)?;
    name.fits(Extent::Length(b.len()), "a", Extent::Length(a.len()))?;
    Ok(between(&a, &b))
}

/// The angle between two vectors of the same length.
pub(crate) fn between(a: &[f64], b: &[f64]) -> Option<f64> {
    let unit = |v: &[f64]| {
        let big = dense::norm_inf(v);
        let small = scaled(v, 1.0 / dense::power_of_two_near(big));
        let length = norm(&small);
        (big > 0.0).then(|| scaled(&small, 1.0 / length))
    };
    let (a, b) = (unit(a)?, unit(b)?);
    // Half the angle, from the two diagonals of the rhombus that unit vectors span: exact at both ends.
    let difference: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    Some(2.0 * norm(&difference).atan2(norm(&sum)))
}

/// The principal angles between the column spaces of `a` (n × p) and `b` (n × q), smallest first.
///
/// There are as many as the smaller of the two ranks. All zero: one space lies inside the other. The largest equal to
/// π/2: some direction of the smaller space is orthogonal to all of the larger.
pub fn principal_angles<T: Element, U: Element>(
    a: View<'_, T>,
    b: View<'_, U>,
) -> Result<Vec<f64>, LinearError> {
    let precision = a.precision().max(b.precision());
    let a = load(argument("measure", "A"), &a)?;
    let name = argument("measure", "B");
    let b = load(name, &b)?;
    name.fits(Extent::Rows(b.rows()), "A", Extent::Rows(a.rows()))?;
    let bases = (basis(&a, precision)?, basis(&b, precision)?);
    between_spaces(&bases.0, &bases.1)
}

/// An orthonormal basis, n × rank, of the columns of numbers that were stored with this precision.
pub(super) fn basis(x: &Matrix, precision: f64) -> Result<Matrix, LinearError> {
    Ok(ColumnSpace::of_matrix(x, precision)?.basis)
}

/// The principal angles between the spaces of two orthonormal bases, smallest first.
pub(super) fn between_spaces(a: &Matrix, b: &Matrix) -> Result<Vec<f64>, LinearError> {
    let (large, small) = if a.cols() >= b.cols() { (a, b) } else { (b, a) };
    let unconverged = |_| LinearError::Unconverged { operation: "measure", argument: "B" };
    let inside = multiply_transposed(large, small); // cosines
    let cosines = dense::singular_values(&inside).map_err(unconverged)?;
    let projected = multiply(large, &inside);
    let outside = Matrix::from_fn(small.rows(), small.cols(), |i, j| small[(i, j)] - projected[(i, j)]);
    let mut sines = dense::singular_values(&outside).map_err(unconverged)?;
    sines.reverse();
    Ok(cosines
        .iter()
        .zip(&sines)
        .map(
            |(&cosine, &sine)| {
                if cosine > 0.7 { sine.clamp(0.0, 1.0).asin() } else { cosine.clamp(0.0, 1.0).acos() }
            },
        )
        .collect())
}
