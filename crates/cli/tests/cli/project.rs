//! `spanwise project`: rows onto components, orthonormal bases, a change of basis; columns chosen as everywhere.

use crate::fit::longley;
use crate::harness::{npy, npy_f64, spanwise, text};
use serde_json::Value;
use spanwise_io::{read_tensor, read_tensors};
use std::fs;
use std::path::Path;

/// The numbers of a file's array.
fn array(path: &Path, name: &str) -> (Vec<usize>, Vec<f64>) {
    let found = read_tensors(path).unwrap();
    let (_, tensor) =
        found.into_iter().find(|(found, _)| found == name).unwrap_or_else(|| panic!("no {name}"));
    (tensor.dims().to_vec(), tensor.to_f64_vec())
}

fn numbers(json: &Value) -> Vec<f64> {
    match json {
        Value::Array(all) => all.iter().flat_map(numbers).collect(),
        one => vec![one.as_f64().unwrap()],
    }
}

#[test]
fn rows_are_seen_through_components_and_rebuilt() {
    let args = ["project", &longley(), "--components", "2", "--exclude", "TOTEMP"];
    insta::assert_snapshot!(spanwise(&args).ended_with(0));
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("seen.npz");
    let json = spanwise(&[&args[..], &["--json", "--out", text(&out)]].concat()).json();
    assert!(json.get("scores").is_none(), "the file has them");
    let (dims, scores) = array(&out, "scores");
    let (directions, mean) = (array(&out, "components").1, array(&out, "mean").1);
    let (rebuilt_dims, rebuilt) = array(&out, "rebuilt");
    assert_eq!((dims, rebuilt_dims), (vec![16, 2], vec![16, 6]));
    for i in 0..16 {
        for j in 0..6 {
            let again = mean[j] + scores[2 * i] * directions[j] + scores[2 * i + 1] * directions[6 + j];
            assert!((again - rebuilt[6 * i + j]).abs() <= 1e-10 * mean[j].abs(), "{i} {j}");
        }
    }
    // What is kept and what is missed are orthogonal: their squares add up.
    let (kept, missed) = (json["kept"].as_f64().unwrap(), json["relative_error"].as_f64().unwrap());
    assert!((kept + missed * missed - 1.0).abs() < 1e-14);
    // All components rebuild the rows.
    let json = spanwise(&["project", "1,2;3,4;5,7", "--components", "2", "--json"]).json();
    let rebuilt = numbers(&json["rebuilt"]);
    for (found, expected) in rebuilt.iter().zip([1.0, 2.0, 3.0, 4.0, 5.0, 7.0]) {
        assert!((found - expected).abs() < 1e-14, "{json}");
    }
    assert!(json["relative_error"].as_f64().unwrap() < 1e-15);
    let csv = directory.path().join("seen.csv");
    let args = ["project", "1,2;3,4;5,7", "--components", "1", "--out", text(&csv), "--quiet"];
    assert_eq!(spanwise(&args).ended_with(0), "");
    let written = fs::read_to_string(&csv).unwrap();
    assert!(written.starts_with("score 0,c0 rebuilt,c1 rebuilt,distance\n"), "{written}");
}

#[test]
fn a_basis_of_the_span_and_of_its_complement_make_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("basis.npz");
    // The third column is the sum of the others: two dimensions of four.
    let matrix = "1,0,1;0,1,1;1,1,2;2,3,5";
    let mut whole = Vec::new();
    for of in ["span", "complement"] {
        let args = ["project", matrix, "--basis", of, "--out", text(&file), "--json"];
        let json = spanwise(&args).json();
        assert_eq!((&json["of"], &json["rank"], &json["dimension"]), (&of.into(), &2.into(), &2.into()));
        assert!(json["departure"].as_f64().unwrap() < 1e-14 && json.get("directions").is_none(), "{json}");
        let (dims, numbers) = array(&file, of);
        assert_eq!(dims, [4, 2]);
        whole.push(numbers);
    }
    let column = |k: usize| -> Vec<f64> { (0..4).map(|i| whole[k / 2][2 * i + k % 2]).collect() };
    for a in 0..4 {
        for b in 0..4 {
            let dot: f64 = column(a).iter().zip(column(b)).map(|(a, b)| a * b).sum();
            assert!((dot - f64::from(u8::from(a == b))).abs() < 1e-14, "{a} {b}: {dot}");
        }
    }
    let page = spanwise(&["project", matrix, "--basis", "span"]).ended_with(0);
    assert!(page.contains("basis of the span of 3 columns of 4 rows, dimension 2"), "{page}");
    let page = spanwise(&["project", "1,0;0,1", "--basis", "complement"]).ended_with(0);
    assert!(page.contains("2 columns span all 2 dimensions: nothing is orthogonal to them"), "{page}");
    let page = spanwise(&["project", "0,0;0,0", "--basis", "span"]).ended_with(0);
    assert!(page.contains("every column is 0: its span has no direction"), "{page}");
    let json = spanwise(&["project", "1;2;2", "--basis", "span", "--intercept", "--json"]).json();
    assert_eq!((&json["dimension"], &json["columns"][0]), (&2.into(), &"intercept".into()));
}

