//! `spanwise decompose`.

use crate::Outcome;
use crate::args::{Decompose, FactorMethod, Kind, MissingWord};
use crate::artifact::{Holds, Written, check, write_arrays};
use crate::failure::Usage;
use crate::out::{Screen, check_not_read, to_stdout};
use crate::table::{Asked, Gathered, Keep, Rows, row_numbers};
use spanwise::example::Array;
use spanwise::linear::told::{
    Decomposed, Decomposition, Factor, PcaWay, add_findings, decompose, pca_of_summary, svd_of_summary,
};
use spanwise::report::{decomposed_text, to_json};

pub(crate) fn run(args: &Decompose, screen: Screen) -> anyhow::Result<Outcome> {
    if let Some(path) = &args.out {
        check("--out", path, Holds::Arrays)?;
    }
    check_not_read(&[("--out", args.out.as_deref())], [Some(args.file.as_str())])?;
    let how = decomposition(args)?;
    let keep = keep(args)?;
    let gathered = Gathered::read(&Asked::plain(&args.file, &args.pick, screen.quiet), keep, 1)?;
    let names = gathered.design.names();
    let most = names.len().min((gathered.read - gathered.dropped) as usize);
    if let Some(rank) = args.rank.filter(|rank| !(1..=most).contains(rank)) {
        let message =
            format!("`--rank` is {rank}; expected a number from 1 to {most}, the smaller side of the table");
        return Err(Usage::new(message).into());
    }
    let mut made = match (&gathered.kept, args.kind) {
        (Some(rows), _) => decompose(rows.view()?, names, &how)?,
        (None, Kind::Svd) => svd_of_summary(&gathered.summary()?, args.rank)?,
        (None, _) => pca_of_summary(&gathered.summary()?, args.rank)?,
    };
    add_findings(&mut made.findings, gathered.missing());
    if let (Some(rows), MissingWord::Drop, true) = (&gathered.kept, args.pick.missing, has_rows(args.kind)) {
        made.factors.push(rows_used(rows));
    }
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

/// Whether a factor has a row for each row of the table.
fn has_rows(kind: Kind) -> bool {
    matches!(kind, Kind::Qr | Kind::PivotedQr | Kind::Svd | Kind::LowRank)
}

/// Which rows of the table those are, where some may be missing among them.
fn rows_used(rows: &Rows) -> Factor {
    Factor {
        name: "row",
        meaning: "the rows of the table that were used, counted from 1",
        values: Array::vector(row_numbers(&rows.index)),
    }
}

/// Which rows are kept: all of them, unless a summary determines what is asked for.
fn keep(args: &Decompose) -> Result<Keep, Usage> {
    let exact = matches!(args.method, None | Some(FactorMethod::Auto | FactorMethod::Exact));
    for (option, given, kinds) in [
        ("--stream", args.room.stream, &[Kind::Pca, Kind::Svd][..]),
        ("--memory", args.room.memory.is_some(), &[Kind::Pca]),
    ] {
        if given && !(exact && kinds.contains(&args.kind)) {
            let kind = if kinds.len() == 1 { "`--kind pca`" } else { "`--kind pca` and `svd`" };
            let message = format!("`{option}` applies to {kind}, by the exact method");
            return Err(Usage::with_hint(
                message,
                "other factors and methods need the rows, all of them in memory",
            ));
        }
    }
    Ok(match args.kind {
        Kind::Pca if exact => Keep::asked(args.room),
        _ if args.room.stream => Keep::None,
        _ => Keep::All,
    })
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
