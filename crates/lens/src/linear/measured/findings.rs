//! What follows from the measures, in sentences.

use super::super::common::rank_in_band;
use super::super::{Finding, Severity, counted, percent, short};
use super::{ColumnMeasures, IndexShares, Measured, MeasuredDependency};
use crate::finding::sorted;

/// A condition index from which a dependency is usually called strong.
const STRONG_INDEX: f64 = 30.0;
/// A share of a coefficient's variance from which a column is said to take part.
const LARGE_SHARE: f64 = 0.5;
/// A variance inflation usually called large.
const LARGE_VIF: f64 = 10.0;
/// A cosine between columns up to which they are called nearly orthogonal.
const NEARLY_ORTHOGONAL: f64 = 0.01;

/// `near` are those of columns that others almost give, `told` the columns in their formulas.
pub(super) fn findings(measured: &Measured, near: Vec<Finding>, told: &[&str]) -> Vec<Finding> {
    let mut all = Vec::new();
    for found in &measured.dependencies {
        let certificate = format!(
            "what the formula leaves is {} of the length of `{}`; up to {} counts as nothing",
            short(found.residual),
            found.column,
            short(measured.dependency_tolerance)
        );
        if found.needs_intercept && !found.constant {
            all.push(with_constant(found, measured).certified(certificate));
            continue;
        }
        let (severity, sentence) = if found.constant {
            let sentence = format!(
                "`{}` is constant: it adds nothing to an intercept ({})",
                found.column, found.formula
            );
            (Severity::Caution, sentence)
        } else {
            (Severity::Serious, format!("`{}` adds no direction: {}", found.column, found.formula))
        };
        all.push(
            Finding::new(severity, sentence)
                .advised(format!("leave `{}` out; nothing that can be predicted is lost", found.column))
                .certified(certificate),
        );
    }
    if measured.rows < measured.columns {
        let sentence = format!(
            "only {} for {}: at most {} can be told apart",
            counted(measured.rows, "row", "rows"),
            counted(measured.columns, "column", "columns"),
            measured.rows
        );
        all.push(Finding::new(Severity::Serious, sentence));
    }
    all.extend(rank_in_band(measured.rank_in_band, measured.rank_band));
    all.extend(near);
    all.extend(strong_index(measured, told));
    // Of a constant column that was said already, in better words.
    let is_constant =
        |name: &str| measured.dependencies.iter().any(|found| found.constant && found.column == name);
    // So it was of columns that are tied to the constant because rows are few.
    let few_rows = measured.intercept && measured.rank == measured.rows && measured.rank == measured.columns;
    let always = |column: &ColumnMeasures| few_rows && column.vif.is_infinite();
    let inflated: Vec<String> = measured
        .column_measures
        .iter()
        .filter(|column| column.vif > LARGE_VIF && !is_constant(&column.name) && !always(column))
        .map(|column| format!("`{}` ({})", column.name, short(column.vif)))
        .collect();
    if !inflated.is_empty() {
        let sentence = format!("the variance of a coefficient is inflated for {}", listed(&inflated));
        all.push(Finding::new(Severity::Caution, sentence).certified(format!("VIF above {LARGE_VIF}")));
    }
    all.extend(orthogonal(measured));
    all.extend(symmetric(measured));
    sorted(all)
}

/// A column that others give with the constant column that an intercept adds. Where the columns reach everything that so few rows can be,
/// they reach that constant too, and it says nothing about them.
fn with_constant(found: &MeasuredDependency, measured: &Measured) -> Finding {
    let sentence = format!(
        "with the constant column that an intercept adds, `{}` adds no direction: {}",
        found.column, found.formula
    );
    let alone = "`--no-intercept` measures the columns without that constant";
    if measured.rank == measured.rows {
        return Finding::new(Severity::Note, sentence).advised(alone);
    }
    let advice = format!("leave `{}` out of a model with an intercept; {alone}", found.column);
    Finding::new(Severity::Serious, sentence).advised(advice)
}

