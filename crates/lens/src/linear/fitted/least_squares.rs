//! Least squares as a statistician reads it.

use super::common::{self, certain_digits, conditions, has_errors};
use super::{Coefficients, FitFacts, Fitted, FittedDependency, FittedRank, Measure, Term};
use crate::linear::near::near_findings;
use crate::linear::{Finding, Severity, counted, percent, r_squared};
use spanwise_linear::fit::least_squares::{Coefficient, Method, Statistics};
use spanwise_linear::{LinearError, LinearFit};

/// What a least-squares fit of one target says.
pub fn least_squares(fit: &LinearFit, facts: &FitFacts) -> Result<Fitted, LinearError> {
    let target = fit.target();
    let dependent = |j: usize| fit.rank().dependent.contains(&j);
    let mut terms = Vec::with_capacity(facts.names.len() + 1);
    if let Some(intercept) = &target.intercept {
        terms.push(term(fit, "intercept", intercept, facts.confidence)?);
    }
    for (j, (name, coefficient)) in facts.names.iter().zip(&target.coefficients).enumerate() {
        let term = Term { dependent: dependent(j), ..term(fit, name, coefficient, facts.confidence)? };
        // Of a number that cannot be stored nothing else is known either.
        let stored = !target.out_of_range().contains(&j);
        terms.push(if stored {
            term
        } else {
            Term { dependent: dependent(j), ..Term::plain(name, term.estimate) }
        });
    }
    let statistics = fit.statistics(0);
    let names: Vec<&str> = facts.names.iter().map(String::as_str).collect();
    let mut fitted = facts.fitted("least squares", vec![Coefficients { class: None, terms }]);
    fitted.computation.method = method(fit);
    fitted.computation.rows_used = fit.rows();
    let (_, condition) = conditions(fit)?;
    fitted.rank = Some(rank(fit, condition));
    fitted.dependencies = fit
        .dependencies()
        .iter()
        .map(|found| FittedDependency {
            column: facts.names[found.column].clone(),
            formula: found.formula(&names),
            residual: found.relative_residual,
        })
        .collect();
    if let Some(statistics) = statistics {
        fitted.measures = measures(fit, &statistics);
        fitted.verdict = verdict(fit, facts, &statistics, &fitted);
    }
    fitted.findings = facts.with_rows(findings(fit, facts, condition));
    Ok(fitted)
}

