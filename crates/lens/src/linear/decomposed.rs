//! A matrix as a product of simpler ones, with what the factors say.

use super::{Finding, Severity, percent, short};
use crate::Array;
use crate::array::number;
use crate::finding::sorted;
use serde::Serialize;
use spanwise_kernels::{Matrix, View};
use spanwise_linear::decompose as linear;
use spanwise_linear::{LinearError, Summary};

/// How principal components are found.
pub use linear::PcaMethod as PcaWay;

/// Which decomposition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decomposition {
    /// An orthonormal basis and a triangle.
    Qr,
    /// The same, most independent columns first.
    PivotedQr,
    /// Directions and strengths; all of them, or the leading `rank`, by random projection where `randomized`.
    Svd {
        /// How many; all where `None`.
        rank: Option<usize>,
        /// The seed, where random projection is wanted.
        randomized: Option<u64>,
    },
    /// The axes of a symmetric matrix.
    Eigen,
    /// The directions of largest variance.
    Pca {
        /// How many; all where `None`.
        components: Option<usize>,
        /// By which method.
        method: PcaWay,
    },
    /// The closest matrix of a rank.
    LowRank {
        /// The rank.
        rank: usize,
    },
}

/// One factor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Factor {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in words.
    pub meaning: &'static str,
    /// Its numbers.
    pub values: Array,
}

/// One singular value, eigenvalue or variance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Strength {
    /// The value.
    #[serde(serialize_with = "number")]
    pub value: f64,
    /// Its share of the whole, where that makes sense.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The shares up to here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cumulative: Option<f64>,
}

/// A decomposition with its factors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decomposed {
    /// `QR`, `SVD`, ….
    pub kind: &'static str,
    /// The formula the factors satisfy.
    pub formula: &'static str,
    /// Rows and columns of what was decomposed.
    pub shape: (usize, usize),
    /// How, where there is a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The factors.
    pub factors: Vec<Factor>,
    /// What the strengths are called.
    pub strength_name: &'static str,
    /// Singular values, eigenvalues or variances.
    pub strengths: Vec<Strength>,
    /// What follows.
    pub findings: Vec<Finding>,
}

/// Decomposes `x` (n × p); `names` are those of its columns.
pub fn decompose(x: View<'_, f64>, names: &[String], how: &Decomposition) -> Result<Decomposed, LinearError> {
    let shape = match *x.shape().dims() {
        [n, p] => (n, p),
        _ => (x.shape().len(), 1),
    };
    let made = match *how {
        Decomposition::Qr => qr(x)?,
        Decomposition::PivotedQr => pivoted_qr(x, names)?,
        Decomposition::Svd { rank, randomized } => svd(x, rank, randomized)?,
        Decomposition::Eigen => eigen(x)?,
        Decomposition::Pca { components, method } => pca(x, components, method)?,
        Decomposition::LowRank { rank } => low_rank(x, rank)?,
    };
    Ok(Decomposed { shape, findings: sorted(made.findings.clone()), ..made })
}

/// What a summary of rows that were not kept says of their principal components.
pub fn pca_of_summary(summary: &Summary, components: Option<usize>) -> Result<Decomposed, LinearError> {
    let made = pca_told(&linear::pca_from_summary(summary, components)?);
    Ok(Decomposed { method: Some(SUMMARISED.to_owned()), ..of_summary(summary, made) })
}

/// The same of their singular values and right directions; left ones have an entry for each row.
pub fn svd_of_summary(summary: &Summary, rank: Option<usize>) -> Result<Decomposed, LinearError> {
    let found = linear::svd_from_summary(summary, rank)?;
    let factors = vec![
        vector("s", "singular values", found.singular_values.clone()),
        factor("v", "right directions, one per column", &found.v),
    ];
    let sentence = "the left directions U have a row for each row of the table, and those were not kept";
    let made = Decomposed {
        method: Some(SUMMARISED.to_owned()),
        strength_name: "singular value",
        strengths: strengths(&found.singular_values, share_of(found.squares)),
        findings: vec![
            Finding::new(Severity::Note, sentence).advised("X·V·diag(1/s) gives them, row by row"),
        ],
        ..plain("SVD", "X = U·diag(s)·Vᵀ", factors)
    };
    Ok(of_summary(summary, made))
}

