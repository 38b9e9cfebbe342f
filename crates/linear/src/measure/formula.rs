//! How a dependency is written down, whoever found it.

/// Column `column` is `Σ coefficient · column + constant`.
#[derive(Clone, Copy)]
pub(crate) struct Formula<'a> {
    pub(crate) column: usize,
    pub(crate) constant: f64,
    pub(crate) terms: &'a [(usize, f64)],
    /// Whether every number is a short one with which the formula was verified.
    pub(crate) exact: bool,
}

/// A short number near `c`: an integer, a decimal of up to four digits, or a fraction with a denominator up to 12.
/// `None` where there is none within a millionth: whether it may replace `c` must be verified by the caller.
pub(crate) fn short_number(c: f64) -> Option<f64> {
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

impl Formula<'_> {
    /// `name = coefficient·name - … + constant`; `≈` where a number is shown rounded.
    pub(crate) fn written<S: AsRef<str>>(&self, names: &[S]) -> String {
        let name =
            |j: usize| names.get(j).map_or_else(|| format!("x[{j}]"), |name| name.as_ref().to_string());
        let term = |&(j, c): &(usize, f64)| {
            let size = c.abs();
            let text = if size == 1.0 { name(j) } else { format!("{}·{}", number(size), name(j)) };
            (c < 0.0, text)
        };
        let constant = (self.constant != 0.0 || self.terms.is_empty())
            .then(|| (self.constant < 0.0, number(self.constant.abs())));
        let mut right = String::new();
        for (at, (negative, text)) in self.terms.iter().map(term).chain(constant).enumerate() {
            right.push_str(match (at, negative) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            });
            right.push_str(&text);
        }
        let sign = if self.exact { '=' } else { '≈' };
        format!("{} {sign} {right}", name(self.column))
    }
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
        let terms = [(0, 1.0), (1, -2.5), (2, 1.0 / 3.0)];
        let formula = Formula { column: 3, constant: -1.0, terms: &terms, exact: true };
        assert_eq!(formula.written(&["a", "b", "c", "d"]), "d = a - 2.5·b + 1/3·c - 1");
        let near = Formula { terms: &[(0, -std::f64::consts::PI)], constant: 0.0, exact: false, ..formula };
        assert_eq!(near.written::<&str>(&[]), "x[3] ≈ -3.14159·x[0]");
        let zero = Formula { terms: &[], exact: true, ..near };
        assert_eq!(zero.written(&["a"]), "x[3] = 0");
    }
}
