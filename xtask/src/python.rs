//! The Python package: a virtual environment under `target/`, the wheel built into it, its tests.

use crate::environment::Environment;
use crate::run;
use anyhow::{Context, Result, bail};
use std::fs;

const TEST: &str = "python/requirements-test.txt";
const TORCH: &str = "python/requirements-torch.txt";

/// Builds the wheel, installs it beside the pinned libraries and runs every test that needs no torch.
pub(crate) fn test() -> Result<()> {
    let environment = Environment::with("venv", &[TEST])?;
    environment.install_wheel()?;
    environment.pytest(&["python/tests"])?;
    environment.pytest(&["--doctest-modules", "--doctest-ignore-import-errors", "--pyargs", "spanwise"])?;
    environment.pytest(&["--doctest-glob=*.md", "docs/python.md"])?;
    run(environment.command("mypy").args(["--config-file", "python/pyproject.toml", "python/spanwise"]))
}

/// The same with torch: the tests that compare with it.
pub(crate) fn torch() -> Result<()> {
    let environment = Environment::with("venv-torch", &[TEST, TORCH])?;
    environment.install_wheel()?;
    environment.pytest(&["python/tests_torch"])?;
    environment.pytest(&["--doctest-modules", "--pyargs", "spanwise.torch", "spanwise.transformers"])
}

impl Environment {
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
        let mut pytest = self.command("pytest");
        // torch 2.15 multiplies bf16 with AMX before it has set its tiles up, which ends the process.
        pytest.env("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16");
        run(pytest.args(["--quiet", "-p", "no:cacheprovider"]).args(args))
    }
}
