use super::*;
use crate::explain::{FigureKind, SATURATED};
use spanwise_attention::{Blocks, Causal, Options, Problem, reference};
use spanwise_kernels::{View, bf16};

const B: usize = 2;
const H: usize = 2;
const D: usize = 3;

/// Queries and keys of one call, as numbers.
struct Made {
    n: usize,
    m: usize,
    q: Vec<f64>,
    k: Vec<f64>,
}

impl Made {
    fn new(n: usize, m: usize, scale: f64) -> Self {
        let numbers = |count: usize, step: f64| (0..count).map(|i| scale * (i as f64 * step).sin()).collect();
        Made { n, m, q: numbers(B * H * n * D, 0.73), k: numbers(B * H * m * D, 1.31) }
    }

    fn call<'a>(&'a self, options: &Options<'a, f64>, tokens: Option<&'a [bool]>) -> LayerCall<'a, f64> {
        let k = View::new(&self.k, &[B, H, self.m, D]).unwrap();
        let q = View::new(&self.q, &[B, H, self.n, D]).unwrap();
        LayerCall { q, k, v: k, options: *options, team: None, tokens, first_key: 0, cells: 4 }
    }
}

fn attended(tally: &mut LayerTally, call: &LayerCall<'_, f64>) -> Vec<f64> {
    let mut out = vec![0.0; B * H * call.q.dims()[2] * D];
    tally.attend(call, &mut out).unwrap();
    out
}

