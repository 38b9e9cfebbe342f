//! Logistic and softmax regression.

use super::common::some_names;
use super::{Coefficients, FitFacts, Fitted, Measure, Term};
use crate::linear::{Finding, Severity, counted, short};
use serde::Serialize;
use spanwise_linear::LinearError;
use spanwise_linear::fit::{Distribution, LogisticFit, Normal, Separation, SeparationKind};
use std::cmp::Ordering;

/// A class, as text; those that are numbers are ordered as numbers and come first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label(pub String);

impl Ord for Label {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |label: &Label| label.0.trim().parse::<f64>().ok();
        match (key(self), key(other)) {
            (Some(a), Some(b)) => a.total_cmp(&b).then_with(|| self.0.cmp(&other.0)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.0.cmp(&other.0),
        }
    }
}

impl PartialOrd for Label {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What a logistic or softmax fit says.
pub fn logistic(fit: &LogisticFit<Label>, penalty: f64, facts: &FitFacts) -> Result<Fitted, LinearError> {
    let reach = Normal.upper_quantile((1.0 - facts.confidence) / 2.0)?;
    let p_values = fit.p_values();
    let two = fit.classes.len() == 2;
    let mut parts = Vec::new();
    for k in 0..fit.coefficients.rows() {
        let class = &fit.classes[if two { 1 } else { k }];
        let mut terms = Vec::new();
        if facts.intercept {
            let error = fit.intercept_standard_errors.as_ref().map(|errors| errors[k]);
            let p = error.map(|error| Normal.two_sided(fit.intercepts[k] / error));
            terms.push(term("intercept", fit.intercepts[k], error, p, reach));
        }
        for (j, name) in facts.names.iter().enumerate() {
            let error = fit.standard_errors.as_ref().map(|errors| errors[(k, j)]);
            let p = p_values.as_ref().map(|p| p[(k, j)]);
            terms.push(term(name, fit.coefficients[(k, j)], error, p, reach));
        }
        parts.push(Coefficients { class: Some(class.0.clone()), terms });
    }
    let mut fitted = facts.fitted(if two { "logistic" } else { "softmax" }, parts);
    fitted.statistic = "z";
    fitted.measures = vec![
        Measure::new("deviance", "deviance", fit.deviance),
        Measure::new("null_deviance", "null deviance", fit.null_deviance),
        Measure::new("pseudo_r_squared", "pseudo R² (McFadden)", fit.r_squared),
        Measure::new("lambda", "penalty λ", penalty),
        Measure::new("iterations", "iterations", fit.convergence.iterations as f64),
        Measure::new("gradient_norm", "largest gradient", fit.convergence.gradient_norm),
    ];
    let classes: Vec<String> = fit.classes.iter().map(|class| format!("`{}`", class.0)).collect();
    fitted.verdict = if two {
        format!(
            "{}: log-odds of {} against {}; pseudo R² {}.",
            facts.subject(),
            classes[1],
            classes[0],
            short(fit.r_squared)
        )
    } else {
        format!("{}: scores of {}; pseudo R² {}.", facts.subject(), classes.join(", "), short(fit.r_squared))
    };
    fitted.computation.method = if penalty > 0.0 {
        format!("maximum likelihood, penalised with λ = {}", short(penalty))
    } else {
        "maximum likelihood".to_owned()
    };
    fitted.findings = facts.with_rows(findings(fit, facts));
    Ok(fitted)
}

fn term(name: &str, estimate: f64, error: Option<f64>, p: Option<f64>, reach: f64) -> Term {
    let error = error.filter(|error| error.is_finite());
    Term {
        standard_error: error,
        statistic: error.map(|error| estimate / error),
        p_value: p.filter(|p| error.is_some() && !p.is_nan()),
        interval: error.map(|error| (estimate - reach * error, estimate + reach * error)),
        ..Term::plain(name, estimate)
    }
}

fn findings(fit: &LogisticFit<Label>, facts: &FitFacts) -> Vec<Finding> {
    let mut all = Vec::new();
    if let Some(found) = &fit.separation {
        all.push(separation(found, facts));
    } else if !fit.convergence.converged {
        let sentence = format!(
            "the search ended after {} before it converged",
            counted(fit.convergence.iterations, "iteration", "iterations")
        );
        all.push(Finding::new(Severity::Serious, sentence));
    } else if fit.separates {
        let sentence = "every row is on the side of its class: without the penalty there would be no largest likelihood, and \
                        the coefficients and their errors are of the penalty's making";
        all.push(Finding::new(Severity::Caution, sentence).named("separated-classes"));
    }
    if fit.convergence.jitter > 0.0 {
        let sentence =
            "columns depend on each other: coefficients are not unique and have no standard errors";
        all.push(Finding::new(Severity::Serious, sentence).advised("`spanwise measure` gives the formulas"));
    }
    all
}

fn separation(found: &Separation, facts: &FitFacts) -> Finding {
    let columns = some_names(found.columns.iter().map(|&j| facts.names[j].as_str()));
    let how = match found.kind {
        SeparationKind::Complete => "completely",
        _ => "but for rows on the boundary",
    };
    let verb = if found.columns.len() == 1 { "separates" } else { "separate" };
    let sentence = format!(
        "{columns} {verb} the classes {how}: coefficients grow without end, and their sizes mean nothing"
    );
    let certificate = format!(
        "{} strictly on their side of a hyperplane, {} on it",
        counted(found.separated_rows, "row", "rows"),
        found.boundary_rows
    );
    Finding::new(Severity::Serious, sentence)
        .advised("`--lambda 1` gives finite coefficients")
        .certified(certificate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_are_numbers_are_ordered_as_numbers() {
        let mut labels = ["10", "b", "2", "a", "-1"].map(|text| Label(text.to_owned()));
        labels.sort();
        assert_eq!(labels.map(|label| label.0), ["-1", "2", "10", "a", "b"]);
    }
}
