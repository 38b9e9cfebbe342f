//! What can be typed.

mod explain;
mod linear;
mod measure;
mod minus;
pub(crate) mod names;
mod project;
mod room;

pub(crate) use explain::{Explain, SampleArgs};
pub(crate) use linear::{
    Decompose, FactorMethod, Fit, KernelWord, Kind, MissingWord, Model, Pick, Solve, SolveMethod,
};
pub(crate) use measure::Measure;
pub(crate) use minus::matrices_last;
pub(crate) use project::{BasisWord, Project};
pub(crate) use room::Room;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

/// A model's output is a weighted sum: computed, shown and checked.
#[derive(Debug, Parser)]
#[command(name = "spanwise", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "\
Arrays are files (.npy, .npz, .csv, .tsv, .parquet, .arrow, .safetensors; FILE:NAME picks one \
of several), inline matrices such as \"1,0;0,1\" (a semicolon ends a row), or `-`: standard input.

Examples:
  spanwise example 66                            span and attention, every step shown
  spanwise example 48 --v \"1,0;0,2;3,3\"          the same with other values
  spanwise attend --q q.npy --k k.npy --v v.npy --causal --out o.npy
  spanwise explain examples/longley.csv --target TOTEMP --html longley.html
  spanwise fit examples/longley.csv --target TOTEMP
  spanwise measure examples/longley.csv --exclude TOTEMP

Exit code: 0 done, 1 a check that was asked for does not hold, 2 bad usage or bad input.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,

    /// When to use colour; `auto` is on a terminal without `NO_COLOR` set, `always` wins over it
    #[arg(long, help_heading = "Everywhere", value_enum, default_value_t = When::Auto, global = true, value_name = "WHEN")]
    pub(crate) color: When,

    /// Print no text and no progress, only JSON where asked for; the exit code tells. What
    /// `completions` and `man` write is printed all the same
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) quiet: bool,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a worked example: every step, every claim checked
    #[command(after_help = EXAMPLE_HELP)]
    Example(Example),

    /// Attention over arrays: softmax(q·K/√D)·V with masks, biases and windows
    #[command(after_help = ATTEND_HELP)]
    Attend(Box<Attend>),

    /// Fit a model: least squares, ridge, logistic and others, with errors, digits and findings
    #[command(after_help = linear::FIT_HELP)]
    Fit(Box<Fit>),

    /// Split vectors by a column space; project rows onto components; orthonormal bases, other bases
    #[command(after_help = project::PROJECT_HELP)]
    Project(Box<Project>),

    /// Write a matrix as a product: QR, SVD, eigen, principal components, low rank
    #[command(after_help = linear::DECOMPOSE_HELP)]
    Decompose(Box<Decompose>),

    /// Solve A x = b, and say how well it was solved
    #[command(after_help = linear::SOLVE_HELP)]
    Solve(Solve),

    /// Rank, conditioning, dependencies, angles, span and hull membership of a table
    #[command(after_help = measure::MEASURE_HELP)]
    Measure(Box<Measure>),

    /// Explain a table with a target, or attention: findings, evidence, what to do
    #[command(after_help = explain::EXPLAIN_HELP)]
    Explain(Box<Explain>),

    /// Write a small data set with a known answer
    #[command(after_help = explain::SAMPLE_HELP)]
    Sample(SampleArgs),

    /// Write a completion script for a shell to standard output
    #[command(after_help = "\
Examples:
  spanwise completions bash > ~/.local/share/bash-completion/completions/spanwise
  spanwise completions fish > ~/.config/fish/completions/spanwise.fish")]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },

    /// Write the manual pages
    #[command(after_help = "\
