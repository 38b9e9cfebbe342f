//! A table of broken inputs: each gives one line that says where and what, and never a panic or a part of a file.

use crate::data;
use spanwise_io::{
    Format, IoError, ReadOptions, Table, TableReader, Tensor, read_table, read_tensor, read_tensor_as,
    read_tensors, write_bytes, write_table, write_tensor, write_tensors,
};
use std::fs;
use std::path::{Path, PathBuf};

/// A name, the file's content, and what the message must say.
type Case = (&'static str, Vec<u8>, &'static [&'static str]);

fn npy(header: &str, body: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend_from_slice(&(header.len() as u16).to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(body);
    file
}

fn safetensors(header: &str, body: &[u8]) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(body);
    file
}

fn start(name: &str, bytes: usize) -> Vec<u8> {
    fs::read(data(name)).unwrap()[..bytes].to_vec()
}

fn changed(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = fs::read(data(name)).unwrap();
    change(&mut bytes);
    bytes
}

/// Files that are no array.
fn array_cases() -> Vec<Case> {
    let f4 = |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let descr = |name: &str| format!("{{'descr': {name}, 'fortran_order': False, 'shape': (1,), }}\n");
    let two = |from: usize, to: usize| {
        let entry = |name: &str, from: usize, to: usize| {
            format!("\"{name}\": {{\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [{from}, {to}]}}")
        };
        format!("{{{}, {}}}", entry("q", 0, 4), entry("k", from, to))
    };
    let one = "{\"q\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 4]}}";
    vec![
        ("empty.npy", vec![], &["the file is empty"]),
        ("text.npy", b"1,2\n".to_vec(), &["expected an npy array", "something else"]),
        ("zip.npy", start("stored.npz", 64), &["expected an npy array", "an npz archive"]),
        ("magic.npy", b"\x93NUM".to_vec(), &["truncated: the header"]),
        ("version.npy", b"\x93NUMPY\x09\x00\x00\x00".to_vec(), &["version 9.0 is unknown"]),
        (
            "cut_header.npy",
            start("f32.npy", 40),
            &["byte 10", "truncated: the header needs 118 bytes", "has 30"],
        ),
        (
            "cut_array.npy",
            start("f32.npy", 140),
            &["byte 128", "truncated: the array needs 24 bytes", "has 12"],
        ),
        ("trailing.npy", changed("f32.npy", |b| b.push(0)), &["1 bytes follow the array"]),
        ("huge.npy", npy(&f4("(1000000000000,)"), &[0; 8]), &["needs 4000000000000 bytes", "has 8"]),
        (
            "overflow.npy",
            npy(&f4("(99999999999, 99999999999)"), &[]),
            &["more elements than can be addressed"],
        ),
        ("rank5.npy", npy(&f4("(1, 1, 1, 1, 1)"), &[0; 4]), &["found 5 dimensions; at most 4"]),
        ("negative.npy", npy(&f4("(-1,)"), &[]), &["the header cannot be read at its byte"]),
        (
            "no_shape.npy",
            npy("{'descr': '<f4', 'fortran_order': False}", &[]),
            &["the header has no \"shape\""],
        ),
        ("not_dict.npy", npy("[1, 2]", &[]), &["the header cannot be read at its byte 0"]),
        ("complex.npy", npy(&descr("'<c8'"), &[0; 8]), &["unsupported type <c8", "supported are bool, f16"]),
        ("object.npy", npy(&descr("'|O'"), &[0; 8]), &["unsupported type |O"]),
        ("fields.npy", npy(&descr("[('a', '<f4')]"), &[0; 4]), &["unsupported type [('a', '<f4')]"]),
        ("text_type.npy", npy(&descr("'<U5'"), &[0; 20]), &["unsupported type <U5"]),
        (
            "inexact.npy",
            npy(&descr("'<i8'"), &9_007_199_254_740_993_i64.to_le_bytes()),
            &["integer 9007199254740993 at element 0 has no exact f64"],
        ),
        ("empty.npz", b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(), &["holds no arrays"]),
        (
            "cut.npz",
            start("stored.npz", 300),
            &["not a valid npz file: its list of arrays, at the end of the file, is missing"],
        ),
        (
            "bad_crc.npz:q",
            changed("stored.npz", |b| b[165] ^= 1),
            &["tensor \"q\"", "npz file: its packed bytes are damaged"],
        ),
        (
            "claim.npz:q",
            changed("stored.npz", |b| {
                // The size that the archive's list of entries gives for the first of them.
                let entry = b.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
                b[entry + 25] += 1;
            }),
            &["tensor \"q\"", "152 packed bytes cannot unpack to 408"],
        ),
        ("several.npz", start("stored.npz", 522), &["holds 2 arrays (q, mask); one is needed"]),
        ("unknown.npz:k", start("stored.npz", 522), &["there is no array \"k\"; found q, mask"]),
        ("short.safetensors", vec![1, 2, 3], &["truncated: the header needs 8 bytes"]),
        ("length.safetensors", vec![0xff; 16], &["expected a safetensors file", "an arrow table"]),
        ("long.safetensors", b"\xff\xff\0\0\0\0\0\0{}".to_vec(), &["the header needs 65535 bytes", "has 2"]),
        (
            "json.safetensors",
            safetensors("{\"q\": ", &[]),
            &["not a valid safetensors file: the header is no JSON object of arrays, by its byte 5"],
        ),
        (
            "list.safetensors",
            safetensors("[1]", &[]),
            &["the header is no JSON object of arrays, by its byte 0"],
        ),
        ("none.safetensors", safetensors("{}", &[]), &["holds no arrays"]),
        (
            "keys.safetensors",
            safetensors("{\"q\": {\"data_offsets\": [0, 0]}}", &[]),
            &["tensor \"q\"", "the header has no \"dtype\""],
        ),
        (
            "offsets.safetensors",
            safetensors("{\"q\": {}}", &[]),
            &["tensor \"q\"", "the header has no \"data_offsets\""],
        ),
        (
            "reversed.safetensors",
            safetensors(&one.replace("[0, 4]", "[4, 0]"), &[0; 4]),
            &["tensor \"q\"", "not a valid safetensors file: the data offsets 4 and 0 run backwards"],
        ),
        (
            "twice.safetensors",
            safetensors(&two(0, 4).replace("\"k\"", "\"q\""), &[0; 4]),
            &["the name \"q\" occurs twice"],
        ),
        (
            "overlap.safetensors:q",
            safetensors(&two(2, 6), &[0; 6]),
            &["tensor \"k\"", "starts at data offset 2; the one before it ends at 4"],
        ),
        (
            "gap.safetensors:q",
            safetensors(&two(8, 12), &[0; 12]),
            &["tensor \"k\"", "starts at data offset 8; the one before it ends at 4"],
        ),
        ("trailing.safetensors", safetensors(one, &[0; 6]), &["2 bytes follow the array"]),
        (
            "dtype.safetensors",
            safetensors(&one.replace("F32", "F8_E4M3"), &[0; 4]),
            &["tensor \"q\"", "unsupported type F8_E4M3"],
        ),
        (
            "cut.safetensors",
            safetensors(one, &[0; 3]),
            &["tensor \"q\"", "truncated: the array needs 4 bytes"],
        ),
        (
            "size.safetensors",
            safetensors(&one.replace("[1]", "[2]"), &[0; 4]),
            &["tensor \"q\"", "4 bytes are set aside for an array of 8"],
        ),
        ("name.xyz", b"1,2\n".to_vec(), &["unknown format .xyz; known are .npy, .npz"]),
        (
            "words.csv",
            b"a,b\n1,x\n".to_vec(),
            &["words.csv:2:2 (column \"b\"): found \"x\"; a number is needed"],
        ),
        ("member.csv:a", b"a\n1\n".to_vec(), &["a csv table cannot be asked for an array by name"]),
        (
            "data.parquet",
            start("none.parquet", 2363),
            &["(column \"city\"): found \"Oslo, NO\"; a number is needed"],
        ),
    ]
}

/// Files that are no table.
fn table_cases() -> Vec<Case> {
    let bytes = |text: &str| text.as_bytes().to_vec();
    vec![
        ("empty.csv", vec![], &["the file is empty"]),
        ("blank.csv", bytes("\n\n"), &["the table has no columns"]),
        ("ragged.csv", bytes("a,b\n1,2\n3\n"), &["ragged.csv:3:2: found 1 field; the first row has 2"]),
        ("ragged.tsv", bytes("a\tb\n1\t2\t3\n"), &["ragged.tsv:2:3: found 3 fields; the first row has 2"]),
        ("twice.csv", bytes("a,b,a\n1,2,3\n"), &["twice.csv:1:3: the name \"a\" occurs twice"]),
        ("open.csv", bytes("a,b\n1,\"x\n2,y\n"), &["open.csv:2:2: a quoted field is not closed"]),
        ("after.csv", bytes("a\n\"x\"y\n"), &["after.csv:2:1: text follows a closing quotation mark"]),
        ("inside.csv", bytes("a\nx\"y\n"), &["inside.csv:2:1: a quotation mark stands inside"]),
        ("header.csv", bytes("a,\"b\n1,2\n"), &["header.csv:1:2: a quoted field is not closed"]),
        ("latin.csv", b"a\ncaf\xe9\n".to_vec(), &["latin.csv:2:1: text is not UTF-8"]),
        ("latin_header.csv", b"caf\xe9\n1\n".to_vec(), &["latin_header.csv:1:1: text is not UTF-8"]),
        ("binary.csv", start("f32.npy", 100), &["expected a csv table", "its content is an npy array"]),
        ("text.parquet", bytes("a,b\n1,2\n"), &["expected a parquet table", "something else"]),
        ("short.parquet", bytes("PAR1"), &["truncated: the footer"]),
        ("cut.parquet", start("snappy.parquet", 1000), &["truncated: the footer"]),
        (
            "footer.parquet",
            changed("none.parquet", |b| {
                let n = b.len();
                b[n - 8] = 0xff;
                b[n - 7] = 0xff;
            }),
            &["not a valid parquet file"],
        ),
        ("date.parquet", start("date.parquet", 462), &["(column \"day\"): unsupported type Date32"]),
        ("text.arrow", bytes("a,b\n1,2\n"), &["expected an arrow table", "something else"]),
        ("short.feather", bytes("ARROW1\0\0"), &["truncated: the schema"]),
        (
            "cut.feather",
            start("uncompressed.feather", 900),
            &["byte 576: truncated: a message's head needs 344 bytes"],
        ),
        // Exactly before the only batch of rows: what is left is a whole stream of no rows.
        (
            "batch.feather",
            start("uncompressed.feather", 576),
            &["byte 576: truncated: the footer's closing mark needs 6 bytes, the file has 0"],
        ),
        (
            "mark.feather",
            changed("zstd.feather", |b| b.truncate(b.len() - 2)),
            &["truncated: the footer's closing mark needs 6 bytes, the file has 4"],
        ),
        ("feather1.feather", bytes("FEA1\0\0\0\0FEA1"), &["expected an arrow table", "something else"]),
        ("cut.arrow", start("stream.arrow", 100), &["truncated: a message's head"]),
        ("body.arrow", start("stream.arrow", 1490), &["truncated: a message's body"]),
        (
            "cube.npy",
            npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1)}", &[0; 4]),
            &["shape (1, 1, 1) is no table"],
        ),
        (
            "wide.npy",
            npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1000000000000)}", &[]),
            &["found 1000000000000 columns; a table has at most 1048576"],
        ),
    ]
}

