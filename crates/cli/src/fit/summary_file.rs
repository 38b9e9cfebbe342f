//! A summary with the names of its columns, as a file.
//!
//! ```text
//!  "SPANFIT 1\n"   one line of JSON: target, fields, settings, counts   the summary's own bytes
//! ```

use super::settings::Settings;
use crate::args::{Fit, MissingWord};
use crate::failure::Usage;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use spanwise::linear::Summary;
use spanwise::linear::design::{self, Design, Field, Missing};
use spanwise::linear::told::FitFacts;
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"SPANFIT 1\n";

/// A column's name, and the levels and the reference level of a category.
type NamedColumn = (String, Option<(Vec<String>, String)>);

/// Everything about the columns that merging and predicting need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct About {
    target: String,
    weights: Option<String>,
    fields: Vec<NamedColumn>,
    degree: usize,
    interactions: bool,
    drop_missing: bool,
    rows_read: u64,
    rows_dropped: u64,
}

#[derive(Clone, Debug)]
pub(super) struct SummaryFile {
    about: About,
    pub(super) summary: Summary,
}

impl SummaryFile {
    pub(super) fn new(args: &Fit, design: &Design, summary: Summary, [read, dropped]: [u64; 2]) -> Self {
        let field = |encoding: &design::Encoding| {
            let levels = encoding.levels.as_ref();
            let levels = levels.map(|levels| (levels.all.clone(), levels.all[levels.reference].clone()));
            (encoding.name.clone(), levels)
        };
        let about = About {
            target: args.target.clone().unwrap_or_default(),
            weights: args.weights.clone(),
            fields: design.encodings().iter().map(field).collect(),
            degree: args.degree.unwrap_or(if args.interactions { 2 } else { 1 }),
            interactions: args.interactions,
            drop_missing: args.pick.missing == MissingWord::Drop,
            rows_read: read,
            rows_dropped: dropped,
        };
        SummaryFile { about, summary }
    }

    /// All of them merged; `None` of none.
    pub(super) fn read_all(paths: &[PathBuf]) -> anyhow::Result<Option<Self>> {
        let mut all: Option<SummaryFile> = None;
        for path in paths {
            let next = SummaryFile::read(path).with_context(|| format!("`--merge`: {}", path.display()))?;
            match &mut all {
                Some(all) => all.merge(&next, &path.display().to_string())?,
                None => all = Some(next),
            }
        }
        Ok(all)
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(path)?;
        let not_one = || Usage::new("not a summary that `--summary-out` wrote");
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(not_one)?;
        let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(not_one)?;
        let about: About = serde_json::from_slice(&rest[..end]).map_err(|_| not_one())?;
        let file = SummaryFile { about, summary: Summary::from_bytes(&rest[end + 1..])? };
        if file.design()?.names().len() != file.summary.columns() {
            return Err(not_one().into());
        }
        Ok(file)
    }

    pub(super) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(serde_json::to_vec(&self.about)?);
        bytes.push(b'\n');
        bytes.extend(self.summary.to_bytes());
        spanwise_io::write_bytes(path, &bytes).context("`--summary-out`")
    }

    /// Adds the rows of another, of the same columns.
    pub(super) fn merge(&mut self, other: &SummaryFile, name: &str) -> anyhow::Result<()> {
        let same = About {
            rows_read: self.about.rows_read,
            rows_dropped: self.about.rows_dropped,
            ..other.about.clone()
        };
        if same != self.about {
            let message =
                format!("`--merge`: {name} is of other columns, levels or settings than the one before it");
            let hint = format!("columns {} here, {} before", names(&other.about), names(&self.about));
            return Err(Usage::with_hint(message, hint).into());
        }
        self.summary.merge(&other.summary)?;
        self.about.rows_read += other.about.rows_read;
        self.about.rows_dropped += other.about.rows_dropped;
        Ok(())
    }

    pub(super) fn design(&self) -> anyhow::Result<Design> {
        let field = |(name, levels): &NamedColumn| Field {
            name: name.clone(),
            levels: levels.as_ref().map(|(all, _)| all.clone()),
        };
        let reference = |(name, levels): &NamedColumn| {
            levels.as_ref().map(|(_, reference)| (name.clone(), reference.clone()))
        };
        let settings = design::Settings {
            missing: if self.about.drop_missing { Missing::Drop } else { Missing::Error },
            references: self.about.fields.iter().filter_map(reference).collect(),
            degree: self.about.degree,
            interactions_only: self.about.interactions,
        };
        let fields: Vec<Field> = self.about.fields.iter().map(field).collect();
        Ok(Design::new(&fields, &settings)?)
    }

    pub(super) fn facts(&self, settings: &Settings) -> anyhow::Result<FitFacts> {
        let design = self.design()?;
        Ok(FitFacts {
            target: self.about.target.clone(),
            names: design.names().to_vec(),
            weights: self.about.weights.clone(),
            intercept: settings.intercept,
            confidence: settings.confidence,
            encodings: super::encoded(&design),
            rows_read: self.about.rows_read,
            rows_dropped: self.about.rows_dropped,
            values_filled: 0,
            streamed: true,
        })
    }
}

fn names(about: &About) -> String {
    about.fields.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}
