//! What linear computations say about themselves: measures, factors, solutions, projections and fits, each with the
//! findings that follow, as plain data.

mod decomposed;

mod fitted;
mod measured;
pub(crate) mod near;
mod projected;
mod solved;

pub use crate::finding::{Evidence, Finding, Severity, add_findings};
pub use decomposed::{
    Decomposed, Decomposition, Factor, PcaWay, Strength, decompose, pca_of_summary, svd_of_summary,
};
pub(crate) use fitted::common;
pub use fitted::{
    Coefficients, Computation, Encoded, FitFacts, Fitted, FittedDependency, FittedRank, Label, Measure,
    Term as FittedTerm, Tried, broken_dependencies, constrained, kernel, least_squares, logistic,
    other_weights, ridge,
};
pub use measured::{
    AgainstAnswer, ColumnAngle, ColumnAngles, ColumnMeasures, ColumnOrthogonality, HullAnswer, IndexShares,
    MeasureRequest, Measured, MeasuredDependency, SpanAnswer, SymmetricSign, measure,
};
pub use projected::{
    Basis, BasisOf, ChangedBasis, NewColumn, Onto, Projected, ProjectedColumn, ProjectedRows, RowDistance,
    basis, change_of_basis, onto_components, project,
};
pub use solved::{SolveWay, Solved, SolvedColumn, System, solve};

/// What became of the missing values of a table whose columns are looked at, where there were some: `dropped` rows of `read` were left
/// out, and the mean took the place of `filled` values.
pub fn missing(read: u64, dropped: u64, filled: u64) -> Vec<Finding> {
    told_missing(read, dropped, filled, "columns vary less than they would")
}

/// The same of rows to predict: where some were left out, those that are there have their number beside them.
pub fn missing_of_predictions(read: u64, dropped: u64, filled: u64) -> Vec<Finding> {
    let mut all = Vec::new();
    if dropped > 0 {
        let sentence = format!(
            "{dropped} of {} to predict {} left out: a value was missing; `row` says which are there",
            counted(read as usize, "row", "rows"),
            if dropped == 1 { "was" } else { "were" }
        );
        let left_out = Finding::new(Severity::Note, sentence).named("missing-values");
        all.push(left_out.evident("rows left out", dropped as f64));
    }
    if filled > 0 {
        let sentence = format!(
            "the column's mean took the place of {} in rows to predict",
            counted(filled as usize, "missing value", "missing values")
        );
        let filled_in = Finding::new(Severity::Caution, sentence).named("filled-values");
        all.push(filled_in.evident("values filled in", filled as f64));
    }
    all
}

/// The same where a model is fitted to them.
pub(crate) fn missing_of_fit(read: u64, dropped: u64, filled: u64) -> Vec<Finding> {
    told_missing(read, dropped, filled, "errors are understated")
}

/// `filling` is what a mean in the place of a value does.
fn told_missing(read: u64, dropped: u64, filled: u64, filling: &str) -> Vec<Finding> {
    let mut all = Vec::new();
    if dropped > 0 {
        let severity = if 5 * dropped > read { Severity::Caution } else { Severity::Note };
        let rows = counted(dropped as usize, "row", "rows");
        let were = if dropped == 1 { "was" } else { "were" };
        let sentence = format!("{rows} of {read} {were} left out: a value was missing");
        all.push(
            Finding::new(severity, sentence)
                .named("missing-values")
                .advised("make sure that what is missing is missing by chance")
                .evident("rows left out", dropped as f64),
        );
    }
    if filled > 0 {
        let values = counted(filled as usize, "missing value", "missing values");
        let sentence = format!("the column's mean took the place of {values}: {filling}");
        all.push(
            Finding::new(Severity::Caution, sentence)
                .named("filled-values")
                .advised("compare with the same of the rows without missing values")
                .evident("values filled in", filled as f64),
        );
    }
    all
}

/// `3 columns`, `1 column`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A number in a sentence: three digits.
pub fn short(value: f64) -> String {
    let size = value.abs();
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        _ if value.is_infinite() => if value > 0.0 { "∞" } else { "-∞" }.to_owned(),
        0.0 => "0".to_owned(),
        _ if (1e-3..1e6).contains(&size) => {
            let decimals = 2 - size.log10().floor().min(2.0) as i32;
            trimmed(&format!("{value:.0$}", decimals.max(0) as usize)).to_owned()
        }
        // Of what is tiny, mostly what rounding left, two digits say enough.
        _ if size < 1.0 => format!("{value:.1e}"),
        _ => format!("{value:.2e}"),
    }
}

/// Without zeros after the last digit that says something.
fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// `R²` in a sentence: three digits, or as many as tell it from 1.
pub(crate) fn r_squared(value: f64) -> String {
    let text = short(value);
    if text == "1" && value < 1.0 {
        let digits = (1.0 - value).log10().floor().abs().min(16.0) as usize;
        return format!("{value:.digits$}");
    }
    text
}

/// A share as a percentage of three digits, or as many as tell it from all.
pub(crate) fn percent(share: f64) -> String {
    let (percent, text) = (100.0 * share, short(100.0 * share));
    // What is not all is not said to be.
    if text == "100" && share < 1.0 {
        let digits = (1.0 - share).log10().floor().abs().min(12.0) as usize;
        return format!("{percent:.digits$} %");
    }
    format!("{text} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_sentences_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.012_34, "0.0123"),
            (1.0, "1"),
            (123.456, "123"),
            (4.859e4, "48590"),
            (4.859e9, "4.86e9"),
            (1e-9, "1.0e-9"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!(percent(0.066_66), "6.67 %");
        assert_eq!(percent(0.999_945), "99.99450 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(counted(1, "row", "rows"), "1 row");
    }

    #[test]
    fn what_is_not_one_is_not_said_to_be() {
        let said = [(0.5, "0.5"), (0.9994, "0.999"), (0.9996, "0.9996"), (0.999_96, "0.99996"), (1.0, "1")];
        for (value, expected) in said {
            assert_eq!(r_squared(value), expected);
        }
        assert_ne!(r_squared(1.0 - f64::EPSILON / 2.0), "1");
    }
}
