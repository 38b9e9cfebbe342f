//! Powers and interactions of a design's columns.
//!
//! A column of 0 and 1 is its own square, and two levels of one category are never 1 together: such products repeat a
//! column or are zero, and are not formed.

use super::{DesignError, Encoding};
use crate::fit::{Polynomial, PolynomialFeatures};
use spanwise_kernels::Matrix;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Products {
    features: PolynomialFeatures,
    /// Those that say something.
    kept: Vec<usize>,
}

impl Products {
    pub(super) fn new(
        encodings: &[Encoding],
        degree: usize,
        interactions_only: bool,
    ) -> Result<Self, DesignError> {
        // For each column, the encoding it came from and whether it is a level.
        let sources: Vec<(usize, bool)> = encodings
            .iter()
            .enumerate()
            .flat_map(|(e, encoding)| vec![(e, encoding.levels.is_some()); encoding.width()])
            .collect();
        let settings =
            if interactions_only { Polynomial::interactions(degree) } else { Polynomial::new(degree) };
        let features = settings.of_columns(sources.len())?;
        let says_something = |&f: &usize| {
            let mut levels_used = vec![0; encodings.len()];
            for (exponent, &(source, is_level)) in features.exponents(f).into_iter().zip(&sources) {
                if is_level {
                    levels_used[source] += exponent;
                }
            }
            levels_used.iter().all(|&used| used <= 1)
        };
        let kept = (0..features.len()).filter(says_something).collect();
        Ok(Products { features, kept })
    }

    pub(super) fn names(&self, base: &[String]) -> Result<Vec<String>, DesignError> {
        let names = self.features.names(base)?;
        Ok(self.kept.iter().map(|&f| names[f].clone()).collect())
    }

    /// `x` (n × columns) with its products (n × kept).
    pub(super) fn of(&self, x: &Matrix) -> Result<Matrix, DesignError> {
        if x.rows() == 0 {
            return Ok(Matrix::zeros(0, self.kept.len()));
        }
        let all = self.features.transform(x.view())?;
        if self.kept.len() == self.features.len() {
            return Ok(all);
        }
        Ok(Matrix::from_fn(all.rows(), self.kept.len(), |i, j| all[(i, self.kept[j])]))
    }
}
