//! Small pictures made of characters.

use crate::block::{Block, Line, Style};
use crate::number::number_text;
use spanwise_lens::{Array, Mark, Picture};

/// Weights with their numbers beside them up to this many keys, and as bare cells up to the other.
const NUMBERED_COLUMNS: usize = 6;
const BARE_COLUMNS: usize = 40;
const WEIGHT_ROWS: usize = 12;

/// The plot's size in characters.
const PLOT: (usize, usize) = (33, 9);

pub(crate) fn picture_block(picture: &Picture) -> Block {
    match picture {
        Picture::Weights { rows, columns, weights } => weights_block(rows, columns, weights),
        Picture::Hull { values, outputs, corners, width } => {
            let plot = Plot { values, outputs, corners, width: *width };
            if plot.values.iter().all(|mark| mark.at.len() == 2) { plot.plane() } else { plot.line() }
        }
        _ => Block::default(),
    }
}

/// Darker is more.
fn shade(weight: f64) -> char {
    match weight {
        w if w.is_nan() => '?',
        w if w <= 0.0 => ' ',
        w if w <= 0.25 => '░',
        w if w <= 0.5 => '▒',
        w if w <= 0.75 => '▓',
        _ => '█',
    }
}

fn weights_block(rows: &[String], columns: &[String], weights: &Array) -> Block {
    let numbered = columns.len() <= NUMBERED_COLUMNS;
    let shown = columns.len().min(if numbered { NUMBERED_COLUMNS } else { BARE_COLUMNS });
    let label = rows.iter().map(|row| row.chars().count()).max().unwrap_or(0);
    let cell = |weight: f64| {
        let shade: String = std::iter::repeat_n(shade(weight), 2).collect();
        if numbered { format!("{shade} {:<12}", number_text(weight)) } else { shade }
    };
    let mut block = Block::default();
    block.push(Line::new(Style::Heading, "where each query looks"));
    let header = if numbered {
        columns.iter().map(|column| format!("{column:<15}")).collect::<Vec<_>>().concat()
    } else {
        let (first, last) = (&columns[0], &columns[shown - 1]);
        let inner = (2 * shown).saturating_sub(first.chars().count());
        format!("{first}{last:>inner$}")
    };
    block.push(Line::new(Style::Faint, format!("{:label$}  {header}", "")));
    for (row, weights) in rows.iter().zip(weights.rows()).take(WEIGHT_ROWS) {
        let cells: String = weights.iter().take(shown).map(|&weight| cell(weight)).collect();
        let edge = if numbered { "" } else { "│" };
        let line = Line::new(Style::Faint, format!("{row:<label$}  "));
        block.push(line.and(Style::Accent, cells).and(Style::Faint, edge));
    }
    for (what, all, shown) in [("queries", rows.len(), WEIGHT_ROWS), ("keys", columns.len(), shown)] {
        if all > shown {
            block.push(Line::new(Style::Faint, format!("the first {shown} of {all} {what}")));
        }
    }
    block.push(Line::new(Style::Faint, "░ to 0.25  ▒ to 0.5  ▓ to 0.75  █ to 1"));
    block
}

/// A plot of outputs among values.
struct Plot<'a> {
    values: &'a [Mark],
    outputs: &'a [Mark],
    corners: &'a [usize],
    width: usize,
}

