//! Records to columns.
//!
//! The hot loop of reading: for each field of each record, a number is parsed where it stands, straight into its
//! column; only what is not a plain number ending at a delimiter is looked at a second time.
//!
//! ```text
//! for each record:
//!     for each column:
//!         number wanted:  parse as many bytes as make a number; if a delimiter or line end follows, done
//!                         else find the field's end, unquote, and see: missing, number after all, or text
//!         text wanted:    find the field's end, unquote, look its code up
//! ```
//!
//! A chunk is parsed without knowing about others: levels of text get codes of this chunk's own, and a number column
//! that meets text only takes note of it. What follows from both is decided where chunks are joined.

use super::field::{behind_returns, field, is_missing, number};
use super::join::Plan;
use crate::table::Categories;
use crate::{IoError, Place, QuoteProblem};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// What to make of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    Skip,
    Numbers,
    Text,
}

/// A column of one chunk.
pub(super) enum Part {
    Skip,
    Numbers(Vec<f64>),
    Text(TextPart),
}

/// Text of one chunk, as codes into its own levels. The levels lie one after another in one piece of memory: a chunk
/// may have as many of them as rows.
pub(super) struct TextPart {
    pub(super) codes: Vec<u32>,
    /// All levels, in order of first appearance.
    texts: String,
    /// Where each level ends in `texts`, and its hash.
    ends: Vec<(usize, u64)>,
    /// Positions in `ends`, found by the hash of the text.
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl TextPart {
    fn new(hasher: DefaultHashBuilder, rows: usize) -> Self {
        let codes = Vec::with_capacity(rows);
        TextPart { codes, texts: String::new(), ends: Vec::new(), known: HashTable::new(), hasher }
    }

    /// The levels with their hashes.
    pub(super) fn levels(&self) -> impl Iterator<Item = (u64, &str)> {
        (0..self.ends.len()).map(|code| (self.ends[code].1, level(&self.texts, &self.ends, code)))
    }

    #[inline]
    fn push(&mut self, text: &[u8]) -> Result<(), Problem> {
        let code = if is_missing(text) { Categories::MISSING } else { self.code(text)? };
        self.codes.push(code);
        Ok(())
    }

    #[inline]
    fn code(&mut self, text: &[u8]) -> Result<u32, Problem> {
        let hash = self.hasher.hash_one(text);
        let (texts, ends) = (&mut self.texts, &mut self.ends);
        let same = |&code: &u32| level(texts, ends, code as usize).as_bytes() == text;
        if let Some(&code) = self.known.find(hash, same) {
            return Ok(code);
        }
        let code = ends.len() as u32;
        texts.push_str(std::str::from_utf8(text).map_err(|_| Problem::NotUtf8)?);
        ends.push((texts.len(), hash));
        self.known.insert_unique(hash, code, |&code| ends[code as usize].1);
        Ok(code)
    }
}

#[inline]
fn level<'a>(texts: &'a str, ends: &[(usize, u64)], code: usize) -> &'a str {
    let start = if code == 0 { 0 } else { ends[code - 1].0 };
    &texts[start..ends[code].0]
}

/// What was made of a chunk.
pub(super) struct Parsed {
    pub(super) rows: usize,
    pub(super) parts: Vec<Part>,
    /// Number columns in which text was met.
    pub(super) misfits: Vec<usize>,
    /// What stopped the parsing, after `rows` whole rows.
    pub(super) error: Option<CellError>,
}

/// A problem at a record of the chunk and a column, both from 0.
pub(super) struct CellError {
    column: usize,
    problem: Problem,
}

enum Problem {
    Ragged { found: usize, expected: usize },
    Quote(QuoteProblem),
    NotUtf8,
}

impl CellError {
    /// As an error about `row` of the file, from 1.
    pub(super) fn located(self, file: Place, row: u64) -> IoError {
        let at = file.row(row).column(self.column + 1);
        match self.problem {
            Problem::Ragged { found, expected } => IoError::Ragged { at, found, expected },
            Problem::Quote(problem) => IoError::Quote { at, problem },
            Problem::NotUtf8 => IoError::NotUtf8 { at },
        }
    }
}

