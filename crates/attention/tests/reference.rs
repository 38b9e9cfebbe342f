//! The reference against values worked out by hand.
//!
//! Most tests use width 1, scale 1 and a query of 1, so that a key of `ln c` has `exp(score) = c` and the weights
//! are simple fractions.

use spanwise_attention::{Alignment, AttentionError, Blocks, Causal, Options, Problem, Window, reference};
use spanwise_kernels::{View, bf16, f16};

/// Weights of queries of 1 over keys whose exponentials are `counts`; every value is `(j + 1)`.
fn weights_of(queries: usize, counts: &[f64], options: &Options<'_, f64>) -> Vec<Vec<f64>> {
    steps_of(queries, counts, options).weights.chunks(counts.len()).map(<[f64]>::to_vec).collect()
}

fn steps_of(queries: usize, counts: &[f64], options: &Options<'_, f64>) -> reference::Steps {
    let options = Options { scale: options.scale.or(Some(1.0)), ..*options };
    let q = vec![1.0; queries];
    let k: Vec<f64> = counts.iter().map(|c| c.ln()).collect();
    let v: Vec<f64> = (1..=counts.len()).map(|j| j as f64).collect();
    let problem = Problem::new(
        View::new(&q, &[queries, 1]).unwrap(),
        View::new(&k, &[counts.len(), 1]).unwrap(),
        View::new(&v, &[counts.len(), 1]).unwrap(),
        options,
    );
    reference::steps(&problem.unwrap())
}

fn assert_rows(found: &[Vec<f64>], expected: &[&[f64]]) {
    assert_eq!(found.len(), expected.len());
    for (row, want) in found.iter().zip(expected) {
        assert_eq!(row.len(), want.len());
        for (x, y) in row.iter().zip(*want) {
            assert!((x - y).abs() < 1e-15, "{found:?} is not {expected:?}");
        }
    }
}

#[test]
fn the_weights_of_the_text_come_out() {
    // e^(1/√2) = 2.02811498…: a = (e, 1, e)/(2e + 1).
    let q = [1.0, 0.0];
    let k = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
    let v = [1.0, 0.0, 0.0, 2.0, 1.0, 1.0];
    let view = |data, rows| View::new(data, &[rows, 2]).unwrap();
    let problem = Problem::new(view(&q, 1), view(&k, 3), view(&v, 3), Options::default()).unwrap();
    let steps = reference::steps(&problem);
    let e = 0.5_f64.sqrt().exp();
    let (large, small) = (e / (2.0 * e + 1.0), 1.0 / (2.0 * e + 1.0));
    assert_eq!(steps.products, [1.0, 0.0, 1.0]);
    assert_rows(&[steps.weights], &[&[large, small, large]]);
    assert_rows(&[steps.answer.values], &[&[2.0 * large, 2.0 * small + large]]);
    assert!((steps.answer.lse[0] - (2.0 * e + 1.0).ln()).abs() < 1e-15);
}

#[test]
fn scale_multiplies_the_products() {
    let twice = Options { scale: Some(2.0), ..Options::default() };
    assert_rows(&weights_of(1, &[1.0, 2.0], &twice), &[&[0.2, 0.8]]);
    // Unless given it is 1/√D: D = 4, q·k = 2·ln 3 gives a score of ln 3.
    let q = [1.0; 4];
    let k = [0.0, 0.0, 0.0, 0.0, 3_f64.ln(), 3_f64.ln(), 0.0, 0.0];
    let v = [0.0, 1.0];
    let problem = Problem::new(
        View::new(&q, &[1, 4]).unwrap(),
        View::new(&k, &[2, 4]).unwrap(),
        View::new(&v, &[2, 1]).unwrap(),
        Options::default(),
    );
    assert_rows(&[reference::attend(&problem.unwrap()).values], &[&[0.75]]);
}

#[test]
fn the_soft_cap_bends_scores_before_the_bias_is_added() {
    // tanh(ln 3) = (9 − 1)/(9 + 1) = 0.8, so a cap of 1 makes ln 3 into 0.8; then the bias of 1 comes on top.
    let bias = [0.0, 1.0];
    let options =
        Options { softcap: Some(1.0), bias: Some(View::new(&bias, &[2]).unwrap()), ..Options::default() };
    let steps = steps_of(1, &[1.0, 3.0], &options);
    assert_rows(&[steps.scores], &[&[0.0, 1.8]]);
}

