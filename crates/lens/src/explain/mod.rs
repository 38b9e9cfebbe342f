//! **explain**: from a table with a target, or from q, k and v, to findings a person can act on.
//!
//! An [`Explanation`] is plain data in the order it is read: verdict, findings, the figures behind them, tables, how it was
//! computed. Terminal, page, JSON, Python and tests all show this one thing.

mod attention;
mod columns;
mod figure;
mod layers;
mod random;
pub mod sample;
mod seen;
pub mod specimen;
mod table;

pub use crate::finding::{Evidence, Finding, Severity};
pub use attention::{AttentionInput, explain_attention, explain_attention_told};
pub use columns::{TableInput, Values, explain_table};
pub use figure::{
    CoefficientRow, Coefficients, Dependencies, Entropy, Figure, FigureKind, Formula, HeadMap, Heads, Hull,
    Point, Reach, ReachTerm, Received, ReceivedHead, Rule, Scatter, ShareRow, Shares, Spectrum,
};
pub use layers::{HeadNumbers, Layer, LayerCall, LayerMap, LayerTally, explain_layers};
pub use table::{Table, TableCell, TableColumn};

use crate::linear::counted;
use crate::{AskedFor, number};
use serde::Serialize;

/// A row of weights is saturated where one of them is larger.
pub(crate) const SATURATED: f64 = 0.9;

/// What follows from a table or from an attention problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// What was explained.
    pub subject: Subject,
    /// The answer in two or three sentences with numbers.
    pub verdict: Vec<String>,
    /// What follows, most serious first.
    pub findings: Vec<Finding>,
    /// The figures behind the findings.
    pub figures: Vec<Figure>,
    /// The numbers to read, sort and copy.
    pub tables: Vec<Table>,
    /// How it was computed.
    pub computation: Computation,
}

/// What was explained. In JSON the field `kind` tells which.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Subject {
    /// A table with a target.
    Table {
        /// The file, or what stands for it.
        source: String,
        /// Rows that were used.
        rows: u64,
        /// Rows that were read.
        rows_read: u64,
        /// Columns after encoding, the target and the weights not among them.
        columns: usize,
        /// The column that is explained.
        target: String,
        /// The classes of a target that is one; empty for a number.
        classes: Vec<String>,
        /// The column of weights, where there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        weights: Option<String>,
        /// Whether the model has an intercept.
        intercept: bool,
    },
    /// Queries, keys and values.
    Attention {
        /// The file, or what stands for it.
        source: String,
        /// `B`.
        batch: usize,
        /// `H`.
        heads: usize,
        /// `G`.
        key_value_heads: usize,
        /// `N`.
        queries: usize,
        /// `M`.
        keys: usize,
        /// `D`.
        key_width: usize,
        /// `E`.
        value_width: usize,
        /// The factor on `q·k`.
        #[serde(serialize_with = "number")]
        scale: f64,
        /// What was asked beyond plain attention.
        options: Vec<AskedFor>,
    },
    /// The attention layers of a model, as they ran.
    Layers {
        /// The model.
        source: String,
        /// How many layers were seen.
        layers: usize,
        /// Heads of all layers together.
        heads: usize,
        /// The most queries of a call.
        queries: usize,
        /// The most keys of a call.
        keys: usize,
        /// Rows of weights that the statistics are over.
        rows: u64,
    },
}

/// How an explanation was computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Computation {
    /// Of Spanwise.
    pub version: &'static str,
    /// The command line that makes it again; empty where there was none.
    pub command: String,
    /// Settings and methods, by name.
    pub settings: Vec<(String, String)>,
    /// Tolerances, by name.
    pub tolerances: Vec<(String, f64)>,
    /// Seconds spent, by part, in order.
    pub seconds: Vec<(String, f64)>,
}

impl Explanation {
    /// Findings on which something should be done.
    pub fn alarms(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_alarm())
    }

    /// The figure of this id.
    pub fn figure(&self, id: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.id == id)
    }

    /// The table of this id.
    pub fn table(&self, id: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.id == id)
    }
}

/// How many findings to act on.
pub(crate) fn acting(findings: &[Finding]) -> String {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    match (count(Severity::Serious), count(Severity::Caution)) {
        (0, 0) => "Nothing was found that calls for action.".to_owned(),
        (0, cautions) => format!("{} to read before using it.", counted(cautions, "caution", "cautions")),
        (serious, 0) => format!("{} to act on.", counted(serious, "serious finding", "serious findings")),
        (serious, cautions) => format!(
            "{} to act on and {} to read.",
            counted(serious, "serious finding", "serious findings"),
            counted(cautions, "caution", "cautions")
        ),
    }
}

/// Findings, most serious first, that point only to figures there are.
pub(crate) fn settled(findings: Vec<Finding>, figures: &[Figure]) -> Vec<Finding> {
    let there = |id: &&'static str| figures.iter().any(|figure| figure.id == *id);
    let mut findings = crate::finding::sorted(findings);
    for finding in &mut findings {
        finding.figure = finding.figure.filter(there);
    }
    findings
}
