//! Just enough of `.npy` to exchange arrays with `NumPy`: version 1, row-major, little-endian.

use anyhow::{Context, Result, bail};
use spanwise_kernels::{bf16, f16};
use std::fmt::Write;

/// Numbers of one type.
pub(crate) enum Numbers {
    F32(Vec<f32>),
    F64(Vec<f64>),
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
    Bool(Vec<bool>),
}

impl Numbers {
    /// As many zeros of the same type.
    pub(crate) fn zeros(&self, count: usize) -> Numbers {
        match self {
            Numbers::F32(_) => Numbers::F32(vec![0.0; count]),
            Numbers::F64(_) => Numbers::F64(vec![0.0; count]),
            Numbers::F16(_) => Numbers::F16(vec![f16::ZERO; count]),
            Numbers::Bf16(_) => Numbers::Bf16(vec![bf16::ZERO; count]),
            Numbers::Bool(_) => Numbers::Bool(vec![false; count]),
        }
    }
}

/// A type that [`Numbers`] knows.
pub(crate) trait Kind: Sized {
    /// The numbers, if they have this type.
    fn numbers(from: &Numbers) -> Option<&[Self]>;
}

macro_rules! kind {
    ($type:ty, $name:ident) => {
        impl Kind for $type {
            fn numbers(from: &Numbers) -> Option<&[Self]> {
                match from {
                    Numbers::$name(numbers) => Some(numbers),
                    _ => None,
                }
            }
        }
    };
}

kind!(f32, F32);
kind!(f64, F64);
kind!(f16, F16);
kind!(bf16, Bf16);

/// An array as it lies in a file.
pub(crate) struct Array {
    pub(crate) dims: Vec<usize>,
    pub(crate) numbers: Numbers,
}

pub(crate) fn read(path: &str) -> Result<Array> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {path}"))?;
    if bytes.len() < 10 || !bytes.starts_with(b"\x93NUMPY\x01") {
        bail!("{path} is not a .npy file of version 1");
    }
    let header_end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(bytes.get(10..header_end).context("the header is cut off")?)?;
    let shape = header.split_once('(').and_then(|(_, rest)| rest.split_once(')')).context("no shape")?.0;
    let dims = shape.split(',').filter(|n| !n.trim().is_empty()).map(|n| n.trim().parse());
    let dims = dims.collect::<Result<Vec<usize>, _>>()?;
    let body = &bytes[header_end..];
    let numbers = if header.contains("<f4") {
        Numbers::F32(body.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect())
    } else if header.contains("<f8") {
        Numbers::F64(body.as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)).collect())
    } else if header.contains("<f2") {
        Numbers::F16(body.as_chunks::<2>().0.iter().map(|&b| f16::from_le_bytes(b)).collect())
    } else if header.contains("<u2") {
        Numbers::Bf16(body.as_chunks::<2>().0.iter().map(|&b| bf16::from_le_bytes(b)).collect())
    } else if header.contains("|b1") {
        Numbers::Bool(body.iter().map(|&b| b != 0).collect())
    } else {
        bail!("{path} has a type this program does not read: {header}")
    };
    Ok(Array { dims, numbers })
}

pub(crate) fn write(path: &str, dims: &[usize], numbers: &Numbers) -> Result<()> {
    let (name, body): (&str, Vec<u8>) = match numbers {
        Numbers::F32(x) => ("<f4", x.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Numbers::F64(x) => ("<f8", x.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Numbers::F16(x) => ("<f2", x.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Numbers::Bf16(x) => ("<u2", x.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Numbers::Bool(x) => ("|b1", x.iter().map(|&x| u8::from(x)).collect()),
    };
    let mut shape = String::new();
    for n in dims {
        write!(shape, "{n},")?;
    }
    let mut header = format!("{{'descr': '{name}', 'fortran_order': False, 'shape': ({shape})}}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len())?.to_le_bytes();
    let bytes = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &body].concat();
    std::fs::write(path, bytes).with_context(|| format!("cannot write {path}"))
}
