//! Kernel ridge regression: a linear model in a feature space that is never formed.
//!
//! ```text
//! exact     (K + α·I)·a = y,   K[i, j] = k(xᵢ, xⱼ)       n × n, Cholesky
//!           f(x) = Σ aᵢ·k(x, xᵢ)
//!           left out: eᵢ = aᵢ / (K + α·I)⁻¹[i, i]        no refitting
//! Nyström   m landmarks z drawn from the rows; K_mm = L·Lᵀ, features φ(x) = L⁻¹·k(z, x)     (m)
//!           (ΦᵀΦ + α·I)·β = Φᵀy, one pass over the rows; f(x) = Σ cⱼ·k(x, zⱼ),  c = L⁻ᵀβ
//!           left out: eᵢ = (yᵢ − fᵢ)/(1 − φᵢᵀ(ΦᵀΦ + α·I)⁻¹φᵢ), a second pass
//! ```
//!
//! Weights `w` make a row count `w` times: with `R = diag(√w)` the same lines hold for `R·K·R`, `R·y` and `R·Φ`, and
//! the coefficients of the rows themselves are `R·a`. A row of weight 0 is left out before anything else.
//!
//! Kernel matrices are often singular to working precision; what had to be added to the
//! diagonal to factor them is reported.

use super::factor::{Cholesky, cholesky_with_jitter};
use super::kernel::{Kernel, Resolved, resolve};
use super::{factor, passes};
use crate::Seeded;
use crate::check::{self, argument};
use crate::{Extent, LinearError};
use faer::Mat;
use spanwise_kernels::{Element, Matrix, View};
use std::borrow::Cow;
use std::ops::Range;

const OPERATION: &str = "kernel ridge";

/// Up to this many rows every row is a landmark, unless told otherwise.
const EXACT_UP_TO: usize = 4000;

/// Landmarks beyond that, unless told otherwise.
const DEFAULT_LANDMARKS: usize = 1000;

/// Which rows the model is expressed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Landmarks {
    /// All rows up to 4,000 of them, else 1,000 drawn at random.
    #[default]
    Auto,
    /// All rows, whatever it costs.
    All,
    /// So many, drawn at random without repetition.
    Count(usize),
}

/// Settings of a kernel ridge regression. There is no intercept, as in scikit-learn: centre `y` where it matters.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::fit::{Kernel, KernelRidge};
///
/// let x: Vec<f64> = (0..50).map(|i| f64::from(i) / 10.0).collect();
/// let y: Vec<f64> = x.iter().map(|x| x.sin()).collect();
/// let model = KernelRidge { kernel: Kernel::Rbf { gamma: Some(1.0) }, alpha: 1e-6, ..KernelRidge::default() };
/// let fit = model.fit(View::new(&x, &[50, 1])?, &y)?;
/// let at = fit.predict(View::new(&[2.05], &[1, 1])?)?;
/// assert!((at[0] - 2.05_f64.sin()).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelRidge {
    /// The kernel.
    pub kernel: Kernel,
    /// Weight of the squared norm in feature space; above 0 unless the kernel matrix is well conditioned.
    pub alpha: f64,
    /// Which rows the model is expressed in.
    pub landmarks: Landmarks,
    /// For the draw of landmarks.
    pub seed: u64,
    /// Whether to compute the leave-one-out error: about twice the cost.
    pub leave_one_out: bool,
}

impl Default for KernelRidge {
    fn default() -> Self {
        KernelRidge {
            kernel: Kernel::Rbf { gamma: None },
            alpha: 1.0,
            landmarks: Landmarks::Auto,
            seed: 0,
            leave_one_out: true,
        }
    }
}

/// A fitted kernel ridge regression.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KernelRidgeFit {
    /// The kernel with its `γ` filled in.
    pub kernel: Kernel,
    /// The rows the model is expressed in (m × p).
    pub landmarks: Matrix,
    /// Their coefficients (m).
    pub coefficients: Vec<f64>,
    /// `Σ wᵢ·(yᵢ − f(xᵢ))²` over the training rows.
    pub residual_sum_of_squares: f64,
    /// Mean squared error of each row (however often it counts) predicted from the others, where it was asked for. With fewer landmarks than rows
    /// the landmarks stay as they are.
    pub leave_one_out_error: Option<f64>,
    /// Share of its diagonal added to the kernel matrix to factor it.
    pub jitter: f64,
    /// Whether every row is a landmark.
    pub exact: bool,
}

impl KernelRidge {
    /// Fits `x` (n × p) to `y` (n).
    pub fn fit<T: Element>(&self, x: View<'_, T>, y: &[f64]) -> Result<KernelRidgeFit, LinearError> {
        let (n, _) = check::features(OPERATION, &x)?;
        check::target(OPERATION, y, n)?;
        self.fit_rows(&x, &Targets { y: y.into(), roots: None, total: n as f64 })
    }

