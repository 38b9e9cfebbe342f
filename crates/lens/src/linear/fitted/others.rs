//! Ridge, constrained and kernel fits.

use super::common::FEW_TERMS;
use super::{FitFacts, Fitted, Measure, Tried};
use crate::linear::{Finding, Severity, counted, r_squared, short};
use spanwise_linear::LinearFit;
use spanwise_linear::fit::least_squares::Dependency;
use spanwise_linear::fit::{ConstrainedFit, Kernel, KernelRidgeFit, RidgeFit, RidgeMethod};
use std::iter::once;

/// What a ridge fit says; `tried` are the penalties it was chosen from, `rule` how.
pub fn ridge(fit: &RidgeFit, tried: Vec<Tried>, rule: Option<&str>, facts: &FitFacts) -> Fitted {
    let mut fitted = facts.fitted("ridge", facts.plain_terms(fit.intercept, &fit.coefficients));
    let chosen = rule.map_or_else(String::new, |rule| format!("chosen by {rule}"));
    fitted.measures = vec![
        Measure::new("lambda", "penalty λ", fit.alpha).noted(chosen.clone()),
        Measure::new("r_squared", "R²", fit.r_squared),
        Measure::new("residual_squares", "residual sum of squares", fit.residual_sum_of_squares),
    ];
    if let Some(freedom) = fit.degrees_of_freedom {
        let measure = Measure::new("degrees_of_freedom", "effective parameters", freedom);
        fitted.measures.push(measure.noted("trace of the hat matrix"));
    }
    let by = if chosen.is_empty() { String::new() } else { format!(", {chosen}") };
    let reach = if fit.r_squared.is_nan() {
        "the target does not vary".to_owned()
    } else {
        format!("R² {}", r_squared(fit.r_squared))
    };
    fitted.verdict = format!("{}: λ = {}{by}; {reach}.", facts.subject(), short(fit.alpha));
    let mut findings = Vec::new();
    if fit.r_squared.is_nan() {
        let sentence =
            format!("`{}` is constant: there is nothing to explain; R² is not defined", facts.target);
        findings.push(Finding::new(Severity::Serious, sentence).named("constant-target"));
    }
    let penalties = || tried.iter().map(|tried| tried.lambda);
    let (least, most) = (penalties().fold(f64::INFINITY, f64::min), penalties().fold(0.0, f64::max));
    if rule.is_some() && least < most && (fit.alpha == least || fit.alpha == most) {
        let sentence = format!("the chosen λ = {} is at the end of those tried", short(fit.alpha));
        findings.push(Finding::new(Severity::Caution, sentence).advised("try penalties beyond it"));
    }
    if fit.method == RidgeMethod::Singular && fit.alpha == 0.0 {
        let sentence = "columns depend on each other: of all solutions this is the one of smallest norm";
        findings.push(Finding::new(Severity::Serious, sentence));
    }
    let method = match fit.method {
        RidgeMethod::Moments => "one factorisation of the second moments",
        RidgeMethod::Corrected => "second moments, corrected with residuals",
        _ => "singular values",
    };
    method.clone_into(&mut fitted.computation.method);
    fitted.tried = tried;
    fitted.findings = facts.with_rows(findings);
    fitted
}

/// What a fit with weights that are not negative says; on the simplex they add up to 1 as well. `squares` is the sum of the
/// target's squares, weighted as those of the residuals are.
pub fn constrained(fit: &ConstrainedFit, simplex: bool, squares: f64, facts: &FitFacts) -> Fitted {
    let model = if simplex { "simplex" } else { "nonnegative" };
    let mut fitted = facts.fitted(model, facts.plain_terms(fit.intercept, &fit.coefficients));
    let certificate = &fit.certificate;
    fitted.measures = vec![
        Measure::new("residual_squares", "residual sum of squares", fit.residual_sum_of_squares),
        Measure::new("support", "columns with a weight", fit.support.len() as f64)
            .noted(format!("of {}", facts.names.len())),
        Measure::new("stationarity", "gradient left on them", certificate.stationarity),
        Measure::new("improvement", "gradient inwards off them", certificate.improvement),
        Measure::new("feasibility", "constraint violated by", certificate.feasibility),
    ];
    let rule = if simplex { "weights ≥ 0 that add up to 1" } else { "weights ≥ 0" };
    fitted.verdict = format!(
        "{}: {rule}, above 0 for {} of {}.",
        facts.subject(),
        fit.support.len(),
        counted(facts.names.len(), "column", "columns")
    );
    let mut findings = vec![exact_or_not(fit.residual_sum_of_squares, squares)];
    if !certificate.holds() {
        let sentence = "the optimality conditions do not hold to 1e-9: a better answer may exist";
        findings.push(Finding::new(Severity::Serious, sentence));
    }
    fitted.computation.method = format!("active set, {}", counted(fit.rounds, "round", "rounds"));
    fitted.findings = facts.with_rows(findings);
    fitted
}

