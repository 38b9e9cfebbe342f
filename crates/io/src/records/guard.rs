//! A net under the decoders.

use crate::{Format, IoError, Malformed, Place};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a foreign decoder, where a panic is about to become an [`IoError`].
///
/// A program that prints errors itself asks this in its panic hook, so that a damaged file gives one line and not
/// also the decoder's last words.
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Runs `decode`, and turns a panic in it into an error about the file.
///
/// The decoders of Parquet and Arrow check much but not all of what they are given; some inconsistent files end in a
/// failed assertion inside them. What can be checked beforehand is (sizes, offsets, claims of unpacked size); this
/// is for the rest. Nothing that was half made is looked at afterwards, so unwinding leaves no broken state.
pub(super) fn guarded<T>(
    at: &Place,
    format: Format,
    decode: impl FnOnce() -> Result<T, IoError>,
) -> Result<T, IoError> {
    let before = DECODING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(before);
    result.unwrap_or_else(|_| Err(IoError::malformed(at.clone(), format, Malformed::Inconsistent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_inside_a_decoder_becomes_an_error_and_is_known_as_one() {
        let place = Place::file("data.parquet");
        let error = guarded(&place, Format::Parquet, || -> Result<(), IoError> {
            assert!(is_decoding());
            std::panic::resume_unwind(Box::new("as an assertion would"))
        });
        assert!(error.unwrap_err().to_string().starts_with("data.parquet"));
        assert!(!is_decoding());
    }
}
