//! Tables as Parquet: numbers as nullable doubles, categories as text.

use super::whole::Sink;
use crate::table::{Column, Table, Values};
use crate::{Format, IoError, Place};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Rows converted at once.
const BLOCK: usize = 1 << 16;

pub(super) fn write_table(path: &Path, sink: &mut Sink, table: &Table) -> Result<(), IoError> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        IoError::decode(Place::file(path), Format::Parquet, error.to_string())
    };
    let field = |column: &Column| {
        let kind = match column.values {
            Values::Numbers(_) => DataType::Float64,
            Values::Categories(_) => DataType::Utf8,
        };
        Field::new(&column.name, kind, true)
    };
    let schema = Arc::new(Schema::new(table.columns().iter().map(field).collect::<Vec<_>>()));
    let mut writer = ArrowWriter::try_new(sink, schema.clone(), None).map_err(|e| failed(e.into()))?;
    for start in (0..table.rows()).step_by(BLOCK) {
        let rows = start..table.rows().min(start + BLOCK);
        let arrays = table.columns().iter().map(|column| array(column, rows.clone())).collect();
        let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(|e| failed(e.into()))?;
        writer.write(&batch).map_err(|e| failed(e.into()))?;
    }
    writer.close().map_err(|e| failed(e.into()))?;
    Ok(())
}

fn array(column: &Column, mut rows: Range<usize>) -> ArrayRef {
    match &column.values {
        Values::Numbers(numbers) => {
            let present = |&value: &f64| (!value.is_nan()).then_some(value);
            Arc::new(numbers[rows].iter().map(present).collect::<Float64Array>())
        }
        Values::Categories(categories) => {
            Arc::new(rows.by_ref().map(|row| categories.get(row)).collect::<StringArray>())
        }
    }
}
