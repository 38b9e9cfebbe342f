//! `.npy`: one array behind a short header written as a Python dictionary.
//!
//! ```text
//! \x93NUMPY  major minor  length (2 bytes, from version 2 on 4)  {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//! ```
//!
//! `V2`, which is how `NumPy` writes a type it does not know of two bytes, is read as bf16: that is what the
//! `ml_dtypes` package makes of it.

use crate::bytes::{Bytes, Encoding, Layout};
use crate::tensor::Order;
use crate::{Format, IoError, Kind, Malformed, Place, Tensor};
use spanwise_kernels::{Dtype, Shape};

pub(crate) const SUPPORTED: &str = "bool, f16, bf16, f32, f64 and integers";
const MAGIC: &[u8] = b"\x93NUMPY";

/// One word: an array of text without dimensions, or with one entry. Bytes (`S`) or four bytes a letter (`U`), of which
/// those of plain letters are kept.
pub(crate) fn decode_word(bytes: &[u8], at: &Place, format: Format) -> Result<String, IoError> {
    let (text_start, text) = header_text(bytes, at, format)?;
    let letters = bytes[text_start + text.len()..].iter();
    let letters = letters.filter(|byte| byte.is_ascii_graphic()).take(16);
    Ok(letters.map(|&byte| char::from(byte)).collect())
}

/// The array that `bytes` holds from start to end.
pub(crate) fn decode(bytes: &Bytes, at: &Place, format: Format) -> Result<Tensor, IoError> {
    let malformed = |problem| IoError::malformed(at.clone(), format, problem);
    let (text_start, text) = header_text(bytes, at, format)?;
    let header = Header::parse(text).map_err(malformed)?;
    let (encoding, big_endian) = encoding(&header.descr).ok_or_else(|| IoError::Dtype {
        at: at.clone(),
        found: header.descr.clone(),
        supported: SUPPORTED,
    })?;
    let shape = Shape::new(&header.dims).map_err(|source| IoError::Shape { at: at.clone(), source })?;
    let start = text_start + text.len();
    let needed = shape.len() * encoding.size();
    let found = bytes.len() - start;
    if found < needed {
        return Err(IoError::Truncated {
            at: at.clone().byte(start as u64),
            what: "the array",
            expected: needed as u64,
            found: found as u64,
        });
    }
    if found > needed {
        return Err(malformed(Malformed::TrailingBytes((found - needed) as u64)));
    }
    let order = if header.fortran_order { Order::ColumnMajor } else { Order::RowMajor };
    Layout { encoding, big_endian, order, shape, bytes: start..start + needed }.tensor(bytes, at)
}

/// Where the header's text starts, and the text.
fn header_text<'a>(bytes: &'a [u8], at: &Place, format: Format) -> Result<(usize, &'a [u8]), IoError> {
    let truncated = |what, expected: usize, start: usize| IoError::Truncated {
        at: at.clone().byte(start as u64),
        what,
        expected: expected as u64,
        found: (bytes.len().saturating_sub(start)) as u64,
    };
    if !bytes.starts_with(MAGIC) && !MAGIC.starts_with(bytes) {
        return Err(IoError::WrongFormat { at: at.clone(), expected: Format::Npy, found: None });
    }
    let &[major, minor] = bytes.get(6..8).ok_or_else(|| truncated("the header", 10, 0))? else {
        unreachable!("two bytes were asked for")
    };
    let (length, start) = match (major, bytes.get(8..10), bytes.get(8..12)) {
        (1, Some(&[a, b]), _) => (usize::from(u16::from_le_bytes([a, b])), 10),
        (2 | 3, _, Some(&[a, b, c, d])) => (u32::from_le_bytes([a, b, c, d]) as usize, 12),
        (1..=3, ..) => return Err(truncated("the header", 12, 0)),
        _ => return Err(IoError::malformed(at.clone(), format, Malformed::Version { major, minor })),
    };
    let text = bytes.get(start..start + length).ok_or_else(|| truncated("the header", length, start))?;
    Ok((start, text))
}

/// What the dictionary says.
struct Header {
    descr: String,
    fortran_order: bool,
    dims: Vec<usize>,
}

impl Header {
    fn parse(text: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor { text, at: 0 };
        let (mut descr, mut fortran_order, mut dims) = (None, None, None);
        cursor.expect(b'{')?;
        while !cursor.take(b'}') {
            let key = cursor.string()?;
            cursor.expect(b':')?;
            match key.as_str() {
                "descr" => descr = Some(cursor.descr()?),
                "fortran_order" => fortran_order = Some(cursor.truth()?),
                "shape" => dims = Some(cursor.tuple()?),
                _ => return Err(cursor.stuck()),
            }
            if !cursor.take(b',') {
                cursor.expect(b'}')?;
                break;
            }
        }
        Ok(Header {
            descr: descr.ok_or(Malformed::HeaderLacks("descr"))?,
            fortran_order: fortran_order.ok_or(Malformed::HeaderLacks("fortran_order"))?,
            dims: dims.ok_or(Malformed::HeaderLacks("shape"))?,
        })
    }
}

