//! Whether a vector is a combination of the columns.

use super::rank::rank_tolerance_of;
use crate::check::argument;
use crate::dense::{load, load_vector, norm, norm_inf, power_of_two_near, transposed_times, unit_columns};
use crate::project::ColumnSpace;
use crate::{Extent, LinearError, RowSource};
use spanwise_kernels::{Element, Matrix, View};

/// Whether a vector lies in the span of the columns, with what proves it either way.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanMembership {
    /// Whether what is left outside the span is at most `tolerance` of the vector.
    pub inside: bool,
    /// Coefficients of the columns (p) that give the part inside; dependent columns get 0. The certificate of being
    /// inside: `X · coefficients` is the vector, up to `residual`.
    pub coefficients: Vec<f64>,
    /// The part of the vector outside the span (n). The certificate of being outside: it is orthogonal to every
    /// column, but not to the vector.
    pub outside: Vec<f64>,
    /// `‖outside‖ / ‖v‖`: 0 inside the span, 1 where the vector is orthogonal to it; 0 for the zero vector.
    pub residual: f64,
    /// The largest magnitude of a cosine between `outside` and a column: how good that certificate is.
    pub orthogonality: f64,
    /// The rank of the columns.
    pub rank: usize,
    /// Whether these are the only coefficients that give the part inside: no column depends on others.
    pub unique: bool,
    /// A residual up to this counts as none.
    pub tolerance: f64,
}

/// Whether `v` (n) lies in the span of the columns of `x` (n × p).
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::measure::span_membership;
///
/// let x = View::new(&[1.0, 0.0, 0.0, 1.0, 0.0, 0.0], &[3, 2])?;
/// let found = span_membership(x, View::new(&[3.0, 0.0, 4.0], &[3])?)?;
/// assert!(!found.inside);
/// assert!((found.residual - 0.8).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn span_membership<T: Element>(x: View<'_, T>, v: View<'_, T>) -> Result<SpanMembership, LinearError> {
    let precision = x.precision().max(v.precision());
    let x = load(argument("measure", "X"), &x)?;
    let name = argument("measure", "v");
    let v = load_vector(name, &v)?;
    name.fits(Extent::Length(v.len()), "X", Extent::Rows(x.rows()))?;
    membership(&x, &v, precision, precision)
}

/// The same of a vector whose length is known to fit. `own` is the precision that the columns were stored with, which decides their rank;
/// `common` the coarser of theirs and the vector's, which decides what counts as outside.
pub(super) fn membership(
    x: &Matrix,
    v: &[f64],
    own: f64,
    common: f64,
) -> Result<SpanMembership, LinearError> {
    let space = ColumnSpace::of_matrix(x, own)?;
    let parts = space.split(v);
    // Shares and cosines are formed from numbers near 1, so that they exist at any scale.
    let unit = power_of_two_near(norm_inf(v));
    let (left, size) = (norm(&divided(&parts.outside, unit)), norm(&divided(v, unit)));
    let residual = if size > 0.0 { left / size } else { 0.0 };
    let direction = divided(&divided(&parts.outside, unit), if left > 0.0 { left } else { 1.0 });
    let cosines = transposed_times(&unit_columns(x).0, &direction);
    let tolerance = rank_tolerance_of(x.cols(), common);
    Ok(SpanMembership {
        inside: residual <= tolerance,
        coefficients: parts.coefficients,
        orthogonality: norm_inf(&cosines),
        outside: parts.outside,
        residual,
        rank: space.rank(),
        unique: space.rank() == x.cols(),
        tolerance,
    })
}

fn divided(x: &[f64], by: f64) -> Vec<f64> {
    x.iter().map(|x| x / by).collect()
}
