//! Near-dependencies: columns that others almost give.
//!
//! ```text
//!  while some column is inflated beyond chance by INFLATED or more
//!      take the most inflated, express it in as few others as leave no more than twice what all leave
//!      note the formula, set the column aside
//! ```
//!
//! Everything happens on a triangle of the columns, which costs the same for sixteen rows and for a million.

use crate::dense::{axpy, dot, invert_upper, norm, solve_upper, unit_columns};
use crate::small::Columns;
use crate::summary::times_power_of_two;
use spanwise_kernels::Matrix;

/// Standard errors beyond √100 = ten times what they would be.
const INFLATED: f64 = 100.0;
/// More than this many are not told apart; fewer where there are so many columns that each takes seconds.
const MOST: usize = 8;
/// So many multiplications may be spent on them, but for the first.
const COST: usize = 1_000_000_000;
/// A shorter formula may leave this many times what all columns leave.
const SLACK: f64 = 2.0;
/// A constant up to this share of what the formula leaves is left out of it.
const NEGLIGIBLE: f64 = 0.5;
/// A formula of more terms than this is that of all columns: nobody reads it.
const MOST_TERMS: usize = 32;

/// Column `column` is almost `constant + Σ coefficient · column`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NearDependency {
    /// The column that others almost give.
    pub column: usize,
    /// The columns it is almost made of, each with its coefficient, in the order of the columns.
    pub terms: Vec<(usize, f64)>,
    /// The constant term; 0 where there is no intercept.
    pub constant: f64,
    /// What the formula leaves, as a share of the column's standard deviation (of its length without an intercept).
    pub size: f64,
    /// The variance inflation factor among all independent columns.
    pub inflation: f64,
    /// The columns that had a formula before this one, and are no part of it.
    pub aside: Vec<usize>,
    /// The variance inflation factor without those.
    pub inflation_without: f64,
}

/// Independent columns to look at.
pub(crate) struct Independent {
    /// In any rows that keep inner products: without their means where there is an intercept.
    pub(crate) columns: Matrix,
    /// Their numbers in the table.
    pub(crate) numbers: Vec<usize>,
    /// Their means in the units of `columns`; zeros without an intercept.
    pub(crate) means: Vec<f64>,
    /// The powers of two that `columns` and `means` are multiplied by.
    pub(crate) exponents: Vec<i32>,
    /// Rows of the table.
    pub(crate) rows: u64,
    /// The sum of their weights: the number of rows where there are none.
    pub(crate) weight: f64,
}

impl Independent {
    /// The near-dependencies among the columns, most inflated first: up to eight of 500 columns, fewer of more, one from 800 on.
    pub(crate) fn near_dependencies(&self) -> Vec<NearDependency> {
        let k = self.numbers.len();
        if self.rows <= k as u64 {
            return Vec::new();
        }
        let (unit, lengths) = unit_columns(&self.columns);
        let unit: Vec<Vec<f64>> = (0..k).map(|j| unit.col(j)).collect();
        let most = (COST / k.pow(3).max(1)).clamp(1, MOST);
        let (mut active, mut found): (Vec<usize>, Vec<NearDependency>) = ((0..k).collect(), Vec::new());
        let mut among_all = Vec::new();
        while active.len() > 1 && found.len() < most {
            let inflation = inflation(&unit, &active);
            let Some((worst, &most_inflated)) =
                inflation.iter().enumerate().rev().max_by(|a, b| a.1.total_cmp(b.1))
            else {
                break;
            };
            if !is_inflated(most_inflated, self.rows, active.len()) {
                break;
            }
            if among_all.is_empty() {
                among_all.clone_from(&inflation);
            }
            let at = active.remove(worst);
            let others: Vec<&Vec<f64>> = active.iter().map(|&j| &unit[j]).collect();
            let formula = few(&others, &unit[at], SLACK / most_inflated.sqrt());
            let coefficient = |i: usize, a: f64| a * (lengths[at] / lengths[i]);
            let mut parts: Vec<(usize, f64)> =
                formula.chosen.iter().zip(formula.coefficients).map(|(&c, a)| (active[c], a)).collect();
            parts.sort_unstable_by_key(|&(i, _)| i);
            let moved: f64 = parts.iter().map(|&(i, a)| coefficient(i, a) * self.means[i]).sum();
            let constant = self.means[at] - moved;
            // One that is well below what the formula leaves of a row says nothing.
            let left = formula.left * lengths[at] / self.weight.sqrt();
            let constant = if constant.abs() <= NEGLIGIBLE * left { 0.0 } else { constant };
            let given = |i: usize, a: f64| {
                times_power_of_two(coefficient(i, a), self.exponents[i] - self.exponents[at])
            };
            found.push(NearDependency {
                column: self.numbers[at],
                terms: parts.iter().map(|&(i, a)| (self.numbers[i], given(i, a))).collect(),
                constant: times_power_of_two(constant, -self.exponents[at]),
                size: formula.left,
                inflation: among_all[at],
                aside: found.iter().map(|found| found.column).collect(),
                inflation_without: most_inflated,
            });
        }
        found
    }
}

