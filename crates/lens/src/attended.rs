//! What a run of attention says about itself.

use crate::linear::counted;
use crate::{Array, LessonError, number};
use serde::Serialize;
use spanwise_attention::{Alignment, Blocks, Causal, Options, Problem, Request, Window, forward_into};
use spanwise_kernels::attention::Storage;
use spanwise_kernels::{Dtype, Element, Shape};

/// Outputs of attention and a summary of how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Attended {
    /// The outputs: `(…, N, E)`.
    pub output: Array,
    /// The log-sum-exp of each row: `(…, N)`.
    pub lse: Array,
    /// What there is to say about them.
    pub summary: Summary,
}

/// What there is to say about a run of attention.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The factor on `q·k`.
    #[serde(serialize_with = "number")]
    pub scale: f64,
    /// What was asked beyond plain attention, in words.
    pub options: Vec<AskedFor>,
    /// Rows of weights: queries over all batch entries and heads.
    pub rows: usize,
    /// Keys of one head.
    pub keys: usize,
    /// The output's dimensions.
    pub output_shape: Vec<usize>,
    /// Rows without a key left; their outputs are zeros.
    pub empty_rows: usize,
    /// The largest `|Σ weights + the sink's share − 1|` over the rows with a key.
    #[serde(serialize_with = "number")]
    pub row_sum_error: f64,
    /// How large that may be: 2·M·ε, ε of the type sums are formed in.
    #[serde(serialize_with = "number")]
    pub row_sum_tolerance: f64,
    /// The smallest finite output; `None` without one.
    pub smallest: Option<f64>,
    /// The largest finite output; `None` without one.
    pub largest: Option<f64>,
    /// Outputs that are NaN or infinite.
    pub not_finite: usize,
}

/// One option with its meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AskedFor {
    /// Its name.
    pub option: &'static str,
    /// What it does, in words.
    pub meaning: String,
}

/// Evaluates `problem`, in memory that does not grow with `N·M`.
///
/// Sums are formed in f32 for f32, f16 and bf16, and in f64 for f64.
pub fn attend<T: Storage>(problem: &Problem<'_, T>) -> Result<Attended, LessonError> {
    let (sizes, options) = (problem.sizes(), problem.options());
    let dims = problem.output_dims();
    let rows = &dims[..dims.len() - 1];
    // Rows may be many where their width is 0 and the output empty, so both need room before the work.
    let mut values: Vec<T> = with_room("the output", &dims)?;
    drop(with_room::<f64>("the log-sum-exps", rows)?);
    values.resize(sizes.b * sizes.h * sizes.n * sizes.e, T::default());
    let request = Request { lse: true, row_sum_error: true, ..Request::default() };
    let statistics = forward_into(problem, &request, &mut values).map_err(LessonError::Attention)?;
    let output: Vec<f64> = values.iter().map(|value| value.to_f64()).collect();
    drop(values);
    let lse = statistics.lse.unwrap_or_default();
    // A row lost to a NaN makes the error NaN and keeps it so; a row without a key has none.
    let errors = statistics.row_sum_error.unwrap_or_default();
    let worse = |most: f64, error: f64| if most.is_nan() || error <= most { most } else { error };
    let met = errors.iter().zip(&lse).filter(|&(_, &lse)| lse != f64::NEG_INFINITY);
    let row_sum_error = met.fold(0.0, |most, (&error, _)| worse(most, error));
    let epsilon = if T::DTYPE == Dtype::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let finite = || output.iter().copied().filter(|o: &f64| o.is_finite());
    let summary = Summary {
        scale: problem.scale(),
        options: in_words(options),
        rows: lse.len(),
        keys: sizes.m,
        output_shape: dims.clone(),
        empty_rows: statistics.empty_rows,
        row_sum_error,
        row_sum_tolerance: 2.0 * sizes.m as f64 * epsilon,
        smallest: finite().reduce(f64::min),
        largest: finite().reduce(f64::max),
        not_finite: output.len() - finite().count(),
    };
    let lse = Array::new(lse, rows).map_err(LessonError::Output)?;
    Ok(Attended { output: Array::new(output, &dims).map_err(LessonError::Output)?, lse, summary })
}

