//! Options of a fit, checked before a file is opened. What a model does not use is refused.

use super::coefficients::Holding;
use super::ridge::only_once;
use crate::args::{Fit, KernelWord, MissingWord, Model};
use crate::artifact::{Holds, check};
use crate::failure::Usage;
use crate::out::{check_apart, check_not_read, check_regular};
use crate::source::Sources;
use crate::table::{Keep, check_read_twice, is_read_once};
use clap::ValueEnum;
use spanwise::linear::fit::Landmarks;

const CONFIDENCE: f64 = 0.95;

/// How a penalty is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choose {
    LeaveOneOut {
        /// Whether that was said; where it was not, folds do as well.
        asked: bool,
    },
    Folds(usize),
}

/// Folds in place of rows that are left out one by one, where they come by once.
const FEW_FOLDS: usize = 10;
/// Rows in more folds than this are kept: each fold would have a summary of its own.
const MOST_FOLDS: usize = 1000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) intercept: bool,
    pub(super) confidence: f64,
    pub(super) degree: usize,
    pub(super) choose: Option<Choose>,
    pub(super) landmarks: Landmarks,
    pub(super) keep: Keep,
    /// Folds that rows are parted into where they are not kept.
    pub(super) folds: usize,
}

impl Settings {
    pub(super) fn new(args: &Fit) -> Result<Self, Usage> {
        check_model(args)?;
        let confidence = args.confidence.unwrap_or(CONFIDENCE);
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(Usage::new(format!(
                "`--confidence` is {confidence}; expected a number between 0 and 1"
            )));
        }
        if let Some(lambda) = args.lambdas.iter().chain(&args.lambda).find(|l| !(l.is_finite() && **l >= 0.0))
        {
            return Err(Usage::new(format!("the penalty λ is {lambda}; expected a number from 0")));
        }
        let degree = match (args.degree, args.interactions) {
            (Some(0), _) => return Err(Usage::new("`--degree` is 0; expected a number from 1")),
            (Some(degree), _) => degree,
            (None, true) => 2,
            (None, false) => 1,
        };
        check_outputs(args)?;
        check_tables(args)?;
        let choose = choose(args)?;
        let (folds, keep) = parted(args, choose)?;
        Ok(Settings {
            intercept: !args.no_intercept && !matches!(args.model, Model::Simplex | Model::Kernel),
            confidence,
            degree,
            choose,
            landmarks: landmarks(args)?,
            keep,
            folds,
        })
    }
}

/// Where files go, and that none of them takes the place of another or of what is read.
fn check_outputs(args: &Fit) -> Result<(), Usage> {
    match (&args.out, &args.predict) {
        (Some(path), Some(_)) => {
            check("--out", path, Holds::Columns)?;
        }
        (Some(path), None) => {
            let holding = Holding::of(path)?;
            if holding == Holding::Terms && args.model == Model::Kernel {
                let message = format!(
                    "`--out`: {}: a kernel model has no coefficients of columns; expected .json or .txt",
                    path.display()
                );
                return Err(Usage::new(message));
            }
        }
        (None, _) => {}
    }
    if let Some(path) = &args.rows {
        check("--rows", path, Holds::Columns)?;
    }
    if let Some(path) = &args.summary_out {
        check_regular("--summary-out", path)?;
    }
    let outputs = [
        ("--out", args.out.as_deref()),
        ("--rows", args.rows.as_deref()),
        ("--summary-out", args.summary_out.as_deref()),
    ];
    check_apart(&outputs)?;
    let merged = args.merge.iter().map(|path| path.to_str());
    check_not_read(&outputs, [args.file.as_deref(), args.predict.as_deref()].into_iter().chain(merged))
}

/// Into how many folds rows go that are not kept, and which are kept.
fn parted(args: &Fit, choose: Option<Choose>) -> Result<(usize, Keep), Usage> {
    if matches!(args.model, Model::Logistic | Model::Softmax | Model::Kernel) {
        return Ok((1, Keep::All));
    }
    let keep = Keep::asked(args.room);
    Ok(match (choose, &args.file) {
        (Some(_), _) if !args.merge.is_empty() => {
            let message = "`--merge` has no rows to choose a penalty by";
            return Err(Usage::with_hint(message, "`--lambda L` gives one"));
        }
        (Some(Choose::Folds(folds)), _) if folds > MOST_FOLDS => {
            if args.room.given().iter().any(|(_, given)| *given) {
                let message = format!(
                    "`--choose` asks for {folds} folds; expected at most {MOST_FOLDS} where rows are not kept"
                );
                return Err(Usage::with_hint(message, "`--choose loo` leaves every row out by itself"));
            }
            (1, Keep::All)
        }
        (Some(Choose::Folds(folds)), _) => (folds, keep),
        (Some(Choose::LeaveOneOut { asked: false }), Some(file)) if is_read_once(file) => (FEW_FOLDS, keep),
        (Some(Choose::LeaveOneOut { .. }), Some(file)) if args.room.stream && is_read_once(file) => {
            return Err(only_once());
        }
        _ => (1, keep),
    })
}

