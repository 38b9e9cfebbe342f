//! The choice between penalties by parts of the rows, each predicted from the others.
//!
//! Which part a row belongs to follows from its number alone, so rows that are kept and rows that go by are parted alike. Of rows that
//! go by one summary per part is enough: the others merged are what a model is fitted to, and `Σ ω(y − b − xw)²` of the part itself
//! follows from its inner products, too.

use super::ridge::prepared;
use super::ridge_path::{OPERATION, RidgeChoice, RidgePath};
use super::stand_in::StandIn;
use crate::check::argument;
use crate::{LinearError, Seeded, Summary};
use spanwise_kernels::{Element, View};

/// The fold of each row, from the first on: every `count` rows that follow each other go to all folds, in an order that is drawn
/// for them. Folds are of equal size but for one row, whatever the number of rows.
///
/// ```
/// use spanwise_linear::fit::Folds;
///
/// let folds: Vec<usize> = Folds::new(3, 0).take(6).collect();
/// assert_eq!(folds.iter().filter(|&&fold| fold == 1).count(), 2);
/// assert_eq!(folds[..4], Folds::new(3, 0).take(4).collect::<Vec<_>>());
/// ```
#[derive(Clone, Debug)]
pub struct Folds {
    random: Seeded,
    count: usize,
    /// What is left of the order of these rows, the last first.
    left: Vec<usize>,
}

impl Folds {
    /// `count` folds; `seed` is where the draw starts.
    pub fn new(count: usize, seed: u64) -> Self {
        Folds { random: Seeded::new(seed), count: count.max(1), left: Vec::new() }
    }
}

impl Iterator for Folds {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left.is_empty() {
            self.left = self.random.permutation(self.count);
        }
        self.left.pop()
    }
}

impl RidgePath {
    /// The penalty with the least error over `folds` parts of the rows ([`Folds`] of `seed`), each predicted from the others.
    pub fn choose_folds<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
        weights: Option<&[f64]>,
        folds: usize,
        seed: u64,
    ) -> Result<RidgeChoice, LinearError> {
        self.check()?;
        let (data, moments) = prepared(OPERATION, x, y, weights, self.intercept, self.lowest())?;
        let n = data.rows();
        check_count(folds, n as u64)?;
        let fold_of: Vec<usize> = Folds::new(folds, seed).take(n).collect();
        let mut errors = vec![0.0; self.alphas.len()];
        for fold in 0..folds {
            // Leaving rows out is giving them no weight.
            let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
            let kept: Vec<f64> = (0..n).map(|i| if fold_of[i] == fold { 0.0 } else { weight(i) }).collect();
            if !(0..n).any(|i| fold_of[i] == fold && weight(i) > 0.0) {
                continue;
            }
            if kept.iter().all(|&w| w == 0.0) {
                return self.chosen(&data, &moments, self.unknown(), data.weighted_rows());
            }
            for (k, fit) in self.run(x, y, Some(&kept))?.iter().enumerate() {
                let fitted = fit.predict(x)?;
                let error = |i: usize| (y[i] - fitted[i]).powi(2) * weight(i);
                let left_out = (0..n).filter(|&i| fold_of[i] == fold);
                errors[k] += left_out.map(error).sum::<f64>() / data.total;
            }
        }
        self.chosen(&data, &moments, errors, data.weighted_rows())
    }

    /// The same of rows that were not kept: one summary per fold, and target `target` of them.
    ///
    /// ```
    /// use spanwise_kernels::View;
    /// use spanwise_linear::SummaryStream;
    /// use spanwise_linear::fit::{Folds, RidgePath};
    ///
    /// let (x, y) = ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [1.1, 2.9, 5.0, 7.1, 8.9, 11.0]);
    /// let mut parts = vec![SummaryStream::new(1, 1); 3];
    /// for ((x, y), fold) in x.iter().zip(&y).zip(Folds::new(3, 0)) {
    ///     parts[fold].push(&View::new(&[*x], &[1, 1])?, &[*y][..], None)?;
    /// }
    /// let parts: Vec<_> = parts.iter().map(SummaryStream::finish).collect();
    /// let path = RidgePath::new(vec![0.1, 1.0, 10.0]);
    /// let of_rows = path.choose_folds(View::new(&x, &[6, 1])?, &y, None, 3, 0)?;
    /// let choice = path.choose_folds_of(&parts, 0)?;
    /// assert_eq!(choice.fit.alpha, of_rows.fit.alpha);
    /// assert!((choice.errors[0] - of_rows.errors[0]).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn choose_folds_of(&self, folds: &[Summary], target: usize) -> Result<RidgeChoice, LinearError> {
        self.check()?;
        let rows = folds.iter().map(|fold| fold.rows() + fold.zero_weight_rows()).sum();
        check_count(folds.len(), rows)?;
        // before[k] is of folds 0..k, and after of the folds behind, from the last on.
        let mut before = vec![Summary::new(folds[0].columns(), folds[0].targets())];
        for fold in folds {
            let mut next = before[before.len() - 1].clone();
            next.merge(fold)?;
            before.push(next);
        }
        let all = StandIn::new(OPERATION, &before[folds.len()], target, self.intercept)?;
        let seen = before[folds.len()].rows();
        let (data, moments) = all.prepared(OPERATION, self.lowest())?;
        let mut errors = vec![0.0; self.alphas.len()];
        let mut after = before[0].clone();
        for (fold, others) in folds.iter().zip(&mut before).rev() {
            others.merge(&after)?;
            after.merge(fold)?;
            if fold.rows() == 0 {
                continue;
            }
            if others.rows() == 0 {
                return self.chosen(&data, &moments, self.unknown(), seen);
            }
            let left_out = StandIn::new(OPERATION, fold, target, true)?;
            for (error, fit) in errors.iter_mut().zip(self.fit_summary(others, target)?) {
                *error += left_out.squared_errors(&fit) / all.total();
            }
        }
        self.chosen(&data, &moments, errors, seen)
    }
}

fn check_count(folds: usize, rows: u64) -> Result<(), LinearError> {
    argument(OPERATION, "folds").in_range(
        folds as f64,
        folds >= 2 && folds as u64 <= rows,
        "at least 2 and at most the number of rows",
    )
}
