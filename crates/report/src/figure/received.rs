//! What each key receives, head by head: steps along the keys, on one logarithmic scale around what uniform weights give.

use super::pen::{Anchor, At, Pen};
use super::scale::{Axis, range};
use super::words::{fitted, plain, short, significant, width};
use super::{Frame, empty};
use spanwise_lens::explain::{Received, ReceivedHead};

const BAND: f64 = 46.0;
/// What receives less than this share of a uniform key's mass is drawn at this share.
const LEAST: f64 = 1e-3;

pub(crate) fn draw(pen: &mut Pen, frame: Frame, received: &Received) -> f64 {
    let all = received.heads.iter().flat_map(|head| head.mean.iter().chain(&head.max).copied());
    let Some((low, high)) = range(all) else {
        return empty(pen, "there is no key to draw");
    };
    let ends = (low.clamp(LEAST, 0.5), high.max(2.0));
    let widest = received.heads.iter().map(|head| width(&head.label)).fold(0.0, f64::max);
    let names = 6.0 + widest.min(frame.width * if frame.is_narrow() { 0.3 } else { 0.25 });
    let left = names + 12.0;
    let peaks: Vec<(String, String)> = received.heads.iter().map(peak).collect();
    let widest = peaks.iter().map(|(most, keys)| width(most).max(width(keys))).fold(30.0, f64::max);
    // On a narrow screen keys are left to those who point at them.
    let keys = widest < frame.width * 0.24;
    let widest = if keys { widest } else { peaks.iter().map(|peak| width(&peak.0)).fold(30.0, f64::max) };
    let right = frame.width - widest - 14.0;
    let head =
        if frame.is_narrow() { "mass received" } else { "mass received, multiples of uniform (logarithmic)" };
    pen.text("t", (left, 12.0), Anchor::Start, head);
    pen.text("f", (frame.width - 4.0, 12.0), Anchor::End, "most");
    let is_pooled = received.heads.iter().any(|head| head.pooled_by() > 1.0);
    let unit = if is_pooled { "keys from" } else { "key" };
    pen.fields(&["head"], &[unit, "mean, multiples of uniform", "largest key, multiples of uniform"]);
    let (mut top, mut at) = (22.0, 0);
    // Heads with as many keys share an axis.
    for alike in received.heads.chunk_by(|a, b| a.keys == b.keys) {
        for head in alike {
            let y = Axis::log(ends, (top + BAND - 8.0, top + 2.0));
            let middle = top + BAND / 2.0;
            pen.text("t", (names, middle + 2.0), Anchor::End, &fitted(&head.label, names - 4.0));
            let one = y.at(1.0);
            pen.line("compare", (left, one), (right, one));
            steps(pen, head, (left, right), &y);
            let (end, (most, key)) = (frame.width - 4.0, &peaks[at]);
            pen.text("t", (end, middle + if keys { -6.0 } else { 2.0 }), Anchor::End, most);
            if keys {
                pen.text("f", (end, middle + 9.0), Anchor::End, key);
            }
            (top, at) = (top + BAND, at + 1);
        }
        key_axis(pen, top, (left, right), alike[0].keys);
        top += 26.0;
    }
    let note = format!(
        "{}Dashed: what uniform weights would give. Every row spans {} to {} times that.",
        stepped(received),
        short(ends.0),
        short(ends.1)
    );
    let mut height = frame.note(pen, top - 4.0, &note);
    if received.heads.len() < received.of {
        height =
            frame.note(pen, height - 4.0, &format!("{} of {} heads.", received.heads.len(), received.of));
    }
    height
}

fn key_axis(pen: &mut Pen, y: f64, (left, right): (f64, f64), keys: usize) {
    pen.line("axis", (left, y), (right, y));
    pen.text("f", (left, y + 15.0), Anchor::Start, "0");
    pen.text("t", (f64::midpoint(left, right), y + 15.0), Anchor::Middle, "key →");
    if keys > 1 {
        pen.text("f", (right, y + 15.0), Anchor::End, &(keys - 1).to_string());
    }
}

/// What a step stands for, where it is more than a key.
fn stepped(received: &Received) -> String {
    let by = |head: &ReceivedHead| head.pooled_by();
    let (least, most) = (
        received.heads.iter().map(by).fold(f64::INFINITY, f64::min),
        received.heads.iter().map(by).fold(1.0, f64::max),
    );
    if most <= 1.0 {
        return String::new();
    }
    let cells = received.heads.iter().map(|head| head.mean.len()).max().unwrap_or(0);
    let line = if cells <= 100 { "; the thin line is the largest of them" } else { "" };
    let up_to = if least < most { "up to " } else { "" };
    format!("Each step is the mean of {up_to}{} keys{line}. ", short(most))
}

fn steps(pen: &mut Pen, head: &ReceivedHead, (left, right): (f64, f64), y: &Axis) {
    let pooled_by = head.pooled_by();
    let cells = head.mean.len().max(1) as f64;
    let step = (right - left) / cells;
    let place = |value: f64| y.at(if value > y.low { value } else { y.low });
    let outline = |values: &[f64]| -> Vec<At> {
        let corners = |(i, &value): (usize, &f64)| {
            let x = left + step * i as f64;
            [(x, place(value)), (x + step, place(value))]
        };
        values.iter().enumerate().flat_map(corners).collect()
    };
    let line = outline(&head.mean);
    let mut area = vec![(left, y.start)];
    area.extend(&line);
    area.push((right, y.start));
    pen.polygon("area", &area);
    if pooled_by > 1.0 && head.mean.len() <= 100 {
        pen.polyline("axis", &outline(&head.max));
    }
    pen.polyline(if head.mean.len() > 100 { "thin" } else { "smooth" }, &line);
    for (i, (mean, max)) in head.mean.iter().zip(&head.max).enumerate() {
        let key = (i as f64 * pooled_by).floor();
        let at = (left + step * (i as f64 + 0.5), place(*mean));
        pen.mark(at, vec![head.label.clone(), key.to_string(), plain(*mean), plain(*max)]);
    }
}

/// How much the key that receives most receives, and which it is.
fn peak(head: &ReceivedHead) -> (String, String) {
    let pooled_by = head.pooled_by();
    let largest = head.max.iter().copied().enumerate().filter(|(_, value)| value.is_finite());
    let Some((cell, value)) = largest.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return (String::new(), String::new());
    };
    let (first, last) = (cell as f64 * pooled_by, (cell + 1) as f64 * pooled_by - 1.0);
    let keys = if pooled_by > 1.0 {
        format!("keys {}–{}", first.floor(), last.floor())
    } else {
        format!("key {first}")
    };
    (format!("{}×", significant(value, 3)), keys)
}
