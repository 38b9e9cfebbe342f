//! Ridge regression for many penalties at once, and the choice between them.
//!
//! The moments are formed once and rotated to tridiagonal form once; each penalty then costs a tridiagonal solve
//! (see `tridiagonal`). Leave-one-out errors need no refitting either. With `S = V·diag(d)·Vᵀ` and `P = Z·V`:
//!
//! ```text
//! fitted     f(α) = P·diag(1/(d + α))·Vᵀb                       one product for all α
//! leverage   hᵢ(α) = ωᵢ/Σω + Σⱼ Pᵢⱼ²/(dⱼ + α)                   one product for all α
//! left out   eᵢ(α) = (tᵢ − fᵢ)/(1 − hᵢ)                         exact, the intercept included
//! score      Σ eᵢ² / Σω
//! ```
//!
//! In the dual `S = U·diag(d)·Uᵀ` and `P = U·diag(√d)`: the same formulas, no further pass over the data.

use super::moments::{Data, Method, Moments, Solution};
use super::passes;
use super::ridge::{RidgeFit, finished, prepared};
use crate::LinearError;
use crate::Seeded;
use crate::check::{self, argument};
use crate::dense::{Shifted, Tridiagonal, eigen_of};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use spanwise_kernels::{Element, View};

const OPERATION: &str = "ridge path";

/// Beyond this condition number a penalty is solved on its own, by the more careful ways.
const ROTATE_BELOW: f64 = 1e6;

/// Settings of a ridge regression for several penalties.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::fit::RidgePath;
///
/// let x = View::new(&[0.0, 1.0, 2.0, 3.0, 4.0], &[5, 1])?;
/// let y = [1.1, 2.9, 5.0, 7.1, 8.9];
/// let path = RidgePath::new(vec![0.1, 1.0, 10.0]);
/// let fits = path.fit(x, &y)?;
/// assert!(fits[0].coefficients[0] > fits[2].coefficients[0]);
/// let chosen = path.choose_leave_one_out(x, &y)?;
/// assert_eq!(chosen.fit.alpha, 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RidgePath {
    /// The penalties, in any order.
    pub alphas: Vec<f64>,
    /// Whether to fit an intercept.
    pub intercept: bool,
}

/// A penalty chosen by validation, and the fit to all rows that goes with it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RidgeChoice {
    /// The fit with the chosen penalty.
    pub fit: RidgeFit,
    /// Weighted mean squared error on rows left out, for each penalty in the order given. Infinite where leaving one
    /// row out leaves nothing to predict it from.
    pub errors: Vec<f64>,
}

impl RidgePath {
    /// For these penalties, with an intercept.
    pub fn new(alphas: Vec<f64>) -> Self {
        RidgePath { alphas, intercept: true }
    }

    /// `count` penalties from `lowest` to `highest`, evenly on a logarithmic scale.
    pub fn logarithmic(lowest: f64, highest: f64, count: usize) -> Result<Self, LinearError> {
        check::positive(OPERATION, "lowest", lowest)?;
        check::positive(OPERATION, "highest", highest)?;
        let step = (highest.ln() - lowest.ln()) / count.saturating_sub(1).max(1) as f64;
        let alphas = (0..count).map(|i| {
            // In two steps: the whole may be beyond the range of f64.
            let half = (0.5 * step * i as f64).exp();
            if i + 1 == count && i > 0 { highest } else { lowest * half * half }
        });
        Ok(RidgePath::new(alphas.collect()))
    }

    fn lowest(&self) -> f64 {
        self.alphas.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn check(&self) -> Result<(), LinearError> {
        let count = self.alphas.len();
        argument(OPERATION, "alphas").in_range(count as f64, count > 0, "at least one penalty")?;
        self.alphas.iter().try_for_each(|&alpha| check::not_negative(OPERATION, "alphas", alpha))
    }

    /// One fit per penalty, in the order given.
    pub fn fit<T: Element>(&self, x: View<'_, T>, y: &[f64]) -> Result<Vec<RidgeFit>, LinearError> {
        self.run(x, y, None)
    }

    /// One fit per penalty, with one weight ≥ 0 per row.
    pub fn fit_weighted<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
        weights: &[f64],
    ) -> Result<Vec<RidgeFit>, LinearError> {
        self.run(x, y, Some(weights))
    }

