//! Odd cases: what is said, in one text wherever it is said, and what is refused.

use crate::harness::{command, finish, spanwise, spanwise_reading, text};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

const LONGLEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/longley.csv");

struct Files(tempfile::TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(directory.path().join(name), content).unwrap();
        }
        Files(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The page of a command whose words of the form `@name` are files.
    fn run(&self, line: &str) -> crate::harness::Run {
        let words: Vec<String> = line
            .split_whitespace()
            .map(|word| match word.strip_prefix('@') {
                Some(name) => text(&self.path(name)).to_owned(),
                None => word.to_owned(),
            })
            .collect();
        finish(command().current_dir(self.0.path()).args(&words).stdin(Stdio::null()), b"")
    }

    fn page(&self, line: &str) -> String {
        joined(&self.run(line).ended_with(0))
    }

    /// Refused with code 2; the complaint holds all of `expected`.
    fn refused(&self, line: &str, expected: &[&str]) {
        let run = self.run(line);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{line}: {}", run.stderr);
        assert!(run.stderr.starts_with("error: "), "{line}: {}", run.stderr);
        for part in expected {
            assert!(run.stderr.contains(part), "{line}: {} has no {part:?}", run.stderr);
        }
    }
}

/// A header and `count` rows.
fn table(header: &str, count: usize, row: impl Fn(usize) -> String) -> String {
    let rows: Vec<String> = (0..count).map(row).collect();
    format!("{header}\n{}\n", rows.join("\n"))
}

