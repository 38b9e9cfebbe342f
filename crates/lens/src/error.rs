//! Why an example cannot be computed.

use crate::linear::counted;
use spanwise_attention::AttentionError;
use spanwise_kernels::{Shape, ShapeError};
use spanwise_linear::LinearError;

/// What is wrong with the inputs of an example.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LessonError {
    /// There is no example of this number.
    #[error("example: there is no example {found}; there are {known}")]
    Unknown {
        /// The number asked for.
        found: u32,
        /// The numbers there are, as a list in words.
        known: String,
    },

    /// An input the example does not have.
    #[error("example: example {number} has no input `{argument}`; its inputs are {expected}")]
    Unused {
        /// The example.
        number: u32,
        /// The input that was given.
        argument: &'static str,
        /// The inputs it has.
        expected: &'static str,
    },

    /// An input that is not a matrix.
    #[error("example: `{argument}` has shape {found}; expected 2 dimensions")]
    Dimensions {
        /// The input.
        argument: &'static str,
        /// Its shape.
        found: Shape,
    },

    /// An input without a number.
    #[error("example: `{argument}` has shape {found}; expected at least one row and one column")]
    Empty {
        /// The input.
        argument: &'static str,
        /// Its shape.
        found: Shape,
    },

    /// A layer without heads.
    #[error("lens: layer {name:?} has no heads; expected at least one")]
    Headless {
        /// The layer.
        name: String,
    },

    /// A layer that is called with other heads than before.
    #[error("lens: the layer is called with {}; expected {expected}, as before", counted(*found, "head", "heads"))]
    Heads {
        /// Of this call.
        found: usize,
        /// Of the calls before.
        expected: usize,
    },

    /// Not one mark per query.
    #[error("lens: `tokens` has {}; expected one for each of {batch} × {queries} queries", counted(*found, "mark", "marks"))]
    Tokens {
        /// How many there are.
        found: usize,
        /// Batch entries.
        batch: usize,
        /// Queries of each.
        queries: usize,
    },

    /// A NaN or an infinity.
    #[error("example: `{argument}` holds {value} at row {row}, column {column}; expected finite numbers")]
    NotFinite {
        /// The input.
        argument: &'static str,
        /// Counted from 1, as in files.
        row: usize,
        /// Counted from 1.
        column: usize,
        /// What was found.
        value: f64,
    },

    /// A NaN or an infinity that reaches outputs of attention.
    #[error(
        "attention: `{argument}` holds {value} at {}, and {} not finite; expected finite numbers where a query sees them",
        place(at),
        lost(*rows, *of)
    )]
    Reached {
        /// `q`, `k`, `v`, `bias`, `alibi` or `sinks`.
        argument: &'static str,
        /// What was found.
        value: f64,
        /// Batch entry, head, row and column; the head alone for what each head has one of.
        at: Vec<usize>,
        /// How many rows of outputs are not finite.
        rows: usize,
        /// How many rows there are.
        of: usize,
    },

    /// Scores, or sums of values, beyond the range of the type that they are formed in.
    #[error(
        "attention: {} of batch {batch}, head {head}, row {row} overflow, and {} not finite; expected numbers within range",
        if *in_scores { "scores" } else { "sums of values" },
        lost(*rows, *of)
    )]
    Overflow {
        /// Whether scores are too large; else outputs are.
        in_scores: bool,
        /// Whether the arrays are f64, so that no wider type is left.
        widest: bool,
        /// Of the first row.
        batch: usize,
        /// Of the first row.
        head: usize,
        /// The first row.
        row: usize,
        /// How many rows of outputs are not finite.
        rows: usize,
        /// How many rows there are.
        of: usize,
    },

    /// More numbers than can be read.
    #[error("example: {what} would have {found} numbers; examples show every step and end at {limit}")]
    TooLarge {
        /// The array.
        what: &'static str,
        /// Its size.
        found: usize,
        /// The largest size.
        limit: usize,
    },

    /// More numbers than there is memory for.
    #[error("attention: no memory for {what} of {numbers} numbers")]
    Memory {
        /// The array.
        what: &'static str,
        /// Its size.
        numbers: usize,
    },

    /// w and X differ in length.
    #[error("example: `w` has length {found}, `X` has {}; they must be equal", counted(*cols, "column", "columns"))]
    Weights {
        /// The length of w.
        found: usize,
        /// Rows of X.
        rows: usize,
        /// Columns of X.
        cols: usize,
    },

    /// q, k and v do not fit.
    #[error(transparent)]
    Attention(#[from] AttentionError),

    /// X and w do not fit.
    #[error(transparent)]
    Linear(#[from] LinearError),

    /// Sizes of an example that cannot be addressed.
    #[error("example: {0}")]
    Shape(#[from] ShapeError),

    /// An output of attention that cannot be addressed.
    #[error("attention: the output: {0}")]
    Output(ShapeError),
}

impl LessonError {
    /// What probably happened, where that can be told.
    pub fn hint(&self) -> Option<String> {
        match self {
            LessonError::Attention(error) => error.hint(),
            LessonError::Linear(error) => error.hint(),
            LessonError::Weights { found, rows, cols } if found == rows => {
                Some(format!("`X` looks transposed; its shape is ({rows}, {cols})"))
            }
            LessonError::Reached { argument: "k" | "v", .. } => Some(
                "keys that are padding can be hidden by a mask or by lengths; without `explain` the other rows are computed"
                    .to_owned(),
            ),
            LessonError::Reached { .. } => Some("without `explain` the other rows are computed".to_owned()),
            LessonError::Overflow { in_scores, widest, .. } => {
                let array = if *in_scores { "q or k" } else { "v" };
                let wider = if *widest { "" } else { ", or give the arrays as float64" };
                Some(format!("scale {array} down{wider}"))
            }
            LessonError::TooLarge { .. } => Some("`spanwise attend` takes inputs of any size".to_owned()),
            LessonError::Dimensions { found, .. } if found.rank() == 1 => {
                Some(format!("a single row is a matrix of shape (1, {})", found.len()))
            }
            _ => None,
        }
    }
}

/// `batch 0, head 1, row 2, column 3`, or `head 1`.
fn place(at: &[usize]) -> String {
    match at {
        [batch, head, row, column] => format!("batch {batch}, head {head}, row {row}, column {column}"),
        at => format!("head {}", at.first().copied().unwrap_or(0)),
    }
}

/// `6 of 256 rows of outputs are`.
fn lost(rows: usize, of: usize) -> String {
    let of = counted(of, "row of outputs", "rows of outputs");
    format!("{rows} of {of} {}", if rows == 1 { "is" } else { "are" })
}
