//! The columns projected onto, and those projected.

use crate::args::names::{self, Names};
use crate::args::{MissingWord, Pick, Project};
use crate::failure::Usage;
use crate::table::{Asked, Source};
use spanwise::Matrix;
use spanwise::linear::told::{Finding, Onto, counted, missing};
use spanwise_io::quoted;

pub(super) struct Table {
    pub(super) x: Matrix,
    names: Vec<String>,
    pub(super) vectors: Matrix,
    pub(super) vector_names: Vec<String>,
    /// Rows of the file, those left out included.
    pub(super) read: usize,
    /// Which rows of the file these are, from 0.
    pub(super) index: Vec<u64>,
    /// Whether rows may be missing among them.
    pub(super) numbered: bool,
    /// Values that took the mean.
    filled: u64,
    stored_bits: u32,
}

impl Table {
    pub(super) fn read(args: &Project, quiet: bool) -> anyhow::Result<Self> {
        let asked_vectors = names::all(&args.vector_column);
        let pick = picked(args, &asked_vectors)?;
        let mut source =
            Source::open(&Asked { complete: &asked_vectors, ..Asked::plain(&args.file, &pick, quiet) })?;
        let names = source.design().names().to_vec();
        let encodings = source.design().encodings();
        for name in &asked_vectors {
            match encodings.iter().find(|encoding| encoding.name == *name) {
                Some(encoding) if encoding.levels.is_none() => {}
                Some(_) => {
                    let message = format!("`--vector-column`: {} holds text; expected numbers", quoted(name));
                    return Err(Usage::new(message).into());
                }
                None => {
                    let message =
                        format!("`--vector-column`: {}: there is no column {}", args.file, quoted(name));
                    return Err(
                        Usage::with_hint(message, format!("the columns are {}", names.join(", "))).into()
                    );
                }
            }
        }
        let stored_bits = source.bits();
        let mut rows = source.all()?;
        let all = rows.matrix(&args.file)?;
        let is_vector = |name: &String| asked_vectors.contains(name);
        let onto: Vec<usize> = (0..names.len()).filter(|&j| !is_vector(&names[j])).collect();
        let vectors: Vec<usize> = (0..names.len()).filter(|&j| is_vector(&names[j])).collect();
        let constant = usize::from(args.intercept);
        if onto.is_empty() && !args.intercept {
            let message = format!("{}: there are no columns beside `--vector-column`", args.file);
            return Err(Usage::with_hint(message, "`--intercept` projects onto a constant").into());
        }
        let x = Matrix::from_fn(all.rows(), onto.len() + constant, |i, j| match j.checked_sub(constant) {
            Some(j) => all[(i, onto[j])],
            None => 1.0,
        });
        let ones = args.intercept.then(|| "intercept".to_owned());
        Ok(Table {
            x,
            names: ones.into_iter().chain(onto.iter().map(|&j| names[j].clone())).collect(),
            vectors: Matrix::from_fn(all.rows(), vectors.len(), |i, j| all[(i, vectors[j])]),
            vector_names: vectors.iter().map(|&j| names[j].clone()).collect(),
            read: rows.read as usize,
            filled: rows.filled,
            index: rows.index,
            numbered: args.pick.missing == MissingWord::Drop,
            stored_bits,
        })
    }

    /// Of vectors with a number for each row of the file: those of the rows that are left.
    pub(super) fn left(&self, v: &Matrix) -> Result<Matrix, Usage> {
        if v.rows() != self.read {
            let message = format!(
                "`--vector` is {} × {}; the table has {}, and a vector needs as many numbers",
                v.rows(),
                v.cols(),
                counted(self.read, "row", "rows")
            );
            return Err(Usage::beside_dropped(message, self.read - self.index.len()));
        }
        Ok(Matrix::from_fn(self.index.len(), v.cols(), |i, j| v[(self.index[i] as usize, j)]))
    }

    /// What became of missing values.
    pub(super) fn missing(&self) -> Vec<Finding> {
        missing(self.read as u64, (self.read - self.index.len()) as u64, self.filled)
    }

    pub(super) fn onto(&self) -> Onto<'_> {
        Onto { x: self.x.view(), names: &self.names, stored_bits: self.stored_bits }
    }
}

/// The columns that are read: those projected onto, and the vectors.
fn picked(args: &Project, vectors: &[String]) -> Result<Pick, Usage> {
    let (option, onto) = match names::all(&args.onto) {
        onto if onto.is_empty() => ("--columns", args.pick.columns()),
        onto => ("--onto", onto),
    };
    if let Some(name) = vectors.iter().find(|name| onto.contains(name)) {
        let message =
            format!("{} is in `{option}` and in `--vector-column`; it lies in its own span", quoted(name));
        return Err(Usage::new(message));
    }
    let columns =
        if onto.is_empty() { Vec::new() } else { vec![Names(onto.iter().chain(vectors).cloned().collect())] };
    // What is projected is read, also where it is not to be projected onto.
    let exclude = args.pick.exclude().into_iter().filter(|name| !vectors.contains(name)).collect();
    Ok(Pick { columns, exclude: vec![Names(exclude)], ..args.pick.clone() })
}