/// Words with one space between them, wherever lines end.
fn joined(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_narrow_gap_between_classes_is_complete_separation() {
    let table = "x,c\n0,a\n1,a\n2,a\n2.9999999999,a\n3,b\n4,b\n5,b\n";
    let files = Files::new(&[("gap.csv", table), ("touch.csv", &table.replace("2.9999999999", "3"))]);
    for line in ["fit @gap.csv --target c --model logistic --lambda 0", "explain @gap.csv --target c"] {
        let page = files.page(line);
        assert!(page.contains("`x` separates the classes") && page.contains("completely"), "{page}");
    }
    let page = files.page("explain @touch.csv --target c");
    assert!(page.contains("but for rows on the boundary: 5 of 7 rows"), "{page}");
}

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
fn measurements_and_names_of_rows_are_no_classes() {
    let numbers = table("a,y", 118, |i| format!("{},{}.5", i % 7, i));
    let names = table("a,y", 20, |i| format!("{},row{i}", i % 7));
    let files = Files::new(&[("n.csv", &numbers), ("w.csv", &names)]);
    for line in [
        "fit @n.csv --target y --model softmax",
        "fit @n.csv --target y --model logistic",
        "explain @n.csv --target y --classes",
    ] {
        files.refused(line, &["\"y\" holds 0.5", "words or whole numbers", "hint: "]);
    }
    for line in ["fit @w.csv --target y --model softmax", "explain @w.csv --target y"] {
        files.refused(line, &["\"y\" has 20 classes in 20 rows"]);
    }
}

#[test]
fn rows_without_weight_and_words_that_look_like_numbers_are_no_obstacle_to_classes() {
    let weighted = table("x,w,c", 9, |i| {
        format!("{i},{},{}", i32::from(i < 8), if i == 8 { "z" } else { ["a", "b"][i * i % 3 % 2] })
    });
    let words = table("x,c", 8, |i| format!("{i},{}", ["inf", "sup"][i * i % 3 % 2]));
    let files = Files::new(&[("weighted.csv", &weighted), ("words.csv", &words)]);
    files.page("fit @weighted.csv --target c --model logistic --weights w");
    assert!(files.page("fit @words.csv --target c --model logistic").contains("class sup"));
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

#[test]
fn outputs_and_roles_that_cannot_be_meant_are_refused() {
    let files = Files::new(&[("t.csv", "a,b,y\n1,2,3\n2,1,5\n4,4,6\n7,1,2\n")]);
    files.refused("fit @t.csv --target y --weights y", &["`--target` and `--weights` are both \"y\""]);
    files.refused("explain @t.csv --target y --weights y", &["`--target` and `--weights` are both \"y\""]);
    let both = &["`--columns` and `--weights` both name \"a\""];
    files.refused("fit @t.csv --target y --columns a,b --weights a", both);
    for verb in ["explain @t.csv --target y", "measure @t.csv", "example 66"] {
        files.refused(&format!("{verb} --out res.xlsx"), &["res.xlsx", "expected .json, .txt or no ending"]);
        assert!(!files.path("res.xlsx").exists());
        for kept in ["res.txt", "res", "res.json", "RES.JSON"] {
            files.run(&format!("{verb} --out {kept}")).ended_with(0);
            let json = fs::read_to_string(files.path(kept)).unwrap().starts_with(['{', '[']);
            assert_eq!(json, kept.to_lowercase().ends_with("json"), "{verb} {kept}");
        }
    }
    files.refused("explain @t.csv --target y --out page.html", &["hint: `spanwise explain --html FILE`"]);
}

#[test]
fn a_sample_does_not_replace_a_file_that_was_not_named() {
    let files = Files::new(&[("outlier.csv", "mine\n")]);
    files.refused(
        "sample outlier",
        &["outlier.csv: the file exists already", "`--out outlier.csv` replaces it"],
    );
    assert_eq!(fs::read_to_string(files.path("outlier.csv")).unwrap(), "mine\n");
    files.run("sample outlier --out outlier.csv").ended_with(0);
    // The sample itself is nobody's loss.
    files.run("sample outlier").ended_with(0);
    files.run("sample saturated-attention").ended_with(0);
    files.run("sample saturated-attention").ended_with(0);
    assert_ne!(fs::read_to_string(files.path("outlier.csv")).unwrap(), "mine\n");
}

#[test]
fn other_delimiters_are_recognised_and_read() {
    let rows = "a;b;y\n1;2;3\n2;1;5\n4;4;6\n7;1;2\n";
    let files = Files::new(&[
        ("semi.csv", rows),
        ("tab.csv", &rows.replace(';', "\t")),
        ("bar.csv", &rows.replace(';', "|")),
        ("comma.tsv", &rows.replace(';', ",")),
        ("plain.csv", &rows.replace(';', ",")),
        ("one.csv", "y\n1\n2\n"),
    ]);
    let plain = files.run("fit @plain.csv --target y --json").json()["coefficients"].clone();
    for (file, word, found) in [
        ("semi.csv", ";", "semicolons in the first line and no commas"),
        ("tab.csv", "tab", "tabs in the first line and no commas"),
        ("bar.csv", "|", "bars in the first line and no commas"),
        ("comma.tsv", ",", "commas in the first line and no tabs"),
    ] {
        files.refused(&format!("fit @{file} --target y"), &[found, "hint: `--delimiter "]);
        let read = files.run(&format!("fit @{file} --target y --json --delimiter {word}")).json();
        assert_eq!(read["coefficients"], plain, "{file}");
    }
    for verb in ["measure @semi.csv", "explain @semi.csv --target y", "project @semi.csv --vector-column y"] {
        files.refused(verb, &["semicolons"]);
        files.run(&format!("{verb} --delimiter ;")).ended_with(0);
    }
    files.run("measure @one.csv").ended_with(0);
    let refused = files.run("fit @semi.csv --target y --delimiter ab");
    assert!(refused.code == 2 && refused.stderr.contains("one character"), "{}", refused.stderr);
}

#[test]
fn help_is_wrapped_once() {
    for (verb, width) in ["attend", "example", "fit", "project", "decompose", "solve", "measure", "explain"]
        .into_iter()
        .flat_map(|verb| [(verb, 80), (verb, 100)])
    {
        let mut asked = command();
        asked.env("COLUMNS", width.to_string()).args([verb, "--help"]).stdin(Stdio::null());
        let page = finish(&mut asked, b"").ended_with(0);
        let lines: Vec<&str> = page.lines().collect();
        for pair in lines.windows(2).filter(|pair| !pair[0].is_empty() && !pair[1].is_empty()) {
            assert!(pair[0].chars().count() <= width, "{verb} at {width}: {}", pair[0]);
            if pair.iter().all(|line| !line.starts_with(' ')) {
                // A line of prose ends because the next word does not fit.
                let word = pair[1].split(' ').next().unwrap_or_default();
                let whole = pair[0].chars().count() + 1 + word.chars().count();
                assert!(whole > width, "{verb} at {width}: {:?} before {:?}", pair[0], pair[1]);
            }
        }
    }
}

#[test]
fn logistic_regression_has_one_default_penalty() {
    let files = Files::new(&[("c.csv", "y,x\nno,1\nno,2\nyes,2.5\nno,3\nyes,4\nyes,5\n")]);
    let terms = |more: &str| {
        files.run(&format!("fit @c.csv --target y --model logistic --json{more}")).json()["coefficients"]
            .clone()
    };
    assert_eq!(terms(""), terms(" --lambda 1"));
    assert_ne!(terms(""), terms(" --lambda 0"));
}

/// Each ends with code 2, one line `error: `, and says what stands beside it.
const BAD: &[(&str, &[&str])] = &[
    ("fit @nan.csv --target y", &["nan.csv:3:2", "found nothing", "hint: `--missing drop`"]),
    ("fit @nan.csv --target y --columns b", &["nan.csv:3:2 (column \"b\")"]),
    (
        "fit @commas.csv --target y --delimiter ;",
        &[
            "commas.csv:2:1",
            "found \"1,5\"",
            "a comma inside a number is not read",
            "write 3.14 for 3,14",
            "`--categories`",
        ],
    ),
    ("fit @commas.csv --target a --columns y --delimiter ;", &["commas.csv:2:1", "write 3.14 for 3,14"]),
    ("explain @commas.csv --target a --delimiter ;", &["commas.csv:2:1", "write 3.14 for 3,14"]),
    (
        "fit @dot.csv --target y",
        &["dot.csv:3:2", "found \".\"", "4 of 5 different values are numbers; leave a field empty"],
    ),
    (
        "explain @good.csv --target y --html page.pdf",
        &["`--html`: page.pdf", "expected .html", "browsers print"],
    ),
    ("fit @good.csv --target y --columns a,zero,a", &["`--columns` names \"a\" twice"]),
    ("measure @good.csv --exclude text,nothing", &["there is no column \"nothing\""]),
    ("measure @only.csv --exclude y", &["only.csv", "no columns"]),
    ("fit @short.csv --target y", &["short.csv:3:2", "found 1 field; the first row has 2"]),
    ("measure 1,2;3,4 --delimiter ;", &["`--delimiter`", "is a matrix in the argument"]),
    ("fit @thousands.csv --target y", &["thousands.csv:2:1", "found \"1,234\"", "1234 for 1,234"]),
    ("project @thousands.csv --vector-column y", &["found \"1,234\"", "`--categories` takes the column"]),
    ("fit @inf.csv --target y", &["inf.csv:3:2", "found inf", "`--missing mean`"]),
    (
        "fit @large.csv --target y",
        &["large.csv:3:2", "found inf, or a number too large for f64 (beyond 1.8e308)"],
    ),
    (
        "fit @marks.csv --target y --columns a,b",
        &["there is no column \"b\"; found a, \"5\"\" wide\", \"x\\y, z\", y"],
    ),
    ("fit @marks.csv --target y", &["marks.csv:3:2 (column \"5\"\" wide\")", "found nothing"]),
    ("fit @header.csv --target y", &["there are no rows"]),
    ("fit @empty.csv --target y", &["the file is empty"]),
    ("fit @twice.csv --target y", &["\"a\" occurs twice", "hint: "]),
    ("fit @only.csv --target y", &["no columns are left"]),
    (
        "fit @good.csv --target text",
        &["found \"x\"", "`--target` names a column of numbers", "--model logistic"],
    ),
    ("fit @good.csv --target y --weights text", &["`--weights` names a column of numbers"]),
    ("fit @good.csv --target y --weights minus", &["found -1", "must not be negative"]),
    ("fit @good.csv --target y --weights zero", &["adds up to 0"]),
    ("fit @good.csv --target y --weights zero --stream", &["adds up to 0"]),
    ("fit @good.csv --target y --model ridge --lambda -1", &["λ is -1"]),
    ("fit @good.csv --target y --model ridge --lambda -inf", &["λ is -inf"]),
    ("fit @good.csv --target y --model ridge --lambdas -1,1", &["λ is -1"]),
    ("fit @good.csv --target y --model kernel --kernel-degree -1", &["'-1' for '--kernel-degree <D>'"]),
    ("fit @good.csv --target y --model kernel --landmarks -3", &["`--landmarks`", "-3"]),
    ("fit @good.csv --target y --model kernel --seed -3", &["'-3' for '--seed <SEED>'"]),
    ("fit @good.csv --target y --degree -1", &["'-1' for '--degree <D>'"]),
    ("fit @good.csv --target y --confidence -inf", &["`--confidence` is -inf"]),
    ("fit @good.csv --target y --memory -1", &["'-1' for '--memory <MIB>'"]),
    ("measure 1,2;3,4 --tolerance -inf", &["`tolerance` is -inf"]),
    ("decompose 1,2;3,4 --kind pca --rank -1", &["'-1' for '--rank <K>'"]),
    ("fit @good.csv --target zero --model logistic", &["1 different label among"]),
    (
        "project @nan.csv --onto a,b --vector-column y",
        &["nan.csv:3:2", "`--missing drop` leaves such rows out"],
    ),
    ("project @good.csv --onto a --vector-column text", &["\"text\" holds text"]),
    ("project 1,0;0,1 --vector 1,nan", &["`--vector` holds NaN"]),
    ("project 1,0;0,1 --vector 1,2,3", &["`--vector` is 1 × 3", "2 rows"]),
    ("project @header.csv --vector-column y", &["there are no rows"]),
    ("decompose @nan.csv --kind svd", &["found nothing", "--missing"]),
    ("decompose 1,2;3,4 --kind pca --rank 3", &["`--rank` is 3", "from 1 to 2"]),
    ("decompose 1,2;3,4 --kind low-rank --rank 0", &["`--rank` is 0", "from 1 to 2"]),
    ("decompose 1,2 --kind pca", &["expected at least 2"]),
    ("decompose @empty.csv --kind qr", &["the file is empty"]),
    ("solve --a 1,2;2,1 --b 1,2,3", &["`--b` has shape (1, 3)", "`--a` has 2 rows"]),
    ("solve --a 1,2;2,4 --b 1,2 --method lu", &["singular", "hint: "]),
    ("solve --a 1,nan;2,1 --b 1,2", &["`A` holds NaN"]),
    ("solve --a @empty.csv --b 1", &["the file is empty"]),
    ("measure @nan.csv", &["found nothing", "--missing"]),
    ("measure 1,2;3,4 --span 1,nan", &["`--span` holds NaN at position 1"]),
    ("measure 1,2;3,4 --hull 1,inf", &["`--hull` holds inf at row 0, column 1"]),
    ("measure 1,2;3,4 --hull 1,2,3", &["`--hull` has 3 columns, the table has 2 columns"]),
    ("measure @good.csv --span-column text", &["`--span-column` names a column of numbers"]),
    ("measure @good.csv --columns a,y --span-column y", &["`--columns` and `--span-column` both name \"y\""]),
    ("measure @header.csv", &["there are no rows"]),
];

#[test]
fn what_is_wrong_is_said_in_the_words_of_the_command() {
    let files = Files::new(&[
        ("nan.csv", "a,b,y\n1,2,3\n2,,5\n4,4,6\n5,7,8\n"),
        ("inf.csv", "a,b,y\n1,2,3\n2,inf,5\n4,4,6\n5,7,8\n"),
        ("large.csv", "a,b,y\n1,2,3\n2,1e400,5\n4,4,6\n5,7,8\n"),
        ("marks.csv", "a,\"5\"\" wide\",\"x\\y, z\",y\n1,2,3,1\n2,,5,2\n4,4,6,4\n5,7,8,1\n"),
        ("header.csv", "a,b,y\n"),
        ("empty.csv", ""),
        ("twice.csv", "a,a,y\n1,2,3\n"),
        ("only.csv", "y\n1\n2\n"),
        ("commas.csv", "a;y\n1,5;2\n2,5;3\n3,25;5\n4;6\n"),
        ("short.csv", "a,y\n1,2\n3\n4,5\n"),
        ("dot.csv", "a,y\n1,2\n3,.\n4,5\n5,6\n6,7\n"),
        ("thousands.csv", "a,y\n\"1,234\",2\n\"1,234,567\",3\n12,5\n"),
        ("good.csv", "a,text,minus,zero,y\n1,x,1,0,3\n2,z,-1,0,5\n3,x,2,0,6\n5,z,1,0,6\n"),
    ]);
    for (line, expected) in BAD {
        files.refused(line, expected);
    }
}

#[test]
fn a_word_among_numbers_is_said_with_its_place() {
    let row = |i: usize| if i == 3 { format!("{i},n/k,1") } else { format!("{i},{},{}", i * i % 7, 2 * i) };
    let files = Files::new(&[("t.csv", &table("a,b,y", 9, row))]);
    let run = files.run("fit @t.csv --target y --columns b");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let said = "t.csv:5:2 (column \"b\"): found \"n/k\"; 4 of 5 different values are numbers, and all were read as categories";
    assert!(run.stderr.starts_with("caution: ") && run.stderr.contains(said), "{}", run.stderr);
    files.run("fit @t.csv --target y --columns b --categories b").ended_with(0);
    files.run("fit @t.csv --target y --columns a").ended_with(0);
}

#[test]
fn a_column_with_a_word_of_its_own_for_each_row_is_said() {
    let row = |i: usize| format!("d{i},g{},{},{}", i % 5, i * i % 7, 2 * i);
    let files = Files::new(&[("t.csv", &table("when,group,a,y", 30, row))]);
    let run = files.run("fit t.csv --target y");
    let said = "caution: t.csv, column 1 (column \"when\"): 30 different words, \"d0\" the first, and each becomes a column of 0 and 1";
    assert!(run.stderr.contains(said) && !run.stderr.contains("group"), "{}", run.stderr);
    for others in ["fit t.csv --target y --exclude when", "fit t.csv --target y --columns a,group"] {
        assert_eq!(files.run(others).stderr, "", "{others}");
    }
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
fn explain_says_which_penalty_its_classes_were_fitted_with() {
    let row = |i: usize| format!("{},{}", i, if (i * 7) % 5 < 2 { "u" } else { "v" });
    let files = Files::new(&[("t.csv", &table("a,c", 20, row))]);
    let page = files.page("explain @t.csv --target c");
    assert!(page.contains("without a penalty (λ = 0; `fit` has λ = 1 unless told otherwise)"), "{page}");
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

#[test]
fn standard_input_is_read_for_one_argument() {
    for (words, first, second) in [
        ("measure - --span -", "FILE", "--span"),
        ("measure - --against -", "FILE", "--against"),
        ("measure - --hull -", "FILE", "--hull"),
        ("measure 1,0;0,1 --span - --against -", "--span", "--against"),
        ("project - --vector -", "FILE", "--vector"),
        ("project - --change-of-basis - --coefficients 1,2", "FILE", "--change-of-basis"),
        ("project 1,0;0,1 --change-of-basis - --coefficients -", "--change-of-basis", "--coefficients"),
        ("fit - --target y --predict - --out p.csv", "FILE", "--predict"),
        ("solve --a - --b -", "--a", "--b"),
        ("attend --q - --k - --v 1,2;3,4", "--q", "--k"),
        ("explain --q 1,2 --k - --v -", "--k", "--v"),
    ] {
        let run = spanwise_reading(b"1,2\n", &words.split(' ').collect::<Vec<_>>());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{words}");
        let expected = format!(
            "`{second}`: standard input is already read for `{first}`; only one argument can be `-`\n"
        );
        assert!(
            run.stderr.ends_with(&expected) && run.stderr.lines().count() == 1,
            "{words}: {}",
            run.stderr
        );
    }
}
