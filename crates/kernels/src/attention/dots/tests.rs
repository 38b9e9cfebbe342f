//! Pairs against single numbers, wherever pairs are cut.

use super::*;
use crate::View;
use crate::attention::{Part, Scratch, Span, Storage, Table, Tile};
use crate::simd::Isa;

const ROWS: usize = 24;
const KEYS: usize = 9;

/// Rows 0 to 15 see the keys `spans[0]`, the others `spans[1]`; one number to a row, key and value.
fn outputs(isa: Isa, spans: [[usize; 2]; 2], scale: f64, values: &[bf16; KEYS]) -> Vec<f32> {
    let numbers = |seed: usize, count: usize| -> Vec<bf16> {
        (0..count).map(|i| bf16::from_f32(((i * 37 + seed) % 41) as f32 / 20.0 - 1.0)).collect()
    };
    let (q, k) = (numbers(3, ROWS), numbers(5, KEYS));
    let part = Part {
        row: 0,
        first: 0,
        count: ROWS,
        queries: View::new(&q, &[ROWS, 1]).unwrap(),
        bias: None,
        mask: None,
        pattern: None,
        alibi: None,
        sink: None,
        dropping: None,
    };
    let span = |row: usize| {
        let [start, end] = spans[usize::from(row >= 16)];
        Span { start, end }
    };
    let spans: Vec<Span> = (0..ROWS).map(span).collect();
    let block = Block {
        keys: Table::Whole(View::new(&k, &[KEYS, 1]).unwrap()),
        values: Table::Whole(View::new(values, &[KEYS, 1]).unwrap()),
        parts: &[part],
        spans: &spans,
        tiles: &[Tile { start: 0, end: KEYS, dense: false }],
        scale,
        softcap: None,
    };
    let (mut out, mut lse) = ([bf16::ZERO; ROWS], [0.0; ROWS]);
    let mut scratch = Scratch::new();
    let kernel =
        Forward { block, scratch: &mut scratch, out: &mut out, lse: &mut lse, wants_lse: true, wanted: None };
    bf16::attend(isa, kernel);
    out.iter().map(|x| x.to_f32()).collect()
}

/// Everything that multiplies pairs.
fn with_pairs() -> impl Iterator<Item = Isa> {
    Isa::available().into_iter().filter(|isa| matches!(isa, Isa::ScalarBf16 | Isa::Avx512Bf16))
}

fn values() -> [bf16; KEYS] {
    std::array::from_fn(|i| bf16::from_f32((i * i) as f32 / 7.0 - 3.0))
}

#[test]
fn pairs_give_what_single_numbers_give_wherever_a_panel_begins_and_ends() {
    let mut differ = false;
    for first in 0..KEYS {
        for last in first + 1..=KEYS {
            for spans in [[[first, last], [0, KEYS]], [[2, 5], [first, last]]] {
                let single = outputs(Isa::Scalar, spans, 0.7, &values());
                for isa in with_pairs() {
                    let paired = outputs(isa, spans, 0.7, &values());
                    for (a, b) in single.iter().zip(&paired) {
                        // Weights are rounded to eight bits, and the output once more.
                        assert!((a - b).abs() <= 6.2 * 2f32.powi(-7), "{isa} {spans:?}: {a} {b}");
                        differ |= a != b;
                    }
                }
            }
        }
    }
    assert!(differ, "weights were not rounded, so pairs were not multiplied");
}

#[test]
fn the_other_value_of_a_pair_does_not_leak_into_rows_that_do_not_see_it() {
    for bad in [bf16::INFINITY, bf16::NAN] {
        for (at, spans) in [(5, [[0, 5], [0, 6]]), (2, [[3, 7], [2, 7]]), (8, [[0, 8], [8, 9]])] {
            let mut values = values();
            values[at] = bad;
            for isa in with_pairs() {
                let out = outputs(isa, spans, 0.7, &values);
                assert!(out[..16].iter().all(|x| x.is_finite()), "{isa} {spans:?}: {out:?}");
                assert!(out[16..].iter().all(|x| !x.is_finite()), "{isa} {spans:?}: {out:?}");
            }
        }
    }
}

#[test]
fn a_scale_that_would_magnify_what_pairs_flush_is_computed_without_them() {
    let spans = [[0, KEYS], [0, KEYS]];
    for isa in with_pairs() {
        let single = outputs(Isa::Scalar, spans, 1e20, &values());
        assert_eq!(outputs(isa, spans, 1e20, &values()), single, "{isa}");
    }
}
