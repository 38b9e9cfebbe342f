//! The triangle of the kept terms, its inverse, and what they say about conditioning.

use super::reduced::Reduced;
use crate::small::{Columns, invert_upper, norm, solve_upper, solve_upper_transposed};
use spanwise_kernels::Matrix;
use spanwise_kernels::tall::Twofold;

/// Everything needed to solve for, and to bound, the coefficients of the kept terms.
#[derive(Clone, Debug)]
pub(super) struct Solver {
    pub intercept: bool,
    /// Term numbers, ascending; the intercept is term 0.
    pub kept: Vec<usize>,
    /// `r × r`, upper, columns of norm 1.
    pub triangle: Matrix,
    /// Its inverse.
    pub inverse: Matrix,
    /// `r` row norms of the inverse.
    pub inverse_rows: Vec<f64>,
    /// `r` column norms of the shifted kept terms.
    pub scales: Vec<f64>,
    /// `r` column norms of the kept terms as given.
    pub norms: Vec<f64>,
    /// `r`: what was subtracted from each kept term; 0 for the intercept.
    pub shift: Vec<f64>,
    /// An upper bound of the condition number of the scaled, shifted terms.
    pub condition_bound: f64,
    /// The triangle has an error of about uκ² instead of uκ.
    pub squared: bool,
    /// `r` row norms of A⁺ known better than the inverse has them.
    pub precise_rows: Option<Vec<f64>>,
}

impl Solver {
    /// All terms are kept.
    pub(super) fn full(reduced: &Reduced) -> Solver {
        Solver::new(reduced, (0..reduced.terms()).collect(), reduced.r.clone())
    }

    /// Some terms are kept; also their z, `r × t`, and the squared distances of the targets from their span.
    pub(super) fn kept(reduced: &Reduced, kept: &[usize]) -> (Solver, Matrix, Vec<f64>) {
        let t = reduced.z.cols();
        let mut columns = Columns::of(&reduced.r, kept.iter().copied());
        columns.columns.extend((0..t).map(|q| reduced.z.col(q)));
        for step in 0..kept.len() {
            columns.reflect(step, step);
        }
        let order: Vec<usize> = (0..kept.len()).collect();
        let z = Matrix::from_fn(kept.len(), t, |i, q| columns.columns[kept.len() + q][i]);
        // The directions that only dropped terms have are rounding: what of a target lies along them is not explained.
        let dropped =
            |q: usize| columns.columns[kept.len() + q][kept.len()..].iter().map(|z| z * z).sum::<f64>();
        let residual_squares = reduced.residual_squares.iter().enumerate();
        let residual_squares = residual_squares.map(|(q, squares)| squares + dropped(q)).collect();
        (Solver::new(reduced, kept.to_vec(), columns.upper(&order)), z, residual_squares)
    }

    fn new(reduced: &Reduced, kept: Vec<usize>, triangle: Matrix) -> Solver {
        let inverse = invert_upper(&triangle);
        let inverse_rows: Vec<f64> = (0..kept.len()).map(|i| norm(&inverse.row(i)[i..])).collect();
        let shift_of = |&term: &usize| {
            if reduced.intercept && term > 0 { reduced.shift[term - 1] } else { 0.0 }
        };
        Solver {
            intercept: reduced.intercept && kept.first() == Some(&0),
            scales: kept.iter().map(|&j| reduced.scales[j]).collect(),
            norms: kept.iter().map(|&j| reduced.norms[j]).collect(),
            shift: kept.iter().map(shift_of).collect(),
            // ‖R‖_F = √r because its columns have norm 1.
            condition_bound: (kept.len() as f64).sqrt() * norm(&inverse_rows),
            squared: reduced.squared,
            precise_rows: None,
            kept,
            triangle,
            inverse,
            inverse_rows,
        }
    }

    /// How many terms are kept.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// The smallest fraction of a kept term (as given) that lies outside the span of all others.
    pub(super) fn smallest_fraction(&self) -> f64 {
        let fraction = |(i, row): (usize, &f64)| self.scales[i] / (row * self.norms[i]);
        self.inverse_rows.iter().enumerate().map(fraction).fold(f64::INFINITY, f64::min)
    }

    /// The coefficients, in the units of the shifted terms, from a column of z.
    pub(super) fn solve(&self, mut z: Vec<f64>) -> Vec<f64> {
        solve_upper(&self.triangle, &mut z);
        z.iter_mut().zip(&self.scales).for_each(|(w, scale)| *w /= scale);
        z
    }

    /// The correction for a gradient of the terms as given: (coefficients of the shifted terms, ‖A δ‖).
    pub(super) fn correction(&self, gradient: &[Twofold]) -> (Vec<f64>, f64) {
        let ones = if self.intercept { gradient[0] } else { Twofold::ZERO };
        let mut z: Vec<f64> = (0..self.len())
            .map(|i| {
                // (x − c)ᵀr = xᵀr − c · 1ᵀr
                let shifted = gradient[i] - ones * self.shift[i];
                shifted.high / self.scales[i]
            })
            .collect();
        solve_upper_transposed(&self.triangle, &mut z);
        let length = norm(&z);
        (self.solve(z), length)
    }

    /// For each kept term, the row of (AᵀA)^(−½)'s norm: its standard error is this times the residual deviation.
    pub(super) fn row_norms(&self) -> Vec<f64> {
        if let Some(rows) = &self.precise_rows {
            return rows.clone();
        }
        let mut norms: Vec<f64> =
            self.inverse_rows.iter().zip(&self.scales).map(|(row, scale)| row / scale).collect();
        if self.intercept {
            // The intercept of the terms as given is that of the shifted ones minus Σ c w.
            let mut row: Vec<f64> = self.inverse.row(0).iter().map(|x| x / self.scales[0]).collect();
            for i in 1..self.len() {
                let factor = self.shift[i] / self.scales[i];
                row.iter_mut().zip(self.inverse.row(i)).for_each(|(a, b)| *a -= factor * b);
            }
            norms[0] = norm(&row);
        }
        norms
    }
}
