//! Small explanations, with one figure of every kind: for tests of what draws and prints them.

use super::{
    CoefficientRow, Coefficients, Computation, Dependencies, Entropy, Evidence, Explanation, Figure,
    FigureKind, Finding, Formula, HeadMap, Heads, Hull, Point, Reach, ReachTerm, Received, ReceivedHead,
    Rule, Scatter, Severity, ShareRow, Shares, Spectrum, Subject, Table, TableCell,
};
use crate::{AskedFor, LessonError};

/// A table explained, by hand: not computed from data.
pub fn table() -> Explanation {
    let scores = |id, title: &str, kind| Figure {
        id,
        title: title.to_owned(),
        caption: "A figure made by hand.".to_owned(),
        kind,
    };
    Explanation {
        subject: Subject::Table {
            source: "sales.csv".to_owned(),
            rows: 40,
            rows_read: 42,
            columns: 3,
            target: "sales".to_owned(),
            classes: Vec::new(),
            weights: None,
            intercept: true,
        },
        verdict: vec![
            "81.2 % of the variation of `sales` lies in the span of 3 columns.".to_owned(),
            "Coefficients have at least 9 certain digits, but `net` adds nothing.".to_owned(),
        ],
        findings: findings(),
        figures: vec![
            scores("spectrum", "Singular values", FigureKind::Spectrum(spectrum())),
            scores("coefficients", "Coefficients", FigureKind::Coefficients(coefficients())),
            scores("dependencies", "Dependencies", FigureKind::Dependencies(dependencies())),
            scores("reach", "Reach", FigureKind::Reach(reach())),
            scores("residuals-fitted", "Residuals", FigureKind::ResidualsFitted(scatter(0.0))),
            scores("quantile-quantile", "Normal quantiles", FigureKind::QuantileQuantile(scatter(1.0))),
            scores("scale-location", "Spread", FigureKind::ScaleLocation(scatter(0.0))),
            scores("residuals-leverage", "Influence", FigureKind::ResidualsLeverage(influence())),
            scores("predicted-actual", "Predictions", FigureKind::PredictedActual(scatter(1.0))),
            scores("leverage", "Leverage", FigureKind::Leverage(scatter(0.0))),
            scores("shares", "Shares", FigureKind::Shares(shares())),
        ],
        tables: vec![coefficient_table()],
        computation: computation("spanwise explain sales.csv --target sales"),
    }
}

/// The layers of a small encoder and decoder, explained from queries and keys made by formula: layers differ in queries, keys
/// and heads, and the second of two sentences is padded.
///
/// Fails only where the library does.
pub fn layers() -> Result<Explanation, LessonError> {
    super::layers::specimen()
}

/// Attention explained, by hand: not computed from data.
pub fn attention() -> Explanation {
    let figure = |id, title: &str, kind| Figure {
        id,
        title: title.to_owned(),
        caption: "A figure made by hand.".to_owned(),
        kind,
    };
    Explanation {
        subject: Subject::Attention {
            source: "qkv.npz".to_owned(),
            batch: 1,
            heads: 2,
            key_value_heads: 1,
            queries: 64,
            keys: 64,
            key_width: 16,
            value_width: 8,
            scale: 0.25,
            options: vec![AskedFor { option: "causal", meaning: "query i sees keys up to i".to_owned() }],
        },
        verdict: vec!["Head 1 looks at one key: 97 % of its weights are above 0.99.".to_owned()],
        findings: vec![
            Finding::new(Severity::Serious, "the softmax of `head 1` is saturated")
                .named("saturated-softmax")
                .advised("scale the scores by 1/√D")
                .certified("largest weights of all 64 rows")
                .evident("rows with a weight above 0.99, share", 0.97)
                .shown("entropy"),
        ],
        figures: vec![
            figure("heads", "Heads", FigureKind::Heads(heads())),
            figure("entropy", "Entropy", FigureKind::Entropy(entropy())),
            figure("received", "Mass received", FigureKind::Received(received())),
            figure("map", "Weights", FigureKind::Map(large_map())),
            figure("hull", "Values and outputs", FigureKind::Hull(hull())),
        ],
        tables: Vec::new(),
        computation: computation("spanwise explain --q q.npy --k k.npy --v v.npy"),
    }
}