/// A vector with room for as many numbers as `dims` say.
fn with_room<T>(what: &'static str, dims: &[usize]) -> Result<Vec<T>, LessonError> {
    let numbers = Shape::new(dims).map_err(LessonError::Output)?.len();
    let mut room = Vec::new();
    room.try_reserve_exact(numbers).map_err(|_| LessonError::Memory { what, numbers })?;
    Ok(room)
}

/// What the options ask for, in the order they act.
pub(crate) fn in_words<T: Element>(options: &Options<'_, T>) -> Vec<AskedFor> {
    let mut asked = Vec::new();
    let mut say = |option, meaning: Option<String>| {
        asked.extend(meaning.map(|meaning| AskedFor { option, meaning }));
    };
    let shaped = |shape: Shape| format!("of shape {shape}");
    say("scale", options.scale.map(|scale| format!("scores are {scale}·q·k")));
    say("softcap", options.softcap.map(|c| format!("scores s become {c}·tanh(s/{c})")));
    say("bias", options.bias.map(|bias| format!("added to the scores, {}", shaped(bias.shape()))));
    say(
        "alibi",
        options.alibi.map(|slopes| {
            let diagonal = match (options.causal, options.window.and_then(|window| window.alignment)) {
                (Some(Causal::Aligned(alignment)), _) | (_, Some(alignment)) => alignment,
                _ => Alignment::BottomRight,
            };
            format!("each place from the {diagonal} diagonal costs the head's slope, slopes {slopes:?}")
        }),
    );
    say("mask", options.mask.map(|mask| format!("true keeps a key, {}", shaped(mask.shape()))));
    say("causal", options.causal.map(causal_in_words));
    say("window", options.window.map(window_in_words));
    say("blocks", options.blocks.map(blocks_in_words));
    say("lengths", options.lengths.map(|lengths| format!("keys per batch entry: {lengths:?}")));
    say("sinks", options.sinks.map(|sinks| format!("logits without a value, per head: {sinks:?}")));
    asked
}

fn causal_in_words(causal: Causal) -> String {
    match causal {
        Causal::Square => "query i sees keys up to i".to_owned(),
        Causal::Aligned(Alignment::TopLeft) => "query i sees keys up to i (top-left)".to_owned(),
        Causal::Aligned(Alignment::BottomRight) => {
            "query i sees keys up to i + M − N (bottom-right)".to_owned()
        }
    }
}

fn window_in_words(window: Window) -> String {
    let side = |reach: Option<usize>, word: &str| match reach {
        Some(reach) => format!("{} {word}", counted(reach, "key", "keys")),
        None => format!("all keys {word}"),
    };
    let along = window.alignment.map_or_else(String::new, |alignment| format!(" ({alignment})"));
    format!(
        "a query sees {} and {} its place{along}",
        side(window.left, "before"),
        side(window.right, "after")
    )
}

fn blocks_in_words(blocks: Blocks<'_>) -> String {
    let Blocks { rows, cols, keep } = blocks;
    format!("true keeps a block of {rows} × {cols} (queries × keys), of shape {}", keep.shape())
}

#[cfg(test)]
mod tests {
    use super::*;
    use spanwise_kernels::View;

    const ONE: [f64; 1] = [1.0];

