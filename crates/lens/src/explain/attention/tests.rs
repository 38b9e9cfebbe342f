//! Samples of attention have the findings they were made to have.

use super::*;
use crate::explain::sample::{SAMPLES, Sample, SampleData};
use crate::explain::{FigureKind, Severity, TableCell};
use spanwise_attention::{Alignment, Causal, Window};

fn alarms(found: &Explanation) -> Vec<(&'static str, Severity)> {
    found.alarms().map(|finding| (finding.name, finding.severity)).collect()
}

fn explained(q: &[f64], k: &[f64], v: &[f64], shape: &[usize; 4], options: &Options<'_, f64>) -> Explanation {
    tried([q, k, v], shape, options).unwrap()
}

fn tried<T: Storage>(
    [q, k, v]: [&[T]; 3],
    shape: &[usize; 4],
    options: &Options<'_, T>,
) -> Result<Explanation, LessonError> {
    let view = |data| View::new(data, shape).unwrap();
    let input = AttentionInput {
        source: "sample",
        q: view(q),
        k: view(k),
        v: view(v),
        options: *options,
        command: "",
    };
    explain_attention(&input, &mut |_| ())
}

/// The number in a column of a head's row.
fn number(found: &Explanation, head: usize, column: &str) -> f64 {
    let table = found.table("heads").unwrap();
    let at = table.columns.iter().position(|c| c.name == column).unwrap();
    let TableCell::Number { value, .. } = table.rows[head][at] else { panic!("{:?}", table.rows[head]) };
    value
}

fn normals(count: usize, seed: u64) -> Vec<f64> {
    let mut random = crate::explain::random::Random::new(seed);
    (0..count).map(|_| random.normal()).collect()
}

#[test]
fn each_sample_has_the_findings_it_was_made_to_have_and_no_other() {
    for sample in SAMPLES.into_iter().filter(Sample::is_attention) {
        let SampleData::Attention { shape, q, k, v } = sample.data() else { continue };
        let found = explained(&q, &k, &v, &shape, &Options::default());
        assert_eq!(alarms(&found), sample.findings, "{}: {:#?}", sample.name, found.findings);
        for finding in &found.findings {
            assert!(finding.figure.is_none_or(|id| found.figure(id).is_some()), "{finding:?}");
        }
        let names: Vec<_> = found.findings.iter().map(|finding| finding.name).collect();
        assert!(names.contains(&"outputs-in-hull") && names.contains(&"equivariance"), "{names:?}");
    }
}

#[test]
fn fifty_plain_normal_attentions_raise_no_alarm_with_and_without_a_causal_mask() {
    for seed in 0..50 {
        let mut random = crate::explain::random::Random::new(500 + seed);
        let shape = [1 + random.below(2), 1 + random.below(4), 16 + random.below(64), 4 + random.below(29)];
        let mut normals = || (0..shape.iter().product()).map(|_| random.normal()).collect::<Vec<f64>>();
        let (q, k, v) = (normals(), normals(), normals());
        for causal in [None, Some(Causal::Square)] {
            let found = explained(&q, &k, &v, &shape, &Options { causal, ..Options::default() });
            assert_eq!(alarms(&found), [], "seed {seed}, {shape:?}: {:#?}", found.findings);
            let Some(FigureKind::Entropy(entropy)) = found.figure("entropy").map(|figure| &figure.kind)
            else {
                panic!("no entropy")
            };
            assert!(entropy.values.iter().all(|&e| e > 0.5 && e <= 1.0), "{entropy:?}");
        }
    }
}

#[test]
fn one_query_one_key_and_no_rows_are_explained_too() {
    for shape in [[1, 1, 1, 1], [2, 1, 1, 3], [1, 1, 0, 2]] {
        let data = vec![0.5; shape.iter().product()];
        let found = explained(&data, &data, &data, &shape, &Options::default());
        assert!(!found.verdict.is_empty());
    }
}

