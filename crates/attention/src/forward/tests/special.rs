//! Nothing at all, almost nothing, too much, and what is no number.

use super::cases::{Ask, Case, Data, numbers};
use super::{distance, same_bits, simple, to_f64};
use crate::forward::{forward_into, forward_on, weights};
use crate::{Alignment, AttentionError, Causal, MapSize, Options, Problem, Request, Window, reference};
use spanwise_kernels::attention::Storage;
use spanwise_kernels::simd::Isa;
use spanwise_kernels::{View, bf16, f16};

const EVERYTHING: Request = Request {
    lse: true,
    entropy: true,
    largest: true,
    top_k: 2,
    received: true,
    row_sum_error: true,
    map: Some(MapSize { rows: 2, cols: 3 }),
};

#[test]
fn no_keys_give_zeros_and_no_queries_give_nothing() {
    for isa in Isa::available() {
        let forward = forward_on(isa, &simple(&[1.0, 2.0], &[], &[], 1), &EVERYTHING);
        assert_eq!(forward.values, [0.0, 0.0]);
        let statistics = forward.statistics;
        assert_eq!(statistics.empty_rows, 2);
        assert_eq!(statistics.lse.unwrap(), [f64::NEG_INFINITY; 2]);
        assert_eq!(statistics.entropy.unwrap(), [0.0; 2]);
        assert!(statistics.largest.unwrap().iter().all(|peak| peak.weight == 0.0 && peak.key.is_none()));
        assert!(statistics.received.unwrap().is_empty());
        let forward = forward_on(isa, &simple(&[], &[1.0], &[1.0], 1), &EVERYTHING);
        assert!(forward.values.is_empty());
        assert_eq!(forward.statistics.received.unwrap(), [0.0]);
    }
}

#[test]
fn values_without_columns_still_have_statistics() {
    let (q, k) = ([0.5f32; 6], [0.25f32; 4]);
    let problem = Problem::new(
        View::new(&q, &[3, 2]).unwrap(),
        View::new(&k, &[2, 2]).unwrap(),
        View::new(&[], &[2, 0]).unwrap(),
        Options::default(),
    )
    .unwrap();
    let forward = forward_on(Isa::detected(), &problem, &EVERYTHING);
    assert!(forward.values.is_empty());
    assert_eq!(forward.statistics.received.unwrap(), [1.5, 1.5]);
}

#[test]
fn strides_of_axes_of_length_one_may_be_anything() {
    let (q, k) = (numbers::<f32>(1, 8, 1.0), numbers::<f32>(2, 20 * 8, 1.0));
    let (bias, mask) = (numbers::<f32>(3, 20, 1.0), [true, false].repeat(10));
    let answer = |isa, stride| {
        let options = Options {
            bias: Some(View::strided(&bias, 0, &[1, 20], &[stride, 1]).unwrap()),
            mask: Some(View::strided(&mask, 0, &[1, 20], &[stride, 1]).unwrap()),
            ..Options::default()
        };
        let [q, k] = [(&q, 1), (&k, 20)].map(|(x, rows)| View::new(x, &[rows, 8]).unwrap());
        forward_on(isa, &Problem::new(q, k, k, options).unwrap(), &EVERYTHING)
    };
    for isa in Isa::available() {
        let expected = answer(isa, 20);
        for stride in [isize::MAX, isize::MIN, 0] {
            assert_eq!(answer(isa, stride).values, expected.values, "{isa} {stride}");
        }
    }
}

#[test]
fn rows_that_see_nothing_are_zeros_beside_rows_that_see_something() {
    // 100 queries over 40 keys, aligned at the bottom right: the first 60 see nothing.
    let case = Case::new([1, 1, 1, 100, 40, 8, 8], Ask::Causal(Alignment::BottomRight));
    let data = Data::<f32>::new(&case);
    for isa in Isa::available() {
        let forward = forward_on(isa, &data.problem(), &EVERYTHING);
        assert!(forward.values[..60 * 8].iter().all(|&x| x == 0.0), "{isa}");
        assert!(forward.values[60 * 8..].iter().any(|&x| x != 0.0), "{isa}");
        assert_eq!(forward.statistics.empty_rows, 60);
        assert_eq!(forward.statistics.entropy.unwrap()[59], 0.0);
    }
}