    fn one() -> View<'static, f64> {
        View::new(&ONE, &[1, 1]).unwrap()
    }

    #[test]
    fn rows_without_width_that_no_memory_holds_are_refused_before_the_work() {
        let v = View::new(&[], &[1 << 59, 1, 1, 0]).unwrap();
        let problem = Problem::new(one(), one(), v, Options::default()).unwrap();
        let refused = attend(&problem).unwrap_err();
        assert_eq!(refused, LessonError::Memory { what: "the log-sum-exps", numbers: 1 << 59 });
    }

    #[test]
    fn an_output_that_cannot_be_addressed_is_one_of_attention() {
        let q = one().broadcast_to(&[1 << 30, 1]).unwrap();
        let v = one().broadcast_to(&[1, 1 << 31]).unwrap();
        let problem = Problem::new(q, one(), v, Options::default()).unwrap();
        let refused = attend(&problem).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "attention: the output: shape [1073741824, 2147483648] has more elements than can be addressed"
        );
    }

    #[test]
    fn sinks_and_blocks_come_from_the_problem() {
        let (queries, sinks) = ([1.0, 2.0], [0.5, 0.25]);
        let q = View::new(&queries, &[1, 2, 1, 1]).unwrap();
        let keep = View::new(&[true], &[1, 1]).unwrap();
        let blocks = Some(Blocks { rows: 2, cols: 4, keep });
        let options = Options { sinks: Some(&sinks), blocks, ..Options::default() };
        let problem = Problem::new(q, one(), one(), options).unwrap();
        let summary = attend(&problem).unwrap().summary;
        assert!(summary.row_sum_error <= summary.row_sum_tolerance, "{}", summary.row_sum_error);
        let said: Vec<_> = summary.options.iter().map(|asked| asked.option).collect();
        assert_eq!(said, ["blocks", "sinks"]);
        assert_eq!(
            summary.options[0].meaning,
            "true keeps a block of 2 × 4 (queries × keys), of shape (1, 1)"
        );
    }

    /// Queries and keys that differ in number, two heads over one, and everything that can hide a key.
    fn agrees_with_the_reference<T: Storage>(tolerance: f64) {
        let numbers = |count: usize, step: f64| -> Vec<T> {
            (0..count).map(|i| T::from_f64((i as f64 * step).sin())).collect()
        };
        let (q, k, v) = (numbers(2 * 70 * 8, 0.37), numbers(90 * 8, 0.71), numbers(90 * 5, 0.53));
        let view = |data, dims: &[usize]| View::new(data, dims).unwrap();
        let (q, k, v) = (view(&q, &[1, 2, 70, 8]), view(&k, &[1, 1, 90, 8]), view(&v, &[1, 1, 90, 5]));
        let keep: Vec<bool> = (0..90).map(|j| j % 7 != 3).collect();
        let (mask, sinks) = (View::new(&keep, &[1, 90]).unwrap(), [0.5, -1.0]);
        let window = |left| Window { left, right: Some(2), alignment: Some(Alignment::TopLeft) };
        for options in [
            Options::default(),
            Options { mask: Some(mask), softcap: Some(2.0), ..Options::default() },
            Options { window: Some(window(Some(3))), sinks: Some(&sinks), ..Options::default() },
            Options { causal: Some(Causal::Aligned(Alignment::BottomRight)), ..Options::default() },
            Options { lengths: Some(&[0]), ..Options::default() },
        ] {
            let problem = Problem::new(q, k, v, options).unwrap();
            let (found, expected) =
                (attend(&problem).unwrap(), spanwise_attention::reference::attend(&problem));
            assert_eq!(found.summary.empty_rows, expected.empty_rows);
            assert!(found.summary.row_sum_error <= found.summary.row_sum_tolerance, "{:?}", found.summary);
            let near = |a: &[f64], b: &[f64]| {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || (a - b).abs() <= tolerance)
            };
            assert!(near(found.output.data(), &expected.values), "{:?}", found.summary.options);
            assert!(near(found.lse.data(), &expected.lse), "{:?}", found.summary.options);
        }
    }

    #[test]
    fn outputs_are_those_of_the_reference() {
        agrees_with_the_reference::<f64>(1e-13);
        agrees_with_the_reference::<f32>(1e-5);
    }
}