#[test]
fn equal_heads_and_a_sink_are_found() {
    let mut random = crate::explain::random::Random::new(77);
    let one: Vec<f64> = (0..64 * 8).map(|_| random.normal()).collect();
    let mut k: Vec<f64> = (0..64 * 8).map(|_| 0.3 * random.normal()).collect();
    // Every query has a first coordinate of 2, and so has key 5, times many.
    let q: Vec<f64> = one.iter().enumerate().map(|(i, x)| if i % 8 == 0 { 2.0 } else { *x }).collect();
    k[5 * 8] = 9.0;
    let twice = |x: &[f64]| [x, x].concat();
    let found = explained(&twice(&q), &twice(&k), &twice(&one), &[1, 2, 64, 8], &Options::default());
    let names = alarms(&found);
    assert!(names.contains(&("attention-sink", Severity::Caution)), "{names:?}");
    assert!(names.contains(&("similar-heads", Severity::Caution)), "{names:?}");
}

/// Two heads of six queries and keys, width 4.
const SHAPE: [usize; 4] = [1, 2, 6, 4];

#[test]
fn a_number_that_is_not_finite_and_reaches_outputs_is_refused_with_its_place() {
    let good = normals(48, 3);
    let with = |at: usize, value: f64| {
        let mut bad = good.clone();
        bad[at] = value;
        bad
    };
    // Head 1, row 2, column 3.
    let at = 24 + 2 * 4 + 3;
    let (nan, infinite) = (with(at, f64::NAN), with(at, f64::INFINITY));
    let bias = |value: f64| {
        let mut bias = vec![0.0; 36];
        bias[4 * 6 + 5] = value;
        bias
    };
    let causal = Options { causal: Some(Causal::Square), ..Options::default() };
    let said = |arrays, options: &Options<'_, f64>| tried(arrays, &SHAPE, options).unwrap_err().to_string();
    let place = "batch 0, head 1, row 2, column 3";
    let expected = "expected finite numbers where a query sees them";
    let none = Options::default();
    for (arrays, options, argument, value, rows) in [
        ([&nan[..], &good, &good], &none, "q", "NaN", "1 of 12 rows of outputs is"),
        ([&good, &nan, &good], &none, "k", "NaN", "6 of 12 rows of outputs are"),
        ([&good, &nan, &good], &causal, "k", "NaN", "4 of 12 rows of outputs are"),
        ([&good, &good, &infinite], &none, "v", "inf", "6 of 12 rows of outputs are"),
    ] {
        let text =
            format!("attention: `{argument}` holds {value} at {place}, and {rows} not finite; {expected}");
        assert_eq!(said(arrays, options), text);
    }
    let biased = bias(f64::NAN);
    let options = Options { bias: Some(View::new(&biased, &[6, 6]).unwrap()), ..Options::default() };
    let text = said([&good, &good, &good], &options);
    assert!(
        text.starts_with("attention: `bias` holds NaN at batch 0, head 0, row 4, column 5, and 2 of"),
        "{text}"
    );
    let sinks = [0.0, f64::NAN];
    let text = said([&good, &good, &good], &Options { sinks: Some(&sinks), ..Options::default() });
    assert!(text.starts_with("attention: `sinks` holds NaN at head 1, and 6 of 12 rows"), "{text}");
}

#[test]
fn scores_that_overflow_are_told_from_numbers_that_are_not_finite() {
    let mut q: Vec<f32> = vec![0.5; 48];
    q[24 + 4] = 3e38;
    let k = vec![2e3_f32; 48];
    let refused = tried([&q, &k, &k], &SHAPE, &Options::default()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "attention: scores of batch 0, head 1, row 1 overflow, and 1 of 12 rows of outputs is not finite; expected numbers \
         within range"
    );
    assert_eq!(refused.hint().unwrap(), "scale q or k down, or give the arrays as float64");
    let (q, v) = (vec![1e200; 48], vec![1e200; 48]);
    let refused = tried([&q, &v, &v], &SHAPE, &Options::default()).unwrap_err();
    assert_eq!(refused.hint().unwrap(), "scale q or k down");
    let v = vec![f64::MAX; 48];
    let refused = tried([&normals(48, 3), &normals(48, 4), &v], &SHAPE, &Options::default()).unwrap_err();
    assert!(
        refused.to_string().starts_with("attention: sums of values of batch 0, head 0, row"),
        "{refused}"
    );
    assert_eq!(refused.hint().unwrap(), "scale v down");
}

