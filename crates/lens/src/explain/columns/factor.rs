//! The table reduced to one triangle, and what can be read off it.
//!
//! With `R` the triangular factor of `√w [1, X − c, y − c]` every inner product of centred columns is one of columns of `R`
//! below its first row, so correlations, inflation and singular values cost the same for sixteen rows and for a million.
//! The triangle comes from reflections at any conditioning; where the fit found the columns well conditioned and the table is
//! large, from the Gram matrix, whose relative error is then harmless.

use spanwise_kernels::tall::{Tall, gram};
use spanwise_kernels::{Matrix, View};
use spanwise_linear::fit::least_squares::Method;
use spanwise_linear::measure::{ConditionIndices, condition_indices, inflation};
use spanwise_linear::summary::times_power_of_two;
use spanwise_linear::{LinearError, LinearFit, Summary, decompose};

/// Tables of at most this many numbers are always reflected.
const ALWAYS_REFLECT: usize = 2_000_000;

/// The triangle with its units.
pub(super) struct Factor {
    /// Columns.
    d: usize,
    /// `(d + 2)²`, upper: ones, columns, target, each times a power of two.
    r: Matrix,
    /// What was subtracted, in the units of `r`.
    shift: Vec<f64>,
    /// The powers of two, as exponents.
    exponents: Vec<i32>,
    weight_sum: f64,
}

impl Factor {
    /// Of a table that `fit` was fitted to.
    pub(super) fn new(
        x: &View<'_, f64>,
        y: &[f64],
        weights: Option<&[f64]>,
        fit: &LinearFit,
    ) -> Result<Self, LinearError> {
        let d = fit.columns();
        if y.len().saturating_mul(d + 1) > ALWAYS_REFLECT
            && fit.method() == Method::Gram
            && let Some(factor) = Factor::from_gram(x, y, weights, d)
        {
            return Ok(factor);
        }
        let summary = Summary::of(x, y, weights)?;
        let m = d + 2;
        let triangle = summary.triangle();
        let exponents = summary.exponents().to_vec();
        Ok(Factor {
            d,
            r: Matrix::from_fn(m, m, |i, j| if i <= j { triangle.at(i, j) } else { 0.0 }),
            shift: summary.shift().iter().zip(&exponents).map(|(&c, &e)| times_power_of_two(c, e)).collect(),
            weight_sum: summary.weight_sum(),
            exponents,
        })
    }

    fn from_gram(x: &View<'_, f64>, y: &[f64], weights: Option<&[f64]>, d: usize) -> Option<Self> {
        let step = (y.len() / 1000).max(1);
        let rows: Vec<usize> = (0..y.len()).step_by(step).collect();
        let mean =
            |value: &dyn Fn(usize) -> f64| rows.iter().map(|&i| value(i)).sum::<f64>() / rows.len() as f64;
        let mut shift: Vec<f64> = (0..d).map(|j| mean(&|i| x.get(&[i, j]).unwrap_or(0.0))).collect();
        shift.push(mean(&|i| y[i]));
        let target = View::new(y, &[y.len(), 1]).ok()?;
        let g = gram(&Tall { x, y: &target, weights, shift: &shift });
        // The ones come last there and first here.
        let m = d + 2;
        let at = |i: usize| if i == 0 { m - 1 } else { i - 1 };
        let weight_sum = g[(m - 1, m - 1)];
        let r = cholesky(&Matrix::from_fn(m, m, |i, j| g[(at(i), at(j))]))?;
        Some(Factor { d, r, shift, exponents: vec![0; d + 1], weight_sum })
    }

    /// A number in the units of column `j`, the target after the columns, from one in the units of the triangle.
    fn given(&self, value: f64, j: usize) -> f64 {
        times_power_of_two(value, -self.exponents[j])
    }

    /// A value of the target in the units of the triangle, in which no square overflows or vanishes.
    pub(super) fn kept_target(&self, y: f64) -> f64 {
        times_power_of_two(y, self.exponents[self.d])
    }

    /// Column `j` centred, in units of its own power of two (d + 1 numbers).
    pub(super) fn centred(&self, j: usize) -> Vec<f64> {
        (1..self.d + 2).map(|i| self.r[(i, j + 1)]).collect()
    }

    /// The standard deviation of column `j`, the target after the columns.
    pub(super) fn deviation(&self, j: usize) -> f64 {
        self.given(norm(&self.centred(j)) / self.weight_sum.sqrt(), j)
    }

    /// The mean of column `j`.
    pub(super) fn mean(&self, j: usize) -> f64 {
        self.given(self.shift[j] + self.r[(0, j + 1)] / self.r[(0, 0)], j)
    }

