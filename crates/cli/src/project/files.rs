//! What a projection leaves in a file: named arrays, or a table with a column for each of theirs.

use super::table::Table;
use crate::artifact::{Written, numbers, write_arrays, write_columns};
use crate::failure::Usage;
use crate::table::row_numbers;
use spanwise::example::Array;
use spanwise::linear::told::{Basis, BasisOf, ChangedBasis, Projected, ProjectedRows};
use spanwise_io::{Column, Format};
use std::path::Path;

/// The file, if one was asked for.
pub(super) struct Output<'a> {
    file: Option<(&'a Path, Format)>,
    /// The numbers of the rows, from 1, where some may be missing.
    rows: Option<Vec<f64>>,
}

impl<'a> Output<'a> {
    pub(super) fn new(file: Option<(&'a Path, Format)>, table: &Table) -> Self {
        let rows = table.numbered.then(|| row_numbers(&table.index));
        Output { file, rows }
    }

    /// Arrays where the format holds them, otherwise columns.
    fn write(
        &self,
        what: &str,
        arrays: &[(&str, &Array)],
        columns: impl FnOnce() -> Vec<Column>,
    ) -> anyhow::Result<Written> {
        let Some((path, format)) = self.file else { return Ok(Written::new()) };
        if matches!(format, Format::Npz | Format::Safetensors) {
            let row = self.rows.clone().map(Array::vector);
            let row = row.iter().map(|row| ("row", row));
            write_arrays("--out", path, &arrays.iter().copied().chain(row).collect::<Vec<_>>())?;
        } else {
            let row = self.rows.iter().map(|rows| numbers("row", rows.clone()));
            write_columns("--out", path, row.chain(columns()).collect())?;
        }
        Ok(vec![(what.to_owned(), path.display().to_string())])
    }

    pub(super) fn parts(&self, found: &Projected) -> anyhow::Result<Written> {
        let (inside, outside) = (&found.inside, &found.outside);
        self.write("the parts", &[("inside", inside), ("outside", outside)], || {
            let part = |j: usize, name: &str| {
                let parts = [("inside", inside), ("outside", outside)];
                parts.map(|(part, array)| column(&format!("{name} {part}"), array, j))
            };
            found.vectors.iter().enumerate().flat_map(|(j, vector)| part(j, &vector.name)).collect()
        })
    }

    /// The numbers are in the file: they are taken from what is shown.
    pub(super) fn components(&self, found: &mut ProjectedRows) -> anyhow::Result<Written> {
        let (Some(scores), Some(rebuilt), Some(distances)) =
            (&found.scores, &found.rebuilt, &found.distances)
        else {
            return Ok(Written::new());
        };
        let mean = Array::vector(found.mean.clone());
        let arrays = [
            ("scores", scores),
            ("rebuilt", rebuilt),
            ("distances", distances),
            ("components", &found.directions),
            ("mean", &mean),
        ];
        let files = self.write("scores and rebuilt rows", &arrays, || {
            let names = found.columns.iter().map(|name| format!("{name} rebuilt"));
            let names: Vec<String> = names.collect();
            let scores = each(scores, |k| format!("score {k}"));
            let rebuilt = each(rebuilt, |j| names[j].clone());
            scores.chain(rebuilt).chain([column("distance", distances, 0)]).collect()
        })?;
        if !files.is_empty() {
            (found.scores, found.rebuilt, found.distances) = (None, None, None);
        }
        Ok(files)
    }

    pub(super) fn basis(&self, found: &Basis) -> anyhow::Result<Written> {
        let Some(directions) = &found.directions else { return Ok(Written::new()) };
        let name = match found.of {
            BasisOf::Span => "span",
            BasisOf::Complement => "complement",
        };
        if let Some((path, Format::Csv | Format::Parquet)) = self.file
            && found.dimension == 0
        {
            let path = path.display();
            let message = format!("`--out`: {path}: a basis without directions is a table without columns");
            return Err(Usage::with_hint(message, "an .npz or .safetensors holds it").into());
        }
        self.write("the basis", &[(name, directions)], || each(directions, |k| format!("q{k}")).collect())
    }

    pub(super) fn change(&self, found: &mut ChangedBasis) -> anyhow::Result<Written> {
        let (Some(features), Some(prediction)) = (&found.features, &found.prediction) else {
            return Ok(Written::new());
        };
        let coefficients = Array::vector(found.new_columns.iter().map(|column| column.coefficient).collect());
        let arrays = [("features", features), ("coefficients", &coefficients), ("prediction", prediction)];
        let files = self.write("the new columns", &arrays, || {
            let features = each(features, |k| format!("t{k}"));
            features.chain([column("prediction", prediction, 0)]).collect()
        })?;
        if !files.is_empty() {
            (found.features, found.prediction) = (None, None);
        }
        Ok(files)
    }
}

/// Column `j` of a matrix, or a vector.
fn column(name: &str, array: &Array, j: usize) -> Column {
    let width = if array.dims().len() < 2 { 1 } else { array.row_len().max(1) };
    numbers(name, array.data().iter().skip(j).step_by(width).copied().collect())
}

/// Every column of a matrix.
fn each<'a>(array: &'a Array, name: impl Fn(usize) -> String + 'a) -> impl Iterator<Item = Column> + 'a {
    (0..array.row_len()).map(move |j| column(&name(j), array, j))
}
