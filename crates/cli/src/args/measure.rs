//! What can be typed after `measure`.

use super::linear::Pick;
use super::room::Room;
use clap::Args;
use std::path::PathBuf;

pub(crate) const MEASURE_HELP: &str = "\
Examples:
  spanwise measure examples/longley.csv --exclude TOTEMP
  spanwise measure examples/longley.csv --span-column TOTEMP     is TOTEMP in the span of the others?
  spanwise measure \"0,0;4,0;0,4\" --hull \"1,1;4,4\"                are these points in the triangle?
  spanwise measure a.npy --against b.npy                         at what angles are the two spans?

Rank is decided on columns scaled to length 1. Text columns become one column of 0 and 1 per level. Rows beyond --memory are \
not kept: the columns are then measured through a summary, in one pass; --hull needs its rows in memory, and takes \
neither that option nor --stream. Numbers that a file keeps as f32 or shorter count as equal to the rounding of f32.

Exit code: 0 done, 1 a vector or point that was asked about lies outside, 2 bad usage or bad input.";

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// The table or matrix
    pub(crate) file: String,

    #[command(flatten)]
    pub(crate) pick: Pick,

    /// Is this vector in the span of the columns?
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, conflicts_with = "span_column")]
    pub(crate) span: Option<String>,

    /// Is this column in the span of the others?
    #[arg(long, value_name = "NAME")]
    pub(crate) span_column: Option<String>,

    /// At what angles does the span of the columns lie to the span of these columns?
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true)]
    pub(crate) against: Option<String>,

    /// Are these points (rows) in the hull of the table's rows?
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true)]
    pub(crate) hull: Option<String>,

    /// Do not think of a model with an intercept: no centring, no constants in formulas
    #[arg(long)]
    pub(crate) no_intercept: bool,

    /// The share of a column that may be left for it to count as dependent
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub(crate) tolerance: Option<f64>,

    #[command(flatten)]
    pub(crate) room: Room,

    /// Print JSON in place of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Write to a file in place of standard output; JSON if it ends in .json
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}
