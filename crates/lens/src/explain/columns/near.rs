//! Near-dependencies: columns that others almost give.
//!
//! ```text
//!  while some column is inflated beyond chance by INFLATED or more
//!      take the most inflated, express it in as few others as leave no more than twice what all leave
//!      note the formula, set the column aside
//! ```

use super::factor::{Factor, dot, norm};
use spanwise_linear::LinearError;

/// Standard errors beyond √100 = ten times what they would be.
const INFLATED: f64 = 100.0;
/// More than this many are not told apart.
const MOST: usize = 8;
/// A shorter formula may leave this many times what all columns leave.
const SLACK: f64 = 2.0;

/// A column that others almost give.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NearDependency {
    pub(super) column: usize,
    /// Column and coefficient.
    pub(super) terms: Vec<(usize, f64)>,
    pub(super) constant: f64,
    /// What the formula leaves, as a share of the column's standard deviation (of its length without an intercept).
    pub(super) size: f64,
    /// The variance inflation factor among the columns that were not set aside before.
    pub(super) inflation: f64,
    /// The columns that were, for formulas found before this one.
    pub(super) aside: Vec<usize>,
}

/// The near-dependencies among `independent` columns of a table of `rows` rows.
pub(super) fn near_dependencies(
    factor: &Factor,
    independent: &[usize],
    rows: u64,
    intercept: bool,
) -> Result<Vec<NearDependency>, LinearError> {
    let mut active = independent.to_vec();
    let mut found = Vec::new();
    while active.len() > 1 && found.len() < MOST {
        let inflation = factor.inflation(&active, intercept)?;
        let worst = (0..active.len()).fold(0, |a, b| if inflation[b] > inflation[a] { b } else { a });
        // A few rows are always nearly dependent: corrected as an adjusted R² is.
        let freedom = (rows as f64 - active.len() as f64).max(0.0);
        let beyond_chance = inflation[worst] * freedom / (rows as f64 - 1.0).max(1.0);
        if beyond_chance < INFLATED {
            break;
        }
        let column = active.remove(worst);
        let aside = found.iter().map(|found: &NearDependency| found.column).collect();
        found.push(NearDependency { aside, ..formula(factor, column, &active, inflation[worst], intercept) });
    }
    Ok(found)
}

fn formula(
    factor: &Factor,
    column: usize,
    others: &[usize],
    inflation: f64,
    intercept: bool,
) -> NearDependency {
    let columns = factor.columns(others, intercept);
    let candidates: Vec<Vec<f64>> = (0..others.len()).map(|j| columns.col(j)).collect();
    let target = factor.columns(&[column], intercept).col(0);
    let least = norm(&target) / inflation.sqrt();
    let (chosen, coefficients, left) = few(&candidates, &target, SLACK * least);
    let mut terms: Vec<(usize, f64)> = chosen
        .iter()
        .zip(coefficients)
        .map(|(&at, a)| (others[at], factor.in_units(a, others[at], column)))
        .collect();
    terms.sort_unstable_by_key(|&(j, _)| j);
    let constant = if intercept {
        factor.mean(column) - terms.iter().map(|&(j, a)| a * factor.mean(j)).sum::<f64>()
    } else {
        0.0
    };
    NearDependency { column, terms, constant, size: left / norm(&target), inflation, aside: Vec::new() }
}

/// The candidates, taken greedily, that bring the target's remainder to `enough`; their coefficients; the remainder.
fn few(candidates: &[Vec<f64>], target: &[f64], enough: f64) -> (Vec<usize>, Vec<f64>, f64) {
    let mut work = candidates.to_vec();
    let mut rest = target.to_vec();
    // Unit vectors taken, and the triangle that says how each candidate taken is made of them.
    let mut taken: Vec<usize> = Vec::new();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    while norm(&rest) > enough && taken.len() < candidates.len() {
        let gain = |j: usize| {
            let length = norm(&work[j]);
            if taken.contains(&j) || length <= 1e-14 * norm(&candidates[j]) {
                0.0
            } else {
                dot(&work[j], &rest).abs() / length
            }
        };
        let best = (0..work.len()).fold(0, |a, b| if gain(b) > gain(a) { b } else { a });
        if gain(best) == 0.0 {
            break;
        }
        let length = norm(&work[best]);
        let unit: Vec<f64> = work[best].iter().map(|x| x / length).collect();
        for column in work.iter_mut().chain([&mut rest]) {
            // Twice: what the first pass leaves along the unit vector is rounding of a large number.
            for _ in 0..2 {
                let along = dot(&unit, column);
                column.iter_mut().zip(&unit).for_each(|(x, u)| *x -= along * u);
            }
        }
        taken.push(best);
        basis.push(unit);
    }
    // Back substitution: target = Σ bₖ (b·target), candidate k = Σ b (b·candidate).
    let k = taken.len();
    let mut coefficients = vec![0.0; k];
    for i in (0..k).rev() {
        let above: f64 = (i + 1..k).map(|j| dot(&basis[i], &candidates[taken[j]]) * coefficients[j]).sum();
        coefficients[i] = (dot(&basis[i], target) - above) / dot(&basis[i], &candidates[taken[i]]);
    }
    (taken, coefficients, norm(&rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_columns_are_named_with_their_coefficients() {
        let candidates = vec![vec![1.0, 0.0, 0.0, 0.2], vec![0.0, 1.0, 0.0, 0.0], vec![1.0, 1.0, 1.0, 1.0]];
        let target: Vec<f64> =
            candidates[0].iter().zip(&candidates[2]).map(|(a, c)| 2.0 * a - 3.0 * c).collect();
        let (taken, coefficients, left) = few(&candidates, &target, 1e-12);
        assert!(left < 1e-12);
        for (j, a) in taken.iter().zip(&coefficients) {
            assert!((a - [2.0, 0.0, -3.0][*j]).abs() < 1e-12);
        }
        assert!(!taken.is_empty());
    }
}
