//! Answers to what was asked, each with its mark and its proof.

use super::super::{cut, paragraph};
use super::SHOWN;
use crate::block::{Block, Line, Style};
use crate::number::number_text;
use crate::sheet::significant;
use spanwise_lens::linear::{AgainstAnswer, HullAnswer, Measured, SpanAnswer};

pub(super) fn all(page: &mut Block, measured: &Measured) {
    if let Some(span) = &measured.span {
        span_answer(page, span, measured);
    }
    if let Some(against) = &measured.against {
        against_answer(page, against);
    }
    hull_answers(page, &measured.hull);
}

fn against_answer(page: &mut Block, against: &AgainstAnswer) {
    page.blank();
    page.push(Line::new(Style::Accent, "∠ ").and(Style::Text, &against.sentence));
    if against.angles_degrees.is_empty() {
        return;
    }
    let angles = against.angles_degrees.iter().take(SHOWN);
    let angles: Vec<String> = angles.map(|&degrees| format!("{}°", significant(degrees, 6))).collect();
    let more = if against.angles_degrees.len() > SHOWN {
        format!(", … {} in all: --json", against.angles_degrees.len())
    } else {
        String::new()
    };
    indented(page, &format!("principal angles {}{more}", angles.join(", ")));
    indented(page, &format!("an angle whose sine is at most {:.1e} counts as 0", against.tolerance));
}

fn span_answer(page: &mut Block, span: &SpanAnswer, measured: &Measured) {
    page.blank();
    let verdict = if span.inside { "lies" } else { "does not lie" };
    let style = if span.inside { Style::Good } else { Style::Bad };
    page.push(Line::new(style, if span.inside { "✓ " } else { "✗ " }).and(
        Style::Text,
        format!("`{}` {verdict} in the span of the columns, without a constant", span.name),
    ));
    let names = measured.column_measures.iter().map(|column| column.name.as_str());
    let used = names.zip(&span.coefficients).filter(|&(_, &c)| c != 0.0);
    let count = used.clone().count();
    let terms = used.take(SHOWN).enumerate().map(|(i, (name, &c))| {
        let sign = match (i, c < 0.0) {
            (0, true) => "−",
            (0, false) => "",
            (_, true) => " − ",
            (_, false) => " + ",
        };
        format!("{sign}{}·{name}", significant(c.abs(), 6))
    });
    let sum: String = terms.collect();
    let sum = if sum.is_empty() { "0" } else { &sum };
    let more = if count > SHOWN { format!(" + … {count} terms in all: --json") } else { String::new() };
    let only = if span.unique { "" } else { " (among others)" };
    indented(page, &format!("part inside = {sum}{more}{only}"));
    let certificate = format!(
        "part outside: {} of its length (at most {:.1e} is rounding){}",
        significant(span.outside_share, 4),
        span.tolerance,
        span.orthogonality
            .map_or_else(String::new, |cosine| format!(", cosine with any column at most {cosine:.1e}"))
    );
    indented(page, &certificate);
    if span.inside_with_constant && !span.inside {
        indented(page, "► a constant is no column here; with one the vector lies in the span");
    }
}

/// What belongs to the line above.
fn indented(page: &mut Block, text: &str) {
    let mut lines = Block::default();
    paragraph(&mut lines, Style::Faint, text);
    page.append_indented(2, lines);
}

fn hull_answers(page: &mut Block, answers: &[HullAnswer]) {
    if answers.is_empty() {
        return;
    }
    page.blank();
    for answer in answers.iter().take(SHOWN) {
        let (mark, style) = if answer.inside { ("✓ ", Style::Good) } else { ("✗ ", Style::Bad) };
        let verdict = match (answer.inside, answer.in_affine_hull) {
            (true, _) => "lies in the hull of the rows".to_owned(),
            (false, true) => format!("lies {} outside the hull", number_text(answer.distance)),
            (false, false) => format!(
                "lies {} from the hull, outside the flat through the rows",
                number_text(answer.distance)
            ),
        };
        page.push(Line::new(style, mark).and(Style::Text, format!("point {} {verdict}", answer.point + 1)));
        let shown = answer
            .weights
            .iter()
            .take(8)
            .map(|&(row, weight)| format!("{}·row {}", significant(weight, 6), row + 1));
        let more = if answer.weights.len() > 8 { " + …" } else { "" };
        let what = if answer.inside { "it is" } else { "nearest:" };
        let only = if answer.unique { "" } else { " (among others)" };
        let sum = shown.collect::<Vec<_>>().join(" + ");
        indented(page, &format!("{what} {sum}{more}{only}"));
        if let (Some(normal), Some(margin)) = (&answer.normal, answer.margin) {
            let normal: Vec<String> = normal.iter().take(8).map(|&x| significant(x, 6)).collect();
            let text = format!("separated by {} along ({})", significant(margin, 6), normal.join(", "));
            indented(page, &text);
        }
    }
    cut(page, answers.len(), SHOWN, "points");
}