    /// The squared correlation of column `j` with the target.
    pub(super) fn alone(&self, j: usize) -> f64 {
        let (a, y) = (self.centred(j), self.centred(self.d));
        let (na, ny) = (norm(&a), norm(&y));
        if na == 0.0 || ny == 0.0 { 0.0 } else { (dot(&a, &y) / (na * ny)).powi(2).min(1.0) }
    }

    /// Variance inflation of the columns `chosen`, centred where there is an intercept.
    pub(super) fn inflation(&self, chosen: &[usize], intercept: bool) -> Result<Vec<f64>, LinearError> {
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let columns = self.columns(chosen, intercept);
        Ok(inflation(columns.view(), false)?.vif)
    }

    /// The columns `chosen` as `d + 1` or `d + 2` rows: centred, or as they are.
    pub(super) fn columns(&self, chosen: &[usize], centred: bool) -> Matrix {
        let first = usize::from(centred);
        Matrix::from_fn(self.d + 2 - first, chosen.len(), |i, j| self.plain(i + first, chosen[j]))
    }

    /// Entry `i` of column `j` as it is, the shift undone.
    fn plain(&self, i: usize, j: usize) -> f64 {
        let moved = if i == 0 { self.shift[j] * self.r[(0, 0)] } else { 0.0 };
        self.r[(i, j + 1)] + moved
    }

    /// The terms as a square: the ones where there is an intercept, then the columns.
    fn terms(&self, intercept: bool) -> Matrix {
        let first = usize::from(intercept);
        Matrix::from_fn(self.d + 1, self.d + first, |i, j| match j.checked_sub(first) {
            None => self.r[(i, 0)],
            Some(j) => self.plain(i, j),
        })
    }

    /// Singular values of the unit-scaled terms, largest first, and Belsley's shares.
    pub(super) fn spectrum(&self, intercept: bool) -> Result<(Vec<f64>, ConditionIndices), LinearError> {
        let mut terms = self.terms(intercept);
        for j in 0..terms.cols() {
            let length = norm(&terms.col(j));
            if length > 0.0 {
                (0..terms.rows()).for_each(|i| terms[(i, j)] /= length);
            }
        }
        let values = decompose::svd(terms.view())?.singular_values;
        Ok((values, condition_indices(terms.view(), false)?))
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums side by side keep the adders busy.
    let mut sums = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a4.remainder().iter().zip(b4.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a4.zip(b4) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

pub(super) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Upper triangular `R` with `RᵀR = G`; `None` where a pivot is not clearly positive.
fn cholesky(g: &Matrix) -> Option<Matrix> {
    let m = g.rows();
    let mut r = Matrix::zeros(m, m);
    for j in 0..m {
        for i in 0..=j {
            let sum: f64 = (0..i).map(|k| r[(k, i)] * r[(k, j)]).sum();
            let left = g[(i, j)] - sum;
            if i < j {
                r[(i, j)] = left / r[(i, i)];
            } else if left > 1e-13 * g[(j, j)] {
                r[(j, j)] = left.sqrt();
            } else {
                // The target may lie in the span; a column that does is for reflections.
                if j + 1 < m {
                    return None;
                }
                r[(j, j)] = left.max(0.0).sqrt();
            }
        }
    }
    Some(r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::random::Random;
    use spanwise_linear::LeastSquares;

    #[test]
    fn the_gram_matrix_and_reflections_give_the_same_triangle_up_to_signs() {
        let mut random = Random::new(11);
        let x: Vec<f64> = (0..600).map(|i| f64::from(i % 3) * 5.0 + random.normal()).collect();
        let y: Vec<f64> = x.chunks_exact(3).map(|row| row[0] - 2.0 * row[2] + random.normal()).collect();
        let x = View::new(&x, &[200, 3]).unwrap();
        let fit = LeastSquares::new().fit(&x, &y[..]).unwrap();
        let reflected = Factor::new(&x, &y, None, &fit).unwrap();
        let squared = Factor::from_gram(&x, &y, None, 3).unwrap();
        for j in 0..4 {
            assert!((reflected.deviation(j) / squared.deviation(j) - 1.0).abs() < 1e-11);
            assert!((reflected.mean(j) - squared.mean(j)).abs() < 1e-11);
        }
        let vif = |factor: &Factor| factor.inflation(&[0, 1, 2], true).unwrap();
        assert!(vif(&reflected).iter().zip(vif(&squared)).all(|(a, b)| (a - b).abs() < 1e-10));
        assert!((reflected.alone(2) - squared.alone(2)).abs() < 1e-12);
    }
}
