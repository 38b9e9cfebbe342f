//! Rows projected onto principal components, and rebuilt from them.

use super::super::decomposed::{Strength, strengths};
use super::super::{Finding, Severity, percent, short};
use super::{Onto, array};
use crate::Array;
use crate::array::{number, numbers};
use serde::Serialize;
use spanwise_linear::LinearError;
use spanwise_linear::decompose::{PcaOptions, pca};
use spanwise_linear::project as linear;

/// Rows that are named as the farthest from where they are rebuilt.
const FARTHEST: usize = 5;

/// Rows seen through principal components.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProjectedRows {
    /// How many rows.
    pub rows: usize,
    /// The columns.
    pub columns: Vec<String>,
    /// How many components.
    pub components: usize,
    /// The variance along each component, and its share.
    pub variances: Vec<Strength>,
    /// The share of the variance that the components keep.
    #[serde(serialize_with = "number")]
    pub kept: f64,
    /// The root of the sum of squared distances of rows from where they are rebuilt, over that of their distances from the mean.
    #[serde(serialize_with = "number")]
    pub relative_error: f64,
    /// The rows that are farthest from where they are rebuilt, farthest first.
    pub farthest: Vec<RowDistance>,
    /// The mean row (p).
    #[serde(serialize_with = "numbers")]
    pub mean: Vec<f64>,
    /// Directions of largest variance, one per row (k × p).
    pub directions: Array,
    /// Coordinates along the components (n × k).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<Array>,
    /// The rows rebuilt from them (n × p).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuilt: Option<Array>,
    /// How far each row is from where it is rebuilt (n).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distances: Option<Array>,
    /// What follows.
    pub findings: Vec<Finding>,
}

/// A row and how far it is from where it is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RowDistance {
    /// Which row of the table, from 1.
    pub row: u64,
    /// How far.
    #[serde(serialize_with = "number")]
    pub distance: f64,
}

/// Projects the rows of a table onto their `count` leading principal components. `numbers` are those of the rows in their table, from 0.
pub fn onto_components(onto: Onto<'_>, count: usize, numbers: &[u64]) -> Result<ProjectedRows, LinearError> {
    let found = pca(onto.x, PcaOptions { components: Some(count), ..PcaOptions::default() })?;
    let seen = linear::onto_components(onto.x, &found)?;
    let total = found.total_variance;
    let kept = found.explained_variance_ratio.iter().sum::<f64>().min(1.0);
    let mut farthest: Vec<RowDistance> = seen
        .distances
        .iter()
        .zip(numbers)
        .map(|(&distance, &row)| RowDistance { row: row + 1, distance })
        .collect();
    farthest.sort_by(|a, b| b.distance.total_cmp(&a.distance).then(a.row.cmp(&b.row)));
    farthest.truncate(FARTHEST);
    let mut told = ProjectedRows {
        rows: seen.scores.rows(),
        columns: onto.names.to_vec(),
        components: count,
        variances: strengths(&found.explained_variance, |v| if total > 0.0 { v / total } else { 0.0 }),
        kept,
        relative_error: seen.relative_error,
        farthest,
        mean: found.mean,
        directions: array(&found.components),
        scores: Some(array(&seen.scores)),
        rebuilt: Some(array(&seen.reconstruction)),
        distances: Some(Array::vector(seen.distances)),
        findings: Vec::new(),
    };
    told.findings = findings(&told, total > 0.0);
    Ok(told)
}

fn findings(told: &ProjectedRows, varies: bool) -> Vec<Finding> {
    if !varies {
        let sentence = "all rows are alike: there is no variance, and any directions do";
        return vec![Finding::new(Severity::Note, sentence)];
    }
    let sentence = format!(
        "{} of {} directions keep {} of the variance; rows rebuilt from them miss {} of their distance from the mean",
        told.components,
        told.columns.len(),
        percent(told.kept),
        percent(told.relative_error)
    );
    // Pythagoras: what is kept and what is missed are orthogonal.
    let sum = told.kept + told.relative_error * told.relative_error;
    let certificate =
        format!("the squares of what is kept and missed add up to 1 within {}", short((sum - 1.0).abs()));
    vec![Finding::new(Severity::Note, sentence).certified(certificate)]
}
