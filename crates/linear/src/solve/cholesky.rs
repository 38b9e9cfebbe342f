//! Symmetric positive definite systems by Cholesky's factorisation.
//!
//! Rows and columns are scaled by powers of two to a diagonal near 1. Where the matrix is not numerically positive
//! definite and the caller allows it, a share of the diagonal is added, ten times more at each attempt, and reported.

use super::answer::{A, Facts, Method, Solution, finished, refine, right_side};
use super::estimate::{inverse_norm, one_norm};
use crate::LinearError;
use crate::check::argument;
use crate::decompose::check_symmetric;
use crate::dense::{self, UNIT_ROUNDOFF, load, solve_upper, solve_upper_transposed};
use spanwise_kernels::{Element, Matrix, View};

/// A symmetric positive definite matrix factored once, to solve with many right-hand sides.
#[derive(Debug, Clone, PartialEq)]
pub struct CholeskyFactor {
    a: Matrix,
    /// Upper triangular, of the scaled matrix.
    r: Matrix,
    /// Powers of two.
    scale: Vec<f64>,
    condition: f64,
    jitter: f64,
}

/// Solves `A x = b` for a symmetric positive definite `a` (n × n) and `b` (n), with refinement.
///
/// `max_jitter` is the largest share of the diagonal that may be added to make the factorisation exist; with 0 a matrix
/// that is not positive definite is an error. [`Solution::jitter`] says what was added; the residual is always that of
/// the matrix as it was given.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::solve::cholesky;
///
/// let a = View::new(&[4.0, 2.0, 2.0, 3.0], &[2, 2])?;
/// let answer = cholesky(a, View::new(&[8.0, 8.0], &[2])?, 0.0)?;
/// assert_eq!((answer.x, answer.jitter), (vec![1.0, 2.0], 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cholesky<T: Element>(
    a: View<'_, T>,
    b: View<'_, T>,
    max_jitter: f64,
) -> Result<Solution, LinearError> {
    CholeskyFactor::new(a, max_jitter)?.solve(b)
}

impl CholeskyFactor {
    /// Factors `a` (n × n), adding at most `max_jitter` of its diagonal.
    pub fn new<T: Element>(a: View<'_, T>, max_jitter: f64) -> Result<Self, LinearError> {
        A.square(&a)?;
        let name = argument("solve", "max_jitter");
        name.in_range(max_jitter, (0.0..=1.0).contains(&max_jitter), "between 0 and 1")?;
        let a = load(A, &a)?;
        check_symmetric("solve", &a)?;
        let n = a.rows();
        if let Some(curvature) = (0..n).map(|i| a[(i, i)]).find(|&d| d <= 0.0) {
            return Err(LinearError::NotPositiveDefinite { operation: "solve", argument: "A", curvature });
        }
        // Powers of two whose squares are near the diagonal.
        let half = |d: f64| 2.0_f64.powi(-((d.log2() / 2.0).round() as i32));
        let scale: Vec<f64> = (0..n).map(|i| half(a[(i, i)])).collect();
        let scaled = Matrix::from_fn(n, n, |i, j| a[(i, j)] * scale[i] * scale[j]);
        let mut jitter = 0.0;
        loop {
            match factor(&scaled, jitter) {
                Ok((r, condition)) => return Ok(CholeskyFactor { a, r, scale, condition, jitter }),
                Err(fault) => {
                    let next = if jitter == 0.0 { 1e-15 * n as f64 } else { 10.0 * jitter };
                    if next > max_jitter {
                        return Err(refusal(&a, fault, n)?);
                    }
                    jitter = next;
                }
            }
        }
    }

    /// Solves `A x = b`.
    pub fn solve<T: Element>(&self, b: View<'_, T>) -> Result<Solution, LinearError> {
        let b = right_side(&b, self.a.rows())?;
        let solve = |b: &[f64]| {
            let mut y: Vec<f64> = b.iter().zip(&self.scale).map(|(b, scale)| b * scale).collect();
            solve_upper_transposed(&self.r, &mut y);
            solve_upper(&self.r, &mut y);
            y.iter_mut().zip(&self.scale).for_each(|(y, scale)| *y *= scale);
            y
        };
        let mut x = solve(&b);
        // With jitter the factor is another matrix's: its corrections would chase what the jitter was to damp.
        let iterations = if self.jitter > 0.0 { 0 } else { refine(&self.a, &b, &mut x, solve) };
        let facts = Facts {
            method: Method::Cholesky,
            condition: self.condition,
            iterations,
            rank: self.a.rows(),
            jitter: self.jitter,
        };
        finished(&self.a, &b, x, &facts)
    }
}

/// Why a factorisation is of no use.
enum Fault {
    /// `vᵀAv` of a unit vector of the scaled matrix.
    Curvature(f64),
    /// The condition number.
    Condition(f64),
}

/// R and the condition number of the scaled matrix with `jitter` of its diagonal added.
fn factor(scaled: &Matrix, jitter: f64) -> Result<(Matrix, f64), Fault> {
    let n = scaled.rows();
    let a = Matrix::from_fn(n, n, |i, j| scaled[(i, j)] * if i == j { 1.0 + jitter } else { 1.0 });
    let r = dense::cholesky(&a).map_err(|pivot| Fault::Curvature(curvature_at(&a, pivot)))?;
    let solve = |x: &mut [f64]| {
        solve_upper_transposed(&r, x);
        solve_upper(&r, x);
    };
    let condition = one_norm(&a) * inverse_norm(n, solve, solve);
    if condition * UNIT_ROUNDOFF >= 1.0 { Err(Fault::Condition(condition)) } else { Ok((r, condition)) }
}

/// The curvature along the direction that stopped the factorisation at `pivot`.
///
/// ```text
/// A = [A₁ a; aᵀ α], A₁ = RᵀR:  v = [−A₁⁻¹a; 1],  vᵀAv = α − ‖R⁻ᵀa‖²
/// ```
fn curvature_at(a: &Matrix, pivot: usize) -> f64 {
    let leading = Matrix::from_fn(pivot, pivot, |i, j| a[(i, j)]);
    let Ok(r) = dense::cholesky(&leading) else { return 0.0 };
    let mut along = a.row(pivot)[..pivot].to_vec();
    solve_upper_transposed(&r, &mut along);
    let curvature = a[(pivot, pivot)] - dense::dot(&along, &along);
    solve_upper(&r, &mut along);
    curvature / (1.0 + dense::dot(&along, &along))
}

fn refusal(a: &Matrix, fault: Fault, n: usize) -> Result<LinearError, LinearError> {
    Ok(match fault {
        Fault::Curvature(curvature) if curvature < -1e-14 * n as f64 => {
            LinearError::NotPositiveDefinite { operation: "solve", argument: "A", curvature }
        }
        fault => LinearError::Singular {
            operation: "solve",
            argument: "A",
            rank: crate::measure::rank_of_factor(A, a)?.min(n - 1),
            expected: n,
            reciprocal_condition: if let Fault::Condition(condition) = fault { 1.0 / condition } else { 0.0 },
        },
    })
}
