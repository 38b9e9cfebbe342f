//! Least squares with weights that may not be negative, by Lawson and Hanson's active set.
//!
//! ```text
//! minimise ½‖t − Σ wⱼ·zⱼ‖²   subject to   w ≥ 0   and, if asked, Σ wⱼ = 1
//!
//! support P ← ∅ (or the single best column where the sum is fixed)
//! repeat
//!     gⱼ = zⱼ·(t − Σ w z) − ν          ν: multiplier of the sum, 0 without it
//!     stop if no column outside P has gⱼ > 0                     the optimality conditions hold
//!     P ← P ∪ {the column of steepest gⱼ/‖zⱼ‖}
//!     repeat
//!         s ← the least squares solution on P without signs      a small Cholesky factor
//!         if s > 0: w ← s, leave
//!         move from w towards s until the first weight is 0; drop the columns whose weight is 0
//! ```
//!
//! The objective falls with every round, so no support comes twice and the method ends. A column that depends on those
//! in P cannot be factored; it is set aside until P changes. Where the sum is fixed the factor is that of
//! `G + c·11ᵀ`: on the plane `Σ w = 1` the added term is constant, and only *affine* dependence is an obstacle.
//!
//! The columns are seen through [`Columns`], so that a Gram matrix and a hundred thousand rows of data both serve.

use super::factor::Cholesky;
use faer::Mat;
use spanwise_kernels::stop;

/// Columns `zⱼ` and a target `t` by their inner products.
pub(crate) trait Columns {
    /// How many columns.
    fn count(&self) -> usize;
    /// `zᵢ·zⱼ`.
    fn inner(&self, i: usize, j: usize) -> f64;
    /// `zⱼ·t`.
    fn toward(&self, j: usize) -> f64;
    /// `zⱼ·(t − Σ wᵢ·zᵢ)` for every j; `w` is 0 outside `support`.
    fn gradient(&self, support: &[usize], w: &[f64]) -> Vec<f64>;
}

/// The outcome of the search.
pub(crate) struct Optimum {
    /// Columns of positive weight, rising.
    pub(crate) support: Vec<usize>,
    /// Weights (count).
    pub(crate) w: Vec<f64>,
    /// Rounds done.
    pub(crate) rounds: usize,
    /// Whether the optimality conditions were met before the rounds ran out.
    pub(crate) finished: bool,
}

/// Minimises as above; with `unit_sum` the weights sum to 1. `noise` is the size below which `gⱼ/‖zⱼ‖` counts as 0.
pub(crate) fn minimise(columns: &impl Columns, unit_sum: bool, noise: f64) -> Optimum {
    let count = columns.count();
    let lengths: Vec<f64> = (0..count).map(|j| columns.inner(j, j).max(0.0).sqrt()).collect();
    let mut search = Search { columns, unit_sum, support: Vec::new(), w: vec![0.0; count] };
    if unit_sum {
        let cost = |j: usize| lengths[j].powi(2) - 2.0 * columns.toward(j);
        let best = (1..count).fold(0, |best, j| if cost(j) < cost(best) { j } else { best });
        search.support.push(best);
        search.w[best] = 1.0;
    }
    let limit = 3 * count.min(2000) + 100;
    let mut set_aside: Vec<usize> = Vec::new();
    for rounds in 0..limit {
        stop::check();
        let gradient = search.gradient();
        let steep = |j: usize| gradient[j] / if lengths[j] > 0.0 { lengths[j] } else { 1.0 };
        let outside = (0..count).filter(|j| search.w[*j] == 0.0 && !search.support.contains(j));
        let candidates = outside.filter(|j| steep(*j) > noise && !set_aside.contains(j));
        let Some(enter) = candidates.reduce(|a, b| if steep(b) > steep(a) { b } else { a }) else {
            search.support.sort_unstable();
            return Optimum { support: search.support, w: search.w, rounds, finished: true };
        };
        if search.enter(enter) {
            set_aside.clear();
        } else {
            set_aside.push(enter);
        }
    }
    search.support.sort_unstable();
    Optimum { support: search.support, w: search.w, rounds: limit, finished: false }
}

struct Search<'a, C> {
    columns: &'a C,
    unit_sum: bool,
    support: Vec<usize>,
    w: Vec<f64>,
}

impl<C: Columns> Search<'_, C> {
    /// The gradient with the multiplier of the sum taken off.
    fn gradient(&self) -> Vec<f64> {
        let mut gradient = self.columns.gradient(&self.support, &self.w);
        if self.unit_sum {
            // On the support all gradients equal the multiplier; their weighted mean is the least noisy estimate.
            let multiplier: f64 = self.support.iter().map(|&j| self.w[j] * gradient[j]).sum();
            for g in &mut gradient {
                *g -= multiplier;
            }
        }
        gradient
    }

    /// Adds column `j` and solves; `false`, with everything as before, where it gains nothing.
    fn enter(&mut self, j: usize) -> bool {
        let before = (self.support.clone(), self.w.clone());
        self.support.push(j);
        while let Some(s) = self.solve() {
            // The step to the first weight that would turn negative.
            let mut step = 1.0;
            for (k, &i) in self.support.iter().enumerate() {
                if s[k] <= 0.0 {
                    step = f64::min(step, self.w[i] / (self.w[i] - s[k]));
                }
            }
            let last = self.support.len() - 1;
            if s[last] <= 0.0 && self.support[last] == j {
                // Its gradient promised a decrease that rounding does not deliver.
                break;
            }
            for (k, &i) in self.support.iter().enumerate() {
                let moved = self.w[i] + step * (s[k] - self.w[i]);
                let dropped = s[k] <= 0.0 && moved <= 1e-14 * self.w[i].abs().max(s[k].abs());
                self.w[i] = if dropped { 0.0 } else { moved };
            }
            if step >= 1.0 {
                return true;
            }
            let (w, support) = (&self.w, &mut self.support);
            support.retain(|&i| w[i] > 0.0);
        }
        (self.support, self.w) = before;
        false
    }

    /// Least squares on the support, signs free; `None` where its columns are dependent.
    fn solve(&self) -> Option<Vec<f64>> {
        let k = self.support.len();
        let at = |i: usize| self.support[i];
        let mut gram = Mat::from_fn(k, k, |i, j| self.columns.inner(at(i), at(j)));
        let scale: Vec<f64> = (0..k).map(|i| gram[(i, i)]).collect();
        let mean = scale.iter().sum::<f64>() / k as f64;
        let lift = if !self.unit_sum {
            0.0
        } else if mean > 0.0 {
            mean
        } else {
            1.0
        };
        for j in 0..k {
            for i in 0..k {
                gram[(i, j)] += lift;
            }
        }
        let diagonal: Vec<f64> = scale.iter().map(|s| s + lift).collect();
        let factor = Cholesky::new(&gram)?;
        if factor.scaled_inverse_norm(&diagonal) > 1e13 {
            return None;
        }
        let toward: Vec<f64> = (0..k).map(|i| self.columns.toward(at(i))).collect();
        let mut s = factor.solve_vector(&toward);
        if self.unit_sum {
            let ones = factor.solve_vector(&vec![1.0; k]);
            let missing = (1.0 - s.iter().sum::<f64>()) / ones.iter().sum::<f64>();
            s.iter_mut().zip(&ones).for_each(|(s, one)| *s += missing * one);
        }
        Some(s)
    }
}
