//! Summaries: pieces, merges, bytes, extremes.

use super::{CsrRows, Summary, SummaryStream};
use crate::{BytesFault, Extent, LeastSquares, LinearError, LinearFit};
use spanwise_kernels::{Matrix, View};

fn table(n: usize, d: usize, seed: u64) -> (Matrix, Vec<f64>) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let x = Matrix::from_fn(n, d, |_, j| next() + j as f64);
    let y = (0..n).map(|_| next()).collect();
    (x, y)
}

fn part(x: &Matrix, y: &[f64], rows: std::ops::Range<usize>) -> Summary {
    let part = Matrix::from_fn(rows.len(), x.cols(), |i, j| x[(rows.start + i, j)]);
    Summary::of(&part.view(), &y[rows], None).unwrap()
}

fn values(model: &LinearFit) -> Vec<f64> {
    let target = model.target();
    target.coefficients.iter().chain(&target.intercept).map(|c| c.value).collect()
}

#[test]
fn one_seven_and_sixty_four_summaries_in_any_order_agree() {
    let (mut x, y) = table(6400, 6, 1);
    for i in 0..6400 {
        x[(i, 5)] = x[(i, 4)] + 2.0;
    }
    let whole = LeastSquares::new().fit(&x.view(), &y[..]).unwrap();
    for pieces in [1, 7, 64] {
        let parts: Vec<Summary> =
            (0..pieces).map(|c| part(&x, &y, c * 6400 / pieces..(c + 1) * 6400 / pieces)).collect();
        let forward: Vec<usize> = (0..pieces).collect();
        let backward: Vec<usize> = (0..pieces).rev().collect();
        let scattered: Vec<usize> = (0..pieces).map(|c| c * 5 % pieces).collect();
        for order in [forward, backward, scattered] {
            let mut all = Summary::new(6, 1);
            for &c in &order {
                all.merge(&parts[c]).unwrap();
            }
            let model = LeastSquares::new().fit_summary(&all).unwrap();
            assert_eq!(model.rank().rank, whole.rank().rank);
            assert_eq!(model.dependencies()[0].formula(&[]), "x[5] = x[4] + 2");
            for (a, b) in values(&model).iter().zip(values(&whole)) {
                assert!((a - b).abs() <= 1e-12 * b.abs().max(1e-2), "{pieces}: {a} {b}");
            }
        }
    }
}

#[test]
fn a_tree_of_merges_is_as_good_as_a_chain() {
    let (x, y) = table(800, 4, 2);
    let parts: Vec<Summary> = (0..8).map(|c| part(&x, &y, c * 100..(c + 1) * 100)).collect();
    let mut chain = Summary::new(4, 1);
    for p in &parts {
        chain.merge(p).unwrap();
    }
    let mut level = parts;
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| {
                let mut merged = pair[1].clone();
                merged.merge(&pair[0]).unwrap();
                merged
            })
            .collect();
    }
    assert_eq!((chain.rows(), level[0].rows()), (800, 800));
    for j in 0..5 {
        assert!((chain.mean(j) - level[0].mean(j)).abs() < 1e-14);
        assert!((chain.centred_norm(j) / level[0].centred_norm(j) - 1.0).abs() < 1e-13);
        assert!((chain.norm(j) / level[0].norm(j) - 1.0).abs() < 1e-13);
    }
}

#[test]
fn a_stream_of_many_batches_rounds_less_than_a_chain() {
    // Far from zero, so that the intercept shows what the means have lost.
    let (n, batch) = (40_000, 20);
    let rows = |c: usize| -> (Vec<f64>, Vec<f64>) {
        let t = |i: usize| (((c * batch + i) * 7919 % 10_007) as f64 / 10_007.0).sqrt();
        let x: Vec<f64> = (0..batch).flat_map(|i| [1e5 + 1e3 * t(i), 50.0 + t(3 * i + 1)]).collect();
        let y = (0..batch).map(|i| 1.0 + 1e-3 * x[2 * i] - x[2 * i + 1] + 0.1 * t(5 * i + 2)).collect();
        (x, y)
    };
    let (mut stream, mut chain) = (SummaryStream::new(2, 1), Summary::new(2, 1));
    let (mut all_x, mut all_y) = (Vec::new(), Vec::new());
    for c in 0..n / batch {
        let (x, y) = rows(c);
        let view = View::new(&x, &[batch, 2]).unwrap();
        stream.push(&view, &y[..], None).unwrap();
        chain.push(&view, &y[..], None).unwrap();
        all_x.extend(x);
        all_y.extend(y);
    }
    assert_eq!((stream.rows(), stream.finish().rows()), (n as u64, n as u64));
    let whole = LeastSquares::new().fit(&View::new(&all_x, &[n, 2]).unwrap(), &all_y[..]).unwrap();
    let error = |summary: &Summary| {
        let model = LeastSquares::new().fit_summary(summary).unwrap();
        assert_eq!(model.rank().rank, whole.rank().rank);
        let pairs = values(&model).into_iter().zip(values(&whole));
        pairs.map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max)
    };
    let (tree, chain) = (error(&stream.finish()), error(&chain));
    assert!(tree < 1e-12 && tree <= chain, "{tree:e} {chain:e}");
    assert_eq!(SummaryStream::new(2, 1).finish(), Summary::new(2, 1));
}

