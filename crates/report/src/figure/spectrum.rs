//! The singular values on a logarithmic axis, with the tolerance under which they count as zero and the band around it in
//! which the rank would be doubtful.

use super::labels::Labels;
use super::pen::{Anchor, At, Pen, Rect};
use super::scale::Axis;
use super::words::{short, width};
use super::{Frame, empty};
use spanwise_lens::explain::Spectrum;

pub(crate) fn draw(pen: &mut Pen, frame: Frame, spectrum: &Spectrum) -> f64 {
    let values = &spectrum.singular_values;
    let largest = values.first().copied().filter(|value| value.is_finite() && *value > 0.0);
    let Some(largest) = largest else {
        return empty(pen, "all singular values are zero");
    };
    let shares: Vec<f64> = values.iter().map(|value| value / largest).collect();
    let height = frame.height(0.5).min(340.0);
    let area = Rect { x: 58.0, y: 26.0, width: frame.width - 58.0 - 14.0, height: height - 26.0 - 44.0 };
    let floor = floor(spectrum, &shares);
    let y = Axis::log((floor, 1.0), (area.bottom() - 6.0, area.y + 12.0));
    let last = (values.len() as f64).max(2.0);
    let x = Axis::linear((1.0, last), (area.x + 16.0, area.right() - 10.0));
    limits(pen, spectrum, area, &y);
    axes(pen, area, (&x, &y), values.len());

    let place = |i: usize| (x.at(i as f64 + 1.0), y.at(shares[i].max(floor)));
    let places: Vec<At> = (0..values.len()).map(place).collect();
    pen.polyline("rule", &places);
    let mut labels = Labels::inside(Rect {
        x: area.x + 4.0,
        y: area.y - 8.0,
        width: area.width + 8.0,
        height: area.height,
    });
    let name = width("tolerance 8.888·10⁻¹⁸");
    for step in 0..8 {
        labels.keep_off((area.x + 8.0 + name * f64::from(step) / 7.0, y.at(spectrum.tolerance) - 8.0), 8.0);
    }
    for &at in &places {
        labels.keep_off(at, 4.0);
    }
    keep_off_line(&mut labels, &places);
    if values.len() > 120 {
        pen.dots("dots", &places);
    }
    pen.fields(&["columns"], &["index", "singular value", "share of the largest"]);
    for (i, &at) in places.iter().enumerate() {
        if values.len() <= 120 {
            pen.circle(if i < spectrum.rank { "dot" } else { "ring-w" }, at, 3.6);
        }
        let names = spectrum.names.get(i).cloned().unwrap_or_default();
        pen.mark(at, vec![names, (i + 1).to_string(), values[i].to_string(), shares[i].to_string()]);
    }
    name_small(pen, spectrum, &shares, &places, &mut labels);
    height
}

/// Numbers rather stand beside the line between the points than on it.
fn keep_off_line(labels: &mut Labels, places: &[At]) {
    for pair in places.windows(2) {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let steps = (dx.hypot(dy) / 6.0).ceil().clamp(1.0, 200.0) as usize;
        for step in 1..steps {
            let share = step as f64 / steps as f64;
            labels.rather_keep_off((pair[0].0 + share * dx, pair[0].1 + share * dy), 2.0);
        }
    }
}

/// Below everything that is shown.
fn floor(spectrum: &Spectrum, shares: &[f64]) -> f64 {
    let positive = shares.iter().copied().filter(|share| *share > 0.0).fold(1.0, f64::min);
    let band = if spectrum.band.0 > 0.0 { spectrum.band.0 } else { spectrum.tolerance };
    let low = if band > 0.0 { positive.min(band) } else { positive };
    (low / 5.0).max(1e-300)
}

fn limits(pen: &mut Pen, spectrum: &Spectrum, area: Rect, y: &Axis) {
    let (low, high) = spectrum.band;
    if low > 0.0 && high > low {
        let (top, bottom) = (y.at(high.min(1.0)), y.at(low));
        pen.rect("band", Rect { x: area.x, y: top, width: area.width, height: bottom - top });
    }
    if spectrum.tolerance > 0.0 {
        let at = y.at(spectrum.tolerance);
        pen.line("limit", (area.x, at), (area.right(), at));
        let name = format!("tolerance {}", short(spectrum.tolerance));
        // Values fall from the upper left: there is room at the line's left end.
        pen.text("w", (area.x + 8.0, at - 5.0), Anchor::Start, &name);
    }
}

fn axes(pen: &mut Pen, area: Rect, (x, y): (&Axis, &Axis), count: usize) {
    pen.line("axis", (area.x, area.bottom()), (area.x, area.y));
    for tick in y.ticks((area.height / 34.0) as usize) {
        pen.line("axis", (area.x - 4.0, tick.at), (area.x, tick.at));
        pen.text("f", (area.x - 7.0, tick.at + 4.0), Anchor::End, &tick.text);
    }
    pen.line("axis", (x.at(1.0), area.bottom()), (x.at(count.max(1) as f64), area.bottom()));
    let every = count.div_ceil((area.width / 34.0) as usize).max(1);
    for index in (1..=count).filter(|index| (index - 1) % every == 0) {
        let at = x.at(index as f64);
        pen.line("axis", (at, area.bottom()), (at, area.bottom() + 4.0));
        pen.text("f", (at, area.bottom() + 17.0), Anchor::Middle, &index.to_string());
    }
    pen.text("t", (4.0, 12.0), Anchor::Start, "↑ singular value, share of the largest (logarithmic)");
    pen.text("t", (area.right(), area.bottom() + 36.0), Anchor::End, "direction →");
}

/// The smallest directions carry the news: which columns they consist of, or how small they are.
fn name_small(pen: &mut Pen, spectrum: &Spectrum, shares: &[f64], places: &[At], labels: &mut Labels) {
    for i in (1..shares.len()).rev().take(if shares.len() > 24 { 2 } else { 6 }) {
        let size = if shares[i] > 0.0 { short(shares[i]) } else { "0".to_owned() };
        let names = spectrum.names.get(i).map_or("", String::as_str);
        let class = if i < spectrum.rank { "t" } else { "w" };
        let long = if names.is_empty() { size.clone() } else { format!("{size}: {names}") };
        let _ = labels.put(pen, class, places[i], &long) || labels.put(pen, class, places[i], &size);
    }
}
