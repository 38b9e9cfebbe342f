//! Square systems by LU with partial pivoting.
//!
//! Rows and columns are first scaled by powers of two, which changes no digit and makes pivots and the condition
//! number independent of units: `(Dr A Dc) y = Dr b`, `x = Dc y`.

use super::answer::{A, Facts, Method, Solution, finished, refine, right_side};
use super::estimate::{deficient_rank, inverse_norm, one_norm};
use crate::LinearError;
use crate::check::Argument;
use crate::dense::{self, axpy, column_norms, dot, load, norm_inf, power_of_two_near, scale_columns};
use spanwise_kernels::{Element, Matrix, View};

/// A square matrix factored once, to solve with many right-hand sides.
#[derive(Debug, Clone, PartialEq)]
pub struct LuFactor {
    a: Matrix,
    /// L below the diagonal (unit), U on and above, of the scaled matrix.
    factors: Matrix,
    order: Vec<usize>,
    row_scale: Vec<f64>,
    column_scale: Vec<f64>,
    condition: f64,
}

/// Solves `A x = b` for a square `a` (n × n) and `b` (n), with refinement.
///
/// A singular matrix is an error that gives its rank.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::solve::lu;
///
/// let a = View::new(&[0.0, 2.0, 1.0, 1.0], &[2, 2])?;
/// let answer = lu(a, View::new(&[4.0, 5.0], &[2])?)?;
/// assert_eq!(answer.x, [3.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lu<T: Element>(a: View<'_, T>, b: View<'_, T>) -> Result<Solution, LinearError> {
    LuFactor::new(a)?.solve(b)
}

/// Factors a loaded square matrix that errors will call `name`.
pub(crate) fn of_matrix(name: Argument, a: &Matrix) -> Result<LuFactor, LinearError> {
    let n = a.rows();
    let inverse_scale = |size: f64| 1.0 / power_of_two_near(size);
    let mut scaled = a.clone();
    let column_scale: Vec<f64> = column_norms(a).into_iter().map(inverse_scale).collect();
    scale_columns(&mut scaled, &column_scale);
    let row_scale: Vec<f64> = (0..n).map(|i| inverse_scale(norm_inf(scaled.row(i)))).collect();
    for (i, scale) in row_scale.iter().enumerate() {
        scaled.row_mut(i).iter_mut().for_each(|x| *x *= scale);
    }
    let size = one_norm(&scaled);
    let dense::factor::Lu { factors, order } = dense::lu(&scaled);
    let mut factor =
        LuFactor { a: a.clone(), factors, order, row_scale, column_scale, condition: f64::INFINITY };
    let zero_pivot = (0..n).any(|i| factor.factors[(i, i)] == 0.0 || !factor.factors[(i, i)].is_finite());
    if !zero_pivot {
        factor.condition =
            size * inverse_norm(n, |x| factor.scaled_solve(x), |x| factor.scaled_solve_transposed(x));
    }
    if let Some(rank) = deficient_rank(name, &scaled, factor.condition)? {
        return Err(LinearError::Singular {
            operation: name.operation,
            argument: name.name,
            rank,
            expected: n,
            reciprocal_condition: 1.0 / factor.condition,
        });
    }
    Ok(factor)
}

impl LuFactor {
    /// Factors `a` (n × n). A singular matrix is an error.
    pub fn new<T: Element>(a: View<'_, T>) -> Result<Self, LinearError> {
        A.square(&a)?;
        of_matrix(A, &load(A, &a)?)
    }

    /// Solves `A x = b`.
    pub fn solve<T: Element>(&self, b: View<'_, T>) -> Result<Solution, LinearError> {
        self.solve_vector(&right_side(&b, self.a.rows())?)
    }

    pub(crate) fn solve_vector(&self, b: &[f64]) -> Result<Solution, LinearError> {
        let solve = |b: &[f64]| {
            let mut y: Vec<f64> = b.iter().zip(&self.row_scale).map(|(b, scale)| b * scale).collect();
            self.scaled_solve(&mut y);
            y.iter_mut().zip(&self.column_scale).for_each(|(y, scale)| *y *= scale);
            y
        };
        let mut x = solve(b);
        let iterations = refine(&self.a, b, &mut x, solve);
        let facts = Facts {
            method: Method::Lu,
            condition: self.condition,
            iterations,
            rank: self.a.rows(),
            jitter: 0.0,
        };
        finished(&self.a, b, x, &facts)
    }

    /// Solves with the scaled matrix, in place.
    fn scaled_solve(&self, b: &mut [f64]) {
        let mut y: Vec<f64> = self.order.iter().map(|&i| b[i]).collect();
        for i in 0..y.len() {
            y[i] -= dot(&self.factors.row(i)[..i], &y[..i]);
        }
        dense::solve_upper(&self.factors, &mut y);
        b.copy_from_slice(&y);
    }

    /// Solves with its transpose, in place.
    fn scaled_solve_transposed(&self, b: &mut [f64]) {
        dense::solve_upper_transposed(&self.factors, b);
        for i in (0..b.len()).rev() {
            let x = b[i];
            axpy(&mut b[..i], -x, &self.factors.row(i)[..i]);
        }
        let y = b.to_vec();
        for (&i, y) in self.order.iter().zip(y) {
            b[i] = y;
        }
    }
}
