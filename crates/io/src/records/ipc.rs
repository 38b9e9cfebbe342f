//! Arrow IPC. A file is a stream between two marks, with a footer that lists what the stream holds; both are read as
//! the stream they are, straight from the mapped bytes. A file must end with its mark, else rows may be missing.
//!
//! ```text
//! file:     ARROW1 0 0  stream  footer  length  ARROW1
//! stream:   message, message, …, end
//! message:  ff ff ff ff  length of the head (4 bytes)  head  body
//! ```
//!
//! Before the decoder sees a message, its sizes are compared with what the file holds.

use super::{Records, guard::guarded};
use crate::bytes::Bytes;
use crate::{Format, IoError, Malformed, Place};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{CompressionType, Message, MessageHeader};
use arrow_schema::{ArrowError, SchemaRef};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

const FILE_MARK: &[u8] = b"ARROW1\0\0";
/// What a file ends with.
const END_MARK: &[u8] = b"ARROW1";
/// A repeated byte of LZ4 takes at least one byte per 255.
const LZ4_RATIO: u64 = 255;
/// A block of Zstandard unpacks to at most 128 KiB and takes at least four bytes.
const ZSTD_RATIO: u64 = 32_768;

pub(super) struct IpcFile {
    at: Place,
    buffer: Buffer,
    schema: SchemaRef,
    /// Where the messages lie, the first being the schema.
    messages: Vec<Range<usize>>,
    rows: u64,
}

