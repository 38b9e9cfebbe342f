//! Labels beside points that keep off each other.

use super::pen::{Anchor, At, Pen, Rect};
use super::words::width;

const HEIGHT: f64 = 14.0;
/// Between labels side by side, so that two numbers do not read as one.
const APART: f64 = 6.0;

/// Where labels may go, and what is in their way.
pub(crate) struct Labels {
    area: Rect,
    taken: Vec<Rect>,
    /// What may be covered where nothing else is free.
    crowd: Vec<Rect>,
}

impl Labels {
    pub(crate) fn inside(area: Rect) -> Self {
        Labels { area, taken: Vec::new(), crowd: Vec::new() }
    }

    /// Nothing may stand on this point.
    pub(crate) fn keep_off(&mut self, at: At, radius: f64) {
        self.taken.push(around(at, radius));
    }

    /// This point may be covered, where labels have no other place.
    pub(crate) fn rather_keep_off(&mut self, at: At, radius: f64) {
        self.crowd.push(around(at, radius));
    }

    /// Writes `text` at the first free place around the point; `false` where there is none.
    pub(crate) fn put(&mut self, pen: &mut Pen, class: &str, at: At, text: &str) -> bool {
        let places = places(at, width(text));
        let free = |area: &Rect, others: &[Rect]| !others.iter().any(|other| other.overlaps(area));
        let allowed = |area: &Rect| self.area.contains(area) && free(area, &self.taken);
        let clear = places.iter().find(|place| allowed(&place.area) && free(&place.area, &self.crowd));
        let Some(place) = clear.or_else(|| places.iter().find(|place| allowed(&place.area))) else {
            return false;
        };
        if clear.is_none() {
            pen.rect("veil", place.area);
        }
        pen.text(class, (place.x, place.baseline), place.anchor, text);
        self.taken.push(spaced(place.area));
        true
    }
}

impl Labels {
    /// Writes `text` so that it ends at a place on a line and lies on the side where the line does not run: above one that
    /// rises or is level, below one that falls. `false` where that is not free.
    pub(crate) fn along(&mut self, pen: &mut Pen, class: &str, (x, y): At, rises: bool, text: &str) -> bool {
        let (wide, baseline) = (width(text), if rises { y - 5.0 } else { y + 14.0 });
        let area = Rect { x: x - wide, y: baseline - 11.0, width: wide, height: HEIGHT };
        let free = |others: &[Rect]| !others.iter().any(|other| other.overlaps(&area));
        if !self.area.contains(&area) || !free(&self.taken) {
            return false;
        }
        if !free(&self.crowd) {
            pen.rect("veil", area);
        }
        pen.text(class, (x, baseline), Anchor::End, text);
        self.taken.push(spaced(area));
        true
    }
}

/// With the room that the next label keeps off.
fn spaced(area: Rect) -> Rect {
    Rect { x: area.x - APART, width: area.width + 2.0 * APART, ..area }
}

fn around((x, y): At, radius: f64) -> Rect {
    Rect { x: x - radius, y: y - radius, width: 2.0 * radius, height: 2.0 * radius }
}

/// A place for a label.
struct Place {
    x: f64,
    baseline: f64,
    anchor: Anchor,
    area: Rect,
}

/// Around a point, best first.
fn places((x, y): At, wide: f64) -> [Place; 8] {
    const GAP: f64 = 7.0;
    [
        (x + GAP, y + 4.0, Anchor::Start),
        (x - GAP, y + 4.0, Anchor::End),
        (x, y - GAP - 1.0, Anchor::Middle),
        (x, y + GAP + 10.0, Anchor::Middle),
        (x + GAP, y - GAP, Anchor::Start),
        (x - GAP, y - GAP, Anchor::End),
        (x + GAP, y + GAP + 8.0, Anchor::Start),
        (x - GAP, y + GAP + 8.0, Anchor::End),
    ]
    .map(|(x, baseline, anchor)| {
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - wide / 2.0,
            Anchor::End => x - wide,
        };
        Place { x, baseline, anchor, area: Rect { x: left, y: baseline - 11.0, width: wide, height: HEIGHT } }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_overlap_and_give_up_where_there_is_no_room() {
        let area = Rect { x: 0.0, y: 0.0, width: 120.0, height: 60.0 };
        let (mut labels, mut pen) = (Labels::inside(area), Pen::default());
        let put = (0..30).filter(|_| labels.put(&mut pen, "t", (60.0, 30.0), "row 12")).count();
        assert!((2..9).contains(&put), "{put}");
        for (i, a) in labels.taken.iter().enumerate() {
            let drawn = |area: &Rect| Rect { x: area.x + APART, width: area.width - 2.0 * APART, ..*area };
            assert!(labels.taken[i + 1..].iter().all(|b| !a.overlaps(&drawn(b))));
        }
    }

    #[test]
    fn labels_of_neighbours_do_not_touch() {
        let area = Rect { x: 0.0, y: 0.0, width: 300.0, height: 60.0 };
        let text = "0.1234";
        // From where the first label ends to further than any gap.
        for distance in 0..12 {
            let (mut labels, mut pen) = (Labels::inside(area), Pen::default());
            let next = 30.0 + 2.0 * (7.0 + width(text)) + f64::from(distance);
            assert!(labels.put(&mut pen, "t", (30.0, 30.0), text));
            labels.keep_off((next + 7.0, 30.0), 4.0);
            assert!(labels.put(&mut pen, "t", (next, 30.0), text));
            let [.., second] = &labels.taken[..] else { panic!() };
            let first = &labels.taken[0];
            let gap = second.x + APART - (first.right() - APART);
            assert!((second.y - first.y).abs() > 1.0 || gap >= APART, "{distance}: {gap}");
        }
    }
}
