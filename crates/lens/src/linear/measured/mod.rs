//! What a table of numbers is like.

mod answers;
mod columns;
mod findings;

pub use answers::{AgainstAnswer, HullAnswer, SpanAnswer};
pub use columns::{
    ColumnAngle, ColumnAngles, ColumnMeasures, ColumnOrthogonality, IndexShares, MeasuredDependency,
    SymmetricSign,
};

use super::Finding;
use super::near::near_findings;
use crate::array::number;
use columns::{angles, dependency, index_shares, orthogonality, sign};
use serde::Serialize;
use spanwise_kernels::View;
use spanwise_linear::LinearError;
use spanwise_linear::measure::Factor;

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct MeasureRequest<'a> {
    /// The columns, and beside them what they are compared with: the vector of `span` first, then the columns of `against`.
    pub factor: &'a Factor,
    /// The rows (n × p), where they were kept: what asks for rows needs them.
    pub rows: Option<View<'a, f64>>,
    /// One per column.
    pub names: &'a [String],
    /// Binary digits of the table's numbers as they were stored.
    pub stored_bits: u32,
    /// Whether the model that is thought of has an intercept: columns are then centred for inflation, and constants may
    /// appear in formulas.
    pub intercept: bool,
    /// The share of a column that may be left for it to count as dependent; rounding where `None`.
    pub tolerance: Option<f64>,
    /// The name of a vector: is it in the span of the columns?
    pub span: Option<&'a str>,
    /// That vector (n), where the rows were kept.
    pub vector: Option<&'a [f64]>,
    /// The name of other columns, and how many: at what angles is their span?
    pub against: Option<(&'a str, usize)>,
    /// Points (t × p): are they in the hull of the rows? Asked of rows that were kept.
    pub hull: Option<View<'a, f64>>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub columns: usize,
    /// Whether an intercept was thought of.
    pub intercept: bool,
    /// How many columns are independent.
    pub rank: usize,
    /// Binary digits of the numbers as they were stored: 53 of f64, 24 of f32.
    pub stored_bits: u32,
    /// Whether the rows went through a summary and were not kept.
    pub streamed: bool,
    /// Singular values at most this share of the largest count as zero.
    #[serde(serialize_with = "number")]
    pub rank_tolerance: f64,
    /// The last singular value that counts over the first that does not.
    #[serde(serialize_with = "number")]
    pub rank_gap: f64,
    /// The lower and upper end of the band around the tolerance.
    pub rank_band: (f64, f64),
    /// The rank at the upper and at the lower end of the band.
    pub rank_in_band: (usize, usize),
    /// Of the columns as they are.
    #[serde(serialize_with = "number")]
    pub condition: f64,
    /// Of the columns scaled to length 1.
    #[serde(serialize_with = "number")]
    pub condition_scaled: f64,
    /// The root of the sum of squares.
    #[serde(serialize_with = "number")]
    pub frobenius_norm: f64,
    /// The largest singular value.
    #[serde(serialize_with = "number")]
    pub spectral_norm: f64,
    /// The largest sum of magnitudes of a column.
    #[serde(serialize_with = "number")]
    pub one_norm: f64,
    /// The largest sum of magnitudes of a row.
    #[serde(serialize_with = "number")]
    pub infinity_norm: f64,
    /// The exponential of the entropy of the singular values' shares.
    #[serde(serialize_with = "number")]
    pub effective_rank: f64,
    /// The sum of squared singular values over the largest square.
    #[serde(serialize_with = "number")]
    pub stable_rank: f64,
    /// Column by column.
    pub column_measures: Vec<ColumnMeasures>,
    /// Condition indices with the shares of each coefficient's variance, smallest index first.
    pub condition_indices: Vec<IndexShares>,
    /// What the shares are of: the intercept where there is one, then the columns.
    pub share_names: Vec<String>,
    /// Columns that are combinations of others.
    pub dependencies: Vec<MeasuredDependency>,
    /// The share of a column that may be left for it to be one.
    #[serde(serialize_with = "number")]
    pub dependency_tolerance: f64,
    /// Angles between columns.
    pub angles: ColumnAngles,
    /// Whether the columns are orthogonal.
    pub orthogonality: ColumnOrthogonality,
    /// Whether a square, symmetric matrix is positive definite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definiteness: Option<SymmetricSign>,
    /// Whether the vector lies in the span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<SpanAnswer>,
    /// How the span lies to another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<AgainstAnswer>,
    /// Whether each point lies in the hull of the rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hull: Vec<HullAnswer>,
    /// What follows.
    pub findings: Vec<Finding>,
}

