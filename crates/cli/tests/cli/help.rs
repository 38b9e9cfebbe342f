//! What the command says about itself.

use crate::harness::{command, finish, spanwise, text};
use std::process::Stdio;

#[test]
fn help_reads_well() {
    insta::assert_snapshot!("help", spanwise(&["--help"]).ended_with(0));
    insta::assert_snapshot!("help_example", spanwise(&["example", "--help"]).ended_with(0));
    insta::assert_snapshot!("help_attend", spanwise(&["attend", "--help"]).ended_with(0));
    for verb in ["fit", "project", "decompose", "solve", "measure", "explain", "sample"] {
        insta::assert_snapshot!(format!("help_{verb}"), spanwise(&[verb, "--help"]).ended_with(0));
    }
}

#[test]
fn the_version_is_printed() {
    let version = spanwise(&["--version"]).ended_with(0);
    assert_eq!(version, format!("spanwise {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = spanwise(&["completions", shell]).ended_with(0);
        assert!(script.contains("attend") && script.contains("softcap"), "{shell}");
    }
}

#[test]
fn manual_pages_are_written_for_every_verb() {
    assert!(spanwise(&["man"]).ended_with(0).contains(".TH spanwise 1"));
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(spanwise(&["man", "--out", text(directory.path())]).ended_with(0), "");
    for verb in ["", "-example", "-attend", "-fit", "-measure", "-completions", "-man"] {
        let name = format!("spanwise{verb}.1");
        let page = std::fs::read_to_string(directory.path().join(&name)).unwrap();
        assert!(
            page.contains(".SH NAME") && page.contains(&format!("spanwise{}", verb.replace('-', "\\-"))),
            "{name}"
        );
    }
}

#[test]
fn help_is_wrapped_once() {
    for (verb, width) in ["attend", "example", "fit", "project", "decompose", "solve", "measure", "explain"]
        .into_iter()
        .flat_map(|verb| [(verb, 80), (verb, 100)])
    {
        let mut asked = command();
        asked.env("COLUMNS", width.to_string()).args([verb, "--help"]).stdin(Stdio::null());
        let page = finish(&mut asked, b"").ended_with(0);
        let lines: Vec<&str> = page.lines().collect();
        for pair in lines.windows(2).filter(|pair| !pair[0].is_empty() && !pair[1].is_empty()) {
            assert!(pair[0].chars().count() <= width, "{verb} at {width}: {}", pair[0]);
            if pair.iter().all(|line| !line.starts_with(' ')) {
                // A line of prose ends because the next word does not fit.
                let word = pair[1].split(' ').next().unwrap_or_default();
                let whole = pair[0].chars().count() + 1 + word.chars().count();
                assert!(whole > width, "{verb} at {width}: {:?} before {:?}", pair[0], pair[1]);
            }
        }
    }
}
