//! What can be typed for linear models.

use super::names::{self, Names};
use super::room::Room;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

pub(crate) const DECOMPOSE_HELP: &str = "\
Examples:
  spanwise decompose examples/longley.csv --kind svd
  spanwise decompose examples/longley.csv --kind pca --rank 2 --out factors.npz
  spanwise decompose \"2,1;1,2\" --kind eigen --json
  spanwise decompose large.parquet --kind pca --stream --out factors.npz

Factors by name in --out: qr q, r; pivoted-qr q, r, order; svd u, s, v; eigen values, vectors; pca components, mean, \
explained_variance, singular_values; low-rank left, right. Principal components of rows beyond --memory come from a summary, \
in one pass; s and v of svd only with --stream. Other factors and methods need the rows in memory, and take neither option.";

pub(crate) const SOLVE_HELP: &str = "\
Examples:
  spanwise solve --a \"4,1;1,3\" --b \"1,2\"
  spanwise solve --a a.npy --b b.npy --method qr --out x.npy
  spanwise solve --a entries.csv --sparse --b b.npy              rows of entries.csv: row,column,value from 0
  spanwise solve --a a.npz --b b.npy                             a.npz by scipy.sparse.save_npz, CSR

Every answer comes with its residual, its backward error and an estimate of the condition number. \
No inverse is ever formed.";

pub(crate) const FIT_HELP: &str = "\
Examples:
  spanwise fit examples/longley.csv --target TOTEMP
  spanwise fit sales.parquet --target price --exclude id --reference region=north --rows rows.csv
  spanwise fit train.csv --target y --model ridge --choose loo --predict new.csv --out predicted.csv
  spanwise fit part1.csv --target y --summary-out 1.sum --quiet
  spanwise fit --merge 1.sum --merge 2.sum                       the fit of both parts together
  spanwise fit large.parquet --target y --model ridge --stream --out coefficients.csv
  spanwise fit x.npz --target y.npy                              x.npz by scipy.sparse.save_npz, CSR

Text columns become one column of 0 and 1 per level but the reference, which is the first level unless said \
otherwise. Rows beyond --memory are not kept: least-squares, ridge, nonnegative and simplex then go through a summary, in one \
pass; logistic, softmax and kernel need their rows in memory, and take neither that option nor --stream. Ridge without \
--lambda and --choose takes the penalty that does best on rows left out one by one; rows that are not kept are read a second \
time for it, and parted into ten folds where \
they come by once, as on standard input.";

/// A value that may begin with a minus sign; what begins with two is an option, and the value before it was forgotten.
fn no_option(text: &str) -> Result<String, String> {
    if text.starts_with("--") {
        Err("found an option; expected a value".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// Which columns of a table, and how they become numbers.
#[derive(Clone, Debug, Args)]
pub(crate) struct Pick {
    /// Only these columns; a name that holds a comma in quotation marks: 'rooms,"size, m2"'
    #[arg(long, value_name = "NAMES", help_heading = "Columns")]
    pub(crate) columns: Vec<Names>,

    /// All columns but these
    #[arg(long, value_name = "NAMES", conflicts_with = "columns", help_heading = "Columns")]
    pub(crate) exclude: Vec<Names>,

    /// Columns that are categories, though some or all of their values are numbers
    #[arg(long, value_name = "NAMES", help_heading = "Columns")]
    pub(crate) categories: Vec<Names>,

    /// The level of a category that gets no column of its own
    #[arg(long, value_name = "COLUMN=LEVEL", help_heading = "Columns")]
    pub(crate) reference: Vec<String>,

    /// What becomes of values that are missing or not finite
    #[arg(long, value_enum, default_value_t = MissingWord::Error, value_name = "RULE", help_heading = "Columns")]
    pub(crate) missing: MissingWord,

    /// The first row of a text table is names, though they are numbers
    #[arg(long, conflicts_with = "no_header", help_heading = "Columns")]
    pub(crate) header: bool,

    /// The first row of a text table is data, not names; a first row of numbers is taken for data anyway
    #[arg(long, help_heading = "Columns")]
    pub(crate) no_header: bool,

    /// What stands between the fields of a text table: one character, or tab; a comma unless given, a tab in .tsv
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter, help_heading = "Columns")]
    pub(crate) delimiter: Option<u8>,
}

impl Pick {
    pub(crate) fn columns(&self) -> Vec<String> {
        names::all(&self.columns)
    }

    pub(crate) fn exclude(&self) -> Vec<String> {
        names::all(&self.exclude)
    }

    pub(crate) fn categories(&self) -> Vec<String> {
        names::all(&self.categories)
    }
}

/// One character of one byte that does not belong to numbers or quotation.
fn delimiter(text: &str) -> Result<u8, String> {
    let byte = match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => b'\t',
        (_, &[byte]) => byte,
        _ => return Err("expected one character such as ; or |, or the word tab".to_owned()),
    };
    if byte.is_ascii_alphanumeric() || matches!(byte, b'"' | b'.' | b'-' | b'+' | b'\n' | b'\r') {
        return Err(
            "letters, digits, signs, points and quotation marks cannot stand between fields".to_owned()
        );
    }
    Ok(byte)
}

