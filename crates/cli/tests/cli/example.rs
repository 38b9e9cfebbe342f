//! `spanwise example`.

use crate::harness::{npy_f64, spanwise, spanwise_reading, text};
use serde_json::Value;

#[test]
fn the_examples_are_listed() {
    insta::assert_snapshot!(spanwise(&["example"]).ended_with(0));
}

#[test]
fn example_66_shows_span_and_hull() {
    let page = spanwise(&["example", "66"]).ended_with(0);
    for expected in [
        "ŷ = Xw = [0, 2, 4] = 2·X[:,0] − 1·X[:,1]",
        "[0.40111209, 0.19777581, 0.40111209], summing to 1",
        "o = aV = [0.80222419, 0.79666372] = 0.40111209·v0 + 0.19777581·v1 + 0.40111209·v2",
    ] {
        assert!(page.contains(expected), "{expected}\n{page}");
    }
    insta::assert_snapshot!(page);
}

#[test]
fn example_48_shows_two_products() {
    let page = spanwise(&["example", "48"]).ended_with(0);
    for expected in [
        "A = [[0.40111209, 0.40111209, 0.19777581], [0.19777581, 0.40111209, 0.40111209]], rows sum to 1",
        "O = AV = [[0.59888791, 1], [0.59888791, 1.20333628]]",
    ] {
        assert!(page.contains(expected), "{expected}\n{page}");
    }
    insta::assert_snapshot!(page);
}

#[test]
fn no_line_is_wider_than_the_page() {
    for number in ["66", "48"] {
        let page = spanwise(&["example", number]).ended_with(0);
        let widest = page.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= 100, "{widest}");
    }
}

/// The numbers of the step `symbol` of part `part`.
fn step(lesson: &Value, part: usize, symbol: &str) -> Vec<f64> {
    let steps = lesson["parts"][part]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["symbol"] == symbol).unwrap();
    flat(&step["value"])
}

fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-15, "{found} {expected}");
    }
}

/// Of the two weights of a query that meets two keys alike and one not at all.
fn closed_form() -> (f64, f64) {
    let e = (1.0 / 2.0_f64.sqrt()).exp();
    (e / (2.0 * e + 1.0), 1.0 / (2.0 * e + 1.0))
}

#[test]
fn example_66_as_json_has_the_closed_forms() {
    let lesson = spanwise(&["example", "66", "--json"]).json();
    let (high, low) = closed_form();
    assert_eq!(lesson["number"], 66);
    assert_eq!(step(&lesson, 0, "ŷ"), [0.0, 2.0, 4.0]);
    assert_close(&step(&lesson, 1, "a"), &[high, low, high]);
    assert_close(&step(&lesson, 1, "sum"), &[1.0]);
    assert_close(&step(&lesson, 1, "o"), &[2.0 * high, 2.0 * low + high]);
    assert_eq!(lesson["parts"][0]["steps"][0]["shape"], serde_json::json!([3, 2]));
}

#[test]
fn example_48_as_json_has_the_closed_forms() {
    let lesson = spanwise(&["example", "48", "--json"]).json();
    let (high, low) = closed_form();
    assert_close(&step(&lesson, 0, "A"), &[high, high, low, low, high, high]);
    assert_close(&step(&lesson, 0, "row sums"), &[1.0, 1.0]);
    assert_close(&step(&lesson, 1, "O"), &[high + low, 2.0 * high + low, high + low, 3.0 * high]);
    let claims: Vec<&Value> = lesson["parts"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|part| part["claims"].as_array().unwrap())
        .collect();
    assert_eq!(claims.len(), 5);
    for claim in claims {
        assert_eq!(claim["holds"], true, "{claim}");
        assert!(claim["residual"].as_f64() <= claim["tolerance"].as_f64(), "{claim}");
    }
}

