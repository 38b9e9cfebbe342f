//! The choice between penalties by rows that are left out one by one.
//!
//! Leave-one-out errors need no refitting. With `S = V·diag(d)·Vᵀ` and `P = Z·V`:
//!
//! ```text
//! fitted     f(α) = P·diag(1/(d + α))·Vᵀb                       one product for all α
//! leverage   hᵢ(α) = ωᵢ/Σω + Σⱼ Pᵢⱼ²/(dⱼ + α)                   one product for all α
//! left out   eᵢ(α) = (tᵢ − fᵢ)/(1 − hᵢ)                         exact, the intercept included
//! score      Σ eᵢ² / Σω
//! ```
//!
//! In the dual `S = U·diag(d)·Uᵀ` and `P = U·diag(√d)`: the same formulas, no further pass over the data. A table that is not kept is
//! read twice: `S`, `b` and the means come from its summary, then each batch adds the errors of its rows ([`LeaveOneOut`]).

use super::moments::{Data, Moments};
use super::passes;
use super::ridge::prepared;
use super::ridge_path::{OPERATION, RidgeChoice, RidgePath};
use super::stand_in::StandIn;
use crate::check::{self, argument};
use crate::dense::eigen_of;
use crate::{Extent, LinearError, Summary};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use spanwise_kernels::{Element, View};
use std::ops::Range;

impl RidgePath {
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
        let sums = Rotated::new(&self.alphas, &data, &moments).map(|rotated| rotated.sums(&data, &moments));
        let errors = self.errors(sums, data.total);
        self.chosen(&data, &moments, errors, data.weighted_rows())
    }

    /// Mean squared errors from their sums; infinite where there are none.
    fn errors(&self, sums: Option<Vec<f64>>, total: f64) -> Vec<f64> {
        let sums = sums.unwrap_or_else(|| self.unknown());
        sums.iter().map(|sum| sum / total).collect()
    }
}

/// The choice for a table that is read a second time, batch by batch, after its summary is known.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::Summary;
/// use spanwise_linear::fit::{LeaveOneOut, RidgePath};
///
/// let (x, y) = ([0.0, 1.0, 2.0, 3.0, 4.0], [1.1, 2.9, 5.0, 7.1, 8.9]);
/// let path = RidgePath::new(vec![0.1, 1.0, 10.0]);
/// let summary = Summary::of(&View::new(&x, &[5, 1])?, &y[..], None)?;
/// let mut left_out = LeaveOneOut::new(&path, &summary, 0)?;
/// left_out.push(View::new(&x[..3], &[3, 1])?, &y[..3], None)?;
/// left_out.push(View::new(&x[3..], &[2, 1])?, &y[3..], None)?;
/// assert_eq!(left_out.choose()?.fit.alpha, 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LeaveOneOut {
    path: RidgePath,
    rows: StandIn,
    /// Of all rows, about the means that the batches still have to lose.
    moments: Moments,
    rotated: Option<Rotated>,
    sums: Vec<f64>,
    /// Rows of weight above zero that were read again, and how many there are.
    seen: u64,
    expected: u64,
}

impl LeaveOneOut {
    /// For target `target` of the rows that `summary` has seen.
    pub fn new(path: &RidgePath, summary: &Summary, target: usize) -> Result<Self, LinearError> {
        path.check()?;
        let rows = StandIn::new(OPERATION, summary, target, path.intercept)?;
        let (data, mut moments) = rows.prepared(OPERATION, path.lowest())?;
        let rotated = Rotated::new(&path.alphas, &data, &moments);
        if let Some(origin) = moments.origin.take() {
            (moments.centre, moments.y_centre) = (origin.x, origin.y);
        }
        Ok(LeaveOneOut {
            path: path.clone(),
            moments,
            rotated,
            sums: vec![0.0; path.alphas.len()],
            seen: 0,
            expected: summary.rows(),
            rows,
        })
    }

