//! What can be wrong with a linear problem.

use spanwise_kernels::Shape;
use std::fmt;

/// One extent of an array, with the word that names it in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extent {
    /// Elements of a vector.
    Length(usize),
    /// Rows of a matrix.
    Rows(usize),
    /// Columns of a matrix.
    Columns(usize),
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, one) = match *self {
            Extent::Length(n) => return write!(f, "length {n}"),
            Extent::Rows(n) => (n, "row"),
            Extent::Columns(n) => (n, "column"),
        };
        write!(f, "{n} {one}{}", if n == 1 { "" } else { "s" })
    }
}

/// Why a linear operation has no answer.
///
/// `operation` is the verb that was asked for, `argument` the name its documentation gives the array. `Display` is one
/// line: operation, argument, what was found, what was expected. [`LinearError::hint`] says what to do, where that can be
/// told. Rank deficiency of a fit is not among these: it is a finding.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinearError {
    /// An array has the wrong number of dimensions.
    #[error("{operation}: `{argument}` has shape {found}; expected {expected} dimensions")]
    Dimensions {
        /// The verb.
        operation: &'static str,
        /// The array.
        argument: &'static str,
        /// Its shape.
        found: Shape,
        /// How many dimensions it should have.
        expected: usize,
    },

    /// Two arrays that meet do not fit each other.
    #[error("{operation}: `{argument}` has {found}, `{other}` has {expected}; they must be equal")]
    Mismatch {
        /// The verb.
        operation: &'static str,
        /// The array that does not fit.
        argument: &'static str,
        /// Its extent.
        found: Extent,
        /// The array it meets.
        other: &'static str,
        /// The extent it should have.
        expected: Extent,
    },

    /// An array without rows or columns where numbers are needed.
    #[error("{operation}: `{argument}` has shape {found}; expected at least one row and one column")]
    Empty {
        /// The verb.
        operation: &'static str,
        /// The array.
        argument: &'static str,
        /// Its shape.
        found: Shape,
    },

    /// A NaN or an infinity.
    #[error("{operation}: `{argument}` holds {value} at row {row}, column {column}; expected finite numbers")]
    NotFinite {
        /// The verb.
        operation: &'static str,
        /// The array.
        argument: &'static str,
        /// First such row, counted from 0.
        row: usize,
        /// Its column, counted from 0.
        column: usize,
        /// The value found.
        value: f64,
    },

    /// Finite numbers whose products leave the range of f64.
    #[error("{operation}: the numbers of `{argument}` are too large; an intermediate result overflows")]
    Overflow {
        /// The verb.
        operation: &'static str,
        /// The array.
        argument: &'static str,
    },

    /// An answer beyond the range of f64, of numbers within it.
    #[error(
        "{operation}: `{answer}` lies outside what f64 can hold: the numbers of `{argument}` are too large for it"
    )]
    AnswerOverflow {
        /// The verb.
        operation: &'static str,
        /// What was asked for.
        answer: &'static str,
        /// The array that it grows with.
        argument: &'static str,
    },

    /// Numbers that differ, but whose squares are below the range of f64.
    #[error("{operation}: the numbers of `{argument}` are too small; their squares vanish")]
    Underflow {
        /// The verb.
        operation: &'static str,
        /// The array.
        argument: &'static str,
    },

    /// A square matrix was needed.
    #[error("{operation}: `{argument}` has shape {found}; expected as many rows as columns")]
    NotSquare {
        /// The verb.
        operation: &'static str,
        /// The array.
        argument: &'static str,
        /// Its shape.
        found: Shape,
    },

    /// A symmetric matrix was needed.
    #[error(
        "{operation}: `{argument}` is not symmetric; entries ({row}, {column}) and ({column}, {row}) differ by {difference:e}"
    )]
    NotSymmetric {
        /// The verb.
        operation: &'static str,
        /// The array.
        argument: &'static str,
        /// Row of the pair that differs most.
        row: usize,
        /// Column of that pair.
        column: usize,
        /// How much the two entries differ.
        difference: f64,
    },

    /// A positive definite matrix was needed.
    #[error(
        "{operation}: `{argument}` is not positive definite; a direction has curvature {curvature:e}, expected above 0"
    )]
    NotPositiveDefinite {
        /// The verb.
        operation: &'static str,
        /// The array.
        argument: &'static str,
        /// `vᵀAv` for the unit vector `v` found, or the pivot that was not positive.
        curvature: f64,
    },

    /// A system without a unique answer.
    #[error(
        "{operation}: `{argument}` is singular to working precision; rank {rank} of {expected}{}",
        reciprocal(*reciprocal_condition)
    )]
    Singular {
        /// The verb.
        operation: &'static str,
        /// The array.
        argument: &'static str,
        /// Its numerical rank, on unit-scaled columns.
        rank: usize,
        /// The rank a unique answer needs.
        expected: usize,
        /// 1 / condition number of the unit-scaled columns; 0 where a column is zero.
        reciprocal_condition: f64,
    },

    /// An iteration ended without reaching its tolerance.
    #[error(
        "{operation}: no convergence after {iterations} iterations; residual {residual:e}, expected {tolerance:e}"
    )]
    NoConvergence {
        /// The verb.
        operation: &'static str,
        /// Iterations done.
        iterations: usize,
        /// The residual reached.
        residual: f64,
        /// The residual asked for.
        tolerance: f64,
    },

    /// An observation weight below 0.
    #[error("{operation}: `weights` holds {value} at row {row}; expected numbers ≥ 0")]
    NegativeWeight {
        /// The verb.
        operation: &'static str,
        /// First such row, counted from 0.
        row: usize,
        /// The weight found.
        value: f64,
    },

    /// Fewer than two different labels to tell apart.
    #[error(
        "{operation}: `y` holds {found} different {} among the rows of positive weight; expected at least 2",
        if *found == 1 { "label" } else { "labels" }
    )]
    OneClass {
        /// The verb.
        operation: &'static str,
        /// How many different labels there are.
        found: usize,
    },

    /// More features would be formed than can reasonably be held.
    #[error(
        "{operation}: degree {degree} of {columns} columns gives {found} features; expected at most {limit}"
    )]
    TooManyFeatures {
        /// The verb.
        operation: &'static str,
        /// Columns given.
        columns: usize,
        /// The degree asked for.
        degree: usize,
        /// How many features that makes (the largest number where it cannot be counted).
        found: usize,
        /// The limit.
        limit: usize,
    },

    /// The iteration inside a factorisation ended without an answer.
    #[error("{operation}: the factorisation of `{argument}` did not converge")]
    Unconverged {
        /// The verb.
        operation: &'static str,
        /// The array.
        argument: &'static str,
    },

    /// A number outside the range that makes sense.
    #[error("{operation}: `{argument}` is {found}; expected {expected}")]
    OutOfRange {
        /// The verb.
        operation: &'static str,
        /// The setting.
        argument: &'static str,
        /// What was given.
        found: f64,
        /// What makes sense.
        expected: &'static str,
    },

    /// Two summaries of different tables.
    #[error("merge: one summary has {left} {what}, the other {right}; they must be equal")]
    Merge {
        /// `columns` or `targets`.
        what: &'static str,
        /// Of the summary merged into.
        left: usize,
        /// Of the other.
        right: usize,
    },

    /// Bytes that are not a summary.
    #[error("summary: {fault}")]
    Bytes {
        /// What is wrong with them.
        fault: BytesFault,
    },
}

