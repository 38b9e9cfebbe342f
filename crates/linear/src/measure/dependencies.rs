//! Dependencies: which columns are exact combinations of others, and by which formula.
//!
//! ```text
//! R = triangular factor of [1, X], columns scaled to length 1
//! from left to right: a column of which no more than the tolerance is left after
//! projecting onto the independent ones before it is dependent
//! its coefficients are unique, because the columns it is expressed in are independent
//! ```
//!
//! Everything happens on the small factor: `‖Xc‖ = ‖Rc‖` for any coefficients, so a formula can be verified there.
//! A coefficient is replaced by a short number only where the formula still holds with it.

use super::collinearity::factor_of;
use super::formula::{Formula, short_number};
use super::rank::{rank_tolerance, rank_tolerance_of};
use crate::check::argument;
use crate::dense::{
    Pivoted, axpy, column_norms, dot, extreme_unit, norm, pivoted_qr, solve_upper, unit_columns,
};
use crate::{LinearError, RowSource};
use spanwise_kernels::{Element, Matrix, View};

/// Column `column` is `constant + Σ coefficient · column`.
#[derive(Debug, Clone, PartialEq)]
pub struct Dependency {
    /// The column that depends on the others.
    pub column: usize,
    /// The constant term; 0 where no intercept was allowed.
    pub constant: f64,
    /// The columns it is made of, each with its coefficient, in the order of the columns.
    pub terms: Vec<(usize, f64)>,
    /// What the formula leaves, as a share of the column's norm; 0 for a zero column.
    pub residual: f64,
    /// Whether every number in the formula is a short one that was verified.
    pub exact: bool,
}

impl Dependency {
    /// The formula in column names: `gross = price + 2`. A column without a name is called by its number, `x[3]`.
    ///
    /// `≈` instead of `=` says that a coefficient is shown rounded and the formula was not verified with it.
    ///
    /// ```
    /// use spanwise_kernels::View;
    /// use spanwise_linear::measure::dependencies;
    ///
    /// let x = View::new(&[1.0, 3.0, 5.0, 7.0, 2.0, 4.0], &[3, 2])?;
    /// let found = dependencies(x, true, None)?;
    /// assert_eq!(found[0].formula(&["price", "gross"]), "gross = price + 2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn formula<S: AsRef<str>>(&self, names: &[S]) -> String {
        let Dependency { column, constant, ref terms, exact, .. } = *self;
        Formula { column, constant, terms, exact }.written(names)
    }
}

/// The columns of `x` (n × p) that are combinations of the columns before them, and of a constant where `intercept`.
///
/// `tolerance` is the share of a column's norm that may be left for it to count as dependent: rounding where `None`,
/// larger to find near-dependencies as well.
pub fn dependencies<T: Element>(
    x: View<'_, T>,
    intercept: bool,
    tolerance: Option<f64>,
) -> Result<Vec<Dependency>, LinearError> {
    let (n, p) = argument("measure", "X").matrix(&x)?;
    let tolerance = checked_tolerance(p, x.precision(), tolerance)?;
    if n == 0 || p == 0 {
        return Ok(Vec::new());
    }
    Ok(of_factor(&factor_of(&x, intercept)?, intercept, tolerance))
}

/// What may be left of one of `p` columns for it to count as dependent.
pub(super) fn checked_tolerance(
    p: usize,
    precision: f64,
    tolerance: Option<f64>,
) -> Result<f64, LinearError> {
    let tolerance = tolerance.unwrap_or_else(|| rank_tolerance_of(p + 1, precision));
    let name = argument("measure", "tolerance");
    name.in_range(tolerance, (0.0..1.0).contains(&tolerance), "at least 0 and below 1")?;
    Ok(tolerance)
}

/// The same from the square factor of the columns, after the ones where `intercept`.
pub(super) fn of_factor(factor: &Matrix, intercept: bool, tolerance: f64) -> Vec<Dependency> {
    // A common factor changes no coefficient.
    let unit = extreme_unit(factor.as_slice());
    let factor = Matrix::from_fn(factor.rows(), factor.cols(), |i, j| factor[(i, j)] / unit);
    let first = usize::from(intercept);
    let (independent, dependent) = split(&factor, tolerance);
    let space = Space { factor: &factor, norms: column_norms(&factor), independent, tolerance };
    dependent.into_iter().map(|column| space.express(column, first)).collect()
}

/// Independent and dependent columns, from left to right, by Gram–Schmidt done twice.
fn split(factor: &Matrix, tolerance: f64) -> (Vec<usize>, Vec<usize>) {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let (mut independent, mut dependent) = (Vec::new(), Vec::new());
    for j in 0..factor.cols() {
        let mut column = factor.col(j);
        let size = norm(&column);
        for _ in 0..2 {
            for direction in &basis {
                let along = dot(direction, &column);
                axpy(&mut column, -along, direction);
            }
        }
        let left = norm(&column);
        if size == 0.0 || left <= tolerance * size || basis.len() == factor.rows() {
            dependent.push(j);
        } else {
            for x in &mut column {
                *x /= left;
            }
            basis.push(column);
            independent.push(j);
        }
    }
    (independent, dependent)
}

