//! `spanwise measure`: angles, orthogonality, definiteness; rows kept and streamed; numbers of f64 and of f32.

use crate::files::joined;
use crate::harness::{npy, npy_f64, spanwise, text};
use serde_json::Value;
use spanwise_io::{Column, Table, Values, write_table};
use std::fmt::Write;
use std::fs;

/// The same to rounding; words to the letter.
fn assert_same(a: &Value, b: &Value, at: &str) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{at}");
            let others = ["streamed", "findings"];
            a.iter()
                .filter(|(key, _)| !others.contains(&key.as_str()))
                .for_each(|(key, a)| assert_same(a, &b[key], &format!("{at}/{key}")));
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{at}");
            a.iter().zip(b).enumerate().for_each(|(i, (a, b))| assert_same(a, b, &format!("{at}/{i}")));
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-9 * a.abs() + 1e-13, "{at}: {a} {b}");
        }
        _ => assert_eq!(a, b, "{at}"),
    }
}

#[test]
fn a_streamed_table_measures_as_one_that_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.csv");
    let mut csv = "a,b,c,k,y\n".to_owned();
    for i in 0..3000 {
        let (a, b) = ((f64::from(i) * 0.37).sin() + 40.0, (f64::from(i) * 0.71).cos());
        let kind = ["x", "y", "z"][i as usize % 3];
        writeln!(csv, "{a},{b},{},{kind},{}", 2.0 * a - b + 3.0, a + 0.5 * b).unwrap();
    }
    fs::write(&file, csv).unwrap();
    let file = text(&file);
    for more in [&["--exclude", "y"][..], &["--span-column", "y"], &["--exclude", "y", "--no-intercept"]] {
        let found = |how: &[&str]| spanwise(&[&["measure", file, "--json"], more, how].concat()).json();
        let (kept, streamed) = (found(&[]), found(&["--stream"]));
        assert_eq!((&kept["streamed"], &streamed["streamed"]), (&false.into(), &true.into()));
        assert_same(&kept, &streamed, "");
        assert_same(&streamed, &found(&["--memory", "0"]), "");
    }
    let json = spanwise(&["measure", file, "--exclude", "y", "--stream", "--json"]).json();
    assert_eq!(json["dependencies"][0]["formula"], "c = 2·a - b + 3");
    let page = spanwise(&["measure", file, "--span-column", "y", "--stream"]).ended_with(0);
    assert!(page.contains("`y` lies in the span of the columns"), "{page}");
    assert!(page.contains("part inside = 1·a + 0.5·b"), "{page}");
    assert!(page.contains("in one pass through a summary"), "{page}");
}

