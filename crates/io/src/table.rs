//! Named columns of numbers and categories.

use crate::{IoError, Place, Tensor};
use std::sync::Arc;

/// Named columns of equal length.
///
/// ```
/// use spanwise_io::{Column, Table, Values};
///
/// let age = Column { name: "age".to_owned(), values: Values::Numbers(vec![31.0, f64::NAN]) };
/// let table = Table::new(vec![age])?;
/// assert_eq!(table.rows(), 2);
/// assert_eq!(table.column("agee").unwrap_err().hint().unwrap(), "did you mean \"age\"?");
/// # Ok::<(), spanwise_io::IoError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    rows: usize,
    source: Place,
    first_row: u64,
    /// Of each column the file's column that it is, from 0; empty where they are the file's first ones, one after another.
    positions: Vec<usize>,
}

/// A name and one value per row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Unique within its table.
    pub name: String,
    /// One per row.
    pub values: Values,
}

/// What a column holds.
#[derive(Clone, Debug)]
pub enum Values {
    /// Numbers; NaN is a missing one, whatever the file calls it.
    Numbers(Vec<f64>),
    /// Text that repeats, kept as codes.
    Categories(Categories),
}

/// Equal where every value is, missing ones included.
impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Values::Numbers(a), Values::Numbers(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y || (x.is_nan() && y.is_nan()))
            }
            (Values::Categories(a), Values::Categories(b)) => a == b,
            _ => false,
        }
    }
}

impl Values {
    /// How many values.
    pub fn len(&self) -> usize {
        match self {
            Values::Numbers(numbers) => numbers.len(),
            Values::Categories(categories) => categories.codes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many are missing.
    pub fn missing(&self) -> usize {
        match self {
            Values::Numbers(numbers) => numbers.iter().filter(|x| x.is_nan()).count(),
            Values::Categories(c) => c.codes.iter().filter(|&&code| code == Categories::MISSING).count(),
        }
    }
}

/// Text values: each row holds the position of its text among the levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Categories {
    codes: Vec<u32>,
    levels: Arc<[String]>,
}

impl Categories {
    /// The code of a missing value.
    pub const MISSING: u32 = u32::MAX;

    /// `None` where a code is neither that of a level nor [`Categories::MISSING`].
    pub fn new(codes: Vec<u32>, levels: impl Into<Arc<[String]>>) -> Option<Self> {
        let levels = levels.into();
        let known = |&code: &u32| code == Self::MISSING || (code as usize) < levels.len();
        codes.iter().all(known).then_some(Categories { codes, levels })
    }

    /// Codes that are known to fit.
    pub(crate) fn of_checked(codes: Vec<u32>, levels: Arc<[String]>) -> Self {
        Categories { codes, levels }
    }

    /// One per row.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The different texts. A file's levels stand in the order in which they first appear in it.
    pub fn levels(&self) -> &[String] {
        &self.levels
    }

    /// The text of `row`; `None` where it is missing or there is no such row.
    pub fn get(&self, row: usize) -> Option<&str> {
        let code = *self.codes.get(row)?;
        self.levels.get(code as usize).map(String::as_str)
    }
}

impl Table {
    /// The most columns a table can have. A file of a few bytes can claim an array of no rows and any width.
    pub const MAX_COLUMNS: usize = 1 << 20;

    /// Columns of equal length and different names, at most [`Table::MAX_COLUMNS`].
    pub fn new(columns: Vec<Column>) -> Result<Self, IoError> {
        Table::at(columns, Place::file("table"), 1)
    }

