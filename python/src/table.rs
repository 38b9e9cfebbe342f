//! Tables that speak Arrow's stream interface: as one matrix of f64, column after column, or as columns of numbers and words.
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
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::HashMap;

/// What a column holds.
enum Column {
    Numbers(Vec<f64>),
    /// The position of each row's word among the levels, which stand in the order of their first appearance.
    Words {
        codes: Vec<u32>,
        levels: Vec<String>,
        places: HashMap<String, u32>,
    },
}

/// The code of a row without a word.
const MISSING: u32 = u32::MAX;

impl Column {
    fn new(of: &DataType) -> Self {
        match of {
            DataType::Dictionary(_, values) => Column::new(values),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Column::Words { codes: Vec::new(), levels: Vec::new(), places: HashMap::new() }
            }
            _ => Column::Numbers(Vec::new()),
        }
    }

    /// Adds a batch; `None` where it holds neither numbers nor words.
    fn append(&mut self, column: &ArrayRef) -> Option<()> {
        match self {
            Column::Numbers(numbers) => append(column, numbers),
            Column::Words { codes, levels, places } => {
                let mut code = |word: Option<&str>| {
                    let Some(word) = word else { return MISSING };
                    places.get(word).copied().unwrap_or_else(|| {
                        let next = levels.len() as u32;
                        levels.push(word.to_owned());
                        places.insert(word.to_owned(), next);
                        next
                    })
                };
                if let Some(dictionary) = column.as_any_dictionary_opt() {
                    let words = words_of(dictionary.values())?;
                    // A null has a key too, which means nothing.
                    for (row, key) in dictionary.normalized_keys().into_iter().enumerate() {
                        let word = if column.is_null(row) { None } else { words.get(key).copied().flatten() };
                        codes.push(code(word));
                    }
                } else {
                    codes.extend(words_of(column)?.into_iter().map(code));
                }
                Some(())
            }
        }
    }
}

fn words_of(column: &ArrayRef) -> Option<Vec<Option<&str>>> {
    Some(match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().collect(),
        DataType::Utf8View => column.as_string_view().iter().collect(),
        _ => return None,
    })
}

/// Reads an `arrow_array_stream` capsule to its end.
fn read(
    capsule: &Bound<'_, PyCapsule>,
    operation: &str,
    argument: &str,
    with_words: bool,
) -> PyResult<Vec<(String, Column)>> {
    let py = capsule.py();
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name points to a stream by the Arrow PyCapsule interface. The reader moves it out and
    // leaves it released, so that the capsule's destructor does nothing more.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr()) };
    let mut reader = reader.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let schema = reader.schema();
    let new = |of: &DataType| if with_words { Column::new(of) } else { Column::Numbers(Vec::new()) };
    let columns = schema.fields().iter().map(|field| (field.name().clone(), new(field.data_type())));
    let mut columns: Vec<(String, Column)> = columns.collect();
    for batch in &mut reader {
        let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
        for (found, (name, column)) in batch.columns().iter().zip(&mut columns) {
            column.append(found).ok_or_else(|| {
                let message = format!(
                    "{operation}: `{argument}` has column {name:?} of type {}; expected {}\n\
                     hint: leave the column out, or make it numbers first",
                    found.data_type(),
                    if with_words { "numbers or words" } else { "numbers" }
                );
                raise(py, Class::Dtype, message)
            })?;
        }
        py.check_signals()?;
    }
    Ok(columns)
}

/// The names of the columns and the numbers (n × d, Fortran order) of an `arrow_array_stream` capsule. Nulls become NaN,
/// which fits refuse with row and column.
#[pyfunction]
pub(crate) fn matrix_of_stream<'py>(
    capsule: &Bound<'py, PyCapsule>,
    operation: &str,
    argument: &str,
) -> PyResult<(Vec<String>, Bound<'py, PyAny>)> {
    let py = capsule.py();
    let mut names = Vec::new();
    let mut flat = Vec::new();
    for (name, column) in read(capsule, operation, argument, false)? {
        names.push(name);
        if let Column::Numbers(numbers) = column {
            flat.push(numbers);
        }
    }
    let rows = flat.first().map_or(0, Vec::len);
    let array: Bound<'py, PyArray2<f64>> =
        crate::array::vector(py, flat.concat()).reshape([names.len(), rows])?;
    Ok((names, array.getattr("T")?))
}

/// A column's name; its numbers, or the codes of its words with the words themselves.
type Given<'py> =
    (String, Option<Bound<'py, PyArray1<f64>>>, Option<(Bound<'py, PyArray1<u32>>, Vec<String>)>);

/// The columns of an `arrow_array_stream` capsule, as [`crate::design::encode`] takes them.
#[pyfunction]
pub(crate) fn columns_of_stream<'py>(
    capsule: &Bound<'py, PyCapsule>,
    operation: &str,
    argument: &str,
) -> PyResult<Vec<Given<'py>>> {
    let py = capsule.py();
    let columns = read(capsule, operation, argument, true)?;
    let given = columns.into_iter().map(|(name, column)| match column {
        Column::Numbers(numbers) => (name, Some(crate::array::vector(py, numbers)), None),
        Column::Words { codes, levels, .. } => (name, None, Some((crate::array::vector(py, codes), levels))),
    });
    Ok(given.collect())
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
