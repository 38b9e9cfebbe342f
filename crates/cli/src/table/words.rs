//! Columns that are text because of a word or of commas, although numbers were meant; and text that groups nothing.
//!
//! A word may stand anywhere in a file, and of a long one only the first rows are there when its columns are decided. The
//! levels, though, are those of the whole file: they say whether there is a word, and which; the rows say where, if it is
//! among them.

use super::{Asked, Role};
use crate::failure::Usage;
use spanwise::linear::told::counted;
use spanwise_io::{COMMA_HINT, Categories, Place, Table, Values, has_comma, quoted};
use std::io::Write;

/// What else can be done about a column of text where numbers were meant.
const TEXT: &str = "`--categories` takes the column as words";

/// Different words in a column from which on it is looked at whether they group rows.
const MANY_LEVELS: usize = 20;

/// Refuses columns of numbers with commas in them, and says which columns became categories although most of their values are
/// numbers, or although nearly every row has a word of its own.
pub(super) fn check(first: &Table, asked: &Asked<'_>) -> Result<(), Usage> {
    // What is wrong with a target or with weights is said where they are taken.
    let roles: Vec<String> = Role::new(asked).names().collect();
    let categories = asked.pick.categories();
    let meant = |name: &str| categories.iter().chain(&roles).any(|other| other == name);
    for (index, column) in first.columns().iter().enumerate() {
        let Values::Categories(categories) = &column.values else { continue };
        if meant(&column.name) {
            continue;
        }
        let Some(word) = first_word(categories) else { continue };
        let place = word.place(first, index);
        if commas_alone(categories) {
            let message =
                format!("{place}: found {}; a comma inside a number is not read", quoted(word.text));
            return Err(Usage::with_hint(message, format!("{COMMA_HINT}; {TEXT}")));
        }
        let found = quoted(word.text);
        let caution = if let Some(numbers) = mostly_numbers(categories) {
            let what = "and all were read as categories\nhint: mend what is no number, and leave a field empty where a value \
                        is missing";
            format!("{place}: found {found}; {numbers} are numbers, {what}; {TEXT}")
        } else if let Some(words) = nearly_one_for_each_row(categories) {
            let place = first.column_place(index);
            format!(
                "{place}: {words} different words, {found} the first, and each becomes a column of 0 and 1\n\
                 hint: names, dates and keys of rows explain nothing by themselves; leave such a column out"
            )
        } else {
            continue;
        };
        if !asked.quiet {
            // If stderr is gone there is nobody to tell.
            std::io::stderr().write_all(format!("caution: {caution}\n").as_bytes()).ok();
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

/// How many different values there are, where most of the first rows have one of their own.
fn nearly_one_for_each_row(categories: &Categories) -> Option<usize> {
    let mut codes = categories.codes().to_vec();
    let rows = codes.len();
    codes.sort_unstable();
    codes.dedup();
    (codes.len() >= MANY_LEVELS && 2 * codes.len() > rows).then(|| categories.levels().len())
}

/// How many of how many values are numbers, where most are: of the file's different ones, or of those in the first rows.
pub(super) fn mostly_numbers(categories: &Categories) -> Option<String> {
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