/// Writes the content under the name, without what follows a colon, and gives the whole name.
fn placed(directory: &Path, name: &str, content: &[u8]) -> PathBuf {
    fs::write(directory.join(name.split(':').next().unwrap()), content).unwrap();
    directory.join(name)
}

fn check(name: &str, error: &IoError, expected: &[&str]) {
    let message = error.to_string();
    assert!(!message.contains('\n'), "{name}: {message}");
    let file = name.split(':').next().unwrap();
    for part in expected.iter().chain(&[file]) {
        assert!(message.contains(part), "{name}: {message:?} lacks {part:?}");
    }
}

#[test]
fn broken_arrays_are_refused_with_their_place() {
    let directory = tempfile::tempdir().unwrap();
    for (name, content, expected) in array_cases() {
        let path = placed(directory.path(), name, &content);
        let error = read_tensor(&path).expect_err(name);
        check(name, &error, expected);
    }
}

#[test]
fn broken_tables_are_refused_with_their_place_whole_and_in_batches() {
    let directory = tempfile::tempdir().unwrap();
    for (name, content, expected) in table_cases() {
        let path = placed(directory.path(), name, &content);
        let options = ReadOptions::default();
        check(name, &read_table(&path, &options).expect_err(name), expected);
        let batches: Result<Vec<Table>, IoError> =
            TableReader::open(&path, &options).and_then(Iterator::collect);
        check(name, &batches.expect_err(name), expected);
    }
}

