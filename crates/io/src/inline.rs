//! Small matrices written on the command line: `1,0;0,1`.

use crate::csv::field::{is_missing, number};
use crate::{IoError, Place, Tensor};

/// Reads rows separated by `;` and numbers separated by `,` or blanks; the result has two dimensions. Words for a missing value
/// (`NA`, `None`, `null`) become NaN, as in a table.
///
/// ```
/// let x = spanwise_io::parse_matrix("1,0; 0,1; 1,1")?;
/// assert_eq!(x.dims(), [3, 2]);
/// let error = spanwise_io::parse_matrix("1,0;0").unwrap_err();
/// assert_eq!(error.to_string(), "inline:2:2: found 1 field; the first row has 2");
/// # Ok::<(), spanwise_io::IoError>(())
/// ```
pub fn parse_matrix(text: &str) -> Result<Tensor, IoError> {
    parse(text, false)
}

/// The same, where words for a missing value are refused, as they are in a file that is read as an array. `nan` is a number here, as it
/// is in a file of arrays.
pub fn parse_array(text: &str) -> Result<Tensor, IoError> {
    parse(text, true)
}

fn parse(text: &str, complete: bool) -> Result<Tensor, IoError> {
    let file = Place::file("inline");
    let text = text.trim().trim_end_matches(';');
    if text.is_empty() {
        return Err(IoError::Empty { at: file });
    }
    let mut values = Vec::new();
    let mut width = 0;
    let mut rows = 0;
    for row in text.split(';') {
        rows += 1;
        let fields = fields(row);
        if rows == 1 {
            width = fields.len();
        }
        if fields.len() != width {
            let at = file.row(rows as u64).column(fields.len().min(width) + 1);
            return Err(IoError::Ragged { at, found: fields.len(), expected: width });
        }
        for (column, field) in fields.into_iter().enumerate() {
            let at = || file.clone().row(rows as u64).column(column + 1);
            let value = number(field.as_bytes())
                .filter(|_| !field.is_empty())
                .ok_or_else(|| IoError::NotANumber { at: at(), found: field.chars().take(40).collect() })?;
            if complete && is_missing(field.as_bytes()) && !field.eq_ignore_ascii_case("nan") {
                return Err(IoError::MissingValue { at: at() });
            }
            values.push(value);
        }
    }
    Tensor::new(values, &[rows, width]).map_err(|source| IoError::Shape { at: file, source })
}

/// Separated by commas where there are any, otherwise by blanks.
fn fields(row: &str) -> Vec<&str> {
    if row.contains(',') { row.split(',').map(str::trim).collect() } else { row.split_whitespace().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_or_blanks_separate_numbers() {
        for text in ["1,2;3,4", " 1 2 ; 3 4 ", "1, 2; 3, 4;"] {
            assert_eq!(parse_matrix(text).unwrap().to_f64_vec(), [1.0, 2.0, 3.0, 4.0], "{text}");
        }
        assert_eq!(parse_matrix("-1e3").unwrap().dims(), [1, 1]);
    }

    #[test]
    fn what_is_no_number_is_located() {
        let message = |text| parse_matrix(text).unwrap_err().to_string();
        assert_eq!(message("1,a"), "inline:1:2: found \"a\"; a number is needed");
        assert_eq!(message("1,2;3,"), "inline:2:2: found \"\"; a number is needed");
        assert_eq!(message(" ; "), "inline: the file is empty");
        assert_eq!(message("1;;2"), "inline:2:1: found 0 fields; the first row has 1");
    }

    #[test]
    fn an_array_has_no_missing_values_and_may_have_nan() {
        for missing in ["1,NA", "1,null", "1,N/A", "1,None"] {
            assert!(parse_matrix(missing).unwrap().to_f64_vec()[1].is_nan(), "{missing}");
            let message = parse_array(missing).unwrap_err().to_string();
            assert_eq!(message, "inline:1:2: the value is missing; an array needs a number in every place");
        }
        assert!(parse_array("1,NaN").unwrap().to_f64_vec()[1].is_nan());
    }
}