/// What may follow `--missing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissingWord {
    Error,
    Drop,
    Mean,
}

/// What may follow `--kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Qr,
    PivotedQr,
    Svd,
    Eigen,
    Pca,
    LowRank,
}

/// What may follow `--method` of a decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FactorMethod {
    Auto,
    Exact,
    Covariance,
    Dual,
    Randomized,
}

#[derive(Debug, Args)]
pub(crate) struct Decompose {
    /// The table or matrix
    pub(crate) file: String,

    /// Which decomposition
    #[arg(long, value_enum)]
    pub(crate) kind: Kind,

    /// How many components, or the rank (svd, pca, low-rank)
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    pub(crate) rank: Option<usize>,

    /// How (svd: exact, randomized; pca: all)
    #[arg(long, value_enum, value_name = "METHOD")]
    pub(crate) method: Option<FactorMethod>,

    /// Where random numbers start (svd by random projection)
    #[arg(long, value_name = "SEED", allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) pick: Pick,

    #[command(flatten)]
    pub(crate) room: Room,

    /// Write the factors: .npz, .safetensors
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,

    /// Print JSON in place of text; holds the factors unless --out has them
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// What may follow `--method` of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SolveMethod {
    Auto,
    Cholesky,
    Qr,
    Svd,
    Lu,
    Cg,
    Lsmr,
}

#[derive(Debug, Args)]
pub(crate) struct Solve {
    /// The matrix A, n × p
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true)]
    pub(crate) a: String,

    /// The right-hand side, n, or several as columns, n × t
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true)]
    pub(crate) b: String,

    /// How
    #[arg(long, value_enum, default_value_t = SolveMethod::Auto)]
    pub(crate) method: SolveMethod,

    /// A is a list of entries: row, column, value, counted from 0
    #[arg(long)]
    pub(crate) sparse: bool,

    /// Write x: .npy, .npz, .csv, .safetensors
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,

    /// Print JSON in place of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// What may follow `--model`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Model {
    LeastSquares,
    Ridge,
    Logistic,
    Softmax,
    Nonnegative,
    Simplex,
    Kernel,
}

/// What may follow `--kernel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KernelWord {
    Rbf,
    Polynomial,
}

#[derive(Debug, Args)]
pub(crate) struct Fit {
    /// The table
    #[arg(required_unless_present = "merge")]
    pub(crate) file: Option<String>,

