//! Rows kept as long as there is room; beyond that, batches that pass by.

use super::{Rows, Source};
use crate::failure::Usage;

/// Rows up to this many MiB are kept unless `--memory` says otherwise.
const MEMORY: usize = 128;

/// How many numbers are kept, by `--stream` and `--memory MIB`.
pub(crate) fn most_kept(stream: bool, memory: Option<usize>) -> usize {
    if stream { 0 } else { memory.unwrap_or(MEMORY).saturating_mul(1 << 17) }
}

/// What became of the rows of a table.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// All of them; `None` where there were too many to keep, and each has passed by.
    pub(crate) kept: Option<Rows>,
    pub(crate) read: u64,
    pub(crate) dropped: u64,
    pub(crate) filled: u64,
}

/// Reads the table to its end. Rows of more than `most` numbers are given to `pass` in place of being kept: those so far, then batch by
/// batch.
pub(crate) fn gather(
    source: &mut Source,
    file: &str,
    most: usize,
    mut pass: impl FnMut(&Rows) -> anyhow::Result<()>,
) -> anyhow::Result<Gathered> {
    let mut gathered = Gathered { kept: Some(Rows::default()), read: 0, dropped: 0, filled: 0 };
    while let Some(rows) = source.next_rows()? {
        gathered.read += rows.read;
        gathered.dropped += rows.dropped();
        gathered.filled += rows.filled;
        match &mut gathered.kept {
            Some(kept) if kept.x.len() + rows.x.len() <= most => kept.append(rows),
            _ => {
                if let Some(kept) = gathered.kept.take().filter(|kept| kept.count() > 0) {
                    pass(&kept)?;
                }
                pass(&rows)?;
            }
        }
    }
    if gathered.read == gathered.dropped {
        let message = format!("{file}: no row is left of {}", gathered.read);
        let hint = "every row has a missing value; `--exclude` columns, or `--missing mean`";
        return Err(Usage::with_hint(message, hint).into());
    }
    Ok(gathered)
}
