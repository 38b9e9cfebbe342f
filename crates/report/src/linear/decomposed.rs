//! A decomposition.

use super::{Files, findings, written};
use crate::Ink;
use crate::block::{Block, Line, Style};
use crate::grid::{COLUMNS, array_block};
use crate::number::shape_text;
use crate::sheet::{Cell, Sheet, significant};
use spanwise_lens::linear::Decomposed;

/// Values shown, and rows of each factor.
const SHOWN: usize = 20;
const ROWS: usize = 6;

/// The page of a decomposition.
pub fn decomposed_text(decomposed: &Decomposed, files: Files<'_>, ink: Ink) -> String {
    let mut page = Block::default();
    let (n, p) = decomposed.shape;
    let method = decomposed.method.as_ref().map_or_else(String::new, |method| format!(", {method}"));
    page.push(
        Line::new(Style::Heading, format!("{} of {n} × {p}", decomposed.kind))
            .and(Style::Faint, format!("  {}{method}", decomposed.formula)),
    );
    findings(&mut page, &decomposed.findings);
    if !decomposed.strengths.is_empty() {
        page.blank();
        let mut sheet = Sheet::new(&["", decomposed.strength_name, "share", "up to here"]);
        for (k, strength) in decomposed.strengths.iter().take(SHOWN).enumerate() {
            let share = |share: Option<f64>| share.map_or_else(Cell::none, |s| Cell::new(format!("{s:.6}")));
            sheet.push(vec![
                Cell::new(k.to_string()),
                Cell::new(significant(strength.value, 8)),
                share(strength.share),
                share(strength.cumulative),
            ]);
        }
        page.append(sheet.block());
        if decomposed.strengths.len() > SHOWN {
            let note = format!("first {SHOWN} of {}", decomposed.strengths.len());
            page.push(Line::new(Style::Faint, note));
        }
    }
    for factor in &decomposed.factors {
        page.blank();
        let title = Line::new(Style::Heading, factor.name)
            .and(Style::Faint, format!(" {}  {}", shape_text(factor.values.dims()), factor.meaning));
        page.push(title);
        page.append(array_block(&factor.values, ROWS, COLUMNS));
    }
    written(&mut page, files);
    page.render(ink)
}