    fn run<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<Vec<RidgeFit>, LinearError> {
        self.check()?;
        let (data, moments) = prepared(OPERATION, x, y, weights, self.intercept, self.lowest())?;
        Ok(self.solutions(&data, &moments))
    }

    fn solutions<T: Element>(&self, data: &Data<'_, T>, moments: &Moments) -> Vec<RidgeFit> {
        let rotated = Tridiagonal::of(&moments.square);
        let c = rotated.rotate(&moments.right);
        let shifted: Vec<_> = self
            .alphas
            .iter()
            .map(|&alpha| rotated.solve(alpha, &c).filter(|s| s.condition < ROTATE_BELOW))
            .collect();
        // The reflections turn all solutions back together; a penalty that is too small for it keeps a column of zeros.
        let zeros = || vec![0.0; c.len()];
        let solution = |s: &Option<Shifted>| s.as_ref().map_or_else(zeros, |s| s.solution.clone());
        let mut all: Vec<Vec<f64>> = shifted.iter().map(solution).collect();
        rotated.rotate_back(&mut all);
        let fits = self.alphas.iter().zip(shifted).enumerate().map(|(k, (&alpha, shifted))| {
            let Some(shifted) = shifted else {
                return finished(moments, alpha, moments.solve(data, alpha), None);
            };
            let s = std::mem::take(&mut all[k]);
            let residual_square = moments.residual_square(alpha, &s);
            let w = moments.coefficients(data, s);
            let freedom = moments.degrees_of_freedom(alpha, shifted.inverse_trace, self.intercept);
            finished(moments, alpha, Solution { w, residual_square, method: Method::Moments }, Some(freedom))
        });
        fits.collect()
    }

