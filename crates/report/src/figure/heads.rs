//! All heads at a glance: one small map each, on one scale.

use super::colour_bar::{colour_bar, log_axis};
use super::map::pooled;
use super::pen::{Anchor, Pen, Rect};
use super::raster::{LogScale, Raster};
use super::words::{percent, plain, width};
use super::{Frame, empty};
use spanwise_lens::explain::Heads;

pub(crate) fn draw(pen: &mut Pen, frame: Frame, heads: &Heads) -> f64 {
    let all = heads.heads.iter().flat_map(|head| head.mean.iter().copied());
    let Some(scale) = LogScale::over(all) else {
        return empty(pen, "there is no weight above 0");
    };
    let per_row = heads.heads.len().clamp(1, if frame.is_narrow() { 3 } else { 6 });
    let gap = 16.0;
    let side = ((frame.width - 8.0 - gap * (per_row as f64 - 1.0)) / per_row as f64).min(150.0);
    let ratio = heads.rows.max(1) as f64 / heads.cols.max(1) as f64;
    let tall = (side * ratio).clamp(24.0, side * 1.5);
    let (words, top) = (34.0, 4.0);
    let one_batch = heads.heads.iter().all(|head| head.batch == heads.heads[0].batch);
    let fits = heads.heads.iter().all(|head| width(&head.label) <= side);
    pen.fields(&["head"], &["entropy, share of uniform", "largest mean weight of a cell"]);
    for (i, head) in heads.heads.iter().enumerate() {
        let (row, column) = (i / per_row, i % per_row);
        let x = 4.0 + (side + gap) * column as f64;
        let y = top + (tall + words + gap) * row as f64;
        let area = Rect { x, y: y + 16.0, width: side, height: tall };
        pen.group(&format!("class=\"head\" data-head=\"{}.{}\"", head.batch, head.head), |pen| {
            pen.rect("hit", Rect { y, height: tall + words, ..area });
            let short = if one_batch {
                format!("head {}", head.head)
            } else {
                format!("{}.{}", head.batch, head.head)
            };
            let label = if fits { &head.label } else { &short };
            pen.text("t", (x, y + 11.0), Anchor::Start, label);
            if let Some(raster) = Raster::weights(heads.cols, &head.mean, scale) {
                pen.image(area, raster);
            }
            pen.rect("frame", area);
            let entropy = percent(head.entropy);
            let long = format!("entropy {entropy}");
            let text = if width(&long) < side { long } else { entropy };
            pen.text("f", (x, area.bottom() + 14.0), Anchor::Start, &text);
        });
        let largest = head.mean.iter().copied().fold(0.0, f64::max);
        let at = (x + side / 2.0, area.y + tall / 2.0);
        pen.mark(at, vec![head.label.clone(), plain(head.entropy), plain(largest)]);
    }
    let rows = heads.heads.len().div_ceil(per_row);
    let bar = top + (tall + words + gap) * rows as f64;
    let wide = (frame.width - 8.0).min(280.0);
    let name = "mean weight (logarithmic)";
    let mut height = bar + colour_bar(pen, (4.0, bar), wide, name, log_axis(scale, 4.0, wide));
    let note = "Queries go down, keys to the right. Entropy is a share of what uniform weights have.";
    height = frame.note(pen, height, &format!("{note} {}", pooled(heads.pooled_by)));
    if heads.heads.len() < heads.of {
        height = frame.note(pen, height - 4.0, &format!("{} of {} heads.", heads.heads.len(), heads.of));
    }
    height
}
