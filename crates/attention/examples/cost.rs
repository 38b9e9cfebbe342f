//! What masks, biases, statistics and shared heads cost over the plain forward: each beside it, in turn, best of all.
//!
//! ```text
//! cargo run --release -p spanwise-attention --example cost [-- SECONDS [WORD]]
//! ```
//!
//! SECONDS for each line, and only the lines that hold WORD.

use spanwise_attention::{AttentionError, Causal, MapSize, Options, Problem, Request, forward_into};
use spanwise_kernels::View;
use std::time::{Duration, Instant};

const SIZES: [usize; 5] = [1, 8, 2048, 2048, 64];

/// Numbers between −1 and 1, the same ones on every run.
fn numbers(len: usize, mut state: u32) -> Vec<f32> {
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from_bits((state >> 9) | 0x3f80_0000) * 2.0 - 3.0
    };
    (0..len).map(|_| next()).collect()
}

/// One line of the table.
struct Line<'a> {
    name: &'a str,
    options: Options<'a, f32>,
    request: Request,
    /// Key heads.
    groups: usize,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let seconds: f64 = words.next().as_deref().unwrap_or("2").parse()?;
    let word = words.next().unwrap_or_default();
    let [b, h, n, m, _] = SIZES;
    let bits: Vec<bool> = numbers(b * h * n * m, 7).iter().map(|&x| x > -0.6).collect();
    let bias = numbers(b * h * n * m, 8);
    let plain = Line { name: "plain", options: Options::default(), request: Request::default(), groups: h };
    let mut lines = Vec::new();
    let line = |name| Line { name, ..plain };
    let masks: [(&str, [usize; 4]); 5] = [
        ("mask 1,1,N,M", [1, 1, n, m]),
        ("mask B,H,N,M", [b, h, n, m]),
        ("mask B,1,1,M", [b, 1, 1, m]),
        ("mask 1,H,N,1", [1, h, n, 1]),
        ("mask 1,H,1,1", [1, h, 1, 1]),
    ];
    for (name, dims) in masks {
        let mask = View::new(&bits[..dims.iter().product()], &dims)?;
        lines.push(Line { options: Options { mask: Some(mask), ..Options::default() }, ..line(name) });
        let bias = View::new(&bias[..dims.iter().product()], &dims)?;
        let name: &str = Box::leak(name.replace("mask", "bias").into_boxed_str());
        lines.push(Line { options: Options { bias: Some(bias), ..Options::default() }, ..line(name) });
    }
    let both = Options {
        mask: Some(View::new(&bits[..n * m], &[n, m])?),
        bias: Some(View::new(&bias[..n * m], &[n, m])?),
        ..Options::default()
    };
    lines.push(Line { options: both, ..line("mask and bias N,M") });
    let transposed = View::new(&bias[..n * m], &[n, m])?.transposed();
    lines.push(Line {
        options: Options { bias: Some(transposed), ..Options::default() },
        ..line("bias of M,N turned")
    });

    let lse = Request { lse: true, ..Request::default() };
    let few = Request {
        entropy: true,
        largest: true,
        received: true,
        map: Some(MapSize { rows: 128, cols: 128 }),
        ..lse
    };
    let all = Request { top_k: 8, row_sum_error: true, ..few };
    for (name, request) in [
        ("statistics: log-sum-exp", lse),
        ("statistics: entropy", Request { entropy: true, ..lse }),
        ("statistics: largest", Request { largest: true, ..lse }),
        ("statistics: top 8", Request { top_k: 8, ..lse }),
        ("statistics: received", Request { received: true, ..lse }),
        ("statistics: row sums", Request { row_sum_error: true, ..lse }),
        ("statistics: map", Request { map: few.map, ..lse }),
        ("statistics: first five", few),
        ("statistics: all", all),
    ] {
        lines.push(Line { request, ..line(name) });
    }
    let causal = Options { causal: Some(Causal::Square), ..Options::default() };
    lines.push(Line { options: causal, ..line("causal") });
    for (name, request) in [("causal, lse", lse), ("causal, first five", few), ("causal, all", all)] {
        lines.push(Line { options: causal, request, ..line(name) });
    }
    for (name, groups) in [("heads 2", 2), ("heads 1", 1)] {
        lines.push(Line { groups, ..line(name) });
    }
    for (name, groups) in [("causal, heads 2", 2), ("causal, heads 1", 1)] {
        lines.push(Line { options: causal, groups, ..line(name) });
    }

    for line in lines.iter().filter(|line| line.name.contains(&word)) {
        // Statistics of causal attention beside causal attention.
        let base = Line {
            options: if line.request == plain.request { plain.options } else { line.options },
            ..plain
        };
        let [ours, base, middle] = beside(line, &base, Duration::from_secs_f64(seconds))?;
        let [best, middle] = [ours / base, middle].map(|ratio| 100.0 * (ratio - 1.0));
        println!("{:32} {ours:8.2} ms, plain {base:8.2}: {best:+6.1} %, median {middle:+6.1} %", line.name);
    }
    Ok(())
}

/// The best of each in milliseconds, and the median of the ratios of two runs that followed each other.
fn beside(line: &Line<'_>, plain: &Line<'_>, budget: Duration) -> Result<[f64; 3], AttentionError> {
    let start = Instant::now();
    let (mut ours, mut base, mut ratios) = (f64::INFINITY, f64::INFINITY, Vec::new());
    let mut out = Vec::new();
    while start.elapsed() < budget {
        let (without, with) = (once(plain, &mut out)?, once(line, &mut out)?);
        (base, ours) = (base.min(without), ours.min(with));
        ratios.push(with / without);
    }
    ratios.sort_by(f64::total_cmp);
    Ok([ours, base, ratios[ratios.len() / 2]])
}

fn once(line: &Line<'_>, out: &mut Vec<f32>) -> Result<f64, AttentionError> {
    thread_local! {
        static ARRAYS: [Vec<f32>; 3] = {
            let [b, h, n, m, d] = SIZES;
            [numbers(b * h * n * d, 1), numbers(b * h * m * d, 2), numbers(b * h * m * d, 3)]
        };
    }
    let [b, h, n, m, d] = SIZES;
    out.resize(b * h * n * d, 0.0);
    ARRAYS.with(|[q, k, v]| {
        let keys = [b, line.groups, m, d];
        let len = keys.iter().product();
        let q = View::new(&q[..], &[b, h, n, d]).expect("as many numbers as the shape asks for");
        let [k, v] = [k, v].map(|x| View::new(&x[..len], &keys).expect("the same"));
        let start = Instant::now();
        let problem = Problem::new(q, k, v, line.options)?;
        std::hint::black_box(forward_into(&problem, &line.request, out)?);
        Ok(start.elapsed().as_secs_f64() * 1e3)
    })
}
