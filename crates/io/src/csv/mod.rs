//! `.csv` and `.tsv`: text to typed columns, with all threads, without ever holding the file.
//!
//! The first record names the columns. A column is numbers where each of its values is a number or missing, and
//! categories otherwise; this holds for the file as a whole, however it is cut. Columns are taken to be what the
//! first chunk makes them; should a later chunk show text in a column of numbers, the file is read once more.
//!
//! ```text
//! chunks    the file, cut behind line ends outside quotation marks      one thread at a time
//! parse     a chunk's records to columns                                all threads
//! join      chunks appended in the file's order                         one thread at a time
//! ```
//!
//! The rules, where the format leaves a choice:
//! - blank lines are skipped and not counted; a UTF-8 byte order mark is skipped;
//! - lines end with `\n` or `\r\n`; a carriage return elsewhere, unless quoted, is an error;
//! - a record of more or fewer fields than the first one is an error;
//! - two columns of one name are an error; a column without a name is called by its position, `c0`, `c1`, …;
//! - what is missing, quoted and blank: see `field`.

mod batches;
mod chunks;
pub(crate) mod field;
mod join;
mod parse;
#[cfg(test)]
mod tests;

use crate::bytes::{self, Bytes, STDIN};
use crate::options::ReadOptions;
use crate::table::{Categories, Column, Table, Values, default_name};
use crate::{Format, IoError, Place};
pub(crate) use batches::CsvBatches;
use chunks::{CHUNK_BYTES, Chunks};
use hashbrown::DefaultHashBuilder;
use join::{Joined, JoinedColumn, Keep, Plan, join};
use parse::{Want, behind_blank_line, parse};
use std::fs::File;
use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

/// Whether the first record names the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    Present,
    Absent,
    /// Absent where every field of the first record is a number.
    Guess,
}

/// A text that can be read more than once.
pub(crate) struct Text {
    path: PathBuf,
    source: Source,
    delimiter: u8,
    header: Header,
    /// [`CHUNK_BYTES`], or less to test that cutting changes nothing.
    chunk_bytes: usize,
}

type Reader = Box<dyn Read + Send>;

enum Source {
    File(File),
    Memory(Bytes),
}

impl Text {
    /// A regular file stays where it is; a pipe is read to its end.
    pub(crate) fn open(path: &Path, format: Format, header: Header) -> Result<Self, IoError> {
        let source = if path.as_os_str() == STDIN {
            Source::Memory(Bytes::of(path)?)
        } else {
            let file = bytes::open(path)?;
            if bytes::is_regular(&file) {
                Source::File(file)
            } else {
                Source::Memory(Bytes::of_file(path, file)?)
            }
        };
        Text::new(path, source, format, header)
    }

    /// Bytes that were read already.
    pub(crate) fn of_bytes(
        path: &Path,
        bytes: Bytes,
        format: Format,
        header: Header,
    ) -> Result<Self, IoError> {
        Text::new(path, Source::Memory(bytes), format, header)
    }

    fn new(path: &Path, source: Source, format: Format, header: Header) -> Result<Self, IoError> {
        let delimiter = if format == Format::Tsv { b'\t' } else { b',' };
        let text = Text { path: path.to_owned(), source, delimiter, header, chunk_bytes: CHUNK_BYTES };
        if text.len() == 0 {
            return Err(IoError::Empty { at: Place::file(path) });
        }
        Ok(text)
    }

    /// With this byte between the fields, if one is given.
    pub(crate) fn separated_by(self, delimiter: Option<u8>) -> Self {
        Text { delimiter: delimiter.unwrap_or(self.delimiter), ..self }
    }

