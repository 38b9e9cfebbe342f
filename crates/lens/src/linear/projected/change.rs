//! A model in other columns: other coefficients, the same prediction.

use super::super::{Finding, Severity, short};
use super::{Onto, array};
use crate::Array;
use crate::array::{number, numbers};
use serde::Serialize;
use spanwise_kernels::View;
use spanwise_linear::LinearError;
use spanwise_linear::project as linear;

/// A model X·w written as (X·B)·u.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangedBasis {
    /// How many rows.
    pub rows: usize,
    /// The columns X.
    pub columns: Vec<String>,
    /// Their coefficients w.
    #[serde(serialize_with = "numbers")]
    pub coefficients: Vec<f64>,
    /// The columns X·B, with their coefficients u.
    pub new_columns: Vec<NewColumn>,
    /// The length of what the two predictions differ by over that of the prediction; of a prediction that is 0 the length itself.
    #[serde(serialize_with = "number")]
    pub error: f64,
    /// An estimate of the condition number of B: how much rounding the change may magnify.
    #[serde(serialize_with = "number")]
    pub condition: f64,
    /// X·B (n × p).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Array>,
    /// X·w (n).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Array>,
    /// What follows.
    pub findings: Vec<Finding>,
}

/// A column that others make.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NewColumn {
    /// Its name.
    pub name: String,
    /// What of each column it takes: a column of B.
    #[serde(serialize_with = "numbers")]
    pub of: Vec<f64>,
    /// Its coefficient.
    #[serde(serialize_with = "number")]
    pub coefficient: f64,
}

/// Writes the model with coefficients `w` (p) in the columns X·B, B of p × p and invertible.
pub fn change_of_basis(onto: Onto<'_>, w: &[f64], b: View<'_, f64>) -> Result<ChangedBasis, LinearError> {
    let weights = View::new(w, &[w.len()]).expect("a vector");
    let found = linear::change_of_basis(onto.x, weights, b)?;
    let new_column = |(k, &coefficient): (usize, &f64)| NewColumn {
        name: format!("t{k}"),
        of: (0..w.len()).filter_map(|j| b.get(&[j, k])).collect(),
        coefficient,
    };
    let same = "the new columns span what the old ones span, and the prediction is the same";
    let certificate = format!(
        "the two predictions differ by {} of their length; condition number of the change about {}",
        short(found.error),
        short(found.condition)
    );
    Ok(ChangedBasis {
        rows: found.features.rows(),
        columns: onto.names.to_vec(),
        coefficients: w.to_vec(),
        new_columns: found.weights.iter().enumerate().map(new_column).collect(),
        error: found.error,
        condition: found.condition,
        features: Some(array(&found.features)),
        prediction: Some(Array::vector(found.prediction)),
        findings: vec![Finding::new(Severity::Note, same).certified(certificate)],
    })
}
