//! Conjugate gradients: symmetric positive definite systems known by their products alone.
//!
//! ```text
//! r = b − A x,  z = M⁻¹ r,  p = z
//! repeat: α = rᵀz / pᵀAp;  x += α p;  r −= α A p
//!         z = M⁻¹ r;  β = new rᵀz / old rᵀz;  p = z + β p
//! until ‖r‖ ≤ tolerance · ‖b‖
//! ```
//!
//! The α and β are also the entries of a small tridiagonal matrix whose extreme eigenvalues approach those of the
//! (preconditioned) A: that is where the condition estimate comes from. The residual carried along drifts from the true
//! one; at the end the true one is computed, and the iteration continues from there where it is still too large.

use super::Operator;
use super::answer::{A, B, Facts, Method, Sizes, Solution, measured};
use crate::check::argument;
use crate::dense::{self, axpy, dot, extreme_unit, norm};
use crate::{Extent, LinearError};
use spanwise_kernels::{Matrix, View};

/// What stands in for the inverse of A between steps. It must be symmetric positive definite itself.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub enum Preconditioner<'a> {
    /// None.
    None,
    /// Division by the diagonal of A, where the operator knows it; none otherwise.
    #[default]
    Jacobi,
    /// Writes `M⁻¹ r` to its second argument.
    Custom(&'a dyn Fn(&[f64], &mut [f64])),
}

impl std::fmt::Debug for Preconditioner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Preconditioner::None => "None",
            Preconditioner::Jacobi => "Jacobi",
            Preconditioner::Custom(_) => "Custom",
        })
    }
}

/// When to stop, and how to precondition.
#[derive(Debug, Clone, Copy)]
pub struct CgOptions<'a> {
    /// Stops where `‖b − A x‖ ≤ tolerance · ‖b‖`.
    pub tolerance: f64,
    /// Steps at most; ten times the size where `None`.
    pub max_iterations: Option<usize>,
    /// The preconditioner.
    pub preconditioner: Preconditioner<'a>,
}

impl Default for CgOptions<'_> {
    fn default() -> Self {
        CgOptions { tolerance: 1e-10, max_iterations: None, preconditioner: Preconditioner::Jacobi }
    }
}

/// Solves `A x = b` for a symmetric positive definite operator `a` (n × n) and `b` (n).
///
/// A direction along which A does not curve upwards is an error, as is a tolerance not reached in time.
///
/// ```
/// use spanwise_kernels::{Matrix, View};
/// use spanwise_linear::solve::{CgOptions, conjugate_gradients};
///
/// let a = Matrix::new(vec![4.0, 1.0, 1.0, 3.0], 2, 2)?;
/// let answer = conjugate_gradients(&a, View::new(&[1.0, 2.0], &[2])?, CgOptions::default())?;
/// assert!((answer.x[0] - 1.0 / 11.0).abs() < 1e-10 && answer.iterations <= 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn conjugate_gradients(
    a: &impl Operator,
    b: View<'_, f64>,
    options: CgOptions<'_>,
) -> Result<Solution, LinearError> {
    let n = a.rows();
    A.fits(Extent::Rows(n), "A", Extent::Columns(a.cols()))?;
    let mut b = dense::load_vector(B, &b)?;
    B.fits(Extent::Length(b.len()), "A", Extent::Rows(n))?;
    let tolerance = options.tolerance;
    argument("solve", "tolerance").in_range(
        tolerance,
        tolerance > 0.0 && tolerance < 1.0,
        "above 0 and below 1",
    )?;
    let diagonal = diagonal_of(a, options.preconditioner)?;
    // Squares of b are formed; what answers b answers its multiples.
    let unit = extreme_unit(&b);
    for b in &mut b {
        *b /= unit;
    }
    let size = norm(&b);
    let mut run = Run { a, b: &b, diagonal, options, x: vec![0.0; n], iterations: 0, lanczos: Vec::new() };
    let most = options.max_iterations.unwrap_or(10 * n.max(10));
    let mut reached = size;
    let mut left = b.clone();
    // A few restarts from the true residual: the last one at full precision.
    for _ in 0..4 {
        if reached <= tolerance * size {
            break;
        }
        run.steps(&left, tolerance * size, most)?;
        left = run.residual();
        let now = norm(&left);
        if !now.is_finite() {
            return Err(LinearError::Overflow { operation: "solve", argument: "A" });
        }
        if now >= 0.9 * reached {
            reached = now;
            break;
        }
        reached = now;
    }
    if reached > tolerance * size {
        return Err(LinearError::NoConvergence {
            operation: "solve",
            iterations: run.iterations,
            residual: unit * reached,
            tolerance: unit * tolerance * size,
        });
    }
    let mut gradient = vec![0.0; n];
    a.apply(&left, &mut gradient);
    let (largest, condition) = run.spectrum()?;
    let facts = Facts {
        method: Method::ConjugateGradients,
        condition,
        iterations: run.iterations,
        rank: n,
        jitter: 0.0,
    };
    let [b, residual, gradient] = [size, reached, norm(&gradient)].map(|size| unit * size);
    let sizes = Sizes { a: largest, b, residual, gradient };
    measured(&sizes, run.x.iter().map(|x| unit * x).collect(), &facts)
}