#[test]
fn missing_files_and_directories_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("absent.npy");
    check("absent.npy", &read_tensor(&path).unwrap_err(), &["cannot open: No such file or directory"]);
    check("absent.npy", &read_tensors(&path).unwrap_err(), &["cannot open"]);
    let inner = directory.path().join("folder.csv");
    fs::create_dir(&inner).unwrap();
    check("folder.csv", &read_table(&inner, &ReadOptions::default()).unwrap_err(), &["is a directory"]);
    let error = read_tensors(data("pandas.csv")).unwrap_err();
    check("pandas.csv", &error, &["a csv table cannot be read as named arrays"]);
    let error = read_tensor_as(data("pandas.csv"), Format::Npy).unwrap_err();
    check("pandas.csv", &error, &["expected an npy array"]);
}

#[test]
fn a_slip_in_a_name_gets_a_hint() {
    let error = read_tensor(data("model.safetensors:layer.0.k")).unwrap_err();
    assert_eq!(error.hint().unwrap(), "did you mean \"layer.0.q\"?");
    let folder = tempfile::tempdir().unwrap();
    for (name, hint) in [("t.csv.gz", "unpack the file first"), ("t.xlsx", "save the sheet as .csv")] {
        let path = folder.path().join(name);
        std::fs::write(&path, [1, 2, 3]).unwrap();
        let error = read_table(&path, &ReadOptions::default()).unwrap_err();
        check(name, &error, &["unknown format", ".arrow, .feather"]);
        assert!(error.hint().unwrap().starts_with(hint), "{name}");
    }
    let options = ReadOptions { columns: Some(vec!["ctiy".to_owned()]), ..ReadOptions::default() };
    let error = read_table(data("snappy.parquet"), &options).unwrap_err();
    check("snappy.parquet", &error, &["there is no column \"ctiy\"; found x, n, city, ok, level"]);
    assert_eq!(error.hint().unwrap(), "did you mean \"city\"?");
}