Examples:
  spanwise man | man -l -
  spanwise man --out ~/.local/share/man/man1")]
    Man {
        /// A directory for one page per verb; without it the main page goes to standard output
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

const EXAMPLE_HELP: &str = "\
Examples:
  spanwise example                               list the examples
  spanwise example 66                            run one
  spanwise example 66 --x \"1,2;3,4\" --w \"1,1\"    with other inputs, claims checked anew
  spanwise example 48 --q q.npy --json           with a file, as JSON

In JSON, numbers read back to the same bits; those that are not finite are the strings \
\"NaN\", \"Infinity\" and \"-Infinity\".

Exit code: 0 all claims hold, 1 one does not, 2 bad usage or bad input.";

const ATTEND_HELP: &str = "\
Examples:
  spanwise attend --q \"1,0\" --k \"1,0;0,1;1,1\" --v \"1,0;0,2;1,1\"
  spanwise attend --q q.npy --k k.npy --v v.npy --causal --out o.npy
  spanwise attend --q qkv.npz:q --k qkv.npz:k --v qkv.npz:v --weights a.npy
  spanwise attend --q q.npy --k k.npy --v v.npy --window \"128,0\" --align bottom-right

Shapes: q (…, N, D), k (…, M, D), v (…, M, E); up to two leading dimensions, batch and heads. \
Fewer key/value heads than query heads are shared in groups. Sums are formed in f32 for f32, f16 \
and bf16, else in f64; the output has the type of q. A query without a key left gives zeros. \
Without --weights, memory does not grow with N × M; weights beyond 2147483648 numbers are refused.

In JSON, numbers read back to the same bits; those that are not finite are the strings \
\"NaN\", \"Infinity\" and \"-Infinity\".";

#[derive(Debug, Args)]
pub(crate) struct Example {
    /// Which example; without it they are listed
    pub(crate) number: Option<u32>,

    /// The features X, n × p (66)
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, requires = "number")]
    pub(crate) x: Option<String>,

    /// The weights w, p (66)
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, requires = "number")]
    pub(crate) w: Option<String>,

    /// The queries, N × D
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, requires = "number")]
    pub(crate) q: Option<String>,

    /// The keys, M × D
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, requires = "number")]
    pub(crate) k: Option<String>,

    /// The values, M × E
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, requires = "number")]
    pub(crate) v: Option<String>,

    /// Print JSON in place of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Write to a file in place of standard output; JSON if it ends in .json
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("diagonal").args(["causal", "window"]).multiple(true))]
pub(crate) struct Attend {
    /// The queries, (…, N, D)
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true)]
    pub(crate) q: String,

    /// The keys, (…, M, D)
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true)]
    pub(crate) k: String,

    /// The values, (…, M, E)
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true)]
    pub(crate) v: String,

    /// The factor on q·k; 1/√D unless given
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, help_heading = "Scores")]
    pub(crate) scale: Option<f64>,

    /// Scores s become c·tanh(s/c)
    #[arg(long, value_name = "C", allow_hyphen_values = true, help_heading = "Scores")]
    pub(crate) softcap: Option<f64>,

    /// Added to the scores; broadcasts to (B, H, N, M); -inf hides a key
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, help_heading = "Scores")]
    pub(crate) bias: Option<String>,

    /// A slope per query head: each place of distance costs that much
    #[arg(long, value_name = "SLOPES", allow_hyphen_values = true, help_heading = "Scores")]
    pub(crate) alibi: Option<String>,

    /// A logit per query head that shares in the softmax and has no value
    #[arg(long, value_name = "LOGITS", allow_hyphen_values = true, help_heading = "Scores")]
    pub(crate) sinks: Option<String>,

    /// True (or 1) keeps a key; broadcasts to (B, H, N, M)
    #[arg(long, value_name = "ARRAY", allow_hyphen_values = true, help_heading = "Masks")]
    pub(crate) mask: Option<String>,

    /// No query sees beyond its place; where N ≠ M, say which diagonal it follows
    #[arg(long, value_name = "DIAGONAL", num_args = 0..=1, default_missing_value = "square")]
    #[arg(value_enum, help_heading = "Masks")]
    pub(crate) causal: Option<CausalWord>,

    /// How many keys before and after its place a query sees; an empty side or `*` is no limit
    #[arg(long, value_name = "LEFT,RIGHT", allow_hyphen_values = true, help_heading = "Masks")]
    pub(crate) window: Option<String>,

    /// The diagonal that a window or a plain --causal follows where N ≠ M
    #[arg(long, value_name = "DIAGONAL", value_enum, requires = "diagonal", help_heading = "Masks")]
    pub(crate) align: Option<Diagonal>,

    /// How many keys each batch entry has; the rest is padding
    #[arg(long, value_name = "COUNTS", allow_hyphen_values = true, help_heading = "Masks")]
    pub(crate) lengths: Option<String>,

    /// Write the output: .npy, .npz, .csv, .parquet, .safetensors
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,

    /// Write the weights, (…, N, M)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) weights: Option<PathBuf>,

    /// Write the log-sum-exp of each row, (…, N)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) lse: Option<PathBuf>,

    /// Print JSON in place of text; holds the output unless --out has it
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// What may follow `--causal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CausalWord {
    // As many queries as keys (the default), so that both diagonals are one
    Square,
    // The first query beside the first key
    TopLeft,
    // The last query beside the last key
    BottomRight,
}

/// Which diagonal causal masks and windows follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Diagonal {
    // The first query beside the first key
    TopLeft,
    // The last query beside the last key
    BottomRight,
}
