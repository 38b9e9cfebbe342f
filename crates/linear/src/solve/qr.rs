//! Least squares of full rank by Householder QR.

use super::answer::{A, Facts, Method, Solution, finished, refine, right_side};
use super::estimate::{deficient_rank, inverse_norm, one_norm};
use crate::LinearError;
use crate::dense::{self, load, thin_qr, transposed_times, unit_columns};
use spanwise_kernels::{Element, Matrix, View};

/// A matrix with at least as many rows as columns, factored once.
#[derive(Debug, Clone, PartialEq)]
pub struct QrFactor {
    a: Matrix,
    /// Orthonormal columns (n × p).
    q: Matrix,
    /// Upper triangular (p × p), of columns scaled to length 1.
    r: Matrix,
    /// The columns' lengths.
    norms: Vec<f64>,
    condition: f64,
}

/// The `x` (p) that makes `‖A x − b‖` smallest, for `a` (n × p, n ≥ p, independent columns) and `b` (n).
///
/// Dependent columns, or fewer rows than columns, are an error that gives the rank.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::solve::qr;
///
/// // The line through (0, 1), (1, 3), (2, 5).
/// let a = View::new(&[1.0, 0.0, 1.0, 1.0, 1.0, 2.0], &[3, 2])?;
/// let answer = qr(a, View::new(&[1.0, 3.0, 5.0], &[3])?)?;
/// assert!((answer.x[0] - 1.0).abs() < 1e-15 && (answer.x[1] - 2.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn qr<T: Element>(a: View<'_, T>, b: View<'_, T>) -> Result<Solution, LinearError> {
    QrFactor::new(a)?.solve(b)
}

impl QrFactor {
    /// Factors `a` (n × p). Dependent columns are an error.
    pub fn new<T: Element>(a: View<'_, T>) -> Result<Self, LinearError> {
        let a = load(A, &a)?;
        let (n, p) = (a.rows(), a.cols());
        let (unit, norms) = unit_columns(&a);
        let (q, r) = thin_qr(&unit);
        let mut factor = QrFactor { a, q, r, norms, condition: f64::INFINITY };
        if n >= p && (0..p).all(|k| factor.r[(k, k)] != 0.0) {
            let r = &factor.r;
            let solve = |x: &mut [f64]| dense::solve_upper(r, x);
            let transposed = |x: &mut [f64]| dense::solve_upper_transposed(r, x);
            factor.condition = one_norm(r) * inverse_norm(p, solve, transposed);
        }
        if let Some(rank) = deficient_rank(A, &factor.r, factor.condition)? {
            return Err(LinearError::Singular {
                operation: "solve",
                argument: "A",
                rank,
                expected: p,
                reciprocal_condition: 1.0 / factor.condition,
            });
        }
        Ok(factor)
    }

    /// The least-squares solution for `b` (n).
    pub fn solve<T: Element>(&self, b: View<'_, T>) -> Result<Solution, LinearError> {
        let b = right_side(&b, self.a.rows())?;
        let solve = |b: &[f64]| {
            let mut x = transposed_times(&self.q, b);
            dense::solve_upper(&self.r, &mut x);
            x.iter_mut().zip(&self.norms).for_each(|(x, norm)| *x /= norm);
            x
        };
        let mut x = solve(&b);
        let iterations = refine(&self.a, &b, &mut x, solve);
        let facts = Facts {
            method: Method::Qr,
            condition: self.condition,
            iterations,
            rank: self.a.cols(),
            jitter: 0.0,
        };
        finished(&self.a, &b, x, &facts)
    }
}
