//! Runs and times Spanwise's calls, driven over stdin by the scripts in `bench/`.
//!
//! One command a line, one answer a line; arrays come as `.npy` files. Times are of the call alone, in milliseconds.
//!
//! ```text
//!  load NAME PATH            ok ROWS COLS row-major|column-major
//!  fit X Y                   MS METHOD STEPS CONDITION SUM-OF-COEFFICIENTS
//!  ridge X Y | path X Y      MS SUM-OF-COEFFICIENTS; one penalty of 1, or 50 from 1e-3 to 1e3
//!  logistic X Y              MS ITERATIONS GRADIENT-NORM SUM-OF-COEFFICIENTS, of penalty 1; the labels are the target's signs
//!  pca X                     MS METHOD SUM-OF-VARIANCES, of ten components
//!  gram X Y | triangle X Y | gradient X Y | summary X Y
//!  multiply X | bandwidth X  MS
//!  peak                      GFLOP/S of all threads
//!  cpu CALL X Y              MS of all threads together, while they ran: on a busy machine the better figure
//! ```

mod npy;
mod probe;

use anyhow::{Context, Result, bail};
use npy::Array;
use spanwise_kernels::tall::{Tall, Twofold, gram, multiply, residual_and_gradient, triangle};
use spanwise_linear::decompose::{PcaOptions, pca};
use spanwise_linear::fit::{Convergence, Logistic, Ridge, RidgePath};
use spanwise_linear::{LeastSquares, Summary};
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

fn main() -> Result<()> {
    let mut arrays: HashMap<String, Array> = HashMap::new();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            [] => continue,
            ["load", name, path] => {
                let array = npy::read(path)?;
                let answer = array.to_string();
                arrays.insert(name.to_owned(), array);
                answer
            }
            ["free", name] => arrays.remove(name).map_or_else(|| "no".to_owned(), |_| "ok".to_owned()),
            ["peak"] => format!("{:.1}", probe::peak()),
            ["cpu", call, x, y] => {
                let before = probe::cpu_time();
                timed(call, find(&arrays, x)?, Some(find(&arrays, y)?))?;
                format!("{:.4}", probe::cpu_time() - before)
            }
            ["cpu-peak"] => {
                let before = probe::cpu_time();
                let done = probe::multiply_adds();
                format!("{:.1}", 2.0 * done / (probe::cpu_time() - before) / 1e6)
            }
            [call, x] => timed(call, find(&arrays, x)?, None)?,
            [call, x, y] => timed(call, find(&arrays, x)?, Some(find(&arrays, y)?))?,
            _ => bail!("unknown command: {line}"),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn find<'a>(arrays: &'a HashMap<String, Array>, name: &str) -> Result<&'a Array> {
    arrays.get(name).with_context(|| format!("no array called {name}"))
}

fn timed(call: &str, x: &Array, y: Option<&Array>) -> Result<String> {
    let view = x.view()?;
    let d = x.cols;
    let target = || y.map(|y| &y.data[..]).context("a target is needed");
    let shift = vec![0.0; d + 1];
    let start = Instant::now();
    let rest = match call {
        "fit" => {
            let model = LeastSquares::new().fit(&view, target()?)?;
            let sum: f64 = model.target().coefficients.iter().map(|c| c.value).sum();
            let (method, steps) = (model.method(), model.refinement_steps());
            format!("{method:?} {steps} {:.3e} {sum:.15e}", model.condition())
        }
        "ridge" => {
            let fit = Ridge::new(1.0).fit(view, target()?)?;
            format!("{:.15e}", fit.coefficients.iter().sum::<f64>())
        }
        "path" => {
            let path = RidgePath::logarithmic(1e-3, 1e3, 50)?.fit(view, target()?)?;
            format!("{:.15e}", path.iter().flat_map(|fit| &fit.coefficients).sum::<f64>())
        }
        "logistic" => {
            let labels: Vec<bool> = target()?.iter().map(|&y| y > 0.0).collect();
            let start = Instant::now();
            let fit = Logistic::default().fit(view, &labels)?;
            let time = start.elapsed().as_secs_f64() * 1e3;
            let Convergence { iterations, gradient_norm, .. } = fit.convergence;
            let sum: f64 = fit.coefficients.as_slice().iter().sum();
            return Ok(format!("{time:.4} {iterations} {gradient_norm:.3e} {sum:.15e}"));
        }
        "pca" => {
            let found = pca(view, PcaOptions { components: Some(10), ..PcaOptions::default() })?;
            format!("{:?} {:.15e}", found.method, found.explained_variance.iter().sum::<f64>())
        }
        "summary" => {
            black_box(Summary::of(&view, target()?, None)?);
            String::new()
        }
        "gram" => {
            black_box(gram(&Tall { x: &view, y: &column(target()?)?, weights: None, shift: &shift }));
            String::new()
        }
        "triangle" => {
            black_box(triangle(&Tall { x: &view, y: &column(target()?)?, weights: None, shift: &shift }));
            String::new()
        }
        "gradient" => {
            let w = vec![Twofold::from(0.1); d + 1];
            let tall = Tall { x: &view, y: &column(target()?)?, weights: None, shift: &shift };
            black_box(residual_and_gradient(&tall, &w));
            String::new()
        }
        "multiply" => {
            // The result's memory is made and touched before the clock starts.
            let mut out = vec![1.0; x.rows];
            let w = vec![0.5; d];
            let start = Instant::now();
            multiply(&view, &w, 1.0, black_box(&mut out));
            return Ok(format!("{:.4}", start.elapsed().as_secs_f64() * 1e3));
        }
        "bandwidth" => format!("{}", probe::read_all(&x.data)),
        _ => bail!("unknown call: {call}"),
    };
    Ok(format!("{:.4} {rest}", start.elapsed().as_secs_f64() * 1e3))
}

fn column(y: &[f64]) -> Result<spanwise_kernels::View<'_, f64>> {
    Ok(spanwise_kernels::View::new(y, &[y.len()])?)
}