/// How the factors of rows are found that were not kept.
const SUMMARISED: &str = "one pass through a summary";

fn of_summary(summary: &Summary, made: Decomposed) -> Decomposed {
    Decomposed {
        shape: (summary.rows() as usize, summary.columns()),
        findings: sorted(made.findings.clone()),
        ..made
    }
}

fn factor(name: &'static str, meaning: &'static str, matrix: &Matrix) -> Factor {
    let values = Array::new(matrix.as_slice().to_vec(), &[matrix.rows(), matrix.cols()]);
    Factor { name, meaning, values: values.expect("a matrix fits its own shape") }
}

fn vector(name: &'static str, meaning: &'static str, values: Vec<f64>) -> Factor {
    Factor { name, meaning, values: Array::vector(values) }
}

fn plain(kind: &'static str, formula: &'static str, factors: Vec<Factor>) -> Decomposed {
    Decomposed {
        kind,
        formula,
        shape: (0, 0),
        method: None,
        factors,
        strength_name: "",
        strengths: Vec::new(),
        findings: Vec::new(),
    }
}

fn qr(x: View<'_, f64>) -> Result<Decomposed, LinearError> {
    let found = linear::qr(x)?;
    let factors =
        vec![factor("q", "orthonormal columns", &found.q), factor("r", "upper triangular", &found.r)];
    Ok(plain("QR", "X = Q·R", factors))
}

fn pivoted_qr(x: View<'_, f64>, names: &[String]) -> Result<Decomposed, LinearError> {
    let found = linear::pivoted_qr(x)?;
    let order = found.order.iter().map(|&j| j as f64).collect();
    let factors = vec![
        factor("q", "orthonormal columns", &found.q),
        factor("r", "upper triangular", &found.r),
        vector("order", "column j of Q·R is column order[j] of X", order),
    ];
    let mut made = plain("pivoted QR", "X[:, order] = Q·R", factors);
    let in_names = |columns: &[usize]| {
        let names: Vec<String> = columns.iter().map(|&j| format!("`{}`", names[j])).collect();
        names.join(", ")
    };
    let rank = format!("rank {} of {}", found.rank, found.order.len());
    made.findings.push(if found.dependent().is_empty() {
        Finding::new(Severity::Note, format!("{rank}: all columns are independent"))
    } else {
        let sentence = format!("{rank}: {} depend on the others", in_names(found.dependent()));
        Finding::new(Severity::Caution, sentence)
            .certified(format!("what is left of them is at most {} of their length", short(found.tolerance)))
    });
    made.findings.push(Finding::new(
        Severity::Note,
        format!("independent, most first: {}", in_names(found.independent())),
    ));
    Ok(made)
}

/// The share that the square of a value has of `squares`; of nothing it is 0.
fn share_of(squares: f64) -> impl Fn(f64) -> f64 {
    move |value| if squares > 0.0 { value * value / squares } else { 0.0 }
}

/// Values with their squares' shares of `total`.
pub(super) fn strengths(values: &[f64], shares: impl Fn(f64) -> f64) -> Vec<Strength> {
    let mut sum = 0.0;
    let strength = |&value: &f64| {
        let share = shares(value);
        sum += share;
        let known = share.is_finite();
        Strength { value, share: known.then_some(share), cumulative: known.then_some(sum) }
    };
    values.iter().map(strength).collect()
}

