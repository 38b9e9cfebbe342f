//! One bar for all of the target's variation: inside the span, reached by further terms, beyond. Each part drops a line to its
//! own words, so that narrow parts are named too.

use super::Frame;
use super::pen::{Anchor, Pen, Rect};
use super::words::{fitted, percent, width};
use spanwise_lens::explain::Reach;
use spanwise_lens::linear::counted;

const BAR: Rect = Rect { x: 4.0, y: 30.0, width: 0.0, height: 34.0 };
const LINE: f64 = 22.0;

struct Part {
    class: &'static str,
    name: &'static str,
    share: f64,
}

pub(crate) fn draw(pen: &mut Pen, frame: Frame, reach: &Reach) -> f64 {
    let parts = parts(reach);
    let total: f64 = parts.iter().map(|part| part.share).sum();
    let wide = frame.width - 2.0 * BAR.x;
    let head = format!("share of the {}", if reach.of.is_empty() { "target’s variation" } else { &reach.of });
    pen.text("t", (BAR.x, 14.0), Anchor::Start, &fitted(&head, wide));
    pen.fields(&["part"], &["share"]);
    let (mut left, mut names) = (BAR.x, Vec::new());
    for (i, part) in parts.iter().enumerate() {
        let share = if total > 0.0 { part.share / total } else { 0.0 };
        let area = Rect { x: left, width: wide * share, ..BAR };
        pen.rect(part.class, area);
        let middle = left + area.width / 2.0;
        let baseline = BAR.bottom() + 18.0 + LINE * i as f64;
        pen.line("axis", (middle, BAR.bottom()), (middle, baseline));
        names.push(((middle, baseline), part));
        pen.mark((middle, BAR.y + BAR.height / 2.0), vec![part.name.to_owned(), part.share.to_string()]);
        left += area.width;
    }
    // After all lines, so that a name may stand over the lines of parts further right.
    for (at, part) in names {
        words(pen, at, frame.width, part);
    }
    let mut height = BAR.bottom() + 14.0 + LINE * parts.len() as f64;
    let measured = if reach.held_out { "on rows left out of the fits" } else { "on the rows of the fits" };
    height =
        frame.note(pen, height, &format!("Measured {measured} ({}).", counted(reach.rows, "row", "rows")));
    if !reach.terms.is_empty() {
        let term =
            |term: &spanwise_lens::explain::ReachTerm| format!("{} +{}", term.name, percent(term.gain));
        let terms: Vec<String> = reach.terms.iter().map(term).collect();
        height = frame.note(pen, height - 4.0, &format!("Terms that bring most: {}.", terms.join(", ")));
    }
    height
}

fn parts(reach: &Reach) -> Vec<Part> {
    let all = [
        ("part-inside", "inside the span of the columns", Some(reach.inside)),
        ("part-squares", "reached by squares and cubes", reach.squares),
        ("part-interactions", "reached by products of two columns", reach.interactions),
        ("part-kernel", "reached by a kernel", reach.kernel),
        ("part-beyond", "beyond all that was tried", Some(reach.beyond)),
    ];
    let part = |(class, name, share): (&'static str, &'static str, Option<f64>)| {
        let share = share?;
        Some(Part { class, name, share: if share.is_finite() { share.max(0.0) } else { 0.0 } })
    };
    all.into_iter().filter_map(part).collect()
}

/// The part's share and name, left of its line where there is room: no other line passes there.
fn words(pen: &mut Pen, (x, baseline): (f64, f64), frame: f64, part: &Part) {
    let text = format!("{} {}", percent(part.share), part.name);
    let wide = width(&text);
    let left = if x > wide + 5.0 { x - wide - 5.0 } else { (x + 5.0).min(frame - wide) };
    pen.rect("paper", Rect { x: left, y: baseline - 11.0, width: wide, height: 15.0 });
    if left < x {
        pen.text("t", (left + wide, baseline), Anchor::End, &text);
    } else {
        pen.text("t", (left, baseline), Anchor::Start, &text);
    }
}
