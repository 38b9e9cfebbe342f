//! Values and outputs in the plane of the values' first two principal directions. Outputs are averages of values: they lie in
//! the hull, which is drawn.

use super::pen::{At, Pen};
use super::plane::{Plane, PlaneOf};
use super::scale::range;
use super::words::{percent, plain};
use super::{Frame, empty};
use spanwise_lens::explain::Hull;

pub(crate) fn draw(pen: &mut Pen, frame: Frame, hull: &Hull) -> f64 {
    let all = || hull.values.iter().chain(&hull.outputs).chain(&hull.polygon);
    let (Some(x), Some(y)) = (range(all().map(|p| p.0)), range(all().map(|p| p.1))) else {
        return empty(pen, "there is no value to draw");
    };
    let name =
        |direction: &str, share: f64| format!("{direction} direction, {} of the variation", percent(share));
    let (x_name, y_name) = (name("first", hull.explained.0), name("second", hull.explained.1));
    let height = frame.height(0.66).min(440.0);
    let of = PlaneOf { x, y, x_name: &x_name, y_name: &y_name };
    let plane = Plane::new(pen, (frame.width, height), &of);
    let place = |points: &[(f64, f64)]| -> Vec<At> {
        points.iter().filter(|p| p.0.is_finite() && p.1.is_finite()).map(|&p| plane.at(p)).collect()
    };
    let corners = place(&hull.polygon);
    if corners.len() > 1 {
        pen.polygon("area", &corners);
        pen.polygon("compare", &corners);
    }
    pen.fields(&["what"], &["first direction", "second direction"]);
    for (what, points) in [("value", &hull.values), ("output", &hull.outputs)] {
        for (&point, at) in points.iter().filter(|p| p.0.is_finite() && p.1.is_finite()).zip(place(points)) {
            if what == "value" {
                pen.circle("ring", at, 3.0);
            } else {
                pen.diamond("dot-a", at, 4.0);
            }
            pen.mark(at, vec![what.to_owned(), plain(point.0), plain(point.1)]);
        }
    }
    let count =
        |shown: usize, of: usize| if shown < of { format!("{shown} of {of}") } else { of.to_string() };
    let note = format!(
        "{}: ○ values ({}), ◆ outputs ({}), dashed the hull of all values.",
        hull.label,
        count(hull.values.len(), hull.of_values),
        count(hull.outputs.len(), hull.of_outputs)
    );
    frame.note(pen, height, &note)
}