#[test]
fn inputs_can_be_changed_and_claims_are_checked_anew() {
    let page = spanwise(&["example", "66", "--x", "1,2,3;4,5,6", "--w", "1;0;-1"]).ended_with(0);
    assert!(page.contains("ŷ = Xw = [-2, -2] = 1·X[:,0] + 0·X[:,1] − 1·X[:,2]"), "{page}");
    // Several queries: capitals, one row each.
    let several = spanwise(&["example", "66", "--q", "1,0;0,1;-1,2"]).ended_with(0);
    assert!(several.contains("O[2] = "), "{several}");
    // Values of other widths: a line, and a shadow.
    let line = spanwise(&["example", "48", "--v", "1;2;4"]).ended_with(0);
    assert!(line.contains("the outputs among the values"), "{line}");
    let shadow = spanwise(&["example", "48", "--v", "1,2,3;4,5,6;7,8,0"]).ended_with(0);
    assert!(shadow.contains("coordinates 0 and 1 of 3"), "{shadow}");
}

#[test]
fn sizes_beyond_the_page_are_cut_and_say_so() {
    let row = vec!["0.1"; 30].join(",");
    let matrix = vec![row; 30].join(";");
    let page = spanwise(&["example", "48", "--q", &matrix, "--k", &matrix, "--v", &matrix]).ended_with(0);
    assert!(page.contains("first 12 of 30 rows, 8 of 30 columns"), "{page}");
    assert!(page.lines().count() < 250, "{}", page.lines().count());
}

#[test]
fn a_claim_that_cannot_hold_ends_with_one() {
    // 1e308·10 is no longer a number: the two ways cannot be compared.
    let run = spanwise(&["example", "66", "--x", "1e308,1e308", "--w", "10,-10"]);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    assert!(run.stdout.contains("✗ 1 of 4 claims fails"), "{}", run.stdout);
    let json = spanwise(&["example", "66", "--x", "1e308,1e308", "--w", "10,-10", "--json"]);
    assert_eq!(json.code, 1);
    assert!(json.stdout.contains("\"NaN\""), "{}", json.stdout);
    let quiet = spanwise(&["example", "66", "--x", "1e308,1e308", "--w", "10,-10", "--quiet"]);
    assert_eq!((quiet.code, quiet.stdout.as_str()), (1, ""));
}

#[test]
fn inputs_can_be_files_and_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("x.npy");
    std::fs::write(&file, npy_f64("(2, 2)", &[1.0, 2.0, 3.0, 4.0])).unwrap();
    let page = spanwise_reading(b"1,1\n", &["example", "66", "--x", text(&file), "--w", "-"]).ended_with(0);
    assert!(page.contains("ŷ = Xw = [3, 7] = 1·X[:,0] + 1·X[:,1]"), "{page}");
}

#[test]
fn the_page_can_go_to_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let (page, json) = (directory.path().join("page.txt"), directory.path().join("page.json"));
    assert_eq!(spanwise(&["example", "48", "--out", text(&page), "--color", "always"]).ended_with(0), "");
    let written = std::fs::read_to_string(&page).unwrap();
    assert_eq!(written, spanwise(&["example", "48"]).ended_with(0));
    assert_eq!(spanwise(&["example", "48", "--out", text(&json)]).ended_with(0), "");
    let written = std::fs::read_to_string(&json).unwrap();
    assert_eq!(written, spanwise(&["example", "48", "--json"]).ended_with(0));
}

#[test]
fn values_too_far_apart_to_draw_are_called_so() {
    let page = spanwise(&["example", "48", "--v", "1e308,0;-1e308,0;0,1"]).stdout;
    assert!(page.contains("not drawn: the coordinates are too far apart"), "{page}");
}

#[test]
fn product_and_combination_are_formed_in_different_orders() {
    // 0.1 + 0.2 + 0.3 rounds otherwise than 0.3 + 0.2 + 0.1, so the comparison sees two results.
    // A query of zeros weighs its three values alike.
    let linear = ["example", "66", "--x", "0.1,0.2,0.3", "--w", "1,1,1", "--json"];
    let attention = ["example", "48", "--q", "0,0", "--v", "0.1;0.2;0.3", "--json"];
    for (args, part) in [(&linear[..], 0), (&attention[..], 1)] {
        let lesson = spanwise(args).json();
        let claim = &lesson["parts"][part]["claims"][0];
        assert_eq!(claim["holds"], true, "{claim}");
        assert!(claim["residual"].as_f64().unwrap() > 0.0, "{claim}");
    }
}
