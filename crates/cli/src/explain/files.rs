//! Files of an explanation: the page, and its figures alone.

use crate::args::Explain;
use crate::artifact::Written;
use crate::failure::Usage;
use crate::out::{check_apart, check_not_read, check_page, check_place, check_text, to_file};
use anyhow::Context;
use spanwise::explain::Explanation;
use spanwise::linear::told::counted;
use spanwise::report::{Theme, figure_png, figure_svg, page_html};
use std::fs;

/// Pixels to a unit of the drawing: sharp on screens of twice the usual density.
const SCALE: f32 = 2.0;

/// Refuses, before anything is computed, places where files cannot be.
pub(super) fn check(args: &Explain) -> Result<(), Usage> {
    let attention = &args.attention;
    let arrays = [&attention.q, &attention.k, &attention.v, &attention.bias, &attention.mask];
    let inputs = [&args.file].into_iter().chain(arrays).map(Option::as_deref);
    let outputs = [("--html", args.html.as_deref()), ("--out", args.out.as_deref())];
    check_not_read(&outputs, inputs)?;
    if let Some(path) = &args.html {
        check_page("--html", path)?;
    }
    if let Some(path) = &args.out {
        check_text("--out", path)?;
    }
    check_apart(&outputs)?;
    let Some(directory) = &args.figures else { return Ok(()) };
    if directory.is_dir() {
        return Ok(());
    }
    if directory.exists() {
        let message = format!("`--figures`: {}: is a file; expected a directory", directory.display());
        return Err(Usage::new(message));
    }
    check_place("--figures", directory)
}

/// Writes what was asked for, and says what was written.
pub(super) fn write(args: &Explain, explanation: &Explanation) -> anyhow::Result<Written> {
    let mut written = Written::new();
    if let Some(path) = &args.html {
        to_file(path, &page_html(explanation)).context("`--html`")?;
        written.push(("the page".to_owned(), path.display().to_string()));
    }
    if let Some(directory) = &args.figures {
        if !directory.is_dir() {
            fs::create_dir(directory).with_context(|| format!("`--figures`: {}", directory.display()))?;
        }
        for figure in &explanation.figures {
            let place = |end: &str| directory.join(format!("{}.{end}", figure.id));
            to_file(&place("svg"), &figure_svg(figure, Theme::Light)).context("`--figures`")?;
            let picture = figure_png(figure, Theme::Light, SCALE).context("`--figures`")?;
            spanwise_io::write_bytes(place("png"), &picture).context("`--figures`")?;
        }
        let count = counted(explanation.figures.len(), "figure", "figures");
        written.push((count, directory.display().to_string()));
    }
    Ok(written)
}
