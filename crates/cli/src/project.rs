//! `spanwise project`.

use crate::Outcome;
use crate::args::names::{self, Names};
use crate::args::{MissingWord, Pick, Project};
use crate::artifact::{Holds, Written, check, numbers, write_arrays, write_columns};
use crate::failure::Usage;
use crate::out::{Screen, check_not_read, to_stdout};
use crate::source::Sources;
use crate::table::{Asked, NO_RULE, Source};
use spanwise::Matrix;
use spanwise::linear::told::{Projected, counted, project};
use spanwise::report::{projected_text, to_json};
use spanwise_io::{Format, quoted};
use std::path::Path;

pub(crate) fn run(args: &Project, screen: Screen) -> anyhow::Result<Outcome> {
    let format = args.out.as_deref().map(|path| check("--out", path, Holds::ColumnsOrArrays)).transpose()?;
    let inputs = [Some(args.file.as_str()), args.vector.as_deref()];
    check_not_read(&[("--out", args.out.as_deref())], inputs)?;
    let table = Table::read(args, screen.quiet)?;
    let (v, names) = match &args.vector {
        Some(text) => {
            let v = Sources::default().matrix("--vector", text, false)?;
            Sources::finite("--vector", v.as_slice(), v.cols())?;
            // One row of as many numbers as the table has rows is a vector, as it is written in an argument.
            let v = if v.rows() == 1 && v.cols() == table.x.rows() { v.transposed() } else { v };
            let names =
                (0..v.cols()).map(|j| if v.cols() == 1 { "vector".to_owned() } else { format!("v{j}") });
            let names = names.collect();
            (v, names)
        }
        None => (table.vectors, table.vector_names),
    };
    if v.rows() != table.x.rows() {
        let message = format!(
            "`--vector` is {} × {}; the table has {}, and a vector needs as many numbers",
            v.rows(),
            v.cols(),
            counted(table.x.rows(), "row", "rows")
        );
        return Err(Usage::new(message).into());
    }
    let projected = project(table.x.view(), &table.onto, v.view(), &names)?;
    let mut files = Written::new();
    if let (Some(path), Some(format)) = (&args.out, format) {
        write(path, format, &projected)?;
        files.push(("the parts".to_owned(), path.display().to_string()));
    }
    if args.json {
        to_stdout(&to_json(&projected)?)?;
    } else if !screen.quiet {
        to_stdout(&projected_text(&projected, &files, screen.ink))?;
    }
    Ok(Outcome::Done)
}

/// The columns projected onto, and those projected.
struct Table {
    x: Matrix,
    onto: Vec<String>,
    vectors: Matrix,
    vector_names: Vec<String>,
}

impl Table {
    fn read(args: &Project, quiet: bool) -> anyhow::Result<Self> {
        let (asked_onto, asked_vectors) = (names::all(&args.onto), names::all(&args.vector_column));
        if let Some(name) = asked_vectors.iter().find(|name| asked_onto.contains(name)) {
            let message =
                format!("{} is in `--onto` and in `--vector-column`; it lies in its own span", quoted(name));
            return Err(Usage::new(message).into());
        }
        let columns = if asked_onto.is_empty() {
            Vec::new()
        } else {
            vec![Names(asked_onto.iter().chain(&asked_vectors).cloned().collect())]
        };
        let pick = Pick {
            columns,
            exclude: Vec::new(),
            categories: Vec::new(),
            reference: Vec::new(),
            missing: MissingWord::Error,
            header: args.header,
            no_header: args.no_header,
            delimiter: args.delimiter,
        };
        let mut source = Source::open(&Asked {
            missing_hint: NO_RULE,
            text_hint: "`--onto` names the columns that are taken",
            ..Asked::plain(&args.file, &pick, quiet)
        })?;
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
        let all = source.all()?.matrix(&args.file)?;
        let is_vector = |name: &String| asked_vectors.contains(name);
        let onto: Vec<usize> = (0..names.len()).filter(|&j| !is_vector(&names[j])).collect();
        let vectors: Vec<usize> = (0..names.len()).filter(|&j| is_vector(&names[j])).collect();
        let constant = usize::from(args.intercept);
        let x = Matrix::from_fn(all.rows(), onto.len() + constant, |i, j| match j.checked_sub(constant) {
            Some(j) => all[(i, onto[j])],
            None => 1.0,
        });
        let ones = args.intercept.then(|| "intercept".to_owned());
        Ok(Table {
            x,
            onto: ones.into_iter().chain(onto.iter().map(|&j| names[j].clone())).collect(),
            vectors: Matrix::from_fn(all.rows(), vectors.len(), |i, j| all[(i, vectors[j])]),
            vector_names: vectors.iter().map(|&j| names[j].clone()).collect(),
        })
    }
}

fn write(path: &Path, format: Format, projected: &Projected) -> anyhow::Result<()> {
    let (inside, outside) = (&projected.inside, &projected.outside);
    if matches!(format, Format::Npz | Format::Safetensors) {
        return write_arrays("--out", path, &[("inside", inside), ("outside", outside)]);
    }
    let width = projected.vectors.len();
    let column = |data: &[f64], j: usize| data.iter().skip(j).step_by(width.max(1)).copied().collect();
    let mut columns = Vec::new();
    for (j, vector) in projected.vectors.iter().enumerate() {
        columns.push(numbers(&format!("{} inside", vector.name), column(inside.data(), j)));
        columns.push(numbers(&format!("{} outside", vector.name), column(outside.data(), j)));
    }
    write_columns("--out", path, columns)
}
