//! Where in a file.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;

/// Where in a file something was found; its parts are those of [`Location`].
///
/// Rows and columns count from 1; a table's header, where it has one, is row 1; blank lines do not count. Printed as
/// `data.csv:12:3`, `data.csv:12:3 (column "age")`, `model.safetensors, tensor "q"` or `x.npy, byte 80`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place(Box<Location>); // boxed, so that a `Result` stays small

/// The parts of a [`Place`], as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The file as the user named it; `-` is standard input.
    pub path: PathBuf,
    /// The array inside a container.
    pub tensor: Option<String>,
    /// Row, from 1, counting the header.
    pub row: Option<u64>,
    /// Column, from 1.
    pub column: Option<usize>,
    /// The column's name.
    pub name: Option<String>,
    /// Byte, from 0.
    pub offset: Option<u64>,
}

impl Deref for Place {
    type Target = Location;

    fn deref(&self) -> &Location {
        &self.0
    }
}

impl Place {
    /// The file as a whole.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Place(Box::new(Location { path: path.into(), ..Location::default() }))
    }

    /// The array `tensor` inside the file.
    #[must_use]
    pub fn tensor(mut self, tensor: impl Into<String>) -> Self {
        self.0.tensor = Some(tensor.into());
        self
    }

    /// Row `row`, from 1.
    #[must_use]
    pub fn row(mut self, row: u64) -> Self {
        self.0.row = Some(row);
        self
    }

    /// Column `column`, from 1.
    #[must_use]
    pub fn column(mut self, column: usize) -> Self {
        self.0.column = Some(column);
        self
    }

    /// The column called `name`.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.0.name = Some(name.into());
        self
    }

    /// Byte `offset`, from 0.
    #[must_use]
    pub fn byte(mut self, offset: u64) -> Self {
        self.0.offset = Some(offset);
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A file's name may hold any character; control characters would break the one line.
        write!(f, "{}", one_line(&self.path.to_string_lossy()))?;
        match (self.row, self.column) {
            (Some(row), Some(column)) => write!(f, ":{row}:{column}")?,
            (Some(row), None) => write!(f, ":{row}")?,
            (None, Some(column)) => write!(f, ", column {column}")?,
            (None, None) => {}
        }
        if let Some(name) = &self.name {
            write!(f, " (column {})", quoted(name))?;
        }
        if let Some(tensor) = &self.tensor {
            write!(f, ", tensor {}", quoted(tensor))?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        Ok(())
    }
}

/// A name, or a field, in quotation marks, those inside it doubled: as text tables hold it and as the command takes it.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", one_line(name).replace('"', "\"\""))
}

/// Control characters would break a message into lines; long messages of other libraries are cut.
pub(crate) fn one_line(text: &str) -> String {
    const LONGEST: usize = 300;
    let mut line: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_print_as_editors_read_them() {
        let file = Place::file("a.csv");
        assert_eq!(file.to_string(), "a.csv");
        assert_eq!(file.clone().row(12).column(3).to_string(), "a.csv:12:3");
        assert_eq!(file.clone().row(12).column(3).named("age").to_string(), "a.csv:12:3 (column \"age\")");
        assert_eq!(file.clone().tensor("q").byte(8).to_string(), "a.csv, tensor \"q\", byte 8");
        let odd = file.clone().column(2).named("5\" wide\\\n");
        assert_eq!(odd.to_string(), "a.csv, column 2 (column \"5\"\" wide\\ \")");
    }
}
