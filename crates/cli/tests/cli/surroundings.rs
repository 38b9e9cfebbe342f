//! Pipes, terminals and full disks.

use crate::harness::{command, spanwise};
use std::io::Read;
use std::process::Stdio;

#[test]
fn a_reader_that_leaves_is_no_error() {
    // More output than a pipe holds, so that writing meets the closed end.
    let row = vec!["0.123456789"; 36].join(",");
    let matrix = vec![row; 36].join(";");
    let args = ["example", "48", "--json", "--q", &matrix, "--k", &matrix, "--v", &matrix];
    let mut child = command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 16];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_standard_output_is_said() {
    for args in [&["example", "66"][..], &["attend", "--q", "1", "--k", "1", "--v", "1"], &["man"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command().args(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.starts_with("error: standard output: "), "{stderr}");
    }
}

#[test]
fn colour_is_only_for_those_who_ask_or_look() {
    assert!(!spanwise(&["example", "66"]).stdout.contains('\x1b'));
    assert!(!spanwise(&["example", "66", "--color", "never"]).stdout.contains('\x1b'));
    let coloured = spanwise(&["example", "66", "--color", "always"]).ended_with(0);
    assert!(coloured.contains("\x1b[32m✓ holds"), "{coloured}");
    // Colour carries nothing: without it the text is the same.
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\x1b') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    let trimmed =
        |text: &str| text.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<Vec<_>>().concat();
    assert_eq!(trimmed(&plain), trimmed(&spanwise(&["example", "66"]).stdout));
}

#[test]
fn a_reader_that_leaves_does_not_hide_a_failed_claim() {
    // 1e308·10 is no longer a number; the reader is gone before the first byte.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let args = ["example", "66", "--x", "1e308,1e308", "--w", "10,-10"];
    let output = command().args(args).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(1), ""));
}

#[test]
fn asking_for_colour_wins_over_no_color() {
    let args = ["example", "66", "--color", "always"];
    let output = command().args(args).env("NO_COLOR", "1").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains('\x1b'));
}

#[test]
fn an_instruction_set_that_cannot_be_had_is_refused() {
    let run = command().args(["example", "66"]).env("SPANWISE_ISA", "mmx").output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(
        stderr,
        "error: SPANWISE_ISA is `mmx`; expected one of scalar, scalar-bf16, scalar-amx, scalar-amx-f16, neon, avx2, avx512, avx512-bf16, amx, amx-f16\n"
    );
    let run = command().args(["example", "66"]).env("SPANWISE_ISA", "scalar").output().unwrap();
    assert_eq!(run.status.code(), Some(0));
}
