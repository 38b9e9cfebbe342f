//! How to read a table.

use crate::{Format, IoError, Place};

/// How to read a table; the default reads all columns and finds everything else out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format, where the file's name does not say it.
    pub format: Option<Format>,
    /// Whether the first record of a `.csv` or `.tsv` names the columns; if not they are `c0`, `c1`, ….
    pub header: bool,
    /// Whether a first record of nothing but numbers is taken for data, although [`ReadOptions::header`] is set.
    pub guess_header: bool,
    /// The byte between the fields of a text; unless given a tab in a `.tsv`, a comma otherwise.
    pub delimiter: Option<u8>,
    /// The columns to read, in the file's order; `None` for all.
    pub columns: Option<Vec<String>>,
    /// Columns to read as categories even though their values are numbers.
    pub categories: Vec<String>,
    /// The most rows a batch of a [`crate::TableReader`] has.
    pub batch_rows: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            format: None,
            header: true,
            guess_header: false,
            delimiter: None,
            columns: None,
            categories: Vec::new(),
            batch_rows: 1 << 16,
        }
    }
}

impl ReadOptions {
    /// Whether the column is to be read.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.columns.as_ref().is_none_or(|columns| columns.iter().any(|column| column == name))
    }

    /// Refuses names that are not among those of the file, and an empty choice.
    pub(crate) fn check_names(&self, known: &[String], file: &Place) -> Result<(), IoError> {
        if known.is_empty() || self.columns.as_ref().is_some_and(Vec::is_empty) {
            return Err(IoError::NoColumns { at: file.clone() });
        }
        let asked = self.columns.iter().flatten().chain(&self.categories);
        match asked.into_iter().find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => Err(IoError::NoSuchName {
                at: file.clone(),
                what: "column",
                name: name.clone(),
                known: known.to_vec(),
            }),
        }
    }
}
