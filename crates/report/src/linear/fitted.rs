//! A fitted model.

use super::{Files, facts, findings, paragraph, written};
use crate::Ink;
use crate::block::{Block, Line, Style};
use crate::sheet::{Cell, Sheet, significant};
use spanwise_lens::linear::{Coefficients, Fitted, FittedTerm, counted, short};

/// Digits of an estimate, if all of them are certain.
const MOST: usize = 10;
/// Terms beyond this many are not shown.
const SHOWN: usize = 60;
/// Penalties shown on each side of the chosen one.
const AROUND: usize = 4;

/// The page of a fit.
pub fn fitted_text(fitted: &Fitted, files: Files<'_>, ink: Ink) -> String {
    let mut page = Block::default();
    let heading = format!("{}: {}", fitted.model, fitted.target);
    page.push(Line::new(Style::Heading, heading));
    paragraph(&mut page, Style::Text, &fitted.verdict);
    findings(&mut page, &fitted.findings);
    for part in &fitted.coefficients {
        page.blank();
        if let Some(class) = &part.class {
            page.push(Line::new(Style::Heading, format!("class {class}")));
        }
        coefficients(&mut page, fitted, part, ink);
    }
    tried(&mut page, fitted);
    page.blank();
    measures(&mut page, fitted);
    page.blank();
    facts(&mut page, &how(fitted));
    written(&mut page, files);
    page.render(ink)
}

fn coefficients(page: &mut Block, fitted: &Fitted, part: &Coefficients, ink: Ink) {
    let (lower, upper) = (percent_point(fitted.confidence, false), percent_point(fitted.confidence, true));
    let mut sheet =
        Sheet::new(&["term", "estimate", "std error", fitted.statistic, "p", &lower, &upper, "digits"]);
    for term in part.terms.iter().take(SHOWN) {
        sheet.push(row(term, ink));
    }
    page.append(sheet.block());
    if part.terms.len() > SHOWN {
        let note = format!("first {SHOWN} of {} terms; all of them: --json", part.terms.len());
        page.push(Line::new(Style::Faint, note));
    }
}

/// `2.5 %` and `97.5 %` of a 95 % interval.
fn percent_point(confidence: f64, upper: bool) -> String {
    let tail = 50.0 * (1.0 - confidence);
    format!("{} %", significant(if upper { 100.0 - tail } else { tail }, 4))
}

fn row(term: &FittedTerm, ink: Ink) -> Vec<Cell> {
    let number =
        |value: Option<f64>, digits| value.map_or_else(Cell::none, |v| Cell::new(significant(v, digits)));
    let name = if term.dependent { format!("{} †", term.name) } else { term.name.clone() };
    vec![
        Cell::new(name),
        Cell::certain(term.estimate, term.digits, MOST, ink),
        number(term.standard_error, 5),
        number(term.statistic, 4),
        term.p_value.map_or_else(Cell::none, |p| Cell::new(p_text(p))),
        number(term.interval.map(|(lower, _)| lower), 5),
        number(term.interval.map(|(_, upper)| upper), 5),
        term.digits.map_or_else(Cell::none, |digits| Cell::new(format!("{:.0}", digits.floor()))),
    ]
}

fn p_text(p: f64) -> String {
    if p > 0.0 && p < 1e-4 { format!("{p:.1e}") } else { format!("{p:.4}") }
}

fn tried(page: &mut Block, fitted: &Fitted) {
    if fitted.tried.is_empty() {
        return;
    }
    page.blank();
    let mut sheet = Sheet::new(&["λ", "error on rows left out", "R²", ""]);
    // Those around the chosen one say most.
    let chosen = fitted.tried.iter().position(|tried| tried.chosen).unwrap_or(0);
    let first = chosen.saturating_sub(AROUND).min(fitted.tried.len().saturating_sub(2 * AROUND + 1));
    for tried in fitted.tried.iter().skip(first).take(2 * AROUND + 1) {
        let number = |value: Option<f64>| value.map_or_else(Cell::none, |v| Cell::new(significant(v, 6)));
        let mark = Cell::new(if tried.chosen { "◄" } else { "" });
        sheet.push(vec![
            Cell::new(significant(tried.lambda, 5)),
            number(tried.error),
            number(tried.r_squared),
            mark,
        ]);
    }
    page.append(sheet.block());
    if fitted.tried.len() > 2 * AROUND + 1 {
        let note = format!("{} of {} penalties; all: --json", 2 * AROUND + 1, fitted.tried.len());
        page.push(Line::new(Style::Faint, note));
    }
}

/// Numbers about the whole, with what belongs beside them.
fn measures(page: &mut Block, fitted: &Fitted) {
    let shown = fitted.measures.iter().filter(|measure| !measure.value.is_nan());
    let lines: Vec<(String, String)> = shown
        .map(|measure| {
            let value = if measure.key.ends_with("p_value") {
                p_text(measure.value)
            } else {
                significant(measure.value, 7)
            };
            let note = if measure.note.is_empty() { String::new() } else { format!(" {}", measure.note) };
            (measure.name.to_owned(), format!("{value}{note}"))
        })
        .collect();
    facts(page, &lines);
}

fn how(fitted: &Fitted) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut say = |name: &str, text: String| lines.push((name.to_owned(), text));
    if let Some(rank) = &fitted.rank {
        let sure = if rank.would_change { "; it would change near the tolerance" } else { "" };
        say(
            "rank",
            format!(
                "{} of {} (tolerance {:.1e}, gap {}{sure})",
                rank.rank,
                counted(rank.terms, "term", "terms"),
                rank.tolerance,
                if rank.gap.is_finite() { format!("{:.1e}", rank.gap) } else { short(rank.gap) }
            ),
        );
        say("condition", format!("{}, terms scaled to length 1", short(rank.condition)));
    }
    for encoded in &fitted.encodings {
        let levels = counted(encoded.levels.len(), "level", "levels");
        say("category", format!("{}: {levels}, reference {}", encoded.column, encoded.reference));
    }
    if let Some(weights) = &fitted.weights {
        say("weights", weights.clone());
    }
    let computation = &fitted.computation;
    let streamed = if computation.streamed { ", rows streamed through a summary" } else { "" };
    say("computed", format!("{}{streamed}", computation.method));
    say("rows", format!("{} read, {} used", computation.rows_read, computation.rows_used));
    if fitted.coefficients.iter().flat_map(|part| &part.terms).any(|term| term.dependent) {
        say("†", "depends on other columns; of all solutions the one of smallest norm is shown".to_owned());
    }
    lines
}