impl Measured {
    /// Whether all that was asked lies inside.
    pub fn all_inside(&self) -> bool {
        self.span.as_ref().is_none_or(|span| span.inside) && self.hull.iter().all(|point| point.inside)
    }
}

/// Measures a table.
pub fn measure(request: &MeasureRequest<'_>) -> Result<Measured, LinearError> {
    let MeasureRequest { factor, names, intercept, .. } = *request;
    let rank = factor.rank();
    let condition = factor.condition()?;
    let norms = factor.norms();
    let effective = factor.effective_rank()?;
    let inflation = factor.inflation(intercept)?;
    let indices = factor.condition_indices(intercept)?;
    let dependencies = factor.dependencies(intercept, request.tolerance)?;
    let lengths = factor.lengths();
    let column = |(j, name): (usize, &String)| ColumnMeasures {
        name: name.clone(),
        norm: lengths[j],
        vif: inflation.vif[j],
        r_squared: inflation.r_squared[j],
    };
    let ones = indices.intercept.then(|| "intercept".to_owned());
    let first = usize::from(request.span.is_some());
    let against = |(name, count): (&str, usize)| answers::against(factor, name, first..first + count);
    let hull = request.rows.zip(request.hull).map(|(rows, points)| answers::hull(rows, points));
    let mut measured = Measured {
        rows: factor.rows(),
        columns: names.len(),
        intercept,
        rank: rank.rank,
        stored_bits: request.stored_bits,
        streamed: request.rows.is_none(),
        rank_tolerance: rank.tolerance,
        rank_gap: rank.gap,
        rank_band: rank.band,
        rank_in_band: rank.rank_in_band,
        condition: condition.raw,
        condition_scaled: condition.unit_scaled,
        frobenius_norm: norms.frobenius,
        spectral_norm: norms.spectral,
        one_norm: norms.one,
        infinity_norm: norms.inf,
        effective_rank: effective.entropy,
        stable_rank: effective.stable,
        column_measures: names.iter().enumerate().map(column).collect(),
        share_names: ones.into_iter().chain(names.iter().cloned()).collect(),
        condition_indices: index_shares(&indices.indices, &indices.proportions),
        dependencies: dependencies.iter().map(|found| dependency(found, names)).collect(),
        dependency_tolerance: factor.dependency_tolerance(request.tolerance)?,
        angles: angles(factor, names, intercept),
        orthogonality: orthogonality(factor, names),
        definiteness: request.rows.and_then(|rows| sign(rows, request.stored_bits)),
        span: request.span.map(|name| answers::span(request, name)).transpose()?,
        against: request.against.map(against).transpose()?,
        hull: hull.transpose()?.unwrap_or_default(),
        findings: Vec::new(),
    };
    let dependent: Vec<usize> = dependencies.iter().map(|found| found.column).collect();
    let near = factor.near_dependencies(intercept, &dependent, &inflation);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let told: Vec<&str> = near
        .iter()
        .flat_map(|near| near.terms.iter().map(|&(j, _)| j).chain([near.column]))
        .map(|j| names[j])
        .collect();
    measured.findings = findings::findings(&measured, near_findings(&near, &names, intercept), &told);
    Ok(measured)
}
