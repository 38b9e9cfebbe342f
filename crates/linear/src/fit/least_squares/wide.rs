//! No more rows than columns: the Gram matrix of the rows.
//!
//! Of all coefficients that meet the targets, those with the smallest Σ w² are a combination of the (centred) rows:
//!
//! ```text
//!  w = Xcᵀ a,   K a = y − ȳ,   K = Xc Xcᵀ  (n × n),   b = ȳ − m·w          m the column means, Xc = X − 1mᵀ
//! ```
//!
//! With an intercept the ones are in K's null space; adding a multiple of 11ᵀ makes it definite and changes nothing else. The
//! residual of w on X as given, with twice the precision, refines a. Weights play no part where every target is met.
//!
//! Rows that depend on each other make K singular. Then the triangle of Xcᵀ, with unit columns and without squaring the
//! condition number, gives the directions U the columns span, and the same is solved inside them: `UᵀKU a' = Uᵀy`.

use super::model::{Coefficient, LinearFit, Method, TargetFit};
use super::rank::Rank;
use super::refine::{MOST_DATA_DIGITS, MOST_DIGITS};
use super::transposed::{Centred, Transposed, column_norms};
use super::{OPERATION, U};
use crate::small::{cholesky, norm, solve_upper, solve_upper_transposed};
use crate::{LinearError, NoColumns, RowSource, check};
use faer::Mat;
use spanwise_kernels::Matrix;
use spanwise_kernels::tall::{Tall, Twofold, gram, residuals, transpose_multiply, triangle};

/// The factor of K is used where uκ(K) is below this.
const SQUARED_ERROR: f64 = 1e-6;
/// Refinement steps at most.
const STEPS: usize = 3;

/// The problem, rows with a weight above zero.
pub(super) struct Wide<'a> {
    pub intercept: bool,
    pub x: &'a dyn RowSource,
    pub y: &'a dyn RowSource,
    pub weights: Option<&'a [f64]>,
    pub tolerance: f64,
}

/// How K is solved with: all of it, or inside the directions `basis`.
struct Factor {
    /// `n × r`, orthonormal; absent where r = n.
    basis: Option<Matrix>,
    /// `r × r`, upper.
    triangle: Matrix,
    /// Of K, about.
    condition: f64,
    /// The rank of the centred columns.
    rank: usize,
}

