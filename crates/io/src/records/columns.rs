//! Arrow arrays to numbers and categories.

use crate::levels::Levels;
use crate::table::Categories;
use crate::{IoError, Place};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use spanwise_kernels::Dtype;

/// A column that grows batch by batch.
pub(super) enum Builder {
    Numbers(Vec<f64>),
    /// Codes into the column's levels.
    Text(Vec<u32>),
}

/// Whether the type can be read.
pub(super) fn supported(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => !matches!(**values, DataType::Dictionary(..)) && supported(values),
        _ => is_text(kind) || is_number(kind),
    }
}

/// Whether the type is text, plain or dictionary-encoded.
pub(super) fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// Binary digits of the numbers of a type, dictionary-encoded or not.
pub(super) fn bits(kind: &DataType) -> u32 {
    match kind {
        DataType::Dictionary(_, values) => bits(values),
        DataType::Float16 => Dtype::F16.bits(),
        DataType::Float32 => Dtype::F32.bits(),
        _ => Dtype::F64.bits(),
    }
}

/// Whether the type is truth values, plain or dictionary-encoded.
pub(super) fn is_truth(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_truth(values),
        _ => matches!(kind, DataType::Boolean),
    }
}

fn is_number(kind: &DataType) -> bool {
    use DataType as D;
    let integer = matches!(kind, D::Int8 | D::Int16 | D::Int32 | D::Int64)
        || matches!(kind, D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64);
    integer
        || matches!(kind, D::Float16 | D::Float32 | D::Float64)
        || matches!(kind, D::Decimal128(..) | D::Boolean | D::Null)
}

impl Builder {
    /// Makes room for `more` rows. A run-length-encoded page of a few bytes can hold any number of rows, so there is no
    /// size of a file from which to know that there are too many; only the system can tell.
    fn reserve(&mut self, more: usize, at: &Place, rows: u64) -> Result<(), IoError> {
        let reserved = match self {
            Builder::Numbers(numbers) => numbers.try_reserve(more),
            Builder::Text(codes) => codes.try_reserve(more),
        };
        reserved.map_err(|_| IoError::Memory { at: at.clone(), rows: rows.saturating_add(more as u64) })
    }

    /// Appends `array`, whose first row is row `rows` of the table, from 0.
    pub(super) fn append(
        &mut self,
        array: &ArrayRef,
        levels: &mut Levels,
        at: &Place,
        rows: u64,
    ) -> Result<(), IoError> {
        self.reserve(array.len(), at, rows)?;
        if let DataType::Dictionary(..) = array.data_type() {
            return self.append_dictionary(array, levels, at, rows);
        }
        match self {
            Builder::Numbers(all) => all.append(&mut numbers(array, at, rows)?),
            Builder::Text(codes) if is_text(array.data_type()) => append_text(codes, array, levels),
            // Truth values are called as text tables call them.
            Builder::Text(codes) if is_truth(array.data_type()) => {
                codes.extend(array.as_boolean().iter().map(|value| {
                    value.map_or(Categories::MISSING, |value| {
                        levels.code(if value { "True" } else { "False" })
                    })
                }));
            }
            // Numbers that were asked for as categories.
            Builder::Text(codes) => codes.extend(numbers(array, at, rows)?.into_iter().map(|value| {
                if value.is_nan() { Categories::MISSING } else { levels.code(&value.to_string()) }
            })),
        }
        Ok(())
    }

