//! A table reduced to what least squares needs of it: one triangle, mergeable.
//!
//! ```text
//!  rows of [1, X − c, Y − c], each times √weight   ──Householder──►   R, (1 + d + t)², upper
//! ```
//!
//! `RᵀR` is the weighted Gram matrix of all rows seen, but R is computed without ever squaring the condition number, so rank
//! and conditioning of the whole table can be read off it. Rows can come in any number of pushes and summaries of
//! parts can be merged in any order: the answers agree to rounding. The column of ones is always kept, so the same
//! summary serves fits with and without an intercept; because it comes first, changing the shift c only changes the first
//! row of R.
//!
//! Columns whose squares would overflow or vanish are kept times a power of two, which is exact.

mod bytes;
mod csr;
mod rows;
mod sources;
mod stream;

#[cfg(test)]
mod tests;

pub use csr::CsrRows;
pub use sources::times_power_of_two;
pub(crate) use sources::{
    Borrowed, Scaled, SelectedRows, Stored, largest_by_column, offsets_are_small, sampled_shift,
};
pub use stream::SummaryStream;

use crate::check::{self, argument};
use crate::small::Columns;
use crate::{Extent, LinearError, NoColumns, RowSource};
use spanwise_kernels::tall::{Tall, Triangle, triangle};

const OPERATION: &str = "summary";

/// Everything least squares needs to know of the rows seen so far.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::Summary;
///
/// let x = View::new(&[1.0, 2.0, 3.0, 4.0], &[4, 1])?;
/// let y = [3.0, 5.0, 7.0, 9.0];
/// let mut all = Summary::new(1, 1);
/// all.push(&x, &y[..], None)?;
/// assert_eq!(all.rows(), 4);
/// assert_eq!(all.mean(0), 2.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    columns: usize,
    targets: usize,
    rows: u64,
    zero_weight_rows: u64,
    weight_sum: f64,
    /// Σ ln w, for the likelihood; 0 where no weights were given.
    log_weight_sum: f64,
    /// `d + t`, in the columns' own units.
    shift: Vec<f64>,
    /// `d + t`: column `j` is kept times 2^exponent.
    exponents: Vec<i32>,
    /// Of √w [1, (X − c)·2^e, (Y − c)·2^e].
    triangle: Triangle,
}

/// A column made of others: `constant + Σ a·x[j]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Combination {
    /// Columns and their factors `a`.
    pub terms: Vec<(usize, f64)>,
    /// What is added in every row.
    pub constant: f64,
}

impl Combination {
    fn of(&self, x: &[f64]) -> f64 {
        self.terms.iter().fold(self.constant, |sum, &(j, a)| sum + a * x[j])
    }
}

impl Summary {
    /// Of no rows of `columns` columns and `targets` targets.
    pub fn new(columns: usize, targets: usize) -> Self {
        Summary {
            columns,
            targets,
            rows: 0,
            zero_weight_rows: 0,
            weight_sum: 0.0,
            log_weight_sum: 0.0,
            shift: vec![0.0; columns + targets],
            exponents: vec![0; columns + targets],
            triangle: Triangle::zeros(1 + columns + targets),
        }
    }

    /// Of all rows of `x` and `y`.
    pub fn of(
        x: &(impl RowSource + ?Sized),
        y: &(impl RowSource + ?Sized),
        weights: Option<&[f64]>,
    ) -> Result<Self, LinearError> {
        let mut summary = Summary::new(x.cols(), y.cols());
        summary.push(x, y, weights)?;
        Ok(summary)
    }

    /// Of rows whose weights are all above zero, for another operation whose name errors carry.
    pub(crate) fn of_kept(
        operation: &'static str,
        x: &dyn RowSource,
        y: &dyn RowSource,
        weights: Option<&[f64]>,
    ) -> Result<Self, LinearError> {
        let mut summary = Summary::new(x.cols(), y.cols());
        summary.push_weighted(operation, x, y, weights)?;
        Ok(summary)
    }

