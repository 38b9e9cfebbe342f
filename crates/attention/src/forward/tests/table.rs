//! The table, type by type.

use super::cases::{ASKS, Ask, Case, Data, Lie, SHAPES};
use super::{distance, epsilon, largest, outputs_follow_the_rule};
use crate::forward::forward_on;
use crate::{Alignment, MapSize, Request, Sizes, reference};
use spanwise_kernels::attention::Storage;
use spanwise_kernels::simd::Isa;
use spanwise_kernels::{Element, bf16, f16};

/// Every shape with some options, and every option with some shapes.
pub(crate) fn table() -> Vec<Case> {
    let lies = [Lie::Rows, Lie::HeadsInside, Lie::Columns];
    let mut cases: Vec<Case> = SHAPES.iter().map(|&shape| Case::new(shape, Ask::Plain)).collect();
    for (i, &ask) in ASKS.iter().enumerate() {
        for step in [0, 3, 7, 11] {
            let shape = SHAPES[(i * 5 + step) % SHAPES.len()];
            cases.push(Case { lie: lies[(i + step) % 3], ..Case::new(shape, ask) });
        }
    }
    // Blocks of rows of which some see nothing of a tile that others see.
    for (shape, ask) in [
        ([1, 1, 1, 260, 260, 8, 8], Ask::BiasedCausal(Alignment::TopLeft)),
        ([1, 2, 1, 64, 300, 5, 9], Ask::BiasedCausal(Alignment::BottomRight)),
        ([1, 1, 1, 290, 290, 8, 8], Ask::BiasedWindow(4, 0)),
    ] {
        cases.push(Case::new(shape, ask));
    }
    for amplitude in [1e-4, 30.0] {
        cases.push(Case {
            amplitude,
            ..Case::new([1, 2, 1, 40, 300, 16, 16], Ask::Causal(Alignment::BottomRight))
        });
    }
    cases
}

/// Every option with few keys. Gradients of a single key's scores are exactly 0, which no rule about errors allows for.
fn few_keys() -> Vec<Case> {
    let lies = [Lie::Rows, Lie::HeadsInside, Lie::Columns];
    let shapes =
        [[2, 2, 1, 19, 1, 5, 9], [1, 3, 3, 70, 7, 40, 24], [1, 2, 2, 33, 8, 16, 130], [2, 4, 4, 1, 2, 8, 8]];
    let mut cases = Vec::new();
    for (i, &ask) in ASKS.iter().enumerate() {
        for (step, &shape) in shapes.iter().enumerate() {
            cases.push(Case { lie: lies[(i + step) % 3], ..Case::new(shape, ask) });
        }
    }
    cases
}

/// Rows that fill registers: few queries of four, eight and sixteen vectors, and blocks in which two panels see different keys. Of these too some
/// have gradients that are exactly 0.
fn full_registers() -> Vec<Case> {
    let cases = [
        ([1, 2, 1, 1, 300, 64, 64], Ask::Lengths),
        ([1, 2, 2, 1, 290, 128, 256], Ask::Mask([true; 4])),
        ([1, 1, 1, 2, 100, 256, 128], Ask::Plain),
        ([1, 1, 1, 300, 300, 64, 64], Ask::Causal(Alignment::TopLeft)),
        ([1, 1, 1, 300, 300, 64, 64], Ask::Window(Some(0), Some(0))),
        ([1, 2, 1, 70, 300, 32, 128], Ask::Window(Some(40), Some(0))),
    ];
    cases.into_iter().map(|(shape, ask)| Case::new(shape, ask)).collect()
}

/// The largest blocks, which some ways of multiplying ask for.
fn large_blocks() -> Vec<Case> {
    let cases = [
        ([2, 8, 8, 256, 70, 64, 64], Ask::Plain),
        ([1, 16, 16, 256, 300, 32, 32], Ask::Causal(Alignment::BottomRight)),
        ([1, 16, 8, 256, 45, 64, 96], Ask::Everything),
        ([1, 16, 16, 250, 290, 32, 32], Ask::Mask([false, false, true, true])),
        ([1, 16, 16, 256, 33, 64, 32], Ask::Dropout(0.2)),
    ];
    let case = |(lie, (shape, ask))| Case { lie, ..Case::new(shape, ask) };
    let lies = [Lie::Rows, Lie::HeadsInside, Lie::Columns, Lie::Rows, Lie::Rows];
    lies.into_iter().zip(cases).map(case).collect()
}

fn run<T: Storage>() {
    let narrow = table().into_iter().chain(few_keys());
    for case in narrow.chain(full_registers()).chain(large_blocks()) {
        outputs_follow_the_rule::<T>(&case);
    }
}

#[test]
fn outputs_follow_the_rule_in_f32() {
    run::<f32>();
}

#[test]
fn outputs_follow_the_rule_in_f64() {
    run::<f64>();
}

#[test]
fn outputs_follow_the_rule_in_bf16() {
    run::<bf16>();
}

#[test]
fn outputs_follow_the_rule_in_f16() {
    run::<f16>();
}

const ALL: Request = Request {
    lse: true,
    entropy: true,
    largest: true,
    top_k: 3,
    received: true,
    row_sum_error: true,
    map: Some(MapSize { rows: 5, cols: 7 }),
};

