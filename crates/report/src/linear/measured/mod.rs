//! What a table of numbers is like.

mod answers;

use super::{Files, cut, facts, findings, paragraph, written};
use crate::Ink;
use crate::block::{Block, Line, Style};
use crate::sheet::{Cell, Sheet, significant};
use spanwise_lens::linear::{ColumnAngle, Measured, short};

/// Tables are cut beyond this many rows, points and columns.
const SHOWN: usize = 40;
/// Pairs of columns shown with their angle.
const MOST_ANGLES: usize = 6;
/// Shares shown beside a condition index.
const MOST_SHARES: usize = 9;

/// The page of measures.
pub fn measured_text(measured: &Measured, files: Files<'_>, ink: Ink) -> String {
    let mut page = Block::default();
    page.push(Line::new(Style::Heading, format!("{} × {}", measured.rows, measured.columns)));
    paragraph(&mut page, Style::Text, &verdict(measured));
    findings(&mut page, &measured.findings);
    answers::all(&mut page, measured);
    page.blank();
    columns(&mut page, measured);
    angles(&mut page, measured);
    page.blank();
    indices(&mut page, measured);
    page.blank();
    facts(&mut page, &about_all(measured));
    written(&mut page, files);
    page.render(ink)
}

fn about_all(measured: &Measured) -> Vec<(String, String)> {
    let (low, high) = measured.rank_in_band;
    let norms = [
        ("Frobenius", measured.frobenius_norm),
        ("spectral", measured.spectral_norm),
        ("1", measured.one_norm),
        ("∞", measured.infinity_norm),
    ]
    .map(|(name, norm)| format!("{name} {}", significant(norm, 6)));
    let mut lines = vec![
        ("norms", norms.join(", ")),
        (
            "condition",
            format!(
                "{} as given, {} with columns scaled to length 1",
                significant(measured.condition, 4),
                significant(measured.condition_scaled, 4)
            ),
        ),
        (
            "rank",
            format!(
                "tolerance {:.1e}, gap {}; {low} to {high} for tolerances from {:.1e} to {:.1e}",
                measured.rank_tolerance,
                significant(measured.rank_gap, 2),
                measured.rank_band.0,
                measured.rank_band.1
            ),
        ),
        (
            "effective rank",
            format!(
                "{} (entropy), {} (stable)",
                significant(measured.effective_rank, 4),
                significant(measured.stable_rank, 4)
            ),
        ),
    ];
    if measured.stored_bits < f64::MANTISSA_DIGITS {
        // Shorter types count as f32, or nearly every column would depend on others.
        let as_f32 = if measured.stored_bits < f32::MANTISSA_DIGITS {
            ", as of f32; --tolerance allows more"
        } else {
            ""
        };
        let text = format!(
            "numbers of {} binary digits: up to {} of a column counts as nothing{as_f32}",
            measured.stored_bits,
            short(measured.rank_tolerance)
        );
        lines.push(("stored", text));
    }
    if measured.streamed {
        lines.push(("computed", "in one pass through a summary; the rows were not kept".to_owned()));
    }
    lines.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}

fn verdict(measured: &Measured) -> String {
    let (low, high) = measured.rank_in_band;
    let sure = if low == high { "" } else { ", not certainly" };
    // A constant column is independent of the others and yet repeats the intercept: that is a finding, not the rank.
    let repeats_ones = measured.intercept && measured.dependencies.iter().any(|found| found.needs_intercept);
    let zero = measured.column_measures.iter().filter(|column| column.norm == 0.0).count();
    let full = match (measured.rank, measured.columns) {
        (0, 1) => "the column is 0",
        (0, _) => "every column is 0",
        (1, 1) if repeats_ones => "the column is independent, if not of an intercept",
        (1, 1) => "the column is independent",
        (rank, columns) if rank == columns && repeats_ones => {
            "all columns are independent of each other, if not of an intercept"
        }
        (rank, columns) if rank == columns => "all columns are independent",
        (rank, columns) if rank + zero == columns => {
            "columns that are 0 add nothing, the others are independent"
        }
        _ => "columns repeat others",
    };
    let condition = if measured.rank == 0 {
        String::new()
    } else {
        format!(" Scaled condition number {}.", significant(measured.condition_scaled, 3))
    };
    format!("Rank {} of {}{sure}: {full}.{condition}", measured.rank, measured.columns)
}

fn columns(page: &mut Block, measured: &Measured) {
    let mut sheet = Sheet::new(&["column", "length", "VIF", "R² on the others"]);
    for column in measured.column_measures.iter().take(SHOWN) {
        sheet.push(vec![
            Cell::new(&column.name),
            Cell::new(significant(column.norm, 6)),
            Cell::new(significant(column.vif, 5)),
            Cell::new(significant(column.r_squared, 6)),
        ]);
    }
    page.append(sheet.block());
    cut(page, measured.column_measures.len(), SHOWN, "columns");
}

/// The pairs of columns that lie nearest to one line.
fn angles(page: &mut Block, measured: &Measured) {
    let found = &measured.angles;
    if found.nearest.is_empty() {
        return;
    }
    page.blank();
    let centred = found.nearest.iter().any(|pair| pair.centred_degrees.is_some());
    let header: &[&str] = &["columns nearest to one line", "angle", "without their means"];
    let mut sheet = Sheet::new(if centred { header } else { &header[..2] });
    let degrees = |degrees: f64| Cell::new(format!("{}°", significant(degrees, 4)));
    let row = |pair: &ColumnAngle| {
        let (first, second) = &pair.columns;
        let mut row = vec![Cell::new(format!("{first}, {second}")), degrees(pair.degrees)];
        if centred {
            row.push(pair.centred_degrees.map_or_else(Cell::none, degrees));
        }
        row
    };
    found.nearest.iter().take(MOST_ANGLES).for_each(|pair| sheet.push(row(pair)));
    page.append(sheet.block());
    if found.pairs > MOST_ANGLES {
        let more = if found.pairs > found.nearest.len() {
            format!("{} of them", found.nearest.len())
        } else {
            "all".to_owned()
        };
        page.push(Line::new(Style::Faint, format!("{MOST_ANGLES} of {} pairs; {more}: --json", found.pairs)));
    }
}

fn indices(page: &mut Block, measured: &Measured) {
    let shown = measured.share_names.len().min(MOST_SHARES);
    let names = measured.share_names.iter().take(shown).map(String::as_str);
    let header: Vec<&str> = ["condition index"].into_iter().chain(names).collect();
    let mut sheet = Sheet::new(&header);
    // The largest indices say most.
    for row in measured.condition_indices.iter().rev().take(SHOWN) {
        let shares = row.shares.iter().take(shown).map(|share| Cell::new(format!("{share:.2}")));
        sheet.push([Cell::new(significant(row.index, 4))].into_iter().chain(shares).collect());
    }
    page.append(sheet.block());
    cut(page, measured.condition_indices.len(), SHOWN, "indices, the largest");
    if measured.share_names.len() > shown {
        let note = format!(
            "shares of the first {shown} of {} coefficients; all: --json",
            measured.share_names.len()
        );
        page.push(Line::new(Style::Faint, note));
    }
}