#[test]
fn a_change_of_basis_leaves_the_prediction_as_it_was() {
    let change = ["project", "1,2;3,4;5,6", "--coefficients", "2,-1", "--change-of-basis", "1,1;1,-1"];
    insta::assert_snapshot!(spanwise(&change).ended_with(0));
    let json = spanwise(&[&change[..], &["--json"]].concat()).json();
    assert_eq!(numbers(&json["prediction"]), [0.0, 2.0, 4.0]);
    assert_eq!(numbers(&json["features"]), [3.0, -1.0, 7.0, -1.0, 11.0, -1.0]);
    assert!(json["error"].as_f64().unwrap() < 1e-15);
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("new.csv");
    spanwise(&[&change[..], &["--quiet", "--out", text(&out)]].concat()).ended_with(0);
    assert_eq!(fs::read_to_string(&out).unwrap(), "t0,t1,prediction\n3,-1,0\n7,-1,2\n11,-1,4\n");
    let run = spanwise(&["project", "1,2;3,4", "--coefficients", "1,1", "--change-of-basis", "1,1;1,1"]);
    assert_eq!(
        run.stderr,
        "error: `--change-of-basis`: project: `B` is singular to working precision; rank 1 of 2\n\
         hint: columns that depend on others span less; the same prediction needs all directions\n"
    );
}

#[test]
fn columns_are_chosen_and_rows_left_out_as_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let (file, out) = (directory.path().join("t.csv"), directory.path().join("parts.csv"));
    fs::write(&file, "a,k,b,y\n1,u,0,1\n2,v,,2\n3,u,1,5\n5,v,2,6\n7,u,9,4\n").unwrap();
    let file = text(&file);
    let drop = ["--missing", "drop", "--vector-column", "y", "--out", text(&out), "--json"];
    let json = spanwise(&[&["project", file], &drop[..]].concat()).json();
    assert_eq!(json["onto"], serde_json::json!(["a", "k=v", "b"]));
    assert_eq!(json["rows"], 4);
    let written = fs::read_to_string(&out).unwrap();
    let rows: Vec<&str> = written.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(rows, ["1", "3", "4", "5"], "{written}");
    for chosen in [["--columns", "a"], ["--onto", "a"], ["--exclude", "b,k"]] {
        let json =
            spanwise(&[&["project", file, "--vector-column", "y", "--json"], &chosen[..]].concat()).json();
        assert_eq!(json["onto"], serde_json::json!(["a"]), "{chosen:?}");
    }
    let json =
        spanwise(&["project", file, "--missing", "mean", "--columns", "a,b", "--basis", "span", "--json"]);
    assert_eq!(json.json()["rows"], 5);
}