/// Every statistic against what the reference's weights say.
fn statistics_agree<T: Storage>(case: &Case) {
    let data = Data::<T>::new(case);
    let problem = data.problem();
    let Sizes { b, h, n, m, .. } = problem.sizes();
    let steps = reference::steps(&problem);
    let of_rows = |f: &dyn Fn(&[f64]) -> f64| steps.weights.chunks(m.max(1)).map(f).collect::<Vec<f64>>();
    let scores = largest(&steps.scores);
    let tolerance = 64.0 * epsilon(<T::Real as Element>::DTYPE) * scores.max(1.0);
    for isa in Isa::available() {
        let plain = forward_on(isa, &problem, &Request::default());
        let forward = forward_on(isa, &problem, &ALL);
        let found = forward.statistics;
        let close = |what: &str, found: &[f64], expected: &[f64], tolerance: f64| {
            let error = distance(found, expected);
            assert!(error <= tolerance, "{isa} {} {case:?}: {what} is off by {error:e}", T::DTYPE);
        };
        let exact: Vec<f64> = steps.answer.values.clone();
        let values: Vec<f64> = forward.values.iter().map(|x| x.to_f64()).collect();
        let without: Vec<f64> = plain.values.iter().map(|x| x.to_f64()).collect();
        let rounding = tolerance + 2.0 * epsilon(T::DTYPE);
        close("output", &values, &exact, rounding);
        close("output without statistics", &without, &exact, rounding);
        close("log-sum-exp", &found.lse.unwrap(), &steps.answer.lse, tolerance);
        let entropy = of_rows(&|row| -row.iter().filter(|&&a| a > 0.0).map(|a| a * a.ln()).sum::<f64>());
        close("entropy", &found.entropy.unwrap(), &entropy, tolerance * 4.0);
        let error = found.row_sum_error.unwrap();
        assert!(largest(&error) <= tolerance, "{isa} {case:?}: rows sum to 1 ± {:e}", largest(&error));

        let peaks = found.largest.unwrap();
        let weights: Vec<f64> = peaks.iter().map(|peak| peak.weight).collect();
        close("largest weight", &weights, &of_rows(&|row| row.iter().fold(0.0, |m, &a| a.max(m))), tolerance);
        // Found in another way where it is the only one.
        let alone = forward_on(isa, &problem, &Request { top_k: 0, ..ALL }).statistics.largest.unwrap();
        assert_eq!(alone, peaks, "{isa} {} {case:?}", T::DTYPE);
        let top = found.top.unwrap();
        assert_eq!(top.peaks.len(), b * h * n * top.k);
        // And in another where there are many.
        let many = forward_on(isa, &problem, &Request { top_k: 12, ..ALL }).statistics.top.unwrap();
        for (many, few) in many.peaks.chunks(many.k.max(1)).zip(top.peaks.chunks(top.k.max(1))) {
            assert_eq!(many[..few.len()], *few, "{isa} {} {case:?}", T::DTYPE);
        }
        for (r, row) in steps.weights.chunks(m.max(1)).enumerate() {
            let mut sorted = row.to_vec();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let list = &top.peaks[r * top.k..][..top.k];
            assert_eq!(list[0].key, peaks[r].key);
            for (peak, expected) in list.iter().zip(&sorted) {
                close("top weight", &[peak.weight], &[*expected], tolerance);
                // The key has that weight, if not that place: neighbours may be as good as equal.
                close("weight of the key", &[peak.key.map_or(0.0, |key| row[key])], &[*expected], tolerance);
            }
        }

        let mut received = vec![0.0; b * h * m];
        let size = (5.min(n), 7.min(m));
        let (mut mean, mut max) = (vec![0.0; b * h * size.0 * size.1], vec![0.0f64; b * h * size.0 * size.1]);
        for (at, &a) in steps.weights.iter().enumerate() {
            let (head, i, j) = (at / (n * m), at / m % n, at % m);
            received[head * m + j] += a;
            let r = (0..size.0).rfind(|r| r * n / size.0 <= i).unwrap();
            let c = (0..size.1).rfind(|c| c * m / size.1 <= j).unwrap();
            let cell = (head * size.0 + r) * size.1 + c;
            let queries = (r + 1) * n / size.0 - r * n / size.0;
            let keys = (c + 1) * m / size.1 - c * m / size.1;
            mean[cell] += a / (queries * keys) as f64;
            max[cell] = max[cell].max(a);
        }
        close("received", &found.received.unwrap(), &received, tolerance * largest(&received).max(1.0));
        let map = found.map.unwrap();
        assert_eq!((map.rows, map.cols), size);
        close("map of means", &map.mean, &mean, tolerance);
        close("map of maxima", &map.max, &max, tolerance);
    }
}

#[test]
fn statistics_agree_where_no_row_sees_some_tiles_and_cells_in_between() {
    let case = Case::new([1, 1, 1, 40, 9 * 256, 8, 8], Ask::Blocks(40, 256));
    let data = Data::<f64>::new(&case);
    let problem = data.problem();
    let keep =
        problem.options().blocks.map(|blocks| (0..9).map(|c| blocks.keep.get(&[0, c])).collect::<Vec<_>>());
    let [yes, no] = [Some(true), Some(false)];
    assert_eq!(
        keep,
        Some(vec![yes, yes, yes, no, yes, no, no, no, yes]),
        "the fifth and sixth cell of seven are hidden"
    );
    statistics_agree::<f32>(&case);
    statistics_agree::<f64>(&case);
}

#[test]
fn statistics_agree_with_the_references_weights() {
    for case in table().iter().step_by(2) {
        statistics_agree::<f32>(case);
    }
    for case in table().iter().skip(1).step_by(2) {
        statistics_agree::<f64>(case);
    }
    for case in table().iter().step_by(9) {
        statistics_agree::<bf16>(case);
        statistics_agree::<f16>(case);
    }
}
