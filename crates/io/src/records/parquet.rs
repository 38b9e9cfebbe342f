//! Parquet, read page by page from the file, one batch of rows at a time.
//!
//! The file is not mapped: of a table larger than memory every page would become resident on its way through.

use super::pages::check_pages;
use super::{Records, guard::guarded};
use crate::bytes;
use crate::source::Opened;
use crate::{Format, IoError, Malformed, Place};
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

const MARK: &[u8] = b"PAR1";

/// Where the pages are.
#[derive(Clone)]
enum Held {
    /// A file on a disk. Reading moves its one cursor, so only one thread reads at a time.
    File(Arc<File>),
    /// What came through a pipe.
    Memory(::bytes::Bytes),
}

impl Length for Held {
    fn len(&self) -> u64 {
        match self {
            Held::File(file) => file.len(),
            Held::Memory(memory) => memory.len() as u64,
        }
    }
}

impl ChunkReader for Held {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(match self {
            Held::File(file) => Box::new(file.get_read(start)?),
            Held::Memory(memory) => Box::new(memory.get_read(start)?),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<::bytes::Bytes> {
        match self {
            Held::File(file) => file.get_bytes(start, length),
            Held::Memory(memory) => memory.get_bytes(start, length),
        }
    }
}

pub(super) struct ParquetFile {
    at: Place,
    held: Held,
    metadata: ArrowReaderMetadata,
}

impl ParquetFile {
    pub(super) fn open(at: &Place, path: &Path, opened: &Opened) -> Result<Self, IoError> {
        let held = match &opened.bytes {
            Some(bytes) => Held::Memory(::bytes::Bytes::from_owner(bytes.clone())),
            None => Held::File(Arc::new(bytes::open(path)?)),
        };
        let length = held.len();
        let end = length.checked_sub(MARK.len() as u64).and_then(|at| held.get_bytes(at, MARK.len()).ok());
        if length < 12 || end.as_deref() != Some(MARK) {
            // Most often a download or a copy that was cut off.
            return Err(IoError::Truncated { at: at.clone(), what: "the footer", expected: 8, found: 0 });
        }
        let metadata = ArrowReaderMetadata::load(&held, ArrowReaderOptions::new())
            .map_err(|error| IoError::decode(at.clone(), Format::Parquet, error.to_string()))?;
        let file = ParquetFile { at: at.clone(), held, metadata };
        if file.metadata.metadata().file_metadata().num_rows() < 0 {
            return Err(IoError::malformed(at.clone(), Format::Parquet, Malformed::Inconsistent));
        }
        for group in file.metadata.metadata().row_groups() {
            for chunk in group.columns() {
                check_pages(&file.held, chunk).map_err(|(offset, problem)| {
                    let name = chunk.column_path().string();
                    IoError::malformed(at.clone().named(name).byte(offset), Format::Parquet, problem)
                })?;
            }
        }
        Ok(file)
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.metadata.schema().clone()
    }

    pub(super) fn rows(&self) -> u64 {
        self.metadata.metadata().file_metadata().num_rows() as u64
    }

    pub(super) fn records(&self, positions: &[usize], batch_rows: usize) -> Result<Records, IoError> {
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.held.clone(), self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), positions.iter().copied());
        let at = self.at.clone();
        let reader = guarded(&at, Format::Parquet, || {
            let reader = builder.with_projection(mask).with_batch_size(batch_rows).build();
            reader.map_err(|error| IoError::decode(at.clone(), Format::Parquet, error.to_string()))
        })?;
        Ok(Box::new(Guarded { at, reader: Some(reader) }))
    }
}

/// The decoder's batches; after the first failure there are no more.
struct Guarded {
    at: Place,
    reader: Option<ParquetRecordBatchReader>,
}

impl Iterator for Guarded {
    type Item = Result<arrow_array::RecordBatch, IoError>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.reader.as_mut()?;
        let at = &self.at;
        let next = guarded(at, Format::Parquet, || {
            let failed = |error: arrow_schema::ArrowError| {
                IoError::decode(at.clone(), Format::Parquet, error.to_string())
            };
            reader.next().transpose().map_err(failed)
        });
        if next.is_err() {
            self.reader = None;
        }
        next.transpose()
    }
}
