//! Columns that are text because of a word or of commas, although numbers were meant.
//!
//! A word may stand anywhere in a file, and of a long one only the first rows are there when its columns are decided. The
//! levels, though, are those of the whole file: they say whether there is a word, and which; the rows say where, if it is
//! among them.

use super::{Asked, Role};
use crate::failure::Usage;
use spanwise::linear::told::counted;
use spanwise_io::{COMMA_HINT, Categories, Place, Table, Values, has_comma};
use std::io::Write;

/// Refuses columns of numbers with commas in them, and says which columns became categories although most of their values are
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
        let Some(word) = first_word(categories) else { continue };
        let place = word.place(first, index);
        if commas_alone(categories) {
            let message = format!("{place}: found {:?}; a comma inside a number is not read", word.text);
            return Err(Usage::with_hint(message, format!("{COMMA_HINT}; {}", asked.text_hint)));
        }
        if let (Some(numbers), false) = (mostly_numbers(categories), asked.quiet) {
            let note = format!(
                "caution: {place}: found {:?}; {numbers} are numbers, and all were read as categories\n\
                 hint: mend what is no number; {}\n",
                word.text, asked.text_hint
            );
            // If stderr is gone there is nobody to tell.
            std::io::stderr().write_all(note.as_bytes()).ok();
        }
    }
    Ok(())
}

/// The first text of a file's column that is no number.
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// Its first row, if that is among those that were read.
    row: Option<usize>,
}

impl Word<'_> {
    /// Where it stands in the column `index` of `table`, as far as that is known.
    pub(super) fn place(&self, table: &Table, index: usize) -> Place {
        self.row.map_or_else(|| table.column_place(index), |row| table.place(row, index))
    }
}

/// `None` where every value of the file is a number.
pub(super) fn first_word(categories: &Categories) -> Option<Word<'_>> {
    let level = categories.levels().iter().position(|level| !is_number(level))?;
    let row = categories.codes().iter().position(|&code| code as usize == level);
    Some(Word { text: &categories.levels()[level], row })
}

/// Whether commas are all that makes the column text: numbers were meant, and nothing else.
pub(super) fn commas_alone(categories: &Categories) -> bool {
    let mut words = categories.levels().iter().filter(|level| !is_number(level)).peekable();
    words.peek().is_some() && words.all(|word| has_comma(word))
}

fn is_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok()
}

/// How many of how many values are numbers, where most are: of the file's different ones, or of those in the first rows.
fn mostly_numbers(categories: &Categories) -> Option<String> {
    let numeric: Vec<bool> = categories.levels().iter().map(|level| is_number(level)).collect();
    let different = numeric.iter().filter(|&&is| is).count();
    if 2 * different > numeric.len() {
        let values = counted(numeric.len(), "different value", "different values");
        return Some(format!("{different} of {values}"));
    }
    let rows: Vec<bool> =
        categories.codes().iter().filter_map(|&code| numeric.get(code as usize).copied()).collect();
    let numbers = rows.iter().filter(|&&is| is).count();
    (2 * numbers > rows.len())
        .then(|| format!("{numbers} of the first {}", counted(rows.len(), "value", "values")))
}