/// Nothing where there is no number to tell.
fn reciprocal(condition: f64) -> String {
    if condition > 0.0 { format!(", reciprocal condition {condition:.1e}") } else { String::new() }
}

impl LinearError {
    /// What to do about it, in one sentence, where that can be told.
    pub fn hint(&self) -> Option<String> {
        match self {
            LinearError::Overflow { argument, .. } | LinearError::Underflow { argument, .. } => {
                Some(format!("divide `{argument}` by its largest magnitude"))
            }
            LinearError::AnswerOverflow { answer, argument, .. } => Some(format!(
                "divide `{argument}` by a power of ten: `{answer}` becomes smaller by the same factor"
            )),
            LinearError::NotPositiveDefinite { .. } => {
                Some("LU or SVD solves systems that are not positive definite".to_owned())
            }
            LinearError::Singular { operation: "project", .. } => Some(
                "columns that depend on others span less; the same prediction needs all directions"
                    .to_owned(),
            ),
            LinearError::Singular { .. } => Some("method `svd` gives the minimum-norm answer".to_owned()),
            LinearError::TooManyFeatures { .. } => {
                Some("lower the degree, keep interactions only, or use a polynomial kernel".to_owned())
            }
            _ => None,
        }
    }
}

/// What is wrong with the bytes of a summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BytesFault {
    /// They do not begin as a summary does.
    #[error("the bytes do not begin as a summary does")]
    NotASummary,
    /// They were written by an earlier or a later version.
    #[error("the bytes have format version {found}; this program reads version {known}")]
    Version {
        /// The version in the bytes.
        found: u32,
        /// The version that is read.
        known: u32,
    },
    /// There are too few or too many of them.
    #[error("found {found} bytes; expected {expected}")]
    Length {
        /// How many there are.
        found: usize,
        /// How many the header announces.
        expected: usize,
    },
    /// The checksum is another one.
    #[error("the checksum does not match: the bytes were changed or damaged")]
    Checksum,
    /// The numbers are not those of a summary.
    #[error("the numbers are not those of a summary: {what}")]
    Content {
        /// Which of them.
        what: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_names_both_arrays_and_their_extents() {
        let error = LinearError::Mismatch {
            operation: "linear",
            argument: "w",
            found: Extent::Length(3),
            other: "X",
            expected: Extent::Columns(2),
        };
        assert_eq!(error.to_string(), "linear: `w` has length 3, `X` has 2 columns; they must be equal");
    }

    #[test]
    fn the_message_is_one_line_and_the_hint_another() {
        let error = LinearError::Overflow { operation: "fit", argument: "X" };
        assert!(!error.to_string().contains('\n'));
        assert_eq!(error.hint().unwrap(), "divide `X` by its largest magnitude");
    }

    #[test]
    fn one_row_is_singular() {
        assert_eq!(Extent::Rows(1).to_string(), "1 row");
        assert_eq!(Extent::Columns(0).to_string(), "0 columns");
    }
}
