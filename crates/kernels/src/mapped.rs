//! A file seen as memory.

#![allow(unsafe_code)] // one block: mapping

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;

/// The bytes of a regular file, read by the system when they are touched.
///
/// The file must stay as it is while it is mapped. A program that overwrites it changes what is read here; one that
/// cuts it short makes the system end this process (`SIGBUS`) at the first touch beyond the new end. Spanwise itself
/// only replaces files by renaming, which leaves an existing mapping whole. Where a file may change underneath,
/// read it into memory instead.
pub struct MappedFile {
    /// `None` for an empty file, which cannot be mapped.
    map: Option<memmap2::Mmap>,
}

impl MappedFile {
    /// Maps all of `file`, which may be closed afterwards.
    pub fn new(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(MappedFile { map: None });
        }
        // SAFETY: the map is private and read-only, and lives as long as the slices lent from it. What remains is
        // another process changing the file meanwhile, which no caller can exclude: bytes are only ever read as plain
        // numbers, for which every pattern is valid, and truncation ends the process as documented above.
        let map = unsafe { memmap2::MmapOptions::new().map_copy_read_only(file)? };
        Ok(MappedFile { map: Some(map) })
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }
}

impl fmt::Debug for MappedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MappedFile({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_has_the_bytes_that_were_written() {
        let path = std::env::temp_dir().join(format!("spanwise-mapped-{}", std::process::id()));
        for content in [&b"some bytes"[..], &b""[..]] {
            std::fs::write(&path, content).unwrap();
            let map = MappedFile::new(&File::open(&path).unwrap()).unwrap();
            assert_eq!(&*map, content);
        }
        std::fs::remove_file(&path).unwrap();
    }
}
