//! `spanwise fit`.

use crate::files::joined;
use crate::harness::{Run, spanwise, text};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The table that comes with the sources.
pub(crate) fn longley() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/longley.csv").display().to_string()
}

fn fit(file: &str, more: &[&str]) -> Run {
    let args: Vec<&str> = ["fit", file].into_iter().chain(more.iter().copied()).collect();
    spanwise(&args)
}

fn close(found: &Value, expected: f64, tolerance: f64) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{found} is not a number"));
    assert!((found / expected - 1.0).abs() <= tolerance, "{found} is not {expected}");
}

fn terms(json: &Value) -> &Vec<Value> {
    json["coefficients"][0]["terms"].as_array().unwrap()
}

/// A directory with files.
fn with_files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::write(directory.path().join(name), content).unwrap();
    }
    directory
}

fn path(directory: &tempfile::TempDir, name: &str) -> PathBuf {
    directory.path().join(name)
}

#[test]
fn longley_reads_as_a_statistician_expects() {
    insta::assert_snapshot!(fit(&longley(), &["--target", "TOTEMP"]).ended_with(0));
}

/// Coefficients, standard errors, p-values and interval ends of statsmodels 0.14 `OLS`.
#[test]
fn longley_agrees_with_statsmodels() {
    let json = fit(&longley(), &["--target", "TOTEMP", "--json"]).json();
    let expected = [
        ("intercept", -3_482_258.634_597, 890_420.383_607_9, 0.003_560_403_663_7, -5_496_529.483_278),
        ("GNPDEFL", 15.061_872_271_3, 84.914_925_774_8, 0.863_140_832_807_7, -177.029_035_298),
        ("GNP", -0.035_819_179_292, 0.033_491_007_772_2, 0.312_681_061_092, -0.111_581_102_414),
        ("UNEMP", -2.020_229_803_81, 0.488_399_681_65, 0.002_535_091_734_1, -3.125_066_641_97),
        ("ARMED", -1.033_226_867_17, 0.214_274_163_16, 0.000_944_366_764_16, -1.517_948_700_17),
        ("POP", -0.051_104_105_654, 0.226_073_200_07, 0.826_211_795_763_5, -0.562_517_214_507),
        ("YEAR", 1_829.151_464_613, 455.478_499_142, 0.003_036_803_341_6, 798.787_515_279),
    ];
    for (term, (name, estimate, error, p, lower)) in terms(&json).iter().zip(expected) {
        assert_eq!(term["name"], name);
        close(&term["estimate"], estimate, 1e-10);
        close(&term["standard_error"], error, 1e-9);
        close(&term["p_value"], p, 1e-8);
        close(&term["interval"][0], lower, 1e-8);
        assert!(term["digits"].as_f64().unwrap() > 8.0, "{term}");
    }
    let measures = &json["measures"];
    close(&measures["r_squared"], 0.995_479_004_577_289_6, 1e-12);
    close(&measures["f"], 330.285_339_234, 1e-10);
    close(&measures["f_p_value"], 4.984_030_528_7e-10, 1e-8);
    close(&measures["aic"], 233.234_869_617, 1e-10);
    close(&measures["bic"], 238.642_990_672_7, 1e-10);
    close(&measures["residual_standard_error"], 304.854_073_562, 1e-10);
    assert_eq!((json["rank"]["rank"].as_u64(), json["rank"]["terms"].as_u64()), (Some(7), Some(7)));
}

#[test]
fn rows_hold_leverage_and_cooks_distance() {
    let directory = tempfile::tempdir().unwrap();
    let out = path(&directory, "rows.csv");
    assert_eq!(fit(&longley(), &["--target", "TOTEMP", "--rows", text(&out), "--quiet"]).ended_with(0), "");
    let table = spanwise_io::read_table(&out, &spanwise_io::ReadOptions::default()).unwrap();
    assert_eq!(table.rows(), 16);
    let column = |name: &str| match &table.column(name).unwrap().values {
        spanwise_io::Values::Numbers(numbers) => numbers.clone(),
        spanwise_io::Values::Categories(_) => panic!("{name} is text"),
    };
    let near =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-7, "{found} {expected}");
    near(column("Cook's distance")[4], 0.613_916_838_228_8);
    near(column("leverage")[15], 0.688_614_601_692_5);
    for i in 0..16 {
        let (observed, fitted, residual) =
            (column("observed")[i], column("fitted")[i], column("residual")[i]);
        assert!((observed - fitted - residual).abs() < 1e-6);
    }
}

