//! Why an example cannot be computed.

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
    #[error("lens: the layer is called with {found} heads; expected {expected}, as before")]
    Heads {
        /// Of this call.
        found: usize,
        /// Of the calls before.
        expected: usize,
    },

    /// Not one mark per query.
    #[error("lens: `tokens` has {found} marks; expected one for each of {batch} × {queries} queries")]
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
        /// Counted from 0.
        row: usize,
        /// Counted from 0.
        column: usize,
        /// What was found.
        value: f64,
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
    #[error("example: `w` has length {found}, `X` has {cols} columns; they must be equal")]
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
            LessonError::TooLarge { .. } => Some("`spanwise attend` takes inputs of any size".to_owned()),
            LessonError::Dimensions { found, .. } if found.rank() == 1 => {
                Some(format!("a single row is a matrix of shape (1, {})", found.len()))
            }
            _ => None,
        }
    }
}
