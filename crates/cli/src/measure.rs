//! `spanwise measure`: rows kept as long as there is room, then one pass through a summary.

use crate::Outcome;
use crate::args::Measure;
use crate::failure::Usage;
use crate::out::{Screen, check_not_read, check_text, to_file, to_stdout};
use crate::source::Sources;
use crate::table::{Asked, Gathered, Keep, Rows, Sink, Source};
use spanwise::Matrix;
use spanwise::linear::measure::{Factor, FactorStream};
use spanwise::linear::told::{MeasureRequest, Measured, add_findings, counted, measure};
use spanwise::report::{Ink, measured_text, to_json};

pub(crate) fn run(args: &Measure, screen: Screen) -> anyhow::Result<Outcome> {
    let json_file = args.out.as_deref().map_or(Ok(false), |path| check_text("--out", path))?;
    let inputs = [&Some(args.file.clone()), &args.span, &args.against, &args.hull];
    check_not_read(&[("--out", args.out.as_deref())], inputs.map(Option::as_deref))?;
    let measured = measured(args, keep(args)?, screen.quiet)?;
    let is_json = args.json || json_file;
    let ink = if args.out.is_some() { Ink::Plain } else { screen.ink };
    let text = if is_json { to_json(&measured)? } else { measured_text(&measured, &[], ink) };
    match &args.out {
        Some(path) => to_file(path, &text)?,
        None if screen.quiet && !args.json => {}
        None => to_stdout(&text)?,
    }
    Ok(if measured.all_inside() { Outcome::Done } else { Outcome::Outside })
}

/// Which rows are kept: all of them where points are asked about; a summary determines the rest.
fn keep(args: &Measure) -> Result<Keep, Usage> {
    if args.hull.is_none() {
        return Ok(Keep::asked(args.room));
    }
    match args.room.given().into_iter().find(|(_, given)| *given) {
        None => Ok(Keep::All),
        Some((option, _)) => Err(Usage::with_hint(
            format!("`{option}` does not apply to `--hull`"),
            "the hull of rows needs the rows, all of them in memory",
        )),
    }
}

fn measured(args: &Measure, keep: Keep, quiet: bool) -> anyhow::Result<Measured> {
    let mut sources = Sources::default();
    sources.claim("FILE", &args.file)?;
    let beside = Beside::read(args, &mut sources)?;
    // Points of a hull are no part of what rank is decided on.
    let array_bits = sources.bits();
    let hull = args.hull.as_deref().map(|text| sources.matrix("--hull", text, true)).transpose()?;
    if let Some(hull) = &hull {
        Sources::finite("--hull", hull.as_slice(), hull.cols())?;
    }
    let source = Source::open(&Asked {
        target: args.span_column.as_deref(),
        target_option: "--span-column",
        ..Asked::plain(&args.file, &args.pick, quiet)
    })?;
    let columns = source.design().names().len();
    check_points(hull.as_ref(), columns)?;
    let gathered = Gathered::through(source, &args.file, keep, Measuring::new(columns, beside))?;
    let names = gathered.design.names();
    let (stored_bits, missing) = (gathered.bits, gathered.missing());
    let Measuring { stream, mut beside, .. } = gathered.sink;
    let y = gathered.kept.as_ref().map(|rows| {
        beside.lay(gathered.read as usize);
        beside.of(rows)
    });
    beside.check(gathered.read as usize, gathered.dropped as usize)?;
    let factor = match (&gathered.kept, &y) {
        (Some(rows), Some(y)) => Factor::of(rows.view()?, y.view())?,
        _ => stream.finish()?,
    };
    let vector = y.as_ref().filter(|_| beside.vectors() > 0).map(|y| y.col(0));
    let mut measured = measure(&MeasureRequest {
        factor: &factor.stored_bits(stored_bits).others_stored_bits(array_bits),
        rows: gathered.kept.as_ref().map(Rows::view).transpose()?,
        names,
        stored_bits,
        intercept: !args.no_intercept,
        tolerance: args.tolerance,
        span: match (&args.span, &args.span_column) {
            (Some(_), _) => Some("--span"),
            (None, column) => column.as_deref(),
        },
        vector: vector.as_deref(),
        against: beside.against.as_ref().map(|others| ("--against", others.cols())),
        hull: hull.as_ref().map(Matrix::view),
    })?;
    add_findings(&mut measured.findings, missing);
    Ok(measured)
}

