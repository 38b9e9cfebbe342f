//! What can be typed after `project`.

use super::linear::Pick;
use super::names::Names;
use clap::{ArgGroup, Args, ValueEnum};
use std::path::PathBuf;

pub(crate) const PROJECT_HELP: &str = "\
Examples:
  spanwise project examples/longley.csv --onto GNP,YEAR --vector-column TOTEMP
  spanwise project x.csv --vector v.npy --out parts.csv
  spanwise project examples/longley.csv --components 2 --out seen.csv
  spanwise project x.csv --basis complement --out basis.npz
  spanwise project \"1,2;3,4;5,6\" --coefficients \"2,-1\" --change-of-basis \"1,1;1,-1\"

The part inside is the closest vector in the span; the part outside is orthogonal to every column. Principal components are \
those of the rows less their mean. A change of basis B writes the model X·w in the columns X·B.

By name in an .npz or .safetensors: inside, outside; scores, rebuilt, distances, components, mean; span or complement; \
features, coefficients, prediction. In a table: a column for each column of these, and with --missing drop the number of the row.";

/// What may follow `--basis`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BasisWord {
    Span,
    Complement,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args([
    "vector", "vector_column", "components", "basis", "change_of_basis",
]))]
pub(crate) struct Project {
    /// The table or matrix
    pub(crate) file: String,

    /// The columns whose span is projected onto, as --columns says it too; all but the vector's unless given
    #[arg(long, value_name = "NAMES", conflicts_with_all = ["columns", "exclude"])]
    pub(crate) onto: Vec<Names>,

    /// The vector, n, or several as columns, n × t
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true)]
    pub(crate) vector: Option<String>,

    /// Columns of the table to project
    #[arg(long, value_name = "NAMES")]
    pub(crate) vector_column: Vec<Names>,

    /// Project the rows onto this many principal components, and rebuild them
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    pub(crate) components: Option<usize>,

    /// An orthonormal basis of the span, or of all that is orthogonal to it
    #[arg(long, value_enum, value_name = "OF")]
    pub(crate) basis: Option<BasisWord>,

    /// Other columns, X·B: the matrix B, p × p
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, requires = "coefficients")]
    pub(crate) change_of_basis: Option<String>,

    /// The coefficients of the columns, p, that are to be changed along
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, requires = "change_of_basis")]
    pub(crate) coefficients: Option<String>,

    /// A constant beside the columns
    #[arg(long, conflicts_with = "components")]
    pub(crate) intercept: bool,

    #[command(flatten)]
    pub(crate) pick: Pick,

    /// Write what was found: .csv, .parquet, .npz, .safetensors
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,

    /// Print JSON in place of text; of components, a basis or its change it holds the numbers unless --out has them
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
