//! `spanwise example`.

use crate::Outcome;
use crate::args::Example;
use crate::failure::is_broken_pipe;
use crate::out::{Screen, check_text, to_file, to_stdout};
use crate::source::Sources;
use spanwise::example::{Array, CATALOGUE, Inputs, lesson};
use spanwise::report::{Ink, catalogue_text, lesson_text, to_json};

pub(crate) fn run(args: &Example, screen: Screen) -> anyhow::Result<Outcome> {
    let json_file = args.out.as_deref().map_or(Ok(false), |path| check_text("--out", path))?;
    let is_json = args.json || json_file;
    let ink = if args.out.is_some() { Ink::Plain } else { screen.ink };
    let (text, outcome) = match args.number {
        None if is_json => (to_json(&CATALOGUE)?, Outcome::Done),
        None => (catalogue_text(&CATALOGUE, ink), Outcome::Done),
        Some(number) => {
            let lesson = lesson(number, &inputs(args)?)?;
            let outcome = if lesson.holds() { Outcome::Done } else { Outcome::ClaimFailed };
            (if is_json { to_json(&lesson)? } else { lesson_text(&lesson, ink) }, outcome)
        }
    };
    let shown = match &args.out {
        Some(path) => to_file(path, &text),
        None if screen.quiet && !args.json => Ok(()),
        None => to_stdout(&text),
    };
    match shown {
        Err(error) if !is_broken_pipe(&error) => Err(error),
        // A reader that leaves early changes nothing about the claims.
        _ => Ok(outcome),
    }
}

fn inputs(args: &Example) -> anyhow::Result<Inputs> {
    let mut sources = Sources::default();
    let mut read = |argument, text: &Option<String>| -> anyhow::Result<Option<Array>> {
        text.as_deref().map(|text| sources.array(argument, text)).transpose()
    };
    Ok(Inputs {
        x: read("--x", &args.x)?,
        w: read("--w", &args.w)?,
        q: read("--q", &args.q)?,
        k: read("--k", &args.k)?,
        v: read("--v", &args.v)?,
    })
}
