//! The pen: writes SVG elements, and remembers where the numbers are.
//!
//! Elements carry classes of `figure.css` and no colours of their own, so that one drawing serves both themes. Marks are the
//! places that answer when pointed at: each has a value for every field of the figure.

use super::raster::Raster;
use std::fmt::Write;

/// A place in the drawing, in pixels from its upper left corner.
pub(crate) type At = (f64, f64);

/// A rectangle: left, top, width, height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rect {
    pub(crate) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    pub(crate) fn overlaps(&self, other: &Rect) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }

    pub(crate) fn contains(&self, other: &Rect) -> bool {
        self.x <= other.x
            && self.y <= other.y
            && other.right() <= self.right()
            && other.bottom() <= self.bottom()
    }
}

/// Which part of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// What a figure says where it is pointed at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    pub(crate) at: At,
    /// One per field; numbers in full.
    pub(crate) values: Vec<String>,
}

/// What the marks of a figure tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) numeric: bool,
}

/// A picture in the picture.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "png"), expect(dead_code, reason = "only PNG files paint cells themselves"))]
pub(crate) struct Placed {
    pub(crate) area: Rect,
    pub(crate) raster: Raster,
}

/// Draws elements one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pen {
    pub(crate) body: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) rasters: Vec<Placed>,
}

impl Pen {
    /// Says what marks will tell: names of words, then names of numbers.
    pub(crate) fn fields(&mut self, words: &[&str], numbers: &[&str]) {
        let field = |numeric| move |name: &&str| Field { name: (*name).to_owned(), numeric };
        self.fields.extend(words.iter().map(field(false)));
        self.fields.extend(numbers.iter().map(field(true)));
    }

    pub(crate) fn mark(&mut self, at: At, values: Vec<String>) {
        if at.0.is_finite() && at.1.is_finite() {
            self.marks.push(Mark { at, values });
        }
    }

    pub(crate) fn line(&mut self, class: &str, from: At, to: At) {
        self.polyline(class, &[from, to]);
    }

    pub(crate) fn polyline(&mut self, class: &str, points: &[At]) {
        let mut data = String::new();
        for (i, point) in points.iter().enumerate() {
            let _ = write!(data, "{}{} {}", if i == 0 { 'M' } else { 'L' }, px(point.0), px(point.1));
        }
        self.path(class, &data);
    }

    pub(crate) fn polygon(&mut self, class: &str, points: &[At]) {
        let mut data = String::new();
        for (i, point) in points.iter().enumerate() {
            let _ = write!(data, "{}{} {}", if i == 0 { 'M' } else { 'L' }, px(point.0), px(point.1));
        }
        data.push('Z');
        self.path(class, &data);
    }

    /// Many dots as one element: lines without length and with round ends.
    pub(crate) fn dots(&mut self, class: &str, points: &[At]) {
        let mut data = String::new();
        for point in points {
            let _ = write!(data, "M{} {}h0", px(point.0), px(point.1));
        }
        self.path(class, &data);
    }

    pub(crate) fn path(&mut self, class: &str, data: &str) {
        if !data.is_empty() {
            let _ = writeln!(self.body, r#"<path class="{class}" d="{data}"/>"#);
        }
    }

    pub(crate) fn circle(&mut self, class: &str, at: At, radius: f64) {
        let (x, y, r) = (px(at.0), px(at.1), px(radius));
        let _ = writeln!(self.body, r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"/>"#);
    }

    pub(crate) fn diamond(&mut self, class: &str, (x, y): At, r: f64) {
        self.polygon(class, &[(x, y - r), (x + r, y), (x, y + r), (x - r, y)]);
    }

    pub(crate) fn rect(&mut self, class: &str, area: Rect) {
        self.filled(class, "", area);
    }

    /// A rectangle in a colour that means a number and is the same in every theme.
    pub(crate) fn filled(&mut self, class: &str, colour: &str, area: Rect) {
        let (x, y, w, h) = (px(area.x), px(area.y), px(area.width.max(0.0)), px(area.height.max(0.0)));
        let fill = if colour.is_empty() { String::new() } else { format!(r#" fill="{colour}""#) };
        let _ =
            writeln!(self.body, r#"<rect class="{class}"{fill} x="{x}" y="{y}" width="{w}" height="{h}"/>"#);
    }

    pub(crate) fn text(&mut self, class: &str, at: At, anchor: Anchor, text: &str) {
        self.coloured_text(class, "", at, anchor, text);
    }

    /// Text in a colour chosen against the cell behind it.
    pub(crate) fn coloured_text(&mut self, class: &str, colour: &str, at: At, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let fill = if colour.is_empty() { String::new() } else { format!(r#" fill="{colour}""#) };
        let (x, y, text) = (px(at.0), px(at.1), escaped(text));
        let _ = writeln!(self.body, r#"<text class="{class}"{fill} x="{x}" y="{y}"{anchor}>{text}</text>"#);
    }

    /// A number whose last digits are not certain: those are faint.
    pub(crate) fn number(&mut self, at: At, anchor: Anchor, (sure, unsure): (&str, &str)) {
        let anchor = if anchor == Anchor::End { r#" text-anchor="end""# } else { "" };
        let (x, y, sure, unsure) = (px(at.0), px(at.1), escaped(sure), escaped(unsure));
        let _ = writeln!(
            self.body,
            r#"<text class="t" x="{x}" y="{y}"{anchor}>{sure}<tspan class="f">{unsure}</tspan></text>"#
        );
    }

    /// Cells as a small image, drawn without smoothing.
    pub(crate) fn image(&mut self, area: Rect, raster: Raster) {
        let (x, y, w, h) = (px(area.x), px(area.y), px(area.width), px(area.height));
        let _ = writeln!(
            self.body,
            r#"<image class="map" x="{x}" y="{y}" width="{w}" height="{h}" preserveAspectRatio="none" href="{}"/>"#,
            raster.data_address()
        );
        self.rasters.push(Placed { area, raster });
    }

    /// What `draw` draws, in a group that can be chosen.
    pub(crate) fn group(&mut self, attributes: &str, draw: impl FnOnce(&mut Pen)) {
        let _ = writeln!(self.body, "<g {attributes}>");
        draw(self);
        self.body.push_str("</g>\n");
    }
}

/// A length with one decimal at most; what is not finite is drawn outside.
pub(crate) fn px(value: f64) -> String {
    if !value.is_finite() {
        return "-9999".to_owned();
    }
    let rounded = (value * 10.0).round() / 10.0;
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}

/// Text as it may stand in an element or an attribute. Characters no XML may hold become a sign for that.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_element() {
        assert_eq!(
            escaped("<b a='1' c=\"&\">\u{0}\n"),
            "&lt;b a=&#39;1&#39; c=&quot;&amp;&quot;&gt;\u{fffd} "
        );
    }

    #[test]
    fn lengths_are_short_and_never_nan() {
        assert_eq!([px(1.0), px(-0.04), px(2.25), px(f64::NAN)], ["1", "0", "2.3", "-9999"]);
    }
}
