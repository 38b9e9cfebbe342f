//! Numbers with commas in them, which no number that is read has.

/// How to write a number for which [`has_comma`] holds.
pub const COMMA_HINT: &str = "write 3.14 for 3,14 and 1234 for 1,234";

/// Whether the text is a number but for its commas: decimals behind one, as in `3,14`, or thousands between them, as in
/// `1,234,567.8`; also `1.234,5`, where the two marks have changed places.
pub fn has_comma(text: &str) -> bool {
    let text = text.trim();
    let is_finite = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    let has_thousands = |mark: char, point: char| {
        let whole = text.split(point).next().unwrap_or_default();
        is_grouped(whole, mark) && is_finite(&text.replace(mark, "").replace(point, "."))
    };
    match text.matches(',').count() {
        0 => false,
        1 => is_finite(&text.replace(',', ".")) || has_thousands(',', '.') || has_thousands('.', ','),
        _ => has_thousands(',', '.'),
    }
}

/// Whether marks cut the whole number into thousands: one to three digits, then threes.
fn is_grouped(whole: &str, mark: char) -> bool {
    let digits = whole.strip_prefix(['+', '-']).unwrap_or(whole);
    let mut groups = digits.split(mark);
    let first = groups.next().unwrap_or_default();
    let is_number = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&first.len())
        && is_number(first)
        && digits.contains(mark)
        && groups.all(|group| group.len() == 3 && is_number(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_and_thousands_are_told_from_lists_and_words() {
        for text in
            ["3,14", " -0,5 ", "1,234", "1,234,567", "+1,234.5", "1.234,5", "1.234.567,25", "12,5e3", ",5"]
        {
            assert!(has_comma(text), "{text:?}");
        }
        for text in
            ["3.14", "1234", "1,2,3", "12,34,567", "1,2345,678", "a,b", "Oslo, 3", ",", "1,,2", "inf", ""]
        {
            assert!(!has_comma(text), "{text:?}");
        }
    }
}
