//! A target of classes, through logistic regression; softmax beyond two classes.
//!
//! Rank and dependencies are those of the columns, as for numbers. Reach linearises the likelihood at its maximum: with
//! `p` the fitted probabilities, `w = p(1 − p)` and `z = η + (y − p)/w`, least squares of `z` with weights `w` is one Newton
//! step, and a term that explains what it leaves is one that raises the likelihood. What the terms gain is then measured
//! by refitting, on rows left out.

use super::reach::{self, Candidate, Reached, SampleRows};
use super::words::computation;
use super::{Clock, Looked, TableInput, column_parts, figures};
use crate::explain::{
    CoefficientRow, Coefficients, Explanation, FigureKind, Finding, Point, Reach, ReachTerm, Scatter,
    Severity, Table, TableCell,
};
use crate::explain::{acting, settled};
use crate::linear::common::some_names;
use crate::linear::{Label, counted, logistic, percent};
use spanwise_kernels::Matrix;
use spanwise_linear::LinearError;
use spanwise_linear::fit::{Distribution, Logistic, LogisticFit, Normal, SeparationKind};

/// Structure is worth an alarm where it is this share of the deviance.
const WORTH: f64 = 0.02;
const MOST_POINTS: usize = 2000;

pub(super) fn explain(
    input: &TableInput<'_>,
    labels: &[Label],
    stage: &mut dyn FnMut(&'static str),
) -> Result<Explanation, LinearError> {
    let mut clock = Clock::new(stage);
    clock.start("logistic");
    let settings = Logistic { intercept: input.facts.intercept, ..Logistic::unpenalised() };
    let fit = match input.weights {
        Some(weights) => settings.fit_weighted(input.x, labels, weights)?,
        None => settings.fit(input.x, labels)?,
    };
    let codes: Vec<f64> =
        labels.iter().map(|label| fit.classes.binary_search(label).unwrap_or(0) as f64).collect();
    let looked = Looked::new(input, &codes, &mut clock)?;
    let columns = looked.columns(input.facts);

    clock.start("reach");
    let two = fit.classes.len() == 2 && fit.separation.is_none() && fit.convergence.converged;
    let reached = if two { beyond(input, &fit, &codes, &looked)? } else { None };

    clock.start("figures");
    let probabilities = fit.predict_proba(input.x)?;
    let (mut drawn, mut tables) = column_parts(&columns)?;
    tables.retain(|table| table.id == "rank");
    tables.insert(0, coefficient_table(&fit, input)?);
    drawn.insert(0, coefficient_figure(&fit, input, &looked));
    drawn.insert(0, reach_figure(&fit, reached.as_ref(), input));
    if fit.classes.len() == 2 {
        drawn.push(predicted_figure(&probabilities, &codes, &fit, input));
    }
    clock.stop();

    // Of the least-squares findings, those about columns alone.
    let own = [
        "exact-dependency",
        "more-columns-than-rows",
        "duplicated-column",
        "constant-column",
        "near-dependency",
        "uncertain-rank",
        "scaling",
    ];
    let mut findings: Vec<Finding> =
        columns.findings().into_iter().filter(|finding| own.contains(&finding.name)).collect();
    findings.extend(separation(&fit, input));
    findings.extend(reached.as_ref().and_then(|reached| structure(reached, input)));
    findings.extend(input.facts.missing());
    let findings = settled(findings, &drawn);
    let classes: Vec<String> = fit.classes.iter().map(|label| label.0.clone()).collect();
    let steps = counted(fit.convergence.iterations, "step", "steps");
    let likelihood = format!("maximum likelihood, λ = 0, {steps}");
    Ok(Explanation {
        subject: input.subject(classes, looked.fit.rows()),
        verdict: verdict(&fit, &probabilities, &codes, input, &findings),
        findings,
        figures: drawn,
        tables,
        computation: computation(input, &columns, Some(likelihood), None, clock.seconds),
    })
}

fn verdict(
    fit: &LogisticFit<Label>,
    probabilities: &Matrix,
    codes: &[f64],
    input: &TableInput<'_>,
    findings: &[Finding],
) -> Vec<String> {
    let largest = |row: &[f64]| (0..row.len()).fold(0, |a, b| if row[b] > row[a] { b } else { a });
    let right = codes
        .iter()
        .enumerate()
        .filter(|(i, code)| largest(probabilities.row(*i)) == **code as usize)
        .count();
    let first = format!(
        "{} explain {} of the deviance of `{}` over {} classes and put {} of {} into the right one.",
        input.span(),
        percent(fit.r_squared.clamp(0.0, 1.0)),
        input.facts.target,
        fit.classes.len(),
        right,
        counted(codes.len(), "row", "rows"),
    );
    let second = match &fit.separation {
        Some(_) => "The likelihood has no maximum: coefficients and their errors mean nothing.".to_owned(),
        None if fit.convergence.converged => {
            let steps = counted(fit.convergence.iterations, "step", "steps");
            format!(
                "The likelihood's maximum was reached in {steps}, without a penalty (λ = 0; `fit` has λ = 1 unless told \
                 otherwise)."
            )
        }
        None => "The likelihood's maximum was not reached.".to_owned(),
    };
    vec![first, second, acting(findings)]
}

fn separation(fit: &LogisticFit<Label>, input: &TableInput<'_>) -> Option<Finding> {
    let found = fit.separation.as_ref()?;
    let names = some_names(found.columns.iter().map(|&j| input.facts.names[j].as_str()));
    let (way, severity) = match found.kind {
        SeparationKind::Complete => ("completely", Severity::Serious),
        _ => ("but for rows on the boundary", Severity::Serious),
    };
    let verb = if found.columns.len() == 1 { "separates" } else { "separate" };
    let sentence = format!(
        "{names} {verb} the classes of `{}` {way}: {} of {} rows lie strictly on their own side, so the best coefficients \
         are infinite",
        input.facts.target,
        found.separated_rows,
        found.separated_rows + found.boundary_rows,
    );
    Some(
        Finding::new(severity, sentence)
            .named("separated-classes")
            .advised(
                "use a penalty (λ = 1 to begin with); check that the column does not come from the target",
            )
            .certified("a direction on whose right side every row lies, checked row by row")
            .evident("rows strictly on their own side", found.separated_rows as f64)
            .evident("rows on the boundary", found.boundary_rows as f64)
            .shown(if fit.classes.len() == 2 { "predicted-actual" } else { "coefficients" }),
    )
}

/// Terms beyond the span, and the share of the deviance they explain on rows left out.
fn beyond(
    input: &TableInput<'_>,
    fit: &LogisticFit<Label>,
    codes: &[f64],
    looked: &Looked,
) -> Result<Option<Reached>, LinearError> {
    let decision = fit.decision(input.x)?;
    let probability = |i: usize| 1.0 / (1.0 + (-decision[(i, 0)]).exp());
    let weight = |i: usize| {
        let p = probability(i);
        (p * (1.0 - p)).max(1e-9) * input.weights.map_or(1.0, |w| w[i])
    };
    let n = codes.len();
    let working = |i: usize| {
        let p = probability(i);
        decision[(i, 0)] + (codes[i] - p) / (p * (1.0 - p)).max(1e-9)
    };
    let weights: Vec<f64> = (0..n).map(weight).collect();
    let linearised = TableInput { weights: Some(&weights), ..*input };
    let Some(sample) = looked.sample(&linearised, &working, n, &[]) else { return Ok(None) };
    let (mut reached, folds) = reach::reach(&sample);
    // Codes of the sample's rows: the working target is on the side of its class.
    let Some(plain) = looked.sample(&linearised, &|i| codes[i], n, &[]) else { return Ok(None) };
    let terms: Vec<Candidate> = reached.terms.iter().map(|term| term.0).collect();
    let (mut null, mut without, mut with) = (0.0, 0.0, 0.0);
    for fold in &folds {
        let (kept, left) = fold.order.split_at(fold.fitted);
        let share = kept.iter().map(|&i| plain.y[i]).sum::<f64>() / kept.len() as f64;
        null += left.iter().map(|&i| surprise(plain.y[i], share)).sum::<f64>();
        without += held_out(&plain, kept, left, &[])?;
        with += if terms.is_empty() { 0.0 } else { held_out(&plain, kept, left, &terms)? };
    }
    reached.inside = 1.0 - without / null;
    let gain = if terms.is_empty() { 0.0 } else { (without - with) / null };
    let powers = terms.iter().any(|term| !matches!(term, Candidate::Product(..)));
    (reached.powers, reached.products) = if powers { (gain, 0.0) } else { (0.0, gain) };
    let count = terms.len().max(1) as f64;
    reached.terms.iter_mut().for_each(|term| term.1 = gain / count);
    Ok(Some(reached))
}

/// −2 ln of the probability of what happened.
fn surprise(code: f64, p: f64) -> f64 {
    let p = p.clamp(1e-12, 1.0 - 1e-12);
    -2.0 * if code > 0.5 { p.ln() } else { (1.0 - p).ln() }
}

/// The deviance of rows left out, lightly penalised so that a part that separates does not spoil it.
fn held_out(
    sample: &SampleRows,
    kept: &[usize],
    left: &[usize],
    terms: &[Candidate],
) -> Result<f64, LinearError> {
    let d = sample.columns.len();
    let value =
        |i: usize, j: usize| sample.columns.iter().find(|(at, _)| *at == j).map_or(0.0, |(_, x)| x[i]);
    let design = |rows: &[usize]| {
        Matrix::from_fn(rows.len(), d + terms.len(), |i, c| match c.checked_sub(d) {
            None => sample.columns[c].1[rows[i]],
            Some(t) => terms[t].of(|j| value(rows[i], j)),
        })
    };
    let classes: Vec<u8> = kept.iter().map(|&i| u8::from(sample.y[i] > 0.5)).collect();
    if classes.iter().all(|&class| class == classes[0]) {
        return Ok(left.iter().map(|&i| surprise(sample.y[i], f64::from(classes[0]))).sum());
    }
    let settings = Logistic { intercept: sample.intercept, penalty: 1e-3, ..Logistic::unpenalised() };
    let fit = settings.fit(design(kept).view(), &classes)?;
    let predicted = fit.predict_proba(design(left).view())?;
    Ok(left.iter().enumerate().map(|(at, &i)| surprise(sample.y[i], predicted[(at, 1)])).sum())
}

fn structure(reached: &Reached, input: &TableInput<'_>) -> Option<Finding> {
    let gain = reached.powers + reached.products;
    if reached.terms.is_empty() || gain < WORTH {
        return None;
    }
    let named: Vec<String> =
        reached.terms.iter().map(|(term, _)| format!("`{}`", term.name(&input.facts.names))).collect();
    let sentence = format!(
        "the columns do not reach all there is to know of `{}`: with {} {} of the deviance is explained on rows left \
         out, with the columns alone {}",
        input.facts.target,
        named.join(" and "),
        percent(reached.inside + gain),
        percent(reached.inside.max(0.0)),
    );
    Some(
        Finding::new(Severity::Caution, sentence)
            .named("structure-beyond-span")
            .advised(format!("add {} as columns", named.join(", ")))
            .certified(format!(
                "refitted on five parts of {} rows, each predicted from the others",
                reached.rows
            ))
            .evident("held-out share of the deviance, columns", reached.inside)
            .evident("held-out share of the deviance, with the terms", reached.inside + gain)
            .shown("reach"),
    )
}

fn reach_figure(
    fit: &LogisticFit<Label>,
    reached: Option<&Reached>,
    input: &TableInput<'_>,
) -> crate::explain::Figure {
    let of = format!("deviance of {}", input.facts.target);
    let names = &input.facts.names;
    let (part, caption) = if let Some(reached) = reached {
        let inside = reached.inside.clamp(0.0, 1.0);
        let squares = reached.powers.clamp(0.0, 1.0 - inside);
        let interactions = reached.products.clamp(0.0, 1.0 - inside - squares);
        let terms = reached.terms.iter().map(|&(term, gain)| ReachTerm { name: term.name(names), gain });
        let part = Reach {
            inside,
            squares: Some(squares),
            interactions: Some(interactions),
            beyond: 1.0 - inside - squares - interactions,
            held_out: true,
            rows: reached.rows,
            terms: terms.collect(),
            of,
            kernel: None,
        };
        (part, "Shares of the deviance explained on rows left out, each beyond those before it.")
    } else {
        let inside = fit.r_squared.clamp(0.0, 1.0);
        let part = Reach { inside, beyond: 1.0 - inside, rows: 0, of, ..Reach::default() };
        (part, "Measured on the rows of the fit itself.")
    };
    figures::figure("reach", "How far the columns reach", caption, FigureKind::Reach(part))
}

fn coefficient_figure(
    fit: &LogisticFit<Label>,
    input: &TableInput<'_>,
    looked: &Looked,
) -> crate::explain::Figure {
    let facts = input.facts;
    let reach = Normal.upper_quantile(0.5 * (1.0 - facts.confidence)).unwrap_or(1.96);
    let row = |name: &str, value: f64, error: Option<f64>, scale: Option<f64>| CoefficientRow {
        name: name.to_owned(),
        value,
        low: error.map(|error| value - reach * error),
        high: error.map(|error| value + reach * error),
        effect: scale.map(|scale| scale * value),
        effect_scale: scale,
        digits: None,
        meaningless: fit.separation.as_ref().map(|_| "the classes separate".to_owned()),
    };
    let classes = fit.coefficients.rows();
    let mut rows = Vec::new();
    for c in 0..classes {
        let of = if classes > 1 { format!(" ({})", fit.classes[c].0) } else { String::new() };
        if facts.intercept {
            let error = fit.intercept_standard_errors.as_ref().map(|errors| errors[c]);
            rows.push(row(&format!("intercept{of}"), fit.intercepts[c], error, None));
        }
        for (j, name) in facts.names.iter().enumerate() {
            let error = fit.standard_errors.as_ref().map(|errors| errors[(c, j)]);
            let scale = looked.factor.deviation(j);
            rows.push(row(&format!("{name}{of}"), fit.coefficients[(c, j)], error, Some(scale)));
        }
    }
    let unit = match &fit.classes[..] {
        [_, second] => format!("log-odds of {} = {}", facts.target, second.0),
        _ => "score of the class".to_owned(),
    };
    let caption = "What one standard deviation of each column does to the log-odds, with intervals.";
    let kind = FigureKind::Coefficients(Coefficients { rows, confidence: facts.confidence, unit });
    figures::figure("coefficients", "Coefficients", caption, kind)
}

fn coefficient_table(fit: &LogisticFit<Label>, input: &TableInput<'_>) -> Result<Table, LinearError> {
    let mut table = Table::new(
        "coefficients",
        "Coefficients without a penalty (λ = 0)",
        &["term", "estimate", "standard error", "z", "p"],
    );
    let parts = logistic(fit, 0.0, input.facts)?.coefficients;
    let several = parts.len() > 1;
    for part in &parts {
        let of =
            part.class.as_ref().filter(|_| several).map_or_else(String::new, |class| format!(" ({class})"));
        for term in &part.terms {
            table.rows.push(vec![
                TableCell::Text(format!("{}{of}", term.name)),
                term.estimate.into(),
                term.standard_error.into(),
                term.statistic.into(),
                term.p_value.into(),
            ]);
        }
    }
    Ok(table)
}

fn predicted_figure(
    probabilities: &Matrix,
    codes: &[f64],
    fit: &LogisticFit<Label>,
    input: &TableInput<'_>,
) -> crate::explain::Figure {
    let n = codes.len();
    let step = n.div_ceil(MOST_POINTS).max(1);
    let point =
        |i: usize| Point { x: probabilities[(i, 1)], y: codes[i], row: input.row_number(i), marked: false };
    let (first, second) = (&fit.classes[0].0, &fit.classes[1].0);
    let scatter = Scatter {
        x: format!("predicted probability of {second}"),
        y: format!("actual class: 0 {first}, 1 {second}"),
        points: (0..n).step_by(step).map(point).collect(),
        of: n,
        terms: input.facts.names.len() + usize::from(input.facts.intercept),
        ..Scatter::default()
    };
    let caption =
        "Rows of each class by their predicted probability; classes that do not overlap are separated.";
    figures::figure("predicted-actual", "Predicted and actual", caption, FigureKind::PredictedActual(scatter))
}