#[test]
fn what_needs_its_rows_keeps_them_and_refuses_to_let_them_go() {
    for option in [&["--memory", "0"][..], &["--stream"]] {
        let run = spanwise(&[&["measure", "1,2;3,4", "--hull", "1,2"], option].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        let expected = format!(
            "error: `{}` does not apply to `--hull`\nhint: the hull of rows needs the rows, all of them in memory\n",
            option[0]
        );
        assert_eq!(run.stderr, expected);
    }
    let page = joined(&spanwise(&["measure", "2,1;1,3", "--stream"]).ended_with(0));
    assert!(
        page.contains("the table is square; whether it is symmetric, and definite, is not known"),
        "{page}"
    );
    assert!(page.contains("► without `--stream` they are kept"), "{page}");
    // Rows that are no more than what their summary would take stay, whatever the memory.
    let page = joined(&spanwise(&["measure", "2,1;1,3", "--memory", "0"]).ended_with(0));
    assert!(page.contains("positive definite"), "{page}");
}

/// `c = b + 2` in numbers of f32, whose rounding hides it from f64.
fn shorts() -> Vec<f32> {
    let row = |i: i32| {
        let (a, b) = ((f64::from(i) * 0.37).sin() as f32, (f64::from(i) * 0.71).cos() as f32);
        [a, b, b + 2.0]
    };
    (0..500).flat_map(row).collect()
}

#[test]
fn numbers_of_f32_depend_to_their_own_rounding() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("short.npy");
    let bytes: Vec<u8> = shorts().iter().flat_map(|x| x.to_le_bytes()).collect();
    fs::write(&file, npy("<f4", "(500, 3)", &bytes)).unwrap();
    for more in [&[][..], &["--stream"]] {
        let json = spanwise(&[&["measure", text(&file), "--json"], more].concat()).json();
        assert_eq!(json["dependencies"][0]["formula"], "c2 = c1 + 2", "{more:?}");
        assert_eq!(json["stored_bits"], 24);
        let tolerance = json["rank_tolerance"].as_f64().unwrap();
        assert_eq!(tolerance, 16.0 * f64::from(f32::EPSILON) / 2.0);
        assert_eq!(json["dependency_tolerance"], json["rank_tolerance"]);
        let page = joined(&spanwise(&[&["fit", text(&file), "--target", "c0"], more].concat()).ended_with(0));
        assert!(page.contains("c2 = c1 + 2"), "{page}");
    }
    let page = joined(&spanwise(&["measure", text(&file)]).ended_with(0));
    assert!(page.contains("up to 9.5e-7 counts as nothing"), "{page}");
    assert!(
        page.contains("numbers of 24 binary digits: up to 9.5e-7 of a column counts as nothing"),
        "{page}"
    );
    // The same numbers kept as f64 are what they are: independent.
    let long: Vec<f64> = shorts().into_iter().map(f64::from).collect();
    fs::write(&file, npy_f64("(500, 3)", &long)).unwrap();
    let json = spanwise(&["measure", text(&file), "--json"]).json();
    assert_eq!((json["dependencies"].as_array().unwrap().len(), &json["stored_bits"]), (0, &53.into()));
}

#[test]
fn an_f32_vector_is_in_a_span_to_its_own_rounding() {
    let directory = tempfile::tempdir().unwrap();
    let (table, vector) = (directory.path().join("x.csv"), directory.path().join("v.npy"));
    let x: Vec<(f64, f64)> =
        (0..50).map(|i| ((f64::from(i) * 0.3).sin(), (f64::from(i) * 0.7).cos())).collect();
    let csv: Vec<String> = x.iter().map(|(a, b)| format!("{a},{b}")).collect();
    fs::write(&table, format!("a,b\n{}\n", csv.join("\n"))).unwrap();
    let v = x.iter().map(|(a, b)| 0.3 * a + 0.7 * b);
    let short: Vec<u8> = v.clone().flat_map(|v| (v as f32).to_le_bytes()).collect();
    fs::write(&vector, npy("<f4", "(50,)", &short)).unwrap();
    spanwise(&["measure", text(&table), "--span", text(&vector), "--quiet"]).ended_with(0);
    let long: Vec<f64> = v.map(|v| f64::from(v as f32)).collect();
    fs::write(&vector, npy_f64("(50,)", &long)).unwrap();
    spanwise(&["measure", text(&table), "--span", text(&vector), "--quiet"]).ended_with(1);
}

#[test]
fn the_smallest_angles_are_shown_by_name_and_bounded() {
    let json = spanwise(&["measure", "1,0,-1;1,1,-1;0,0,1e-9", "--no-intercept", "--json"]).json();
    assert_eq!(json["angles"]["pairs"], 3);
    let nearest = json["angles"]["nearest"].as_array().unwrap();
    assert_eq!(nearest[0]["columns"], serde_json::json!(["c0", "c2"]));
    assert!((nearest[0]["degrees"].as_f64().unwrap() - 180.0).abs() < 1e-6);
    assert!(((nearest[1]["degrees"].as_f64().unwrap() - 90.0).abs() - 45.0).abs() < 1e-12);
    assert!(nearest[0].get("centred_degrees").is_none(), "no intercept was thought of");
    // 20 columns have 190 pairs.
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("wide.npy");
    let numbers: Vec<f64> = (0..30 * 20).map(|i| f64::from(i * 7919 % 1009)).collect();
    fs::write(&file, npy_f64("(30, 20)", &numbers)).unwrap();
    let json = spanwise(&["measure", text(&file), "--json"]).json();
    assert_eq!(
        (&json["angles"]["pairs"], json["angles"]["nearest"].as_array().unwrap().len()),
        (&190.into(), 100)
    );
    let page = spanwise(&["measure", text(&file)]).ended_with(0);
    assert!(page.contains("6 of 190 pairs; 100 of them: --json"), "{page}");
    let page = spanwise(&["measure", "1;2;4"]).ended_with(0);
    assert!(!page.contains("nearest to one line"), "one column has no pair: {page}");
}

