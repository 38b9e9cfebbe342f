//! Arrays and tables to files, whole or not at all.

mod csv;
mod parquet;
mod whole;

use crate::table::check_width;
use crate::tensor::{Scalar, TensorView};
use crate::{Format, IoError, Place, Table, Tensor, npy, safetensors};
use bytemuck::NoUninit;
use spanwise_kernels::View;
use std::io::{self, Write};
use std::path::Path;
pub use whole::all_or_none;
use whole::{Sink, write_whole};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The name of an array that was given none.
pub(crate) const DEFAULT_NAME: &str = "data";

/// Writes one array: `.npy`; `.npz` and `.safetensors` under the name `data`; `.csv` without a header, up to two
/// dimensions.
///
/// The file appears whole or not at all: on any error, a file that was there before is as it was.
pub fn write_tensor(path: impl AsRef<Path>, tensor: &Tensor) -> Result<(), IoError> {
    let path = path.as_ref();
    match format(path)? {
        Format::Npy => write_whole(path, |sink| io_result(path, write_npy(sink, tensor))),
        Format::Csv => {
            let (rows, width) = match *tensor.dims() {
                [] => (1, 1),
                [rows] => (rows, 1),
                [rows, width] => (rows, width),
                _ => return Err(IoError::NotATable { at: Place::file(path), found: tensor.shape() }),
            };
            check_width(width, &Place::file(path))?;
            let values = tensor.to_f64_vec();
            write_whole(path, |sink| io_result(path, csv::write_matrix(sink, &values, rows, width)))
        }
        _ => write_tensors(path, &[(DEFAULT_NAME, tensor)]),
    }
}

/// Writes named arrays to an `.npz` or `.safetensors` file, whole or not at all.
pub fn write_tensors(path: impl AsRef<Path>, tensors: &[(&str, &Tensor)]) -> Result<(), IoError> {
    let path = path.as_ref();
    let format = format(path)?;
    for (index, (name, _)) in tensors.iter().enumerate() {
        if tensors[..index].iter().any(|(earlier, _)| earlier == name) {
            return Err(IoError::DuplicateName { at: Place::file(path), name: (*name).to_owned() });
        }
    }
    if format == Format::Safetensors && tensors.iter().any(|(name, _)| *name == safetensors::NOTES) {
        let name = safetensors::NOTES.to_owned();
        return Err(IoError::ReservedName { at: Place::file(path), name });
    }
    match format {
        Format::Npz => write_whole(path, |sink| io_result(path, write_npz(sink, tensors))),
        Format::Safetensors => write_whole(path, |sink| io_result(path, write_safetensors(sink, tensors))),
        format => {
            Err(IoError::Unsupported { at: Place::file(path), format, wanted: "written from named arrays" })
        }
    }
}

/// Writes a table to a `.csv` or `.parquet` file, whole or not at all.
///
/// Missing values are empty fields of a `.csv` and nulls of a `.parquet` file. Numbers are written with as many digits
/// as it takes to read the same number again.
pub fn write_table(path: impl AsRef<Path>, table: &Table) -> Result<(), IoError> {
    let path = path.as_ref();
    match format(path)? {
        Format::Csv => write_whole(path, |sink| io_result(path, csv::write_table(sink, table))),
        Format::Parquet => write_whole(path, |sink| parquet::write_table(path, sink, table)),
        format => Err(IoError::Unsupported { at: Place::file(path), format, wanted: "written from a table" }),
    }
}

/// Writes any content to a file of any name, whole or not at all.
pub fn write_bytes(path: impl AsRef<Path>, content: &[u8]) -> Result<(), IoError> {
    let path = path.as_ref();
    write_whole(path, |sink| io_result(path, sink.write_all(content)))
}

fn format(path: &Path) -> Result<Format, IoError> {
    let extension = path.extension().map(|e| e.to_string_lossy().into_owned());
    let format = extension.as_deref().and_then(Format::of_extension);
    format.ok_or_else(|| IoError::UnknownFormat { at: Place::file(path), extension })
}

fn io_result(path: &Path, result: io::Result<()>) -> Result<(), IoError> {
    result.map_err(|source| IoError::system(path, "write", source))
}

fn write_npy(sink: &mut impl Write, tensor: &Tensor) -> io::Result<()> {
    sink.write_all(&npy::encode_header(tensor.kind(), tensor.dims()))?;
    write_elements(sink, tensor)
}

fn write_npz(sink: &mut Sink, tensors: &[(&str, &Tensor)]) -> io::Result<()> {
    let mut archive = ZipWriter::new_stream(sink);
    for (name, tensor) in tensors {
        // Zip's plain sizes end at 4 GiB; 8 bytes is the largest element.
        let large = tensor.len() as u64 * 8 + 1024 > u64::from(u32::MAX);
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(large);
        archive.start_file(format!("{name}.npy"), options)?;
        write_npy(&mut archive, tensor)?;
    }
    archive.finish()?;
    Ok(())
}

fn write_safetensors(sink: &mut Sink, tensors: &[(&str, &Tensor)]) -> io::Result<()> {
    let mut tensors = tensors.to_vec();
    // Largest elements first, so that each array starts at a multiple of its element's size.
    tensors.sort_by_key(|(name, tensor)| {
        let size = tensor.kind().dtype().map_or(1, spanwise_kernels::Dtype::size);
        (std::cmp::Reverse(size), *name)
    });
    sink.write_all(&safetensors::encode_header(&tensors))?;
    tensors.iter().try_for_each(|(_, tensor)| write_elements(sink, tensor))
}

/// All elements, little-endian, last axis fastest.
fn write_elements(sink: &mut impl Write, tensor: &Tensor) -> io::Result<()> {
    fn write<T: Scalar + NoUninit>(sink: &mut impl Write, view: View<'_, T>) -> io::Result<()> {
        const BLOCK: usize = 8192;
        if let (Some(slice), true) = (view.as_slice(), cfg!(target_endian = "little")) {
            return sink.write_all(bytemuck::cast_slice(slice));
        }
        let mut elements = view.iter();
        let mut block = Vec::with_capacity(BLOCK);
        loop {
            block.clear();
            block.extend(elements.by_ref().take(BLOCK));
            if block.is_empty() {
                return Ok(());
            }
            let mut bytes = bytemuck::cast_slice::<T, u8>(&block).to_vec();
            if cfg!(target_endian = "big") {
                bytes.chunks_exact_mut(size_of::<T>()).for_each(<[u8]>::reverse);
            }
            sink.write_all(&bytes)?;
        }
    }
    match tensor.view() {
        TensorView::Bool(view) => write(sink, view),
        TensorView::F16(view) => write(sink, view),
        TensorView::Bf16(view) => write(sink, view),
        TensorView::F32(view) => write(sink, view),
        TensorView::F64(view) => write(sink, view),
    }
}
