//! What follows from the measures, in sentences.

use super::super::common::rank_in_band;
use super::super::{Finding, Severity, counted, percent, short};
use super::{IndexShares, Measured};
use crate::finding::sorted;

/// A condition index from which a dependency is usually called strong.
const STRONG_INDEX: f64 = 30.0;
/// A share of a coefficient's variance from which a column is said to take part.
const LARGE_SHARE: f64 = 0.5;
/// A variance inflation usually called large.
const LARGE_VIF: f64 = 10.0;
/// A cosine between columns up to which they are called nearly orthogonal.
const NEARLY_ORTHOGONAL: f64 = 0.01;

pub(super) fn findings(measured: &Measured) -> Vec<Finding> {
    let mut all = Vec::new();
    for found in &measured.dependencies {
        let certificate = format!(
            "what the formula leaves is {} of the length of `{}`; up to {} counts as nothing",
            short(found.residual),
            found.column,
            short(measured.dependency_tolerance)
        );
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
    all.extend(strong_index(measured));
    // Of a constant column that was said already, in better words.
    let is_constant =
        |name: &str| measured.dependencies.iter().any(|found| found.constant && found.column == name);
    let inflated: Vec<String> = measured
        .column_measures
        .iter()
        .filter(|column| column.vif > LARGE_VIF && !is_constant(&column.name))
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

/// The largest index of a direction that is there, if it names at least two columns.
fn strong_index(measured: &Measured) -> Option<Finding> {
    // What counts as nothing is a dependency, which was said by its formula.
    let something = |index: f64| index * measured.dependency_tolerance < 1.0;
    let strong = |row: &&IndexShares| row.index >= STRONG_INDEX && something(row.index);
    let row = measured.condition_indices.iter().rfind(strong)?;
    let taking_part: Vec<String> = measured
        .share_names
        .iter()
        .zip(&row.shares)
        .filter(|&(_, &share)| share >= LARGE_SHARE)
        .map(|(name, &share)| format!("`{name}` ({})", percent(share)))
        .collect();
    if taking_part.len() < 2 {
        return None;
    }
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