#[test]
fn means_and_norms_are_those_of_the_weighted_rows() {
    let x = View::new(&[1.0, 10.0, 3.0, 30.0], &[2, 2]).unwrap();
    let summary = Summary::of(&x, &[5.0, 9.0][..], Some(&[1.0, 3.0])).unwrap();
    assert_eq!(summary.weight_sum(), 4.0);
    assert!((summary.mean(0) - 2.5).abs() < 1e-15 && (summary.mean(1) - 25.0).abs() < 1e-14);
    assert!((summary.mean(2) - 8.0).abs() < 1e-15);
    assert!((summary.centred_norm(0) - 3f64.sqrt()).abs() < 1e-14);
    assert!((summary.norm(0) - 28f64.sqrt()).abs() < 1e-14);
}

#[test]
fn rows_of_weight_zero_are_counted_and_nothing_else() {
    let (x, y) = table(10, 2, 3);
    let mut weights = vec![1.0; 10];
    weights[4] = 0.0;
    let mut spoiled = x.clone();
    spoiled[(4, 0)] = f64::NAN;
    let with = Summary::of(&spoiled.view(), &y[..], Some(&weights)).unwrap();
    assert_eq!((with.rows(), with.zero_weight_rows()), (9, 1));
    let mut none = Summary::new(2, 1);
    none.push(&x.view(), &y[..], Some(&[0.0; 10])).unwrap();
    assert_eq!((none.rows(), none.zero_weight_rows()), (0, 10));
    none.merge(&with).unwrap();
    assert_eq!((none.rows(), none.zero_weight_rows()), (9, 11));
}

#[test]
fn bytes_come_back_as_the_same_summary() {
    let (x, y) = table(50, 3, 4);
    let summary = Summary::of(&x.view(), &y[..], None).unwrap();
    assert_eq!(Summary::from_bytes(&summary.to_bytes()).unwrap(), summary);
    let empty = Summary::new(0, 0);
    assert_eq!(Summary::from_bytes(&empty.to_bytes()).unwrap(), empty);
}

