//! Sparse matrices as `scipy.sparse.save_npz` writes them: an `.npz` of `data`, `indices`, `indptr`, `shape` and `format`.

use crate::npz::Npz;
use crate::source::{Named, Opened};
use crate::{Format, IoError, Malformed, Place, Tensor};
use spanwise_kernels::Dtype;
use std::path::Path;

/// A matrix in compressed rows: of row `i`, the entries `starts[i] .. starts[i + 1]`. Whether the parts fit together is for
/// whoever builds a matrix of them to check.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub columns: usize,
    /// Where each row's entries start, and where the last ends.
    pub starts: Vec<usize>,
    /// The column of each entry.
    pub places: Vec<usize>,
    /// The number at each entry.
    pub values: Vec<f64>,
    /// Binary digits that the numbers have in the file.
    pub bits: u32,
}

/// Reads a sparse matrix in compressed rows; `None` where the file is anything else but a sparse matrix.
///
/// Other layouts (`csc`, `coo`, …) are refused by name.
pub fn read_sparse(path: impl AsRef<Path>) -> Result<Option<Sparse>, IoError> {
    let named = Named::of(path.as_ref());
    let is_npz = named.path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npz"));
    if !is_npz || named.member.is_some() || !named.path.is_file() {
        return Ok(None);
    }
    let opened = Opened::new(&named.path, None)?;
    let mut npz = Npz::open(&named.path, opened.bytes(&named.path)?)?;
    let names = npz.names();
    let position = |name: &str| names.iter().position(|own| own == name);
    let (Some(format), Some(shape)) = (position("format"), position("shape")) else { return Ok(None) };
    let layout = npz.read_word(format)?;
    let at = || Place::file(&named.path);
    if layout != "csr" {
        return Err(IoError::Dtype {
            at: at().tensor("format"),
            found: layout,
            supported: "csr; `.tocsr()` makes one of the others",
        });
    }
    let mut part = |name: &'static str| {
        let lacks = || IoError::malformed(at(), Format::Npz, Malformed::HeaderLacks(name));
        npz.read(position(name).ok_or_else(lacks)?)
    };
    let (starts, places, values) = (part("indptr")?, part("indices")?, part("data")?);
    let shape = whole_numbers(&npz.read(shape)?, &at().tensor("shape"))?;
    let &[rows, columns] = shape.as_slice() else {
        return Err(IoError::malformed(at().tensor("shape"), Format::Npz, Malformed::Inconsistent));
    };
    Ok(Some(Sparse {
        rows,
        columns,
        starts: whole_numbers(&starts, &at().tensor("indptr"))?,
        places: whole_numbers(&places, &at().tensor("indices"))?,
        bits: values.kind().dtype().map_or(f64::MANTISSA_DIGITS, Dtype::bits),
        values: values.to_f64_vec(),
    }))
}

/// Counts and positions: whole, not negative, exact in f64.
fn whole_numbers(tensor: &Tensor, at: &Place) -> Result<Vec<usize>, IoError> {
    let whole = |value: f64| {
        let fits = value.fract() == 0.0 && (0.0..9e15).contains(&value);
        fits.then_some(value as usize)
            .ok_or_else(|| IoError::malformed(at.clone(), Format::Npz, Malformed::Inconsistent))
    };
    tensor.to_f64_vec().into_iter().map(whole).collect()
}