/// Puts `bad` into the key or the value of position `at` of 300 and hides it from all queries but those from the 80th on.
fn stays_where_it_is<T: Storage>(place: (usize, usize, usize), bad: f64, in_key: bool, hide_by_bias: bool) {
    let (m, (n, width, at)) = (300, place);
    let (q, mut k, mut v) =
        (numbers::<T>(1, n * width, 1.0), numbers::<T>(2, m * width, 1.0), numbers::<T>(3, m * width, 1.0));
    let place = if in_key { &mut k[at * width + 3] } else { &mut v[at * width + 5] };
    *place = T::from_f64(bad);
    let sees = |i: usize, j: usize| j != at || i >= 80;
    let mask: Vec<bool> = (0..n * m).map(|x| sees(x / m, x % m)).collect();
    let bias: Vec<T> =
        (0..n * m).map(|x| T::from_f64(if sees(x / m, x % m) { 0.0 } else { f64::NEG_INFINITY })).collect();
    let options = if hide_by_bias {
        Options { bias: Some(View::new(&bias, &[n, m]).unwrap()), ..Options::default() }
    } else {
        Options { mask: Some(View::new(&mask, &[n, m]).unwrap()), ..Options::default() }
    };
    let view = |data, rows| View::new(data, &[rows, width]).unwrap();
    let problem = Problem::new(view(&q, n), view(&k, m), view(&v, m), options).unwrap();
    let exact = reference::attend(&problem);
    for isa in Isa::available() {
        let forward = forward_on(isa, &problem, &EVERYTHING);
        let found = to_f64(&forward.values);
        assert!(distance(&found[..80 * width], &exact.values[..80 * width]) < 1e-2, "{isa} {bad}");
        // A key of ∞ scores −∞ where the query is negative: then it weighs nothing, and the row is not lost.
        let lost = |values: &[f64]| -> Vec<bool> {
            values.chunks(width).map(|row| row.iter().any(|x| !x.is_finite())).collect()
        };
        assert_eq!(lost(&found), lost(&exact.values), "{isa} {bad}");
        assert!(lost(&found)[80..].contains(&true), "{isa} {bad}");
        // Without statistics weights may lie elsewhere.
        let plain = to_f64(&forward_on(isa, &problem, &Request::default()).values);
        assert!(distance(&plain[..80 * width], &exact.values[..80 * width]) < 1e-2, "{isa} {bad}");
        assert_eq!(lost(&plain), lost(&exact.values), "{isa} {bad}");
    }
}

#[test]
fn what_is_hidden_never_leaks_and_what_is_not_takes_only_its_own_rows() {
    // Queries, width, key: in the last tile and in the first, in outputs that are formed in scratch memory and where they belong.
    for place in [(90, 8, 280), (96, 16, 280), (96, 16, 5)] {
        for hide_by_bias in [false, true] {
            for bad in [f64::NAN, f64::INFINITY] {
                for in_key in [false, true] {
                    stays_where_it_is::<f32>(place, bad, in_key, hide_by_bias);
                    stays_where_it_is::<f64>(place, bad, in_key, hide_by_bias);
                    stays_where_it_is::<bf16>(place, bad, in_key, hide_by_bias);
                    stays_where_it_is::<f16>(place, bad, in_key, hide_by_bias);
                }
            }
        }
    }
}

#[test]
fn a_lost_query_takes_no_other_row_and_gives_nothing_to_what_it_does_not_see() {
    let (n, width) = (40, 4);
    let (mut q, k) = (numbers::<f32>(1, n * width, 1.0), numbers::<f32>(2, n * width, 1.0));
    q[10 * width] = f32::NAN;
    let view = |data| View::new(data, &[n, width]).unwrap();
    let causal = Options { causal: Some(Causal::Square), ..Options::default() };
    let problem = Problem::new(view(&q), view(&k), view(&k), causal).unwrap();
    for isa in Isa::available() {
        let forward = forward_on(isa, &problem, &EVERYTHING);
        for (i, row) in forward.values.chunks(width).enumerate() {
            assert_eq!(row.iter().all(|x| x.is_nan()), i == 10, "{isa}: row {i}");
        }
        let statistics = forward.statistics;
        assert!(statistics.lse.unwrap()[10].is_nan());
        assert!(statistics.largest.unwrap()[10].key.is_none());
        for (j, mass) in statistics.received.unwrap().iter().enumerate() {
            assert_eq!(mass.is_nan(), j <= 10, "{isa}: key {j}");
        }
    }
}

