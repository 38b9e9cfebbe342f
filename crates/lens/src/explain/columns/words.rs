//! What a table with a target says in words: structure, noise, data, verdict, and how it was computed.

use super::reach::Reached;
use super::smooth::KernelGain;
use super::trust::Columns;
use super::{TableInput, WORTH};
use crate::explain::{Computation, acting};
use crate::finding::{Finding, Severity};
use crate::linear::{FitFacts, common, counted, percent, short};

/// What squares, products or a kernel reach beyond the span, if it is worth saying.
pub(super) fn structure(reached: &Reached, kernel: Option<KernelGain>, facts: &FitFacts) -> Option<Finding> {
    let outside = 1.0 - reached.inside;
    let named = terms_of(reached, facts);
    let gain = gain_of(reached);
    let smooth = kernel
        .filter(|kernel| kernel.sure && kernel.gain > WORTH * outside)
        .map_or(0.0, |kernel| kernel.gain);
    if gain + smooth <= WORTH * outside {
        return None;
    }
    let mut reaching = named.clone();
    if smooth > 0.0 {
        reaching.push("a kernel fit".to_owned());
    }
    let all = (reached.inside + gain + smooth).min(1.0);
    let sentence = format!(
        "what lies outside the span is not only noise: {} {} {} of `{}` on rows left out, the columns alone {}",
        reaching.join(" and "),
        if reaching.len() > 1 { "reach" } else { "reaches" },
        percent(all),
        facts.target,
        percent(reached.inside.max(0.0)),
    );
    let advice = if named.is_empty() {
        "the shape is neither squares nor products: bend columns (logarithm, steps), or fit a kernel ridge"
            .to_owned()
    } else {
        format!("add {} as columns", named.join(", "))
    };
    let certificate = format!(
        "five parts of {} rows, each predicted from the others; {} candidate terms, each taken with a chance below 0.001",
        reached.rows, reached.candidates
    );
    let mut finding = Finding::new(Severity::Caution, sentence)
        .named("structure-beyond-span")
        .advised(advice)
        .certified(certificate)
        .evident("held-out R² of the columns", reached.inside)
        .evident("held-out R² with the terms", all)
        .shown("reach");
    for (term, gain) in &reached.terms {
        finding = finding.evident(format!("held-out gain of {}", term.name(&facts.names)), *gain);
    }
    Some(finding)
}

/// Nothing was found outside the span, or too little to be worth a term.
pub(super) fn noise_finding(reached: &Reached, facts: &FitFacts) -> Finding {
    let (gain, named) = (gain_of(reached), terms_of(reached, facts));
    let sentence = if gain > 0.0 {
        format!(
            "nearly all that lies outside the span looks like noise: {} {} {} of it on rows left out",
            named.join(" and "),
            if named.len() > 1 { "reach" } else { "reaches" },
            percent(gain / (1.0 - reached.inside)),
        )
    } else {
        format!(
            "what lies outside the span looks like noise: squares, cubes, products ({}) and a kernel reach no further",
            counted(reached.candidates, "term", "terms")
        )
    };
    Finding::new(Severity::Note, sentence)
        .named("noise-outside-span")
        .certified(format!("five parts of {} rows, each predicted from the others", reached.rows))
        .evident("held-out R² of the columns", reached.inside)
        .evident("held-out R² with the terms", reached.inside + gain)
        .shown("reach")
}

/// The terms that beat chance.
fn terms_of(reached: &Reached, facts: &FitFacts) -> Vec<String> {
    reached.terms.iter().map(|(term, _)| format!("`{}`", term.name(&facts.names))).collect()
}

/// The share of the target that they add on rows left out.
fn gain_of(reached: &Reached) -> f64 {
    if reached.terms.is_empty() { 0.0 } else { (reached.powers + reached.products).max(0.0) }
}

pub(super) fn verdict(
    input: &TableInput<'_>,
    columns: &Columns<'_>,
    findings: &[Finding],
    reached: Option<&Reached>,
    r_squared: f64,
) -> Vec<String> {
    let target = &input.facts.target;
    let structure = findings.iter().any(|finding| finding.name == "structure-beyond-span");
    let mut said = Vec::new();
    if r_squared.is_finite() {
        let outside = match reached {
            Some(_) if structure => "part of it structure that further terms reach",
            Some(reached) if gain_of(reached) > 0.0 => "and nearly all of it looks like noise",
            Some(_) => "and looks like noise",
            None if columns.fit.degrees_of_freedom() == 0 && common::gives_every_row(columns.fit) => {
                "as it must with no row to spare"
            }
            None if columns.fit.degrees_of_freedom() == 0 => "which rounding has left there",
            None => "with too few rows to tell noise from structure",
        };
        said.push(format!(
            "{} of the variation of `{target}` lies in the span of {}; {} lies outside, {outside}.",
            percent(r_squared),
            input.span(),
            percent((1.0 - r_squared).max(0.0)),
        ));
    } else {
        said.push(format!("`{target}` does not vary: there is nothing to explain."));
    }
    said.push(certain(columns));
    said.push(acting(findings));
    said
}

