//! What the user named: a file, standard input, or one array inside a container.

use crate::IoError;
use crate::bytes::{self, Bytes, STDIN};
use crate::format::{Format, MAGIC_BYTES};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file and the array asked for, as in `model.safetensors:layer.0.q`.
pub(crate) struct Named {
    pub(crate) path: PathBuf,
    pub(crate) member: Option<String>,
}

impl Named {
    /// A path that exists is taken as it is; otherwise the first `:` behind which the rest can be a name decides.
    pub(crate) fn of(path: &Path) -> Self {
        let whole = || Named { path: path.to_owned(), member: None };
        if path.as_os_str() == STDIN || path.exists() {
            return whole();
        }
        let Some(text) = path.to_str() else { return whole() };
        for (colon, _) in text.match_indices(':') {
            let (file, member) = (Path::new(&text[..colon]), &text[colon + 1..]);
            if file.is_file() && !member.is_empty() {
                return Named { path: file.to_owned(), member: Some(member.to_owned()) };
            }
        }
        whole()
    }
}

/// The format of the file, and its bytes where they had to be read to know.
pub(crate) struct Opened {
    pub(crate) format: Format,
    /// Of standard input and pipes, which can be read only once.
    pub(crate) bytes: Option<Bytes>,
}

impl Opened {
    pub(crate) fn new(path: &Path, given: Option<Format>) -> Result<Self, IoError> {
        if path.as_os_str() == STDIN {
            let bytes = Bytes::of(path)?;
            // What has neither a name nor a mark is text.
            let given = given.or(Format::of_content(&bytes)).or(Some(Format::of_text(&bytes)));
            let format = Format::decide(path, given, &bytes[..bytes.len().min(MAGIC_BYTES)])?;
            return Ok(Opened { format, bytes: Some(bytes) });
        }
        let file = bytes::open(path)?;
        if !bytes::is_regular(&file) {
            let bytes = Bytes::of_file(path, file)?;
            let format = Format::decide(path, given, &bytes[..bytes.len().min(MAGIC_BYTES)])?;
            return Ok(Opened { format, bytes: Some(bytes) });
        }
        let mut start = Vec::new();
        file.take(MAGIC_BYTES as u64)
            .read_to_end(&mut start)
            .map_err(|source| IoError::system(path, "read", source))?;
        if start.is_empty() {
            return Err(IoError::Empty { at: crate::Place::file(path) });
        }
        Ok(Opened { format: Format::decide(path, given, &start)?, bytes: None })
    }

    /// All bytes of the file.
    pub(crate) fn bytes(&self, path: &Path) -> Result<Bytes, IoError> {
        self.bytes.clone().map_or_else(|| Bytes::of(path), Ok)
    }
}
