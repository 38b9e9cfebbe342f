//! `.safetensors`: a JSON header, then the arrays' bytes, little-endian and row-major.
//!
//! ```text
//! length of the header (8 bytes)  {"q": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}  bytes
//! ```
//!
//! Offsets count from the end of the header. The arrays stay in the file.

use crate::bytes::{Bytes, Encoding, Layout};
use crate::tensor::Order;
use crate::{Format, IoError, Kind, Malformed, Place, Tensor, npy};
use serde_json::{Map, Value, json};
use spanwise_kernels::{Dtype, Shape};
use std::collections::BTreeMap;
use std::path::Path;

const LENGTH_BYTES: usize = 8;

/// The arrays of a file, in the order of their names.
pub(crate) struct Safetensors {
    file: Place,
    bytes: Bytes,
    /// Where the arrays' bytes start.
    data: usize,
    /// Sorted whatever order a JSON object keeps.
    entries: BTreeMap<String, Value>,
}

impl Safetensors {
    pub(crate) fn open(path: &Path, bytes: Bytes) -> Result<Self, IoError> {
        let file = Place::file(path);
        let truncated = |start: usize, expected: u64| IoError::Truncated {
            at: file.clone().byte(start as u64),
            what: "the header",
            expected,
            found: bytes.len().saturating_sub(start) as u64,
        };
        let length = bytes.first_chunk::<LENGTH_BYTES>().ok_or_else(|| truncated(0, LENGTH_BYTES as u64))?;
        let length = u64::from_le_bytes(*length);
        let end = usize::try_from(length).ok().and_then(|length| length.checked_add(LENGTH_BYTES));
        let text = end.and_then(|end| bytes.get(LENGTH_BYTES..end));
        let text = text.ok_or_else(|| truncated(LENGTH_BYTES, length))?;
        let header: Value = serde_json::from_slice(text)
            .map_err(|error| IoError::decode(file.clone(), Format::Safetensors, error.to_string()))?;
        let Value::Object(entries) = header else {
            let problem = Malformed::HeaderText { at: 0 };
            return Err(IoError::malformed(file, Format::Safetensors, problem));
        };
        let mut entries: BTreeMap<String, Value> = entries.into_iter().collect();
        // Notes of the file's writer.
        entries.remove("__metadata__");
        if entries.is_empty() {
            return Err(IoError::NoTensors { at: file });
        }
        let data = LENGTH_BYTES + text.len();
        Ok(Safetensors { file, bytes, data, entries })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.entries.keys().cloned().collect()
    }

    /// The array at position `member` among [`Safetensors::names`].
    pub(crate) fn read(&self, member: usize) -> Result<Tensor, IoError> {
        let (name, entry) =
            self.entries.iter().nth(member).expect("the caller took the position from `names`");
        let at = self.file.clone().tensor(name);
        let lacks = |what| IoError::malformed(at.clone(), Format::Safetensors, Malformed::HeaderLacks(what));
        let dtype = entry.get("dtype").and_then(Value::as_str).ok_or_else(|| lacks("dtype"))?;
        let encoding = encoding(dtype).ok_or_else(|| IoError::Dtype {
            at: at.clone(),
            found: dtype.to_owned(),
            supported: npy::SUPPORTED,
        })?;
        let dims = entry.get("shape").and_then(sizes).ok_or_else(|| lacks("shape"))?;
        let shape = Shape::new(&dims).map_err(|source| IoError::Shape { at: at.clone(), source })?;
        let offsets = entry.get("data_offsets").and_then(sizes);
        let Some(&[from, to]) = offsets.as_deref() else { return Err(lacks("data_offsets")) };
        let needed = shape.len() * encoding.size();
        let available = self.bytes.len() - self.data;
        if to > available || from > to {
            return Err(IoError::Truncated {
                at: at.byte((self.data + from.min(available)) as u64),
                what: "the array",
                expected: to.saturating_sub(from).max(needed) as u64,
                found: available.saturating_sub(from) as u64,
            });
        }
        if to - from != needed {
            let problem = Malformed::Size { found: (to - from) as u64, expected: needed as u64 };
            return Err(IoError::malformed(at, Format::Safetensors, problem));
        }
        let bytes = self.data + from..self.data + to;
        Layout { encoding, big_endian: false, order: Order::RowMajor, shape, bytes }.tensor(&self.bytes, &at)
    }
}

fn sizes(value: &Value) -> Option<Vec<usize>> {
    value.as_array()?.iter().map(|size| size.as_u64().and_then(|size| usize::try_from(size).ok())).collect()
}

fn encoding(dtype: &str) -> Option<Encoding> {
    Some(match dtype {
        "BOOL" => Encoding::Bool,
        "F16" => Encoding::Float(Dtype::F16),
        "BF16" => Encoding::Float(Dtype::Bf16),
        "F32" => Encoding::Float(Dtype::F32),
        "F64" => Encoding::Float(Dtype::F64),
        "I8" => Encoding::Signed(1),
        "I16" => Encoding::Signed(2),
        "I32" => Encoding::Signed(4),
        "I64" => Encoding::Signed(8),
        "U8" => Encoding::Unsigned(1),
        "U16" => Encoding::Unsigned(2),
        "U32" => Encoding::Unsigned(4),
        "U64" => Encoding::Unsigned(8),
        _ => return None,
    })
}

/// The header of a file that holds `tensors` one after another, padded so that they start at a multiple of 8 bytes.
///
/// The arrays must be given with the largest elements first; then each of them is aligned.
pub(crate) fn encode_header(tensors: &[(&str, &Tensor)]) -> Vec<u8> {
    let mut entries = Map::new();
    let mut start = 0;
    for (name, tensor) in tensors {
        let (dtype, size) = match tensor.kind() {
            Kind::Bool => ("BOOL", 1),
            Kind::F16 => ("F16", 2),
            Kind::Bf16 => ("BF16", 2),
            Kind::F32 => ("F32", 4),
            Kind::F64 => ("F64", 8),
        };
        let end = start + tensor.len() * size;
        let entry = json!({ "dtype": dtype, "shape": tensor.dims(), "data_offsets": [start, end] });
        entries.insert((*name).to_owned(), entry);
        start = end;
    }
    let mut text = Value::Object(entries).to_string().into_bytes();
    text.resize(text.len().next_multiple_of(LENGTH_BYTES), b' ');
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.append(&mut text);
    header
}
