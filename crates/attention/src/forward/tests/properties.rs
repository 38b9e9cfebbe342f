//! What holds for attention whatever the numbers are.

use super::cases::{Ask, Case, Data, numbers};
use super::{distance, same_bits};
use crate::forward::forward_on;
use crate::{Alignment, Causal, Options, Problem, Request};
use spanwise_kernels::View;
use spanwise_kernels::simd::Isa;

const LSE: Request = Request {
    lse: true,
    entropy: false,
    largest: false,
    top_k: 0,
    received: false,
    row_sum_error: false,
    map: None,
};

/// A few shapes on every instruction set.
fn each(mut check: impl FnMut(Isa, &Case, &Data<f64>)) {
    for (i, shape) in
        [[1, 1, 1, 5, 9, 4, 6], [2, 2, 1, 33, 70, 8, 12], [1, 1, 1, 80, 300, 16, 8]].iter().enumerate()
    {
        let case = Case { amplitude: 0.5 + i as f64, ..Case::new(*shape, Ask::Plain) };
        let data = Data::new(&case);
        for isa in Isa::available() {
            check(isa, &case, &data);
        }
    }
}

#[test]
fn rows_sum_to_one() {
    each(|isa, case, data| {
        let request = Request { row_sum_error: true, received: true, ..Request::default() };
        let statistics = forward_on(isa, &data.problem(), &request).statistics;
        assert!(statistics.row_sum_error.unwrap().iter().all(|&x| x < 1e-14), "{isa} {case:?}");
        let total: f64 = statistics.received.unwrap().iter().sum();
        assert!((total - (case.b * case.h * case.n) as f64).abs() < 1e-10, "{isa} {case:?}");
    });
}

#[test]
fn outputs_lie_inside_the_bounding_box_of_the_values() {
    each(|isa, case, data| {
        let values = forward_on(isa, &data.problem(), &LSE).values;
        let (low, high) = data.v.iter().fold((1.0f64, -1.0f64), |(l, h), &x| (l.min(x), h.max(x)));
        assert!(values.iter().all(|&x| x >= low - 1e-15 && x <= high + 1e-15), "{isa} {case:?}");
    });
}

#[test]
fn adding_a_constant_to_a_rows_scores_changes_nothing_but_the_denominator() {
    each(|isa, case, data| {
        let shift: Vec<f64> = (0..case.n).map(|i| i as f64 * 0.7 - 11.0).collect();
        let bias = View::new(&shift, &[case.n, 1]).unwrap();
        let shifted = forward_on(isa, &data.with(&Options { bias: Some(bias), ..Options::default() }), &LSE);
        let plain = forward_on(isa, &data.problem(), &LSE);
        assert!(distance(&shifted.values, &plain.values) < 1e-13, "{isa} {case:?}");
        let moved = plain.statistics.lse.unwrap().into_iter().enumerate();
        let moved: Vec<f64> = moved.map(|(r, lse)| lse + shift[r % case.n]).collect();
        assert!(distance(&shifted.statistics.lse.unwrap(), &moved) < 1e-12, "{isa} {case:?}");
    });
}

#[test]
fn a_bias_or_mask_may_lie_key_by_key() {
    each(|isa, case, data| {
        let (n, m) = (case.n, case.m);
        let turned = |i: usize| i % m * n + i / m;
        let bias: Vec<f64> = (0..n * m).map(|i| (i as f64 * 0.37).sin()).collect();
        let mask: Vec<bool> = (0..n * m).map(|i| i * 7 % 5 != 0).collect();
        let (mut by_key, mut kept_by_key) = (bias.clone(), mask.clone());
        for i in 0..n * m {
            (by_key[turned(i)], kept_by_key[turned(i)]) = (bias[i], mask[i]);
        }
        let one = Options {
            bias: Some(View::new(&bias, &[n, m]).unwrap()),
            mask: Some(View::new(&mask, &[n, m]).unwrap()),
            ..Options::default()
        };
        let other = Options {
            bias: Some(View::new(&by_key, &[m, n]).unwrap().transposed()),
            mask: Some(View::new(&kept_by_key, &[m, n]).unwrap().transposed()),
            ..Options::default()
        };
        let (one, other) =
            (forward_on(isa, &data.with(&one), &LSE), forward_on(isa, &data.with(&other), &LSE));
        assert_eq!(one, other, "{isa} {case:?}");
    });
}

#[test]
fn fewer_largest_weights_are_the_first_of_more() {
    each(|isa, case, data| {
        let top = |problem: &Problem<'_, f64>, k| {
            let request = Request { top_k: k, ..Request::default() };
            forward_on(isa, problem, &request).statistics.top.unwrap().peaks
        };
        // Equal weights too, where the first keys win.
        let none = vec![0.0; data.q.len()];
        let k = &data.k[..case.m * case.d];
        let even = super::simple(&none[..case.n * case.d], k, k, case.d);
        for problem in [data.problem(), even] {
            let all = top(&problem, case.m);
            for row in all.chunks(case.m) {
                assert!(row.is_sorted_by(|a, b| (a.weight, b.key) >= (b.weight, a.key)), "{isa} {case:?}");
                let total: f64 = row.iter().map(|peak| peak.weight).sum();
                assert!((total - 1.0).abs() < 1e-13, "{isa} {case:?}");
            }
            for k in [1, 2, 8, 33, 70].into_iter().filter(|&k| k <= case.m) {
                let first = all.chunks(case.m).flat_map(|row| row[..k].to_vec());
                assert_eq!(top(&problem, k), first.collect::<Vec<_>>(), "{isa} {case:?}: {k}");
            }
        }
    });
}

