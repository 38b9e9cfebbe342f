//! Least squares of minimum norm for any matrix, by singular values.

use super::answer::{A, Facts, Method, Solution, finished, refine, right_side};
use crate::LinearError;
use crate::decompose::{Svd, factored};
use crate::dense::{Vectors, load, times, transposed_times};
use crate::measure::rank_tolerance;
use spanwise_kernels::{Element, Matrix, View};

/// Any matrix, factored once.
#[derive(Debug, Clone, PartialEq)]
pub struct SvdFactor {
    a: Matrix,
    factors: Svd,
    rank: usize,
}

/// Of all `x` (p) that make `‖A x − b‖` smallest the shortest, for any `a` (n × p) and `b` (n).
///
/// Singular values up to `tolerance` times the largest count as zero (a rounding per column where `None`); the rank used
/// and the condition number of what is kept are in the answer.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::solve::svd;
///
/// // One equation, two unknowns: x + y = 2.
/// let answer = svd(View::new(&[1.0, 1.0], &[1, 2])?, View::new(&[2.0], &[1])?, None)?;
/// assert!((answer.x[0] - 1.0).abs() < 1e-15 && (answer.x[1] - 1.0).abs() < 1e-15);
/// assert_eq!(answer.rank, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn svd<T: Element>(
    a: View<'_, T>,
    b: View<'_, T>,
    tolerance: Option<f64>,
) -> Result<Solution, LinearError> {
    SvdFactor::new(a, tolerance)?.solve(b)
}

impl SvdFactor {
    /// Factors `a` (n × p).
    pub fn new<T: Element>(a: View<'_, T>, tolerance: Option<f64>) -> Result<Self, LinearError> {
        let a = load(A, &a)?;
        let tolerance = tolerance.unwrap_or_else(|| rank_tolerance(a.cols()));
        let name = crate::check::argument("solve", "tolerance");
        name.in_range(tolerance, (0.0..1.0).contains(&tolerance), "at least 0 and below 1")?;
        let factors = factored(A, &a, Vectors::Thin)?;
        let s = &factors.singular_values;
        let rank = s.iter().filter(|&&sigma| sigma > tolerance * s[0]).count();
        Ok(SvdFactor { a, factors, rank })
    }

    /// The factor of `a` to go on with where another way ended with `error`: dependent columns. The error stands where it is
    /// another, and where the singular values, whose cut-off heeds the units of the columns, tell another rank.
    pub(super) fn after<T: Element>(
        error: LinearError,
        a: View<'_, T>,
        tolerance: Option<f64>,
    ) -> Result<Self, LinearError> {
        let LinearError::Singular { rank, .. } = error else { return Err(error) };
        let factor = SvdFactor::new(a, tolerance)?;
        if factor.rank == rank { Ok(factor) } else { Err(error) }
    }

    /// The minimum-norm least-squares solution for `b` (n).
    pub fn solve<T: Element>(&self, b: View<'_, T>) -> Result<Solution, LinearError> {
        let b = right_side(&b, self.a.rows())?;
        let s = &self.factors.singular_values;
        let solve = |b: &[f64]| {
            let mut along = transposed_times(&self.factors.u, b);
            for (k, value) in along.iter_mut().enumerate() {
                *value = if k < self.rank { *value / s[k] } else { 0.0 };
            }
            times(&self.factors.v, &along)
        };
        let mut x = solve(&b);
        let iterations = refine(&self.a, &b, &mut x, solve);
        let condition = if self.rank > 0 { s[0] / s[self.rank - 1] } else { f64::INFINITY };
        let facts = Facts { method: Method::Svd, condition, iterations, rank: self.rank, jitter: 0.0 };
        finished(&self.a, &b, x, &facts)
    }
}
