//! Figures on the page: the drawing for wide and for narrow screens, its caption, its numbers, its tools.

use super::{in_script, maps};
use crate::figure::{Drawing, Frame, draw, escaped, px};
use serde_json::json;
use spanwise_lens::explain::{Explanation, Figure, FigureKind};
use spanwise_lens::linear::counted;
use std::fmt::Write;

/// Which figures are on the page already, and under which number.
pub(crate) struct Shown<'a> {
    explanation: &'a Explanation,
    /// By place in the explanation.
    numbers: Vec<Option<usize>>,
    next: usize,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(explanation: &'a Explanation) -> Self {
        Shown { explanation, numbers: vec![None; explanation.figures.len()], next: 1 }
    }

    /// The figure itself the first time, a link to it from then on.
    pub(crate) fn at_finding(&mut self, id: &str) -> String {
        let Some(place) = self.explanation.figures.iter().position(|figure| figure.id == id) else {
            return String::new();
        };
        match self.numbers[place] {
            Some(number) => {
                format!("<p class=\"see\"><a href=\"#figure-{}\">See figure {number}</a></p>\n", escaped(id))
            }
            None => self.one(place),
        }
    }

    /// All that no finding asked for; small plots in pairs.
    pub(crate) fn rest(&mut self) -> String {
        let left: Vec<usize> =
            (0..self.numbers.len()).filter(|&place| self.numbers[place].is_none()).collect();
        if left.is_empty() {
            return String::new();
        }
        let mut body = "<h2>Figures</h2>\n".to_owned();
        let figures = &self.explanation.figures;
        for run in left.chunk_by(|&a, &b| is_small(&figures[a]) && is_small(&figures[b])) {
            let paired = run.len() > 1;
            if paired {
                body.push_str("<div class=\"pair\">\n");
            }
            for &place in run {
                body.push_str(&self.one(place));
            }
            if paired {
                body.push_str("</div>\n");
            }
        }
        body
    }

    fn one(&mut self, place: usize) -> String {
        let figure = &self.explanation.figures[place];
        let number = self.next;
        self.numbers[place] = Some(number);
        self.next += 1;
        let (wide, narrow) = (draw(figure, Frame::WIDE), draw(figure, Frame::NARROW));
        let id = format!("figure-{}", escaped(figure.id));
        let mut html = format!("<figure id=\"{id}\" data-figure>\n");
        if let FigureKind::Map(map) = &figure.kind {
            html.push_str(&maps::viewer(self.explanation, map));
        }
        // Screen readers hear the caption, and each mark's numbers while stepping through.
        let label = match wide.marks.len() {
            0 => figure.title.clone(),
            marks => format!(
                "{}: {}, arrow keys step through the numbers",
                figure.title,
                counted(marks, "mark", "marks")
            ),
        };
        let focus = if wide.marks.is_empty() { "" } else { " tabindex=\"0\"" };
        let _ = writeln!(
            html,
            "<div class=\"plot still\"{focus} role=\"group\" aria-label=\"{}\">\n{}{}</div>",
            escaped(&label),
            inline(&wide, figure, "wide"),
            inline(&narrow, figure, "narrow"),
        );
        let _ = writeln!(
            html,
            "<figcaption><b>Figure {number}. {}.</b> {}</figcaption>",
            super::prose::prose(figure.title.trim_end_matches('.')),
            super::prose::prose(&figure.caption)
        );
        html.push_str(TOOLS);
        if !wide.marks.is_empty() {
            html.push_str(NUMBERS);
        }
        html.push_str("</div>\n");
        let _ = writeln!(
            html,
            "<script type=\"application/json\" class=\"data\">{}</script>",
            data(&wide, &narrow)
        );
        html.push_str("</figure>\n");
        html
    }
}

/// Clouds of points read well at half the width.
fn is_small(figure: &Figure) -> bool {
    matches!(
        figure.kind,
        FigureKind::ResidualsFitted(_)
            | FigureKind::QuantileQuantile(_)
            | FigureKind::ScaleLocation(_)
            | FigureKind::ResidualsLeverage(_)
            | FigureKind::PredictedActual(_)
            | FigureKind::Leverage(_)
    )
}

const TOOLS: &str = "<div class=\"tools\"><button type=\"button\" data-do=\"svg\">Save SVG</button>\
                     <button type=\"button\" data-do=\"png\">Save PNG</button>";
const NUMBERS: &str = "<button type=\"button\" data-do=\"numbers\" aria-expanded=\"false\">Numbers</button>\
                       <button type=\"button\" data-do=\"csv\">Copy as CSV</button>";

fn inline(drawing: &Drawing, figure: &Figure, class: &str) -> String {
    let (width, height) = (px(drawing.width), px(drawing.height));
    format!(
        "<svg class=\"{class}\" role=\"img\" aria-label=\"{}\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n{}</svg>\n",
        escaped(&format!("{}. {}", figure.title, figure.caption)),
        drawing.body
    )
}

/// Fields, the marks' values, and where the marks are in either drawing.
fn data(wide: &Drawing, narrow: &Drawing) -> String {
    let places = |drawing: &Drawing| -> Vec<f64> {
        let tenth = |value: f64| (value * 10.0).round() / 10.0;
        drawing.marks.iter().flat_map(|mark| [tenth(mark.at.0), tenth(mark.at.1)]).collect()
    };
    // Both frames draw the same marks, unless the narrow one had no room for some: those are not pointed at there.
    let fields: Vec<_> =
        wide.fields.iter().map(|field| json!({ "name": field.name, "numeric": field.numeric })).collect();
    let marks: Vec<_> = wide.marks.iter().map(|mark| &mark.values).collect();
    in_script(&json!({ "fields": fields, "marks": marks, "wide": places(wide), "narrow": places(narrow) }))
}
