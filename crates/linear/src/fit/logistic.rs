//! Logistic regression (two classes) and softmax regression (more): the public side.
//!
//! The loss is in `softmax`, the search in `newton`, the result in `logistic_fit`, what to do where no maximum exists in `separation`.
//! Objective: `Σ ωᵢ·lossᵢ + λ/2·‖W‖²`, intercepts not penalised, so that λ = 1/C of scikit-learn.

use super::logistic_fit::{LogisticFit, finished};
use super::newton::{Limits, Minimum, SUSPICIOUS, lbfgs, newton, newton_from};
use super::passes;
use super::separation::{self, Separation};
use super::softmax::{Problem, contrasts};
use crate::check::{self, argument};
use crate::{Extent, LinearError};
use spanwise_kernels::{Element, View};

const OPERATION: &str = "logistic regression";

/// Up to this many parameters the Hessian is formed.
const HESSIAN_UP_TO: usize = 1000;

/// More labels than this look like a number to predict, not a class.
const MAX_CLASSES: usize = 1000;

/// How to minimise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Optimiser {
    /// Newton up to a thousand parameters, L-BFGS beyond.
    #[default]
    Auto,
    /// Newton's method with Cholesky and line search: few passes, standard errors as a by-product.
    Newton,
    /// Limited-memory BFGS: cheap passes, no Hessian, hence no standard errors.
    Lbfgs,
}

/// Settings of a logistic or softmax regression.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::fit::Logistic;
///
/// // Four in ten are positive at x = 0, eight in ten at x = 1: the log-odds differ by ln 6.
/// let x: Vec<f64> = (0..20).map(|i| f64::from(i / 10)).collect();
/// let y: Vec<&str> = (0..20).map(|i| if i < 4 || i >= 12 { "yes" } else { "no" }).collect();
/// let fit = Logistic::unpenalised().fit(View::new(&x, &[20, 1])?, &y)?;
/// assert_eq!(fit.classes, ["no", "yes"]);
/// assert!((fit.coefficients[(0, 0)] - 6.0_f64.ln()).abs() < 1e-10);
/// assert!((fit.predict_proba(View::new(&[1.0], &[1, 1])?)?[(0, 1)] - 0.8).abs() < 1e-10);
/// assert!(fit.convergence.converged && fit.separation.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logistic {
    /// `λ` in `Σ loss + λ/2·‖W‖²`; 0 for none.
    pub penalty: f64,
    /// Whether to fit intercepts.
    pub intercept: bool,
    /// How to minimise.
    pub optimiser: Optimiser,
    /// Newton: the decrement `√(gᵀH⁻¹g/Σω)` to reach. L-BFGS: the gradient per unit weight, in units of the features'
    /// sizes.
    pub tolerance: f64,
    /// Iterations at most; ten times as many for L-BFGS.
    pub iterations: usize,
}

impl Default for Logistic {
    /// `λ` = 1, with intercept.
    fn default() -> Self {
        Logistic {
            penalty: 1.0,
            intercept: true,
            optimiser: Optimiser::Auto,
            tolerance: 1e-8,
            iterations: 100,
        }
    }
}

impl Logistic {
    /// Plain maximum likelihood.
    pub fn unpenalised() -> Self {
        Logistic { penalty: 0.0, ..Logistic::default() }
    }

    /// With scikit-learn's `C`: `λ = 1/C`.
    pub fn with_c(c: f64) -> Self {
        Logistic { penalty: 1.0 / c, ..Logistic::default() }
    }

    /// Fits `x` (n × p) to labels `y` (n) of any ordered type.
    pub fn fit<T: Element, L: Clone + Ord>(
        &self,
        x: View<'_, T>,
        y: &[L],
    ) -> Result<LogisticFit<L>, LinearError> {
        self.run(x, y, None)
    }

    /// Fits with one weight ≥ 0 per row; a weight of 0 is the same as leaving the row out.
    pub fn fit_weighted<T: Element, L: Clone + Ord>(
        &self,
        x: View<'_, T>,
        y: &[L],
        weights: &[f64],
    ) -> Result<LogisticFit<L>, LinearError> {
        self.run(x, y, Some(weights))
    }