#[test]
fn a_bias_is_added_and_broadcast_and_may_hide() {
    let bias = [2_f64.ln(), 0.0, f64::NEG_INFINITY];
    let options = Options { bias: Some(View::new(&bias, &[1, 3]).unwrap()), ..Options::default() };
    assert_rows(&weights_of(2, &[1.0, 2.0, 5.0], &options), &[&[0.5, 0.5, 0.0], &[0.5, 0.5, 0.0]]);
}

#[test]
fn alibi_falls_with_the_distance_from_the_querys_place() {
    let slopes = [2_f64.ln()];
    let options = Options { alibi: Some(&slopes), ..Options::default() };
    // Two queries beside the last two of three keys: distances (1, 0, 1) and (2, 1, 0).
    assert_rows(
        &weights_of(2, &[1.0; 3], &options),
        &[&[0.25, 0.5, 0.25], &[1.0 / 7.0, 2.0 / 7.0, 4.0 / 7.0]],
    );
    let top_left = Options { causal: Some(Causal::Aligned(Alignment::TopLeft)), ..options };
    assert_rows(&weights_of(2, &[1.0; 3], &top_left), &[&[1.0, 0.0, 0.0], &[1.0 / 3.0, 2.0 / 3.0, 0.0]]);
}

#[test]
fn a_boolean_mask_keeps_what_is_true() {
    let mask = [true, false, true, false, true, true];
    let options = Options { mask: Some(View::new(&mask, &[2, 3]).unwrap()), ..Options::default() };
    assert_rows(&weights_of(2, &[1.0, 2.0, 3.0], &options), &[&[0.25, 0.0, 0.75], &[0.0, 0.4, 0.6]]);
}

#[test]
fn causal_follows_the_diagonal_that_was_named() {
    let square = Options { causal: Some(Causal::Square), ..Options::default() };
    assert_rows(&weights_of(2, &[1.0, 3.0], &square), &[&[1.0, 0.0], &[0.25, 0.75]]);
    let top_left = Options { causal: Some(Causal::Aligned(Alignment::TopLeft)), ..Options::default() };
    assert_rows(&weights_of(2, &[1.0, 3.0, 4.0], &top_left), &[&[1.0, 0.0, 0.0], &[0.25, 0.75, 0.0]]);
    let bottom_right =
        Options { causal: Some(Causal::Aligned(Alignment::BottomRight)), ..Options::default() };
    assert_rows(&weights_of(2, &[1.0, 3.0, 4.0], &bottom_right), &[&[0.25, 0.75, 0.0], &[0.125, 0.375, 0.5]]);
}

#[test]
fn more_queries_than_keys_leave_the_first_rows_empty_at_the_bottom_right() {
    let options = Options { causal: Some(Causal::Aligned(Alignment::BottomRight)), ..Options::default() };
    let steps = steps_of(3, &[1.0, 1.0], &options);
    assert_rows(&[steps.weights], &[&[0.0, 0.0, 1.0, 0.0, 0.5, 0.5]]);
    assert_eq!(steps.answer.values, [0.0, 1.0, 1.5]);
    assert_eq!(steps.answer.lse[0], f64::NEG_INFINITY);
    assert_eq!(steps.answer.empty_rows, 1);
}

#[test]
fn a_window_reaches_left_and_right_of_the_diagonal() {
    let window = Window { left: Some(1), right: Some(0), alignment: None };
    let options = Options { window: Some(window), ..Options::default() };
    assert_rows(
        &weights_of(3, &[1.0, 1.0, 3.0], &options),
        &[&[1.0, 0.0, 0.0], &[0.5, 0.5, 0.0], &[0.0, 0.25, 0.75]],
    );
    let right_only = Window { left: None, right: Some(1), alignment: None };
    let options = Options { window: Some(right_only), ..Options::default() };
    assert_rows(&weights_of(3, &[1.0; 3], &options), &[&[0.5, 0.5, 0.0], &[1.0 / 3.0; 3], &[1.0 / 3.0; 3]]);
    let aligned = Window { left: Some(0), right: Some(0), alignment: Some(Alignment::BottomRight) };
    let options = Options { window: Some(aligned), ..Options::default() };
    assert_rows(&weights_of(1, &[1.0; 3], &options), &[&[0.0, 0.0, 1.0]]);
    // A reach beyond every array is no limit.
    let vast = Window { left: Some(usize::MAX), right: Some(usize::MAX), alignment: None };
    let options = Options { window: Some(vast), causal: Some(Causal::Square), ..Options::default() };
    assert_rows(&weights_of(2, &[1.0; 2], &options), &[&[1.0, 0.0], &[0.5, 0.5]]);
}

