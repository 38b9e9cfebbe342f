//! Models whose rows are kept in memory.

use super::output::{Predicted, predict, write_predictions};
use super::settings::{Choose, Settings};
use super::{asked, facts};
use crate::args::{Fit, KernelWord, Model};
use crate::artifact::Written;
use crate::failure::Usage;
use crate::table::{Gathered, Keep, Rows, SEED, Source};
use spanwise::linear::fit::{
    ConstrainedFit, Kernel, KernelRidge, KernelRidgeFit, Logistic, LogisticFit, NonNegative, Ridge, RidgeFit,
    RidgePath, Simplex,
};
use spanwise::linear::told::{FitFacts, Fitted, Label, Tried, constrained, kernel, logistic, ridge};
use spanwise::{Matrix, View};
use spanwise_io::quoted;
use std::collections::BTreeSet;

/// Penalties tried where none are given: from, to, how many.
const PENALTIES: (f64, f64, usize) = (1e-4, 1e6, 41);

/// A fitted model that predicts.
enum AnyFit {
    Ridge(RidgeFit),
    Classes(LogisticFit<Label>),
    Constrained(ConstrainedFit),
    Kernel(KernelRidgeFit),
}

pub(super) fn run(args: &Fit, settings: &Settings, quiet: bool) -> anyhow::Result<(Fitted, Written)> {
    let file = args.file.as_deref().ok_or_else(|| Usage::new("there is no table to fit"))?;
    let mut gathered = Gathered::read(&asked(args, settings, file, quiet), Keep::All, 1)?;
    let facts = facts(args, settings, &gathered);
    let mut rows = gathered.kept.take().unwrap_or_default();
    let x = rows.matrix(file)?;
    let (fit, fitted) = match args.model {
        Model::LeastSquares | Model::Ridge => fit_ridge(args, settings, &x, &rows, &facts)?,
        Model::Logistic | Model::Softmax => fit_classes(args, &x, &rows, &facts)?,
        Model::Nonnegative => {
            let model = NonNegative { intercept: settings.intercept };
            let fit = match &rows.weights {
                Some(weights) => model.fit_weighted(x.view(), &rows.y, weights)?,
                None => model.fit(x.view(), &rows.y)?,
            };
            let fitted = constrained(&fit, false, &rows.y, &facts);
            (AnyFit::Constrained(fit), fitted)
        }
        Model::Simplex => {
            let fit = match &rows.weights {
                Some(weights) => Simplex.fit_weighted(x.view(), &rows.y, weights)?,
                None => Simplex.fit(x.view(), &rows.y)?,
            };
            let fitted = constrained(&fit, true, &rows.y, &facts);
            (AnyFit::Constrained(fit), fitted)
        }
        Model::Kernel => {
            let model = KernelRidge {
                kernel: kernel_of(args),
                alpha: args.lambda.unwrap_or(1.0),
                landmarks: settings.landmarks,
                seed: args.seed.unwrap_or(0),
                leave_one_out: true,
            };
            let fit = match &rows.weights {
                Some(weights) => model.fit_weighted(x.view(), &rows.y, weights)?,
                None => model.fit(x.view(), &rows.y)?,
            };
            let fitted = kernel(&fit, model.alpha, &facts);
            (AnyFit::Kernel(fit), fitted)
        }
    };
    let mut files = Written::new();
    if let (Some(out), Some(file)) = (&args.out, &args.predict) {
        let source = Source::with_design(&asked(args, settings, file, quiet), gathered.design, false)?;
        write_predictions(out, predict(source, file, |x| fit.predict(x))?)?;
        files.push(("predictions".to_owned(), out.display().to_string()));
    }
    Ok((fitted, files))
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

fn fit_ridge(
    args: &Fit,
    settings: &Settings,
    x: &Matrix,
    rows: &Rows,
    facts: &FitFacts,
) -> anyhow::Result<(AnyFit, Fitted)> {
    let (weights, intercept) = (rows.weights.as_deref(), settings.intercept);
    let Some(choose) = settings.choose else {
        let model = Ridge { alpha: args.lambda.unwrap_or(0.0), intercept };
        let fit = match weights {
            Some(weights) => model.fit_weighted(x.view(), &rows.y, weights)?,
            None => model.fit(x.view(), &rows.y)?,
        };
        let fitted = ridge(&fit, Vec::new(), None, facts);
        return Ok((AnyFit::Ridge(fit), fitted));
    };
    let path = if args.lambdas.is_empty() {
        RidgePath::logarithmic(PENALTIES.0, PENALTIES.1, PENALTIES.2)?
    } else {
        RidgePath::new(args.lambdas.clone())
    };
    let path = RidgePath { intercept, ..path };
    let (choice, rule) = match (choose, weights) {
        (Choose::LeaveOneOut, None) => {
            (path.choose_leave_one_out(x.view(), &rows.y)?, "leaving one row out".to_owned())
        }
        (Choose::LeaveOneOut, Some(weights)) => (
            path.choose_leave_one_out_weighted(x.view(), &rows.y, weights)?,
            "leaving one row out".to_owned(),
        ),
        (Choose::Folds(folds), weights) => {
            (path.choose_folds(x.view(), &rows.y, weights, folds, SEED)?, format!("{folds} folds"))
        }
    };
    let tried = |(&lambda, &error): (&f64, &f64)| Tried {
        lambda,
        error: Some(error),
        r_squared: None,
        coefficients: Vec::new(),
        chosen: lambda == choice.fit.alpha,
    };
    let tried = path.alphas.iter().zip(&choice.errors).map(tried).collect();
    let fitted = ridge(&choice.fit, tried, Some(&rule), facts);
    Ok((AnyFit::Ridge(choice.fit), fitted))
}

fn fit_classes(args: &Fit, x: &Matrix, rows: &Rows, facts: &FitFacts) -> anyhow::Result<(AnyFit, Fitted)> {
    let penalty = args.lambda.unwrap_or(Logistic::default().penalty);
    rows.check_classes(&facts.target)?;
    if args.model == Model::Logistic {
        let count = rows.classes().collect::<BTreeSet<_>>().len();
        two_classes(count, &facts.target)?;
    }
    let model = Logistic { penalty, intercept: facts.intercept, ..Logistic::default() };
    let fit = match &rows.weights {
        Some(weights) => model.fit_weighted(x.view(), &rows.labels, weights)?,
        None => model.fit(x.view(), &rows.labels)?,
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

impl AnyFit {
    fn predict(&self, x: View<'_, f64>) -> anyhow::Result<Predicted> {
        let plain = |values| Predicted { numbers: vec![("prediction".to_owned(), values)], classes: None };
        Ok(match self {
            AnyFit::Ridge(fit) => plain(fit.predict(x)?),
            AnyFit::Constrained(fit) => plain(fit.predict(x)?),
            AnyFit::Kernel(fit) => plain(fit.predict(x)?),
            AnyFit::Classes(fit) => {
                let shares = fit.predict_proba(x)?;
                let column = |(k, class): (usize, &Label)| (format!("p({})", class.0), shares.col(k));
                Predicted {
                    numbers: fit.classes.iter().enumerate().map(column).collect(),
                    classes: Some(fit.predict(x)?),
                }
            }
        })
    }
}
