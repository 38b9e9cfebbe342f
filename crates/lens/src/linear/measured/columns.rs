//! Column by column, and columns among themselves.

use crate::array::{number, numbers};
use serde::Serialize;
use spanwise_kernels::{Matrix, View};
use spanwise_linear::measure as linear;
use spanwise_linear::measure::Factor;

/// Pairs of columns that are kept, of however many there are.
const MOST_ANGLES: usize = 100;

/// Angles between columns, those nearest to lying on one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnAngles {
    /// How many pairs of columns have an angle: those of columns that are not 0.
    pub pairs: usize,
    /// The nearest to one line, nearest first: all of them, or the first hundred.
    pub nearest: Vec<ColumnAngle>,
}

/// Two columns and the angle between them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnAngle {
    /// The two.
    pub columns: (String, String),
    /// From 0 to 180.
    #[serde(serialize_with = "number")]
    pub degrees: f64,
    /// The same without the columns' means, where an intercept is thought of: its cosine is their correlation. None where one of them is
    /// constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub centred_degrees: Option<f64>,
}

/// How far the columns are from orthogonal, and from length 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnOrthogonality {
    /// All are orthogonal to each other, within the tolerance.
    pub orthogonal: bool,
    /// They are, and all of length 1.
    pub orthonormal: bool,
    /// The largest magnitude of a cosine between two columns.
    #[serde(serialize_with = "number")]
    pub largest_cosine: f64,
    /// The two it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_pair: Option<(String, String)>,
    /// The largest distance of a column's length from 1.
    #[serde(serialize_with = "number")]
    pub length_error: f64,
    /// Cosines and distances up to this count as 0.
    #[serde(serialize_with = "number")]
    pub tolerance: f64,
}

/// Which way a symmetric matrix curves, and what proves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SymmetricSign {
    /// `positive definite`, `positive semidefinite`, `indefinite`, `negative semidefinite`, `negative definite` or `zero`.
    pub kind: &'static str,
    /// The smallest eigenvalue.
    #[serde(serialize_with = "number")]
    pub smallest_eigenvalue: f64,
    /// The largest.
    #[serde(serialize_with = "number")]
    pub largest_eigenvalue: f64,
    /// Eigenvalues within this of 0 count as 0.
    #[serde(serialize_with = "number")]
    pub tolerance: f64,
    /// A direction v of length 1, of least curvature; of greatest where the matrix is negative definite or semidefinite.
    #[serde(serialize_with = "numbers")]
    pub direction: Vec<f64>,
    /// vᵀAv of it, computed anew in twice the precision.
    #[serde(serialize_with = "number")]
    pub curvature: f64,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnMeasures {
    /// Its name.
    pub name: String,
    /// Its Euclidean length.
    #[serde(serialize_with = "number")]
    pub norm: f64,
    /// How much collinearity inflates the variance of its coefficient.
    #[serde(serialize_with = "number")]
    pub vif: f64,
    /// R² of the column regressed on the others.
    #[serde(serialize_with = "number")]
    pub r_squared: f64,
}

/// One condition index.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IndexShares {
    /// Largest singular value over this one.
    #[serde(serialize_with = "number")]
    pub index: f64,
    /// The share of each coefficient's variance that comes from this direction.
    #[serde(serialize_with = "numbers")]
    pub shares: Vec<f64>,
}

/// A column that is a combination of others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredDependency {
    /// The column.
    pub column: String,
    /// In column names.
    pub formula: String,
    /// What the formula leaves, as a share of the column's length.
    #[serde(serialize_with = "number")]
    pub residual: f64,
    /// Whether every number in the formula is a short one that was verified.
    pub exact: bool,
    /// Whether the formula names no other column.
    pub constant: bool,
    /// Whether the formula has a constant term: without an intercept it does not hold.
    pub needs_intercept: bool,
}

pub(super) fn index_shares(indices: &[f64], proportions: &Matrix) -> Vec<IndexShares> {
    let row = |(k, &index): (usize, &f64)| IndexShares { index, shares: proportions.row(k).to_vec() };
    indices.iter().enumerate().map(row).collect()
}

pub(super) fn dependency(found: &linear::Dependency, names: &[String]) -> MeasuredDependency {
    MeasuredDependency {
        column: names[found.column].clone(),
        formula: found.formula(names),
        residual: found.residual,
        exact: found.exact,
        constant: found.terms.is_empty(),
        needs_intercept: found.constant != 0.0,
    }
}

pub(super) fn angles(factor: &Factor, names: &[String], intercept: bool) -> ColumnAngles {
    let pair = |found: linear::ColumnAngle| ColumnAngle {
        columns: (names[found.first].clone(), names[found.second].clone()),
        degrees: found.angle.to_degrees(),
        centred_degrees: found.centred.filter(|_| intercept).map(f64::to_degrees),
    };
    let directed = factor.lengths().iter().filter(|&&length| length > 0.0).count();
    ColumnAngles {
        pairs: directed * directed.saturating_sub(1) / 2,
        nearest: factor.column_angles(MOST_ANGLES).into_iter().map(pair).collect(),
    }
}

pub(super) fn orthogonality(factor: &Factor, names: &[String]) -> ColumnOrthogonality {
    let found = factor.orthogonality();
    ColumnOrthogonality {
        orthogonal: found.orthogonal,
        orthonormal: found.orthonormal,
        largest_cosine: found.largest_cosine,
        worst_pair: found.worst_pair.map(|(a, b)| (names[a].clone(), names[b].clone())),
        length_error: found.length_error,
        tolerance: found.tolerance,
    }
}

/// Of a matrix that is square and symmetric; `None` of any other, and where its eigenvalues leave the range of f64.
pub(super) fn sign(x: View<'_, f64>, stored_bits: u32) -> Option<SymmetricSign> {
    let found = linear::definiteness_of_stored(x, stored_bits).ok()?;
    let zero = found.tolerance;
    let kind = match (found.smallest, found.largest) {
        (low, high) if low.abs() <= zero && high.abs() <= zero => "zero",
        _ if found.positive_definite => "positive definite",
        _ if found.positive_semidefinite => "positive semidefinite",
        (_, high) if high < -zero => "negative definite",
        (_, high) if high <= zero => "negative semidefinite",
        _ => "indefinite",
    };
    Some(SymmetricSign {
        kind,
        smallest_eigenvalue: found.smallest,
        largest_eigenvalue: found.largest,
        tolerance: zero,
        direction: found.direction,
        curvature: found.curvature,
    })
}
