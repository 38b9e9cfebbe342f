//! Columns that depend on others, or nearly: rank, formula and coefficients, by `fit` and by `measure`, of rows kept and
//! streamed.

use crate::harness::{spanwise, text};
use serde_json::Value;
use std::fmt::Write;

/// A table by the names of its columns, the target `y` last; `row(i)` gives the features.
fn table(names: &str, rows: usize, row: impl Fn(f64) -> Vec<f64>, y: impl Fn(&[f64]) -> f64) -> String {
    let mut csv = format!("{names},y\n");
    for i in 0..rows {
        let x = row(i as f64);
        for x in &x {
            write!(csv, "{x:e},").unwrap();
        }
        writeln!(csv, "{:e}", y(&x)).unwrap();
    }
    csv
}

fn wave(i: f64, step: f64) -> f64 {
    (i * step).sin() + 0.3 * (i * step * 2.7).cos()
}

struct Found {
    rank: u64,
    formulas: Vec<String>,
    /// Without the intercept.
    estimates: Vec<f64>,
}

/// What `fit` finds with `more` options.
fn fitted(csv: &str, more: &[&str]) -> Found {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.csv");
    std::fs::write(&file, csv).unwrap();
    let json = spanwise(&[&["fit", text(&file), "--target", "y", "--json"], more].concat()).json();
    let strings = |list: &Value| {
        let formula = |one: &Value| one["formula"].as_str().unwrap().to_owned();
        list.as_array().unwrap().iter().map(formula).collect::<Vec<_>>()
    };
    let terms = json["coefficients"][0]["terms"].as_array().unwrap();
    Found {
        rank: json["rank"]["rank"].as_u64().unwrap(),
        formulas: strings(&json["dependencies"]),
        estimates: terms[1..].iter().map(|term| term["estimate"].as_f64().unwrap()).collect(),
    }
}

/// The same rank (the intercept counted) and formulas however it is computed; gives the estimates.
fn check(csv: &str, rank: u64, formulas: &[&str]) -> Vec<f64> {
    let (kept, streamed) = (fitted(csv, &[]), fitted(csv, &["--stream"]));
    for found in [&kept, &streamed] {
        assert_eq!(found.rank, rank);
        assert_eq!(found.formulas, formulas);
        assert!(found.estimates.iter().all(|c| c.abs() < 1e3), "{:?}", found.estimates);
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.csv");
    std::fs::write(&file, csv).unwrap();
    for more in [&[][..], &["--stream"]] {
        let args = [&["measure", text(&file), "--exclude", "y", "--json"], more].concat();
        let measured = spanwise(&args).json();
        let found = measured["dependencies"].as_array().unwrap().iter();
        let found: Vec<&str> = found.map(|one| one["formula"].as_str().unwrap()).collect();
        assert_eq!(found, formulas, "{more:?}");
    }
    kept.estimates
}

#[test]
fn a_column_that_is_another_plus_two() {
    let csv = table(
        "a,b,c",
        40,
        |i| vec![wave(i, 0.7), wave(i, 0.31), wave(i, 0.31) + 2.0],
        |x| 1.0 + 2.0 * x[0] + 4.0 * x[1],
    );
    let estimates = check(&csv, 3, &["c = b + 2"]);
    // Of all solutions the smallest: b and c share what is theirs.
    assert!((estimates[1] - 2.0).abs() < 1e-9 && (estimates[2] - 2.0).abs() < 1e-9, "{estimates:?}");
}

#[test]
fn a_column_twice() {
    let csv = table("a,b", 40, |i| vec![wave(i, 0.7); 2], |x| 3.0 * x[0] + 1.0);
    let estimates = check(&csv, 2, &["b = a"]);
    assert!((estimates[0] - 1.5).abs() < 1e-9 && (estimates[1] - 1.5).abs() < 1e-9, "{estimates:?}");
}

#[test]
fn one_column_per_level_with_an_intercept() {
    let level = |i: f64, of: f64| f64::from(u8::from(i % 3.0 == of));
    let csv = table(
        "east,north,south",
        40,
        |i| vec![level(i, 0.0), level(i, 1.0), level(i, 2.0)],
        |x| 5.0 + x[0] - x[1],
    );
    check(&csv, 3, &["south = -east - north + 1"]);
}

#[test]
fn a_column_that_nearly_depends_by_a_billionth_keeps_its_own_coefficient() {
    let near = |i: f64| wave(i, 0.7) + 1e-9 * wave(i, 1.9);
    let csv = table("a,b", 40, |i| vec![wave(i, 0.7), near(i)], |x| 1.0 + 2.0 * x[0] + 3.0 * x[1]);
    let estimates = check(&csv, 3, &[]);
    assert!((estimates[0] - 2.0).abs() < 1e-4 && (estimates[1] - 3.0).abs() < 1e-4, "{estimates:?}");
}

#[test]
fn more_columns_than_rows() {
    let row = |i: f64| (1..=6).map(|j| wave(i, 0.37 * f64::from(j))).collect();
    let csv = table("a,b,c,d,e,f", 4, row, |x| x[0] - x[3]);
    for found in [fitted(&csv, &[]), fitted(&csv, &["--stream"])] {
        assert_eq!((found.rank, found.formulas.len()), (4, 3));
        assert!(["d", "e", "f"].iter().zip(&found.formulas).all(|(name, formula)| formula.starts_with(name)));
        assert!(found.estimates.iter().all(|c| c.abs() < 10.0), "{:?}", found.estimates);
    }
}

#[test]
fn a_constant_column_beside_the_intercept() {
    let csv = table("a,k", 40, |i| vec![wave(i, 0.7), 5.0], |x| 1.0 + 2.0 * x[0]);
    let estimates = check(&csv, 2, &["k = 5"]);
    assert!((estimates[0] - 2.0).abs() < 1e-9 && estimates[1].abs() < 1e-9, "{estimates:?}");
}

#[test]
fn scales_of_1e_12_and_1e12_side_by_side_are_independent() {
    let csv = table(
        "a,b",
        40,
        |i| vec![1e-12 * wave(i, 0.7), 1e12 * wave(i, 0.31)],
        |x| 2.0 * (x[0] * 1e12) + 3.0 * (x[1] * 1e-12),
    );
    for found in [fitted(&csv, &[]), fitted(&csv, &["--stream"])] {
        assert_eq!((found.rank, found.formulas.len()), (3, 0));
        let scaled = [found.estimates[0] * 1e-12, found.estimates[1] * 1e12];
        assert!((scaled[0] - 2.0).abs() < 1e-9 && (scaled[1] - 3.0).abs() < 1e-9, "{scaled:?}");
    }
}
