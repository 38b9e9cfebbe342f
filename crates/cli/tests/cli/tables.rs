//! Tables of every format through `fit`, what their first row is, and files that are written together.

use crate::harness::{spanwise, spanwise_reading, text};
use spanwise_io::{Column, Table, Tensor, Values, write_table, write_tensors};
use std::fs;
use std::path::Path;

const ROWS: usize = 30;

fn columns() -> Vec<Column> {
    let column = |name: &str, f: &dyn Fn(f64) -> f64| Column {
        name: name.to_owned(),
        values: Values::Numbers((0..ROWS).map(|i| f(i as f64)).collect()),
    };
    let x = |i: f64| (i * 0.7).sin();
    vec![column("x", &x), column("y", &move |i| 3.0 * x(i) + 1.0 + 0.01 * (i * 1.3).cos())]
}

/// The estimate of the slope.
fn slope(file: &str, target: &str, more: &[&str]) -> f64 {
    let json = spanwise(&[&["fit", file, "--target", target, "--json", "--quiet"], more].concat()).json();
    json["coefficients"][0]["terms"][1]["estimate"].as_f64().unwrap()
}

#[test]
fn every_format_gives_the_same_fit() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let table = Table::new(columns()).unwrap();
    write_table(path("t.csv"), &table).unwrap();
    write_table(path("t.parquet"), &table).unwrap();
    let csv = fs::read_to_string(path("t.csv")).unwrap();
    fs::write(path("t.tsv"), csv.replace(',', "\t")).unwrap();
    let expected = slope(text(&path("t.csv")), "y", &[]);
    assert!((expected - 3.0).abs() < 0.01, "{expected}");
    for name in ["t.parquet", "t.tsv"] {
        assert_eq!(slope(text(&path(name)), "y", &[]), expected, "{name}");
        let streamed = slope(text(&path(name)), "y", &["--stream"]);
        assert!((streamed / expected - 1.0).abs() < 1e-13, "{name}: {streamed} {expected}");
    }
    // Arrays have no names: their columns are c0, c1, ….
    let numbers: Vec<f64> = (0..2 * ROWS)
        .map(|at| match &table.columns()[at % 2].values {
            Values::Numbers(numbers) => numbers[at / 2],
            Values::Categories(_) => unreachable!("the table holds numbers alone"),
        })
        .collect();
    let tensor = Tensor::new(numbers, &[ROWS, 2]).unwrap();
    write_tensors(path("t.npz"), &[("data", &tensor), ("other", &tensor)]).unwrap();
    assert_eq!(slope(&format!("{}:data", text(&path("t.npz"))), "c1", &[]), expected);
}

#[test]
fn an_arrow_table_is_fitted_and_streamed() {
    // As pyarrow wrote them: n is 1, 2, 3, 4 where ok is true, false, true, true.
    for name in ["stream.arrow", "lz4.feather"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../io/tests/data").join(name);
        for more in [&["--columns", "ok"][..], &["--columns", "ok", "--stream"]] {
            let found = slope(text(&file), "n", more);
            assert!((found - 2.0 / 3.0).abs() < 1e-14, "{name}: {found}");
        }
    }
}

#[test]
fn tabs_on_standard_input_are_a_tsv() {
    let tsv = "y\tx\n1\t1\n3\t2\n5\t3\n7.5\t4\n";
    let page = spanwise_reading(tsv.as_bytes(), &["fit", "-", "--target", "y"]).ended_with(0);
    assert!(page.contains("`y` on 1 column"), "{page}");
}

#[test]
fn a_first_row_of_numbers_is_data_and_that_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("years.csv");
    fs::write(&file, "2019,2020\n1,2\n2,4.5\n3,6\n").unwrap();
    let run = spanwise(&["fit", text(&file), "--target", "c1"]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("4 read") && run.stderr.contains("was read as data"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: `--header`"), "{}", run.stderr);
    let confirmed = spanwise(&["fit", text(&file), "--target", "c1", "--no-header"]).ended_with(0);
    assert_eq!(confirmed, run.stdout);
    let named = spanwise(&["fit", text(&file), "--target", "2020", "--header"]).ended_with(0);
    assert!(named.contains("least squares: 2020") && named.contains("3 read"), "{named}");
    let piped = spanwise_reading(b"1,2\n2,4.5\n3,6\n", &["measure", "-"]);
    assert!(piped.code == 0 && piped.stderr.contains("was read as data"), "{}", piped.stderr);
}

#[test]
fn files_of_one_call_are_written_together_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("t.csv"), "y,x\n1,1\n3,2\n5,3\n7.5,4\n").unwrap();
    fs::write(path("bad.csv"), "x\n1\nno number\n").unwrap();
    fs::write(path("rows.csv"), "precious").unwrap();
    let (rows, summary, out) = (path("rows.csv"), path("s.sum"), path("p.csv"));
    let base = [
        "fit",
        text(&path("t.csv")),
        "--target",
        "y",
        "--rows",
        text(&rows),
        "--summary-out",
        text(&summary),
    ]
    .map(str::to_owned);
    let run = |file: &str| {
        let more = ["--predict", file, "--out", text(&out), "--quiet"].map(str::to_owned);
        let args = [&base[..], &more[..]].concat();
        spanwise(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // The last of three files fails: its table has text where the model has a number.
    assert_eq!(run(text(&path("bad.csv"))).code, 2);
    assert_eq!(fs::read_to_string(&rows).unwrap(), "precious");
    assert!(!summary.exists() && !out.exists());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
    run(text(&path("t.csv"))).ended_with(0);
    assert!(summary.exists() && out.exists() && fs::read_to_string(&rows).unwrap().starts_with("row,"));
}

#[test]
fn a_directory_that_is_not_there_is_named_with_what_makes_it() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("no").join("o.npy");
    let run = spanwise(&["solve", "--a", "1,0;0,1", "--b", "1,2", "--out", text(&out)]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("there is no directory") && run.stderr.contains("hint: `mkdir -p"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_table_of_coefficients_fits_the_page_and_a_narrow_terminal() {
    let longley = crate::fit::longley();
    let table = |page: &str| -> Vec<String> {
        page.lines()
            .skip_while(|line| !line.starts_with("term"))
            .take_while(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let page = spanwise(&["fit", &longley, "--target", "TOTEMP"]).ended_with(0);
    assert!(table(&page).iter().all(|line| line.chars().count() <= 80), "{page}");
    let squares =
        spanwise(&["fit", &longley, "--target", "TOTEMP", "--columns", "GNP,YEAR,UNEMP", "--degree", "3"]);
    let page = squares.ended_with(0);
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
}
