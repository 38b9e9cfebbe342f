//! `cargo xtask …`: what contributors and CI run. Each task sets up what it needs.

mod browser;
mod environment;
mod memcheck;
mod python;

use anyhow::{Context, Result, bail};
use std::process::{Command, ExitCode};

/// The workspace's root.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

const HELP: &str = "\
cargo xtask TASK

Tasks:
  test    every test: unit, integration and documentation tests of all crates, the README's snippets, the Python
          package, built into a virtual environment under target/, and the page in a browser
  python  the Python package alone
  torch   the Python package beside PyTorch, which is installed for it
  browser the page in a browser alone; Chromium is installed where there is none
  memcheck
          the kernels' and some of attention's tests under Valgrind, which has to be installed; some minutes
  lint    formatting, clippy without warnings, documentation without warnings";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let task = words.next();
    if let Some(further) = words.next() {
        eprintln!("error: unexpected argument `{further}`\n\n{HELP}");
        return ExitCode::from(2);
    }
    let result = match task.as_deref() {
        Some("test") => test(),
        Some("python") => python::test(),
        Some("torch") => python::torch(),
        Some("browser") => browser::test(),
        Some("memcheck") => memcheck::test(),
        Some("lint") => lint(),
        Some("help" | "--help" | "-h") | None => {
            println!("{HELP}");
            Ok(())
        }
        Some(other) => {
            eprintln!("error: unknown task `{other}`\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> Result<()> {
    cargo(&["test", "--workspace", "--quiet"])?;
    python::test()?;
    browser::test()
}

fn lint() -> Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])?;
    run(command("doc", &["--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"))
}

fn cargo(args: &[&str]) -> Result<()> {
    run(&mut command(args[0], &args[1..]))
}

/// The cargo that runs this task, in the workspace's root.
fn command(subcommand: &str, args: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(ROOT).arg(subcommand).args(args);
    command
}

/// Says what runs, runs it, and fails where it fails.
fn run(command: &mut Command) -> Result<()> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let line = words.join(" ");
    eprintln!("▸ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}