/// Whether columns are orthogonal, where they nearly are. A column of zeros is, and says nothing.
fn orthogonal(measured: &Measured) -> Option<Finding> {
    let found = &measured.orthogonality;
    let (a, b) = found.worst_pair.as_ref()?;
    if measured.column_measures.iter().any(|column| column.norm == 0.0) {
        return None;
    }
    let lengths = match found.length_error {
        0.0 => "every length is 1".to_owned(),
        error => format!("every length is within {} of 1", short(error)),
    };
    let sentence = match (found.orthonormal, found.orthogonal) {
        (true, _) => "the columns are orthonormal".to_owned(),
        (_, true) => "the columns are orthogonal to each other".to_owned(),
        _ if found.largest_cosine <= NEARLY_ORTHOGONAL => {
            let lengths = if found.length_error <= NEARLY_ORTHOGONAL {
                format!(", and {lengths}")
            } else {
                String::new()
            };
            format!("the columns are nearly orthogonal{lengths}")
        }
        _ => return None,
    };
    let certificate = format!(
        "the largest cosine between two is {}, between `{a}` and `{b}`{}; up to {} counts as 0",
        short(found.largest_cosine),
        if found.orthonormal { format!(", {lengths}") } else { String::new() },
        short(found.tolerance)
    );
    Some(Finding::new(Severity::Note, sentence).certified(certificate))
}

/// Which way a square symmetric matrix curves.
fn symmetric(measured: &Measured) -> Option<Finding> {
    if measured.streamed && measured.rows == measured.columns {
        let sentence = "the table is square; whether it is symmetric, and definite, is not known of rows that were not kept";
        return Some(Finding::new(Severity::Note, sentence).advised("without `--stream` they are kept"));
    }
    // That every column is 0 was said.
    let sign = measured.definiteness.as_ref().filter(|_| measured.rank > 0)?;
    let (low, high) = (short(sign.smallest_eigenvalue), short(sign.largest_eigenvalue));
    let sentence =
        format!("the matrix is symmetric and {}: its eigenvalues go from {low} to {high}", sign.kind);
    let certificate = format!(
        "vᵀAv is {} along the direction v of {} curvature{}; within {} of 0 an eigenvalue counts as 0",
        short(sign.curvature),
        if sign.kind.starts_with("negative") { "greatest" } else { "least" },
        if sign.kind == "positive definite" { ", and Cholesky's factor exists" } else { "" },
        short(sign.tolerance)
    );
    Some(Finding::new(Severity::Note, sentence).certified(certificate))
}

/// The largest index of a direction that is there, if it names at least two columns, and not only those that formulas have `told`: the
/// ones of an intercept are in none.
fn strong_index(measured: &Measured, told: &[&str]) -> Option<Finding> {
    // What counts as nothing is a dependency, which was said by its formula.
    let something = |index: f64| index * measured.dependency_tolerance < 1.0;
    let strong = |row: &&IndexShares| row.index >= STRONG_INDEX && something(row.index);
    let row = measured.condition_indices.iter().rfind(strong)?;
    let shares = measured.share_names.iter().zip(&row.shares);
    let taking_part: Vec<(&String, &f64)> = shares.filter(|&(_, &share)| share >= LARGE_SHARE).collect();
    if taking_part.len() < 2 || taking_part.iter().all(|(name, _)| told.contains(&name.as_str())) {
        return None;
    }
    let taking_part: Vec<String> =
        taking_part.iter().map(|(name, share)| format!("`{name}` ({})", percent(**share))).collect();
    let sentence = format!("{} are nearly dependent together", listed(&taking_part));
    let certificate =
        format!("condition index {}; shares of their coefficients' variance in brackets", short(row.index));
    Some(Finding::new(Severity::Caution, sentence).certified(certificate))
}

fn listed(parts: &[String]) -> String {
    const SHOWN: usize = 12;
    let more = if parts.len() > SHOWN { format!(" and {} more", parts.len() - SHOWN) } else { String::new() };
    format!("{}{more}", parts[..parts.len().min(SHOWN)].join(", "))
}
