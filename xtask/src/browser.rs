//! The page in a browser: writes pages, installs what the tests need, and runs them.

use crate::environment::Environment;
use crate::{ROOT, cargo, run};
use anyhow::{Context, Result};
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
    // Of the whole workspace, so with the features and the parts of `cargo test`; it lies beside this program.
    cargo(&["build", "--quiet", "--workspace", "--example", "specimens"])?;
    let this = std::env::current_exe().context("cannot find this program")?;
    let specimens =
        this.with_file_name("examples").join(format!("specimens{}", std::env::consts::EXE_SUFFIX));
    run(Command::new(specimens).arg(&pages).current_dir(ROOT))?;
    // Playwright's wheel holds its JavaScript and a node to run it: neither node nor npm need be there.
    let environment = Environment::with("venv-browser", &["tests/browser/requirements.txt"])?;
    let driver = environment.package("playwright")?.join("driver");
    let node = driver.join("node");
    let mut tests = Command::new(&node);
    if let Some(browser) = present().or_else(from_the_system) {
        tests.env("SPANWISE_BROWSER", browser);
    } else {
        run(Command::new(&node).arg(driver.join("package/cli.js")).args(["install", "chromium"]))
            .context("browser tests: no Chromium; install one, or name it in SPANWISE_BROWSER")?;
    }
    run(tests
        .args(["--test", "--test-reporter=spec", "tests/browser/page.test.mjs"])
        .current_dir(ROOT)
        .env("SPANWISE_PAGES", &pages)
        .env("SPANWISE_PLAYWRIGHT", driver.join("package/index.mjs"))
        .env("SPANWISE_AXE", environment.package("axe_playwright_python")?.join("axe.min.js")))
}

/// The Chromium that is named, or one that is there.
fn present() -> Option<String> {
    let named = std::env::var("SPANWISE_BROWSER").ok();
    named.or_else(|| BROWSERS.into_iter().find(|path| Path::new(path).exists()).map(str::to_owned))
}

/// The system's Chromium, installed, where the system has one to install and lets us.
fn from_the_system() -> Option<String> {
    let apt = |args: &[&str]| run(Command::new("apt-get").args(args));
    if !Path::new("/usr/bin/apt-get").exists() {
        return None;
    }
    // Lists of packages may be old or not there; if they cannot be had, installing says why.
    let _ = apt(&["update", "--quiet"]);
    apt(&["install", "--yes", "--quiet", "--no-install-recommends", "chromium"]).ok()?;
    present()
}