    /// Adds the errors of some rows, of `x` (n × p) and `y` (n).
    pub fn push<T: Element>(
        &mut self,
        x: View<'_, T>,
        y: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<(), LinearError> {
        let (rows, cols) = argument(OPERATION, "X").matrix(&x)?;
        let expected = Extent::Columns(self.moments.centre.len());
        argument(OPERATION, "X").fits(Extent::Columns(cols), "the summary", expected)?;
        check::target(OPERATION, y, rows)?;
        if let Some(weights) = weights {
            check::weights_or_none(OPERATION, weights, rows)?;
        }
        if rows == 0 {
            return Ok(());
        }
        let (total, intercept) = (self.rows.total(), self.path.intercept);
        let data = Data { x, y, weights, total, intercept };
        if let Some(rotated) = &self.rotated {
            let sums = rotated.sums(&data, &self.moments);
            // Infinite is also the error of a row without which nothing is left to predict it from.
            if sums.iter().any(|sum| !sum.is_finite()) {
                argument(OPERATION, "X").finite(&x)?;
            }
            self.sums.iter_mut().zip(sums).for_each(|(sum, more)| *sum += more);
        }
        let count = |weights: &[f64]| weights.iter().filter(|w| **w > 0.0).count();
        self.seen += weights.map_or(rows, count) as u64;
        Ok(())
    }

    /// The penalty with the least error; an error where other rows were read again than the summary has seen.
    pub fn choose(self) -> Result<RidgeChoice, LinearError> {
        argument(OPERATION, "rows that were read again").in_range(
            self.seen as f64,
            self.seen == self.expected,
            "as many as the summary has seen",
        )?;
        let sums = self.rotated.is_some().then_some(self.sums);
        let errors = self.path.errors(sums, self.rows.total());
        self.path.chosen(&self.rows.data(), &self.rows.moments(), errors, self.expected)
    }
}

/// `S = V·diag(d)·Vᵀ`, and what it says of each penalty (k of them).
struct Rotated {
    /// Rising.
    d: Vec<f64>,
    v: Mat<f64>,
    /// `diag(1/(d + α))·Vᵀb` (d × k).
    shrunk: Mat<f64>,
    /// `1/(d + α)` (d × k).
    weight: Mat<f64>,
}

impl Rotated {
    /// `None` where the eigenvalues cannot be found.
    fn new<T: Element>(alphas: &[f64], data: &Data<'_, T>, moments: &Moments) -> Option<Self> {
        let (d, v) = eigen_of(moments.unfilled(data))?;
        // Rounding may turn a zero eigenvalue into a small number of either sign.
        let cut = d.last().copied().unwrap_or(0.0) * f64::EPSILON * 8.0 * d.len() as f64;
        let along: Vec<f64> = (0..d.len()).map(|j| passes::dot(v.col_as_slice(j), &moments.right)).collect();
        // Along an empty direction nothing is fitted.
        let inverse = |j: usize, k: usize| if d[j] > cut { 1.0 / (d[j] + alphas[k]) } else { 0.0 };
        let count = alphas.len();
        let shrunk =
            Mat::from_fn(d.len(), count, |j, k| along[j] * inverse(j, k) * dual_scale(moments, d[j]));
        let weight = Mat::from_fn(d.len(), count, inverse);
        Some(Rotated { d, v, shrunk, weight })
    }

    /// `Σ eᵢ²` of some rows, for each penalty.
    fn sums<T: Element>(&self, data: &Data<'_, T>, moments: &Moments) -> Vec<f64> {
        let (width, count) = (self.d.len(), self.weight.ncols());
        let parts = passes::map_chunks(data.rows(), width * (width + count), |chunk| {
            let mut sums = vec![0.0; count];
            for rows in passes::tiles(chunk) {
                let p = self.rows(data, moments, rows.clone());
                let squares = Mat::from_fn(p.nrows(), p.ncols(), |i, j| p[(i, j)].powi(2));
                let fitted = product(p.as_ref(), self.shrunk.as_ref());
                let leverage = product(squares.as_ref(), self.weight.as_ref());
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
        sums
    }

    /// Rows of `P` (t × k).
    fn rows<T: Element>(&self, data: &Data<'_, T>, moments: &Moments, rows: Range<usize>) -> Mat<f64> {
        let (d, v) = (&self.d, self.v.as_ref());
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
}

/// `b` of the dual lives on the rows: fitted values along `uⱼ` are `dⱼ/(dⱼ + α)·uⱼᵀb`, and `P = U·√d` brings one `√d`.
fn dual_scale(moments: &Moments, d: f64) -> f64 {
    if moments.dual { d.max(0.0).sqrt() } else { 1.0 }
}

fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    out
}