    fn run<T: Element, L: Clone + Ord>(
        &self,
        x: View<'_, T>,
        y: &[L],
        weights: Option<&[f64]>,
    ) -> Result<LogisticFit<L>, LinearError> {
        check::not_negative(OPERATION, "penalty", self.penalty)?;
        check::positive(OPERATION, "tolerance", self.tolerance)?;
        let (rows, cols) = check::features(OPERATION, &x)?;
        argument(OPERATION, "y").fits(Extent::Length(y.len()), "X", Extent::Rows(rows))?;
        let total = check::weights(OPERATION, weights, rows)?;
        let (classes, labels) = classes_of(y, weights)?;
        let shift = if self.intercept { passes::near_mean(&x, weights) } else { vec![0.0; cols] };
        let contrasts = contrasts(classes.len());
        let problem = Problem {
            x,
            labels,
            weights,
            total,
            intercept: self.intercept,
            shift,
            contrasts,
            penalty: self.penalty,
        };
        let (minimum, separation) = self.minimise(&problem);
        let finite = minimum.at.loss.is_finite() && minimum.at.gradient.iter().all(|g| g.is_finite());
        if !finite {
            return Err(check::blame(OPERATION, &x));
        }
        Ok(finished(&problem, classes, &minimum, separation))
    }

    fn minimise<T: Element>(&self, problem: &Problem<'_, T>) -> (Minimum, Option<Separation>) {
        let newton_wanted = match self.optimiser {
            Optimiser::Auto => problem.parameters() <= HESSIAN_UP_TO,
            Optimiser::Newton => true,
            Optimiser::Lbfgs => false,
        };
        let mut limits =
            Limits { tolerance: self.tolerance, iterations: self.iterations, suspicious: SUSPICIOUS };
        if !newton_wanted {
            limits.iterations *= 10;
            let minimum = lbfgs(problem, limits);
            let separation = self.separation(problem, &minimum);
            return (minimum, separation);
        }
        let minimum = newton(problem, limits);
        let separation = self.separation(problem, &minimum);
        if separation.is_none() && !minimum.converged && minimum.at.spread > SUSPICIOUS {
            // Confident, not separated: the search may go on.
            let limits = Limits { suspicious: f64::INFINITY, ..limits };
            return (newton_from(problem, minimum.a, limits), None);
        }
        (minimum, separation)
    }

    fn separation<T: Element>(&self, problem: &Problem<'_, T>, minimum: &Minimum) -> Option<Separation> {
        let suspicious = self.penalty == 0.0 && (minimum.at.spread > 0.5 * SUSPICIOUS || !minimum.converged);
        let sound = minimum.at.loss.is_finite() && minimum.a.iter().all(|a| a.is_finite());
        (suspicious && sound)
            .then(|| separation::find(problem, minimum.at.separates.then_some(&minimum.a[..])))
            .flatten()
    }
}

/// The different labels of rows with positive weight, rising, and each row's index among them.
fn classes_of<L: Clone + Ord>(y: &[L], weights: Option<&[f64]>) -> Result<(Vec<L>, Vec<usize>), LinearError> {
    let counts = |i: usize| weights.is_none_or(|w| w[i] > 0.0);
    let labels = || y.iter().enumerate().filter(|(i, _)| counts(*i)).map(|(_, l)| l);
    // Labels are usually few: looking each up among those seen is quicker than sorting them all.
    let mut classes: Vec<&L> = Vec::new();
    for label in labels() {
        if let Err(place) = classes.binary_search(&label) {
            classes.insert(place, label);
            if classes.len() > MAX_CLASSES {
                classes = labels().collect();
                classes.sort_unstable();
                classes.dedup();
                break;
            }
        }
    }
    if classes.len() < 2 {
        return Err(LinearError::OneClass { operation: OPERATION, found: classes.len() });
    }
    let count = classes.len();
    argument(OPERATION, "y").in_range(count as f64, count <= MAX_CLASSES, "at most 1000 different labels")?;
    // A label that only weightless rows carry is no class; which index such a row gets does not matter.
    let labels = y.iter().map(|l| classes.binary_search(&l).unwrap_or(0)).collect();
    Ok((classes.into_iter().cloned().collect(), labels))
}

#[cfg(test)]
#[path = "tests/logistic.rs"]
mod tests;