#[test]
fn damaged_bytes_are_an_error_wherever_the_damage_is() {
    let (x, y) = table(20, 2, 5);
    let bytes = Summary::of(&x.view(), &y[..], None).unwrap().to_bytes();
    for i in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[i] ^= 0x40;
        assert!(Summary::from_bytes(&damaged).is_err(), "byte {i}");
        assert!(Summary::from_bytes(&bytes[..i]).is_err(), "{i} bytes");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(matches!(
        Summary::from_bytes(&longer),
        Err(LinearError::Bytes { fault: BytesFault::Length { .. } })
    ));
    for version in [1, 9] {
        let mut other = bytes.clone();
        other[8] = version;
        let error = Summary::from_bytes(&other).unwrap_err();
        let expected =
            format!("summary: the bytes have format version {version}; this program reads version 2");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_header_that_claims_a_huge_table_allocates_nothing() {
    let mut bytes = Summary::new(1, 1).to_bytes();
    bytes[12..20].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(Summary::from_bytes(&bytes).is_err());
    bytes[12..20].copy_from_slice(&(1u64 << 30).to_le_bytes());
    assert!(Summary::from_bytes(&bytes).is_err());
}

#[test]
fn summaries_of_different_tables_do_not_merge() {
    let error = Summary::new(2, 1).merge(&Summary::new(3, 1)).unwrap_err();
    assert_eq!(error.to_string(), "merge: one summary has 2 columns, the other 3; they must be equal");
    let (x, _) = table(3, 2, 6);
    let error = Summary::new(3, 1).push(&x.view(), &[0.0; 3][..], None).unwrap_err();
    assert!(matches!(error, LinearError::Mismatch { argument: "X", found: Extent::Columns(2), .. }));
}

#[test]
fn extreme_scales_that_appear_late_are_merged_without_overflow() {
    let (x, y) = table(40, 2, 7);
    let big = Matrix::from_fn(40, 2, |i, j| x[(i, j)] * if j == 0 { 1e180 } else { 1e-180 });
    let mut all = Summary::of(&x.view(), &y[..], None).unwrap();
    all.push(&big.view(), &y[..], None).unwrap();
    assert!(all.triangle().as_slice().iter().all(|v| v.is_finite()));
    assert!((all.norm(0) / crate::small::norm(&big.col(0)) - 1.0).abs() < 1e-12);
    assert!((all.norm(1) / crate::small::norm(&x.col(1)) - 1.0).abs() < 1e-12);
}

#[test]
fn a_stream_tells_where_a_number_is_not_finite() {
    let mut all = Summary::new(1, 1);
    let x = View::new(&[1.0, f64::INFINITY], &[2, 1]).unwrap();
    let error = all.push(&x, &[0.0, 0.0][..], None).unwrap_err();
    assert_eq!(error.to_string(), "summary: `X` holds inf at row 1, column 0; expected finite numbers");
    assert_eq!(all.rows(), 0);
}

#[test]
fn sparse_rows_must_be_well_formed() {
    assert!(CsrRows::new(2, &[0, 2], &[0, 1], &[1.0]).is_err());
    assert!(CsrRows::new(2, &[], &[], &[]).is_err());
    assert!(CsrRows::new(2, &[0, 3], &[0, 1], &[1.0, 2.0]).is_err());
    assert!(CsrRows::new(2, &[0, 2, 1], &[0, 1], &[1.0, 2.0]).is_err());
    assert!(CsrRows::new(2, &[0, 1], &[2], &[1.0]).is_err());
}

#[test]
fn a_summary_of_weighted_rows_has_the_likelihood_of_the_rows() {
    let (x, y) = ([1.0, 2.0, 3.0, 4.0, 6.0], [1.0, 3.0, 2.0, 5.0, 4.0]);
    let weights = [1.0, 2.0, 3.0, 0.25, 5.0];
    let all = View::new(&x, &[5, 1]).unwrap();
    let rows = LeastSquares::new().fit_weighted(&all, &y[..], &weights).unwrap().statistics(0).unwrap();
    let mut parts = Summary::of(&View::new(&x[..2], &[2, 1]).unwrap(), &y[..2], Some(&weights[..2])).unwrap();
    let rest = Summary::of(&View::new(&x[2..], &[3, 1]).unwrap(), &y[2..], Some(&weights[2..])).unwrap();
    parts.merge(&Summary::from_bytes(&rest.to_bytes()).unwrap()).unwrap();
    let found = LeastSquares::new().fit_summary(&parts).unwrap().statistics(0).unwrap();
    for (found, expected) in
        [(found.log_likelihood, rows.log_likelihood), (found.aic, rows.aic), (found.bic, rows.bic)]
    {
        assert!((found / expected - 1.0).abs() < 1e-13, "{found} {expected}");
    }
}

#[test]
fn rows_in_which_a_tiny_column_is_zero_leave_it_its_digits() {
    let (x, y) = table(40, 2, 7);
    let tiny = Matrix::from_fn(40, 2, |i, j| x[(i, j)] * if j == 0 { 1.0 } else { 1e-200 });
    let zero = Matrix::from_fn(40, 2, |i, j| x[(i, j)] * if j == 0 { 1.0 } else { 0.0 });
    let fit = |first: &Matrix, second: &Matrix| {
        let mut all = Summary::of(&first.view(), &y[..], None).unwrap();
        all.push(&second.view(), &y[..], None).unwrap();
        LeastSquares::new().fit_summary(&all).unwrap()
    };
    for (a, b) in [(&tiny, &zero), (&zero, &tiny)] {
        let plain = Matrix::from_fn(40, 2, |i, j| b[(i, j)] * if j == 0 { 1.0 } else { 1e200 });
        let other = Matrix::from_fn(40, 2, |i, j| a[(i, j)] * if j == 0 { 1.0 } else { 1e200 });
        let [found, expected] = [values(&fit(a, b)), values(&fit(&other, &plain))];
        let close = |j: usize, unit: f64| (found[j] * unit / expected[j] - 1.0).abs() < 1e-9;
        assert!(found.len() == expected.len() && (0..found.len()).all(|j| close(j, 1.0) || close(j, 1e-200)));
    }
}
