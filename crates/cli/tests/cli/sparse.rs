//! Sparse matrices as scipy writes them.

use crate::harness::{npy, npy_f64, spanwise, text};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// [[2, 0], [0, 4], [1, 1]] in compressed rows, as `scipy.sparse.save_npz` lays it out.
fn matrix(directory: &Path, format: &str) -> PathBuf {
    matrix_of(directory, format, &npy_f64("(4,)", &[2.0, 4.0, 1.0, 1.0]))
}

/// The same places with these numbers, an `.npy` file.
fn matrix_of(directory: &Path, format: &str, data: &[u8]) -> PathBuf {
    let integers = |numbers: &[i32]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        npy("<i4", &format!("({},)", numbers.len()), &bytes)
    };
    let path = directory.join(format!("{format}.npz"));
    let mut archive = zip::ZipWriter::new(File::create(&path).unwrap());
    for (name, bytes) in [
        ("indices", integers(&[0, 1, 0, 1])),
        ("indptr", integers(&[0, 1, 2, 4])),
        ("format", npy("|S3", "()", format.as_bytes())),
        ("shape", npy("<i8", "(2,)", &[3_i64.to_le_bytes(), 2_i64.to_le_bytes()].concat())),
        ("data", data.to_vec()),
    ] {
        archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(&bytes).unwrap();
    }
    archive.finish().unwrap();
    path
}

#[test]
fn a_sparse_system_is_solved() {
    let directory = tempfile::tempdir().unwrap();
    let a = matrix(directory.path(), "csr");
    let json = spanwise(&["solve", "--a", text(&a), "--b", "2,8,3", "--json"]).json();
    let x = json["answers"][0]["x"].as_array().unwrap().iter();
    let x: Vec<f64> = x.map(|x| x.as_f64().unwrap()).collect();
    assert!((x[0] - 1.0).abs() < 1e-8 && (x[1] - 2.0).abs() < 1e-8, "{x:?}");
}

#[test]
fn a_sparse_table_is_fitted() {
    let directory = tempfile::tempdir().unwrap();
    let a = matrix(directory.path(), "csr");
    let json = spanwise(&["fit", text(&a), "--target", "2,8,3", "--no-intercept", "--json"]).json();
    let terms = json["coefficients"][0]["terms"].as_array().unwrap();
    let estimates: Vec<f64> = terms.iter().map(|term| term["estimate"].as_f64().unwrap()).collect();
    assert!((estimates[0] - 1.0).abs() < 1e-13 && (estimates[1] - 2.0).abs() < 1e-13, "{estimates:?}");
    assert_eq!(terms[1]["name"], "c1");
    spanwise(&["fit", text(&a), "--target", "-2,8,3", "--no-intercept"]).ended_with(0);
}

#[test]
fn numbers_of_f32_in_a_sparse_table_have_the_digits_of_f32() {
    let directory = tempfile::tempdir().unwrap();
    let data: Vec<u8> = [2.1_f32, 4.3, 1.7, 1.9].iter().flat_map(|x| x.to_le_bytes()).collect();
    let a = matrix_of(directory.path(), "csr", &npy("<f4", "(4,)", &data));
    let json = spanwise(&["fit", text(&a), "--target", "2,8,3", "--no-intercept", "--json"]).json();
    let digits = json["coefficients"][0]["terms"][0]["digits"].as_f64().unwrap();
    assert!((4.0..7.3).contains(&digits), "{digits}");
    let solved = spanwise(&["solve", "--a", text(&a), "--b", "2,8,3", "--json"]).json();
    assert_eq!(solved["stored_bits"], 24);
}

#[test]
fn the_fit_of_a_sparse_table_is_written_but_not_over_its_target() {
    let directory = tempfile::tempdir().unwrap();
    let a = matrix(directory.path(), "csr");
    let (target, out) = (directory.path().join("y.csv"), directory.path().join("fit.csv"));
    std::fs::write(&target, "2\n8\n3\n").unwrap();
    let base = ["fit", text(&a), "--target", text(&target), "--no-intercept", "--quiet", "--out"];
    spanwise(&[&base[..], &[text(&out)]].concat()).ended_with(0);
    assert!(std::fs::read_to_string(&out).unwrap().contains("\nc1,2"));
    let run = spanwise(&[&base[..], &[text(&target)]].concat());
    assert!(run.code == 2 && run.stderr.contains("y.csv: is also read"), "{}", run.stderr);
}

#[test]
fn what_a_sparse_table_cannot_do_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (a, csc) = (matrix(directory.path(), "csr"), matrix(directory.path(), "csc"));
    for (args, expected) in [
        (&["fit", text(&a), "--target", "1,2"][..], "2 numbers, the sparse matrix 3 rows"),
        (
            &["fit", text(&a), "--target", "1,2,3", "--model", "ridge", "--lambda", "1"],
            "`--model` does not apply",
        ),
        (&["fit", text(&a), "--target", "y"], "`--target`"),
        (&["fit", text(&csc), "--target", "1,2,3"], "unsupported type csc"),
    ] {
        let run = spanwise(args);
        assert!(run.code == 2 && run.stderr.contains(expected), "{args:?}: {}", run.stderr);
    }
}
