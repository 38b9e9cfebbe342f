//! Sentences of findings as HTML: names between backticks become code, `4.9e9` becomes 4.9·10⁹.

use crate::figure::{escaped, raised};

pub(crate) fn prose(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    // An odd number of backticks has no pairs to trust.
    if pieces.len().is_multiple_of(2) {
        return escaped(text);
    }
    let piece = |(i, piece): (usize, &&str)| {
        if i % 2 == 1 { format!("<code>{}</code>", escaped(piece)) } else { escaped(&powers(piece)) }
    };
    pieces.iter().enumerate().map(piece).collect()
}

/// Powers of ten as they are printed.
fn powers(text: &str) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('e') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let minus = usize::from(after.starts_with('-'));
        let digits = after[minus..].bytes().take_while(u8::is_ascii_digit).count();
        let ends = !after[minus + digits..].starts_with(char::is_alphanumeric);
        if before.ends_with(|c: char| c.is_ascii_digit()) && digits > 0 && ends {
            written.push_str(before);
            written.push_str("·10");
            written.push_str(&raised(&after[..minus + digits]));
            rest = &after[minus + digits..];
        } else {
            written.push_str(&rest[..=at]);
            rest = after;
        }
    }
    written + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_code_and_nothing_escapes() {
        assert_eq!(prose("`a<b` adds & `c`"), "<code>a&lt;b</code> adds &amp; <code>c</code>");
        assert_eq!(prose("a ` alone"), "a ` alone");
    }

    #[test]
    fn powers_of_ten_are_raised_outside_names() {
        assert_eq!(prose("of 4.9e9 and −6.8e-4·`x1e5`."), "of 4.9·10⁹ and −6.8·10⁻⁴·<code>x1e5</code>.");
        assert_eq!(prose("the 3 elements, 5e, e7, 1e5b"), "the 3 elements, 5e, e7, 1e5b");
    }
}
