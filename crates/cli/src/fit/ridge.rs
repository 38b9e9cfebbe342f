//! Ridge regression: with a penalty that is given, or with the one that does best on rows that are left out.
//!
//! ```text
//!             rows kept                  rows let go
//!  loo        leverages, one pass        a second pass over the file; ten folds where it comes by once
//!  kfold:K    K refits                   one summary per fold, in the same pass; the same folds
//! ```

use super::seen::{Data, Seen};
use super::settings::{Choose, Settings};
use crate::args::Fit;
use crate::failure::Usage;
use crate::table::{Asked, SEED, Source, is_read_once};
use spanwise::linear::Summary;
use spanwise::linear::fit::{LeaveOneOut, Ridge, RidgeChoice, RidgeFit, RidgePath};
use spanwise::linear::told::{Fitted, Tried, ridge};

/// Penalties tried where none are given: from, to, how many.
const PENALTIES: (f64, f64, usize) = (1e-4, 1e6, 41);

pub(super) fn fit(
    args: &Fit,
    settings: &Settings,
    seen: &Seen,
    table: Option<&Asked<'_>>,
) -> anyhow::Result<(RidgeFit, Fitted)> {
    let Some(choose) = settings.choose else {
        let fit = plain(Ridge { alpha: args.lambda.unwrap_or(0.0), intercept: settings.intercept }, seen)?;
        let fitted = ridge(&fit, Vec::new(), None, &seen.facts);
        return Ok((fit, fitted));
    };
    let path = if args.lambdas.is_empty() {
        RidgePath::logarithmic(PENALTIES.0, PENALTIES.1, PENALTIES.2)?
    } else {
        RidgePath::new(args.lambdas.clone())
    };
    let path = RidgePath { intercept: settings.intercept, ..path };
    let (choice, rule) = chosen(&path, choose, seen, table)?;
    let tried = |(&lambda, &error): (&f64, &f64)| Tried {
        lambda,
        error: Some(error),
        r_squared: None,
        coefficients: Vec::new(),
        chosen: lambda == choice.fit.alpha,
    };
    let tried = path.alphas.iter().zip(&choice.errors).map(tried).collect();
    let fitted = ridge(&choice.fit, tried, Some(&rule), &seen.facts);
    Ok((choice.fit, fitted))
}

fn plain(model: Ridge, seen: &Seen) -> anyhow::Result<RidgeFit> {
    Ok(match &seen.data {
        Data::Summary { all, .. } => model.fit_summary(all, 0)?,
        Data::Rows(rows) => match &rows.weights {
            Some(weights) => model.fit_weighted(rows.view()?, &rows.y, weights)?,
            None => model.fit(rows.view()?, &rows.y)?,
        },
    })
}

/// The choice, and the rule it was made by.
fn chosen(
    path: &RidgePath,
    choose: Choose,
    seen: &Seen,
    table: Option<&Asked<'_>>,
) -> anyhow::Result<(RidgeChoice, String)> {
    const ONE_OUT: &str = "leaving one row out";
    Ok(match (&seen.data, choose) {
        (Data::Rows(rows), Choose::Folds(folds)) => {
            let weights = rows.weights.as_deref();
            (path.choose_folds(rows.view()?, &rows.y, weights, folds, SEED)?, format!("{folds} folds"))
        }
        (Data::Rows(rows), Choose::LeaveOneOut { .. }) => {
            let choice = match &rows.weights {
                Some(weights) => path.choose_leave_one_out_weighted(rows.view()?, &rows.y, weights)?,
                None => path.choose_leave_one_out(rows.view()?, &rows.y)?,
            };
            (choice, ONE_OUT.to_owned())
        }
        (Data::Summary { folds, .. }, Choose::Folds(count)) => {
            (path.choose_folds_of(folds, 0)?, format!("{count} folds"))
        }
        (Data::Summary { all, folds }, Choose::LeaveOneOut { asked }) => match table {
            Some(table) if !is_read_once(table.file) => {
                (read_again(path, all, seen, table)?, ONE_OUT.to_owned())
            }
            _ if asked => return Err(only_once().into()),
            _ => {
                // Of fewer rows than folds some are empty.
                let some = |fold: &&Summary| fold.rows() + fold.zero_weight_rows() > 0;
                let folds: Vec<Summary> = folds.iter().filter(some).cloned().collect();
                let why = "rows that come by once cannot be left out one by one";
                (path.choose_folds_of(&folds, 0)?, format!("{} folds ({why})", folds.len()))
            }
        },
    })
}

/// The errors of all rows, left out one by one, in a second pass over them.
fn read_again(
    path: &RidgePath,
    all: &Summary,
    seen: &Seen,
    table: &Asked<'_>,
) -> anyhow::Result<RidgeChoice> {
    let mut left_out = LeaveOneOut::new(path, all, 0)?;
    let mut source = Source::with_design(table, seen.design.clone(), true)?;
    while let Some(rows) = source.next_rows()? {
        left_out.push(rows.view()?, &rows.y, rows.weights.as_deref())?;
    }
    Ok(left_out.choose()?)
}

/// Rows that are gone cannot be left out one by one.
pub(super) fn only_once() -> Usage {
    let message = "`--choose loo` reads a table twice whose rows are not kept; this one can be read once";
    Usage::with_hint(
        message,
        "`--choose kfold:10` needs one pass; without `--stream` rows are kept up to `--memory`",
    )
}
