//! Files as numpy, pandas, pyarrow and safetensors write them.

use crate::data;
use spanwise_io::{
    Categories, Kind, ReadOptions, Table, TableReader, Values, read_table, read_tensor, read_tensors,
};

/// 0, 1/4, …, 5/4 in two rows of three: exact in every storage type.
const GRID: [f64; 6] = [0.0, 0.25, 0.5, 0.75, 1.0, 1.25];

#[test]
fn arrays_of_every_type_and_order_hold_the_same_numbers() {
    for (name, kind, mapped) in [
        ("f32.npy", Kind::F32, true),
        ("fortran.npy", Kind::F64, true),
        ("f16.npy", Kind::F16, true),
        ("bf16.npy", Kind::Bf16, true),
        ("big_endian.npy", Kind::F64, false),
        ("stored.npz:q", Kind::F32, false),
        ("deflated.npz:k", Kind::F32, false),
        ("model.safetensors:layer.0.q", Kind::F32, true),
        ("model.safetensors:h", Kind::F16, true),
    ] {
        let tensor = read_tensor(data(name)).unwrap();
        assert_eq!((tensor.kind(), tensor.dims()), (kind, &[2, 3][..]), "{name}");
        assert_eq!(tensor.to_f64_vec(), GRID, "{name}");
        assert_eq!(tensor.is_mapped(), mapped, "{name}");
    }
}

#[test]
fn integers_masks_and_scalars_are_arrays_too() {
    let int = read_tensor(data("int.npy")).unwrap();
    assert_eq!((int.kind(), int.to_f64_vec()), (Kind::F64, vec![-3.0, 0.0, 9_007_199_254_740_992.0]));
    let mask = read_tensor(data("mask.npy")).unwrap();
    assert_eq!(mask.view_as::<bool>().unwrap().to_vec(), [true, false, true, true]);
    let scalar = read_tensor(data("scalar.npy")).unwrap();
    assert_eq!((scalar.dims().len(), scalar.to_f64_vec()), (0, vec![2.5]));
}

#[test]
fn containers_list_their_arrays() {
    let names =
        |file| read_tensors(data(file)).unwrap().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names("stored.npz"), ["q", "mask"]);
    assert_eq!(names("model.safetensors"), ["h", "layer.0.q", "mask"]);
    assert_eq!(names("f32.npy"), ["data"]);
}

fn numbers<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    match &table.column(name).unwrap().values {
        Values::Numbers(numbers) => numbers,
        Values::Categories(_) => panic!("{name} holds text"),
    }
}

fn categories<'a>(table: &'a Table, name: &str) -> &'a Categories {
    match &table.column(name).unwrap().values {
        Values::Categories(categories) => categories,
        Values::Numbers(_) => panic!("{name} holds numbers"),
    }
}

const CITY: [Option<&str>; 4] = [Some("Oslo, NO"), Some("Bergen"), None, Some("Oslo, NO")];

fn texts(categories: &Categories) -> Vec<Option<&str>> {
    (0..categories.codes().len()).map(|row| categories.get(row)).collect()
}