#[test]
fn restrictions_combine_by_and() {
    let mask = [false, true, true];
    let lengths = [2];
    let options = Options {
        mask: Some(View::new(&mask, &[3]).unwrap()),
        causal: Some(Causal::Square),
        lengths: Some(&lengths),
        ..Options::default()
    };
    assert_rows(&weights_of(3, &[1.0; 3], &options), &[&[0.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 1.0, 0.0]]);
}

#[test]
fn a_block_pattern_keeps_whole_blocks() {
    let keep = [true, false, true, true];
    let blocks = Blocks { rows: 2, cols: 2, keep: View::new(&keep, &[2, 2]).unwrap() };
    let options = Options { blocks: Some(blocks), ..Options::default() };
    let third = 1.0 / 3.0;
    assert_rows(
        &weights_of(3, &[1.0; 3], &options),
        &[&[0.5, 0.5, 0.0], &[0.5, 0.5, 0.0], &[third, third, third]],
    );
}

#[test]
fn a_sink_takes_its_share_of_the_denominator() {
    let sinks = [2_f64.ln()];
    let options = Options { sinks: Some(&sinks), ..Options::default() };
    let steps = steps_of(1, &[1.0, 1.0], &options);
    assert_rows(&[steps.weights], &[&[0.25, 0.25]]);
    assert!((steps.answer.lse[0] - 4_f64.ln()).abs() < 1e-15);
    // A sink far above every score must not overflow.
    let huge = [2000.0];
    let options = Options { sinks: Some(&huge), ..Options::default() };
    assert_rows(&weights_of(1, &[1.0, 1.0], &options), &[&[0.0, 0.0]]);
}

#[test]
fn query_heads_share_the_key_and_value_head_of_their_group() {
    // H = 4, G = 2, one key each, so that the output is the value of the group: heads 0, 1 → 10; heads 2, 3 → 20.
    let (q, k, v) = ([1.0; 4], [1.0; 2], [10.0, 20.0]);
    let problem = Problem::new(
        View::new(&q, &[4, 1, 1]).unwrap(),
        View::new(&k, &[2, 1, 1]).unwrap(),
        View::new(&v, &[2, 1, 1]).unwrap(),
        Options::default(),
    )
    .unwrap();
    assert_eq!(reference::attend(&problem).values, [10.0, 10.0, 20.0, 20.0]);
    assert_eq!(problem.output_dims(), [4, 1, 1]);
    assert_eq!(problem.weights_dims(), [4, 1, 1]);
}

#[test]
fn batches_of_one_broadcast() {
    let (q, k, v) = ([1.0, 2.0], [0.0], [7.0]);
    let problem = Problem::new(
        View::new(&q, &[2, 1, 1, 1]).unwrap(),
        View::new(&k, &[1, 1]).unwrap(),
        View::new(&v, &[1, 1, 1, 1]).unwrap(),
        Options::default(),
    )
    .unwrap();
    assert_eq!(problem.output_dims(), [2, 1, 1, 1]);
    assert_eq!(reference::attend(&problem).values, [7.0, 7.0]);
}

#[test]
fn no_keys_give_zeros_and_no_queries_give_nothing() {
    let steps = steps_of(2, &[], &Options::default());
    assert_eq!(steps.answer.values, [0.0, 0.0]);
    assert_eq!(steps.answer.empty_rows, 2);
    let steps = steps_of(0, &[1.0], &Options::default());
    assert_eq!(steps.answer.values, Vec::<f64>::new());
}

#[test]
fn a_nan_behind_a_mask_stays_there() {
    let (q, k, v) = ([1.0, 1.0], [0.0, f64::NAN], [5.0, f64::NAN]);
    let view = |data| View::new(data, &[2, 1]).unwrap();
    let mask = [true, false];
    let hide = Options { mask: Some(View::new(&mask, &[1, 2]).unwrap()), ..Options::default() };
    assert_eq!(
        reference::attend(&Problem::new(view(&q), view(&k), view(&v), hide).unwrap()).values,
        [5.0, 5.0]
    );
    let bias = [0.0, f64::NEG_INFINITY];
    let hide = Options { bias: Some(View::new(&bias, &[1, 2]).unwrap()), ..Options::default() };
    assert_eq!(
        reference::attend(&Problem::new(view(&q), view(&k), view(&v), hide).unwrap()).values,
        [5.0, 5.0]
    );
}

