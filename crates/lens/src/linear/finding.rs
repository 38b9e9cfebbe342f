//! One thing that follows from a computation.

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What was found.
    pub sentence: String,
    /// What to do, where there is something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The numbers behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
}

impl Finding {
    pub(crate) fn new(severity: Severity, sentence: impl Into<String>) -> Self {
        Finding { severity, sentence: sentence.into(), advice: None, certificate: None }
    }

    pub(crate) fn advised(self, advice: impl Into<String>) -> Self {
        Finding { advice: Some(advice.into()), ..self }
    }

    pub(crate) fn certified(self, certificate: impl Into<String>) -> Self {
        Finding { certificate: Some(certificate.into()), ..self }
    }
}

/// Most serious first; equals stay in order.
pub(crate) fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| finding.severity);
    findings
}
