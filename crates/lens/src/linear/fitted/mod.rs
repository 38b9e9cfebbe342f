//! Fitted models with what follows from them, one shape for all of them.

mod classes;
pub(crate) mod common;
mod least_squares;
mod others;

pub use classes::{Label, logistic};
pub use least_squares::{broken_dependencies, least_squares};
pub use others::{constrained, kernel, other_weights, ridge};

use super::{Finding, counted, missing_of_fit};
use crate::array::number;
use crate::finding::{add_findings, sorted};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

/// What is known of a fit besides the numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct FitFacts {
    /// The target's name.
    pub target: String,
    /// The columns' names.
    pub names: Vec<String>,
    /// The column of weights, if any.
    pub weights: Option<String>,
    /// Whether the model has an intercept.
    pub intercept: bool,
    /// Of the intervals, such as 0.95.
    pub confidence: f64,
    /// Categories and their reference levels.
    pub encodings: Vec<Encoded>,
    /// Rows read.
    pub rows_read: u64,
    /// Of these, rows left out because a value was missing.
    pub rows_dropped: u64,
    /// Values that were missing and took the mean.
    pub values_filled: u64,
    /// Whether the rows went through a summary and were not kept.
    pub streamed: bool,
    /// Binary digits that the numbers had where they were stored: 53 of f64 and of text, 24 of f32.
    pub bits: u32,
}

/// A category and the level that has no column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encoded {
    /// The column.
    pub column: String,
    /// All its levels.
    pub levels: Vec<String>,
    /// The reference.
    pub reference: String,
}

/// A fitted model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// `least squares`, `ridge`, ….
    pub model: &'static str,
    /// The target.
    pub target: String,
    /// The column of weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<String>,
    /// The answer in a sentence or two.
    pub verdict: String,
    /// What follows, most serious first.
    pub findings: Vec<Finding>,
    /// One list of terms, or one per class.
    pub coefficients: Vec<Coefficients>,
    /// What the terms' statistic is called: `t` or `z`.
    pub statistic: &'static str,
    /// Of the intervals.
    pub confidence: f64,
    /// Numbers about the fit as a whole.
    #[serde(serialize_with = "as_map")]
    pub measures: Vec<Measure>,
    /// Penalties that were tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// The rank, where it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<FittedRank>,
    /// Dependent columns as formulas.
    pub dependencies: Vec<FittedDependency>,
    /// Categories and their references.
    pub encodings: Vec<Encoded>,
    /// How it was computed.
    pub computation: Computation,
}

impl Fitted {
    /// More findings, where there are some.
    pub fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        add_findings(&mut self.findings, findings);
    }
}

/// The terms of one class, or of the only equation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coefficients {
    /// The class whose score or log-odds this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The intercept first, then the columns.
    pub terms: Vec<Term>,
}

/// One term.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Term {
    /// `intercept`, or the column.
    pub name: String,
    /// Its coefficient.
    #[serde(serialize_with = "number")]
    pub estimate: f64,
    /// Its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// The estimate over its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistic: Option<f64>,
    /// Of the hypothesis that it is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// Lower and upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// Decimal digits of the estimate that can be trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digits: Option<f64>,
    /// Whether the column depends on others, so that its coefficient is a matter of choice.
    pub dependent: bool,
}

impl Term {
    fn plain(name: &str, estimate: f64) -> Self {
        Term {
            name: name.to_owned(),
            estimate,
            standard_error: None,
            statistic: None,
            p_value: None,
            interval: None,
            digits: None,
            dependent: false,
        }
    }
}

/// One number about a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// As a key of JSON.
    pub key: &'static str,
    /// As people call it.
    pub name: &'static str,
    /// The number.
    pub value: f64,
    /// What belongs beside it.
    pub note: String,
}

impl Measure {
    fn new(key: &'static str, name: &'static str, value: f64) -> Self {
        Measure { key, name, value, note: String::new() }
    }

    fn noted(self, note: impl Into<String>) -> Self {
        Measure { note: note.into(), ..self }
    }
}

