//! What explaining attention costs beside computing it: `cargo run --release -p spanwise-lens --example attention_cost -- 32768`
//! takes one head of so many queries and keys of width 64 in f32, and prints seconds of both and of the parts.

use spanwise_attention::{Options, Problem, Request, forward};
use spanwise_kernels::View;
use spanwise_lens::explain::{AttentionInput, explain_attention};
use std::error::Error;
use std::time::Instant;

const WIDTH: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let count: usize = std::env::args().nth(1).ok_or("attention_cost: give a number of keys")?.parse()?;
    let mut state = 1_u32;
    let mut noise = || {
        // Twelve uniform numbers make one that is nearly normal.
        let mut uniform = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 16_777_216.0
        };
        (0..12).map(|_| uniform()).sum::<f32>() - 6.0
    };
    let mut array = || (0..count * WIDTH).map(|_| noise()).collect::<Vec<f32>>();
    let (q, k, v) = (array(), array(), array());
    let view = |data| View::new(data, &[1, 1, count, WIDTH]);
    let (q, k, v) = (view(&q)?, view(&k)?, view(&v)?);
    let since = Instant::now();
    let done = forward(&Problem::new(q, k, v, Options::default())?, &Request::default());
    let plain = since.elapsed().as_secs_f64();
    println!("forward alone {plain:.2} s ({} outputs)", done.values.len());
    let since = Instant::now();
    let input = AttentionInput { source: "noise", q, k, v, options: Options::default(), command: "" };
    let found = explain_attention(&input, &mut |_| ())?;
    let whole = since.elapsed().as_secs_f64();
    println!("explained {whole:.2} s, {:.2} times as much; {:?}", whole / plain, found.computation.seconds);
    Ok(())
}
