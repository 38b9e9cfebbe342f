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
    /// Columns of these that are not read, whatever they hold.
    pub exclude: Vec<String>,
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
            exclude: Vec::new(),
            categories: Vec::new(),
            batch_rows: 1 << 16,
        }
    }
}

impl ReadOptions {
    /// Whether the column is to be read.
    pub(crate) fn wants(&self, name: &str) -> bool {
        let named = |names: &[String]| names.iter().any(|column| column == name);
        self.columns.as_deref().is_none_or(named) && !named(&self.exclude)
    }

    /// Refuses names that are not among those of the file, and an empty choice.
    pub(crate) fn check_names(&self, known: &[String], file: &Place) -> Result<(), IoError> {
        let mut asked = self.columns.iter().flatten().chain(&self.exclude).chain(&self.categories);
        match asked.find(|name| !known.contains(name)) {
            Some(name) if !known.is_empty() => Err(IoError::NoSuchName {
                at: file.clone(),
                what: "column",
                name: name.clone(),
                known: known.to_vec(),
            }),
            _ if known.iter().any(|name| self.wants(name)) => Ok(()),
            _ => Err(IoError::NoColumns { at: file.clone() }),
        }
    }
}
