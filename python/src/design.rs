//! Columns of words as numbers: the library's design, from columns that Python hands over.

use crate::errors::{Class, raise};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use spanwise::linear::design::{Column, Design, DesignError, Field, Means, Missing, Settings, Values};

/// A column's name; its numbers, or the codes of its words with the words themselves.
type Given<'py> =
    (String, Option<Bound<'py, PyArray1<f64>>>, Option<(Bound<'py, PyArray1<u32>>, Vec<String>)>);
/// A column's name and, for words, its levels; the first has no column of its own.
type Known = (String, Option<Vec<String>>);
/// Numbers (kept rows × columns), the rows kept, how many values were filled, the columns' names, and the levels.
type Encoded<'py> = (Bound<'py, PyAny>, Vec<usize>, usize, Vec<String>, Vec<Known>);

/// A column that is being looked at.
enum Held<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Words(PyReadonlyArray1<'py, u32>, Vec<String>),
}

/// Columns as numbers. `fields` are those of a model already fitted; without them they are taken from the columns.
/// `present` says which rows are wanted.
#[pyfunction]
pub(crate) fn encode<'py>(
    py: Python<'py>,
    columns: Vec<Given<'py>>,
    fields: Option<Vec<Known>>,
    missing: &str,
    present: Option<&Bound<'py, PyArray1<bool>>>,
    operation: &str,
    argument: &str,
) -> PyResult<Encoded<'py>> {
    let refuse = |error: DesignError| refused(py, operation, argument, &error);
    let held = columns.into_iter().map(|(name, numbers, words)| {
        let held = match (numbers, words) {
            (_, Some((codes, levels))) => Held::Words(codes.readonly(), levels),
            (Some(numbers), None) => Held::Numbers(numbers.readonly()),
            (None, None) => Held::Words(PyArray1::zeros(py, 0, false).readonly(), Vec::new()),
        };
        (name, held)
    });
    let held: Vec<(String, Held<'py>)> = held.collect();
    let batch = held.iter().map(|(name, held)| {
        let values = match held {
            Held::Numbers(numbers) => Values::Numbers(numbers.as_slice()?),
            Held::Words(codes, levels) => Values::Categories { codes: codes.as_slice()?, levels },
        };
        Ok(Column { name, values })
    });
    let batch: Vec<Column<'_>> = batch.collect::<PyResult<_>>()?;
    let fields: Vec<Field> = match fields {
        Some(known) => known.into_iter().map(|(name, levels)| Field { name, levels }).collect(),
        None => batch.iter().map(Field::of).collect(),
    };
    let settings = Settings { missing: rule(py, operation, missing)?, ..Settings::default() };
    let mut design = Design::new(&fields, &settings).map_err(refuse)?;
    if settings.missing == Missing::Mean {
        let mut means = Means::new(&design);
        means.observe(&design, &batch).map_err(refuse)?;
        design = design.with_means(&means).map_err(refuse)?;
    }
    let present = present.map(PyArrayMethods::readonly);
    let present = present.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
    let rows = design.encode(&batch, |row| present.is_none_or(|kept| kept[row])).map_err(refuse)?;
    let x = crate::array::matrix(py, &rows.x)?.into_any();
    let fields = fields.into_iter().map(|field| (field.name, field.levels)).collect();
    Ok((x, rows.kept, rows.filled, design.names().to_vec(), fields))
}

fn rule(py: Python<'_>, operation: &str, word: &str) -> PyResult<Missing> {
    match word {
        "error" => Ok(Missing::Error),
        "drop" => Ok(Missing::Drop),
        "mean" => Ok(Missing::Mean),
        other => {
            let message =
                format!("{operation}: `missing` is {other:?}; expected \"error\", \"drop\" or \"mean\"");
            Err(raise(py, Class::Number, message))
        }
    }
}

fn refused(py: Python<'_>, operation: &str, argument: &str, error: &DesignError) -> PyErr {
    let class = match error {
        DesignError::Missing { .. } | DesignError::AllMissing { .. } => Class::NotFinite,
        DesignError::NotNumbers { .. } | DesignError::NotCategories { .. } => Class::Dtype,
        DesignError::NoColumn { .. } | DesignError::NoColumns => Class::Shape,
        _ => Class::Number,
    };
    let hint = error.hint().map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    raise(py, class, format!("{operation}: `{argument}`: {error}{hint}"))
}
