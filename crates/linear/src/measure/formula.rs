//! How a dependency is written down.

use super::Dependency;

/// A short number near `c`: an integer, a decimal of up to four digits, or a fraction with a denominator up to 12.
/// `None` where there is none within a millionth: whether it may replace `c` must be verified by the caller.
pub(super) fn short_number(c: f64) -> Option<f64> {
    if c == 0.0 {
        return Some(0.0);
    }
    let near = |short: f64| (short != 0.0 && (short - c).abs() <= 1e-6 * c.abs()).then_some(short);
    let digits = 3 - c.abs().log10().floor() as i32;
    let decimal = || -> Option<f64> {
        let text = format!("{c:.3e}");
        text.parse().ok().and_then(near)
    };
    let fraction = || (2..=12).find_map(|over: u8| near((c * f64::from(over)).round() / f64::from(over)));
    let integer = || if digits < 16 { near(c.round()) } else { None };
    integer().or_else(decimal).or_else(fraction)
}

/// `name = constant + coefficient*name − …`.
pub(super) fn written<S: AsRef<str>>(dependency: &Dependency, names: &[S]) -> String {
    let name = |j: usize| names.get(j).map_or_else(|| format!("x{j}"), |name| name.as_ref().to_string());
    let mut parts: Vec<(bool, String)> = Vec::new();
    if dependency.constant != 0.0 {
        parts.push((dependency.constant < 0.0, number(dependency.constant.abs())));
    }
    for &(j, c) in &dependency.terms {
        let size = c.abs();
        let text = if size == 1.0 { name(j) } else { format!("{}*{}", number(size), name(j)) };
        parts.push((c < 0.0, text));
    }
    let mut right = String::new();
    for (at, (negative, text)) in parts.iter().enumerate() {
        right.push_str(match (at, negative) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => " + ",
            (_, true) => " - ",
        });
        right.push_str(text);
    }
    if right.is_empty() {
        right.push('0');
    }
    let sign = if dependency.exact { '=' } else { '≈' };
    format!("{} {sign} {right}", name(dependency.column))
}

/// Six significant digits at most; fractions of small integers as fractions.
fn number(x: f64) -> String {
    let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    if rounded == x || !x.is_finite() {
        return plain(x);
    }
    for over in 2..=12_u8 {
        let top = (x * f64::from(over)).round();
        if top / f64::from(over) == x && top < 1000.0 {
            return format!("{top}/{over}");
        }
    }
    plain(rounded)
}

/// Without an exponent where that stays readable.
fn plain(x: f64) -> String {
    if x == 0.0 || (1e-5..1e15).contains(&x.abs()) { format!("{x}") } else { format!("{x:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_are_found_only_near() {
        assert_eq!(short_number(2.000_000_000_1), Some(2.0));
        assert_eq!(short_number(-0.25), Some(-0.25));
        assert_eq!(short_number(0.333_333_333_3), Some(1.0 / 3.0));
        assert_eq!(short_number(2.01), Some(2.01));
        assert_eq!(short_number(std::f64::consts::PI), None);
        assert_eq!(short_number(1e-12 * 1.000_000_000_1), Some(1e-12));
        assert_eq!(short_number(0.0), Some(0.0));
    }

    #[test]
    fn formulas_read_like_formulas() {
        let dependency = Dependency {
            column: 3,
            constant: -1.0,
            terms: vec![(0, 1.0), (1, -2.5), (2, 1.0 / 3.0)],
            residual: 0.0,
            exact: true,
        };
        assert_eq!(dependency.formula(&["a", "b", "c", "d"]), "d = -1 + a - 2.5*b + 1/3*c");
        let near =
            Dependency { terms: vec![(0, std::f64::consts::PI)], constant: 0.0, exact: false, ..dependency };
        assert_eq!(near.formula::<&str>(&[]), "x3 ≈ 3.14159*x0");
        let zero = Dependency { terms: Vec::new(), exact: true, ..near };
        assert_eq!(zero.formula(&["a"]), "x3 = 0");
    }
}