/// How many digits, at which condition number.
fn certain(columns: &Columns<'_>) -> String {
    let target = columns.fit.target();
    let determined = |column: Option<usize>| columns.fit.determines(column);
    let kept = target.coefficients.iter().enumerate().filter(|&(j, _)| determined(Some(j))).map(|(_, c)| c);
    let intercept = target.intercept.iter().filter(|_| determined(None));
    let tells = |digits: &f64| !common::is_zero_to_rounding(*digits, columns.condition.1);
    let certain = || kept.clone().chain(intercept.clone()).filter_map(common::digits);
    let fewest = certain().filter(tells).fold(f64::INFINITY, f64::min);
    let rank = columns.fit.rank();
    let rank_text =
        if rank.is_full() { "full".to_owned() } else { format!("{} of {}", rank.rank, rank.terms) };
    let condition = if rank.is_full() {
        format!("a scaled condition number of {}", short(columns.condition.1))
    } else {
        format!("rank {rank_text}")
    };
    if fewest.is_finite() {
        let but = if certain().all(|digits| tells(&digits)) { "" } else { " that is not 0 to rounding" };
        format!(
            "Every determined coefficient{but} has at least {}, at {condition}.",
            common::certain_digits(fewest)
        )
    } else if certain().next().is_some() {
        format!("Every coefficient is 0 to rounding, at {condition}.")
    } else {
        format!("No coefficient is determined, at {condition}.")
    }
}

/// `likelihood` says how a model of classes was fitted; then the least-squares fit behind rank and condition is none of the target.
pub(super) fn computation(
    input: &TableInput<'_>,
    columns: &Columns<'_>,
    likelihood: Option<String>,
    reached: Option<(&Reached, Option<KernelGain>)>,
    seconds: Vec<(String, f64)>,
) -> Computation {
    let rank = columns.fit.rank();
    let is_least_squares = likelihood.is_none();
    let least_squares = || {
        let passes = counted(columns.fit.refinement_steps(), "pass", "passes");
        format!("least squares, {:?}, {passes} of refinement", columns.fit.method())
    };
    let mut settings = vec![
        ("fit".to_owned(), likelihood.unwrap_or_else(least_squares)),
        (
            "rank".to_owned(),
            format!("{} of {}, gap {}", rank.rank, counted(rank.terms, "term", "terms"), short(rank.gap())),
        ),
        (
            "condition".to_owned(),
            format!("{} as it is, {} scaled", short(columns.condition.0), short(columns.condition.1)),
        ),
    ];
    if is_least_squares && columns.fit.target().varies() {
        settings.push(("angle of the target to the span".to_owned(), format!("{}°", short(angle(columns)))));
    }
    if let Some((reached, kernel)) = reached {
        let kernel = kernel.map_or_else(String::new, |kernel| {
            format!(", kernel exp(−{}·‖x − z‖²) with λ = {}", short(kernel.gamma), short(kernel.penalty))
        });
        settings.push((
            "reach".to_owned(),
            format!(
                "a sample of {} rows in five parts, {} candidate terms{kernel}",
                reached.rows, reached.candidates
            ),
        ));
    }
    if input.x.dims().first().is_some_and(|&n| n > 100_000) {
        settings.push(("leverage".to_owned(), "of an even sample and of extreme rows".to_owned()));
    }
    for encoded in &input.facts.encodings {
        settings.push((
            "category".to_owned(),
            format!(
                "{}: {}, reference {}",
                encoded.column,
                counted(encoded.levels.len(), "level", "levels"),
                encoded.reference
            ),
        ));
    }
    Computation {
        version: env!("CARGO_PKG_VERSION"),
        command: input.command.to_owned(),
        settings,
        tolerances: vec![("rank, share of a column".to_owned(), rank.tolerance)],
        seconds,
    }
}

/// Between the target and the span, about its mean where there is an intercept.
fn angle(columns: &Columns<'_>) -> f64 {
    let target = columns.fit.target();
    let sine = target.unexplained().sqrt().min(1.0);
    sine.asin().to_degrees()
}
