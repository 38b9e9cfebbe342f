//! More columns than rows, by the Gram matrix of the rows.

use super::traps::random;
use crate::fit::least_squares::{LeastSquares, LinearFit, Method};
use spanwise_kernels::Matrix;

fn values(model: &LinearFit) -> Vec<f64> {
    model.target().coefficients.iter().map(|c| c.value).collect()
}

/// Every target is met, and w lies in the span of the (centred) rows.
fn check(x: &Matrix, y: &[f64], intercept: bool, rank: usize, tolerance: f64) {
    let model = LeastSquares::new().intercept(intercept).fit(&x.view(), y).unwrap();
    assert_eq!((model.method(), model.rank().rank), (Method::Dual, rank));
    let fitted = model.predict(&x.view()).unwrap();
    for (i, y) in y.iter().enumerate() {
        assert!((fitted[(i, 0)] - y).abs() < tolerance, "{} {y}", fitted[(i, 0)]);
    }
    let (n, d) = (x.rows(), x.cols());
    let mean = |j: usize| if intercept { (0..n).map(|i| x[(i, j)]).sum::<f64>() / n as f64 } else { 0.0 };
    let means: Vec<f64> = (0..d).map(mean).collect();
    let rows = Matrix::from_fn(d, n, |j, i| x[(i, j)] - means[j]);
    let w = values(&model);
    let inside = LeastSquares::new().intercept(false).fit(&rows.view(), &w[..]).unwrap();
    let outside = inside.target().residual_squares.sqrt();
    assert!(outside < tolerance, "{outside} outside the rows");
}

fn table(n: usize, d: usize, offset: f64) -> (Matrix, Vec<f64>) {
    let mut next = random((n + d) as u64);
    let x = Matrix::from_fn(n, d, |_, j| next() + offset * (j % 3) as f64);
    let y = (0..n).map(|_| next()).collect();
    (x, y)
}

#[test]
fn targets_are_met_with_the_smallest_coefficients() {
    for (n, d) in [(1, 600), (7, 600), (40, 700), (200, 520)] {
        let (x, y) = table(n, d, 0.0);
        check(&x, &y, true, n, 1e-11);
        check(&x, &y, false, n, 1e-11);
    }
}

#[test]
fn offsets_far_from_zero_do_not_cancel() {
    let (x, y) = table(30, 600, 1e6);
    // Predicting itself rounds at 1e6 · u.
    check(&x, &y, true, 30, 1e-9);
}

#[test]
fn a_square_table_with_an_intercept_is_met() {
    let (x, y) = table(530, 530, 0.0);
    let model = LeastSquares::new().fit(&x.view(), &y[..]).unwrap();
    let fitted = model.predict(&x.view()).unwrap();
    assert!(y.iter().enumerate().all(|(i, y)| (fitted[(i, 0)] - y).abs() < 1e-9));
}

#[test]
fn repeated_rows_are_averaged() {
    let (mut x, mut y) = table(20, 600, 0.0);
    for j in 0..600 {
        x[(19, j)] = x[(0, j)];
    }
    y[0] = 1.0;
    y[19] = 2.0;
    let model = LeastSquares::new().fit(&x.view(), &y[..]).unwrap();
    assert_eq!(model.rank().rank, 19);
    let fitted = model.predict(&x.view()).unwrap();
    assert!((fitted[(0, 0)] - 1.5).abs() < 1e-11 && (fitted[(19, 0)] - 1.5).abs() < 1e-11);
    assert!((1..19).all(|i| (fitted[(i, 0)] - y[i]).abs() < 1e-11));
    assert!((model.target().residual_squares - 0.5).abs() < 1e-11);
}

#[test]
fn equal_rows_leave_the_intercept_alone() {
    let x = Matrix::from_fn(4, 600, |_, j| j as f64);
    let model = LeastSquares::new().fit(&x.view(), &[1.0, 2.0, 3.0, 6.0][..]).unwrap();
    assert_eq!(model.rank().rank, 1);
    assert!(values(&model).iter().all(|&w| w.abs() < 1e-12));
    assert!((model.target().intercept.unwrap().value - 3.0).abs() < 1e-9);
}

#[test]
fn digits_claimed_are_digits_had() {
    // Against the same problem with the rows in another order: both round differently.
    let (x, y) = table(60, 700, 0.0);
    let model = LeastSquares::new().fit(&x.view(), &y[..]).unwrap();
    let backwards = Matrix::from_fn(60, 700, |i, j| x[(59 - i, j)]);
    let y: Vec<f64> = y.into_iter().rev().collect();
    let other = LeastSquares::new().fit(&backwards.view(), &y[..]).unwrap();
    for (a, b) in model.target().coefficients.iter().zip(&other.target().coefficients) {
        let had = -((a.value - b.value) / a.value).abs().max(1e-17).log10();
        assert!(a.computed_digits.min(b.computed_digits) - 0.31 <= had, "{a:?} {b:?}");
    }
}

