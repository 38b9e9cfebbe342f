//! QR: an orthonormal basis of the columns, and the triangle that rebuilds them.

use crate::LinearError;
use crate::check::argument;
use crate::dense::{Reflectors, load, thin_qr};
use spanwise_kernels::{Element, Matrix, View};

/// `X = Q R`.
#[derive(Debug, Clone, PartialEq)]
pub struct Qr {
    /// Orthonormal columns: n × k thin, n × n full, k = min(n, p).
    pub q: Matrix,
    /// Upper triangular with a diagonal that is not negative: k × p thin, n × p full.
    pub r: Matrix,
}

/// The thin QR factorisation of `x` (n × p): `Q` is n × k and `R` k × p, k = min(n, p).
///
/// Rows are factored in tiles and merged, which is as stable as one long factorisation.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::decompose::qr;
///
/// let x = View::new(&[3.0, 1.0, 4.0, 2.0], &[2, 2])?;
/// let factors = qr(x)?;
/// assert!((factors.r[(0, 0)] - 5.0).abs() < 1e-15);
/// assert!((factors.q[(0, 0)] - 0.6).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn qr<T: Element>(x: View<'_, T>) -> Result<Qr, LinearError> {
    let x = load(argument("decompose", "X"), &x)?;
    let (q, r) = thin_qr(&x);
    finished(q, r)
}

/// The full QR factorisation of `x` (n × p): `Q` is n × n, its last columns span what the columns of `x` do not.
pub fn qr_full<T: Element>(x: View<'_, T>) -> Result<Qr, LinearError> {
    let x = load(argument("decompose", "X"), &x)?;
    let (rows, cols) = (x.rows(), x.cols());
    if cols == 0 {
        return Ok(Qr { q: crate::dense::identity(rows), r: Matrix::zeros(rows, 0) });
    }
    let factored = Reflectors::of_rows(x.as_slice(), cols);
    let upper = factored.r();
    let r = Matrix::from_fn(rows, cols, |i, j| if i < upper.rows() { upper[(i, j)] } else { 0.0 });
    finished(factored.q(rows), r)
}

fn finished(mut q: Matrix, mut r: Matrix) -> Result<Qr, LinearError> {
    for k in 0..r.rows().min(r.cols()) {
        if r[(k, k)] < 0.0 {
            r.row_mut(k).iter_mut().for_each(|x| *x = -*x);
            (0..q.rows()).for_each(|i| q[(i, k)] = -q[(i, k)]);
        }
    }
    if r.as_slice().iter().any(|x| !x.is_finite()) {
        return Err(LinearError::Overflow { operation: "decompose", argument: "X" });
    }
    Ok(Qr { q, r })
}
