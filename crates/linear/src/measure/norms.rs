//! Norms of vectors and matrices.

use crate::LinearError;
use crate::check::argument;
use crate::dense::{self, load, load_vector, norm, norm_inf};
use spanwise_kernels::{Element, View};

/// How large a vector is, three ways.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VectorNorms {
    /// The sum of magnitudes.
    pub one: f64,
    /// The Euclidean length.
    pub two: f64,
    /// The largest magnitude.
    pub inf: f64,
}

/// How large a matrix is, four ways.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatrixNorms {
    /// The root of the sum of squares.
    pub frobenius: f64,
    /// The largest factor by which it lengthens a vector: its largest singular value.
    pub spectral: f64,
    /// The largest sum of magnitudes of a column.
    pub one: f64,
    /// The largest sum of magnitudes of a row.
    pub inf: f64,
}

/// The norms of `v` (n). An empty vector has norm 0.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::measure::vector_norms;
///
/// let norms = vector_norms(View::new(&[3.0, -4.0], &[2])?)?;
/// assert_eq!((norms.one, norms.two, norms.inf), (7.0, 5.0, 4.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn vector_norms<T: Element>(v: View<'_, T>) -> Result<VectorNorms, LinearError> {
    let v = load_vector(argument("measure", "v"), &v)?;
    Ok(VectorNorms { one: v.iter().map(|x| x.abs()).sum(), two: norm(&v), inf: norm_inf(&v) })
}

/// The norms of `x` (n × p). An empty matrix has norm 0.
pub fn matrix_norms<T: Element>(x: View<'_, T>) -> Result<MatrixNorms, LinearError> {
    let x = load(argument("measure", "X"), &x)?;
    let mut columns = vec![0.0; x.cols()];
    let mut inf = 0.0_f64;
    for i in 0..x.rows() {
        columns.iter_mut().zip(x.row(i)).for_each(|(sum, x)| *sum += x.abs());
        inf = inf.max(x.row(i).iter().map(|x| x.abs()).sum());
    }
    let s = dense::singular_values(&x)
        .map_err(|_| LinearError::Unconverged { operation: "measure", argument: "X" })?;
    Ok(MatrixNorms {
        frobenius: norm(x.as_slice()),
        spectral: s.first().copied().unwrap_or(0.0),
        one: norm_inf(&columns),
        inf,
    })
}
