//! `spanwise measure`, `decompose`, `solve` and `project`.

use crate::files::joined;
use crate::fit::longley;
use crate::harness::{npy, npy_f64, spanwise, text};
use spanwise_io::{read_tensor, read_tensors};
use std::fs;

#[test]
fn longley_is_measured() {
    insta::assert_snapshot!(spanwise(&["measure", &longley(), "--exclude", "TOTEMP"]).ended_with(0));
}

/// Variance inflation of statsmodels 0.14.
#[test]
fn inflation_agrees_with_statsmodels() {
    let json = spanwise(&["measure", &longley(), "--exclude", "TOTEMP", "--json"]).json();
    let expected = [
        135.532_438_28,
        1_788.513_482_718,
        33.618_890_596,
        3.588_930_193_4,
        399.151_022_312,
        758.980_597_407,
    ];
    for (column, expected) in json["column_measures"].as_array().unwrap().iter().zip(expected) {
        let vif = column["vif"].as_f64().unwrap();
        assert!((vif / expected - 1.0).abs() < 1e-8, "{column}");
    }
    assert_eq!(json["rank"], 6);
}

#[test]
fn membership_is_the_exit_code() {
    let triangle = "0,0;4,0;0,4";
    insta::assert_snapshot!(spanwise(&["measure", triangle, "--hull", "1,1;4,4"]).ended_with(1));
    spanwise(&["measure", triangle, "--hull", "1,1"]).ended_with(0);
    spanwise(&["measure", "1,0;0,1;1,1", "--span", "2,3,5"]).ended_with(0);
    let page = spanwise(&["measure", "1,0;0,1;1,1", "--span", "2,3,6"]).ended_with(1);
    assert!(page.contains("does not lie in the span"), "{page}");
    let page = spanwise(&["measure", &longley(), "--span-column", "TOTEMP"]).ended_with(1);
    assert!(page.contains("`TOTEMP` does not lie in the span"), "{page}");
}

#[test]
fn a_dependency_is_a_formula_in_column_names() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("d.csv");
    fs::write(&file, "net,tax,gross\n1,2,3\n5,1,6\n2,2,4\n7,3,10\n").unwrap();
    let json = spanwise(&["measure", text(&file), "--json"]).json();
    assert_eq!(json["dependencies"][0]["formula"], "gross = net + tax");
    assert_eq!((&json["rank"], &json["columns"]), (&2.into(), &3.into()));
}

#[test]
fn factors_are_shown_and_written() {
    insta::assert_snapshot!(spanwise(&["decompose", "0,2;3,0;0,0", "--kind", "svd"]).ended_with(0));
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("factors.npz");
    for (kind, names) in [
        ("qr", &["q", "r"][..]),
        ("pivoted-qr", &["q", "r", "order"]),
        ("svd", &["u", "s", "v"]),
        ("pca", &["components", "mean", "explained_variance", "singular_values"]),
    ] {
        let args = ["decompose", &longley(), "--kind", kind, "--out", text(&out), "--quiet"];
        assert_eq!(spanwise(&args).ended_with(0), "");
        let found = read_tensors(&out).unwrap();
        for name in names {
            assert!(found.iter().any(|(found, _)| found == name), "{kind} {name}");
        }
    }
    let zeros = spanwise(&["decompose", "0,0;0,0", "--kind", "svd", "--json"]).json();
    assert_eq!(zeros["strengths"][0]["share"], 0.0);
    let json = spanwise(&["decompose", "2,1;1,2", "--kind", "eigen", "--json"]).json();
    assert!((json["strengths"][0]["value"].as_f64().unwrap() - 3.0).abs() < 1e-14);
    let page = spanwise(&["decompose", "3,0;0,4", "--kind", "low-rank", "--rank", "1"]).ended_with(0);
    assert!(page.contains("what is left is 60 % of X"), "{page}");
    for method in ["exact", "covariance", "randomized"] {
        let args = ["decompose", &longley(), "--kind", "pca", "--rank", "2", "--method", method];
        assert!(spanwise(&args).ended_with(0).contains("2 of 7 directions"));
    }
}