#[test]
fn orthogonal_columns_are_said_to_be_with_what_they_lack() {
    for (matrix, sentence, orthogonal, orthonormal) in [
        ("1,0;0,1;0,0", "the columns are orthonormal", true, true),
        ("1,1;1,-1", "the columns are orthogonal to each other", true, false),
        (
            "1,1e-4;0,1",
            "the columns are nearly orthogonal, and every length is within 5.0e-9 of 1",
            false,
            false,
        ),
        (
            "3,1e-3;0,2",
            "the columns are nearly orthogonal the largest cosine between two is 5.0e-4",
            false,
            false,
        ),
    ] {
        let page = joined(&spanwise(&["measure", matrix]).ended_with(0));
        assert!(page.contains(sentence), "{page}");
        assert!(page.contains("between `c0` and `c1`"), "{page}");
        let json = spanwise(&["measure", matrix, "--json"]).json();
        let found = &json["orthogonality"];
        assert_eq!((&found["orthogonal"], &found["orthonormal"]), (&orthogonal.into(), &orthonormal.into()));
    }
    for plain in ["1,1;0,1", "0,1;0,1", "1;2"] {
        let page = spanwise(&["measure", plain]).ended_with(0);
        assert!(!page.contains("orthogonal"), "{page}");
        let json = spanwise(&["measure", plain, "--json"]).json();
        assert!(json["orthogonality"]["tolerance"].is_number());
    }
}

#[test]
fn a_symmetric_matrix_has_its_sign_and_its_certificate() {
    for (matrix, kind) in [
        ("2,1;1,2", "positive definite"),
        ("1,1;1,1", "positive semidefinite"),
        ("1,2;2,1", "indefinite"),
        ("-1,-1;-1,-1", "negative semidefinite"),
        ("-2,1;1,-2", "negative definite"),
    ] {
        let json = spanwise(&["measure", "--json", "--", matrix]).json();
        let found = &json["definiteness"];
        assert_eq!(found["kind"], kind, "{matrix}");
        let (smallest, curvature) =
            (found["smallest_eigenvalue"].as_f64().unwrap(), found["curvature"].as_f64().unwrap());
        // No direction curves more upwards: that is what proves a negative sign.
        let (proof, word) = if kind.starts_with("negative") {
            (found["largest_eigenvalue"].as_f64().unwrap(), "greatest")
        } else {
            (smallest, "least")
        };
        assert!((proof - curvature).abs() < 1e-14, "{found}");
        assert_eq!(found["direction"].as_array().unwrap().len(), 2);
        let page = joined(&spanwise(&["measure", "--", matrix]).ended_with(0));
        assert!(
            page.contains(&format!("the matrix is symmetric and {kind}: its eigenvalues go from")),
            "{page}"
        );
        assert!(page.contains(&format!("along the direction v of {word} curvature")), "{page}");
        assert_eq!(page.contains("Cholesky"), kind == "positive definite");
    }
    // B·Bᵀ of rank 2, rounded to f32: its smallest eigenvalues are that rounding.
    let b = |i: usize, k: usize| ((1 + 3 * i + k) as f64 * 0.9).sin();
    let product = |i: usize, j: usize| (0..3).map(|k| b(i, k) * b(j, k)).sum::<f64>() as f32;
    let numbers = (0..5).flat_map(|i| (0..5).map(move |j| product(i, j)));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("semidefinite.npy");
    fs::write(&file, npy("<f4", "(5, 5)", &numbers.clone().flat_map(f32::to_le_bytes).collect::<Vec<u8>>()))
        .unwrap();
    let found = |file| spanwise(&["measure", file, "--json"]).json()["definiteness"].clone();
    assert_eq!(found(text(&file))["kind"], "positive semidefinite");
    fs::write(&file, npy_f64("(5, 5)", &numbers.map(f64::from).collect::<Vec<f64>>())).unwrap();
    assert_eq!(found(text(&file))["kind"], "indefinite", "{}", found(text(&file)));
    for other in ["1,2;3,4", "1,2;2,1;0,0", "1,2,3"] {
        let json = spanwise(&["measure", other, "--json"]).json();
        assert!(json.get("definiteness").is_none(), "{other}");
    }
}

