//! Files that hold results: checked before the work, written after it.

use crate::failure::Usage;
use crate::out::check_regular;
use anyhow::Context;
use spanwise::example::Array;
use spanwise_io::{
    Categories, Column, Format, Table, Tensor, Values, write_table, write_tensor, write_tensors,
};
use std::path::Path;

/// What was written where: `(what, path)`.
pub(crate) type Written = Vec<(String, String)>;

/// What a file is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// One array.
    Array,
    /// Several named arrays.
    Arrays,
    /// Named columns.
    Columns,
    /// Named columns, or several named arrays.
    ColumnsOrArrays,
}

impl Holds {
    /// The formats that can, and the endings of their names.
    fn formats(self) -> (&'static [Format], &'static str) {
        match self {
            Holds::Array => (
                &[Format::Npy, Format::Npz, Format::Csv, Format::Safetensors],
                ".npy, .npz, .csv or .safetensors",
            ),
            Holds::Arrays => (&[Format::Npz, Format::Safetensors], ".npz or .safetensors"),
            Holds::Columns => (&[Format::Csv, Format::Parquet], ".csv or .parquet"),
            Holds::ColumnsOrArrays => (
                &[Format::Csv, Format::Parquet, Format::Npz, Format::Safetensors],
                ".csv, .parquet, .npz or .safetensors",
            ),
        }
    }
}

/// The format of the file's name, once it is known that such a file can be written there.
pub(crate) fn check(argument: &str, path: &Path, holds: Holds) -> Result<Format, Usage> {
    let extension = path.extension().map(|end| end.to_string_lossy().into_owned()).unwrap_or_default();
    let (formats, endings) = holds.formats();
    let known = Format::of_extension(&extension).filter(|format| formats.contains(format));
    let Some(format) = known else {
        let path = path.display();
        let message = format!("`{argument}`: {path}: cannot write this kind of file; expected {endings}");
        return Err(Usage::new(message));
    };
    check_regular(argument, path)?;
    Ok(format)
}

fn tensor(array: &Array) -> anyhow::Result<Tensor> {
    Ok(Tensor::new(array.data().to_vec(), array.dims())?)
}

pub(crate) fn write_array(argument: &str, path: &Path, array: &Array) -> anyhow::Result<()> {
    write_tensor(path, &tensor(array)?).with_context(|| format!("`{argument}`"))
}

pub(crate) fn write_arrays(argument: &str, path: &Path, arrays: &[(&str, &Array)]) -> anyhow::Result<()> {
    let tensors: Vec<(&str, Tensor)> =
        arrays.iter().map(|&(name, array)| Ok((name, tensor(array)?))).collect::<anyhow::Result<_>>()?;
    let borrowed: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, tensor)| (*name, tensor)).collect();
    write_tensors(path, &borrowed).with_context(|| format!("`{argument}`"))
}

pub(crate) fn write_columns(argument: &str, path: &Path, columns: Vec<Column>) -> anyhow::Result<()> {
    let table = Table::new(columns).with_context(|| format!("`{argument}`"))?;
    write_table(path, &table).with_context(|| format!("`{argument}`"))
}

/// A column of numbers.
pub(crate) fn numbers(name: &str, values: Vec<f64>) -> Column {
    Column { name: name.to_owned(), values: Values::Numbers(values) }
}

/// A column of words.
pub(crate) fn words(name: &str, words: &[&str]) -> anyhow::Result<Column> {
    let mut levels: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    levels.sort_unstable();
    levels.dedup();
    let code = |word: &&str| levels.binary_search_by(|level| level.as_str().cmp(word)).unwrap_or(0) as u32;
    let codes = words.iter().map(code).collect();
    let categories = Categories::new(codes, levels).ok_or_else(|| Usage::new("a word has no level"))?;
    Ok(Column { name: name.to_owned(), values: Values::Categories(categories) })
}
