//! Orthonormal bases of a span, and of all that is orthogonal to it.

use super::super::{Finding, Severity, counted, short};
use super::{Onto, array};
use crate::Array;
use crate::array::number;
use serde::Serialize;
use spanwise_kernels::{Matrix, View};
use spanwise_linear::LinearError;
use spanwise_linear::measure::{largest_cosine, orthogonality, vector_norms};
use spanwise_linear::project::ColumnSpace;

/// What a basis is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BasisOf {
    /// The span of the columns.
    Span,
    /// All that is orthogonal to it.
    Complement,
}

/// An orthonormal basis, and what proves that it is one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Basis {
    /// What it is of.
    pub of: BasisOf,
    /// How many rows.
    pub rows: usize,
    /// The columns whose span is meant.
    pub columns: Vec<String>,
    /// The dimension of their span.
    pub rank: usize,
    /// How many directions the basis has.
    pub dimension: usize,
    /// The largest magnitude of a cosine between two of its directions.
    #[serde(serialize_with = "number")]
    pub largest_cosine: f64,
    /// The largest distance of a direction's length from 1.
    #[serde(serialize_with = "number")]
    pub length_error: f64,
    /// Of a span: the largest share of a column that lies outside the basis. Of a complement: the largest cosine between a direction and
    /// a column.
    #[serde(serialize_with = "number")]
    pub departure: f64,
    /// One direction per column (n × dimension).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directions: Option<Array>,
    /// What follows.
    pub findings: Vec<Finding>,
}

/// An orthonormal basis of the span of a table's columns, or of its complement.
pub fn basis(onto: Onto<'_>, of: BasisOf) -> Result<Basis, LinearError> {
    let space = ColumnSpace::of_stored(onto.x, onto.stored_bits)?;
    let (rank, rows) = (space.rank(), space.basis.rows());
    let (directions, departure) = match of {
        BasisOf::Span => (space.basis.clone(), outside(&space, onto.x)?),
        BasisOf::Complement => {
            let directions = space.complement()?;
            let departure = largest_cosine(directions.view(), onto.x)?;
            (directions, departure)
        }
    };
    let checked = orthogonality(directions.view())?;
    let mut found = Basis {
        of,
        rows,
        columns: onto.names.to_vec(),
        rank,
        dimension: directions.cols(),
        largest_cosine: checked.largest_cosine,
        length_error: checked.length_error,
        departure,
        directions: Some(array(&directions)),
        findings: Vec::new(),
    };
    found.findings.push(told(&found));
    Ok(found)
}

/// The largest share of a column that lies outside.
fn outside(space: &ColumnSpace, x: View<'_, f64>) -> Result<f64, LinearError> {
    let parts = space.project_matrix(x)?;
    let length = |matrix: &Matrix, j: usize| -> Result<f64, LinearError> {
        let column = matrix.col(j);
        Ok(vector_norms(View::new(&column, &[column.len()]).expect("a vector"))?.two)
    };
    let mut largest = 0.0_f64;
    for j in 0..parts.inside.cols() {
        let (inside, outside) = (length(&parts.inside, j)?, length(&parts.outside, j)?);
        if outside > 0.0 {
            largest = largest.max(outside / inside.hypot(outside));
        }
    }
    Ok(largest)
}

fn told(found: &Basis) -> Finding {
    let columns = counted(found.columns.len(), "column", "columns");
    let directions = counted(found.dimension, "direction", "directions");
    let sentence = match (found.of, found.dimension) {
        (BasisOf::Span, 0) => "every column is 0: its span has no direction".to_owned(),
        (BasisOf::Span, 1) => format!("one direction of length 1 spans what {columns} span"),
        (BasisOf::Span, _) => {
            format!("{directions} of length 1, orthogonal to each other, span what {columns} span")
        }
        (BasisOf::Complement, 0) => {
            format!("{columns} span all {} dimensions: nothing is orthogonal to them", found.rows)
        }
        (BasisOf::Complement, _) => format!(
            "{directions} of length 1, orthogonal to each other, are orthogonal to the {} that {columns} span",
            counted(found.rank, "dimension", "dimensions")
        ),
    };
    let finding = Finding::new(Severity::Note, sentence);
    if found.dimension == 0 {
        return finding;
    }
    let departure = match found.of {
        BasisOf::Span => format!("at most {} of a column lies outside", short(found.departure)),
        BasisOf::Complement => format!("cosines with a column are at most {}", short(found.departure)),
    };
    let cosines = match found.dimension {
        1 => String::new(),
        _ => format!("cosines between directions are at most {}, ", short(found.largest_cosine)),
    };
    finding.certified(format!("{departure}; {cosines}lengths within {} of 1", short(found.length_error)))
}
