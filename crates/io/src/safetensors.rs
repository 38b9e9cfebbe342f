//! `.safetensors`: a JSON header, then the arrays' bytes, little-endian and row-major.
//!
//! ```text
//! length of the header (8 bytes)  {"q": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}  bytes
//! ```
//!
//! Offsets count from the end of the header; taken in their order, the arrays fill the rest of the file without gaps
//! or overlaps. The arrays stay in the file.

use crate::bytes::{Bytes, Encoding, Layout};
use crate::tensor::Order;
use crate::{Format, IoError, Kind, Malformed, Place, Tensor, npy};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value, json};
use spanwise_kernels::{Dtype, Shape};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

const LENGTH_BYTES: usize = 8;
/// The name of the writer's notes, which are no array.
pub(crate) const NOTES: &str = "__metadata__";

/// The arrays of a file, in the order of their names.
pub(crate) struct Safetensors {
    file: Place,
    bytes: Bytes,
    /// Where the arrays' bytes start.
    data: usize,
    /// Sorted whatever order a JSON object keeps.
    entries: BTreeMap<String, Entry>,
}

/// What the header says about one array.
struct Entry {
    fields: Value,
    /// Its bytes, counted from `Safetensors::data`; they lie in the file.
    extent: Range<usize>,
}

/// The members of a JSON object in the order of the text, those of one name included.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collector;

        impl<'de> Visitor<'de> for Collector {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of arrays")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Collector)
    }
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
        let Members(members) = serde_json::from_slice(text).map_err(|error| {
            let problem = Malformed::HeaderJson { at: byte_of(text, &error) };
            IoError::malformed(file.clone(), Format::Safetensors, problem)
        })?;
        let data = LENGTH_BYTES + text.len();
        let mut entries = BTreeMap::new();
        for (name, fields) in members {
            let at = file.clone().tensor(&name);
            let extent = if name == NOTES { 0..0 } else { extent(&fields, &at, data, bytes.len())? };
            if entries.insert(name.clone(), Entry { fields, extent }).is_some() {
                return Err(IoError::DuplicateName { at: file, name });
            }
        }
        entries.remove(NOTES);
        if entries.is_empty() {
            return Err(IoError::NoTensors { at: file });
        }
        check_adjacent(&entries, &file, bytes.len() - data)?;
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
        let dtype = entry.fields.get("dtype").and_then(Value::as_str).ok_or_else(|| lacks("dtype"))?;
        let encoding = encoding(dtype).ok_or_else(|| IoError::Dtype {
            at: at.clone(),
            found: dtype.to_owned(),
            supported: npy::SUPPORTED,
        })?;
        let dims = entry.fields.get("shape").and_then(sizes).ok_or_else(|| lacks("shape"))?;
        let shape = Shape::new(&dims).map_err(|source| IoError::Shape { at: at.clone(), source })?;
        let needed = shape.len() * encoding.size();
        if entry.extent.len() != needed {
            let problem = Malformed::Size { found: entry.extent.len() as u64, expected: needed as u64 };
            return Err(IoError::malformed(at, Format::Safetensors, problem));
        }
        let bytes = self.data + entry.extent.start..self.data + entry.extent.end;
        Layout { encoding, big_endian: false, order: Order::RowMajor, shape, bytes }.tensor(&self.bytes, &at)
    }
}

/// Where in `text` reading ended.
fn byte_of(text: &[u8], error: &serde_json::Error) -> usize {
    let before = text.split_inclusive(|&byte| byte == b'\n').take(error.line().saturating_sub(1));
    before.map(<[u8]>::len).sum::<usize>() + error.column().saturating_sub(1)
}

/// The bytes of the array at `at`, of a file of `length` bytes whose arrays start at byte `data`.
fn extent(fields: &Value, at: &Place, data: usize, length: usize) -> Result<Range<usize>, IoError> {
    let malformed = |problem| IoError::malformed(at.clone(), Format::Safetensors, problem);
    let offsets = fields.get("data_offsets").and_then(sizes);
    let Some(&[from, to]) = offsets.as_deref() else {
        return Err(malformed(Malformed::HeaderLacks("data_offsets")));
    };
    let available = length - data;
    if from > to {
        return Err(malformed(Malformed::Reversed { from: from as u64, to: to as u64 }));
    }
    if to > available {
        return Err(IoError::Truncated {
            at: at.clone().byte((data + from.min(available)) as u64),
            what: "the array",
            expected: (to - from) as u64,
            found: available.saturating_sub(from) as u64,
        });
    }
    Ok(from..to)
}

/// Whether the arrays, in the order of their places, fill `available` bytes without gaps and overlaps.
fn check_adjacent(entries: &BTreeMap<String, Entry>, file: &Place, available: usize) -> Result<(), IoError> {
    let mut placed: Vec<(&String, &Range<usize>)> =
        entries.iter().map(|(name, entry)| (name, &entry.extent)).collect();
    placed.sort_by_key(|(_, extent)| (extent.start, extent.end));
    let mut expected = 0;
    for (name, extent) in placed {
        if extent.start != expected {
            let problem = Malformed::NotAdjacent { found: extent.start as u64, expected: expected as u64 };
            return Err(IoError::malformed(file.clone().tensor(name), Format::Safetensors, problem));
        }
        expected = extent.end;
    }
    if expected < available {
        let problem = Malformed::TrailingBytes((available - expected) as u64);
        return Err(IoError::malformed(file.clone(), Format::Safetensors, problem));
    }
    Ok(())
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
