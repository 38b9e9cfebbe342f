//! Polynomial features: every product of columns up to a degree, with names.
//!
//! The features come by degree, then by column, as in scikit-learn: `a, b, a^2, a*b, b^2, a^3, …`; no constant column,
//! the intercept is the fit's. Each feature is an earlier one times a column,
//!
//! ```text
//! a^2*b  =  (a*a) · b
//! ```
//!
//! and the running product is kept as a sum of two floats, so that only the final rounding is left. Rounding at each
//! step would be the largest error in a fit of high degree: there the data are the powers.

use crate::LinearError;
use crate::check::{self, argument};
use spanwise_kernels::{Element, Matrix, View, crew};

const OPERATION: &str = "polynomial features";

/// Rows of one work item.
const ROWS: usize = 64;

/// What a feature of a row costs, in multiplications at full speed.
const COST: usize = 64;

/// Settings: which products to form.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::fit::Polynomial;
///
/// let squares = Polynomial::new(2).of_columns(2)?;
/// assert_eq!(squares.names(&["a", "b"])?, ["a", "b", "a^2", "a*b", "b^2"]);
/// let x = View::new(&[2.0, 3.0], &[1, 2])?;
/// assert_eq!(squares.transform(x)?.row(0), [2.0, 3.0, 4.0, 6.0, 9.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polynomial {
    /// The highest total degree, at least 1.
    pub degree: usize,
    /// Only products of different columns: `a*b` but not `a^2`.
    pub interactions_only: bool,
    /// More features than this are refused.
    pub max_features: usize,
}

/// The products to form from a given number of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolynomialFeatures {
    columns: usize,
    /// Feature `f` is feature `parent` times column `column`; without a parent it is the column.
    recipe: Vec<Product>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Product {
    parent: Option<usize>,
    column: usize,
}

impl Polynomial {
    /// All products up to `degree`, at most 100,000 of them.
    pub fn new(degree: usize) -> Self {
        Polynomial { degree, interactions_only: false, max_features: 100_000 }
    }

    /// Products of different columns only.
    pub fn interactions(degree: usize) -> Self {
        Polynomial { interactions_only: true, ..Polynomial::new(degree) }
    }

    /// How many features `columns` columns give; the largest number where it cannot be counted.
    pub fn count(&self, columns: usize) -> usize {
        let (p, d) = (columns as u128, self.degree as u128);
        // C(n, k) from C(n, k − 1); `None` where it cannot be counted.
        let next = |c: u128, n: u128, k: u128| Some(c.checked_mul(n - k + 1)? / k);
        let all = if self.interactions_only {
            // Σ C(p, k) for k from 1 to the degree; beyond p there is nothing more.
            (1..=d.min(p)).try_fold((1_u128, 0_u128), |(c, sum), k| {
                let c = next(c, p, k)?;
                Some((c, sum.checked_add(c)?))
            })
        } else {
            // C(p + d, d) monomials up to the degree, the constant among them.
            let total = (1..=d.min(p)).try_fold(1_u128, |c, k| next(c, p + d, k));
            total.map(|c| (c, c - 1))
        };
        all.and_then(|(_, all)| usize::try_from(all).ok()).unwrap_or(usize::MAX)
    }

    /// The products for this many columns.
    pub fn of_columns(&self, columns: usize) -> Result<PolynomialFeatures, LinearError> {
        let degree = argument(OPERATION, "degree");
        degree.in_range(self.degree as f64, self.degree >= 1, "at least 1")?;
        let found = self.count(columns);
        if found > self.max_features {
            return Err(LinearError::TooManyFeatures {
                operation: OPERATION,
                columns,
                degree: self.degree,
                found,
                limit: self.max_features,
            });
        }
        let mut recipe: Vec<Product> = (0..columns).map(|column| Product { parent: None, column }).collect();
        let mut last = 0..columns;
        for _ in 1..self.degree {
            let next = recipe.len();
            for parent in last {
                // Columns in rising order name each product once.
                let first = recipe[parent].column + usize::from(self.interactions_only);
                recipe.extend((first..columns).map(|column| Product { parent: Some(parent), column }));
            }
            last = next..recipe.len();
            if last.is_empty() {
                break;
            }
        }
        Ok(PolynomialFeatures { columns, recipe })
    }
}

impl PolynomialFeatures {
    /// How many features.
    pub fn len(&self) -> usize {
        self.recipe.len()
    }

    /// Whether there are none: no columns were given.
    pub fn is_empty(&self) -> bool {
        self.recipe.is_empty()
    }

    /// The exponent of each column in feature `f`; empty where there is no such feature.
    pub fn exponents(&self, f: usize) -> Vec<usize> {
        let mut exponents = vec![0; self.columns];
        let mut at = Some(f);
        while let Some(product) = at.and_then(|f| self.recipe.get(f)) {
            exponents[product.column] += 1;
            at = product.parent;
        }
        if f < self.len() { exponents } else { Vec::new() }
    }

