//! Each dependent column as a formula in the others.

use super::reduced::Reduced;
use crate::small::{Columns, norm, solve_upper};
use std::fmt::Write;

/// Terms whose part in a formula is below this fraction of the column are rounding, not structure.
const NEGLIGIBLE: f64 = 1e-10;

/// One column written in others: `x[column] = constant + Σ coefficient · x[other]`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Dependency {
    /// The dependent column.
    pub column: usize,
    /// The others: column and coefficient.
    pub terms: Vec<(usize, f64)>,
    /// The constant, which the intercept carries; 0 where there is no intercept.
    pub constant: f64,
    /// The norm of what the formula leaves unexplained, as a fraction of the column's norm.
    pub relative_residual: f64,
}

impl Dependency {
    /// The formula in the names of the columns, such as `total = 2·price + tax - 3`. A column without a name is `x[j]`.
    pub fn formula(&self, names: &[&str]) -> String {
        let name = |j: usize| names.get(j).map_or_else(|| format!("x[{j}]"), |name| (*name).to_owned());
        let mut text = format!("{} =", name(self.column));
        let parts = self.terms.iter().map(|&(j, a)| (a, Some(j)));
        let constant = (self.constant != 0.0 || self.terms.is_empty()).then_some((self.constant, None));
        for (i, (a, column)) in parts.chain(constant).enumerate() {
            let sign = match (i, a < 0.0) {
                (0, false) => " ",
                (0, true) => " -",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            text.push_str(sign);
            let size = rounded(a.abs());
            // Writing to a string cannot fail.
            let _ = match column {
                Some(j) if size == "1" => write!(text, "{}", name(j)),
                Some(j) => write!(text, "{size}·{}", name(j)),
                None => write!(text, "{size}"),
            };
        }
        text
    }
}

/// Ten significant digits, without trailing zeros.
fn rounded(x: f64) -> String {
    let digits = format!("{x:.9e}").parse::<f64>().unwrap_or(x);
    if digits == 0.0 || (1e-4..1e15).contains(&digits) { digits.to_string() } else { format!("{digits:e}") }
}

/// The dropped terms in the kept ones, as coefficients of the terms as given: `kept × dropped`, by columns.
pub(super) struct Formulas {
    /// For each dropped term, one coefficient a kept term.
    pub coefficients: Vec<Vec<f64>>,
    /// For each, the fraction left unexplained.
    pub residuals: Vec<f64>,
}

/// Solves for the dropped terms in the kept ones.
pub(super) fn formulas(reduced: &Reduced, kept: &[usize], dropped: &[usize]) -> Formulas {
    if dropped.is_empty() {
        return Formulas { coefficients: Vec::new(), residuals: Vec::new() };
    }
    let mut columns = Columns::of(&reduced.r, 0..reduced.terms());
    for (step, &j) in kept.iter().enumerate() {
        columns.reflect(j, step);
    }
    let r = columns.upper(kept);
    let mut result = Formulas { coefficients: Vec::new(), residuals: Vec::new() };
    for &j in dropped {
        let mut a = columns.columns[j][..kept.len()].to_vec();
        solve_upper(&r, &mut a);
        // Scaled, shifted terms: x_j − c_j = Σ a_i (D_j/D_i) (x_i − c_i), with the ones unshifted.
        let shift = |term: usize| if reduced.intercept && term > 0 { reduced.shift[term - 1] } else { 0.0 };
        for (a, &i) in a.iter_mut().zip(kept) {
            *a *= reduced.scales[j] / reduced.scales[i];
            if (*a * reduced.norms[i]).abs() <= NEGLIGIBLE * reduced.norms[j]
                && !(reduced.intercept && i == 0)
            {
                *a = 0.0;
            }
        }
        let mut rest: Vec<f64> = reduced.r.col(j).iter().map(|x| x * reduced.scales[j]).collect();
        for (a, &i) in a.iter().zip(kept) {
            rest.iter_mut().zip(reduced.r.col(i)).for_each(|(rest, x)| *rest -= a * x * reduced.scales[i]);
        }
        if reduced.intercept && kept.first() == Some(&0) {
            let moved: f64 = a.iter().zip(kept).skip(1).map(|(a, &i)| a * shift(i)).sum();
            a[0] += shift(j) - moved;
            if (a[0] * reduced.norms[0]).abs() <= NEGLIGIBLE * reduced.norms[j] {
                a[0] = 0.0;
            }
        }
        result.residuals.push(if reduced.norms[j] > 0.0 { norm(&rest) / reduced.norms[j] } else { 0.0 });
        result.coefficients.push(a);
    }
    result
}

/// The formulas as what users see: features by column number, the ones as a constant.
pub(super) fn dependencies(
    formulas: &Formulas,
    intercept: bool,
    kept: &[usize],
    dropped: &[usize],
) -> Vec<Dependency> {
    let first = usize::from(intercept);
    let mut all = Vec::new();
    for ((&j, a), &relative_residual) in dropped.iter().zip(&formulas.coefficients).zip(&formulas.residuals) {
        if j < first {
            continue; // the ones cannot depend on a feature: they are taken first
        }
        let pairs = || kept.iter().copied().zip(a.iter().copied()).filter(|&(_, a)| a != 0.0);
        all.push(Dependency {
            column: j - first,
            terms: pairs().filter(|&(i, _)| i >= first).map(|(i, a)| (i - first, a)).collect(),
            constant: pairs().find(|&(i, _)| i < first).map_or(0.0, |(_, a)| a),
            relative_residual,
        });
    }
    all
}
