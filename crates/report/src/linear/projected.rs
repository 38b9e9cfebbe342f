//! Vectors split by a column space.

use super::{Files, findings, written};
use crate::Ink;
use crate::block::{Block, Line, Style};
use crate::sheet::{Cell, Sheet, significant};
use spanwise_lens::linear::{Projected, counted};

/// Columns and vectors beyond this many are not shown.
const SHOWN: usize = 40;

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
    page.blank();
    let names = projected.vectors.iter().take(6).map(|vector| vector.name.as_str());
    let header: Vec<&str> = ["coefficient of"].into_iter().chain(names).collect();
    let mut sheet = Sheet::new(&header);
    for (j, name) in projected.onto.iter().take(SHOWN).enumerate() {
        let numbers = projected.vectors.iter().take(6).map(|v| Cell::new(significant(v.coefficients[j], 8)));
        sheet.push([Cell::new(name)].into_iter().chain(numbers).collect());
    }
    page.append(sheet.block());
    written(&mut page, files);
    page.render(ink)
}
