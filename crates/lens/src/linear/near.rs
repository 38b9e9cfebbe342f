//! Columns that others almost give, in words: one text for `fit`, `measure` and `explain`.

use super::common::FEW_TERMS;
use super::{Finding, Severity, percent, short};
use spanwise_linear::measure::NearDependency;

/// A near-dependency that leaves less than this share makes coefficients useless, not only uncertain.
const ALMOST_EXACT: f64 = 1e-5;

/// What is said of columns that others almost give, most inflated first.
pub(crate) fn near_findings(found: &[NearDependency], names: &[&str], intercept: bool) -> Vec<Finding> {
    found.iter().map(|found| near_finding(found, names, intercept)).collect()
}

fn near_finding(found: &NearDependency, names: &[&str], intercept: bool) -> Finding {
    let severity = if found.size < ALMOST_EXACT { Severity::Serious } else { Severity::Caution };
    let of = if intercept { "standard deviation" } else { "length" };
    let inflation = found.inflation;
    let sentence = format!(
        "{} to within {} of its {of}; its standard error is {} times what it would be alone",
        near_text(found, names),
        percent(found.size),
        short(inflation.sqrt())
    );
    let aside: Vec<String> = found.aside.iter().map(|&j| format!("`{}`", names[j])).collect();
    let without = if aside.is_empty() {
        String::new()
    } else {
        format!(", without {} {}", aside.join(", "), short(found.inflation_without))
    };
    Finding::new(severity, sentence)
        .named("near-dependency")
        .advised(format!(
            "drop `{}`, combine the columns, or use ridge; predictions are not affected",
            names[found.column]
        ))
        .certified(format!(
            "regressed on the others: R² {}, variance inflation {}{without}",
            percent(1.0 - 1.0 / inflation),
            short(inflation)
        ))
        .evident("left by the formula, share", found.size)
        .evident("variance inflation", inflation)
}

/// `` `b` ≈ 1.8·`a` + 32 ``.
pub(crate) fn near_text(found: &NearDependency, names: &[&str]) -> String {
    let mut text = format!("`{}` ≈", names[found.column]);
    let few = if found.terms.len() > FEW_TERMS { FEW_TERMS } else { found.terms.len() };
    let terms = found.terms[..few].iter().map(|&(j, a)| (a, format!("·`{}`", names[j])));
    let more = found.terms.len() - few;
    let constant = (found.constant != 0.0 && more == 0).then(|| (found.constant, String::new()));
    for (at, (a, factor)) in terms.chain(constant).enumerate() {
        let sign = match (at, a < 0.0) {
            (0, false) => " ",
            (0, true) => " −",
            (_, false) => " + ",
            (_, true) => " − ",
        };
        text.push_str(sign);
        text.push_str(&short(a.abs()));
        text.push_str(&factor);
    }
    if more > 0 {
        let more = more + usize::from(found.constant != 0.0);
        text = format!("{text} + … and {more} more");
    }
    text
}
