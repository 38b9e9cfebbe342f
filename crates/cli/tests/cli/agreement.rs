//! `fit`, `explain` and `measure` of one table: what is said is one text wherever it is said.

use crate::files::{Files, LONGLEY, joined, table};
use crate::harness::{npy, npy_f64, spanwise};
use serde_json::Value;
use std::fs;

#[test]
fn fit_and_explain_say_the_same_of_dependent_columns_and_conditioning() {
    let row = |i: usize| format!("{i},7,{i},{},{}", i * i, 2 * i + i % 3);
    let files = Files::new(&[("t.csv", &table("a,k,again,square,y", 12, row))]);
    let json = |verb: &str| -> Value { files.run(&format!("{verb} @t.csv --target y --json")).json() };
    let told = |json: &Value| -> Vec<(String, String, String)> {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let all = json["findings"].as_array().unwrap().iter();
        let of_columns = ["constant-column", "duplicated-column", "exact-dependency"];
        all.filter(|finding| of_columns.contains(&finding["name"].as_str().unwrap_or_default()))
            .map(|finding| (word(&finding["name"]), word(&finding["severity"]), word(&finding["sentence"])))
            .collect()
    };
    let (fit, explain) = (told(&json("fit")), told(&json("explain")));
    assert_eq!(fit.len(), 2);
    assert_eq!(fit, explain);
    assert!(fit.iter().any(|found| found.1 == "caution" && found.2.starts_with("`k` is constant (7)")));
    // 43275, Belsley's figure for this table with its intercept.
    let pages = [
        files.page(&format!("fit {LONGLEY} --target TOTEMP")),
        files.page(&format!("explain {LONGLEY} --target TOTEMP")),
    ];
    assert!(pages[0].contains("condition 43275, terms scaled to length 1"), "{}", pages[0]);
    assert!(pages[1].contains("condition 4.86e9 as it is, 43275 scaled"), "{}", pages[1]);
}

#[test]
fn fit_measure_and_explain_name_the_same_near_dependencies() {
    let told = |files: &Files, line: &str| -> Vec<String> {
        let found = files.run(&format!("{line} --json")).json();
        let all = found["findings"].as_array().unwrap().iter();
        all.filter(|finding| finding["name"] == "near-dependency")
            .map(|one| {
                ["severity", "sentence", "advice", "certificate"].map(|part| one[part].to_string()).join(" ")
            })
            .collect()
    };
    // Two at once: d is nearly a + b, e nearly b - c.
    let wave = |i: usize, step: f64| ((i * i) as f64 * step).sin();
    let row = |i: usize| {
        let [a, b, c] = [0.37, 0.71, 0.53].map(|step| wave(i, step));
        let (d, e) = (a + b + 1e-9 * wave(i, 0.97), b - c + 1e-7 * wave(i, 0.29));
        format!("{a:e},{b:e},{c:e},{d:e},{e:e},{:e}", a + wave(i, 0.83))
    };
    let files = Files::new(&[("t.csv", &table("a,b,c,d,e,y", 200, row))]);
    let first = told(&files, "explain @t.csv --target y");
    assert_eq!(first.len(), 2, "{first:?}");
    assert!(first.iter().all(|one| one.starts_with("\"serious\"")), "{first:?}");
    assert!(
        first[0].contains("1·`a`") && first[0].contains("1·`b`") && first[0].contains("`d`"),
        "{first:?}"
    );
    assert!(
        first[1].contains("1·`b`") && first[1].contains("1·`c`") && first[1].contains("`e`"),
        "{first:?}"
    );
    for line in ["fit @t.csv --target y", "fit @t.csv --target y --stream", "measure @t.csv --exclude y"] {
        assert_eq!(told(&files, line), first, "{line}");
    }
    let longley = told(&files, &format!("explain {LONGLEY} --target TOTEMP"));
    assert_eq!(longley.len(), 2, "{longley:?}");
    for line in [
        format!("fit {LONGLEY} --target TOTEMP"),
        format!("fit {LONGLEY} --target TOTEMP --stream"),
        format!("measure {LONGLEY} --exclude TOTEMP"),
        format!("measure {LONGLEY} --exclude TOTEMP --stream"),
    ] {
        assert_eq!(told(&files, &line), longley, "{line}");
    }
}

