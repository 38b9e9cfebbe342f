//! Systems solved, with how well.

use super::{Finding, Severity, counted, percent, short};
use crate::Array;
use crate::array::{number, numbers};
use serde::Serialize;
use spanwise_kernels::{Matrix, View};
use spanwise_linear::solve::{
    self as linear, CholeskyFactor, LuFactor, Method, QrFactor, Solution, SvdFactor,
};
use spanwise_linear::{CsrMatrix, LinearError};

/// A backward error up to this many roundings is as good as f64 gives.
const ROUNDINGS: f64 = 64.0;

/// How to solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolveWay {
    /// By shape: Cholesky or LU for square matrices, QR for tall ones, SVD where those find the matrix singular or wide.
    Auto,
    /// For symmetric positive definite matrices.
    Cholesky,
    /// Least squares of full rank.
    Qr,
    /// Least squares of minimum norm.
    Svd,
    /// For square matrices.
    Lu,
    /// For symmetric positive definite matrices, by products alone.
    ConjugateGradients,
    /// Least squares of minimum norm, by products alone.
    Lsmr,
}

/// The matrix of a system.
#[derive(Clone, Copy, Debug)]
pub enum System<'a> {
    /// n × p.
    Dense(View<'a, f64>),
    /// n × p, for the ways that go by products alone.
    Sparse(&'a CsrMatrix),
}

/// Answers for one or more right-hand sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Solved {
    /// Rows and columns of A.
    pub shape: (usize, usize),
    /// How it was solved.
    pub method: &'static str,
    /// The rank that was used.
    pub rank: usize,
    /// An estimate of the condition number.
    #[serde(serialize_with = "number")]
    pub condition: f64,
    /// Which condition number the method gives.
    pub condition_of: &'static str,
    /// What was added to the diagonal, as a share of it.
    #[serde(serialize_with = "number")]
    pub jitter: f64,
    /// One per right-hand side.
    pub answers: Vec<SolvedColumn>,
    /// The answers as a matrix (p × t), or a vector (p) for a single right-hand side.
    #[serde(skip)]
    pub x: Array,
    /// What follows.
    pub findings: Vec<Finding>,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SolvedColumn {
    /// x (p).
    #[serde(serialize_with = "numbers")]
    pub x: Vec<f64>,
    /// ‖b − A x‖.
    #[serde(serialize_with = "number")]
    pub residual: f64,
    /// The same over ‖b‖.
    #[serde(serialize_with = "number")]
    pub relative_residual: f64,
    /// The smallest relative change of A and b for which x is exact.
    #[serde(serialize_with = "number")]
    pub backward_error: f64,
    /// Steps of refinement or of the iteration.
    pub iterations: usize,
}

/// Solves `A x = b` for each column of `b` (n × t, or n).
pub fn solve(a: System<'_>, b: View<'_, f64>, how: SolveWay) -> Result<Solved, LinearError> {
    let dims = b.shape().dims().to_vec();
    let single = dims.len() == 1;
    let (n, t) = (dims.first().copied().unwrap_or(1), dims.get(1).copied().unwrap_or(1));
    let data = b.to_vec();
    let columns: Vec<Vec<f64>> = (0..t).map(|j| (0..n).map(|i| data[i * t + j]).collect()).collect();
    let solutions = match a {
        System::Dense(a) => dense(a, &columns, how)?,
        System::Sparse(a) => sparse(a, &columns, how)?,
    };
    let shape = match a {
        System::Dense(a) => (a.shape().dims()[0], a.shape().dims()[1]),
        System::Sparse(a) => (linear::Operator::rows(a), linear::Operator::cols(a)),
    };
    Ok(finished(shape, &solutions, single))
}

/// A solver with its factor, to be used for every right-hand side.
fn each(
    columns: &[Vec<f64>],
    solve: impl Fn(View<'_, f64>) -> Result<Solution, LinearError>,
) -> Result<Vec<Solution>, LinearError> {
    columns.iter().map(|b| solve(View::new(b, &[b.len()]).expect("a vector"))).collect()
}

fn dense(a: View<'_, f64>, b: &[Vec<f64>], how: SolveWay) -> Result<Vec<Solution>, LinearError> {
    let by_svd = || SvdFactor::new(a, None).and_then(|factor| each(b, |b| factor.solve(b)));
    match how {
        SolveWay::Auto => {
            let found = match *a.shape().dims() {
                [n, p] if n == p => match CholeskyFactor::new(a, 0.0) {
                    Ok(factor) => each(b, |b| factor.solve(b)),
                    Err(LinearError::NotSymmetric { .. } | LinearError::NotPositiveDefinite { .. }) => {
                        LuFactor::new(a).and_then(|factor| each(b, |b| factor.solve(b)))
                    }
                    Err(error) => Err(error),
                },
                [n, p] if n < p => by_svd(),
                _ => QrFactor::new(a).and_then(|factor| each(b, |b| factor.solve(b))),
            };
            match found {
                Err(LinearError::Singular { .. }) => by_svd(),
                found => found,
            }
        }
        SolveWay::Cholesky => {
            let factor = CholeskyFactor::new(a, 0.0)?;
            each(b, |b| factor.solve(b))
        }
        SolveWay::Qr => {
            let factor = QrFactor::new(a)?;
            each(b, |b| factor.solve(b))
        }
        SolveWay::Svd => by_svd(),
        SolveWay::Lu => {
            let factor = LuFactor::new(a)?;
            each(b, |b| factor.solve(b))
        }
        SolveWay::ConjugateGradients | SolveWay::Lsmr => by_products(&a, b, how),
    }
}

fn sparse(a: &CsrMatrix, b: &[Vec<f64>], how: SolveWay) -> Result<Vec<Solution>, LinearError> {
    match how {
        SolveWay::Auto | SolveWay::Lsmr | SolveWay::ConjugateGradients => by_products(a, b, how),
        _ => {
            let full = a.to_dense();
            dense(full.view(), b, how)
        }
    }
}

fn by_products(
    a: &impl linear::Operator,
    b: &[Vec<f64>],
    how: SolveWay,
) -> Result<Vec<Solution>, LinearError> {
    each(b, |b| match how {
        SolveWay::ConjugateGradients => linear::conjugate_gradients(a, b, linear::CgOptions::default()),
        _ => linear::lsmr(a, b, linear::LsmrOptions::default()),
    })
}

fn finished(shape: (usize, usize), solutions: &[Solution], single: bool) -> Solved {
    let first = solutions.first();
    let matrix = Matrix::from_fn(shape.1, solutions.len(), |i, j| solutions[j].x[i]);
    let dims: &[usize] = if single { &[shape.1] } else { &[shape.1, solutions.len()] };
    let answer = |solution: &Solution| SolvedColumn {
        x: solution.x.clone(),
        residual: solution.residual_norm,
        relative_residual: solution.relative_residual,
        backward_error: solution.backward_error,
        iterations: solution.iterations,
    };
    let mut solved = Solved {
        shape,
        method: first.map_or("", |solution| name(solution.method)),
        rank: first.map_or(0, |solution| solution.rank),
        condition: first.map_or(f64::NAN, |solution| solution.condition),
        condition_of: first.map_or("", |solution| condition_of(solution.method)),
        jitter: first.map_or(0.0, |solution| solution.jitter),
        answers: solutions.iter().map(answer).collect(),
        x: Array::new(matrix.as_slice().to_vec(), dims).expect("as many answers as right-hand sides"),
        findings: Vec::new(),
    };
    solved.findings = findings(&solved);
    solved
}

fn name(method: Method) -> &'static str {
    match method {
        Method::Lu => "LU with partial pivoting",
        Method::Cholesky => "Cholesky",
        Method::Qr => "QR",
        Method::Svd => "SVD",
        Method::ConjugateGradients => "conjugate gradients",
        Method::Lsmr => "LSMR",
        _ => "another method",
    }
}

/// Each method estimates the condition number that comes with its factor.
fn condition_of(method: Method) -> &'static str {
    match method {
        Method::Lu | Method::Cholesky | Method::Qr => "of A with its rows and columns scaled, 1-norm",
        Method::ConjugateGradients => "of A with its diagonal scaled, 2-norm",
        _ => "of A as given, 2-norm",
    }
}

