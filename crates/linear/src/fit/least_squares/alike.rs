//! Columns that are constant, or another column times a number plus a number.
//!
//! With no more rows than columns every column depends on the others, whatever it means; written out, those formulas say
//! nothing. What does say something, a copy in other units or a constant, is found without a factorisation:
//!
//! ```text
//! f[j] = |Σᵢ r[i]·(x[i, j] − m[j])| / ‖x[:, j] − m[j]‖      r random, Σ r = 0: one pass over the table
//! columns in order of f; neighbours that agree to 1e-8 are looked at: x[j] = a·x[i] + c, up to the tolerance?
//! ```
//!
//! Columns that are alike have the same f; of others, hardly any two agree so closely.

use super::dependency::Dependency;
use super::transposed::Transposed;
use crate::dense::{ColumnSizes, dot, norm};
use crate::measure::short_number;
use crate::{RowSource, Seeded};
use spanwise_kernels::tall::transpose_multiply;

/// Fingerprints that agree so closely are looked at.
const NEAR: f64 = 1e-8;
/// Different columns of one fingerprint that the next one is compared with, at most.
const MOST: usize = 4;

/// The columns of a table.
pub(super) struct Alike<'a> {
    pub x: &'a dyn RowSource,
    pub columns: &'a Transposed<'a>,
    /// Their means are 0 where there is no intercept.
    pub sizes: &'a ColumnSizes,
    pub intercept: bool,
    /// The share of a column that may be left unexplained.
    pub tolerance: f64,
}

impl Alike<'_> {
    /// One formula for each column that is constant or like one before it, in their order.
    pub(super) fn found(&self) -> Vec<Dependency> {
        // Of two rows, any two columns are alike.
        if self.x.rows() <= 2 {
            return Vec::new();
        }
        let lengths = self.lengths();
        let flat = |j: usize| lengths[j] <= self.tolerance * self.sizes.norms[j];
        let constants = (0..lengths.len()).filter(|&j| flat(j)).map(|j| self.constant(j));
        let mut found: Vec<Dependency> = constants.collect();
        let prints = self.fingerprints(&lengths);
        let mut order: Vec<usize> = (0..lengths.len()).filter(|&j| !flat(j)).collect();
        order.sort_by(|&i, &j| prints[i].total_cmp(&prints[j]).then(i.cmp(&j)));
        for run in order.chunk_by(|&i, &j| prints[j] - prints[i] <= NEAR) {
            let mut run = run.to_vec();
            run.sort_unstable();
            found.extend(self.copies(&run));
        }
        found.sort_by_key(|found| found.column);
        found
    }

    /// Columns, rising, of one fingerprint: those that are like one before them.
    fn copies(&self, run: &[usize]) -> Vec<Dependency> {
        let mut originals: Vec<(usize, Vec<f64>)> = Vec::new();
        let mut copies = Vec::new();
        for &j in run.iter().filter(|_| run.len() > 1) {
            let column = self.centred(j);
            match originals.iter().find_map(|(i, original)| self.copy(j, &column, *i, original)) {
                Some(copy) => copies.push(copy),
                None if originals.len() < MOST => originals.push((j, column)),
                None => {}
            }
        }
        copies
    }

    /// `‖x[:, j] − m[j]‖`. Where the difference of squares would have lost its digits, the column is read again.
    fn lengths(&self) -> Vec<f64> {
        let n = self.x.rows() as f64;
        let each = self.sizes.norms.iter().zip(&self.sizes.means).enumerate();
        each.map(|(j, (&norm_of, &mean))| {
            let square = norm_of * norm_of - n * mean * mean;
            if square > 1e-4 * norm_of * norm_of { square.sqrt() } else { norm(&self.centred(j)) }
        })
        .collect()
    }

    fn fingerprints(&self, lengths: &[f64]) -> Vec<f64> {
        let (n, mut numbers) = (self.x.rows(), Seeded::new(0));
        let mut r: Vec<f64> = (0..n).map(|_| numbers.normal()).collect();
        if self.intercept {
            let mean = r.iter().sum::<f64>() / n as f64;
            for r in &mut r {
                *r -= mean;
            }
        }
        let length = norm(&r);
        for r in &mut r {
            *r /= length;
        }
        let products = transpose_multiply(self.x, &r);
        products.iter().zip(lengths).map(|(product, length)| (product / length).abs()).collect()
    }

    /// `x[:, j] − m[j]`.
    fn centred(&self, j: usize) -> Vec<f64> {
        let (mut scratch, mean) = (Vec::new(), self.sizes.means[j]);
        let column = self.columns.block(j, 1, &mut scratch);
        (0..column.cols()).map(|i| column.get(0, i) - mean).collect()
    }

    fn constant(&self, column: usize) -> Dependency {
        let constant = self.sizes.means[column];
        // Every row rounds to the mean; whether a short number is the value, one row tells.
        let value = self.columns.block(column, 1, &mut Vec::new()).get(0, 0);
        let exact = short_number(constant).is_some_and(|short| short == value);
        Dependency {
            column,
            terms: Vec::new(),
            constant,
            relative_residual: 0.0,
            exact,
            nearly_constant: false,
        }
    }

    /// `x[j] = a·x[i] + c`, if so.
    fn copy(&self, j: usize, column: &[f64], i: usize, original: &[f64]) -> Option<Dependency> {
        let (means, size) = (&self.sizes.means, norm(column));
        let a = dot(column, original) / dot(original, original);
        // What `a` and `c` leave of the column as given.
        let left = |a: f64, c: f64| {
            let offset = means[j] - a * means[i] - c;
            let rest = column.iter().zip(original).map(|(x, o)| x - a * o + offset);
            norm(&rest.collect::<Vec<_>>())
        };
        let c = if self.intercept { means[j] - a * means[i] } else { 0.0 };
        let rest = left(a, c);
        // Rounding of the means counts too.
        let allowed = self.tolerance * size.max(1e-3 * self.sizes.norms[j]);
        if rest.is_nan() || rest > allowed {
            return None;
        }
        // A constant of rounding alone is none.
        let c = if c.abs() <= 1e-10 * self.sizes.norms[j] / (column.len() as f64).sqrt() { 0.0 } else { c };
        let short = short_number(a).zip(short_number(c));
        let exact = short.is_some_and(|(a, c)| left(a, c) <= allowed.max(2.0 * rest));
        let relative_residual = rest / self.sizes.norms[j];
        Some(Dependency {
            column: j,
            terms: vec![(i, a)],
            constant: c,
            relative_residual,
            exact,
            nearly_constant: false,
        })
    }
}
