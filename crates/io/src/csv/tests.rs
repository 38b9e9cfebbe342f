//! The reader against a plain one that goes byte by byte, over one list of texts and many ways of cutting them.

use super::*;
use std::fmt::Write;
use std::sync::Arc;

const TEXTS: &[&str] = &[
    "a,b\n1,2\n3,4\n",
    "a,b\r\n1,2\r\n3,4",
    "\u{feff}a,b\n1,x\n,y\n\n3,\"y\"\n",
    "a,b\n1,\"x,\n\"\"y\"\"\"\n2,z\n3,x\n",
    "a\n1\n2\n3\nfour\n5\n",
    "a,b,c\nNA,nan,\n1, 2 ,\" 3 \"\n-inf,+4.5e-3,.5\n",
    "\"a \"\"quoted\"\" name\",b\n1,1\n",
    "a,b\nx,1\ny,2\nx,3\nz,NA\nNA,5\n",
    "x\n",
    "a,b\r\r\n1,\"x\ry\"\r\r\n\r\r\n2,z\r",
];

fn text(content: &str, chunk_bytes: usize) -> Text {
    let bytes = Bytes::Memory(Arc::new(content.as_bytes().to_vec()));
    let mut text = Text::of_bytes(Path::new("t.csv"), bytes, Format::Csv, Header::Present).unwrap();
    text.chunk_bytes = chunk_bytes;
    text
}

/// Fields of all records, character by character; `None` where a carriage return stands alone.
fn plain_records(content: &str) -> Option<Vec<Vec<String>>> {
    let content = content.trim_start_matches('\u{feff}');
    let mut records = vec![vec![String::new()]];
    let (mut inside, mut was_quoted) = (false, false);
    let mut characters = content.chars().peekable();
    while let Some(c) = characters.next() {
        let record = records.last_mut().unwrap();
        match c {
            '"' if inside && characters.peek() == Some(&'"') => {
                characters.next();
                record.last_mut().unwrap().push('"');
            }
            '"' => {
                inside = !inside;
                was_quoted = true;
            }
            _ if inside => record.last_mut().unwrap().push(c),
            '\r' if matches!(characters.peek(), None | Some('\r' | '\n')) => {}
            '\r' => return None,
            ',' | '\n' => {
                let field = record.last_mut().unwrap();
                if !was_quoted {
                    *field = field.trim().to_owned();
                }
                was_quoted = false;
                if c == ',' { record.push(String::new()) } else { records.push(vec![String::new()]) }
            }
            _ => record.last_mut().unwrap().push(c),
        }
    }
    records.retain(|record| *record != [""]);
    Some(records)
}

/// The table that the records make.
fn plain_table(content: &str) -> Vec<Column> {
    let mut records = plain_records(content).unwrap();
    let names = records.remove(0);
    let missing = |text: &str| ["", "NA", "N/A", "None", "nan", "NaN", "null", "NULL"].contains(&text);
    let column = |(j, name): (usize, String)| {
        let fields: Vec<&str> = records.iter().map(|record| record[j].as_str()).collect();
        let numbers = fields.iter().map(|t| if missing(t) { Some(f64::NAN) } else { t.trim().parse().ok() });
        let values = if let Some(numbers) = numbers.collect::<Option<Vec<f64>>>() {
            Values::Numbers(numbers)
        } else {
            let mut levels: Vec<String> = Vec::new();
            let mut code = |text: &str| {
                if missing(text) {
                    return Categories::MISSING;
                }
                if !levels.iter().any(|level| level == text) {
                    levels.push(text.to_owned());
                }
                levels.iter().position(|level| level == text).unwrap() as u32
            };
            let codes = fields.iter().map(|text| code(text)).collect();
            Values::Categories(Categories::new(codes, levels).unwrap())
        };
        Column { name, values }
    };
    names.into_iter().enumerate().map(column).collect()
}

#[test]
fn every_way_of_cutting_reads_what_the_plain_reader_reads() {
    for content in TEXTS {
        let expected = plain_table(content);
        for chunk_bytes in 1..content.len() + 2 {
            let table = text(content, chunk_bytes).read(&ReadOptions::default()).unwrap();
            assert_eq!(table.columns(), expected, "{content:?} in chunks of {chunk_bytes}");
        }
    }
}

#[test]
fn batches_of_any_size_join_to_the_whole_table() {
    for content in TEXTS {
        let expected = plain_table(content);
        for (batch_rows, chunk_bytes) in [(1, 1), (1, 1000), (2, 5), (3, 8), (100, 4)] {
            let options = ReadOptions { batch_rows, ..ReadOptions::default() };
            let batches = CsvBatches::new(&text(content, chunk_bytes), &options).unwrap();
            let batches: Vec<Table> = batches.collect::<Result<_, _>>().unwrap();
            let mut next_row = 2;
            for batch in &batches {
                assert!(batch.rows() <= batch_rows);
                assert_eq!(batch.first_row(), next_row);
                next_row += batch.rows() as u64;
            }
            for (j, column) in expected.iter().enumerate() {
                let parts = batches.iter().map(|batch| &batch.columns()[j].values);
                assert_eq!(joined(parts, &column.values), column.values, "{content:?}");
            }
        }
    }
}

