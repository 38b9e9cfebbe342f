//! Answers to what is asked of a table: does a vector lie in its span, a point in its hull, how far apart are two spans?

use super::super::counted;
use super::MeasureRequest;
use crate::array::{number, numbers};
use serde::Serialize;
use spanwise_kernels::View;
use spanwise_linear::LinearError;
use spanwise_linear::measure as linear;
use spanwise_linear::measure::Factor;
use std::ops::Range;

/// Whether a vector lies in the span of the columns, and what proves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpanAnswer {
    /// The vector.
    pub name: String,
    /// The answer.
    pub inside: bool,
    /// The part outside over the whole.
    #[serde(serialize_with = "number")]
    pub outside_share: f64,
    /// A share up to this counts as none.
    #[serde(serialize_with = "number")]
    pub tolerance: f64,
    /// Coefficients that give the part inside.
    #[serde(serialize_with = "numbers")]
    pub coefficients: Vec<f64>,
    /// Whether no others give it.
    pub unique: bool,
    /// Whether it does, or would lie inside if there were a constant column.
    pub inside_with_constant: bool,
    /// Of a vector outside: the largest cosine between what the coefficients leave and a column, computed on the rows; `None` where
    /// they were not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orthogonality: Option<f64>,
}

/// Whether a point lies in the hull of the rows, and what proves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HullAnswer {
    /// Which point, from 0.
    pub point: usize,
    /// The answer.
    pub inside: bool,
    /// Whether it lies in the flat through all rows.
    pub in_affine_hull: bool,
    /// Its distance from the hull.
    #[serde(serialize_with = "number")]
    pub distance: f64,
    /// Distances up to this count as 0.
    #[serde(serialize_with = "number")]
    pub tolerance: f64,
    /// Rows with a weight above 0, and the weight: they rebuild the point, or the nearest point of the hull.
    pub weights: Vec<(usize, f64)>,
    /// Whether no other weights give it.
    pub unique: bool,
    /// The normal of a hyperplane between the hull and the point, where it lies outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normal: Option<Vec<f64>>,
    /// The width of the gap along the normal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

/// How the span of the columns lies to that of others, and what proves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstAnswer {
    /// What the others are called.
    pub name: String,
    /// How many others there are.
    pub columns: usize,
    /// The dimension of their span.
    pub rank: usize,
    /// The principal angles, smallest first: as many as the smaller of the two dimensions.
    #[serde(serialize_with = "numbers")]
    pub angles_degrees: Vec<f64>,
    /// How many of them are 0: directions that both spans have.
    pub shared: usize,
    /// An angle counts as 0 whose sine is at most this.
    #[serde(serialize_with = "number")]
    pub tolerance: f64,
    /// What that means.
    pub sentence: String,
}

pub(super) fn against(
    factor: &Factor,
    name: &str,
    others: Range<usize>,
) -> Result<AgainstAnswer, LinearError> {
    let columns = others.len();
    let found = factor.span_angles(others)?;
    let shared = found.angles.iter().filter(|angle| angle.sin() <= found.tolerance).count();
    let (own, rank) = found.ranks;
    let dimensions = |count| counted(count, "dimension", "dimensions");
    let sentence = match (own, rank) {
        (0, _) => "every column is 0: there is no direction to compare".to_owned(),
        (_, 0) => format!("every column of `{name}` is 0: there is no direction to compare"),
        _ if shared == own && shared == rank => {
            format!("the columns and `{name}` span the same {}", dimensions(own))
        }
        _ if shared == rank => {
            format!("`{name}` spans {} of the {own} that the columns span", dimensions(rank))
        }
        _ if shared == own => {
            format!("the columns span {} of the {rank} that `{name}` spans", dimensions(own))
        }
        _ if shared > 0 => {
            format!("the spans of the columns and of `{name}` have {} in common", dimensions(shared))
        }
        // A right angle is one to rounding.
        _ if found.angles.iter().all(|angle| angle.cos() <= found.tolerance) => {
            format!("the span of the columns is orthogonal to that of `{name}`")
        }
        _ => format!("the span of the columns and that of `{name}` have no direction in common"),
    };
    Ok(AgainstAnswer {
        name: name.to_owned(),
        columns,
        rank,
        angles_degrees: found.angles.into_iter().map(f64::to_degrees).collect(),
        shared,
        tolerance: found.tolerance,
        sentence,
    })
}

pub(super) fn span(request: &MeasureRequest<'_>, name: &str) -> Result<SpanAnswer, LinearError> {
    let factor = request.factor;
    let found = factor.span_membership(0)?;
    let inside_with_constant = found.inside || factor.span_membership_with_constant(0)?.inside;
    // On the triangle what is left is orthogonal by construction.
    let orthogonality = match request.rows.zip(request.vector).filter(|_| !found.inside) {
        Some((rows, vector)) => factor.cosine_outside(rows, vector, &found.coefficients)?,
        None => None,
    };
    Ok(SpanAnswer {
        name: name.to_owned(),
        inside: found.inside,
        outside_share: found.residual,
        tolerance: found.tolerance,
        coefficients: found.coefficients,
        unique: found.unique,
        inside_with_constant,
        orthogonality,
    })
}

pub(super) fn hull(x: View<'_, f64>, points: View<'_, f64>) -> Result<Vec<HullAnswer>, LinearError> {
    let found = linear::hull_membership_of_many(x, points)?;
    let answer = |(point, found): (usize, linear::HullMembership)| HullAnswer {
        point,
        inside: found.inside,
        in_affine_hull: found.in_affine_hull,
        distance: found.distance,
        tolerance: found.tolerance,
        weights: found.weights.into_iter().enumerate().filter(|&(_, weight)| weight > 0.0).collect(),
        unique: found.unique,
        margin: found.separating.as_ref().map(|plane| plane.margin),
        normal: found.separating.map(|plane| plane.normal),
    };
    Ok(found.into_iter().enumerate().map(answer).collect())
}