#[test]
fn two_spans_are_compared_by_their_principal_angles() {
    for (against, sentence, angles) in [
        ("1,1,0", "`--against` spans 1 dimension of the 2 that the columns span", &[0.0][..]),
        ("1,1;1,-1;0,0", "the columns and `--against` span the same 2 dimensions", &[0.0, 0.0]),
        ("0,0,5", "the span of the columns is orthogonal to that of `--against`", &[90.0]),
        ("1,0;0,1;0,1", "have 1 dimension in common", &[0.0, 45.0]),
        ("1,0,1", "the span of the columns and that of `--against` have no direction in common", &[45.0]),
        ("1,0,0;0,1,0;0,0,1", "the columns span 2 dimensions of the 3 that `--against` spans", &[0.0, 0.0]),
        ("0,0,0", "every column of `--against` is 0: there is no direction to compare", &[]),
    ] {
        for more in [&[][..], &["--stream"]] {
            let args = [&["measure", "1,0;0,2;0,0", "--against", against], more].concat();
            let page = spanwise(&args).ended_with(0);
            assert!(page.contains(sentence), "{page}");
            let json = spanwise(&[&args[..], &["--json"]].concat()).json();
            let found = json["against"]["angles_degrees"].as_array().unwrap();
            assert_eq!(found.len(), angles.len(), "{json}");
            for (found, expected) in found.iter().zip(angles) {
                assert!((found.as_f64().unwrap() - expected).abs() < 1e-12, "{json}");
            }
        }
    }
    // Beside a vector, and from a file.
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("b.csv");
    fs::write(&file, "p,q\n1,0\n0,1\n0,1\n").unwrap();
    let args = ["measure", "1,0;0,2;0,0", "--span", "3,4,0", "--against", text(&file)];
    let page = spanwise(&args).ended_with(0);
    assert!(
        page.contains("`--span` lies in the span") && page.contains("principal angles 0°, 45°"),
        "{page}"
    );
}

#[test]
fn parquet_is_measured_in_one_pass() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("t.parquet");
    let column = |name: &str, f: &dyn Fn(f64) -> f64| Column {
        name: name.to_owned(),
        values: Values::Numbers((0..100).map(|i| f(f64::from(i))).collect()),
    };
    write_table(&file, &Table::new(vec![column("a", &|i| i), column("b", &|i| i * i)]).unwrap()).unwrap();
    let json = spanwise(&["measure", text(&file), "--stream", "--json"]).json();
    assert_eq!((&json["stored_bits"], &json["rank"], &json["rows"]), (&53.into(), &2.into(), &100.into()));
}

#[test]
fn odd_tables_are_measured_or_refused_never_both() {
    for (matrix, rank) in [("5", 1), ("0", 0), ("1,2,3", 1), ("0,0;0,0", 0), ("7,1;7,2;7,3", 2), ("1;2", 1)] {
        for more in [&[][..], &["--stream"], &["--no-intercept"]] {
            let json = spanwise(&[&["measure", matrix, "--json"], more].concat()).json();
            assert_eq!(json["rank"], rank, "{matrix} {more:?}");
        }
    }
    for (args, mentions) in [
        (&["nan,1;2,3"][..], &["nothing", "expected a finite number"][..]),
        (&["1,2;3,4", "--against", "1;2;3"], &["`--against` has 3 rows, the table has 2 rows"]),
        (&["1,2;3,4", "--against", "1;2;3", "--stream"], &["`--against` has 3 rows, the table has 2 rows"]),
        (&["1,2;3,4", "--span", "1", "--stream"], &["`--span` has length 1, the table has 2 rows"]),
        (&["1,2;3,4", "--against", "1;nan"], &["`--against` holds NaN at position 2"]),
        (&["1,2;3,4", "--against", "missing.npy"], &["`--against`", "missing.npy"]),
        (&["1,2;3,4", "--tolerance", "2"], &["tolerance", "2", "below 1"]),
        (&["1,2;3,4", "--memory", "-1"], &["--memory", "-1"]),
        (&["1,2;3,4", "--memory", "1", "--stream"], &["--memory", "--stream"]),
        (&["1e308,1e308;1e308,1e308", "--stream"], &["measure", "`X`"]),
    ] {
        let run = spanwise(&[&["measure"], args].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}: {}", run.stderr);
        for mention in mentions {
            assert!(run.stderr.contains(mention), "{args:?}: {}", run.stderr);
        }
    }
}