impl IpcFile {
    pub(super) fn open(at: &Place, bytes: Bytes) -> Result<Self, IoError> {
        let start = if bytes.starts_with(FILE_MARK) { FILE_MARK.len() } else { 0 };
        let (messages, rows) = messages(&bytes, start, at)?;
        let first = messages.first().cloned().ok_or_else(|| IoError::Truncated {
            at: at.clone().byte(start as u64),
            what: "the schema",
            expected: 8,
            found: (bytes.len() - start) as u64,
        })?;
        if start > 0 {
            check_end(&bytes, at)?;
        }
        let buffer = Buffer::from(bytes::Bytes::from_owner(bytes));
        let schema = schema(&buffer[first])
            .ok_or_else(|| IoError::malformed(at.clone(), Format::Arrow, Malformed::HeaderLacks("schema")))?;
        Ok(IpcFile { at: at.clone(), buffer, schema, messages, rows })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn records(&self, positions: &[usize], batch_rows: usize) -> Records {
        Box::new(IpcRecords {
            at: self.at.clone(),
            buffer: self.buffer.clone(),
            messages: self.messages.clone().into_iter(),
            decoder: StreamDecoder::new(),
            positions: positions.to_vec(),
            batch_rows,
            ready: VecDeque::new(),
        })
    }
}

/// The record batches of the messages.
struct IpcRecords {
    at: Place,
    buffer: Buffer,
    messages: std::vec::IntoIter<Range<usize>>,
    decoder: StreamDecoder,
    positions: Vec<usize>,
    batch_rows: usize,
    ready: VecDeque<RecordBatch>,
}

impl IpcRecords {
    fn decode(&mut self, message: &Range<usize>) -> Result<(), IoError> {
        let at = self.at.clone().byte(message.start as u64);
        guarded(&at, Format::Arrow, || {
            let failed = |error: ArrowError| IoError::decode(at.clone(), Format::Arrow, error.to_string());
            let mut rest = self.buffer.slice_with_length(message.start, message.len());
            // A message without a body is only looked at when the next one comes, so one piece can give two batches.
            while !rest.is_empty() {
                let Some(batch) = self.decoder.decode(&mut rest).map_err(failed)? else { continue };
                let batch = batch.project(&self.positions).map_err(failed)?;
                let rows = batch.num_rows();
                for row in (0..rows).step_by(self.batch_rows) {
                    self.ready.push_back(batch.slice(row, self.batch_rows.min(rows - row)));
                }
            }
            Ok(())
        })
    }
}

impl Iterator for IpcRecords {
    type Item = Result<RecordBatch, IoError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            let message = self.messages.next()?;
            if let Err(error) = self.decode(&message) {
                // The decoder cannot go on from here.
                self.messages = Vec::new().into_iter();
                return Some(Err(error));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

/// A file cut between two messages is a stream as good as any; only the closing mark tells that rows are missing.
fn check_end(bytes: &[u8], at: &Place) -> Result<(), IoError> {
    let marked = |&length: &usize| bytes.ends_with(&END_MARK[..length]);
    let found = (0..=END_MARK.len()).rev().find(marked).unwrap_or(0);
    if found == END_MARK.len() {
        return Ok(());
    }
    Err(IoError::Truncated {
        at: at.clone().byte((bytes.len() - found) as u64),
        what: "the footer's closing mark",
        expected: END_MARK.len() as u64,
        found: found as u64,
    })
}

/// The schema that a message holds.
fn schema(message: &[u8]) -> Option<SchemaRef> {
    let head = if message.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = arrow_ipc::root_as_message(message.get(head..)?).ok()?;
    Some(Arc::new(fb_to_schema(message.header_as_schema()?)))
}

/// The extent of each message, and the rows of all record batches together.
fn messages(bytes: &[u8], start: usize, at: &Place) -> Result<(Vec<Range<usize>>, u64), IoError> {
    let mut found = Vec::new();
    let mut rows = 0;
    let mut next = start;
    while let Some(&[a, b, c, d]) = bytes.get(next..next + 4) {
        let here = at.clone().byte(next as u64);
        let truncated = |what, expected: u64, from: usize| IoError::Truncated {
            at: here.clone(),
            what,
            expected,
            found: bytes.len().saturating_sub(from) as u64,
        };
        // Old streams have no mark before the length.
        let marked = [a, b, c, d] == [0xff; 4];
        let head = next + if marked { 8 } else { 4 };
        let length = bytes.get(head - 4..head).ok_or_else(|| truncated("a message", 8, next))?;
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        if length == 0 {
            break;
        }
        let body = head.checked_add(length).filter(|&body| body <= bytes.len());
        let body = body.ok_or_else(|| truncated("a message's head", length as u64, head))?;
        let message = arrow_ipc::root_as_message(&bytes[head..body])
            .map_err(|error| IoError::decode(here.clone(), Format::Arrow, error.to_string()))?;
        let body_length = usize::try_from(message.bodyLength()).ok();
        let end = body_length.and_then(|length| body.checked_add(length)).filter(|&end| end <= bytes.len());
        let end = end.ok_or_else(|| truncated("a message's body", message.bodyLength() as u64, body))?;
        rows += check_claims(message, &bytes[body..end])
            .map_err(|problem| IoError::malformed(here.clone(), Format::Arrow, problem))?;
        found.push(next..end);
        next = end;
    }
    Ok((found, rows))
}

/// Whether what a message says it unpacks to can come from its body; gives its rows.
fn check_claims(message: Message, body: &[u8]) -> Result<u64, Malformed> {
    let (batch, counts) = match message.header_type() {
        MessageHeader::RecordBatch => (message.header_as_record_batch(), true),
        MessageHeader::DictionaryBatch => {
            (message.header_as_dictionary_batch().and_then(|d| d.data()), false)
        }
        _ => return Ok(0),
    };
    let batch = batch.ok_or(Malformed::Inconsistent)?;
    let ratio = batch.compression().map(|compression| match compression.codec() {
        CompressionType::LZ4_FRAME => LZ4_RATIO,
        _ => ZSTD_RATIO,
    });
    let mut unpacked = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let range = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
        let packed = range.and_then(|(start, length)| body.get(start..start.checked_add(length)?));
        let packed = packed.ok_or(Malformed::Inconsistent)?;
        let claimed = match (ratio, packed.first_chunk::<8>()) {
            (Some(_), Some(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])) | (None, _) => {
                packed.len() as u64
            }
            (Some(ratio), Some(claim)) => {
                let claimed = u64::from_le_bytes(*claim);
                let packed = packed.len() as u64;
                if claimed > packed.saturating_mul(ratio) {
                    return Err(Malformed::Inflation { packed, claimed });
                }
                claimed
            }
            (Some(_), None) => 0,
        };
        unpacked = unpacked.saturating_add(claimed);
    }
    // The smallest thing a row can take is one bit. (A batch of nothing but null columns is refused by this.)
    let rows = u64::try_from(batch.length()).map_err(|_| Malformed::Inconsistent)?;
    if rows > unpacked.saturating_mul(8) {
        return Err(Malformed::Inconsistent);
    }
    Ok(if counts { rows } else { 0 })
}
