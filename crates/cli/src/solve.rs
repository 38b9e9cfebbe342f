//! `spanwise solve`.

use crate::Outcome;
use crate::args::{Solve, SolveMethod};
use crate::artifact::{Holds, Written, check, write_array};
use crate::failure::Usage;
use crate::out::{Screen, check_not_read, to_stdout};
use crate::source::Sources;
use anyhow::Context;
use spanwise::linear::CsrMatrix;
use spanwise::linear::solve::Operator;
use spanwise::linear::told::{SolveWay, System, counted, solve};
use spanwise::report::{solved_text, to_json};
use spanwise::{Matrix, View};

pub(crate) fn run(args: &Solve, screen: Screen) -> anyhow::Result<Outcome> {
    if let Some(path) = &args.out {
        check("--out", path, Holds::Array)?;
    }
    let inputs = [Some(args.a.as_str()), Some(args.b.as_str())];
    check_not_read(&[("--out", args.out.as_deref())], inputs)?;
    let mut sources = Sources::default();
    let a = A::read(args, &mut sources)?;
    let b = sources.tensor("--b", &args.b)?.to_f64();
    let numbers = b.to_f64_vec();
    // One row of as many numbers as A has rows is a vector, as it is written in an argument.
    let n = a.rows().unwrap_or(numbers.len());
    let dims: Vec<usize> = match *b.dims() {
        [1, m] if m == n => vec![m],
        [m, 1] => vec![m],
        ref dims => dims.to_vec(),
    };
    let b = View::new(&numbers, &dims)?;
    if dims.len() > 2 || dims.is_empty() {
        let message = format!("`--b` has shape {}; expected a vector or a matrix", b.shape());
        return Err(Usage::new(message).into());
    }
    if a.rows().is_some_and(|rows| rows != dims[0]) {
        let rows = counted(n, "row", "rows");
        let message = format!("`--b` has shape {}; `--a` has {rows}, and b needs as many numbers", b.shape());
        return Err(Usage::new(message).into());
    }
    Sources::finite("--b", &numbers, dims.get(1).copied().unwrap_or(1))?;
    let (how, bits) = (way(args.method), sources.bits());
    let solved = match a {
        A::Dense(a) => solve(System::Dense(a.view()), b, how, bits)?,
        A::Sparse(a) => solve(System::Sparse(&a), b, how, bits)?,
        A::Entries(list) => solve(System::Sparse(&entries(&list, dims[0])?), b, how, bits)?,
    };
    let mut files = Written::new();
    if let Some(path) = &args.out {
        write_array("--out", path, &solved.x)?;
        files.push(("x".to_owned(), path.display().to_string()));
    }
    if args.json {
        to_stdout(&to_json(&solved)?)?;
    } else if !screen.quiet {
        to_stdout(&solved_text(&solved, &files, screen.ink))?;
    }
    Ok(Outcome::Done)
}

/// The matrix as it was given.
enum A {
    Dense(Matrix),
    Sparse(CsrMatrix),
    /// Rows of row, column, value; how many rows the matrix has is up to b.
    Entries(Matrix),
}

impl A {
    fn read(args: &Solve, sources: &mut Sources) -> anyhow::Result<Self> {
        if let Some(sparse) = spanwise_io::read_sparse(&args.a).context("`--a`")? {
            let (rows, columns) = (sparse.rows, sparse.columns);
            let matrix = CsrMatrix::new(rows, columns, sparse.starts, sparse.places, sparse.values);
            sources.stored(Some(sparse.bits));
            return Ok(A::Sparse(matrix.context("`--a`")?));
        }
        let matrix = sources.matrix("--a", &args.a, true)?;
        Sources::finite("--a", matrix.as_slice(), matrix.cols())?;
        Ok(if args.sparse { A::Entries(matrix) } else { A::Dense(matrix) })
    }

    fn rows(&self) -> Option<usize> {
        match self {
            A::Dense(a) => Some(a.rows()),
            A::Sparse(a) => Some(a.rows()),
            A::Entries(_) => None,
        }
    }
}

fn way(method: SolveMethod) -> SolveWay {
    match method {
        SolveMethod::Auto => SolveWay::Auto,
        SolveMethod::Cholesky => SolveWay::Cholesky,
        SolveMethod::Qr => SolveWay::Qr,
        SolveMethod::Svd => SolveWay::Svd,
        SolveMethod::Lu => SolveWay::Lu,
        SolveMethod::Cg => SolveWay::ConjugateGradients,
        SolveMethod::Lsmr => SolveWay::Lsmr,
    }
}

/// Rows of (row, column, value) as a sparse matrix of `rows` rows.
fn entries(list: &Matrix, rows: usize) -> anyhow::Result<CsrMatrix> {
    if list.cols() != 3 {
        let message = format!(
            "`--a` has {}; a sparse matrix is a list of row, column, value",
            counted(list.cols(), "column", "columns")
        );
        return Err(Usage::new(message).into());
    }
    let mut all = Vec::with_capacity(list.rows());
    for i in 0..list.rows() {
        // Entries count from 1, as rows of a file do; what they hold counts from 0.
        let entry = i + 1;
        let place = |at: usize, word: &str| {
            let value = list[(i, at)];
            // 2⁵³: beyond it f64 no longer holds every whole number.
            if value.fract() == 0.0 && (0.0..9e15).contains(&value) {
                return Ok(value as usize);
            }
            Err(Usage::new(format!(
                "`--a`: entry {entry} has {word} {value}; expected a whole number from 0"
            )))
        };
        let (row, column) = (place(0, "row")?, place(1, "column")?);
        if row >= rows {
            let rows = counted(rows, "row", "rows");
            let message = format!("`--a`: entry {entry} is in row {row}; `--b` has {rows}, counted from 0");
            return Err(Usage::new(message).into());
        }
        all.push((row, column, list[(i, 2)]));
    }
    all.sort_by_key(|&(row, column, _)| (row, column));
    let columns = all.iter().map(|&(_, column, _)| column + 1).max().unwrap_or(0);
    let mut starts = vec![0; rows + 1];
    for &(row, ..) in &all {
        starts[row + 1] += 1;
    }
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    let (places, values) = all.into_iter().map(|(_, column, value)| (column, value)).unzip();
    Ok(CsrMatrix::new(rows, columns, starts, places, values)?)
}
