//! A file's bytes, and bytes as elements.
//!
//! Numbers that lie aligned and in the machine's byte order in a mapped file stay there; all others are copied.

use crate::tensor::{Order, Scalar, Storage};
use crate::{IoError, Place, Tensor};
use bytemuck::Pod;
use half::{bf16, f16};
use spanwise_kernels::{Dtype, MappedFile, Shape};
use std::fs::File;
use std::io::Read;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

/// The name that stands for standard input.
pub(crate) const STDIN: &str = "-";

/// All bytes of a file.
#[derive(Clone)]
pub(crate) enum Bytes {
    Mapped(Arc<MappedFile>),
    Memory(Arc<Vec<u8>>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Memory(memory) => memory,
        }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Opens a file to be read; a directory is refused here, because the system would only refuse to read it.
pub(crate) fn open(path: &Path) -> Result<File, IoError> {
    let file = File::open(path).map_err(|source| IoError::system(path, "open", source))?;
    let metadata = file.metadata().map_err(|source| IoError::system(path, "read", source))?;
    if metadata.is_dir() {
        return Err(IoError::Directory { at: Place::file(path) });
    }
    Ok(file)
}

/// Whether the file can be read twice and from any place.
pub(crate) fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

impl Bytes {
    /// Maps a regular file; reads standard input and everything else to its end.
    pub(crate) fn of(path: &Path) -> Result<Self, IoError> {
        if path.as_os_str() == STDIN {
            return Bytes::to_end(path, std::io::stdin().lock());
        }
        Bytes::of_file(path, open(path)?)
    }

    /// As [`Bytes::of`], of a file that is open. A pipe must not be opened twice: its writer may be gone by then, and
    /// the second opening would wait for another.
    pub(crate) fn of_file(path: &Path, file: File) -> Result<Self, IoError> {
        if !is_regular(&file) {
            return Bytes::to_end(path, file);
        }
        let map = MappedFile::new(&file).map_err(|source| IoError::system(path, "read", source))?;
        Bytes::Mapped(Arc::new(map)).not_empty(path)
    }

    fn to_end(path: &Path, mut reader: impl Read) -> Result<Self, IoError> {
        let mut memory = Vec::new();
        reader.read_to_end(&mut memory).map_err(|source| IoError::system(path, "read", source))?;
        Bytes::Memory(Arc::new(memory)).not_empty(path)
    }

    fn not_empty(self, path: &Path) -> Result<Self, IoError> {
        if self.is_empty() { Err(IoError::Empty { at: Place::file(path) }) } else { Ok(self) }
    }
}

/// How one element is written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// One byte; anything but 0 is true.
    Bool,
    Float(Dtype),
    Signed(usize),
    Unsigned(usize),
}

impl Encoding {
    /// Bytes of one element.
    pub(crate) fn size(self) -> usize {
        match self {
            Encoding::Bool => 1,
            Encoding::Float(dtype) => dtype.size(),
            Encoding::Signed(size) | Encoding::Unsigned(size) => size,
        }
    }
}

/// An array as its header describes it; `bytes` is its exact extent, already checked to lie in the file.
pub(crate) struct Layout {
    pub(crate) encoding: Encoding,
    pub(crate) big_endian: bool,
    pub(crate) order: Order,
    pub(crate) shape: Shape,
    pub(crate) bytes: Range<usize>,
}

impl Layout {
    /// The array, without a copy where the bytes allow it.
    pub(crate) fn tensor(self, file: &Bytes, at: &Place) -> Result<Tensor, IoError> {
        let swapped = self.big_endian != cfg!(target_endian = "big");
        let bytes = &file[self.bytes.clone()];
        let storage = match self.encoding {
            Encoding::Bool => bool::into_storage(bytes.iter().map(|&b| b != 0).collect()),
            Encoding::Float(dtype) => match file {
                Bytes::Mapped(map) if !swapped && is_aligned(bytes, dtype) => {
                    Storage::Mapped { file: map.clone(), bytes: self.bytes.clone(), dtype }
                }
                _ => copied_floats(bytes, dtype, swapped),
            },
            Encoding::Signed(_) | Encoding::Unsigned(_) => f64::into_storage(self.integers(bytes, at)?),
        };
        Tensor::from_storage(storage, self.shape, self.order)
            .map_err(|source| IoError::Shape { at: at.clone(), source })
    }