#[test]
fn rows_left_out_have_the_same_finding_in_fit_and_explain() {
    let row = |i: usize| {
        let a = if i.is_multiple_of(3) { String::new() } else { (i * i % 7).to_string() };
        format!("{a},{},{}", i % 5, i * i % 11)
    };
    let files = Files::new(&[("t.csv", &table("a,b,y", 24, row))]);
    for (missing, name) in [("drop", "missing-values"), ("mean", "filled-values")] {
        let told = |verb: &str| {
            let found = files.run(&format!("{verb} @t.csv --target y --missing {missing} --json")).json();
            let all = found["findings"].as_array().unwrap().iter();
            all.filter(|finding| finding["name"] == name).map(Value::to_string).collect::<Vec<_>>()
        };
        let fit = told("fit");
        assert!(fit.len() == 1 && fit[0].contains("\"caution\""), "{fit:?}");
        assert_eq!(fit, told("explain"), "{missing}");
    }
}

#[test]
fn the_rank_is_as_certain_to_fit_and_explain_as_to_measure() {
    let files = Files::new(&[]);
    let wave = |i: i32, step: f64| (f64::from(i * i) * step).sin();
    let doubts = |line: &str| -> Vec<String> {
        let found = files.run(&format!("{line} --json")).json();
        let all = found["findings"].as_array().unwrap().iter();
        all.filter(|finding| finding["name"] == "uncertain-rank")
            .map(|one| one["sentence"].to_string())
            .collect()
    };
    let verbs = [
        "measure @t.npy --exclude c3 --no-intercept",
        "fit @t.npy --target c3 --no-intercept",
        "fit @t.npy --target c3 --no-intercept --stream",
        "explain @t.npy --target c3 --no-intercept",
    ];
    // A sum that is rounded to f32 is a sum: what it leaves is one rounding, and no doubt.
    let row = |i: i32| {
        let (a, b) = (wave(i, 0.37) as f32, wave(i, 0.71) as f32);
        [a, b, a + b, (wave(i, 0.53) + f64::from(a)) as f32]
    };
    let bytes: Vec<u8> = (0..200).flat_map(row).flat_map(f32::to_le_bytes).collect();
    fs::write(files.path("t.npy"), npy("<f4", "(200, 4)", &bytes)).unwrap();
    for verb in verbs {
        assert_eq!(doubts(verb), [""; 0], "{verb}");
    }
    // One that f64 leaves 2e-12 of is in doubt wherever it is asked, in the same words.
    let row = |i: i32| {
        let (a, b) = (wave(i, 0.37), wave(i, 0.71));
        [a, b, a + b + 2e-12 * wave(i, 0.97), wave(i, 0.53) + a]
    };
    let numbers: Vec<f64> = (0..200).flat_map(row).collect();
    fs::write(files.path("t.npy"), npy_f64("(200, 4)", &numbers)).unwrap();
    let said = "\"the rank is not certain: 2 to 3 for tolerances from 7.1e-15 to 1.1e-11\"";
    for verb in verbs {
        assert_eq!(doubts(verb), [said], "{verb}");
    }
}

#[test]
fn what_stands_beside_a_row_that_is_left_out_is_left_out_too() {
    let row =
        |i: usize| format!("{},{}", i * i % 7, if i == 2 { String::new() } else { (i % 5).to_string() });
    let number = |i: usize| (i * i % 11).to_string();
    let files = Files::new(&[
        ("t.csv", &table("a,b", 9, row)),
        ("whole.csv", &table("v", 9, number)),
        ("same.csv", &table("a,b", 9, row).replace("4,\n", "")),
        ("left.csv", &table("v", 8, |i| number(i + usize::from(i > 1)))),
    ]);
    for (verb, part) in [
        ("measure T --span V", "span"),
        ("measure T --span V --stream", "span"),
        ("measure T --against V", "against"),
        ("measure T --against V --stream", "against"),
        ("project T --vector V", "vectors"),
    ] {
        let run = |t: &str, v: &str| {
            let run = files.run(&format!("{} --missing drop --json", verb.replace('T', t).replace('V', v)));
            serde_json::from_str::<Value>(&run.stdout).unwrap_or_else(|_| panic!("{verb}: {}", run.stderr))
        };
        let found = run("@t.csv", "@whole.csv");
        assert!(!found[part].is_null(), "{found}");
        assert_eq!(found[part], run("@same.csv", "@left.csv")[part], "{verb}");
        let words = verb.replace('T', "@t.csv").replace('V', "@left.csv");
        let expected = ["has 9 rows", "hint: this counts 1 row that `--missing drop` leaves out"];
        files.refused(&format!("{words} --missing drop"), &expected);
    }
}

#[test]
fn variance_inflation_is_the_same_in_sentences_and_in_the_table() {
    let json = spanwise(&["explain", LONGLEY, "--target", "TOTEMP", "--json"]).json();
    let table =
        json["tables"].as_array().unwrap().iter().find(|table| table["id"] == "coefficients").unwrap();
    let page = joined(&spanwise(&["explain", LONGLEY, "--target", "TOTEMP"]).ended_with(0));
    assert!(table.to_string().contains("758.98"), "{table}");
    assert!(page.contains("variance inflation 1789"), "{page}");
    assert!(page.contains("variance inflation 759, without `GNP` 271"), "{page}");
    assert!(page.contains("YEAR 1829.1515 455.5 4.016 0.003037 798.8 2860 10 759"), "{page}");
}

