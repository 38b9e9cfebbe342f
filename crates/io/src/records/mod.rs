//! Tables that come as Arrow record batches: `.parquet` and `.arrow`.
//!
//! | type | becomes |
//! |---|---|
//! | floats, integers, decimals | numbers; an integer that f64 does not hold exactly is refused |
//! | truth values | the numbers 0 and 1; where categories are asked for, `False` and `True` |
//! | text, plain or dictionary-encoded | categories |
//! | null | numbers, all missing |
//! | dates, lists, structures, … | refused, unless the column is left out |

mod columns;
mod guard;
mod ipc;
mod pages;
mod parquet;

use crate::levels::Levels;
use crate::options::ReadOptions;
use crate::reader::{Field, Progress, ProgressUnit};
use crate::source::Opened;
use crate::table::{Categories, Column, Values};
use crate::{Format, IoError, Place, Table};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use columns::{Builder, bits, is_text, is_truth, supported};
use std::path::Path;
use std::sync::Arc;

pub use guard::is_decoding;

/// Batches, one after another.
type Records = Box<dyn Iterator<Item = Result<RecordBatch, IoError>> + Send>;

/// A table in a file, not yet read.
enum RecordFile {
    Parquet(parquet::ParquetFile),
    Ipc(ipc::IpcFile),
}

impl RecordFile {
    fn open(path: &Path, opened: &Opened) -> Result<Self, IoError> {
        let at = Place::file(path);
        guard::guarded(&at, opened.format, || match opened.format {
            Format::Parquet => parquet::ParquetFile::open(&at, path, opened).map(RecordFile::Parquet),
            _ => ipc::IpcFile::open(&at, opened.bytes(path)?).map(RecordFile::Ipc),
        })
    }

    fn schema(&self) -> SchemaRef {
        match self {
            RecordFile::Parquet(file) => file.schema(),
            RecordFile::Ipc(file) => file.schema(),
        }
    }

    fn rows(&self) -> u64 {
        match self {
            RecordFile::Parquet(file) => file.rows(),
            RecordFile::Ipc(file) => file.rows(),
        }
    }

    /// The columns at `positions` of the schema, at most `batch_rows` rows at a time.
    fn records(&self, positions: &[usize], batch_rows: usize) -> Result<Records, IoError> {
        match self {
            RecordFile::Parquet(file) => file.records(positions, batch_rows),
            RecordFile::Ipc(file) => Ok(file.records(positions, batch_rows)),
        }
    }
}

/// The columns to read: where they are in the file, what they are called, whether they become categories.
struct Chosen {
    positions: Vec<usize>,
    names: Vec<String>,
    categories: Vec<bool>,
    truths: Vec<bool>,
    bits: Vec<u32>,
}

impl Chosen {
    fn new(file: &RecordFile, options: &ReadOptions, at: &Place) -> Result<Self, IoError> {
        let schema = file.schema();
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        options.check_names(&names, at)?;
        let mut chosen = Chosen {
            positions: Vec::new(),
            names: Vec::new(),
            categories: Vec::new(),
            truths: Vec::new(),
            bits: Vec::new(),
        };
        for (position, field) in schema.fields().iter().enumerate() {
            if !options.wants(field.name()) {
                continue;
            }
            if !supported(field.data_type()) {
                return Err(IoError::Dtype {
                    at: at.clone().column(position + 1).named(field.name()),
                    found: field.data_type().to_string(),
                    supported: "numbers, truth values and text",
                });
            }
            chosen.positions.push(position);
            chosen.names.push(field.name().clone());
            chosen.categories.push(is_text(field.data_type()) || options.categories.contains(field.name()));
            chosen.truths.push(is_truth(field.data_type()));
            chosen.bits.push(bits(field.data_type()));
        }
        Ok(chosen)
    }

    fn builders(&self) -> Vec<Builder> {
        let builder = |&categories: &bool| {
            if categories { Builder::Text(Vec::new()) } else { Builder::Numbers(Vec::new()) }
        };
        self.categories.iter().map(builder).collect()
    }

    /// Where column `index` of the chosen ones lies.
    fn place(&self, at: &Place, index: usize) -> Place {
        at.clone().column(self.positions[index] + 1).named(&self.names[index])
    }
}

/// The whole table.
pub(crate) fn read(path: &Path, opened: &Opened, options: &ReadOptions) -> Result<Table, IoError> {
    let (at, format) = (Place::file(path), opened.format);
    let file = RecordFile::open(path, opened)?;
    let chosen = Chosen::new(&file, options, &at)?;
    let mut levels: Vec<Levels> = chosen.names.iter().map(|_| Levels::default()).collect();
    let mut builders = chosen.builders();
    let mut rows = 0;
    for batch in file.records(&chosen.positions, options.batch_rows.max(1))? {
        let batch = batch?;
        guard::guarded(&at, format, || {
            for (index, (builder, levels)) in builders.iter_mut().zip(&mut levels).enumerate() {
                builder.append(batch.column(index), levels, &chosen.place(&at, index), rows)?;
            }
            Ok(())
        })?;
        rows += batch.num_rows() as u64;
    }
    let positions = chosen.positions;
    let columns = chosen
        .names
        .into_iter()
        .zip(builders)
        .zip(levels)
        .map(|((name, builder), levels)| Column { name, values: builder.finish(levels.texts.into()) });
    Ok(Table::at(columns.collect(), at, 1)?.chosen(positions))
}

