//! Random bytes, and valid files with bytes changed, cut or repeated: every reader answers with a value or an error,
//! and never asks for more memory than the file justifies.

use peak_alloc::PeakAlloc;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use spanwise_io::{Format, ReadOptions, TableReader, read_table, read_tensor, read_tensors};
use std::fs;
use std::path::Path;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What reading may take for each byte of the file: packed data unpacks, text becomes eight bytes a number.
const PER_BYTE: usize = 64;
/// What reading may take in any case: buffers, tables of the decoders.
const SLACK: usize = 4 << 20;

const FIXTURES: [&str; 18] = [
    "f32.npy",
    "fortran.npy",
    "bf16.npy",
    "int.npy",
    "mask.npy",
    "stored.npz",
    "deflated.npz",
    "model.safetensors",
    "pandas.csv",
    "snappy.parquet",
    "gzip.parquet",
    "zstd.parquet",
    "lz4.parquet",
    "none.parquet",
    "uncompressed.feather",
    "lz4.feather",
    "zstd.feather",
    "stream.arrow",
];

/// Reads the file in every way there is. Values and errors are both fine.
fn read_all_ways(path: &Path) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let _ = read_tensor(path);
    let _ = read_tensors(path);
    let options = ReadOptions { batch_rows: 7, ..ReadOptions::default() };
    let _ = read_table(path, &options);
    if let Ok(reader) = TableReader::open(path, &options) {
        // An error ends the batches; a file of a few kilobytes has at most as many as bits.
        assert!(reader.count() <= fs::metadata(path).unwrap().len() as usize * 8 + 1);
    }
    let taken = MEMORY.peak_usage().saturating_sub(before);
    let allowed = fs::metadata(path).map_or(0, |m| m.len() as usize) * PER_BYTE + SLACK;
    assert!(taken <= allowed, "{}: took {taken} bytes, {allowed} would do", path.display());
}

/// A change to a valid file.
#[derive(Clone, Debug)]
enum Change {
    Set { at: prop::sample::Index, to: u8 },
    Large { at: prop::sample::Index, to: u64 },
    Cut { at: prop::sample::Index },
    Repeat { at: prop::sample::Index },
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    let extreme = prop_oneof![Just(u64::MAX), Just(u64::MAX >> 1), Just(1 << 40), Just(1 << 31), Just(0)];
    prop_oneof![
        6 => (at(), any::<u8>()).prop_map(|(at, to)| Change::Set { at, to }),
        2 => (at(), extreme).prop_map(|(at, to)| Change::Large { at, to }),
        1 => at().prop_map(|at| Change::Cut { at }),
        1 => at().prop_map(|at| Change::Repeat { at }),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    match change {
        Change::Set { at, to } => {
            let at = at.index(bytes.len());
            bytes[at] = *to;
        }
        Change::Large { at, to } => {
            let at = at.index(bytes.len());
            let end = bytes.len().min(at + 8);
            bytes[at..end].copy_from_slice(&to.to_le_bytes()[..end - at]);
        }
        Change::Cut { at } => bytes.truncate(at.index(bytes.len())),
        Change::Repeat { at } => bytes.extend_from_within(at.index(bytes.len())..),
    }
}

// One test, because the memory that is counted is that of the whole process.
#[test]
fn no_file_makes_a_reader_panic_or_take_memory_it_does_not_need() {
    // Panics of the decoders that are caught would still be printed, a hundred times over.
    std::panic::set_hook(Box::new(|info| {
        if !spanwise_io::is_decoding() {
            eprintln!("{info}");
        }
    }));
    let directory = tempfile::tempdir().unwrap();
    // Many columns and many lines, none of which is a row: their product is nobody's size.
    let wide = directory.path().join("wide.csv");
    let names: Vec<String> = (0..20_000).map(|j| format!("n{j}")).collect();
    fs::write(&wide, names.join(",") + &"\n".repeat(300_000)).unwrap();
    read_all_ways(&wide);
    // PROPTEST_CASES asks for more.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let mut runner = TestRunner::new_with_rng(
        ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let random = prop::collection::vec(any::<u8>(), 0..400);
    let check = |bytes: Vec<u8>| {
        for format in ["npy", "npz", "csv", "tsv", "parquet", "arrow", "safetensors"] {
            let path = directory.path().join("random").with_extension(format);
            let marks: [&[u8]; 5] = [b"", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"PAR1", b"ARROW1\0\0"];
            for mark in
                marks.iter().filter(|mark| Format::of_content(mark).is_none_or(|f| f.extension() == format))
            {
                let tail: &[u8] = if *mark == b"PAR1" { b"PAR1" } else { b"" };
                fs::write(&path, [*mark, &bytes, tail].concat()).unwrap();
                read_all_ways(&path);
            }
        }
        Ok(())
    };
    runner.run(&random, check).unwrap();
    let changes = prop::collection::vec(change(), 1..4);
    for name in FIXTURES {
        let valid = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap();
        let path = directory.path().join(name);
        let check = |changes: Vec<Change>| {
            let mut bytes = valid.clone();
            for change in &changes {
                apply(&mut bytes, change);
            }
            fs::write(&path, &bytes).unwrap();
            read_all_ways(&path);
            Ok(())
        };
        runner.run(&changes, check).unwrap();
    }
}