/// Which tables there are, and how often each is read.
fn check_tables(args: &Fit) -> Result<(), Usage> {
    let mut sources = Sources::default();
    for (argument, text) in [("FILE", &args.file), ("--predict", &args.predict)] {
        sources.claim(argument, text.as_deref().unwrap_or_default())?;
    }
    if args.file.is_some() && args.target.is_none() {
        return Err(Usage::new("`--target` is needed to fit a table"));
    }
    if args.file.is_none() {
        let given = [
            ("--rows", args.rows.is_some()),
            ("--target", args.target.is_some()),
            ("--weights", args.weights.is_some()),
            ("--columns", !args.pick.columns.is_empty()),
            ("--exclude", !args.pick.exclude.is_empty()),
            ("--categories", !args.pick.categories.is_empty()),
            ("--reference", !args.pick.reference.is_empty()),
            ("--degree", args.degree.is_some() || args.interactions),
        ];
        if let Some((option, _)) = given.into_iter().find(|&(_, given)| given) {
            return Err(Usage::new(format!("`{option}` needs a table; `--merge` alone has none")));
        }
    }
    let summaries = args.summary_out.is_some() || !args.merge.is_empty();
    if summaries && args.pick.missing == MissingWord::Mean {
        let message = "`--missing mean` fills in means of one file; summaries of several would not agree";
        return Err(Usage::with_hint(message, "use `--missing drop`"));
    }
    if let (Some(_), Some(file)) = (&args.rows, &args.file) {
        check_read_twice("--rows", file)?;
    }
    if args.rows.is_some() && !args.merge.is_empty() {
        return Err(Usage::new("`--rows` is of one table; with `--merge` the fit is of several"));
    }
    Ok(())
}

/// Refuses options that the model would ignore.
fn check_model(args: &Fit) -> Result<(), Usage> {
    use Model::{Kernel, LeastSquares, Logistic, Nonnegative, Ridge, Simplex, Softmax};
    /// Models that a summary of the rows determines.
    const SUMMARISED: &[Model] = &[LeastSquares, Ridge, Nonnegative, Simplex];
    let rules: [(&str, bool, &[Model]); 16] = [
        ("--lambda", args.lambda.is_some(), &[Ridge, Logistic, Softmax, Kernel]),
        ("--lambdas", !args.lambdas.is_empty(), &[Ridge]),
        ("--choose", args.choose.is_some(), &[Ridge]),
        ("--kernel", args.kernel.is_some(), &[Kernel]),
        ("--gamma", args.gamma.is_some(), &[Kernel]),
        ("--kernel-degree", args.kernel_degree.is_some(), &[Kernel]),
        ("--kernel-constant", args.kernel_constant.is_some(), &[Kernel]),
        ("--landmarks", args.landmarks.is_some(), &[Kernel]),
        ("--seed", args.seed.is_some(), &[Kernel]),
        ("--confidence", args.confidence.is_some(), &[LeastSquares, Logistic, Softmax]),
        ("--stream", args.room.stream, SUMMARISED),
        ("--memory", args.room.memory.is_some(), SUMMARISED),
        ("--rows", args.rows.is_some(), &[LeastSquares]),
        ("--summary-out", args.summary_out.is_some(), SUMMARISED),
        ("--merge", !args.merge.is_empty(), SUMMARISED),
        ("--no-intercept", args.no_intercept, &[LeastSquares, Ridge, Logistic, Softmax, Nonnegative]),
    ];
    let broken = rules.into_iter().find(|(_, given, models)| *given && !models.contains(&args.model));
    if let Some((option, _, models)) = broken {
        let names: Vec<String> = models.iter().map(|&model| word(model)).collect();
        let message = format!(
            "`{option}` does not apply to `--model {}`; only to {}",
            word(args.model),
            names.join(", ")
        );
        return Err(if models == SUMMARISED {
            Usage::with_hint(message, "other models need their rows, all of them in memory")
        } else {
            Usage::new(message)
        });
    }
    let polynomial = args.kernel == Some(KernelWord::Polynomial);
    for (option, given) in [
        ("--kernel-degree", args.kernel_degree.is_some()),
        ("--kernel-constant", args.kernel_constant.is_some()),
    ] {
        if given && !polynomial {
            return Err(Usage::new(format!("`{option}` applies to `--kernel polynomial` alone")));
        }
    }
    Ok(())
}

fn word(model: Model) -> String {
    model.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// `all`, `500`.
fn landmarks(args: &Fit) -> Result<Landmarks, Usage> {
    match args.landmarks.as_deref().map(|text| (text, text.parse())) {
        None => Ok(Landmarks::Auto),
        Some(("all", _)) => Ok(Landmarks::All),
        Some((_, Ok(count))) if count > 0 => Ok(Landmarks::Count(count)),
        Some((text, _)) => {
            Err(Usage::new(format!("`--landmarks`: found {text:?}; expected a number from 1, or all")))
        }
    }
}

/// `loo`, `kfold:5`; for ridge without a penalty by leaving one row out.
fn choose(args: &Fit) -> Result<Option<Choose>, Usage> {
    let Some(text) = &args.choose else {
        let needed = args.model == Model::Ridge && args.lambda.is_none();
        return Ok(needed.then_some(Choose::LeaveOneOut { asked: false }));
    };
    let folds = text.strip_prefix("kfold:").and_then(|folds| folds.parse().ok());
    match (text.as_str(), folds) {
        ("loo", _) => Ok(Some(Choose::LeaveOneOut { asked: true })),
        (_, Some(folds)) if folds >= 2 => Ok(Some(Choose::Folds(folds))),
        _ => Err(Usage::new(format!(
            "`--choose`: found {text:?}; expected loo or kfold:K with K from 2, such as kfold:5"
        ))),
    }
}
