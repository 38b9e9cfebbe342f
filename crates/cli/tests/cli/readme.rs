//! What the README and the page about the command promise.

use crate::harness::{finish, spanwise};
use std::process::Stdio;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn readme() -> String {
    std::fs::read_to_string(format!("{ROOT}/README.md")).unwrap()
}

/// The lines of all blocks fenced as `language`.
fn fenced<'a>(readme: &'a str, language: &str) -> Vec<&'a str> {
    let blocks = readme.split("\n```").skip(1).step_by(2);
    let of_language = blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'));
    of_language.flat_map(str::lines).collect()
}

/// Words of a command line, with double quotes around some.
fn words(line: &str) -> Vec<&str> {
    let pieces = line.split('"').enumerate();
    pieces
        .flat_map(|(i, piece)| if i % 2 == 1 { vec![piece] } else { piece.split_whitespace().collect() })
        .collect()
}

#[test]
fn every_command_runs() {
    let readme = readme();
    let away = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(format!("{ROOT}/examples"), away.path().join("examples")).unwrap();
    let shown = fenced(&readme, "console").into_iter().filter_map(|line| line.strip_prefix("$ spanwise "));
    let first = fenced(&readme, "sh")
        .into_iter()
        .filter_map(|line| line.split('#').next()?.strip_prefix("cargo run --release -- "));
    let commands: Vec<&str> = first.chain(shown).collect();
    assert!(commands.len() >= 5, "{commands:?}");
    for line in commands {
        let mut command = crate::harness::command();
        let run = finish(command.current_dir(away.path()).args(words(line)).stdin(Stdio::null()), b"");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "spanwise {line}");
    }
}

#[test]
fn every_line_of_the_page_about_the_command_runs() {
    let page = std::fs::read_to_string(format!("{ROOT}/docs/command.md")).unwrap();
    let away = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(format!("{ROOT}/examples"), away.path().join("examples")).unwrap();
    let lines: Vec<&str> = fenced(&page, "sh");
    assert!(lines.len() >= 15, "{lines:?}");
    for line in lines {
        let Some(line) = line.strip_prefix("spanwise ") else { panic!("not of the command: {line}") };
        let mut command = crate::harness::command();
        let run = finish(command.current_dir(away.path()).args(words(line)).stdin(Stdio::null()), b"");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "spanwise {line}");
    }
}

#[test]
fn the_picture_of_output_is_what_the_command_prints() {
    let printed = spanwise(&["example", "66"]).ended_with(0);
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let readme = readme();
    let picture = fenced(&readme, "text");
    assert!(picture.len() > 10);
    for line in picture {
        assert!(printed.contains(&line.trim_end()), "not printed: {line}");
    }
}

#[test]
fn the_first_screen_fits_and_the_page_is_short() {
    let readme = readme();
    assert!(readme.lines().count() < 150);
    let two_commands = readme.lines().take(20).collect::<String>();
    assert!(two_commands.contains("cargo run --release -- ") && two_commands.contains("cargo xtask test"));
}
