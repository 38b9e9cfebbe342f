//! Attention on request: one command a line on stdin, one answer a line on stdout.
//!
//! ```text
//! load Q K V OUT [causal] [window=L] [mask=FILE] [statistics] [grad=FILE]   .npy files; prints `ok`
//! run                                                           once, with `grad` backward too; prints seconds
//! read                                                          a sum over K and V alone; prints seconds
//! save                                                          writes OUT; prints `ok`
//! peak f32 | peak f64 | peak bf16                               prints the FMA peak in GFLOP/s
//! ```
//!
//! bf16 has no name in `.npy`: arrays of `<u2` are taken for bf16.

mod npy;
mod peak;
mod reading;

use anyhow::{Context, Result, bail};
use npy::{Array, Kind, Numbers};
use spanwise_attention::{
    Alignment, Causal, MapSize, Options, Problem, Request, Upstream, Window, backward, forward_into,
};
use spanwise_kernels::View;
use spanwise_kernels::attention::Storage;
use std::io::{BufRead, Write};
use std::time::Instant;

/// What `load` has read.
struct Loaded {
    q: Array,
    k: Array,
    v: Array,
    mask: Option<Array>,
    /// The output's gradient; then every run is forward and backward.
    grad: Option<Array>,
    out: Numbers,
    out_path: String,
    causal: bool,
    window: Option<usize>,
    request: Request,
}

fn main() -> Result<()> {
    let mut loaded: Option<Loaded> = None;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words.as_slice() {
            ["load", q, k, v, out, asked @ ..] => {
                loaded = Some(load([q, k, v, out], asked)?);
                "ok".to_owned()
            }
            ["run"] => loaded.as_mut().context("nothing is loaded")?.run()?.to_string(),
            ["read"] => loaded.as_ref().context("nothing is loaded")?.read()?.to_string(),
            ["save"] => {
                loaded.as_ref().context("nothing is loaded")?.save()?;
                "ok".to_owned()
            }
            ["peak", dtype] => peak::gigaflops(dtype).context("peak of what?")?.to_string(),
            _ => bail!("unknown command `{line}`"),
        };
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn load([q, k, v, out]: [&str; 4], asked: &[&str]) -> Result<Loaded> {
    let (q, k, v) = (npy::read(q)?, npy::read(k)?, npy::read(v)?);
    let [b, h, n] = q.dims[..3] else { bail!("q must have four dimensions") };
    let zeros = q.numbers.zeros(b * h * n * v.dims[3]);
    let named = |name: &str| asked.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let statistics = asked.contains(&"statistics");
    Ok(Loaded {
        out: zeros,
        out_path: out.to_owned(),
        causal: asked.contains(&"causal"),
        window: named("window").map(str::parse).transpose()?,
        mask: named("mask").map(npy::read).transpose()?,
        request: Request {
            lse: statistics || named("grad").is_some(),
            entropy: statistics,
            largest: statistics,
            received: statistics,
            map: statistics.then_some(MapSize { rows: 128, cols: 128 }),
            ..Request::default()
        },
        grad: named("grad").map(npy::read).transpose()?,
        q,
        k,
        v,
    })
}

impl Loaded {
    fn run(&mut self) -> Result<f64> {
        let out = std::mem::replace(&mut self.out, Numbers::Bool(Vec::new()));
        let (q, k, v) = (&self.q.numbers, &self.k.numbers, &self.v.numbers);
        let (out, seconds) = match (q, k, v, out) {
            (Numbers::F32(q), Numbers::F32(k), Numbers::F32(v), Numbers::F32(mut out)) => {
                let seconds = self.time([q, k, v], &mut out)?;
                (Numbers::F32(out), seconds)
            }
            (Numbers::F64(q), Numbers::F64(k), Numbers::F64(v), Numbers::F64(mut out)) => {
                let seconds = self.time([q, k, v], &mut out)?;
                (Numbers::F64(out), seconds)
            }
            (Numbers::Bf16(q), Numbers::Bf16(k), Numbers::Bf16(v), Numbers::Bf16(mut out)) => {
                let seconds = self.time([q, k, v], &mut out)?;
                (Numbers::Bf16(out), seconds)
            }
            (Numbers::F16(q), Numbers::F16(k), Numbers::F16(v), Numbers::F16(mut out)) => {
                let seconds = self.time([q, k, v], &mut out)?;
                (Numbers::F16(out), seconds)
            }
            _ => bail!("q, k and v must have one type"),
        };
        self.out = out;
        Ok(seconds)
    }

    fn time<T: Storage + Kind>(&self, [q, k, v]: [&Vec<T>; 3], out: &mut [T]) -> Result<f64> {
        let mask = match &self.mask {
            Some(Array { dims, numbers: Numbers::Bool(bits) }) => Some(View::new(bits, dims)?),
            Some(_) => bail!("a mask is an array of bools"),
            None => None,
        };
        let options = Options {
            causal: self.causal.then_some(Causal::Aligned(Alignment::BottomRight)),
            window: self.window.map(|left| Window {
                left: Some(left),
                right: None,
                alignment: Some(Alignment::BottomRight),
            }),
            mask,
            ..Options::default()
        };
        let start = Instant::now();
        let problem = Problem::new(
            View::new(q, &self.q.dims)?,
            View::new(k, &self.k.dims)?,
            View::new(v, &self.v.dims)?,
            options,
        )?;
        let statistics = forward_into(&problem, &self.request, out)?;
        if let Some(Array { dims, numbers }) = &self.grad {
            let grad = T::numbers(numbers).context("the gradient must have the type of q, k and v")?;
            let upstream = Upstream {
                output: View::new(out, dims)?,
                lse: &statistics.lse.unwrap_or_default(),
                grad: View::new(grad, dims)?,
            };
            std::hint::black_box(backward(&problem, &upstream)?);
        }
        Ok(start.elapsed().as_secs_f64())
    }

    fn read(&self) -> Result<f64> {
        let threads = std::thread::available_parallelism()?.get();
        Ok(match (&self.k.numbers, &self.v.numbers) {
            (Numbers::F32(k), Numbers::F32(v)) => reading::seconds(k, v, threads),
            (Numbers::F64(k), Numbers::F64(v)) => reading::seconds(k, v, threads),
            (Numbers::Bf16(k), Numbers::Bf16(v)) => reading::seconds(k, v, threads),
            (Numbers::F16(k), Numbers::F16(v)) => reading::seconds(k, v, threads),
            _ => bail!("k and v must have one type"),
        })
    }

    fn save(&self) -> Result<()> {
        let [b, h, n] = self.q.dims[..3] else { bail!("q must have four dimensions") };
        npy::write(&self.out_path, &[b, h, n, self.v.dims[3]], &self.out)
    }
}