/// The independent columns, to express others in.
struct Space<'a> {
    factor: &'a Matrix,
    norms: Vec<f64>,
    independent: Vec<usize>,
    tolerance: f64,
}

impl Space<'_> {
    fn express(&self, column: usize, first: usize) -> Dependency {
        let size = self.norms[column];
        let before: Vec<usize> = self.independent.iter().copied().filter(|&j| j < column).collect();
        let mut support = before.clone();
        let mut coefficients = self.solve(column, &support);
        // Terms that contribute no more than what is left out anyway are rounding: leave them out and solve again.
        let noise = (10.0 * self.residual(column, &support, &coefficients)).max(1e3 * f64::EPSILON * size);
        // Beside the ones a column contributes what is left of it without its mean: of one far from 0, the rest is the constant's.
        let beyond = |j: usize| if j < first { self.norms[j] } else { norm(&self.factor.col(j)[first..]) };
        let matter = |(&j, &c): (&usize, &f64)| (c.abs() * beyond(j) > noise).then_some(j);
        let kept: Vec<usize> = support.iter().zip(&coefficients).filter_map(matter).collect();
        if kept.len() < support.len() {
            let again = self.solve(column, &kept);
            if self.residual(column, &kept, &again) <= self.allowed(column, &support, &coefficients) {
                (support, coefficients) = (kept, again);
            }
        }
        let exact = self.shorten(column, &support, &mut coefficients);
        let left = self.residual(column, &support, &coefficients);
        let constant_at = support.iter().position(|&j| j < first);
        let constant = constant_at.map_or(0.0, |at| coefficients[at]);
        let terms = support.iter().zip(&coefficients).filter(|&(&j, _)| j >= first);
        Dependency {
            column: column - first,
            constant,
            terms: terms.map(|(&j, &c)| (j - first, c)).collect(),
            residual: if size > 0.0 { left / size } else { 0.0 },
            exact,
        }
    }

    /// Least squares of `column` on `support`, on columns of length 1.
    fn solve(&self, column: usize, support: &[usize]) -> Vec<f64> {
        let rows = self.factor.rows();
        if support.is_empty() {
            return Vec::new();
        }
        let chosen = Matrix::from_fn(rows, support.len(), |i, k| self.factor[(i, support[k])]);
        let (unit, norms) = unit_columns(&chosen);
        let Pivoted { q, r, order } = pivoted_qr(&unit);
        let target = self.factor.col(column);
        let mut solution = crate::dense::transposed_times(&q, &target);
        solve_upper(&r, &mut solution);
        let mut coefficients = vec![0.0; support.len()];
        for (at, value) in order.into_iter().zip(solution) {
            coefficients[at] = value / norms[at];
        }
        coefficients
    }

    /// `‖column − Σ c·support‖`.
    fn residual(&self, column: usize, support: &[usize], coefficients: &[f64]) -> f64 {
        let left: Vec<f64> = (0..self.factor.rows())
            .map(|i| {
                let from = support.iter().map(|&j| self.factor[(i, j)]);
                crate::dense::compensated::dot(
                    self.factor[(i, column)],
                    from,
                    coefficients.iter().map(|c| -c),
                )
            })
            .collect();
        norm(&left)
    }

    /// A residual that still counts as none: what was allowed, or twice what the best coefficients leave.
    fn allowed(&self, column: usize, support: &[usize], coefficients: &[f64]) -> f64 {
        let terms = support.iter().zip(coefficients).map(|(&j, c)| c.abs() * self.norms[j]);
        let size = self.norms[column] + terms.sum::<f64>();
        let best = self.residual(column, support, coefficients);
        (2.0 * best).max(self.tolerance.min(rank_tolerance(self.norms.len())) * size)
    }

    /// Replaces coefficients by short numbers near them where the formula still holds; says whether all are short.
    fn shorten(&self, column: usize, support: &[usize], coefficients: &mut [f64]) -> bool {
        let allowed = self.allowed(column, support, coefficients);
        let mut all: Vec<f64> = coefficients.iter().map(|&c| short_number(c).unwrap_or(c)).collect();
        let every_one_short = coefficients.iter().all(|&c| short_number(c).is_some());
        if every_one_short && self.residual(column, support, &all) <= allowed {
            coefficients.copy_from_slice(&all);
            return true;
        }
        // One at a time: a short number must hold beside the others as they are.
        all.copy_from_slice(coefficients);
        for at in 0..coefficients.len() {
            if let Some(short) = short_number(coefficients[at]) {
                all[at] = short;
                if self.residual(column, support, &all) > allowed {
                    all[at] = coefficients[at];
                }
            }
        }
        coefficients.copy_from_slice(&all);
        coefficients.is_empty()
    }
}
