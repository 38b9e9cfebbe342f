//! A fitted logistic or softmax regression: what it says, and its predictions.

use super::newton::Minimum;
use super::separation::{Separation, by_class};
use super::softmax::Problem;
use super::{Normal, passes};
use crate::LinearError;
use crate::check;
use spanwise_kernels::{Element, Matrix, View};

/// A fitted logistic or softmax regression.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogisticFit<L> {
    /// The labels, rising (K).
    pub classes: Vec<L>,
    /// Two classes: one row (1 × p), the log-odds of the second class. More: one row per class (K × p), summing to 0.
    pub coefficients: Matrix,
    /// One per row of `coefficients`; 0 where none was asked for.
    pub intercepts: Vec<f64>,
    /// Standard errors of the coefficients, from the inverse Hessian (the penalty included). `None` where it was not
    /// formed, where columns are dependent, or where the classes separate.
    pub standard_errors: Option<Matrix>,
    /// Standard errors of the intercepts, likewise.
    pub intercept_standard_errors: Option<Vec<f64>>,
    /// Twice the negative log-likelihood, the penalty not counted.
    pub deviance: f64,
    /// The same for intercepts alone (equal odds without an intercept).
    pub null_deviance: f64,
    /// Pseudo R² by likelihood (after `McFadden`): `1 − deviance / null deviance`.
    pub r_squared: f64,
    /// How the search ended.
    pub convergence: Convergence,
    /// A direction that separates the classes, where there is no penalty and one was found. The coefficients are then
    /// those at which the search was stopped: predictions are usable, sizes mean nothing.
    pub separation: Option<Separation>,
    /// Whether every row is on the side of its class. With a penalty, the sizes of the coefficients are then the penalty's doing:
    /// without one they would grow without end.
    pub separates: bool,
}

/// How the search for the minimum ended.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Convergence {
    /// Whether the tolerance was reached.
    pub converged: bool,
    /// Iterations over all rows.
    pub iterations: usize,
    /// Largest entry of the gradient of the mean objective, for the features as used inside (shifted near their mean
    /// where there is an intercept), at the last point that was evaluated. Newton takes one more step from there.
    pub gradient_norm: f64,
    /// What was compared with the tolerance.
    pub measure: f64,
    /// Share of its diagonal added to the Hessian to factor it: above 0, columns are dependent.
    pub jitter: f64,
}

/// The public result of a search.
pub(crate) fn finished<T: Element, L>(
    problem: &Problem<'_, T>,
    classes: Vec<L>,
    minimum: &Minimum,
    separation: Option<Separation>,
) -> LogisticFit<L> {
    let (coefficients, intercepts) = by_class(problem, &minimum.a);
    let jitter = minimum.factor.as_ref().map_or(0.0, |(_, jitter)| *jitter);
    let errors = (separation.is_none() && jitter == 0.0).then(|| standard_errors(problem, minimum)).flatten();
    let (standard_errors, intercept_errors) = errors.unzip();
    let deviance = 2.0 * minimum.at.plain_loss;
    let null_deviance = null_deviance(problem);
    let largest = minimum.at.gradient.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
    LogisticFit {
        classes,
        coefficients,
        intercepts,
        standard_errors,
        intercept_standard_errors: intercept_errors.filter(|_| problem.intercept),
        deviance,
        null_deviance,
        r_squared: 1.0 - deviance / null_deviance,
        convergence: Convergence {
            converged: minimum.converged && separation.is_none(),
            iterations: minimum.iterations,
            gradient_norm: largest / problem.total,
            measure: minimum.measure,
            jitter,
        },
        separation,
        separates: minimum.at.separates,
    }
}