impl Plot<'_> {
    fn title(&self, block: &mut Block) {
        let (one, many) = ("the output among the values", "the outputs among the values");
        block.push(Line::new(Style::Heading, if self.outputs.len() == 1 { one } else { many }));
        if self.width > 2 {
            let note = format!("coordinates 0 and 1 of {}: a shadow of the hull", self.width);
            block.push(Line::new(Style::Faint, note));
        }
    }

    /// The ends of an axis, or why nothing can be drawn along it.
    fn range(&self, axis: usize) -> Result<(f64, f64), &'static str> {
        let all = || self.values.iter().chain(self.outputs).map(|mark| mark.at[axis]);
        if !all().all(f64::is_finite) {
            return Err("not drawn: an output is not finite");
        }
        let low = all().fold(f64::INFINITY, f64::min);
        let high = all().fold(f64::NEG_INFINITY, f64::max);
        // A range without width is drawn in the middle; one whose width overflows gives no place to any point.
        if !(high - low).is_finite() {
            return Err("not drawn: the coordinates are too far apart");
        }
        Ok((low, high))
    }

    /// Width 2 and more: a plane, the second coordinate upwards.
    fn plane(&self) -> Block {
        let mut block = Block::default();
        self.title(&mut block);
        let (x, y) = match (self.range(0), self.range(1)) {
            (Ok(x), Ok(y)) => (x, y),
            (Err(why), _) | (_, Err(why)) => {
                block.text(why);
                return block;
            }
        };
        let mut canvas = Canvas::new(PLOT.0, PLOT.1);
        let place = |mark: &Mark| {
            let column = position(mark.at[0], x, PLOT.0);
            let row = PLOT.1 - 1 - position(mark.at[1], y, PLOT.1);
            (column, row)
        };
        for (at, &corner) in self.corners.iter().enumerate() {
            let next = self.corners[(at + 1) % self.corners.len()];
            canvas.edge(place(&self.values[corner]), place(&self.values[next]));
        }
        self.points(&mut canvas, place);
        let (top, bottom) = (number_text(y.1), number_text(y.0));
        let margin = top.chars().count().max(bottom.chars().count());
        for (row, cells) in canvas.rows().enumerate() {
            let label = match row {
                0 => &top,
                _ if row + 1 == PLOT.1 => &bottom,
                _ => "",
            };
            let tick = if label.is_empty() { '│' } else { '┤' };
            block.push(cells.after(format!("{label:>margin$} {tick} ")));
        }
        block.push(Line::new(Style::Faint, format!("{:margin$} └{}", "", "─".repeat(PLOT.0 + 2))));
        block.push(Line::new(Style::Faint, format!("{:margin$}   {}", "", ends(x, PLOT.0))));
        block
    }

    /// Width 1: a line.
    fn line(&self) -> Block {
        let mut block = Block::default();
        self.title(&mut block);
        let x = match self.range(0) {
            Ok(x) => x,
            Err(why) => {
                block.text(why);
                return block;
            }
        };
        let mut canvas = Canvas::new(PLOT.0, 3);
        let place = |mark: &Mark| (position(mark.at[0], x, PLOT.0), 1);
        if let [first, .., last] = self.corners {
            canvas.edge(place(&self.values[*first]), place(&self.values[*last]));
        }
        self.points(&mut canvas, place);
        for cells in canvas.rows() {
            block.push(cells.after("  ".to_owned()));
        }
        block.push(Line::new(Style::Faint, format!("  {}", ends(x, PLOT.0))));
        block
    }

    /// Values, then outputs, then as many names as there is room for.
    fn points(&self, canvas: &mut Canvas, place: impl Fn(&Mark) -> (usize, usize)) {
        for mark in self.values {
            canvas.put(place(mark), '●', Style::Text);
        }
        for mark in self.outputs {
            canvas.put(place(mark), '◆', Style::Accent);
        }
        for mark in self.outputs {
            canvas.label(place(mark), &mark.label, Style::Accent);
        }
        for mark in self.values {
            canvas.label(place(mark), &mark.label, Style::Text);
        }
    }
}

/// The two ends of an axis, left and right.
fn ends((low, high): (f64, f64), width: usize) -> String {
    let (low, high) = (number_text(low), number_text(high));
    let rest = width.saturating_sub(low.chars().count());
    format!("{low}{high:>rest$}")
}

/// Which of `cells` cells a coordinate falls into.
fn position(value: f64, (low, high): (f64, f64), cells: usize) -> usize {
    let share = if high > low { (value - low) / (high - low) } else { 0.5 };
    (share * (cells - 1) as f64).round() as usize
}

/// Characters with their styles; a few columns more than asked for, for names at the right edge.
struct Canvas {
    cells: Vec<Vec<(Style, char)>>,
}

const NAME_ROOM: usize = 5;

impl Canvas {
    fn new(columns: usize, rows: usize) -> Self {
        Canvas { cells: vec![vec![(Style::Text, ' '); columns + NAME_ROOM]; rows] }
    }

    fn put(&mut self, (column, row): (usize, usize), mark: char, style: Style) {
        self.cells[row][column] = (style, mark);
    }

    /// A thin line between two cells, which themselves are left as they are.
    fn edge(&mut self, from: (usize, usize), to: (usize, usize)) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1));
        let between = |a: usize, b: usize, step: usize| {
            (a as f64 + (b as f64 - a as f64) * step as f64 / steps as f64).round() as usize
        };
        for step in 1..steps {
            let cell = (between(from.0, to.0, step), between(from.1, to.1, step));
            self.put(cell, '·', Style::Faint);
        }
    }

    /// Writes `name` right or left of a point, above or below it: the first place that is free, or nowhere.
    fn label(&mut self, (column, row): (usize, usize), name: &str, style: Style) {
        let length = name.chars().count();
        let places = [
            (Some(column + 2), Some(row)),
            (column.checked_sub(length + 1), Some(row)),
            (Some(column), row.checked_sub(1)),
            (Some(column), Some(row + 1)),
        ];
        for place in places {
            let (Some(start), Some(row)) = place else { continue };
            let Some(cells) = self.cells.get_mut(row).and_then(|row| row.get_mut(start..start + length))
            else {
                continue;
            };
            if cells.iter().all(|(_, c)| matches!(c, ' ' | '·')) {
                for (cell, c) in cells.iter_mut().zip(name.chars()) {
                    *cell = (style, c);
                }
                return;
            }
        }
    }

    fn rows(&self) -> impl Iterator<Item = Drawn<'_>> {
        self.cells.iter().map(|row| Drawn(row))
    }
}

/// One row of a canvas.
struct Drawn<'a>(&'a [(Style, char)]);

impl Drawn<'_> {
    /// The row with something faint before it.
    fn after(&self, before: String) -> Line {
        let pieces = self.0.chunk_by(|a, b| a.0 == b.0);
        pieces.fold(Line::new(Style::Faint, before), |line, piece| {
            line.and(piece[0].0, piece.iter().map(|(_, c)| c).collect::<String>())
        })
    }
}
