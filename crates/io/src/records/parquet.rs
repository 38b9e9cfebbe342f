//! Parquet, read from the mapped bytes one batch of rows at a time.

use super::pages::check_pages;
use super::{Records, guard::guarded};
use crate::bytes::Bytes;
use crate::{Format, IoError, Malformed, Place};
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

const MARK: &[u8] = b"PAR1";

pub(super) struct ParquetFile {
    at: Place,
    bytes: bytes::Bytes,
    metadata: ArrowReaderMetadata,
}

impl ParquetFile {
    pub(super) fn open(at: &Place, bytes: Bytes) -> Result<Self, IoError> {
        if bytes.len() < 12 || !bytes.ends_with(MARK) {
            // Most often a download or a copy that was cut off.
            return Err(IoError::Truncated { at: at.clone(), what: "the footer", expected: 8, found: 0 });
        }
        let bytes = bytes::Bytes::from_owner(bytes);
        let metadata = ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new())
            .map_err(|error| IoError::decode(at.clone(), Format::Parquet, error.to_string()))?;
        let file = ParquetFile { at: at.clone(), bytes, metadata };
        if file.metadata.metadata().file_metadata().num_rows() < 0 {
            return Err(IoError::malformed(at.clone(), Format::Parquet, Malformed::Inconsistent));
        }
        for group in file.metadata.metadata().row_groups() {
            for chunk in group.columns() {
                check_pages(&file.bytes, chunk).map_err(|(offset, problem)| {
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
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone());
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
