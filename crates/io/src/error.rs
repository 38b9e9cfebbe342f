//! What can be wrong with a file, and where.

mod wording;

use crate::commas::{COMMA_HINT, has_comma};
use crate::place::{one_line, quoted};
use crate::{Format, Place};
use spanwise_kernels::ShapeError;
use std::error::Error;
use std::path::Path;
use wording::{content_found, counted, extension_found, listed, system_message};

/// Why a file could not be read or written. Each message is one line; [`IoError::hint`] may add a second.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The system refused.
    #[error("{at}: cannot {action}: {}", system_message(.source))]
    System {
        /// The file.
        at: Place,
        /// What was tried: `open`, `read`, `write`, ….
        action: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },

    /// A directory, where a file is needed.
    #[error("{at}: is a directory; a file is needed")]
    Directory {
        /// The directory.
        at: Place,
    },

    /// A file of no bytes.
    #[error("{at}: the file is empty")]
    Empty {
        /// The file.
        at: Place,
    },

    /// Neither the name nor the first bytes say what the file is.
    #[error("{at}: unknown format{}; known are {}", extension_found(.extension.as_ref()), Format::list())]
    UnknownFormat {
        /// The file.
        at: Place,
        /// The name's ending, if any.
        extension: Option<String>,
    },

    /// Name and content disagree.
    #[error("{at}: expected {} by its name; {}", expected.described(), content_found(*.found))]
    WrongFormat {
        /// The file.
        at: Place,
        /// What the name or the caller says.
        expected: Format,
        /// What the first bytes say, where they say something.
        found: Option<Format>,
    },

    /// The format does not hold, or cannot be asked for, this kind of thing.
    #[error("{at}: {} cannot be {wanted}", format.described())]
    Unsupported {
        /// The file.
        at: Place,
        /// Its format.
        format: Format,
        /// What was wanted: `read as one array`, `written`, ….
        wanted: &'static str,
    },

    /// The file ends before what it announces.
    #[error("{at}: truncated: {what} needs {expected} bytes, the file has {found} left for it")]
    Truncated {
        /// Where the missing part starts.
        at: Place,
        /// The part.
        what: &'static str,
        /// Bytes it needs.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },

    /// A header or structure that does not follow its format.
    #[error("{at}: not a valid {format} file: {problem}")]
    Malformed {
        /// Where.
        at: Place,
        /// The format being read.
        format: Format,
        /// The rule that was broken.
        problem: Malformed,
    },

    /// A library that decodes the format refused.
    #[error("{at}: not a valid {format} file: {}", one_line(&.source.to_string()))]
    Decode {
        /// Where.
        at: Place,
        /// The format being read.
        format: Format,
        /// The decoder's reason.
        source: Box<dyn Error + Send + Sync>,
    },

    /// Elements or columns of a type that is not numbers, truth values or text.
    #[error("{at}: unsupported type {}; supported are {supported}", one_line(.found))]
    Dtype {
        /// Where.
        at: Place,
        /// The type as the file spells it.
        found: String,
        /// What could be read.
        supported: &'static str,
    },

    /// The dimensions cannot be represented.
    #[error("{at}: {source}")]
    Shape {
        /// Where.
        at: Place,
        /// The reason.
        source: ShapeError,
    },

    /// An integer that f64 does not hold exactly.
    #[error("{at}: integer {value} at element {index} has no exact f64")]
    Inexact {
        /// Where.
        at: Place,
        /// The integer.
        value: i128,
        /// Its position in row-major order, from 0.
        index: usize,
    },

    /// A row with another number of fields than the first one.
    #[error("{at}: found {}; the first row has {expected}", counted(*.found, "field", "fields"))]
    Ragged {
        /// The row, and the first column that is missing or too many.
        at: Place,
        /// Fields found.
        found: usize,
        /// Fields of the first row.
        expected: usize,
    },

    /// A column with another number of values than the first one.
    #[error("{at}: found {}; the first column has {expected}", counted(*.found, "value", "values"))]
    Uneven {
        /// The column.
        at: Place,
        /// Values found.
        found: usize,
        /// Values of the first column.
        expected: usize,
    },

    /// Quotation marks or line ends that do not follow the rules.
    #[error("{at}: {problem}")]
    Quote {
        /// The row and column.
        at: Place,
        /// The rule that was broken.
        problem: QuoteProblem,
    },

    /// Text that is not UTF-8.
    #[error("{at}: text is not UTF-8")]
    NotUtf8 {
        /// Where.
        at: Place,
    },

    /// Two columns or arrays of the same name.
    #[error("{at}: the name {} occurs twice", quoted(.name))]
    DuplicateName {
        /// The second occurrence.
        at: Place,
        /// The name.
        name: String,
    },

    /// A table without columns, or without a header to name them.
    #[error("{at}: the table has no columns")]
    NoColumns {
        /// The file.
        at: Place,
    },

    /// More columns than a table can have.
    #[error("{at}: found {found} columns; a table has at most {}", crate::Table::MAX_COLUMNS)]
    TooManyColumns {
        /// The file.
        at: Place,
        /// Columns there would be.
        found: usize,
    },

    /// The system has no memory for so many rows.
    #[error("{at}: there is no memory for {rows} rows")]
    Memory {
        /// The column.
        at: Place,
        /// Rows read so far and those of the next batch.
        rows: u64,
    },

    /// A container without arrays.
    #[error("{at}: holds no arrays")]
    NoTensors {
        /// The file.
        at: Place,
    },

    /// A name that the format keeps for itself.
    #[error("{at}: the name {} is reserved by the format", quoted(.name))]
    ReservedName {
        /// The file.
        at: Place,
        /// The name.
        name: String,
    },

    /// A name that is not there.
    #[error("{at}: there is no {what} {}; found {}", quoted(.name), listed(.known))]
    NoSuchName {
        /// The file.
        at: Place,
        /// `array` or `column`.
        what: &'static str,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },

    /// Several arrays, where one is needed.
    #[error("{at}: holds {} arrays ({}); one is needed", known.len(), listed(.known))]
    SeveralTensors {
        /// The file.
        at: Place,
        /// Their names.
        known: Vec<String>,
    },

    /// Text, where a number is needed.
    #[error("{at}: found {}; a number is needed", quoted(.found))]
    NotANumber {
        /// Where.
        at: Place,
        /// The text, shortened.
        found: String,
    },

    /// A place without a value in a file that is read as an array.
    #[error("{at}: the value is missing; an array needs a number in every place")]
    MissingValue {
        /// Where.
        at: Place,
    },

    /// A header and nothing below it in a file that is read as an array.
    #[error("{at}: there are no rows below the header; an array needs rows of numbers")]
    NoRows {
        /// Where.
        at: Place,
    },

    /// Another program wrote to the file between two passes over it.
    #[error("{at}: the file changed while it was being read")]
    Changed {
        /// The file.
        at: Place,
    },

    /// An array that is no table, or a table that is no array.
    #[error("{at}: shape {found} is no table; one or two dimensions are needed")]
    NotATable {
        /// Where.
        at: Place,
        /// The array's shape.
        found: spanwise_kernels::Shape,
    },
}

/// Rules a file's header can break.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// A version of the format that is not known.
    #[error("version {major}.{minor} is unknown")]
    Version {
        /// Before the dot.
        major: u8,
        /// After the dot.
        minor: u8,
    },
    /// The header's text cannot be understood from this byte of it on.
    #[error("the header cannot be read at its byte {at}")]
    HeaderText {
        /// Byte of the header's text.
        at: usize,
    },
    /// The header is not the JSON that its format asks for.
    #[error("the header is no JSON object of arrays, by its byte {at}")]
    HeaderJson {
        /// Byte of the header's text, from 0.
        at: usize,
    },
    /// What says where an archive's arrays lie cannot be read.
    #[error("its list of arrays, at the end of the file, is missing or damaged")]
    Contents,
    /// Packed bytes that do not unpack to what was packed.
    #[error("its packed bytes are damaged")]
    Packed,
    /// The header lacks an entry.
    #[error("the header has no {}", quoted(.0))]
    HeaderLacks(&'static str),
    /// The array ends before the file does.
    #[error("{0} bytes follow the array")]
    TrailingBytes(u64),
    /// The array's size does not fit the bytes set aside for it.
    #[error("{found} bytes are set aside for an array of {expected}")]
    Size {
        /// Bytes set aside.
        found: u64,
        /// Bytes needed.
        expected: u64,
    },
    /// An array's first byte lies behind its last.
    #[error("the data offsets {from} and {to} run backwards")]
    Reversed {
        /// The first byte.
        from: u64,
        /// The byte behind the last.
        to: u64,
    },
    /// Arrays that overlap or leave a gap.
    #[error("the array starts at data offset {found}; the one before it ends at {expected}")]
    NotAdjacent {
        /// Where the array starts.
        found: u64,
        /// Where it should start.
        expected: u64,
    },
    /// An entry claims to unpack to more than its packed bytes can hold.
    #[error("{packed} packed bytes cannot unpack to {claimed}")]
    Inflation {
        /// Packed bytes.
        packed: u64,
        /// Bytes claimed.
        claimed: u64,
    },
    /// A sequence of dictionary codes or offsets points outside.
    #[error("the decoder stopped on inconsistent data")]
    Inconsistent,
}

/// Rules that quotation marks and line ends can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuoteProblem {
    /// `"abc` to the end of the file.
    #[error("a quoted field is not closed")]
    Unclosed,
    /// `"abc"def`.
    #[error("text follows a closing quotation mark")]
    TextAfter,
    /// `ab"c`.
    #[error("a quotation mark stands inside an unquoted field")]
    Inside,
    /// A record that goes on for longer than any sensible one.
    #[error("the record is longer than 64 MiB; is a quotation mark or a line end missing?")]
    TooLong,
    /// `a\rb`.
    #[error("a carriage return stands in an unquoted field; lines end with \\n or \\r\\n")]
    Return,
}

