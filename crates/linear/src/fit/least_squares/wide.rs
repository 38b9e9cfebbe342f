//! No more rows than columns: the Gram matrix of the rows.
//!
//! Of all coefficients that meet the targets, those with the smallest Σ w² are a combination of the (centred) rows:
//!
//! ```text
//!  w = Xcᵀ a,   K a = y − ȳ,   K = Xc Xcᵀ  (n × n),   b = ȳ − m·w          m the column means, Xc = X − 1mᵀ
//! ```
//!
//! With an intercept the ones are in K's null space; adding a multiple of 11ᵀ makes it definite and changes nothing else. The
//! residual of w on X as given, with twice the precision, refines a: each step shrinks the error by about uκ(K), so K may be
//! as ill-conditioned as refinement can mend. Weights play no part where every target is met.
//!
//! Rows that depend on each other make K singular. Then the triangle of Xcᵀ, with unit columns and without squaring the
//! condition number, gives the directions U the columns span, and the same is solved inside them: `UᵀKU a' = Uᵀy`. Where that does
//! not meet the targets inside U, columns of length 1 do (`unit_columns.rs`).

use super::alike::Alike;
use super::model::{Coefficient, LinearFit, Method, Shares, TargetFit};
use super::rank::Rank;
use super::refine::{MOST_DATA_DIGITS, MOST_DIGITS};
use super::transposed::Transposed;
use super::unit_columns::UnitColumns;
use super::{OPERATION, U};
use crate::check::{self, SMALLEST_SQUARES};
use crate::dense::{
    Centred, Cholesky, ColumnSizes, Inner, Products, Vectors, column_sizes, leading_columns, multiply,
    multiply_transposed, norm, norm_inf, power_of_two_near, svd, times, transposed_times,
};
use crate::measure::rank_band;
use crate::{LinearError, NoColumns, RowSource};
use spanwise_kernels::Matrix;
use spanwise_kernels::tall::{self, Tall, Twofold, residuals, transpose_multiply, triangle};

/// The factor of K is used where a refinement step shrinks the error at least by this.
const SQUARED_ERROR: f64 = 1e-3;
/// Refinement steps at most.
const STEPS: usize = 5;
/// Iterations of each estimate of an extreme eigenvalue.
const ITERATIONS: usize = 3;
/// What may be left of a target inside the span, as a share of its deviation.
const MET: f64 = 1e-10;

/// The problem, rows with a weight above zero.
pub(super) struct Wide<'a> {
    pub intercept: bool,
    pub x: &'a dyn RowSource,
    pub y: &'a dyn RowSource,
    pub weights: Option<&'a [f64]>,
    pub tolerance: f64,
    /// Refinement steps at most.
    pub refinement: usize,
}

/// How K is solved with: all of it, or inside the directions `basis`.
struct Factor {
    /// `n × r`, orthonormal; absent where r = n.
    basis: Option<Matrix>,
    /// Of K, or of `UᵀKU`.
    cholesky: Cholesky,
    /// Of K, about.
    condition: f64,
    rank: Rank,
}

