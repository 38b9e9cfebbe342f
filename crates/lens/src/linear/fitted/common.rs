//! What a least-squares fit says wherever it is told: one text for `fit` and for `explain`.

use crate::finding::{Finding, Severity};
use crate::linear::{counted, percent, short};
use spanwise_linear::fit::least_squares::{Coefficient, Dependency, Rank};
use spanwise_linear::{LinearError, LinearFit};

/// Numbers that differ by less than this share are the same, written twice.
const SAME: f64 = 1e-12;
/// What is left of a constant column beyond this share was in the table: rounding of its mean leaves less.
const ROUNDED: f64 = 1e-15;
/// A residual below this share of the target's variation is rounding of the numbers in the table.
const IN_SPAN: f64 = 1e-20;
/// The share of a target's variation from which on coefficients that could give every row have failed to; less is the rounding of
/// coefficients that are large.
const LOST: f64 = 1e-12;
/// Below this scaled condition number few certain digits only mean that the coefficient is nearly 0.
const HARMLESS: f64 = 1e4;
/// Fewer certain digits than this must not be relied on.
const FEW_DIGITS: f64 = 4.0;
/// Formulas in sentences have at most this many terms, lists of columns this many names.
pub(crate) const FEW_TERMS: usize = 8;

/// The condition numbers of the independent terms, as they are and scaled to length 1.
pub(crate) fn conditions(fit: &LinearFit) -> Result<(f64, f64), LinearError> {
    let found = fit.condition_numbers()?;
    Ok(found.map_or((f64::NAN, fit.condition()), |found| (found.raw, found.unit_scaled)))
}

/// Whether rows are left over and errors are left to estimate from.
pub(crate) fn has_errors(fit: &LinearFit) -> bool {
    fit.degrees_of_freedom() > 0 && !fit.target().is_exact()
}

/// Whether a coefficient is 0 as far as the data tell: it has no certain digit, and the scaled condition number takes none.
pub(crate) fn is_zero_to_rounding(digits: f64, condition: f64) -> bool {
    digits < 1.0 && condition < HARMLESS
}

/// The certain digits of a coefficient; of 0 there are none to count.
pub(crate) fn digits(coefficient: &Coefficient) -> Option<f64> {
    Some(coefficient.digits())
        .filter(|digits| coefficient.value != 0.0 && coefficient.value.is_finite() && digits.is_finite())
}

/// Whether the fit gives every row, to rounding. Few rows alone do not prove it: the residual that is there does.
pub(crate) fn gives_every_row(fit: &LinearFit) -> bool {
    let target = fit.target();
    target.is_exact() || target.unexplained() <= IN_SPAN
}

/// `` `a`, `b` and 3 more ``.
pub(crate) fn some_names<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = names.len();
    let shown = if count > FEW_TERMS + 1 { FEW_TERMS } else { count };
    let named: Vec<String> = names.take(shown).map(|name| format!("`{name}`")).collect();
    let more = if shown < count { format!(" and {} more", count - shown) } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// Columns that others give: one finding each, but one for all that only the lack of rows makes dependent.
pub(crate) fn dependent_columns(fit: &LinearFit, names: &[&str]) -> Vec<Finding> {
    // With no row to spare every column is a combination of those before it, and of nearly all of them.
    let by_chance = |found: &&Dependency| {
        fit.degrees_of_freedom() == 0 && found.terms.len() > FEW_TERMS.min(fit.rank().rank / 2)
    };
    let crowd: Vec<&Dependency> = fit.dependencies().iter().filter(by_chance).collect();
    let crowded = crowd.len() > 1;
    let alone = fit.dependencies().iter().filter(|found| !(crowded && by_chance(found)));
    let mut all: Vec<Finding> = alone.map(|found| dependent_column(fit, found, names)).collect();
    if crowded {
        all.insert(0, more_columns_than_rows(fit, &crowd, names));
    }
    all
}