/// A table, some rows at a time.
pub(crate) struct RecordBatches {
    at: Place,
    format: Format,
    chosen: Chosen,
    levels: Vec<Levels>,
    schema: Vec<Field>,
    records: Records,
    done: u64,
    total: u64,
    finished: bool,
}

impl RecordBatches {
    pub(crate) fn new(path: &Path, opened: &Opened, options: &ReadOptions) -> Result<Self, IoError> {
        let (at, format) = (Place::file(path), opened.format);
        let file = RecordFile::open(path, opened)?;
        let chosen = Chosen::new(&file, options, &at)?;
        let batch_rows = options.batch_rows.max(1);
        let levels = collect_levels(&file, &chosen, &at, format)?;
        let field = |(index, levels): (usize, &Levels)| Field {
            name: chosen.names[index].clone(),
            levels: chosen.categories[index].then(|| Arc::from(levels.texts.as_slice())),
            truths: chosen.truths[index] && !chosen.categories[index],
            bits: chosen.bits[index],
        };
        let schema = levels.iter().enumerate().map(field).collect();
        let records = file.records(&chosen.positions, batch_rows)?;
        let total = file.rows();
        Ok(RecordBatches { at, format, chosen, levels, schema, records, done: 0, total, finished: false })
    }

    pub(crate) fn schema(&self) -> &[Field] {
        &self.schema
    }

    pub(crate) fn progress(&self) -> Progress {
        Progress { done: self.done, total: Some(self.total), unit: ProgressUnit::Rows }
    }

    fn table(&mut self, batch: &RecordBatch) -> Result<Table, IoError> {
        let mut columns = Vec::with_capacity(self.chosen.names.len());
        guard::guarded(&self.at, self.format, || {
            for (index, mut builder) in self.chosen.builders().into_iter().enumerate() {
                let place = self.chosen.place(&self.at, index);
                let known = self.levels[index].texts.len();
                builder.append(batch.column(index), &mut self.levels[index], &place, self.done)?;
                if self.levels[index].texts.len() != known {
                    return Err(IoError::Changed { at: self.at.clone() });
                }
                let levels = self.schema[index].levels.clone().unwrap_or_default();
                columns
                    .push(Column { name: self.chosen.names[index].clone(), values: builder.finish(levels) });
            }
            Ok(())
        })?;
        let first_row = 1 + self.done;
        self.done += batch.num_rows() as u64;
        Ok(Table::at(columns, self.at.clone(), first_row)?.chosen(self.chosen.positions.clone()))
    }
}

impl Iterator for RecordBatches {
    type Item = Result<Table, IoError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.finished {
            match self.records.next() {
                None => self.finished = true,
                Some(Ok(batch)) if batch.num_rows() == 0 => {}
                Some(batch) => {
                    let table = batch.and_then(|batch| self.table(&batch));
                    self.finished = table.is_err();
                    return Some(table);
                }
            }
        }
        None
    }
}

/// The levels of every column of text, by reading those columns once.
fn collect_levels(
    file: &RecordFile,
    chosen: &Chosen,
    at: &Place,
    format: Format,
) -> Result<Vec<Levels>, IoError> {
    const ROWS: usize = 1 << 16;
    let mut levels: Vec<Levels> = chosen.names.iter().map(|_| Levels::default()).collect();
    let text: Vec<usize> = (0..chosen.names.len()).filter(|&index| chosen.categories[index]).collect();
    if text.is_empty() {
        return Ok(levels);
    }
    let positions: Vec<usize> = text.iter().map(|&index| chosen.positions[index]).collect();
    let mut rows = 0;
    for batch in file.records(&positions, ROWS)? {
        let batch = batch?;
        guard::guarded(at, format, || {
            for (column, &index) in text.iter().enumerate() {
                let place = chosen.place(at, index);
                Builder::Text(Vec::new()).append(batch.column(column), &mut levels[index], &place, rows)?;
            }
            Ok(())
        })?;
        rows += batch.num_rows() as u64;
    }
    Ok(levels)
}

impl Builder {
    fn finish(self, levels: Arc<[String]>) -> Values {
        match self {
            Builder::Numbers(numbers) => Values::Numbers(numbers),
            Builder::Text(codes) => Values::Categories(Categories::of_checked(codes, levels)),
        }
    }
}
