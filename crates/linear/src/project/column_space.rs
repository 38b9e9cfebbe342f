//! Projection onto a column space, through an orthonormal basis that reveals the rank.
//!
//! ```text
//! X[:, order] = Q R, rank r;   Q₁ = first r columns of Q
//! inside  = Q₁ (Q₁ᵀ v)
//! outside = v − inside, projected once more: what rounding left inside is taken out
//! ```

use crate::check::{Argument, argument};
use crate::decompose::{PivotedQr, pivoted};
use crate::dense::{
    Reflectors, axpy, extreme_unit, identity, leading_columns, load, load_vector, norm, scaled, solve_upper,
    times, transposed_times,
};
use crate::measure::stored_precision;
use crate::{Extent, LinearError, RowSource};
use spanwise_kernels::{Element, Matrix, View};

/// A vector split by a column space.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    /// The part inside the span (n): the closest vector in it.
    pub inside: Vec<f64>,
    /// The part outside (n), orthogonal to every column.
    pub outside: Vec<f64>,
    /// The angle between the vector and the span, 0 to π/2; `None` for the zero vector.
    pub angle: Option<f64>,
    /// Coefficients of the columns (p) that give `inside`; dependent columns get 0.
    pub coefficients: Vec<f64>,
    /// The rank of the columns.
    pub rank: usize,
}

/// The columns of a matrix split by a column space.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixProjection {
    /// The parts inside the span (n × t).
    pub inside: Matrix,
    /// The parts outside (n × t).
    pub outside: Matrix,
    /// The angle between each column and the span (t); `None` for a zero column.
    pub angles: Vec<Option<f64>>,
    /// Coefficients (p × t) that give `inside`.
    pub coefficients: Matrix,
    /// The rank of the columns projected onto.
    pub rank: usize,
}

/// The span of a matrix's columns, factored once, to project many vectors onto.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnSpace {
    /// Orthonormal directions of the span, one per column (n × r).
    pub basis: Matrix,
    /// `X[:, independent] = basis · triangle` (r × r).
    pub triangle: Matrix,
    /// The columns kept as independent, in the order of `triangle` (r).
    pub independent: Vec<usize>,
    /// How many columns X has.
    pub columns: usize,
}

const X: Argument = argument("project", "X");

/// Rows up to which a complement has a basis: nearly as many directions of as many numbers, 2 GiB.
pub const COMPLEMENT_ROWS: usize = 1 << 14;

impl ColumnSpace {
    /// Factors `x` (n × p).
    pub fn new<T: Element>(x: View<'_, T>) -> Result<Self, LinearError> {
        ColumnSpace::of_matrix(&load(X, &x)?, x.precision())
    }

    /// Factors `x` (n × p), whose numbers had this many binary digits before they became what they are: a column that others
    /// give to that rounding, or to that of f32 where it is coarser, adds no direction.
    pub fn of_stored<T: Element>(x: View<'_, T>, bits: u32) -> Result<Self, LinearError> {
        ColumnSpace::of_matrix(&load(X, &x)?, x.precision().max(stored_precision(bits)))
    }

    /// Factors numbers that were stored with this precision.
    pub(crate) fn of_matrix(x: &Matrix, precision: f64) -> Result<Self, LinearError> {
        let PivotedQr { q, r, order, rank, .. } = pivoted(x, precision)?;
        Ok(ColumnSpace {
            basis: leading_columns(&q, rank),
            triangle: Matrix::from_fn(rank, rank, |i, j| r[(i, j)]),
            independent: order[..rank].to_vec(),
            columns: x.cols(),
        })
    }

    /// The rank: the dimension of the span.
    pub fn rank(&self) -> usize {
        self.independent.len()
    }

    /// Splits `v` (n).
    pub fn project<T: Element>(&self, v: View<'_, T>) -> Result<Projection, LinearError> {
        let name = argument("project", "v");
        let v = load_vector(name, &v)?;
        name.fits(Extent::Length(v.len()), "X", Extent::Rows(self.basis.rows()))?;
        Ok(self.split(&v))
    }