/// What solves for coefficients: the rows' products, or the columns scaled to length 1.
#[derive(Clone, Copy)]
enum Way<'a> {
    Products(&'a Factor),
    Unit(&'a UnitColumns),
}

/// One target's coefficients on the way.
struct Answer {
    w: Vec<f64>,
    b: f64,
    /// The rows' combination that w is.
    combination: Vec<f64>,
    /// y − b − Xw.
    rest: Vec<f64>,
    /// How far w may still be from the solution, in the way's units.
    left: f64,
    steps: usize,
}

impl Wide<'_> {
    pub(super) fn fit(&self) -> Result<LinearFit, LinearError> {
        let n = self.x.rows();
        check::finite_rows(OPERATION, "y", self.y)?;
        let mut scratch = Vec::new();
        let whole = self.x.block(0, n, &mut scratch);
        let rows = Transposed::new(&whole);
        let mut columns = column_sizes(&rows);
        if !self.intercept {
            columns.means.fill(0.0);
        }
        let Products { square: k, trace, .. } = self.products(&rows, &columns.means);
        // No product is larger than the squares on the diagonal.
        if (0..n).any(|i| !k[(i, i)].is_finite()) {
            check::finite_rows(OPERATION, "X", self.x)?;
            return Err(LinearError::Overflow { operation: OPERATION, argument: "X" });
        }
        let spread = || check::spreads(self.x, self.intercept, None).into_iter().fold(0.0, f64::max);
        if trace < SMALLEST_SQUARES && check::vanishes(spread()) {
            return Err(LinearError::Underflow { operation: OPERATION, argument: "X" });
        }
        let factor = match self.factor(k) {
            Some(factor) => factor,
            None => self.factor_inside(&rows, &columns.means)?,
        };
        let (unit, answers) = self.answers(&factor, &rows, &columns.means);
        let way = unit.as_ref().map_or(Way::Products(&factor), Way::Unit);
        let steps = answers.iter().map(|a| a.steps).max().unwrap_or(0);
        let targets = answers.iter().enumerate().map(|(q, a)| self.target(q, a, way, &columns)).collect();
        let (intercept, tolerance) = (self.intercept, self.tolerance);
        let alike = Alike { x: self.x, columns: &rows, sizes: &columns, intercept, tolerance };
        Ok(LinearFit { dependencies: alike.found(), ..self.model(targets, &factor.rank, way, steps) })
    }

    /// By the products of the rows; by columns of length 1 where those leave of some target what lies inside the span, and these do
    /// not.
    fn answers(
        &self,
        factor: &Factor,
        rows: &Transposed<'_>,
        means: &[f64],
    ) -> (Option<UnitColumns>, Vec<Answer>) {
        let by = |way: Way<'_>| (0..self.y.cols()).map(|q| self.solve(q, way, means)).collect::<Vec<_>>();
        let answers = by(Way::Products(factor));
        let Some(basis) = &factor.basis else { return (None, answers) };
        let left = self.missed(basis, &answers);
        let unit = if left > MET { UnitColumns::new(rows, means, basis.cols()) } else { None };
        let Some(unit) = unit else { return (None, answers) };
        let better = by(Way::Unit(&unit));
        if self.missed(basis, &better) < 0.1 * left { (Some(unit), better) } else { (None, answers) }
    }

    /// The largest share of a target inside the directions `basis` that its answer leaves.
    fn missed(&self, basis: &Matrix, answers: &[Answer]) -> f64 {
        let inside = |values: &[f64]| {
            let mean = if self.intercept { values.iter().sum::<f64>() / values.len() as f64 } else { 0.0 };
            let centred: Vec<f64> = values.iter().map(|v| v - mean).collect();
            norm(&transposed_times(basis, &centred))
        };
        let share = |(q, answer): (usize, &Answer)| {
            let whole = inside(&self.column(q));
            if whole > 0.0 { inside(&answer.rest) / whole } else { 0.0 }
        };
        answers.iter().enumerate().map(share).fold(0.0, f64::max)
    }

    /// K = Xc Xcᵀ, made definite.
    fn products(&self, rows: &Transposed<'_>, means: &[f64]) -> Products {
        let means = self.intercept.then_some(means);
        Inner { columns: rows, means, weights: None, fill: true }.products()
    }

    /// The factor of all of K, if refinement mends its error and the rank is beyond doubt.
    fn factor(&self, k: Matrix) -> Option<Factor> {
        let (n, largest) = (k.rows(), largest_eigenvalue(&k));
        let cholesky = Cholesky::of(k)?;
        let condition = (largest * inverse_norm(&cholesky, n)).max(1.0);
        let smallest = 1.0 / condition.sqrt();
        let sound = 4.0 * U * condition < SQUARED_ERROR && smallest > rank_band(self.tolerance).1;
        let rank = self.rank(n, [n, n], smallest, 0.0);
        sound.then_some(Factor { basis: None, cholesky, condition, rank })
    }

    /// The rank as it is reported; the other two by a tighter and by a looser tolerance.
    fn rank(&self, rank: usize, others: [usize; 2], smallest_kept: f64, largest_dropped: f64) -> Rank {
        let terms = self.x.cols() + usize::from(self.intercept);
        let [rank_if_tighter, rank_if_looser] = others;
        let (tolerance, dependent) = (self.tolerance, Vec::new());
        Rank {
            rank,
            terms,
            tolerance,
            smallest_kept,
            largest_dropped,
            rank_if_tighter,
            rank_if_looser,
            dependent,
        }
    }

    /// The factor inside the directions that the columns span, by their triangle.
    fn factor_inside(&self, rows: &Transposed<'_>, means: &[f64]) -> Result<Factor, LinearError> {
        let (n, d) = (self.x.rows(), self.x.cols());
        let centred = Centred { columns: rows, means };
        // Unit columns of X are unit rows here: weights 1/‖column‖².
        let squares = rows.squares_about(means);
        let weights: Vec<f64> = squares.iter().map(|&s| if s > 0.0 { 1.0 / s } else { 0.0 }).collect();
        let zeros = vec![0.0; n];
        let t = triangle(&Tall { x: &centred, y: &NoColumns(d), weights: Some(&weights), shift: &zeros });
        // The triangle starts with a column of ones that does not belong here: fold its row back in.
        let full = Matrix::from_fn(n, n + 1, |i, j| if j <= i + 1 { t.at(j, i + 1) } else { 0.0 });
        let unconverged = |_| LinearError::Unconverged { operation: OPERATION, argument: "X" };
        let found = svd(&full, Vectors::Thin).map_err(unconverged)?;
        let largest = found.s[0];
        let at = |tolerance: f64| found.s.iter().take_while(|&&s| s > tolerance * largest && s > 0.0).count();
        let rank = at(self.tolerance);
        let share = |i: usize| found.s.get(i).map_or(0.0, |s| s / largest.max(f64::MIN_POSITIVE));
        let basis = leading_columns(&found.u, rank);
        let means = self.intercept.then_some(means);
        let k = Inner { columns: rows, means, weights: None, fill: false }.products().square;
        let projected = multiply_transposed(&basis, &multiply(&k, &basis));
        let cholesky = with_jitter(&projected)?;
        let condition = (largest_eigenvalue(&projected) * inverse_norm(&cholesky, rank)).max(1.0);
        let first = usize::from(self.intercept);
        let (low, high) = rank_band(self.tolerance);
        let others = [at(low) + first, at(high) + first];
        let smallest = rank.checked_sub(1).map_or(1.0, share);
        let rank = self.rank(rank + first, others, smallest, share(rank));
        Ok(Factor { basis: Some(basis), cholesky, condition, rank })
    }

    /// One target: solved, refined on X as given.
    fn solve(&self, q: usize, way: Way<'_>, means: &[f64]) -> Answer {
        let (n, d) = (self.x.rows(), self.x.cols());
        let shift = vec![0.0; d + self.y.cols()];
        let tall = Tall { x: self.x, y: self.y, weights: None, shift: &shift };
        let mut answer = Answer {
            w: vec![0.0; d],
            b: 0.0,
            combination: vec![0.0; n],
            rest: self.column(q),
            left: f64::INFINITY,
            steps: 0,
        };
        // How much a step shrinks the error: what the conditioning says, or what was seen where that is more.
        let mut rate = way.shrink();
        let mut change = f64::INFINITY;
        for step in 0..=STEPS.min(self.refinement) {
            let mean = if self.intercept { answer.rest.iter().sum::<f64>() / n as f64 } else { 0.0 };
            let centred: Vec<f64> = answer.rest.iter().map(|r| r - mean).collect();
            let w = match way {
                Way::Products(factor) => {
                    let a = factor.solve(&centred);
                    let total: f64 = a.iter().sum();
                    let mut w = transpose_multiply(self.x, &a);
                    w.iter_mut().zip(means).for_each(|(w, m)| *w -= total * m);
                    add(&mut answer.combination, &a);
                    w
                }
                Way::Unit(unit) => unit.solve(&centred),
            };
            let last = std::mem::replace(&mut change, way.size(&w));
            if change > 0.5 * last {
                break;
            }
            if last.is_finite() && last > 0.0 {
                rate = rate.max(change / last).min(1.0);
            }
            answer.steps = step;
            answer.b += mean - w.iter().zip(means).map(|(w, m)| w * m).sum::<f64>();
            add(&mut answer.w, &w);
            // A first residual is always taken; one after a step that changed next to nothing would say the same.
            if step > 0 && rate * change <= 0.25 * U * way.size(&answer.w) {
                break;
            }
            let mut coefficients: Vec<Twofold> = answer.w.iter().map(|&w| Twofold::from(w)).collect();
            coefficients.push(Twofold::from(answer.b));
            residuals(&tall, q, &coefficients, &mut answer.rest);
        }
        answer.left = rate * change;
        answer
    }

    /// Target `q` as given.
    fn column(&self, q: usize) -> Vec<f64> {
        let mut scratch = Vec::new();
        let block = self.y.block(0, self.x.rows(), &mut scratch);
        (0..block.rows()).map(|i| block.get(i, q)).collect()
    }

    /// What is reported of target `q`.
    fn target(&self, q: usize, answer: &Answer, way: Way<'_>, columns: &ColumnSizes) -> TargetFit {
        let (n, y, size) = (self.x.rows(), self.column(q), way.size(&answer.w));
        let weight = |i: usize| self.weights.map_or(1.0, |w| w[i]);
        let mean = if self.intercept {
            (0..n).map(|i| weight(i) * y[i]).sum::<f64>() / (0..n).map(weight).sum::<f64>()
        } else {
            0.0
        };
        // What rounding left in Xᵀa outside the rows' span, no step sees.
        let unseen = 4.0 * U * norm(&answer.combination);
        let data = way.condition() * self.x.precision().max(self.y.precision()) * 4.0;
        // In units of a column's coefficient, how far it may be off, and what the rounding of the data changes.
        let coefficient = |value: f64, norm: f64, unit: f64| {
            let digits = |error: f64| -(error / value.abs().max(f64::MIN_POSITIVE)).log10();
            let error = (answer.left + way.rounding() * size) * unit + unseen * norm + U * value.abs();
            Coefficient {
                value,
                standard_error: f64::NAN,
                computed_digits: digits(error).clamp(0.0, MOST_DIGITS),
                data_digits: digits(data * size * unit).clamp(0.0, MOST_DATA_DIGITS),
            }
        };
        let offset: f64 = 1.0 + answer.w.iter().zip(&columns.means).map(|(w, m)| (w * m).abs()).sum::<f64>();
        let norms = &columns.norms;
        let own = |(j, (&w, &norm)): (usize, (&f64, &f64))| coefficient(w, norm, way.unit(j));
        // The intercept is ȳ − Σ w·mean: each coefficient's error arrives there times its column's mean.
        let through_means = match way {
            Way::Products(_) => 1.0,
            Way::Unit(_) => columns.means.iter().enumerate().map(|(j, mean)| mean.abs() * way.unit(j)).sum(),
        };
        let unit = power_of_two_near(norm_inf(&y));
        let squares = |unit: f64, part: &dyn Fn(usize) -> f64| -> f64 {
            (0..n).map(|i| weight(i) * (part(i) / unit).powi(2)).sum()
        };
        let (rest, centred, all) = (|i: usize| answer.rest[i], |i: usize| y[i] - mean, |i: usize| y[i]);
        TargetFit {
            coefficients: answer.w.iter().zip(norms).enumerate().map(own).collect(),
            intercept: self.intercept.then(|| coefficient(answer.b, offset.max(norm(norms)), through_means)),
            residual_squares: squares(1.0, &rest),
            total_squares: squares(1.0, &centred),
            squares: squares(1.0, &all),
            shares: Shares {
                residual: squares(unit, &rest),
                total: squares(unit, &centred),
                all: squares(unit, &all),
                exponent: -(unit.log2() as i32),
            },
            kept: None,
        }
    }

    fn model(&self, targets: Vec<TargetFit>, rank: &Rank, way: Way<'_>, steps: usize) -> LinearFit {
        let (n, d) = (self.x.rows(), self.x.cols());
        let condition = way.condition();
        LinearFit {
            rank: rank.clone(),
            targets,
            dependencies: Vec::new(),
            method: match way {
                Way::Products(_) => Method::Dual,
                Way::Unit(_) => Method::UnitColumns,
            },
            rows: n as u64,
            log_weights: self.weights.map_or(0.0, |w| w.iter().map(|w| w.ln()).sum()),
            passes: steps,
            condition,
            condition_bound: condition * (n as f64).sqrt(),
            solver: None,
            exponents: vec![0; d],
        }
    }
}