/// The numbers of a head and what its keys receive, from stored weights.
fn plain(
    weights: &[f64],
    (n, m): (usize, usize),
    head: usize,
    tokens: Option<&[bool]>,
) -> (HeadNumbers, Vec<f64>) {
    let mut found = HeadNumbers::default();
    let mut received = vec![0.0; m];
    let (mut shares, mut several, mut mass) = (0.0, 0.0, 0.0);
    for b in 0..B {
        for i in (0..n).filter(|i| tokens.is_none_or(|tokens| tokens[b * n + i])) {
            let row = &weights[((b * H + head) * n + i) * m..][..m];
            let live: Vec<f64> = row.iter().copied().filter(|&a| a > 0.0).collect();
            if live.is_empty() {
                continue;
            }
            let entropy = -live.iter().map(|a| a * a.ln()).sum::<f64>();
            let largest = live.iter().copied().fold(0.0, f64::max);
            found.rows += 1;
            found.entropy += entropy;
            found.largest += largest;
            mass += live.iter().sum::<f64>();
            if live.len() > 1 {
                several += 1.0;
                shares += entropy / (live.len() as f64).ln();
                found.saturated += f64::from(u8::from(largest > SATURATED));
            }
            received.iter_mut().zip(row).for_each(|(sum, a)| *sum += a);
        }
    }
    let rows = found.rows as f64;
    found.entropy /= rows;
    found.largest /= rows;
    found.saturated /= rows;
    found.entropy_share = shares / several;
    found.sink_mass = (1.0 - mass / rows).max(0.0);
    found.top_key = (0..m).fold(0, |a, b| if received[b] > received[a] { b } else { a });
    found.top_share = received[found.top_key] / mass;
    (found, received)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn means_and_mass_are_those_of_the_stored_weights_without_queries_that_are_padding() {
    let (n, m) = (6, 6);
    let made = Made::new(n, m, 3.0);
    let sinks = [0.3, -0.2];
    let tokens: Vec<bool> = (0..B * n).map(|i| i < 9).collect();
    let left: Vec<bool> = (0..B * n).map(|i| i > 2).collect();
    let mask = View::new(&left, &[B, 1, 1, m]).unwrap();
    let full: Vec<bool> = (0..B * n * m).map(|i| i % 4 != 0).collect();
    let full = View::new(&full, &[B, 1, n, m]).unwrap();
    let bias: Vec<f64> = (0..H * n * m).map(|i| (i as f64).cos()).collect();
    let bias = View::new(&bias, &[H, n, m]).unwrap();
    let none = Options::default();
    let causal = Some(Causal::Square);
    let cases = [
        (none, None),
        (none, Some(&tokens)),
        (Options { lengths: Some(&[6, 3]), ..none }, Some(&tokens)),
        (Options { lengths: Some(&[6, 3]), causal, sinks: Some(&sinks), ..none }, Some(&tokens)),
        (Options { mask: Some(mask), ..none }, Some(&left)),
        (Options { mask: Some(mask), causal, ..none }, Some(&left)),
        (Options { mask: Some(mask), bias: Some(bias), ..none }, Some(&left)),
        (Options { mask: Some(full), softcap: Some(2.0), ..none }, Some(&left)),
    ];
    for (at, (options, tokens)) in cases.into_iter().enumerate() {
        let call = made.call(&options, tokens.map(Vec::as_slice));
        let problem = Problem::new(call.q, call.k, call.v, options).unwrap();
        let steps = reference::steps(&problem);
        let mut tally = LayerTally::new(H);
        let out = attended(&mut tally, &call);
        assert!(out.iter().zip(&steps.answer.values).all(|(a, b)| close(*a, *b)), "case {at}");
        for head in 0..H {
            let (expected, received) = plain(&steps.weights, (n, m), head, call.tokens);
            let found = tally.numbers(head);
            assert_eq!((found.rows, found.top_key), (expected.rows, expected.top_key), "case {at}");
            for (a, b) in [
                (found.entropy, expected.entropy),
                (found.entropy_share, expected.entropy_share),
                (found.largest, expected.largest),
                (found.saturated, expected.saturated),
                (found.top_share, expected.top_share),
                (found.sink_mass, expected.sink_mass),
            ] {
                assert!(close(a, b), "case {at}: {found:?} {expected:?}");
            }
            assert!(tally.received(head).iter().zip(&received).all(|(a, b)| close(*a, *b)), "case {at}");
        }
        let padding = tokens.map_or(0, |tokens| tokens.iter().filter(|token| !**token).count());
        assert_eq!(tally.padding_rows(), (H * padding) as u64, "case {at}");
        assert_eq!(tally.rows() + tally.padding_rows() + tally.empty_rows(), (B * H * n) as u64, "case {at}");
    }
}

#[test]
fn calls_add_up_and_the_map_is_of_the_largest() {
    let (one, other) = (Made::new(2, 9, 1.0), Made::new(5, 4, 1.0));
    let mut tally = LayerTally::new(H);
    attended(&mut tally, &one.call(&Options::default(), None));
    attended(&mut tally, &LayerCall { first_key: 7, ..other.call(&Options::default(), None) });
    assert_eq!((tally.rows(), tally.keys()), ((B * H * 7) as u64, 11));
    let mass: f64 = tally.received(1).iter().sum();
    assert!(close(mass, (B * 7) as f64) && tally.received(1)[10] > 0.0);
    let map = tally.map().unwrap();
    assert_eq!((map.queries, map.keys, map.rows, map.cols), (5, 4, 4, 4));
    assert!(map.of(0, Some(B)).is_none() && map.of(H, None).is_none());
    let ((all, most), (first, _), (second, _)) =
        (map.of(1, None).unwrap(), map.of(1, Some(0)).unwrap(), map.of(1, Some(1)).unwrap());
    assert!(
        all.iter().zip(first.iter().zip(&second)).all(|(mean, (a, b))| close(*mean, f64::midpoint(*a, *b)))
    );
    assert!(most.iter().zip(&all).all(|(max, mean)| max >= mean));
}

#[test]
fn tallies_merge_to_what_one_would_have_seen() {
    let (one, other) = (Made::new(2, 9, 1.0), Made::new(5, 4, 1.0));
    let calls = [
        one.call(&Options { sinks: Some(&[0.0, 1.0]), ..Options::default() }, None),
        LayerCall {
            first_key: 7,
            ..other.call(
                &Options::default(),
                Some(&[true, true, false, true, false, true, true, true, true, false]),
            )
        },
    ];
    let mut whole = LayerTally::new(H);
    let mut merged = LayerTally::new(H);
    for call in &calls {
        attended(&mut whole, call);
        let mut part = LayerTally::new(H);
        attended(&mut part, call);
        merged.merge(part).unwrap();
    }
    for head in 0..H {
        let (a, b) = (whole.numbers(head), merged.numbers(head));
        assert!(
            a.rows == b.rows && close(a.entropy, b.entropy) && close(a.sink_mass, b.sink_mass),
            "{a:?} {b:?}"
        );
        assert!(whole.received(head).iter().zip(merged.received(head)).all(|(a, b)| close(*a, *b)));
    }
    assert_eq!((whole.padding_rows(), whole.map()), (merged.padding_rows(), merged.map()));
    assert!(merged.merge(LayerTally::new(3)).is_err());
}

#[test]
fn short_numbers_hide_keys_too() {
    let one = bf16::from_f32(1.0);
    let q = [one; 8];
    let hidden = [bf16::from_f32(0.0), bf16::from_f32(f32::MIN)];
    let view = View::new(&q, &[1, 1, 2, 4]).unwrap();
    let options = Options { bias: Some(View::new(&hidden, &[1, 1, 1, 2]).unwrap()), ..Options::default() };
    let call =
        LayerCall { q: view, k: view, v: view, options, team: None, tokens: None, first_key: 0, cells: 1 };
    let mut tally = LayerTally::new(1);
    tally.attend(&call, &mut [bf16::from_f32(0.0); 8]).unwrap();
    // Rows with one key have no choice: neither saturated nor uneven.
    let found = tally.numbers(0);
    assert_eq!((found.saturated, found.entropy_share, found.largest), (0.0, 1.0, 1.0));
}

#[test]
fn calls_that_do_not_fit_are_refused() {
    let made = Made::new(2, 3, 1.0);
    let error = LayerTally::new(3).attend(&made.call(&Options::default(), None), &mut [0.0; 24]).unwrap_err();
    assert_eq!(error.to_string(), "lens: the layer is called with 2 heads; expected 3, as before");
    let call = made.call(&Options::default(), Some(&[true]));
    let error = LayerTally::new(2).attend(&call, &mut [0.0; 24]).unwrap_err();
    assert_eq!(error.to_string(), "lens: `tokens` has 1 mark; expected one for each of 2 × 2 queries");
    let error = explain_layers("model", &[Layer { name: "a", tally: &LayerTally::new(0) }]).unwrap_err();
    assert_eq!(error.to_string(), "lens: layer \"a\" has no heads; expected at least one");
}

#[test]
fn a_model_has_a_figure_of_each_kind_and_one_row_per_head() {
    let mut tallies = [LayerTally::new(H), LayerTally::new(H)];
    for (tally, (n, m)) in tallies.iter_mut().zip([(8, 8), (3, 5)]) {
        attended(tally, &Made::new(n, m, 0.0).call(&Options::default(), None));
    }
    let layers: Vec<Layer<'_>> = tallies.iter().map(|tally| Layer { name: "a", tally }).collect();
    let found = explain_layers("model", &layers).unwrap();
    let ids: Vec<&str> = found.figures.iter().map(|figure| figure.id).collect();
    assert_eq!(ids, ["entropy", "heads", "received", "map"]);
    assert_eq!(found.tables[0].rows.len(), 4);
    // Queries of 0 weigh all keys alike.
    assert_eq!(found.findings[0].name, "uniform-heads");
    assert!(found.verdict[0].starts_with("4 heads in 2 layers"), "{:?}", found.verdict);
    // Every layer is there, each at its own shape.
    let FigureKind::Heads(heads) = &found.figures[1].kind else { panic!("no heads") };
    let shapes: Vec<_> =
        heads.heads.iter().map(|map| (map.batch, map.rows, map.cols, map.queries, map.keys)).collect();
    assert_eq!(shapes, [(0, 4, 4, 8, 8), (0, 4, 4, 8, 8), (1, 3, 4, 3, 5), (1, 3, 4, 3, 5)]);
    assert!(found.figures[1].caption.contains("Layers differ"));
    let FigureKind::Received(received) = &found.figures[2].kind else { panic!("no mass") };
    let keys: Vec<usize> = received.heads.iter().map(|head| head.keys).collect();
    assert_eq!(keys, [8, 8, 5, 5]);
    assert!(found.figures[2].caption.contains("2 different numbers of keys"), "{}", found.figures[2].caption);
}

#[test]
fn rows_that_a_nan_reaches_are_counted_and_left_out_of_means_and_mass() {
    let (n, m) = (6, 6);
    let mut made = Made::new(n, m, 1.0);
    // Query 2 of the first entry's head 1, and all queries of the second entry's head 0 from query 3 on, which alone see key 3.
    made.q[(n + 2) * D] = f64::NAN;
    made.k[(2 * m + 3) * D] = f64::INFINITY;
    let causal = Some(Causal::Square);
    let full: Vec<bool> = (0..H * n * m).map(|i| i % 7 != 3).collect();
    let mask = Some(View::new(&full, &[H, n, m]).unwrap());
    let few = mask.and_then(|mask| mask.at(0));
    let bias: Vec<f64> = (0..n * m).map(|i| (i as f64).cos()).collect();
    let bias = Some(View::new(&bias, &[n, m]).unwrap());
    let keep: Vec<bool> = (0..H * 3 * 2).map(|i| i % 5 != 1).collect();
    let keep = View::new(&keep, &[H, 3, 2]).unwrap();
    let blocks = Some(Blocks { rows: 2, cols: 3, keep });
    let one_column = Some(Blocks { rows: 2, cols: m, keep: keep.at(0).unwrap().narrowed(1, 0..1).unwrap() });
    let tokens: Vec<bool> = (0..B * n).map(|i| i != 1).collect();
    for options in [
        Options { causal, ..Options::default() },
        Options { causal, mask, ..Options::default() },
        Options { causal, mask: few, ..Options::default() },
        Options { causal, mask, bias, ..Options::default() },
        Options { causal, blocks, ..Options::default() },
        Options { causal, mask: few, bias, blocks, ..Options::default() },
        Options { causal, mask, blocks: one_column, ..Options::default() },
    ] {
        for tokens in [None, Some(tokens.as_slice())] {
            let mut tally = LayerTally::new(H);
            let call = made.call(&options, tokens);
            let _ = attended(&mut tally, &call);
            let problem = Problem::new(call.q, call.k, call.v, options).unwrap();
            let mut weights = reference::steps(&problem).weights;
            let mut lost = 0;
            for (row, weights) in weights.chunks_mut(m).enumerate() {
                if weights.iter().any(|a| a.is_nan()) {
                    weights.fill(0.0);
                    let token = tokens.is_none_or(|tokens| tokens[row / (H * n) * n + row % n]);
                    lost += u64::from(token);
                }
            }
            assert!(lost > 1 && tally.lost_rows() == lost, "{lost} {}", tally.lost_rows());
            for head in 0..H {
                let (expected, received) = plain(&weights, (n, m), head, tokens);
                let found = tally.numbers(head);
                assert_eq!((found.rows, found.top_key), (expected.rows, expected.top_key));
                assert!(close(found.entropy, expected.entropy) && close(found.top_share, expected.top_share));
                assert!(tally.received(head).iter().zip(&received).all(|(a, b)| close(*a, *b)));
            }
        }
    }
}

#[test]
fn cells_of_lost_rows_are_means_of_the_other_entries_and_nan_where_there_are_none() {
    let (n, m) = (4, 4);
    let whole = Made::new(n, m, 1.0);
    let mut made = Made::new(n, m, 1.0);
    // Query 1 of the first entry's head 0, and query 2 of head 1 in both entries.
    made.q[D] = f64::NAN;
    made.q[(n + 2) * D] = f64::NAN;
    made.q[((H + 1) * n + 2) * D] = f64::NAN;
    let (mut tally, mut plain) = (LayerTally::new(H), LayerTally::new(H));
    attended(&mut tally, &made.call(&Options::default(), None));
    attended(&mut plain, &whole.call(&Options::default(), None));
    let (map, plain) = (tally.map().unwrap(), plain.map().unwrap());
    let ((mean, max), (second, largest)) = (map.of(0, None).unwrap(), plain.of(0, Some(1)).unwrap());
    assert_eq!((&mean[m..2 * m], &max[m..2 * m]), (&second[m..2 * m], &largest[m..2 * m]));
    assert_eq!(mean[..m], plain.of(0, None).unwrap().0[..m]);
    let (mean, max) = map.of(1, None).unwrap();
    assert!(
        (0..n * m).all(|cell| (mean[cell].is_nan(), max[cell].is_nan()) == (cell / m == 2, cell / m == 2))
    );
    assert!((0..H).all(|head| map.is_partly_lost(head) && !plain.is_partly_lost(head)));
    let found = explain_layers("model", &[Layer { name: "a", tally: &tally }]).unwrap();
    for id in ["heads", "map"] {
        let caption = &found.figure(id).unwrap().caption;
        assert!(caption.contains("its batch entry is left out of the cell"), "{caption}");
    }
}

#[test]
fn the_first_layer_with_lost_rows_is_named_and_says_nothing_else_where_none_are_left() {
    let mut made = Made::new(4, 4, 1.0);
    let mut tallies = [LayerTally::new(H), LayerTally::new(H), LayerTally::new(H)];
    attended(&mut tallies[0], &made.call(&Options::default(), None));
    made.q.fill(f64::NAN);
    attended(&mut tallies[1], &made.call(&Options::default(), None));
    attended(&mut tallies[2], &made.call(&Options::default(), None));
    let names = ["first", "second", "third"];
    let layers: Vec<Layer<'_>> =
        names.iter().zip(&tallies).map(|(name, tally)| Layer { name, tally }).collect();
    let found = explain_layers("model", &layers).unwrap();
    let lost = &found.findings[0];
    assert_eq!((lost.name, lost.severity), ("lost-rows", crate::finding::Severity::Serious));
    assert!(lost.sentence.starts_with("16 rows of weights in layer `second` are NaN"), "{}", lost.sentence);
    assert!(lost.sentence.ends_with("so are rows in 1 other layer"), "{}", lost.sentence);
    assert!(found.findings.iter().all(|finding| finding.name != "uniform-heads"), "{:?}", found.findings);
    let found = explain_layers("model", &layers[1..]).unwrap();
    assert_eq!(found.verdict[0], "4 heads in 2 layers, and no row of weights to speak of.");
}

#[test]
fn a_key_that_collects_the_mass_is_a_sink() {
    let (n, m) = (40, 30);
    let mut made = Made::new(n, m, 0.1);
    made.q.fill(3.0);
    for bh in 0..B * H {
        made.k[bh * m * D..][..D].fill(4.0);
    }
    let mut tally = LayerTally::new(H);
    attended(&mut tally, &made.call(&Options::default(), None));
    let found = explain_layers("model", &[Layer { name: "a", tally: &tally }]).unwrap();
    let sink = found.findings.iter().find(|finding| finding.name == "attention-sink").unwrap();
    assert_eq!(sink.evidence[0].value, 0.0);
    assert!(sink.sentence.contains("key 0"), "{}", sink.sentence);
    let names: Vec<&str> = found.findings.iter().map(|finding| finding.name).collect();
    assert!(names.contains(&"narrow-heads") && names.contains(&"similar-heads"), "{names:?}");
}
