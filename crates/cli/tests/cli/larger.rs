//! Tables larger than memory: models of rows that were not kept beside the same of rows that were.

use crate::harness::{spanwise, spanwise_reading, text};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Rows with a category, weights and some missing values, from a counter.
fn sales(rows: std::ops::Range<u32>) -> String {
    let mut csv = "price,area,age,far,region,w\n".to_owned();
    for i in rows {
        let noise = |k: u32| f64::from(i.wrapping_mul(2_654_435_761).rotate_left(k) % 1000) / 1000.0;
        let (area, age, far) = (50.0 + 100.0 * noise(3), 30.0 * noise(11), 1e6 + noise(7));
        let region = (i % 3) as usize;
        let price = 3.0 * area + 0.5 * age + [0.0, 20.0, -7.0][region] + 5.0 * noise(19);
        let age = if i % 97 == 5 { String::new() } else { age.to_string() };
        let region = ["north", "south", "west"][region];
        writeln!(csv, "{price},{area},{age},{far},{region},{}", i % 4).unwrap();
    }
    csv
}

fn with_sales() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sales.csv");
    fs::write(&file, sales(0..4000)).unwrap();
    let file = text(&file).to_owned();
    (directory, file)
}

fn json(words: &str) -> Value {
    spanwise(&words.split(' ').collect::<Vec<_>>()).json()
}

fn refused(words: &str, parts: &[&str]) {
    let run = spanwise(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(run.code, 2, "{words}: {}", run.stdout);
    for part in parts {
        assert!(run.stderr.contains(part), "{words}: {part:?} in {}", run.stderr);
    }
}

fn alike(a: &Value, b: &Value, share: f64, what: &str) {
    let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
    assert!((a - b).abs() <= share * b.abs().max(1e-3), "{what}: {a} {b}");
}

/// The same coefficients, penalties and errors; `streamed` of rows that were not kept.
fn same(streamed: &Value, kept: &Value, what: &str) {
    assert_eq!(streamed["computation"]["streamed"], Value::Bool(true), "{what}");
    assert_eq!(kept["computation"]["streamed"], Value::Bool(false), "{what}");
    assert_eq!(streamed["computation"]["rows_used"], kept["computation"]["rows_used"], "{what}");
    let terms = |value: &Value| value["coefficients"][0]["terms"].as_array().unwrap().clone();
    assert_eq!(terms(streamed).len(), terms(kept).len(), "{what}");
    for (a, b) in terms(streamed).iter().zip(&terms(kept)) {
        assert_eq!(a["name"], b["name"]);
        alike(&a["estimate"], &b["estimate"], 1e-6, &format!("{what}, {}", a["name"]));
    }
    alike(&streamed["measures"]["residual_squares"], &kept["measures"]["residual_squares"], 1e-8, what);
    let tried = |value: &Value| value["tried"].as_array().cloned().unwrap_or_default();
    for (a, b) in tried(streamed).iter().zip(&tried(kept)) {
        alike(&a["error"], &b["error"], 1e-6, what);
        assert_eq!(a["chosen"], b["chosen"], "{what}");
    }
}

#[test]
fn models_that_a_summary_determines_are_the_same_of_rows_that_are_not_kept() {
    let (_directory, file) = with_sales();
    for model in [
        "ridge --lambda 3",
        "ridge --lambda 0 --no-intercept",
        "ridge",
        "ridge --choose loo --lambdas 0.01,1,100",
        "ridge --choose kfold:7",
        "nonnegative",
        "nonnegative --no-intercept",
        "simplex",
    ] {
        for weights in ["--exclude w", "--weights w"] {
            let base = format!("fit {file} --target price {weights} --missing drop --json --model {model}");
            same(&json(&format!("{base} --stream")), &json(&base), &base);
        }
    }
}

#[test]
fn the_unit_of_weights_does_not_change_what_is_said_of_the_residual() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| text(&directory.path().join(name)).to_owned();
    let note = |scale: u32, more: &str| {
        let row = |i: u32| format!("{},{},{}\n", i % 5, (i * 7) % 11 + i % 5, scale * (1 + i % 3));
        fs::write(at("t.csv"), format!("x,y,w\n{}", (0..30).map(row).collect::<Vec<_>>().concat())).unwrap();
        let fit =
            json(&format!("fit {} --target y --weights w --model nonnegative --json{more}", at("t.csv")));
        fit["findings"][0]["sentence"].as_str().unwrap().to_owned()
    };
    let plain = note(1, "");
    assert!(plain.contains("of the target's length"), "{plain}");
    for (scale, more) in [(100, ""), (1, " --stream"), (100, " --stream")] {
        assert_eq!(note(scale, more), plain);
    }
}

