//! Text tables whose fields another character separates than is expected.

use super::Asked;
use crate::failure::Usage;
use spanwise_io::Format;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// How much of a first line is looked at.
const LOOKED_AT: u64 = 1 << 16;

/// Refuses a separator for a matrix in the argument, which has its own.
pub(super) fn refuse_inline(asked: &Asked<'_>) -> Result<(), Usage> {
    match asked.pick.delimiter {
        None => Ok(()),
        Some(_) => Err(Usage::with_hint(
            format!("`--delimiter`: {}: is a matrix in the argument; expected a text file", asked.file),
            "there `,` stands between numbers and `;` between rows",
        )),
    }
}

/// Refuses a separator for a file that was found to be no text.
pub(super) fn check_used(asked: &Asked<'_>, format: Format) -> Result<(), Usage> {
    if asked.pick.delimiter.is_none() || format.is_text() {
        return Ok(());
    }
    let file = asked.file;
    Err(Usage::new(format!("`--delimiter`: {file}: is no text file but {format}; only text has a delimiter")))
}

/// Refuses a text file whose first line has no separator of its kind but another one, and says which option reads it.
pub(super) fn check(asked: &Asked<'_>) -> Result<(), Usage> {
    let path = Path::new(asked.file);
    let ending = path.extension().map(|end| end.to_string_lossy().to_lowercase());
    let (expected, name) = match ending.as_deref() {
        Some("csv") => (',', "commas"),
        Some("tsv") => ('\t', "tabs"),
        _ => return Ok(()),
    };
    if asked.pick.delimiter.is_some() || !path.is_file() {
        return Ok(());
    }
    // What cannot be read is told by whoever reads it.
    let mut start = Vec::new();
    if File::open(path).and_then(|file| file.take(LOOKED_AT).read_to_end(&mut start)).is_err() {
        return Ok(());
    }
    let start = String::from_utf8_lossy(&start);
    let line = start.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let other = [';', '\t', '|', ','].into_iter().find(|&c| line.contains(c));
    let (false, Some(other)) = (line.contains(expected), other) else { return Ok(()) };
    let (found, typed) = match other {
        ';' => ("semicolons", "\";\""),
        '\t' => ("tabs", "tab"),
        '|' => ("bars", "\"|\""),
        _ => ("commas", ","),
    };
    let message = format!("{}: found {found} in the first line and no {name}", asked.file);
    Err(Usage::with_hint(
        message,
        format!("`--delimiter {typed}` reads it; `--delimiter {}` takes it as one column", own(expected)),
    ))
}

fn own(expected: char) -> &'static str {
    if expected == ',' { "," } else { "tab" }
}
