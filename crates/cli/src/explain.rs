//! `spanwise explain`: a table or q, k, v ► findings ► screen, JSON, page and figures.

mod attention;
mod files;
mod table;

use crate::Outcome;
use crate::args::Explain;
use crate::failure::Usage;
use crate::out::{Screen, check_text, to_file, to_stdout};
use indicatif::{ProgressBar, ProgressStyle};
use spanwise::explain::Explanation;
use spanwise::report::{Ink, explained_text, to_json};
use std::time::Duration;

pub(crate) fn run(args: &Explain, screen: Screen) -> anyhow::Result<Outcome> {
    files::check(args)?;
    let explanation = if attention::is_meant(args) {
        attention::explain(args, screen.quiet)?
    } else {
        table::explain(args, screen.quiet)?
    };
    let files = files::write(args, &explanation)?;
    show(args, screen, &explanation, &files)?;
    Ok(Outcome::Done)
}

fn show(
    args: &Explain,
    screen: Screen,
    explanation: &Explanation,
    files: &[(String, String)],
) -> anyhow::Result<()> {
    let is_json =
        args.json || args.out.as_deref().is_some_and(|path| check_text("--out", path).is_ok_and(|json| json));
    let ink = if args.out.is_some() { Ink::Plain } else { screen.ink };
    let text = || if is_json { to_json(explanation) } else { Ok(explained_text(explanation, files, ink)) };
    match &args.out {
        Some(path) => to_file(path, &text()?),
        None if screen.quiet && !args.json => Ok(()),
        None => to_stdout(&text()?),
    }
}

/// Says on stderr, and only if that is a terminal, what is being done.
struct Stages(ProgressBar);

impl Stages {
    fn new(quiet: bool) -> Self {
        if quiet {
            return Stages(ProgressBar::hidden());
        }
        let stages = Stages(ProgressBar::new(Self::WHOLE));
        stages.styled("{spinner} {msg} {elapsed}");
        stages.0.enable_steady_tick(Duration::from_millis(120));
        stages
    }

    /// Steps of the bar.
    const WHOLE: u64 = 1000;

    fn styled(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style);
        }
    }

    fn say(&self, stage: &'static str) {
        self.0.set_message(stage);
        // Attention tells how far it is; the stages of a large table begin about here.
        let begins = match stage {
            "attention" => return self.styled("{msg} {bar:40} {percent} %, {elapsed}, {eta} left"),
            "fit" => 0.0,
            "columns" | "logistic" => 0.05,
            "rows" => 0.1,
            "reach" => 0.3,
            "figures" => 0.95,
            _ => return self.styled("{spinner} {msg} {elapsed}"),
        };
        self.styled("{spinner} {msg} {bar:40} {percent} %, {elapsed}");
        self.advance(begins);
    }

    /// How much of the stage is done, from 0 to 1.
    fn advance(&self, share: f64) {
        self.0.set_position((share * Self::WHOLE as f64) as u64);
    }

    fn done(&self) {
        self.0.finish_and_clear();
    }
}

/// The command line, quoted so that a shell reads it back.
fn command_line() -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    let quoted = |word: String| {
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let rest = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("spanwise".to_owned()).chain(rest).collect::<Vec<_>>().join(" ")
}

/// A problem with how the command was called.
fn refused(message: impl Into<String>, hint: &str) -> anyhow::Error {
    Usage::with_hint(message, hint).into()
}
