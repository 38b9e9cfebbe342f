//! How one number is written.

/// Eight decimals with trailing zeros left off, so that integers are plain; powers of ten where those would hide the
/// number or fill the line.
pub fn number_text(value: f64) -> String {
    let size = value.abs();
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        _ if value.is_infinite() => if value > 0.0 { "∞" } else { "-∞" }.to_owned(),
        _ if size == 0.0 => "0".to_owned(),
        _ if size.fract() == 0.0 && size < 1e12 => format!("{value:.0}"),
        _ if (1e-4..1e8).contains(&size) => trimmed(&format!("{value:.8}")).to_owned(),
        _ => {
            let text = format!("{value:.8e}");
            match text.split_once('e') {
                Some((digits, exponent)) => format!("{}e{exponent}", trimmed(digits)),
                None => text,
            }
        }
    }
}

/// Two digits: what is needed of a residual.
pub(crate) fn residual_text(value: f64) -> String {
    match value {
        _ if !value.is_finite() => number_text(value),
        0.0 => "0".to_owned(),
        1.0 => "1".to_owned(),
        _ => format!("{value:.1e}"),
    }
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// `[0, 2, 4]`, nested for more dimensions; `None` beyond `limit` characters.
pub(crate) fn inline(array: &spanwise_lens::Array, limit: usize) -> Option<String> {
    if array.data().len() > limit {
        return None;
    }
    let text = nested(array.data(), array.dims());
    (text.chars().count() <= limit).then_some(text)
}

fn nested(data: &[f64], dims: &[usize]) -> String {
    let Some((&n, rest)) = dims.split_first() else {
        return number_text(data[0]);
    };
    let step = rest.iter().product::<usize>();
    let parts: Vec<String> = (0..n).map(|i| nested(&data[i * step..(i + 1) * step], rest)).collect();
    format!("[{}]", parts.join(", "))
}

/// `(3, 2)`, `(3,)`, `()`: as Python writes it.
pub(crate) fn shape_text(dims: &[usize]) -> String {
    match dims {
        [n] => format!("({n},)"),
        _ => format!("({})", dims.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_plain_and_fractions_have_eight_decimals_at_most() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (4.0, "4"),
            (-1.0, "-1"),
            (0.5, "0.5"),
            (0.401_112_092_957_938_9, "0.40111209"),
            (1.000_000_000_000_000_2, "1"),
            (1_000_000.0, "1000000"),
        ] {
            assert_eq!(number_text(value), text);
        }
    }

    #[test]
    fn very_small_and_very_large_numbers_keep_their_digits() {
        assert_eq!(number_text(1.5e-9), "1.5e-9");
        assert_eq!(number_text(-2.220_446_049_250_313e-16), "-2.22044605e-16");
        assert_eq!(number_text(1e300), "1e300");
        assert_eq!(number_text(f64::NAN), "NaN");
        assert_eq!(number_text(f64::NEG_INFINITY), "-∞");
    }
}