fn outputs() -> (Tensor, Table) {
    let tensor = Tensor::new(vec![1.0; 100_000], &[50_000, 2]).unwrap();
    let table = Table::from_tensor(&tensor).unwrap();
    (tensor, table)
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_by_every_writer() {
    let (tensor, table) = outputs();
    let directory = tempfile::tempdir().unwrap();
    for name in ["full.npy", "full.npz", "full.safetensors", "full.csv", "full.parquet"] {
        // The device that is always full, under a name that says the format.
        let path = directory.path().join(name);
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let result =
            if name.ends_with("parquet") { write_table(&path, &table) } else { write_tensor(&path, &tensor) };
        check(name, &result.unwrap_err(), &["cannot write: No space left on device"]);
    }
    check(
        "/dev/full",
        &write_bytes("/dev/full", b"{}").unwrap_err(),
        &["cannot write: No space left on device"],
    );
}

#[cfg(unix)]
#[test]
fn unwritable_places_are_refused_and_nothing_changes() {
    use std::os::unix::fs::PermissionsExt;
    let (tensor, table) = outputs();
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir(path("folder.npy")).unwrap();
    fs::write(path("kept.npy"), b"precious").unwrap();
    fs::set_permissions(path("kept.npy"), fs::Permissions::from_mode(0o444)).unwrap();
    let cube = Tensor::new(vec![0.0; 8], &[2, 2, 2]).unwrap();
    let wide = Tensor::new(Vec::<f64>::new(), &[0, 1 << 40]).unwrap();
    let long = Tensor::new(Vec::<f64>::new(), &[1 << 40, 0]).unwrap();
    for (name, result, expected) in [
        ("folder.npy", write_tensor(path("folder.npy"), &tensor), "is a directory"),
        ("kept.npy", write_tensor(path("kept.npy"), &tensor), "cannot write: permission denied"),
        ("no/x.npy", write_tensor(path("no/x.npy"), &tensor), "cannot create: No such file or directory"),
        ("kept.npy/x.npy", write_tensor(path("kept.npy/x.npy"), &tensor), "cannot create: Not a directory"),
        ("x.xyz", write_tensor(path("x.xyz"), &tensor), "unknown format .xyz"),
        ("x.arrow", write_table(path("x.arrow"), &table), "an arrow table cannot be written from a table"),
        ("x.tsv", write_tensor(path("x.tsv"), &tensor), "a tsv table cannot be written from named arrays"),
        ("x.npy", write_table(path("x.npy"), &table), "an npy array cannot be written from a table"),
        ("cube.csv", write_tensor(path("cube.csv"), &cube), "shape (2, 2, 2) is no table"),
        (
            "wide.csv",
            write_tensor(path("wide.csv"), &wide),
            "found 1099511627776 columns; a table has at most",
        ),
        ("long.csv", write_tensor(path("long.csv"), &long), "the table has no columns"),
        (
            "x.safetensors",
            write_tensors(path("x.safetensors"), &[("__metadata__", &cube)]),
            "the name \"__metadata__\" is reserved by the format",
        ),
        ("x.npz", write_tensors(path("x.npz"), &[("a", &cube), ("a", &cube)]), "the name \"a\" occurs twice"),
    ] {
        check(name, &result.expect_err(name), &[expected]);
    }
    assert_eq!(fs::read(path("kept.npy")).unwrap(), b"precious");
    let mut left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["folder.npy", "kept.npy"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_takes_no_files_is_refused() {
    // Even the superuser cannot create files here.
    let (tensor, _) = outputs();
    check("x.npy", &write_tensor("/proc/x.npy", &tensor).unwrap_err(), &["/proc/x.npy: cannot create"]);
}

#[test]
fn the_list_of_broken_inputs_is_long() {
    assert!(array_cases().len() + table_cases().len() >= 60);
}
