//! One batch: a table's rows as features, target and weights.

use super::Asked;
use super::words::{first_word, mostly_numbers};
use crate::failure::Usage;
use anyhow::anyhow;
use spanwise::linear::design::{self, Design, DesignError, Missing};
use spanwise::linear::told::Label;
use spanwise::{Matrix, View};
use spanwise_io::{COMMA_HINT, Column, Table, Values, has_comma, quoted};

/// Which columns are not features, and what they are.
#[derive(Clone, Debug)]
pub(crate) struct Role {
    target: Option<String>,
    classes: bool,
    weights: Option<String>,
    /// Features of which no value may be filled in.
    complete: Vec<String>,
    /// The option that names the target.
    option: &'static str,
}

impl Role {
    pub(crate) fn new(asked: &Asked<'_>) -> Self {
        Role {
            target: asked.target.map(str::to_owned),
            classes: asked.classes,
            weights: asked.weights.map(str::to_owned),
            complete: asked.complete.to_vec(),
            option: asked.target_option,
        }
    }

    /// For rows to predict.
    pub(crate) fn without_target(asked: &Asked<'_>) -> Self {
        Role { target: None, classes: false, weights: None, ..Role::new(asked) }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.target.iter().chain(&self.weights).cloned()
    }

    /// The target, where it is a class.
    pub(crate) fn class_name(&self) -> Option<String> {
        self.target.clone().filter(|_| self.classes)
    }
}

/// Rows of numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    /// Row after row.
    pub(crate) x: Vec<f64>,
    pub(crate) width: usize,
    /// Which rows of the table these are, from 0.
    pub(crate) index: Vec<u64>,
    /// The target, where it is a number.
    pub(crate) y: Vec<f64>,
    /// The target, where it is a class.
    pub(crate) labels: Vec<Label>,
    pub(crate) weights: Option<Vec<f64>>,
    /// Rows of the table, those left out included.
    pub(crate) read: u64,
    /// Values that took the mean.
    pub(crate) filled: u64,
}

/// Numbers of rows as files and sentences have them: they count from 1, these from 0.
pub(crate) fn row_numbers(index: &[u64]) -> Vec<f64> {
    index.iter().map(|&row| (row + 1) as f64).collect()
}

impl Rows {
    pub(crate) fn count(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.read - self.count() as u64
    }

    pub(crate) fn append(&mut self, other: Rows) {
        self.width = other.width;
        self.x.extend(other.x);
        self.index.extend(other.index);
        self.y.extend(other.y);
        self.labels.extend(other.labels);
        match (&mut self.weights, other.weights) {
            (Some(own), Some(more)) => own.extend(more),
            (own @ None, more) => *own = more,
            (Some(_), None) => {}
        }
        self.read += other.read;
        self.filled += other.filled;
    }

    /// Adds row `i` of others, as far as a summary needs it.
    pub(super) fn append_row(&mut self, other: &Rows, i: usize) {
        self.width = other.width;
        self.x.extend(&other.x[i * other.width..(i + 1) * other.width]);
        self.index.push(other.index[i]);
        self.y.extend(other.y.get(i));
        if let Some(weights) = &other.weights {
            self.weights.get_or_insert_default().push(weights[i]);
        }
    }

