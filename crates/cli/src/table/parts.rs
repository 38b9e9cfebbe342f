//! Summaries of rows that do not stay: one of all, or one per fold.

use super::Rows;
use super::gathered::Sink;
use spanwise::linear::fit::Folds;
use spanwise::linear::{NoColumns, Summary, SummaryStream};

/// Where the order of folds starts.
pub(crate) const SEED: u64 = 0;

/// Summaries in the making.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// One part, or one per fold.
    streams: Vec<SummaryStream>,
    /// The folds of the next rows.
    fold: Folds,
    columns: usize,
    targets: usize,
}

impl Parts {
    pub(super) fn new(columns: usize, targets: usize, folds: usize) -> Self {
        let streams = vec![SummaryStream::new(columns, targets); folds.max(1)];
        Parts { streams, fold: Folds::new(folds, SEED), columns, targets }
    }

    pub(super) fn folds(&self) -> Vec<Summary> {
        self.streams.iter().map(SummaryStream::finish).collect()
    }

    /// The summary of all rows that were taken.
    pub(super) fn all(&self) -> anyhow::Result<Summary> {
        let mut all = Summary::new(self.columns, self.targets);
        for part in self.folds() {
            all.merge(&part)?;
        }
        Ok(all)
    }

    /// The summary of rows that were not.
    pub(super) fn of(&self, rows: &Rows) -> anyhow::Result<Summary> {
        let mut stream = SummaryStream::new(self.columns, self.targets);
        push(&mut stream, rows, self.targets)?;
        Ok(stream.finish())
    }
}

impl Sink for Parts {
    fn side(&self) -> usize {
        1 + self.columns + self.targets
    }

    fn push(&mut self, rows: &Rows) -> anyhow::Result<()> {
        if let [part] = &mut self.streams[..] {
            return push(part, rows, self.targets);
        }
        let mut of_folds = vec![Rows::default(); self.streams.len()];
        for (i, fold) in (0..rows.count()).zip(&mut self.fold) {
            of_folds[fold].append_row(rows, i);
        }
        let parts = self.streams.iter_mut().zip(&of_folds).filter(|(_, rows)| rows.count() > 0);
        for (part, rows) in parts {
            push(part, rows, self.targets)?;
        }
        Ok(())
    }
}

fn push(stream: &mut SummaryStream, rows: &Rows, targets: usize) -> anyhow::Result<()> {
    let weights = rows.weights.as_deref();
    if targets == 0 {
        stream.push(&rows.view()?, &NoColumns(rows.count()), weights)?;
    } else {
        stream.push(&rows.view()?, &rows.y[..], weights)?;
    }
    Ok(())
}
