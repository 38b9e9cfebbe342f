//! A table with a target.

use super::{Stages, command_line, refused};
use crate::args::Explain;
use crate::failure::Usage;
use crate::source::is_inline;
use crate::table::{Asked, Rows, Source, encoded, holds_classes};
use spanwise::View;
use spanwise::explain::{Explanation, TableInput, Values, explain_table};
use spanwise::linear::design::Design;
use spanwise::linear::told::FitFacts;

const CONFIDENCE: f64 = 0.95;

pub(super) fn explain(args: &Explain, quiet: bool) -> anyhow::Result<Explanation> {
    let (Some(file), Some(target)) = (&args.file, &args.target) else {
        return Err(refused(
            "`--target` is needed to explain a table",
            "attention is explained from `--q`, `--k` and `--v`, or from a .npz or .safetensors file that has them",
        ));
    };
    if let Some(option) = args.attention.given() {
        return Err(Usage::new(format!("`{option}` is for attention, and `{file}` is a table")).into());
    }
    let confidence = args.confidence.unwrap_or(CONFIDENCE);
    if !(confidence > 0.0 && confidence < 1.0) {
        let message = format!("`--confidence` is {confidence}; expected a number between 0 and 1");
        return Err(Usage::new(message).into());
    }
    let asked = Asked {
        target: Some(target),
        weights: args.weights.as_deref(),
        ..Asked::plain(file, &args.pick, quiet)
    };
    let readable_twice = file != "-" && !is_inline(file);
    let classes = args.classes || (readable_twice && holds_classes(&asked, target)?);
    let mut source = Source::open(&Asked { classes, ..asked })?;
    let (design, bits) = (source.design().clone(), source.bits());
    let rows = source.all()?;
    check(&rows, &design, file)?;
    if classes {
        rows.check_classes(target)?;
    }
    let facts = FitFacts {
        target: target.clone(),
        names: design.names().to_vec(),
        weights: args.weights.clone(),
        intercept: !args.no_intercept,
        confidence,
        encodings: encoded(&design),
        rows_read: rows.read,
        rows_dropped: rows.dropped(),
        values_filled: rows.filled,
        streamed: false,
        bits,
    };
    let command = command_line();
    let stages = Stages::new(quiet);
    let input = TableInput {
        source: file,
        x: View::new(&rows.x, &[rows.count(), rows.width])?,
        y: if classes { Values::Classes(&rows.labels) } else { Values::Numbers(&rows.y) },
        weights: rows.weights.as_deref(),
        index: Some(&rows.index),
        facts: &facts,
        command: &command,
    };
    let explanation = explain_table(&input, &mut |stage| stages.say(stage));
    stages.done();
    Ok(explanation?)
}

/// Tables that nothing can be said about.
fn check(rows: &Rows, design: &Design, file: &str) -> anyhow::Result<()> {
    if rows.count() == 0 {
        let message = format!("{file}: no row is left of {}", rows.read);
        return Err(refused(
            message,
            "every row has a missing value; `--exclude` columns, or `--missing mean`",
        ));
    }
    if rows.count() == 1 {
        let message = format!("{file}: found 1 row; expected at least 2");
        return Err(Usage::new(message).into());
    }
    if design.names().is_empty() {
        let message = format!("{file}: there is no column left beside the target");
        return Err(refused(message, "`--columns` and `--exclude` say which columns explain the target"));
    }
    Ok(())
}
