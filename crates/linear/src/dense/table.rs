//! Passes over a table that is read tile by tile, whatever its storage: a column's size, and products with a few vectors.
//!
//! A table of rows and the same table seen from its columns are both [`RowSource`]s (a view and its transpose), so one text
//! serves `X·W` and `Xᵀ·V`. Every result belongs to one tile and is computed by one thread: threads change no bit.

use super::product::seen;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use spanwise_kernels::tall::{Block, Layout, RowSource};
use spanwise_kernels::{Matrix, crew};

/// Rows of one work item.
const TILE: usize = 256;

/// `table (m × n) · right (n × k)`.
pub(crate) fn table_times(table: &dyn RowSource, right: &Matrix) -> Matrix {
    let k = right.cols();
    let mut out = Matrix::zeros(table.rows(), k);
    if out.as_slice().is_empty() || right.rows() == 0 {
        return out;
    }
    let cost = table.rows() * table.cols() * k;
    crew::each(cost, out.as_mut_slice().chunks_mut(TILE * k).enumerate(), |(t, to)| {
        let (mut scratch, mut packed) = (Vec::new(), Vec::new());
        let block = table.block(t * TILE, to.len() / k, &mut scratch);
        let to = MatMut::from_row_major_slice_mut(to, block.rows(), k);
        matmul(to, Accum::Replace, matrix(&block, &mut packed), seen(right), 1.0, Par::Seq);
    });
    out
}

/// A block as faer sees it; one whose rows or columns overlap in memory is copied first.
pub(super) fn matrix<'a>(block: &Block<'a>, packed: &'a mut Vec<f64>) -> MatRef<'a, f64> {
    let (rows, cols, data) = (block.rows(), block.cols(), block.data());
    match block.layout() {
        Layout::Rows { stride } if stride >= cols => {
            let reach = (rows - 1) * stride + cols;
            MatRef::from_row_major_slice_with_stride(&data[..reach], rows, cols, stride)
        }
        Layout::Columns { stride } if stride >= rows => {
            let reach = (cols - 1) * stride + rows;
            MatRef::from_column_major_slice_with_stride(&data[..reach], rows, cols, stride)
        }
        _ => {
            packed.extend((0..rows).flat_map(|i| (0..cols).map(move |j| block.get(i, j))));
            MatRef::from_row_major_slice(packed, rows, cols)
        }
    }
}

/// What one pass says about each column of X.
pub(crate) struct ColumnSizes {
    /// The means.
    pub(crate) means: Vec<f64>,
    /// √Σ x².
    pub(crate) norms: Vec<f64>,
}

/// The sizes of the columns of X, each a row of `columns` (p × n).
pub(crate) fn column_sizes(columns: &dyn RowSource) -> ColumnSizes {
    let (p, n) = (columns.rows(), columns.cols());
    let (mut means, mut norms) = (vec![0.0; p], vec![0.0; p]);
    let tiles = means.chunks_mut(TILE).zip(norms.chunks_mut(TILE)).enumerate();
    crew::each(4 * p * n, tiles, |(t, (means, norms))| {
        let mut scratch = Vec::new();
        let block = columns.block(t * TILE, means.len(), &mut scratch);
        add_sizes(&block, means, norms);
        for (mean, norm) in means.iter_mut().zip(norms) {
            *mean /= n as f64;
            *norm = norm.sqrt();
        }
    });
    ColumnSizes { means, norms }
}

/// Adds Σ x and Σ x² of each row of a block.
fn add_sizes(block: &Block<'_>, sums: &mut [f64], squares: &mut [f64]) {
    match block.layout() {
        Layout::Columns { stride } => {
            for i in 0..block.cols() {
                let column = &block.data()[i * stride..][..block.rows()];
                for ((sum, square), x) in sums.iter_mut().zip(squares.iter_mut()).zip(column) {
                    *sum += x;
                    *square += x * x;
                }
            }
        }
        Layout::Rows { stride } => {
            for (j, (sum, square)) in sums.iter_mut().zip(squares.iter_mut()).enumerate() {
                let row = &block.data()[j * stride..][..block.cols()];
                *sum = row.iter().sum();
                *square = super::dot(row, row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::multiply;
    use super::*;
    use spanwise_kernels::View;

    #[test]
    fn tables_of_any_layout_and_type_give_the_same_products_and_sizes() {
        for (n, p) in [(1, 1), (5, 3), (300, 7), (7, 600)] {
            let x = Matrix::from_fn(n, p, |i, j| ((i * 5 + j * 3) % 17) as f64 - 6.0);
            let (w, v) = (
                Matrix::from_fn(p, 2, |i, j| ((i + j) % 5) as f64 - 2.0),
                Matrix::from_fn(n, 3, |i, j| ((i * 2 + j) % 7) as f64 - 3.0),
            );
            let columns = x.transposed();
            let short: Vec<f32> = x.as_slice().iter().map(|&v| v as f32).collect();
            let check = |rows: &dyn RowSource, turned: &dyn RowSource| {
                // Small integers: every order of summation is exact.
                assert_eq!(table_times(rows, &w), multiply(&x, &w));
                assert_eq!(table_times(turned, &v), multiply(&columns, &v));
                let sizes = column_sizes(turned);
                for j in 0..p {
                    assert_eq!(sizes.means[j], x.col(j).iter().sum::<f64>() / n as f64);
                    assert_eq!(sizes.norms[j], x.col(j).iter().map(|x| x * x).sum::<f64>().sqrt());
                }
            };
            check(&x.view(), &x.view().transposed());
            check(&columns.view().transposed(), &columns.view());
            let short = View::new(&short, &[n, p]).unwrap();
            check(&short, &short.transposed());
        }
    }

    #[test]
    fn a_row_that_is_repeated_by_a_stride_of_zero_is_read_as_such() {
        let row = [1.0, 2.0, 3.0];
        let x = View::strided(&row, 0, &[4, 3], &[0, 1]).unwrap();
        let w = Matrix::new(vec![1.0, 1.0, 1.0], 3, 1).unwrap();
        assert_eq!(table_times(&x, &w).as_slice(), [6.0; 4]);
    }
}
