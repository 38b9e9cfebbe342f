//! `spanwise decompose`.

use crate::Outcome;
use crate::args::{Decompose, FactorMethod, Kind};
use crate::artifact::{Holds, Written, check, write_arrays};
use crate::failure::Usage;
use crate::out::{Screen, check_not_read, to_stdout};
use crate::table::{Asked, Source};
use spanwise::example::Array;
use spanwise::linear::told::{Decomposed, Decomposition, PcaWay, decompose};
use spanwise::report::{decomposed_text, to_json};

pub(crate) fn run(args: &Decompose, screen: Screen) -> anyhow::Result<Outcome> {
    if let Some(path) = &args.out {
        check("--out", path, Holds::Arrays)?;
    }
    check_not_read(&[("--out", args.out.as_deref())], [Some(args.file.as_str())])?;
    let how = decomposition(args)?;
    let mut source = Source::open(&Asked::plain(&args.file, &args.pick, screen.quiet))?;
    let names = source.design().names().to_vec();
    let x = source.all()?.matrix(&args.file)?;
    let most = x.rows().min(x.cols());
    if let Some(rank) = args.rank.filter(|rank| !(1..=most).contains(rank)) {
        let message =
            format!("`--rank` is {rank}; expected a number from 1 to {most}, the smaller side of the table");
        return Err(Usage::new(message).into());
    }
    let mut made = decompose(x.view(), &names, &how)?;
    let mut files = Written::new();
    if let Some(path) = &args.out {
        let arrays: Vec<(&str, &Array)> =
            made.factors.iter().map(|factor| (factor.name, &factor.values)).collect();
        write_arrays("--out", path, &arrays)?;
        files.push(("factors".to_owned(), path.display().to_string()));
    }
    if args.json {
        if args.out.is_some() {
            made = Decomposed { factors: Vec::new(), ..made };
        }
        to_stdout(&to_json(&made)?)?;
    } else if !screen.quiet {
        to_stdout(&decomposed_text(&made, &files, screen.ink))?;
    }
    Ok(Outcome::Done)
}

fn decomposition(args: &Decompose) -> Result<Decomposition, Usage> {
    let refuse = |option: &str, found: &str| {
        let kind = format!("{:?}", args.kind).to_lowercase();
        Usage::new(format!("`{option}` {found} does not apply to this kind ({kind})"))
    };
    let randomized = args.method == Some(FactorMethod::Randomized);
    if args.seed.is_some() && !(args.kind == Kind::Svd && randomized) {
        return Err(Usage::new("`--seed` applies to `--kind svd --method randomized`"));
    }
    match (args.kind, args.method) {
        (Kind::Pca, _)
        | (_, None)
        | (Kind::Svd, Some(FactorMethod::Auto | FactorMethod::Exact | FactorMethod::Randomized)) => {}
        (_, Some(method)) => return Err(refuse("--method", &format!("{method:?}").to_lowercase())),
    }
    match (args.kind, args.rank) {
        (Kind::Qr | Kind::PivotedQr | Kind::Eigen, Some(rank)) => Err(refuse("--rank", &rank.to_string())),
        (Kind::LowRank, None) => Err(Usage::new("`--kind low-rank` needs `--rank K`")),
        (Kind::Svd, None) if randomized => Err(Usage::new("`--method randomized` needs `--rank K`")),
        (Kind::Qr, None) => Ok(Decomposition::Qr),
        (Kind::PivotedQr, None) => Ok(Decomposition::PivotedQr),
        (Kind::Eigen, None) => Ok(Decomposition::Eigen),
        (Kind::Svd, rank) => {
            Ok(Decomposition::Svd { rank, randomized: randomized.then_some(args.seed.unwrap_or(0)) })
        }
        (Kind::Pca, components) => Ok(Decomposition::Pca { components, method: pca_method(args.method) }),
        (Kind::LowRank, Some(rank)) => Ok(Decomposition::LowRank { rank }),
    }
}

fn pca_method(method: Option<FactorMethod>) -> PcaWay {
    match method {
        None | Some(FactorMethod::Auto) => PcaWay::Auto,
        Some(FactorMethod::Exact) => PcaWay::Exact,
        Some(FactorMethod::Covariance) => PcaWay::Covariance,
        Some(FactorMethod::Dual) => PcaWay::Dual,
        Some(FactorMethod::Randomized) => PcaWay::Randomized,
    }
}
