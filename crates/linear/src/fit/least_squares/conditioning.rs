//! Condition numbers of a fitted model's terms, from its triangle.

use super::model::LinearFit;
use super::{OPERATION, Solver};
use crate::LinearError;
use crate::check::argument;
use crate::measure::{Condition, condition_of_factor};
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