#[test]
fn what_is_asked_about_does_not_change_what_the_table_is() {
    let directory = tempfile::tempdir().unwrap();
    let (table, vector) = (directory.path().join("x.npy"), directory.path().join("v.npy"));
    // Two columns that f64 tells apart and f32 does not.
    let row = |i: i32| {
        let (a, b) = ((f64::from(i) * 0.3).sin(), (f64::from(i) * 0.7).cos());
        [a, a + 1e-8 * b]
    };
    fs::write(&table, npy_f64("(50, 2)", &(0..50).flat_map(row).collect::<Vec<f64>>())).unwrap();
    let short: Vec<u8> = (0..50).flat_map(|i| (row(i)[0] as f32).to_le_bytes()).collect();
    fs::write(&vector, npy("<f4", "(50,)", &short)).unwrap();
    let found = |more: &[&str]| {
        let mut json = spanwise(&[&["measure", text(&table), "--json"], more].concat()).json();
        let answers = ["span", "against"].map(|key| json.as_object_mut().unwrap().remove(key));
        (json, answers)
    };
    for how in [&[][..], &["--stream"]] {
        let (alone, _) = found(how);
        assert_eq!((&alone["rank"], &alone["stored_bits"]), (&2.into(), &53.into()));
        for option in ["--span", "--against"] {
            let (beside, answers) = found(&[how, &[option, text(&vector)]].concat());
            assert_same(&alone, &beside, option);
            assert_eq!(beside["dependencies"], alone["dependencies"]);
            let answer = answers.into_iter().flatten().next().unwrap();
            assert_eq!(answer["tolerance"], 16.0 * f64::from(f32::EPSILON) / 2.0, "{answer}");
            assert!(answer["inside"] == true || answer["shared"] == 1, "{answer}");
        }
    }
}

