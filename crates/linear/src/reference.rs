//! The weighted sum `Xw`, seen both ways, in plain f64: what every faster path is compared with.
//!
//! ```text
//! X (n × p), w (p)
//! by rows:     (Xw)[i] = Σⱼ X[i, j] · w[j]        n dot products
//! by columns:   Xw     = Σⱼ w[j] · X[:, j]        p scaled columns, added
//! ```
//!
//! The second reading shows that `Xw` lies in the span of the columns of `X`, whatever `w` is.

use crate::check::argument;
use crate::{Extent, LinearError};
use spanwise_kernels::{Matrix, View};

/// `Xw` as n dot products, one per row of `x`.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::reference::product;
///
/// let x = View::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2])?;
/// let w = View::new(&[2.0, -1.0], &[2])?;
/// assert_eq!(product(x, w)?, [0.0, 2.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn product(x: View<'_, f64>, w: View<'_, f64>) -> Result<Vec<f64>, LinearError> {
    let (rows, _) = checked(&x, &w)?;
    let w = w.to_vec();
    Ok((0..rows)
        .map(|i| x.at(i).map_or(0.0, |row| row.iter().zip(&w).map(|(x_ij, w_j)| x_ij * w_j).sum()))
        .collect())
}

/// `Xw` as the sum of its scaled columns, each of them kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Combination {
    /// The weights `w` (p).
    pub weights: Vec<f64>,
    /// The terms (n × p): column `j` is `w[j] · X[:, j]`.
    pub terms: Matrix,
    /// Their sum `Xw` (n).
    pub sum: Vec<f64>,
}

/// `Xw` as `Σⱼ w[j] · X[:, j]`, keeping each term so that it can be shown.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::reference::combination;
///
/// let x = View::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2])?;
/// let w = View::new(&[2.0, -1.0], &[2])?;
/// let by_columns = combination(x, w)?;
/// assert_eq!(by_columns.terms.col(0), [2.0, 6.0, 10.0]);
/// assert_eq!(by_columns.terms.col(1), [-2.0, -4.0, -6.0]);
/// assert_eq!(by_columns.sum, [0.0, 2.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn combination(x: View<'_, f64>, w: View<'_, f64>) -> Result<Combination, LinearError> {
    let (rows, cols) = checked(&x, &w)?;
    let weights = w.to_vec();
    let mut terms = Matrix::zeros(rows, cols);
    for (at, x_ij) in x.iter().enumerate() {
        let (i, j) = (at / cols, at % cols);
        terms[(i, j)] = weights[j] * x_ij;
    }
    let mut sum = vec![0.0; rows];
    for j in 0..cols {
        for (i, total) in sum.iter_mut().enumerate() {
            *total += terms[(i, j)];
        }
    }
    Ok(Combination { weights, terms, sum })
}

/// Rows and columns of `x`, once `w` is known to fit.
fn checked(x: &View<'_, f64>, w: &View<'_, f64>) -> Result<(usize, usize), LinearError> {
    let (rows, cols) = argument("linear", "X").matrix(x)?;
    let w_argument = argument("linear", "w");
    let length = w_argument.vector(w)?;
    w_argument.fits(Extent::Length(length), "X", Extent::Columns(cols))?;
    Ok((rows, cols))
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    #[test]
    fn rows_and_columns_give_the_same_weighted_sum() {
        let x = View::new(&X, &[3, 2]).unwrap();
        let w = View::new(&[2.0, -1.0], &[2]).unwrap();
        assert_eq!(product(x, w).unwrap(), [0.0, 2.0, 4.0]);
        let by_columns = combination(x, w).unwrap();
        assert_eq!(by_columns.sum, [0.0, 2.0, 4.0]);
        assert_eq!(by_columns.terms.as_slice(), [2.0, -2.0, 6.0, -4.0, 10.0, -6.0]);
        assert_eq!(by_columns.weights, [2.0, -1.0]);
    }

    #[test]
    fn a_transposed_view_needs_no_copy() {
        let x = View::new(&X, &[3, 2]).unwrap().transposed();
        let w = View::new(&[1.0, 0.0, -1.0], &[3]).unwrap();
        assert_eq!(product(x, w).unwrap(), [-4.0, -4.0]);
        assert_eq!(combination(x, w).unwrap().sum, [-4.0, -4.0]);
    }

    #[test]
    fn a_weight_too_many_is_refused_with_both_sizes() {
        let x = View::new(&X, &[3, 2]).unwrap();
        let w = View::new(&X[..3], &[3]).unwrap();
        let expected = "linear: `w` has length 3, `X` has 2 columns; they must be equal";
        assert_eq!(product(x, w).unwrap_err().to_string(), expected);
        assert_eq!(combination(x, w).unwrap_err().to_string(), expected);
        let error = product(w, w).unwrap_err();
        assert_eq!(error.to_string(), "linear: `X` has shape (3,); expected 2 dimensions");
    }

    #[test]
    fn no_rows_give_nothing_and_no_columns_give_zeros() {
        let w = View::new(&X[..2], &[2]).unwrap();
        assert_eq!(product(View::new(&[], &[0, 2]).unwrap(), w).unwrap(), Vec::<f64>::new());
        let (none, empty) = (View::new(&[], &[2, 0]).unwrap(), View::new(&[], &[0]).unwrap());
        assert_eq!(product(none, empty).unwrap(), [0.0, 0.0]);
        assert_eq!(combination(none, empty).unwrap().sum, [0.0, 0.0]);
    }

    #[test]
    fn not_a_number_stays_in_its_own_row() {
        let data = [1.0, f64::NAN, 3.0, 4.0];
        let x = View::new(&data, &[2, 2]).unwrap();
        let w = View::new(&[1.0, 1.0], &[2]).unwrap();
        let sum = combination(x, w).unwrap().sum;
        assert!(sum[0].is_nan());
        assert_eq!(sum[1], 7.0);
        assert_eq!(product(x, w).unwrap()[1], 7.0);
    }
}