    /// The features, row after row.
    pub(crate) fn view(&self) -> anyhow::Result<View<'_, f64>> {
        Ok(View::new(&self.x, &[self.count(), self.width])?)
    }

    /// The labels of the rows that count: one without weight is as good as not there.
    pub(crate) fn classes(&self) -> impl Iterator<Item = &Label> {
        let counts = |i: usize| self.weights.as_ref().is_none_or(|weights| weights[i] > 0.0);
        self.labels.iter().enumerate().filter(move |(i, _)| counts(*i)).map(|(_, label)| label)
    }

    /// Refuses classes that are measurements, or as many as rows. `target` is their column.
    pub(crate) fn check_classes(&self, target: &str) -> Result<(), Usage> {
        let is_fraction = |v: f64| v.is_finite() && v.fract() != 0.0;
        let fraction = |label: &&Label| label.0.trim().parse().is_ok_and(is_fraction);
        if let Some(label) = self.classes().find(fraction) {
            let message = format!("{} holds {}; classes are words or whole numbers", quoted(target), label.0);
            let hint = "numbers are fitted by least squares, the model unless another is asked for";
            return Err(Usage::with_hint(message, hint));
        }
        let mut different: Vec<&Label> = self.classes().collect();
        let rows = different.len();
        different.sort_unstable();
        different.dedup();
        if different.len() == rows && different.len() > 2 {
            let message = format!(
                "{} has {} classes in {} rows; expected classes that some rows share",
                quoted(target),
                different.len(),
                rows
            );
            return Err(Usage::with_hint(message, "a column of names or numbers of rows is no target"));
        }
        Ok(())
    }

    /// The features as a matrix; `file` is named where there are none.
    pub(crate) fn matrix(&mut self, file: &str) -> anyhow::Result<Matrix> {
        if self.index.is_empty() {
            let message = format!("{file}: no row is left of {}", self.read);
            return Err(Usage::with_hint(
                message,
                "every row has a missing value; `--exclude` columns, or `--missing mean`",
            )
            .into());
        }
        let data = std::mem::take(&mut self.x);
        Ok(Matrix::new(data, self.index.len(), self.width)?)
    }
}

/// The table's columns as a design takes them.
pub(super) fn columns_of(table: &Table) -> Vec<design::Column<'_>> {
    table.columns().iter().map(column_of).collect()
}

fn column_of(column: &Column) -> design::Column<'_> {
    let values = match &column.values {
        Values::Numbers(numbers) => design::Values::Numbers(numbers),
        Values::Categories(c) => design::Values::Categories { codes: c.codes(), levels: c.levels() },
    };
    design::Column { name: &column.name, values }
}

/// The rows of `table`, the first of which is row `start` of the file's data.
pub(super) fn rows(table: &Table, design: &Design, role: &Role, start: u64) -> anyhow::Result<Rows> {
    let outcome = |name: &Option<String>, option, classes| {
        name.as_deref().map(|name| Outcome::new(table, name, option, classes)).transpose()
    };
    let target = outcome(&role.target, role.option, role.classes)?;
    let weights = outcome(&role.weights, "--weights", false)?;
    let drop = design.missing() == Missing::Drop;
    let present =
        |row: usize| [&target, &weights].into_iter().flatten().all(|outcome| outcome.is_present(row));
    let encoded = design
        .encode(&columns_of(table), |row| !drop || present(row))
        .map_err(|error| located(table, error))?;
    for outcome in [&target, &weights].into_iter().flatten() {
        if let Some(&row) = encoded.kept.iter().find(|&&row| !outcome.is_present(row)) {
            return Err(missing_at(table, row, outcome.index, outcome.value(row), OUTCOME));
        }
    }
    for name in &role.complete {
        // One that is not there, or holds text, was refused where it was asked for.
        let Some(index) = table.columns().iter().position(|column| column.name == *name) else { continue };
        let outcome = Outcome { index, values: &table.columns()[index].values };
        if let Some(&row) = encoded.kept.iter().find(|&&row| !outcome.is_present(row)) {
            return Err(missing_at(table, row, index, outcome.value(row), OUTCOME));
        }
    }
    if let Some(weights) = &weights
        && let Some(&row) = encoded.kept.iter().find(|&&row| weights.value(row) < 0.0)
    {
        let (place, value) = (table.place(row, weights.index), weights.value(row));
        return Err(Usage::new(format!("{place}: found {value}; a weight must not be negative")).into());
    }
    let mut rows = Rows {
        width: encoded.x.cols(),
        index: encoded.kept.iter().map(|&row| start + row as u64).collect(),
        read: table.rows() as u64,
        filled: encoded.filled as u64,
        ..Rows::default()
    };
    if let Some(target) = &target {
        if role.classes {
            rows.labels = encoded.kept.iter().map(|&row| target.label(row)).collect();
        } else {
            rows.y = encoded.kept.iter().map(|&row| target.value(row)).collect();
        }
    }
    rows.weights = weights.map(|weights| encoded.kept.iter().map(|&row| weights.value(row)).collect());
    rows.x = encoded.x.as_slice().to_vec();
    Ok(rows)
}

