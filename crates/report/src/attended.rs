//! A run of attention: a few lines about it, and its output where that is small.

use crate::block::{Block, Ink, Line, Style, flow};
use crate::grid::{COLUMNS, ROWS, array_block};
use crate::json::to_json;
use crate::number::{number_text, residual_text, shape_text};
use serde::Serialize;
use spanwise_lens::linear::counted;
use spanwise_lens::{Array, Attended, Summary};

/// Outputs up to this many rows and columns are shown whole.
const WHOLE: usize = 12;

/// The summary, the output or a corner of it, and what was written where: `(what, path)`.
pub fn attended_text(attended: &Attended, files: &[(String, String)], ink: Ink) -> String {
    let mut page = Block::default();
    let summary = &attended.summary;
    let mut say = |name: &str, text: &str| {
        page.push(Line::new(Style::Faint, format!("{name:<10} ")).and(Style::Text, text));
    };
    for (name, text) in sentences(summary) {
        say(name, &text);
    }
    for (what, path) in files {
        say("written", &format!("{what} to {path}"));
    }
    page.blank();
    let mut output = Block::default();
    let title =
        Line::new(Style::Heading, "o").and(Style::Faint, format!(" {}", shape_text(&summary.output_shape)));
    output.push(title);
    let (rows, columns) = shown(&attended.output);
    output.append(array_block(&attended.output, rows, columns));
    let whole_elsewhere = files.iter().any(|(what, _)| what == "output");
    if cut(&attended.output, rows, columns) && !whole_elsewhere {
        output.push(Line::new(Style::Faint, "the whole output: --out FILE"));
    }
    page.append(flow(vec![output], crate::WIDTH, 2));
    page.render(ink)
}

/// How many rows and columns of each matrix.
fn shown(output: &Array) -> (usize, usize) {
    let whole = output.dims().iter().rev().take(2).all(|&n| n <= WHOLE);
    if whole { (WHOLE, WHOLE) } else { (ROWS / 2, COLUMNS / 2) }
}

fn cut(output: &Array, rows: usize, columns: usize) -> bool {
    let dims = output.dims();
    let matrix = dims.len().saturating_sub(2);
    dims[..matrix].iter().product::<usize>() > 1 && output.data().len() > WHOLE * WHOLE
        || dims[matrix..].iter().zip([rows, columns]).any(|(&n, shown)| n > shown)
}

/// Name and words, in reading order.
fn sentences(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut lines = vec![("attention", sizes(summary))];
    if !summary.options.iter().any(|asked| asked.option == "scale") {
        lines.push(("scale", format!("{} (1/√D)", number_text(summary.scale))));
    }
    lines.extend(summary.options.iter().map(|asked| (asked.option, asked.meaning.clone())));
    // A sink takes part in the softmax without being a key: with it the keys' weights alone sum to less.
    let sink = summary.options.iter().any(|asked| asked.option == "sinks");
    let sums = if summary.row_sum_error.is_nan() {
        "some rows are not numbers: their scores hold a NaN or an infinity".to_owned()
    } else {
        format!(
            "rows{} sum to 1 within {} (at most {} expected)",
            if sink { " and the sink's share" } else { "" },
            residual_text(summary.row_sum_error),
            residual_text(summary.row_sum_tolerance)
        )
    };
    lines.push(("weights", sums));
    if summary.empty_rows > 0 {
        let (one, many) = ("row has no key left and gives zeros", "rows have no key left and give zeros");
        lines.push(("empty", counted(summary.empty_rows, one, many)));
    }
    if let (Some(smallest), Some(largest)) = (summary.smallest, summary.largest) {
        lines.push(("range", format!("{} to {}", number_text(smallest), number_text(largest))));
    }
    if summary.not_finite > 0 {
        lines.push((
            "warning",
            format!("{} NaN or infinite", counted(summary.not_finite, "output is", "outputs are")),
        ));
    }
    lines
}

/// Queries and keys of one head, and how many heads there are.
fn sizes(summary: &Summary) -> String {
    let (outer, queries) = match *summary.output_shape {
        [ref outer @ .., n, _] => (outer, n),
        _ => (&[][..], summary.rows),
    };
    let counts =
        format!("{} over {}", counted(queries, "query", "queries"), counted(summary.keys, "key", "keys"));
    let each = |(&count, word): (&usize, &str)| (count > 1).then(|| format!("each of {count} {word}"));
    let each: Vec<String> = outer.iter().rev().zip(["heads", "batch entries"]).filter_map(each).collect();
    if each.is_empty() { counts } else { format!("{counts} in {}", each.join(" of ")) }
}

/// What JSON says of a run of attention.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AttendedJson<'a> {
    /// What there is to say about the run.
    pub summary: &'a Summary,
    /// `(…, N, E)`; left out where it went to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<&'a Array>,
    /// `(…, N)`; left out where it was not asked for or went to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lse: Option<&'a Array>,
    /// What was written where: `(what, path)`.
    pub files: &'a [(String, String)],
}

/// The run as JSON.
pub fn attended_json(attended: &AttendedJson<'_>) -> Result<String, serde_json::Error> {
    to_json(attended)
}