#[test]
fn what_is_left_outside_a_span_is_compared_with_the_columns_on_the_rows() {
    // Nearly dependent columns of f64, whose large coefficients round.
    let matrix = "1,1.0000001;2,2.0000003;3,2.9999999;4,4.0000002";
    let args = ["measure", matrix, "--span", "1,5,2,8"];
    let run = spanwise(&[&args[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    let coefficients: Vec<f64> =
        json["span"]["coefficients"].as_array().unwrap().iter().map(|c| c.as_f64().unwrap()).collect();
    let cosine = json["span"]["orthogonality"].as_f64().unwrap();
    let rows: Vec<Vec<f64>> =
        matrix.split(';').map(|row| row.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    let left: Vec<f64> = rows
        .iter()
        .zip([1.0, 5.0, 2.0, 8.0])
        .map(|(row, v)| v - row.iter().zip(&coefficients).map(|(x, c)| x * c).sum::<f64>())
        .collect();
    let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let expected = (0..2)
        .map(|j| {
            let column: Vec<f64> = rows.iter().map(|row| row[j]).collect();
            let product: f64 = column.iter().zip(&left).map(|(x, r)| x * r).sum();
            product.abs() / length(&column) / length(&left)
        })
        .fold(0.0, f64::max);
    assert!(cosine > 0.0 && (cosine - expected).abs() < 1e-8, "{cosine} {expected}");
    assert!(spanwise(&args).ended_with(1).contains("cosine with any column at most"));
    // Of rows that were not kept, and of a vector inside, there is nothing to say.
    for (more, code) in [
        (&["--span", "1,5,2,8", "--stream"][..], 1),
        (&["--span", "2.0000001,4.0000003,5.9999999,8.0000002"], 0),
    ] {
        let args = [&["measure", matrix], more].concat();
        assert!(!spanwise(&args).ended_with(code).contains("cosine with"));
        let run = spanwise(&[&args[..], &["--json"]].concat());
        let json: Value = serde_json::from_str(&run.stdout).unwrap();
        assert!(json["span"].get("orthogonality").is_none(), "{json}");
    }
}

#[test]
fn a_span_has_no_constant_and_says_where_one_would_help() {
    for how in [&[][..], &["--stream"]] {
        for (vector, inside, with_constant) in
            [("2,4,6,9", true, true), ("5,7,9,12", false, true), ("1,0,1,7", false, false)]
        {
            let args = [&["measure", "1,0;2,0;3,0;4,1", "--span", vector], how].concat();
            let run = spanwise(&[&args[..], &["--json"]].concat());
            let json: Value = serde_json::from_str(&run.stdout).unwrap();
            let found = &json["span"];
            assert_eq!(
                (&found["inside"], &found["inside_with_constant"]),
                (&inside.into(), &with_constant.into())
            );
            let page = joined(&spanwise(&args).ended_with(i32::from(!inside)));
            assert!(page.contains("in the span of the columns, without a constant"), "{page}");
            let advice = "► a constant is no column here; with one the vector lies in the span";
            assert_eq!(page.contains(advice), with_constant && !inside, "{page}");
        }
    }
}

#[test]
fn a_dependency_on_the_intercept_is_in_the_verdict() {
    let page = joined(&spanwise(&["measure", "2.3,0.1,0.7;0.1,3.1,0.9;0.7,0.9,4.7"]).ended_with(0));
    assert!(
        page.contains("with the constant column that an intercept adds, `c2` adds no direction"),
        "{page}"
    );
    assert!(
        page.contains("Rank 3 of 3: all columns are independent of each other, if not of an intercept."),
        "{page}"
    );
    let page = spanwise(&["measure", "2.3,0.1;0.1,3.1;5,1;7,7"]).ended_with(0);
    assert!(page.contains("all columns are independent."), "{page}");
}

#[test]
fn a_dependency_that_only_an_intercept_makes_is_no_alarm_of_few_rows() {
    let page = joined(&spanwise(&["measure", "1,0;0,1"]).ended_with(0));
    assert!(!page.contains("serious") && !page.contains("caution"), "{page}");
    let note = "· note with the constant column that an intercept adds, `c1` adds no direction: c1 = -c0 + 1 \
                ► `--no-intercept` measures the columns without that constant";
    assert!(page.contains(note), "{page}");
    assert!(page.contains("· note the columns are orthonormal"), "{page}");
    let page = joined(&spanwise(&["measure", "1,0;0,1", "--no-intercept"]).ended_with(0));
    assert!(!page.contains("constant column"), "{page}");
    // Of more rows than columns it is a matter of the columns: a model with an intercept has no one answer.
    let page = joined(&spanwise(&["measure", "1,0;0,1;1,0;0,1"]).ended_with(0));
    assert!(page.contains("■ serious with the constant column that an intercept adds, `c1` adds"), "{page}");
    let advice = "► leave `c1` out of a model with an intercept; `--no-intercept` measures";
    assert!(page.contains(advice), "{page}");
    // What needs no intercept to depend is told as ever.
    let page = joined(&spanwise(&["measure", "1,2;2,4"]).ended_with(0));
    assert!(page.contains("■ serious `c1` adds no direction: c1 = 2·c0"), "{page}");
}

#[test]
fn one_row_beside_a_table_of_one_row_stays_a_row() {
    let page = spanwise(&["measure", "1,2", "--against", "3,4,5"]).ended_with(0);
    assert!(page.contains("the columns and `--against` span the same 1 dimension"), "{page}");
    let run = spanwise(&["measure", "1,2;3,4", "--against", "3,4,5"]);
    assert!(run.stderr.contains("`--against` has 1 row, the table has 2 rows"), "{}", run.stderr);
}
