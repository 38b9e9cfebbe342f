//! What the pages of a Parquet file claim, before the decoder believes it.
//!
//! A page's header says how large the page is once unpacked, and a dictionary's how many values it has; the decoder
//! makes room for both at once. A header is a structure in Thrift's compact encoding:
//!
//! ```text
//! field:    step of the field's number (4 bits), type (4 bits), value;  0 ends the structure
//! integer:  seven bits a byte, lowest first, with the sign in the lowest bit
//! ```
//!
//! Fields 2 and 3 are the unpacked and the packed size, field 7 is a dictionary's header, whose field 1 is its count.

use crate::Malformed;
use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;

/// Most headers take less than this; those with long statistics are read again in a larger piece.
const HEADER: usize = 256;

/// Walks the pages of one column of one row group; an error names the byte at which the page starts.
///
/// Only the headers are read, in small pieces, so that a file larger than memory stays on the disk.
pub(super) fn check_pages(
    file: &impl ChunkReader,
    chunk: &ColumnChunkMetaData,
) -> Result<(), (u64, Malformed)> {
    let inconsistent = |offset: i64| (offset.max(0) as u64, Malformed::Inconsistent);
    let start =
        chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset()).min(chunk.data_page_offset());
    let range = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
    let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
    let range = range.filter(|range| range.end <= file.len()).ok_or_else(|| inconsistent(start))?;
    let ratio = largest_ratio(chunk.compression());
    let mut at = range.start;
    while at < range.end {
        let (page, header) = page_header(file, at, range.end).ok_or_else(|| inconsistent(at as i64))?;
        let (packed, claimed) = (page.packed, page.unpacked);
        // Sixteen bytes for what the codecs themselves add to next to nothing.
        if claimed > packed.saturating_mul(ratio).saturating_add(16) {
            return Err((at, Malformed::Inflation { packed, claimed }));
        }
        if page.dictionary_values > claimed.saturating_mul(8) {
            return Err(inconsistent(at as i64));
        }
        let end = (at + header).checked_add(packed).filter(|&end| end <= range.end);
        at = end.ok_or_else(|| inconsistent(at as i64))?;
    }
    Ok(())
}

/// The header at `at`, and how many bytes it takes; `None` where there is none before `end`.
fn page_header(file: &impl ChunkReader, at: u64, end: u64) -> Option<(PageHeader, u64)> {
    let mut size = HEADER;
    loop {
        let size_here = usize::try_from(end - at).map_or(size, |left| left.min(size));
        let bytes = file.get_bytes(at, size_here).ok()?;
        let mut thrift = Thrift { bytes: &bytes, at: 0 };
        if let Some(header) = thrift.page_header() {
            return Some((header, thrift.at as u64));
        }
        if size_here < size {
            return None;
        }
        size = size.checked_mul(16)?;
    }
}

/// How many bytes one packed byte can at most become.
fn largest_ratio(compression: Compression) -> u64 {
    match compression {
        Compression::UNCOMPRESSED => 1,
        Compression::SNAPPY => 64,
        Compression::LZ4 | Compression::LZ4_RAW => 255,
        Compression::GZIP(_) => 1032,
        _ => 32_768,
    }
}

#[derive(Default)]
struct PageHeader {
    unpacked: u64,
    packed: u64,
    dictionary_values: u64,
}

struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Thrift<'_> {
    fn page_header(&mut self) -> Option<PageHeader> {
        let mut header = PageHeader::default();
        let mut number = 0;
        loop {
            let kind = self.field(&mut number)?;
            match number {
                _ if kind == 0 => return Some(header),
                2 => header.unpacked = u64::try_from(self.integer()?).ok()?,
                3 => header.packed = u64::try_from(self.integer()?).ok()?,
                7 => header.dictionary_values = self.dictionary_values()?,
                _ => self.skip(kind, 0)?,
            }
        }
    }

    fn dictionary_values(&mut self) -> Option<u64> {
        let (mut number, mut values) = (0, 0);
        loop {
            let kind = self.field(&mut number)?;
            match number {
                _ if kind == 0 => return Some(values),
                1 => values = u64::try_from(self.integer()?).ok()?,
                _ => self.skip(kind, 0)?,
            }
        }
    }

    /// The next field's type, where 0 is the end of the structure; its number becomes `number`.
    fn field(&mut self, number: &mut i64) -> Option<u8> {
        let byte = self.byte()?;
        if byte != 0 {
            let step = i64::from(byte >> 4);
            *number = if step == 0 { self.integer()? } else { number.checked_add(step)? };
        }
        Some(byte & 15)
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn integer(&mut self) -> Option<i64> {
        let zigzag = self.unsigned()?;
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    fn skip_bytes(&mut self, count: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(count).ok()?)?;
        self.at = Some(end).filter(|&end| end <= self.bytes.len())?;
        Some(())
    }

    fn skip(&mut self, kind: u8, depth: u8) -> Option<()> {
        // Headers nest three deep; anything deeper is made to exhaust the stack.
        if depth > 8 {
            return None;
        }
        match kind {
            // Truth values live in the type itself.
            1 | 2 => Some(()),
            3 => self.skip_bytes(1),
            4..=6 => self.unsigned().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let length = self.unsigned()?;
                self.skip_bytes(length)
            }
            9 | 10 => self.skip_list(depth),
            12 => {
                let mut number = 0;
                loop {
                    match self.field(&mut number)? {
                        0 => return Some(()),
                        kind => self.skip(kind, depth + 1)?,
                    }
                }
            }
            _ => None,
        }
    }

    fn skip_list(&mut self, depth: u8) -> Option<()> {
        let byte = self.byte()?;
        let count = if byte >> 4 == 15 { self.unsigned()? } else { u64::from(byte >> 4) };
        for _ in 0..count {
            match byte & 15 {
                // In a list a truth value takes a byte.
                1 | 2 => self.skip_bytes(1)?,
                kind => self.skip(kind, depth + 1)?,
            }
        }
        Some(())
    }
}