    /// Splits each column of `v` (n × t).
    pub fn project_matrix<T: Element>(&self, v: View<'_, T>) -> Result<MatrixProjection, LinearError> {
        let name = argument("project", "v");
        let y = load(name, &v)?;
        name.fits(Extent::Rows(y.rows()), "X", Extent::Rows(self.basis.rows()))?;
        let mut all = MatrixProjection {
            inside: Matrix::zeros(y.rows(), y.cols()),
            outside: Matrix::zeros(y.rows(), y.cols()),
            angles: Vec::with_capacity(y.cols()),
            coefficients: Matrix::zeros(self.columns, y.cols()),
            rank: self.rank(),
        };
        for j in 0..y.cols() {
            let split = self.split(&y.col(j));
            for i in 0..y.rows() {
                all.inside[(i, j)] = split.inside[i];
                all.outside[(i, j)] = split.outside[i];
            }
            for (i, c) in split.coefficients.into_iter().enumerate() {
                all.coefficients[(i, j)] = c;
            }
            all.angles.push(split.angle);
        }
        Ok(all)
    }

    /// An orthonormal basis of everything orthogonal to the span: n × (n − rank), n at most [`COMPLEMENT_ROWS`].
    pub fn complement(&self) -> Result<Matrix, LinearError> {
        let (n, rank) = (self.basis.rows(), self.basis.cols());
        argument("project", "rows of X").in_range(n as f64, n <= COMPLEMENT_ROWS, "at most 16384")?;
        if rank == 0 {
            return Ok(identity(n));
        }
        let all = Reflectors::of_rows(self.basis.as_slice(), rank).q(n);
        Ok(Matrix::from_fn(n, n - rank, |i, j| all[(i, rank + j)]))
    }

    /// Splits a vector whose length is known to fit.
    pub(crate) fn split(&self, v: &[f64]) -> Projection {
        let unit = extreme_unit(v);
        if unit != 1.0 {
            let small = self.split(&v.iter().map(|v| v / unit).collect::<Vec<_>>());
            return Projection {
                inside: scaled(&small.inside, unit),
                outside: scaled(&small.outside, unit),
                coefficients: scaled(&small.coefficients, unit),
                ..small
            };
        }
        let mut outside = v.to_vec();
        for _ in 0..2 {
            let along = transposed_times(&self.basis, &outside);
            axpy(&mut outside, -1.0, &times(&self.basis, &along));
        }
        let inside: Vec<f64> = v.iter().zip(&outside).map(|(v, out)| v - out).collect();
        let (across, along) = (norm(&outside), norm(&inside));
        Projection {
            angle: (across > 0.0 || along > 0.0).then(|| across.atan2(along)),
            inside,
            outside,
            coefficients: self.coefficients(v),
            rank: self.rank(),
        }
    }

    /// Coefficients of the columns (p) that give the part of `v` inside.
    pub(crate) fn coefficients(&self, v: &[f64]) -> Vec<f64> {
        let mut solution = transposed_times(&self.basis, v);
        solve_upper(&self.triangle, &mut solution);
        let mut all = vec![0.0; self.columns];
        for (&column, value) in self.independent.iter().zip(solution) {
            all[column] = value;
        }
        all
    }
}

/// Projects `v` (n) onto the span of the columns of `x` (n × p).
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::project::project;
///
/// // The plane of the first two axes.
/// let x = View::new(&[1.0, 1.0, 0.0, 1.0, 0.0, 0.0], &[3, 2])?;
/// let split = project(x, View::new(&[3.0, 2.0, 5.0], &[3])?)?;
/// assert!((split.inside[0] - 3.0).abs() < 1e-14 && (split.outside[2] - 5.0).abs() < 1e-14);
/// assert!((split.coefficients[0] - 1.0).abs() < 1e-14 && (split.coefficients[1] - 2.0).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn project<T: Element>(x: View<'_, T>, v: View<'_, T>) -> Result<Projection, LinearError> {
    ColumnSpace::new(x)?.project(v)
}

/// Projects each column of `v` (n × t) onto the span of the columns of `x` (n × p).
pub fn project_matrix<T: Element>(x: View<'_, T>, v: View<'_, T>) -> Result<MatrixProjection, LinearError> {
    ColumnSpace::new(x)?.project_matrix(v)
}
