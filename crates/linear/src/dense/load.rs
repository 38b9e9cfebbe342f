//! From a view of any storage type and strides to rows of f64, values checked on the way.

use crate::LinearError;
use crate::check::Argument;
use spanwise_kernels::{Element, Matrix, View};

/// A copy of `x` (n × p) in f64. Refuses other ranks, NaN and infinity.
pub(crate) fn load<T: Element>(argument: Argument, x: &View<'_, T>) -> Result<Matrix, LinearError> {
    let (rows, cols) = argument.matrix(x)?;
    let mut out = Matrix::zeros(rows, cols);
    load_rows(argument, x, 0, out.as_mut_slice())?;
    Ok(out)
}

/// A copy of `v` (n) in f64. Refuses other ranks, NaN and infinity.
pub(crate) fn load_vector<T: Element>(argument: Argument, v: &View<'_, T>) -> Result<Vec<f64>, LinearError> {
    argument.vector(v)?;
    argument.finite(v)?;
    Ok(v.to_f64_vec())
}

/// Rows `first..` of `x` (n × p), as many as `out` holds, row after row.
pub(crate) fn load_rows<T: Element>(
    argument: Argument,
    x: &View<'_, T>,
    first: usize,
    out: &mut [f64],
) -> Result<(), LinearError> {
    let (_, cols) = argument.matrix(x)?;
    if cols == 0 || out.is_empty() {
        return Ok(());
    }
    let columns = x.transposed();
    if cols > 1 && columns.row(&[0]).is_some() && x.row(&[first]).is_none() {
        // Columns lie without gaps: read down each of them.
        for j in 0..cols {
            let column = columns.row(&[j]).unwrap_or_default();
            for (row, value) in out.chunks_exact_mut(cols).zip(&column[first..]) {
                row[j] = value.to_f64();
            }
        }
    } else {
        for (i, row) in out.chunks_exact_mut(cols).enumerate() {
            if let Some(source) = x.row(&[first + i]) {
                row.iter_mut().zip(source).for_each(|(to, from)| *to = from.to_f64());
            } else if let Some(source) = x.at(first + i) {
                row.iter_mut().zip(source.iter()).for_each(|(to, from)| *to = from.to_f64());
            }
        }
    }
    // One comparison per value, no early exit: this vectorises. The place is looked for only where there is one.
    if out.iter().fold(0.0, |sum, value| sum + value * 0.0) == 0.0 {
        return Ok(());
    }
    match out.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(argument.not_finite(first + at / cols, at % cols, out[at])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::argument;

    const X: Argument = argument("test", "X");

    #[test]
    fn every_layout_loads_the_same_rows() {
        let data: Vec<f64> = (0..24).map(f64::from).collect();
        let plain = View::new(&data, &[6, 4]).unwrap();
        let columns: Vec<f64> = plain.transposed().to_vec();
        let by_columns = View::new(&columns, &[4, 6]).unwrap().transposed();
        let gapped: Vec<f64> = data.iter().flat_map(|&x| [x, -1.0]).collect();
        let strided = View::strided(&gapped, 0, &[6, 4], &[8, 2]).unwrap();
        for view in [plain, by_columns, strided] {
            assert_eq!(load(X, &view).unwrap().as_slice(), data);
            let mut two = [0.0; 8];
            load_rows(X, &view, 3, &mut two).unwrap();
            assert_eq!(two, data[12..20]);
        }
        let narrow: Vec<f32> = data.iter().map(|&x| x as f32).collect();
        assert_eq!(load(X, &View::new(&narrow, &[6, 4]).unwrap()).unwrap().as_slice(), data);
    }

    #[test]
    fn a_value_that_is_no_number_is_named_by_row_and_column() {
        let mut data = [0.0; 6];
        data[5] = f64::NAN;
        let error = load(X, &View::new(&data, &[3, 2]).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "test: `X` holds NaN at row 2, column 1; expected finite numbers");
        data[5] = f64::NEG_INFINITY;
        assert!(load(X, &View::new(&data, &[3, 2]).unwrap().transposed()).is_err());
        assert!(load_vector(X, &View::new(&data, &[6]).unwrap()).is_err());
    }
}