    /// Adds rows. A row of weight zero is counted and otherwise as if it were not there.
    pub fn push(
        &mut self,
        x: &(impl RowSource + ?Sized),
        y: &(impl RowSource + ?Sized),
        weights: Option<&[f64]>,
    ) -> Result<(), LinearError> {
        let (x, y): (&dyn RowSource, &dyn RowSource) = (&sources::Borrowed(x), &sources::Borrowed(y));
        self.check(x, y)?;
        let Some(weights) = weights else {
            return self.push_weighted(OPERATION, x, y, None);
        };
        check::weights_or_none(OPERATION, weights, x.rows())?;
        if weights.iter().all(|&w| w > 0.0) {
            return self.push_weighted(OPERATION, x, y, Some(weights));
        }
        let kept: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        let kept_weights: Vec<f64> = kept.iter().map(|&i| weights[i]).collect();
        let (x, y) = (SelectedRows::new(x, &kept), SelectedRows::new(y, &kept));
        self.push_weighted(OPERATION, &x, &y, Some(&kept_weights))?;
        self.zero_weight_rows += (weights.len() - kept.len()) as u64;
        Ok(())
    }

    fn check(&self, x: &dyn RowSource, y: &dyn RowSource) -> Result<(), LinearError> {
        let operation = OPERATION;
        for (name, found, expected) in [("X", x.cols(), self.columns), ("y", y.cols(), self.targets)] {
            argument(operation, name).fits(
                Extent::Columns(found),
                "the summary",
                Extent::Columns(expected),
            )?;
        }
        argument(operation, "y").fits(Extent::Rows(y.rows()), "X", Extent::Rows(x.rows()))
    }

    /// Adds rows whose weights are all above zero.
    fn push_weighted(
        &mut self,
        operation: &'static str,
        x: &dyn RowSource,
        y: &dyn RowSource,
        weights: Option<&[f64]>,
    ) -> Result<(), LinearError> {
        if x.rows() == 0 {
            return Ok(());
        }
        let mut part = Summary {
            rows: x.rows() as u64,
            weight_sum: weights.map_or(x.rows() as f64, |w| w.iter().sum()),
            log_weight_sum: weights.map_or(0.0, |w| w.iter().map(|w| w.ln()).sum()),
            shift: if self.rows == 0 && self.shift.iter().all(|&c| c == 0.0) {
                sources::sampled_means(x, y)
            } else {
                self.shift.clone()
            },
            exponents: self.exponents.clone(),
            ..Summary::new(self.columns, self.targets)
        };
        if part.shift.iter().any(|c| !c.is_finite()) {
            part.shift.fill(0.0);
        }
        part.reduce(x, y, weights);
        if !part.is_sound(operation, x, y)? {
            part.exponents = sources::exponents(x, y, &part.shift);
            part.reduce(x, y, weights);
            if !part.is_sound(operation, x, y)? {
                // The shift of an earlier push may be far away from these rows.
                part.shift.fill(0.0);
                part.exponents = sources::exponents(x, y, &part.shift);
                part.reduce(x, y, weights);
                if !part.is_sound(operation, x, y)? {
                    return Err(LinearError::Overflow { operation, argument: "weights" });
                }
            }
        }
        self.absorb(part);
        Ok(())
    }

    /// Computes the triangle of all rows with the shift and exponents as they are.
    fn reduce(&mut self, x: &dyn RowSource, y: &dyn RowSource, weights: Option<&[f64]>) {
        let (d, none) = (self.columns, NoColumns(x.rows()));
        if self.exponents.iter().all(|&e| e == 0) {
            self.triangle = triangle(&Tall { x, y, weights, shift: &self.shift });
            return;
        }
        let scaled = |source, range: std::ops::Range<usize>| {
            Scaled::new(source, &self.shift[range.clone()], &self.exponents[range])
        };
        let x = scaled(x, 0..d);
        let y = scaled(if self.targets == 0 { &none } else { y }, d..d + self.targets);
        let zeros = vec![0.0; self.shift.len()];
        self.triangle = triangle(&Tall { x: &x, y: &y, weights, shift: &zeros });
    }

