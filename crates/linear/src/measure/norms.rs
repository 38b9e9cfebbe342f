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
    let mut sums = AbsoluteSums::new(x.cols());
    (0..x.rows()).for_each(|i| sums.add(x.row(i)));
    let s = dense::singular_values(&x)
        .map_err(|_| LinearError::Unconverged { operation: "measure", argument: "X" })?;
    Ok(MatrixNorms {
        frobenius: norm(x.as_slice()),
        spectral: s.first().copied().unwrap_or(0.0),
        one: sums.one(),
        inf: sums.inf(),
    })
}

/// Sums of magnitudes, row after row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AbsoluteSums {
    columns: Vec<f64>,
    largest_row: f64,
}

impl AbsoluteSums {
    /// Of no rows.
    pub(super) fn new(columns: usize) -> Self {
        AbsoluteSums { columns: vec![0.0; columns], largest_row: 0.0 }
    }

    pub(super) fn add(&mut self, row: &[f64]) {
        self.columns.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.abs());
        self.largest_row = self.largest_row.max(row.iter().map(|x| x.abs()).sum());
    }

    /// The largest of a column.
    pub(super) fn one(&self) -> f64 {
        norm_inf(&self.columns)
    }

    /// The largest of a row.
    pub(super) fn inf(&self) -> f64 {
        self.largest_row
    }
}
