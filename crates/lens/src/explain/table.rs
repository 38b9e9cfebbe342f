//! Tables of an explanation.

use crate::number;
use serde::ser::{Serialize, Serializer};

/// A table to read, sort and copy.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Table {
    /// Unique in its explanation, in kebab case.
    pub id: &'static str,
    /// A few words.
    pub title: String,
    /// The columns.
    pub columns: Vec<TableColumn>,
    /// One cell per column.
    pub rows: Vec<Vec<TableCell>>,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TableColumn {
    /// Its head.
    pub name: String,
    /// What its numbers are measured in, where they are measured in something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Whether its cells are numbers.
    pub numeric: bool,
}

/// A cell of a table. In JSON a plain number, a plain string, or null.
#[derive(Clone, Debug, PartialEq)]
pub enum TableCell {
    /// Words.
    Text(String),
    /// A number, with how many of its decimal digits are certain where that is known.
    Number {
        /// The number.
        value: f64,
        /// Digits that can be trusted.
        digits: Option<f64>,
    },
    /// There is none.
    Nothing,
}

impl Serialize for TableCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            TableCell::Text(text) => serializer.serialize_str(text),
            TableCell::Number { value, .. } => number(value, serializer),
            TableCell::Nothing => serializer.serialize_none(),
        }
    }
}

impl From<f64> for TableCell {
    fn from(value: f64) -> Self {
        TableCell::Number { value, digits: None }
    }
}

impl From<Option<f64>> for TableCell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(TableCell::Nothing, TableCell::from)
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        TableCell::Text(text.to_owned())
    }
}

impl Table {
    /// An empty table; the first column is words, the others numbers.
    pub(crate) fn new(id: &'static str, title: &str, columns: &[&str]) -> Self {
        let column =
            |(j, name): (usize, &&str)| TableColumn { name: (*name).to_owned(), unit: None, numeric: j > 0 };
        Table {
            id,
            title: title.to_owned(),
            columns: columns.iter().enumerate().map(column).collect(),
            rows: Vec::new(),
        }
    }
}