#[test]
fn systems_are_solved_by_every_method() {
    insta::assert_snapshot!(spanwise(&["solve", "--a", "4,1;1,3", "--b", "1,2"]).ended_with(0));
    for method in ["auto", "cholesky", "qr", "svd", "lu", "cg", "lsmr"] {
        let json = spanwise(&["solve", "--a", "4,1;1,3", "--b", "1,2", "--method", method, "--json"]).json();
        let x = json["answers"][0]["x"].as_array().unwrap();
        assert!((x[0].as_f64().unwrap() - 1.0 / 11.0).abs() < 1e-9, "{method} {json}");
        assert!((x[1].as_f64().unwrap() - 7.0 / 11.0).abs() < 1e-9, "{method} {json}");
    }
    let directory = tempfile::tempdir().unwrap();
    let (entries, out) = (directory.path().join("a.csv"), directory.path().join("x.npy"));
    fs::write(&entries, "row,column,value\n0,0,4\n0,1,1\n1,0,1\n1,1,3\n").unwrap();
    let args = ["solve", "--a", text(&entries), "--sparse", "--b", "1,2", "--out", text(&out), "--quiet"];
    assert_eq!(spanwise(&args).ended_with(0), "");
    assert!((read_tensor(&out).unwrap().to_f64_vec()[1] - 7.0 / 11.0).abs() < 1e-9);
    let page = spanwise(&["solve", "--a", "1,1;1,1", "--b", "2,2"]).ended_with(0);
    assert!(page.contains("A has rank 1 of 2"), "{page}");
    // Iterations determine no rank, and claim none.
    for method in ["cg", "lsmr"] {
        let args = ["solve", "--a", "1,1;1,1", "--b", "2,2", "--method", method];
        assert!(spanwise(&args).ended_with(0).contains("rank       not determined by an iteration"));
        assert_eq!(spanwise(&[&args[..], &["--json"]].concat()).json()["rank"], serde_json::Value::Null);
    }
    let page = spanwise(&["solve", "--a", "1,1,0;0,1,1", "--b", "2,2", "--method", "lsmr"]).ended_with(0);
    assert!(page.contains("fewer equations than unknowns: many x do equally well"), "{page}");
}

