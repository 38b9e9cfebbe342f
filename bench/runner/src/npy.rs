//! f64 arrays of rank 1 and 2 from `.npy` files, as `numpy.save` writes them.

use anyhow::{Context, Result, bail};
use spanwise_kernels::View;
use std::fmt;

/// Rows × columns in memory.
pub(crate) struct Array {
    pub data: Vec<f64>,
    pub rows: usize,
    pub cols: usize,
    by_columns: bool,
}

impl Array {
    pub(crate) fn view(&self) -> Result<View<'_, f64>> {
        let strides = if self.by_columns { [1, self.rows as isize] } else { [self.cols as isize, 1] };
        Ok(View::strided(&self.data, 0, &[self.rows, self.cols], &strides)?)
    }
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.by_columns { "column-major" } else { "row-major" };
        write!(f, "ok {} {} {order}", self.rows, self.cols)
    }
}

pub(crate) fn read(path: &str) -> Result<Array> {
    let bytes = std::fs::read(path).with_context(|| format!("reading {path}"))?;
    if !bytes.starts_with(b"\x93NUMPY\x01\x00") || bytes.len() < 10 {
        bail!("{path}: not a version 1 npy file");
    }
    let header_length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(bytes.get(10..10 + header_length).context("truncated header")?)?;
    if !header.contains("'<f8'") {
        bail!("{path}: expected little-endian f64");
    }
    let shape = header.split("'shape': (").nth(1).and_then(|s| s.split(')').next()).context("no shape")?;
    let dims: Vec<usize> = shape
        .split(',')
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let (rows, cols) = match dims[..] {
        [rows] => (rows, 1),
        [rows, cols] => (rows, cols),
        _ => bail!("{path}: expected one or two dimensions"),
    };
    let (numbers, rest) = bytes[10 + header_length..].as_chunks::<8>();
    if numbers.len() != rows * cols || !rest.is_empty() {
        bail!("{path}: found {} numbers; expected {}", numbers.len(), rows * cols);
    }
    let data = numbers.iter().map(|b| f64::from_le_bytes(*b)).collect();
    Ok(Array { data, rows, cols, by_columns: header.contains("'fortran_order': True") })
}
