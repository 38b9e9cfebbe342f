//! A system solved.

use super::{Files, facts, findings, written};
use crate::Ink;
use crate::block::{Block, Line, Style};
use crate::grid::{COLUMNS, ROWS, array_block};
use crate::number::shape_text;
use crate::sheet::{Cell, Sheet, significant};
use spanwise_lens::linear::Solved;

/// The page of a solution.
pub fn solved_text(solved: &Solved, files: Files<'_>, ink: Ink) -> String {
    let mut page = Block::default();
    let (n, p) = solved.shape;
    let sides = if solved.answers.len() == 1 {
        String::new()
    } else {
        format!(" for {} right-hand sides", solved.answers.len())
    };
    page.push(
        Line::new(Style::Heading, format!("A x = b, A {n} × {p}{sides}"))
            .and(Style::Faint, format!("  {}", solved.method)),
    );
    findings(&mut page, &solved.findings);
    page.blank();
    page.push(Line::new(Style::Heading, "x").and(Style::Faint, format!(" {}", shape_text(solved.x.dims()))));
    page.append(array_block(&solved.x, ROWS, COLUMNS));
    page.blank();
    let mut sheet = Sheet::new(&["b", "‖b − A x‖", "over ‖b‖", "backward error", "steps"]);
    for (k, answer) in solved.answers.iter().take(20).enumerate() {
        sheet.push(vec![
            Cell::new(k.to_string()),
            Cell::new(significant(answer.residual, 4)),
            Cell::new(significant(answer.relative_residual, 4)),
            Cell::new(significant(answer.backward_error, 2)),
            Cell::new(answer.iterations.to_string()),
        ]);
    }
    page.append(sheet.block());
    page.blank();
    let mut lines = vec![
        (
            "rank".to_owned(),
            match solved.rank {
                Some(rank) => format!("{rank} of {p}"),
                None => "not determined by an iteration".to_owned(),
            },
        ),
        (
            "condition".to_owned(),
            format!("{} (an estimate, {})", significant(solved.condition, 3), solved.condition_of),
        ),
    ];
    if solved.jitter > 0.0 {
        lines.push(("jitter".to_owned(), format!("{:.1e} of the diagonal was added", solved.jitter)));
    }
    facts(&mut page, &lines);
    written(&mut page, files);
    page.render(ink)
}
