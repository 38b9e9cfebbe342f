//! What is written is read again.

use half::{bf16, f16};
use spanwise_io::{
    Categories, Column, ReadOptions, Scalar, Table, Tensor, Values, read_table, read_tensor, read_tensors,
    write_bytes, write_table, write_tensor, write_tensors,
};
use spanwise_kernels::Element;
use std::fs;

fn numbers<T: Scalar + Element>(dims: &[usize]) -> Tensor {
    let count = dims.iter().product::<usize>();
    Tensor::new((0..count).map(|i| T::from_f64(i as f64 / 8.0 - 1.0)).collect(), dims).unwrap()
}

fn samples() -> Vec<Tensor> {
    let mut samples = vec![Tensor::new(vec![true, false, true], &[3]).unwrap()];
    for dims in [&[][..], &[5], &[2, 3], &[2, 0], &[2, 1, 3], &[2, 3, 1, 2]] {
        samples.extend([
            numbers::<f16>(dims),
            numbers::<bf16>(dims),
            numbers::<f32>(dims),
            numbers::<f64>(dims),
        ]);
    }
    samples
}

fn same(a: &Tensor, b: &Tensor) {
    assert_eq!((a.kind(), a.dims(), a.to_f64_vec()), (b.kind(), b.dims(), b.to_f64_vec()));
}

#[test]
fn arrays_survive_npy_npz_and_safetensors() {
    let directory = tempfile::tempdir().unwrap();
    for extension in ["npy", "npz", "safetensors"] {
        let path = directory.path().join("x").with_extension(extension);
        for tensor in samples() {
            write_tensor(&path, &tensor).unwrap();
            same(&read_tensor(&path).unwrap(), &tensor);
        }
    }
}

#[test]
fn named_arrays_survive_together_and_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let samples = samples();
    let named: Vec<(String, &Tensor)> =
        samples.iter().enumerate().map(|(i, t)| (format!("a{i:02}"), t)).collect();
    let borrowed: Vec<(&str, &Tensor)> =
        named.iter().map(|(name, tensor)| (name.as_str(), *tensor)).collect();
    for extension in ["npz", "safetensors"] {
        let path = directory.path().join("x").with_extension(extension);
        write_tensors(&path, &borrowed).unwrap();
        let read = read_tensors(&path).unwrap();
        assert_eq!(read.len(), named.len());
        for ((name, tensor), (read_name, read_tensor)) in named.iter().zip(&read) {
            assert_eq!(name, read_name);
            same(read_tensor, tensor);
        }
        same(&read_tensor(format!("{}:a07", path.display())).unwrap(), &samples[7]);
    }
}

#[test]
fn a_file_whose_name_has_a_colon_wins_over_a_member() {
    let directory = tempfile::tempdir().unwrap();
    let (container, odd) = (directory.path().join("x.npz"), directory.path().join("x.npz:q.npy"));
    write_tensors(&container, &[("q.npy", &numbers::<f32>(&[1]))]).unwrap();
    assert_eq!(read_tensor(&odd).unwrap().dims(), [1]);
    write_tensor(&odd, &numbers::<f32>(&[2])).unwrap();
    assert_eq!(read_tensor(&odd).unwrap().dims(), [2]);
}

#[test]
fn matrices_survive_csv_without_a_header() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.csv");
    let awkward = [0.1, 1e-300, f64::MAX, -5e-324, f64::INFINITY, 1.0 / 3.0];
    let tensor = Tensor::new(awkward.to_vec(), &[3, 2]).unwrap();
    write_tensor(&path, &tensor).unwrap();
    same(&read_tensor(&path).unwrap(), &tensor);
    // As a table, the first row is a header unless the caller says otherwise.
    let table = read_table(&path, &ReadOptions { header: false, ..ReadOptions::default() }).unwrap();
    assert_eq!(table.names().collect::<Vec<_>>(), ["c0", "c1"]);
    assert_eq!(table.place(2, 1).to_string(), format!("{}:3:2 (column \"c1\")", path.display()));
}

fn mixed_table(rows: usize) -> Table {
    let x = (0..rows).map(|i| if i % 5 == 0 { f64::NAN } else { i as f64 / 3.0 }).collect();
    let levels = ["Oslo, NO", "say \"hi\"", "two\nlines", " blanks ", "ŷ"].map(str::to_owned);
    let codes =
        (0..rows).map(|i| if i % 7 == 6 { Categories::MISSING } else { (i % 7 % 5) as u32 }).collect();
    Table::new(vec![
        Column { name: "x, y".to_owned(), values: Values::Numbers(x) },
        Column { name: "t".to_owned(), values: Values::Categories(Categories::new(codes, levels).unwrap()) },
    ])
    .unwrap()
}

#[test]
fn tables_survive_csv_and_parquet() {
    let directory = tempfile::tempdir().unwrap();
    for extension in ["csv", "parquet"] {
        let path = directory.path().join("x").with_extension(extension);
        for rows in [5, 1000, 70_000] {
            let table = mixed_table(rows);
            write_table(&path, &table).unwrap();
            let read = read_table(&path, &ReadOptions::default()).unwrap();
            assert!(read.columns() == table.columns(), "{extension}, {rows} rows");
        }
    }
}

#[test]
fn missing_values_of_a_single_column_are_not_blank_lines() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.csv");
    let column = Column { name: "x".to_owned(), values: Values::Numbers(vec![1.0, f64::NAN, 3.0]) };
    write_table(&path, &Table::new(vec![column]).unwrap()).unwrap();
    assert_eq!(read_table(&path, &ReadOptions::default()).unwrap().rows(), 3);
}

#[test]
fn an_array_is_a_table_and_can_be_read_in_batches() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.npy");
    write_tensor(&path, &numbers::<f32>(&[5, 2])).unwrap();
    let options = ReadOptions { batch_rows: 2, ..ReadOptions::default() };
    let batches = spanwise_io::TableReader::open(&path, &options).unwrap();
    assert_eq!(batches.map(|batch| batch.unwrap().rows()).collect::<Vec<_>>(), [2, 2, 1]);
}

#[test]
fn writing_replaces_a_file_and_leaves_nothing_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.json");
    write_bytes(&path, b"old").unwrap();
    write_bytes(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let (target, link) = (directory.path().join("target.json"), directory.path().join("link.json"));
    write_bytes(&target, b"old").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    write_bytes(&link, b"new").unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
}

#[cfg(unix)]
#[test]
fn a_special_file_is_written_directly() {
    write_bytes("/dev/null", b"gone").unwrap();
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_opened_once() {
    use std::sync::mpsc;
    use std::time::Duration;
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in
        [("x.npy", fs::read(crate::data("f32.npy")).unwrap()), ("x.csv", b"a\n1\n".to_vec())]
    {
        let path = directory.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (send, receive) = mpsc::channel();
        let reader = path.clone();
        std::thread::spawn(move || send.send(read_table(&reader, &ReadOptions::default()).map(|t| t.rows())));
        // Opening waits for the reader; a second opening on its side would wait for ever once this is written.
        fs::write(&path, content).unwrap();
        let rows = receive.recv_timeout(Duration::from_secs(60)).expect("the reader does not wait");
        assert_eq!(rows.unwrap(), if name == "x.npy" { 2 } else { 1 });
    }
}
