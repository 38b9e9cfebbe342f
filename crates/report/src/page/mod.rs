//! An explanation as one HTML file: it opens from disk, asks the network for nothing, and works without the mouse.
//!
//! Everything is written here as plain HTML and SVG, readable without any script. One small script, written by hand, adds
//! what paper cannot do: numbers where the reader points, tables that sort, copies and files, a map that zooms. The page's
//! own policy forbids it every connection.

mod computation;
mod figure;
mod finding;
mod maps;
mod prose;
mod table;
#[cfg(test)]
mod tests;

use crate::figure::{FIGURE_STYLE, Theme, escaped, variables};
use figure::Shown;
use prose::prose;
use spanwise_lens::explain::{Explanation, Severity, Subject};
use spanwise_lens::linear::counted;
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");
const SCRIPT: [&str; 6] = [
    include_str!("script/base.js"),
    include_str!("script/figures.js"),
    include_str!("script/save.js"),
    include_str!("script/tables.js"),
    include_str!("script/map.js"),
    include_str!("script/start.js"),
];

/// Nothing may be fetched: styles and the script are in the file, images in their addresses.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:";

/// An explanation as one self-contained page.
///
/// ```
/// use spanwise_lens::explain::specimen;
/// use spanwise_report::page_html;
///
/// let page = page_html(&specimen::table());
/// assert!(page.starts_with("<!doctype html>") && !page.contains("https:"));
/// ```
pub fn page_html(explanation: &Explanation) -> String {
    let mut shown = Shown::new(explanation);
    let findings = finding::section(explanation, &mut shown);
    let figures = shown.rest();
    let sections = [
        ("verdict", "Verdict", verdict(explanation)),
        ("findings", "Findings", findings),
        ("figures", "Figures", figures),
        ("tables", "Tables", table::section(&explanation.tables)),
        ("computation", "Computation", computation::section(&explanation.computation)),
    ];
    let title = title(&explanation.subject);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\" data-theme=\"auto\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
        escaped(&title.replace('`', "")),
        style(),
    );
    page.push_str("<a class=\"skip\" href=\"#verdict\">Skip to the verdict</a>\n");
    header(&mut page, explanation, &title, &sections);
    page.push_str("<main>\n");
    for (id, name, body) in sections.iter().filter(|section| !section.2.is_empty()) {
        let _ =
            writeln!(page, "<section id=\"{id}\" class=\"{id}\" aria-label=\"{name}\">\n{body}</section>");
    }
    page.push_str("</main>\n");
    let _ = writeln!(
        page,
        "<footer><p>Made by Spanwise {}. This page is complete in itself: keep it, print it, send it.</p></footer>",
        escaped(explanation.computation.version)
    );
    page.push_str("<div id=\"said\" class=\"hidden\" role=\"status\"></div>\n");
    let styles = serde_json::json!({ "light": Theme::Light.style(), "dark": Theme::Dark.style() });
    let _ = writeln!(page, "<script type=\"application/json\" id=\"styles\">{}</script>", in_script(&styles));
    let _ = writeln!(
        page,
        "<script>\n(() => {{\n\"use strict\";\n{}}})();\n</script>\n</body>\n</html>",
        SCRIPT.concat()
    );
    page
}

/// Both themes: the reader's choice first, else what the system asks for; paper is always light.
fn style() -> String {
    let (light, dark) = (variables(Theme::Light), variables(Theme::Dark));
    format!(
        ":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n\
         @media screen{{:root[data-theme=dark]{{{dark}}}}}\n{STYLE}{FIGURE_STYLE}"
    )
}

/// Data as a script may hold it: no element can begin or end inside.
fn in_script(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()).replace('<', "\\u003c")
}

fn title(subject: &Subject) -> String {
    match subject {
        Subject::Table { target, columns, classes, .. } => {
            let what = if classes.is_empty() { "" } else { "Classes of " };
            format!("{what}`{target}`, explained by {}", counted(*columns, "column", "columns"))
        }
        Subject::Attention { heads, .. } => {
            format!("Where {} look{}", counted(*heads, "attention head", "attention heads"), look(*heads))
        }
        Subject::Layers { layers, heads, .. } => {
            let (heads_of, layers) =
                (counted(*heads, "head", "heads"), counted(*layers, "attention layer", "attention layers"));
            format!("Where {heads_of} of {layers} look{}", look(*heads))
        }
    }
}

/// The ending of a verb.
fn look(count: usize) -> &'static str {
    if count == 1 { "s" } else { "" }
}

/// What was read, in one line.
fn facts(subject: &Subject) -> (String, String) {
    match subject {
        Subject::Table { source, rows, rows_read, columns, classes, weights, intercept, .. } => {
            let read = counted(*rows_read as usize, "row", "rows");
            let mut facts = vec![if rows == rows_read { read } else { format!("{rows} of {read}") }];
            facts.push(format!("{} after encoding", counted(*columns, "column", "columns")));
            if !classes.is_empty() {
                facts.push(counted(classes.len(), "class", "classes"));
            }
            if let Some(weights) = weights {
                facts.push(format!("weighted by {weights}"));
            }
            facts.push(if *intercept { "with intercept" } else { "without intercept" }.to_owned());
            (source.clone(), facts.join(" · "))
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
            scale,
            options,
        } => {
            let mut facts = vec![
                format!("batch {batch}"),
                counted(*heads, "query head", "query heads"),
                counted(*key_value_heads, "key/value head", "key/value heads"),
                format!("{} × {}", counted(*queries, "query", "queries"), counted(*keys, "key", "keys")),
                format!("widths {key_width} and {value_width}"),
                format!("scale {}", crate::figure::significant(*scale, 4)),
            ];
            facts.extend(options.iter().map(|asked| asked.meaning.clone()));
            (source.clone(), facts.join(" · "))
        }
        Subject::Layers { source, layers, heads, queries, keys, rows } => {
            let facts = format!(
                "{} · {} · up to {} × {} · {}",
                counted(*layers, "layer", "layers"),
                counted(*heads, "head", "heads"),
                counted(*queries, "query", "queries"),
                counted(*keys, "key", "keys"),
                counted(*rows as usize, "row", "rows")
            );
            (source.clone(), facts)
        }
    }
}

fn header(page: &mut String, explanation: &Explanation, title: &str, sections: &[(&str, &str, String)]) {
    let (source, facts) = facts(&explanation.subject);
    let _ = writeln!(
        page,
        "<header>\n<p class=\"label\">Spanwise explains {}</p>\n<h1>{}</h1>\n<p class=\"facts\">{}</p>\n\
         <nav class=\"nav\" aria-label=\"Sections\">",
        escaped(&source),
        prose(title),
        escaped(&facts)
    );
    for (id, name, _) in sections.iter().filter(|section| !section.2.is_empty()) {
        let _ = writeln!(page, "<a href=\"#{id}\">{name}</a>");
    }
    page.push_str("<button id=\"theme\" type=\"button\">Theme: auto</button>\n</nav>\n</header>\n");
}

fn verdict(explanation: &Explanation) -> String {
    let mut body = String::new();
    for sentence in &explanation.verdict {
        let _ = writeln!(body, "<p>{}</p>", prose(sentence));
    }
    body
}

/// The word for a severity, and its shape: a full square, a triangle, a ring.
pub(crate) fn severity(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Serious => ("serious", "<rect width=\"12\" height=\"12\"/>"),
        Severity::Caution => ("caution", "<path d=\"M6 0L12 11.5H0Z\"/>"),
        Severity::Note => ("note", "<circle cx=\"6\" cy=\"6\" r=\"4.8\"/>"),
    }
}