#[test]
fn equal_keys_in_tiles_apart_keep_their_order_among_the_largest() {
    let (n, m, width) = (9, 1000, 4);
    let q = numbers::<f32>(1, n * width, 1.0);
    // Ten different keys, a hundred times each, and in the last tile one that most queries look at: the maximum grows on the way.
    let ten = numbers::<f32>(2, 10 * width, 1.0);
    let mut k: Vec<f32> = (0..m).flat_map(|j| ten[j % 10 * width..][..width].to_vec()).collect();
    k[900 * width..901 * width].copy_from_slice(&[9.0; 4]);
    let view = |data, rows| View::new(data, &[rows, width]).unwrap();
    let problem = Problem::new(view(&q, n), view(&k, m), view(&k, m), Options::default()).unwrap();
    for isa in Isa::available() {
        for top_k in [150, 20, 3] {
            let request = Request { top_k, ..Request::default() };
            let top = forward_on(isa, &problem, &request).statistics.top.unwrap();
            for row in top.peaks.chunks(top_k) {
                for (a, b) in row.iter().zip(&row[1..]) {
                    let [a_key, b_key] = [a, b].map(|peak| peak.key.unwrap());
                    let alike = a_key % 10 == b_key % 10 && ![a_key, b_key].contains(&900);
                    assert!(
                        !alike || (a.weight == b.weight && a_key + 10 == b_key || b_key == 910),
                        "{isa} {top_k}"
                    );
                }
            }
        }
    }
}

#[test]
fn permuting_keys_together_with_values_changes_nothing() {
    let (n, m, width) = (20, 270, 8);
    let (q, k, v) = (numbers(1, n * width, 1.0), numbers(2, m * width, 1.0), numbers(3, m * width, 1.0));
    let mixed =
        |x: &[f64]| -> Vec<f64> { (0..m).flat_map(|j| x[j * 77 % m * width..][..width].to_vec()).collect() };
    let (mixed_k, mixed_v) = (mixed(&k), mixed(&v));
    for isa in Isa::available() {
        let one = forward_on(isa, &super::simple(&q, &k, &v, width), &LSE);
        let other = forward_on(isa, &super::simple(&q, &mixed_k, &mixed_v, width), &LSE);
        assert!(distance(&one.values, &other.values) < 1e-14, "{isa}");
    }
}

#[test]
fn future_keys_never_matter() {
    let (n, width) = (300, 8);
    let (q, mut k, mut v) = (
        numbers::<f64>(1, n * width, 1.0),
        numbers::<f64>(2, n * width, 1.0),
        numbers::<f64>(3, n * width, 1.0),
    );
    let options = Options { causal: Some(Causal::Aligned(Alignment::TopLeft)), ..Options::default() };
    for isa in Isa::available() {
        let run = |k: &[f64], v: &[f64]| {
            let view = |data| View::new(data, &[n, width]).unwrap();
            forward_on(isa, &Problem::new(view(&q), view(k), view(v), options).unwrap(), &LSE).values
        };
        let before = run(&k, &v);
        k[150 * width..].iter_mut().for_each(|x| *x = f64::NAN);
        v[150 * width..].iter_mut().for_each(|x| *x = 1e300);
        let after = run(&k, &v);
        assert!(same_bits(&before[..150 * width], &after[..150 * width]), "{isa}");
    }
}

#[test]
fn disjoint_ranges_of_keys_merge_by_their_log_sum_exps() {
    let (n, m, cut, width) = (30, 400, 130, 8);
    let (q, k, v) = (numbers(1, n * width, 2.0), numbers(2, m * width, 2.0), numbers(3, m * width, 1.0));
    for isa in Isa::available() {
        let run = |from: usize, to: usize| {
            let range = from * width..to * width;
            let forward = forward_on(isa, &super::simple(&q, &k[range.clone()], &v[range], width), &LSE);
            (forward.values, forward.statistics.lse.unwrap())
        };
        let ((all, all_lse), (a, a_lse), (b, b_lse)) = (run(0, m), run(0, cut), run(cut, m));
        for i in 0..n {
            let lse = a_lse[i].max(b_lse[i]) + (-(a_lse[i] - b_lse[i]).abs()).exp().ln_1p();
            assert!((lse - all_lse[i]).abs() < 1e-12, "{isa}");
            for c in 0..width {
                let at = i * width + c;
                let merged = (a_lse[i] - lse).exp() * a[at] + (b_lse[i] - lse).exp() * b[at];
                assert!((merged - all[at]).abs() < 1e-13, "{isa}");
            }
        }
    }
}
