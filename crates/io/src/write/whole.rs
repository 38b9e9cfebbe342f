//! A file that appears whole or not at all.
//!
//! The content goes to a temporary file beside the target, is forced to the disk, and takes the target's name by
//! renaming. Until then the target is as it was; after an error the temporary file is gone. What cannot be renamed
//! onto, such as `/dev/stdout`, is written directly.

use crate::{IoError, Place};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where content goes. It remembers the system's first refusal, because the encoders above wrap it beyond recognition.
pub(super) struct Sink {
    inner: BufWriter<File>,
    refusal: Option<io::Error>,
}

impl Sink {
    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != io::ErrorKind::Interrupted
            && self.refusal.is_none()
        {
            let same = error.raw_os_error().map(io::Error::from_raw_os_error);
            self.refusal = Some(same.unwrap_or_else(|| error.kind().into()));
        }
        result
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.noted(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.noted(result)
    }
}

/// Writes what `content` writes to `path`.
pub(super) fn write_whole(
    path: &Path,
    content: impl FnOnce(&mut Sink) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let target = Target::of(path)?;
    let mut sink = Sink { inner: BufWriter::with_capacity(1 << 18, target.open(path)?), refusal: None };
    let written =
        content(&mut sink).and_then(|()| sink.flush().map_err(|e| IoError::system(path, "write", e)));
    if let Some(refusal) = sink.refusal.take() {
        // What is still in the buffer has nowhere to go.
        drop(sink.inner.into_parts());
        return Err(IoError::system(path, "write", refusal));
    }
    written?;
    target.complete(path, sink.inner.get_ref())
}

enum Target {
    /// Not a regular file.
    Special(PathBuf),
    Regular(Temporary),
}

/// Removes the file when it goes, unless it has got its name.
struct Temporary {
    path: PathBuf,
    target: PathBuf,
    renamed: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // Nothing can be done if this fails too; the error that led here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Target {
    fn of(path: &Path) -> Result<Self, IoError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let failed = |source| IoError::system(path, "write", source);
        let target = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(IoError::Directory { at: Place::file(path) }),
            Ok(metadata) if !metadata.is_file() => return Ok(Target::Special(path.to_owned())),
            // Renaming would pass over this protection.
            Ok(metadata) if metadata.permissions().readonly() => {
                return Err(failed(io::ErrorKind::PermissionDenied.into()));
            }
            // A link keeps pointing where it does; what it points at is replaced.
            Ok(_) => fs::canonicalize(path).map_err(failed)?,
            Err(_) => path.to_owned(),
        };
        let Some(name) = target.file_name() else {
            return Err(IoError::Directory { at: Place::file(path) });
        };
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".{}.{}-{count}.tmp", name.to_string_lossy(), std::process::id());
        Ok(Target::Regular(Temporary { path: target.with_file_name(name), target, renamed: false }))
    }

    fn open(&self, path: &Path) -> Result<File, IoError> {
        let file = match self {
            Target::Special(special) => OpenOptions::new().write(true).open(special),
            Target::Regular(file) => OpenOptions::new().write(true).create_new(true).open(&file.path),
        };
        file.map_err(|source| IoError::system(path, "create", source))
    }

    fn complete(self, path: &Path, file: &File) -> Result<(), IoError> {
        let Target::Regular(mut names) = self else { return Ok(()) };
        let failed = |source| IoError::system(path, "write", source);
        if let Ok(metadata) = fs::metadata(&names.target) {
            file.set_permissions(metadata.permissions()).map_err(failed)?;
        }
        file.sync_all().map_err(failed)?;
        fs::rename(&names.path, &names.target).map_err(failed)?;
        names.renamed = true;
        // The new name itself reaches the disk with its directory; not every file system can be asked for that.
        if let Some(directory) = names.target.parent().and_then(|parent| File::open(parent).ok()) {
            let _ = directory.sync_all();
        }
        Ok(())
    }
}
