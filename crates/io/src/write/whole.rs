//! A file that appears whole or not at all.
//!
//! The content goes to a temporary file beside the target, is forced to the disk, and takes the target's name by
//! renaming. Until then the target is as it was; after an error the temporary file is gone. What cannot be renamed
//! onto, such as `/dev/stdout`, is written directly.

use crate::{IoError, Place};
use std::cell::RefCell;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// Files that are complete but for their names, while [`all_or_none`] is at work.
    static WAITING: RefCell<Option<Vec<Temporary>>> = const { RefCell::new(None) };
}

/// Runs `work`, and gives the files it writes on this thread their names only at its end: all of them, or none where it
/// fails. Should a name be refused at the very end, those given before it stay.
///
/// ```
/// use spanwise_io::{IoError, all_or_none, write_bytes};
///
/// let place = std::env::temp_dir().join("spanwise-all-or-none-example.txt");
/// let failed = all_or_none(|| {
///     write_bytes(&place, b"one of two")?;
///     write_bytes("no/such/directory/two.txt", b"two of two")
/// });
/// assert!(failed.is_err() && !place.exists());
/// ```
pub fn all_or_none<R, E: From<IoError>>(work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
    /// Forgets what waits, also where `work` panics.
    struct Scope;
    impl Drop for Scope {
        fn drop(&mut self) {
            WAITING.take();
        }
    }
    if WAITING.with_borrow(Option::is_some) {
        // Inside another one, whose end decides.
        return work();
    }
    WAITING.set(Some(Vec::new()));
    let scope = Scope;
    let result = work()?;
    for mut names in WAITING.take().unwrap_or_default() {
        let path = names.target.clone();
        names.take_name().map_err(|source| IoError::system(&path, "write", source))?;
    }
    drop(scope);
    Ok(result)
}

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
    let (target, file) = Target::open(path)?;
    let mut sink = Sink { inner: BufWriter::with_capacity(1 << 18, file), refusal: None };
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
    Special,
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
    /// Opens what the content goes to; an error names `path`.
    fn open(path: &Path) -> Result<(Self, File), IoError> {
        let failed = |source| IoError::system(path, "write", source);
        let (target, permissions) = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(IoError::Directory { at: Place::file(path) }),
            Ok(metadata) if !metadata.is_file() => {
                let file = OpenOptions::new().write(true).open(path);
                return Ok((
                    Target::Special,
                    file.map_err(|source| IoError::system(path, "create", source))?,
                ));
            }
            Ok(metadata) => {
                // Renaming would pass over either protection, and the superuser over the second.
                if metadata.permissions().readonly() {
                    return Err(failed(io::ErrorKind::PermissionDenied.into()));
                }
                OpenOptions::new().append(true).open(path).map_err(failed)?;
                // A link keeps pointing where it does; what it points at is replaced.
                (fs::canonicalize(path).map_err(failed)?, Some(metadata.permissions()))
            }
            // A link that leads round in a circle, or where nobody may look.
            Err(source) if source.kind() != io::ErrorKind::NotFound && path.is_symlink() => {
                return Err(failed(source));
            }
            Err(_) => (destination(path), None),
        };
        if target.file_name().is_none() {
            return Err(IoError::Directory { at: Place::file(path) });
        }
        let (temporary, file) = Temporary::create(target, permissions.as_ref())
            .map_err(|source| IoError::system(path, "create", source))?;
        Ok((Target::Regular(temporary), file))
    }

    fn complete(self, path: &Path, file: &File) -> Result<(), IoError> {
        let Target::Regular(mut names) = self else { return Ok(()) };
        let failed = |source| IoError::system(path, "write", source);
        file.sync_all().map_err(failed)?;
        WAITING.with_borrow_mut(|waiting| match waiting {
            Some(waiting) => {
                waiting.push(names);
                Ok(())
            }
            None => names.take_name().map_err(failed),
        })
    }
}

impl Temporary {
    fn take_name(&mut self) -> io::Result<()> {
        fs::rename(&self.path, &self.target)?;
        self.renamed = true;
        // The new name itself reaches the disk with its directory; not every file system can be asked for that.
        if let Some(directory) = self.target.parent().and_then(|parent| File::open(parent).ok()) {
            let _ = directory.sync_all();
        }
        Ok(())
    }
}

/// Where a link that points at nothing yet, or at another such link, leads; any other path is its own destination.
fn destination(path: &Path) -> PathBuf {
    /// As many links as systems follow.
    const LINKS: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..LINKS {
        let Ok(link) = fs::read_link(&target) else { break };
        target.pop();
        target.push(link);
    }
    target
}

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Short, because the target's own name may be as long as names can be.
fn temporary_name(count: u64) -> String {
    format!(".spanwise-{}-{count}.tmp", std::process::id())
}

