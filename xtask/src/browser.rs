//! The page in a browser: writes pages, installs what the tests need, and runs them.

use crate::{ROOT, cargo, run};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Where browsers usually are; `SPANWISE_BROWSER` names another.
const BROWSERS: [&str; 4] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
];

pub(crate) fn test() -> Result<()> {
    let pages = format!("{ROOT}/target/pages");
    cargo(&["run", "--quiet", "-p", "spanwise-report", "--example", "specimens", "--", &pages])?;
    let tests = format!("{ROOT}/tests/browser");
    let browser = browser()?;
    let install = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
    run(Command::new("npm").args(install).current_dir(&tests)).context("browser tests need node and npm")?;
    run(Command::new("node")
        .args(["--test", "--test-reporter=spec"])
        .current_dir(&tests)
        .env("SPANWISE_PAGES", &pages)
        .env("SPANWISE_BROWSER", browser))
}

/// A Chromium: the one that is named, one that is there, or the system's, installed.
fn browser() -> Result<String> {
    if let Ok(named) = std::env::var("SPANWISE_BROWSER") {
        return Ok(named);
    }
    let present = || BROWSERS.into_iter().find(|path| Path::new(path).exists()).map(str::to_owned);
    if let Some(browser) = present() {
        return Ok(browser);
    }
    if Path::new("/usr/bin/apt-get").exists() {
        run(Command::new("apt-get").args(["install", "--yes", "--no-install-recommends", "chromium"]))?;
    }
    match present() {
        Some(browser) => Ok(browser),
        None => bail!("browser tests: no Chromium found\nhint: install one, or name it in SPANWISE_BROWSER"),
    }
}
