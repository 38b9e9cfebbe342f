//! A summary with the names of its columns, as a file.
//!
//! ```text
//!  "SPANFIT 1\n"   one line of JSON: target, fields, settings, counts   the summary's own bytes
//! ```

use super::settings::Settings;
use crate::args::{Fit, MissingWord};
use crate::failure::Usage;
use crate::table::Gathered;
use anyhow::Context;
use serde::{Deserialize, Serialize};
use spanwise::linear::Summary;
use spanwise::linear::design::{self, Design, Field, Missing};
use spanwise::linear::summary::Combination;
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
    /// Binary digits of the numbers in the tables, the fewest of all.
    #[serde(default = "of_f64")]
    bits: u32,
}

fn of_f64() -> u32 {
    f64::MANTISSA_DIGITS
}

#[derive(Clone, Debug)]
pub(super) struct SummaryFile {
    about: About,
    pub(super) summary: Summary,
}

impl SummaryFile {
    /// Of all rows of a table.
    pub(super) fn of(args: &Fit, gathered: &Gathered) -> anyhow::Result<Self> {
        let field = |encoding: &design::Encoding| {
            let levels = encoding.levels.as_ref();
            let levels = levels.map(|levels| (levels.all.clone(), levels.all[levels.reference].clone()));
            (encoding.name.clone(), levels)
        };
        let about = About {
            target: args.target.clone().unwrap_or_default(),
            weights: args.weights.clone(),
            fields: gathered.design.encodings().iter().map(field).collect(),
            degree: args.degree.unwrap_or(if args.interactions { 2 } else { 1 }),
            interactions: args.interactions,
            drop_missing: args.pick.missing == MissingWord::Drop,
            rows_read: gathered.read,
            rows_dropped: gathered.dropped,
            bits: gathered.bits,
        };
        Ok(SummaryFile { about, summary: gathered.summary()? })
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
        if file.design()?.names().len() != file.summary.columns() || file.summary.targets() != 1 {
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

    /// Adds the rows of another, of the same columns; levels that one of them has not met count as 0 there.
    pub(super) fn merge(&mut self, other: &SummaryFile, name: &str) -> anyhow::Result<()> {
        self.about.check(&other.about, name)?;
        if self.about.fields == other.about.fields {
            self.summary.merge(&other.summary)?;
        } else {
            let fields = union(&self.about.fields, &other.about.fields);
            self.summary = self.summary.recombined(&combinations(&self.about.fields, &fields));
            self.summary.merge(&other.summary.recombined(&combinations(&other.about.fields, &fields)))?;
            self.about.fields = fields;
        }
        self.about.rows_read += other.about.rows_read;
        self.about.rows_dropped += other.about.rows_dropped;
        self.about.bits = self.about.bits.min(other.about.bits);
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
            bits: self.about.bits,
        })
    }
}

impl About {
    /// An error unless rows of both can be of one fit.
    fn check(&self, other: &About, name: &str) -> Result<(), Usage> {
        let error = |what: &str, here: String, before: String| {
            let message = format!("`--merge`: {name} is of other {what} than the one before it");
            Err(Usage::with_hint(message, format!("{here} here, {before} before")))
        };
        let columns = |about: &About| {
            let of = |(name, levels): &NamedColumn| match levels {
                Some(_) => format!("{name} (text)"),
                None => name.clone(),
            };
            about.fields.iter().map(of).collect::<Vec<_>>().join(", ")
        };
        if columns(self) != columns(other) {
            return error("columns", columns(other), columns(self));
        }
        let target = |about: &About| match &about.weights {
            Some(weights) => format!("target {}, weights {weights}", about.target),
            None => format!("target {}, no weights", about.target),
        };
        if target(self) != target(other) {
            return error("target or weights", target(other), target(self));
        }
        let settings = |about: &About| {
            let missing = if about.drop_missing { "dropped" } else { "an error" };
            let products = if about.interactions { ", interactions only" } else { "" };
            format!("degree {}{products}, missing values {missing}", about.degree)
        };
        if settings(self) != settings(other) {
            return error("settings", settings(other), settings(self));
        }
        let differs = self.fields.iter().zip(&other.fields).find(|(a, b)| a != b);
        if let Some((before, here)) = differs.filter(|_| self.degree > 1 || self.interactions) {
            let levels = |(name, levels): &NamedColumn| {
                let (all, reference) = levels.clone().unwrap_or_default();
                format!("{name} has {} without {reference}", all.join(", "))
            };
            return error("levels, of which products are formed,", levels(here), levels(before));
        }
        Ok(())
    }
}

/// The columns of both: levels in the order in which they were met, the reference of the first.
fn union(first: &[NamedColumn], second: &[NamedColumn]) -> Vec<NamedColumn> {
    let both = |((name, a), (_, b)): (&NamedColumn, &NamedColumn)| {
        let levels = a.as_ref().zip(b.as_ref()).map(|((all, reference), (others, _))| {
            let new = others.iter().filter(|level| !all.contains(level));
            (all.iter().chain(new).cloned().collect(), reference.clone())
        });
        (name.clone(), levels)
    };
    first.iter().zip(second).map(both).collect()
}

/// The columns of `to` in those of `from`, which has the same fields with fewer levels, in any order, and its own references.
fn combinations(from: &[NamedColumn], to: &[NamedColumn]) -> Vec<Combination> {
    let (mut all, mut first) = (Vec::new(), 0);
    let itself = |j: usize| Combination { terms: vec![(j, 1.0)], constant: 0.0 };
    for ((_, from), (_, to)) in from.iter().zip(to) {
        let (Some((known, own)), Some((levels, reference))) = (from, to) else {
            all.push(itself(first));
            first += 1;
            continue;
        };
        let with_column: Vec<&String> = known.iter().filter(|level| *level != own).collect();
        for level in levels.iter().filter(|level| *level != reference) {
            let place = with_column.iter().position(|known| *known == level);
            all.push(match place {
                Some(place) => itself(first + place),
                // Where none of the others is.
                None if level == own => Combination {
                    terms: (0..with_column.len()).map(|place| (first + place, -1.0)).collect(),
                    constant: 1.0,
                },
                None => Combination::default(),
            });
        }
        first += with_column.len();
    }
    all
}
