//! A few rows that stand for all.

use super::{Summary, sources};
use spanwise_kernels::Matrix;

impl Summary {
    /// Rows in the columns' own units, targets after the columns, whose inner products are those of all rows times √weight: what
    /// is computed from inner products alone is the same of both. About the means they are `(d + t) × (d + t)`, upper; as they
    /// are one row more. Infinite where a column is too large to be written in its own unit.
    ///
    /// ```text
    ///  R of √w [1, (X − c)·2^e, (Y − c)·2^e]     first row: √Σw, then √Σw·(mean − c)     the others: about the means
    /// ```
    pub(crate) fn few_rows(&self, about_means: bool) -> Matrix {
        let width = self.columns + self.targets;
        let first = usize::from(about_means);
        let root = self.triangle.at(0, 0);
        Matrix::from_fn(width + 1 - first, width, |i, j| match i + first {
            // √Σw·mean, the sign that of the triangle.
            0 => root * self.mean(j),
            i => sources::times_power_of_two(self.triangle.at(i, 1 + j), -self.exponents[j]),
        })
    }
}