    /// A table read from `source`, whose row 0 is the file's row `first_row`.
    pub(crate) fn at(columns: Vec<Column>, source: Place, first_row: u64) -> Result<Self, IoError> {
        check_width(columns.len(), &source)?;
        let rows = columns.first().map_or(0, |column| column.values.len());
        let mut names = hashbrown::HashSet::with_capacity(columns.len());
        for (index, column) in columns.iter().enumerate() {
            let at = || source.clone().column(index + 1);
            if !names.insert(column.name.as_str()) {
                return Err(IoError::DuplicateName { at: at(), name: column.name.clone() });
            }
            if column.values.len() != rows {
                let (found, expected) = (column.values.len(), rows);
                return Err(IoError::Uneven { at: at().named(&column.name), found, expected });
            }
        }
        drop(names);
        Ok(Table { columns, rows, source, first_row, positions: Vec::new() })
    }

    /// The same, its columns being those of the file at `positions`, from 0.
    pub(crate) fn chosen(self, mut positions: Vec<usize>) -> Self {
        // One way to say it: equal tables must not differ in how they were read.
        if positions.iter().enumerate().all(|(index, &position)| index == position) {
            positions.clear();
        }
        Table { positions, ..self }
    }

    /// Of each column the file's column that it is, from 0; empty where they are the file's first ones, one after another.
    pub(crate) fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns, in the file's order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns, to be taken apart.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
    }

    /// The columns' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// The column called `name`.
    pub fn column(&self, name: &str) -> Result<&Column, IoError> {
        self.columns.iter().find(|column| column.name == name).ok_or_else(|| IoError::NoSuchName {
            at: self.source.clone(),
            what: "column",
            name: name.to_owned(),
            known: self.names().map(str::to_owned).collect(),
        })
    }

    /// The file the table came from.
    pub fn source(&self) -> &Place {
        &self.source
    }

    /// The file's row that row 0 of this table is: for the first batch of a file with a header, 2.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// Where the value at `row` and `column`, both from 0, lies in the file.
    pub fn place(&self, row: usize, column: usize) -> Place {
        self.column_place(column).row(self.first_row + row as u64)
    }

    /// Where the column `column`, from 0, lies in the file.
    pub fn column_place(&self, column: usize) -> Place {
        let position = self.positions.get(column).copied().unwrap_or(column);
        let place = self.source.clone().column(position + 1);
        match self.columns.get(column) {
            Some(column) => place.named(&column.name),
            None => place,
        }
    }

    /// The numbers as an array of shape `(rows, columns)`; a column of text and a missing value are refused.
    pub fn to_tensor(&self) -> Result<Tensor, IoError> {
        const BLOCK: usize = 256;
        let numbers = self.columns.iter().enumerate().map(|(j, column)| match &column.values {
            Values::Numbers(numbers) => Ok(numbers.as_slice()),
            Values::Categories(categories) => {
                // A column is text because one of its values is; numbers among them are not to blame.
                let is_text = |text: &str| crate::csv::field::number(text.as_bytes()).is_none();
                let row = (0..self.rows).find(|&row| categories.get(row).is_some_and(is_text)).unwrap_or(0);
                let found = categories.get(row).unwrap_or_default().chars().take(40).collect();
                Err(IoError::NotANumber { at: self.place(row, j), found })
            }
        });
        let numbers: Vec<&[f64]> = numbers.collect::<Result<_, _>>()?;
        for (j, column) in numbers.iter().enumerate() {
            if let Some(row) = column.iter().position(|value| value.is_nan()) {
                return Err(IoError::MissingValue { at: self.place(row, j) });
            }
        }
        let width = numbers.len();
        // x[i, j] = numbers[j][i]: columns are written with stride `width`, a block of rows at a time so that the
        // lines of the target stay in the cache until all columns have been there.
        let mut x = vec![0.0; self.rows * width];
        for (block, target) in x.chunks_mut(BLOCK * width).enumerate() {
            for (j, column) in numbers.iter().enumerate() {
                let values = &column[block * BLOCK..];
                for (row, &value) in target.chunks_exact_mut(width).zip(values) {
                    row[j] = value;
                }
            }
        }
        Tensor::new(x, &[self.rows, width])
            .map_err(|source| IoError::Shape { at: self.source.clone(), source })
    }

