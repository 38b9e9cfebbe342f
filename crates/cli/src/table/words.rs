//! Columns that are text because of a word or of commas, although numbers were meant.

use super::{Asked, Role};
use crate::failure::Usage;
use spanwise::linear::told::counted;
use spanwise_io::{Categories, Place, Table, Values, has_decimal_comma};
use std::io::Write;

/// Refuses columns of numbers with decimal commas, and says which columns became categories although most of their values are
/// numbers.
pub(super) fn check(first: &Table, asked: &Asked<'_>) -> Result<(), Usage> {
    // What is wrong with a target or with weights is said where they are taken.
    let roles: Vec<String> = Role::new(asked).names().collect();
    let meant = |name: &str| asked.pick.categories.iter().chain(&roles).any(|other| other == name);
    for (index, column) in first.columns().iter().enumerate() {
        let Values::Categories(categories) = &column.values else { continue };
        if meant(&column.name) || asked.pick.exclude.contains(&column.name) {
            continue;
        }
        let Some(seen) = Seen::of(categories, first.rows()) else { continue };
        let place = first.place(seen.row, index);
        if seen.commas == seen.values - seen.numbers && seen.commas > 0 {
            let message =
                format!("{place}: found {:?}; a decimal comma is not read as part of a number", seen.word);
            let hint =
                format!("write 3.14, not 3,14; `--categories {}` takes the column as words", column.name);
            return Err(Usage::with_hint(message, hint));
        }
        if 2 * seen.numbers > seen.values && !asked.quiet {
            say(&place, &seen, &column.name);
        }
    }
    Ok(())
}

/// What the first rows of a column of text hold.
struct Seen<'a> {
    /// Those that are not missing.
    values: usize,
    numbers: usize,
    /// Numbers with a decimal comma.
    commas: usize,
    /// The first that is no number, and its row.
    word: &'a str,
    row: usize,
}

impl<'a> Seen<'a> {
    /// `None` where every value is a number.
    fn of(categories: &'a Categories, rows: usize) -> Option<Self> {
        let is_number = |text: &str| text.trim().parse::<f64>().is_ok();
        let mut seen: Option<Seen<'a>> = None;
        let (mut values, mut numbers, mut commas) = (0, 0, 0);
        for row in 0..rows {
            let Some(word) = categories.get(row) else { continue };
            values += 1;
            numbers += usize::from(is_number(word));
            commas += usize::from(has_decimal_comma(word));
            if seen.is_none() && !is_number(word) {
                seen = Some(Seen { values: 0, numbers: 0, commas: 0, word, row });
            }
        }
        seen.map(|seen| Seen { values, numbers, commas, ..seen })
    }
}

fn say(place: &Place, seen: &Seen<'_>, name: &str) {
    let Seen { values, numbers, word, .. } = seen;
    let note = format!(
        "caution: {place}: found {word:?}; {numbers} of {} are numbers, and all were read as categories\n\
         hint: mend or empty what is no number, or confirm with `--categories {name}`\n",
        counted(*values, "value", "values")
    );
    // If stderr is gone there is nobody to tell.
    std::io::stderr().write_all(note.as_bytes()).ok();
}