/// The diagonal to divide by, if any.
fn diagonal_of(
    a: &impl Operator,
    preconditioner: Preconditioner<'_>,
) -> Result<Option<Vec<f64>>, LinearError> {
    let Preconditioner::Jacobi = preconditioner else { return Ok(None) };
    let Some(diagonal) = a.diagonal() else { return Ok(None) };
    match diagonal.iter().find(|&&d| d.is_nan() || d <= 0.0) {
        // The unit vector of that entry does not curve upwards.
        Some(&curvature) => {
            Err(LinearError::NotPositiveDefinite { operation: "solve", argument: "A", curvature })
        }
        None => Ok(Some(diagonal)),
    }
}

struct Run<'a, O> {
    a: &'a O,
    b: &'a [f64],
    diagonal: Option<Vec<f64>>,
    options: CgOptions<'a>,
    x: Vec<f64>,
    iterations: usize,
    /// (α, β) of the first steps.
    lanczos: Vec<(f64, f64)>,
}

impl<O: Operator> Run<'_, O> {
    fn precondition(&self, r: &[f64]) -> Vec<f64> {
        match (self.options.preconditioner, &self.diagonal) {
            (Preconditioner::Custom(apply), _) => {
                let mut z = vec![0.0; r.len()];
                apply(r, &mut z);
                z
            }
            (_, Some(diagonal)) => r.iter().zip(diagonal).map(|(r, d)| r / d).collect(),
            _ => r.to_vec(),
        }
    }

    fn residual(&self) -> Vec<f64> {
        let mut image = vec![0.0; self.b.len()];
        self.a.apply(&self.x, &mut image);
        self.b.iter().zip(&image).map(|(b, image)| b - image).collect()
    }

    /// Adds to `x` the solution for `left`, until the residual carried along is at most `enough`.
    fn steps(&mut self, left: &[f64], enough: f64, most: usize) -> Result<(), LinearError> {
        const KEPT: usize = 200;
        let first_run = self.lanczos.is_empty();
        let mut r = left.to_vec();
        let mut z = self.precondition(&r);
        let mut p = z.clone();
        let mut image = vec![0.0; r.len()];
        let mut strength = dot(&r, &z);
        while norm(&r) > 0.5 * enough && self.iterations < most {
            self.a.apply(&p, &mut image);
            let curvature = dot(&p, &image);
            if curvature.is_nan() || curvature <= 0.0 || strength.is_nan() || strength <= 0.0 {
                let curvature = if strength > 0.0 { curvature / dot(&p, &p) } else { strength };
                return Err(LinearError::NotPositiveDefinite {
                    operation: "solve",
                    argument: "A",
                    curvature,
                });
            }
            let alpha = strength / curvature;
            axpy(&mut self.x, alpha, &p);
            axpy(&mut r, -alpha, &image);
            z = self.precondition(&r);
            let next = dot(&r, &z);
            let beta = next / strength;
            strength = next;
            p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + beta * *p);
            self.iterations += 1;
            if first_run && self.lanczos.len() < KEPT {
                self.lanczos.push((alpha, beta));
            }
            if norm(&r) == 0.0 {
                break;
            }
        }
        Ok(())
    }

    /// The largest eigenvalue of the preconditioned matrix that was seen, times the diagonal's size, and the
    /// condition number.
    fn spectrum(&self) -> Result<(f64, f64), LinearError> {
        let k = self.lanczos.len();
        if k == 0 {
            return Ok((0.0, 1.0));
        }
        let diagonal = |i: usize| {
            let (alpha, _) = self.lanczos[i];
            1.0 / alpha + if i > 0 { self.lanczos[i - 1].1 / self.lanczos[i - 1].0 } else { 0.0 }
        };
        let beside = |i: usize| self.lanczos[i].1.max(0.0).sqrt() / self.lanczos[i].0;
        let tridiagonal = Matrix::from_fn(k, k, |i, j| match i.abs_diff(j) {
            0 => diagonal(i),
            1 => beside(i.min(j)),
            _ => 0.0,
        });
        let (values, _) = dense::symmetric_eigen(&tridiagonal)
            .map_err(|_| LinearError::Unconverged { operation: "solve", argument: "A" })?;
        let (small, large) = (values[0].max(f64::MIN_POSITIVE), values[k - 1]);
        let unit = self.diagonal.as_ref().map_or(1.0, |d| dense::norm_inf(d));
        Ok((large * unit, large / small))
    }
}
