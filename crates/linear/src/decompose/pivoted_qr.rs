//! QR with column pivoting: the most independent columns first, and how many there are.

use crate::LinearError;
use crate::check::argument;
use crate::dense::{self, Pivoted, load, norm_inf, power_of_two_near, scale_columns, unit_columns};
use crate::measure::{rank_tolerance, rank_tolerance_of};
use spanwise_kernels::{Element, Matrix, View};

/// `X[:, order] = Q R`, independent columns first.
#[derive(Debug, Clone, PartialEq)]
pub struct PivotedQr {
    /// Orthonormal columns, n × k, k = min(n, p). The first `rank` span the column space of X.
    pub q: Matrix,
    /// Upper triangular, k × p.
    pub r: Matrix,
    /// Column `j` of `Q R` is column `order[j]` of X.
    pub order: Vec<usize>,
    /// How many columns are independent.
    pub rank: usize,
    /// A column counts as dependent where what is left of it is at most this share of its norm.
    pub tolerance: f64,
}

impl PivotedQr {
    /// The columns of X kept as independent, in the order they were chosen.
    pub fn independent(&self) -> &[usize] {
        &self.order[..self.rank]
    }

    /// The columns of X that depend on the independent ones.
    pub fn dependent(&self) -> &[usize] {
        &self.order[self.rank..]
    }
}

/// QR with column pivoting of `x` (n × p), with its numerical rank.
///
/// The next column is the one of which the largest share is left, so the units in which a column is measured do not
/// matter: a column of scale 1e-12 beside one of 1e12 counts like any other.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::decompose::pivoted_qr;
///
/// // The third column is the sum of the first two.
/// let x = View::new(&[1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 2.0, 5.0, 7.0], &[3, 3])?;
/// assert_eq!(pivoted_qr(x)?.rank, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pivoted_qr<T: Element>(x: View<'_, T>) -> Result<PivotedQr, LinearError> {
    let x = load(argument("decompose", "X"), &x)?;
    of_stored(&x, f64::EPSILON / 2.0)
}

/// The same in the units given: the next column is the one of which most is left, and what counts as nothing is a share of the
/// longest column.
pub fn pivoted_qr_by_length<T: Element>(x: View<'_, T>) -> Result<PivotedQr, LinearError> {
    let x = load(argument("decompose", "X"), &x)?;
    // One power of two for all columns keeps their squares in range and changes no digit.
    let unit = power_of_two_near(norm_inf(x.as_slice()));
    let shrunk = Matrix::from_fn(x.rows(), x.cols(), |i, j| x[(i, j)] / unit);
    finished(dense::pivoted_qr(&shrunk), &vec![unit; x.cols()], rank_tolerance(x.cols()))
}

/// QR with column pivoting of numbers that were stored with this precision.
pub(crate) fn of_stored(x: &Matrix, precision: f64) -> Result<PivotedQr, LinearError> {
    let (unit, norms) = unit_columns(x);
    finished(dense::pivoted_qr(&unit), &norms, rank_tolerance_of(x.cols(), precision))
}

/// `norms` are what the columns were divided by.
fn finished(found: Pivoted, norms: &[f64], tolerance: f64) -> Result<PivotedQr, LinearError> {
    let Pivoted { mut q, mut r, order } = found;
    let size = r.rows().min(r.cols());
    let longest = if size > 0 { r[(0, 0)].abs() } else { 0.0 };
    let rank = (0..size).take_while(|&k| r[(k, k)].abs() > tolerance * longest).count();
    for k in 0..size {
        if r[(k, k)] < 0.0 {
            r.row_mut(k).iter_mut().for_each(|x| *x = -*x);
            (0..q.rows()).for_each(|i| q[(i, k)] = -q[(i, k)]);
        }
    }
    scale_columns(&mut r, &order.iter().map(|&j| norms[j]).collect::<Vec<_>>());
    if r.as_slice().iter().any(|x| !x.is_finite()) {
        return Err(LinearError::Overflow { operation: "decompose", argument: "X" });
    }
    Ok(PivotedQr { q, r, order, rank, tolerance })
}