    /// Names such as `a^2*b`, from the columns' names.
    pub fn names<S: AsRef<str>>(&self, columns: &[S]) -> Result<Vec<String>, LinearError> {
        use crate::Extent;
        let (found, expected) = (Extent::Length(columns.len()), Extent::Columns(self.columns));
        argument(OPERATION, "names").fits(found, "X", expected)?;
        let name = |f: usize| {
            let powers = self.exponents(f).into_iter().enumerate().filter(|(_, power)| *power > 0);
            let factors = powers.map(|(j, power)| match power {
                1 => columns[j].as_ref().to_string(),
                _ => format!("{}^{power}", columns[j].as_ref()),
            });
            factors.collect::<Vec<_>>().join("*")
        };
        Ok((0..self.len()).map(name).collect())
    }

    /// The features of `x` (n × p), one row per row (n × features).
    pub fn transform<T: Element>(&self, x: View<'_, T>) -> Result<Matrix, LinearError> {
        let (rows, _) = check::features(OPERATION, &x)?;
        check::same_columns(&x, self.columns)?;
        let width = self.len();
        let mut out = Matrix::zeros(rows, width);
        crew::each(
            COST * rows * width,
            out.as_mut_slice().chunks_mut(width * ROWS).enumerate(),
            |(c, out)| {
                let mut row = vec![0.0; self.columns];
                for (i, out) in (c * ROWS..).zip(out.chunks_mut(width)) {
                    super::passes::load(&x, i..i + 1, self.columns, &mut row);
                    self.fill(&row, out);
                }
            },
        );
        if out.as_slice().iter().all(|v| v.is_finite()) { Ok(out) } else { Err(check::blame(OPERATION, &x)) }
    }

    fn fill(&self, row: &[f64], out: &mut [f64]) {
        // What rounding left out of each feature.
        let mut low = vec![0.0; out.len()];
        for (f, product) in self.recipe.iter().enumerate() {
            let factor = row[product.column];
            let Some(parent) = product.parent else {
                out[f] = factor;
                continue;
            };
            // (high + low)·factor: the product's own rounding by a fused multiply-add, then one renormalisation.
            let high = out[parent] * factor;
            let rest = out[parent].mul_add(factor, -high) + low[parent] * factor;
            out[f] = high + rest;
            low[f] = if out[f].is_finite() { rest - (out[f] - high) } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_come_by_degree_and_are_named() {
        let names = |p: Polynomial| p.of_columns(3).unwrap().names(&["a", "b", "c"]).unwrap();
        let cubes = names(Polynomial::new(3));
        assert_eq!(cubes.len(), 19);
        assert_eq!(cubes[..10], ["a", "b", "c", "a^2", "a*b", "a*c", "b^2", "b*c", "c^2", "a^3"]);
        assert_eq!(cubes[18], "c^3");
        assert_eq!(names(Polynomial::interactions(3)), ["a", "b", "c", "a*b", "a*c", "b*c", "a*b*c"]);
        assert_eq!(names(Polynomial::interactions(9)), names(Polynomial::interactions(3)));
    }

    #[test]
    fn the_count_is_known_before_anything_is_formed() {
        for degree in 1..6 {
            for columns in 1..6 {
                for p in [Polynomial::new(degree), Polynomial::interactions(degree)] {
                    assert_eq!(p.count(columns), p.of_columns(columns).unwrap().len());
                }
            }
        }
        let error = Polynomial::new(5).of_columns(1000).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("polynomial features: degree 5 of 1000 columns gives 8459043543950 features"),
            "{error}"
        );
        assert!(error.hint().is_some(), "{error}");
        assert_eq!(Polynomial::new(usize::MAX).count(1 << 40), usize::MAX);
        assert_eq!(Polynomial::interactions(usize::MAX).count(1 << 40), usize::MAX);
        assert_eq!(Polynomial::new(usize::MAX).count(1), usize::MAX);
        assert_eq!(Polynomial::new(3).of_columns(0).unwrap().len(), 0);
        assert!(Polynomial::new(0).of_columns(2).is_err());
    }

    #[test]
    fn high_powers_are_rounded_once() {
        // 1.1¹⁰ to 40 digits with the stored 1.1 (mpmath: mpf(1.1)**10), where repeated rounding ends elsewhere.
        let x = [1.1];
        let powers = Polynomial::new(10).of_columns(1).unwrap();
        let out = powers.transform(View::new(&x, &[1, 1]).unwrap()).unwrap();
        let exact = 2.593_742_460_100_002_3;
        assert_eq!(out.row(0)[9], exact);
        // Powers of 3 stay exact as long as they fit.
        let threes = Polynomial::new(33).of_columns(1).unwrap();
        let out = threes.transform(View::new(&[3.0], &[1, 1]).unwrap()).unwrap();
        for (k, value) in out.row(0).iter().enumerate() {
            assert_eq!(*value, 3_u64.pow(k as u32 + 1) as f64);
        }
    }

    #[test]
    fn overflow_nan_and_wrong_columns_are_errors() {
        let cubes = Polynomial::new(3).of_columns(1).unwrap();
        let error = cubes.transform(View::new(&[1e200], &[1, 1]).unwrap()).unwrap_err();
        assert!(matches!(error, LinearError::Overflow { .. }));
        let error = cubes.transform(View::new(&[1.0, f64::NAN], &[2, 1]).unwrap()).unwrap_err();
        assert!(matches!(error, LinearError::NotFinite { row: 1, column: 0, .. }));
        assert!(cubes.transform(View::new(&[1.0, 2.0], &[1, 2]).unwrap()).is_err());
        assert!(cubes.names(&["a", "b"]).is_err());
    }
}
