//! Every kind of figure, in every frame and theme, and with numbers nobody wishes for.

use super::*;
use spanwise_lens::explain::{
    CoefficientRow, Coefficients, Dependencies, Entropy, Formula, HeadMap, Heads, Hull, Point, Reach,
    Received, ReceivedHead, Rule, Scatter, ShareRow, Shares, Spectrum, specimen,
};

fn all() -> Vec<Figure> {
    [specimen::table(), specimen::attention()]
        .into_iter()
        .flat_map(|explanation| explanation.figures)
        .collect()
}

#[test]
fn every_figure_is_drawn_with_marks_inside_its_frame() {
    for figure in all() {
        for frame in [Frame::WIDE, Frame::NARROW] {
            let drawing = draw(&figure, frame);
            assert!(drawing.height > 60.0, "{}: {}", figure.id, drawing.height);
            let inside = |mark: &Mark| {
                (0.0..=drawing.width).contains(&mark.at.0) && (0.0..=drawing.height).contains(&mark.at.1)
            };
            assert!(drawing.marks.iter().all(inside), "{}: {:?}", figure.id, drawing.marks);
            assert!(drawing.marks.iter().all(|mark| mark.values.len() == drawing.fields.len()));
            let silent = matches!(figure.kind, FigureKind::Map(_));
            assert!(silent || !drawing.marks.is_empty(), "{}", figure.id);
        }
    }
}

#[test]
fn files_are_complete_and_know_no_variables() {
    for figure in all() {
        for theme in [Theme::Light, Theme::Dark] {
            let svg = figure_svg(&figure, theme);
            assert!(!svg.contains("var(") && !svg.contains("NaN") && !svg.contains("inf"), "{}", figure.id);
            assert!(!svg.contains("http") || svg.matches("http").count() == 1, "only the name of SVG itself");
        }
    }
}

#[test]
fn what_an_axis_of_rows_measures_is_never_cut() {
    let row =
        CoefficientRow { name: "a_column_of_a_long_name".into(), value: 1.0, ..CoefficientRow::default() };
    let unit = "log-odds of outcome = survived".to_owned();
    let kind = FigureKind::Coefficients(Coefficients { rows: vec![row], unit, ..Coefficients::default() });
    let figure = Figure { id: "coefficients", title: String::new(), caption: String::new(), kind };
    for frame in [Frame::WIDE, Frame::NARROW] {
        let body = draw(&figure, frame).body;
        for word in ["log-odds", "outcome", "survived", "standard", "deviation"] {
            assert!(body.contains(word), "{word}: {body}");
        }
    }
}

#[test]
fn maps_say_where_empty_cells_are_lost_rows() {
    let map = |mean: Vec<f64>| HeadMap {
        rows: 2,
        cols: 2,
        queries: 2,
        keys: 2,
        max: mean.clone(),
        mean,
        ..HeadMap::default()
    };
    let figure = |kind| Figure { id: "map", title: String::new(), caption: String::new(), kind };
    for (mean, is_lost) in [(vec![0.5, 0.0, 0.5, 0.5], false), (vec![0.5, 0.0, f64::NAN, f64::NAN], true)] {
        for kind in [
            FigureKind::Map(map(mean.clone())),
            FigureKind::Heads(Heads { heads: vec![map(mean.clone())], of: 1 }),
        ] {
            let body = draw(&figure(kind), Frame::WIDE).body;
            assert_eq!(
                (body.contains("Empty cells"), body.contains("lost to a NaN")),
                (true, is_lost),
                "{body}"
            );
        }
    }
}