/// All records of the chunk.
pub(super) fn parse(bytes: &[u8], plan: &Plan) -> Parsed {
    // As many rows as there would be if all were as long as the first; columns grow if not. The first line may be
    // blank, but a record takes a byte per field.
    let first_line = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len()) + 1;
    let expected_rows = bytes.len() / first_line.max(plan.wants.len()) + 1;
    let part = |want: &Want| match want {
        Want::Skip => Part::Skip,
        Want::Numbers => Part::Numbers(Vec::with_capacity(expected_rows)),
        Want::Text => Part::Text(TextPart::new(plan.hasher.clone(), expected_rows)),
    };
    let mut parsed =
        Parsed { rows: 0, parts: plan.wants.iter().map(part).collect(), misfits: Vec::new(), error: None };
    let mut at = 0;
    while at < bytes.len() {
        if let Some(next) = behind_blank_line(bytes, at) {
            at = next;
            continue;
        }
        match record(bytes, at, plan.delimiter, &mut parsed) {
            Ok(next) => at = next,
            Err(error) => {
                parsed.error = Some(error);
                break;
            }
        }
        parsed.rows += 1;
    }
    parsed
}

/// Where the next line starts, if this one is empty.
#[inline]
pub(super) fn behind_blank_line(bytes: &[u8], at: usize) -> Option<usize> {
    let end = behind_returns(bytes, at)?;
    match bytes.get(end) {
        Some(b'\n') => Some(end + 1),
        None => Some(end),
        _ => None,
    }
}

/// The record at `at`; gives where the next one starts.
#[inline]
fn record(bytes: &[u8], mut at: usize, delimiter: u8, parsed: &mut Parsed) -> Result<usize, CellError> {
    let width = parsed.parts.len();
    for (column, part) in parsed.parts.iter_mut().enumerate() {
        let failed = |problem| CellError { column, problem };
        let end = match part {
            Part::Numbers(numbers) => {
                if let Some((value, end)) = plain_number(bytes, at, delimiter) {
                    numbers.push(value);
                    end
                } else {
                    let field = field(bytes, at, delimiter).map_err(|p| failed(Problem::Quote(p)))?;
                    let value = number(&field.text);
                    if value.is_none() && !parsed.misfits.contains(&column) {
                        parsed.misfits.push(column);
                    }
                    numbers.push(value.unwrap_or(f64::NAN));
                    field.end
                }
            }
            Part::Text(text) => {
                let field = field(bytes, at, delimiter).map_err(|p| failed(Problem::Quote(p)))?;
                text.push(&field.text).map_err(failed)?;
                field.end
            }
            Part::Skip => field(bytes, at, delimiter).map_err(|p| failed(Problem::Quote(p)))?.end,
        };
        let last = column + 1 == width;
        match bytes.get(end) {
            Some(&b) if b == delimiter && !last => at = end + 1,
            Some(b'\n') if last => at = end + 1,
            None if last => at = end,
            Some(b'\r') if last && bytes.get(end + 1).is_none_or(|&b| b == b'\n') => {
                at = (end + 2).min(bytes.len());
            }
            _ => return Err(ragged(bytes, end, delimiter, column, width)),
        }
    }
    Ok(at)
}

/// The number at `at`, where a delimiter or line end follows it.
#[inline]
fn plain_number(bytes: &[u8], at: usize, delimiter: u8) -> Option<(f64, usize)> {
    let (value, length) = fast_float2::parse_partial::<f64, _>(&bytes[at..]).ok()?;
    let end = at + length;
    match bytes.get(end) {
        Some(&b) if b == delimiter || b == b'\n' => Some((value, end)),
        Some(b'\r') if bytes.get(end + 1).is_none_or(|&b| b == b'\n') => Some((value, end)),
        None => Some((value, end)),
        _ => None,
    }
}

/// The record's field `column` ends at `end`, and either the record ends too early or goes on too long.
#[cold]
fn ragged(bytes: &[u8], mut end: usize, delimiter: u8, column: usize, width: usize) -> CellError {
    let mut found = column + 1;
    while bytes.get(end) == Some(&delimiter) {
        match field(bytes, end + 1, delimiter) {
            Ok(field) => end = field.end,
            Err(problem) => return CellError { column: found, problem: Problem::Quote(problem) },
        }
        found += 1;
    }
    // The first field that is missing, or the first that is too many.
    let column = found.min(width);
    CellError { column, problem: Problem::Ragged { found, expected: width } }
}
