//! One field of a record: where it ends, what it says.
//!
//! - An unquoted field ends before the next delimiter or line end; blanks around it do not belong to it.
//! - A quoted field may hold delimiters, line ends and doubled quotation marks; it is taken as it stands.
//! - A line ends with `\n` or `\r\n`. A `\r` elsewhere must be quoted: taken for a blank it would join two lines of a
//!   file whose lines end with `\r` alone.
//! - Missing are: nothing, `NA`, `N/A`, `None`, `null` and `NULL`, and `NaN` in any case, quoted or not.

use crate::QuoteProblem;
use memchr::memchr;
use std::borrow::Cow;

/// A field's text and the position of the delimiter, line end or end of the bytes behind it.
pub(super) struct Field<'a> {
    pub(super) text: Cow<'a, [u8]>,
    pub(super) end: usize,
}

/// The field that starts at `start`.
#[inline]
pub(super) fn field(bytes: &[u8], start: usize, delimiter: u8) -> Result<Field<'_>, QuoteProblem> {
    let rest = &bytes[start..];
    // Fields are short: a plain loop beats the start-up of a vectorised search.
    let stops = |&b: &u8| b == delimiter || matches!(b, b'\n' | b'\r' | b'"');
    let stop = rest.iter().position(stops).unwrap_or(rest.len());
    if rest.get(stop) != Some(&b'"') {
        let end = behind_returns(bytes, start + stop).ok_or(QuoteProblem::Return)?;
        return Ok(Field { text: Cow::Borrowed(trimmed(&rest[..stop])), end });
    }
    // Blanks before the opening mark are as common as they are meaningless.
    if trimmed(&rest[..stop]).is_empty() {
        quoted(bytes, start + stop, delimiter)
    } else {
        Err(QuoteProblem::Inside)
    }
}

/// The quoted field whose opening mark is at `open`.
fn quoted(bytes: &[u8], open: usize, delimiter: u8) -> Result<Field<'_>, QuoteProblem> {
    let start = open + 1;
    let mut unescaped: Option<Vec<u8>> = None;
    let mut from = start;
    loop {
        let mark = from + memchr(b'"', &bytes[from..]).ok_or(QuoteProblem::Unclosed)?;
        if bytes.get(mark + 1) == Some(&b'"') {
            // Two marks stand for one.
            unescaped.get_or_insert_default().extend_from_slice(&bytes[from..=mark]);
            from = mark + 2;
            continue;
        }
        let mut end = mark + 1;
        while bytes.get(end) == Some(&b' ') {
            end += 1;
        }
        end = behind_returns(bytes, end).ok_or(QuoteProblem::Return)?;
        if bytes.get(end).is_some_and(|&b| b != delimiter && b != b'\n') {
            return Err(QuoteProblem::TextAfter);
        }
        let text = match unescaped {
            Some(mut text) => {
                text.extend_from_slice(&bytes[from..mark]);
                Cow::Owned(text)
            }
            None => Cow::Borrowed(&bytes[start..mark]),
        };
        return Ok(Field { text, end });
    }
}

/// `at`, or the position behind the carriage returns there; `None` where neither `\n` nor the end follows those.
#[inline]
pub(super) fn behind_returns(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    while bytes.get(end) == Some(&b'\r') {
        end += 1;
    }
    (end == at || bytes.get(end).is_none_or(|&b| b == b'\n')).then_some(end)
}

/// Without the blanks around it; a quoted number may have a `\r` behind it.
#[inline]
fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r'] = text {
        text = rest;
    }
    text
}

/// Whether the text says that there is no value.
#[inline]
pub(crate) fn is_missing(text: &[u8]) -> bool {
    match text {
        b"" | b"NA" | b"N/A" | b"None" | b"null" | b"NULL" => true,
        [_, _, _] => text.eq_ignore_ascii_case(b"nan"),
        _ => false,
    }
}

/// The number that the text is; NaN where it is missing, `None` where it is something else.
#[inline]
pub(crate) fn number(text: &[u8]) -> Option<f64> {
    if is_missing(text) {
        return Some(f64::NAN);
    }
    // A quoted number may have blanks around it.
    let text = trimmed(text);
    let unsigned = match text {
        [b'+', rest @ ..] if !matches!(rest.first(), Some(b'+' | b'-')) => rest,
        _ => text,
    };
    fast_float2::parse(unsigned).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(String, usize), QuoteProblem> {
        field(line.as_bytes(), 0, b',').map(|f| (String::from_utf8(f.text.into_owned()).unwrap(), f.end))
    }

    #[test]
    fn fields_end_where_they_should() {
        for (line, text, end) in [
            ("abc,def", "abc", 3),
            (" a b \t,", "a b", 6),
            ("abc\r\n", "abc", 4),
            ("abc\r\r\n", "abc", 5),
            ("abc\r", "abc", 4),
            ("\"a\rb\",", "a\rb", 5),
            ("", "", 0),
            (",", "", 0),
            ("\"a,b\",c", "a,b", 5),
            ("\"a\nb\"\r\n", "a\nb", 6),
            ("\"say \"\"hi\"\"\" ,x", "say \"hi\"", 13),
            (" \" x \",", " x ", 6),
            ("\"\"", "", 2),
        ] {
            assert_eq!(read(line), Ok((text.to_owned(), end)), "{line:?}");
        }
    }

    #[test]
    fn broken_quotation_is_named() {
        assert_eq!(read("\"abc"), Err(QuoteProblem::Unclosed));
        assert_eq!(read("\"abc\"\"\n"), Err(QuoteProblem::Unclosed));
        assert_eq!(read("\"abc\"d,"), Err(QuoteProblem::TextAfter));
        assert_eq!(read("5\" pipe,"), Err(QuoteProblem::Inside));
        for line in ["2\r3,4", "2\r,", "\"2\"\r3", "\"2\"\r,", "\r\"2\"", "2\r \n"] {
            assert_eq!(read(line), Err(QuoteProblem::Return), "{line:?}");
        }
    }

    #[test]
    fn numbers_missing_values_and_text_are_told_apart() {
        for (text, value) in
            [("1", 1.0), ("+1.5e3", 1500.0), ("-.5", -0.5), ("5.", 5.0), ("-inf", f64::NEG_INFINITY)]
        {
            assert_eq!(number(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["", "NA", "N/A", "None", "nan", "NaN", "NAN", "null", "NULL"] {
            assert!(number(text.as_bytes()).unwrap().is_nan(), "{text}");
        }
        for text in ["?", "a", "1,5", "1 2", "0x10", "--1", "+-1", "++1", "1_000", "na", "none", "-"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }
}
