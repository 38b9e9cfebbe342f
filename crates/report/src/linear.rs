//! Pages of linear computations: verdict, findings, tables, how it was computed.

mod decomposed;
mod fitted;
mod measured;
mod projected;
mod solved;

pub use decomposed::decomposed_text;
pub use fitted::fitted_text;
pub use measured::measured_text;
pub use projected::{basis_text, changed_text, components_text, projected_text};
pub use solved::solved_text;

use crate::block::{Block, Line, Style, wrapped};
use spanwise_lens::linear::{Finding, Severity};

/// What was written where: `(what, path)`.
pub(crate) type Files<'a> = &'a [(String, String)];

/// A sentence over as many lines as it needs.
pub(crate) fn paragraph(page: &mut Block, style: Style, text: &str) {
    for line in wrapped(text, crate::WIDTH) {
        page.push(Line::new(style, line));
    }
}

/// Findings, each with its mark, its advice and its certificate.
fn findings(page: &mut Block, findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    page.blank();
    for finding in findings {
        let (mark, style, word) = match finding.severity {
            Severity::Serious => ("■", Style::Bad, "serious "),
            Severity::Caution => ("▲", Style::Accent, "caution "),
            Severity::Note => ("·", Style::Faint, "note    "),
        };
        let mut lines = wrapped(&finding.sentence, crate::WIDTH - 10).into_iter();
        let first = lines.next().unwrap_or_default();
        page.push(Line::new(style, format!("{mark} {word}")).and(Style::Text, first));
        let mut more = |style, text: &str| page.push(Line::new(style, format!("{:10}{text}", "")));
        lines.for_each(|line| more(Style::Text, &line));
        if let Some(advice) = &finding.advice {
            for line in &wrapped(&format!("► {advice}"), crate::WIDTH - 10) {
                more(Style::Text, line);
            }
        }
        if let Some(certificate) = &finding.certificate {
            for line in &wrapped(certificate, crate::WIDTH - 10) {
                more(Style::Faint, line);
            }
        }
    }
}

/// Says that a table was cut, where it was.
fn cut(page: &mut Block, all: usize, shown: usize, what: &str) {
    if all > shown {
        page.push(Line::new(Style::Faint, format!("first {shown} of {all} {what}; all: --json")));
    }
}

/// Names and what belongs to them, one a line.
pub(crate) fn facts(page: &mut Block, facts: &[(String, String)]) {
    let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, text) in facts {
        let mut lines = wrapped(text, crate::WIDTH.saturating_sub(width + 2)).into_iter();
        let mut push = |name: &str, line: String| {
            page.push(Line::new(Style::Faint, format!("{name:<width$}  ")).and(Style::Text, line));
        };
        push(name, lines.next().unwrap_or_default());
        lines.for_each(|line| push("", line));
    }
}

pub(crate) fn written(page: &mut Block, files: Files<'_>) {
    if !files.is_empty() {
        page.blank();
    }
    for (what, path) in files {
        page.push(Line::new(Style::Faint, "written  ").and(Style::Text, format!("{what} to {path}")));
    }
}
