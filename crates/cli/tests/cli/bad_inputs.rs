//! What is wrong with an input is said in one line, with exit code 2, and nothing is left behind.

use crate::harness::{npy, npy_f64, spanwise, spanwise_reading};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What is typed (`@` stands for the directory of files), and what the error must name.
type Case = (&'static str, &'static [&'static str]);

/// Bad arguments and bad files for examples; the tables below are the same for `attend`.
const EXAMPLES: &[Case] = &[
    ("example 67", &["67", "48 and 66"]),
    ("example 48 --x 1,2", &["`x`", "q, k, v"]),
    ("example 48 --w 1,2", &["`w`"]),
    ("example 66 --x 1,2;3", &["--x", "2"]),
    ("example 66 --x 1,a;3,4", &["--x", "a"]),
    ("example 66 --x 1,,2", &["--x"]),
    ("example 66 --x nan,1", &["`x`", "NaN", "row 1, column 1"]),
    ("example 66 --x 1,inf", &["`x`", "inf", "row 1, column 2"]),
    ("example 66 --w 1,2,3", &["`w`", "length 3", "2 columns"]),
    ("example 66 --w 1,2;3,4", &["`w`", "(2, 2)"]),
    ("example 66 --q 1,0,0", &["`k` has width 2", "`q` has width 3"]),
    ("example 66 --k 1,0", &["`v` has 3 rows", "`k` has 1"]),
    ("example 48 --v 1,0,2;2,1,0", &["`v` has 2 rows", "`k` has 3"]),
    ("example 48 --q @/missing.npy", &["--q", "missing.npy"]),
    ("example 48 --q @", &["--q", "directory"]),
    ("example 48 --q @/cube.npy", &["`q`", "(2, 1, 2)", "2 dimensions"]),
    ("example 48 --q @/vector.npy", &["`q`", "(2,)"]),
    ("example 48 --q @/no_rows.npy", &["`q`", "(0, 2)"]),
    ("example 48 --q @/nan.npy", &["`q`", "NaN", "row 2, column 1"]),
    ("example 48 --q - --k -", &["--k", "--q", "-"]),
    ("example 66 --out @/no/such/directory/page.txt", &["--out", "page.txt"]),
    ("example 66 --out @", &["--out", "directory"]),
    ("example 66 --out /dev/full", &["/dev/full"]),
    ("example 66 --out @/good.npy/page.txt", &["--out", "good.npy"]),
    ("example 66 --out /proc/page.txt", &["/proc/page.txt"]),
    ("man --out @/no/such/directory", &["--out", "no/such/directory"]),
];

/// What follows `attend --k @/good.npy --v @/good.npy`; `--q @/good.npy` too unless the case has its own.
const ATTEND: &[Case] = &[
    ("--q @/missing.npy", &["--q", "missing.npy"]),
    ("--q @", &["--q", "directory"]),
    ("--q @/empty.npy", &["--q", "empty.npy"]),
    ("--q @/empty.csv", &["--q", "empty.csv"]),
    ("--q @/truncated.npy", &["--q", "truncated.npy"]),
    ("--q @/cut_header.npy", &["--q", "cut_header.npy"]),
    ("--q @/text.npy", &["--q", "text.npy"]),
    ("--q @/complex.npy", &["--q", "complex.npy", "c16"]),
    ("--q @/object.npy", &["--q", "object.npy", "O"]),
    ("--q @/enormous.npy", &["--q", "enormous.npy"]),
    ("--q @/five.npy", &["--q", "five.npy"]),
    ("--q @/ragged.csv", &["--q", "ragged.csv:2"]),
    ("--q @/words.csv", &["--q", "words.csv:3:2"]),
    ("--q @/text.npz", &["--q", "text.npz"]),
    ("--q @/text.parquet", &["--q", "text.parquet"]),
    ("--q @/text.arrow", &["--q", "text.arrow"]),
    ("--q @/length.safetensors", &["--q", "length.safetensors"]),
    ("--q @/json.safetensors", &["--q", "json.safetensors"]),
    ("--q @/dtype.safetensors", &["--q", "dtype.safetensors"]),
    ("--q @/range.safetensors", &["--q", "range.safetensors"]),
    ("--q @/good.safetensors:b", &["--q", "good.safetensors", "b"]),
    ("--q @/good.npy:a", &["--q", "good.npy"]),
    ("--q @/unknown.xyz", &["--q", "unknown.xyz", ".xyz"]),
    ("--q 1,0;1", &["--q"]),
    ("--q 1,zero", &["--q", "zero"]),
    ("--q 1,0,0", &["`q` has width 3"]),
    ("--q @/vector.npy", &["`q`", "(2,)"]),
    ("--q - --bias -", &["--bias", "--q"]),
    ("--q 1,0 --causal", &["`causal`", "top-left", "bottom-right"]),
    ("--q 1,0 --window 1,1", &["`window`", "top-left", "bottom-right"]),
    ("--window 3", &["--window", "3"]),
    ("--window -1,0", &["--window", "-1,0"]),
    ("--window a,b", &["--window", "a,b"]),
    ("--causal top-left --align bottom-right", &["--align", "--causal"]),
    ("--softcap 0", &["`softcap`", "0"]),
    ("--softcap -1", &["`softcap`", "-1"]),
    ("--scale nan", &["`scale`", "NaN"]),
    ("--bias 1,2,3", &["`bias`", "(1, 3)"]),
    ("--mask 1,0,1", &["`mask`", "(1, 3)"]),
    ("--mask 1,0.5", &["--mask", "0.5"]),
    ("--alibi 1,2", &["`alibi` has 2 entries", "expected 1"]),
    ("--alibi 1,2;3,4", &["--alibi", "(2, 2)"]),
    ("--sinks nan", &["--sinks", "NaN"]),
    ("--sinks 1,2", &["`sinks`"]),
    ("--lengths 3", &["`lengths`", "3", "2 keys"]),
    ("--lengths 1.5", &["--lengths", "1.5"]),
    ("--lengths -1", &["--lengths", "-1"]),
    ("--out @/o.txt", &["--out", "o.txt"]),
    ("--out @/o", &["--out"]),
    ("--out @/o.arrow", &["--out", "o.arrow"]),
    ("--out @/no/such/o.npy", &["--out", "o.npy"]),
    ("--out @/good.npy/o.npy", &["--out", "o.npy"]),
    ("--out /proc/o.npy", &["--out", "/proc/o.npy"]),
    ("--out /dev/full", &["--out", "/dev/full"]),
    // A link to /dev/full. Arrays are written into no device, so a full disk is met by `example --out /dev/full` above
    // and behind standard output (surroundings.rs).
    ("--out @/full.npy", &["--out", "full.npy", "device"]),
    ("--out @/a_directory.npy", &["--out", "directory"]),
    ("--out @/same.npy --weights @/same.npy", &["--out", "--weights", "same.npy"]),
    ("--out @/same.npy --weights @/./same.npy", &["--out", "--weights", "same.npy"]),
    ("--out @/good.npy --lse @/link.npy", &["--out", "--lse", "link.npy"]),
    ("--out @/new.npy --weights /proc/a.npy", &["--weights", "/proc/a.npy"]),
    ("--q @/cube.npy --out @/o.csv", &["--out", "o.csv", "2 dimensions"]),
    ("--q @/cube.npy --out @/o.parquet", &["--out", "o.parquet", "2 dimensions"]),
];

/// What the parser of arguments refuses, in words of its own.
const USAGE: &[&str] = &[
    "exampel 66",
    "attend --q 1",
    "attend --q 1 --k 1 --v 1 --scale one",
    "attend --q 1 --k 1 --v 1 --causal diagonal",
    "attend --q 1 --k 1 --v 1 --align top-left",
    "example sixty-six",
    "example --x 1,2",
    "completions tcsh",
    "example 66 --color sometimes",
];

/// Good files and bad ones.
fn fill(directory: &Path) {
    let write = |name: &str, bytes: &[u8]| fs::write(directory.join(name), bytes).unwrap();
    let good = npy_f64("(2, 2)", &[1.0, 0.0, 0.0, 1.0]);
    write("good.npy", &good);
    write("truncated.npy", &good[..good.len() - 5]);
    write("cut_header.npy", &good[..40]);
    write("empty.npy", b"");
    write("empty.csv", b"");
    write("complex.npy", &npy("<c16", "(1, 2)", &[0; 32]));
    write("object.npy", &npy("|O", "(1, 2)", &[0; 16]));
    write("enormous.npy", &npy("<f8", "(4000000000, 4000000000)", &[0; 16]));
    write("five.npy", &npy_f64("(1, 1, 1, 1, 2)", &[1.0, 0.0]));
    write("cube.npy", &npy_f64("(2, 1, 2)", &[1.0, 0.0, 0.0, 1.0]));
    write("vector.npy", &npy_f64("(2,)", &[1.0, 0.0]));
    write("no_rows.npy", &npy_f64("(0, 2)", &[]));
    write("nan.npy", &npy_f64("(2, 2)", &[1.0, 0.0, f64::NAN, 1.0]));
    write("ragged.csv", b"1,2\n3\n");
    write("words.csv", b"a,b\n1,2\n3,four\n");
    write("unknown.xyz", b"1,2\n");
    for ending in ["npy", "npz", "parquet", "arrow"] {
        write(&format!("text.{ending}"), b"this is not what the name says, by far");
    }
    let safetensors = |header: &str, data: &[u8]| {
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
    };
    let tensor = r#"{"a":{"dtype":"F64","shape":[1,2],"data_offsets":[0,16]}}"#;
    write("good.safetensors", &safetensors(tensor, &[0; 16]));
    write("length.safetensors", &[&u64::MAX.to_le_bytes()[..], b"{}"].concat());
    write("json.safetensors", &safetensors(r#"{"a":{"dtype""#, &[0; 16]));
    write("dtype.safetensors", &safetensors(&tensor.replace("F64", "F65"), &[0; 16]));
    write("range.safetensors", &safetensors(tensor, &[0; 8]));
    fs::create_dir(directory.join("a_directory.npy")).unwrap();
    #[cfg(unix)]
    for (target, link) in [("/dev/full", "full.npy"), ("good.npy", "link.npy")] {
        std::os::unix::fs::symlink(target, directory.join(link)).unwrap();
    }
}

fn listing(directory: &Path) -> BTreeSet<String> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// All cases as whole command lines.
fn cases() -> Vec<(Vec<String>, &'static [&'static str])> {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut cases: Vec<_> = EXAMPLES.iter().map(|&(line, mentions)| (words(line), mentions)).collect();
    for &(line, mentions) in ATTEND {
        let mut args = words("attend --k @/good.npy --v @/good.npy");
        if !line.starts_with("--q") {
            args.extend(words("--q @/good.npy"));
        }
        args.extend(words(line));
        cases.push((args, mentions));
    }
    cases
}

#[test]
fn every_bad_input_is_one_located_line_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    let before = listing(directory.path());
    let place = directory.path().to_str().unwrap();
    let mut wrong = Vec::new();
    for (args, mentions) in cases() {
        let args: Vec<String> = args.iter().map(|arg| arg.replace('@', place)).collect();
        let line = args.join(" ");
        let run = spanwise_reading(b"1,0\n0,1\n", &args.iter().map(String::as_str).collect::<Vec<_>>());
        let errors: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        let others = run.stderr.lines().filter(|line| !line.starts_with("error: "));
        let only_hints = others.clone().count() <= 1 && others.clone().all(|line| line.starts_with("hint: "));
        let named =
            errors.first().is_some_and(|error| mentions.iter().all(|mention| error.contains(mention)));
        if run.code != 2 || errors.len() != 1 || !only_hints || !named || !run.stdout.is_empty() {
            wrong.push(format!(
                "{line}\n  code {}, expected {mentions:?}\n  {}",
                run.code,
                run.stderr.trim_end()
            ));
        }
        if listing(directory.path()) != before {
            wrong.push(format!("{line}\n  left behind {:?}", listing(directory.path())));
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
    assert!(fs::metadata("/dev/full").is_ok_and(|full| !full.is_file()));
}

#[test]
fn there_are_at_least_forty_bad_inputs() {
    assert!(cases().len() >= 40, "{}", cases().len());
}

#[test]
fn bad_usage_ends_with_two_and_a_word_about_it() {
    for line in USAGE {
        let run = spanwise(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{line}");
        let errors = run.stderr.lines().filter(|line| line.starts_with("error: ")).count();
        assert!(errors == 1 && !run.stderr.contains("panicked"), "{line}\n{}", run.stderr);
    }
    let run = spanwise(&["exampel"]);
    assert!(run.stderr.contains("'example'"), "{}", run.stderr);
}

#[test]
fn likely_mistakes_get_a_hint() {
    let run = spanwise(&["attend", "--q", "1,0,0", "--k", "1;0;0", "--v", "1"]);
    assert_eq!(
        run.stderr,
        "error: attention: `k` has width 1, `q` has width 3; they must be equal\nhint: `k` looks transposed; its shape is (3, 1)\n"
    );
    for more in [&["--window", "1,1"][..], &["--causal"]] {
        let run = spanwise(&[&["attend", "--q", "1,0", "--k", "1,0;0,1", "--v", "1;2"], more].concat());
        assert!(
            run.stderr.contains("\nhint: `--align top-left` puts the first of 1 queries"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn what_is_wrong_is_said_once() {
    let cases: [(&[&str], &str); 4] = [
        (
            &["attend", "--q", "missing.npy", "--k", "1", "--v", "1"],
            "error: `--q`: missing.npy: cannot open: No such file or directory\n",
        ),
        (
            &["example", "66", "--out", "/dev/full"],
            "error: /dev/full: cannot write: No space left on device\n",
        ),
        (
            &["attend", "--q", "", "--k", "1", "--v", "1"],
            "error: `--q` is empty; expected a file, a matrix such as \"1,0;0,1\", or `-`\n",
        ),
        (
            &["example", "66", "--w", "1,2,3"],
            "error: example: `w` has length 3, `X` has 2 columns; they must be equal\n\
             hint: `X` looks transposed; its shape is (3, 2)\n",
        ),
    ];
    for (args, expected) in cases {
        let run = spanwise(args);
        assert_eq!((run.code, run.stderr.as_str()), (2, expected));
    }
}