/// The parts one after another, of the kind of `like`.
fn joined<'a>(parts: impl Iterator<Item = &'a Values>, like: &Values) -> Values {
    let mut numbers = Vec::new();
    let mut codes = Vec::new();
    for part in parts {
        match part {
            Values::Numbers(part) => numbers.extend_from_slice(part),
            Values::Categories(part) => codes.extend_from_slice(part.codes()),
        }
    }
    match like {
        Values::Numbers(_) => Values::Numbers(numbers),
        Values::Categories(like) => Values::Categories(Categories::new(codes, like.levels()).unwrap()),
    }
}

#[test]
fn the_first_error_of_the_file_is_reported_however_it_is_cut() {
    for (content, message) in [
        ("a,b\n1,2\n3\n4\n", "t.csv:3:2: found 1 field; the first row has 2"),
        ("a,b\n1,2\n\n3,4,5,6\n7\n", "t.csv:3:3: found 4 fields; the first row has 2"),
        ("a,b\n1,\"x\n", "t.csv:2:2: a quoted field is not closed"),
        ("a,b\n1,\"x\"y\n", "t.csv:2:2: text follows a closing quotation mark"),
        ("a,b\n1,x\"\n2,\"\n", "t.csv:2:2: a quotation mark stands inside an unquoted field"),
        ("a,a\n", "t.csv:1:2: the name \"a\" occurs twice"),
        ("a,,c1\n", "t.csv:1:3: the name \"c1\" occurs twice"),
        ("\n\r\n", "t.csv: the table has no columns"),
    ] {
        for chunk_bytes in 1..content.len() + 2 {
            let error = text(content, chunk_bytes).read(&ReadOptions::default()).unwrap_err();
            assert_eq!(error.to_string(), message, "{content:?} in chunks of {chunk_bytes}");
        }
    }
}

#[test]
fn a_carriage_return_alone_is_refused_by_both_readers() {
    for (content, row, column) in [
        ("1,2\r3,4\r", 1, 2),
        ("a,b\n1,2\r3,4\r", 2, 2),
        ("a,b\n1,2\r\n\r3,4\n", 3, 1),
        ("a,b\n1\r,2\n", 2, 1),
        ("a,b\n\"1\"\r,2\n", 2, 1),
        ("a\n1\nx\ry\n", 3, 1),
    ] {
        assert_eq!(plain_records(content), None, "{content:?}");
        for chunk_bytes in 1..content.len() + 2 {
            let error = text(content, chunk_bytes).read(&ReadOptions::default()).unwrap_err();
            let expected = format!("t.csv:{row}:{column}: a carriage return stands in an unquoted field");
            assert!(error.to_string().starts_with(&expected), "{content:?}: {error}");
        }
    }
}

#[test]
fn columns_can_be_chosen_and_made_categories() {
    let options = ReadOptions {
        columns: Some(vec!["c".to_owned(), "a".to_owned()]),
        categories: vec!["c".to_owned()],
        ..ReadOptions::default()
    };
    let table = text("a,b,c\n1,\"x,y\",3\n4,z,3\n", 4).read(&options).unwrap();
    assert_eq!(table.names().collect::<Vec<_>>(), ["a", "c"]);
    let Values::Categories(c) = &table.column("c").unwrap().values else { panic!("asked for categories") };
    assert_eq!((c.codes(), c.levels()), (&[0, 0][..], &["3".to_owned()][..]));
    // The file's third column, though the table's second.
    assert_eq!(table.place(1, 1).to_string(), "t.csv:3:3 (column \"c\")");
    let unknown = ReadOptions { columns: Some(vec!["agee".to_owned()]), ..ReadOptions::default() };
    let error = text("age,b\n1,2\n", 4).read(&unknown).unwrap_err();
    assert_eq!(error.to_string(), "t.csv: there is no column \"agee\"; found age, b");
    assert_eq!(error.hint().unwrap(), "did you mean \"age\"?");
}

#[test]
fn one_and_many_threads_read_the_same() {
    let mut content = "n,t\n".to_owned();
    for i in 0..5000 {
        writeln!(content, "{}.{i},level {}", i % 7, (i * 31) % 97).unwrap();
    }
    let read = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| text(&content, 256).read(&ReadOptions::default()).unwrap())
    };
    assert_eq!(read(1), read(4));
    assert_eq!(read(4).columns(), plain_table(&content));
}