    /// The same with one weight ≥ 0 per row; the model is expressed in rows of weight above 0 alone.
    pub fn fit_weighted<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
        weights: &[f64],
    ) -> Result<KernelRidgeFit, LinearError> {
        let (n, p) = check::features(OPERATION, &x)?;
        check::target(OPERATION, y, n)?;
        let total = check::weights(OPERATION, Some(weights), n)?;
        argument(OPERATION, "X").finite(&x)?;
        let kept: Vec<usize> = (0..n).filter(|&i| weights[i] > 0.0).collect();
        let roots: Vec<f64> = kept.iter().map(|&i| weights[i].sqrt()).collect();
        let y = kept.iter().zip(&roots).map(|(&i, root)| root * y[i]).collect();
        let targets = Targets { y, roots: Some(roots), total };
        if kept.len() == n {
            return self.fit_rows(&x, &targets);
        }
        let mut rows = Matrix::zeros(kept.len(), p);
        for (to, &from) in kept.iter().enumerate() {
            passes::load(&x, from..from + 1, p, rows.row_mut(to));
        }
        self.fit_rows(&rows.view(), &targets)
    }

    fn fit_rows<T: Element>(
        &self,
        x: &View<'_, T>,
        targets: &Targets<'_>,
    ) -> Result<KernelRidgeFit, LinearError> {
        let (n, p) = (x.dims()[0], x.dims()[1]);
        check::not_negative(OPERATION, "alpha", self.alpha)?;
        argument(OPERATION, "X").finite(x)?;
        let (kernel, gamma) = resolve(self.kernel, x, targets.roots.as_deref())?;
        let count = match self.landmarks {
            Landmarks::Auto if n <= EXACT_UP_TO => n,
            Landmarks::Auto => DEFAULT_LANDMARKS,
            Landmarks::All => n,
            Landmarks::Count(count) => {
                let fits = (1..=n).contains(&count);
                let name = argument(OPERATION, "landmarks");
                name.in_range(count as f64, fits, "at least 1 and at most the number of rows")?;
                count
            }
        };
        let chosen = if count == n { (0..n).collect() } else { drawn(n, count, self.seed) };
        let mut landmarks = Matrix::zeros(count, p);
        for (to, &from) in chosen.iter().enumerate() {
            passes::load(x, from..from + 1, p, landmarks.row_mut(to));
        }
        let resolved = Resolved::new(kernel, gamma, &landmarks);
        let solution =
            if count == n { self.exact(&resolved, x, targets) } else { self.nystrom(&resolved, x, targets) };
        let Some(solution) = solution else {
            return Err(LinearError::Overflow { operation: OPERATION, argument: "X" });
        };
        Ok(KernelRidgeFit {
            kernel,
            landmarks,
            coefficients: solution.coefficients,
            residual_sum_of_squares: solution.residual_square,
            leave_one_out_error: solution.left_out,
            jitter: solution.jitter,
            exact: count == n,
        })
    }

    fn exact<T: Element>(&self, kernel: &Resolved, x: &View<'_, T>, targets: &Targets<'_>) -> Option<Solved> {
        let (mut square, y) = (kernel.matrix(x), &targets.y);
        if let Some(roots) = &targets.roots {
            square = Mat::from_fn(y.len(), y.len(), |i, j| roots[i] * square[(i, j)] * roots[j]);
        }
        for i in 0..y.len() {
            square[(i, i)] += self.alpha;
        }
        let (factor, jitter) = cholesky_with_jitter(&square)?;
        let mut a = factor.solve_vector(y);
        // y − K·a = α·a, and the jitter is part of what was solved.
        let residual = a.iter().enumerate().map(|(i, a)| (self.alpha + jitter * square[(i, i)]) * a);
        let residual_square = residual.map(|r| r * r).sum();
        let left_out = self.leave_one_out.then(|| {
            let inverse = factor::diagonal(&factor.inverse());
            a.iter().zip(inverse).map(|(a, d)| (a / d).powi(2)).sum::<f64>() / targets.total
        });
        if let Some(roots) = &targets.roots {
            a.iter_mut().zip(roots).for_each(|(a, root)| *a *= root);
        }
        Some(Solved { coefficients: a, residual_square, left_out, jitter })
    }

    fn nystrom<T: Element>(
        &self,
        kernel: &Resolved,
        x: &View<'_, T>,
        targets: &Targets<'_>,
    ) -> Option<Solved> {
        let (m, y) = (kernel.points.rows(), &targets.y);
        let (root, jitter) = cholesky_with_jitter(&kernel.matrix(&kernel.unshifted().view()))?;
        // Rows of [Φ | y], one tile at a time.
        let features = |rows: Range<usize>| {
            let mut columns = kernel.tile(x, rows.clone()).transpose().to_owned();
            root.forward(columns.as_mut());
            if let Some(roots) = &targets.roots {
                for (t, root) in roots[rows].iter().enumerate() {
                    columns.col_as_slice_mut(t).iter_mut().for_each(|phi| *phi *= root);
                }
            }
            columns
        };
        let moments = passes::gram(y.len(), m + 1, |rows, tile| {
            let phi = features(rows.clone());
            for ((t, i), row) in rows.enumerate().zip(tile.chunks_exact_mut(m + 1)) {
                row[..m].copy_from_slice(phi.col_as_slice(t));
                row[m] = y[i];
            }
        });
        let shifted = Mat::from_fn(m, m, |i, j| moments[(i, j)] + if i == j { self.alpha } else { 0.0 });
        let (factor, more) = cholesky_with_jitter(&shifted)?;
        let right: Vec<f64> = (0..m).map(|j| moments[(j, m)]).collect();
        let beta = factor.solve_vector(&right);
        let (residual_square, left_out) = self.second_pass(&factor, &beta, targets, &features);
        let mut coefficients = factor::column(&beta);
        root.backward(coefficients.as_mut());
        Some(Solved {
            coefficients: coefficients.col_as_slice(0).to_vec(),
            residual_square,
            left_out,
            jitter: jitter.max(more),
        })
    }

    /// Residuals, and leave-one-out errors from the leverages.
    fn second_pass(
        &self,
        factor: &Cholesky,
        beta: &[f64],
        targets: &Targets<'_>,
        features: &(impl Fn(Range<usize>) -> Mat<f64> + Sync),
    ) -> (f64, Option<f64>) {
        let y = &targets.y;
        let parts = passes::map_chunks(y.len(), beta.len() * beta.len(), |chunk| {
            let (mut residuals, mut left_out) = (0.0, 0.0);
            for rows in passes::tiles(chunk) {
                let mut phi = features(rows.clone());
                let fitted: Vec<f64> =
                    (0..rows.len()).map(|t| passes::dot(phi.col_as_slice(t), beta)).collect();
                if self.leave_one_out {
                    factor.forward(phi.as_mut());
                }
                for (t, i) in rows.enumerate() {
                    let residual = y[i] - fitted[t];
                    residuals += residual * residual;
                    let leverage = passes::dot(phi.col_as_slice(t), phi.col_as_slice(t));
                    left_out += (residual / (1.0 - leverage).max(1e-12)).powi(2);
                }
            }
            (residuals, left_out)
        });
        let (residuals, left_out) =
            parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        (residuals, self.leave_one_out.then(|| left_out / targets.total))
    }
}

