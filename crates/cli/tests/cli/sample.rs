//! `spanwise sample`.

use crate::files::Files;
use std::fs;

#[test]
fn a_sample_does_not_replace_a_file_that_was_not_named() {
    let files = Files::new(&[("outlier.csv", "mine\n")]);
    files.refused(
        "sample outlier",
        &["outlier.csv: the file exists already", "`--out outlier.csv` replaces it"],
    );
    assert_eq!(fs::read_to_string(files.path("outlier.csv")).unwrap(), "mine\n");
    files.run("sample outlier --out outlier.csv").ended_with(0);
    // The sample itself is nobody's loss.
    files.run("sample outlier").ended_with(0);
    files.run("sample saturated-attention").ended_with(0);
    files.run("sample saturated-attention").ended_with(0);
    assert_ne!(fs::read_to_string(files.path("outlier.csv")).unwrap(), "mine\n");
}