/// Figures of nothing, of one thing, and of numbers that are not finite.
fn unwished() -> Vec<FigureKind> {
    let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e308, f64::MIN_POSITIVE];
    let points =
        bad.iter().flat_map(|&x| bad.iter().map(move |&y| Point { x, y, row: 1, marked: true })).collect();
    let scatter = Scatter {
        points,
        of: 100,
        smooth: vec![(f64::NAN, 0.0), (0.0, f64::INFINITY)],
        lines: bad.iter().map(|&slope| Rule { name: "line".to_owned(), offset: slope, slope }).collect(),
        cook: bad.to_vec(),
        terms: 0,
        ..Scatter::default()
    };
    let row = |value: f64| CoefficientRow {
        name: "x".repeat(200),
        value,
        low: Some(value),
        high: Some(-value),
        effect: Some(value),
        effect_scale: Some(value),
        digits: Some(value),
        meaningless: None,
    };
    let formula =
        Formula { left: "a".to_owned(), terms: vec![(f64::NAN, "b".to_owned())], ..Formula::default() };
    let head = HeadMap { mean: bad.to_vec(), max: bad.to_vec(), entropy: f64::NAN, ..HeadMap::default() };
    let share = |v: f64| ShareRow { column: "<&>".to_owned(), alone: v, beyond: v, own: v };
    vec![
        FigureKind::Spectrum(Spectrum { singular_values: bad.to_vec(), ..Spectrum::default() }),
        FigureKind::Spectrum(Spectrum { singular_values: vec![1.0, 0.0], ..Spectrum::default() }),
        FigureKind::Spectrum(Spectrum::default()),
        FigureKind::Coefficients(Coefficients { rows: bad.map(row).to_vec(), ..Coefficients::default() }),
        FigureKind::Coefficients(Coefficients::default()),
        FigureKind::Dependencies(Dependencies { columns: Vec::new(), formulas: vec![formula] }),
        FigureKind::Dependencies(Dependencies::default()),
        FigureKind::Reach(Reach { inside: f64::NAN, kernel: Some(f64::INFINITY), ..Reach::default() }),
        FigureKind::ResidualsLeverage(scatter.clone()),
        FigureKind::PredictedActual(scatter.clone()),
        FigureKind::Leverage(scatter),
        FigureKind::ResidualsFitted(Scatter::default()),
        FigureKind::Shares(Shares { rows: bad.map(share).to_vec(), together: f64::NAN }),
        FigureKind::Shares(Shares::default()),
        FigureKind::Heads(Heads { heads: vec![HeadMap { rows: 1, cols: 7, ..head.clone() }], of: 1 }),
        FigureKind::Heads(Heads { heads: vec![head], of: 1 }),
        FigureKind::Heads(Heads::default()),
        FigureKind::Entropy(Entropy { layers: vec!["0".into()], heads: 7, values: bad.to_vec() }),
        FigureKind::Entropy(Entropy { layers: vec!["0".into()], heads: 3, values: bad.to_vec() }),
        FigureKind::Received(Received {
            heads: vec![ReceivedHead { mean: bad.to_vec(), ..ReceivedHead::default() }],
            ..Received::default()
        }),
        FigureKind::Received(Received::default()),
        FigureKind::Map(HeadMap {
            rows: 1,
            cols: 7,
            mean: bad.to_vec(),
            max: bad.to_vec(),
            ..HeadMap::default()
        }),
        FigureKind::Map(HeadMap { rows: 3, cols: 2, mean: bad.to_vec(), ..HeadMap::default() }),
        FigureKind::Hull(Hull { values: vec![(f64::NAN, 1.0), (1.0, 1.0)], ..Hull::default() }),
        FigureKind::Hull(Hull::default()),
    ]
}

#[test]
fn numbers_nobody_wishes_for_are_drawn_or_left_out_but_never_written_as_lengths() {
    for kind in unwished() {
        let figure = Figure { id: "unwished", title: "<&>".to_owned(), caption: String::new(), kind };
        for frame in [Frame::WIDE, Frame::NARROW] {
            let drawing = draw(&figure, frame);
            assert!(drawing.height.is_finite() && drawing.height > 0.0, "{figure:?}");
            assert!(!drawing.body.contains("\"NaN") && !drawing.body.contains("\"inf"), "{figure:?}");
        }
        assert!(figure_svg(&figure, Theme::Light).contains("&lt;&amp;&gt;"));
    }
}

#[cfg(feature = "png")]
#[test]
fn every_figure_is_painted_with_letters_and_cells() {
    for figure in all() {
        let bytes = figure_png(&figure, Theme::Light, 0.5).unwrap();
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!(info.width, 340, "{}", figure.id);
        let paper = pixels[..4].to_vec();
        let inked = pixels.chunks_exact(4).filter(|pixel| *pixel != paper).count();
        assert!(inked > 1_000, "{}: {inked} pixels differ from paper", figure.id);
    }
    for kind in unwished().into_iter().step_by(4) {
        let figure = Figure { id: "unwished", title: String::new(), caption: String::new(), kind };
        figure_png(&figure, Theme::Dark, 0.5).unwrap();
    }
    let size = figure_png(&all()[0], Theme::Light, 0.0).unwrap_err().to_string();
    assert_eq!(size, "figure `spectrum`: a picture of 0 × 0 pixels cannot be painted");
}
