//! The models: what was seen ► a fit that predicts, and what it says.

use super::output::Predicted;
use super::ridge;
use super::seen::{Data, Seen};
use super::settings::Settings;
use crate::args::{Fit, KernelWord, Model};
use crate::failure::Usage;
use crate::table::{Asked, Rows};
use spanwise::View;
use spanwise::linear::fit::{
    ConstrainedFit, Kernel, KernelRidge, KernelRidgeFit, Logistic, LogisticFit, NonNegative, RidgeFit,
    Simplex,
};
use spanwise::linear::told::{
    FitFacts, Fitted, Label, constrained, kernel, least_squares, logistic, other_weights,
};
use spanwise::linear::{LeastSquares, LinearFit};
use spanwise_io::quoted;
use std::collections::BTreeSet;

/// A fitted model that predicts.
pub(super) enum AnyFit {
    LeastSquares(Box<LinearFit>),
    Ridge(RidgeFit),
    Classes(LogisticFit<Label>),
    Constrained(ConstrainedFit),
    Kernel(KernelRidgeFit),
}

/// Fits the model; `table` is what was asked of the table, to read its rows again.
pub(super) fn fit(
    args: &Fit,
    settings: &Settings,
    seen: &Seen,
    table: Option<&Asked<'_>>,
) -> anyhow::Result<(AnyFit, Fitted)> {
    let facts = &seen.facts;
    match args.model {
        Model::LeastSquares => {
            let fit = fit_least_squares(settings, seen)?;
            let fitted = least_squares(&fit, facts)?;
            Ok((AnyFit::LeastSquares(Box::new(fit)), fitted))
        }
        Model::Ridge => {
            let (fit, fitted) = ridge::fit(args, settings, seen, table)?;
            Ok((AnyFit::Ridge(fit), fitted))
        }
        Model::Nonnegative | Model::Simplex => {
            let (fit, squares) = fit_constrained(args.model, settings, seen)?;
            let simplex = args.model == Model::Simplex;
            let mut fitted = constrained(&fit, simplex, squares, facts);
            // Which columns depend on others is what least squares finds.
            if let Ok(free) = fit_least_squares(settings, seen) {
                fitted.add(other_weights(&fit, simplex, &free, &facts.names));
            }
            Ok((AnyFit::Constrained(fit), fitted))
        }
        Model::Logistic | Model::Softmax => fit_classes(args, seen.rows()?, facts),
        Model::Kernel => fit_kernel(args, settings, seen.rows()?, facts),
    }
}

fn fit_least_squares(settings: &Settings, seen: &Seen) -> anyhow::Result<LinearFit> {
    let least = LeastSquares::new().intercept(settings.intercept).stored_bits(seen.facts.bits);
    Ok(match &seen.data {
        Data::Summary { all, .. } => least.fit_summary(all)?,
        Data::Rows(rows) => match &rows.weights {
            Some(weights) => least.fit_weighted(&rows.view()?, &rows.y[..], weights)?,
            None => least.fit(&rows.view()?, &rows.y[..])?,
        },
    })
}

/// The fit, and the weighted sum of the target's squares.
fn fit_constrained(model: Model, settings: &Settings, seen: &Seen) -> anyhow::Result<(ConstrainedFit, f64)> {
    let (simplex, plain) = (model == Model::Simplex, NonNegative { intercept: settings.intercept });
    Ok(match &seen.data {
        Data::Summary { all, .. } => {
            let fit = if simplex { Simplex.fit_summary(all, 0)? } else { plain.fit_summary(all, 0)? };
            (fit, all.norm(all.columns()).powi(2))
        }
        Data::Rows(rows) => {
            let x = rows.view()?;
            let fit = match (&rows.weights, simplex) {
                (Some(weights), true) => Simplex.fit_weighted(x, &rows.y, weights)?,
                (Some(weights), false) => plain.fit_weighted(x, &rows.y, weights)?,
                (None, true) => Simplex.fit(x, &rows.y)?,
                (None, false) => plain.fit(x, &rows.y)?,
            };
            let weight = |i: usize| rows.weights.as_ref().map_or(1.0, |weights| weights[i]);
            (fit, rows.y.iter().enumerate().map(|(i, y)| weight(i) * y * y).sum())
        }
    })
}

fn fit_classes(args: &Fit, rows: &Rows, facts: &FitFacts) -> anyhow::Result<(AnyFit, Fitted)> {
    let penalty = args.lambda.unwrap_or(Logistic::default().penalty);
    rows.check_classes(&facts.target)?;
    if args.model == Model::Logistic {
        let count = rows.classes().collect::<BTreeSet<_>>().len();
        two_classes(count, &facts.target)?;
    }
    let model = Logistic { penalty, intercept: facts.intercept, ..Logistic::default() };
    let fit = match &rows.weights {
        Some(weights) => model.fit_weighted(rows.view()?, &rows.labels, weights)?,
        None => model.fit(rows.view()?, &rows.labels)?,
    };
    let fitted = logistic(&fit, penalty, facts)?;
    Ok((AnyFit::Classes(fit), fitted))
}

fn two_classes(count: usize, target: &str) -> Result<(), Usage> {
    if count <= 2 {
        return Ok(());
    }
    let message = format!("{} has {count} classes; logistic regression tells two apart", quoted(target));
    Err(Usage::with_hint(message, "`--model softmax` takes any number of classes"))
}

fn fit_kernel(
    args: &Fit,
    settings: &Settings,
    rows: &Rows,
    facts: &FitFacts,
) -> anyhow::Result<(AnyFit, Fitted)> {
    let model = KernelRidge {
        kernel: kernel_of(args),
        alpha: args.lambda.unwrap_or(1.0),
        landmarks: settings.landmarks,
        seed: args.seed.unwrap_or(0),
        leave_one_out: true,
    };
    let fit = match &rows.weights {
        Some(weights) => model.fit_weighted(rows.view()?, &rows.y, weights)?,
        None => model.fit(rows.view()?, &rows.y)?,
    };
    let fitted = kernel(&fit, model.alpha, facts);
    Ok((AnyFit::Kernel(fit), fitted))
}

fn kernel_of(args: &Fit) -> Kernel {
    match args.kernel {
        None | Some(KernelWord::Rbf) => Kernel::Rbf { gamma: args.gamma },
        Some(KernelWord::Polynomial) => Kernel::Polynomial {
            degree: args.kernel_degree.unwrap_or(3),
            gamma: args.gamma,
            constant: args.kernel_constant.unwrap_or(1.0),
        },
    }
}

impl AnyFit {
    /// Intervals, where the model has some, hold with this probability.
    pub(super) fn predict(&self, x: View<'_, f64>, confidence: f64) -> anyhow::Result<Predicted> {
        let plain =
            |values| Predicted { numbers: vec![("prediction".to_owned(), values)], ..Predicted::default() };
        Ok(match self {
            AnyFit::LeastSquares(fit) => intervals(fit, x, confidence)?,
            AnyFit::Ridge(fit) => plain(fit.predict(x)?),
            AnyFit::Constrained(fit) => plain(fit.predict(x)?),
            AnyFit::Kernel(fit) => plain(fit.predict(x)?),
            AnyFit::Classes(fit) => {
                let shares = fit.predict_proba(x)?;
                let column = |(k, class): (usize, &Label)| (format!("p({})", class.0), shares.col(k));
                Predicted {
                    numbers: fit.classes.iter().enumerate().map(column).collect(),
                    classes: Some(fit.predict(x)?),
                    ..Predicted::default()
                }
            }
        })
    }
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
        broken: fit.broken_dependencies(&x)?,
    })
}