    /// Whether every column's norm is finite and, unless the column is constant, not vanishing. Numbers that are not
    /// finite are an error.
    fn is_sound(
        &self,
        operation: &'static str,
        x: &dyn RowSource,
        y: &dyn RowSource,
    ) -> Result<bool, LinearError> {
        let norms: Vec<f64> = (1..self.triangle.width()).map(|j| self.kept_norm(j)).collect();
        if norms.iter().any(|norm| !norm.is_finite()) {
            check::finite_rows(operation, "X", x)?;
            check::finite_rows(operation, "y", y)?;
            return Ok(false);
        }
        if norms.iter().all(|&norm| norm > 1e-130) {
            return Ok(true);
        }
        let wanted = sources::exponents(x, y, &self.shift);
        Ok(norms
            .iter()
            .zip(wanted.iter().zip(&self.exponents))
            .all(|(&norm, (w, e))| norm > 1e-130 || w == e))
    }

    /// The norm of column `j` of the triangle.
    fn kept_norm(&self, j: usize) -> f64 {
        (0..=j).map(|i| self.triangle.at(i, j).powi(2)).sum::<f64>().sqrt()
    }

    /// Adds the rows of another summary.
    ///
    /// In exact arithmetic the order of merges would not matter; in f64 the results agree to rounding.
    pub fn merge(&mut self, other: &Summary) -> Result<(), LinearError> {
        for (what, left, right) in
            [("columns", self.columns, other.columns), ("targets", self.targets, other.targets)]
        {
            if left != right {
                return Err(LinearError::Merge { what, left, right });
            }
        }
        self.absorb(other.clone());
        Ok(())
    }

    fn absorb(&mut self, mut other: Summary) {
        self.zero_weight_rows += other.zero_weight_rows;
        if other.rows == 0 {
            return;
        }
        if self.rows == 0 {
            other.zero_weight_rows = self.zero_weight_rows;
            *self = other;
            return;
        }
        // Both on the smaller exponent (larger numbers must not overflow), but for columns of zeros, and on this summary's shift.
        let common = |(j, (&a, &b)): (usize, (&i32, &i32))| match (a, b) {
            _ if a != b && self.kept_norm(1 + j) == 0.0 => b,
            _ if a != b && other.kept_norm(1 + j) == 0.0 => a,
            _ => a.min(b),
        };
        let exponents: Vec<i32> =
            self.exponents.iter().zip(&other.exponents).enumerate().map(common).collect();
        self.set_exponents(&exponents);
        other.set_exponents(&exponents);
        other.set_shift(&self.shift);
        self.triangle.merge(&other.triangle);
        self.rows += other.rows;
        self.weight_sum += other.weight_sum;
        self.log_weight_sum += other.log_weight_sum;
    }

