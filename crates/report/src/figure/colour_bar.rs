//! The bar that says what the colours of a map mean.

use super::pen::{Anchor, Pen, Rect};
use super::raster::{LogScale, Raster};
use super::scale::Axis;
use super::words::{short, width};

/// Draws the bar with its numbers; its height.
pub(crate) fn colour_bar(pen: &mut Pen, (x, y): (f64, f64), wide: f64, name: &str, axis: Axis) -> f64 {
    let bar = Rect { x, y: y + 18.0, width: wide, height: 8.0 };
    pen.text("t", (x, y + 12.0), Anchor::Start, name);
    if let Some(raster) = Raster::new(128, (0..128).map(|i| Some(f64::from(i) / 127.0))) {
        pen.image(bar, raster);
    }
    let (low, high) = (short(axis.low), short(axis.high));
    pen.text("f", (x, bar.bottom() + 15.0), Anchor::Start, &low);
    pen.text("f", (x + wide, bar.bottom() + 15.0), Anchor::End, &high);
    let (mut last, end) = (x + width(&low), x + wide - width(&high));
    for tick in axis.ticks(5) {
        let half = width(&tick.text) / 2.0;
        if tick.at - half > last + 8.0 && tick.at + half + 8.0 < end {
            pen.line("axis", (tick.at, bar.bottom()), (tick.at, bar.bottom() + 3.0));
            pen.text("f", (tick.at, bar.bottom() + 15.0), Anchor::Middle, &tick.text);
            last = tick.at + half;
        }
    }
    46.0
}

/// The axis of a logarithmic bar.
pub(crate) fn log_axis(scale: LogScale, x: f64, wide: f64) -> Axis {
    Axis::log((scale.low, scale.high), (x, x + wide))
}
