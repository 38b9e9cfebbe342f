//! The `spanwise` command: raw arguments ► built objects ► one call ► text or JSON.

mod args;
mod artifact;
mod attend;
mod decompose;
mod example;
mod explain;
mod failure;
mod fit;
mod measure;
mod out;
mod project;
mod sample;
mod shell;
mod solve;
mod source;
mod table;

use args::{Cli, Verb, When};
use clap::{CommandFactory, Parser};
use out::Screen;
use spanwise::report::Ink;
use std::io::IsTerminal;
use std::process::ExitCode;

/// How a run ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// A claim the user asked to see checked does not hold.
    ClaimFailed,
    /// A vector or point the user asked about lies outside.
    Outside,
}

fn main() -> ExitCode {
    // Parsing prints help and usage errors by itself and ends with 0 or 2.
    let cli = Cli::parse_from(args::matrices_last(Cli::command(), std::env::args_os().collect()));
    quiet_decoders();
    match run(&cli) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::ClaimFailed | Outcome::Outside) => ExitCode::from(1),
        // Whoever read our output has had enough: no reason to complain.
        Err(error) if failure::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            failure::print(&error);
            ExitCode::from(2)
        }
    }
}

/// A damaged file can trip an assertion inside a decoder. That becomes an error with our own words, so the decoder's
/// are not printed.
fn quiet_decoders() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !spanwise_io::is_decoding() {
            usual(info);
        }
    }));
}

fn run(cli: &Cli) -> anyhow::Result<Outcome> {
    // A wish for an instruction set that cannot be had is said, not passed over.
    spanwise::Isa::from_environment()?;
    let screen = Screen { ink: ink(cli.color), quiet: cli.quiet };
    match &cli.verb {
        Verb::Example(example) => example::run(example, screen),
        Verb::Attend(attend) => attend::run(attend, screen),
        Verb::Fit(fit) => fit::run(fit, screen),
        Verb::Project(project) => project::run(project, screen),
        Verb::Decompose(decompose) => decompose::run(decompose, screen),
        Verb::Solve(solve) => solve::run(solve, screen),
        Verb::Measure(measure) => measure::run(measure, screen),
        Verb::Explain(explain) => explain::run(explain, screen),
        Verb::Sample(sample) => sample::run(sample, screen),
        Verb::Completions { shell } => shell::completions(*shell),
        Verb::Man { out } => shell::man(out.as_deref()),
    }
}

fn ink(when: When) -> Ink {
    let wanted = match when {
        When::Always => true,
        When::Never => false,
        // https://no-color.org: any value but the empty one.
        When::Auto => {
            std::io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    };
    if wanted { Ink::Colour } else { Ink::Plain }
}
