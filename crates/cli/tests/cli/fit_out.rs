//! `fit --out`: the fit itself as a file.

use crate::harness::{Run, spanwise, text};
use std::fs;

struct Table {
    directory: tempfile::TempDir,
}

impl Table {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let row = |i: u32| {
            format!("{},{},{},{}\n", i % 5, (i * 7) % 11, (i * 3) % 7 + i % 5, ["u", "v"][i as usize % 2])
        };
        let rows: String = (0..40).map(row).collect();
        fs::write(directory.path().join("t.csv"), format!("a,b,y,k\n{rows}")).unwrap();
        Table { directory }
    }

    fn at(&self, name: &str) -> String {
        text(&self.directory.path().join(name)).to_owned()
    }

    /// `@` is the directory.
    fn run(&self, words: &str) -> Run {
        let words = words.replace('@', &format!("{}/", text(self.directory.path())));
        spanwise(&words.split(' ').collect::<Vec<_>>())
    }

    fn refused(&self, words: &str, parts: &[&str]) {
        let run = self.run(words);
        assert_eq!(run.code, 2, "{words}: {}", run.stdout);
        for part in parts {
            assert!(run.stderr.contains(part), "{words}: {part:?} in {}", run.stderr);
        }
    }
}

#[test]
fn every_model_is_written_as_json_as_text_and_as_a_table_of_what_it_has() {
    let table = Table::new();
    let all = "name,coefficient,standard error,t,p,lower 95 %,upper 95 %,digits";
    for (model, header, terms) in [
        ("least-squares", all, 4),
        ("ridge", "name,coefficient", 4),
        ("nonnegative", "name,coefficient", 4),
        ("simplex", "name,coefficient", 3),
        ("logistic", "class,name,coefficient,standard error,z,p,lower 95 %,upper 95 %", 4),
        ("softmax", "class,name,coefficient,standard error,z,p,lower 95 %,upper 95 %", 4),
        ("kernel", "", 0),
    ] {
        let target = if header.starts_with("class") { "k" } else { "y" };
        let base = format!("fit @t.csv --target {target} --model {model}");
        let json = table.run(&format!("{base} --json --out @f.json")).ended_with(0);
        assert_eq!(fs::read_to_string(table.at("f.json")).unwrap(), json, "{model}");
        let page = table.run(&format!("{base} --color always --out @f.txt")).ended_with(0);
        let file = fs::read_to_string(table.at("f.txt")).unwrap();
        assert!(!file.contains('\u{1b}') && page.contains("f.txt"), "{model}: {file}");
        assert_eq!(file, table.run(&base).ended_with(0), "{model}");
        if terms == 0 {
            table.refused(&format!("{base} --out @f.csv"), &["f.csv: a kernel model has no coefficients"]);
            continue;
        }
        assert_eq!(table.run(&format!("{base} --quiet --out @f.csv")).ended_with(0), "");
        let csv = fs::read_to_string(table.at("f.csv")).unwrap();
        assert_eq!(csv.lines().next(), Some(header), "{model}");
        assert_eq!(csv.lines().count(), 1 + terms, "{model}: {csv}");
        table.run(&format!("{base} --out @f.parquet")).ended_with(0);
        assert_eq!(fs::read(table.at("f.parquet")).unwrap()[..4], *b"PAR1");
    }
}

#[test]
fn a_table_of_coefficients_holds_what_is_printed_in_full() {
    let table = Table::new();
    let json = table.run("fit @t.csv --target y --confidence 0.9 --stream --json --out @c.csv").json();
    let csv = fs::read_to_string(table.at("c.csv")).unwrap();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("name,coefficient,standard error,t,p,lower 90 %,upper 90 %,digits"));
    for (line, term) in lines.zip(json["coefficients"][0]["terms"].as_array().unwrap()) {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[0], term["name"].as_str().unwrap());
        let numbers = [&term["estimate"], &term["standard_error"], &term["statistic"], &term["p_value"]];
        for (field, number) in fields[1..].iter().zip(numbers) {
            assert_eq!(field.parse::<f64>().ok(), number.as_f64(), "{line}");
        }
    }
    // A coefficient that the rows do not determine has no error: its field is empty.
    fs::write(table.at("t.csv"), "a,b,y\n1,2,1\n2,4,3\n3,6,2\n5,10,4\n").unwrap();
    table.run("fit @t.csv --target y --quiet --out @c.csv").ended_with(0);
    let csv = fs::read_to_string(table.at("c.csv")).unwrap();
    assert!(!csv.contains("NaN"), "{csv}");
}

