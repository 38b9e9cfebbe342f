//! Householder QR of a small matrix kept as columns: plain, pivoted at will, one column at a time.

use crate::dense::norm;
use spanwise_kernels::Matrix;

/// Columns that are reflected step by step: after step `s`, row `s` of every column is final.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// Each of the same length.
    pub columns: Vec<Vec<f64>>,
}

impl Columns {
    /// The columns of `matrix` that `chosen` names.
    pub(crate) fn of(matrix: &Matrix, chosen: impl IntoIterator<Item = usize>) -> Self {
        Columns { columns: chosen.into_iter().map(|j| matrix.col(j)).collect() }
    }

    /// The norm of column `j` from row `step` on: what is left of it outside the span of the steps so far.
    pub(crate) fn rest(&self, j: usize, step: usize) -> f64 {
        norm(&self.columns[j][step..])
    }

    /// Reflects so that column `pivot` is zero below row `step`, and applies it to all columns.
    /// What is left of the pivot column must not be zero.
    pub(crate) fn reflect(&mut self, pivot: usize, step: usize) {
        let below = &self.columns[pivot][step..];
        // Of a column that ends early only what there is: in eights, as sums are formed, the zeros left out change no number.
        let count = below.iter().rposition(|&x| x != 0.0).map_or(below.len(), |last| last + 1);
        let mut v = below[..count.next_multiple_of(8).min(below.len())].to_vec();
        let length = norm(&v);
        let beta = if v[0] > 0.0 { -length } else { length };
        v[0] -= beta;
        let scale = norm(&v);
        for x in &mut v {
            *x /= scale;
        }
        for column in &mut self.columns {
            let below = &mut column[step..];
            let twice: f64 = 2.0 * below.iter().zip(&v).map(|(a, b)| a * b).sum::<f64>();
            below.iter_mut().zip(&v).for_each(|(a, b)| *a -= twice * b);
        }
        let column = &mut self.columns[pivot][step..];
        column[0] = beta;
        column[1..].fill(0.0);
    }

    /// The upper triangle whose columns are `order`, after as many steps.
    pub(crate) fn upper(&self, order: &[usize]) -> Matrix {
        let n = order.len();
        Matrix::from_fn(n, n, |i, j| if i <= j { self.columns[order[j]][i] } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_ends_early_is_reflected_as_one_with_rows_of_zeros() {
        let entry = |i: usize, j: usize| ((i * 5 + j * 3) % 13) as f64 - 5.5;
        for count in 1..30 {
            let a = Matrix::from_fn(30, 2, |i, j| if j == 1 || i < count { entry(i, j) } else { 0.0 });
            let mut columns = Columns::of(&a, 0..2);
            let mut v = a.col(0);
            let length = norm(&v);
            v[0] += length.copysign(v[0]);
            let scale = norm(&v);
            let v: Vec<f64> = v.iter().map(|x| x / scale).collect();
            let twice = 2.0 * a.col(1).iter().zip(&v).map(|(a, b)| a * b).sum::<f64>();
            columns.reflect(0, 0);
            let expected: Vec<f64> = a.col(1).iter().zip(&v).map(|(a, b)| a - twice * b).collect();
            assert_eq!(columns.columns[1], expected, "{count}");
        }
    }

    #[test]
    fn reflecting_every_column_leaves_a_triangle_with_the_same_inner_products() {
        let a = Matrix::from_fn(5, 3, |i, j| ((i * 3 + j * 7) % 11) as f64 - 4.0);
        let mut columns = Columns::of(&a, 0..3);
        for (step, pivot) in [1, 0, 2].into_iter().enumerate() {
            columns.reflect(pivot, step);
        }
        let r = columns.upper(&[1, 0, 2]);
        let expected: f64 = (0..5).map(|i| a[(i, 1)] * a[(i, 2)]).sum();
        assert!(((0..3).map(|i| r[(i, 0)] * r[(i, 2)]).sum::<f64>() - expected).abs() < 1e-12);
    }
}