    /// Bytes in all.
    fn len(&self) -> u64 {
        match &self.source {
            Source::File(file) => file.metadata().map_or(0, |metadata| metadata.len()),
            Source::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// The chunks from the start on.
    fn chunks(&self) -> Result<Chunks<Reader>, IoError> {
        let failed = |source| IoError::system(&self.path, "read", source);
        let reader: Reader = match &self.source {
            Source::File(file) => {
                // The copy shares its position with the original, so there is one pass at a time.
                let mut reader = file.try_clone().map_err(failed)?;
                reader.rewind().map_err(failed)?;
                Box::new(reader)
            }
            Source::Memory(bytes) => Box::new(Cursor::new(bytes.clone())),
        };
        Ok(Chunks::new(reader, self.path.clone(), self.chunk_bytes))
    }

    /// The whole table.
    pub(crate) fn read(&self, options: &ReadOptions) -> Result<Table, IoError> {
        let mut head = self.head(options)?;
        loop {
            let joined = self.pass(&head, Keep::Values)?;
            if joined.misfits.is_empty() {
                return head.table(joined);
            }
            head.make_text(&joined.misfits);
        }
    }

    /// One pass over all records.
    fn pass(&self, head: &Head, keep: Keep) -> Result<Joined, IoError> {
        let mut chunks = self.chunks()?;
        let first = self.first_records(&mut chunks, head)?;
        let mut joined = Joined::new(&head.plan);
        if keep == Keep::Values {
            joined.reserve(&first, self.len());
        }
        join(std::iter::once(Ok(first)).chain(chunks), &head.plan, &mut joined, keep)?;
        Ok(joined)
    }

    /// The first chunk without its header.
    fn first_records<R: Read>(&self, chunks: &mut Chunks<R>, head: &Head) -> Result<Vec<u8>, IoError> {
        let mut first = chunks.next().transpose()?.unwrap_or_default();
        if first.len() < head.length {
            return Err(IoError::Changed { at: Place::file(&self.path) });
        }
        first.drain(..head.length);
        Ok(first)
    }

    /// Names and kinds of the columns, as far as the first chunk tells.
    fn head(&self, options: &ReadOptions) -> Result<Head, IoError> {
        let file = Place::file(&self.path);
        let first = self.chunks()?.next().transpose()?.unwrap_or_default();
        let mut start = if first.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        while let Some(next) = first.get(start).and_then(|_| behind_blank_line(&first, start)) {
            start = next;
        }
        if start == first.len() {
            return Err(IoError::NoColumns { at: file });
        }
        let (fields, end) = self.first_record(&first, start)?;
        let numeric = || fields.iter().all(|text| field::number(text).is_some());
        let has_header = match self.header {
            Header::Present => true,
            Header::Absent => false,
            Header::Guess => !numeric(),
        };
        let names =
            if has_header { named(&fields, &file)? } else { (0..fields.len()).map(default_name).collect() };
        let wants = wanted(&names, options, &file)?;
        let first_row = 1 + u64::from(has_header);
        let hasher = DefaultHashBuilder::default();
        let plan = Plan { file, delimiter: self.delimiter, wants, first_row, hasher };
        let mut head = Head { names, plan, length: if has_header { end } else { start } };
        let misfits = parse(&first[head.length..], &head.plan).misfits;
        head.make_text(&misfits);
        Ok(head)
    }

    /// The fields of the record at `start`, and where the next record starts.
    fn first_record(&self, bytes: &[u8], mut start: usize) -> Result<(Vec<Vec<u8>>, usize), IoError> {
        let mut fields = Vec::new();
        loop {
            let field = field::field(bytes, start, self.delimiter).map_err(|problem| IoError::Quote {
                at: Place::file(&self.path).row(1).column(fields.len() + 1),
                problem,
            })?;
            fields.push(field.text.into_owned());
            if bytes.get(field.end) != Some(&self.delimiter) {
                return Ok((fields, (field.end + 1).min(bytes.len())));
            }
            start = field.end + 1;
        }
    }
}

/// What the start of a file says.
struct Head {
    names: Vec<String>,
    plan: Plan,
    /// Bytes before the first record.
    length: usize,
}

impl Head {
    fn make_text(&mut self, columns: &[usize]) {
        for &column in columns {
            self.plan.wants[column] = Want::Text;
        }
    }

    fn table(self, joined: Joined) -> Result<Table, IoError> {
        let positions = joined.positions();
        let columns = self.names.into_iter().zip(joined.columns);
        let columns = columns.filter_map(|(name, column)| {
            let values = match column {
                JoinedColumn::Skip => return None,
                JoinedColumn::Numbers(numbers) => Values::Numbers(numbers),
                JoinedColumn::Text { codes, levels } => {
                    Values::Categories(Categories::of_checked(codes, levels.texts.into()))
                }
            };
            Some(Column { name, values })
        });
        Ok(Table::at(columns.collect(), self.plan.file, self.plan.first_row)?.chosen(positions))
    }
}

/// The header's names.
fn named(fields: &[Vec<u8>], file: &Place) -> Result<Vec<String>, IoError> {
    let mut seen = hashbrown::HashSet::with_capacity(fields.len());
    let mut names = Vec::with_capacity(fields.len());
    for (index, field) in fields.iter().enumerate() {
        let at = || file.clone().row(1).column(index + 1);
        let name = std::str::from_utf8(field).map_err(|_| IoError::NotUtf8 { at: at() })?;
        let name = if name.is_empty() { default_name(index) } else { name.to_owned() };
        if !seen.insert(name.clone()) {
            return Err(IoError::DuplicateName { at: at(), name });
        }
        names.push(name);
    }
    Ok(names)
}

/// What the options make of the columns.
fn wanted(names: &[String], options: &ReadOptions, file: &Place) -> Result<Vec<Want>, IoError> {
    options.check_names(names, file)?;
    let want = |name: &String| match (options.wants(name), options.categories.contains(name)) {
        (false, _) => Want::Skip,
        (true, true) => Want::Text,
        (true, false) => Want::Numbers,
    };
    Ok(names.iter().map(want).collect())
}
