//! Two axes around a plane. They start and end where the data does; the ends carry the data's own numbers.

use super::pen::{Anchor, At, Pen, Rect};
use super::scale::{Axis, Tick, range};
use super::words::{fitted, short, width};

/// A plane with its axes, in pixels.
pub(crate) struct Plane {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) area: Rect,
}

/// What a plane shows.
pub(crate) struct PlaneOf<'a> {
    pub(crate) x: (f64, f64),
    pub(crate) y: (f64, f64),
    pub(crate) x_name: &'a str,
    pub(crate) y_name: &'a str,
}

const LEFT: f64 = 62.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;
const RIGHT: f64 = 14.0;
/// Between an axis and the data.
const AIR: f64 = 7.0;

impl Plane {
    /// Draws the axes into a drawing of `width × height`.
    pub(crate) fn new(pen: &mut Pen, (wide, high): (f64, f64), of: &PlaneOf<'_>) -> Self {
        let area = Rect { x: LEFT, y: TOP, width: wide - LEFT - RIGHT, height: high - TOP - BOTTOM };
        let x = Axis::linear(of.x, (area.x + AIR, area.right()));
        let y = Axis::linear(of.y, (area.bottom() - AIR, area.y));
        let plane = Plane { x, y, area };
        plane.horizontal(pen, of);
        plane.vertical(pen, of);
        plane
    }

    pub(crate) fn at(&self, (x, y): (f64, f64)) -> At {
        (self.x.at(x), self.y.at(y))
    }

    fn horizontal(&self, pen: &mut Pen, of: &PlaneOf<'_>) {
        let bottom = self.area.bottom();
        pen.line("axis", (self.x.at(of.x.0), bottom), (self.x.at(of.x.1), bottom));
        for tick in ends_and_ticks(&self.x, of.x, (self.area.width / 80.0) as usize, |a, b| {
            (a.at - b.at).abs() > f64::midpoint(width(&a.text), width(&b.text)) + 8.0
        }) {
            pen.line("axis", (tick.at, bottom), (tick.at, bottom + 4.0));
            let half = width(&tick.text) / 2.0;
            let at = tick.at.clamp(half, self.area.right() + RIGHT - half);
            pen.text("f", (at, bottom + 17.0), Anchor::Middle, &tick.text);
        }
        let name = fitted(of.x_name, self.area.width + LEFT);
        pen.text("t", (self.area.right(), bottom + 36.0), Anchor::End, &format!("{name} →"));
    }

    fn vertical(&self, pen: &mut Pen, of: &PlaneOf<'_>) {
        let left = self.area.x;
        pen.line("axis", (left, self.y.at(of.y.0)), (left, self.y.at(of.y.1)));
        let apart = |a: &Tick, b: &Tick| (a.at - b.at).abs() > 15.0;
        for tick in ends_and_ticks(&self.y, of.y, (self.area.height / 45.0) as usize, apart) {
            pen.line("axis", (left - 4.0, tick.at), (left, tick.at));
            pen.text("f", (left - 7.0, tick.at + 4.0), Anchor::End, &tick.text);
        }
        let name = fitted(of.y_name, self.area.width);
        pen.text("t", (4.0, 12.0), Anchor::Start, &format!("↑ {name}"));
    }
}

/// The data's own ends, and round numbers between them that keep off each other.
fn ends_and_ticks(
    axis: &Axis,
    (low, high): (f64, f64),
    wanted: usize,
    apart: impl Fn(&Tick, &Tick) -> bool,
) -> Vec<Tick> {
    let end = |value: f64| Tick { at: axis.at(value), text: short(value) };
    let mut ticks = if low < high { vec![end(low), end(high)] } else { vec![end(low)] };
    for tick in axis.ticks(wanted) {
        if ticks.iter().all(|other| apart(&tick, other)) {
            ticks.push(tick);
        }
    }
    ticks
}

/// The straight line `y = offset + slope · x` cut to the plane's ranges; `None` where it passes by.
pub(crate) fn cut(offset: f64, slope: f64, x: (f64, f64), y: (f64, f64)) -> Option<(At, At)> {
    let line = |x: f64| offset + slope * x;
    let (mut low, mut high) = x;
    if slope == 0.0 {
        return (y.0..=y.1).contains(&offset).then_some(((low, offset), (high, offset)));
    }
    let crossings = range([(y.0 - offset) / slope, (y.1 - offset) / slope])?;
    (low, high) = (low.max(crossings.0), high.min(crossings.1));
    (low < high).then(|| ((low, line(low)), (high, line(high))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_to_the_plane() {
        let (x, y) = ((0.0, 10.0), (0.0, 5.0));
        assert_eq!(cut(0.0, 1.0, x, y), Some(((0.0, 0.0), (5.0, 5.0))));
        assert_eq!(cut(2.0, 0.0, x, y), Some(((0.0, 2.0), (10.0, 2.0))));
        assert_eq!(cut(9.0, 0.0, x, y), None);
        assert_eq!(cut(20.0, 1.0, x, y), None);
    }
}
