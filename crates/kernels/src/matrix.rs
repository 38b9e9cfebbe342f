//! A small owned matrix of f64.

use crate::{Shape, ShapeError, View, memory};

/// Rows × columns of f64, row after row: what references, examples and small factors are made of.
///
/// Large inputs stay where they are and are seen through a [`View`]; this type is for results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    data: Vec<f64>,
    rows: usize,
    cols: usize,
}

impl Matrix {
    /// Takes `data` as `rows` × `cols`, row after row.
    pub fn new(data: Vec<f64>, rows: usize, cols: usize) -> Result<Self, ShapeError> {
        View::new(&data, &[rows, cols])?;
        Ok(Matrix { data, rows, cols })
    }

    /// All zeros.
    ///
    /// # Panics
    /// Where `rows` × `cols` entries are more than can be addressed.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Matrix { data: memory::zeros(entries(rows, cols)), rows, cols }
    }

    /// Entry `(i, j)` is `entry(i, j)`.
    ///
    /// # Panics
    /// Where `rows` × `cols` entries are more than can be addressed.
    pub fn from_fn(rows: usize, cols: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = memory::room(entries(rows, cols));
        for i in 0..rows {
            data.extend((0..cols).map(|j| entry(i, j)));
        }
        Matrix { data, rows, cols }
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    ///
    /// # Panics
    /// Where `i` is not below [`Matrix::rows`].
    pub fn row(&self, i: usize) -> &[f64] {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i`, to be written.
    ///
    /// # Panics
    /// Where `i` is not below [`Matrix::rows`].
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        &mut self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// A copy of column `j`.
    ///
    /// # Panics
    /// Where `j` is not below [`Matrix::cols`].
    pub fn col(&self, j: usize) -> Vec<f64> {
        (0..self.rows).map(|i| self[(i, j)]).collect()
    }

    /// All entries, row after row.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All entries, row after row, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The matrix as a view.
    pub fn view(&self) -> View<'_, f64> {
        View::new(&self.data, &[self.rows, self.cols]).expect("a matrix holds rows × cols entries")
    }

    /// A copy with rows and columns exchanged.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Matrix::from_fn(self.cols, self.rows, |i, j| self[(j, i)])
    }
}

/// `rows` × `cols`, which must form a shape, as [`Matrix::new`] asks: a product that wraps would hold too few entries.
fn entries(rows: usize, cols: usize) -> usize {
    let shape = Shape::new(&[rows, cols]);
    assert!(shape.is_ok(), "a matrix of {rows} × {cols} has more entries than can be addressed");
    rows * cols
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = f64;

    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.row(i)[j]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.row_mut(i)[j]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_columns_and_entries_agree() {
        let x = Matrix::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2).unwrap();
        assert_eq!(x.row(1), [3.0, 4.0]);
        assert_eq!(x.col(1), [2.0, 4.0, 6.0]);
        assert_eq!(x[(2, 0)], 5.0);
        assert_eq!(x.transposed().row(0), [1.0, 3.0, 5.0]);
        assert_eq!(x.view().transposed().to_vec(), x.transposed().as_slice());
    }

    #[test]
    #[should_panic(expected = "a matrix of 9223372036854775808 × 2 has more entries than can be addressed")]
    fn zeros_beyond_every_address_are_refused() {
        Matrix::zeros(1 << 63, 2);
    }

    #[test]
    #[should_panic(expected = "more entries than can be addressed")]
    fn entries_beyond_every_address_are_refused() {
        Matrix::from_fn(1 << 32, 1 << 32, |_, _| 0.0);
    }

    #[test]
    fn a_wrong_count_of_entries_is_refused() {
        assert!(matches!(Matrix::new(vec![0.0; 5], 2, 3), Err(ShapeError::Length { .. })));
    }
}
