//! The memory that causal attention of one long head takes beyond inputs and outputs, with every statistic and without.
//!
//! ```text
//! cargo run --release -p spanwise-attention --example memory [-- N]
//! ```
//!
//! The high-water mark of the process after the call, less what it held before. Outputs are there before: the values, and a number or
//! more for each row, which are counted by hand. Linux alone tells.

use spanwise_attention::{Causal, MapSize, Options, Problem, Request, forward_into};
use spanwise_kernels::View;
use std::time::Instant;

const WIDTH: usize = 64;
const MIB: f64 = 1_048_576.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n: usize = std::env::args().nth(1).as_deref().unwrap_or("131072").parse()?;
    let numbers: Vec<f32> = (0..3 * n * WIDTH).map(|i| (i % 9973) as f32 / 5000.0 - 1.0).collect();
    let view = |i: usize| View::new(&numbers[i * n * WIDTH..][..n * WIDTH], &[n, WIDTH]);
    let options = Options { causal: Some(Causal::Square), ..Options::default() };
    let problem = Problem::new(view(0)?, view(1)?, view(2)?, options)?;
    let mut out = vec![1.0f32; n * WIDTH];
    let all = Request {
        lse: true,
        entropy: true,
        largest: true,
        top_k: 8,
        received: true,
        row_sum_error: true,
        map: Some(MapSize { rows: 128, cols: 128 }),
    };
    for (name, request) in [("plain", Request::default()), ("all statistics", all)] {
        let before = status("VmRSS")?;
        let start = Instant::now();
        let statistics = forward_into(&problem, &request, &mut out)?;
        let seconds = start.elapsed().as_secs_f64();
        let rows = |list: &Option<Vec<f64>>| list.as_ref().map_or(0, |list| list.len() * 8);
        let peaks = statistics.largest.as_ref().map_or(0, |peaks| size_of_val(&peaks[..]))
            + statistics.top.as_ref().map_or(0, |top| size_of_val(&top.peaks[..]));
        let cells = statistics.map.as_ref().map_or(0, |map| 16 * map.mean.len());
        let given = rows(&statistics.lse)
            + rows(&statistics.entropy)
            + rows(&statistics.received)
            + rows(&statistics.row_sum_error)
            + peaks
            + cells;
        let extra = status("VmHWM")? - before - given as f64 / MIB;
        println!(
            "{name:16} {seconds:6.1} s, {extra:6.1} MiB beyond inputs and outputs ({:.1} MiB of statistics)",
            given as f64 / MIB
        );
    }
    Ok(())
}

/// A line of the kernel's report on this process, in MiB.
fn status(name: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let report = std::fs::read_to_string("/proc/self/status")?;
    let line = report.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kilobytes: f64 = line.unwrap_or("0").trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes / 1024.0)
}
