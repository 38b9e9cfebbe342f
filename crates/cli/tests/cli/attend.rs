//! `spanwise attend`.

use crate::harness::{npy, npy_f64, spanwise, spanwise_reading, text};
use spanwise_io::{Kind, Tensor, read_tensor, write_tensor};
use std::path::Path;

const THREE_KEYS: [&str; 5] = ["--q", "1,0", "--k", "1,0;0,1;1,1", "--v"];

fn attend(more: &[&str]) -> Vec<String> {
    let args = ["attend"].iter().chain(&THREE_KEYS).chain(&["1,0;0,2;1,1"]).chain(more);
    args.map(|&arg| arg.to_owned()).collect()
}

fn run(more: &[&str]) -> crate::harness::Run {
    let args = attend(more);
    spanwise(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_small_output_is_shown_whole() {
    insta::assert_snapshot!(run(&[]).ended_with(0));
}

#[test]
fn options_are_said_in_words() {
    let square = ["--q", "1,0;0,1;1,1", "--k", "1,0;0,1;1,1", "--v", "1,0;0,2;1,1"];
    let options = ["--causal", "--window", "1,*", "--softcap", "5", "--sinks", "0.5", "--alibi", "0.25"];
    let args: Vec<&str> = ["attend"].into_iter().chain(square).chain(options).collect();
    insta::assert_snapshot!(spanwise(&args).ended_with(0));
}

#[test]
fn a_large_output_is_cut_at_a_corner() {
    let row = vec!["1"; 20].join(",");
    let matrix = vec![row; 20].join(";");
    let page = spanwise(&["attend", "--q", &matrix, "--k", &matrix, "--v", &matrix]).ended_with(0);
    assert!(page.contains("first 6 of 20 rows, 4 of 20 columns\nthe whole output: --out FILE"), "{page}");
}

#[test]
fn queries_without_a_key_are_counted_and_give_zeros() {
    let page = run(&["--mask", "0,0,0"]).ended_with(0);
    assert!(page.contains("1 row has no key left and gives zeros"), "{page}");
    assert!(page.ends_with("[ 0  0 ]\n"), "{page}");
    let json = run(&["--mask", "0,0,0", "--json"]).json();
    assert_eq!(json["lse"], serde_json::json!(["-Infinity"]));
}

#[test]
fn json_holds_what_no_file_holds() {
    let json = run(&["--json"]).json();
    assert_eq!(json["summary"]["output_shape"], serde_json::json!([1, 2]));
    assert!((json["output"][0][0].as_f64().unwrap() - 0.802_224_185_359_571_9).abs() < 1e-15);
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("o.npy");
    let json = run(&["--json", "--out", text(&out)]).json();
    assert!(json.get("output").is_none());
    assert_eq!(json["files"][0][0], "output");
}

#[test]
fn every_format_holds_the_output_the_weights_and_the_log_sum_exp() {
    let directory = tempfile::tempdir().unwrap();
    for ending in ["npy", "npz", "csv", "parquet", "safetensors"] {
        let path = |name: &str| directory.path().join(format!("{name}.{ending}"));
        let (out, weights, lse) = (path("o"), path("a"), path("l"));
        let args = ["--out", text(&out), "--weights", text(&weights), "--lse", text(&lse), "--quiet"];
        assert_eq!(run(&args).ended_with(0), "", "{ending}");
        let output = read_tensor(&out).unwrap();
        assert_eq!(output.to_f64_vec(), [0.802_224_185_359_571_9, 0.796_663_721_960_642_3], "{ending}");
        let weights = read_tensor(&weights).unwrap();
        assert_eq!(weights.dims(), [1, 3], "{ending}");
        assert!((weights.to_f64_vec().iter().sum::<f64>() - 1.0).abs() < 1e-15);
        // ln(2·exp(1/√2) + exp(0)).
        let expected = (2.0 * (1.0 / 2.0_f64.sqrt()).exp() + 1.0).ln();
        let found = read_tensor(&lse).unwrap().to_f64_vec()[0];
        assert!((found - expected).abs() < 1e-15, "{ending}: {found} {expected}");
    }
}

fn write_f32(path: &Path, data: Vec<f32>, dims: &[usize]) {
    write_tensor(path, &Tensor::new(data, dims).unwrap()).unwrap();
}

#[test]
fn the_output_has_the_type_of_q() {
    let directory = tempfile::tempdir().unwrap();
    let (q, out) = (directory.path().join("q.npy"), directory.path().join("o.npy"));
    write_f32(&q, vec![1.0, 0.0], &[1, 2]);
    // q in f32, the others written in place in f64: they meet in f64.
    let args = ["attend", "--q", text(&q), "--k", "1,0;0,1;1,1", "--v", "1,0;0,2;1,1", "--out", text(&out)];
    spanwise(&args).ended_with(0);
    let output = read_tensor(&out).unwrap();
    assert_eq!(output.kind(), Kind::F32);
    assert_eq!(
        output.view_as::<f32>().unwrap().to_vec(),
        [0.802_224_185_359_571_9_f64 as f32, 0.796_663_721_960_642_3_f64 as f32]
    );
    // All in f32.
    let args = ["attend", "--q", text(&q), "--k", text(&q), "--v", text(&q), "--out", text(&out)];
    spanwise(&args).ended_with(0);
    assert_eq!(read_tensor(&out).unwrap().view_as::<f32>().unwrap().to_vec(), [1.0, 0.0]);
}

#[test]
fn heads_and_batches_keep_their_dimensions() {
    let directory = tempfile::tempdir().unwrap();
    let (q, k, out) =
        (directory.path().join("q.npy"), directory.path().join("k.npy"), directory.path().join("o.npy"));
    let ramp = |n: usize| (0..n).map(|i| i as f64 / 7.0).collect::<Vec<f64>>();
    std::fs::write(&q, npy_f64("(2, 4, 3, 2)", &ramp(48))).unwrap();
    std::fs::write(&k, npy_f64("(2, 2, 5, 2)", &ramp(40))).unwrap();
    let files = ["attend", "--q", text(&q), "--k", text(&k), "--v", text(&k), "--out", text(&out)];
    let options = ["--causal", "bottom-right", "--lengths", "5,3", "--sinks", "0,0,0,0"];
    let args: Vec<&str> = files.into_iter().chain(options).collect();
    spanwise(&args).ended_with(0);
    assert_eq!(read_tensor(&out).unwrap().dims(), [2, 4, 3, 2]);
    let page = spanwise(&args[..7]).ended_with(0);
    assert!(page.contains("3 queries over 5 keys in each of 4 heads of each of 2 batch entries\n"), "{page}");
    for (shape, said) in [
        ("(1, 4, 3, 2)", "3 queries over 2 keys in each of 4 heads\n"),
        ("(12, 2)", "12 queries over 8 keys\n"),
    ] {
        let keys = if shape.len() > 8 { "(1, 4, 2, 2)" } else { "(8, 2)" };
        std::fs::write(&q, npy_f64(shape, &ramp(24))).unwrap();
        std::fs::write(&k, npy_f64(keys, &ramp(16))).unwrap();
        let page = spanwise(&args[..7]).ended_with(0);
        assert!(page.contains(said), "{page}");
    }
}

#[test]
fn masks_are_truth_values_or_ones_and_zeros() {
    let directory = tempfile::tempdir().unwrap();
    let mask = directory.path().join("mask.npy");
    std::fs::write(&mask, npy("|b1", "(1, 3)", &[1, 0, 0])).unwrap();
    let by_file = run(&["--mask", text(&mask), "--json"]).json();
    let inline = run(&["--mask", "1,0,0", "--json"]).json();
    let by_bias = run(&["--bias", "0,-inf,-inf", "--json"]).json();
    assert_eq!(by_file["output"], serde_json::json!([[1.0, 0.0]]));
    assert_eq!(inline["output"], by_file["output"]);
    assert_eq!(by_bias["output"], by_file["output"]);
}

#[test]
fn nan_reaches_its_own_rows_alone_and_a_missing_value_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (file, table) = (directory.path().join("q.npy"), directory.path().join("q.csv"));
    std::fs::write(&file, npy_f64("(2, 2)", &[f64::NAN, 0.0, 1.0, 2.0])).unwrap();
    std::fs::write(&table, "1,0\n1,NA\n").unwrap();
    let attend = |q: &str| spanwise(&["attend", "--q", q, "--k", "1,0;0,1", "--v", "1,0;0,1", "--json"]);
    let written = attend("nan,0;1,2").json();
    assert_eq!(written["output"], attend(text(&file)).json()["output"], "{written}");
    assert!(written["output"].to_string().contains("NaN"), "{written}");
    for (q, place) in [("1,0;1,NA", "inline:2:2: "), (text(&table), "q.csv:2:2 (column \"c1\"): ")] {
        let run = attend(q);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{q}");
        let said = format!("{place}the value is missing; an array needs a number in every place\n");
        assert!(run.stderr.ends_with(&said), "{}", run.stderr);
    }
}

#[test]
fn standard_input_is_one_of_the_arrays() {
    let args = attend(&[]);
    let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
    args[2] = "-";
    let by_csv = spanwise_reading(b"1,0\n", &args).ended_with(0);
    let by_npy = spanwise_reading(&npy_f64("(1, 2)", &[1.0, 0.0]), &args).ended_with(0);
    assert_eq!(by_csv, by_npy);
    assert_eq!(by_csv, run(&[]).ended_with(0));
}

#[test]
fn nothing_is_written_when_one_of_the_files_cannot_be() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("o.npy");
    let args = ["--out", text(&out), "--weights", "/proc/no/such/a.npy"];
    assert_eq!(run(&args).code, 2);
    assert!(!out.exists());
}

#[test]
fn an_output_that_exists_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("o.npy");
    std::fs::write(&out, b"old").unwrap();
    run(&["--out", text(&out), "--quiet"]).ended_with(0);
    assert_eq!(read_tensor(&out).unwrap().dims(), [1, 2]);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}