    /// The dictionary's values are looked at once, then picked by the keys.
    fn append_dictionary(
        &mut self,
        array: &ArrayRef,
        levels: &mut Levels,
        at: &Place,
        rows: u64,
    ) -> Result<(), IoError> {
        let dictionary = array.as_any_dictionary();
        let values = dictionary.values();
        // Without values there is nothing keys could point at: all are missing.
        let keys = if values.is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
        let present = (0..array.len()).map(|row| array.is_valid(row) && !values.is_empty());
        match self {
            Builder::Numbers(all) => {
                let values = numbers(values, at, rows)?;
                all.extend(
                    keys.iter().zip(present).map(|(&key, here)| if here { values[key] } else { f64::NAN }),
                );
            }
            Builder::Text(codes) => {
                // A level counts from where it is used, not from where the dictionary lists it, so that the order
                // is that of the rows.
                let mut own = Levels::default();
                let mut texts = Vec::with_capacity(values.len());
                if is_text(values.data_type()) {
                    append_text(&mut texts, values, &mut own);
                } else {
                    let mut builder = Builder::Text(texts);
                    builder.append(values, &mut own, at, rows)?;
                    let Builder::Text(found) = builder else { unreachable!("a text builder stays one") };
                    texts = found;
                }
                let mut joined: Vec<Option<u32>> = vec![None; own.texts.len()];
                codes.extend(keys.iter().zip(present).map(|(&key, here)| {
                    let own_code = if here { texts[key] } else { Categories::MISSING };
                    match joined.get_mut(own_code as usize) {
                        None => Categories::MISSING,
                        Some(known) => {
                            *known.get_or_insert_with(|| levels.code(&own.texts[own_code as usize]))
                        }
                    }
                }));
            }
        }
        Ok(())
    }
}

fn append_text(codes: &mut Vec<u32>, array: &ArrayRef, levels: &mut Levels) {
    let mut push = |text: Option<&str>| {
        codes.push(text.map_or(Categories::MISSING, |text| levels.code(text)));
    };
    match array.data_type() {
        DataType::LargeUtf8 => array.as_string::<i64>().iter().for_each(&mut push),
        DataType::Utf8View => array.as_string_view().iter().for_each(&mut push),
        _ => array.as_string::<i32>().iter().for_each(&mut push),
    }
}

/// The numbers of an array; NaN where they are missing.
fn numbers(array: &ArrayRef, at: &Place, rows: u64) -> Result<Vec<f64>, IoError> {
    use DataType as D;
    let wide = |row: usize, value: i128| {
        let rounded = value as f64;
        if rounded as i128 == value {
            return Ok(rounded);
        }
        Err(IoError::Inexact { at: at.clone().row(rows + row as u64 + 1), value, index: row })
    };
    Ok(match array.data_type() {
        D::Int8 => exact::<Int8Type>(array),
        D::Int16 => exact::<Int16Type>(array),
        D::Int32 => exact::<Int32Type>(array),
        D::UInt8 => exact::<UInt8Type>(array),
        D::UInt16 => exact::<UInt16Type>(array),
        D::UInt32 => exact::<UInt32Type>(array),
        D::Float16 => exact::<Float16Type>(array),
        D::Float32 => exact::<Float32Type>(array),
        D::Float64 => exact::<Float64Type>(array),
        D::Int64 => converted::<Int64Type>(array, |row, value| wide(row, value.into()))?,
        D::UInt64 => converted::<UInt64Type>(array, |row, value| wide(row, value.into()))?,
        D::Decimal128(_, scale) => {
            // The nearest f64, as for decimals in text; correctly rounded up to 2^53 and 22 places.
            let power = 10_f64.powi(i32::from(*scale));
            converted::<Decimal128Type>(array, |_, value| Ok(value as f64 / power))?
        }
        D::Boolean => {
            array.as_boolean().iter().map(|v| v.map_or(f64::NAN, |v| f64::from(u8::from(v)))).collect()
        }
        // `supported` lets only the type null through besides.
        _ => vec![f64::NAN; array.len()],
    })
}

fn exact<T: ArrowPrimitiveType>(array: &ArrayRef) -> Vec<f64>
where
    T::Native: Into<f64>,
{
    let array = array.as_primitive::<T>();
    if array.null_count() == 0 {
        return array.values().iter().map(|&value| value.into()).collect();
    }
    array.iter().map(|value| value.map_or(f64::NAN, Into::into)).collect()
}

fn converted<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    convert: impl Fn(usize, T::Native) -> Result<f64, IoError>,
) -> Result<Vec<f64>, IoError> {
    let values = array.as_primitive::<T>().iter().enumerate();
    values.map(|(row, value)| value.map_or(Ok(f64::NAN), |value| convert(row, value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_no_memory_holds_are_an_error() {
        for mut builder in [Builder::Numbers(vec![0.0]), Builder::Text(vec![0])] {
            let error = builder.reserve(usize::MAX >> 1, &Place::file("t.parquet").column(2), 1).unwrap_err();
            assert_eq!(
                error.to_string(),
                "t.parquet, column 2: there is no memory for 9223372036854775808 rows"
            );
        }
    }
}
