//! A text table, some rows at a time.
//!
//! Two passes: the first finds out what the columns are and collects the levels of text, so that each batch of the
//! second has the same columns, kinds and codes. Memory holds a few chunks, one batch and the levels.

use super::chunks::Chunks;
use super::join::{Joined, JoinedColumn, Keep, join};
use super::{Head, Reader, Text};
use crate::options::ReadOptions;
use crate::reader::{Field, Progress, ProgressUnit};
use crate::table::{Categories, Column, Values};
use crate::{IoError, Table};
use spanwise_kernels::Dtype;
use std::ops::Range;
use std::sync::Arc;

/// Chunks parsed at once, enough to keep threads busy.
const WAVE: usize = 8;

pub(crate) struct CsvBatches {
    head: Head,
    /// Of the columns that are read.
    schema: Vec<Field>,
    chunks: Chunks<Reader>,
    /// The first chunk without its header, until it is parsed.
    first: Option<Vec<u8>>,
    /// Parsed rows, of which the first `taken` were handed out.
    parsed: Joined,
    taken: usize,
    batch_rows: usize,
    /// Rows handed out.
    rows: u64,
    /// Bytes in all.
    total: u64,
    finished: bool,
}

impl CsvBatches {
    pub(crate) fn new(text: &Text, options: &ReadOptions) -> Result<Self, IoError> {
        let mut head = text.head(options)?;
        let mut parsed = loop {
            let joined = text.pass(&head, Keep::LevelsOnly)?;
            if joined.misfits.is_empty() {
                break joined;
            }
            head.make_text(&joined.misfits);
        };
        parsed.rows = 0;
        let field = |(name, column): (&String, &JoinedColumn)| match column {
            JoinedColumn::Skip => None,
            JoinedColumn::Numbers(_) => {
                Some(Field { name: name.clone(), levels: None, truths: false, bits: Dtype::F64.bits() })
            }
            JoinedColumn::Text { levels, .. } => {
                let levels = Some(levels.texts.clone().into());
                Some(Field { name: name.clone(), levels, truths: false, bits: Dtype::F64.bits() })
            }
        };
        let schema = head.names.iter().zip(&parsed.columns).filter_map(field).collect();
        let mut chunks = text.chunks()?;
        let first = Some(text.first_records(&mut chunks, &head)?);
        let (batch_rows, total) = (options.batch_rows.max(1), text.len());
        Ok(CsvBatches {
            head,
            schema,
            chunks,
            first,
            parsed,
            taken: 0,
            batch_rows,
            rows: 0,
            total,
            finished: false,
        })
    }

    pub(crate) fn schema(&self) -> &[Field] {
        &self.schema
    }

    /// The first row of data is the first row of the file.
    pub(crate) fn lacks_header(&self) -> bool {
        self.head.plan.first_row == 1
    }

    pub(crate) fn progress(&self) -> Progress {
        let done = if self.first.is_some() { 0 } else { self.chunks.done.min(self.total) };
        Progress { done, total: Some(self.total), unit: ProgressUnit::Bytes }
    }

    fn waiting(&self) -> usize {
        (self.parsed.rows - self.rows) as usize
    }

    /// Parses some more chunks; gives whether there were any.
    fn parse_wave(&mut self) -> Result<bool, IoError> {
        self.parsed.drop_rows(self.taken);
        self.taken = 0;
        let done = self.chunks.done;
        let first = self.first.take();
        let is_first = first.is_some();
        let known = self.parsed.level_count();
        let wave = first.into_iter().map(Ok).chain(self.chunks.by_ref().take(WAVE));
        join(wave, &self.head.plan, &mut self.parsed, Keep::Values)?;
        if !self.parsed.misfits.is_empty() || self.parsed.level_count() != known {
            return Err(IoError::Changed { at: self.head.plan.file.clone() });
        }
        Ok(is_first || self.chunks.done > done)
    }

    fn batch(&mut self) -> Result<Option<Table>, IoError> {
        while self.waiting() < self.batch_rows && self.parse_wave()? {}
        let rows = self.waiting().min(self.batch_rows);
        if rows == 0 {
            return Ok(None);
        }
        let range = self.taken..self.taken + rows;
        let first_row = self.head.plan.first_row + self.rows;
        self.taken += rows;
        self.rows += rows as u64;
        let values =
            self.parsed.columns.iter().zip(&self.head.names).zip(level_lists(&self.parsed, &self.schema));
        let columns = values.filter_map(|((column, name), levels)| {
            Some(Column { name: name.clone(), values: slice(column, &range, levels)? })
        });
        let table = Table::at(columns.collect(), self.head.plan.file.clone(), first_row)?;
        Ok(Some(table.chosen(self.parsed.positions())))
    }
}

/// For each column of the file, the levels that its batches share.
fn level_lists<'a>(
    parsed: &'a Joined,
    schema: &'a [Field],
) -> impl Iterator<Item = Option<Arc<[String]>>> + 'a {
    let mut fields = schema.iter();
    parsed.columns.iter().map(move |column| match column {
        JoinedColumn::Skip => None,
        _ => fields.next().and_then(|field| field.levels.clone()),
    })
}

/// Rows `range` of the column; `None` for one that is skipped.
fn slice(column: &JoinedColumn, range: &Range<usize>, levels: Option<Arc<[String]>>) -> Option<Values> {
    match column {
        JoinedColumn::Skip => None,
        JoinedColumn::Numbers(numbers) => Some(Values::Numbers(numbers[range.clone()].to_vec())),
        JoinedColumn::Text { codes, .. } => {
            let codes = codes[range.clone()].to_vec();
            Some(Values::Categories(Categories::of_checked(codes, levels.unwrap_or_default())))
        }
    }
}

impl Iterator for CsvBatches {
    type Item = Result<Table, IoError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let next = self.batch().transpose();
        self.finished = !matches!(next, Some(Ok(_)));
        next
    }
}
