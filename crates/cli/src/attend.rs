//! `spanwise attend`.

mod files;
pub(crate) mod options;

use crate::Outcome;
use crate::args::Attend;
use crate::failure::Usage;
use crate::out::{Screen, to_stdout};
use crate::source::Sources;
use anyhow::Context;
use files::{Column, Columns, Files};
use indicatif::{ProgressBar, ProgressStyle};
use options::{Given, Settings};
use spanwise::attend::{Attended, Options, Problem, Storage, summarised, weights};
use spanwise::example::Array;
use spanwise::report::{AttendedJson, attended_json, attended_text};
use spanwise::{Element, ShapeError, View, bf16, f16};
use spanwise_io::{Kind, Scalar, Tensor};

/// Weights beyond this many numbers are refused: 16 GiB in f64.
const MOST_WEIGHTS: u128 = 1 << 31;

/// Multiplications beyond which it is worth a line that there is work going on.
const LONG_WORK: f64 = 2e9;

/// Weights that are formed at a time.
const SOME_WEIGHTS: usize = 1 << 22;

pub(crate) fn run(args: &Attend, screen: Screen) -> anyhow::Result<Outcome> {
    let files = Files::new(args)?;
    let settings = Settings::new(args)?;
    let mut sources = Sources::default();
    let arrays = Arrays {
        q: sources.tensor("--q", &args.q)?,
        k: sources.tensor("--k", &args.k)?,
        v: sources.tensor("--v", &args.v)?,
        bias: args.bias.as_deref().map(|bias| sources.tensor("--bias", bias)).transpose()?,
    };
    let given = Given::new(args, &mut sources)?;
    // The type of q is the type of what is written; truth values are numbers here.
    let kind = if arrays.q.kind() == Kind::Bool { Kind::F64 } else { arrays.q.kind() };
    let task = Task { settings, given, files, kind, quiet: screen.quiet };
    let (attended, files) = match arrays.common_kind() {
        Some(Kind::F16) => task.run::<f16>(&arrays)?,
        Some(Kind::Bf16) => task.run::<bf16>(&arrays)?,
        Some(Kind::F32) => task.run::<f32>(&arrays)?,
        Some(Kind::F64) => task.run::<f64>(&arrays)?,
        // Types that differ meet in f64, which holds each of them exactly.
        _ => task.run::<f64>(&arrays.in_f64())?,
    };
    show(args, screen, &attended, &files)?;
    Ok(Outcome::Done)
}

/// What attention is made of.
struct Arrays {
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Option<Tensor>,
}

impl Arrays {
    /// The kind that all have.
    fn common_kind(&self) -> Option<Kind> {
        let kind = self.q.kind();
        let same = [Some(&self.k), Some(&self.v), self.bias.as_ref()]
            .into_iter()
            .flatten()
            .all(|tensor| tensor.kind() == kind);
        same.then_some(kind)
    }

    fn in_f64(&self) -> Arrays {
        Arrays {
            q: self.q.to_f64(),
            k: self.k.to_f64(),
            v: self.v.to_f64(),
            bias: self.bias.as_ref().map(Tensor::to_f64),
        }
    }
}

/// Everything but the arrays.
struct Task {
    settings: Settings,
    given: Given,
    files: Files,
    kind: Kind,
    quiet: bool,
}

/// A file that was written: what it holds, and its name.
type Written = Vec<(String, String)>;