#[test]
fn a_lost_last_row_gives_nothing_to_the_keys_of_another_head() {
    // Two heads share their keys, so their rows lie in one panel; what is left of it repeats the last row.
    let (n, width) = (3, 4);
    let (mut q, k) = (numbers::<f32>(1, 2 * n * width, 1.0), numbers::<f32>(2, n * width, 1.0));
    q[(2 * n - 1) * width] = f32::NAN;
    let q = View::new(&q, &[1, 2, n, width]).unwrap();
    let k = View::new(&k, &[1, 1, n, width]).unwrap();
    let problem = Problem::new(q, k, k, Options::default()).unwrap();
    for isa in Isa::available() {
        let received = forward_on(isa, &problem, &EVERYTHING).statistics.received.unwrap();
        let (first, second) = received.split_at(n);
        assert!(first.iter().all(|mass| mass.is_finite()), "{isa}: {first:?}");
        assert!(second.iter().all(|mass| mass.is_nan()), "{isa}: {second:?}");
    }
}

#[test]
fn the_lowest_finite_bias_is_not_a_mask() {
    // Everything pushed down as far as numbers go: what is left are equal weights.
    let (q, k, v) = ([1.0f32; 4], [1.0f32, 2.0, 3.0, 4.0], [1.0f32, 2.0, 3.0, 6.0]);
    let bias = [f32::MIN; 4];
    let view = |data| View::new(data, &[4, 1]).unwrap();
    let options = Options { bias: Some(View::new(&bias, &[1, 4]).unwrap()), ..Options::default() };
    let problem = Problem::new(view(&q), view(&k), view(&v), options).unwrap();
    for isa in Isa::available() {
        assert_eq!(forward_on(isa, &problem, &Request::default()).values, [3.0; 4], "{isa}");
    }
}

#[test]
fn huge_scores_neither_overflow_nor_vanish() {
    for isa in Isa::available() {
        let forward =
            forward_on(isa, &simple(&[1.0], &[1e300, 1e300, -1e300], &[1.0, 3.0, 9.0], 1), &EVERYTHING);
        assert_eq!(forward.values, [2.0], "{isa}");
        let tiny = forward_on(isa, &simple(&[1e-300], &[1e-9, 2e-9], &[1.0, 3.0], 1), &EVERYTHING);
        assert_eq!(tiny.values, [2.0], "{isa}");
    }
}

/// 96 queries like keys, whose first numbers are `q` and `k` and all others 0: the keys of a query weigh the same, so that its output is
/// that of all values, 1. Where early queries do not see the last key, that has a value of infinity in one column.
fn alike_keys_weigh_the_same<T: Storage>(keys: usize, [q, k]: [f64; 2], count: usize, hides: bool) {
    let (rows, width) = (96, 32);
    let line = |x: f64| (0..width).map(move |i| T::from_f64(if i < count { x } else { 0.0 }));
    let q: Vec<T> = (0..rows).flat_map(|_| line(q)).collect();
    let k: Vec<T> = (0..keys).flat_map(|_| line(k)).collect();
    let mut v = vec![T::from_f64(1.0); keys * width];
    if hides {
        v[(keys - 1) * width + 5] = T::from_f64(f64::INFINITY);
    }
    let causal = hides.then_some(Causal::Aligned(Alignment::TopLeft));
    let options = Options { scale: Some(1.0), causal, ..Options::default() };
    let view = |data, rows| View::new(data, &[rows, width]).unwrap();
    let problem = Problem::new(view(&q, rows), view(&k, keys), view(&v, keys), options).unwrap();
    let expected = reference::attend(&problem);
    for isa in Isa::available() {
        for request in [Request::default(), Request { lse: true, ..Request::default() }, EVERYTHING] {
            let found = forward_on(isa, &problem, &request);
            assert_eq!(found.statistics.empty_rows, 0, "{isa} {} {keys}", T::DTYPE);
            // A sum of weights may be divided by in two roundings.
            let error = distance(&to_f64(&found.values), &expected.values);
            assert!(error <= 1e-6, "{isa} {} {keys}: {error:e}", T::DTYPE);
        }
    }
}

#[test]
fn scores_that_rounding_moves_by_hundreds_keep_their_weights() {
    // Above 2³¹ the numbers of f32 are 256 apart and more: half of that is more than an exponent holds.
    for (keys, hides) in [(1, false), (20, false), (300, false), (20, true)] {
        for pair in [[98304.0, 98304.0], [98304.0, 73728.0]] {
            alike_keys_weigh_the_same::<bf16>(keys, pair, 1, hides);
            alike_keys_weigh_the_same::<f32>(keys, pair, 1, hides);
        }
        for pair in [[49152.0, 49152.0], [49152.0, 36864.0]] {
            alike_keys_weigh_the_same::<f16>(keys, pair, 4, hides);
            alike_keys_weigh_the_same::<f32>(keys, pair, 4, hides);
        }
    }
}

