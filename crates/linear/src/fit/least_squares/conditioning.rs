//! Condition numbers and near-dependencies of a fitted model's terms, from its triangle.

use super::model::LinearFit;
use super::{OPERATION, Solver};
use crate::LinearError;
use crate::check::argument;
use crate::dense::norm;
use crate::measure::{Condition, Independent, NearDependency, condition_of_factor, is_inflated};
use crate::summary::times_power_of_two;
use spanwise_kernels::Matrix;

impl LinearFit {
    /// The condition numbers of the independent terms, the ones of the intercept among them: as they are, and scaled to length 1.
    ///
    /// `None` where there are no more rows than columns and no triangle is kept. A singular value decomposition of as many rows and
    /// columns as there are terms; [`LinearFit::condition`], which does without, is of terms shifted near their means.
    pub fn condition_numbers(&self) -> Result<Option<Condition>, LinearError> {
        let Some(solver) = self.solver.as_ref().filter(|solver| solver.len() > 0) else { return Ok(None) };
        let of = |triangle: &Matrix| condition_of_factor(argument(OPERATION, "X"), triangle);
        // Scaled to length 1, the units of the columns do not matter; as they are, they may be too far apart for the triangle.
        let units = vec![0; self.exponents.len()];
        let found = of(&as_given(solver, &units))?;
        if self.exponents == units {
            return Ok(Some(found));
        }
        let given = as_given(solver, &self.exponents);
        let holds =
            given.as_slice().iter().all(|r| r.is_finite()) && (0..given.rows()).all(|i| given[(i, i)] != 0.0);
        let raw = if holds { of(&given)?.raw } else { f64::INFINITY };
        Ok(Some(Condition { raw, ..found }))
    }

    /// Independent columns that others almost give, each with its formula. None where there are no more rows than columns and no
    /// triangle is kept.
    pub fn near_dependencies(&self) -> Vec<NearDependency> {
        let Some(solver) = &self.solver else { return Vec::new() };
        let (first, k) = (usize::from(solver.intercept), solver.len());
        // Below the row of the ones the columns are without their means.
        let centred = |j: usize| norm(&solver.triangle.col(j)[first..]);
        let inflation = |j: usize| (solver.inverse_rows[j] * centred(j)).powi(2);
        if !(first..k).any(|j| is_inflated(inflation(j), self.rows, k - first)) {
            return Vec::new();
        }
        let column = |j: usize| solver.kept[j] - first;
        let root = solver.triangle[(0, 0)] * solver.scales[0];
        let mean = |j: usize| {
            let beside = solver.triangle[(0, j)] * solver.scales[j] / root;
            if first == 1 { solver.shift[j] + beside } else { 0.0 }
        };
        let independent = Independent {
            columns: Matrix::from_fn(k - first, k - first, |i, j| {
                solver.triangle[(i + first, j + first)] * solver.scales[j + first]
            }),
            numbers: (first..k).map(column).collect(),
            means: (first..k).map(mean).collect(),
            exponents: (first..k).map(|j| self.exponents[column(j)]).collect(),
            rows: self.rows,
            // With an intercept the ones are the first column, as long as the weights make them.
            weight: if first == 1 { root * root } else { self.rows as f64 },
        };
        independent.near_dependencies()
    }
}

/// The triangle of the kept terms as given: neither shifted nor scaled.
fn as_given(solver: &Solver, exponents: &[i32]) -> Matrix {
    let k = solver.len();
    let first = usize::from(solver.intercept);
    let unit = |j: usize| if j < first { 0 } else { -exponents[solver.kept[j] - first] };
    Matrix::from_fn(k, k, |i, j| {
        let shifted = solver.triangle[(i, j)] * solver.scales[j];
        // x = (x − c) + c·1, and the ones are the first column of the triangle.
        let ones = if i == 0 && j >= first && first == 1 {
            solver.shift[j] * solver.triangle[(0, 0)] * solver.scales[0]
        } else {
            0.0
        };
        times_power_of_two(shifted + ones, unit(j))
    })
}
