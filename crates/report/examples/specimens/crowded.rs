//! More and longer things than anyone wishes to draw.

use spanwise_lens::explain::{
    CoefficientRow, Explanation, Figure, FigureKind, HeadMap, Point, ReceivedHead, Scatter, ShareRow,
};

/// The same with many columns, rows, heads and keys.
pub(crate) fn crowded(mut explanation: Explanation) -> Explanation {
    explanation.figures.iter_mut().for_each(crowd);
    explanation
}

/// Numbers between −1 and 1 without a pattern to the eye.
fn noise(i: usize) -> f64 {
    (i as f64 * 12.9898).sin() * 43_758.545 % 1.0
}

fn name(i: usize) -> String {
    ["age", "income_per_household_member_2019", "z", "is_registered_owner=yes", "価格"][i % 5].to_owned()
        + &i.to_string()
}

fn crowd(figure: &mut Figure) {
    match &mut figure.kind {
        FigureKind::Spectrum(spectrum) => {
            spectrum.singular_values = (0..60).map(|i| 10f64.powf(-0.2 * f64::from(i))).collect();
            spectrum.names = (0..60).map(|i| format!("{}, {}", name(i), name(i + 1))).collect();
            (spectrum.tolerance, spectrum.band, spectrum.rank) = (1e-10, (1e-12, 1e-8), 50);
        }
        FigureKind::Coefficients(coefficients) => {
            let row = |i: usize| {
                let (value, reach) = (noise(i) * 10f64.powi(i as i32 % 13 - 6), noise(i + 1).abs());
                CoefficientRow {
                    name: name(i),
                    value,
                    low: Some(value - reach),
                    high: Some(value + reach),
                    effect: Some(value),
                    effect_scale: Some(1.0),
                    digits: Some(15.0 - i as f64 % 16.0),
                    meaningless: (i % 9 == 4).then(|| "depends on others".to_owned()),
                }
            };
            coefficients.rows = (0..70).map(row).collect();
        }
        FigureKind::Dependencies(dependencies) => {
            let example = dependencies.formulas[0].clone();
            dependencies.columns = (0..30).map(name).collect();
            let formula = |i: usize| {
                let mut formula = example.clone();
                formula.left = name(i);
                formula.terms = (0..7).map(|k| (noise(i + k) * 1e4, name((i + 3 * k + 2) % 30))).collect();
                formula.constant = 1.25e-7;
                formula
            };
            dependencies.formulas = (0..11).map(formula).collect();
        }
        FigureKind::Reach(reach) => {
            (reach.inside, reach.squares, reach.interactions) = (0.012, Some(0.94), Some(0.003));
            (reach.kernel, reach.beyond) = (Some(0.001), 0.044);
        }
        FigureKind::ResidualsFitted(scatter)
        | FigureKind::QuantileQuantile(scatter)
        | FigureKind::ScaleLocation(scatter)
        | FigureKind::PredictedActual(scatter) => cloud(scatter, 1e6),
        FigureKind::ResidualsLeverage(scatter) | FigureKind::Leverage(scatter) => cloud(scatter, 0.3),
        FigureKind::Shares(shares) => {
            let row = |i: usize| ShareRow { column: name(i), alone: noise(i).abs(), beyond: 0.01, own: 0.5 };
            shares.rows = (0..50).map(row).collect();
        }
        FigureKind::Heads(heads) => {
            heads.of = 64;
            let head = |h: usize| {
                let (mean, max) = weights(24, h);
                let label = format!("batch 0, head {h}");
                let (queries, keys) = (100_000, if h < 12 { 100_000 } else { 40_000 });
                let entropy = noise(h).abs();
                HeadMap {
                    label,
                    batch: 0,
                    head: h,
                    rows: 24,
                    cols: 24,
                    queries,
                    keys,
                    entries: 1,
                    mean,
                    max,
                    entropy,
                }
            };
            heads.heads = (0..24).map(head).collect();
        }
        FigureKind::Entropy(entropy) => {
            entropy.layers = (0..32).map(|layer| format!("layer {layer}")).collect();
            entropy.heads = 32;
            entropy.values = (0..32 * 32).map(|i| noise(i).abs()).collect();
        }
        FigureKind::Received(received) => {
            let head = |h: usize| {
                let mean: Vec<f64> = (0..256).map(|k| 30.0 * noise(h + k).powi(4) + 0.001).collect();
                let max = mean.iter().map(|mean| 3.0 * mean).collect();
                let keys = if h < 9 { 100_000 } else { 40_000 };
                ReceivedHead { label: format!("batch 0, head {h}"), keys, mean, max }
            };
            received.heads = (0..12).map(head).collect();
            received.of = 64;
        }
        FigureKind::Map(map) => {
            (map.rows, map.cols, map.queries, map.keys) = (256, 256, 100_000, 100_000);
            (map.mean, map.max) = weights(256, 1);
        }
        FigureKind::Hull(hull) => {
            hull.values = (0..600).map(|i| (4.0 * noise(i).abs(), 3.0 * noise(i + 7).abs())).collect();
            hull.outputs = (0..300).map(|i| (2.0 + 0.3 * noise(i), 1.5 + 0.4 * noise(i + 3))).collect();
        }
        _ => {}
    }
}

fn cloud(scatter: &mut Scatter, scale: f64) {
    let point = |i: usize| {
        let x = scale * (1.0 + noise(i)) / 2.0;
        Point { x, y: noise(i + 5) * 3.0, row: 1_000_000 - i as u64, marked: i.is_multiple_of(200) }
    };
    scatter.points = (0..2_000).map(point).collect();
    (scatter.of, scatter.terms) = (1_000_000, 21);
    scatter.smooth.clear();
}

/// Causal weights of a head that looks a little back and to the first keys.
fn weights(side: usize, head: usize) -> (Vec<f64>, Vec<f64>) {
    let weight = |i: usize, j: usize| {
        if j > i {
            return 0.0;
        }
        let back = (i - j).abs_diff(head) as f64;
        (-back / 6.0).exp() / 30.0 + if j < 2 { 0.02 } else { 1e-6 * (1.0 + noise(i * side + j)) }
    };
    let mean: Vec<f64> = (0..side * side).map(|cell| weight(cell / side, cell % side)).collect();
    let max = mean.iter().map(|mean| (9.0 * mean).min(1.0)).collect();
    (mean, max)
}