impl Wide<'_> {
    pub(super) fn fit(&self) -> Result<LinearFit, LinearError> {
        let (n, d) = (self.x.rows(), self.x.cols());
        check::finite_rows(OPERATION, "y", self.y)?;
        let mut scratch = Vec::new();
        let whole = self.x.block(0, n, &mut scratch);
        let rows = Transposed::new(&whole);
        let means =
            if self.intercept { transpose_multiply(self.x, &vec![1.0 / n as f64; n]) } else { vec![0.0; d] };
        let mut k = self.row_products(&rows, &means);
        if k.as_slice().iter().any(|v| !v.is_finite()) {
            check::finite_rows(OPERATION, "X", self.x)?;
        }
        let lift = self.lift(&k);
        k.as_mut_slice().iter_mut().for_each(|v| *v += lift);
        let factor = factor(&k, n).unwrap_or_else(|| self.factor_inside(&k, &rows, &means));
        let norms = column_norms(&whole);
        let targets = (0..self.y.cols()).map(|q| self.target(q, &factor, &means, &norms)).collect();
        Ok(self.model(targets, &factor))
    }

    /// K = Xc Xcᵀ.
    fn row_products(&self, rows: &Transposed<'_>, means: &[f64]) -> Matrix {
        let (n, d) = (self.x.rows(), self.x.cols());
        let zeros = vec![0.0; n];
        let products = |x: &dyn RowSource| {
            let g = gram(&Tall { x, y: &NoColumns(d), weights: None, shift: &zeros });
            Matrix::from_fn(n, n, |i, j| g[(i, j)])
        };
        if !self.intercept {
            return products(rows);
        }
        let mut k = products(rows);
        let row_means: Vec<f64> = (0..n).map(|i| k.row(i).iter().sum::<f64>() / n as f64).collect();
        let mean = row_means.iter().sum::<f64>() / n as f64;
        let trace = (0..n).map(|i| k[(i, i)]).sum::<f64>();
        if mean * n as f64 > 0.99 * trace {
            // Centring the products would cancel: centre the rows instead, which costs a copy of each tile.
            return products(&Centred::new(rows, means));
        }
        for i in 0..n {
            let own = row_means[i] - mean;
            k.row_mut(i).iter_mut().zip(&row_means).for_each(|(v, m)| *v -= own + m);
        }
        k
    }

    /// What is added to every entry of K: the mean eigenvalue in the direction of the ones.
    fn lift(&self, k: &Matrix) -> f64 {
        let n = k.rows() as f64;
        let trace = (0..k.rows()).map(|i| k[(i, i)]).sum::<f64>();
        if self.intercept { if trace > 0.0 { trace / (n * n) } else { 1.0 / n } } else { 0.0 }
    }

    /// The factor inside the directions that the columns span, by their triangle.
    fn factor_inside(&self, k: &Matrix, rows: &Transposed<'_>, means: &[f64]) -> Factor {
        let (n, d) = (self.x.rows(), self.x.cols());
        let centred = Centred::new(rows, means);
        // Unit columns of X are unit rows here: weights 1/‖column‖².
        let squares = centred.row_squares();
        let weights: Vec<f64> = squares.iter().map(|&s| if s > 0.0 { 1.0 / s } else { 0.0 }).collect();
        let zeros = vec![0.0; n];
        let t = triangle(&Tall { x: &centred, y: &NoColumns(d), weights: Some(&weights), shift: &zeros });
        // The triangle starts with a column of ones that does not belong here: fold its row back in.
        let full = Mat::from_fn(n, n + 1, |i, j| t.at(j, i + 1));
        let (basis, rank) = match full.thin_svd() {
            Ok(svd) => {
                let s: Vec<f64> = (0..n).map(|i| svd.S()[i]).collect();
                let rank = s.iter().take_while(|&&v| v > self.tolerance * s[0] && v > 0.0).count();
                (Matrix::from_fn(n, rank, |i, j| svd.U()[(i, j)]), rank)
            }
            Err(_) => (Matrix::zeros(n, 0), 0),
        };
        let projected = Matrix::from_fn(rank, rank, |i, j| {
            (0..n).map(|p| basis[(p, i)] * (0..n).map(|q| k[(p, q)] * basis[(q, j)]).sum::<f64>()).sum()
        });
        // Raw scales may still be far apart; then a small multiple of the identity keeps the solution bounded.
        let mut jitter = 0.0;
        let largest = (0..rank).map(|i| projected[(i, i)]).fold(0.0, f64::max);
        let triangle = loop {
            let lifted =
                Matrix::from_fn(rank, rank, |i, j| projected[(i, j)] + if i == j { jitter } else { 0.0 });
            if let Some(r) = cholesky(&lifted) {
                break r;
            }
            jitter = if jitter == 0.0 { U * largest } else { 10.0 * jitter };
        };
        let condition = condition(&triangle);
        Factor { basis: Some(basis), triangle, condition, rank }
    }

    /// One target: solved, refined on X as given.
    fn target(&self, q: usize, factor: &Factor, means: &[f64], norms: &[f64]) -> TargetFit {
        let (n, d) = (self.x.rows(), self.x.cols());
        let mut scratch = Vec::new();
        let block = self.y.block(0, n, &mut scratch);
        let y: Vec<f64> = (0..n).map(|i| block.get(i, q)).collect();
        let shift = vec![0.0; d + self.y.cols()];
        let tall = Tall { x: self.x, y: self.y, weights: None, shift: &shift };
        let mut w = vec![0.0; d];
        let (mut b, mut combination) = (0.0, vec![0.0; n]);
        let mut rest = y.clone();
        let mut change = f64::INFINITY;
        for _ in 0..=STEPS {
            let mean = if self.intercept { rest.iter().sum::<f64>() / n as f64 } else { 0.0 };
            let a = factor.solve(rest.iter().map(|r| r - mean).collect());
            let total: f64 = a.iter().sum();
            let mut step = transpose_multiply(self.x, &a);
            step.iter_mut().zip(means).for_each(|(s, m)| *s -= total * m);
            let last = std::mem::replace(&mut change, norm(&step));
            if change > 0.5 * last {
                break;
            }
            b += mean - step.iter().zip(means).map(|(s, m)| s * m).sum::<f64>();
            w.iter_mut().zip(&step).for_each(|(w, s)| *w += s);
            combination.iter_mut().zip(&a).for_each(|(c, a)| *c += a);
            let mut coefficients: Vec<Twofold> = w.iter().map(|&w| Twofold::from(w)).collect();
            coefficients.push(Twofold::from(b));
            residuals(&tall, q, &coefficients, &mut rest);
            if change <= 0.25 * U / (4.0 * U * factor.condition).min(1.0) * norm(&w) {
                break;
            }
        }
        let weight = |i: usize| self.weights.map_or(1.0, |w| w[i]);
        let mean = if self.intercept {
            (0..n).map(|i| weight(i) * y[i]).sum::<f64>() / (0..n).map(weight).sum::<f64>()
        } else {
            0.0
        };
        let left = (4.0 * U * factor.condition).min(1.0) * change;
        // What rounding left in Xᵀa outside the rows' span, no step sees.
        let unseen = 4.0 * U * norm(&combination);
        let coefficient = |value: f64, norm: f64| {
            let digits = |error: f64| -(error / value.abs().max(f64::MIN_POSITIVE)).log10();
            let error = left + unseen * norm + U * value.abs();
            let data = factor.condition.sqrt() * self.x.precision().max(self.y.precision()) * 4.0;
            Coefficient {
                value,
                standard_error: f64::NAN,
                computed_digits: digits(error).clamp(0.0, MOST_DIGITS),
                data_digits: digits(data * crate::small::norm(&w)).clamp(0.0, MOST_DATA_DIGITS),
            }
        };
        let offset: f64 = 1.0 + w.iter().zip(means).map(|(w, m)| (w * m).abs()).sum::<f64>();
        TargetFit {
            coefficients: w.iter().zip(norms).map(|(&w, &norm)| coefficient(w, norm)).collect(),
            intercept: self.intercept.then(|| coefficient(b, offset.max(norm(norms)))),
            residual_squares: (0..n).map(|i| weight(i) * rest[i].powi(2)).sum(),
            total_squares: (0..n).map(|i| weight(i) * (y[i] - mean).powi(2)).sum(),
        }
    }

    fn model(&self, targets: Vec<TargetFit>, factor: &Factor) -> LinearFit {
        let (n, d) = (self.x.rows(), self.x.cols());
        let first = usize::from(self.intercept);
        let rank = factor.rank + if factor.basis.is_some() { first } else { 0 };
        let condition = factor.condition.sqrt();
        LinearFit {
            rank: Rank {
                rank,
                terms: d + first,
                tolerance: self.tolerance,
                smallest_kept: 1.0 / condition,
                largest_dropped: 0.0,
                rank_if_tighter: rank,
                rank_if_looser: rank,
                dependent: Vec::new(),
            },
            targets,
            dependencies: Vec::new(),
            method: Method::Dual,
            rows: n as u64,
            log_weights: self.weights.map_or(0.0, |w| w.iter().map(|w| w.ln()).sum()),
            passes: STEPS,
            condition,
            condition_bound: condition * (n as f64).sqrt(),
            solver: None,
            exponents: vec![0; d],
        }
    }
}

