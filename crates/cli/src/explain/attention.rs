//! Queries, keys and values.

use super::{Stages, command_line, refused};
use crate::args::Explain;
use crate::attend::options::{Given, Settings};
use crate::source::Sources;
use anyhow::Context;
use spanwise::attend::Options;
use spanwise::explain::{AttentionInput, Explanation, explain_attention_told};
use spanwise::{View, bf16, f16};
use spanwise_io::{Kind, Scalar, Tensor};
use std::path::Path;

/// Whether the arguments mean attention: arrays by name, or a file of arrays and no target.
pub(super) fn is_meant(args: &Explain) -> bool {
    let arrays = |file: &String| {
        let end = Path::new(file).extension().map(|end| end.to_string_lossy().to_lowercase());
        matches!(end.as_deref(), Some("npz" | "safetensors"))
    };
    args.attention.q.is_some() || (args.target.is_none() && args.file.as_ref().is_some_and(arrays))
}

pub(super) fn explain(args: &Explain, quiet: bool) -> anyhow::Result<Explanation> {
    let mut attend = args.attention.attend();
    let mut named = args.file.clone().unwrap_or_else(|| attend.q.clone());
    if let Some(file) = &args.file {
        attend.q = format!("{file}:q");
        attend.k = format!("{file}:k");
        attend.v = format!("{file}:v");
    } else if attend.q.contains([';', ',']) {
        "arrays in the command".clone_into(&mut named);
    }
    let settings = Settings::new(&attend)?;
    let mut sources = Sources::default();
    let mut read = |argument, text: &str| {
        sources.tensor(argument, text).with_context(|| match &args.file {
            Some(_) => format!("`{argument}` is taken from the file's array of that name"),
            None => format!("`{argument}`"),
        })
    };
    let mut arrays = [read("--q", &attend.q)?, read("--k", &attend.k)?, read("--v", &attend.v)?];
    let mut bias = attend.bias.as_deref().map(|text| sources.tensor("--bias", text)).transpose()?;
    let given = Given::new(&attend, &mut sources)?;
    let kind = arrays[0].kind();
    if arrays.iter().chain(&bias).any(|array| array.kind() != kind) {
        // Types that differ meet in f64, which holds each of them exactly.
        arrays = arrays.map(|array| array.to_f64());
        bias = bias.map(|array| array.to_f64());
    }
    let task = Task {
        source: &named,
        arrays: &arrays,
        bias: bias.as_ref(),
        given: &given,
        settings: &settings,
        quiet,
    };
    match arrays[0].kind() {
        Kind::F16 => task.run::<f16>(),
        Kind::Bf16 => task.run::<bf16>(),
        Kind::F32 => task.run::<f32>(),
        Kind::F64 => task.run::<f64>(),
        Kind::Bool => Err(refused(
            "attention: `--q` holds truth values; expected numbers",
            "`--mask` takes truth values",
        )),
    }
}

struct Task<'a> {
    source: &'a str,
    arrays: &'a [Tensor; 3],
    bias: Option<&'a Tensor>,
    given: &'a Given,
    settings: &'a Settings,
    quiet: bool,
}

impl Task<'_> {
    fn run<T: spanwise::attend::Storage + Scalar>(&self) -> anyhow::Result<Explanation> {
        let [q, k, v] = self.arrays;
        let (q, k, v) = (typed::<T>(q)?, typed::<T>(k)?, typed::<T>(v)?);
        let options =
            Options { bias: self.bias.map(typed::<T>).transpose()?, ..self.given.options(self.settings) };
        let command = command_line();
        let stages = Stages::new(self.quiet);
        let input = AttentionInput { source: self.source, q, k, v, options, command: &command };
        let explanation =
            explain_attention_told(&input, &mut |stage| stages.say(stage), &|share| stages.advance(share));
        stages.done();
        Ok(explanation?)
    }
}

/// The tensor as what it holds.
fn typed<T: Scalar>(tensor: &Tensor) -> anyhow::Result<View<'_, T>> {
    tensor.view_as().with_context(|| format!("attention: an array of {} is not expected here", tensor.kind()))
}