impl Way<'_> {
    /// How much a step of refinement shrinks the error, by the conditioning.
    fn shrink(self) -> f64 {
        let condition = match self {
            Way::Products(factor) => factor.condition,
            Way::Unit(unit) => unit.condition(),
        };
        (4.0 * U * condition).min(1.0)
    }

    /// Of the columns.
    fn condition(self) -> f64 {
        match self {
            Way::Products(factor) => factor.condition.sqrt(),
            Way::Unit(unit) => unit.condition(),
        }
    }

    /// The norm of coefficients in the units whose squares are smallest.
    fn size(self, w: &[f64]) -> f64 {
        match self {
            Way::Products(_) => norm(w),
            Way::Unit(unit) => unit.size(w),
        }
    }

    /// The unit of column `j`'s coefficient.
    fn unit(self, j: usize) -> f64 {
        match self {
            Way::Products(_) => 1.0,
            Way::Unit(unit) => unit.scale[j],
        }
    }

    /// What rounding leaves of the size of w that no residual sees.
    fn rounding(self) -> f64 {
        match self {
            Way::Products(_) => 0.0,
            Way::Unit(_) => 4.0 * U,
        }
    }
}

impl Factor {
    /// The combination a of the rows with K a = y, as far as the directions reach.
    fn solve(&self, y: &[f64]) -> Vec<f64> {
        match &self.basis {
            Some(basis) => times(basis, &self.cholesky.solve_vector(&transposed_times(basis, y))),
            None => self.cholesky.solve_vector(y),
        }
    }
}

