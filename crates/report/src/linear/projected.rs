//! Vectors split by a column space; rows seen through components; bases and their change.

use super::{Files, cut, findings, written};
use crate::Ink;
use crate::block::{Block, Line, Style};
use crate::grid::{COLUMNS, array_block};
use crate::sheet::{Cell, Sheet, significant};
use spanwise_lens::linear::{Basis, BasisOf, ChangedBasis, Projected, ProjectedRows, counted};

/// Columns and vectors beyond this many are not shown.
const SHOWN: usize = 40;
/// Columns of numbers beside a name, and rows of an array.
const WIDE: usize = 6;
const ROWS: usize = 6;

/// The page of a projection.
pub fn projected_text(projected: &Projected, files: Files<'_>, ink: Ink) -> String {
    let mut page = Block::default();
    let heading = format!(
        "onto the span of {} of {}, dimension {}",
        counted(projected.onto.len(), "column", "columns"),
        counted(projected.rows, "row", "rows"),
        projected.rank
    );
    page.push(Line::new(Style::Heading, heading));
    findings(&mut page, &projected.findings);
    page.blank();
    let mut sheet = Sheet::new(&["vector", "length", "inside", "outside", "angle"]);
    for vector in projected.vectors.iter().take(SHOWN) {
        sheet.push(vec![
            Cell::new(&vector.name),
            Cell::new(significant(vector.length, 8)),
            Cell::new(significant(vector.inside, 8)),
            Cell::new(significant(vector.outside, 8)),
            vector
                .angle_degrees
                .map_or_else(Cell::none, |angle| Cell::new(format!("{}°", significant(angle, 6)))),
        ]);
    }
    page.append(sheet.block());
    cut(&mut page, projected.vectors.len(), SHOWN, "vectors");
    page.blank();
    let names = projected.vectors.iter().take(WIDE).map(|vector| vector.name.as_str());
    let header: Vec<&str> = ["coefficient of"].into_iter().chain(names).collect();
    let mut sheet = Sheet::new(&header);
    for (j, name) in projected.onto.iter().take(SHOWN).enumerate() {
        let numbers =
            projected.vectors.iter().take(WIDE).map(|v| Cell::new(significant(v.coefficients[j], 8)));
        sheet.push([Cell::new(name)].into_iter().chain(numbers).collect());
    }
    page.append(sheet.block());
    cut(&mut page, projected.onto.len(), SHOWN, "columns");
    cut(&mut page, projected.vectors.len(), WIDE, "vectors");
    written(&mut page, files);
    page.render(ink)
}

/// The page of an orthonormal basis.
pub fn basis_text(basis: &Basis, files: Files<'_>, ink: Ink) -> String {
    let mut page = Block::default();
    let of = match basis.of {
        BasisOf::Span => "the span",
        BasisOf::Complement => "what is orthogonal to the span",
    };
    let heading = format!(
        "basis of {of} of {} of {}, dimension {}",
        counted(basis.columns.len(), "column", "columns"),
        counted(basis.rows, "row", "rows"),
        basis.dimension
    );
    page.push(Line::new(Style::Heading, heading));
    findings(&mut page, &basis.findings);
    if let Some(directions) = basis.directions.as_ref().filter(|_| basis.dimension > 0) {
        page.blank();
        page.push(Line::new(Style::Faint, "one direction per column"));
        page.append(array_block(directions, ROWS, COLUMNS));
    }
    written(&mut page, files);
    page.render(ink)
}

/// The page of rows seen through principal components.
pub fn components_text(rows: &ProjectedRows, files: Files<'_>, ink: Ink) -> String {
    let mut page = Block::default();
    let heading = format!(
        "{} of {} onto {}",
        counted(rows.rows, "row", "rows"),
        counted(rows.columns.len(), "column", "columns"),
        counted(rows.components, "principal component", "principal components")
    );
    page.push(Line::new(Style::Heading, heading));
    findings(&mut page, &rows.findings);
    page.blank();
    let mut sheet = Sheet::new(&["component", "variance", "share", "up to here"]);
    for (k, variance) in rows.variances.iter().take(SHOWN).enumerate() {
        let share = |share: Option<f64>| share.map_or_else(Cell::none, |s| Cell::new(format!("{s:.6}")));
        sheet.push(vec![
            Cell::new(k.to_string()),
            Cell::new(significant(variance.value, 8)),
            share(variance.share),
            share(variance.cumulative),
        ]);
    }
    page.append(sheet.block());
    cut(&mut page, rows.variances.len(), SHOWN, "components");
    page.blank();
    let numbered: Vec<String> = (0..rows.components.min(WIDE)).map(|k| k.to_string()).collect();
    let header: Vec<&str> =
        ["direction", "mean"].into_iter().chain(numbered.iter().map(String::as_str)).collect();
    let mut sheet = Sheet::new(&header);
    for (j, name) in rows.columns.iter().take(SHOWN).enumerate() {
        let along =
            rows.directions.rows().take(WIDE).map(|direction| Cell::new(significant(direction[j], 6)));
        let mean = Cell::new(significant(rows.mean[j], 6));
        sheet.push([Cell::new(name), mean].into_iter().chain(along).collect());
    }
    page.append(sheet.block());
    cut(&mut page, rows.columns.len(), SHOWN, "columns");
    cut(&mut page, rows.components, WIDE, "components");
    if rows.farthest.iter().any(|row| row.distance > 0.0) {
        page.blank();
        let mut sheet = Sheet::new(&["rows farthest from where they are rebuilt", "distance"]);
        for row in &rows.farthest {
            sheet.push(vec![Cell::new(format!("row {}", row.row)), Cell::new(significant(row.distance, 6))]);
        }
        page.append(sheet.block());
    }
    written(&mut page, files);
    page.render(ink)
}

/// The page of a model in other columns.
pub fn changed_text(changed: &ChangedBasis, files: Files<'_>, ink: Ink) -> String {
    let mut page = Block::default();
    let heading = format!(
        "change of basis: {} of {}",
        counted(changed.columns.len(), "column", "columns"),
        counted(changed.rows, "row", "rows")
    );
    page.push(Line::new(Style::Heading, heading));
    findings(&mut page, &changed.findings);
    page.blank();
    let mut sheet = Sheet::new(&["column", "coefficient"]);
    for (name, &coefficient) in changed.columns.iter().zip(&changed.coefficients).take(SHOWN) {
        sheet.push(vec![Cell::new(name), Cell::new(significant(coefficient, 8))]);
    }
    page.append(sheet.block());
    cut(&mut page, changed.columns.len(), SHOWN, "columns");
    page.blank();
    let names = changed.columns.iter().take(WIDE).map(|name| format!("of {name}"));
    let header: Vec<String> =
        ["new column".to_owned(), "coefficient".to_owned()].into_iter().chain(names).collect();
    let mut sheet = Sheet::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for column in changed.new_columns.iter().take(SHOWN) {
        let parts = column.of.iter().take(WIDE).map(|&part| Cell::new(significant(part, 6)));
        let own = [Cell::new(&column.name), Cell::new(significant(column.coefficient, 8))];
        sheet.push(own.into_iter().chain(parts).collect());
    }
    page.append(sheet.block());
    cut(&mut page, changed.new_columns.len(), SHOWN, "new columns");
    cut(&mut page, changed.columns.len(), WIDE, "columns");
    written(&mut page, files);
    page.render(ink)
}