impl Temporary {
    /// A new file beside the target, with the permissions of the one it is to replace before it holds anything.
    fn create(target: PathBuf, permissions: Option<&Permissions>) -> io::Result<(Self, File)> {
        /// Files that a process of the same number may have left behind.
        const ATTEMPTS: usize = 10_000;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if permissions.is_some() {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let mut refusal = io::ErrorKind::AlreadyExists.into();
        for _ in 0..ATTEMPTS {
            let path = target.with_file_name(temporary_name(COUNT.fetch_add(1, Ordering::Relaxed)));
            match options.open(&path) {
                Ok(file) => {
                    let temporary = Temporary { path, target, renamed: false };
                    if let Some(permissions) = permissions {
                        file.set_permissions(permissions.clone())?;
                    }
                    return Ok((temporary, file));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => refusal = error,
                Err(error) => return Err(error),
            }
        }
        Err(refusal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn write(path: &Path, content: &[u8]) -> Result<(), IoError> {
        write_whole(path, |sink| sink.write_all(content).map_err(|e| IoError::system(path, "write", e)))
    }

    #[test]
    fn content_that_fails_midway_changes_nothing_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let kept = directory.path().join("kept.bin");
        fs::write(&kept, b"precious").unwrap();
        for path in [&kept, &directory.path().join("new.bin")] {
            let result = write_whole(path, |sink| {
                // More than the buffer holds, so that the temporary file has content.
                sink.write_all(&vec![1; 1 << 20]).unwrap();
                assert_eq!(names(directory.path()).len(), 2);
                Err(IoError::NoColumns { at: Place::file(path) })
            });
            assert!(matches!(result, Err(IoError::NoColumns { .. })));
            assert_eq!(fs::read(&kept).unwrap(), b"precious");
            assert_eq!(names(directory.path()), ["kept.bin"]);
        }
    }

    #[test]
    fn several_files_get_their_names_together_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("kept.bin"), b"precious").unwrap();
        let failed: Result<(), IoError> = all_or_none(|| {
            write(&path("kept.bin"), b"new")?;
            write(&path("new.bin"), b"new")?;
            Err(IoError::NoColumns { at: Place::file("third.csv") })
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(path("kept.bin")).unwrap(), b"precious");
        assert_eq!(names(directory.path()), ["kept.bin"]);
        let done: Result<(), IoError> = all_or_none(|| {
            write(&path("kept.bin"), b"new")?;
            assert_eq!(fs::read(path("kept.bin")).unwrap(), b"precious");
            all_or_none(|| write(&path("new.bin"), b"new"))?;
            assert!(!path("new.bin").exists());
            Ok(())
        });
        done.unwrap();
        assert_eq!(fs::read(path("kept.bin")).unwrap(), b"new");
        assert_eq!(names(directory.path()), ["kept.bin", "new.bin"]);
        write(&path("after.bin"), b"new").unwrap();
        assert!(path("after.bin").exists());
    }

    #[test]
    fn temporary_files_left_behind_are_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let next = COUNT.load(Ordering::Relaxed);
        for count in next..next + 50 {
            fs::write(directory.path().join(temporary_name(count)), b"stale").unwrap();
        }
        write(&directory.path().join("x.bin"), b"new").unwrap();
        assert_eq!(fs::read(directory.path().join("x.bin")).unwrap(), b"new");
        assert_eq!(names(directory.path()).len(), 51);
    }

    #[test]
    fn a_name_as_long_as_names_can_be_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("n".repeat(250) + ".bin");
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_its_owner_may_not_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kept.bin");
        fs::write(&path, b"precious").unwrap();
        // Others may write, so the file is not plainly read-only.
        fs::set_permissions(&path, Permissions::from_mode(0o466)).unwrap();
        // The superuser may write whatever the permissions say.
        let allowed = OpenOptions::new().append(true).open(&path).is_ok();
        assert_eq!(write(&path, b"new").is_ok(), allowed);
        assert_eq!(fs::read(&path).unwrap() == b"precious", !allowed);
    }

    #[cfg(unix)]
    #[test]
    fn links_that_point_at_nothing_yet_are_followed() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        symlink("second", path("first")).unwrap();
        symlink(path("made.bin"), path("second")).unwrap();
        symlink("round", path("round")).unwrap();
        write(&path("first"), b"new").unwrap();
        assert_eq!(fs::read(path("made.bin")).unwrap(), b"new");
        assert!(fs::symlink_metadata(path("first")).unwrap().is_symlink());
        assert!(fs::symlink_metadata(path("second")).unwrap().is_symlink());
        write(&path("round"), b"new").unwrap_err();
        assert_eq!(names(directory.path()), ["first", "made.bin", "round", "second"]);
    }

    #[cfg(unix)]
    #[test]
    fn the_temporary_file_has_the_permissions_of_what_it_replaces_before_it_has_content() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (path, usual) = (directory.path().join("secret.bin"), directory.path().join("usual.bin"));
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let mode = |file: &File| file.metadata().unwrap().permissions().mode() & 0o777;
        write_whole(&path, |sink| {
            assert_eq!(mode(sink.inner.get_ref()), 0o600);
            Ok(())
        })
        .unwrap();
        write(&usual, b"new").unwrap();
        let plain = File::create(directory.path().join("plain.bin")).unwrap();
        assert_eq!(mode(&File::open(&usual).unwrap()), mode(&plain));
    }
}
