//! Small tables as files, and the command run beside them.

use crate::harness::{Run, command, finish, text};
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

/// The table of the README.
pub(crate) const LONGLEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/longley.csv");

/// Files of one test, in a directory of their own.
pub(crate) struct Files(tempfile::TempDir);

impl Files {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(directory.path().join(name), content).unwrap();
        }
        Files(directory)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The page of a command whose words of the form `@name` are files.
    pub(crate) fn run(&self, line: &str) -> Run {
        let words: Vec<String> = line
            .split_whitespace()
            .map(|word| match word.strip_prefix('@') {
                Some(name) => text(&self.path(name)).to_owned(),
                None => word.to_owned(),
            })
            .collect();
        finish(command().current_dir(self.0.path()).args(&words).stdin(Stdio::null()), b"")
    }

    pub(crate) fn page(&self, line: &str) -> String {
        joined(&self.run(line).ended_with(0))
    }

    /// Refused with code 2; the complaint holds all of `expected`.
    pub(crate) fn refused(&self, line: &str, expected: &[&str]) {
        let run = self.run(line);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{line}: {}", run.stderr);
        assert!(run.stderr.starts_with("error: "), "{line}: {}", run.stderr);
        for part in expected {
            assert!(run.stderr.contains(part), "{line}: {} has no {part:?}", run.stderr);
        }
    }
}

/// A header and `count` rows.
pub(crate) fn table(header: &str, count: usize, row: impl Fn(usize) -> String) -> String {
    let rows: Vec<String> = (0..count).map(row).collect();
    format!("{header}\n{}\n", rows.join("\n"))
}

/// Words with one space between them, wherever lines end.
pub(crate) fn joined(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}