fn svd(x: View<'_, f64>, rank: Option<usize>, randomized: Option<u64>) -> Result<Decomposed, LinearError> {
    let found = match (rank, randomized) {
        (Some(rank), Some(seed)) => {
            linear::svd_randomized(x, rank, linear::Sketch { seed, ..linear::Sketch::default() })?
        }
        (Some(rank), None) => linear::svd_truncated(x, rank)?,
        (None, _) => linear::svd(x)?,
    };
    let total = spanwise_linear::measure::matrix_norms(x)?.frobenius.powi(2);
    let factors = vec![
        factor("u", "left directions, one per column", &found.u),
        vector("s", "singular values", found.singular_values.clone()),
        factor("v", "right directions, one per column", &found.v),
    ];
    Ok(Decomposed {
        method: randomized.map(|seed| format!("random projection, seed {seed}")),
        strength_name: "singular value",
        strengths: strengths(&found.singular_values, share_of(total)),
        ..plain("SVD", "X = U·diag(s)·Vᵀ", factors)
    })
}

fn eigen(x: View<'_, f64>) -> Result<Decomposed, LinearError> {
    let found = linear::symmetric_eigen(x)?;
    let factors = vec![
        vector("values", "eigenvalues, largest first", found.values.clone()),
        factor("vectors", "eigenvectors, one per column", &found.vectors),
    ];
    let mut made = Decomposed {
        strength_name: "eigenvalue",
        strengths: strengths(&found.values, |_| f64::NAN),
        ..plain("eigen", "A = V·diag(λ)·Vᵀ", factors)
    };
    let negative = found.values.iter().filter(|&&value| value < 0.0).count();
    let sentence = match negative {
        0 => "no eigenvalue is negative".to_owned(),
        _ => format!("{negative} of {} eigenvalues are negative", found.values.len()),
    };
    made.findings.push(Finding::new(Severity::Note, sentence));
    Ok(made)
}

fn pca(x: View<'_, f64>, components: Option<usize>, method: PcaWay) -> Result<Decomposed, LinearError> {
    let options = linear::PcaOptions { components, method, ..linear::PcaOptions::default() };
    Ok(pca_told(&linear::pca(x, options)?))
}

fn pca_told(found: &linear::Pca) -> Decomposed {
    let factors = vec![
        factor("components", "directions of largest variance, one per row", &found.components),
        vector("mean", "the mean row", found.mean.clone()),
        vector("explained_variance", "the variance along each", found.explained_variance.clone()),
        vector("singular_values", "of the centred rows", found.singular_values.clone()),
    ];
    let kept: f64 = found.explained_variance_ratio.iter().sum();
    let total = found.total_variance;
    let sentence = if total > 0.0 {
        format!(
            "{} of {} directions hold {} of the variance",
            found.components.rows(),
            found.mean.len(),
            percent(kept)
        )
    } else {
        "all rows are alike: there is no variance, and any directions do".to_owned()
    };
    Decomposed {
        method: Some(format!("{:?}", found.method).to_lowercase()),
        strength_name: "variance",
        strengths: strengths(&found.explained_variance, |v| if total > 0.0 { v / total } else { 0.0 }),
        findings: vec![Finding::new(Severity::Note, sentence)],
        ..plain("PCA", "X ≈ mean + scores·components", factors)
    }
}

fn low_rank(x: View<'_, f64>, rank: usize) -> Result<Decomposed, LinearError> {
    let found = linear::low_rank(x, rank)?;
    let factors =
        vec![factor("left", "n × k", &found.left), factor("right", "k × p, orthonormal rows", &found.right)];
    let sentence = format!(
        "no matrix of rank {rank} comes closer: what is left is {} of X",
        percent(found.relative_error)
    );
    let certificate = format!(
        "Frobenius norm of the rest {}, largest singular value left out {}",
        short(found.frobenius_error),
        short(found.spectral_error)
    );
    let finding = Finding::new(Severity::Note, sentence).certified(certificate);
    Ok(Decomposed { findings: vec![finding], ..plain("low rank", "X ≈ left·right", factors) })
}