impl IoError {
    /// What the user might do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            IoError::NoSuchName { name, known, .. } => {
                crate::suggest::nearest(name, known).map(|near| format!("did you mean {}?", quoted(near)))
            }
            IoError::UnknownFormat { extension: Some(extension), .. } => match extension.as_str() {
                "gz" | "bz2" | "xz" | "zst" => {
                    Some("unpack the file first, or send what unpacks to standard input".to_owned())
                }
                "xls" | "xlsx" | "ods" => Some("save the sheet as .csv".to_owned()),
                _ => None,
            },
            IoError::Malformed { problem: Malformed::Contents | Malformed::Packed, .. } => Some(
                "the file was cut off or changed since it was written; fetch or write it again".to_owned(),
            ),
            IoError::SeveralTensors { at, known } => {
                let first = known.first()?;
                Some(format!("name one of them, as in {}:{first}", at.path.display()))
            }
            IoError::NotANumber { found, .. } if has_comma(found) => Some(COMMA_HINT.to_owned()),
            IoError::WrongFormat { found: Some(found), .. } => {
                Some(format!("rename the file to end in .{}", found.extension()))
            }
            IoError::Quote { problem: QuoteProblem::Inside, .. } => {
                Some("put the field in quotation marks and double those inside it".to_owned())
            }
            IoError::Quote { problem: QuoteProblem::Return, .. } => {
                Some("if its lines end with carriage returns alone, convert the file to \\n".to_owned())
            }
            IoError::Dtype { at, .. } | IoError::Inexact { at, .. } if at.name.is_some() => {
                Some("leave the column out: name the columns to read, or those not to".to_owned())
            }
            IoError::DuplicateName { at, .. } if at.row == Some(1) => {
                Some("rename one of the columns, or say that the file has no header".to_owned())
            }
            IoError::System { source, action: "create", .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Some("the directory must exist".to_owned())
            }
            _ => None,
        }
    }

    /// The place the error names.
    pub fn place(&self) -> &Place {
        match self {
            IoError::System { at, .. }
            | IoError::Directory { at }
            | IoError::Empty { at }
            | IoError::UnknownFormat { at, .. }
            | IoError::WrongFormat { at, .. }
            | IoError::Unsupported { at, .. }
            | IoError::Truncated { at, .. }
            | IoError::Malformed { at, .. }
            | IoError::Decode { at, .. }
            | IoError::Dtype { at, .. }
            | IoError::Shape { at, .. }
            | IoError::Inexact { at, .. }
            | IoError::Ragged { at, .. }
            | IoError::Uneven { at, .. }
            | IoError::Quote { at, .. }
            | IoError::NotUtf8 { at }
            | IoError::DuplicateName { at, .. }
            | IoError::NoColumns { at }
            | IoError::TooManyColumns { at, .. }
            | IoError::Memory { at, .. }
            | IoError::NoTensors { at }
            | IoError::ReservedName { at, .. }
            | IoError::NoSuchName { at, .. }
            | IoError::SeveralTensors { at, .. }
            | IoError::NotANumber { at, .. }
            | IoError::MissingValue { at }
            | IoError::NoRows { at }
            | IoError::Changed { at }
            | IoError::NotATable { at, .. } => at,
        }
    }

    pub(crate) fn system(path: &Path, action: &'static str, source: std::io::Error) -> Self {
        IoError::System { at: Place::file(path), action, source }
    }

    pub(crate) fn malformed(at: Place, format: Format, problem: Malformed) -> Self {
        IoError::Malformed { at, format, problem }
    }

    pub(crate) fn decode(at: Place, format: Format, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        IoError::Decode { at, format, source: source.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_never_span_lines() {
        let at = Place::file("odd\nname.npy");
        let error = IoError::decode(at, Format::Parquet, "first\nsecond");
        assert_eq!(error.to_string(), "odd name.npy: not a valid parquet file: first second");
    }

    #[test]
    fn many_names_are_counted_not_listed() {
        let known = (0..20).map(|i| format!("t{i}")).collect();
        let error = IoError::SeveralTensors { at: Place::file("m.npz"), known };
        assert!(error.to_string().contains("t7 and 12 more"), "{error}");
        assert_eq!(error.hint().unwrap(), "name one of them, as in m.npz:t0");
    }
}