/// What it says of rows to predict that some break a dependency of the columns; `broken` has the first that each row breaks.
pub fn broken_dependencies(fit: &LinearFit, broken: &[Option<usize>], names: &[String]) -> Option<Finding> {
    let mut counts = vec![0_usize; fit.dependencies().len()];
    broken.iter().flatten().for_each(|&k| counts[k] += 1);
    let (most, _) = counts.iter().enumerate().max_by_key(|&(k, count)| (count, std::cmp::Reverse(k)))?;
    let rows: usize = counts.iter().sum();
    if rows == 0 {
        return None;
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let formula = fit.dependencies()[most].short_formula(&names, common::FEW_TERMS);
    let others = if counts[most] < rows { " or another dependency" } else { "" };
    let (verb, whose) =
        if rows == 1 { ("breaks", "its prediction is") } else { ("break", "their predictions are") };
    let sentence = format!(
        "{rows} of {} to predict {verb} `{formula}`{others}: {whose} not determined by the data",
        counted(broken.len(), "row", "rows")
    );
    let advice = "fit rows that break it too, or leave the column out; there is no interval for such rows";
    Some(Finding::new(Severity::Serious, sentence).named("broken-dependency").advised(advice))
}

fn term(
    fit: &LinearFit,
    name: &str,
    coefficient: &Coefficient,
    confidence: f64,
) -> Result<Term, LinearError> {
    let interval = fit.confidence_interval(coefficient, confidence)?;
    let known = coefficient.standard_error.is_finite() && has_errors(fit);
    let p = fit.p_value(coefficient);
    Ok(Term {
        standard_error: known.then_some(coefficient.standard_error),
        statistic: (known && !coefficient.t().is_nan()).then(|| coefficient.t()),
        p_value: (known && !p.is_nan()).then_some(p),
        interval: known.then_some((interval.lower, interval.upper)),
        digits: common::digits(coefficient),
        ..Term::plain(name, coefficient.value)
    })
}

fn rank(fit: &LinearFit, condition: f64) -> FittedRank {
    let rank = fit.rank();
    FittedRank {
        rank: rank.rank,
        terms: rank.terms,
        tolerance: rank.tolerance,
        gap: rank.gap(),
        would_change: rank.would_change(),
        condition,
    }
}

fn method(fit: &LinearFit) -> String {
    let way = match fit.method() {
        Method::Gram => "Gram matrix and Cholesky",
        Method::Householder => "Householder reflections",
        Method::Dual => "Gram matrix of the rows",
        Method::UnitColumns => "singular values of the columns scaled to length 1",
        _ => "another way",
    };
    match fit.refinement_steps() {
        0 => format!("{way}, not refined"),
        steps => format!("{way}, refined in {}", counted(steps, "pass", "passes")),
    }
}

fn measures(fit: &LinearFit, statistics: &Statistics) -> Vec<Measure> {
    let freedom = fit.degrees_of_freedom();
    let explained = fit.rank().rank - usize::from(fit.target().intercept.is_some());
    // Where nothing is left to estimate a variance from, what rests on it is not defined.
    let defined = |value: f64| if has_errors(fit) { value } else { f64::NAN };
    vec![
        Measure::new("r_squared", "R²", statistics.r_squared),
        Measure::new("adjusted_r_squared", "adjusted R²", statistics.adjusted_r_squared),
        Measure::new("residual_standard_error", "residual standard error", statistics.residual_deviation)
            .noted(format!("on {}", counted(freedom as usize, "degree of freedom", "degrees of freedom"))),
        Measure::new("f", "F", defined(statistics.f)).noted(format!("on {explained} and {freedom}")),
        Measure::new("f_p_value", "p of F", defined(statistics.f_p_value)),
        Measure::new("log_likelihood", "log-likelihood", defined(statistics.log_likelihood)),
        Measure::new("aic", "AIC", defined(statistics.aic)),
        Measure::new("bic", "BIC", defined(statistics.bic)),
        Measure::new("residual_squares", "residual sum of squares", fit.target().residual_squares)
            .noted(squares_note(fit)),
        Measure::new("rows", "rows", fit.rows() as f64),
        Measure::new("degrees_of_freedom", "degrees of freedom", freedom as f64),
    ]
}

/// Where squares of the target overflow or vanish, that they do.
fn squares_note(fit: &LinearFit) -> &'static str {
    let target = fit.target();
    match target.residual_squares {
        squares if squares.is_infinite() => "(beyond what f64 can hold)",
        squares if !squares.is_normal() && !target.is_exact() => "(nearer to 0 than f64 can hold)",
        _ => "",
    }
}

/// The term with the fewest digits, of those that are neither a matter of choice nor 0; and whether some are 0 to rounding.
fn fewest_digits<'a>(fit: &LinearFit, fitted: &'a Fitted) -> (Option<&'a Term>, bool) {
    let condition = fitted.rank.as_ref().map_or(f64::NAN, |rank| rank.condition);
    let columns = fit.target().intercept.iter().map(|_| None).chain((0..fit.columns()).map(Some));
    let terms = fitted.coefficients.iter().flat_map(|part| &part.terms).zip(columns);
    let terms = terms.filter(|&(_, column)| fit.determines(column)).map(|(term, _)| term);
    let known: Vec<&Term> = terms.filter(|term| term.digits.is_some_and(|digits| !digits.is_nan())).collect();
    let is_zero =
        |term: &&Term| term.digits.is_some_and(|digits| common::is_zero_to_rounding(digits, condition));
    let telling = known.iter().filter(|term| !is_zero(term));
    let fewest = telling.min_by(|a, b| a.digits.partial_cmp(&b.digits).unwrap_or(std::cmp::Ordering::Equal));
    (fewest.copied(), known.iter().any(is_zero))
}

fn verdict(fit: &LinearFit, facts: &FitFacts, statistics: &Statistics, fitted: &Fitted) -> String {
    let target = fit.target();
    let subject = facts.subject();
    let reach = if !target.varies() {
        "the target does not vary.".to_owned()
    } else if common::gives_every_row(fit) && !has_errors(fit) {
        format!("R² {}; the columns give every row, to rounding.", r_squared(statistics.r_squared))
    } else {
        let outside = percent(target.unexplained().sqrt());
        let of = if facts.intercept { "deviation from its mean" } else { "length" };
        let where_it_is = if fit.degrees_of_freedom() == 0 {
            format!("the columns can give every row, and rounding has left {outside} of its {of}")
        } else {
            format!("{outside} of its {of} lies outside the span of the columns")
        };
        format!("R² {}; {where_it_is}.", r_squared(statistics.r_squared))
    };
    let (fewest, some_are_zero) = fewest_digits(fit, fitted);
    let certain = fewest.map_or_else(String::new, |term| {
        let digits = certain_digits(term.digits.unwrap_or(0.0));
        let which = match () {
            () if !target.out_of_range().is_empty() => "other ",
            () if fit.rank().is_full() => "",
            () => "determined ",
        };
        let but = if some_are_zero { " that is not 0 to rounding" } else { "" };
        format!(" Every {which}coefficient{but} has at least {digits} (`{}`).", term.name)
    });
    format!("{subject}: {reach}{certain}")
}

