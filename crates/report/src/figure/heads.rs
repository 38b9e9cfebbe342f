//! All heads at a glance: one small map each, at its own shape, on one scale.

use super::colour_bar::{colour_bar, log_axis};
use super::map::{cell, empty_cells, pooled};
use super::pen::{Anchor, Pen, Rect};
use super::raster::{LogScale, Raster};
use super::words::{percent, plain, width};
use super::{Frame, empty};
use spanwise_lens::explain::{HeadMap, Heads};

const GAP: f64 = 16.0;
/// Room for the name above a map and the entropy below it.
const WORDS: f64 = 34.0;

pub(crate) fn draw(pen: &mut Pen, frame: Frame, heads: &Heads) -> f64 {
    let all = heads.heads.iter().flat_map(|head| head.mean.iter().copied());
    let Some(scale) = LogScale::over(all) else {
        return empty(pen, "there is no weight above 0");
    };
    let per_row = heads.heads.len().clamp(1, if frame.is_narrow() { 3 } else { 6 });
    let side = ((frame.width - 8.0 - GAP * (per_row as f64 - 1.0)) / per_row as f64).min(150.0);
    let one_batch = heads.heads.iter().all(|head| head.batch == heads.heads[0].batch);
    let fits = heads.heads.iter().all(|head| width(&head.label) <= side);
    let named = |head: &HeadMap| match (fits, one_batch) {
        (true, _) => head.label.clone(),
        (false, true) => format!("head {}", head.head),
        (false, false) => format!("{}.{}", head.batch, head.head),
    };
    pen.fields(&["head"], &["entropy, share of uniform", "largest mean weight of a cell"]);
    let mut top = 4.0;
    // Maps of another shape begin another row; so do those of another layer or batch entry, where that fills rows.
    let entries = heads.heads.chunk_by(|a, b| a.batch == b.batch).count();
    let is_filling = heads.heads.len() >= 3 * entries;
    let together = |a: &HeadMap, b: &HeadMap| shape(a) == shape(b) && (a.batch == b.batch || !is_filling);
    for alike in heads.heads.chunk_by(together) {
        let tall = (side * ratio(&alike[0])).clamp(24.0, side * 1.5);
        for row in alike.chunks(per_row) {
            for (column, head) in row.iter().enumerate() {
                let x = 4.0 + (side + GAP) * column as f64;
                let area = Rect { x, y: top + 16.0, width: side, height: tall };
                small(pen, area, head, &named(head), scale);
            }
            top += tall + WORDS + GAP;
        }
    }
    let wide = (frame.width - 8.0).min(280.0);
    let name = "mean weight (logarithmic)";
    let mut height = top + colour_bar(pen, (4.0, top), wide, name, log_axis(scale, 4.0, wide));
    let note = "Queries go down, keys to the right. Entropy is a share of what uniform weights have.";
    height = frame.note(pen, height, &format!("{note} {}", cells(&heads.heads)));
    if heads.heads.len() < heads.of {
        height = frame.note(pen, height - 4.0, &format!("{} of {} heads.", heads.heads.len(), heads.of));
    }
    height
}

fn small(pen: &mut Pen, area: Rect, head: &HeadMap, label: &str, scale: LogScale) {
    let (x, side) = (area.x, area.width);
    pen.group(&format!("class=\"head\" data-head=\"{}.{}\"", head.batch, head.head), |pen| {
        pen.rect("hit", Rect { y: area.y - 16.0, height: area.height + WORDS, ..area });
        pen.text("t", (x, area.y - 5.0), Anchor::Start, label);
        if let Some(raster) = Raster::weights(head.cols, &head.mean, scale) {
            pen.image(area, raster);
        }
        pen.rect("frame", area);
        let entropy = percent(head.entropy);
        let long = format!("entropy {entropy}");
        let text = if width(&long) < side { long } else { entropy };
        pen.text("f", (x, area.bottom() + 14.0), Anchor::Start, &text);
    });
    let largest = head.mean.iter().copied().fold(0.0, f64::max);
    let at = (x + side / 2.0, area.y + area.height / 2.0);
    pen.mark(at, vec![head.label.clone(), plain(head.entropy), plain(largest)]);
}

fn shape(head: &HeadMap) -> [usize; 4] {
    [head.rows, head.cols, head.queries, head.keys]
}

/// Height by width, as queries stand to keys.
fn ratio(head: &HeadMap) -> f64 {
    head.queries.max(1) as f64 / head.keys.max(1) as f64
}

/// What a cell stands for, in each of the shapes there are.
fn cells(heads: &[HeadMap]) -> String {
    let mut shapes: Vec<[usize; 4]> = Vec::new();
    let mut told: Vec<String> = Vec::new();
    for head in heads {
        if !shapes.contains(&shape(head)) {
            shapes.push(shape(head));
            told.push(format!("{} of maps of {} × {}", cell(head.pooled_by()), head.queries, head.keys));
        }
    }
    match told.len() {
        0 => String::new(),
        1 => format!("{} {}", pooled(&heads[0]), empty_cells(heads)),
        2..=4 => format!("A cell stands for {}. {}", told.join(", "), empty_cells(heads)),
        _ => format!(
            "Maps have the shapes of their layers, and pool what does not fit. {}",
            empty_cells(heads)
        ),
    }
}
