//! A file cut into pieces of whole records.
//!
//! A piece starts where a record starts, so it can be read without knowing what came before; it ends behind the last
//! line end outside quotation marks. Whether a line end is outside is a matter of counting: an even number of marks
//! before it, doubled ones included.

use crate::{IoError, Place, QuoteProblem};
use memchr::{memchr_iter, memrchr, memrchr2};
use std::io::Read;
use std::path::PathBuf;

/// How much is read at once: small enough for the cache, large enough that cutting costs nothing.
pub(super) const CHUNK_BYTES: usize = 1 << 20;
/// A longer record means that a quotation mark was left open.
const RECORD_BYTES: usize = 64 << 20;

/// The chunks of a file, in order: each whole records.
pub(super) struct Chunks<R> {
    reader: R,
    path: PathBuf,
    /// The start of the next record, read together with the last chunk.
    carried: Vec<u8>,
    chunk_bytes: usize,
    /// Bytes handed out.
    pub(super) done: u64,
    finished: bool,
}

impl<R: Read> Chunks<R> {
    pub(super) fn new(reader: R, path: PathBuf, chunk_bytes: usize) -> Self {
        Chunks { reader, path, carried: Vec::new(), chunk_bytes, done: 0, finished: false }
    }

    fn read_next(&mut self) -> Result<Option<Vec<u8>>, IoError> {
        let mut bytes = std::mem::take(&mut self.carried);
        let mut wanted = self.chunk_bytes;
        let end = loop {
            let missing = wanted.saturating_sub(bytes.len()) as u64;
            let got = self.reader.by_ref().take(missing).read_to_end(&mut bytes);
            let got = got.map_err(|source| IoError::system(&self.path, "read", source))?;
            if (got as u64) < missing {
                self.finished = true;
                break bytes.len();
            }
            if let Some(end) = records_end(&bytes) {
                break end;
            }
            if bytes.len() > RECORD_BYTES {
                let problem = QuoteProblem::TooLong;
                return Err(IoError::Quote { at: Place::file(&self.path).byte(self.done), problem });
            }
            wanted = bytes.len() * 2;
        };
        self.carried = bytes.split_off(end);
        if bytes.is_empty() {
            return Ok(None);
        }
        self.done += bytes.len() as u64;
        Ok(Some(bytes))
    }
}

impl<R: Read> Iterator for Chunks<R> {
    type Item = Result<Vec<u8>, IoError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let next = self.read_next();
        self.finished |= next.is_err();
        next.transpose()
    }
}

/// The position behind the last line end outside quotation marks, where there is one.
fn records_end(bytes: &[u8]) -> Option<usize> {
    let marks = memchr_iter(b'"', bytes).count();
    if marks == 0 {
        return memrchr(b'\n', bytes).map(|at| at + 1);
    }
    // Backwards from the end, knowing how many marks lie before.
    let mut inside = marks % 2 == 1;
    let mut end = bytes.len();
    while let Some(at) = memrchr2(b'\n', b'"', &bytes[..end]) {
        if bytes[at] == b'"' {
            inside = !inside;
        } else if !inside {
            return Some(at + 1);
        }
        end = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_any_size_hold_whole_records_and_every_byte() {
        let text = b"a,\"x\ny\"\n1,\"\"\"\n\"\"\"\n\n22,plain\nlast,\"no newline\"";
        for size in 1..text.len() + 2 {
            let chunks: Vec<Vec<u8>> =
                Chunks::new(&text[..], PathBuf::from("t.csv"), size).collect::<Result<_, _>>().unwrap();
            let all: Vec<u8> = chunks.concat();
            assert_eq!(all, text, "chunks of {size}");
            assert!(chunks.iter().all(|chunk| memchr_iter(b'"', chunk).count().is_multiple_of(2)));
        }
    }
}
