//! Where results go: standard output, and files that are written whole or not at all.

use crate::failure::Usage;
use anyhow::Context;
use spanwise::report::Ink;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What standard output may show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) ink: Ink,
    /// No text and no progress.
    pub(crate) quiet: bool,
}

/// Everything at once, so that a full disk or a closed pipe is noticed here.
pub(crate) fn to_stdout(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).context("standard output")
}

/// Text into a file: by a temporary one and a rename, or straight into a device or pipe.
pub(crate) fn to_file(path: &Path, text: &str) -> anyhow::Result<()> {
    Ok(spanwise_io::write_bytes(path, text.as_bytes())?)
}

/// A device, pipe or socket: something a rename must not replace.
pub(crate) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Refuses, before anything is computed, outputs that would replace what is read. An input may name an array in its file
/// (`qkv.npz:q`), and need not be a file at all.
pub(crate) fn check_not_read<'a>(
    outputs: &[(&str, Option<&Path>)],
    inputs: impl IntoIterator<Item = Option<&'a str>>,
) -> Result<(), Usage> {
    let place = |path: &Path| fs::canonicalize(path).ok();
    let read: Vec<_> = inputs
        .into_iter()
        .flatten()
        .filter_map(|text| place(Path::new(text)).or_else(|| place(Path::new(text.rsplit_once(':')?.0))))
        .collect();
    for (argument, path) in outputs {
        let Some(path) = path else { continue };
        if place(path).is_some_and(|place| read.contains(&place) && !is_special(&place)) {
            let message = format!("`{argument}`: {}: is also read; expected another file", path.display());
            return Err(Usage::new(message));
        }
    }
    Ok(())
}

/// Refuses, before anything is computed, two outputs in one file, however its name is spelled.
pub(crate) fn check_apart(outputs: &[(&str, Option<&Path>)]) -> Result<(), Usage> {
    let given: Vec<_> =
        outputs.iter().filter_map(|(argument, path)| Some((argument, meant((*path)?)))).collect();
    for (i, (argument, path)) in given.iter().enumerate() {
        if let Some((other, _)) = given[..i].iter().find(|(_, other)| other == path && !is_special(path)) {
            return Err(Usage::new(format!("`{other}` and `{argument}` are the same file")));
        }
    }
    Ok(())
}

/// The file that a name means, which need not be there yet.
fn meant(path: &Path) -> PathBuf {
    let in_parent = || {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Some(fs::canonicalize(parent.unwrap_or(Path::new("."))).ok()?.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(in_parent).unwrap_or_else(|| path.to_owned())
}

/// Refuses, before anything is computed, a place where a file cannot be.
pub(crate) fn check_place(argument: &str, path: &Path) -> Result<(), Usage> {
    let refuse = |why: &str| Err(Usage::new(format!("`{argument}`: {}: {why}", path.display())));
    if path.as_os_str().is_empty() {
        return refuse("the file name is empty");
    }
    if path.is_dir() {
        return refuse("is a directory; expected a file name");
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !parent.exists() {
        let message = format!("`{argument}`: {}: there is no directory {}", path.display(), parent.display());
        return Err(Usage::with_hint(message, format!("`mkdir -p {}` makes it", parent.display())));
    }
    if !parent.is_dir() {
        return refuse(&format!("{} is not a directory", parent.display()));
    }
    Ok(())
}

/// The same for text; whether it is to be JSON, as the ending of the name says.
pub(crate) fn check_text(argument: &str, path: &Path) -> Result<bool, Usage> {
    check_place(argument, path)?;
    let ending = path.extension().map(|end| end.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("json") => Ok(true),
        None | Some("txt") => Ok(false),
        Some(_) if is_special(path) => Ok(false),
        Some(other) => {
            let message = format!(
                "`{argument}`: {}: cannot write this kind of file; expected .json, .txt or no ending",
                path.display()
            );
            Err(match other {
                "html" | "htm" => Usage::with_hint(message, "`spanwise explain --html FILE` writes a page"),
                _ => Usage::new(message),
            })
        }
    }
}

/// The same for a page.
pub(crate) fn check_page(argument: &str, path: &Path) -> Result<(), Usage> {
    check_place(argument, path)?;
    let ending = path.extension().map(|end| end.to_string_lossy().to_lowercase());
    if matches!(ending.as_deref(), None | Some("html" | "htm")) || is_special(path) {
        return Ok(());
    }
    let message = format!(
        "`{argument}`: {}: cannot write this kind of file; expected .html or no ending",
        path.display()
    );
    Err(Usage::with_hint(message, "browsers print a page as .pdf; `--figures` writes pictures"))
}

/// The same for an array, which is not written into devices.
pub(crate) fn check_regular(argument: &str, path: &Path) -> Result<(), Usage> {
    check_place(argument, path)?;
    if is_special(path) {
        let message = format!("`{argument}`: {}: is a device or pipe; expected a file name", path.display());
        return Err(Usage::new(message));
    }
    Ok(())
}
