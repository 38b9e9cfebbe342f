//! What the linear verbs refuse, and in which words.

use crate::files::Files;
use crate::harness::{spanwise, spanwise_reading};
use std::fs;

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
    ("solve --a 1,nan;2,1 --b 1,2", &["`--a` holds NaN at row 1, column 2; expected finite numbers"]),
    ("solve --a 1,3;2,1 --b 1,inf", &["`--b` holds inf at position 2; expected finite numbers"]),
    (
        "solve --sparse --a 0,0,1;0.5,1,1 --b 1,2",
        &["`--a`: entry 2 has row 0.5; expected a whole number from 0"],
    ),
    (
        "solve --sparse --a 0,0,1;2,1,1 --b 1,2",
        &["`--a`: entry 2 is in row 2; `--b` has 2 rows, counted from 0"],
    ),
    (
        "solve --a 1e-300 --b 1e300",
        &[
            "solve: `x` lies outside what f64 can hold: the numbers of `b` are too large for it",
            "hint: divide `b` by a power of ten",
        ],
    ),
    ("solve --a @empty.csv --b 1", &["the file is empty"]),
    ("measure @nan.csv", &["found nothing", "--missing"]),
    ("measure 1,2;3,4 --span 1,nan", &["`--span` holds NaN at position 2"]),
    ("measure 1,2;3,4 --hull 1,inf", &["`--hull` holds inf at row 1, column 2"]),
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

#[test]
fn an_option_where_a_target_belongs_is_no_target() {
    let run = spanwise(&["fit", "t.csv", "--target", "--json"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("--target") && run.stderr.contains("found an option"), "{}", run.stderr);
}
