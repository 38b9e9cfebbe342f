//! Text tables whose fields another character separates than is expected.

use super::Asked;
use crate::failure::Usage;
use crate::source::is_inline;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// How much of a first line is looked at.
const LOOKED_AT: u64 = 1 << 16;

/// Refuses a separator for what has none of its own: a matrix in the argument, or a file that is no text.
pub(super) fn check_used(asked: &Asked<'_>) -> Result<(), Usage> {
    /// Endings of files that are not text.
    const BINARY: [&str; 8] = ["npy", "npz", "parquet", "pq", "arrow", "feather", "ipc", "safetensors"];
    if asked.pick.delimiter.is_none() {
        return Ok(());
    }
    let file = asked.file;
    if is_inline(file) {
        return Err(Usage::with_hint(
            format!("`--delimiter`: {file}: is a matrix in the argument; expected a text file"),
            "there `,` stands between numbers and `;` between rows",
        ));
    }
    // An array in a file: `x.npz:a`.
    let ending = Path::new(file).extension().map(|end| end.to_string_lossy().to_lowercase());
    match ending.as_deref().and_then(|end| end.split(':').next()) {
        Some(end) if BINARY.contains(&end) => {
            Err(Usage::new(format!("`--delimiter`: {file}: is no text file; only those have a delimiter")))
        }
        _ => Ok(()),
    }
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