#[test]
fn a_copied_column_has_no_finite_inflation_in_explain_and_in_measure() {
    let row = |i: usize| format!("{i},{i},{},{}", i * i % 11, 2 * i + i % 3);
    let files = Files::new(&[("t.csv", &table("a,again,b,y", 12, row))]);
    let measured = files.run("measure @t.csv --exclude y --json").json();
    let explained = files.run("explain @t.csv --target y --json").json();
    let tables = explained["tables"].as_array().unwrap();
    let coefficients = tables.iter().find(|table| table["id"] == "coefficients").unwrap();
    for name in ["a", "again"] {
        let column =
            measured["column_measures"].as_array().unwrap().iter().find(|column| column["name"] == name);
        let rows = coefficients["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{rows:?}"));
        assert_eq!(row.as_array().unwrap().last(), Some(&column.unwrap()["vif"]), "{name}");
    }
}

#[test]
fn a_fit_without_residuals_has_no_errors_and_says_why() {
    let files = Files::new(&[
        ("three.csv", "a,b,y\n1,2,3\n2,1,5\n4,4,6\n"),
        ("constant.csv", "a,y\n1,0.1\n2,0.1\n3,0.1\n5,0.1\n"),
        ("one.csv", "a,y\n1,2\n"),
        ("exact.csv", "a,y\n1,3\n2,5\n3,7\n5,11\n"),
    ]);
    let undefined = ["std error", "standard error", "log-likelihood", "AIC", "∞", "NaN"];
    for (file, why) in [
        ("three", "passes through every row: 3 rows for 3 independent terms leave nothing"),
        ("constant", "`y` is constant: there is nothing to explain; R², errors and tests are not defined"),
        ("one", "passes through every row: 1 row for 1 independent term leaves nothing"),
        ("exact", "`y` is a formula in the columns, to rounding: R² is 1; errors and tests are not defined"),
    ] {
        for verb in ["fit", "explain"] {
            if (file, verb) == ("one", "explain") {
                continue; // refused: a row has nothing to explain
            }
            let page = files.page(&format!("{verb} @{file}.csv --target y"));
            assert!(page.contains(why), "{page}");
            let table = page.split("digits").nth(1).expect("a table of coefficients");
            let shown =
                undefined.iter().find(|word| table.contains(**word) && !(**word == "∞" && file == "one"));
            let residual = shown
                .is_some_and(|word| *word == "standard error" && page.contains("residual standard error 0"));
            assert!(shown.is_none() || residual, "{verb} {file}: {shown:?} in {page}");
            assert!(!page.contains("0 certain digits"), "{page}");
        }
    }
    let json = files.run("fit @constant.csv --target y --json").json();
    assert_eq!(json["measures"]["r_squared"], "NaN");
    assert!(json["coefficients"][0]["terms"][1]["standard_error"].is_null());
    assert!(json["coefficients"][0]["terms"][1]["digits"].is_null());
    let page = files.page("fit @constant.csv --target y --model ridge --lambda 1");
    assert!(page.contains("the target does not vary") && page.contains("R² is not defined"), "{page}");
}

#[test]
fn tables_of_extreme_size_are_fitted_and_told_like_others() {
    let large = table("a,y", 6, |i| format!("{}e307,{}e200", 1 + i, [3.0, 5.1, 7.0, 9.2, 10.9, 13.0][i]));
    let small = table("a,y", 6, |i| format!("{}e-200,{}e-200", 1 + i, [3.0, 5.1, 7.0, 9.2, 10.9, 13.0][i]));
    let files = Files::new(&[("large.csv", &large), ("small.csv", &small)]);
    for line in ["fit @large.csv --target y", "fit @small.csv --target y", "explain @large.csv --target y"] {
        let page = files.page(line);
        assert!(!page.contains("is constant") && !page.contains("does not vary"), "{line}: {page}");
        assert!(page.contains("0.999") || page.contains("99.9"), "{line}: {page}");
    }
}

#[test]
fn a_column_of_zeros_without_an_intercept_is_not_said_to_repeat_one() {
    let zeros = table("a,z,y", 6, |i| format!("{},0,{}", 1 + i, 2 * i + i % 2));
    let files = Files::new(&[("zeros.csv", &zeros)]);
    let page = files.page("fit @zeros.csv --target y --no-intercept");
    assert!(page.contains("z = 0") && !page.contains("adds nothing to the intercept"), "{page}");
}
