//! Tables as the rows of a model: columns chosen, categories made numbers, batch by batch.

mod batch;
mod gathered;
mod parts;
mod separator;
mod words;

pub(crate) use batch::{Role, Rows, row_numbers};
pub(crate) use gathered::{Gathered, Keep, Sink};
pub(crate) use parts::SEED;

use crate::args::{MissingWord, Pick};
use crate::failure::Usage;
use crate::out::is_special;
use crate::source::is_inline;
use anyhow::Context;
use batch::columns_of;
use indicatif::{ProgressBar, ProgressStyle};
use spanwise::linear::design::{Design, Encoding, Field, Means, Missing, Settings, Values};
use spanwise::linear::told::{Encoded, counted};
use spanwise_io::{IoError, ProgressUnit, ReadOptions, Table, TableReader, parse_matrix, quoted};
use std::io::Write;
use std::path::Path;

/// Files from this many bytes, or rows, show how far reading has come.
const LONG: u64 = 1 << 24;

/// Which table, and what its columns are for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) file: &'a str,
    pub(crate) pick: &'a Pick,
    /// The column to predict, if one is.
    pub(crate) target: Option<&'a str>,
    /// The option that names it.
    pub(crate) target_option: &'static str,
    /// Whether the target is a class and not a number.
    pub(crate) classes: bool,
    pub(crate) weights: Option<&'a str>,
    /// Columns of which no value may be filled in.
    pub(crate) complete: &'a [String],
    /// Products up to this degree.
    pub(crate) degree: usize,
    pub(crate) interactions: bool,
    pub(crate) quiet: bool,
}

impl<'a> Asked<'a> {
    /// A table without a target.
    pub(crate) fn plain(file: &'a str, pick: &'a Pick, quiet: bool) -> Self {
        Asked {
            file,
            pick,
            target: None,
            target_option: "--target",
            classes: false,
            weights: None,
            complete: &[],
            degree: 0,
            interactions: false,
            quiet,
        }
    }
}

/// Where batches come from.
enum Batches {
    Reader(Box<TableReader>),
    /// A matrix written in the argument.
    Whole(Option<Table>),
}

/// A table that is read through a design.
pub(crate) struct Source {
    batches: Batches,
    /// The first batch, read to learn the columns.
    first: Option<Table>,
    design: Design,
    role: Role,
    bar: ProgressBar,
    rows: u64,
}

impl Source {
    /// Opens the table and decides its columns.
    pub(crate) fn open(asked: &Asked<'_>) -> anyhow::Result<Self> {
        let (batches, first) = open(asked)?;
        say_if_headless(&batches, asked);
        words::check(&first, asked)?;
        let fields = fields(&first, asked)?;
        let settings = settings(asked)?;
        let design = Design::new(&fields, &settings).with_context(|| asked.file.to_owned())?;
        let design = if settings.missing == Missing::Mean { with_means(design, asked)? } else { design };
        let bar = progress(&batches, asked.quiet);
        Ok(Source { batches, first: Some(first), design, role: Role::new(asked), bar, rows: 0 })
    }

    /// Opens a table to be read through a design that is known: rows to predict, or to read again.
    pub(crate) fn with_design(asked: &Asked<'_>, design: Design, with_target: bool) -> anyhow::Result<Self> {
        let role = if with_target { Role::new(asked) } else { Role::without_target(asked) };
        if is_inline(asked.file) {
            let (batches, first) = open(asked)?;
            let bar = ProgressBar::hidden();
            return Ok(Source { batches, first: Some(first), design, role, bar, rows: 0 });
        }
        let columns = design.encodings().iter().map(|encoding| encoding.name.clone());
        let categories = design.encodings().iter().filter(|encoding| encoding.levels.is_some());
        let categories = categories.map(|encoding| encoding.name.clone());
        let options = ReadOptions {
            columns: Some(columns.chain(role.names()).collect()),
            categories: categories.chain(role.class_name()).collect(),
            ..header(asked)
        };
        separator::check(asked)?;
        let batches = Batches::Reader(Box::new(TableReader::open(asked.file, &options)?));
        let bar = progress(&batches, asked.quiet);
        Ok(Source { batches, first: None, design, role, bar, rows: 0 })
    }

    /// Binary digits that the numbers have in the file, the fewest of the columns that are used.
    pub(crate) fn bits(&self) -> u32 {
        let Batches::Reader(reader) = &self.batches else { return f64::MANTISSA_DIGITS };
        let used: Vec<String> = self
            .design
            .encodings()
            .iter()
            .map(|encoding| encoding.name.clone())
            .chain(self.role.names())
            .collect();
        let fields = reader.schema();
        let bits = fields.iter().filter(|field| used.contains(&field.name)).map(|field| field.bits);
        bits.min().unwrap_or(f64::MANTISSA_DIGITS)
    }

