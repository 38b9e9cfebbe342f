//! What a table of numbers is like.

use super::{Files, facts, findings, paragraph, written};
use crate::Ink;
use crate::block::{Block, Line, Style};
use crate::number::number_text;
use crate::sheet::{Cell, Sheet, significant};
use spanwise_lens::linear::{HullAnswer, Measured, SpanAnswer};

/// Tables are cut beyond this many rows, points and columns.
const SHOWN: usize = 40;
/// Shares shown beside a condition index.
const MOST_SHARES: usize = 9;

/// The page of measures.
pub fn measured_text(measured: &Measured, files: Files<'_>, ink: Ink) -> String {
    let mut page = Block::default();
    page.push(Line::new(Style::Heading, format!("{} × {}", measured.rows, measured.columns)));
    paragraph(&mut page, Style::Text, &verdict(measured));
    findings(&mut page, &measured.findings);
    if let Some(span) = &measured.span {
        page.blank();
        span_answer(&mut page, span, measured);
    }
    hull_answers(&mut page, &measured.hull);
    page.blank();
    columns(&mut page, measured);
    page.blank();
    indices(&mut page, measured);
    page.blank();
    let (low, high) = measured.rank_in_band;
    let norms = [
        ("Frobenius", measured.frobenius_norm),
        ("spectral", measured.spectral_norm),
        ("1", measured.one_norm),
        ("∞", measured.infinity_norm),
    ]
    .map(|(name, norm)| format!("{name} {}", significant(norm, 6)));
    facts(
        &mut page,
        &[
            ("norms".to_owned(), norms.join(", ")),
            (
                "condition".to_owned(),
                format!(
                    "{} as given, {} with columns scaled to length 1",
                    significant(measured.condition, 4),
                    significant(measured.condition_scaled, 4)
                ),
            ),
            (
                "rank".to_owned(),
                format!(
                    "tolerance {:.1e}, gap {}; {low} to {high} for tolerances from {:.1e} to {:.1e}",
                    measured.rank_tolerance,
                    significant(measured.rank_gap, 2),
                    measured.rank_band.0,
                    measured.rank_band.1
                ),
            ),
            (
                "effective rank".to_owned(),
                format!(
                    "{} (entropy), {} (stable)",
                    significant(measured.effective_rank, 4),
                    significant(measured.stable_rank, 4)
                ),
            ),
        ],
    );
    written(&mut page, files);
    page.render(ink)
}

fn verdict(measured: &Measured) -> String {
    let (low, high) = measured.rank_in_band;
    let sure = if low == high { "" } else { ", not certainly" };
    // A constant column is independent of the others and yet repeats the intercept: that is a finding, not the rank.
    let repeats_ones = measured.intercept && measured.dependencies.iter().any(|found| found.exact);
    let zero = measured.column_measures.iter().filter(|column| column.norm == 0.0).count();
    let full = match (measured.rank, measured.columns) {
        (0, 1) => "the column is 0",
        (0, _) => "every column is 0",
        (1, 1) if repeats_ones => "the column is independent, if not of an intercept",
        (1, 1) => "the column is independent",
        (rank, columns) if rank == columns && repeats_ones => {
            "all columns are independent of each other, if not of an intercept"
        }
        (rank, columns) if rank == columns => "all columns are independent",
        (rank, columns) if rank + zero == columns => {
            "columns that are 0 add nothing, the others are independent"
        }
        _ => "columns repeat others",
    };
    let condition = if measured.rank == 0 {
        String::new()
    } else {
        format!(" Scaled condition number {}.", significant(measured.condition_scaled, 3))
    };
    format!("Rank {} of {}{sure}: {full}.{condition}", measured.rank, measured.columns)
}

fn columns(page: &mut Block, measured: &Measured) {
    let mut sheet = Sheet::new(&["column", "length", "VIF", "R² on the others"]);
    for column in measured.column_measures.iter().take(SHOWN) {
        sheet.push(vec![
            Cell::new(&column.name),
            Cell::new(significant(column.norm, 6)),
            Cell::new(significant(column.vif, 5)),
            Cell::new(significant(column.r_squared, 6)),
        ]);
    }
    page.append(sheet.block());
    cut(page, measured.column_measures.len());
}

fn indices(page: &mut Block, measured: &Measured) {
    let shown = measured.share_names.len().min(MOST_SHARES);
    let names = measured.share_names.iter().take(shown).map(String::as_str);
    let header: Vec<&str> = ["condition index"].into_iter().chain(names).collect();
    let mut sheet = Sheet::new(&header);
    // The largest indices say most.
    for row in measured.condition_indices.iter().rev().take(SHOWN) {
        let shares = row.shares.iter().take(shown).map(|share| Cell::new(format!("{share:.2}")));
        sheet.push([Cell::new(significant(row.index, 4))].into_iter().chain(shares).collect());
    }
    page.append(sheet.block());
    if measured.share_names.len() > shown {
        let note = format!(
            "shares of the first {shown} of {} coefficients; all: --json",
            measured.share_names.len()
        );
        page.push(Line::new(Style::Faint, note));
    }
}

fn cut(page: &mut Block, all: usize) {
    if all > SHOWN {
        page.push(Line::new(Style::Faint, format!("first {SHOWN} of {all}; all: --json")));
    }
}

fn span_answer(page: &mut Block, span: &SpanAnswer, measured: &Measured) {
    let verdict = if span.inside { "lies in the span of the columns" } else { "does not lie in the span" };
    let style = if span.inside { Style::Good } else { Style::Bad };
    page.push(
        Line::new(style, if span.inside { "✓ " } else { "✗ " })
            .and(Style::Text, format!("`{}` {verdict}", span.name)),
    );
    let names = measured.column_measures.iter().map(|column| column.name.as_str());
    let used = names.zip(&span.coefficients).filter(|&(_, &c)| c != 0.0).take(SHOWN);
    let terms = used.enumerate().map(|(i, (name, &c))| {
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
    let only = if span.unique { "" } else { " (among others)" };
    indented(page, &format!("part inside = {sum}{only}"));
    let certificate = format!(
        "part outside: {} of its length (at most {:.1e} is rounding), cosine with any column at most {:.1e}",
        significant(span.outside_share, 4),
        span.tolerance,
        span.orthogonality
    );
    indented(page, &certificate);
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
    cut(page, answers.len());
}
