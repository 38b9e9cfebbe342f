//! `spanwise project`: a table ► one of four questions ► page, JSON and file.

mod files;
mod table;

use crate::Outcome;
use crate::args::{BasisWord, Project};
use crate::artifact::{Holds, check};
use crate::failure::Usage;
use crate::out::{Screen, check_not_read, to_stdout};
use crate::source::Sources;
use anyhow::Context;
use files::Output;
use serde::Serialize;
use spanwise::Matrix;
use spanwise::linear::project::COMPLEMENT_ROWS;
use spanwise::linear::told::{self, BasisOf, add_findings, counted};
use spanwise::report::{Ink, basis_text, changed_text, components_text, projected_text, to_json};
use table::Table;

pub(crate) fn run(args: &Project, screen: Screen) -> anyhow::Result<Outcome> {
    let format = args.out.as_deref().map(|path| check("--out", path, Holds::ColumnsOrArrays)).transpose()?;
    let inputs = [&Some(args.file.clone()), &args.vector, &args.change_of_basis, &args.coefficients];
    check_not_read(&[("--out", args.out.as_deref())], inputs.map(Option::as_deref))?;
    let mut sources = Sources::default();
    sources.claim("FILE", &args.file)?;
    let arrays = Arrays::read(args, &mut sources)?;
    let table = Table::read(args, screen.quiet)?;
    let output = Output::new(args.out.as_deref().zip(format), &table);
    let show = Show { json: args.json, screen };
    if let Some(count) = args.components {
        return components(&table, count, &output, &show);
    }
    match (args.basis, &arrays.change) {
        (Some(of), _) => basis(&table, of, &output, &show),
        (None, Some((b, w))) => change(&table, b, w, &output, &show),
        (None, None) => vectors(&table, arrays.vector, &output, &show),
    }
}

/// Arrays that stand beside the table.
struct Arrays {
    vector: Option<Matrix>,
    /// The matrix B, and the coefficients w.
    change: Option<(Matrix, Vec<f64>)>,
}

impl Arrays {
    fn read(args: &Project, sources: &mut Sources) -> anyhow::Result<Self> {
        let mut matrix = |argument: &'static str, text: &Option<String>| -> anyhow::Result<Option<Matrix>> {
            let found = text.as_deref().map(|text| sources.matrix(argument, text, false)).transpose()?;
            if let Some(found) = &found {
                Sources::finite(argument, found.as_slice(), found.cols())?;
            }
            Ok(found)
        };
        let vector = matrix("--vector", &args.vector)?;
        let change = matrix("--change-of-basis", &args.change_of_basis)?;
        let w = args.coefficients.as_deref().map(|text| sources.list("--coefficients", text)).transpose()?;
        Sources::finite("--coefficients", w.as_deref().unwrap_or_default(), 1)?;
        Ok(Arrays { vector, change: change.zip(w) })
    }
}

/// Where the answer is shown, and how.
struct Show {
    json: bool,
    screen: Screen,
}

impl Show {
    fn found<T: Serialize>(&self, found: &T, text: impl Fn(&T, Ink) -> String) -> anyhow::Result<Outcome> {
        if self.json {
            to_stdout(&to_json(found)?)?;
        } else if !self.screen.quiet {
            to_stdout(&text(found, self.screen.ink))?;
        }
        Ok(Outcome::Done)
    }
}

fn vectors(
    table: &Table,
    vector: Option<Matrix>,
    output: &Output<'_>,
    show: &Show,
) -> anyhow::Result<Outcome> {
    let (v, names) = match vector {
        // One row of as many numbers as the table has rows is a vector, as it is written in an argument.
        Some(v) if v.rows() == 1 && v.cols() == table.read => {
            (table.left(&v.transposed())?, vec!["vector".to_owned()])
        }
        Some(v) if v.cols() == 1 => (table.left(&v)?, vec!["vector".to_owned()]),
        Some(v) => (table.left(&v)?, (0..v.cols()).map(|j| format!("v{j}")).collect()),
        None => (table.vectors.clone(), table.vector_names.clone()),
    };
    let mut found = told::project(table.onto(), v.view(), &names)?;
    add_findings(&mut found.findings, table.missing());
    let files = output.parts(&found)?;
    show.found(&found, |found, ink| projected_text(found, &files, ink))
}

fn components(table: &Table, count: usize, output: &Output<'_>, show: &Show) -> anyhow::Result<Outcome> {
    let (n, p) = (table.x.rows(), table.x.cols());
    if n < 2 {
        return Err(Usage::new("`--components` needs rows that vary; the table has 1 row").into());
    }
    if !(1..=n.min(p)).contains(&count) {
        let most = n.min(p);
        let message = format!(
            "`--components` is {count}; expected a number from 1 to {most}, the smaller side of the table"
        );
        return Err(Usage::new(message).into());
    }
    let mut found = told::onto_components(table.onto(), count, &table.index)?;
    add_findings(&mut found.findings, table.missing());
    let files = output.components(&mut found)?;
    show.found(&found, |found, ink| components_text(found, &files, ink))
}

fn basis(table: &Table, of: BasisWord, output: &Output<'_>, show: &Show) -> anyhow::Result<Outcome> {
    let of = match of {
        BasisWord::Span => BasisOf::Span,
        BasisWord::Complement => BasisOf::Complement,
    };
    let n = table.x.rows();
    if of == BasisOf::Complement && n > COMPLEMENT_ROWS {
        let message = format!(
            "`--basis complement` of {n} rows has nearly {n} directions of {n} numbers; expected at most {COMPLEMENT_ROWS} rows"
        );
        let hint = "`--vector` splits one vector at a time, whatever the number of rows";
        return Err(Usage::with_hint(message, hint).into());
    }
    let mut found = told::basis(table.onto(), of)?;
    add_findings(&mut found.findings, table.missing());
    let files = output.basis(&found)?;
    if show.json && !files.is_empty() {
        found.directions = None;
    }
    show.found(&found, |found, ink| basis_text(found, &files, ink))
}

fn change(table: &Table, b: &Matrix, w: &[f64], output: &Output<'_>, show: &Show) -> anyhow::Result<Outcome> {
    let p = table.x.cols();
    let columns = counted(p, "column", "columns");
    if (b.rows(), b.cols()) != (p, p) {
        let message = format!(
            "`--change-of-basis` is {} × {}, the table has {columns}; expected {p} × {p}",
            b.rows(),
            b.cols()
        );
        return Err(Usage::new(message).into());
    }
    if w.len() != p {
        let message =
            format!("`--coefficients` has length {}, the table has {columns}; they must be equal", w.len());
        return Err(Usage::new(message).into());
    }
    let mut found = told::change_of_basis(table.onto(), w, b.view()).context("`--change-of-basis`")?;
    add_findings(&mut found.findings, table.missing());
    let files = output.change(&mut found)?;
    show.found(&found, |found, ink| changed_text(found, &files, ink))
}
