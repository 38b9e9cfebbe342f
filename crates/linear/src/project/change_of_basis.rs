//! Other features, other weights, the same prediction.
//!
//! ```text
//! X w = (X B)(B⁻¹ w)      for any invertible B
//! ```
//!
//! What a linear model can reach depends on the span of its features alone, not on the columns chosen to span it.

use crate::check::argument;
use crate::dense::{load, load_vector, multiply, norm, times};
use crate::{Extent, LinearError, solve};
use spanwise_kernels::{Element, Matrix, View};

/// A model written in other features.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeOfBasis {
    /// The new features `X B` (n × p).
    pub features: Matrix,
    /// The new weights `u` with `B u = w` (p).
    pub weights: Vec<f64>,
    /// The prediction `X w` (n).
    pub prediction: Vec<f64>,
    /// `‖(X B) u − X w‖ / ‖X w‖`: rounding alone; the absolute difference where the prediction is 0.
    pub error: f64,
    /// An estimate of the condition number of `B`: how much rounding the change may magnify.
    pub condition: f64,
}

/// Writes the model `X w` (`x` n × p, `w` p) in the features `X B` (`b` p × p, invertible).
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::project::change_of_basis;
///
/// let x = View::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2])?;
/// let w = View::new(&[2.0, -1.0], &[2])?;
/// // New features: the sum and the difference of the old ones.
/// let b = View::new(&[1.0, 1.0, 1.0, -1.0], &[2, 2])?;
/// let same = change_of_basis(x, w, b)?;
/// assert_eq!(same.prediction, [0.0, 2.0, 4.0]);
/// assert!((same.weights[0] - 0.5).abs() < 1e-15 && (same.weights[1] - 1.5).abs() < 1e-15);
/// assert!(same.error < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn change_of_basis<T: Element>(
    x: View<'_, T>,
    w: View<'_, T>,
    b: View<'_, T>,
) -> Result<ChangeOfBasis, LinearError> {
    let x = load(argument("project", "X"), &x)?;
    let w_name = argument("project", "w");
    let w = load_vector(w_name, &w)?;
    w_name.fits(Extent::Length(w.len()), "X", Extent::Columns(x.cols()))?;
    let b_name = argument("project", "B");
    b_name.square(&b)?;
    let b = load(b_name, &b)?;
    b_name.fits(Extent::Rows(b.rows()), "X", Extent::Columns(x.cols()))?;
    let solved = solve::lu_of(b_name, &b)?.solve_vector(&w)?;
    let features = multiply(&x, &b);
    let prediction = times(&x, &w);
    let again = times(&features, &solved.x);
    let difference = norm(&again.iter().zip(&prediction).map(|(a, b)| a - b).collect::<Vec<_>>());
    let size = norm(&prediction);
    if !difference.is_finite() || !size.is_finite() {
        return Err(LinearError::Overflow { operation: "project", argument: "X" });
    }
    Ok(ChangeOfBasis {
        features,
        weights: solved.x,
        prediction,
        error: if size > 0.0 { difference / size } else { difference },
        condition: solved.condition,
    })
}
