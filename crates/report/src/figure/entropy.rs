//! Entropy by layer and head: a cell each.

use super::colour_bar::colour_bar;
use super::pen::{Anchor, Pen, Rect};
use super::raster::{hex, readable_on};
use super::scale::Axis;
use super::words::{fitted, plain, width};
use super::{Frame, empty};
use spanwise_lens::explain::Entropy;

pub(crate) fn draw(pen: &mut Pen, frame: Frame, entropy: &Entropy) -> f64 {
    if entropy.heads == 0 || entropy.values.len() != entropy.layers.len() * entropy.heads {
        return empty(pen, "there is no head to draw");
    }
    let widest = entropy.layers.iter().map(|name| width(name)).fold(0.0, f64::max);
    let names = 6.0 + widest.min(frame.width * 0.25);
    let left = names + 10.0;
    let side = ((frame.width - left - 4.0) / entropy.heads as f64).min(64.0);
    let tall = side.clamp(8.0, 30.0);
    let top = 34.0;
    pen.text("t", (left, 12.0), Anchor::Start, "head →");
    let every = (24.0 / side).ceil().max(1.0) as usize;
    for head in (0..entropy.heads).step_by(every) {
        let at = left + side * (head as f64 + 0.5);
        pen.text("f", (at, top - 6.0), Anchor::Middle, &head.to_string());
    }
    pen.fields(&["layer"], &["head", "entropy, share of uniform"]);
    let names_every = (14.0 / tall).ceil().max(1.0) as usize;
    for (layer, name) in entropy.layers.iter().enumerate() {
        let y = top + tall * layer as f64;
        if layer % names_every == 0 {
            pen.text("t", (names, y + tall / 2.0 + 4.0), Anchor::End, &fitted(name, names - 4.0));
        }
        for head in 0..entropy.heads {
            let share = entropy.values[layer * entropy.heads + head];
            let area = Rect { x: left + side * head as f64, y, width: side - 1.0, height: tall - 1.0 };
            let middle = (area.x + area.width / 2.0, y + tall / 2.0);
            if share.is_finite() {
                pen.filled("cell", &hex(share), area);
                if side >= 32.0 && tall >= 18.0 {
                    let at = (middle.0, middle.1 + 4.0);
                    pen.coloured_text("c", readable_on(share), at, Anchor::Middle, &format!("{share:.2}"));
                }
            } else {
                pen.rect("frame", area);
            }
            pen.mark(middle, vec![name.clone(), head.to_string(), plain(share)]);
        }
    }
    let bottom = top + tall * entropy.layers.len() as f64 + 12.0;
    let wide = (frame.width - 8.0).min(280.0);
    let name = "entropy: 0 one key, 1 uniform";
    bottom + colour_bar(pen, (4.0, bottom), wide, name, Axis::linear((0.0, 1.0), (4.0, 4.0 + wide)))
}
