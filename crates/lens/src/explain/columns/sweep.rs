//! How rank and fit move with the tolerance.
//!
//! Columns are taken by what is left of them beside those taken before, as a share of their length, largest first. A
//! tolerance keeps those of which more is left, so each share is a tolerance at which the answer changes.
//!
//! ```text
//!  repeat: take the column c of which most is left, note |c| and what the target has lost so far
//!          the other columns and the target lose their part along c
//! ```

use super::factor::{Factor, dot, norm};
use super::trust::Columns;
use crate::explain::{Table, TableCell};

/// Columns of which more is left are far from every tolerance.
const FAR: f64 = 0.5;
const MOST: usize = 20;

/// One column taken.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    column: usize,
    /// What is left of it beside those before, as a share of its length.
    left: f64,
    /// R² of the columns before it.
    without: f64,
}

/// The columns in the order they are taken.
fn sweep(factor: &Factor, count: usize, intercept: bool) -> Vec<Step> {
    let chosen: Vec<usize> = (0..count).collect();
    // Centred columns are those beside the ones.
    let (plain, beside) = (factor.columns(&chosen, false), factor.columns(&chosen, intercept));
    let mut work: Vec<(usize, Vec<f64>)> = chosen
        .iter()
        .map(|&j| {
            let length = norm(&plain.col(j)).max(f64::MIN_POSITIVE);
            (j, beside.col(j).iter().map(|x| x / length).collect())
        })
        .collect();
    let mut rest = factor.columns(&[count], intercept).col(0);
    let total = dot(&rest, &rest);
    let mut steps = Vec::with_capacity(count);
    while !work.is_empty() {
        let most = (0..work.len()).fold(0, |a, b| if norm(&work[b].1) > norm(&work[a].1) { b } else { a });
        let (column, values) = work.swap_remove(most);
        let left = norm(&values);
        let reached = if total > 0.0 { 1.0 - dot(&rest, &rest) / total } else { 0.0 };
        steps.push(Step { column, left, without: reached });
        if left > 0.0 {
            let unit: Vec<f64> = values.iter().map(|x| x / left).collect();
            let others = work.iter_mut().map(|(_, values)| values).chain([&mut rest]);
            others.for_each(|other| {
                // Twice: what the first pass leaves along the unit vector is rounding of a large number.
                for _ in 0..2 {
                    let along = dot(&unit, other);
                    other.iter_mut().zip(&unit).for_each(|(x, u)| *x -= along * u);
                }
            });
        }
    }
    steps
}

/// One row per tolerance at which the answer changes, smallest first.
pub(super) fn table(columns: &Columns<'_>) -> Table {
    let head = ["left out", "by tolerances above", "rank then", "R² then"];
    let mut table = Table::new("tolerance", "How the answer moves with the tolerance", &head);
    let first = usize::from(columns.facts.intercept);
    let steps = sweep(columns.factor, columns.facts.names.len(), columns.facts.intercept);
    for (taken, step) in steps.iter().enumerate().rev().take(MOST).filter(|(_, step)| step.left < FAR) {
        table.rows.push(vec![
            TableCell::Text(format!("`{}`", columns.facts.names[step.column])),
            step.left.into(),
            ((taken + first) as f64).into(),
            step.without.into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::random::Random;
    use spanwise_kernels::View;
    use spanwise_linear::LeastSquares;

    #[test]
    fn the_nearly_dependent_column_goes_first_and_takes_what_it_alone_explains() {
        let mut random = Random::new(4);
        let mut x = Vec::new();
        let mut y = Vec::new();
        for _ in 0..300 {
            let (a, b, own) = (random.normal(), random.normal(), random.normal());
            x.extend([a, b, a + b + 1e-3 * own]);
            y.push(a + own);
        }
        let x = View::new(&x, &[300, 3]).unwrap();
        let fit = LeastSquares::new().fit(&x, &y[..]).unwrap();
        let factor = Factor::new(&x, &y, None, &fit).unwrap();
        let steps = sweep(&factor, 3, true);
        let last = steps[2];
        assert!(last.left > 1e-4 && last.left < 2e-3, "{steps:?}");
        assert!((last.without - 0.5).abs() < 0.1, "{steps:?}");
        assert!(steps[0].left > 0.9 && steps[0].without.abs() < 1e-12, "{steps:?}");
        // What is left only falls, and what is reached only grows.
        assert!(
            steps.windows(2).all(|pair| pair[1].left <= pair[0].left && pair[1].without >= pair[0].without)
        );
    }
}
