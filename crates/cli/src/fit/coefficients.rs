//! The fit itself as a file: `.json`, `.txt`, or its coefficients as a table.

use crate::artifact::{Holds, Written, check, numbers, words, write_columns};
use crate::failure::Usage;
use crate::out::{check_text, to_file};
use spanwise::linear::told::{Fitted, FittedTerm};
use spanwise::report::{Ink, fitted_text, to_json};
use spanwise_io::Column;
use std::path::Path;

/// What a file of a fit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holding {
    Json,
    Text,
    /// One row per term.
    Terms,
}

impl Holding {
    /// As the ending of the name says, once it is known that such a file can be written there.
    pub(super) fn of(path: &Path) -> Result<Self, Usage> {
        let ending = path.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default();
        match ending.as_str() {
            "csv" | "parquet" => check("--out", path, Holds::Columns).map(|_| Holding::Terms),
            "" | "json" | "txt" => {
                check_text("--out", path).map(|json| if json { Holding::Json } else { Holding::Text })
            }
            _ => {
                let message = format!(
                    "`--out`: {}: cannot write this kind of file; expected .json, .txt, .csv or .parquet",
                    path.display()
                );
                Err(Usage::new(message))
            }
        }
    }
}

/// Writes the fit; `files` are those of the same call that are spoken of in its text.
pub(super) fn write(path: &Path, fitted: &Fitted, files: &Written) -> anyhow::Result<()> {
    match Holding::of(path)? {
        Holding::Json => to_file(path, &to_json(fitted)?),
        Holding::Text => to_file(path, &fitted_text(fitted, files, Ink::Plain)),
        Holding::Terms => write_columns("--out", path, columns(fitted)?),
    }
}

/// The terms of all classes, with the columns that the model has something for.
fn columns(fitted: &Fitted) -> anyhow::Result<Vec<Column>> {
    let parts = &fitted.coefficients;
    let terms: Vec<&FittedTerm> = parts.iter().flat_map(|part| &part.terms).collect();
    let mut all = Vec::new();
    if parts.iter().any(|part| part.class.is_some()) {
        let classes = parts
            .iter()
            .flat_map(|part| part.terms.iter().map(move |_| part.class.as_deref().unwrap_or_default()));
        all.push(words("class", &classes.collect::<Vec<_>>())?);
    }
    all.push(words("name", &terms.iter().map(|term| term.name.as_str()).collect::<Vec<_>>())?);
    all.push(numbers("coefficient", terms.iter().map(|term| term.estimate).collect()));
    let percent = 100.0 * fitted.confidence;
    let mut some = |name: &str, of: &dyn Fn(&FittedTerm) -> Option<f64>| {
        let values: Vec<Option<f64>> = terms.iter().map(|term| of(term)).collect();
        if values.iter().any(Option::is_some) {
            all.push(numbers(name, values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect()));
        }
    };
    some("standard error", &|term| term.standard_error);
    some(fitted.statistic, &|term| term.statistic);
    some("p", &|term| term.p_value);
    some(&format!("lower {percent} %"), &|term| term.interval.map(|(lower, _)| lower));
    some(&format!("upper {percent} %"), &|term| term.interval.map(|(_, upper)| upper));
    some("digits", &|term| term.digits);
    Ok(all)
}
