//! `spanwise fit`: checked settings ► rows ► one model ► page, JSON and files.

mod least_squares;
mod other;
mod output;
mod settings;
mod sparse;
mod summary_file;

use crate::Outcome;
use crate::args::{Fit, Model};
use crate::artifact::Written;
use crate::out::{Screen, to_stdout};
use crate::table::{Asked, Gathered, encoded};
use settings::Settings;
use spanwise::linear::told::{FitFacts, Fitted};
use spanwise::report::{fitted_text, to_json};

pub(crate) fn run(args: &Fit, screen: Screen) -> anyhow::Result<Outcome> {
    let settings = Settings::new(args)?;
    let matrix = args.file.as_deref().map_or(Ok(None), spanwise_io::read_sparse)?;
    let (fitted, files) = spanwise_io::all_or_none(|| match (&matrix, args.model) {
        (Some(matrix), _) => sparse::run(args, &settings, matrix),
        (None, Model::LeastSquares) => least_squares::run(args, &settings, screen.quiet),
        (None, _) => other::run(args, &settings, screen.quiet),
    })?;
    show(args, screen, &fitted, &files)?;
    Ok(Outcome::Done)
}

fn show(args: &Fit, screen: Screen, fitted: &Fitted, files: &Written) -> anyhow::Result<()> {
    if args.json {
        return to_stdout(&to_json(fitted)?);
    }
    if screen.quiet {
        return Ok(());
    }
    to_stdout(&fitted_text(fitted, files, screen.ink))
}

/// What is asked of the table `file`.
fn asked<'a>(args: &'a Fit, settings: &Settings, file: &'a str, quiet: bool) -> Asked<'a> {
    Asked {
        target: args.target.as_deref(),
        classes: matches!(args.model, Model::Logistic | Model::Softmax),
        weights: args.weights.as_deref(),
        degree: settings.degree,
        interactions: args.interactions,
        ..Asked::plain(file, &args.pick, quiet)
    }
}

/// What is known besides the numbers.
fn facts(args: &Fit, settings: &Settings, gathered: &Gathered) -> FitFacts {
    FitFacts {
        target: args.target.clone().unwrap_or_default(),
        names: gathered.design.names().to_vec(),
        weights: args.weights.clone(),
        intercept: settings.intercept,
        confidence: settings.confidence,
        encodings: encoded(&gathered.design),
        rows_read: gathered.read,
        rows_dropped: gathered.dropped,
        values_filled: gathered.filled,
        streamed: gathered.kept.is_none(),
        bits: gathered.bits,
    }
}