#[test]
fn rows_beyond_the_memory_go_and_a_summary_larger_than_they_are_does_not_come() {
    let (directory, _) = with_sales();
    let file = directory.path().join("long.csv");
    let mut long = "a,b,y\n".to_owned();
    for i in 0..90_000 {
        writeln!(long, "{},{},{}", i % 17, i % 1013, (i * 7) % 31).unwrap();
    }
    fs::write(&file, long).unwrap();
    let base = format!("fit {} --target y --model ridge --lambda 1 --json", text(&file));
    same(&json(&format!("{base} --memory 1")), &json(&base), &base);
    assert_eq!(
        json(&format!("decompose {} --kind pca --memory 1 --json", text(&file)))["method"],
        SUMMARISED
    );
    // Fewer numbers than the triangle of so many columns has.
    let wide: String = (0..30).map(|i| vec![(i % 7).to_string(); 200].join(",") + "\n").collect();
    fs::write(&file, wide).unwrap();
    let base =
        format!("fit {} --target c0 --model ridge --lambda 1 --json --memory 0 --no-header", text(&file));
    assert_eq!(json(&base)["computation"]["streamed"], Value::Bool(false));
}

#[test]
fn a_table_that_comes_by_once_is_parted_into_folds_where_nothing_else_was_said() {
    let (_directory, file) = with_sales();
    let csv = fs::read(&file).unwrap();
    let run = |words: &str| spanwise_reading(&csv, &words.split(' ').collect::<Vec<_>>());
    let base = "fit - --target price --missing drop --model ridge";
    let page = run(&format!("{base} --stream")).ended_with(0);
    assert!(page.contains("chosen by 10 folds (rows that come by once cannot"), "{page}");
    let folds = run(&format!("{base} --stream --choose kfold:10 --json")).json();
    let chosen = run(&format!("{base} --stream --json")).json();
    assert_eq!(chosen["tried"], folds["tried"]);
    // Kept rows are left out one by one.
    assert!(run(base).ended_with(0).contains("chosen by leaving one row out"));
    let refused = run(&format!("{base} --stream --choose loo"));
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("hint: `--choose kfold:10` needs one pass"), "{}", refused.stderr);
    let refused = run("fit - --target price --missing drop --rows rows.csv");
    assert!(refused.stderr.contains("`--rows` reads the table twice; standard input"), "{}", refused.stderr);
    // Fewer rows than folds.
    let few = spanwise_reading(
        b"x,y\n1,2\n2,3\n3,5\n4,4\n",
        &["fit", "-", "--target", "y", "--model", "ridge", "--stream"],
    );
    assert!(few.ended_with(0).contains("chosen by 4 folds"));
}

#[test]
fn parts_of_a_table_merge_into_any_model_that_a_summary_determines() {
    let (directory, file) = with_sales();
    let at = |name: &str| text(&directory.path().join(name)).to_owned();
    for (name, rows) in [("a", 0..1500), ("b", 1500..4000)] {
        fs::write(at(&format!("{name}.csv")), sales(rows)).unwrap();
        let (part, sum) = (at(&format!("{name}.csv")), at(&format!("{name}.sum")));
        // Whatever the model, the summary is the same.
        let model = if name == "a" { "ridge --lambda 1" } else { "simplex" };
        let words = format!(
            "fit {part} --target price --weights w --missing drop --model {model} --summary-out {sum} --quiet"
        );
        spanwise(&words.split(' ').collect::<Vec<_>>()).ended_with(0);
    }
    let merge = format!("fit --merge {} --merge {}", at("a.sum"), at("b.sum"));
    for model in ["ridge --lambda 2.5", "nonnegative", "simplex"] {
        let whole =
            json(&format!("fit {file} --target price --weights w --missing drop --json --model {model}"));
        same(&json(&format!("{merge} --model {model} --json")), &whole, model);
    }
    let out = at("p.csv");
    let words =
        format!("{merge} --model ridge --lambda 1 --predict {file} --missing drop --out {out} --quiet");
    spanwise(&words.split(' ').collect::<Vec<_>>()).ended_with(0);
    assert!(fs::read_to_string(out).unwrap().starts_with("row,prediction\n"));
    refused(
        &format!("{merge} --model ridge"),
        &["`--merge` has no rows to choose a penalty by", "hint: `--lambda L`"],
    );
    refused(&format!("{merge} --model ridge --choose kfold:3"), &["`--merge`"]);
}