#[test]
fn matrices_may_begin_with_a_minus_sign_wherever_they_stand() {
    for line in [
        "measure -1,0;0,1",
        "measure --json -1,0;0,1 --span -1,2",
        "measure -1,0;0,-1 --against -1;2",
        "measure -1 --no-intercept",
        "decompose -1,0;0,1 --kind qr",
        "project -1,0;0,1 --vector -1,2",
        "project --change-of-basis -1,0;0,1 --coefficients -1,2 -1,0;0,1;1,1",
        "solve --a -4,1;1,3 --b -1;2",
        "attend --q -1,0 --k -1,0 --v -1,0 --bias -1 --sinks -1",
        "explain --q -1,0 --k -1,0;0,1 --v -1,0;1,1",
        "example 66 --x -1,2;3,4 --w -2,1",
    ] {
        spanwise(&line.split(' ').collect::<Vec<_>>()).ended_with(0);
    }
    // A slip in an option is one all the same, before the matrix and behind it.
    for line in [
        "measure -1,0;0,1 --exclud c0",
        "measure --exclud c0 -1,0;0,1",
        "measure -1,0;0,1 -x",
        "solve --a -4,1;1,3 --b -1;2 --methd qr",
        "attend --q -1,0 --k -1,0 --v -1,0 --causl",
    ] {
        let run = spanwise(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(run.code, 2, "{line}: {}", run.stdout);
        assert!(run.stderr.starts_with("error: unexpected argument '-"), "{line}: {}", run.stderr);
    }
}

#[test]
fn no_more_digits_of_x_are_claimed_than_the_files_store() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (directory.path().join("a.npy"), directory.path().join("b.npy"));
    let said = |of: &str| {
        let page = joined(&spanwise(&["solve", "--a", text(&a), "--b", of]).ended_with(0));
        page.split("binary digits: ").nth(1).map(|rest| rest.split(" of x").next().unwrap().to_owned())
    };
    let numbers = [0.2, 0.1, 0.1, 0.105];
    fs::write(&a, npy_f64("(2, 2)", &numbers)).unwrap();
    assert_eq!(said("1,2"), None);
    // Of two arrays the one with fewer digits decides.
    let short: Vec<u8> = [1.0_f32, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    fs::write(&b, npy("<f4", "(2,)", &short)).unwrap();
    assert_eq!(said(text(&b)).as_deref(), Some("about 5 digits"));
    let short: Vec<u8> = numbers.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect();
    fs::write(&a, npy("<f4", "(2, 2)", &short)).unwrap();
    assert_eq!(said("1,2").as_deref(), Some("about 5 digits"));
}

#[test]
fn vectors_are_split_by_a_span() {
    let args = ["project", &longley(), "--onto", "GNP,YEAR", "--vector-column", "TOTEMP"];
    insta::assert_snapshot!(spanwise(&args).ended_with(0));
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("parts.csv");
    let args = ["project", "1,0;0,1;0,0", "--vector", "3,0,4", "--out", text(&out), "--json"];
    let json = spanwise(&args).json();
    assert!((json["vectors"][0]["angle_degrees"].as_f64().unwrap() - 53.130_102_354).abs() < 1e-8);
    assert_eq!(fs::read_to_string(&out).unwrap(), "vector inside,vector outside\n3,0\n0,0\n0,4\n");
}

/// What is typed (`@` stands for the directory of files), and what the error must name.
const BAD: &[(&str, &[&str])] = &[
    ("fit @/good.csv --target yy", &["good.csv", "\"yy\""]),
    ("fit @/good.csv --target y --columns xx", &["\"xx\""]),
    ("fit @/good.csv --target y --exclude xx", &["\"xx\""]),
    ("fit @/good.csv --target y --weights ww", &["\"ww\""]),
    ("fit @/good.csv --target y --categories ww", &["\"ww\""]),
    ("fit @/good.csv --target y --columns y", &["--columns", "\"y\""]),
    ("fit @/good.csv --target y --exclude x,k,w", &["no columns"]),
    ("fit @/good.csv --target k", &["good.csv:2:3", "\"a\"", "numbers"]),
    ("fit @/good.csv --target y --reference k=z", &["\"k\"", "\"z\"", "\"a\""]),
    ("fit @/good.csv --target y --reference k", &["--reference", "COLUMN=LEVEL"]),
    ("fit @/good.csv --target y --reference x=1", &["\"x\"", "holds numbers"]),
    ("fit @/missing.csv --target y", &["missing.csv"]),
    ("fit @/empty.csv --target y", &["empty.csv"]),
    ("fit @/header.csv --target y", &["header.csv", "no rows"]),
    ("fit @/nan.csv --target y", &["nan.csv:3:2"]),
    ("fit @/hollow.csv --target y --missing drop", &["hollow.csv", "no row is left"]),
    ("fit @/hollow.csv --target y --missing mean", &["\"x\"", "no value"]),
    ("fit @/good.csv --target y --weights w", &["good.csv:3:4", "negative", "-1"]),
    ("fit @/zero.csv --target y --weights w", &["weights", "above 0"]),
    ("fit @/inf.csv --target y", &["inf.csv:3:2"]),
    ("fit @/good.csv --target y --lambda 1", &["--lambda", "least-squares"]),
    ("fit @/good.csv --target y --kernel rbf", &["--kernel", "least-squares"]),
    ("fit @/good.csv --target y --model kernel --kernel-degree 2", &["--kernel-degree", "polynomial"]),
    ("fit @/good.csv --target y --model kernel --kernel polynomial --kernel-degree 0", &["degree", "0"]),
    (
        "fit @/good.csv --target y --model kernel --kernel polynomial --kernel-constant -1",
        &["constant", "-1"],
    ),
    ("fit @/good.csv --target y --model kernel --gamma -1", &["gamma", "-1"]),
    ("fit @/good.csv --target y --model kernel --landmarks some", &["--landmarks", "some"]),
    ("fit @/good.csv --target y --model kernel --landmarks 0", &["--landmarks", "0"]),
    ("fit @/good.csv --target y --model kernel --landmarks 99", &["landmarks", "99"]),
    ("fit @/good.csv --target y --model ridge --lambda -1", &["-1"]),
    ("fit @/good.csv --target y --model ridge --choose often", &["--choose", "often"]),
    ("fit @/good.csv --target y --model ridge --lambda 1 --rows @/r.csv", &["--rows", "ridge"]),
    ("fit @/good.csv --target y --out @/good.csv --predict @/zero.csv", &["--out", "good.csv", "also read"]),
    ("fit @/good.csv --target y --rows @/good.csv", &["--rows", "also read"]),
    ("explain @/good.csv --target y --html @/good.csv", &["--html", "also read"]),
    ("decompose @/good.csv --out @/good.csv", &["--out"]),
    ("fit @/good.csv --target y --model kernel --weights w", &["good.csv:3:4", "negative", "-1"]),
    ("fit @/good.csv --target y --confidence 1.5", &["--confidence", "1.5"]),
    ("fit @/good.csv --target y --degree 0", &["--degree"]),
    ("fit @/good.csv --target k --model logistic", &["\"k\"", "3 classes"]),
    ("fit @/one.csv --target y --model logistic", &["label"]),
    ("fit @/good.csv --target y --rows @/r.npy", &["--rows", "r.npy"]),
    ("fit @/good.csv --target y --predict @/other.csv --out @/p.csv", &["other.csv", "\"k\""]),
    ("fit @/good.csv --target y --columns k --predict @/level.csv --out @/p.csv", &["level.csv:2", "\"z\""]),
    ("fit @/good.csv --target y --missing mean --summary-out @/s.sum", &["--missing mean"]),
    ("fit --merge @/good.csv", &["--merge", "good.csv", "not a summary"]),
    ("fit --merge @/missing.sum", &["--merge", "missing.sum"]),
    ("measure @/missing.csv", &["missing.csv"]),
    ("measure @/good.csv --span-column yy", &["\"yy\""]),
    ("measure 1,2;3,4 --span 1,2,3", &["--span", "length 3", "2 rows"]),
    ("measure 1,2;3,4 --hull 1,2,3", &["3"]),
    ("decompose 1,2;3,4 --kind eigen", &["symmetric"]),
    ("decompose 1,2;3,4;5,6 --kind eigen", &["(3, 2)"]),
    ("decompose 1,2;3,4 --kind low-rank", &["--rank"]),
    ("decompose 1,2;3,4 --kind low-rank --rank 5", &["5"]),
    ("decompose 1,2;3,4 --kind qr --rank 1", &["--rank"]),
    ("decompose 1,2;3,4 --kind qr --method exact", &["--method"]),
    ("decompose 1,2;3,4 --kind svd --out @/f.csv", &["--out", "f.csv"]),
    ("solve --a 1,2;3,4 --b 1,2,3", &["`--b`", "`--a`"]),
    ("solve --a 1,1;1,1 --b 1,2 --method lu", &["singular", "rank 1"]),
    ("solve --a 1,2;2,1 --b 1,2 --method cholesky", &["positive definite"]),
    ("solve --a 1,2;3,4 --b 1,2 --sparse", &["--a", "2 columns"]),
    ("solve --a 0,0.5,1 --b 1 --sparse", &["--a", "0.5"]),
    ("solve --a nan,1;1,1 --b 1,2", &["NaN"]),
    ("project @/good.csv --onto x --vector-column xx", &["\"xx\""]),
    ("project @/good.csv --onto x --vector-column k", &["\"k\"", "text"]),
    ("project @/good.csv --onto x --vector-column x", &["--onto", "\"x\""]),
    ("project 1,2;3,4 --vector 1,2,3", &["3"]),
];

#[test]
fn every_bad_input_is_one_located_line_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| fs::write(directory.path().join(name), content).unwrap();
    write("good.csv", "y,x,k,w\n1,1,a,1\n2,3,b,-1\n4,4,c,1\n3,7,a,1\n5,9,b,2\n6,8,c,1\n");
    write("empty.csv", "");
    write("header.csv", "y,x\n");
    write("nan.csv", "y,x\n1,1\n2,nan\n");
    write("hollow.csv", "y,x\n1,\n2,\n");
    write("one.csv", "y,x\n1,1\n1,2\n");
    write("zero.csv", "y,x,w\n1,1,0\n2,3,0\n4,4,0\n");
    write("inf.csv", "y,x\n1,1\n2,inf\n3,4\n");
    write("other.csv", "x\n1\n");
    write("level.csv", "k\nz\n");
    let listing = || {
        let mut names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = listing();
    let mut wrong = Vec::new();
    for (line, mentions) in BAD {
        let args: Vec<String> = line.split(' ').map(|arg| arg.replace('@', text(directory.path()))).collect();
        let run = spanwise(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let errors = run.stderr.lines().filter(|line| line.starts_with("error: ")).count();
        let named = mentions.iter().all(|mention| run.stderr.contains(mention));
        if run.code != 2 || errors != 1 || !named || !run.stdout.is_empty() || listing() != before {
            wrong.push(format!(
                "{line}\n  code {}, expected {mentions:?}\n  {}",
                run.code,
                run.stderr.trim_end()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_slip_in_a_name_gets_the_nearest_one() {
    let run = spanwise(&["fit", &longley(), "--target", "TOTEM"]);
    assert!(run.stderr.ends_with("hint: did you mean \"TOTEMP\"?\n"), "{}", run.stderr);
}

#[test]
fn singular_systems_and_rows_that_are_all_alike_are_findings() {
    let page = joined(&spanwise(&["solve", "--a", "1,2;2,4", "--b", "1,2"]).ended_with(0));
    assert!(page.contains("A has rank 1 of 2: many x do equally well"), "{page}");
    let page = joined(&spanwise(&["solve", "--a", "1,2;2,4", "--b", "1,3"]).ended_with(0));
    assert!(page.contains("none solves the system, many x do equally well"), "{page}");
    assert!(page.contains("no x solves the system") && !page.contains("rounding alone"), "{page}");
    let page = joined(&spanwise(&["solve", "--a", "1;1;1", "--b", "1,2,4"]).ended_with(0));
    assert!(page.contains("no x solves the system") && !page.contains("rounding alone"), "{page}");
    for (method, of) in [("lu", "rows and columns scaled, 1-norm"), ("svd", "of A as given, 2-norm")] {
        let solved = spanwise(&["solve", "--a", "1,2;2,1", "--b", "1,3", "--method", method]).ended_with(0);
        assert!(joined(&solved).contains(of), "{method}");
    }
    let page = joined(&spanwise(&["decompose", "5,5;5,5", "--kind", "pca"]).ended_with(0));
    assert!(page.contains("all rows are alike: there is no variance"), "{page}");
    let page = joined(&spanwise(&["measure", "1,5;2,5;4,5"]).ended_with(0));
    assert!(page.contains("▲ caution `c1` is constant: it adds nothing to an intercept (c1 = 5)"), "{page}");
    for (matrix, verdict) in [
        ("5", "Rank 1 of 1: the column is independent, if not of an intercept. Scaled condition number 1."),
        ("1,5;2,5;4,5", "all columns are independent of each other, if not of an intercept."),
        ("0;0", "Rank 0 of 1: the column is 0."),
        ("0,0;0,0", "Rank 0 of 2: every column is 0."),
        ("1,0;2,0;4,0", "Rank 1 of 2: columns that are 0 add nothing, the others are independent."),
        ("1,2;2,4;4,8", "Rank 1 of 2: columns repeat others."),
    ] {
        let page = joined(&spanwise(&["measure", matrix]).ended_with(0));
        assert!(page.contains(verdict), "{matrix}: {page}");
        // A constant column is named once.
        assert_eq!(page.contains("is inflated for"), matrix == "1,2;2,4;4,8", "{page}");
    }
    let page = joined(&spanwise(&["project", "1;2", "--vector", "2,4"]).ended_with(0));
    assert!(page.contains("onto the span of 1 column of 2 rows"), "{page}");
}
