//! Tables of text: what stands between fields, and words where numbers are expected.

use crate::files::{Files, table};

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