fn findings(fit: &LinearFit, facts: &FitFacts, condition: f64) -> Vec<Finding> {
    let names: Vec<&str> = facts.names.iter().map(String::as_str).collect();
    let mut all: Vec<Finding> = common::out_of_range(fit, &names, &facts.target).into_iter().collect();
    all.extend(common::dependent_columns(fit, &names));
    all.extend(common::shape(fit, &facts.target));
    all.extend(common::uncertain_rank(fit.rank()));
    all.extend(near_findings(&fit.near_dependencies(), &names, facts.intercept));
    all.extend(common::few_digits(fit, &names, condition));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use spanwise_kernels::Matrix;
    use spanwise_linear::LeastSquares;

    fn told(x: &Matrix, y: &[f64]) -> Fitted {
        let names = (0..x.cols()).map(|j| format!("x{j}")).collect();
        let facts = FitFacts { names, ..FitFacts::new("y", &[], y.len()) };
        least_squares(&LeastSquares::new().fit(&x.view(), y).unwrap(), &facts).unwrap()
    }

    fn wave(i: usize, j: usize) -> f64 {
        ((i * (j + 2)) as f64 * 1.7).sin()
    }

    #[test]
    fn columns_that_others_give_do_not_count_among_those_with_certain_digits() {
        let x = Matrix::from_fn(40, 3, |i, j| [wave(i, 0), wave(i, 1), 5.0][j]);
        let y: Vec<f64> = (0..40).map(|i| wave(i, 0) + wave(i, 3)).collect();
        let verdict = told(&x, &y).verdict;
        assert!(verdict.contains("Every determined coefficient has at least 1"), "{verdict}");
        assert!(!verdict.contains("x2") && !verdict.contains("`intercept`"), "{verdict}");
        // Of three that share their parts none is determined.
        let x = Matrix::from_fn(40, 3, |i, j| if i % 3 == j { 1.0 } else { 0.0 });
        let verdict = told(&x, &y).verdict;
        assert!(!verdict.contains("digits"), "{verdict}");
    }

    #[test]
    fn a_target_of_tiny_numbers_is_not_said_to_be_a_formula() {
        let x = Matrix::from_fn(40, 1, wave);
        for unit in [1.0, 1e-200, 1e200] {
            let y: Vec<f64> = (0..40).map(|i| (wave(i, 0) + wave(i, 3)) * unit).collect();
            let fitted = told(&x, &y);
            assert_eq!(fitted.findings, [], "{unit}");
            assert!(!fitted.verdict.contains("NaN"), "{}", fitted.verdict);
            let measure = |key| fitted.measures.iter().find(|measure| measure.key == key).unwrap();
            assert!(measure("residual_standard_error").value > 0.1 * unit);
            assert!(measure("aic").value.is_finite());
            assert_eq!(measure("residual_squares").note.is_empty(), unit == 1.0);
        }
    }

    #[test]
    fn every_row_is_said_to_be_given_where_the_residual_shows_it() {
        // Powers of two columns, from 1 to 1e30 in size.
        let terms: Vec<(i32, i32)> = (1..=33).flat_map(|k| (0..=k).map(move |a| (a, k - a))).collect();
        let x = Matrix::from_fn(50, terms.len(), |i, j| {
            wave(i, 0).powi(terms[j].0) * (9.0 * wave(i, 1)).powi(terms[j].1)
        });
        let y: Vec<f64> = (0..50).map(|i| wave(i, 5)).collect();
        let fitted = told(&x, &y);
        let squares = fitted.measures.iter().find(|measure| measure.key == "residual_squares").unwrap();
        assert!(fitted.verdict.contains("the columns give every row, to rounding"), "{}", fitted.verdict);
        assert!(squares.value < 1e-18, "{}", squares.value);
    }
}