/// What is fitted: `√w·y`, `√w` and `Σ w`; without weights the roots are all 1.
struct Targets<'a> {
    y: Cow<'a, [f64]>,
    roots: Option<Vec<f64>>,
    total: f64,
}

struct Solved {
    coefficients: Vec<f64>,
    residual_square: f64,
    left_out: Option<f64>,
    jitter: f64,
}

/// `count` different rows of `n`, rising.
fn drawn(n: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut rows = Seeded::new(seed).permutation(n);
    rows.truncate(count);
    rows.sort_unstable();
    rows
}

impl KernelRidgeFit {
    /// A model that was taken apart: its kernel with `γ` filled in, the rows it is expressed in (m × p), and their
    /// coefficients (m). What is known of the fit (residuals, errors, jitter) is 0, `None` and 0 until it is set.
    pub fn from_parts(
        kernel: Kernel,
        landmarks: Matrix,
        coefficients: Vec<f64>,
    ) -> Result<Self, LinearError> {
        let name = argument(OPERATION, "coefficients");
        name.fits(Extent::Length(coefficients.len()), "landmarks", Extent::Rows(landmarks.rows()))?;
        let (kernel, _) = resolve(kernel, &landmarks.view(), None)?;
        Ok(KernelRidgeFit {
            kernel,
            landmarks,
            coefficients,
            residual_sum_of_squares: 0.0,
            leave_one_out_error: None,
            jitter: 0.0,
            exact: true,
        })
    }

    /// `f(x)` (n) for `x` (n × p).
    pub fn predict<T: Element>(&self, x: View<'_, T>) -> Result<Vec<f64>, LinearError> {
        check::same_columns(&x, self.landmarks.cols())?;
        let gamma = match self.kernel {
            Kernel::Rbf { gamma } | Kernel::Polynomial { gamma, .. } => gamma.unwrap_or(1.0),
        };
        let resolved = Resolved::new(self.kernel, gamma, &self.landmarks);
        let n = x.dims()[0];
        let parts = passes::map_chunks(n, self.landmarks.as_slice().len(), |chunk| {
            let mut out = Vec::with_capacity(chunk.len());
            for rows in passes::tiles(chunk) {
                let kernel = resolved.tile(&x, rows.clone());
                let terms = |t: usize| (0..kernel.ncols()).map(move |j| (t, j));
                let sum = |t: usize| terms(t).map(|at| kernel[at] * self.coefficients[at.1]).sum::<f64>();
                out.extend((0..rows.len()).map(sum));
            }
            out
        });
        Ok(parts.concat())
    }
}

#[cfg(test)]
#[path = "tests/kernel.rs"]
mod tests;
