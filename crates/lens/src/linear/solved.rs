//! Systems solved, with how well.

use super::{Finding, Severity, counted, percent, short};
use crate::Array;
use crate::array::{number, numbers};
use serde::Serialize;
use spanwise_kernels::{Matrix, View};
use spanwise_linear::solve::{self as linear, Factor, Method, Solution, Way};
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
    /// The rank that was used; `None` of an iteration, which determines none.
    pub rank: Option<usize>,
    /// An estimate of the condition number.
    #[serde(serialize_with = "number")]
    pub condition: f64,
    /// Which condition number the method gives.
    pub condition_of: &'static str,
    /// Binary digits that the numbers of A and b had where they were stored.
    pub stored_bits: u32,
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

/// Solves `A x = b` for each column of `b` (n × t, or n). No more digits of x are claimed than numbers of `stored_bits` binary
/// digits leave, where A and b were stored with fewer than f64 has.
pub fn solve(
    a: System<'_>,
    b: View<'_, f64>,
    how: SolveWay,
    stored_bits: u32,
) -> Result<Solved, LinearError> {
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
    Ok(finished(shape, &solutions, single, stored_bits.min(f64::MANTISSA_DIGITS)))
}

/// A solver with its factor, to be used for every right-hand side.
fn each(
    columns: &[Vec<f64>],
    solve: impl Fn(View<'_, f64>) -> Result<Solution, LinearError>,
) -> Result<Vec<Solution>, LinearError> {
    columns.iter().map(|b| solve(View::new(b, &[b.len()]).expect("a vector"))).collect()
}

fn dense(a: View<'_, f64>, b: &[Vec<f64>], how: SolveWay) -> Result<Vec<Solution>, LinearError> {
    let way = match how {
        SolveWay::Auto => Way::Auto { tolerance: None },
        SolveWay::Cholesky => Way::Cholesky { max_jitter: 0.0 },
        SolveWay::Qr => Way::Qr,
        SolveWay::Svd => Way::Svd { tolerance: None },
        SolveWay::Lu => Way::Lu,
        SolveWay::ConjugateGradients | SolveWay::Lsmr => return by_products(&a, b, how),
    };
    let factor = Factor::new(a, way)?;
    each(b, |b| factor.solve(b))
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

fn finished(shape: (usize, usize), solutions: &[Solution], single: bool, stored_bits: u32) -> Solved {
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
        rank: first.filter(|solution| !iterated(solution)).map(|solution| solution.rank),
        condition: first.map_or(f64::NAN, |solution| solution.condition),
        condition_of: first.map_or("", |solution| condition_of(solution, shape)),
        stored_bits,
        jitter: first.map_or(0.0, |solution| solution.jitter),
        answers: solutions.iter().map(answer).collect(),
        x: Array::new(matrix.as_slice().to_vec(), dims).expect("as many answers as right-hand sides"),
        findings: Vec::new(),
    };
    solved.findings = findings(&solved, solutions);
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
fn condition_of(solution: &Solution, (n, p): (usize, usize)) -> &'static str {
    match solution.method {
        Method::Lu | Method::Cholesky => "of A with its rows and columns scaled, 1-norm",
        Method::Qr => "of R, the triangle of A with its columns scaled, 1-norm",
        Method::ConjugateGradients => "of A with its diagonal scaled, as far as the iteration saw it, 2-norm",
        Method::Lsmr => "of A as given, as far as the iteration saw it, 2-norm",
        // Where nothing is kept the figure is infinite, as that of the matrix of zeros is.
        _ if solution.rank > 0 && solution.rank < n.min(p) => "of the part of A that was kept, 2-norm",
        _ => "of A as given, 2-norm",
    }
}

/// A residual, over ‖b‖, that is worth saying.
const WORTH: f64 = 1e-8;
/// A residual, over ‖A‖‖x‖ + ‖b‖, that neither rounding nor an iteration's tolerance leaves where A x = b is reached.
const UNSOLVED: f64 = 1e-10;
/// A share of x that rounding may have changed, beyond which its digits are counted aloud.
const FEW_DIGITS: f64 = 1e-6;

fn iterated(solution: &Solution) -> bool {
    matches!(solution.method, Method::ConjugateGradients | Method::Lsmr)
}

fn findings(solved: &Solved, solutions: &[Solution]) -> Vec<Finding> {
    let mut all = Vec::new();
    let (n, p) = solved.shape;
    // Iterations do not determine the rank, so a square A may be singular there.
    let unsolved = |solution: &&Solution| {
        solution.relative_residual > WORTH
            && solution.system_error > UNSOLVED
            && (n > p || solution.rank < p || iterated(solution))
    };
    let (far, near): (Vec<&Solution>, Vec<&Solution>) = solutions.iter().partition(unsolved);
    if let Some(rank) = solved.rank
        && rank < p
    {
        let none = match far.len() {
            0 => String::new(),
            _ => format!("none solves the system{}, ", sides(far.len(), solutions.len())),
        };
        let sentence = format!(
            "A has rank {rank} of {p}: {none}many x do equally well, and this is the shortest of them",
        );
        all.push(Finding::new(Severity::Serious, sentence));
    } else if n > p {
        all.push(Finding::new(Severity::Note, "more equations than unknowns: x is the least-squares answer"));
    } else if n < p {
        all.push(Finding::new(
            Severity::Serious,
            "fewer equations than unknowns: many x do equally well, and this is the shortest of them",
        ));
    }
    all.extend(few_digits(solved));
    if !far.is_empty() {
        all.push(not_solved(&far, solutions.len(), far.iter().any(|solution| iterated(solution))));
    }
    if !near.is_empty() || far.is_empty() {
        all.push(nearly_solved(&near, solutions.len()));
    }
    crate::finding::sorted(all)
}

/// What the rounding of the numbers as they were stored leaves of x, where that is little.
fn few_digits(solved: &Solved) -> Option<Finding> {
    // The space between numbers near 1: f64::EPSILON of 53 binary digits.
    let spacing = f64::powi(0.5, solved.stored_bits as i32 - 1);
    let error = solved.condition * spacing;
    if error.is_nan() || error <= FEW_DIGITS {
        return None;
    }
    let stored = if solved.stored_bits < f64::MANTISSA_DIGITS {
        format!(", and A or b comes with {} binary digits", solved.stored_bits)
    } else {
        String::new()
    };
    let sentence = format!(
        "the condition number ({}) is {}{stored}: about {} of x can be trusted",
        solved.condition_of,
        short(solved.condition),
        counted((-error.log10()).max(0.0) as usize, "digit", "digits")
    );
    Some(Finding::new(Severity::Caution, sentence))
}

/// Which right-hand sides a sentence is about, where there are several.
fn sides(some: usize, all: usize) -> String {
    match (some, all) {
        (_, 1) => String::new(),
        _ if some == all => format!(" for any of {all} b"),
        _ => format!(" for {some} of {all} b"),
    }
}

fn worst_backward_error(solutions: &[&Solution]) -> f64 {
    solutions.iter().map(|solution| solution.backward_error).fold(0.0, f64::max)
}

/// Right-hand sides that A x does not reach. An iteration that stops proves less than a factorisation.
fn not_solved(far: &[&Solution], all: usize, iterated: bool) -> Finding {
    let left = far.iter().map(|solution| solution.relative_residual).fold(0.0, f64::max);
    let (which, up_to) = (sides(far.len(), all), if far.len() > 1 { "up to " } else { "" });
    let sentence = if iterated {
        format!("no x was found that solves the system{which}: A x leaves {up_to}{} of b", percent(left))
    } else {
        format!("no x solves the system{which}: the nearest A x leaves {up_to}{} of b", percent(left))
    };
    let certificate =
        format!("backward error {}, of the least-squares problem", short(worst_backward_error(far)));
    Finding::new(Severity::Caution, sentence).certified(certificate)
}

/// Right-hand sides that A x reaches.
fn nearly_solved(near: &[&Solution], all: usize) -> Finding {
    let worst = worst_backward_error(near);
    let which = if near.len() == all { String::new() } else { sides(near.len(), all) };
    let (severity, by) = if worst <= ROUNDINGS * f64::EPSILON {
        (Severity::Note, "rounding alone")
    } else {
        (Severity::Caution, "more than rounding")
    };
    let sentence = format!("x solves a system that differs from the given one by {by}{which}");
    Finding::new(severity, sentence).certified(format!("backward error {}", short(worst)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(a: &Matrix, b: &Matrix, how: SolveWay) -> Solved {
        solve(System::Dense(a.view()), b.view(), how, f64::MANTISSA_DIGITS).unwrap()
    }

    fn said(solved: &Solved) -> String {
        solved.findings.iter().map(|finding| finding.sentence.clone() + "\n").collect()
    }

    fn matrix<const N: usize>(rows: &[[f64; N]]) -> Matrix {
        Matrix::new(rows.concat(), rows.len(), N).unwrap()
    }

    #[test]
    fn the_condition_number_is_named_by_what_the_method_gives() {
        let (a, b) = (matrix(&[[4.0, 1.0], [1.0, 3.0]]), matrix(&[[1.0], [2.0]]));
        for (how, of) in [
            (SolveWay::Lu, "of A with its rows and columns scaled, 1-norm"),
            (SolveWay::Cholesky, "of A with its rows and columns scaled, 1-norm"),
            (SolveWay::Qr, "of R, the triangle of A with its columns scaled, 1-norm"),
            (SolveWay::Svd, "of A as given, 2-norm"),
            (
                SolveWay::ConjugateGradients,
                "of A with its diagonal scaled, as far as the iteration saw it, 2-norm",
            ),
            (SolveWay::Lsmr, "of A as given, as far as the iteration saw it, 2-norm"),
        ] {
            assert_eq!(solved(&a, &b, how).condition_of, of, "{how:?}");
        }
        let singular = solved(&matrix(&[[1.0, 2.0], [2.0, 4.0]]), &b, SolveWay::Auto);
        assert_eq!(
            (singular.condition, singular.condition_of),
            (1.0, "of the part of A that was kept, 2-norm")
        );
    }

    #[test]
    fn no_more_digits_are_claimed_than_the_numbers_were_stored_with() {
        let (a, b) = (matrix(&[[2.0, 1.0], [1.0, 1.05]]), matrix(&[[1.0], [2.0]]));
        for (bits, digits) in
            [(53, None), (24, Some("5 digits")), (11, Some("2 digits")), (8, Some("1 digit "))]
        {
            let found = solve(System::Dense(a.view()), b.view(), SolveWay::Auto, bits).unwrap();
            let text = said(&found);
            assert_eq!(text.contains("can be trusted"), digits.is_some(), "{bits}: {text}");
            let claimed = digits.map(|digits| format!("{bits} binary digits: about {digits}"));
            assert!(claimed.is_none_or(|claimed| text.contains(&claimed)), "{bits}: {text}");
        }
    }

    #[test]
    fn a_tall_system_with_a_large_answer_is_not_said_to_have_none() {
        // b, the values of −(t − 1)⁵ as sums of powers, is far shorter than ‖A‖‖x‖: an iteration leaves a larger share of it.
        let a = Matrix::from_fn(40, 6, |i, j| (1.0 + i as f64 / 40.0).powi(j as i32));
        let x = [1.0, -5.0, 10.0, -10.0, 5.0, -1.0];
        let b = Matrix::from_fn(40, 1, |i, _| a.row(i).iter().zip(x).map(|(a, x)| a * x).sum());
        for how in [SolveWay::Lsmr, SolveWay::Qr, SolveWay::Svd] {
            let text = said(&solved(&a, &b, how));
            assert!(!text.contains("no x"), "{how:?}: {text}");
        }
    }

    #[test]
    fn an_iteration_that_stops_far_off_says_what_was_found_also_where_a_is_square() {
        let (a, b) = (matrix(&[[1.0, 2.0], [2.0, 4.0]]), matrix(&[[1.0], [3.0]]));
        let text = said(&solved(&a, &b, SolveWay::Lsmr));
        assert!(text.contains("no x was found that solves the system: A x leaves"), "{text}");
        assert!(!text.contains("differs from the given one"), "{text}");
    }

    #[test]
    fn right_hand_sides_without_an_answer_are_counted() {
        let a = matrix(&[[1.0], [1.0]]);
        let text = said(&solved(&a, &matrix(&[[1.0, 1.0, 2.0], [1.0, 2.0, 2.0]]), SolveWay::Auto));
        assert!(
            text.contains("no x solves the system for 1 of 3 b: the nearest A x leaves 31.6 % of b"),
            "{text}"
        );
        assert!(text.contains("by rounding alone for 2 of 3 b"), "{text}");
        let text = said(&solved(&a, &matrix(&[[1.0, 1.0], [3.0, 2.0]]), SolveWay::Auto));
        assert!(
            text.contains("no x solves the system for any of 2 b: the nearest A x leaves up to"),
            "{text}"
        );
        assert!(!text.contains("rounding alone"), "{text}");
    }
}
