//! One large map of weights: queries down, keys to the right.

use super::colour_bar::{colour_bar, log_axis};
use super::pen::{Anchor, Pen, Rect};
use super::raster::{LogScale, Raster};
use super::words::short;
use super::{Frame, empty};
use spanwise_lens::explain::HeadMap;

pub(crate) fn draw(pen: &mut Pen, frame: Frame, map: &HeadMap) -> f64 {
    let Some(scale) = LogScale::over(map.mean.iter().copied()) else {
        return empty(pen, "there is no weight above 0");
    };
    let Some(raster) = Raster::weights(map.cols, &map.mean, scale) else {
        return empty(pen, "there is no weight to draw");
    };
    let (left, top) = (56.0, 26.0);
    let wide = (frame.width - left - 12.0).min(560.0);
    let ratio = map.queries.max(1) as f64 / map.keys.max(1) as f64;
    let area = Rect { x: left, y: top, width: wide, height: (wide * ratio).clamp(60.0, 560.0) };
    pen.image(area, raster);
    pen.rect("frame", area);
    let last = |count: usize| count.saturating_sub(1).to_string();
    pen.text("t", (4.0, 12.0), Anchor::Start, &format!("{}: weight of each key in each query", map.label));
    pen.text("f", (left - 7.0, top + 10.0), Anchor::End, "0");
    pen.text("f", (left - 7.0, area.bottom()), Anchor::End, &last(map.queries));
    pen.text("t", (left - 7.0, top + area.height / 2.0 - 4.0), Anchor::End, "query");
    pen.text("t", (left - 16.0, top + area.height / 2.0 + 12.0), Anchor::End, "↓");
    pen.text("f", (area.x, area.bottom() + 15.0), Anchor::Start, "0");
    pen.text("t", (area.x + wide / 2.0, area.bottom() + 15.0), Anchor::Middle, "key →");
    pen.text("f", (area.right(), area.bottom() + 15.0), Anchor::End, &last(map.keys));
    let bar = area.bottom() + 28.0;
    let name = "mean weight (logarithmic)";
    let mut height =
        bar + colour_bar(pen, (left, bar), wide.min(280.0), name, log_axis(scale, left, wide.min(280.0)));
    let maps = std::slice::from_ref(map);
    height = frame.note(pen, height, &format!("{} {}", pooled(map), empty_cells(maps)));
    height
}

/// How many weights a cell stands for, in a sentence.
pub(crate) fn pooled(map: &HeadMap) -> String {
    let by = map.pooled_by();
    let cells = if by.0 <= 1.0 && by.1 <= 1.0 { "Every cell is" } else { "Every cell stands for" };
    let entries = match map.entries {
        0 | 1 => String::new(),
        // Rows without a key, such as padding, have weights of 0 and count.
        several => format!(", the mean of {several} batch entries"),
    };
    format!("{cells} {}{entries}.", cell(by))
}

/// What a cell without a colour means in such maps.
pub(crate) fn empty_cells(maps: &[HeadMap]) -> &'static str {
    if maps.iter().any(|map| map.mean.iter().any(|weight| weight.is_nan())) {
        "Empty cells are 0, where nothing may look, or rows that are lost to a NaN."
    } else {
        "Empty cells are 0: nothing may look there."
    }
}

/// The same in few words.
pub(crate) fn cell((queries, keys): (f64, f64)) -> String {
    if queries <= 1.0 && keys <= 1.0 {
        "one weight".to_owned()
    } else {
        let query = if queries <= 1.0 { "query" } else { "queries" };
        let key = if keys <= 1.0 { "key" } else { "keys" };
        format!("{} {query} × {} {key}", short(queries), short(keys))
    }
}
