//! From the coefficients of the kept terms to the fitted model.

use super::U;
use super::dependency::{self, Dependency};
use super::model::{Coefficient, Kept, LinearFit, Method, Shares, TargetFit};
use super::rank::Decision;
use super::reduced::Reduced;
use super::refine::{MOST_DATA_DIGITS, MOST_DIGITS, Refined, data_error};
use super::solver::Solver;
use crate::dense::{axpy, dot};
use crate::small::{Columns, invert_upper, solve_upper, solve_upper_transposed};
use crate::summary::times_power_of_two;
use spanwise_kernels::Matrix;
use spanwise_kernels::tall::Twofold;

/// All that a fit has found out, in the units the columns were kept in.
pub(super) struct Outcome<'a> {
    pub reduced: &'a Reduced,
    pub decision: Decision,
    pub solver: Solver,
    /// Of the kept terms.
    pub targets: Vec<Refined>,
    /// Of the columns, then of the targets.
    pub exponents: &'a [i32],
    pub log_weights: f64,
    pub minimum_norm: bool,
}

/// Coefficients straight from the triangle, without a second look at the data, which were stored to `precision`.
pub(super) fn unrefined(
    solver: &Solver,
    coefficients: &[Twofold],
    residual_squares: f64,
    precision: f64,
) -> Refined {
    let kappa = solver.condition_bound;
    let residual = residual_squares.sqrt();
    let reach: f64 = coefficients.iter().zip(&solver.norms).map(|(w, norm)| w.high.abs() * norm).sum();
    let rows = solver.row_norms();
    // Reflections and merges are backward stable up to a small factor.
    let factor = if solver.squared { 4.0 * kappa } else { 4.0 };
    let of_unit = |(w, row): (&Twofold, f64)| data_error(solver, w.high, row, reach, residual);
    let of_unit: Vec<f64> = coefficients.iter().zip(rows).map(of_unit).collect();
    Refined {
        coefficients: coefficients.iter().map(|w| w.high).collect(),
        residual_squares,
        errors: of_unit.iter().map(|error| factor * U * error).collect(),
        data_errors: of_unit.iter().map(|error| precision * error).collect(),
        steps: 0,
    }
}

/// The model in the user's units.
pub(super) fn finish(outcome: Outcome<'_>) -> LinearFit {
    let Outcome { reduced, decision, solver, targets, exponents, log_weights, minimum_norm } = outcome;
    let first = usize::from(reduced.intercept);
    let d = reduced.terms() - first;
    let formulas = dependency::formulas(reduced, &decision.kept, &decision.dropped, decision.rank.tolerance);
    let mut dependencies =
        dependency::dependencies(&formulas, reduced.intercept, &decision.kept, &decision.dropped);
    for dependency in &mut dependencies {
        in_given_units(dependency, exponents);
    }
    let freedom = reduced.rows.saturating_sub(decision.rank.rank as u64) as f64;
    let rows = solver.row_norms();
    let all = targets
        .iter()
        .enumerate()
        .map(|(q, refined)| {
            let deviation =
                if freedom > 0.0 { (refined.residual_squares / freedom).sqrt() } else { f64::NAN };
            let e_y = exponents[d + q];
            let mut target = TargetFit {
                coefficients: vec![
                    Coefficient {
                        value: 0.0,
                        standard_error: f64::NAN,
                        computed_digits: MOST_DIGITS,
                        data_digits: MOST_DATA_DIGITS,
                    };
                    d
                ],
                intercept: None,
                residual_squares: times_power_of_two(refined.residual_squares, -2 * e_y),
                total_squares: times_power_of_two(reduced.total_squares[q], -2 * e_y),
                squares: times_power_of_two(reduced.squares(q), -2 * e_y),
                shares: Shares {
                    residual: refined.residual_squares,
                    total: reduced.total_squares[q],
                    all: reduced.squares(q),
                    exponent: e_y,
                },
                kept: None,
            };
            let mut kept =
                Kept { coefficients: vec![0.0; d], intercept: 0.0, exponent: e_y, out_of_range: Vec::new() };
            let mut errors = Errors { coefficients: vec![[0.0; 2]; d], intercept: [0.0; 2] };
            for (i, &term) in solver.kept.iter().enumerate() {
                let is_intercept = term < first;
                let e = if is_intercept { -e_y } else { exponents[term - first] - e_y };
                let value = times_power_of_two(refined.coefficients[i], e);
                let own = [refined.errors[i], refined.data_errors[i]].map(|x| times_power_of_two(x, e));
                let standard_error = times_power_of_two(rows[i] * deviation, e);
                let coefficient = with_errors(value, standard_error, own);
                if is_intercept {
                    target.intercept = Some(coefficient);
                    errors.intercept = own;
                    kept.intercept = refined.coefficients[i];
                } else {
                    target.coefficients[term - first] = coefficient;
                    errors.coefficients[term - first] = own;
                    kept.coefficients[term - first] = refined.coefficients[i];
                    if refined.coefficients[i] != 0.0 && !coefficient.value.is_normal() {
                        kept.out_of_range.push(term - first);
                    }
                }
            }
            if !kept.out_of_range.is_empty() {
                // Nothing is left to choose from among numbers that cannot be stored: dependent columns stay at 0.
                target.kept = Some(kept);
                mark_undetermined(&mut target, &dependencies);
            } else if minimum_norm && !dependencies.is_empty() {
                if dependencies.iter().all(can_be_stored) {
                    take_minimum_norm(&mut target, &errors, &dependencies, solver.condition_bound);
                }
                mark_undetermined(&mut target, &dependencies);
            }
            target
        })
        .collect();
    LinearFit {
        targets: all,
        rank: decision.rank,
        dependencies,
        method: if reduced.squared { Method::Gram } else { Method::Householder },
        rows: reduced.rows,
        log_weights,
        passes: targets.iter().map(|t| t.steps).max().unwrap_or(0),
        condition: condition(&solver),
        condition_bound: solver.condition_bound,
        solver: Some(solver),
        exponents: exponents[..d].to_vec(),
    }
}

