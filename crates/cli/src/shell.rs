//! `spanwise completions` and `spanwise man`.

use crate::Outcome;
use crate::args::Cli;
use crate::failure::Usage;
use crate::out::to_stdout;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use std::path::Path;

pub(crate) fn completions(shell: Shell) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "spanwise", &mut script);
    to_stdout(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}

/// The main page to standard output, or one page per verb into `directory`.
pub(crate) fn man(directory: Option<&Path>) -> anyhow::Result<Outcome> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let Some(directory) = directory else {
        to_stdout(&page(&command)?)?;
        return Ok(Outcome::Done);
    };
    if !directory.is_dir() {
        let message = format!("`--out`: {}: is not a directory", directory.display());
        return Err(Usage::new(message).into());
    }
    for command in std::iter::once(&command).chain(command.get_subcommands()) {
        // Built commands know their full name: spanwise-attend.
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        spanwise_io::write_bytes(directory.join(format!("{name}.1")), page(command)?.as_bytes())?;
    }
    Ok(Outcome::Done)
}

fn page(command: &Command) -> anyhow::Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