/// Reads the few Python literals a header is made of.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn stuck(&self) -> Malformed {
        Malformed::HeaderText { at: self.at }
    }

    /// The next byte that is not blank.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.take(byte) { Ok(()) } else { Err(self.stuck()) }
    }

    fn string(&mut self) -> Result<String, Malformed> {
        let quote = self.peek().filter(|b| matches!(b, b'\'' | b'"')).ok_or_else(|| self.stuck())?;
        let start = self.at + 1;
        let length = memchr::memchr(quote, &self.text[start..]).ok_or_else(|| self.stuck())?;
        self.at = start + length + 1;
        Ok(String::from_utf8_lossy(&self.text[start..start + length]).into_owned())
    }

    /// A type's name. The list of fields of a structured type is kept as it stands, to be shown in the refusal.
    fn descr(&mut self) -> Result<String, Malformed> {
        if self.peek() != Some(b'[') {
            return self.string();
        }
        let start = self.at;
        let length = memchr::memchr(b']', &self.text[start..]).ok_or_else(|| self.stuck())?;
        self.at = start + length + 1;
        Ok(String::from_utf8_lossy(&self.text[start..self.at]).into_owned())
    }

    fn truth(&mut self) -> Result<bool, Malformed> {
        self.peek();
        for (word, value) in [(&b"True"[..], true), (&b"False"[..], false)] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.stuck())
    }

    fn tuple(&mut self) -> Result<Vec<usize>, Malformed> {
        self.expect(b'(')?;
        let mut dims = Vec::new();
        while !self.take(b')') {
            dims.push(self.number()?);
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(dims)
    }

    fn number(&mut self) -> Result<usize, Malformed> {
        self.peek();
        let digits = self.text[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let text = std::str::from_utf8(&self.text[self.at..self.at + digits]).unwrap_or_default();
        let number = text.parse().map_err(|_| self.stuck())?;
        self.at += digits;
        // Python 2 wrote long integers as 3L.
        if self.text.get(self.at) == Some(&b'L') {
            self.at += 1;
        }
        Ok(number)
    }
}

/// `<f4` and the like; and whether it is big-endian.
fn encoding(descr: &str) -> Option<(Encoding, bool)> {
    let (big_endian, name) = match descr.split_at_checked(1)? {
        ("<" | "|", name) => (false, name),
        (">", name) => (true, name),
        ("=", name) => (cfg!(target_endian = "big"), name),
        _ => return None,
    };
    let encoding = match name {
        "b1" => Encoding::Bool,
        "f2" => Encoding::Float(Dtype::F16),
        "f4" => Encoding::Float(Dtype::F32),
        "f8" => Encoding::Float(Dtype::F64),
        "V2" => Encoding::Float(Dtype::Bf16),
        "i1" | "i2" | "i4" | "i8" => Encoding::Signed(usize::from(name.as_bytes()[1] - b'0')),
        "u1" | "u2" | "u4" | "u8" => Encoding::Unsigned(usize::from(name.as_bytes()[1] - b'0')),
        _ => return None,
    };
    Some((encoding, big_endian))
}

/// The header of a row-major, little-endian array, padded so that the elements start at a multiple of 64 bytes.
pub(crate) fn encode_header(kind: Kind, dims: &[usize]) -> Vec<u8> {
    let descr = match kind {
        Kind::Bool => "|b1",
        Kind::F16 => "<f2",
        Kind::Bf16 => "<V2",
        Kind::F32 => "<f4",
        Kind::F64 => "<f8",
    };
    let sizes: Vec<String> = dims.iter().map(ToString::to_string).collect();
    // Python's tuple of one has a comma.
    let shape = sizes.join(", ") + if dims.len() == 1 { "," } else { "" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // At most 4 dimensions of 20 digits: far below the 65,535 bytes of version 1.
    let total = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(64);
    let length = (total - MAGIC.len() - 4) as u16;
    let mut header = Vec::with_capacity(total);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&[1, 0]);
    header.extend_from_slice(&length.to_le_bytes());
    header.extend_from_slice(text.as_bytes());
    header.resize(total - 1, b' ');
    header.push(b'\n');
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_written_as_numpy_writes_them() {
        let text =
            |dims: &[usize]| String::from_utf8_lossy(&encode_header(Kind::F32, dims)[10..]).into_owned();
        assert!(text(&[2, 3]).starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"));
        assert!(text(&[5]).contains("'shape': (5,), }"));
        assert!(text(&[]).contains("'shape': (), }"));
        assert_eq!(encode_header(Kind::Bool, &[7, 7, 7, 7]).len() % 64, 0);
    }

    #[test]
    fn headers_of_other_writers_are_understood() {
        let parse = |text: &str| Header::parse(text.as_bytes()).map(|h| (h.descr, h.fortran_order, h.dims));
        let plain = parse("{\"shape\":(3L,4),'fortran_order':True,'descr':'>i2'}\n");
        assert_eq!(plain, Ok((">i2".to_owned(), true, vec![3, 4])));
        let structured = parse("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }");
        assert_eq!(structured.unwrap().0, "[('a', '<f4')]");
        assert_eq!(parse("{'descr': '<f4', 'shape': ()}"), Err(Malformed::HeaderLacks("fortran_order")));
        for bad in ["", "{", "{'descr'", "{'descr': 3}", "{'shape': (99999999999999999999,)}", "{'x': 1}"] {
            assert!(matches!(parse(bad), Err(Malformed::HeaderText { .. })), "{bad}");
        }
    }
}