/// Whether a column of `columns` is inflated by more than chance does it: a few rows are always nearly dependent, so it is corrected as
/// an adjusted R² is.
pub(crate) fn is_inflated(inflation: f64, rows: u64, columns: usize) -> bool {
    let freedom = (rows as f64 - columns as f64).max(0.0);
    inflation.is_finite() && inflation * freedom / (rows as f64 - 1.0).max(1.0) >= INFLATED
}

/// The variance inflation of the chosen ones of these columns of length 1.
fn inflation(unit: &[Vec<f64>], chosen: &[usize]) -> Vec<f64> {
    let inverse = invert_upper(&triangle(chosen.iter().map(|&j| &unit[j])));
    (0..chosen.len()).map(|i| dot(&inverse.row(i)[i..], &inverse.row(i)[i..]).max(1.0)).collect()
}

/// The triangle of these columns, no more than they have rows.
fn triangle<'a>(chosen: impl Iterator<Item = &'a Vec<f64>>) -> Matrix {
    let mut columns = Columns { columns: chosen.cloned().collect() };
    let order: Vec<usize> = (0..columns.columns.len()).collect();
    for &j in &order {
        // A triangle it may be already.
        if columns.columns[j].iter().skip(j + 1).any(|&x| x != 0.0) {
            columns.reflect(j, j);
        }
    }
    columns.upper(&order)
}

/// A target in some of the candidates, and the length of what that leaves of it.
struct Few {
    chosen: Vec<usize>,
    coefficients: Vec<f64>,
    left: f64,
}

/// The candidates, taken greedily, that bring the remainder of a target of length 1 to `enough`.
fn few(candidates: &[&Vec<f64>], target: &[f64], enough: f64) -> Few {
    let mut work: Vec<Vec<f64>> = candidates.iter().map(|&column| column.clone()).collect();
    let mut rest = target.to_vec();
    let mut chosen: Vec<usize> = Vec::new();
    while norm(&rest) > enough && chosen.len() < candidates.len() {
        if chosen.len() == MOST_TERMS {
            return solved((0..candidates.len()).collect(), candidates, target);
        }
        let gain = |j: usize| {
            let length = norm(&work[j]);
            let is_there = !chosen.contains(&j) && length > 1e-14;
            if is_there { dot(&work[j], &rest).abs() / length } else { 0.0 }
        };
        let gains: Vec<f64> = (0..work.len()).map(gain).collect();
        // The first of equals.
        let best = gains.iter().enumerate().rev().max_by(|a, b| a.1.total_cmp(b.1));
        let Some((best, _)) = best.filter(|&(_, &gain)| gain > 0.0) else { break };
        let length = norm(&work[best]);
        let unit: Vec<f64> = work[best].iter().map(|x| x / length).collect();
        for column in work.iter_mut().chain([&mut rest]) {
            // Twice: what the first pass leaves along the unit vector is rounding of a large number.
            for _ in 0..2 {
                let along = dot(&unit, column);
                axpy(column, -along, &unit);
            }
        }
        chosen.push(best);
    }
    solved(chosen, candidates, target)
}

