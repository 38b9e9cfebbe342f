//! Sparse matrices: only the entries that are not zero, row after row.

use crate::check::{Argument, argument};
use crate::solve::Operator;
use crate::{CsrRows, LinearError};
use spanwise_kernels::{Element, Matrix, View};

/// A sparse matrix in compressed rows (CSR), checked where it is made.
///
/// ```
/// use spanwise_linear::CsrMatrix;
///
/// // [[1, 0, 2],
/// //  [0, 3, 0]]
/// let a = CsrMatrix::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
/// assert_eq!(a.to_dense()[(0, 2)], 2.0);
/// assert_eq!(a.entries(), 3);
/// # Ok::<(), spanwise_linear::LinearError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CsrMatrix {
    cols: usize,
    /// Row `i` is entries `starts[i]..starts[i + 1]` (rows + 1).
    starts: Vec<usize>,
    /// The column of each entry.
    columns: Vec<usize>,
    values: Vec<f64>,
}

/// What every compressed table must hold: `starts` rise from 0 to the number of entries, and each entry has a column.
pub(crate) fn check_parts(
    cols: usize,
    starts: &[usize],
    columns: &[usize],
    values: &[f64],
) -> Result<(), LinearError> {
    let (first, last) = (starts.first().copied(), starts.last().copied().unwrap_or(0));
    STARTS.in_range(first.map_or(f64::NAN, |first| first as f64), first == Some(0), "a first entry of 0")?;
    STARTS.in_range(last as f64, last == values.len(), "a last entry equal to the number of values")?;
    for pair in starts.windows(2) {
        STARTS.in_range(pair[1] as f64, pair[0] <= pair[1], "entries that never fall")?;
    }
    COLUMNS.in_range(columns.len() as f64, columns.len() == values.len(), "as many entries as values")?;
    for &column in columns {
        COLUMNS.in_range(column as f64, column < cols, "entries below the number of columns")?;
    }
    Ok(())
}

const STARTS: Argument = argument("sparse", "starts");
const COLUMNS: Argument = argument("sparse", "columns");

impl CsrMatrix {
    /// Takes the parts of a compressed matrix: `starts` (rows + 1, rising from 0 to the number of entries), `columns` and
    /// `values` (one per entry, finite). Entries of a row may come in any order; several at one place add up.
    pub fn new(
        rows: usize,
        cols: usize,
        starts: Vec<usize>,
        columns: Vec<usize>,
        values: Vec<f64>,
    ) -> Result<Self, LinearError> {
        STARTS.in_range(
            starts.len() as f64,
            starts.len() == rows + 1,
            "as many entries as rows, and one more",
        )?;
        check_parts(cols, &starts, &columns, &values)?;
        let matrix = CsrMatrix { cols, starts, columns, values };
        for i in 0..rows {
            for (column, value) in matrix.row(i) {
                if !value.is_finite() {
                    return Err(argument("sparse", "values").not_finite(i, column, value));
                }
            }
        }
        Ok(matrix)
    }

    /// The entries of `x` (n × p) that are not zero.
    pub fn from_dense<T: Element>(x: View<'_, T>) -> Result<Self, LinearError> {
        let name = argument("sparse", "X");
        let (rows, cols) = name.matrix(&x)?;
        name.finite(&x)?;
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..rows {
            for (j, value) in x.at(i).iter().flat_map(View::iter).enumerate() {
                let value = value.to_f64();
                if value != 0.0 {
                    columns.push(j);
                    values.push(value);
                }
            }
            starts.push(values.len());
        }
        Ok(CsrMatrix { cols, starts, columns, values })
    }

    /// The same as a table that a fit or a summary can read.
    pub fn table(&self) -> CsrRows<'_> {
        CsrRows::of_checked(self.cols, &self.starts, &self.columns, &self.values)
    }

    /// How many entries are stored.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// The entries of row `i` as (column, value); nothing outside.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let place = match (self.starts.get(i), self.starts.get(i + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        };
        self.columns[place.clone()].iter().copied().zip(self.values[place].iter().copied())
    }

    /// All entries, zeros included (n × p).
    pub fn to_dense(&self) -> Matrix {
        let mut dense = Matrix::zeros(self.rows(), self.cols);
        for i in 0..self.rows() {
            for (j, value) in self.row(i) {
                dense[(i, j)] += value;
            }
        }
        dense
    }
}

impl Operator for CsrMatrix {
    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    fn cols(&self) -> usize {
        self.cols
    }

    fn apply(&self, x: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.row(i).map(|(j, value)| value * x[j]).sum();
        }
    }

    fn apply_transposed(&self, y: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (i, &y) in y.iter().enumerate() {
            for (j, value) in self.row(i) {
                out[j] += value * y;
            }
        }
    }

    fn diagonal(&self) -> Option<Vec<f64>> {
        let at = |i: usize| self.row(i).filter(|&(j, _)| j == i).map(|(_, value)| value).sum();
        Some((0..self.rows().min(self.cols)).map(at).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let new = |starts: &[usize], columns: &[usize], values: &[f64]| {
            CsrMatrix::new(2, 2, starts.to_vec(), columns.to_vec(), values.to_vec())
        };
        assert!(new(&[0, 1, 2], &[0, 1], &[1.0, 2.0]).is_ok());
        for (starts, columns, values) in [
            (&[0, 1][..], &[0][..], &[1.0][..]),
            (&[1, 1, 1], &[0], &[1.0]),
            (&[0, 1, 3], &[0, 1], &[1.0, 2.0]),
            (&[0, 2, 1], &[0], &[1.0]),
            (&[0, 1, 2], &[0, 2], &[1.0, 2.0]),
            (&[0, 1, 2], &[0], &[1.0, 2.0]),
            (&[0, 1, 2], &[0, 1], &[1.0, f64::NAN]),
            (&[], &[], &[]),
        ] {
            assert!(new(starts, columns, values).is_err(), "{starts:?}");
        }
    }

    #[test]
    fn products_agree_with_the_dense_matrix() {
        let x = Matrix::from_fn(5, 4, |i, j| if (i + 2 * j) % 3 == 0 { (i + j) as f64 - 2.5 } else { 0.0 });
        let sparse = CsrMatrix::from_dense(x.view()).unwrap();
        assert_eq!(sparse.to_dense(), x);
        let (mut out, mut back) = ([0.0; 5], [0.0; 4]);
        sparse.apply(&[1.0, 2.0, 3.0, 4.0], &mut out);
        assert_eq!(out.to_vec(), crate::dense::times(&x, &[1.0, 2.0, 3.0, 4.0]));
        sparse.apply_transposed(&[1.0, 2.0, 3.0, 4.0, 5.0], &mut back);
        assert_eq!(back.to_vec(), crate::dense::transposed_times(&x, &[1.0, 2.0, 3.0, 4.0, 5.0]));
        assert_eq!(sparse.diagonal().unwrap(), [-2.5, -0.5, 1.5, 3.5]);
        assert_eq!(sparse.row(99).count(), 0);
    }
}