    /// The summary of the same rows with other columns, each a combination of these; the targets stay.
    ///
    /// # Panics
    /// Where a combination names a column that is not there.
    ///
    /// ```
    /// use spanwise_kernels::View;
    /// use spanwise_linear::{LeastSquares, Summary};
    /// use spanwise_linear::summary::Combination;
    ///
    /// let x = View::new(&[0.0, 1.0, 2.0, 4.0], &[4, 1])?;
    /// let summary = Summary::of(&x, &[1.0, 2.0, 3.0, 5.0][..], None)?;
    /// // 10 − x in place of x.
    /// let other = summary.recombined(&[Combination { terms: vec![(0, -1.0)], constant: 10.0 }]);
    /// let fit = LeastSquares::new().fit_summary(&other)?;
    /// assert!((fit.target().coefficients[0].value + 1.0).abs() < 1e-14);
    /// assert!((fit.target().intercept.unwrap().value - 11.0).abs() < 1e-13);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn recombined(&self, columns: &[Combination]) -> Summary {
        let (d, t) = (columns.len(), self.targets);
        let mut found = Summary { columns: d, ..self.clone() };
        found.shift.drain(..self.columns);
        found.exponents.drain(..self.columns);
        found.shift.splice(0..0, columns.iter().map(|new| new.of(&self.shift)));
        // The unit of the largest column: what is smaller beside it may vanish.
        let unit = |new: &Combination| new.terms.iter().map(|&(j, _)| self.exponents[j]).min().unwrap_or(0);
        found.exponents.splice(0..0, columns.iter().map(unit));
        let (width, height) = (1 + d + t, (1 + self.columns + t).max(1 + d + t));
        let of = |j: usize| -> Vec<f64> {
            let entry = |i: usize| if i < self.triangle.width() { self.triangle.at(i, j) } else { 0.0 };
            (0..height).map(entry).collect()
        };
        let combined = |(new, &to): (&Combination, &i32)| {
            let mut sum = vec![0.0; height];
            for &(j, a) in &new.terms {
                let factor = sources::times_power_of_two(a, to - self.exponents[j]);
                sum.iter_mut().zip(of(1 + j)).for_each(|(sum, v)| *sum += factor * v);
            }
            sum
        };
        let mut all = vec![of(0)];
        all.extend(columns.iter().zip(&found.exponents).map(combined));
        all.extend((0..t).map(|q| of(1 + self.columns + q)));
        let mut all = Columns { columns: all };
        // The first is a triangle's already.
        for step in 1..width {
            if all.rest(step, step) > 0.0 {
                all.reflect(step, step);
            }
        }
        let order: Vec<usize> = (0..width).collect();
        let data = all.upper(&order).as_slice().to_vec();
        found.triangle = Triangle::from_row_major(width, data).expect("width rows of width");
        found
    }

    fn set_exponents(&mut self, exponents: &[i32]) {
        let m = self.triangle.width();
        for (j, (&to, from)) in exponents.iter().zip(&mut self.exponents).enumerate() {
            if to != *from {
                for i in 0..m {
                    let entry = &mut self.triangle.as_mut_slice()[i * m + 1 + j];
                    *entry = sources::times_power_of_two(*entry, to - *from);
                }
                *from = to;
            }
        }
    }

    /// [1, X − c'] is [1, X − c] with the first column added to the others, so only the first row changes.
    fn set_shift(&mut self, shift: &[f64]) {
        let root = self.triangle.at(0, 0);
        for (j, (&to, from)) in shift.iter().zip(&mut self.shift).enumerate() {
            let step = sources::times_power_of_two(*from - to, self.exponents[j]);
            self.triangle.as_mut_slice()[1 + j] += root * step;
            *from = to;
        }
    }

    /// How many columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many targets.
    pub fn targets(&self) -> usize {
        self.targets
    }

    /// Rows with a weight above zero.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Rows that were left out because their weight is zero.
    pub fn zero_weight_rows(&self) -> u64 {
        self.zero_weight_rows
    }

    /// The sum of the weights: the number of rows where none were given.
    pub fn weight_sum(&self) -> f64 {
        self.weight_sum
    }

    /// The sum of the weights' logarithms: 0 where none were given.
    pub fn log_weight_sum(&self) -> f64 {
        self.log_weight_sum
    }

    /// The weighted mean of column `j`, targets after the columns; 0 of no rows.
    pub fn mean(&self, j: usize) -> f64 {
        let root = self.triangle.at(0, 0);
        if root == 0.0 {
            return 0.0;
        }
        self.shift[j] + sources::times_power_of_two(self.triangle.at(0, 1 + j) / root, -self.exponents[j])
    }

    /// √(Σ w (x − mean)²) of column `j`, targets after the columns.
    pub fn centred_norm(&self, j: usize) -> f64 {
        let squares: f64 = (1..=1 + j).map(|i| self.triangle.at(i, 1 + j).powi(2)).sum();
        sources::times_power_of_two(squares.sqrt(), -self.exponents[j])
    }

    /// √(Σ w x²) of column `j`, targets after the columns.
    pub fn norm(&self, j: usize) -> f64 {
        self.centred_norm(j).hypot(self.mean(j) * self.triangle.at(0, 0).abs())
    }

    /// The triangle R of √w [1, (X − c)·2^e, (Y − c)·2^e].
    pub fn triangle(&self) -> &Triangle {
        &self.triangle
    }

    /// The shift c, columns then targets.
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }

    /// The exponents e of the powers of two the columns are kept times; all 0 but for extreme scales.
    pub fn exponents(&self) -> &[i32] {
        &self.exponents
    }
}