#[test]
fn a_score_that_overflows_downwards_weighs_nothing_and_very_small_numbers_count() {
    let (rows, keys, width) = (20, 40, 32);
    let (mut q, mut k) = (numbers::<f32>(1, rows * width, 1.0), numbers::<f32>(2, keys * width, 1.0));
    let small = numbers::<f32>(3, keys * width, 1e-33);
    let v = numbers::<f32>(4, keys * width, 1.0);
    for row in 0..rows {
        q[row * width] = 1e4;
    }
    for key in 0..keys {
        k[key * width] = if key == 7 { -1.2e38 } else { 0.0 };
    }
    for (k, v) in [(&k, &v), (&small, &v), (&small, &small)] {
        let view = |data| View::new(data, &[keys, width]).unwrap();
        let q = View::new(&q, &[rows, width]).unwrap();
        let problem = Problem::new(q, view(k), view(v), Options::default()).unwrap();
        let expected = reference::attend(&problem);
        let largest = expected.values.iter().fold(0.0, |max: f64, x| x.abs().max(max));
        for isa in Isa::available() {
            for request in [Request::default(), Request { entropy: true, ..Request::default() }] {
                let found = to_f64(&forward_on(isa, &problem, &request).values);
                let error = distance(&found, &expected.values);
                assert!(error <= 1e-5 * largest, "{isa}: {error:e} of {largest:e}");
            }
        }
    }
}

#[test]
fn many_weights_far_below_the_largest_count_in_full() {
    // Of 4,097 keys one takes nearly all, and has no value; each other weighs 1.3·2⁻²², where f16 has two bits left.
    let (rows, keys) = (32, 4097);
    let q = vec![f16::ONE; rows];
    let mut k = vec![f16::from_f64((1.3f64 * 0.5f64.powi(22)).ln()); keys];
    let mut v = vec![f16::ONE; keys];
    (k[700], v[700]) = (f16::ZERO, f16::ZERO);
    let view = |data| View::new(data, &[keys, 1]).unwrap();
    let q = View::new(&q, &[rows, 1]).unwrap();
    let options = Options { scale: Some(1.0), ..Options::default() };
    let problem = Problem::new(q, view(&k), view(&v), options).unwrap();
    let expected = reference::attend(&problem);
    for isa in Isa::available() {
        for request in [Request::default(), Request { entropy: true, ..Request::default() }] {
            let found = to_f64(&forward_on(isa, &problem, &request).values);
            let error = distance(&found, &expected.values);
            assert!(error <= 1e-3 * expected.values[0], "{isa}: {error:e} of {:e}", expected.values[0]);
        }
    }
}

#[test]
fn any_rectangle_of_the_weights_agrees_with_the_reference() {
    let case = Case::new([2, 4, 2, 30, 50, 8, 3], Ask::Everything);
    let data = Data::<f32>::new(&case);
    let problem = data.problem();
    let steps = reference::steps(&problem);
    let request = Request { lse: true, ..Request::default() };
    let lse = forward_on(Isa::detected(), &problem, &request).statistics.lse.unwrap();
    let rectangle = weights(&problem, &lse, [1, 3], 5..20, 10..50).unwrap();
    for (r, row) in rectangle.chunks(40).enumerate() {
        let expected = &steps.weights[((4 + 3) * 30 + 5 + r) * 50 + 10..][..40];
        assert!(distance(row, expected) < 1e-5);
    }
    assert!(weights(&problem, &lse, [1, 3], 5..5, 10..10).unwrap().is_empty());
    let refused = weights(&problem, &lse, [1, 3], 0..31, 0..1).unwrap_err();
    assert_eq!(refused.to_string(), "attention: `rows` is 0..31; expected a range within 0..30");
    assert!(matches!(weights(&problem, &[], [0, 0], 0..1, 0..1), Err(AttentionError::Count { .. })));
    assert!(weights(&problem, &lse, [2, 0], 0..1, 0..1).is_err());
}

#[test]
fn an_output_of_the_wrong_length_is_refused() {
    let problem = simple(&[1.0], &[1.0], &[1.0], 1);
    let error = forward_into(&problem, &Request::default(), &mut [0.0, 0.0]).unwrap_err();
    assert_eq!(error.to_string(), "attention: `out` has 2 elements; expected 1, B·H·N·E");
}

