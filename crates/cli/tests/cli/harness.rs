//! Runs the command and keeps what it did.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a run left behind.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// What was printed, after the run is known to have ended with `code` and without a complaint.
    pub(crate) fn ended_with(self, code: i32) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (code, ""), "{}", self.stdout);
        self.stdout
    }

    /// What was printed, as JSON.
    pub(crate) fn json(self) -> serde_json::Value {
        let text = self.ended_with(0);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// The command, in a known environment.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spanwise"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("COLUMNS", "100");
    command
}

/// Runs the command to its end.
pub(crate) fn spanwise(args: &[&str]) -> Run {
    finish(command().args(args).stdin(Stdio::null()), b"")
}

/// Runs the command with something to read.
pub(crate) fn spanwise_reading(input: &[u8], args: &[&str]) -> Run {
    finish(command().args(args).stdin(Stdio::piped()), input)
}

/// Runs a prepared command to its end.
pub(crate) fn finish(command: &mut Command, input: &[u8]) -> Run {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if let Some(mut stdin) = child.stdin.take() {
        // A command that refuses its arguments does not read.
        stdin.write_all(input).ok();
    }
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().expect("not ended by a signal"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// An `.npy` file of version 1.0 with any header fields.
pub(crate) fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// An `.npy` file of f64.
pub(crate) fn npy_f64(shape: &str, data: &[f64]) -> Vec<u8> {
    let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
    npy("<f8", shape, &bytes)
}