#[test]
fn an_unmasked_nan_or_infinity_takes_only_its_own_row() {
    for bad in [f64::NAN, f64::INFINITY] {
        let (q, k, v) = ([1.0, bad], [1.0, 2.0], [5.0, 5.0]);
        let view = |data| View::new(data, &[2, 1]).unwrap();
        let causal = Options { causal: Some(Causal::Square), ..Options::default() };
        let steps = reference::steps(&Problem::new(view(&q), view(&k), view(&v), causal).unwrap());
        assert_eq!(steps.answer.values[0], 5.0);
        assert!(steps.answer.values[1].is_nan());
        assert_eq!(steps.weights[1], 0.0, "a hidden key weighs nothing");
    }
}

#[test]
fn huge_scores_neither_overflow_nor_vanish() {
    let (q, k, v) = ([1.0], [1e300, 1e300, -1e300], [1.0, 3.0, 9.0]);
    let problem = Problem::new(
        View::new(&q, &[1, 1]).unwrap(),
        View::new(&k, &[3, 1]).unwrap(),
        View::new(&v, &[3, 1]).unwrap(),
        Options::default(),
    );
    assert_eq!(reference::attend(&problem.unwrap()).values, [2.0]);
}

#[test]
fn every_storage_type_is_read_exactly() {
    fn output<T: spanwise_kernels::Element>() -> Vec<f64> {
        let of = |values: &[f64]| values.iter().map(|&x| T::from_f64(x)).collect::<Vec<T>>();
        let (q, k, v) = (of(&[0.0]), of(&[1.0, 2.0]), of(&[1.5, 2.5]));
        let problem = Problem::new(
            View::new(&q, &[1, 1]).unwrap(),
            View::new(&k, &[2, 1]).unwrap(),
            View::new(&v, &[2, 1]).unwrap(),
            Options::default(),
        );
        reference::attend(&problem.unwrap()).values
    }
    assert_eq!(output::<f32>(), [2.0]);
    assert_eq!(output::<f64>(), [2.0]);
    assert_eq!(output::<bf16>(), [2.0]);
    assert_eq!(output::<f16>(), [2.0]);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let data = vec![0.0; 64];
    let of = |dims: &[usize]| View::new(&data[..dims.iter().product()], dims).unwrap();
    let none = Options::default;
    let refuse = |q: &[usize], k: &[usize], v: &[usize], options| {
        let error = Problem::new(of(q), of(k), of(v), options).unwrap_err();
        (error.to_string(), error.hint())
    };
    let message = |q: &[usize], k: &[usize], v: &[usize], options| refuse(q, k, v, options).0;

    let (text, hint) = refuse(&[2, 4], &[4, 3], &[3, 2], none());
    assert_eq!(text, "attention: `k` has width 3, `q` has width 4; they must be equal");
    assert_eq!(hint.as_deref(), Some("`k` looks transposed; its shape is (4, 3)"));
    let (text, hint) = refuse(&[2, 4], &[3, 4], &[2, 3], none());
    assert_eq!(text, "attention: `v` has 2 rows, `k` has 3; they must be equal, one value per key");
    assert_eq!(hint.as_deref(), Some("`v` looks transposed; its shape is (2, 3)"));
    let (text, hint) = refuse(&[4], &[3, 4], &[3, 2], none());
    assert_eq!(text, "attention: `q` has shape (4,); expected 2 to 4 dimensions (…, rows, width)");
    assert_eq!(hint.as_deref(), Some("a single row is a matrix of shape (1, 4)"));
    assert_eq!(
        message(&[3, 1, 2], &[2, 1, 2], &[2, 1, 2], none()),
        "attention: `q` has 3 heads, `k` has 2; the first must be a multiple of the second"
    );
    assert_eq!(
        message(&[1, 1, 1], &[2, 1, 1], &[2, 1, 1], none()),
        "attention: `q` has 1 head, `k` has 2; the first must be a multiple of the second"
    );
    assert_eq!(
        message(&[4, 1, 2], &[2, 1, 2], &[4, 1, 2], none()),
        "attention: `v` has 4 heads, `k` has 2; they must be equal or one of them 1"
    );
    assert_eq!(
        message(&[2, 1, 1, 2], &[3, 1, 1, 2], &[3, 1, 1, 2], none()),
        "attention: `k` has batch size 3, expected 2 or 1"
    );
    assert_eq!(message(&[2, 0], &[3, 0], &[3, 2], none()), "attention: `q` has width 0; expected at least 1");
    let causal = Options { causal: Some(Causal::Square), ..none() };
    assert_eq!(
        message(&[2, 4], &[3, 4], &[3, 4], causal),
        "attention: `causal` with 2 queries and 3 keys is ambiguous; say `top-left` or `bottom-right`"
    );
    let causal = Options { causal: Some(Causal::Square), ..none() };
    assert_eq!(
        message(&[1, 4], &[3, 4], &[3, 4], causal),
        "attention: `causal` with 1 query and 3 keys is ambiguous; say `top-left` or `bottom-right`"
    );
    let window = Window { left: Some(1), right: None, alignment: None };
    let window = Options { window: Some(window), ..none() };
    assert_eq!(
        message(&[2, 4], &[3, 4], &[3, 4], window),
        "attention: `window` with 2 queries and 3 keys is ambiguous; say `top-left` or `bottom-right`"
    );
    let both = Options {
        causal: Some(Causal::Aligned(Alignment::TopLeft)),
        window: Some(Window { left: Some(1), right: None, alignment: Some(Alignment::BottomRight) }),
        ..none()
    };
    assert_eq!(
        message(&[2, 4], &[3, 4], &[3, 4], both),
        "attention: `causal` is top-left and `window` is bottom-right; they must follow the same diagonal"
    );
    let mask = [true; 6];
    let mask = Options { mask: Some(View::new(&mask, &[3, 2]).unwrap()), ..none() };
    let (text, hint) = refuse(&[2, 4], &[3, 4], &[3, 4], mask);
    assert_eq!(
        text,
        "attention: `mask` has shape (3, 2), which does not broadcast to (1, 1, 2, 3) (B, H, N, M)"
    );
    assert_eq!(hint.as_deref(), Some("its last two axes look exchanged: rows are queries, columns are keys"));
    let scale = Options { scale: Some(f64::NAN), ..none() };
    assert_eq!(
        message(&[1, 1], &[1, 1], &[1, 1], scale),
        "attention: `scale` is NaN; expected a finite number"
    );
    let softcap = Options { softcap: Some(0.0), ..none() };
    assert_eq!(
        message(&[1, 1], &[1, 1], &[1, 1], softcap),
        "attention: `softcap` is 0; expected a finite number above 0"
    );
    let sinks = Options { sinks: Some(&[0.0, 0.0]), ..none() };
    assert_eq!(
        message(&[1, 1], &[1, 1], &[1, 1], sinks),
        "attention: `sinks` has 2 entries; expected 1, one per query head"
    );
    let sinks = Options { sinks: Some(&[0.0]), ..none() };
    assert_eq!(
        message(&[2, 1, 1], &[1, 1], &[1, 1], sinks),
        "attention: `sinks` has 1 entry; expected 2, one per query head"
    );
    let lengths = Options { lengths: Some(&[2]), ..none() };
    assert_eq!(
        message(&[1, 1], &[1, 1], &[1, 1], lengths),
        "attention: `lengths` is 2 for batch entry 0; there is only 1 key"
    );
    let keep = [true];
    let blocks = Blocks { rows: 0, cols: 1, keep: View::new(&keep, &[1, 1]).unwrap() };
    let error =
        Problem::new(of(&[1, 1]), of(&[1, 1]), of(&[1, 1]), Options { blocks: Some(blocks), ..none() });
    assert_eq!(error.unwrap_err(), AttentionError::BlockSize { rows: 0, cols: 1 });
}

#[test]
fn sizes_without_a_head_per_group_give_group_zero() {
    let sizes = |h, g| spanwise_attention::Sizes { b: 1, h, g, n: 1, m: 1, d: 1, e: 1 };
    assert_eq!((0..4).map(|h| sizes(4, 2).group(h)).collect::<Vec<_>>(), [0, 0, 1, 1]);
    for (h, g) in [(0, 0), (4, 0), (0, 2), (1, 2)] {
        assert_eq!(sizes(h, g).group(3), 0, "{h} {g}");
    }
}
