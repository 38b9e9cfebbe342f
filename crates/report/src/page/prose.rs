//! Sentences of findings as HTML: names between backticks become code.

use crate::figure::escaped;

pub(crate) fn prose(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    // An odd number of backticks has no pairs to trust.
    if pieces.len().is_multiple_of(2) {
        return escaped(text);
    }
    let piece = |(i, piece): (usize, &&str)| {
        if i % 2 == 1 { format!("<code>{}</code>", escaped(piece)) } else { escaped(piece) }
    };
    pieces.iter().enumerate().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_code_and_nothing_escapes() {
        assert_eq!(prose("`a<b` adds & `c`"), "<code>a&lt;b</code> adds &amp; <code>c</code>");
        assert_eq!(prose("a ` alone"), "a ` alone");
    }
}