fn as_map<S: Serializer>(measures: &[Measure], serializer: S) -> Result<S::Ok, S::Error> {
    struct Number(f64);
    impl Serialize for Number {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            number(&self.0, serializer)
        }
    }
    let mut map = serializer.serialize_map(Some(measures.len()))?;
    for measure in measures {
        map.serialize_entry(measure.key, &Number(measure.value))?;
    }
    map.end()
}

/// A penalty that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// The penalty.
    #[serde(serialize_with = "number")]
    pub lambda: f64,
    /// Mean squared error on rows left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Of the fit to all rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r_squared: Option<f64>,
    /// Coefficients of the columns, where there is no choice among the penalties.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coefficients: Vec<f64>,
    /// Whether it was chosen.
    pub chosen: bool,
}

/// The rank and how sure it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedRank {
    /// Independent terms, the intercept among them.
    pub rank: usize,
    /// All terms.
    pub terms: usize,
    /// A term of which no more than this fraction is left is dependent.
    #[serde(serialize_with = "number")]
    pub tolerance: f64,
    /// How far apart kept and dropped are.
    #[serde(serialize_with = "number")]
    pub gap: f64,
    /// Whether a tolerance of the band around it would change it.
    pub would_change: bool,
    /// Condition number of the independent terms scaled to length 1, the intercept's ones among them.
    #[serde(serialize_with = "number")]
    pub condition: f64,
}

/// A dependent column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedDependency {
    /// The column.
    pub column: String,
    /// In column names.
    pub formula: String,
    /// What the formula leaves, as a share of the column.
    #[serde(serialize_with = "number")]
    pub residual: f64,
}

/// How a fit was computed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Computation {
    /// In words.
    pub method: String,
    /// Rows read.
    pub rows_read: u64,
    /// Rows that were used.
    pub rows_used: u64,
    /// Rows left out because a value was missing.
    pub rows_dropped: u64,
    /// Values that took the mean.
    pub values_filled: u64,
    /// Whether the rows went through a summary and were not kept.
    pub streamed: bool,
}

impl FitFacts {
    /// Of a table of numbers whose `rows` are all used: with an intercept, and intervals of 95 %.
    pub fn new(target: &str, names: &[&str], rows: usize) -> Self {
        FitFacts {
            target: target.to_owned(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
            weights: None,
            intercept: true,
            confidence: 0.95,
            encodings: Vec::new(),
            rows_read: rows as u64,
            rows_dropped: 0,
            values_filled: 0,
            streamed: false,
            bits: f64::MANTISSA_DIGITS,
        }
    }

    /// `` `y` on 3 columns and an intercept ``.
    fn subject(&self) -> String {
        let columns = counted(self.names.len(), "column", "columns");
        let intercept = if self.intercept { " and an intercept" } else { ", no intercept" };
        format!("`{}` on {columns}{intercept}", self.target)
    }

    /// A model without the parts that only some have.
    fn fitted(&self, model: &'static str, coefficients: Vec<Coefficients>) -> Fitted {
        Fitted {
            model,
            target: self.target.clone(),
            weights: self.weights.clone(),
            verdict: String::new(),
            findings: Vec::new(),
            coefficients,
            statistic: "t",
            confidence: self.confidence,
            measures: Vec::new(),
            tried: Vec::new(),
            rank: None,
            dependencies: Vec::new(),
            encodings: self.encodings.clone(),
            computation: Computation {
                method: String::new(),
                rows_read: self.rows_read,
                rows_used: self.rows_read - self.rows_dropped.min(self.rows_read),
                rows_dropped: self.rows_dropped,
                values_filled: self.values_filled,
                streamed: self.streamed,
            },
        }
    }

    /// What became of missing values, as findings; all findings sorted.
    fn with_rows(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        findings.extend(self.missing());
        sorted(findings)
    }

    /// What became of missing values, where there were some.
    pub(crate) fn missing(&self) -> Vec<Finding> {
        missing_of_fit(self.rows_read, self.rows_dropped, self.values_filled)
    }

    /// One equation without statistics.
    fn plain_terms(&self, intercept: f64, coefficients: &[f64]) -> Vec<Coefficients> {
        let first = self.intercept.then(|| Term::plain("intercept", intercept));
        let others = self.names.iter().zip(coefficients).map(|(name, &value)| Term::plain(name, value));
        vec![Coefficients { class: None, terms: first.into_iter().chain(others).collect() }]
    }
}