fn more_columns_than_rows(fit: &LinearFit, crowd: &[&Dependency], names: &[&str]) -> Finding {
    let left = crowd.iter().map(|found| found.relative_residual).fold(0.0, f64::max);
    let sentence = format!(
        "{} columns more than {} can tell apart: {} are combinations of the columns before them",
        crowd.len(),
        counted(fit.rows() as usize, "row", "rows"),
        some_names(crowd.iter().map(|found| names[found.column]))
    );
    Finding::new(Severity::Serious, sentence)
        .named("more-columns-than-rows")
        .advised("use fewer columns, more rows, or ridge: coefficients are a matter of choice")
        .certified(format!("each as a formula in the others, which leaves at most {} of it", short(left)))
        .evident("columns", crowd.len() as f64)
        .evident("left by the formulas, share of a column, at most", left)
}

/// Coefficients that are too large or too small to be stored.
pub(crate) fn out_of_range(fit: &LinearFit, names: &[&str], target: &str) -> Option<Finding> {
    let found = fit.target().out_of_range();
    let (&first, more) = found.split_first()?;
    let limit = if fit.target().coefficients[first].value.is_infinite() {
        "beyond 1.8e308"
    } else {
        "nearer to 0 than 2.2e-308"
    };
    let others = if more.is_empty() {
        String::new()
    } else {
        format!("; so {} of {}", if more.len() == 1 { "is that" } else { "are those" }, {
            some_names(more.iter().map(|&j| names[j]))
        })
    };
    let sentence =
        format!("the coefficient of `{}` lies outside what f64 can hold: {limit}{others}", names[first]);
    let column = if more.is_empty() { format!("`{}`", names[first]) } else { "these columns".to_owned() };
    Some(
        Finding::new(Severity::Serious, sentence)
            .named("coefficient-range")
            .advised(format!(
                "write {column} or `{target}` in other units, with values nearer to 1, and fit again"
            ))
            .certified("in units of powers of two the same coefficient is an ordinary number")
            .evident("columns", found.len() as f64),
    )
}

/// A column that others give.
fn dependent_column(fit: &LinearFit, found: &Dependency, names: &[&str]) -> Finding {
    let (column, intercept) = (names[found.column], fit.target().intercept.is_some());
    let varies = intercept && found.terms.is_empty() && found.relative_residual > ROUNDED;
    let (name, severity, sentence) = match found.terms[..] {
        [] if varies => (
            "constant-column",
            Severity::Caution,
            format!(
                "`{column}` varies by {} of its size ({}) alone, which f64 does not tell from a constant",
                short(found.relative_residual),
                short(found.constant)
            ),
        ),
        [] if intercept => (
            "constant-column",
            Severity::Caution,
            format!("`{column}` is constant ({}): it adds nothing to the intercept", short(found.constant)),
        ),
        [(other, a)] if (a - 1.0).abs() < SAME && found.constant == 0.0 => {
            ("duplicated-column", Severity::Serious, format!("`{column}` repeats `{}`", names[other]))
        }
        _ => (
            "exact-dependency",
            Severity::Serious,
            format!("`{column}` adds nothing: {}", found.short_formula(names, FEW_TERMS)),
        ),
    };
    let mut advice = format!("leave `{column}` out: the same predictions, and one solution");
    if varies {
        advice += "; if the differences matter, subtract its first value before the table is written";
    }
    Finding::new(severity, sentence)
        .named(name)
        .advised(advice)
        .certified(format!("the formula leaves {} of the column", short(found.relative_residual)))
        .evident("left by the formula, share of the column", found.relative_residual)
}

