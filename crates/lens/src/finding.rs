//! One thing that follows from a computation.

use crate::number;
use serde::Serialize;

/// How much a finding matters, most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The result must not be used as it is.
    Serious,
    /// The result is right, but easily read wrongly.
    Caution,
    /// Good to know.
    Note,
}

/// A sentence, what to do about it, and what proves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What kind of finding it is, in kebab case: the name of its page in `docs/findings`. Stable; empty where there is
    /// no such page.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub name: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was found.
    pub sentence: String,
    /// What to do, where there is something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// How it was checked, and what the check left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// The numbers behind it, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// The id of the figure that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<&'static str>,
}

/// A number behind a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// What it is, in words, with its unit where it has one.
    pub name: String,
    /// The number.
    #[serde(serialize_with = "number")]
    pub value: f64,
}

impl Finding {
    pub(crate) fn new(severity: Severity, sentence: impl Into<String>) -> Self {
        Finding {
            name: "",
            severity,
            sentence: sentence.into(),
            advice: None,
            certificate: None,
            evidence: Vec::new(),
            figure: None,
        }
    }

    pub(crate) fn named(self, name: &'static str) -> Self {
        Finding { name, ..self }
    }

    pub(crate) fn advised(self, advice: impl Into<String>) -> Self {
        Finding { advice: Some(advice.into()), ..self }
    }

    pub(crate) fn certified(self, certificate: impl Into<String>) -> Self {
        Finding { certificate: Some(certificate.into()), ..self }
    }

    pub(crate) fn evident(mut self, name: impl Into<String>, value: f64) -> Self {
        self.evidence.push(Evidence { name: name.into(), value });
        self
    }

    pub(crate) fn shown(self, figure: &'static str) -> Self {
        Finding { figure: Some(figure), ..self }
    }

    /// Whether something should be done: it is more than good to know.
    pub fn is_alarm(&self) -> bool {
        self.severity < Severity::Note
    }
}

/// More findings for a list of them, most serious first.
pub fn add_findings(all: &mut Vec<Finding>, more: impl IntoIterator<Item = Finding>) {
    all.extend(more);
    *all = sorted(std::mem::take(all));
}

/// Most serious first; equals stay in order.
pub(crate) fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| finding.severity);
    findings
}