#[test]
fn the_rank_of_a_wide_table_has_a_band_around_it() {
    // The last row is the first but for a part of 1e-12: kept by a tight tolerance, dropped by a loose one.
    let (mut x, y) = table(20, 600, 0.0);
    for j in 0..600 {
        x[(19, j)] = x[(0, j)] * (1.0 + if j % 2 == 0 { 1e-12 } else { -1e-12 });
    }
    let rank = |tolerance: f64| {
        let model = LeastSquares::new().tolerance(tolerance).fit(&x.view(), &y[..]).unwrap();
        model.rank().clone()
    };
    let (tight, loose) = (rank(1e-14), rank(1e-9));
    assert_eq!((tight.rank, tight.rank_if_looser), (20, 19));
    assert_eq!((loose.rank, loose.rank_if_looser), (19, 19));
    assert!(tight.would_change() && loose.largest_dropped < 1e-9 && loose.smallest_kept > 1e-3);
    let clear = rank(1e-6);
    assert!(!clear.would_change() && clear.smallest_kept > 1e-3);
}

#[test]
fn an_ill_conditioned_square_table_is_met_all_the_same() {
    // Scales from 1 to 0.03 on top of a square table's own condition: K is worse than 1e9, and refinement mends that.
    let n = 520;
    let (a, _) = table(n, n, 0.0);
    let scale = |j: usize| 10.0_f64.powf(-1.5 * j as f64 / (n - 1) as f64);
    let scaled = Matrix::from_fn(n, n, |i, j| a[(i, j)] * scale(j));
    let truth: Vec<f64> = (0..n).map(|j| ((j * 13 % 17) as f64 - 8.0) / 4.0).collect();
    let y: Vec<f64> = (0..n).map(|i| scaled.row(i).iter().zip(&truth).map(|(x, w)| x * w).sum()).collect();
    let model = LeastSquares::new().intercept(false).fit(&scaled.view(), &y[..]).unwrap();
    assert_eq!((model.method(), model.rank().rank), (Method::Dual, n));
    assert!(model.target().residual_squares < 1e-16 * y.iter().map(|y| y * y).sum::<f64>());
    for (found, truth) in model.target().coefficients.iter().zip(&truth) {
        assert!((found.value - truth).abs() < 1e-6, "{} {truth}", found.value);
    }
}

#[test]
fn threads_do_not_change_a_bit_of_a_wide_fit() {
    let (x, y) = table(300, 700, 1.0);
    let on = |threads: usize| {
        spanwise_kernels::crew::with_exactly(threads, || {
            values(&LeastSquares::new().fit(&x.view(), &y[..]).unwrap())
        })
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn copies_in_other_units_and_constants_are_named() {
    let names: Vec<String> = (0..700).map(|j| format!("x{j}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (offset, rows) in [(0.0, 40), (3.0, 40), (1e4, 300), (0.0, 3)] {
        let (mut x, y) = table(rows, 700, offset);
        for i in 0..rows {
            x[(i, 300)] = 2.0 * x[(i, 7)] - 5.0;
            x[(i, 301)] = x[(i, 7)];
            x[(i, 600)] = -x[(i, 8)] / 4.0;
            x[(i, 601)] = 2.5;
            x[(i, 602)] = 0.0;
            // Near is not alike.
            x[(i, 603)] = x[(i, 9)] * (1.0 + 1e-6 * (i % 2) as f64);
        }
        let said = |intercept: bool| -> Vec<String> {
            let fit = LeastSquares::new().intercept(intercept).fit(&x.view(), &y[..]).unwrap();
            assert_eq!(fit.method(), Method::Dual);
            fit.dependencies().iter().map(|found| found.formula(&names)).collect()
        };
        let with = ["x300 = 2·x7 - 5", "x301 = x7", "x600 = -0.25·x8", "x601 = 2.5", "x602 = 0"];
        assert_eq!(said(true), with, "{offset} {rows}");
        // Without an intercept a shifted copy is another column, and so is a constant.
        assert_eq!(said(false), ["x301 = x7", "x600 = -0.25·x8", "x602 = 0"], "{offset} {rows}");
    }
    let (x, y) = table(2, 600, 0.0);
    assert!(LeastSquares::new().fit(&x.view(), &y[..]).unwrap().dependencies().is_empty());
}