    fn integers(&self, bytes: &[u8], at: &Place) -> Result<Vec<f64>, IoError> {
        let size = self.encoding.size();
        let signed = matches!(self.encoding, Encoding::Signed(_));
        let exact = |(index, element): (usize, &[u8])| {
            let value = integer(element, signed, self.big_endian);
            let rounded = value as f64;
            // 64-bit integers are far below 2^127, so the way back cannot overflow.
            if rounded as i128 == value {
                Ok(rounded)
            } else {
                Err(IoError::Inexact { at: at.clone(), value, index })
            }
        };
        bytes.chunks_exact(size).enumerate().map(exact).collect()
    }
}

/// One integer of up to eight bytes.
fn integer(element: &[u8], signed: bool, big_endian: bool) -> i128 {
    let mut value = 0_u64;
    let mut push = |&byte: &u8| value = value << 8 | u64::from(byte);
    if big_endian {
        element.iter().for_each(&mut push);
    } else {
        element.iter().rev().for_each(&mut push);
    }
    if signed {
        // Shift up and back down to carry the sign along.
        let spare = 64 - 8 * element.len() as u32;
        i128::from((value << spare) as i64 >> spare)
    } else {
        i128::from(value)
    }
}

fn is_aligned(bytes: &[u8], dtype: Dtype) -> bool {
    match dtype {
        Dtype::F16 => bytemuck::try_cast_slice::<u8, f16>(bytes).is_ok(),
        Dtype::Bf16 => bytemuck::try_cast_slice::<u8, bf16>(bytes).is_ok(),
        Dtype::F32 => bytemuck::try_cast_slice::<u8, f32>(bytes).is_ok(),
        Dtype::F64 => bytemuck::try_cast_slice::<u8, f64>(bytes).is_ok(),
    }
}

fn copied_floats(bytes: &[u8], dtype: Dtype, swapped: bool) -> Storage {
    match dtype {
        Dtype::F16 => f16::into_storage(copied(bytes, swapped)),
        Dtype::Bf16 => bf16::into_storage(copied(bytes, swapped)),
        Dtype::F32 => f32::into_storage(copied(bytes, swapped)),
        Dtype::F64 => f64::into_storage(copied(bytes, swapped)),
    }
}

fn copied<T: Pod>(bytes: &[u8], swapped: bool) -> Vec<T> {
    let mut elements = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    let target: &mut [u8] = bytemuck::cast_slice_mut(&mut elements);
    target.copy_from_slice(&bytes[..target.len()]);
    if swapped {
        target.chunks_exact_mut(size_of::<T>()).for_each(<[u8]>::reverse);
    }
    elements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_width_and_order_are_read() {
        assert_eq!(integer(&[0xfe], true, false), -2);
        assert_eq!(integer(&[0xfe], false, false), 254);
        assert_eq!(integer(&[0x01, 0x02], true, true), 258);
        assert_eq!(integer(&[0x01, 0x02], true, false), 513);
        assert_eq!(integer(&[0xff; 8], true, false), -1);
        assert_eq!(integer(&[0xff; 8], false, false), i128::from(u64::MAX));
    }

    #[test]
    fn the_other_byte_order_is_turned_around() {
        let bytes: Vec<u8> = [1.5_f32, -2.0].iter().flat_map(|x| x.to_be_bytes()).collect();
        let swapped = cfg!(target_endian = "little");
        assert_eq!(copied::<f32>(&bytes, swapped), [1.5, -2.0]);
    }
}