/// A target or weights in a table.
struct Outcome<'a> {
    index: usize,
    values: &'a Values,
}

impl<'a> Outcome<'a> {
    fn new(table: &'a Table, name: &str, option: &str, classes: bool) -> anyhow::Result<Self> {
        let column = table.column(name)?;
        let index = table.columns().iter().position(|column| column.name == name).unwrap_or(0);
        if let (Values::Categories(categories), false) = (&column.values, classes)
            && !design::are_truths(categories.levels())
        {
            let word = first_word(categories);
            let found = match &word {
                Some(word) => format!("{}: found {}", word.place(table, index), quoted(word.text)),
                // Numbers that the file keeps as text, or that were asked for as categories.
                None => format!("{}: found categories", table.column_place(index)),
            };
            let message = format!("{found}; `{option}` names a column of numbers");
            return Err(match (option, mostly_numbers(categories)) {
                _ if word.is_some_and(|word| has_comma(word.text)) => Usage::with_hint(message, COMMA_HINT),
                (_, Some(numbers)) => {
                    let hint = format!("{numbers} are numbers; leave a field empty where a value is missing");
                    Usage::with_hint(message, hint)
                }
                ("--target", None) => {
                    Usage::with_hint(message, "`--model logistic` or `softmax` predicts classes")
                }
                _ => Usage::new(message),
            }
            .into());
        }
        Ok(Outcome { index, values: &column.values })
    }

    fn is_present(&self, row: usize) -> bool {
        match self.values {
            Values::Numbers(numbers) => numbers[row].is_finite(),
            Values::Categories(categories) => categories.get(row).is_some(),
        }
    }

    fn value(&self, row: usize) -> f64 {
        match self.values {
            Values::Numbers(numbers) => numbers[row],
            // Words that say truth values, and nothing else: others were refused.
            Values::Categories(categories) => {
                let truth = categories.get(row).and_then(design::truth);
                truth.map_or(f64::NAN, |truth| f64::from(u8::from(truth)))
            }
        }
    }

    fn label(&self, row: usize) -> Label {
        match self.values {
            Values::Numbers(numbers) => Label(numbers[row].to_string()),
            Values::Categories(categories) => {
                let word = categories.get(row).unwrap_or_default();
                // One class however it is spelled, under the name that files with a type for truth values give it.
                Label(match design::truth(word) {
                    Some(true) => "True".to_owned(),
                    Some(false) => "False".to_owned(),
                    None => word.to_owned(),
                })
            }
        }
    }
}

/// What to do about a value that is missing.
const MISSING: &str = "`--missing drop` leaves such rows out, `--missing mean` fills in the column's mean";
/// The same in a target or in weights.
const OUTCOME: &str = "`--missing drop` leaves such rows out";

/// The error with the place in the file.
fn located(table: &Table, error: DesignError) -> anyhow::Error {
    match &error {
        DesignError::Missing { index, row, value, .. } => missing_at(table, *row, *index, *value, MISSING),
        DesignError::NewLevel { index, row, level, .. } => {
            let message = format!(
                "{}: {} is a level the model was not fitted with",
                table.place(*row, *index),
                quoted(level)
            );
            Usage::with_hint(message, "leave such rows out, or fit with rows that have the level").into()
        }
        _ => anyhow::Error::new(error).context(table.source().to_string()),
    }
}

fn missing_at(table: &Table, row: usize, index: usize, value: f64, hint: &str) -> anyhow::Error {
    let found = if value.is_nan() {
        "nothing".to_owned()
    } else {
        // What was written is no longer known: the word itself, or digits that mean as much.
        format!("{value}, or a number too large for f64 (beyond 1.8e308)")
    };
    let message = format!("{}: found {found}; expected a finite number", table.place(row, index));
    anyhow!(Usage::with_hint(message, hint))
}
