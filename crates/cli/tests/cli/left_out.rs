//! Rows that `--missing drop` leaves out are counted, and what is written says which rows are there.

use crate::files::{Files, table};
use serde_json::Value;

/// Nine rows of which the third has no `b`.
fn with_a_gap() -> Files {
    let b = |i: usize| if i == 2 { String::new() } else { (i % 5).to_string() };
    let row = |i: usize| format!("{},{},{}", i * i % 7, b(i), i * i % 11);
    Files::new(&[("t.csv", &table("a,b,y", 9, row))])
}

/// The findings of this name, as sentences.
fn sentences(json: &Value, name: &str) -> Vec<String> {
    let all = json["findings"].as_array().unwrap().iter().filter(|finding| finding["name"] == name);
    all.map(|finding| finding["sentence"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_verb_says_how_many_rows_it_left_out() {
    let files = with_a_gap();
    for line in [
        "fit @t.csv --target y",
        "explain @t.csv --target y",
        "measure @t.csv",
        "measure @t.csv --stream",
        "decompose @t.csv --kind qr",
        "decompose @t.csv --kind pca",
        "decompose @t.csv --kind svd --stream",
        "project @t.csv --vector-column y",
        "project @t.csv --components 2",
        "project @t.csv --basis span",
        "project @t.csv --coefficients 1,2,3 --change-of-basis 1,0,0;0,1,0;0,0,1",
    ] {
        let said = "1 row of 9 was left out: a value was missing";
        let json = files.run(&format!("{line} --missing drop --json")).json();
        assert_eq!(sentences(&json, "missing-values"), [said], "{line}");
        let page = files.page(&format!("{line} --missing drop"));
        assert!(page.contains(&format!("· note {said}")), "{line}: {page}");
    }
    for line in ["fit @t.csv --target y", "measure @t.csv", "decompose @t.csv --kind qr"] {
        let page = files.page(&format!("{line} --missing drop --exclude b"));
        assert!(!page.contains("left out: a value"), "{line}: {page}");
    }
    for line in ["measure @t.csv", "decompose @t.csv --kind pca", "project @t.csv --basis span"] {
        let json = files.run(&format!("{line} --missing mean --json")).json();
        let said = "the column's mean took the place of 1 missing value: columns vary less than they would";
        assert_eq!(sentences(&json, "filled-values"), [said], "{line}");
    }
}

#[test]
fn rows_to_predict_that_are_left_out_are_counted() {
    let files = with_a_gap();
    let line = "fit @t.csv --target y --predict @t.csv --out p.csv --missing";
    let json = files.run(&format!("{line} drop --json")).json();
    let said = [
        "1 row of 9 was left out: a value was missing",
        "1 of 9 rows to predict was left out: a value was missing; `row` says which are there",
    ];
    assert_eq!(sentences(&json, "missing-values"), said);
    let written = std::fs::read_to_string(files.path("p.csv")).unwrap();
    let rows: Vec<&str> = written.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(rows, ["1", "2", "4", "5", "6", "7", "8", "9"]);
    let json = files.run(&format!("{line} mean --json")).json();
    let said = "the column's mean took the place of 1 missing value in rows to predict";
    assert_eq!(sentences(&json, "filled-values")[1], said);
}

#[test]
fn arrays_with_a_row_for_each_that_is_left_have_their_numbers_beside_them() {
    let files = with_a_gap();
    let rows = || {
        let arrays = spanwise_io::read_tensors(files.path("o.npz")).unwrap();
        arrays.into_iter().find(|(name, _)| name == "row").map(|(_, array)| array.to_f64_vec())
    };
    for line in [
        "decompose @t.csv --kind qr",
        "decompose @t.csv --kind pivoted-qr",
        "decompose @t.csv --kind svd",
        "decompose @t.csv --kind low-rank --rank 1",
        "project @t.csv --components 2",
        "project @t.csv --vector-column y",
    ] {
        files.run(&format!("{line} --missing drop --out o.npz --quiet")).ended_with(0);
        assert_eq!(rows().unwrap(), [1.0, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], "{line}");
        files.run(&format!("{line} --exclude b --out o.npz --quiet")).ended_with(0);
        assert_eq!(rows(), None, "{line}: no row can be missing");
    }
    files.run("decompose @t.csv --kind pca --missing drop --out o.npz --quiet").ended_with(0);
    assert_eq!(rows(), None, "components have no rows of the table");
}