    pub(crate) fn design(&self) -> &Design {
        &self.design
    }

    /// The next rows; `None` at the end.
    pub(crate) fn next_rows(&mut self) -> anyhow::Result<Option<Rows>> {
        let table = match self.first.take() {
            Some(first) => Some(first),
            None => self.batches.next()?,
        };
        let Some(table) = table else {
            self.bar.finish_and_clear();
            return Ok(None);
        };
        let rows = batch::rows(&table, &self.design, &self.role, self.rows)?;
        self.rows += table.rows() as u64;
        if let Batches::Reader(reader) = &self.batches {
            self.bar.set_position(reader.progress().done);
            self.bar.set_message(counted(self.rows as usize, "row", "rows"));
        }
        Ok(Some(rows))
    }

    /// All rows at once.
    pub(crate) fn all(&mut self) -> anyhow::Result<Rows> {
        let mut all = Rows::default();
        while let Some(rows) = self.next_rows()? {
            all.append(rows);
        }
        Ok(all)
    }
}

impl Batches {
    fn next(&mut self) -> Result<Option<Table>, IoError> {
        match self {
            Batches::Reader(reader) => reader.next().transpose(),
            Batches::Whole(table) => Ok(table.take()),
        }
    }
}

/// Whether a column that plays a role holds classes: text, or truth values.
pub(crate) fn holds_classes(asked: &Asked<'_>, name: &str) -> anyhow::Result<bool> {
    let (batches, first) = open(asked)?;
    let is_truth = || match batches {
        Batches::Reader(reader) => reader.schema().iter().any(|field| field.name == name && field.truths),
        Batches::Whole(_) => false,
    };
    Ok(match &first.column(name)?.values {
        spanwise_io::Values::Categories(categories) => !words::commas_alone(categories),
        spanwise_io::Values::Numbers(_) => is_truth(),
    })
}

/// The table and its first rows.
fn open(asked: &Asked<'_>) -> anyhow::Result<(Batches, Table)> {
    let pick = asked.pick;
    if is_inline(asked.file) {
        separator::refuse_inline(asked)?;
        let table = Table::from_tensor(&parse_matrix(asked.file)?)?;
        for name in &pick.exclude() {
            table.column(name)?;
        }
        return Ok((Batches::Whole(None), table));
    }
    let role = Role::new(asked);
    let roles: Vec<String> = role.names().collect();
    let columns = (!pick.columns.is_empty()).then(|| {
        let mut columns = pick.columns();
        columns.extend(roles.iter().cloned());
        columns
    });
    let options = ReadOptions {
        columns,
        exclude: pick.exclude().into_iter().filter(|name| !roles.contains(name)).collect(),
        categories: pick.categories().into_iter().chain(role.class_name()).collect(),
        ..header(asked)
    };
    separator::check(asked)?;
    let mut reader = TableReader::open(asked.file, &options)?;
    separator::check_used(asked, reader.format())?;
    let first = reader.next().transpose()?;
    let first = first.ok_or_else(|| Usage::new(format!("{}: there are no rows", asked.file)))?;
    Ok((Batches::Reader(Box::new(reader)), first))
}

/// Whether the first row names the columns. As for arrays, a first row of numbers is data unless said otherwise.
fn header(asked: &Asked<'_>) -> ReadOptions {
    let pick = asked.pick;
    ReadOptions {
        header: !pick.no_header,
        guess_header: !pick.header,
        delimiter: pick.delimiter,
        ..ReadOptions::default()
    }
}

