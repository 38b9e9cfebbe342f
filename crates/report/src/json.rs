//! JSON that people can read too: one field a line, but short lists and small objects on one.

use serde::Serialize;
use serde_json::Value;

/// `value` as JSON, indented by two spaces and ending in a newline.
///
/// Numbers read back to the same bits. What cannot be written (a map with keys that are not strings) is an error; no
/// type of this workspace is such.
pub fn to_json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut out = String::new();
    write(&mut out, &serde_json::to_value(value)?, 0);
    out.push('\n');
    Ok(out)
}

fn write(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Array(items) if !items.is_empty() && !fits_a_line(value, depth) => {
            let items = items.iter().map(|item| (None, item));
            write_lines(out, ['[', ']'], items, depth);
        }
        Value::Object(fields) if !fields.is_empty() && !fits_a_line(value, depth) => {
            let fields = fields.iter().map(|(name, field)| (Some(name), field));
            write_lines(out, ['{', '}'], fields, depth);
        }
        short => write_inline(out, short),
    }
}

fn write_lines<'a>(
    out: &mut String,
    [open, close]: [char; 2],
    items: impl Iterator<Item = (Option<&'a String>, &'a Value)>,
    depth: usize,
) {
    out.push(open);
    for (at, (name, item)) in items.enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        if let Some(name) = name {
            out.push_str(&Value::from(name.as_str()).to_string());
            out.push_str(": ");
        }
        write(out, item, depth + 1);
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(close);
}

/// Lists and objects of a few fields go on one line up to the page's width.
fn fits_a_line(value: &Value, depth: usize) -> bool {
    fn length(value: &Value, left: usize) -> Option<usize> {
        match value {
            Value::Array(items) => items.iter().try_fold(2, |sum, item| {
                let length = length(item, left.checked_sub(sum)?)?;
                Some(sum + length + 2)
            }),
            // A page-high object would be unreadable on a line; one inside a list is a row of a table.
            Value::Object(fields) if fields.len() <= 4 => fields.iter().try_fold(2, |sum, (name, field)| {
                let length = length(field, left.checked_sub(sum)?)?;
                Some(sum + name.chars().count() + length + 6)
            }),
            Value::Object(_) => None,
            scalar => Some(scalar.to_string().chars().count()),
        }
    }
    let room = crate::WIDTH.saturating_sub(2 * depth + 16);
    length(value, room).is_some_and(|length| length <= room)
}

fn write_inline(out: &mut String, value: &Value) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write_inline(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) if !fields.is_empty() => {
            out.push('{');
            for (at, (name, field)) in fields.iter().enumerate() {
                out.push_str(if at == 0 { " " } else { ", " });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push_str(": ");
                write_inline(out, field);
            }
            out.push_str(" }");
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spanwise_lens::Array;

    #[test]
    fn numbers_read_back_to_the_same_bits() {
        let numbers = [0.1 + 0.2, 1e-300, f64::MAX, 5e-324, -0.0, 1.0 / 3.0];
        let text = to_json(&Array::vector(numbers.to_vec())).unwrap();
        let back: Vec<f64> = serde_json::from_str(&text).unwrap();
        assert!(back.iter().zip(&numbers).all(|(a, b)| a.to_bits() == b.to_bits()), "{text}");
    }

    #[test]
    fn arrays_are_nested_by_shape_and_odd_numbers_are_strings() {
        let array = Array::new(vec![1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY], &[2, 2]).unwrap();
        assert_eq!(to_json(&array).unwrap(), "[[1.0, \"NaN\"], [\"Infinity\", \"-Infinity\"]]\n");
        assert_eq!(to_json(&Array::new(vec![], &[2, 0]).unwrap()).unwrap(), "[[], []]\n");
    }

    #[test]
    fn long_lists_go_over_several_lines() {
        let array = Array::new(vec![0.125; 40], &[2, 20]).unwrap();
        let text = to_json(&array).unwrap();
        assert!(text.lines().count() > 20, "{text}");
        assert_eq!(serde_json::from_str::<Vec<Vec<f64>>>(&text).unwrap().len(), 2);
    }
}
