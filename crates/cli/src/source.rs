//! Where arrays come from: a file, a matrix written in the argument, or standard input.

use crate::failure::Usage;
use anyhow::Context;
use spanwise::example::Array;
use spanwise::{Dtype, Matrix};
use spanwise_io::{Kind, Tensor, parse_array, read_tensor};
use std::path::Path;

/// Reads arguments; standard input can be read once.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The argument that took standard input.
    stdin: Option<&'static str>,
    /// The fewest binary digits of an array so far.
    bits: Option<u32>,
}

impl Sources {
    /// Takes note of what an argument is read from, if it is standard input: a table, which is read elsewhere, or an array.
    pub(crate) fn claim(&mut self, argument: &'static str, text: &str) -> Result<(), Usage> {
        if text != "-" {
            return Ok(());
        }
        match self.stdin.replace(argument) {
            None => Ok(()),
            Some(first) => Err(Usage::new(format!(
                "`{argument}`: standard input is already read for `{first}`; only one argument can be `-`"
            ))),
        }
    }

    /// The array that `text` names or is.
    pub(crate) fn tensor(&mut self, argument: &'static str, text: &str) -> anyhow::Result<Tensor> {
        if text == "-" {
            self.claim(argument, text)?;
        } else if text.chars().all(|c| c == ';' || c.is_whitespace()) {
            let message =
                format!("`{argument}` is empty; expected a file, a matrix such as \"1,0;0,1\", or `-`");
            return Err(Usage::new(message).into());
        } else if is_inline(text) {
            return parse_array(text).with_context(|| format!("`{argument}`"));
        }
        let tensor = read_tensor(text).with_context(|| format!("`{argument}`"))?;
        self.stored(tensor.kind().dtype().map(Dtype::bits));
        Ok(tensor)
    }

    /// Takes note of how many binary digits an array has where it is stored; integers and truth values are exact.
    pub(crate) fn stored(&mut self, bits: Option<u32>) {
        self.bits = self.bits.into_iter().chain(bits).min();
    }

    /// Binary digits that the numbers read so far have where they are stored, the fewest of all arrays.
    pub(crate) fn bits(&self) -> u32 {
        self.bits.unwrap_or(f64::MANTISSA_DIGITS)
    }

    /// The same in f64.
    pub(crate) fn array(&mut self, argument: &'static str, text: &str) -> anyhow::Result<Array> {
        let tensor = self.tensor(argument, text)?;
        Array::new(tensor.to_f64_vec(), tensor.dims()).with_context(|| format!("`{argument}`"))
    }

    /// A list: a vector, or a matrix of one row or one column.
    pub(crate) fn list(&mut self, argument: &'static str, text: &str) -> anyhow::Result<Vec<f64>> {
        let tensor = self.tensor(argument, text)?;
        let long_axes = tensor.dims().iter().filter(|&&n| n != 1).count();
        if long_axes > 1 {
            let message = format!("`{argument}` has shape {}; expected one row of numbers", tensor.shape());
            return Err(Usage::new(message).into());
        }
        Ok(tensor.to_f64_vec())
    }

    /// A matrix: a vector becomes one row where `rows`, otherwise one column.
    pub(crate) fn matrix(
        &mut self,
        argument: &'static str,
        text: &str,
        rows: bool,
    ) -> anyhow::Result<Matrix> {
        let tensor = self.tensor(argument, text)?;
        let (n, p) = match *tensor.dims() {
            [] => (1, 1),
            [n] if rows => (1, n),
            [n] => (n, 1),
            [n, p] => (n, p),
            _ => {
                let message = format!("`{argument}` has shape {}; expected a matrix", tensor.shape());
                return Err(Usage::new(message).into());
            }
        };
        Ok(Matrix::new(tensor.to_f64_vec(), n, p)?)
    }

    /// Refuses what is not finite; `width` numbers make a row. Places count from 1, as those in files do.
    pub(crate) fn finite(argument: &str, numbers: &[f64], width: usize) -> Result<(), Usage> {
        let Some(at) = numbers.iter().position(|value| !value.is_finite()) else { return Ok(()) };
        let (row, column) = (at / width.max(1) + 1, at % width.max(1) + 1);
        let place =
            if width == 1 { format!("position {row}") } else { format!("row {row}, column {column}") };
        Err(Usage::new(format!("`{argument}` holds {} at {place}; expected finite numbers", numbers[at])))
    }

    /// A list of whole numbers that are not negative.
    pub(crate) fn counts(&mut self, argument: &'static str, text: &str) -> anyhow::Result<Vec<usize>> {
        let count = |(at, value): (usize, f64)| {
            // 2⁵³: beyond it f64 no longer holds every whole number.
            if value.fract() != 0.0 || !(0.0..9e15).contains(&value) {
                let message = format!(
                    "`{argument}` holds {value} at position {}; expected whole numbers from 0",
                    at + 1
                );
                return Err(Usage::new(message).into());
            }
            Ok(value as usize)
        };
        self.list(argument, text)?.into_iter().enumerate().map(count).collect()
    }

    /// Booleans: as they are, or numbers that are all 0 or 1.
    pub(crate) fn mask(&mut self, argument: &'static str, text: &str) -> anyhow::Result<Tensor> {
        let tensor = self.tensor(argument, text)?;
        if tensor.kind() == Kind::Bool {
            return Ok(tensor);
        }
        let keep = |value: f64| match value {
            0.0 => Ok(false),
            1.0 => Ok(true),
            _ => Err(Usage::with_hint(
                format!("`{argument}` holds {value}; expected true and false, or 1 and 0"),
                "numbers to add to the scores are a `--bias`",
            )),
        };
        let keep = tensor.to_f64_vec().into_iter().map(keep).collect::<Result<Vec<bool>, Usage>>()?;
        Ok(Tensor::new(keep, tensor.dims())?)
    }
}

/// Whether `text` is a matrix and not a file name: it is made of numbers, or has a separator of matrices and nothing of
/// the kind that paths have.
pub(crate) fn is_inline(text: &str) -> bool {
    let path = Path::new(text);
    if text.contains(['/', '\\']) || path.exists() {
        return false;
    }
    let has_letters_after_dot = path
        .extension()
        .is_some_and(|end| end.to_string_lossy().starts_with(|c: char| c.is_ascii_alphabetic()));
    // Before the ending is looked at: NumPy prints 1.e+05, whose exponent would pass for one.
    let numbers = |text: &str| text.split_whitespace().all(|word| word.parse::<f64>().is_ok());
    let separated = text.contains([',', ';']) && !has_letters_after_dot;
    separated || text.split([',', ';']).all(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_and_file_names_are_told_apart() {
        for inline in
            ["1,0;0,1", "1", "1 0", "-1.5e3", "1,x;0,1", "1;", "nan,1", "1.e5,2", "1.e+05;2.e-3", "3,1.e5"]
        {
            assert!(is_inline(inline), "{inline:?}");
        }
        for file in ["q.npy", "a,b.npy", "dir/1,2", "qkv.npz:q", "missing", "a;b.csv"] {
            assert!(!is_inline(file), "{file:?}");
        }
    }
}