#[test]
fn predictions_have_intervals() {
    let directory = tempfile::tempdir().unwrap();
    let out = path(&directory, "predicted.csv");
    let file = longley();
    fit(&file, &["--target", "TOTEMP", "--predict", &file, "--out", text(&out), "--quiet"]).ended_with(0);
    let predicted = fs::read_to_string(&out).unwrap();
    let mut lines = predicted.lines();
    assert_eq!(lines.next(), Some("row,prediction,lower 95 %,upper 95 %"));
    let first: Vec<f64> = lines.next().unwrap().split(',').map(|field| field.parse().unwrap()).collect();
    assert_eq!(first[0].to_bits(), 1.0_f64.to_bits(), "rows count from 1, as in sentences");
    assert!(
        (first[2] - 59_232.561_806).abs() < 1e-3 && (first[3] - 60_878.758_134).abs() < 1e-3,
        "{first:?}"
    );
}

/// Rows of a well conditioned problem with a category, from a counter.
fn sales(rows: std::ops::Range<u32>) -> String {
    let mut csv = "price,area,age,region,w\n".to_owned();
    for i in rows {
        let noise = |k: u32| f64::from(i.wrapping_mul(2_654_435_761).rotate_left(k) % 1000) / 1000.0;
        let (area, age, region) = (50.0 + 100.0 * noise(3), 30.0 * noise(11), (i % 3) as usize);
        let price = 3.0 * area - age + [0.0, 20.0, -7.0][region] + 5.0 * noise(19);
        let region = ["north", "south", "west"][region];
        writeln!(csv, "{price},{area},{age},{region},{}", 1 + i % 4).unwrap();
    }
    csv
}

#[test]
fn streaming_agrees_with_memory() {
    let directory = with_files(&[("all.csv", &sales(0..5000))]);
    let file = path(&directory, "all.csv");
    for base in
        [["--target", "price", "--exclude", "w", "--json"], ["--target", "price", "--weights", "w", "--json"]]
    {
        let kept = fit(text(&file), &base).json();
        let streamed = fit(text(&file), &[&base[..], &["--stream"]].concat()).json();
        assert_eq!(
            (&kept["computation"]["streamed"], &streamed["computation"]["streamed"]),
            (&Value::Bool(false), &Value::Bool(true))
        );
        for (a, b) in terms(&kept).iter().zip(terms(&streamed)) {
            close(&b["estimate"], a["estimate"].as_f64().unwrap(), 1e-12);
            close(&b["standard_error"], a["standard_error"].as_f64().unwrap(), 1e-9);
        }
    }
}

#[test]
fn summaries_of_parts_merge_into_the_whole() {
    let files = [
        ("all.csv", sales(0..3000)),
        ("a.csv", sales(0..900)),
        ("b.csv", sales(900..1500)),
        ("c.csv", sales(1500..3000)),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, csv)| (*name, csv.as_str())).collect();
    let directory = with_files(&files);
    let at = |name: &str| path(&directory, name).display().to_string();
    let whole = fit(&at("all.csv"), &["--target", "price", "--json"]).json();
    for part in ["a", "b", "c"] {
        let (file, out) = (at(&format!("{part}.csv")), at(&format!("{part}.sum")));
        fit(&file, &["--target", "price", "--summary-out", &out, "--quiet"]).ended_with(0);
    }
    for order in [["a", "b", "c"], ["c", "a", "b"]] {
        let paths: Vec<String> = order.iter().map(|part| at(&format!("{part}.sum"))).collect();
        let args = ["fit", "--merge", &paths[0], "--merge", &paths[1], "--merge", &paths[2], "--json"];
        let merged = spanwise(&args).json();
        assert_eq!(merged["computation"]["rows_read"], 3000);
        assert_eq!(merged["rank"]["rank"], whole["rank"]["rank"]);
        for (a, b) in terms(&whole).iter().zip(terms(&merged)) {
            assert_eq!(a["name"], b["name"]);
            close(&b["estimate"], a["estimate"].as_f64().unwrap(), 1e-12);
        }
    }
    let damaged = at("a.sum");
    let mut bytes = fs::read(&damaged).unwrap();
    let last = bytes.len() - 20;
    bytes[last] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    let run = spanwise(&["fit", "--merge", &damaged]);
    assert!(run.code == 2 && run.stderr.contains("checksum"), "{}", run.stderr);
}