    /// The penalty with the least leave-one-out error; of equal ones the first given.
    pub fn choose_leave_one_out<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
    ) -> Result<RidgeChoice, LinearError> {
        self.leave_one_out(x, y, None)
    }

    /// The penalty with the least weighted leave-one-out error.
    pub fn choose_leave_one_out_weighted<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
        weights: &[f64],
    ) -> Result<RidgeChoice, LinearError> {
        self.leave_one_out(x, y, Some(weights))
    }

    fn leave_one_out<T: Element>(
        &self,
        x: View<'_, T>,
        y: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<RidgeChoice, LinearError> {
        self.check()?;
        let (data, moments) = prepared(OPERATION, x, y, weights, self.intercept, self.lowest())?;
        let errors = self.left_out_errors(&data, &moments);
        Ok(self.chosen(&data, &moments, errors))
    }

    fn chosen<T: Element>(&self, data: &Data<'_, T>, moments: &Moments, errors: Vec<f64>) -> RidgeChoice {
        let best = (1..errors.len()).fold(0, |best, k| if errors[k] < errors[best] { k } else { best });
        let alone = RidgePath { alphas: vec![self.alphas[best]], intercept: self.intercept };
        let fit = alone.solutions(data, moments).swap_remove(0);
        RidgeChoice { fit, errors }
    }

    fn left_out_errors<T: Element>(&self, data: &Data<'_, T>, moments: &Moments) -> Vec<f64> {
        let count = self.alphas.len();
        let Some((d, v)) = eigen_of(moments.unfilled(data)) else {
            return vec![f64::INFINITY; count];
        };
        // Rounding may turn a zero eigenvalue into a small number of either sign.
        let cut = d.last().copied().unwrap_or(0.0) * f64::EPSILON * 8.0 * d.len() as f64;
        let along: Vec<f64> = (0..d.len()).map(|j| passes::dot(v.col_as_slice(j), &moments.right)).collect();
        // Along an empty direction nothing is fitted.
        let inverse = |j: usize, k: usize| if d[j] > cut { 1.0 / (d[j] + self.alphas[k]) } else { 0.0 };
        let shrunk =
            Mat::from_fn(d.len(), count, |j, k| along[j] * inverse(j, k) * dual_scale(moments, d[j]));
        let weight = Mat::from_fn(d.len(), count, inverse);
        let parts = passes::map_chunks(data.rows(), d.len() * (d.len() + count), |chunk| {
            let mut sums = vec![0.0; count];
            for rows in passes::tiles(chunk) {
                let p = rotated_rows(data, moments, &d, v.as_ref(), rows.clone());
                let squares = Mat::from_fn(p.nrows(), p.ncols(), |i, j| p[(i, j)].powi(2));
                let fitted = product(p.as_ref(), shrunk.as_ref());
                let leverage = product(squares.as_ref(), weight.as_ref());
                for (i, row) in rows.enumerate() {
                    let root = data.root(row);
                    let t = (data.y[row] - moments.y_centre) * root;
                    let base = if data.intercept { root * root / data.total } else { 0.0 };
                    for (k, sum) in sums.iter_mut().enumerate() {
                        let left = 1.0 - base - leverage[(i, k)];
                        let error = if left > 1e-12 { (t - fitted[(i, k)]) / left } else { f64::INFINITY };
                        *sum += error * error;
                    }
                }
            }
            sums
        });
        let mut sums = vec![0.0; count];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
        }
        sums.iter().map(|sum| sum / data.total).collect()
    }

    /// The penalty with the least error over `folds` parts of the rows, each predicted from the others. The parts are
    /// of equal size but for one row and depend on `seed` and the number of rows alone.
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
        argument(OPERATION, "folds").in_range(
            folds as f64,
            (2..=n).contains(&folds),
            "at least 2 and at most the number of rows",
        )?;
        let order = Seeded::new(seed).permutation(n);
        let mut errors = vec![0.0; self.alphas.len()];
        for fold in 0..folds {
            // Leaving rows out is giving them no weight.
            let left_out = &order[fold * n / folds..(fold + 1) * n / folds];
            let mut kept = weights.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
            for &i in left_out {
                kept[i] = 0.0;
            }
            if kept.iter().all(|&w| w == 0.0) {
                continue;
            }
            for (k, fit) in self.run(x, y, Some(&kept))?.iter().enumerate() {
                let fitted = fit.predict(x)?;
                let error = |&i: &usize| (y[i] - fitted[i]).powi(2) * data.weights.map_or(1.0, |w| w[i]);
                errors[k] += left_out.iter().map(error).sum::<f64>() / data.total;
            }
        }
        Ok(self.chosen(&data, &moments, errors))
    }
}

/// `b` of the dual lives on the rows: fitted values along `uⱼ` are `dⱼ/(dⱼ + α)·uⱼᵀb`, and `P = U·√d` brings one `√d`.
fn dual_scale(moments: &Moments, d: f64) -> f64 {
    if moments.dual { d.max(0.0).sqrt() } else { 1.0 }
}

/// Rows of `P` (t × k).
fn rotated_rows<T: Element>(
    data: &Data<'_, T>,
    moments: &Moments,
    d: &[f64],
    v: MatRef<'_, f64>,
    rows: std::ops::Range<usize>,
) -> Mat<f64> {
    if moments.dual {
        return Mat::from_fn(rows.len(), d.len(), |i, j| v[(rows.start + i, j)] * d[j].max(0.0).sqrt());
    }
    let p = data.cols();
    let mut tile = vec![0.0; rows.len() * p];
    passes::load(&data.x, rows.clone(), p, &mut tile);
    for (i, row) in rows.clone().zip(tile.chunks_exact_mut(p)) {
        let root = data.root(i);
        row.iter_mut().zip(&moments.centre).for_each(|(v, c)| *v = (*v - c) * root);
    }
    product(MatRef::from_row_major_slice(&tile, rows.len(), p), v)
}

fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    out
}
