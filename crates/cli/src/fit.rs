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
use crate::failure::Usage;
use crate::out::{Screen, to_stdout};
use crate::table::{Asked, Gathered, Source, encoded};
use model::AnyFit;
use output::{predict, write_predictions, write_rows};
use seen::Seen;
use settings::Settings;
use spanwise::linear::LinearError;
use spanwise::linear::told::{FitFacts, Fitted, broken_dependencies, counted};
use spanwise::report::{fitted_text, to_json};
use spanwise_io::quoted;

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
    let found = model::fit(args, settings, &seen, table.as_ref());
    let (fit, mut fitted) = found.map_err(|error| in_options(error, args, &seen.facts))?;
    if let (Some(path), Some(table), AnyFit::LeastSquares(fit)) = (&args.rows, &table, &fit) {
        write_rows(path, fit, Source::with_design(table, seen.design.clone(), true)?)?;
        files.push(("rows".to_owned(), path.display().to_string()));
    }
    if let (Some(out), Some(file)) = (&args.out, &args.predict) {
        let names = seen.facts.names;
        let source = Source::with_design(&asked(args, settings, file, quiet), seen.design, false)?;
        let predicted = predict(source, file, |x| fit.predict(x, settings.confidence))?;
        if let AnyFit::LeastSquares(fit) = &fit {
            fitted.add(broken_dependencies(fit, predicted.broken(), &names));
        }
        fitted.add(predicted.missing());
        write_predictions(out, predicted)?;
        files.push(("predictions".to_owned(), out.display().to_string()));
    }
    Ok((fitted, files))
}

/// The library speaks of its arguments; here they are options.
fn in_options(error: anyhow::Error, args: &Fit, facts: &FitFacts) -> anyhow::Error {
    let Some(&LinearError::OutOfRange { argument, .. }) = error.downcast_ref() else { return error };
    let rows = counted((facts.rows_read - facts.rows_dropped.min(facts.rows_read)) as usize, "row", "rows");
    match (argument, &args.weights, &args.choose) {
        ("sum of weights", Some(column), _) => {
            let column = quoted(column);
            Usage::new(format!("`--weights`: {column} adds up to 0; expected a weight above 0 for some row"))
                .into()
        }
        ("folds", _, Some(choose)) => Usage::new(format!(
            "`--choose {choose}` parts {rows}; expected at most as many folds as there are rows"
        ))
        .into(),
        ("folds" | "rows to choose a penalty by", ..) => {
            let message =
                format!("{rows}: too few to choose a penalty by; expected rows that others predict");
            Usage::with_hint(message, "`--lambda L` gives one").into()
        }
        _ => error,
    }
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
