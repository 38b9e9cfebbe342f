//! What can be typed after `project`.

use super::linear::delimiter;
use super::names::Names;
use clap::Args;
use std::path::PathBuf;

pub(crate) const PROJECT_HELP: &str = "\
Examples:
  spanwise project examples/longley.csv --onto GNP,YEAR --vector-column TOTEMP
  spanwise project x.csv --vector v.npy --out parts.csv

The part inside is the closest vector in the span; the part outside is orthogonal to every column.";

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Project {
    /// The table or matrix
    pub(crate) file: String,

    /// The columns whose span is projected onto; all but the vector's unless given
    #[arg(long, value_name = "NAMES")]
    pub(crate) onto: Vec<Names>,

    /// The vector, n, or several as columns, n × t
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, required_unless_present = "vector_column")]
    #[arg(conflicts_with = "vector_column")]
    pub(crate) vector: Option<String>,

    /// Columns of the table to project
    #[arg(long, value_name = "NAMES")]
    pub(crate) vector_column: Vec<Names>,

    /// Project onto the span of the columns and a constant
    #[arg(long)]
    pub(crate) intercept: bool,

    /// The first row of a text table is names, though they are numbers
    #[arg(long, conflicts_with = "no_header")]
    pub(crate) header: bool,

    /// The first row of a text table is data, not names; a first row of numbers is taken for data anyway
    #[arg(long)]
    pub(crate) no_header: bool,

    /// What stands between the fields of a text table: one character, or tab; a comma unless given, a tab in .tsv
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,

    /// Write the parts inside and outside: .csv, .parquet, .npz, .safetensors
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,

    /// Print JSON in place of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
