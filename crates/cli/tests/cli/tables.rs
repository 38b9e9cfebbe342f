//! Tables of every format through `fit`, what their first row is, and files that are written together.

use crate::harness::{spanwise, spanwise_reading, text};
use spanwise_io::{Column, Table, Tensor, Values, write_table, write_tensors};
use std::fmt::Write;
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

#[test]
fn a_word_behind_the_first_batch_is_noticed() {
    const LONG: usize = 70_000;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("long.csv");
    let run = |last: &str, more: &[&str]| {
        let mut rows = "a,b,y\n".to_owned();
        for i in 0..LONG {
            writeln!(rows, "{},{},{}", i % 11, i % 7, i % 13).unwrap();
        }
        fs::write(&file, rows + &format!("1,{last},1\n")).unwrap();
        spanwise(&[&["fit", text(&file)], more].concat())
    };
    let cautioned = run("n/k", &["--target", "y", "--columns", "b"]);
    let said = "long.csv, column 2 (column \"b\"): found \"n/k\"; 7 of 8 different values are numbers";
    assert!(cautioned.code == 0 && cautioned.stderr.contains(said), "{}", cautioned.stderr);
    let refused = run("\"2,5\"", &["--target", "y"]);
    let said = "long.csv, column 2 (column \"b\"): found \"2,5\"; a comma inside a number is not read";
    assert!(refused.code == 2 && refused.stderr.contains(said), "{}", refused.stderr);
    let target = run("n/k", &["--target", "b"]);
    let said = "long.csv, column 2 (column \"b\"): found \"n/k\"; `--target` names a column of numbers";
    assert!(target.code == 2 && target.stderr.contains(said), "{}", target.stderr);
}

#[test]
fn few_different_numbers_among_words_are_counted_by_rows() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.csv");
    fs::write(&file, "b,y\n0,1\n1,2\n0,4\n0,3\nlow,2\nhigh,2\n1,7\n").unwrap();
    let run = spanwise(&["fit", text(&file), "--target", "y"]);
    let said = "t.csv:6:1 (column \"b\"): found \"low\"; 5 of the first 7 values are numbers";
    assert!(run.code == 0 && run.stderr.contains(said), "{}", run.stderr);
}

#[test]
fn a_delimiter_is_refused_for_every_file_that_is_no_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let tensor = Tensor::new((0..8).map(|i| f64::from(i * i)).collect(), &[4, 2]).unwrap();
    write_tensors(path("m.safetensors"), &[("layers.0.weight", &tensor), ("other", &tensor)]).unwrap();
    write_tensors(path("m.npz"), &[("a", &tensor), ("b", &tensor)]).unwrap();
    write_table(path("t.parquet"), &Table::new(columns()).unwrap()).unwrap();
    write_table(path("t.csv"), &Table::new(columns()).unwrap()).unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../io/tests/data/stream.arrow");
    fs::copy(data, path("t.arrows")).unwrap();
    for name in ["m.safetensors:layers.0.weight", "m.npz:a", "t.parquet", "t.arrows"] {
        let run = spanwise(&["measure", text(&path(name)), "--delimiter", ";"]);
        let said = run.stderr.contains("`--delimiter`: ") && run.stderr.contains("is no text file");
        assert!(run.code == 2 && said, "{name}: {}", run.stderr);
    }
    let piped = fs::read(path("t.parquet")).unwrap();
    let run = spanwise_reading(&piped, &["measure", "-", "--delimiter", ";"]);
    assert!(run.code == 2 && run.stderr.contains("is no text file"), "{}", run.stderr);
    // It is for the text that was fitted; rows to predict may come as they like.
    let semicolons = fs::read_to_string(path("t.csv")).unwrap().replace(',', ";");
    fs::write(path("semi.csv"), semicolons).unwrap();
    let (semi, rows, out) = (path("semi.csv"), path("t.parquet"), path("p.csv"));
    let words = ["fit", text(&semi), "--target", "y", "--delimiter", ";", "--quiet"];
    spanwise(&[&words[..], &["--predict", text(&rows), "--out", text(&out)]].concat()).ended_with(0);
}

/// A file of truth values, as pandas and pyarrow wrote it.
fn truths(name: &str) -> String {
    text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../io/tests/data").join(name)).to_owned()
}

#[test]
fn truth_values_are_the_same_feature_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    let files = [truths("pandas.csv"), truths("snappy.parquet")];
    let fit = |file: &str, more: &[&str]| {
        spanwise(&[&["fit", file, "--target", "n", "--columns", "ok", "--json", "--quiet"], more].concat())
            .json()
    };
    let expected = fit(&files[0], &[])["coefficients"].clone();
    assert_eq!(expected[0]["terms"][1]["name"], "ok");
    assert_eq!(fit(&files[1], &[])["coefficients"], expected);
    for (file, other) in [(&files[0], &files[1]), (&files[1], &files[0])] {
        let out = directory.path().join("predicted.csv");
        let predict =
            ["fit", file, "--target", "n", "--columns", "ok", "--predict", other, "--quiet", "--out"];
        spanwise(&[&predict[..], &[text(&out)]].concat()).ended_with(0);
        assert_eq!(fs::read_to_string(&out).unwrap().lines().count(), 5, "{file} {other}");
    }
    // Words where they are asked for, the same in both.
    for more in [&["--categories", "ok"][..], &["--categories", "ok", "--reference", "ok=False"]] {
        let words = files.each_ref().map(|file| fit(file, more)["coefficients"].clone());
        assert_eq!(words[0], words[1], "{more:?}");
        let name = words[0][0]["terms"][1]["name"].as_str().unwrap();
        assert!(name.starts_with("ok="), "{name}");
    }
    let name = fit(&files[0], &["--reference", "ok=False"])["coefficients"][0]["terms"][1]["name"].clone();
    assert_eq!(name, "ok=True");
}

#[test]
fn truth_values_are_classes_of_a_target_and_numbers_where_numbers_are_needed() {
    let explained = ["pandas.csv", "snappy.parquet"].map(|name| {
        spanwise(&["explain", &truths(name), "--target", "ok", "--columns", "n", "--json", "--quiet"]).json()
    });
    for found in &explained {
        assert_eq!(found["subject"]["classes"], serde_json::json!(["False", "True"]), "{}", found["subject"]);
    }
    assert_eq!(explained[0]["findings"], explained[1]["findings"]);
    let more: [&[&str]; 2] = [&["--columns", "n"], &["--columns", "n", "--weights", "w"]];
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.csv");
    fs::write(&file, "ok,n,w\nTRUE,1,true\nFALSE,2,false\nTRUE,3,true\nTRUE,4,true\nFALSE,5,true\n").unwrap();
    assert!(slope(text(&file), "ok", more[1]) < 0.0);
    let slopes = ["pandas.csv", "snappy.parquet"].map(|name| slope(&truths(name), "ok", more[0]));
    assert_eq!(slopes[0], slopes[1]);
}
