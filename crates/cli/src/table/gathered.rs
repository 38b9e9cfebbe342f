//! The rows of a table: kept as long as there is room, then let go through a summary. One rule for every verb.

use super::parts::Parts;
use super::{Asked, Rows, Source};
use crate::args::Room;
use crate::failure::Usage;
use spanwise::linear::Summary;
use spanwise::linear::design::Design;
use spanwise::linear::told::{Finding, missing};

/// A summary in the making is some triangles of `side²` numbers: rows that are no more than this many of them stay.
const TRIANGLES: usize = 4;

/// How many rows stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    None,
    /// Up to this many numbers, or to what their summary would take.
    Numbers(usize),
    All,
}

impl Keep {
    /// `--stream`, or `--memory MIB` of numbers.
    pub(crate) fn asked(room: Room) -> Self {
        /// MiB where nothing is said.
        const MEMORY: usize = 128;
        match (room.stream, room.memory) {
            (true, _) => Keep::None,
            (false, memory) => Keep::Numbers(memory.unwrap_or(MEMORY).saturating_mul(1 << 17)),
        }
    }

    /// Whether so many numbers may stay that would otherwise become triangles of this side.
    fn holds(self, numbers: usize, side: usize) -> bool {
        match self {
            Keep::None => false,
            Keep::Numbers(most) => numbers <= most.max(TRIANGLES * side.pow(2)),
            Keep::All => true,
        }
    }
}

/// Where rows go that do not stay.
pub(crate) trait Sink {
    /// The side of its triangle: the ones, the columns, and what stands beside them.
    fn side(&self) -> usize;

    /// Takes the next rows, at least one.
    fn push(&mut self, rows: &Rows) -> anyhow::Result<()>;
}

/// The rows of a table, or what is left of them.
#[derive(Clone, Debug)]
pub(crate) struct Gathered<S = Parts> {
    pub(crate) design: Design,
    /// All rows; none where they were let go.
    pub(crate) kept: Option<Rows>,
    /// All rows where they were let go; otherwise it has seen none.
    pub(crate) sink: S,
    pub(crate) read: u64,
    pub(crate) dropped: u64,
    pub(crate) filled: u64,
    /// Binary digits of the numbers in the file.
    pub(crate) bits: u32,
}

impl<S> Gathered<S> {
    /// What became of missing values.
    pub(crate) fn missing(&self) -> Vec<Finding> {
        missing(self.read, self.dropped, self.filled)
    }
}

impl<S: Sink> Gathered<S> {
    /// Reads the table `file` to its end.
    pub(crate) fn through(mut source: Source, file: &str, keep: Keep, sink: S) -> anyhow::Result<Self> {
        let (design, bits) = (source.design().clone(), source.bits());
        let kept = Some(Rows::default());
        let mut gathered = Gathered { design, kept, sink, read: 0, dropped: 0, filled: 0, bits };
        while let Some(rows) = source.next_rows()? {
            gathered.read += rows.read;
            gathered.dropped += rows.dropped();
            gathered.filled += rows.filled;
            match &mut gathered.kept {
                Some(kept) if keep.holds(kept.x.len() + rows.x.len(), gathered.sink.side()) => {
                    kept.append(rows);
                }
                _ => {
                    let before = gathered.kept.take();
                    for rows in before.iter().chain([&rows]).filter(|rows| rows.count() > 0) {
                        gathered.sink.push(rows)?;
                    }
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
}

impl Gathered {
    /// Reads the table. Rows that do not stay are parted into `folds` as they go; 1 leaves them together.
    pub(crate) fn read(asked: &Asked<'_>, keep: Keep, folds: usize) -> anyhow::Result<Self> {
        let source = Source::open(asked)?;
        let targets = usize::from(asked.target.is_some() && !asked.classes);
        let parts = Parts::new(source.design().names().len(), targets, folds);
        Gathered::through(source, asked.file, keep, parts)
    }

    /// One summary per fold of what was let go.
    pub(crate) fn folds(&self) -> Vec<Summary> {
        self.sink.folds()
    }

    /// The summary of all rows, kept or not.
    pub(crate) fn summary(&self) -> anyhow::Result<Summary> {
        match &self.kept {
            Some(rows) => self.sink.of(rows),
            None => self.sink.all(),
        }
    }
}
