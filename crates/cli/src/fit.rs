//! `spanwise fit`: checked settings ► rows ► one model ► page, JSON and files.

mod coefficients;
mod model;
mod output;
mod ridge;
mod seen;
mod settings;
mod sparse;
mod summary_file;

use crate::Outcome;
use crate::args::{Fit, Model};
use crate::artifact::Written;
use crate::out::{Screen, to_stdout};
use crate::table::{Asked, Gathered, Source, encoded};
use model::AnyFit;
use output::{predict, write_predictions, write_rows};
use seen::Seen;
use settings::Settings;
use spanwise::linear::told::{FitFacts, Fitted};
use spanwise::report::{fitted_text, to_json};

pub(crate) fn run(args: &Fit, screen: Screen) -> anyhow::Result<Outcome> {
    let settings = Settings::new(args)?;
    let matrix = args.file.as_deref().map_or(Ok(None), spanwise_io::read_sparse)?;
    let (fitted, files) = spanwise_io::all_or_none(|| {
        let (fitted, mut files) = match &matrix {
            Some(matrix) => (sparse::run(args, &settings, matrix)?, Written::new()),
            None => of_table(args, &settings, screen.quiet)?,
        };
        if let (Some(out), None) = (&args.out, &args.predict) {
            coefficients::write(out, &fitted, &files)?;
            files.push(("the fit".to_owned(), out.display().to_string()));
        }
        Ok::<_, anyhow::Error>((fitted, files))
    })?;
    show(args, screen, &fitted, &files)?;
    Ok(Outcome::Done)
}

fn of_table(args: &Fit, settings: &Settings, quiet: bool) -> anyhow::Result<(Fitted, Written)> {
    let mut files = Written::new();
    let seen = Seen::read(args, settings, quiet, &mut files)?;
    let table = args.file.as_deref().map(|file| asked(args, settings, file, quiet));
    let (fit, fitted) = model::fit(args, settings, &seen, table.as_ref())?;
    if let (Some(path), Some(table), AnyFit::LeastSquares(fit)) = (&args.rows, &table, &fit) {
        write_rows(path, fit, Source::with_design(table, seen.design.clone(), true)?)?;
        files.push(("rows".to_owned(), path.display().to_string()));
    }
    if let (Some(out), Some(file)) = (&args.out, &args.predict) {
        let source = Source::with_design(&asked(args, settings, file, quiet), seen.design, false)?;
        let predicted = predict(source, file, |x| fit.predict(x, settings.confidence))?;
        write_predictions(out, predicted)?;
        files.push(("predictions".to_owned(), out.display().to_string()));
    }
    Ok((fitted, files))
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