/// The columns that become the model's, in the order asked for.
fn fields(first: &Table, asked: &Asked<'_>) -> anyhow::Result<Vec<Field>> {
    let pick = asked.pick;
    let (columns_asked, excluded) = (pick.columns(), pick.exclude());
    let role = Role::new(asked);
    if let (Some(target), Some(weights)) = (asked.target, asked.weights)
        && target == weights
    {
        let message = format!("`--target` and `--weights` are both {}; expected two columns", quoted(target));
        return Err(
            Usage::with_hint(message, "a column of 1 weighs all rows alike, as no `--weights` does").into()
        );
    }
    let repeated = |(at, name): &(usize, &String)| columns_asked[..*at].contains(name);
    if let Some((_, name)) = columns_asked.iter().enumerate().find(repeated) {
        let message = format!("`--columns` names {} twice; expected each column once", quoted(name));
        return Err(Usage::new(message).into());
    }
    for name in role.names().chain(columns_asked.iter().cloned()) {
        first.column(&name)?;
    }
    let roles: Vec<String> = role.names().collect();
    let wanted =
        |name: &str| !roles.iter().any(|role| role == name) && !excluded.iter().any(|out| out == name);
    let names: Vec<&str> = if columns_asked.is_empty() {
        first.names().filter(|name| wanted(name)).collect()
    } else {
        if let Some(name) = columns_asked.iter().find(|name| roles.contains(name)) {
            let other = if asked.weights == Some(name) { "--weights" } else { asked.target_option };
            let message =
                format!("`--columns` and `{other}` both name {}; expected it in one of them", quoted(name));
            return Err(Usage::new(message).into());
        }
        columns_asked.iter().map(String::as_str).filter(|name| wanted(name)).collect()
    };
    let columns = columns_of(first);
    // A column whose levels are spoken of is meant as words, also where they are truth values.
    let references = settings(asked)?.references;
    let categories = pick.categories();
    let mentioned = categories.iter().chain(references.iter().map(|(column, _)| column));
    let mentioned: Vec<&String> = mentioned.collect();
    let field = |name: &str| {
        let column = columns.iter().find(|column| column.name == name)?;
        Some(match column.values {
            Values::Categories { levels, .. } if mentioned.iter().any(|other| *other == name) => {
                Field::categories(name, levels)
            }
            _ => Field::of(column),
        })
    };
    Ok(names.into_iter().filter_map(field).collect())
}

/// Categories and their references.
pub(crate) fn encoded(design: &Design) -> Vec<Encoded> {
    let category = |encoding: &Encoding| {
        let levels = encoding.levels.as_ref()?;
        Some(Encoded {
            column: encoding.name.clone(),
            levels: levels.all.clone(),
            reference: levels.all[levels.reference].clone(),
        })
    };
    design.encodings().iter().filter_map(category).collect()
}

fn settings(asked: &Asked<'_>) -> Result<Settings, Usage> {
    let reference = |text: &String| match text.split_once('=') {
        Some((column, level)) => Ok((column.to_owned(), level.to_owned())),
        None => Err(Usage::new(format!("`--reference`: found {text:?}; expected COLUMN=LEVEL"))),
    };
    Ok(Settings {
        missing: match asked.pick.missing {
            MissingWord::Error => Missing::Error,
            MissingWord::Drop => Missing::Drop,
            MissingWord::Mean => Missing::Mean,
        },
        references: asked.pick.reference.iter().map(reference).collect::<Result<_, _>>()?,
        degree: asked.degree,
        interactions_only: asked.interactions,
    })
}

/// Refuses what needs the rows twice where they come by once.
pub(crate) fn check_read_twice(option: &str, file: &str) -> Result<(), Usage> {
    if !is_read_once(file) {
        return Ok(());
    }
    let what = if file == "-" { "standard input" } else { file };
    Err(Usage::new(format!("`{option}` reads the table twice; {what} can be read once")))
}

/// Whether the table is standard input, a pipe or a device.
pub(crate) fn is_read_once(file: &str) -> bool {
    file == "-" || is_special(Path::new(file))
}

/// Reads the table once for the means of its columns.
fn with_means(design: Design, asked: &Asked<'_>) -> anyhow::Result<Design> {
    check_read_twice("--missing mean", asked.file)?;
    let mut means = Means::new(&design);
    let (mut batches, first) = open(asked)?;
    let mut next = Some(first);
    while let Some(table) = next {
        means.observe(&design, &columns_of(&table)).with_context(|| asked.file.to_owned())?;
        next = batches.next()?;
    }
    design.with_means(&means).with_context(|| asked.file.to_owned())
}

/// A file that begins with numbers may have numbers for names: what was made of it is said.
fn say_if_headless(batches: &Batches, asked: &Asked<'_>) {
    let Batches::Reader(reader) = batches else { return };
    if reader.lacks_header() && !asked.pick.no_header && !asked.quiet {
        let file = asked.file;
        let note = format!(
            "note: {file}: the first row is numbers and was read as data; the columns are c0, c1, …\n\
             hint: `--header` takes it for names, `--no-header` confirms\n"
        );
        // If stderr is gone there is nobody to tell.
        std::io::stderr().write_all(note.as_bytes()).ok();
    }
}

/// Drawn to stderr, and only if that is a terminal.
fn progress(batches: &Batches, quiet: bool) -> ProgressBar {
    let Batches::Reader(reader) = batches else { return ProgressBar::hidden() };
    let progress = reader.progress();
    let Some(total) = progress.total.filter(|&total| !quiet && total >= LONG) else {
        return ProgressBar::hidden();
    };
    let template = match progress.unit {
        ProgressUnit::Bytes => "reading {bar:40} {bytes}/{total_bytes}, {msg}, {eta} left",
        ProgressUnit::Rows => "reading {bar:40} {pos}/{len} rows, {eta} left",
    };
    let bar = ProgressBar::new(total);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
