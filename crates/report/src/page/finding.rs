//! Findings: a sentence, the figure that shows it, what to do, and in small type what proves it.

use super::figure::Shown;
use super::prose::prose;
use super::severity;
use crate::figure::{escaped, significant};
use spanwise_lens::explain::{Explanation, Finding, Severity};
use std::fmt::Write;

pub(crate) fn section(explanation: &Explanation, shown: &mut Shown<'_>) -> String {
    let mut body =
        format!("<h2>Findings<span class=\"count\">{}</span></h2>\n", counts(&explanation.findings));
    if explanation.findings.is_empty() {
        body.push_str("<p>Nothing was found that asks for attention.</p>\n");
    }
    for (i, finding) in explanation.findings.iter().enumerate() {
        body.push_str(&one(i + 1, finding, shown));
    }
    body
}

fn counts(findings: &[Finding]) -> String {
    let count = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let words = [
        (count(Severity::Serious), "serious", "serious"),
        (count(Severity::Caution), "caution", "cautions"),
        (count(Severity::Note), "note", "notes"),
    ];
    let word = |(n, one, many): (usize, &str, &str)| {
        (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { many }))
    };
    words.into_iter().filter_map(word).collect::<Vec<_>>().join(", ")
}

fn one(number: usize, finding: &Finding, shown: &mut Shown<'_>) -> String {
    let (word, shape) = severity(finding.severity);
    let mut article = format!(
        "<article class=\"finding {word}\" id=\"finding-{number}\" aria-labelledby=\"sentence-{number}\">\n\
         <p class=\"severity\"><svg viewBox=\"-1 -1 14 14\" aria-hidden=\"true\">{shape}</svg>\
         <span class=\"word\">{word}</span><span class=\"name\">{}</span></p>\n<h3 id=\"sentence-{number}\">{}</h3>\n",
        escaped(finding.name),
        prose(&capitalised(&finding.sentence)),
    );
    if let Some(id) = finding.figure {
        article.push_str(&shown.at_finding(id));
    }
    if !finding.evidence.is_empty() {
        article.push_str("<div class=\"evidence\"><dl>\n");
        for evidence in &finding.evidence {
            let (name, value) = (prose(&evidence.name), significant(evidence.value, 5));
            let _ = writeln!(article, "<dt>{name}</dt><dd>{value}</dd>");
        }
        article.push_str("</dl></div>\n");
    }
    if let Some(advice) = &finding.advice {
        let _ =
            writeln!(article, "<p class=\"advice\"><b>What to do.</b> {}</p>", prose(&capitalised(advice)));
    }
    if let Some(certificate) = &finding.certificate {
        let _ = writeln!(article, "<p class=\"certificate\">Checked: {}</p>", prose(certificate));
    }
    article.push_str("</article>\n");
    article
}

/// Sentences of findings begin small, for the terminal; on a page they stand alone. Names stay as they are.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
