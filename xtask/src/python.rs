//! The Python package: a virtual environment under `target/`, the wheel built into it, its tests.

use crate::{ROOT, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Builds the wheel, installs it beside the pinned libraries and runs every test that needs no torch.
pub(crate) fn test() -> Result<()> {
    let environment = Environment::with(&["requirements-test.txt"])?;
    environment.install_wheel()?;
    environment.pytest(&["python/tests"])?;
    environment.pytest(&["--doctest-modules", "--doctest-ignore-import-errors", "--pyargs", "spanwise"])?;
    environment.pytest(&["--doctest-glob=*.md", "docs/python.md"])?;
    run(environment.command("mypy").args(["--config-file", "python/pyproject.toml", "python/spanwise"]))
}

/// The same with torch: the tests that compare with it.
pub(crate) fn torch() -> Result<()> {
    let environment = Environment::with(&["requirements-test.txt", "requirements-torch.txt"])?;
    environment.install_wheel()?;
    environment.pytest(&["python/tests_torch"])?;
    environment.pytest(&["--doctest-modules", "--pyargs", "spanwise.torch", "spanwise.transformers"])
}

/// A virtual environment with what some lists of requirements name.
struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// Made once; made again where a list has changed.
    fn with(lists: &[&str]) -> Result<Self> {
        let target = PathBuf::from(ROOT).join("target/python");
        let folder = target.join(if lists.len() > 1 { "venv-torch" } else { "venv" });
        let environment = Environment { folder };
        let mut wanted = String::new();
        for list in lists {
            let path = format!("{ROOT}/python/{list}");
            wanted += &fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        }
        let mark = environment.folder.join("installed.txt");
        if fs::read_to_string(&mark).is_ok_and(|found| found == wanted) {
            return Ok(environment);
        }
        let interpreter = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let folder = environment.folder.as_os_str();
        run(root(&interpreter).args(["-m", "venv", "--clear"]).arg(folder))
            .context("the Python package needs Python 3.11 or newer; `PYTHON` names another interpreter")?;
        let mut install = environment.command("python");
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        for list in lists {
            install.arg("-r").arg(format!("python/{list}"));
        }
        run(&mut install)?;
        fs::write(&mark, wanted).with_context(|| format!("cannot write {}", mark.display()))?;
        Ok(environment)
    }

    /// A program of the environment, run in the workspace's root.
    fn command(&self, program: &str) -> Command {
        root(self.folder.join("bin").join(program))
    }

    /// The wheel of the development profile, whose numerical crates are optimised: it shares its parts with `cargo test`.
    fn install_wheel(&self) -> Result<()> {
        let wheels = self.folder.join("wheels");
        if wheels.exists() {
            fs::remove_dir_all(&wheels).with_context(|| format!("cannot empty {}", wheels.display()))?;
        }
        let mut build = self.command("maturin");
        build.args(["build", "--quiet", "--manifest-path", "python/Cargo.toml", "--interpreter"]);
        run(build.arg(self.folder.join("bin/python")).arg("--out").arg(&wheels))?;
        let mut found = fs::read_dir(&wheels).with_context(|| format!("cannot read {}", wheels.display()))?;
        let Some(Ok(wheel)) = found.next() else { bail!("maturin built no wheel in {}", wheels.display()) };
        let mut install = self.command("python");
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        run(install.args(["--no-deps", "--force-reinstall"]).arg(wheel.path()))
    }

    /// `pytest` itself, not `python -m pytest`: that would import the sources instead of the wheel.
    fn pytest(&self, args: &[&str]) -> Result<()> {
        run(self.command("pytest").args(["--quiet", "-p", "no:cacheprovider"]).args(args))
    }
}

fn root(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(ROOT);
    command
}