#[test]
fn parts_may_meet_levels_in_any_order_and_not_all_of_them() {
    let row = |i: usize, towns: &[&str]| {
        let (town, x) = (towns[i % towns.len()], (i as f64 * 1.3).sin());
        let height = match town {
            "x" => 1.0,
            "y" => -2.0,
            "z" => 0.5,
            _ => 4.0,
        };
        format!("{x},{town},{}\n", 3.0 * x + height + 0.1 * (i as f64 * 7.1).cos())
    };
    let rows =
        |range: std::ops::Range<usize>, towns: &[&str]| range.map(|i| row(i, towns)).collect::<String>();
    let parts = [rows(0..30, &["z", "y", "x"]), rows(30..70, &["x", "y", "z"]), rows(70..100, &["w", "x"])];
    let header = "a,town,y\n";
    let files = [
        ("all.csv", format!("{header}{}", parts.concat())),
        ("a.csv", format!("{header}{}", parts[0])),
        ("b.csv", format!("{header}{}", parts[1])),
        ("c.csv", format!("{header}{}", parts[2])),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, csv)| (*name, csv.as_str())).collect();
    let directory = with_files(&files);
    let at = |name: &str| path(&directory, name).display().to_string();
    let whole = fit(&at("all.csv"), &["--target", "y", "--json"]).json();
    for part in ["a", "b", "c"] {
        let (file, out) = (at(&format!("{part}.csv")), at(&format!("{part}.sum")));
        fit(&file, &["--target", "y", "--summary-out", &out, "--quiet"]).ended_with(0);
    }
    let [a, b, c] = ["a.sum", "b.sum", "c.sum"].map(at);
    let merged = spanwise(&["fit", "--merge", &a, "--merge", &b, "--merge", &c, "--json"]).json();
    assert_eq!(terms(&whole).len(), terms(&merged).len());
    for (a, b) in terms(&whole).iter().zip(terms(&merged)) {
        assert_eq!(a["name"], b["name"]);
        close(&b["estimate"], a["estimate"].as_f64().unwrap(), 1e-11);
        close(&b["standard_error"], a["standard_error"].as_f64().unwrap(), 1e-9);
    }
    // Other columns are named, and products of other levels refused.
    let other = at("other.sum");
    fit(&at("b.csv"), &["--target", "a", "--summary-out", &other, "--quiet"]).ended_with(0);
    let run = spanwise(&["fit", "--merge", &a, "--merge", &other]);
    assert!(run.code == 2 && run.stderr.contains("town (text), y here"), "{}", run.stderr);
    for part in ["a", "b"] {
        let (file, out) = (at(&format!("{part}.csv")), at(&format!("{part}2.sum")));
        fit(&file, &["--target", "y", "--degree", "2", "--summary-out", &out, "--quiet"]).ended_with(0);
    }
    let run = spanwise(&["fit", "--merge", &at("a2.sum"), "--merge", &at("b2.sum")]);
    assert!(run.code == 2 && run.stderr.contains("town has x, y, z without x here"), "{}", run.stderr);
}