#[test]
fn a_column_that_f32_cannot_tell_apart_adds_no_direction() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("short.npy");
    let row = |i: i32| {
        let (a, b) = ((f64::from(i) * 0.37).sin() as f32, (f64::from(i) * 0.71).cos() as f32);
        [a, b, 0.3 * a + 0.7 * b]
    };
    let bytes: Vec<u8> = (0..50).flat_map(row).flat_map(f32::to_le_bytes).collect();
    fs::write(&file, npy("<f4", "(50, 3)", &bytes)).unwrap();
    let json = spanwise(&["project", text(&file), "--basis", "span", "--json"]).json();
    assert_eq!(json["rank"], 2);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("e.csv");
    let x = "1,2;3,4;5,7";
    for (args, mentions) in [
        (&[x][..], &["--vector", "--components", "--basis", "--change-of-basis"][..]),
        (&[x, "--basis", "span", "--components", "1"], &["--basis", "--components"]),
        (&[x, "--components", "1", "--vector", "1,2,3"], &["--components", "--vector"]),
        (&[x, "--components", "1", "--intercept"], &["--components", "--intercept"]),
        (&[x, "--components", "0"], &["`--components` is 0; expected a number from 1 to 2"]),
        (&[x, "--components", "-1"], &["--components", "-1"]),
        (&[x, "--components", "3"], &["`--components` is 3; expected a number from 1 to 2"]),
        (&["1,2", "--components", "1"], &["`--components` needs rows that vary; the table has 1 row"]),
        (&[x, "--basis", "all"], &["--basis", "all", "span", "complement"]),
        (&[x, "--change-of-basis", "1,0;0,1"], &["--coefficients"]),
        (&[x, "--coefficients", "1,2"], &["--change-of-basis"]),
        (
            &[x, "--coefficients", "1,2", "--change-of-basis", "1,0"],
            &["`--change-of-basis` is 1 × 2, the table has 2 columns; expected 2 × 2"],
        ),
        (
            &[x, "--coefficients", "1,2,3", "--change-of-basis", "1,0;0,1"],
            &["`--coefficients` has length 3, the table has 2 columns; they must be equal"],
        ),
        (
            &[x, "--coefficients", "1,nan", "--change-of-basis", "1,0;0,1"],
            &["`--coefficients` holds NaN at position 2"],
        ),
        (&[x, "--onto", "c0", "--columns", "c1", "--basis", "span"], &["--onto", "--columns"]),
        (&[x, "--vector-column", "c0,c1"], &["no columns beside `--vector-column`", "--intercept"]),
        (
            &["1,0;0,1", "--basis", "complement", "--out", text(&out)],
            &["`--out`", "a basis without directions", ".npz"],
        ),
        (&[x, "--basis", "span", "--out", "basis.txt"], &["`--out`", "basis.txt", ".csv"]),
    ] {
        let run = spanwise(&[&["project"], args].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}: {}", run.stderr);
        for mention in mentions {
            assert!(run.stderr.contains(mention), "{args:?} {mention}: {}", run.stderr);
        }
    }
    assert!(!out.exists());
    // A complement too large for memory is refused before it is made.
    let large = directory.path().join("large.npy");
    let bytes: Vec<u8> = (0..20_000_i32).flat_map(|i| f64::from(i).to_le_bytes()).collect();
    fs::write(&large, npy("<f8", "(20000, 1)", &bytes)).unwrap();
    assert_eq!(read_tensor(&large).unwrap().dims(), [20_000, 1]);
    let run = spanwise(&["project", text(&large), "--basis", "complement"]);
    assert!(run.code == 2 && run.stderr.contains("expected at most 16384 rows"), "{}", run.stderr);
}

#[test]
fn a_vector_is_not_filled_in() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.csv");
    fs::write(&file, "a,b,y\n1,0,1\n2,,2\n3,1,\n5,2,6\n").unwrap();
    let run = spanwise(&["project", text(&file), "--vector-column", "y", "--missing", "mean"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(
        run.stderr.contains("t.csv:4:3 (column \"y\"): found nothing; expected a finite number"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("hint: `--missing drop` leaves such rows out\n"), "{}", run.stderr);
    // What it is projected onto is, as everywhere.
    fs::write(&file, "a,b,y\n1,0,1\n2,,2\n3,1,4\n5,2,6\n").unwrap();
    spanwise(&["project", text(&file), "--vector-column", "y", "--missing", "mean"]).ended_with(0);
}

#[test]
fn what_is_not_shown_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.npy");
    let numbers: Vec<f64> = (0..60 * 50).map(|i| f64::from(i * 7919 % 1009)).collect();
    fs::write(&file, npy_f64("(60, 50)", &numbers)).unwrap();
    let vectors: Vec<String> = (0..7).map(|j| format!("c{j}")).collect();
    let page = spanwise(&["project", text(&file), "--vector-column", &vectors.join(",")]).ended_with(0);
    assert!(page.contains("first 40 of 43 columns; all: --json"), "{page}");
    assert!(page.contains("first 6 of 7 vectors; all: --json"), "{page}");
    let page = spanwise(&["measure", text(&file)]).ended_with(0);
    assert!(page.contains("first 40 of 51 indices, the largest; all: --json"), "{page}");
}
