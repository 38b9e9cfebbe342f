//! What a table of numbers is like.

use super::{Finding, Severity, counted, percent, short};
use crate::array::{number, numbers};
use crate::finding::sorted;
use serde::Serialize;
use spanwise_kernels::{Matrix, View};
use spanwise_linear::LinearError;
use spanwise_linear::measure as linear;

/// A condition index from which a dependency is usually called strong.
const STRONG_INDEX: f64 = 30.0;
/// A share of a coefficient's variance from which a column is said to take part.
const LARGE_SHARE: f64 = 0.5;
/// A variance inflation usually called large.
const LARGE_VIF: f64 = 10.0;

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct MeasureRequest<'a> {
    /// n × p.
    pub x: View<'a, f64>,
    /// One per column.
    pub names: &'a [String],
    /// Whether the model that is thought of has an intercept: columns are then centred for inflation, and constants may
    /// appear in formulas.
    pub intercept: bool,
    /// The share of a column that may be left for it to count as dependent; rounding where `None`.
    pub tolerance: Option<f64>,
    /// A vector (n) with its name: is it in the span of the columns?
    pub span: Option<(&'a str, View<'a, f64>)>,
    /// Points (t × p): are they in the hull of the rows?
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
    /// Whether the vector lies in the span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<SpanAnswer>,
    /// Whether each point lies in the hull of the rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hull: Vec<HullAnswer>,
    /// What follows.
    pub findings: Vec<Finding>,
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
}

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
    /// The largest cosine between the part outside and a column.
    #[serde(serialize_with = "number")]
    pub orthogonality: f64,
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

impl Measured {
    /// Whether all that was asked lies inside.
    pub fn all_inside(&self) -> bool {
        self.span.as_ref().is_none_or(|span| span.inside) && self.hull.iter().all(|point| point.inside)
    }
}

/// Measures a table.
pub fn measure(request: &MeasureRequest<'_>) -> Result<Measured, LinearError> {
    let MeasureRequest { x, names, intercept, .. } = *request;
    let rank = linear::rank(x)?;
    let condition = linear::condition(x)?;
    let norms = linear::matrix_norms(x)?;
    let effective = linear::effective_rank(x)?;
    let inflation = linear::inflation(x, intercept)?;
    let indices = linear::condition_indices(x, intercept)?;
    let dependencies = linear::dependencies(x, intercept, request.tolerance)?;
    let mut column_measures = Vec::with_capacity(names.len());
    for (j, name) in names.iter().enumerate() {
        let column: Vec<f64> = column_of(&x, j);
        let norm = linear::vector_norms(View::new(&column, &[column.len()]).expect("a vector"))?.two;
        let (vif, r_squared) = (inflation.vif[j], inflation.r_squared[j]);
        column_measures.push(ColumnMeasures { name: name.clone(), norm, vif, r_squared });
    }
    let ones = indices.intercept.then(|| "intercept".to_owned());
    let mut measured = Measured {
        rows: x.shape().dims()[0],
        columns: names.len(),
        intercept,
        rank: rank.rank,
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
        column_measures,
        share_names: ones.into_iter().chain(names.iter().cloned()).collect(),
        condition_indices: index_shares(&indices.indices, &indices.proportions),
        dependencies: dependencies.iter().map(|found| dependency(found, names)).collect(),
        span: request.span.map(|(name, v)| span(x, name, v)).transpose()?,
        hull: request.hull.map(|points| hull(x, points)).transpose()?.unwrap_or_default(),
        findings: Vec::new(),
    };
    measured.findings = findings(&measured);
    Ok(measured)
}

fn column_of(x: &View<'_, f64>, j: usize) -> Vec<f64> {
    (0..x.shape().dims()[0]).filter_map(|i| x.get(&[i, j])).collect()
}

fn index_shares(indices: &[f64], proportions: &Matrix) -> Vec<IndexShares> {
    let row = |(k, &index): (usize, &f64)| IndexShares { index, shares: proportions.row(k).to_vec() };
    indices.iter().enumerate().map(row).collect()
}