/// From the inverse Hessian, turned from contrasts into classes and from shifted into plain features.
fn standard_errors<T: Element>(problem: &Problem<'_, T>, minimum: &Minimum) -> Option<(Matrix, Vec<f64>)> {
    let (factor, _) = minimum.factor.as_ref()?;
    let covariance = factor.inverse();
    let (width, p, classes) = (problem.width(), problem.shift.len(), problem.classes());
    let first = usize::from(classes == 2);
    // Var(Σ c_r·uᵀa_r) = Σ_rs c_r·c_s·uᵀ·Cov_rs·u; u is a unit vector, or (−shift, 1) for an intercept.
    let over_contrasts = |k: usize, quadratic: &dyn Fn(usize, usize) -> f64| -> f64 {
        let c = problem.contrasts.row(k + first);
        let terms = (0..c.len()).flat_map(|r| (0..c.len()).map(move |s| (r, s)));
        let variance: f64 = terms.map(|(r, s)| c[r] * c[s] * quadratic(r * width, s * width)).sum();
        variance.max(0.0).sqrt()
    };
    let coefficients =
        Matrix::from_fn(classes - first, p, |k, j| over_contrasts(k, &|r, s| covariance[(r + j, s + j)]));
    let u = |j: usize| if j < p { -problem.shift[j] } else { 1.0 };
    let of_intercept = |r: usize, s: usize| -> f64 {
        let row = |i: usize| (0..width).map(|j| covariance[(r + i, s + j)] * u(j)).sum::<f64>();
        (0..width).map(|i| u(i) * row(i)).sum()
    };
    let intercepts = (0..classes - first).map(|k| over_contrasts(k, &of_intercept)).collect();
    Some((coefficients, intercepts))
}

fn null_deviance<T: Element>(problem: &Problem<'_, T>) -> f64 {
    if !problem.intercept {
        return 2.0 * problem.total * (problem.classes() as f64).ln();
    }
    let mut sums = vec![0.0; problem.classes()];
    problem.labels.iter().enumerate().for_each(|(i, &label)| sums[label] += problem.weight(i));
    -2.0 * sums.iter().map(|s| s * (s / problem.total).ln()).sum::<f64>()
}

impl<L: Clone> LogisticFit<L> {
    /// Log-odds of the second class (n × 1), or scores of each class (n × K).
    pub fn decision<T: Element>(&self, x: View<'_, T>) -> Result<Matrix, LinearError> {
        check::same_columns(&x, self.coefficients.cols())?;
        Ok(passes::times(&x, &self.coefficients, &self.intercepts))
    }

    /// Probabilities of the classes (n × K); each row sums to 1.
    pub fn predict_proba<T: Element>(&self, x: View<'_, T>) -> Result<Matrix, LinearError> {
        let scores = self.decision(x)?;
        let classes = self.classes.len();
        let mut out = Matrix::zeros(scores.rows(), classes);
        for i in 0..scores.rows() {
            let (from, row) = (scores.row(i), out.row_mut(i));
            // For two classes the first one's score is 0.
            row[classes - from.len()..].copy_from_slice(from);
            let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for s in row.iter_mut() {
                *s = (*s - top).exp();
            }
            let sum: f64 = row.iter().sum();
            for s in row.iter_mut() {
                *s /= sum;
            }
        }
        Ok(out)
    }

    /// The most probable label of each row; of equal ones the first.
    pub fn predict<T: Element>(&self, x: View<'_, T>) -> Result<Vec<L>, LinearError> {
        let scores = self.decision(x)?;
        let best = |row: &[f64]| match row {
            [score] => usize::from(*score > 0.0),
            _ => (1..row.len()).fold(0, |best, k| if row[k] > row[best] { k } else { best }),
        };
        Ok((0..scores.rows()).map(|i| self.classes[best(scores.row(i))].clone()).collect())
    }

    /// Coefficients over their standard errors.
    pub fn z_values(&self) -> Option<Matrix> {
        let errors = self.standard_errors.as_ref()?;
        let (rows, cols) = (errors.rows(), errors.cols());
        Some(Matrix::from_fn(rows, cols, |k, j| self.coefficients[(k, j)] / errors[(k, j)]))
    }

    /// Two-sided p-values of the coefficients, from the normal distribution.
    pub fn p_values(&self) -> Option<Matrix> {
        let z = self.z_values()?;
        Some(Matrix::from_fn(z.rows(), z.cols(), |k, j| Normal.two_sided(z[(k, j)])))
    }
}
