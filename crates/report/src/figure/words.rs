//! Numbers and names as figures write them, and how wide they are.

/// Four significant digits; powers of ten beyond six places.
pub(crate) fn short(value: f64) -> String {
    significant(value, 4)
}

/// `digits` significant digits, trailing zeros left off.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    let size = value.abs();
    if value.is_nan() {
        return "not a number".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    if size == 0.0 {
        return "0".to_owned();
    }
    let text = if (1e-3..1e7).contains(&size) {
        let whole = size.log10().floor() as i32 + 1;
        let decimals = (digits as i32 - whole).max(0) as usize;
        trimmed(&format!("{size:.decimals$}"))
    } else {
        let text = format!("{size:.*e}", digits.saturating_sub(1).min(3));
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        let (mantissa, power) = (trimmed(mantissa), raised(power));
        if mantissa == "1" { format!("10{power}") } else { format!("{mantissa}·10{power}") }
    };
    if value < 0.0 { format!("−{text}") } else { text }
}

/// A number as marks carry it: ten significant digits, in the form programs read.
pub(crate) fn plain(value: f64) -> String {
    format!("{value:.9e}").parse::<f64>().unwrap_or(value).to_string()
}

/// A share of 1 in per cent, with at least two digits.
pub(crate) fn percent(share: f64) -> String {
    let hundred = share * 100.0;
    let text = match hundred.abs() {
        size if !size.is_finite() => short(hundred),
        0.0 => "0".to_owned(),
        size if size < 0.01 => significant(hundred, 2),
        size if size < 10.0 => significant(hundred, 2),
        size if size > 99.9 && size < 100.0 => significant(hundred, 5),
        _ => significant(hundred, 3),
    };
    format!("{text}\u{a0}%")
}

/// A number cut where certainty ends: the digits that are known, and those written but not known. At most `limit`
/// significant digits are written, and at most two that are not known.
pub(crate) fn certified(value: f64, digits: Option<f64>, limit: usize) -> (String, String) {
    let Some(digits) = digits.filter(|digits| digits.is_finite() && value.is_finite() && value != 0.0) else {
        return (significant(value, limit.min(5)), String::new());
    };
    let known = digits.clamp(0.0, 40.0).floor() as usize;
    let written = (known + 2).clamp(3, limit);
    let size = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    let (text, tail) = if (1e-5..1e10).contains(&size) {
        let whole = size.log10().floor() as i32 + 1;
        (format!("{size:.*}", (written as i32 - whole).max(0) as usize), String::new())
    } else {
        let text = format!("{size:.*e}", written - 1);
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        (mantissa.to_owned(), format!("·10{}", raised(power)))
    };
    let mut seen = 0;
    let cut = text.char_indices().find_map(|(at, c)| {
        seen += usize::from(c.is_ascii_digit() && (seen > 0 || c != '0'));
        (seen > known).then_some(at)
    });
    let (sure, unsure) = text.split_at(cut.unwrap_or(text.len()));
    // Without a single known digit the sign is no more certain than the rest.
    if known == 0 {
        return (String::new(), format!("{sign}{text}{tail}"));
    }
    (format!("{sign}{sure}"), format!("{unsure}{tail}"))
}

pub(crate) fn raised(power: &str) -> String {
    power
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            '0' | '4'..='9' => char::from_u32(0x2070 + c as u32 - '0' as u32).unwrap_or(c),
            c => c,
        })
        .collect()
}

fn trimmed(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

/// How many pixels `text` takes at 12 pixels, from the widths of a common sans serif, a little on the wide side.
pub(crate) fn width(text: &str) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | '’' | ' ' | '\u{a0}' | '·' => 0.29,
        'f' | 't' | 'r' | '(' | ')' | '-' | '/' | '[' | ']' | '⁻' | '⁰'..='⁹' | '¹' | '²' | '³' => {
            0.40
        }
        'm' | 'w' | 'M' | 'W' | '%' | '…' => 0.92,
        'A'..='Z' => 0.70,
        'a'..='z' | '0'..='9' => 0.59,
        '\u{1100}'.. if c >= '\u{2e80}' => 1.0,
        _ => 0.64,
    };
    12.5 * text.chars().map(em).sum::<f64>()
}

/// `text` cut to `room` pixels, with an ellipsis for its middle: the ends of names tell them apart.
pub(crate) fn fitted(text: &str, room: f64) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let tail = (letters.len() / 3).min(7);
    let end: String = letters[letters.len() - tail..].iter().collect();
    let cut = |kept: usize| {
        let start: String = letters[..kept].iter().collect();
        format!("{}…{}", start.trim_end(), end.trim_start())
    };
    let kept = (1..letters.len() - tail).rev().find(|&kept| width(&cut(kept)) <= room);
    kept.map_or("…".to_owned(), cut)
}

/// Words over as many lines as `room` asks for.
pub(crate) fn wrapped(text: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + width(" ") + width(word) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (-3.25, "−3.25"),
            (65_317.2, "65317"),
            (1e-9, "10⁻⁹"),
            (-2.5e12, "−2.5·10¹²"),
            (0.000_123_4, "1.234·10⁻⁴"),
            (f64::NAN, "not a number"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!(percent(0.1234), "12.3\u{a0}%");
        assert_eq!(percent(0.00217), "0.22\u{a0}%");
        assert_eq!(percent(0.999_53), "99.953\u{a0}%");
    }

    #[test]
    fn certain_digits_end_where_they_end() {
        let parts = |value, digits| certified(value, digits, 12);
        assert_eq!(parts(-3_482_258.634_6, Some(4.2)), ("−3482".into(), "259".into()));
        assert_eq!(parts(0.012_345_6, Some(2.0)), ("0.012".into(), "35".into()));
        assert_eq!(parts(12.5, Some(0.0)), (String::new(), "12.5".into()));
        assert_eq!(parts(1.5e-9, Some(3.0)), ("1.50".into(), "00·10⁻⁹".into()));
        assert_eq!(parts(2.0, None), ("2".into(), String::new()));
    }

    #[test]
    fn long_names_are_cut_and_long_words_wrapped() {
        let name = "a_rather_long_column_name_indeed";
        assert!(width(&fitted(name, 90.0)) <= 90.0);
        assert!(fitted(name, 90.0).ends_with("_indeed"), "{}", fitted(name, 90.0));
        assert_eq!(fitted("gnp", 90.0), "gnp");
        assert_eq!(fitted("gnp", 1.0), "…");
        assert!(wrapped("one two three four five six", 60.0).len() > 1);
    }
}
