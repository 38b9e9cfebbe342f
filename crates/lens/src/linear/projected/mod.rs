//! Vectors split by a column space; rows seen through principal components; bases and their change.

mod basis;
mod change;
mod components;

pub use basis::{Basis, BasisOf, basis};
pub use change::{ChangedBasis, NewColumn, change_of_basis};
pub use components::{ProjectedRows, RowDistance, onto_components};

use super::{Finding, Severity, counted, percent, short};
use crate::Array;
use crate::array::{number, numbers};
use serde::Serialize;
use spanwise_kernels::{Matrix, View};
use spanwise_linear::LinearError;
use spanwise_linear::measure::vector_norms;
use spanwise_linear::project::ColumnSpace;

/// Vectors split into what lies in the span of columns and what does not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Projected {
    /// How many rows.
    pub rows: usize,
    /// The columns projected onto.
    pub onto: Vec<String>,
    /// The dimension of their span.
    pub rank: usize,
    /// Vector by vector.
    pub vectors: Vec<ProjectedColumn>,
    /// The parts inside (n × t).
    #[serde(skip)]
    pub inside: Array,
    /// The parts outside (n × t).
    #[serde(skip)]
    pub outside: Array,
    /// What follows.
    pub findings: Vec<Finding>,
}

/// One vector.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProjectedColumn {
    /// Its name.
    pub name: String,
    /// Its length.
    #[serde(serialize_with = "number")]
    pub length: f64,
    /// The length of the part inside.
    #[serde(serialize_with = "number")]
    pub inside: f64,
    /// The length of the part outside.
    #[serde(serialize_with = "number")]
    pub outside: f64,
    /// Between the vector and the span, in degrees; none for the zero vector.
    pub angle_degrees: Option<f64>,
    /// Coefficients of the columns that give the part inside; dependent columns get 0.
    #[serde(serialize_with = "numbers")]
    pub coefficients: Vec<f64>,
}

/// The columns of a table, as they are projected onto.
#[derive(Clone, Copy, Debug)]
pub struct Onto<'a> {
    /// n × p.
    pub x: View<'a, f64>,
    /// One per column.
    pub names: &'a [String],
    /// Binary digits of the numbers as they were stored.
    pub stored_bits: u32,
}

/// Projects the columns of `v` (n × t) onto the span of the columns of a table.
pub fn project(onto: Onto<'_>, v: View<'_, f64>, names: &[String]) -> Result<Projected, LinearError> {
    let found = ColumnSpace::of_stored(onto.x, onto.stored_bits)?.project_matrix(v)?;
    let onto = onto.names;
    let length = |matrix: &Matrix, j: usize| -> Result<f64, LinearError> {
        let column = matrix.col(j);
        Ok(vector_norms(View::new(&column, &[column.len()]).expect("a vector"))?.two)
    };
    let whole = Matrix::new(v.to_vec(), found.inside.rows(), found.inside.cols()).expect("the same shape");
    let mut vectors = Vec::with_capacity(names.len());
    for (j, name) in names.iter().enumerate() {
        vectors.push(ProjectedColumn {
            name: name.clone(),
            length: length(&whole, j)?,
            inside: length(&found.inside, j)?,
            outside: length(&found.outside, j)?,
            angle_degrees: found.angles[j].map(f64::to_degrees),
            coefficients: found.coefficients.col(j),
        });
    }
    Ok(Projected {
        rows: found.inside.rows(),
        onto: onto.to_vec(),
        rank: found.rank,
        findings: findings(&vectors, found.rank, onto),
        inside: array(&found.inside),
        outside: array(&found.outside),
        vectors,
    })
}

fn array(matrix: &Matrix) -> Array {
    Array::new(matrix.as_slice().to_vec(), &[matrix.rows(), matrix.cols()]).expect("a matrix fits its shape")
}

fn findings(vectors: &[ProjectedColumn], rank: usize, onto: &[String]) -> Vec<Finding> {
    let mut all = Vec::new();
    if rank < onto.len() {
        let sentence = format!(
            "{} span {}: other coefficients give the same part",
            if onto.len() == 1 {
                "the column is zero and its multiples".to_owned()
            } else {
                format!("the {} columns", onto.len())
            },
            counted(rank, "dimension", "dimensions")
        );
        all.push(Finding::new(Severity::Caution, sentence));
    }
    for vector in vectors {
        let sentence = match vector.angle_degrees {
            None => format!("`{}` is zero and has no direction", vector.name),
            Some(angle) => format!(
                "{} of the length of `{}` lies outside the span, at {}° to it",
                percent(vector.outside / vector.length),
                vector.name,
                short(angle)
            ),
        };
        all.push(Finding::new(Severity::Note, sentence));
    }
    all
}
