//! One row per name: the name on the left, something along a shared axis, words on the right.

use super::Frame;
use super::pen::{Anchor, Pen};
use super::scale::Axis;
use super::words::{fitted, width, wrapped};

pub(crate) const ROW: f64 = 26.0;
const TOP: f64 = 24.0;
/// From one line of the axis's name to the next.
const LINE: f64 = 15.0;

/// Where the parts of the rows are.
pub(crate) struct Rows {
    pub(crate) axis: Axis,
    /// The right end of the words on the right.
    pub(crate) right: f64,
    /// The upper end of the first row.
    pub(crate) top: f64,
    count: usize,
    /// What the axis measures, over as many lines as it needs.
    name: Vec<String>,
}

/// What rows are about.
pub(crate) struct RowsOf<'a> {
    pub(crate) names: Vec<&'a str>,
    /// The range of the axis.
    pub(crate) range: (f64, f64),
    /// What the axis measures.
    pub(crate) axis: &'a str,
    /// Pixels for the words on the right, and what they are.
    pub(crate) right: (f64, &'a str),
}

impl Rows {
    /// Draws names and axis.
    pub(crate) fn new(pen: &mut Pen, frame: Frame, of: &RowsOf<'_>) -> Self {
        let widest = of.names.iter().map(|name| width(name)).fold(0.0, f64::max);
        let names = 6.0 + widest.min(frame.width * if frame.is_narrow() { 0.3 } else { 0.28 });
        let right = frame.width - 4.0;
        let axis = Axis::linear(of.range, (names + 20.0, right - of.right.0 - 16.0));
        let room = axis.end.max(names);
        let name = wrapped(&format!("{} →", of.axis), room).iter().map(|line| fitted(line, room)).collect();
        let rows = Rows { axis, right, top: TOP, count: of.names.len(), name };
        for (i, name) in of.names.iter().enumerate() {
            pen.text("t", (names, rows.middle(i) + 4.0), Anchor::End, &fitted(name, names - 4.0));
        }
        if !of.right.1.is_empty() {
            pen.text("f", (right, 12.0), Anchor::End, of.right.1);
        }
        rows.scale(pen);
        rows
    }

    /// The height of row `i`'s middle.
    pub(crate) fn middle(&self, i: usize) -> f64 {
        self.top + ROW * (i as f64 + 0.5)
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.top + ROW * self.count as f64
    }

    /// With axis and its name.
    pub(crate) fn height(&self) -> f64 {
        self.bottom() + 33.0 + LINE * self.name.len() as f64
    }

    fn scale(&self, pen: &mut Pen) {
        let bottom = self.bottom() + 4.0;
        let (start, end) = (self.axis.start, self.axis.end);
        pen.line("axis", (start, bottom), (end, bottom));
        let mut last = f64::NEG_INFINITY;
        for tick in self.axis.ticks((((end - start) / 70.0) as usize).max(3)) {
            let half = width(&tick.text) / 2.0;
            pen.line("axis", (tick.at, bottom), (tick.at, bottom + 4.0));
            if tick.at - half > last {
                pen.text("f", (tick.at, bottom + 17.0), Anchor::Middle, &tick.text);
                last = tick.at + half + 6.0;
            }
        }
        for (i, line) in self.name.iter().enumerate() {
            pen.text("t", (end, bottom + 36.0 + LINE * i as f64), Anchor::End, line);
        }
    }
}
