//! An explanation in a terminal: one screen, in the order of the page.

use crate::block::{Block, Line, Style, wrapped};
use crate::linear::{Files, facts, paragraph, written};
use crate::number::number_text;
use crate::sheet::{Cell, Sheet, significant};
use crate::{Ink, WIDTH};
use spanwise_lens::explain::{
    Entropy, Explanation, FigureKind, Finding, Reach, Severity, Subject, Table, TableCell,
};
use spanwise_lens::linear::counted;

/// Findings beyond this many are counted, not shown.
const SHOWN: usize = 8;
/// Rows of the main table.
const ROWS: usize = 14;
/// Characters of the reach bar.
const BAR: usize = 60;

/// One screen: verdict, findings, the main numbers, how it was computed.
pub fn explained_text(explanation: &Explanation, files: Files<'_>, ink: Ink) -> String {
    let mut page = Block::default();
    paragraph(&mut page, Style::Heading, &heading(&explanation.subject));
    for sentence in &explanation.verdict {
        paragraph(&mut page, Style::Text, sentence);
    }
    findings(&mut page, &explanation.findings);
    for figure in &explanation.figures {
        match &figure.kind {
            FigureKind::Reach(part) => reach(&mut page, part),
            FigureKind::Entropy(part) => entropy(&mut page, part),
            _ => {}
        }
    }
    if let Some(table) = explanation.tables.first() {
        page.blank();
        main_table(&mut page, table, ink);
    }
    page.blank();
    facts(&mut page, &how(explanation));
    written(&mut page, files);
    page.render(ink)
}

fn heading(subject: &Subject) -> String {
    match subject {
        Subject::Table { source, rows, columns, target, .. } => {
            let (rows, columns) =
                (counted(*rows as usize, "row", "rows"), counted(*columns, "column", "columns"));
            format!("explain · {source} · {rows} × {columns} · target {target}")
        }
        Subject::Attention {
            source,
            batch,
            heads,
            key_value_heads,
            queries,
            keys,
            key_width,
            value_width,
            ..
        } => {
            let shared = if key_value_heads == heads {
                String::new()
            } else {
                format!(" ({key_value_heads} of keys)")
            };
            format!(
                "explain · {source} · {batch} × {}{shared} · {} × {} · widths {key_width} and {value_width}",
                counted(*heads, "head", "heads"),
                counted(*queries, "query", "queries"),
                counted(*keys, "key", "keys")
            )
        }
        Subject::Layers { source, layers, heads, queries, keys, .. } => {
            format!(
                "lens · {source} · {} · {} · up to {} × {}",
                counted(*layers, "layer", "layers"),
                counted(*heads, "head", "heads"),
                counted(*queries, "query", "queries"),
                counted(*keys, "key", "keys")
            )
        }
    }
}

fn findings(page: &mut Block, findings: &[Finding]) {
    page.blank();
    for finding in findings.iter().take(SHOWN) {
        let (mark, style, word) = match finding.severity {
            Severity::Serious => ("■", Style::Bad, "serious "),
            Severity::Caution => ("▲", Style::Accent, "caution "),
            Severity::Note => ("·", Style::Faint, "note    "),
        };
        let mut lines = wrapped(&finding.sentence, WIDTH - 10).into_iter();
        let first = lines.next().unwrap_or_default();
        page.push(Line::new(style, format!("{mark} {word}")).and(Style::Text, first));
        let mut more = |style, text: &str| page.push(Line::new(style, format!("{:10}{text}", "")));
        lines.for_each(|line| more(Style::Text, &line));
        if finding.is_alarm() {
            let advice = finding.advice.iter().map(|advice| format!("► {advice}"));
            advice
                .for_each(|text| wrapped(&text, WIDTH - 10).iter().for_each(|line| more(Style::Text, line)));
            let certificate = finding.certificate.iter();
            certificate
                .for_each(|text| wrapped(text, WIDTH - 10).iter().for_each(|line| more(Style::Faint, line)));
        }
    }
    if findings.len() > SHOWN {
        let note = format!("{:10}and {} more: the JSON has them all", "", findings.len() - SHOWN);
        page.push(Line::new(Style::Faint, note));
    }
}

/// `████▓▓▒▒░░` with what each part is.
fn reach(page: &mut Block, reach: &Reach) {
    let parts = [
        ("the columns", Some(reach.inside), '█'),
        ("squares", reach.squares, '▓'),
        ("products", reach.interactions, '▒'),
        ("kernel", reach.kernel, '░'),
        ("beyond", Some(reach.beyond), '·'),
    ];
    let mut bar = String::new();
    let mut words = Vec::new();
    let mut sum = 0.0;
    for (name, share, mark) in parts {
        let Some(share) = share else { continue };
        sum += share;
        let end = (sum * BAR as f64).round() as usize;
        let filled = bar.chars().count();
        bar.extend(std::iter::repeat_n(mark, end.saturating_sub(filled)));
        if share >= 0.0005 || mark == '█' || mark == '·' {
            words.push(format!("{mark} {name} {}", share_text(share)));
        }
    }
    page.blank();
    let whence = if reach.held_out { "on rows left out" } else { "on the rows of the fit" };
    page.push(Line::new(Style::Faint, format!("{}, {whence}", reach.of)));
    page.push(Line::new(Style::Accent, bar));
    page.push(Line::new(Style::Text, words.join("   ")));
}

fn share_text(share: f64) -> String {
    format!("{} %", significant(100.0 * share, 3))
}