fn add(to: &mut [f64], more: &[f64]) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to += more);
}

/// The factor of a matrix that is definite but for rounding. Raw scales may be far apart; then a small multiple of the
/// identity keeps the solution bounded.
fn with_jitter(square: &Matrix) -> Result<Cholesky, LinearError> {
    let n = square.rows();
    let largest = (0..n).map(|i| square[(i, i)]).fold(0.0, f64::max);
    let (mut jitter, mut lifted) = (0.0, square.clone());
    while jitter <= largest {
        if let Some(cholesky) = Cholesky::of(lifted.clone()) {
            return Ok(cholesky);
        }
        jitter = if jitter == 0.0 { (U * largest).max(f64::MIN_POSITIVE) } else { 10.0 * jitter };
        (0..n).for_each(|i| lifted[(i, i)] = square[(i, i)] + jitter);
    }
    Err(LinearError::Overflow { operation: OPERATION, argument: "X" })
}

/// A vector of length 1 without zeros.
fn start(n: usize) -> Vec<f64> {
    let v: Vec<f64> = (0..n).map(|i| (i * 7919 % 1013) as f64 / 1013.0 - 0.45).collect();
    let length = norm(&v);
    v.iter().map(|v| v / length).collect()
}

/// The largest eigenvalue of the symmetric `k`, by power iterations: from below.
fn largest_eigenvalue(k: &Matrix) -> f64 {
    let (mut v, mut image, mut largest) = (start(k.rows()), vec![0.0; k.rows()], 0.0);
    for _ in 0..ITERATIONS {
        tall::multiply(&k.view(), &v, 0.0, &mut image);
        largest = norm(&image);
        if largest == 0.0 {
            break;
        }
        v.iter_mut().zip(&image).for_each(|(v, image)| *v = image / largest);
    }
    largest
}

/// The largest eigenvalue of the inverse of a matrix of `n` rows, by inverse iterations: from below.
fn inverse_norm(cholesky: &Cholesky, n: usize) -> f64 {
    let (mut v, mut largest) = (start(n), 0.0);
    for _ in 0..ITERATIONS {
        v = cholesky.solve_vector(&v);
        largest = norm(&v);
        for v in &mut v {
            *v /= largest;
        }
    }
    largest
}
