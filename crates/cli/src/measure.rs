//! `spanwise measure`.

use crate::Outcome;
use crate::args::Measure;
use crate::failure::Usage;
use crate::out::{Screen, check_not_read, check_text, to_file, to_stdout};
use crate::source::Sources;
use crate::table::{Asked, Source};
use spanwise::View;
use spanwise::linear::told::{MeasureRequest, counted, measure};
use spanwise::report::{Ink, measured_text, to_json};

pub(crate) fn run(args: &Measure, screen: Screen) -> anyhow::Result<Outcome> {
    let json_file = args.out.as_deref().map_or(Ok(false), |path| check_text("--out", path))?;
    let inputs = [Some(args.file.as_str()), args.span.as_deref(), args.hull.as_deref()];
    check_not_read(&[("--out", args.out.as_deref())], inputs)?;
    let mut sources = Sources::default();
    let span = args.span.as_deref().map(|text| sources.list("--span", text)).transpose()?;
    let hull = args.hull.as_deref().map(|text| sources.matrix("--hull", text, true)).transpose()?;
    Sources::finite("--span", span.as_deref().unwrap_or_default(), 1)?;
    if let Some(hull) = &hull {
        Sources::finite("--hull", hull.as_slice(), hull.cols())?;
    }
    let target = args.span_column.as_deref();
    let mut source = Source::open(&Asked {
        target,
        target_option: "--span-column",
        ..Asked::plain(&args.file, &args.pick, screen.quiet)
    })?;
    let names = source.design().names().to_vec();
    let mut rows = source.all()?;
    let y = std::mem::take(&mut rows.y);
    let x = rows.matrix(&args.file)?;
    let vector = match (&span, target) {
        (Some(span), _) => Some(("--span", span.as_slice())),
        (None, Some(name)) => Some((name, y.as_slice())),
        (None, None) => None,
    };
    if let Some((_, vector)) = vector
        && vector.len() != x.rows()
    {
        let rows = counted(x.rows(), "row", "rows");
        let message = format!("`--span` has length {}, the table has {rows}", vector.len());
        return Err(Usage::new(message).into());
    }
    if let Some(hull) = hull.as_ref().filter(|hull| hull.cols() != x.cols()) {
        let (found, columns) =
            (counted(hull.cols(), "column", "columns"), counted(x.cols(), "column", "columns"));
        let message = format!("`--hull` has {found}, the table has {columns}; points need as many numbers");
        return Err(Usage::new(message).into());
    }
    let request = MeasureRequest {
        x: x.view(),
        names: &names,
        intercept: !args.no_intercept,
        tolerance: args.tolerance,
        span: vector
            .map(|(name, v)| Ok::<_, anyhow::Error>((name, View::new(v, &[v.len()])?)))
            .transpose()?,
        hull: hull.as_ref().map(spanwise::Matrix::view),
    };
    let measured = measure(&request)?;
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
