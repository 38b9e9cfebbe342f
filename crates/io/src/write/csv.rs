//! Tables and matrices as comma-separated values.

use crate::table::{Table, Values};
use std::fmt::Write as _;
use std::io::{self, Write};

/// One record per row, without a header.
pub(super) fn write_matrix(
    sink: &mut impl Write,
    values: &[f64],
    rows: usize,
    width: usize,
) -> io::Result<()> {
    let mut line = String::new();
    for row in 0..rows {
        line.clear();
        for (j, &value) in values[row * width..(row + 1) * width].iter().enumerate() {
            if j > 0 {
                line.push(',');
            }
            push_number(&mut line, value, width == 1);
        }
        line.push('\n');
        sink.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// A header, then one record per row.
pub(super) fn write_table(sink: &mut impl Write, table: &Table) -> io::Result<()> {
    let mut line = String::new();
    for (j, name) in table.names().enumerate() {
        if j > 0 {
            line.push(',');
        }
        push_text(&mut line, name);
    }
    line.push('\n');
    sink.write_all(line.as_bytes())?;
    let alone = table.columns().len() == 1;
    for row in 0..table.rows() {
        line.clear();
        for (j, column) in table.columns().iter().enumerate() {
            if j > 0 {
                line.push(',');
            }
            match &column.values {
                Values::Numbers(numbers) => push_number(&mut line, numbers[row], alone),
                Values::Categories(categories) => match categories.get(row) {
                    Some(text) => push_text(&mut line, text),
                    None => push_missing(&mut line, alone),
                },
            }
        }
        line.push('\n');
        sink.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// In a table of one column an empty field would make a blank line, which readers skip.
fn push_missing(line: &mut String, alone: bool) {
    if alone {
        line.push_str("\"\"");
    }
}

/// The shortest text that reads as the same number; very large and very small ones with an exponent.
fn push_number(line: &mut String, value: f64, alone: bool) {
    let magnitude = value.abs();
    if value.is_nan() {
        push_missing(line, alone);
    } else if magnitude == 0.0 || magnitude.is_infinite() || (1e-5..1e16).contains(&magnitude) {
        line.push_str(&value.to_string());
    } else {
        // Writing to a string cannot fail.
        let _ = write!(line, "{value:e}");
    }
}

/// In quotation marks where a reader would otherwise see something else.
fn push_text(line: &mut String, text: &str) {
    let special = text.contains([',', '"', '\n', '\r']) || text.trim() != text || text.is_empty();
    if special {
        line.push('"');
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_read_back_exactly() {
        for (value, expected) in [
            (0.1, "0.1"),
            (-2.0, "-2"),
            (1e300, "1e300"),
            (1.5e-7, "1.5e-7"),
            (f64::INFINITY, "inf"),
            (f64::NAN, ""),
        ] {
            let mut line = String::new();
            push_number(&mut line, value, false);
            assert_eq!(line, expected);
        }
    }

    #[test]
    fn text_is_quoted_only_where_it_must_be() {
        for (text, expected) in
            [("plain text", "plain text"), ("a,b", "\"a,b\""), ("\"", "\"\"\"\""), (" x", "\" x\"")]
        {
            let mut line = String::new();
            push_text(&mut line, text);
            assert_eq!(line, expected);
        }
    }
}