    /// An array of one or two dimensions as columns `c0`, `c1`, …; truth values become 0 and 1.
    pub fn from_tensor(tensor: &Tensor) -> Result<Self, IoError> {
        Table::from_tensor_at(tensor, Place::file("array"))
    }

    pub(crate) fn from_tensor_at(tensor: &Tensor, source: Place) -> Result<Self, IoError> {
        let (rows, width) = match *tensor.dims() {
            [rows] => (rows, 1),
            [rows, width] => (rows, width),
            _ => return Err(IoError::NotATable { at: source, found: tensor.shape() }),
        };
        check_width(width, &source)?;
        let x = tensor.to_f64_vec();
        let column = |j: usize| Column {
            name: default_name(j),
            values: Values::Numbers((0..rows).map(|i| x[i * width + j]).collect()),
        };
        Table::at((0..width).map(column).collect(), source, 1)
    }
}

/// Whether a table can have that many columns.
pub(crate) fn check_width(width: usize, at: &Place) -> Result<(), IoError> {
    match width {
        0 => Err(IoError::NoColumns { at: at.clone() }),
        1..=Table::MAX_COLUMNS => Ok(()),
        found => Err(IoError::TooManyColumns { at: at.clone(), found }),
    }
}

/// The name of a column that has none: `c0`, `c1`, ….
pub(crate) fn default_name(index: usize) -> String {
    format!("c{index}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(name: &str, values: &[f64]) -> Column {
        Column { name: name.to_owned(), values: Values::Numbers(values.to_vec()) }
    }

    #[test]
    fn a_numeric_table_is_an_array_and_back() {
        let rows = 1000;
        let column = |j: f64| (0..rows).map(|i| f64::from(i) + j / 10.0).collect::<Vec<_>>();
        let table = Table::new(vec![numbers("c0", &column(0.0)), numbers("c1", &column(1.0))]).unwrap();
        let x = table.to_tensor().unwrap();
        assert_eq!(x.dims(), [1000, 2]);
        assert_eq!(x.view_as::<f64>().unwrap().get(&[999, 1]), Some(999.1));
        let back = Table::from_tensor(&x).unwrap();
        assert_eq!(back.columns(), table.columns());
    }

    #[test]
    fn uneven_or_doubled_columns_are_refused() {
        let uneven = Table::new(vec![numbers("a", &[1.0]), numbers("b", &[])]).unwrap_err();
        assert_eq!(
            uneven.to_string(),
            "table, column 2 (column \"b\"): found 0 values; the first column has 1"
        );
        let doubled = Table::new(vec![numbers("a", &[1.0]), numbers("a", &[1.0])]).unwrap_err();
        assert_eq!(doubled.to_string(), "table, column 2: the name \"a\" occurs twice");
        assert!(matches!(Table::new(Vec::new()), Err(IoError::NoColumns { .. })));
    }

    #[test]
    fn columns_at_their_own_places_are_those_of_a_whole_table() {
        let whole = Table::new(vec![numbers("a", &[1.0]), numbers("b", &[2.0])]).unwrap();
        assert_eq!(whole.clone().chosen(vec![0, 1]), whole);
        let others = whole.clone().chosen(vec![0, 2]);
        assert_ne!(others, whole);
        assert_eq!(others.place(0, 1).to_string(), "table:1:3 (column \"b\")");
        assert_eq!(others.column_place(1).to_string(), "table, column 3 (column \"b\")");
    }

    #[test]
    fn text_is_no_number_and_says_where() {
        let levels = ["x".to_owned()];
        let values = Values::Categories(Categories::new(vec![Categories::MISSING, 0], levels).unwrap());
        let table = Table::new(vec![Column { name: "t".to_owned(), values }]).unwrap();
        let error = table.to_tensor().unwrap_err();
        assert_eq!(error.to_string(), "table:2:1 (column \"t\"): found \"x\"; a number is needed");
        assert!(Categories::new(vec![1], ["x".to_owned()]).is_none());
    }
}
