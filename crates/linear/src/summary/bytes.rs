//! A summary as bytes and back.
//!
//! ```text
//!  "SPANSUM\n"  version u32   columns u64   targets u64   rows u64   zero-weight rows u64   weight sum f64   Σ ln w f64
//!  shift f64 × (d + t)   exponents i32 × (d + t)   R, upper triangle row by row, f64 × m(m + 1)/2   checksum u64
//! ```
//!
//! Little-endian. The checksum (FNV-1a, 64 bits) is of all bytes before it.

use super::{Summary, Triangle};
use crate::{BytesFault, LinearError};

const MAGIC: &[u8; 8] = b"SPANSUM\n";
/// Version 1 did not keep Σ ln w, without which a fit of weighted rows has no likelihood; it is not read.
const VERSION: u32 = 2;
const HEADER: usize = 8 + 4 + 6 * 8;

fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// How many bytes a summary of `d` columns and `t` targets takes, if that can be addressed.
fn length(d: u64, t: u64) -> Option<usize> {
    let k = d.checked_add(t)?;
    let m = k.checked_add(1)?;
    let entries = m.checked_mul(m.checked_add(1)?)? / 2;
    let total = (HEADER as u64 + 8).checked_add(k.checked_mul(12)?)?.checked_add(entries.checked_mul(8)?)?;
    usize::try_from(total).ok()
}

/// Takes numbers off the front of bytes whose length has been checked.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_first_chunk::<N>().expect("the length was checked");
        self.0 = rest;
        *head
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn f64(&mut self) -> f64 {
        f64::from_le_bytes(self.take())
    }
}

impl Summary {
    /// The summary as bytes that [`Summary::from_bytes`] reads on any machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let m = self.triangle.width();
        let mut bytes = Vec::with_capacity(HEADER + 12 * m + 4 * m * (m + 1) + 8);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        for count in [self.columns as u64, self.targets as u64, self.rows, self.zero_weight_rows] {
            bytes.extend(count.to_le_bytes());
        }
        bytes.extend(self.weight_sum.to_le_bytes());
        bytes.extend(self.log_weight_sum.to_le_bytes());
        bytes.extend(self.shift.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(self.exponents.iter().flat_map(|x| x.to_le_bytes()));
        for i in 0..m {
            bytes.extend((i..m).flat_map(|j| self.triangle.at(i, j).to_le_bytes()));
        }
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes
    }

    /// Reads what [`Summary::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LinearError> {
        read(bytes).map_err(|fault| LinearError::Bytes { fault })
    }
}

fn read(bytes: &[u8]) -> Result<Summary, BytesFault> {
    if !bytes.starts_with(MAGIC) {
        return Err(BytesFault::NotASummary);
    }
    let found = bytes.len();
    // The version comes before the length, which depends on it.
    if let Some(&version) = bytes[8..].first_chunk().filter(|&&version| version != VERSION.to_le_bytes()) {
        return Err(BytesFault::Version { found: u32::from_le_bytes(version), known: VERSION });
    }
    if found < HEADER {
        return Err(BytesFault::Length { found, expected: HEADER });
    }
    let mut reader = Reader(&bytes[12..]);
    let (d, t, rows, zero_weight_rows) = (reader.u64(), reader.u64(), reader.u64(), reader.u64());
    let (weight_sum, log_weight_sum) = (reader.f64(), reader.f64());
    let expected = length(d, t).ok_or(BytesFault::Content { what: "the number of columns" })?;
    if found != expected {
        return Err(BytesFault::Length { found, expected });
    }
    let (body, stored) = bytes.split_at(expected - 8);
    if checksum(body).to_le_bytes() != stored {
        return Err(BytesFault::Checksum);
    }
    // The bytes are as long as the header says, so these sizes are bounded by what was given.
    let (columns, targets) = (d as usize, t as usize);
    let m = 1 + columns + targets;
    let shift: Vec<f64> = (1..m).map(|_| reader.f64()).collect();
    let exponents: Vec<i32> = (1..m).map(|_| i32::from_le_bytes(reader.take())).collect();
    let mut entries = vec![0.0; m * m];
    for i in 0..m {
        (i..m).for_each(|j| entries[i * m + j] = reader.f64());
    }
    if !shift.iter().chain(&entries).all(|x| x.is_finite()) {
        return Err(BytesFault::Content { what: "a number that is not finite" });
    }
    if !(weight_sum.is_finite() && weight_sum >= 0.0) || (rows == 0) != (weight_sum == 0.0) {
        return Err(BytesFault::Content { what: "the sum of the weights" });
    }
    if !log_weight_sum.is_finite() || (rows == 0 && log_weight_sum != 0.0) {
        return Err(BytesFault::Content { what: "the sum of the weights' logarithms" });
    }
    if exponents.iter().any(|e| e.abs() > 2200) {
        return Err(BytesFault::Content { what: "an exponent" });
    }
    let triangle =
        Triangle::from_row_major(m, entries).ok_or(BytesFault::Content { what: "the triangle" })?;
    Ok(Summary {
        columns,
        targets,
        rows,
        zero_weight_rows,
        weight_sum,
        log_weight_sum,
        shift,
        exponents,
        triangle,
    })
}
