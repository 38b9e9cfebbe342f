//! Rows projected onto principal components, and rebuilt from them.

use crate::LinearError;
use crate::check::argument;
use crate::decompose::Pca;
use crate::dense::{load, norm};
use spanwise_kernels::{Element, Matrix, View};

/// Rows seen through principal components.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentProjection {
    /// Coordinates along the components (n × k).
    pub scores: Matrix,
    /// The rows rebuilt from those coordinates (n × p): the closest points in the components' plane.
    pub reconstruction: Matrix,
    /// The distance of each row from its reconstruction (n).
    pub distances: Vec<f64>,
    /// `‖X − reconstruction‖ / ‖X − mean‖` over all rows; 0 where all rows are the mean.
    pub relative_error: f64,
}

/// Projects the rows of `x` (n × p) onto the components of `pca`.
pub fn onto_components<T: Element>(x: View<'_, T>, pca: &Pca) -> Result<ComponentProjection, LinearError> {
    let scores = pca.transform(x)?;
    let reconstruction = pca.inverse_transform(scores.view())?;
    let x = load(argument("project", "X"), &x)?;
    let apart = |i: usize, from: &[f64]| -> f64 {
        norm(&x.row(i).iter().zip(from).map(|(x, y)| x - y).collect::<Vec<_>>())
    };
    let distances: Vec<f64> = (0..x.rows()).map(|i| apart(i, reconstruction.row(i))).collect();
    let spread = norm(&(0..x.rows()).map(|i| apart(i, &pca.mean)).collect::<Vec<_>>());
    let relative_error = if spread > 0.0 { norm(&distances) / spread } else { 0.0 };
    Ok(ComponentProjection { scores, reconstruction, distances, relative_error })
}