/// Too few rows, a target that does not vary or that the columns give exactly.
pub(crate) fn shape(fit: &LinearFit, target: &str) -> Vec<Finding> {
    let (rows, rank) = (fit.rows(), fit.rank().rank as u64);
    let mut all = Vec::new();
    if fit.degrees_of_freedom() == 0 {
        let passes = if gives_every_row(fit) { "the model passes through every row: " } else { "" };
        let sentence = format!(
            "{passes}{} for {} {} nothing to estimate errors from",
            counted(rows as usize, "row", "rows"),
            counted(rank as usize, "independent term", "independent terms"),
            if rows == 1 { "leaves" } else { "leave" }
        );
        all.push(
            Finding::new(Severity::Serious, sentence)
                .named("no-freedom")
                .advised("use fewer columns, more rows, or ridge"),
        );
        all.extend(missed_rows(fit, target));
    } else if rows < 2 * rank {
        let sentence = format!("{rows} rows for {rank} terms: less than two rows a term");
        all.push(
            Finding::new(Severity::Caution, sentence)
                .named("few-rows")
                .advised("use fewer columns, more rows, or ridge"),
        );
    }
    let fitted = fit.target();
    if !fitted.varies() {
        let sentence = format!(
            "`{target}` is constant: there is nothing to explain; R², errors and tests are not defined"
        );
        all.push(Finding::new(Severity::Serious, sentence).named("constant-target"));
    } else if fit.degrees_of_freedom() > 0 && gives_every_row(fit) {
        let tests = if fitted.is_exact() { "; errors and tests are not defined" } else { "" };
        let sentence = format!("`{target}` is a formula in the columns, to rounding: R² is 1{tests}");
        all.push(
            Finding::new(Severity::Caution, sentence)
                .named("target-in-span")
                .advised("was it computed from them? then there is nothing to learn from the fit")
                .evident("residual, share of the target's variation", fitted.unexplained()),
        );
    }
    all
}

/// As many independent terms as rows give every row; where the coefficients do not, rounding has taken them.
fn missed_rows(fit: &LinearFit, target: &str) -> Option<Finding> {
    let fitted = fit.target();
    let left = fitted.unexplained();
    if !fitted.varies() || left <= LOST {
        return None;
    }
    let sentence = format!(
        "the solution failed: the terms can give every row, the coefficients leave {} of the deviation of `{target}`",
        percent(left.sqrt())
    );
    Some(
        Finding::new(Severity::Serious, sentence)
            .named("missed-rows")
            .advised("use columns of more even sizes, a lower degree, or ridge")
            .certified("residuals of the coefficients as shown")
            .evident("residual, share of the target's variation", left),
    )
}

/// What is said where the rank is another at the two ends of the band around its tolerance.
pub(crate) fn rank_in_band((low, high): (usize, usize), band: (f64, f64)) -> Option<Finding> {
    let (from, to) = (short(band.0), short(band.1));
    let sentence = format!("the rank is not certain: {low} to {high} for tolerances from {from} to {to}");
    let advice = "look at the near-dependencies: the data are as precise as the dependency is small";
    (low != high).then(|| Finding::new(Severity::Caution, sentence).named("uncertain-rank").advised(advice))
}

/// A rank that depends on the tolerance.
pub(crate) fn uncertain_rank(rank: &Rank) -> Option<Finding> {
    let found = rank_in_band((rank.rank_if_looser, rank.rank_if_tighter), rank.band())?;
    Some(
        found
            .certified(format!("kept and dropped differ by a factor of {}", short(rank.gap())))
            .evident("tolerance", rank.tolerance)
            .evident("rank", rank.rank as f64),
    )
}

/// A coefficient with few certain digits, where the conditioning takes them.
pub(crate) fn few_digits(fit: &LinearFit, names: &[&str], condition: f64) -> Option<Finding> {
    let (worst, found) = (0..names.len())
        .filter(|&j| fit.determines(Some(j)))
        .filter_map(|j| Some((j, digits(&fit.target().coefficients[j])?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    if found >= FEW_DIGITS || condition < HARMLESS {
        return None;
    }
    let sentence = format!(
        "the coefficient of `{}` has {}: the scaled condition number is {}",
        names[worst],
        certain_digits(found),
        short(condition)
    );
    Some(
        Finding::new(Severity::Serious, sentence)
            .named("few-digits")
            .advised("drop a column of the near-dependency, or record the columns with more digits")
            .certified("double-double residuals, and what rounding of the data alone would change")
            .evident("digits", found)
            .evident("scaled condition number", condition),
    )
}

/// `9 certain digits`.
pub(crate) fn certain_digits(digits: f64) -> String {
    counted(digits.floor().max(0.0) as usize, "certain digit", "certain digits")
}