/// A residual that no iteration or rounding leaves where an exact answer exists.
const UNSOLVED: f64 = 1e-8;

fn findings(solved: &Solved) -> Vec<Finding> {
    let mut all = Vec::new();
    let (n, p) = solved.shape;
    let unsolved = solved.answers.iter().any(|answer| answer.relative_residual > UNSOLVED);
    if solved.rank < p {
        let sentence = format!(
            "A has rank {} of {p}: {} x do equally well, and this is the shortest of them",
            solved.rank,
            if unsolved { "none solves the system, many" } else { "many" }
        );
        all.push(Finding::new(Severity::Serious, sentence));
    } else if n > p {
        all.push(Finding::new(Severity::Note, "more equations than unknowns: x is the least-squares answer"));
    }
    if solved.condition * f64::EPSILON > 1e-6 {
        let digits = (-(solved.condition * f64::EPSILON).log10()).max(0.0).floor();
        let sentence = format!(
            "the condition number ({}) is {}: about {} of x can be trusted",
            solved.condition_of,
            short(solved.condition),
            counted(digits as usize, "digit", "digits")
        );
        all.push(Finding::new(Severity::Caution, sentence));
    }
    let worst = solved.answers.iter().map(|answer| answer.backward_error).fold(0.0, f64::max);
    let (severity, verdict) = if unsolved && (n > p || solved.rank < p) {
        let far = solved.answers.iter().map(|answer| answer.relative_residual).fold(0.0, f64::max);
        let sentence = format!("no x solves the system: the nearest A x leaves {} of b", percent(far));
        let certificate = format!("backward error {}, of the least-squares problem", short(worst));
        all.push(Finding::new(Severity::Caution, sentence).certified(certificate));
        return crate::finding::sorted(all);
    } else if worst <= ROUNDINGS * f64::EPSILON {
        (Severity::Note, "x solves a system that differs from the given one by rounding alone")
    } else {
        (Severity::Caution, "x solves a system that differs from the given one by more than rounding")
    };
    all.push(Finding::new(severity, verdict).certified(format!("backward error {}", short(worst))));
    crate::finding::sorted(all)
}