/// `x_j 2^e_j = Σ a x_i 2^e_i` becomes `x_j = Σ a 2^(e_i − e_j) x_i`.
fn in_given_units(dependency: &mut Dependency, exponents: &[i32]) {
    let own = exponents[dependency.column];
    for (i, a) in &mut dependency.terms {
        *a = times_power_of_two(*a, exponents[*i] - own);
    }
    dependency.constant = times_power_of_two(dependency.constant, -own);
}

/// Whether the numbers of a dependency are in the range of f64 in the user's units.
fn can_be_stored(dependency: &Dependency) -> bool {
    dependency.constant.is_finite() && dependency.terms.iter().all(|(_, a)| a.is_normal())
}

/// How far coefficients are from the solution of the data as stored, and how much the rounding of the data changes them, at most.
struct Errors {
    coefficients: Vec<[f64; 2]>,
    intercept: [f64; 2],
}

/// A coefficient with the digits that its two errors leave.
fn with_errors(value: f64, standard_error: f64, [computed, data]: [f64; 2]) -> Coefficient {
    let digits_of = |error: f64| -(error / value.abs().max(f64::MIN_POSITIVE)).log10();
    Coefficient {
        value,
        standard_error,
        computed_digits: digits_of(computed).clamp(0.0, MOST_DIGITS),
        data_digits: digits_of(data).clamp(0.0, MOST_DATA_DIGITS),
    }
}