#[test]
fn files_that_cannot_be_meant_are_refused_before_anything_is_read() {
    let table = Table::new();
    table.refused("fit @t.csv --target y --out @f.npz", &["f.npz", "expected .json, .txt, .csv or .parquet"]);
    table.refused("fit @t.csv --target y --out @t.csv", &["`--out`", "is also read"]);
    table.refused("fit @t.csv --target y --out @no/f.json", &["`--out`", "there is no directory"]);
    table.refused(
        "fit @t.csv --target y --out @r.csv --rows @r.csv",
        &["`--out` and `--rows` are the same file"],
    );
    table.refused(
        "fit @t.csv --target y --out @./r.csv --rows @r.csv",
        &["`--out` and `--rows` are the same file"],
    );
    table.refused(
        "fit @t.csv --target y --out @s.txt --summary-out @s.txt",
        &["`--out` and `--summary-out` are the same file"],
    );
    table.refused(
        "fit @t.csv --target y --predict @t.csv --out @f.json",
        &["f.json", "expected .csv or .parquet"],
    );
    table.refused("fit @t.csv --target y --predict @t.csv", &["--out"]);
    // None of the files of a call that fails appears.
    table.refused(
        "fit @t.csv --target y --summary-out @s.sum --out @f.json --rows /proc/r.csv",
        &["/proc/r.csv"],
    );
    assert!(!fs::exists(table.at("f.json")).unwrap() && !fs::exists(table.at("s.sum")).unwrap());
}

#[test]
fn rows_to_predict_that_break_a_dependency_are_counted_and_have_no_interval() {
    let table = Table::new();
    let row = |i: u32| format!("{},{},{}\n", i % 7, i % 7 + 2, 3 * (i % 7) + i % 4);
    let rows: String = (0..40).map(row).collect();
    fs::write(table.at("d.csv"), format!("b,c,y\n{rows}")).unwrap();
    fs::write(table.at("new.csv"), "b,c\n1,3\n2,9\n0,2\n").unwrap();
    for way in ["", " --stream"] {
        let page =
            table.run(&format!("fit @d.csv --target y --predict @new.csv --out @p.csv{way}")).ended_with(0);
        let words: Vec<&str> = page.split_whitespace().collect();
        let sentence =
            "1 of 3 rows to predict breaks `c = b + 2`: its prediction is not determined by the data";
        assert!(words.join(" ").contains(sentence), "{page}");
        let file = fs::read_to_string(table.at("p.csv")).unwrap();
        let without: Vec<bool> = file.lines().skip(1).map(|line| line.ends_with(",,")).collect();
        assert_eq!(without, [false, true, false], "{file}");
    }
}

#[test]
fn weights_that_others_could_replace_are_said_to_be() {
    let table = Table::new();
    let row = |i: u32| format!("{},{},{},{}\n", i % 7, i % 7, i % 5, 3 * (i % 7) + i % 4);
    let rows: String = (0..40).map(row).collect();
    fs::write(table.at("d.csv"), format!("a,a2,b,y\n{rows}")).unwrap();
    for model in ["nonnegative", "simplex"] {
        let page = table.run(&format!("fit @d.csv --target y --model {model}")).ended_with(0);
        assert!(page.contains("other weights fit as well"), "{page}");
        let page = table.run(&format!("fit @d.csv --target y --model {model} --exclude a2")).ended_with(0);
        assert!(!page.contains("other weights fit as well"), "{page}");
    }
}

#[test]
fn what_the_library_refuses_is_said_in_options() {
    let table = Table::new();
    fs::write(table.at("one.csv"), "a,y,w\n1,2,0\n").unwrap();
    table.refused("fit @one.csv --target y --columns a --model ridge", &["too few", "hint: `--lambda L`"]);
    table.refused("fit @one.csv --target y --weights w", &["`--weights`", "adds up to 0"]);
    // All weight lies in one row, so whatever fold it is in has no others.
    fs::write(table.at("few.csv"), "a,y,w\n1,2,1\n2,5,0\n3,7,0\n4,1,0\n").unwrap();
    for way in ["", " --stream"] {
        let words = format!("fit @few.csv --target y --weights w --model ridge --choose kfold:2{way}");
        table.refused(&words, &["too few", "hint: `--lambda L`"]);
    }
}
