//! Files of a fit: predictions, and what each row does.

use crate::artifact::{numbers, words, write_columns};
use crate::failure::Usage;
use crate::table::{Rows, Source, row_numbers};
use spanwise::View;
use spanwise::linear::LinearFit;
use spanwise::linear::told::{Finding, Label, missing_of_predictions};
use std::path::Path;

/// What is predicted for some rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Predicted {
    /// Columns of numbers by name.
    pub(super) numbers: Vec<(String, Vec<f64>)>,
    /// The class of each row.
    pub(super) classes: Option<Vec<Label>>,
    /// The dependency of the fit that each row breaks, where some do.
    pub(super) broken: Vec<Option<usize>>,
}

/// Rows with what is predicted for them.
pub(super) struct Predictions {
    index: Vec<u64>,
    all: Predicted,
    /// Rows of the table, those left out included.
    read: u64,
    /// Values that took the mean.
    filled: u64,
}

/// Predicts a table batch by batch.
pub(super) fn predict(
    mut source: Source,
    file: &str,
    model: impl Fn(View<'_, f64>) -> anyhow::Result<Predicted>,
) -> anyhow::Result<Predictions> {
    let mut predictions = Predictions { index: Vec::new(), all: Predicted::default(), read: 0, filled: 0 };
    while let Some(rows) = source.next_rows()? {
        predictions.read += rows.read;
        predictions.filled += rows.filled;
        if rows.count() == 0 {
            continue;
        }
        let some = model(View::new(&rows.x, &[rows.count(), rows.width])?)?;
        predictions.index.extend(&rows.index);
        let all = &mut predictions.all;
        if all.numbers.is_empty() {
            *all = some;
            continue;
        }
        for ((_, all), (_, some)) in all.numbers.iter_mut().zip(some.numbers) {
            all.extend(some);
        }
        all.broken.extend(some.broken);
        if let (Some(all), Some(some)) = (&mut all.classes, some.classes) {
            all.extend(some);
        }
    }
    if predictions.index.is_empty() {
        return Err(Usage::new(format!("`--predict`: {file}: no row is left to predict")).into());
    }
    Ok(predictions)
}

impl Predictions {
    /// The dependency of the fit that each row breaks.
    pub(super) fn broken(&self) -> &[Option<usize>] {
        &self.all.broken
    }

    /// What became of missing values among the rows to predict.
    pub(super) fn missing(&self) -> Vec<Finding> {
        missing_of_predictions(self.read, self.read - self.index.len() as u64, self.filled)
    }
}

/// With the numbers of the rows, which rows left out do not shift.
pub(super) fn write_predictions(path: &Path, predictions: Predictions) -> anyhow::Result<()> {
    let mut columns = vec![numbers("row", row_numbers(&predictions.index))];
    if let Some(labels) = predictions.all.classes {
        columns.push(words("class", &labels.iter().map(|label| label.0.as_str()).collect::<Vec<_>>())?);
    }
    columns.extend(predictions.all.numbers.into_iter().map(|(name, values)| numbers(&name, values)));
    write_columns("--out", path, columns)
}

/// Reads the table again and writes what each row does to the fit.
pub(super) fn write_rows(path: &Path, fit: &LinearFit, mut source: Source) -> anyhow::Result<()> {
    const NAMES: [&str; 7] = [
        "observed",
        "fitted",
        "residual",
        "leverage",
        "studentised",
        "externally studentised",
        "Cook's distance",
    ];
    let mut index = Vec::new();
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); NAMES.len()];
    while let Some(rows) = source.next_rows()? {
        if rows.count() > 0 {
            index.extend(&rows.index);
            for (column, part) in columns.iter_mut().zip(influence(fit, &rows)?) {
                column.extend(part);
            }
        }
    }
    let mut all = vec![numbers("row", row_numbers(&index))];
    all.extend(NAMES.iter().zip(columns).map(|(name, values)| numbers(name, values)));
    write_columns("--rows", path, all)
}

fn influence(fit: &LinearFit, rows: &Rows) -> anyhow::Result<[Vec<f64>; 7]> {
    let x = View::new(&rows.x, &[rows.count(), rows.width])?;
    let found = fit.influence(&x, &rows.y[..], rows.weights.as_deref(), 0)?;
    Ok([
        rows.y.clone(),
        fit.predict(&x)?.col(0),
        found.residuals,
        found.leverage,
        found.studentised,
        found.externally_studentised,
        found.cooks_distance,
    ])
}