#[test]
fn models_and_factors_that_need_their_rows_refuse_to_let_them_go() {
    let (directory, file) = with_sales();
    let sum = text(&directory.path().join("a.sum")).to_owned();
    for model in ["logistic", "softmax", "kernel"] {
        for option in ["--stream", "--memory 1", &format!("--summary-out {sum}"), &format!("--merge {sum}")] {
            let words = format!("fit {file} --target region --model {model} {option}");
            let name = option.split(' ').next().unwrap();
            refused(
                &words,
                &[
                    &format!("`{name}` does not apply to `--model {model}`"),
                    "only to least-squares, ridge, nonnegative, simplex",
                    "hint: other models need their rows",
                ],
            );
        }
    }
    for kind in [
        "qr",
        "pivoted-qr",
        "eigen",
        "low-rank --rank 1",
        "pca --method dual",
        "svd --method randomized --rank 1",
    ] {
        refused(&format!("decompose {file} --kind {kind} --stream"), &["`--stream` applies to"]);
    }
    refused(&format!("decompose {file} --kind svd --memory 1"), &["`--memory` applies to `--kind pca`"]);
    refused(
        &format!("fit {file} --target price --model ridge --stream --choose kfold:2000"),
        &["at most 1000"],
    );
    for folds in ["kfold:1", "kfold:0", "kfold:-3", "kfold:x"] {
        let words = format!("fit {file} --target price --model ridge --choose {folds}");
        refused(&words, &[&format!("`--choose`: found \"{folds}\""), "K from 2"]);
    }
    refused(
        &format!("fit {file} --target price --missing drop --model ridge --choose kfold:5000"),
        &["`--choose kfold:5000`", "at most as many folds as there are rows"],
    );
}

const SUMMARISED: &str = "one pass through a summary";

#[test]
fn components_and_singular_values_come_from_rows_that_are_not_kept() {
    let (directory, file) = with_sales();
    for kind in ["pca", "pca --rank 2", "svd", "svd --rank 2"] {
        let base = format!("decompose {file} --exclude w,region --missing drop --json --kind {kind}");
        let (kept, streamed) = (json(&base), json(&format!("{base} --stream")));
        assert_eq!((&streamed["method"], &streamed["shape"]), (&Value::from(SUMMARISED), &kept["shape"]));
        let strengths = |value: &Value| value["strengths"].as_array().unwrap().clone();
        assert_eq!(strengths(&streamed).len(), strengths(&kept).len());
        for (a, b) in strengths(&streamed).iter().zip(&strengths(&kept)) {
            alike(&a["value"], &b["value"], 1e-9, kind);
            alike(&a["cumulative"], &b["cumulative"], 1e-9, kind);
        }
        let names = |value: &Value| {
            let factors = value["factors"].as_array().unwrap().iter();
            factors.map(|factor| factor["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let expected: Vec<String> =
            names(&kept).into_iter().filter(|name| name != "u" && name != "row").collect();
        assert_eq!(names(&streamed), expected);
    }
    let out = text(&directory.path().join("f.npz")).to_owned();
    let words = format!("decompose {file} --exclude w --missing drop --kind pca --stream --out {out}");
    assert!(spanwise(&words.split(' ').collect::<Vec<_>>()).ended_with(0).contains(SUMMARISED));
    assert!(Path::new(&out).exists());
    refused(
        &format!("decompose {file} --exclude w,region --missing drop --kind pca --stream --rank 9"),
        &["`--rank` is 9"],
    );
    refused("decompose 1,2 --kind pca --stream", &["rows of X", "at least 2"]);
}