fn dependency(found: &linear::Dependency, names: &[String]) -> MeasuredDependency {
    MeasuredDependency {
        column: names[found.column].clone(),
        formula: found.formula(names),
        residual: found.residual,
        exact: found.exact,
        constant: found.terms.is_empty(),
    }
}

fn span(x: View<'_, f64>, name: &str, v: View<'_, f64>) -> Result<SpanAnswer, LinearError> {
    let found = linear::span_membership(x, v)?;
    Ok(SpanAnswer {
        name: name.to_owned(),
        inside: found.inside,
        outside_share: found.residual,
        tolerance: found.tolerance,
        coefficients: found.coefficients,
        unique: found.unique,
        orthogonality: found.orthogonality,
    })
}

fn hull(x: View<'_, f64>, points: View<'_, f64>) -> Result<Vec<HullAnswer>, LinearError> {
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

fn findings(measured: &Measured) -> Vec<Finding> {
    let mut all = Vec::new();
    for found in &measured.dependencies {
        let certificate = format!(
            "what the formula leaves is {} of the length of `{}`",
            short(found.residual),
            found.column
        );
        let (severity, sentence) = if found.constant {
            let sentence = format!(
                "`{}` is constant: it adds nothing to an intercept ({})",
                found.column, found.formula
            );
            (Severity::Caution, sentence)
        } else {
            (Severity::Serious, format!("`{}` adds no direction: {}", found.column, found.formula))
        };
        all.push(
            Finding::new(severity, sentence)
                .advised(format!("leave `{}` out; nothing that can be predicted is lost", found.column))
                .certified(certificate),
        );
    }
    if measured.rows < measured.columns {
        let sentence = format!(
            "only {} for {}: at most {} can be told apart",
            counted(measured.rows, "row", "rows"),
            counted(measured.columns, "column", "columns"),
            measured.rows
        );
        all.push(Finding::new(Severity::Serious, sentence));
    }
    let (low, high) = measured.rank_in_band;
    if low != high {
        let sentence = format!(
            "the rank is not certain: {low} to {high} for tolerances from {} to {}",
            short(measured.rank_band.0),
            short(measured.rank_band.1)
        );
        all.push(Finding::new(Severity::Caution, sentence));
    }
    all.extend(strong_index(measured));
    // Of a constant column that was said already, in better words.
    let is_constant =
        |name: &str| measured.dependencies.iter().any(|found| found.constant && found.column == name);
    let inflated: Vec<String> = measured
        .column_measures
        .iter()
        .filter(|column| column.vif > LARGE_VIF && !is_constant(&column.name))
        .map(|column| format!("`{}` ({})", column.name, short(column.vif)))
        .collect();
    if !inflated.is_empty() {
        let sentence = format!("the variance of a coefficient is inflated for {}", listed(&inflated));
        all.push(Finding::new(Severity::Caution, sentence).certified(format!("VIF above {LARGE_VIF}")));
    }
    sorted(all)
}

/// The largest finite index that names at least two columns.
fn strong_index(measured: &Measured) -> Option<Finding> {
    let strong = |row: &&IndexShares| row.index >= STRONG_INDEX && row.index.is_finite();
    let row = measured.condition_indices.iter().rfind(strong)?;
    let taking_part: Vec<String> = measured
        .share_names
        .iter()
        .zip(&row.shares)
        .filter(|&(_, &share)| share >= LARGE_SHARE)
        .map(|(name, &share)| format!("`{name}` ({})", percent(share)))
        .collect();
    if taking_part.len() < 2 {
        return None;
    }
    let sentence = format!("{} are nearly dependent together", listed(&taking_part));
    let certificate =
        format!("condition index {}; shares of their coefficients' variance in brackets", short(row.index));
    Some(Finding::new(Severity::Caution, sentence).certified(certificate))
}

fn listed(parts: &[String]) -> String {
    const SHOWN: usize = 12;
    let more = if parts.len() > SHOWN { format!(" and {} more", parts.len() - SHOWN) } else { String::new() };
    format!("{}{more}", parts[..parts.len().min(SHOWN)].join(", "))
}