fn entropy(page: &mut Block, entropy: &Entropy) {
    if entropy.heads > 16 || entropy.layers.len() > 4 {
        return;
    }
    page.blank();
    page.push(Line::new(Style::Faint, "entropy of the heads: 0 one key, 1 all alike"));
    for (layer, values) in entropy.layers.iter().zip(entropy.values.chunks(entropy.heads.max(1))) {
        // A layer with fewer heads than others leaves places without a number.
        let shown = |value: &f64| if value.is_finite() { format!("{value:.2}") } else { "·".to_owned() };
        let values: Vec<String> = values.iter().map(shown).collect();
        page.push(Line::new(Style::Text, format!("{layer}  {}", values.join(" "))));
    }
}

/// The table, without what a screen has no room for: intervals first, then columns from the right.
fn main_table(page: &mut Block, table: &Table, ink: Ink) {
    let mut columns: Vec<usize> = (0..table.columns.len()).collect();
    let mut block = sheet(table, &columns, ink);
    if block.width() > WIDTH {
        columns.retain(|&j| !table.columns[j].name.contains(" % "));
        block = sheet(table, &columns, ink);
    }
    while block.width() > WIDTH && columns.len() > 2 {
        columns.pop();
        block = sheet(table, &columns, ink);
    }
    page.append(block);
    let more = |text: String| Line::new(Style::Faint, text);
    if table.rows.len() > ROWS {
        page.push(more(format!(
            "first {ROWS} of {} rows; all of them: in the JSON, on the page",
            table.rows.len()
        )));
    }
    if columns.len() < table.columns.len() {
        let left: Vec<&str> = (0..table.columns.len())
            .filter(|j| !columns.contains(j))
            .map(|j| table.columns[j].name.as_str())
            .collect();
        page.push(more(format!("{}: in the JSON, on the page", left.join(", "))));
    }
}

fn sheet(table: &Table, columns: &[usize], ink: Ink) -> Block {
    let names: Vec<&str> = columns.iter().map(|&j| table.columns[j].name.as_str()).collect();
    let mut sheet = Sheet::new(&names);
    for row in table.rows.iter().take(ROWS) {
        sheet.push(columns.iter().zip(&names).map(|(&j, name)| shown(&row[j], name, ink)).collect());
    }
    sheet.block()
}

fn shown(cell: &TableCell, column: &str, ink: Ink) -> Cell {
    match cell {
        TableCell::Text(text) => Cell::new(text.clone()),
        TableCell::Number { value, digits: Some(digits) } => Cell::certain(*value, Some(*digits), 8, ink),
        TableCell::Number { value, .. } if column == "p" && *value < 1e-4 && *value > 0.0 => {
            Cell::new(format!("{value:.0e}"))
        }
        TableCell::Number { value, .. } if value.is_finite() => Cell::new(significant(*value, 4)),
        TableCell::Number { value, .. } => Cell::new(number_text(*value)),
        TableCell::Nothing => Cell::none(),
    }
}

fn how(explanation: &Explanation) -> Vec<(String, String)> {
    let computation = &explanation.computation;
    let mut lines = computation.settings.clone();
    let total: f64 = computation.seconds.iter().map(|(_, seconds)| seconds).sum();
    let parts: Vec<String> = computation
        .seconds
        .iter()
        .filter(|(_, seconds)| *seconds > 0.05 * total)
        .map(|(name, seconds)| format!("{name} {}", seconds_text(*seconds)))
        .collect();
    if !parts.is_empty() {
        lines.push(("seconds".to_owned(), format!("{} ({})", seconds_text(total), parts.join(", "))));
    }
    lines
}

/// Two digits, and none below a tenth of a millisecond: a clock says no more.
fn seconds_text(seconds: f64) -> String {
    significant((seconds * 1e4).round() / 1e4, 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spanwise_lens::explain::specimen;

    #[test]
    fn a_screen_has_the_order_of_the_page_and_fits_a_hundred_columns() {
        for explanation in [specimen::table(), specimen::attention()] {
            let text = explained_text(&explanation, &[], Ink::Plain);
            let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is missing in {text}"));
            let flat = text.replace('\n', " ");
            assert!(flat.contains(&explanation.verdict[0]), "{text}");
            assert!(at(&explanation.findings[0].sentence[..20]) < at("seconds"));
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            assert!(!text.contains('\x1b'));
            assert!(explained_text(&explanation, &[], Ink::Colour).contains('\x1b'));
        }
    }

    #[test]
    fn short_times_fit_a_hundred_columns_too() {
        let mut explanation = specimen::table();
        let parts = ["reading", "fit", "columns", "rows", "reach", "figures", "folds"];
        explanation.computation.seconds =
            parts.iter().map(|name| ((*name).to_owned(), 0.000_251_7)).collect();
        let text = explained_text(&explanation, &[], Ink::Plain);
        assert!(text.contains("0.0018 (reading 0.0003, fit 0.0003, columns 0.0003"), "{text}");
        assert!(text.contains("folds 0.0003)"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    #[test]
    fn the_reach_bar_is_as_long_as_its_shares() {
        let mut page = Block::default();
        reach(&mut page, &Reach { inside: 0.5, squares: Some(0.25), beyond: 0.25, ..Reach::default() });
        let text = page.render(Ink::Plain);
        let count = |mark| text.lines().nth(2).unwrap().chars().filter(|&c| c == mark).count();
        assert_eq!((count('█'), count('▓'), count('·')), (30, 15, 15), "{text}");
    }
}
