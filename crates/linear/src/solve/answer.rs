//! An answer and how good it is.

use crate::check::{Argument, argument};
use crate::dense::{UNIT_ROUNDOFF, axpy, compensated, load_vector, norm, transposed_times};
use crate::{Extent, LinearError};
use spanwise_kernels::{Element, Matrix, View};

/// How a system was solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// LU with partial pivoting.
    Lu,
    /// Cholesky.
    Cholesky,
    /// Householder QR.
    Qr,
    /// Singular value decomposition.
    Svd,
    /// Conjugate gradients.
    ConjugateGradients,
    /// LSMR.
    Lsmr,
}

/// `x` with `A x = b`, or with `‖A x − b‖` as small as possible.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// The answer (p).
    pub x: Vec<f64>,
    /// How it was found.
    pub method: Method,
    /// `‖b − A x‖`, from residuals in twice the working precision where A is dense.
    pub residual_norm: f64,
    /// `‖b − A x‖ / ‖b‖`; 0 where both are 0.
    pub relative_residual: f64,
    /// The smallest relative change of A and b for which `x` is exact (an estimate): near 1e-16 is as good as it gets.
    pub backward_error: f64,
    /// `‖b − A x‖ / (‖A‖‖x‖ + ‖b‖)`, the backward error as a system: rounding, or the tolerance of the iteration, where
    /// A x = b was reached; more where `x` is only the nearest.
    pub system_error: f64,
    /// An estimate of the condition number. In the 1-norm: of A with rows and columns scaled for LU and Cholesky, of the
    /// triangle of A with columns of length 1 for QR. In the 2-norm: of the part of A that `rank` keeps for SVD, of what
    /// the iteration saw of the preconditioned A for conjugate gradients, and of A for LSMR.
    pub condition: f64,
    /// Steps of refinement, or of the iteration.
    pub iterations: usize,
    /// The numerical rank that was used; the smaller side for the iterations, which do not determine it.
    pub rank: usize,
    /// What was added to the diagonal, as a share of it; 0 unless Cholesky needed it.
    pub jitter: f64,
}

/// What a solver knows besides `x`.
pub(super) struct Facts {
    pub(super) method: Method,
    pub(super) condition: f64,
    pub(super) iterations: usize,
    pub(super) rank: usize,
    pub(super) jitter: f64,
}

pub(super) const A: Argument = argument("solve", "A");
pub(super) const B: Argument = argument("solve", "b");

/// `b` (n) as numbers, once it is known to fit `rows` rows of A.
pub(super) fn right_side<T: Element>(b: &View<'_, T>, rows: usize) -> Result<Vec<f64>, LinearError> {
    let b = load_vector(B, b)?;
    B.fits(Extent::Length(b.len()), "A", Extent::Rows(rows))?;
    Ok(b)
}

/// `b − A x`, each entry as if computed in twice the precision.
pub(super) fn residual(a: &Matrix, x: &[f64], b: &[f64]) -> Vec<f64> {
    (0..a.rows()).map(|i| compensated::dot(b[i], a.row(i).iter().copied(), x.iter().map(|x| -x))).collect()
}

/// Improves `x` by solving for its own residual until that stops helping; returns the steps taken.
pub(super) fn refine(a: &Matrix, b: &[f64], x: &mut [f64], solve: impl Fn(&[f64]) -> Vec<f64>) -> usize {
    let mut last = f64::INFINITY;
    for step in 0..5 {
        let correction = solve(&residual(a, x, b));
        let size = norm(&correction);
        // Corrections that do not halve are rounding, or the matrix is too ill conditioned for them to mean anything.
        if !size.is_finite() || size > 0.5 * last || size == 0.0 {
            return step;
        }
        axpy(x, 1.0, &correction);
        last = size;
        if size <= UNIT_ROUNDOFF * norm(x) {
            return step + 1;
        }
    }
    5
}

/// The answer with its residual and backward error, for a dense A.
pub(super) fn finished(a: &Matrix, b: &[f64], x: Vec<f64>, facts: &Facts) -> Result<Solution, LinearError> {
    let left = residual(a, &x, b);
    let gradient = norm(&transposed_times(a, &left));
    let size = norm(a.as_slice());
    measured(&Sizes { a: size, b: norm(b), residual: norm(&left), gradient }, x, facts)
}

/// Norms from which errors are formed.
pub(super) struct Sizes {
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) residual: f64,
    /// `‖Aᵀ(b − A x)‖`, 0 at a least-squares solution.
    pub(super) gradient: f64,
}

pub(super) fn measured(sizes: &Sizes, x: Vec<f64>, facts: &Facts) -> Result<Solution, LinearError> {
    let Sizes { a, b, residual, gradient } = *sizes;
    let overflow = |at: Argument| LinearError::Overflow { operation: at.operation, argument: at.name };
    if !a.is_finite() || facts.condition.is_nan() {
        return Err(overflow(A));
    }
    if !b.is_finite() {
        return Err(overflow(B));
    }
    if !x.iter().all(|x| x.is_finite()) {
        return Err(LinearError::AnswerOverflow { operation: B.operation, answer: "x", argument: B.name });
    }
    if !(residual.is_finite() && gradient.is_finite()) {
        return Err(overflow(A));
    }
    let share = |part: f64, whole: f64| if part == 0.0 { 0.0 } else { part / whole };
    let of_system = share(sizes.residual, sizes.a * norm(&x) + sizes.b);
    let of_least_squares = share(sizes.gradient, sizes.a * sizes.residual);
    Ok(Solution {
        relative_residual: share(sizes.residual, sizes.b),
        backward_error: of_system.min(of_least_squares),
        system_error: of_system,
        residual_norm: sizes.residual,
        x,
        method: facts.method,
        condition: facts.condition,
        iterations: facts.iterations,
        rank: facts.rank,
        jitter: facts.jitter,
    })
}