const TABLES: [&str; 9] = [
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

#[test]
fn tables_hold_the_same_rows_whatever_packed_them() {
    for name in TABLES {
        let table = read_table(data(name), &ReadOptions::default()).unwrap();
        assert_eq!(table.rows(), 4, "{name}");
        assert_eq!(table.names().collect::<Vec<_>>(), ["x", "n", "city", "ok", "level"], "{name}");
        let x = numbers(&table, "x");
        assert!(x[1].is_nan(), "{name}");
        assert_eq!([x[0], x[2], x[3]], [1.5, -2.0, 1e300], "{name}");
        assert_eq!(numbers(&table, "n"), [1.0, 2.0, 3.0, 4.0], "{name}");
        assert_eq!(numbers(&table, "ok"), [1.0, 0.0, 1.0, 1.0], "{name}");
        for column in ["city", "level"] {
            assert_eq!(texts(categories(&table, column)), CITY, "{name}");
            assert_eq!(categories(&table, column).levels(), ["Oslo, NO", "Bergen"], "{name}");
        }
    }
}

#[test]
fn batches_of_a_table_have_one_schema_and_all_rows() {
    for name in TABLES {
        let whole = read_table(data(name), &ReadOptions::default()).unwrap();
        for batch_rows in [1, 2, 100] {
            let options = ReadOptions { batch_rows, ..ReadOptions::default() };
            let mut reader = TableReader::open(data(name), &options).unwrap();
            let schema = reader.schema();
            assert_eq!(schema[2].levels.as_deref().unwrap(), ["Oslo, NO", "Bergen"], "{name}");
            let mut rows = 0;
            for batch in reader.by_ref() {
                let batch = batch.unwrap();
                assert!(batch.rows() <= batch_rows && batch.first_row() == rows as u64 + 1);
                let city = categories(&batch, "city");
                assert_eq!(texts(city), CITY[rows..rows + batch.rows()], "{name}");
                assert_eq!(city.levels(), ["Oslo, NO", "Bergen"]);
                assert_eq!(numbers(&batch, "n"), &numbers(&whole, "n")[rows..rows + batch.rows()]);
                rows += batch.rows();
            }
            assert_eq!(rows, 4);
            assert_eq!((reader.progress().done, reader.progress().total), (4, Some(4)));
        }
    }
}

#[test]
fn a_table_written_by_pandas_as_text_is_typed_again() {
    let table = read_table(data("pandas.csv"), &ReadOptions::default()).unwrap();
    assert_eq!(numbers(&table, "x")[3], 1e300);
    assert_eq!(texts(categories(&table, "city")), CITY);
    assert_eq!(categories(&table, "ok").levels(), ["True", "False"]);
}

#[test]
fn columns_can_be_left_out_and_numbers_made_categories() {
    let options = ReadOptions {
        columns: Some(vec!["n".to_owned(), "ok".to_owned()]),
        categories: vec!["n".to_owned()],
        ..ReadOptions::default()
    };
    let table = read_table(data("snappy.parquet"), &options).unwrap();
    assert_eq!(table.names().collect::<Vec<_>>(), ["n", "ok"]);
    assert_eq!(categories(&table, "n").levels(), ["1", "2", "3", "4"]);
}

#[test]
fn truth_values_are_numbers_that_say_so_or_the_words_of_a_text_table() {
    for name in TABLES {
        let reader = TableReader::open(data(name), &ReadOptions::default()).unwrap();
        let truths: Vec<bool> = reader.schema().iter().map(|field| field.truths).collect();
        assert_eq!(truths, [false, false, false, true, false], "{name}");
        let asked = ReadOptions { categories: vec!["ok".to_owned()], ..ReadOptions::default() };
        let table = read_table(data(name), &asked).unwrap();
        let text = read_table(data("pandas.csv"), &asked).unwrap();
        assert_eq!(texts(categories(&table, "ok")), texts(categories(&text, "ok")), "{name}");
        assert!(!TableReader::open(data(name), &asked).unwrap().schema()[3].truths, "{name}");
    }
}

#[test]
fn what_an_excluded_column_holds_does_not_matter() {
    let without = |name: &str| ReadOptions { exclude: vec![name.to_owned()], ..ReadOptions::default() };
    for name in TABLES {
        let table = read_table(data(name), &without("city")).unwrap();
        assert_eq!(table.names().collect::<Vec<_>>(), ["x", "n", "ok", "level"], "{name}");
    }
    let table = read_table(data("f32.npy"), &without("c0")).unwrap();
    assert!(table.names().all(|name| name != "c0"));
    // Its only column is of a type that cannot be read; that is not looked at.
    let error = read_table(data("date.parquet"), &without("day")).unwrap_err();
    assert!(error.to_string().ends_with("the table has no columns"), "{error}");
    let error = read_table(data("snappy.parquet"), &without("town")).unwrap_err();
    assert!(error.to_string().contains("there is no column \"town\""), "{error}");
}
