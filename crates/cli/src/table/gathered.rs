//! The rows of a table: kept as long as there is room, then let go through a summary.

use super::{Asked, Rows, Source};
use crate::failure::Usage;
use spanwise::View;
use spanwise::linear::design::Design;
use spanwise::linear::fit::Folds;
use spanwise::linear::{NoColumns, Summary, SummaryStream};

/// A summary in the making is some triangles of `width²` numbers: rows that are no more than this many of them stay.
const TRIANGLES: usize = 4;
/// Where the order of folds starts.
pub(crate) const SEED: u64 = 0;

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
    pub(crate) fn asked(stream: bool, memory: Option<usize>) -> Self {
        /// MiB where nothing is said.
        const MEMORY: usize = 128;
        match (stream, memory) {
            (true, _) => Keep::None,
            (false, memory) => Keep::Numbers(memory.unwrap_or(MEMORY).saturating_mul(1 << 17)),
        }
    }

    /// Whether so many numbers of rows with so many columns may stay.
    fn holds(self, numbers: usize, width: usize) -> bool {
        match self {
            Keep::None => false,
            Keep::Numbers(most) => numbers <= most.max(TRIANGLES * (width + 2).pow(2)),
            Keep::All => true,
        }
    }
}

/// The rows of a table, or what is left of them.
#[derive(Clone, Debug)]
pub(crate) struct Gathered {
    pub(crate) design: Design,
    /// Kept rows; none where they were let go.
    pub(crate) kept: Option<Rows>,
    /// What was let go: one part, or one per fold.
    parts: Vec<SummaryStream>,
    fold: Folds,
    targets: usize,
    pub(crate) read: u64,
    pub(crate) dropped: u64,
    pub(crate) filled: u64,
    /// Binary digits of the numbers in the file.
    pub(crate) bits: u32,
}

impl Gathered {
    /// Reads the table. Rows that do not stay are parted into `folds` as they go; 1 leaves them together.
    pub(crate) fn read(asked: &Asked<'_>, keep: Keep, folds: usize) -> anyhow::Result<Self> {
        let mut source = Source::open(asked)?;
        let (design, bits) = (source.design().clone(), source.bits());
        let width = design.names().len();
        let targets = usize::from(asked.target.is_some() && !asked.classes);
        let mut gathered = Gathered {
            parts: vec![SummaryStream::new(width, targets); folds.max(1)],
            fold: Folds::new(folds, SEED),
            kept: Some(Rows::default()),
            targets,
            read: 0,
            dropped: 0,
            filled: 0,
            bits,
            design,
        };
        while let Some(rows) = source.next_rows()? {
            gathered.read += rows.read;
            gathered.dropped += rows.dropped();
            gathered.filled += rows.filled;
            match &mut gathered.kept {
                Some(kept) if keep.holds(kept.x.len() + rows.x.len(), width) => kept.append(rows),
                _ => {
                    gathered.let_go()?;
                    gathered.push(&rows)?;
                }
            }
        }
        if gathered.read == gathered.dropped {
            let message = format!("{}: no row is left of {}", asked.file, gathered.read);
            let hint = "every row has a missing value; `--exclude` columns, or `--missing mean`";
            return Err(Usage::with_hint(message, hint).into());
        }
        Ok(gathered)
    }

    /// Lets go of rows that were kept.
    pub(crate) fn let_go(&mut self) -> anyhow::Result<()> {
        if let Some(kept) = self.kept.take()
            && kept.count() > 0
        {
            self.push(&kept)?;
        }
        Ok(())
    }

    fn push(&mut self, rows: &Rows) -> anyhow::Result<()> {
        if let [part] = &mut self.parts[..] {
            return push(part, rows, self.targets);
        }
        let mut of_folds = vec![Rows::default(); self.parts.len()];
        for (i, fold) in (0..rows.count()).zip(&mut self.fold) {
            of_folds[fold].append_row(rows, i);
        }
        let parts = self.parts.iter_mut().zip(&of_folds).filter(|(_, rows)| rows.count() > 0);
        for (part, rows) in parts {
            push(part, rows, self.targets)?;
        }
        Ok(())
    }

    /// One summary per fold of what was let go.
    pub(crate) fn folds(&self) -> Vec<Summary> {
        self.parts.iter().map(SummaryStream::finish).collect()
    }

    /// The summary of all rows, kept or not.
    pub(crate) fn summary(&self) -> anyhow::Result<Summary> {
        let mut all = Summary::new(self.design.names().len(), self.targets);
        for part in self.folds() {
            all.merge(&part)?;
        }
        if let Some(kept) = &self.kept {
            let mut stream = SummaryStream::new(self.design.names().len(), self.targets);
            push(&mut stream, kept, self.targets)?;
            all.merge(&stream.finish())?;
        }
        Ok(all)
    }
}

fn push(stream: &mut SummaryStream, rows: &Rows, targets: usize) -> anyhow::Result<()> {
    let x = View::new(&rows.x, &[rows.count(), rows.width])?;
    let weights = rows.weights.as_deref();
    if targets == 0 {
        stream.push(&x, &NoColumns(rows.count()), weights)?;
    } else {
        stream.push(&x, &rows.y[..], weights)?;
    }
    Ok(())
}