impl Factor {
    /// The combination a of the rows with K a = y, as far as the directions reach.
    fn solve(&self, mut y: Vec<f64>) -> Vec<f64> {
        if let Some(basis) = &self.basis {
            let mut inside: Vec<f64> = (0..basis.cols())
                .map(|j| y.iter().enumerate().map(|(i, y)| basis[(i, j)] * y).sum())
                .collect();
            solve_upper_transposed(&self.triangle, &mut inside);
            solve_upper(&self.triangle, &mut inside);
            return (0..y.len())
                .map(|i| basis.row(i).iter().zip(&inside).map(|(u, a)| u * a).sum())
                .collect();
        }
        solve_upper_transposed(&self.triangle, &mut y);
        solve_upper(&self.triangle, &mut y);
        y
    }
}

/// The factor of all of K, if its error does no harm.
fn factor(k: &Matrix, n: usize) -> Option<Factor> {
    let triangle = cholesky(k)?;
    let condition = condition(&triangle);
    (4.0 * U * condition < SQUARED_ERROR).then_some(Factor { basis: None, triangle, condition, rank: n })
}

/// The condition number of `RᵀR`: its Frobenius norm's square root bounds the largest singular value of R, inverse
/// iterations estimate the smallest.
fn condition(r: &Matrix) -> f64 {
    let n = r.rows();
    if n == 0 {
        return 1.0;
    }
    let mut v: Vec<f64> = (0..n).map(|i| 0.5 + (i * 7919 % 1013) as f64 / 1013.0).collect();
    let mut inverse = 0.0;
    for _ in 0..4 {
        let length = norm(&v);
        for x in &mut v {
            *x /= length;
        }
        solve_upper_transposed(r, &mut v);
        inverse = norm(&v);
        solve_upper(r, &mut v);
    }
    let largest: f64 = (0..n).map(|i| r.row(i).iter().map(|x| x * x).sum::<f64>()).sum();
    largest * inverse * inverse
}