#[test]
fn missing_values_follow_the_rule() {
    let directory = with_files(&[("m.csv", "y,x,k\n1,1,a\n2,,b\n4,3,a\n5,4,\n6.5,5,b\n9,7,a\n,8,b\n")]);
    let file = path(&directory, "m.csv");
    let run = fit(text(&file), &["--target", "y"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("m.csv:3:2 (column \"x\")") && run.stderr.contains("hint: `--missing drop`"),
        "{}",
        run.stderr
    );
    let dropped = fit(text(&file), &["--target", "y", "--missing", "drop", "--json"]).json();
    assert_eq!(
        (&dropped["computation"]["rows_used"], &dropped["computation"]["rows_dropped"]),
        (&4.into(), &3.into())
    );
    // Means stand in for features, never for the target.
    let run = fit(text(&file), &["--target", "y", "--missing", "mean"]);
    assert!(run.stderr.contains("m.csv:8:1 (column \"y\")"), "{}", run.stderr);
    let directory = with_files(&[("m.csv", "y,x\n1,1\n2,\n4,3\n")]);
    let file = path(&directory, "m.csv");
    let mean = fit(text(&file), &["--target", "y", "--missing", "mean", "--json"]).json();
    // x = 1, 2, 3 and y = 1, 2, 4: slope 1.5.
    close(&terms(&mean)[1]["estimate"], 1.5, 1e-12);
    assert_eq!(mean["computation"]["values_filled"], 1);
}

/// What a formula leaves is rounding, and differs from one instruction set to another; so does the gap, which is over it.
fn without_rounding(page: &str) -> String {
    let cut = |line: &str, from: &str, to: &str| match line.split_once(from).zip(line.split_once(to)) {
        Some(((before, _), (_, after))) => format!("{before}{from}…{to}{after}"),
        None => line.to_owned(),
    };
    let plain = |line| cut(&cut(line, "formula leaves ", " of the column"), "1.1e-13, gap ", ")") + "\n";
    page.lines().map(plain).collect()
}

#[test]
fn dependent_columns_are_found_by_formula() {
    let mut csv = "y,a,b,north,south\n".to_owned();
    for i in 0..12 {
        let (a, north) = (f64::from(i * i % 7), i % 2);
        writeln!(csv, "{},{a},{},{north},{}", f64::from(i) + a, a + 2.0, 1 - north).unwrap();
    }
    let directory = with_files(&[("d.csv", &csv)]);
    let file = path(&directory, "d.csv");
    let page = fit(text(&file), &["--target", "y"]).ended_with(0);
    insta::assert_snapshot!(without_rounding(&page));
    let json = fit(text(&file), &["--target", "y", "--json"]).json();
    assert!(json["rank"]["gap"].as_f64().unwrap() > 1e15, "{}", json["rank"]);
    assert_eq!(json["dependencies"][0]["formula"], "b = a + 2");
    assert_eq!(json["dependencies"][1]["formula"], "south = -north + 1");
    assert!(terms(&json).iter().all(|term| term["estimate"].as_f64().unwrap().abs() < 100.0));
}

#[test]
fn categories_get_a_column_per_level_but_the_reference() {
    let directory = with_files(&[("s.csv", &sales(0..60))]);
    let file = path(&directory, "s.csv");
    let names = |more: &[&str]| {
        let base = ["--target", "price", "--json"];
        let json = fit(text(&file), &[&base[..], more].concat()).json();
        terms(&json).iter().map(|term| term["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["--exclude", "w"]), ["intercept", "area", "age", "region=south", "region=west"]);
    assert_eq!(
        names(&["--exclude", "w", "--reference", "region=west"])[3..],
        ["region=north", "region=south"]
    );
    assert_eq!(
        names(&["--columns", "area,age", "--degree", "2"]),
        ["intercept", "area", "age", "area^2", "area*age", "age^2"]
    );
    assert_eq!(names(&["--columns", "area,age", "--interactions"])[3..], ["area*age"]);
    assert_eq!(names(&["--columns", "w", "--categories", "w"]), ["intercept", "w=2", "w=3", "w=4"]);
}

#[test]
fn every_model_fits_and_predicts() {
    let directory = with_files(&[("s.csv", &sales(0..90))]);
    let (file, out) = (path(&directory, "s.csv"), path(&directory, "p.csv"));
    let cases: [(&str, &[&str]); 10] = [
        ("price", &["--model", "ridge", "--lambda", "0.1"]),
        ("price", &["--model", "ridge", "--lambdas", "0.01,1,100"]),
        ("price", &["--model", "ridge", "--choose", "kfold:5"]),
        ("price", &["--model", "nonnegative"]),
        ("price", &["--model", "simplex", "--columns", "area,age"]),
        ("price", &["--model", "kernel", "--lambda", "0.001"]),
        (
            "price",
            &["--model", "kernel", "--kernel", "polynomial", "--kernel-degree", "2", "--gamma", "0.01"],
        ),
        ("price", &["--model", "kernel", "--landmarks", "20", "--seed", "3"]),
        ("region", &["--model", "softmax", "--lambda", "1"]),
        ("region", &["--model", "softmax", "--lambda", "1", "--weights", "w"]),
    ];
    for (target, more) in cases {
        let base = ["--target", target, "--predict", text(&file), "--out", text(&out)];
        let page = fit(text(&file), &[&base[..], more].concat()).ended_with(0);
        assert!(page.contains("written"), "{page}");
        let predicted = fs::read_to_string(&out).unwrap();
        assert_eq!(predicted.lines().count(), 91, "{more:?}");
        assert!(!predicted.contains("NaN"), "{predicted}");
    }
}

#[test]
fn weights_count_rows_in_every_model_that_takes_numbers() {
    let weighted = "y,a,b,w\n1,2,0,1\n3,1,5,2\n2,4,1,0\n7,3,3,3\n4,6,2,1\n5,5,4,1\n";
    let repeated = "y,a,b\n1,2,0\n3,1,5\n3,1,5\n7,3,3\n7,3,3\n7,3,3\n4,6,2\n5,5,4\n";
    let new = "a,b\n1,1\n2,5\n";
    let directory = with_files(&[("w.csv", weighted), ("r.csv", repeated), ("n.csv", new)]);
    let (out, new) = (path(&directory, "p.csv"), path(&directory, "n.csv"));
    let models: [&[&str]; 5] = [
        &["--model", "least-squares"],
        &["--model", "ridge", "--lambda", "0.5"],
        &["--model", "nonnegative"],
        &["--model", "simplex"],
        &["--model", "kernel", "--gamma", "0.1"],
    ];
    for model in models {
        let predicted = |file: &str, more: &[&str]| -> Vec<f64> {
            let base = ["--target", "y", "--predict", text(&new), "--out", text(&out)];
            fit(text(&path(&directory, file)), &[&base[..], model, more].concat()).ended_with(0);
            let lines = fs::read_to_string(&out).unwrap();
            let prediction = |line: &str| line.split(',').nth(1).unwrap().parse().unwrap();
            lines.lines().skip(1).map(prediction).collect()
        };
        let (found, expected) = (predicted("w.csv", &["--weights", "w"]), predicted("r.csv", &[]));
        assert_eq!(found.len(), 2);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-8, "{model:?}: {found} against {expected}");
        }
    }
}

#[test]
fn separated_classes_are_said_to_be() {
    let csv = "y,x\nno,1\nno,2\nno,3\nyes,4\nyes,5\nyes,6\n";
    let directory = with_files(&[("c.csv", csv)]);
    let file = path(&directory, "c.csv");
    let page = fit(text(&file), &["--target", "y", "--model", "logistic", "--lambda", "0"]).ended_with(0);
    assert!(page.contains("■ serious") && page.contains("separates the classes completely"), "{page}");
    let page = fit(text(&file), &["--target", "y", "--model", "logistic", "--lambda", "1"]).ended_with(0);
    assert!(!page.contains("serious") && page.contains("class yes"), "{page}");
    // The penalty that is there unless another is given hides the separation from the numbers, not from the reader.
    for line in [&["--lambda", "1"][..], &[]] {
        let page =
            fit(text(&file), &[&["--target", "y", "--model", "logistic"], line].concat()).ended_with(0);
        assert!(page.contains("every row is on the side of its class"), "{page}");
    }
}

#[test]
fn odd_tables_give_findings_and_no_panic() {
    let cases = [
        ("y,x\n1,2\n", "passes through every row"),
        ("y,a,b,c\n1,2,3,4\n2,9,1,5\n", "passes through every row"),
        ("y,x\n3,1\n3,2\n3,5\n", "is constant"),
        (
            "y,x\n2,1\n3.5,2\n5,3\n7.5,4\n",
            "Every coefficient that is not 0 to rounding has at least 14 certain digits (`x`)",
        ),
        ("y,x\n1,4\n2,4\n3,4\n", "`x` is constant (4): it adds nothing to the intercept"),
        (
            "y,x,id\n1,3,9007199254740992\n2,1,9007199254741016\n4,2,9007199254741040\n3,5,9007199254741032\n5,4,9007199254741000\n",
            "of its size (9.01e15) alone, which f64 does not tell from a constant",
        ),
        (
            "y,x,far\n1,3,200000000003\n2,1,200000000001\n4,2,200000000002\n3,5,200000000005\n5,4,200000000004\n",
            "`far` adds nothing: far = x + 200000000000 ► leave `far` out",
        ),
    ];
    for (csv, expected) in cases {
        let directory = with_files(&[("o.csv", csv)]);
        let page = fit(text(&path(&directory, "o.csv")), &["--target", "y"]).ended_with(0);
        let joined = joined(&page);
        assert!(joined.contains(expected), "{page}");
    }
}

#[test]
fn names_with_commas_stand_in_quotation_marks() {
    let csv = "\"size, m2\",rooms,price\n50,2,170\n80,3,262\n70,2,231\n120,5,410\n95,4,322\n";
    let directory = with_files(&[("t.csv", csv)]);
    let file = path(&directory, "t.csv");
    let names = |more: &[&str]| -> Vec<String> {
        let json = fit(text(&file), &[&["--target", "price", "--json"], more].concat()).json();
        terms(&json).iter().map(|term| term["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&["--columns", "\"size, m2\""]), ["intercept", "size, m2"]);
    assert_eq!(names(&["--columns", "rooms,\"size, m2\""]), ["intercept", "rooms", "size, m2"]);
    assert_eq!(
        names(&["--columns", "rooms", "--columns", "\"size, m2\""]),
        ["intercept", "rooms", "size, m2"]
    );
    assert_eq!(names(&["--exclude", "\"size, m2\""]), ["intercept", "rooms"]);
    let refused = fit(text(&file), &["--target", "price", "--columns", "size, m2"]);
    assert!(
        refused.stderr.contains("there is no column \"size\"; found \"size, m2\", rooms, price"),
        "{}",
        refused.stderr
    );
    let refused = fit(text(&file), &["--target", "price", "--columns", "\"size, m2"]);
    assert!(refused.stderr.contains("a quotation mark is not closed"), "{}", refused.stderr);
}

#[test]
fn ridge_without_a_penalty_chooses_one_by_leaving_rows_out() {
    let chosen = |more: &[&str]| {
        let args = [&["--target", "TOTEMP", "--model", "ridge", "--json"], more].concat();
        fit(&longley(), &args).json()
    };
    assert_eq!(chosen(&[]), chosen(&["--choose", "loo"]));
    assert_ne!(chosen(&[]), chosen(&["--lambda", "1"]));
}

#[test]
fn digits_that_a_large_offset_takes_are_not_called_zeros() {
    let mut csv = "y,x,z\n".to_owned();
    for i in 0..400 {
        let (x, z) = ((f64::from(i) * 0.7).sin(), (f64::from(i) * 1.3).cos());
        let _ = writeln!(csv, "{},{x},{}", z + 1e-3 * x + 1e-4 * (f64::from(i) * 2.9).sin(), 1e12 + z);
    }
    let directory = with_files(&[("t.csv", &csv)]);
    let page = fit(text(&path(&directory, "t.csv")), &["--target", "y"]).ended_with(0);
    let joined = joined(&page);
    assert!(!joined.contains("0 to rounding") && joined.contains("the coefficient of `x` has 0"), "{page}");
}

#[test]
fn no_more_digits_are_claimed_than_the_file_stores() {
    let directory = tempfile::tempdir().unwrap();
    let numbers: Vec<f64> =
        (0..180).map(|i| (f64::from(i * i) * 0.37).sin() + f64::from(i % 3 == 2)).collect();
    let digits = |bytes: Vec<u8>, kind: &str, size: usize, args: &[&str]| {
        let file = directory.path().join(format!("{}.npy", &kind[1..]));
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (60, 3), }}");
        let header = format!("{header:<117}\n");
        assert_eq!(bytes.len(), 180 * size);
        let start =
            b"\x93NUMPY\x01\x00".iter().chain(&(header.len() as u16).to_le_bytes()).copied().collect();
        fs::write(&file, [start, header.into_bytes(), bytes].concat()).unwrap();
        let found = fit(text(&file), &[&["--target", "c2", "--json"], args].concat()).json();
        terms(&found).iter().map(|term| term["digits"].as_f64().unwrap()).fold(f64::INFINITY, f64::min)
    };
    for args in [&[][..], &["--stream"]] {
        let of_f64 = digits(numbers.iter().flat_map(|x| x.to_le_bytes()).collect(), "<f8", 8, args);
        let of_f32 = digits(numbers.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect(), "<f4", 4, args);
        assert!(of_f64 > 11.0 && (4.0..7.3).contains(&of_f32), "{of_f64} {of_f32}");
    }
}