    /// The column to predict
    #[arg(
        long,
        value_name = "NAME",
        allow_hyphen_values = true,
        value_parser = no_option,
        required_unless_present = "merge"
    )]
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) pick: Pick,

    /// A column of weights, not negative
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub(crate) weights: Option<String>,

    /// Leave the intercept out
    #[arg(long, help_heading = "Model")]
    pub(crate) no_intercept: bool,

    /// Which model
    #[arg(long, value_enum, default_value_t = Model::LeastSquares, help_heading = "Model")]
    pub(crate) model: Model,

    /// The penalty (ridge, logistic, softmax, kernel); chosen unless given for ridge, 1 for the others. With 0 logistic and softmax are
    /// plain maximum likelihood
    #[arg(long, value_name = "L", allow_hyphen_values = true, conflicts_with_all = ["lambdas", "choose"], help_heading = "Model")]
    pub(crate) lambda: Option<f64>,

    /// Penalties to choose from (ridge)
    #[arg(
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        value_delimiter = ',',
        help_heading = "Model"
    )]
    pub(crate) lambdas: Vec<f64>,

    /// How to choose the penalty: loo (one row left out, in a second pass where rows are not kept) or kfold:K (ridge) [default: loo]
    #[arg(long, value_name = "RULE", help_heading = "Model")]
    pub(crate) choose: Option<String>,

    /// The kernel: rbf is exp(−γ‖x − z‖²), polynomial is (γ·x·z + c)^d; rbf unless given (kernel)
    #[arg(long, value_enum, value_name = "KERNEL", help_heading = "Model")]
    pub(crate) kernel: Option<KernelWord>,

    /// γ of the kernel; from the columns unless given (kernel)
    #[arg(long, value_name = "G", allow_hyphen_values = true, help_heading = "Model")]
    pub(crate) gamma: Option<f64>,

    /// d of the polynomial kernel; 3 unless given (kernel)
    #[arg(long, value_name = "D", allow_hyphen_values = true, help_heading = "Model")]
    pub(crate) kernel_degree: Option<u32>,

    /// c of the polynomial kernel, not negative; 1 unless given (kernel)
    #[arg(long, value_name = "C", allow_hyphen_values = true, help_heading = "Model")]
    pub(crate) kernel_constant: Option<f64>,

    /// Rows the kernel model is made of, drawn at random: a number or all; all up to 4000 rows and 1000
    /// beyond unless given (kernel)
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, help_heading = "Model")]
    pub(crate) landmarks: Option<String>,

    /// Where the draw of landmarks starts; 0 unless given (kernel)
    #[arg(long, value_name = "SEED", allow_hyphen_values = true, help_heading = "Model")]
    pub(crate) seed: Option<u64>,

    /// Add products of columns up to this total degree
    #[arg(long, value_name = "D", allow_hyphen_values = true, help_heading = "Model")]
    pub(crate) degree: Option<usize>,

    /// Only products of different columns; degree 2 unless --degree says more
    #[arg(long, help_heading = "Model")]
    pub(crate) interactions: bool,

    /// Of intervals; 0.95 unless given
    #[arg(long, value_name = "P", allow_hyphen_values = true, help_heading = "Model")]
    pub(crate) confidence: Option<f64>,

    #[command(flatten)]
    pub(crate) room: Room,

    /// Write the summary of the rows, to be merged with others (not logistic, softmax, kernel)
    #[arg(long, value_name = "FILE", help_heading = "Large tables")]
    pub(crate) summary_out: Option<PathBuf>,

    /// Summaries to fit together, with the table's if there is one (not logistic, softmax, kernel)
    #[arg(long, value_name = "FILE", help_heading = "Large tables")]
    pub(crate) merge: Vec<PathBuf>,

    /// Predict for the rows of this table
    #[arg(long, value_name = "FILE", requires = "out", help_heading = "Output")]
    pub(crate) predict: Option<String>,

    /// Write the fit: .json, .txt, or its coefficients: .csv, .parquet. With --predict the predictions: .csv, .parquet
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,

    /// Write fitted value, residual, leverage, Cook's distance of each row: .csv, .parquet (least-squares)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) rows: Option<PathBuf>,

    /// Print JSON in place of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
