//! Least squares of a sparse matrix: `fit x.npz --target y.npy`.

use super::settings::Settings;
use crate::args::{Fit, Model};
use crate::failure::Usage;
use crate::out::check_not_read;
use crate::source::Sources;
use anyhow::Context;
use spanwise::linear::told::{FitFacts, Fitted, counted, least_squares};
use spanwise::linear::{CsrRows, LeastSquares};
use spanwise_io::Sparse;

pub(super) fn run(args: &Fit, settings: &Settings, x: &Sparse) -> anyhow::Result<Fitted> {
    check(args)?;
    let target = args.target.as_deref().unwrap_or_default();
    let mut sources = Sources::default();
    let y = sources
        .list("--target", target)
        .context("`--target`: the table is a sparse matrix, whose target is an array of its own")?;
    if y.len() != x.rows || x.starts.len() != x.rows + 1 {
        let (numbers, rows) = (counted(y.len(), "number", "numbers"), counted(x.rows, "row", "rows"));
        let message = format!("`--target` has {numbers}, the sparse matrix {rows}");
        return Err(Usage::new(message).into());
    }
    let rows = CsrRows::new(x.columns, &x.starts, &x.places, &x.values)?;
    sources.stored(Some(x.bits));
    let bits = sources.bits();
    let fit = LeastSquares::new().intercept(settings.intercept).stored_bits(bits).fit(&rows, &y[..])?;
    let facts = FitFacts {
        names: (0..x.columns).map(|j| format!("c{j}")).collect(),
        intercept: settings.intercept,
        confidence: settings.confidence,
        bits,
        ..FitFacts::new(target, &[], x.rows)
    };
    Ok(least_squares(&fit, &facts)?)
}

/// What needs named columns, or rows one after another, does not apply.
fn check(args: &Fit) -> Result<(), Usage> {
    let pick = &args.pick;
    let given = [
        ("--model", args.model != Model::LeastSquares),
        ("--columns", !pick.columns.is_empty()),
        ("--exclude", !pick.exclude.is_empty()),
        ("--categories", !pick.categories.is_empty()),
        ("--reference", !pick.reference.is_empty()),
        ("--delimiter", pick.delimiter.is_some()),
        ("--weights", args.weights.is_some()),
        ("--degree", args.degree.is_some() || args.interactions),
        ("--stream", args.room.stream),
        ("--memory", args.room.memory.is_some()),
        ("--summary-out", args.summary_out.is_some()),
        ("--merge", !args.merge.is_empty()),
        ("--rows", args.rows.is_some()),
        ("--predict", args.predict.is_some()),
    ];
    match given.into_iter().find(|&(_, given)| given) {
        None => check_not_read(&[("--out", args.out.as_deref())], [args.target.as_deref()]),
        Some((option, _)) => Err(Usage::new(format!(
            "`{option}` does not apply to a sparse matrix; least squares of all its columns is what there is"
        ))),
    }
}
