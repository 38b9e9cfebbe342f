//! Virtual environments of Python under `target/python/`.

use crate::{ROOT, run};
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A virtual environment with what some lists of requirements name.
pub(crate) struct Environment {
    pub(crate) folder: PathBuf,
}

impl Environment {
    /// Made once; made again where a list, given by its path in the workspace, has changed.
    pub(crate) fn with(name: &str, lists: &[&str]) -> Result<Self> {
        let environment = Environment { folder: PathBuf::from(ROOT).join("target/python").join(name) };
        let mut wanted = String::new();
        for list in lists {
            let path = format!("{ROOT}/{list}");
            wanted += &fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        }
        let mark = environment.folder.join("installed.txt");
        if fs::read_to_string(&mark).is_ok_and(|found| found == wanted) {
            return Ok(environment);
        }
        let interpreter = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let folder = environment.folder.as_os_str();
        run(in_root(&interpreter).args(["-m", "venv", "--clear"]).arg(folder))
            .context("these tests need Python 3.11 or newer; `PYTHON` names another interpreter")?;
        let mut install = environment.command("python");
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        for list in lists {
            install.args(["-r", list]);
        }
        run(&mut install)?;
        fs::write(&mark, wanted).with_context(|| format!("cannot write {}", mark.display()))?;
        Ok(environment)
    }

    /// A program of the environment, run in the workspace's root.
    pub(crate) fn command(&self, program: &str) -> Command {
        in_root(self.folder.join("bin").join(program))
    }

    /// Where an installed package lies.
    pub(crate) fn package(&self, name: &str) -> Result<PathBuf> {
        let library = self.folder.join("lib");
        let versions =
            fs::read_dir(&library).with_context(|| format!("cannot read {}", library.display()))?;
        let mut places = versions.flatten().map(|version| version.path().join("site-packages").join(name));
        match places.find(|place| place.is_dir()) {
            Some(place) => Ok(place),
            None => bail!("`{name}` is not installed in {}", self.folder.display()),
        }
    }
}

fn in_root(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(ROOT);
    command
}
