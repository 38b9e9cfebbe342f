//! What the command says about itself.

use crate::harness::{spanwise, text};

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