/// Moves along the null space, which changes no prediction, to the smallest Σ w².
///
/// Each dependency gives one direction: 1 for its column, −a for the others; the intercept takes up the constant. That is an
/// orthogonal projection, so no error becomes larger than all of them together; the rounding of the formulas comes on top.
fn take_minimum_norm(target: &mut TargetFit, errors: &Errors, dependencies: &[Dependency], condition: f64) {
    // What is constant is left to the intercept: nothing else shares it, and its coefficient is 0 already.
    let dependencies = shared(dependencies);
    // Only the columns that a dependency speaks of: the others must not lend their rounding.
    let touched: Vec<usize> = (0..target.coefficients.len())
        .filter(|&j| dependencies.iter().any(|found| found.touches(j)))
        .collect();
    let q = dependencies.len();
    let mut directions = Matrix::zeros(touched.len(), q);
    for (p, dependency) in dependencies.iter().enumerate() {
        for (row, &j) in touched.iter().enumerate() {
            let term = dependency.terms.iter().find(|&&(i, _)| i == j);
            directions[(row, p)] = if j == dependency.column { 1.0 } else { term.map_or(0.0, |&(_, a)| -a) };
        }
    }
    let values =
        |target: &TargetFit| -> Vec<f64> { touched.iter().map(|&j| target.coefficients[j].value).collect() };
    let formulas = 16.0 * U * condition;
    let rounding = formulas * crate::small::norm(&values(target));
    let together = [0, 1].map(|kind| {
        let all: Vec<f64> = touched.iter().map(|&j| errors.coefficients[j][kind]).collect();
        crate::small::norm(&all) + rounding
    });
    let mut of_intercept = errors.intercept;
    // Twice: the second time removes what rounding left of the first.
    for round in 0..2 {
        let mut columns = Columns::of(&directions, 0..q);
        columns.columns.push(values(target));
        (0..q).for_each(|step| columns.reflect(step, step));
        let order: Vec<usize> = (0..q).collect();
        let mut steps = columns.columns[q][..q].to_vec();
        let upper = columns.upper(&order);
        solve_upper(&upper, &mut steps);
        // What the errors make of the steps is told by the first time.
        let inverse = (round == 0).then(|| invert_upper(&upper));
        for (p, &step) in steps.iter().enumerate() {
            for (row, &j) in touched.iter().enumerate() {
                target.coefficients[j].value -= step * directions[(row, p)];
            }
            let constant = dependencies[p].constant;
            if let Some(intercept) = &mut target.intercept {
                intercept.value += step * constant;
            }
            if let Some(inverse) = &inverse {
                let of_step = crate::small::norm(inverse.row(p));
                let lent = |error: f64| constant.abs() * (of_step * error + formulas * step.abs());
                of_intercept.iter_mut().zip(together).for_each(|(error, all)| *error += lent(all));
            }
        }
    }
    for &j in &touched {
        let c = &mut target.coefficients[j];
        *c = with_errors(c.value, c.standard_error, together);
    }
    if let Some(c) = &mut target.intercept {
        *c = with_errors(c.value, c.standard_error, of_intercept);
    }
}

/// The dependencies that share their column's part among others. A column that is nearly constant takes no part: the intercept would
/// have to cancel a constant that is 1e10 times as large, and every prediction would lose those digits.
fn shared(dependencies: &[Dependency]) -> Vec<&Dependency> {
    let shares = |found: &&Dependency| !found.terms.is_empty() && !found.nearly_constant;
    dependencies.iter().filter(shares).collect()
}

/// Coefficients that a dependency touches have no standard error of their own.
fn mark_undetermined(target: &mut TargetFit, dependencies: &[Dependency]) {
    for (j, c) in target.coefficients.iter_mut().enumerate() {
        if dependencies.iter().any(|found| found.touches(j)) {
            c.standard_error = f64::NAN;
        }
    }
    if let Some(c) = &mut target.intercept
        && dependencies.iter().any(|found| found.constant != 0.0)
    {
        c.standard_error = f64::NAN;
    }
}

/// `σ_max / σ_min` of the triangle by a few power iterations: from below, usually right to a percent.
fn condition(solver: &Solver) -> f64 {
    let r = &solver.triangle;
    let n = solver.len();
    if n == 0 {
        return 1.0;
    }
    let start =
        || -> Vec<f64> { (0..n).map(|i| 1.0 + 0.5 * ((i * 7919 % 101) as f64 / 101.0 - 0.5)).collect() };
    let normalise = |v: &mut [f64]| {
        let length = crate::small::norm(v);
        for x in v.iter_mut() {
            *x /= length;
        }
        length
    };
    let (mut large, mut small) = (start(), start());
    small.iter_mut().enumerate().for_each(|(i, v)| *v *= if i % 2 == 0 { 1.0 } else { -1.0 });
    let (mut largest, mut smallest_inverse) = (1.0, 1.0);
    for _ in 0..6 {
        normalise(&mut large);
        large = multiply_upper(r, &large);
        largest = crate::small::norm(&large);
        large = multiply_upper_transposed(r, &large);
        normalise(&mut small);
        solve_upper_transposed(r, &mut small);
        smallest_inverse = crate::small::norm(&small);
        solve_upper(r, &mut small);
    }
    (largest * smallest_inverse).max(1.0)
}

fn multiply_upper(r: &Matrix, v: &[f64]) -> Vec<f64> {
    (0..v.len()).map(|i| dot(&r.row(i)[i..], &v[i..])).collect()
}

fn multiply_upper_transposed(r: &Matrix, v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; v.len()];
    for (i, &x) in v.iter().enumerate() {
        axpy(&mut out[i..], x, &r.row(i)[i..]);
    }
    out
}