impl Task {
    fn run<T: Storage + Scalar>(&self, arrays: &Arrays) -> anyhow::Result<(Attended, Written)> {
        let options = Options {
            bias: arrays.bias.as_ref().map(typed::<T>).transpose()?,
            ..self.given.options(&self.settings)
        };
        let (q, k, v) = (typed(&arrays.q)?, typed(&arrays.k)?, typed(&arrays.v)?);
        let problem = Problem::new(q, k, v, options)?;
        // All that can go wrong with the files' formats does so before the work.
        self.files.check(&problem.output_dims(), &problem.weights_dims())?;
        let weights = self.weights_column(&problem.weights_dims())?;
        let bar = self.progress(&problem);
        let attended = summarised(&problem)?;
        let weights = weights.map(|column| filled(column, &problem, attended.lse.data())).transpose()?;
        bar.finish_and_clear();

        let written = self.files.write(Columns {
            output: self.files.out.as_ref().map(|_| self.tensor(&attended.output)).transpose()?,
            lse: self.files.lse.as_ref().map(|_| self.tensor(&attended.lse)).transpose()?,
            weights: weights.map(|column| column.finish(&problem.weights_dims())).transpose()?,
        })?;
        Ok((attended, written))
    }

    /// The array in the type that is written.
    fn tensor(&self, array: &Array) -> Result<Tensor, ShapeError> {
        let mut column = Column::new(self.kind);
        column.extend(array.data());
        column.finish(array.dims())
    }

    /// Room for the weights, if they are wanted.
    fn weights_column(&self, dims: &[usize]) -> anyhow::Result<Option<Column>> {
        if self.files.weights.is_none() {
            return Ok(None);
        }
        let size = dims.iter().map(|&n| n as u128).product::<u128>();
        let too_many = || {
            let hint = "leave `--weights` out: the output needs no weights in memory";
            let message = format!("`--weights`: {size} numbers are too many to keep; at most {MOST_WEIGHTS}");
            Usage::with_hint(message, hint)
        };
        if size > MOST_WEIGHTS {
            return Err(too_many().into());
        }
        let mut column = Column::new(self.kind);
        column.reserve(size as usize).map_err(|_| too_many())?;
        Ok(Some(column))
    }

    fn progress<T: Element>(&self, problem: &Problem<'_, T>) -> ProgressBar {
        let sizes = problem.sizes();
        let rows = sizes.b * sizes.h * sizes.n;
        let work = rows as f64 * sizes.m as f64 * (sizes.d + sizes.e) as f64;
        if self.quiet || work < LONG_WORK {
            return ProgressBar::hidden();
        }
        // Drawn to stderr, and only if that is a terminal.
        let bar = ProgressBar::new_spinner().with_message(format!("{rows} queries over {} keys", sizes.m));
        bar.enable_steady_tick(std::time::Duration::from_millis(120));
        match ProgressStyle::with_template("attention {spinner} {msg}, {elapsed}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    }
}

/// All weights `(B, H, N, M)`, from the log-sum-exps, some rows at a time.
fn filled<T: Element>(mut column: Column, problem: &Problem<'_, T>, lse: &[f64]) -> anyhow::Result<Column> {
    let sizes = problem.sizes();
    let some = (SOME_WEIGHTS / sizes.m.max(1)).max(1);
    for head in (0..sizes.b).flat_map(|b| (0..sizes.h).map(move |h| [b, h])) {
        for first in (0..sizes.n).step_by(some) {
            let rows = first..sizes.n.min(first + some);
            column.extend(&weights(problem, lse, head, rows, 0..sizes.m)?);
        }
    }
    Ok(column)
}

/// The tensor as what it holds.
fn typed<T: Scalar>(tensor: &Tensor) -> anyhow::Result<View<'_, T>> {
    tensor.view_as().with_context(|| format!("attention: an array of {} is not expected here", tensor.kind()))
}

fn show(args: &Attend, screen: Screen, attended: &Attended, written: &Written) -> anyhow::Result<()> {
    if args.json {
        let json = AttendedJson {
            summary: &attended.summary,
            output: args.out.is_none().then_some(&attended.output),
            lse: args.lse.is_none().then_some(&attended.lse),
            files: written,
        };
        return to_stdout(&attended_json(&json)?);
    }
    if screen.quiet {
        return Ok(());
    }
    to_stdout(&attended_text(attended, written, screen.ink))
}
