//! Which format a file is in: by its name, checked against its first bytes.

use crate::{IoError, Place};
use std::fmt;
use std::path::Path;

/// The formats that can be read; [`Format::Arrow`] and [`Format::Tsv`] cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// One `NumPy` array.
    Npy,
    /// Named `NumPy` arrays in a zip archive.
    Npz,
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC, file (also called Feather) or stream.
    Arrow,
    /// Named arrays as Hugging Face keeps them.
    Safetensors,
}

/// How many of a file's first bytes [`Format::of_content`] wants to see.
pub(crate) const MAGIC_BYTES: usize = 16;

impl Format {
    const ALL: [Format; 7] = [
        Format::Npy,
        Format::Npz,
        Format::Csv,
        Format::Tsv,
        Format::Parquet,
        Format::Arrow,
        Format::Safetensors,
    ];

    /// The name's usual ending, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Npy => "npy",
            Format::Npz => "npz",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Safetensors => "safetensors",
        }
    }

    /// By the ending of a name, in any case: `npy`, `npz`, `csv`, `tsv` or `tab`, `parquet` or `pq`, `arrow`,
    /// `feather`, `ipc` or `arrows`, `safetensors`.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "npy" => Some(Format::Npy),
            "npz" => Some(Format::Npz),
            "csv" => Some(Format::Csv),
            "tsv" | "tab" => Some(Format::Tsv),
            "parquet" | "pq" => Some(Format::Parquet),
            "arrow" | "feather" | "ipc" | "arrows" => Some(Format::Arrow),
            "safetensors" => Some(Format::Safetensors),
            _ => None,
        }
    }

    /// By the first bytes. Text has no mark of its own and gives `None`.
    pub fn of_content(start: &[u8]) -> Option<Self> {
        match start {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Format::Npy),
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Format::Npz),
            [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, ..] => Some(Format::Arrow),
            // A header length of less than 4 GiB, then JSON.
            [_, _, _, _, 0, 0, 0, 0, b'{', ..] => Some(Format::Safetensors),
            _ => None,
        }
    }

    /// Text without a name: tabs in the first line that has a separator outside quotation marks, and no commas there, are
    /// those of a `.tsv`.
    pub(crate) fn of_text(bytes: &[u8]) -> Self {
        let (mut quoted, mut tabs) = (false, false);
        for &byte in bytes {
            match byte {
                b'"' => quoted = !quoted,
                b',' if !quoted => return Format::Csv,
                b'\t' if !quoted => tabs = true,
                b'\n' if !quoted && tabs => return Format::Tsv,
                _ => {}
            }
        }
        if tabs { Format::Tsv } else { Format::Csv }
    }

    /// `all, the, known, extensions`.
    pub(crate) fn list() -> String {
        let name = |format: Format| match format {
            Format::Arrow => ".arrow, .feather".to_owned(),
            other => format!(".{}", other.extension()),
        };
        Format::ALL.map(name).join(", ")
    }

    /// Whether it is text, with something between its fields.
    pub const fn is_text(self) -> bool {
        matches!(self, Format::Csv | Format::Tsv)
    }

    /// With its article, as in a sentence.
    pub(crate) const fn described(self) -> &'static str {
        match self {
            Format::Npy => "an npy array",
            Format::Npz => "an npz archive",
            Format::Csv => "a csv table",
            Format::Tsv => "a tsv table",
            Format::Parquet => "a parquet table",
            Format::Arrow => "an arrow table",
            Format::Safetensors => "a safetensors file",
        }
    }

    /// What `path` holds: `given` by the caller, or by its name, or by its content; the content must not contradict.
    pub(crate) fn decide(path: &Path, given: Option<Format>, start: &[u8]) -> Result<Self, IoError> {
        let at = || Place::file(path);
        let content = Format::of_content(start);
        let extension = path.extension().map(|e| e.to_string_lossy().into_owned());
        let named = given.or_else(|| extension.as_deref().and_then(Format::of_extension));
        let Some(expected) = named else {
            return content.ok_or_else(|| IoError::UnknownFormat { at: at(), extension });
        };
        match content {
            Some(found) if found == expected => Ok(expected),
            // A text file can start with any bytes, `PAR1` included, but not with the unprintable marks.
            Some(found) if !expected.is_text() || found != Format::Parquet => {
                Err(IoError::WrongFormat { at: at(), expected, found: Some(found) })
            }
            None if !expected.is_text() && !is_prefix_of_magic(expected, start) => {
                Err(IoError::WrongFormat { at: at(), expected, found: None })
            }
            _ => Ok(expected),
        }
    }
}

/// Whether `start`, shorter than the format's mark, could be a truncated file of the format, and is better told so.
fn is_prefix_of_magic(format: Format, start: &[u8]) -> bool {
    let magic: &[u8] = match format {
        Format::Npy => b"\x93NUMPY",
        Format::Npz => b"PK\x03\x04",
        Format::Parquet => b"PAR1",
        Format::Arrow => b"ARROW1",
        // The first eight bytes are a length: whatever they are, the header's checks say more than this one could.
        Format::Safetensors => return true,
        Format::Csv | Format::Tsv => b"",
    };
    magic.starts_with(start)
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.extension())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(path: &str, start: &[u8]) -> Result<Format, String> {
        Format::decide(Path::new(path), None, start).map_err(|e| e.to_string())
    }

    #[test]
    fn the_name_decides_and_the_content_may_not_contradict() {
        assert_eq!(decided("a.NPY", b"\x93NUMPY\x01\x00"), Ok(Format::Npy));
        assert_eq!(decided("a.csv", b"x,y\n"), Ok(Format::Csv));
        assert_eq!(decided("a.pq", b"PAR1"), Ok(Format::Parquet));
        assert_eq!(decided("noname", b"ARROW1\0\0"), Ok(Format::Arrow));
        assert_eq!(
            decided("a.npy", b"PK\x03\x04").unwrap_err(),
            "a.npy: expected an npy array by its name; its content is an npz archive"
        );
        assert_eq!(
            decided("a.npz", b"x,y\n").unwrap_err(),
            "a.npz: expected an npz archive by its name; its content is something else"
        );
        assert!(decided("a.xlsx", b"?").unwrap_err().contains("unknown format .xlsx; known are .npy, .npz"));
        assert!(decided("a", b"?").unwrap_err().contains("unknown format (no extension)"));
    }

    #[test]
    fn text_without_a_name_is_told_by_its_separators() {
        for (text, format) in [
            ("a\tb\n1\t2\n", Format::Tsv),
            ("a,b\n1,2\n", Format::Csv),
            ("\"a\tb\",c\n", Format::Csv),
            ("\"a,b\"\tc\n1\t2\n", Format::Tsv),
            ("a\tb,c\n", Format::Csv),
            ("a\n1\n2\n", Format::Csv),
            ("1\t2", Format::Tsv),
            ("", Format::Csv),
        ] {
            assert_eq!(Format::of_text(text.as_bytes()), format, "{text:?}");
        }
    }

    #[test]
    fn every_extension_names_its_format() {
        for format in Format::ALL {
            assert_eq!(Format::of_extension(format.extension()), Some(format));
        }
    }
}
