//! One bar for all of the target's variation: inside the span, reached by further terms, beyond. Each part drops a line to its
//! own words, so that narrow parts are named too; where such a line would run through other words, colours name them.

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
    let mut left = BAR.x;
    let mut areas = Vec::with_capacity(parts.len());
    for part in &parts {
        let share = if total > 0.0 { part.share / total } else { 0.0 };
        let area = Rect { x: left, width: wide * share, ..BAR };
        pen.rect(part.class, area);
        let middle = (left + area.width / 2.0, BAR.y + BAR.height / 2.0);
        pen.mark(middle, vec![part.name.to_owned(), part.share.to_string()]);
        areas.push(area);
        left += area.width;
    }
    let texts: Vec<String> =
        parts.iter().map(|part| format!("{} {}", percent(part.share), part.name)).collect();
    let baseline = |i: usize| BAR.bottom() + 18.0 + LINE * i as f64;
    if let Some(drops) = drops(&areas, &texts, frame.width) {
        for (i, (drop, text)) in drops.iter().zip(&texts).enumerate() {
            pen.line("axis", (drop.x, BAR.bottom()), (drop.x, baseline(i)));
            // Words are estimated a little wide: those that end at their line are written from there.
            if drop.left < drop.x {
                pen.text("t", (drop.x - 5.0, baseline(i)), Anchor::End, text);
            } else {
                pen.text("t", (drop.left, baseline(i)), Anchor::Start, text);
            }
        }
    } else {
        for (i, (part, text)) in parts.iter().zip(&texts).enumerate() {
            pen.rect(part.class, Rect { x: BAR.x, y: baseline(i) - 9.0, width: 10.0, height: 10.0 });
            pen.text("t", (BAR.x + 16.0, baseline(i)), Anchor::Start, text);
        }
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

/// A line from a part down to its words.
struct Drop {
    x: f64,
    /// Where the words begin.
    left: f64,
}

impl Drop {
    /// Left of the line where there is room, as no other line passes there; else right of it.
    fn new(x: f64, wide: f64, frame: f64) -> Self {
        Drop { x, left: if x > wide + 5.0 { x - wide - 5.0 } else { (x + 5.0).min(frame - wide) } }
    }

    /// Whether a line at `x` would run through the words.
    fn is_crossed(&self, wide: f64, x: f64) -> bool {
        x > self.left - 3.0 && x < self.left + wide + 3.0
    }
}

/// A line for each part, from its middle or else from its right end, so that none runs through words; `None` where that
/// cannot be, as on phones, and parts are named by their colours.
fn drops(areas: &[Rect], texts: &[String], frame: f64) -> Option<Vec<Drop>> {
    let mut drops: Vec<Drop> = Vec::with_capacity(areas.len());
    for (area, text) in areas.iter().zip(texts) {
        let places = [area.x + area.width / 2.0, area.right() - 2.0_f64.min(area.width / 2.0)];
        let is_free = |x: f64| drops.iter().zip(texts).all(|(drop, text)| !drop.is_crossed(width(text), x));
        let drop = Drop::new(places.into_iter().find(|&x| is_free(x))?, width(text), frame);
        if drop.is_crossed(width(text), drop.x) {
            return None;
        }
        drops.push(drop);
    }
    Some(drops)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines and the words of a drawing: where lines run down, and where words begin and end.
    fn drawn(reach: &Reach, wide: f64) -> Option<Vec<Drop>> {
        let parts = parts(reach);
        let mut left = BAR.x;
        let areas: Vec<Rect> = parts
            .iter()
            .map(|part| {
                let area = Rect { x: left, width: (wide - 8.0) * part.share, ..BAR };
                left += area.width;
                area
            })
            .collect();
        let texts: Vec<String> =
            parts.iter().map(|part| format!("{} {}", percent(part.share), part.name)).collect();
        let found = drops(&areas, &texts, wide)?;
        for (i, drop) in found.iter().enumerate() {
            assert!(drop.left >= 0.0 && drop.left + width(&texts[i]) <= wide, "{wide}: {}", texts[i]);
            let crossed = |other: &Drop| drop.is_crossed(width(&texts[i]), other.x);
            assert!(!found[i..].iter().any(crossed), "{wide}: {}", texts[i]);
        }
        Some(found)
    }

    #[test]
    fn no_line_runs_through_words() {
        let shares = [0.0, 0.02, 0.1, 0.22, 0.5, 0.9, 1.0];
        let mut lines = 0;
        for inside in shares {
            for squares in shares.map(|share| share * (1.0 - inside)) {
                for beyond in shares.map(|share| share * (1.0 - inside - squares)) {
                    let interactions = Some(1.0 - inside - squares - beyond);
                    let reach =
                        Reach { inside, squares: Some(squares), interactions, beyond, ..Reach::default() };
                    for wide in [343.0, 640.0, 760.0] {
                        lines += usize::from(drawn(&reach, wide).is_some());
                    }
                }
            }
        }
        assert!(lines > 0);
    }
}