#[test]
fn what_is_hidden_may_be_anything() {
    let (mut q, mut k, mut v) = (normals(48, 3), normals(48, 4), normals(48, 5));
    // The last two keys of head 1 are hidden, and so are all keys from the last query.
    for at in 24 + 4 * 4..48 {
        (k[at], v[at]) = (f64::NAN, f64::INFINITY);
    }
    let keep: Vec<bool> = (0..2 * 6 * 6).map(|at| at % 6 < 4 && at / 6 % 6 < 5).collect();
    let options = Options { mask: Some(View::new(&keep, &[2, 6, 6]).unwrap()), ..Options::default() };
    q[44..48].fill(f64::NAN);
    let found = explained(&q, &k, &v, &SHAPE, &options);
    let said = format!("{found:?}");
    assert!(!said.contains("NaN") && !said.contains("inf,"), "{said}");
    assert_eq!(alarms(&found), [("empty-rows", Severity::Caution)]);
    assert_eq!(number(&found, 1, "value directions"), 3.0);
    let settings = &found.computation.settings;
    assert!(settings.iter().any(|(_, text)| text.contains("2 hidden keys")), "{settings:?}");
}

#[test]
fn a_row_that_sees_one_key_is_neither_saturated_nor_even() {
    let one = explained(&[1.0, 0.0], &[1.0, 0.0], &[1.0, 2.0], &[1, 1, 1, 2], &Options::default());
    assert_eq!(alarms(&one), []);
    assert_eq!(number(&one, 0, "saturated rows"), 0.0);
    assert!(one.verdict[0].starts_with("No query sees more than one key"), "{:?}", one.verdict);
    let unit = [1.0, 0.0, 0.0, 1.0];
    let causal = Options { causal: Some(Causal::Square), ..Options::default() };
    let two = explained(&unit, &unit, &unit, &[1, 1, 2, 2], &causal);
    assert_eq!(number(&two, 0, "saturated rows"), 0.0);
    // The second row has scores 0 and 1/√2, the first has no part in it.
    assert!((number(&two, 0, "score variance") - 0.125).abs() < 1e-12);
    assert!(two.verdict[0].starts_with("1 head spreads over its keys to"), "{:?}", two.verdict);
    assert!(two.verdict[1].starts_with("Of 2 rows of weights"), "{:?}", two.verdict);
    // Each query sees its own key alone; then one entry of the batch does, and the other sees all six.
    let x = normals(2 * 6 * 4, 9);
    let window = Window { left: Some(0), right: Some(0), alignment: Some(Alignment::TopLeft) };
    let own = Options { window: Some(window), ..Options::default() };
    let alone = explained(&x, &x, &x, &[2, 1, 6, 4], &own);
    assert!(alone.verdict[0].starts_with("No query sees more than one key"), "{:?}", alone.verdict);
    assert!(alone.findings.iter().all(|finding| finding.name != "uniform-heads"), "{:?}", alone.findings);
    let ragged = Options { lengths: Some(&[1, 6]), ..Options::default() };
    let ragged = explained(&x, &x, &x, &[2, 1, 6, 4], &ragged);
    assert!(ragged.verdict[0].starts_with("1 head spreads over its keys to"), "{:?}", ragged.verdict);
    assert!(ragged.findings.iter().all(|finding| finding.name != "uniform-heads"), "{:?}", ragged.findings);
}

#[test]
fn the_variance_is_that_of_scores_that_are_seen() {
    // The first key is of another size, and hidden.
    let (q, mut k) = (normals(64 * 4, 6), normals(64 * 4, 7));
    k[..4].fill(1e6);
    let keep: Vec<bool> = (0..64).map(|j| j > 0).collect();
    let options = Options { mask: Some(View::new(&keep, &[64]).unwrap()), ..Options::default() };
    let found = explained(&q, &k, &q, &[1, 1, 64, 4], &options);
    assert!(number(&found, 0, "score variance") < 3.0, "{found:?}");
}

#[test]
fn a_bias_that_saturates_is_not_blamed_on_queries_and_keys() {
    let x = normals(16 * 4, 8);
    let bias: Vec<f64> = (0..16 * 16).map(|at| if at / 16 == at % 16 { 30.0 } else { 0.0 }).collect();
    let options = Options { bias: Some(View::new(&bias, &[16, 16]).unwrap()), ..Options::default() };
    let q: Vec<f64> = x.iter().map(|x| 0.1 * x).collect();
    let found = explained(&q, &x, &x, &[1, 1, 16, 4], &options);
    let saturated = found.findings.iter().find(|finding| finding.name == "saturated-softmax").unwrap();
    assert!(saturated.advice.as_ref().unwrap().starts_with("look at the bias"), "{saturated:?}");
}
