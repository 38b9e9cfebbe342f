//! Colours: ink on paper, and light on dark. Figures name them; pages and files give them.

use std::fmt::Write;

/// Whether a figure is dark on light or light on dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Ink on paper.
    #[default]
    Light,
    /// Light on dark.
    Dark,
}

/// How the classes of figures look, with colours by name.
pub(crate) const FIGURE_STYLE: &str = include_str!("figure.css");

/// Names and values, light then dark. Text colours have a contrast of at least 4.5 : 1 to the paper.
const COLOURS: [(&str, &str, &str); 13] = [
    ("--paper", "#fffdf8", "#161512"),
    ("--ink", "#1c1b18", "#ece8df"),
    ("--faint", "#625e55", "#a9a395"),
    ("--rule", "#d8d3c6", "#3d3a34"),
    ("--wash", "#f5f1e7", "#211f1b"),
    ("--accent", "#0b5cad", "#7fb9f2"),
    ("--serious", "#b3261e", "#ff8f80"),
    ("--caution", "#8a5200", "#eab24c"),
    // Parts of the reach bar: two hues that colour blindness keeps apart, each in two depths, and grey.
    ("--part1", "#0b5cad", "#3f8ad6"),
    ("--part2", "#6aa6dc", "#a3cdf5"),
    ("--part3", "#c98a1b", "#d99a2b"),
    ("--part4", "#f0c46c", "#f6d79a"),
    ("--part5", "#cfcabd", "#4d4a43"),
];

const SANS: &str = "Inter,system-ui,-apple-system,\"Segoe UI\",\"Helvetica Neue\",Arial,sans-serif";

impl Theme {
    pub(crate) fn colour(self, name: &str) -> &'static str {
        let found = COLOURS.iter().find(|colour| colour.0 == name);
        found.map_or("#808080", |colour| if self == Theme::Light { colour.1 } else { colour.2 })
    }

    /// The style of a file: colours written out, because pictures outside a page know no variables.
    pub(crate) fn style(self) -> String {
        let style = FIGURE_STYLE.replace("var(--sans)", SANS);
        COLOURS
            .iter()
            .fold(style, |style, (name, ..)| style.replace(&format!("var({name})"), self.colour(name)))
    }
}

/// The colours as variables of a page.
pub(crate) fn variables(theme: Theme) -> String {
    let mut text = format!("color-scheme:{}", if theme == Theme::Light { "light" } else { "dark" });
    for (name, ..) in COLOURS {
        let _ = write!(text, ";{name}:{}", theme.colour(name));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(hex: &str) -> f64 {
        let part = |at: usize| {
            let c = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn text_has_enough_contrast_on_paper_and_on_washed_rows() {
        for theme in [Theme::Light, Theme::Dark] {
            for name in ["--ink", "--faint", "--accent", "--serious", "--caution"] {
                for ground in ["--paper", "--wash"] {
                    let (a, b) = (luminance(theme.colour(name)), luminance(theme.colour(ground)));
                    let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                    assert!(contrast >= 4.5, "{name} on {ground}, {theme:?}: {contrast:.2}");
                }
            }
        }
    }

    #[test]
    fn files_know_every_colour() {
        for theme in [Theme::Light, Theme::Dark] {
            assert!(!theme.style().contains("var("), "{}", theme.style());
        }
    }
}
