//! A table larger than the memory it is fitted in. A binary of its own: it counts what is allocated.

use peak_alloc::PeakAlloc;
use spanwise::View;
use spanwise::linear::{LeastSquares, SummaryStream};
use spanwise_io::{Column, ReadOptions, Table, TableReader, Values, write_table};
use std::path::Path;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const ROWS: usize = 400_000;
const COLUMNS: usize = 10;
const MIB: usize = 1 << 20;

fn feature(i: usize, j: usize) -> f64 {
    // Two multiplications by odd constants scatter the bits.
    let mixed = ((i * COLUMNS + j) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 11) as f64 / (1_u64 << 53) as f64 + j as f64
}

fn target(i: usize) -> f64 {
    (0..COLUMNS).map(|j| (j as f64 - 3.5) * feature(i, j)).sum::<f64>() + (i as f64 * 0.37).sin() + 100.0
}

fn table() -> Table {
    let numbers = |f: &dyn Fn(usize) -> f64| Values::Numbers((0..ROWS).map(f).collect());
    let feature = |j: usize| Column { name: format!("x{j}"), values: numbers(&|i| feature(i, j)) };
    let mut columns: Vec<Column> = (0..COLUMNS).map(feature).collect();
    columns.push(Column { name: "y".to_owned(), values: numbers(&target) });
    Table::new(columns).unwrap()
}

/// The coefficients, of rows that are forgotten as they are read.
fn streamed(path: &Path) -> Vec<f64> {
    let mut stream = SummaryStream::new(COLUMNS, 1);
    for batch in
        TableReader::open(path, &ReadOptions { batch_rows: 1 << 14, ..ReadOptions::default() }).unwrap()
    {
        let batch = batch.unwrap();
        let columns: Vec<&[f64]> = batch
            .columns()
            .iter()
            .map(|column| match &column.values {
                Values::Numbers(numbers) => numbers.as_slice(),
                Values::Categories(_) => unreachable!("the table holds numbers alone"),
            })
            .collect();
        let x: Vec<f64> = (0..batch.rows())
            .flat_map(|i| (0..COLUMNS).map(move |j| (i, j)))
            .map(|(i, j)| columns[j][i])
            .collect();
        stream.push(&View::new(&x, &[batch.rows(), COLUMNS]).unwrap(), columns[COLUMNS], None).unwrap();
    }
    assert_eq!(stream.rows(), ROWS as u64);
    let fit = LeastSquares::new().fit_summary(&stream.finish()).unwrap();
    fit.target().coefficients.iter().chain(&fit.target().intercept).map(|c| c.value).collect()
}

#[test]
fn parquet_and_csv_are_streamed_in_a_fraction_of_their_size_to_the_same_coefficients() {
    let directory = tempfile::tempdir().unwrap();
    let (parquet, csv) = (directory.path().join("t.parquet"), directory.path().join("t.csv"));
    {
        let table = table();
        write_table(&parquet, &table).unwrap();
        write_table(&csv, &table).unwrap();
    }
    let expected = {
        let x: Vec<f64> = (0..ROWS * COLUMNS).map(|at| feature(at / COLUMNS, at % COLUMNS)).collect();
        let y: Vec<f64> = (0..ROWS).map(target).collect();
        let fit = LeastSquares::new().fit(&View::new(&x, &[ROWS, COLUMNS]).unwrap(), &y[..]).unwrap();
        fit.target().coefficients.iter().chain(&fit.target().intercept).map(|c| c.value).collect::<Vec<_>>()
    };
    for path in [&parquet, &csv] {
        ALLOCATED.reset_peak_usage();
        let before = ALLOCATED.current_usage();
        let found = streamed(path);
        let peak = ALLOCATED.peak_usage() - before;
        assert!(peak < 24 * MIB, "{}: {} MiB", path.display(), peak / MIB);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found / expected - 1.0).abs() < 1e-12, "{}: {found} {expected}", path.display());
        }
    }
    // What keeping the rows would take.
    const { assert!(ROWS * (COLUMNS + 1) * 8 > 32 * MIB) };
}
