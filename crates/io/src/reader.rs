//! Tables larger than memory, some rows at a time.

use crate::csv::{CsvBatches, Header, Text};
use crate::options::ReadOptions;
use crate::records::RecordBatches;
use crate::source::Opened;
use crate::table::{Column, Values};
use crate::{Categories, Format, IoError, Place, Table};
use std::path::Path;
use std::sync::Arc;

/// What a column of every batch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The column's name.
    pub name: String,
    /// The levels of categories, of the whole file; `None` for numbers.
    pub levels: Option<Arc<[String]>>,
    /// Whether the file says of the numbers that they are truth values.
    pub truths: bool,
    /// Binary digits that the numbers have in the file: 24 of f32, 53 of f64 and of text.
    pub bits: u32,
}

/// How far reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Units read.
    pub done: u64,
    /// Units in all, where that is known.
    pub total: Option<u64>,
    /// What is counted.
    pub unit: ProgressUnit,
}

/// What [`Progress`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressUnit {
    /// Bytes of the file.
    Bytes,
    /// Rows of the table.
    Rows,
}

/// A table in batches of at most [`ReadOptions::batch_rows`] rows, each with the same columns, kinds and levels.
///
/// A text table, and a column of text in any table, is read once beforehand, to find out kinds and levels.
///
/// ```no_run
/// use spanwise_io::{ReadOptions, TableReader};
///
/// let reader = TableReader::open("large.csv", &ReadOptions::default())?;
/// for batch in reader {
///     println!("{} rows from row {}", batch.as_ref().unwrap().rows(), batch?.first_row());
/// }
/// # Ok::<(), spanwise_io::IoError>(())
/// ```
pub struct TableReader {
    format: Format,
    batches: Batches,
}

enum Batches {
    Text(Box<CsvBatches>),
    Records(Box<RecordBatches>),
    /// An array in memory, cut into batches.
    Whole(Whole),
}

impl TableReader {
    /// Opens a table of any format; `-` is standard input, which is kept in memory.
    pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self, IoError> {
        let named = crate::source::Named::of(path.as_ref());
        let path = named.path.as_path();
        let opened = Opened::new(path, options.format)?;
        let batches = match opened.format {
            Format::Csv | Format::Tsv => {
                crate::read::no_member(&named, opened.format)?;
                let text = text(path, &opened, options)?;
                Batches::Text(Box::new(CsvBatches::new(&text, options)?))
            }
            Format::Parquet | Format::Arrow => {
                crate::read::no_member(&named, opened.format)?;
                Batches::Records(Box::new(RecordBatches::new(path, &opened, options)?))
            }
            _ => {
                let (table, bits) = crate::read::array_table(&named, &opened, options)?;
                Batches::Whole(Whole { table, bits, batch_rows: options.batch_rows.max(1), done: 0 })
            }
        };
        Ok(TableReader { format: opened.format, batches })
    }

    /// What the file was found to be.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The columns of every batch.
    pub fn schema(&self) -> Vec<Field> {
        match &self.batches {
            Batches::Text(batches) => batches.schema().to_vec(),
            Batches::Records(batches) => batches.schema().to_vec(),
            Batches::Whole(whole) => {
                whole.table.columns().iter().map(|column| field(column, whole.bits)).collect()
            }
        }
    }

    /// Whether a text table was found to begin with data, by [`ReadOptions::guess_header`].
    pub fn lacks_header(&self) -> bool {
        match &self.batches {
            Batches::Text(batches) => batches.lacks_header(),
            Batches::Records(_) | Batches::Whole(_) => false,
        }
    }

    /// How much has been handed out.
    pub fn progress(&self) -> Progress {
        match &self.batches {
            Batches::Text(batches) => batches.progress(),
            Batches::Records(batches) => batches.progress(),
            Batches::Whole(whole) => Progress {
                done: whole.done as u64,
                total: Some(whole.table.rows() as u64),
                unit: ProgressUnit::Rows,
            },
        }
    }
}

impl Iterator for TableReader {
    type Item = Result<Table, IoError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.batches {
            Batches::Text(batches) => batches.next(),
            Batches::Records(batches) => batches.next(),
            Batches::Whole(whole) => whole.next(),
        }
    }
}

/// A text table, of a file or of bytes that were read already.
pub(crate) fn text(path: &Path, opened: &Opened, options: &ReadOptions) -> Result<Text, IoError> {
    let header = match (options.header, options.guess_header) {
        (false, _) => Header::Absent,
        (true, false) => Header::Present,
        (true, true) => Header::Guess,
    };
    let text = match &opened.bytes {
        Some(bytes) => Text::of_bytes(path, bytes.clone(), opened.format, header)?,
        None => Text::open(path, opened.format, header)?,
    };
    Ok(text.separated_by(options.delimiter))
}

fn field(column: &Column, bits: u32) -> Field {
    let levels = match &column.values {
        Values::Numbers(_) => None,
        Values::Categories(categories) => Some(categories.levels().into()),
    };
    Field { name: column.name.clone(), levels, truths: false, bits }
}

/// A table that is in memory anyway.
struct Whole {
    table: Table,
    bits: u32,
    batch_rows: usize,
    done: usize,
}

impl Whole {
    fn next(&mut self) -> Option<Result<Table, IoError>> {
        let end = self.table.rows().min(self.done + self.batch_rows);
        let rows = self.done..end;
        if rows.is_empty() {
            return None;
        }
        let columns = self.table.columns().iter().map(|column| Column {
            name: column.name.clone(),
            values: match &column.values {
                Values::Numbers(numbers) => Values::Numbers(numbers[rows.clone()].to_vec()),
                Values::Categories(c) => {
                    let codes = c.codes()[rows.clone()].to_vec();
                    Values::Categories(Categories::of_checked(codes, c.levels().into()))
                }
            },
        });
        let first_row = self.table.first_row() + self.done as u64;
        self.done = end;
        let source: Place = self.table.source().clone();
        let table = Table::at(columns.collect(), source, first_row);
        Some(table.map(|table| table.chosen(self.table.positions().to_vec())))
    }
}