#[test]
fn stopped_work_ends_without_a_result_and_without_a_panic() {
    let x = numbers::<f32>(1, 2 * 600 * 16, 1.0);
    let view = View::new(&x, &[1, 2, 600, 16]).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(true);
    let problem =
        Problem::new(view, view, view, Options { stop: Some(&stop), ..Options::default() }).unwrap();
    for request in [Request::default(), EVERYTHING] {
        let found = forward_on(Isa::detected(), &problem, &request);
        assert!(found.values.iter().all(|&value| value.is_nan())); // as it began
    }
    let lse = vec![0.0; 2 * 600];
    let found = crate::backward(&problem, &crate::Upstream { output: view, lse: &lse, grad: view }).unwrap();
    assert!(found.k.iter().all(|&value| value == 0.0));
    // The same once nobody wants it to end.
    stop.store(false, std::sync::atomic::Ordering::Relaxed);
    let plain = Problem::new(view, view, view, Options::default()).unwrap();
    let request = Request::default();
    assert_eq!(
        forward_on(Isa::detected(), &problem, &request),
        forward_on(Isa::detected(), &plain, &request)
    );
}

#[test]
fn scores_are_those_of_the_reference() {
    let case = Case::new([2, 4, 2, 9, 12, 8, 8], Ask::Causal(Alignment::BottomRight));
    let data = Data::<f32>::new(&case);
    let problem = data.problem();
    let steps = reference::steps(&problem);
    let found = crate::scores(&problem, [1, 3], 2..7, 4..12).unwrap();
    for (row, line) in found.chunks(8).enumerate() {
        let first = ((4 + 3) * 9 + row + 2) * 12 + 4;
        assert_eq!(line, &steps.scores[first..first + 8]);
    }
    assert!(matches!(crate::scores(&problem, [2, 0], 0..1, 0..1), Err(AttentionError::Range { .. })));
}

#[test]
fn values_without_width_give_outputs_without_width() {
    let numbers = [0.5f32; 40];
    for (n, m) in [(1, 1), (1, 20), (9, 1), (9, 3), (9, 20)] {
        let q = View::new(&numbers[..2 * n], &[n, 2]).unwrap();
        let k = View::new(&numbers[..2 * m], &[m, 2]).unwrap();
        let problem = Problem::new(q, k, View::new(&[], &[m, 0]).unwrap(), Options::default()).unwrap();
        let found = forward_on(Isa::detected(), &problem, &Request { lse: true, ..Request::default() });
        assert!(found.values.is_empty());
        // Each score is ½·½·2/√2.
        let lse = 0.5 / 2f64.sqrt() + (m as f64).ln();
        assert!(found.statistics.lse.unwrap().iter().all(|x| (x - lse).abs() < 1e-6), "{n} {m}");
    }
}

#[test]
fn a_head_is_decoded_to_the_same_bits_alone_and_among_many() {
    // Three runs of keys, which two threads share for one head and one thread takes one after another where heads are many.
    decoded_alike(33, 3100, 8, None);
    // Many heads are taken to come from memory, one from a cache: keys and values are read in turn, or by long loops.
    for width in [128, 40, 64, 256] {
        decoded_alike(33, 30, width, None);
    }
    // A window whose first key is not the first of a group.
    decoded_alike(33, 61, 64, Some(Window { left: Some(50), right: None, alignment: None }));
}

fn decoded_alike(heads: usize, m: usize, width: usize, window: Option<Window>) {
    let q = numbers::<f32>(1, heads * width, 1.0);
    let (k, v) = (numbers::<f32>(2, heads * m * width, 1.0), numbers::<f32>(3, heads * m * width, 1.0));
    let view = |data, rows| View::new(data, &[1, heads, rows, width]).unwrap();
    let (q, k, v) = (view(&q, 1), view(&k, m), view(&v, m));
    let request = Request { lse: true, ..Request::default() };
    let options =
        || Options { window, causal: Some(Causal::Aligned(Alignment::BottomRight)), ..Options::default() };
    for isa in Isa::available() {
        let many = forward_on(isa, &Problem::new(q, k, v, options()).unwrap(), &request);
        for head in [0, 17, heads - 1] {
            let [q, k, v] = [q, k, v].map(|view| view.narrowed(1, head..head + 1).unwrap());
            let one = forward_on(isa, &Problem::new(q, k, v, options()).unwrap(), &request);
            assert!(same_bits(&one.values, &many.values[head * width..][..width]), "{isa} {width} {head}");
            assert_eq!(one.statistics.lse.unwrap()[0], many.statistics.lse.as_ref().unwrap()[head]);
        }
    }
}