fn check_points(hull: Option<&Matrix>, columns: usize) -> Result<(), Usage> {
    let Some(hull) = hull.filter(|hull| hull.cols() != columns) else { return Ok(()) };
    let (found, columns) = (counted(hull.cols(), "column", "columns"), counted(columns, "column", "columns"));
    let message = format!("`--hull` has {found}, the table has {columns}; points need as many numbers");
    Err(Usage::new(message))
}

/// Rows on their way into a factor, with what stands beside them.
struct Measuring {
    stream: FactorStream,
    columns: usize,
    beside: Beside,
}

impl Measuring {
    fn new(columns: usize, beside: Beside) -> Self {
        Measuring { stream: FactorStream::new(columns, beside.width()), columns, beside }
    }
}

impl Sink for Measuring {
    fn side(&self) -> usize {
        1 + self.columns + self.beside.width()
    }

    fn push(&mut self, rows: &Rows) -> anyhow::Result<()> {
        let y = self.beside.of(rows);
        Ok(self.stream.push(rows.view()?, y.view())?)
    }
}

/// What stands beside the columns, row by row of the file: the vector of `--span` or `--span-column`, then the columns of `--against`.
struct Beside {
    span: Option<Vec<f64>>,
    column: bool,
    against: Option<Matrix>,
    /// Whether `against` was one row.
    is_row: bool,
}

impl Beside {
    fn read(args: &Measure, sources: &mut Sources) -> anyhow::Result<Self> {
        let span = args.span.as_deref().map(|text| sources.list("--span", text)).transpose()?;
        Sources::finite("--span", span.as_deref().unwrap_or_default(), 1)?;
        let against = args.against.as_deref().map(|text| sources.matrix("--against", text, false));
        let against = against.transpose()?;
        if let Some(others) = &against {
            Sources::finite("--against", others.as_slice(), others.cols())?;
        }
        // One row is a vector, as it is for `--span`, if the table has as many rows.
        let is_row = against.as_ref().is_some_and(|others| others.rows() == 1);
        let against = against.map(|others| if is_row { others.transposed() } else { others });
        Ok(Beside { span, column: args.span_column.is_some(), against, is_row })
    }

    /// Leaves the one row of `--against` a row where the table does not have as many rows as it has numbers.
    fn lay(&mut self, rows: usize) {
        if let Some(others) = self.against.as_mut().filter(|others| self.is_row && others.rows() != rows) {
            *others = others.transposed();
        }
    }

    fn vectors(&self) -> usize {
        usize::from(self.span.is_some() || self.column)
    }

    fn width(&self) -> usize {
        self.vectors() + self.against.as_ref().map_or(0, Matrix::cols)
    }

    /// What stands beside these rows. Where there is too little of it, zeros do until all rows are counted.
    fn of(&self, rows: &Rows) -> Matrix {
        let vectors = self.vectors();
        Matrix::from_fn(rows.count(), self.width(), |i, j| {
            // Rows that were left out of the table are left out here.
            let row = rows.index[i] as usize;
            match (j.checked_sub(vectors), &self.against) {
                (Some(j), Some(others)) if row < others.rows() => others[(row, j)],
                (Some(_), _) => 0.0,
                (None, _) => match &self.span {
                    Some(span) => span.get(row).copied().unwrap_or(0.0),
                    None => rows.y[i],
                },
            }
        })
    }

    /// Refuses arrays that do not have as many rows as the file.
    fn check(&self, read: usize, dropped: usize) -> Result<(), Usage> {
        let rows = counted(read, "row", "rows");
        let message = if let Some(span) = self.span.as_ref().filter(|span| span.len() != read) {
            format!("`--span` has length {}, the table has {rows}", span.len())
        } else if let Some(others) = self.against.as_ref().filter(|others| others.rows() != read) {
            let found = counted(others.rows(), "row", "rows");
            format!("`--against` has {found}, the table has {rows}; they must be equal")
        } else {
            return Ok(());
        };
        Err(Usage::beside_dropped(message, dropped))
    }
}
