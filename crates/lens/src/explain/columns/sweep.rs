//! How rank and fit move with the tolerance.
//!
//! Columns are taken by what is left of them beside those taken before, as a share of their length, largest first. A
//! tolerance keeps those of which more is left, so each share is a tolerance at which the answer changes.
//!
//! ```text
//!  columns as shares of their lengths = Q·R, pivoted:  |R[k, k]| is what is left of the k-th,
//!                                                      Σ (qᵢ·y)² over those before it what they reach of the target
//! ```

use super::factor::{Factor, dot, norm};
use super::trust::Columns;
use crate::explain::{Table, TableCell};
use spanwise_linear::LinearError;
use spanwise_linear::decompose::{PivotedQr, pivoted_qr_by_length};

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
fn sweep(factor: &Factor, count: usize, intercept: bool) -> Result<Vec<Step>, LinearError> {
    let chosen: Vec<usize> = (0..count).collect();
    // Centred columns are those beside the ones.
    let (plain, mut shares) = (factor.columns(&chosen, false), factor.columns(&chosen, intercept));
    for j in 0..count {
        let length = norm(&plain.col(j)).max(f64::MIN_POSITIVE);
        (0..shares.rows()).for_each(|i| shares[(i, j)] /= length);
    }
    let target = factor.columns(&[count], intercept).col(0);
    let total = dot(&target, &target);
    let PivotedQr { q, r, order, rank, .. } = pivoted_qr_by_length(shares.view())?;
    let mut reached = 0.0;
    let steps = order.into_iter().enumerate().map(|(k, column)| {
        let step = Step { column, left: r[(k, k)].abs(), without: reached };
        // What is left beyond the rank is rounding, and points anywhere.
        if total > 0.0 && k < rank {
            reached += dot(&q.col(k), &target).powi(2) / total;
        }
        step
    });
    Ok(steps.collect())
}

/// One row per tolerance at which the answer changes, smallest first.
pub(super) fn table(columns: &Columns<'_>) -> Result<Table, LinearError> {
    let head = ["left out", "by tolerances above", "rank then", "R² then"];
    let mut table = Table::new("tolerance", "How the answer moves with the tolerance", &head);
    let first = usize::from(columns.facts.intercept);
    let steps = sweep(columns.factor, columns.facts.names.len(), columns.facts.intercept)?;
    for (taken, step) in steps.iter().enumerate().rev().take(MOST).filter(|(_, step)| step.left < FAR) {
        table.rows.push(vec![
            TableCell::Text(format!("`{}`", columns.facts.names[step.column])),
            step.left.into(),
            ((taken + first) as f64).into(),
            step.without.into(),
        ]);
    }
    Ok(table)
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
        let steps = sweep(&factor, 3, true).unwrap();
        let last = steps[2];
        assert!(last.left > 1e-4 && last.left < 2e-3, "{steps:?}");
        assert!((last.without - 0.5).abs() < 0.1, "{steps:?}");
        assert!(steps[0].left > 0.9 && steps[0].without.abs() < 1e-12, "{steps:?}");
        // What is left only falls, and what is reached only grows.
        assert!(
            steps.windows(2).all(|pair| pair[1].left <= pair[0].left && pair[1].without >= pair[0].without)
        );
    }

    #[test]
    fn columns_that_repeat_others_reach_nothing() {
        let mut random = Random::new(9);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..200 {
            let (a, b) = (random.normal(), random.normal());
            x.extend([a, b, 3.0 * a, a - b]);
            y.push(a + b + random.normal());
        }
        let x = View::new(&x, &[200, 4]).unwrap();
        let fit = LeastSquares::new().fit(&x, &y[..]).unwrap();
        let factor = Factor::new(&x, &y, None, &fit).unwrap();
        let steps = sweep(&factor, 4, true).unwrap();
        assert!(steps[2].left < 1e-12 && steps[3].left < 1e-12, "{steps:?}");
        assert_eq!(steps[2].without, steps[3].without, "{steps:?}");
    }
}