fn computation(command: &str) -> Computation {
    Computation {
        version: env!("CARGO_PKG_VERSION"),
        command: command.to_owned(),
        settings: vec![("method".to_owned(), "Householder reflections".to_owned())],
        tolerances: vec![("rank".to_owned(), 1.1e-13)],
        seconds: vec![("fit".to_owned(), 0.012), ("reach".to_owned(), 0.034)],
    }
}

fn findings() -> Vec<Finding> {
    vec![
        Finding::new(Severity::Serious, "`net` adds nothing: net = gross - tax")
            .named("exact-dependency")
            .advised("leave `net` out: the same predictions, and one solution")
            .certified("what the formula leaves is 2.1e-16 of the column")
            .evident("residual, share of the column", 2.1e-16)
            .shown("dependencies"),
        Finding::new(Severity::Caution, "`ads²` reaches 12 % more of `sales` on rows left out")
            .named("structure-beyond-span")
            .advised("add the term")
            .shown("reach"),
        Finding {
            evidence: vec![Evidence { name: "rows left out".to_owned(), value: 2.0 }],
            ..Finding::new(Severity::Note, "2 rows of 42 were left out: a value was missing").named("missing")
        },
    ]
}

fn spectrum() -> Spectrum {
    Spectrum {
        singular_values: vec![1.7, 0.9, 0.02, 3e-17],
        names: vec![String::new(), String::new(), "ads, gross".to_owned(), "gross, tax, net".to_owned()],
        tolerance: 1.1e-13,
        band: (1.1e-15, 1.1e-11),
        rank: 3,
    }
}

fn coefficients() -> Coefficients {
    let row = |name: &str, value: f64, reach: f64, scale: Option<f64>| CoefficientRow {
        name: name.to_owned(),
        value,
        low: Some(value - reach),
        high: Some(value + reach),
        effect: scale.map(|scale| scale * value),
        effect_scale: scale,
        digits: Some(9.3),
        meaningless: None,
    };
    let mut rows = vec![
        row("intercept", 12.5, 4.0, None),
        row("gross", 0.81, 0.12, Some(30.0)),
        row("ads", -2.25, 3.1, Some(5.5)),
    ];
    rows.push(CoefficientRow {
        meaningless: Some("depends on `gross` and `tax`".to_owned()),
        low: None,
        high: None,
        digits: None,
        ..row("net", 0.4, 0.0, Some(28.0))
    });
    Coefficients { rows, confidence: 0.95, unit: "sales".to_owned() }
}

fn dependencies() -> Dependencies {
    Dependencies {
        columns: ["gross", "tax", "ads", "net"].map(str::to_owned).to_vec(),
        formulas: vec![
            Formula {
                left: "net".to_owned(),
                terms: vec![(1.0, "gross".to_owned()), (-1.0, "tax".to_owned())],
                constant: 0.0,
                size: 2.1e-16,
                exact: true,
                text: "net = gross - tax".to_owned(),
            },
            Formula {
                left: "ads".to_owned(),
                terms: vec![(0.02, "gross".to_owned())],
                constant: 3.0,
                size: 0.013,
                exact: false,
                text: "ads ≈ 0.02·gross + 3".to_owned(),
            },
        ],
    }
}

fn reach() -> Reach {
    Reach {
        inside: 0.62,
        squares: Some(0.12),
        interactions: Some(0.08),
        kernel: Some(0.02),
        beyond: 0.16,
        held_out: true,
        rows: 40,
        terms: vec![
            ReachTerm { name: "ads²".to_owned(), gain: 0.12 },
            ReachTerm { name: "ads·gross".to_owned(), gain: 0.08 },
        ],
        of: "variation of sales".to_owned(),
    }
}

fn scatter(slope: f64) -> Scatter {
    let point = |i: u32| {
        let x = f64::from(i) / 4.0;
        let y = slope * x + (f64::from(i) * 2.4).sin();
        Point { x, y, row: u64::from(i) + 1, marked: i % 17 == 5 }
    };
    Scatter {
        x: "fitted sales".to_owned(),
        y: "residual".to_owned(),
        points: (0..40).map(point).collect(),
        of: 40,
        smooth: vec![(0.0, 0.1), (5.0, slope * 5.0 - 0.2), (9.75, slope * 9.75 + 0.1)],
        lines: vec![Rule { name: "no error".to_owned(), offset: 0.0, slope }],
        cook: Vec::new(),
        terms: 3,
    }
}