/// What it says where other weights that keep to the rule fit as well: some along a dependency of the columns, as `free`, least
/// squares of the same table, has found them.
pub fn other_weights(
    fit: &ConstrainedFit,
    simplex: bool,
    free: &LinearFit,
    names: &[String],
) -> Option<Finding> {
    let weights = &fit.coefficients;
    // Along `column − Σ a·other` predictions stay; a weight of 0 can only grow.
    let can_move = |found: &&Dependency| {
        let steps = || once((found.column, 1.0)).chain(found.terms.iter().map(|&(j, a)| (j, -a)));
        let along = |sign: f64| steps().all(|(j, step)| weights[j] > 0.0 || sign * step >= 0.0);
        let sum: f64 = steps().map(|(_, step)| step).sum();
        (along(1.0) || along(-1.0)) && (!simplex || sum.abs() < SAME_SUM)
    };
    let found = free.dependencies().iter().find(can_move)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let formula = found.short_formula(&names, FEW_TERMS);
    let column = names[found.column];
    let sentence = format!("other weights fit as well: `{column}` depends on other columns ({formula})");
    let advice = format!("leave `{column}` out");
    Some(Finding::new(Severity::Serious, sentence).named("other-weights").advised(advice))
}

/// Steps that add up to less than this leave the sum of the weights as it is.
const SAME_SUM: f64 = 1e-9;
/// A residual below this share of the target is rounding.
const ROUNDING: f64 = 1e-13;

fn exact_or_not(residual: f64, total: f64) -> Finding {
    let share = if total > 0.0 { (residual / total).sqrt() } else { 0.0 };
    if share < ROUNDING {
        return Finding::new(Severity::Note, "the residual is 0, to rounding");
    }
    let sentence = format!("the residual is {} of the target's length", super::super::percent(share));
    Finding::new(Severity::Note, sentence)
}

/// What a kernel fit says.
pub fn kernel(fit: &KernelRidgeFit, penalty: f64, facts: &FitFacts) -> Fitted {
    let mut fitted = facts.fitted("kernel", Vec::new());
    let name = match fit.kernel {
        Kernel::Rbf { gamma } => format!("exp(−{}·‖x − z‖²)", gamma.map_or("γ".to_owned(), short)),
        Kernel::Polynomial { degree, gamma, constant } => {
            format!("({}·x·z + {})^{degree}", gamma.map_or("γ".to_owned(), short), short(constant))
        }
        _ => "of another kind".to_owned(),
    };
    let landmarks = fit.landmarks.rows();
    fitted.measures = vec![
        Measure::new("lambda", "penalty λ", penalty),
        Measure::new("landmarks", "landmarks", landmarks as f64).noted(if fit.exact {
            "every row"
        } else {
            "drawn at random"
        }),
        Measure::new("residual_squares", "residual sum of squares", fit.residual_sum_of_squares),
    ];
    if let Some(error) = fit.leave_one_out_error {
        fitted.measures.push(Measure::new("leave_one_out_error", "leave-one-out error", error));
    }
    fitted.verdict = format!("{}: kernel {name}, λ = {}.", facts.subject(), short(penalty));
    let mut findings = Vec::new();
    if fit.jitter > 0.0 {
        let sentence = format!(
            "the kernel matrix is nearly singular: {} of its diagonal was added to factor it",
            short(fit.jitter)
        );
        findings.push(Finding::new(Severity::Caution, sentence).advised("a larger λ"));
    }
    let method = if fit.exact { "Cholesky of the kernel matrix" } else { "Nyström" };
    method.clone_into(&mut fitted.computation.method);
    fitted.findings = facts.with_rows(findings);
    fitted
}
