//! Files of every format: written and read again, as others write them, and broken in many ways.

mod bad_inputs;
mod other_writers;
mod round_trip;

use std::path::{Path, PathBuf};

/// A file that another package wrote.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}