/// Least squares of the target on the chosen candidates.
fn solved(chosen: Vec<usize>, candidates: &[&Vec<f64>], target: &[f64]) -> Few {
    let k = chosen.len();
    let mut columns = Columns { columns: chosen.iter().map(|&j| candidates[j].clone()).collect() };
    columns.columns.push(target.to_vec());
    (0..k).for_each(|step| columns.reflect(step, step));
    let r = columns.upper(&(0..k).collect::<Vec<_>>());
    let left = norm(&columns.columns[k][k..]);
    let mut coefficients = columns.columns[k][..k].to_vec();
    solve_upper(&r, &mut coefficients);
    Few { chosen, coefficients, left }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_columns_are_named_with_their_coefficients() {
        let candidates = [vec![1.0, 0.0, 0.0, 0.2], vec![0.0, 1.0, 0.0, 0.0], vec![1.0, 1.0, 1.0, 1.0]];
        let target: Vec<f64> =
            candidates[0].iter().zip(&candidates[2]).map(|(a, c)| 2.0 * a - 3.0 * c).collect();
        let found = few(&candidates.each_ref(), &target, 1e-12);
        assert!(found.left < 1e-12);
        for (j, a) in found.chosen.iter().zip(&found.coefficients) {
            assert!((a - [2.0, 0.0, -3.0][*j]).abs() < 1e-12);
        }
        assert!(!found.chosen.is_empty());
    }

    #[test]
    fn a_target_that_needs_more_columns_than_a_reader_follows_is_given_by_all() {
        let count = MOST_TERMS + 8;
        let wave = |i: usize, j: usize| ((i * i * (j + 2)) as f64 * 0.37).sin();
        let candidates: Vec<Vec<f64>> = (0..count).map(|j| (0..300).map(|i| wave(i, j)).collect()).collect();
        let sum: Vec<f64> = (0..300).map(|i| (0..count).map(|j| wave(i, j)).sum()).collect();
        let size = norm(&sum);
        let target: Vec<f64> = sum.iter().map(|x| x / size).collect();
        let found = few(&candidates.iter().collect::<Vec<_>>(), &target, 1e-12);
        assert!(found.chosen.len() == count && found.left < 1e-12, "{} {}", found.chosen.len(), found.left);
        assert!(found.coefficients.iter().all(|a| (a * size - 1.0).abs() < 1e-9), "{:?}", found.coefficients);
    }

    /// Two hundred rows of waves: d ≈ a + b and e ≈ b − c + 7, in units that are powers of two apart.
    fn two(units: [i32; 5]) -> Independent {
        let wave = |i: usize, j: usize| ((i * (j + 2)) as f64 * 0.77).sin();
        let row = |i: usize| {
            let [a, b, c] = [0, 1, 2].map(|j| wave(i, j));
            [a, b, c, a + b + 1e-9 * wave(i, 4), b - c + 1e-7 * wave(i, 5)]
        };
        let unit = |j: usize| times_power_of_two(1.0, units[j]);
        let columns = Matrix::from_fn(200, 5, |i, j| row(i)[j] * unit(j));
        let mean = |j: usize| columns.col(j).iter().sum::<f64>() / 200.0;
        let means: Vec<f64> = (0..5).map(mean).collect();
        let centred = Matrix::from_fn(200, 5, |i, j| columns[(i, j)] - means[j]);
        let seven = if units[4] == 0 { 7.0 } else { 7.0 * unit(4) };
        let means = means.iter().enumerate().map(|(j, m)| if j == 4 { m + seven } else { *m }).collect();
        Independent {
            columns: centred,
            numbers: vec![10, 11, 12, 13, 14],
            means,
            exponents: units.to_vec(),
            rows: 200,
            weight: 200.0,
        }
    }

    #[test]
    fn each_of_two_near_dependencies_has_its_formula_whatever_the_units() {
        for units in [[0; 5], [3, -40, 300, 0, -300]] {
            let found = two(units).near_dependencies();
            assert_eq!(found.len(), 2, "{found:?}");
            let value = [0.5, -2.0, 3.0];
            let [a, b, c] = value;
            let known = [a, b, c, a + b, b - c + 7.0];
            for found in &found {
                let sum: f64 = found.terms.iter().map(|&(j, a)| a * known[j - 10]).sum();
                assert!((sum + found.constant - known[found.column - 10]).abs() < 1e-5, "{found:?}");
                assert!(found.terms.len() == 2 && found.size < 1e-6, "{found:?}");
                assert!(found.inflation >= found.inflation_without * 0.999, "{found:?}");
            }
            assert!(found[0].aside.is_empty() && found[1].aside == [found[0].column]);
        }
    }

    #[test]
    fn weights_that_are_all_the_same_change_no_formula() {
        let found = two([0; 5]).near_dependencies();
        for weight in [1e-8, 1e8] {
            let mut weighted = two([0; 5]);
            let root = f64::sqrt(weight);
            weighted.columns.as_mut_slice().iter_mut().for_each(|x| *x *= root);
            weighted.weight *= weight;
            let weighted = weighted.near_dependencies();
            assert_eq!(weighted.len(), found.len());
            for (weighted, found) in weighted.iter().zip(&found) {
                assert_eq!(weighted.column, found.column);
                assert!((weighted.constant - found.constant).abs() < 1e-6, "{weighted:?}");
            }
        }
    }

    #[test]
    fn as_many_columns_as_rows_are_not_called_nearly_dependent() {
        let few_rows = Independent { rows: 5, ..two([0; 5]) };
        assert_eq!(few_rows.near_dependencies(), []);
    }
}
