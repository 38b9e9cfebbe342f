//! Points in a plane: the residual plots, leverage, predicted against actual.

use super::labels::Labels;
use super::pen::{At, Pen, Rect};
use super::plane::{Plane, PlaneOf, cut};
use super::scale::range;
use super::words::{plain as plain_number, short};
use super::{Frame, empty};
use spanwise_lens::explain::{Point, Scatter};
use spanwise_lens::linear::counted;

/// How the points of a plot are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Both axes start where the data does.
    Cloud,
    /// One unit is as long across as up.
    Square,
    /// Heights above 0, one per row.
    Stems,
}

pub(crate) fn draw(pen: &mut Pen, frame: Frame, scatter: &Scatter, reading: Reading) -> f64 {
    let points: Vec<Point> =
        scatter.points.iter().copied().filter(|p| p.x.is_finite() && p.y.is_finite()).collect();
    let (Some(x), Some(y)) = (range(points.iter().map(|p| p.x)), range(points.iter().map(|p| p.y))) else {
        return empty(pen, "there is no row to draw");
    };
    let (x, y) = match reading {
        Reading::Cloud => (x, y),
        Reading::Square => {
            let both = (x.0.min(y.0), x.1.max(y.1));
            (both, both)
        }
        Reading::Stems => (x, (y.0.min(0.0), y.1.max(0.0))),
    };
    let height = match reading {
        Reading::Square => frame.width.min(440.0),
        _ => frame.height(0.62).min(360.0),
    };
    let width = if reading == Reading::Square { frame.width.min(450.0) } else { frame.width };
    let of = PlaneOf { x, y, x_name: &scatter.x, y_name: &scatter.y };
    let plane = Plane::new(pen, (width, height), &of);

    pen.fields(&["row"], &[&scatter.x, &scatter.y]);
    let room = Rect {
        x: plane.area.x + 3.0,
        y: plane.area.y - 8.0,
        width: plane.area.width + 6.0,
        height: plane.area.height + 8.0,
    };
    let mut labels = Labels::inside(room);
    for point in &points {
        let at = plane.at((point.x, point.y));
        if point.marked { labels.keep_off(at, 3.2) } else { labels.rather_keep_off(at, 2.2) }
    }
    if reading == Reading::Stems && points.len() <= 300 {
        for point in &points {
            pen.line("rule", plane.at((point.x, 0.0)), plane.at((point.x, point.y)));
        }
    }
    cook(pen, &plane, scatter, (x, y), &mut labels);
    let plain: Vec<At> = points.iter().filter(|p| !p.marked).map(|p| plane.at((p.x, p.y))).collect();
    pen.dots(if plain.len() > 400 { "many" } else { "dots" }, &plain);
    smooth(pen, &plane, scatter, (x, y));
    for point in points.iter().filter(|p| p.marked) {
        let at = plane.at((point.x, point.y));
        pen.circle("dot-w", at, 3.2);
        labels.put(pen, "t", at, &format!("row {}", point.row));
    }
    for rule in &scatter.lines {
        if let Some((from, to)) = cut(rule.offset, rule.slope, x, y) {
            pen.line("compare", plane.at(from), plane.at(to));
            name_line(pen, &mut labels, (plane.at(from), plane.at(to)), &rule.name);
        }
    }
    for point in &points {
        let values = vec![point.row.to_string(), plain_number(point.x), plain_number(point.y)];
        pen.mark(plane.at((point.x, point.y)), values);
    }
    let mut height = height;
    let drawn = scatter.points.len();
    if (drawn as u64) < scatter.of as u64 {
        let note = format!("{drawn} of {} rows, the extreme ones among them", scatter.of);
        height = frame.note(pen, height, &note);
    }
    if points.len() < drawn {
        let left_out = counted(drawn - points.len(), "point is", "points are");
        height = frame.note(pen, height, &format!("{left_out} not finite and not drawn"));
    }
    height
}

/// The name of a line at the first free place along it, from its right end.
fn name_line(pen: &mut Pen, labels: &mut Labels, (from, to): (At, At), name: &str) {
    for step in [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4] {
        let at = (from.0 + (to.0 - from.0) * step, from.1 + (to.1 - from.1) * step);
        if labels.along(pen, "f", at, to.1 <= from.1, name) {
            return;
        }
    }
}

fn smooth(pen: &mut Pen, plane: &Plane, scatter: &Scatter, (x, y): ((f64, f64), (f64, f64))) {
    let inside = |(px, py): &&(f64, f64)| (x.0..=x.1).contains(px) && py.is_finite();
    let points: Vec<At> =
        scatter.smooth.iter().filter(inside).map(|p| plane.at((p.0, p.1.clamp(y.0, y.1)))).collect();
    pen.polyline("smooth", &points);
}

/// Curves of equal influence: `y = ±√(level · terms · (1 − x) / x)`, where they pass through the plane.
fn cook(
    pen: &mut Pen,
    plane: &Plane,
    scatter: &Scatter,
    (x, y): ((f64, f64), (f64, f64)),
    labels: &mut Labels,
) {
    const STEPS: usize = 80;
    for &level in &scatter.cook {
        for sign in [1.0, -1.0] {
            let place = |step: usize| {
                let at = x.0 + (x.1 - x.0) * step as f64 / STEPS as f64;
                let height = sign * (level * scatter.terms as f64 * (1.0 - at) / at).sqrt();
                (at > 0.0 && at <= 1.0 && (y.0..=y.1).contains(&height)).then(|| plane.at((at, height)))
            };
            let curve: Vec<At> = (0..=STEPS).filter_map(place).collect();
            if curve.len() < 2 {
                continue;
            }
            pen.polyline("limit", &curve);
            let name = format!("Cook’s distance {}", short(level));
            for step in [1.0, 0.8, 0.6, 0.4, 0.2] {
                let at = curve[((curve.len() - 1) as f64 * step) as usize];
                if labels.along(pen, "w", at, sign < 0.0, &name) {
                    break;
                }
            }
        }
    }
}
