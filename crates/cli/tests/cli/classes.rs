//! Targets that are classes: what counts as one, what is said of them.

use crate::files::{Files, table};

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
fn logistic_regression_has_one_default_penalty() {
    let files = Files::new(&[("c.csv", "y,x\nno,1\nno,2\nyes,2.5\nno,3\nyes,4\nyes,5\n")]);
    let terms = |more: &str| {
        files.run(&format!("fit @c.csv --target y --model logistic --json{more}")).json()["coefficients"]
            .clone()
    };
    assert_eq!(terms(""), terms(" --lambda 1"));
    assert_ne!(terms(""), terms(" --lambda 0"));
}

#[test]
fn explain_says_which_penalty_its_classes_were_fitted_with() {
    let row = |i: usize| format!("{},{}", i, if (i * 7) % 5 < 2 { "u" } else { "v" });
    let files = Files::new(&[("t.csv", &table("a,c", 20, row))]);
    let page = files.page("explain @t.csv --target c");
    assert!(page.contains("without a penalty (λ = 0; `fit` has λ = 1 unless told otherwise)"), "{page}");
}

#[test]
fn truth_values_are_two_classes_however_they_are_spelled() {
    let words = ["True", "true", "TRUE", "False", "false", "FALSE"];
    let row = |i: usize| format!("{},{}", i * i % 13, words[i * 5 % 6]);
    let files = Files::new(&[("t.csv", &table("a,y", 40, row))]);
    let explained = files.run("explain @t.csv --target y --json").json();
    assert_eq!(explained["subject"]["classes"], serde_json::json!(["False", "True"]), "{explained}");
    for model in ["logistic", "softmax"] {
        let page = files.page(&format!("fit @t.csv --target y --model {model}"));
        assert!(page.contains("log-odds of `True` against `False`"), "{page}");
    }
}
