//! Least squares: rows kept as long as there is room, then one pass through a summary.

use super::output::{Predicted, predict, write_predictions, write_rows};
use super::settings::Settings;
use super::summary_file::SummaryFile;
use super::{asked, encoded};
use crate::args::Fit;
use crate::artifact::Written;
use crate::failure::Usage;
use crate::table::{Rows, Source, gather};
use anyhow::Context;
use spanwise::View;
use spanwise::linear::design::Design;
use spanwise::linear::told::{FitFacts, Fitted, least_squares};
use spanwise::linear::{LeastSquares, LinearFit, Summary, SummaryStream};

pub(super) fn run(args: &Fit, settings: &Settings, quiet: bool) -> anyhow::Result<(Fitted, Written)> {
    let merged = SummaryFile::read_all(&args.merge)?;
    let gathered = match &args.file {
        Some(file) => Some(Gathered::read(args, settings, file, quiet, merged.is_some())?),
        None => None,
    };
    let least = LeastSquares::new().intercept(settings.intercept);
    let mut files = Written::new();
    let (fit, facts, design) = match (gathered, merged) {
        (Some(gathered), None) => {
            let fit = gathered.fit(&least.stored_bits(gathered.bits))?;
            if let Some(path) = &args.summary_out {
                gathered.summary_file(args)?.write(path)?;
                files.push(("the summary".to_owned(), path.display().to_string()));
            }
            (fit, gathered.facts(args, settings), gathered.design)
        }
        (gathered, Some(mut merged)) => {
            if let Some(gathered) = gathered {
                merged.merge(&gathered.summary_file(args)?, args.file.as_deref().unwrap_or_default())?;
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
    let fitted = least_squares(&fit, &facts)?;
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

/// Adds rows of `width` features to the summary.
fn push(stream: &mut Option<SummaryStream>, width: usize, rows: &Rows) -> anyhow::Result<()> {
    let stream = stream.get_or_insert_with(|| SummaryStream::new(width, 1));
    let x = View::new(&rows.x, &[rows.count(), rows.width])?;
    Ok(stream.push(&x, &rows.y[..], rows.weights.as_deref())?)
}

/// The rows of a table: kept, or gone through a summary.
struct Gathered {
    design: Design,
    /// Kept rows; none where they were streamed.
    kept: Option<Rows>,
    stream: Option<SummaryStream>,
    read: u64,
    dropped: u64,
    filled: u64,
    /// Binary digits of the numbers in the file.
    bits: u32,
}

impl Gathered {
    fn read(
        args: &Fit,
        settings: &Settings,
        file: &str,
        quiet: bool,
        summarise: bool,
    ) -> anyhow::Result<Self> {
        let mut source = Source::open(&asked(args, settings, file, quiet))?;
        let (design, bits) = (source.design().clone(), source.bits());
        let mut stream = None;
        let width = design.names().len();
        let rows = gather(&mut source, file, settings.most_kept, |rows| push(&mut stream, width, rows))?;
        let (kept, read, dropped, filled) = (rows.kept, rows.read, rows.dropped, rows.filled);
        let mut gathered = Gathered { design, kept, stream, read, dropped, filled, bits };
        if summarise {
            gathered.let_go()?;
        }
        Ok(gathered)
    }

    /// Moves kept rows into the summary.
    fn let_go(&mut self) -> anyhow::Result<()> {
        if let Some(kept) = self.kept.take()
            && kept.count() > 0
        {
            push(&mut self.stream, self.design.names().len(), &kept)?;
        }
        Ok(())
    }

    fn fit(&self, least: &LeastSquares) -> anyhow::Result<LinearFit> {
        let Some(rows) = &self.kept else {
            return Ok(least.fit_summary(&self.stream.as_ref().context("no rows were read")?.finish())?);
        };
        let x = View::new(&rows.x, &[rows.count(), rows.width])?;
        Ok(match &rows.weights {
            Some(weights) => least.fit_weighted(&x, &rows.y[..], weights)?,
            None => least.fit(&x, &rows.y[..])?,
        })
    }

    fn summary_file(&self, args: &Fit) -> anyhow::Result<SummaryFile> {
        let streamed = self.stream.as_ref().map(SummaryStream::finish);
        let mut summary = streamed.unwrap_or_else(|| Summary::new(self.design.names().len(), 1));
        if let Some(kept) = &self.kept {
            let x = View::new(&kept.x, &[kept.count(), kept.width])?;
            summary.push(&x, &kept.y[..], kept.weights.as_deref())?;
        }
        Ok(SummaryFile::new(args, &self.design, summary, [self.read, self.dropped], self.bits))
    }

    fn facts(&self, args: &Fit, settings: &Settings) -> FitFacts {
        FitFacts {
            target: args.target.clone().unwrap_or_default(),
            names: self.design.names().to_vec(),
            weights: args.weights.clone(),
            intercept: settings.intercept,
            confidence: settings.confidence,
            encodings: encoded(&self.design),
            rows_read: self.read,
            rows_dropped: self.dropped,
            values_filled: self.filled,
            streamed: self.kept.is_none(),
            bits: self.bits,
        }
    }
}