fn influence() -> Scatter {
    let mut scatter = scatter(0.0);
    for (i, point) in scatter.points.iter_mut().enumerate() {
        point.x = 0.02 + 0.01 * i as f64;
    }
    Scatter { x: "leverage".to_owned(), cook: vec![0.5, 1.0], smooth: Vec::new(), ..scatter }
}

fn shares() -> Shares {
    let row = |column: &str, alone, beyond, own| ShareRow { column: column.to_owned(), alone, beyond, own };
    Shares {
        rows: vec![row("gross", 0.7, 0.31, 0.4), row("ads", 0.2, 0.04, 0.9), row("net", 0.69, 0.0, 0.0)],
        together: 0.812,
    }
}

fn coefficient_table() -> Table {
    let mut table = Table::new("coefficients", "Coefficients", &["term", "estimate", "standard error", "p"]);
    table.rows = vec![
        vec![
            TableCell::from("intercept"),
            TableCell::Number { value: 12.512_345_678, digits: Some(9.3) },
            TableCell::from(2.01),
            TableCell::from(1.2e-7),
        ],
        vec![
            TableCell::from("net"),
            TableCell::Number { value: 0.412, digits: Some(0.0) },
            TableCell::Nothing,
            TableCell::Nothing,
        ],
    ];
    table
}

/// Weights of a head that looks `back` keys back, pooled to 8 × 8.
fn cells(back: usize) -> (Vec<f64>, Vec<f64>) {
    let weight = |i: usize, j: usize| if j > i { 0.0 } else { 1.0 / (1.0 + (i - j).abs_diff(back) as f64) };
    let mean: Vec<f64> = (0..64).map(|c| weight(c / 8, c % 8) / 8.0).collect();
    let max = mean.iter().map(|mean| (4.0 * mean).min(1.0)).collect();
    (mean, max)
}

fn head_map(head: usize) -> HeadMap {
    let (mean, max) = cells(3 * head);
    HeadMap {
        label: format!("head {head}"),
        batch: 0,
        head,
        rows: 8,
        cols: 8,
        queries: 64,
        keys: 64,
        entries: 1,
        mean,
        max,
        entropy: 0.8 - 0.5 * head as f64,
    }
}

fn large_map() -> HeadMap {
    let (mean, max) = cells(1);
    HeadMap { mean, max, ..head_map(0) }
}

fn heads() -> Heads {
    Heads { heads: vec![head_map(0), head_map(1)], of: 2 }
}

fn entropy() -> Entropy {
    Entropy {
        layers: vec!["batch 0".to_owned(), "batch 1".to_owned()],
        heads: 2,
        values: vec![0.8, 0.3, 0.7, 0.02],
    }
}

fn received() -> Received {
    let head = |i: usize| ReceivedHead {
        label: format!("head {i}"),
        keys: 64,
        mean: vec![4.0 - i as f64, 1.0, 0.5, 0.5, 0.4, 0.3, 0.2, 0.1],
        max: vec![20.0, 2.0, 0.9, 0.8, 0.6, 0.5, 0.4, 0.2],
    };
    Received { heads: vec![head(0), head(1)], of: 2 }
}

fn hull() -> Hull {
    Hull {
        label: "head 0".to_owned(),
        values: vec![(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 3.0), (2.0, 1.0)],
        outputs: vec![(1.0, 1.0), (2.0, 1.5), (2.2, 1.4)],
        polygon: vec![(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 3.0)],
        explained: (0.6, 0.25),
        of_values: 64,
        of_outputs: 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_point_to_figures_that_exist_and_ids_are_unique() {
        for explanation in [table(), attention(), layers().unwrap()] {
            for finding in &explanation.findings {
                assert!(finding.figure.is_none_or(|id| explanation.figure(id).is_some()), "{finding:?}");
            }
            let mut ids: Vec<_> = explanation.figures.iter().map(|figure| figure.id).collect();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), explanation.figures.len());
        }
    }
}
