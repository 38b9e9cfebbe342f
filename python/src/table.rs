//! Tables that speak Arrow's stream interface, as one matrix of f64, column after column.
#![allow(unsafe_code, reason = "Arrow's C interface is a pointer inside a capsule")]

use crate::errors::{Class, raise};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatchReader};
use arrow_schema::DataType;
use numpy::{PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The names of the columns and the numbers (n × d, Fortran order) of an `arrow_array_stream` capsule. Nulls become NaN,
/// which fits refuse with row and column.
#[pyfunction]
pub(crate) fn matrix_of_stream<'py>(
    capsule: &Bound<'py, PyCapsule>,
    operation: &str,
    argument: &str,
) -> PyResult<(Vec<String>, Bound<'py, PyAny>)> {
    let py = capsule.py();
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name points to a stream by the Arrow PyCapsule interface. The reader moves it out and
    // leaves it released, so that the capsule's destructor does nothing more.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr()) };
    let mut reader = reader.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let schema = reader.schema();
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for batch in &mut reader {
        let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
        for (j, column) in batch.columns().iter().enumerate() {
            append(column, &mut columns[j]).ok_or_else(|| {
                let message = format!(
                    "{operation}: `{argument}` has column {:?} of type {}; expected numbers\n\
                     hint: leave the column out, or make it numbers first",
                    names[j],
                    column.data_type()
                );
                raise(py, Class::Dtype, message)
            })?;
        }
        py.check_signals()?;
    }
    let rows = columns.first().map_or(0, Vec::len);
    let flat: Vec<f64> = columns.concat();
    let array: Bound<'py, PyArray2<f64>> = crate::array::vector(py, flat).reshape([names.len(), rows])?;
    Ok((names, array.getattr("T")?))
}

/// Adds the numbers of a column; `None` where it does not hold numbers.
fn append(column: &ArrayRef, to: &mut Vec<f64>) -> Option<()> {
    macro_rules! numbers {
        ($type:ty, $convert:expr) => {
            to.extend(column.as_primitive::<$type>().iter().map(|value| value.map_or(f64::NAN, $convert)))
        };
    }
    match column.data_type() {
        DataType::Float64 if column.null_count() == 0 => {
            to.extend_from_slice(column.as_primitive::<Float64Type>().values());
        }
        DataType::Float64 => numbers!(Float64Type, |x| x),
        DataType::Float32 => numbers!(Float32Type, f64::from),
        DataType::Float16 => numbers!(Float16Type, f64::from),
        DataType::Int8 => numbers!(Int8Type, f64::from),
        DataType::Int16 => numbers!(Int16Type, f64::from),
        DataType::Int32 => numbers!(Int32Type, f64::from),
        DataType::Int64 => numbers!(Int64Type, |x| x as f64),
        DataType::UInt8 => numbers!(UInt8Type, f64::from),
        DataType::UInt16 => numbers!(UInt16Type, f64::from),
        DataType::UInt32 => numbers!(UInt32Type, f64::from),
        DataType::UInt64 => numbers!(UInt64Type, |x| x as f64),
        DataType::Boolean => to.extend(column.as_boolean().iter().map(|b| b.map_or(f64::NAN, f64::from))),
        DataType::Null => to.resize(to.len() + column.len(), f64::NAN),
        _ => return None,
    }
    Some(())
}
