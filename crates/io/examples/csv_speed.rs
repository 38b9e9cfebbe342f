//! Seconds to read a table: `csv_speed FILE [TIMES]` prints one line per reading.

use spanwise_io::{ReadOptions, Values, read_table};
use std::time::Instant;

fn main() -> Result<(), spanwise_io::IoError> {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: csv_speed FILE [TIMES]");
        return Ok(());
    };
    let times = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    for _ in 0..times {
        let start = Instant::now();
        let table = read_table(&path, &ReadOptions::default())?;
        let seconds = start.elapsed().as_secs_f64();
        let numbers = table.columns().iter().filter(|c| matches!(c.values, Values::Numbers(_))).count();
        println!(
            "{seconds:.3} s, {} rows, {numbers} of {} columns numbers",
            table.rows(),
            table.columns().len()
        );
    }
    Ok(())
}
