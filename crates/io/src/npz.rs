//! `.npz`: `.npy` files in a zip archive, stored or deflated.

use crate::bytes::Bytes;
use crate::{Format, IoError, Malformed, Place, Tensor, npy};
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

/// Deflate repeats at most 258 bytes with two bits.
const DEFLATE_RATIO: u64 = 1032;

/// An archive, opened.
pub(crate) struct Npz {
    path: std::path::PathBuf,
    archive: ZipArchive<Cursor<Bytes>>,
    packed_bytes: u64,
    /// Names without `.npy`, in the archive's order, and their positions in it.
    members: Vec<(String, usize)>,
}

impl Npz {
    pub(crate) fn open(path: &Path, bytes: Bytes) -> Result<Self, IoError> {
        let at = || Place::file(path);
        let failed = |error: ZipError| refused(at(), &error, Malformed::Contents);
        let packed_bytes = bytes.len() as u64;
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(failed)?;
        let mut members = Vec::new();
        for index in 0..archive.len() {
            let name = archive.name_for_index(index).transpose().map_err(failed)?.unwrap_or_default();
            // Other files may lie beside the arrays.
            if let Some(name) = name.strip_suffix(".npy") {
                members.push((name.to_owned(), index));
            }
        }
        if members.is_empty() {
            return Err(IoError::NoTensors { at: at() });
        }
        Ok(Npz { path: path.to_owned(), archive, packed_bytes, members })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.members.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The array at position `member` among [`Npz::names`].
    pub(crate) fn read(&mut self, member: usize) -> Result<Tensor, IoError> {
        let unpacked = self.unpacked(member)?;
        npy::decode(&Bytes::Memory(Arc::new(unpacked)), &self.place(member), Format::Npz)
    }

    /// The single word at position `member`, of text that is not read as numbers.
    pub(crate) fn read_word(&mut self, member: usize) -> Result<String, IoError> {
        let unpacked = self.unpacked(member)?;
        npy::decode_word(&unpacked, &self.place(member), Format::Npz)
    }

    fn place(&self, member: usize) -> Place {
        Place::file(&self.path).tensor(&self.members[member].0)
    }

    fn unpacked(&mut self, member: usize) -> Result<Vec<u8>, IoError> {
        let at = self.place(member);
        let index = &self.members[member].1;
        let failed = |error: ZipError| refused(at.clone(), &error, Malformed::Packed);
        let entry = self.archive.by_index(*index).map_err(failed)?;
        let (packed, claimed) = (entry.compressed_size(), entry.size());
        let stored = entry.compression() == CompressionMethod::Stored;
        let possible =
            if stored { claimed == packed } else { claimed <= packed.saturating_mul(DEFLATE_RATIO) };
        if packed > self.packed_bytes || !possible {
            let problem = Malformed::Inflation { packed: packed.min(self.packed_bytes), claimed };
            return Err(IoError::malformed(at, Format::Npz, problem));
        }
        // What is stored is there; what is deflated may be less than claimed, and grows as it unpacks.
        let mut unpacked = Vec::with_capacity(if stored { claimed as usize } else { 0 });
        // One byte more than claimed is enough to notice that there is more.
        entry.take(claimed + 1).read_to_end(&mut unpacked).map_err(|error| failed(error.into()))?;
        Ok(unpacked)
    }
}

/// What the archive's reader refused: `damage`, or something that it does not know, in its own words.
fn refused(at: Place, error: &ZipError, damage: Malformed) -> IoError {
    match error {
        ZipError::InvalidArchive(_) | ZipError::Io(_) => IoError::malformed(at, Format::Npz, damage),
        _ => IoError::decode(at, Format::Npz, error.to_string()),
    }
}
