//! What a model is fitted to: the rows of a table, or a summary of rows that were not kept.

use super::settings::Settings;
use super::summary_file::SummaryFile;
use super::{asked, facts};
use crate::args::Fit;
use crate::artifact::Written;
use crate::failure::Usage;
use crate::table::{Gathered, Keep, Rows};
use spanwise::linear::Summary;
use spanwise::linear::design::Design;
use spanwise::linear::told::FitFacts;

/// What was seen, and what is known besides the numbers.
pub(super) struct Seen {
    pub(super) data: Data,
    pub(super) facts: FitFacts,
    pub(super) design: Design,
}

pub(super) enum Data {
    Rows(Rows),
    /// Of all rows, and of each fold where they were parted.
    Summary {
        all: Summary,
        folds: Vec<Summary>,
    },
}

impl Seen {
    /// Reads the table, merges summaries into it, and writes the summary where one is asked for.
    pub(super) fn read(
        args: &Fit,
        settings: &Settings,
        quiet: bool,
        files: &mut Written,
    ) -> anyhow::Result<Self> {
        let merged = SummaryFile::read_all(&args.merge)?;
        let gathered = match &args.file {
            Some(file) => {
                let keep = if merged.is_some() { Keep::None } else { settings.keep };
                Some(Gathered::read(&asked(args, settings, file, quiet), keep, settings.folds)?)
            }
            None => None,
        };
        match (gathered, merged) {
            (Some(gathered), None) => {
                if args.summary_out.is_some() {
                    write(args, &SummaryFile::of(args, &gathered)?, files)?;
                }
                let facts = facts(args, settings, &gathered);
                let data = match gathered.kept {
                    Some(rows) => Data::Rows(rows),
                    None => Data::Summary { all: gathered.summary()?, folds: gathered.folds() },
                };
                Ok(Seen { data, facts, design: gathered.design })
            }
            (gathered, Some(mut merged)) => {
                if let Some(gathered) = gathered {
                    let file = args.file.as_deref().unwrap_or_default();
                    merged.merge(&SummaryFile::of(args, &gathered)?, file)?;
                }
                write(args, &merged, files)?;
                let (facts, design) = (merged.facts(settings)?, merged.design()?);
                Ok(Seen { data: Data::Summary { all: merged.summary, folds: Vec::new() }, facts, design })
            }
            (None, None) => Err(Usage::new("there is neither a table nor a summary to fit").into()),
        }
    }

    /// The rows, for a model that nothing less determines.
    pub(super) fn rows(&self) -> Result<&Rows, Usage> {
        match &self.data {
            Data::Rows(rows) => Ok(rows),
            Data::Summary { .. } => Err(Usage::new("this model needs the rows of a table")),
        }
    }
}

fn write(args: &Fit, summary: &SummaryFile, files: &mut Written) -> anyhow::Result<()> {
    if let Some(path) = &args.summary_out {
        summary.write(path)?;
        files.push(("the summary".to_owned(), path.display().to_string()));
    }
    Ok(())
}
