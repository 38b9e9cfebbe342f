//! Least squares: rows kept as long as there is room, then one pass through a summary.

use super::output::{Predicted, predict, write_predictions, write_rows};
use super::settings::Settings;
use super::summary_file::SummaryFile;
use super::{asked, facts};
use crate::args::Fit;
use crate::artifact::Written;
use crate::failure::Usage;
use crate::table::{Gathered, Keep, Source};
use spanwise::View;
use spanwise::linear::told::{Fitted, least_squares};
use spanwise::linear::{LeastSquares, LinearFit};

pub(super) fn run(args: &Fit, settings: &Settings, quiet: bool) -> anyhow::Result<(Fitted, Written)> {
    let merged = SummaryFile::read_all(&args.merge)?;
    let gathered = match &args.file {
        Some(file) => {
            let keep = if merged.is_some() { Keep::None } else { settings.keep };
            Some(Gathered::read(&asked(args, settings, file, quiet), keep, 1)?)
        }
        None => None,
    };
    let least = LeastSquares::new().intercept(settings.intercept);
    let mut files = Written::new();
    let (fit, told, design) = match (gathered, merged) {
        (Some(gathered), None) => {
            let fit = fitted_to(&gathered, &least.stored_bits(gathered.bits))?;
            if let Some(path) = &args.summary_out {
                SummaryFile::of(args, &gathered)?.write(path)?;
                files.push(("the summary".to_owned(), path.display().to_string()));
            }
            (fit, facts(args, settings, &gathered), gathered.design)
        }
        (gathered, Some(mut merged)) => {
            if let Some(gathered) = gathered {
                merged.merge(&SummaryFile::of(args, &gathered)?, args.file.as_deref().unwrap_or_default())?;
            }
            if let Some(path) = &args.summary_out {
                merged.write(path)?;
                files.push(("the summary".to_owned(), path.display().to_string()));
            }
            let fit = least.stored_bits(merged.bits()).fit_summary(&merged.summary)?;
            (fit, merged.facts(settings)?, merged.design()?)
        }
        (None, None) => return Err(Usage::new("there is neither a table nor a summary to fit").into()),
    };
    let fitted = least_squares(&fit, &told)?;
    if let (Some(path), Some(file)) = (&args.rows, &args.file) {
        write_rows(
            path,
            &fit,
            Source::with_design(&asked(args, settings, file, quiet), design.clone(), true)?,
        )?;
        files.push(("rows".to_owned(), path.display().to_string()));
    }
    if let (Some(out), Some(file)) = (&args.out, &args.predict) {
        let source = Source::with_design(&asked(args, settings, file, quiet), design, false)?;
        let predicted = predict(source, file, |x| intervals(&fit, x, settings.confidence))?;
        write_predictions(out, predicted)?;
        files.push(("predictions".to_owned(), out.display().to_string()));
    }
    Ok((fitted, files))
}

fn intervals(fit: &LinearFit, x: View<'_, f64>, confidence: f64) -> anyhow::Result<Predicted> {
    let middle = fit.predict(&x)?.col(0);
    let intervals = fit.prediction_intervals(&x, 0, confidence)?;
    let percent = 100.0 * confidence;
    Ok(Predicted {
        numbers: vec![
            ("prediction".to_owned(), middle),
            (format!("lower {percent} %"), intervals.iter().map(|interval| interval.lower).collect()),
            (format!("upper {percent} %"), intervals.iter().map(|interval| interval.upper).collect()),
        ],
        classes: None,
    })
}

fn fitted_to(gathered: &Gathered, least: &LeastSquares) -> anyhow::Result<LinearFit> {
    let Some(rows) = &gathered.kept else {
        return Ok(least.fit_summary(&gathered.summary()?)?);
    };
    Ok(match &rows.weights {
        Some(weights) => least.fit_weighted(&rows.view()?, &rows.y[..], weights)?,
        None => least.fit(&rows.view()?, &rows.y[..])?,
    })
}
