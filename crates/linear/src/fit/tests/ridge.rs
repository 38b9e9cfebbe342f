//! Literals from scikit-learn 1.9: `Ridge(alpha, solver="svd").fit(X, y)`, `solver="cholesky"` with `sample_weight`, and
//! `RidgeCV(alphas, store_cv_results=True)` for leave-one-out errors, on the formulas of `example` below.

use super::*;
use crate::Seeded;
use crate::fit::{RidgeMethod, RidgePath};

fn example() -> (Vec<f64>, Vec<f64>) {
    let x =
        (0..12).flat_map(|i| (0..3).map(move |j| f64::from((i * 7 + j * 3) % 11 - 5) + 0.1 * f64::from(i)));
    let y = (0..12).map(|i| f64::from((i * 5) % 13 - 2) + 0.3 * f64::from(i));
    (x.collect(), y.collect())
}

/// Noisy linear data, columns of unlike offsets.
fn data(n: usize, p: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Seeded::new(seed);
    let x: Vec<f64> = (0..n * p).map(|at| random.normal() + (at % p) as f64).collect();
    let y = x.chunks(p).map(|row| row.iter().sum::<f64>() * 0.5 + 3.0 + random.normal()).collect();
    (x, y)
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    let scale = expected.iter().fold(1e-300_f64, |m, v| m.max(v.abs()));
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= tolerance * scale, "{found:?} against {expected:?}");
    }
}

#[test]
fn coefficients_agree_with_scikit_learn() {
    let (x, y) = example();
    let x = View::new(&x, &[12, 3]).unwrap();
    for (alpha, b, w) in [
        (
            0.1,
            4.650_623_124_615_685,
            [0.470_608_920_216_995_7, 0.800_575_211_719_851_7, 0.731_171_349_783_324_3],
        ),
        (
            1.0,
            4.664_475_323_558_436,
            [0.460_293_450_768_376_97, 0.789_587_642_056_829_1, 0.718_121_505_606_309],
        ),
        (
            10.0,
            4.780_669_432_148_643,
            [0.375_198_452_910_698_4, 0.695_792_807_069_039_1, 0.609_342_418_031_788_2],
        ),
    ] {
        let fit = Ridge::new(alpha).fit(x, &y).unwrap();
        close(&[fit.intercept], &[b], 1e-13);
        close(&fit.coefficients, &w, 1e-13);
    }
    let weights: Vec<f64> = (0..12).map(|i| f64::from(1 + i % 3)).collect();
    let fit = Ridge::new(2.0).fit_weighted(x, &y, &weights).unwrap();
    close(&[fit.intercept], &[4.858_127_178_958_131_5], 1e-13);
    close(
        &fit.coefficients,
        &[0.424_866_808_103_595_6, 0.790_269_164_257_748_6, 0.758_634_351_039_125_7],
        1e-13,
    );
    let fit = Ridge { alpha: 2.0, intercept: false }.fit(x, &y).unwrap();
    assert_eq!(fit.intercept, 0.0);
    close(
        &fit.coefficients,
        &[0.753_586_613_892_477_6, 1.104_217_499_574_849_7, 1.192_904_597_899_956],
        1e-13,
    );
}

#[test]
fn more_columns_than_rows_agree_with_scikit_learn() {
    let (x, y) = example();
    let fit = Ridge::new(2.0).fit(View::new(&x[..6], &[2, 3]).unwrap(), &y[..2]).unwrap();
    close(&[fit.intercept], &[0.455_052_903_440_806_57], 1e-13);
    close(
        &fit.coefficients,
        &[0.313_504_957_094_059_8, 0.313_504_957_094_059_73, -0.172_206_948_262_934_23],
        1e-13,
    );
}

/// `Zᵀ(t − Zw) − αw`, which is 0 at the optimum.
fn gradient(x: &[f64], y: &[f64], weights: &[f64], p: usize, fit: &RidgeFit) -> Vec<f64> {
    let mut g: Vec<f64> = fit.coefficients.iter().map(|w| -fit.alpha * w).collect();
    for ((row, y), omega) in x.chunks(p).zip(y).zip(weights) {
        let residual = y - fit.intercept - row.iter().zip(&fit.coefficients).map(|(x, w)| x * w).sum::<f64>();
        g.iter_mut().zip(row).for_each(|(g, x)| *g += omega * residual * x);
    }
    g
}

#[test]
fn the_gradient_is_zero_at_the_optimum_for_every_shape() {
    for (n, p) in [(300, 4), (40, 40), (10, 30), (900, 330), (5, 1), (1, 3)] {
        let (x, y) = data(n, p, (n + p) as u64);
        let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 4) as f64).collect();
        let fit = Ridge::new(0.7).fit_weighted(View::new(&x, &[n, p]).unwrap(), &y, &weights).unwrap();
        let scale = x.iter().map(|x| x * x).sum::<f64>();
        for g in gradient(&x, &y, &weights, p, &fit) {
            assert!(g.abs() < 1e-11 * scale, "{n} × {p}: {g:e}");
        }
    }
}

#[test]
fn a_path_equals_single_fits() {
    for (n, p) in [(200, 6), (8, 20), (60, 1), (500, 90)] {
        let (x, y) = data(n, p, 5);
        let x = View::new(&x, &[n, p]).unwrap();
        let path = RidgePath::logarithmic(1e-3, 1e4, 9).unwrap();
        for (fit, &alpha) in path.fit(x, &y).unwrap().iter().zip(&path.alphas) {
            let single = Ridge::new(alpha).fit(x, &y).unwrap();
            close(&fit.coefficients, &single.coefficients, 1e-9);
            close(&[fit.intercept], &[single.intercept], 1e-9);
            close(&[fit.residual_sum_of_squares], &[single.residual_sum_of_squares], 1e-8);
            if let (Some(a), Some(b)) = (fit.degrees_of_freedom, single.degrees_of_freedom) {
                close(&[a], &[b], 1e-9);
            }
        }
    }
}

#[test]
fn a_vanishing_penalty_gives_least_squares_and_full_degrees_of_freedom() {
    // y = 1 + 2a − 3b exactly.
    let x = [1.0, 2.0, 2.0, 1.0, 3.0, 5.0, 4.0, 1.0, 5.0, 2.0];
    let y: Vec<f64> = x.chunks(2).map(|row| 1.0 + 2.0 * row[0] - 3.0 * row[1]).collect();
    let fit = Ridge::new(0.0).fit(View::new(&x, &[5, 2]).unwrap(), &y).unwrap();
    close(&fit.coefficients, &[2.0, -3.0], 1e-13);
    close(&[fit.intercept], &[1.0], 1e-12);
    close(&[fit.degrees_of_freedom.unwrap(), fit.r_squared], &[3.0, 1.0], 1e-12);
}

#[test]
fn dependent_columns_without_penalty_give_the_solution_of_least_norm() {
    // The second column is twice the first: (1, 2) shares the slope 5 as 1 : 2.
    let x = [1.0, 2.0, 2.0, 4.0, 3.0, 6.0, 5.0, 10.0];
    let y = [5.0, 10.0, 15.0, 25.0];
    let fit = Ridge::new(0.0).fit(View::new(&x, &[4, 2]).unwrap(), &y).unwrap();
    assert_eq!(fit.method, RidgeMethod::Singular);
    close(&fit.coefficients, &[1.0, 2.0], 1e-12);
    // More columns than rows, no penalty: interpolation of least norm; its norm is below that of any other.
    let (x, y) = data(6, 15, 3);
    let view = View::new(&x, &[6, 15]).unwrap();
    let fit = Ridge::new(0.0).fit(view, &y).unwrap();
    close(&fit.predict(view).unwrap(), &y, 1e-10);
    let limit = Ridge::new(1e-7).fit(view, &y).unwrap();
    close(&fit.coefficients, &limit.coefficients, 1e-6);
}

#[test]
fn columns_of_unlike_scales_and_near_dependence_keep_their_digits() {
    // Columns of size 1e-12 and 1e12; the penalty is far below both squares.
    let mut random = Seeded::new(9);
    let rows: Vec<[f64; 2]> = (0..100).map(|_| [random.normal() * 1e-12, random.normal() * 1e12]).collect();
    let y: Vec<f64> = rows.iter().map(|r| 2e12 * r[0] + 3e-12 * r[1] + 1.0).collect();
    let x: Vec<f64> = rows.concat();
    let fit = Ridge::new(0.0).fit(View::new(&x, &[100, 2]).unwrap(), &y).unwrap();
    assert!((fit.coefficients[0] / 2e12 - 1.0).abs() < 1e-10);
    assert!((fit.coefficients[1] / 3e-12 - 1.0).abs() < 1e-10);
    // b differs from a by one part in 1e5: squares alone would keep six digits.
    let a: Vec<f64> = (0..200).map(|_| random.normal()).collect();
    let x: Vec<f64> = a.iter().flat_map(|a| [*a, a + 1e-5 * random.normal()]).collect();
    let y: Vec<f64> = x.chunks(2).map(|row| row[0] + 2.0 * row[1]).collect();
    let fit = Ridge::new(0.0).fit(View::new(&x, &[200, 2]).unwrap(), &y).unwrap();
    assert_ne!(fit.method, RidgeMethod::Moments);
    close(&fit.coefficients, &[1.0, 2.0], 1e-9);
}

#[test]
fn order_of_rows_weightless_rows_storage_and_layout_change_nothing() {
    let (x, y) = data(400, 5, 11);
    let plain = Ridge::new(1.5).fit(View::new(&x, &[400, 5]).unwrap(), &y).unwrap();
    let order = Seeded::new(2).permutation(400);
    let x_mixed: Vec<f64> = order.iter().flat_map(|&i| x[i * 5..i * 5 + 5].to_vec()).collect();
    let y_mixed: Vec<f64> = order.iter().map(|&i| y[i]).collect();
    let mixed = Ridge::new(1.5).fit(View::new(&x_mixed, &[400, 5]).unwrap(), &y_mixed).unwrap();
    close(&mixed.coefficients, &plain.coefficients, 1e-12);
    // The last 100 rows replaced by nonsense of weight 0.
    let mut x_padded = x[..1500].to_vec();
    x_padded.resize(2000, 1e6);
    let mut y_padded = y[..300].to_vec();
    y_padded.resize(400, -7.0);
    let weights: Vec<f64> = (0..400).map(|i| if i < 300 { 1.0 } else { 0.0 }).collect();
    let short = Ridge::new(1.5).fit(View::new(&x[..1500], &[300, 5]).unwrap(), &y[..300]).unwrap();
    let padded =
        Ridge::new(1.5).fit_weighted(View::new(&x_padded, &[400, 5]).unwrap(), &y_padded, &weights).unwrap();
    close(&padded.coefficients, &short.coefficients, 1e-8);
    // Column-major memory, every other element, and f32.
    let by_columns: Vec<f64> =
        (0..5).flat_map(|j| (0..400).map(move |i| (i, j))).map(|(i, j)| x[i * 5 + j]).collect();
    let columns = View::new(&by_columns, &[5, 400]).unwrap().transposed();
    close(&Ridge::new(1.5).fit(columns, &y).unwrap().coefficients, &plain.coefficients, 1e-13);
    let gaps: Vec<f64> = x.iter().flat_map(|v| [*v, f64::NAN]).collect();
    let gaps = View::strided(&gaps, 0, &[400, 5], &[10, 2]).unwrap();
    assert_eq!(Ridge::new(1.5).fit(gaps, &y).unwrap(), plain);
    let single: Vec<f32> = x.iter().map(|v| *v as f32).collect();
    let single = Ridge::new(1.5).fit(View::new(&single, &[400, 5]).unwrap(), &y).unwrap();
    close(&single.coefficients, &plain.coefficients, 1e-5);
}

#[test]
fn leave_one_out_errors_agree_with_scikit_learn_and_with_refitting() {
    let (x, y) = example();
    let view = View::new(&x, &[12, 3]).unwrap();
    let choice = RidgePath::new(vec![0.1, 1.0, 10.0]).choose_leave_one_out(view, &y).unwrap();
    close(&choice.errors, &[23.636_993_400_546_373, 23.519_607_874_691_09, 22.764_466_562_477_196], 1e-12);
    assert_eq!(choice.fit.alpha, 10.0);
    // Weighted, tall and wide, against n refits.
    for (n, p) in [(14, 3), (7, 12)] {
        let (x, y) = data(n, p, 21);
        let view = View::new(&x, &[n, p]).unwrap();
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
        let path = RidgePath::new(vec![0.5, 5.0]);
        let errors = path.choose_leave_one_out_weighted(view, &y, &weights).unwrap().errors;
        for (k, &alpha) in path.alphas.iter().enumerate() {
            let mut sum = 0.0;
            for i in 0..n {
                let mut left = weights.clone();
                left[i] = 0.0;
                let fit = Ridge::new(alpha).fit_weighted(view, &y, &left).unwrap();
                sum += weights[i] * (y[i] - fit.predict(view).unwrap()[i]).powi(2);
            }
            close(&[errors[k]], &[sum / weights.iter().sum::<f64>()], 1e-9);
        }
    }
}

#[test]
fn a_constant_column_takes_nothing_from_the_others_without_a_penalty() {
    // Rounding beside the empty direction is there for some numbers and not for others.
    for seed in 0..20 {
        let (mut x, y) = data(60, 3, seed);
        x.chunks_mut(3).for_each(|row| row[1] = 7.0);
        let weights: Vec<f64> =
            (0..60).map(|i| if i % 5 == 3 { 0.0 } else { 0.5 + f64::from(i % 4) }).collect();
        let others: Vec<f64> = x.chunks(3).flat_map(|row| [row[0], row[2]]).collect();
        let fit = |x: View<'_, f64>| Ridge::new(0.0).fit_weighted(x, &y, &weights).unwrap();
        let all = fit(View::new(&x, &[60, 3]).unwrap());
        let without = fit(View::new(&others, &[60, 2]).unwrap());
        assert_eq!(all.coefficients[1], 0.0);
        close(&[all.coefficients[0], all.coefficients[2]], &without.coefficients, 1e-12);
        close(&[all.residual_sum_of_squares], &[without.residual_sum_of_squares], 1e-12);
    }
}

#[test]
fn folds_depend_on_the_seed_alone_and_as_many_folds_as_rows_leave_one_out() {
    let (x, y) = data(30, 3, 4);
    let x = View::new(&x, &[30, 3]).unwrap();
    let path = RidgePath::new(vec![0.1, 10.0, 1000.0]);
    let five = path.choose_folds(x, &y, None, 5, 7).unwrap();
    assert_eq!(five, path.choose_folds(x, &y, None, 5, 7).unwrap());
    assert_ne!(five.errors, path.choose_folds(x, &y, None, 5, 8).unwrap().errors);
    let all = path.choose_folds(x, &y, None, 30, 7).unwrap();
    close(&all.errors, &path.choose_leave_one_out(x, &y).unwrap().errors, 1e-10);
    assert!(path.choose_folds(x, &y, None, 1, 0).is_err());
    assert!(path.choose_folds(x, &y, None, 31, 0).is_err());
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let (x, y) = data(3000, 7, 1);
    let (wide, wide_y) = data(300, 400, 2);
    let run = || {
        let tall = Ridge::new(1.0).fit(View::new(&x, &[3000, 7]).unwrap(), &y).unwrap();
        let dual = Ridge::new(1.0).fit(View::new(&wide, &[300, 400]).unwrap(), &wide_y).unwrap();
        let large = Ridge::new(1.0).fit(View::new(&wide, &[400, 300]).unwrap(), &x[..400]).unwrap();
        let path = RidgePath::new(vec![1.0, 2.0]);
        let chosen = path.choose_leave_one_out(View::new(&x, &[3000, 7]).unwrap(), &y).unwrap();
        (tall, dual, large, chosen)
    };
    let expected = run();
    for threads in [1, 2, 3, 8] {
        assert_eq!(spanwise_kernels::crew::with_exactly(threads, run), expected, "{threads} threads");
    }
}

#[test]
fn bad_input_is_an_error_that_names_it() {
    let x = View::new(&[1.0, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    let message = |fit: Result<RidgeFit, LinearError>| fit.unwrap_err().to_string();
    assert_eq!(
        message(Ridge::new(-1.0).fit(x, &[1.0, 2.0])),
        "ridge: `alpha` is -1; expected a finite number ≥ 0"
    );
    assert!(message(Ridge::new(f64::NAN).fit(x, &[1.0, 2.0])).contains("`alpha` is NaN"));
    assert_eq!(
        message(Ridge::default().fit(x, &[1.0])),
        "ridge: `y` has length 1, `X` has 2 rows; they must be equal"
    );
    assert!(message(Ridge::default().fit(x, &[1.0, f64::NAN])).contains("`y` holds NaN at row 1"));
    let bad = View::new(&[1.0, 2.0, f64::INFINITY, 4.0], &[2, 2]).unwrap();
    assert!(message(Ridge::default().fit(bad, &[1.0, 2.0])).contains("`X` holds inf at row 1, column 0"));
    let huge = View::new(&[1e200, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    assert!(message(Ridge::default().fit(huge, &[1.0, 2.0])).contains("numbers of `X` are too large"));
    assert!(message(Ridge::default().fit(x, &[1e200, 2.0])).contains("numbers of `y` are too large"));
    for (weights, part) in [
        (&[1.0, -2.0][..], "`weights` holds -2 at row 1"),
        (&[0.0, 0.0][..], "`sum of weights` is 0; expected a finite number above 0"),
        (&[1.0][..], "`weights` has length 1"),
        (&[1.0, f64::NAN][..], "`weights` holds NaN at row 1"),
    ] {
        let error = message(Ridge::default().fit_weighted(x, &[1.0, 2.0], weights));
        assert!(error.contains(part), "{error}");
    }
    for dims in [[0, 2], [2, 0]] {
        let empty = View::<f64>::new(&[], &dims).unwrap();
        assert!(matches!(Ridge::default().fit(empty, &vec![0.0; dims[0]]), Err(LinearError::Empty { .. })));
    }
    assert!(Ridge::default().fit(View::new(&[1.0], &[1]).unwrap(), &[1.0]).is_err());
    assert!(RidgePath::new(vec![]).fit(x, &[1.0, 2.0]).is_err());
    assert!(
        Ridge::default().fit(x, &[1.0, 2.0]).unwrap().predict(View::new(&[1.0], &[1, 1]).unwrap()).is_err()
    );
}

#[test]
fn one_row_a_constant_target_and_a_constant_column_are_fits() {
    let one = Ridge::new(1.0).fit(View::new(&[1.0, 2.0], &[1, 2]).unwrap(), &[5.0]).unwrap();
    close(&[one.intercept, one.coefficients[0]], &[5.0, 0.0], 1e-15);
    let one = Ridge::new(0.0).fit(View::new(&[1.0, 2.0], &[1, 2]).unwrap(), &[5.0]).unwrap();
    close(&[one.intercept, one.coefficients[0]], &[5.0, 0.0], 1e-15);
    let far = Ridge::new(f64::MAX).fit(View::new(&[1.0, 2.0], &[2, 1]).unwrap(), &[5.0, 7.0]).unwrap();
    close(&[far.intercept], &[6.0], 1e-12);
    let x = [1.0, 7.0, 2.0, 7.0, 3.0, 7.0];
    let flat = Ridge::new(0.0).fit(View::new(&x, &[3, 2]).unwrap(), &[4.0, 4.0, 4.0]).unwrap();
    close(&[flat.intercept], &[4.0], 1e-14);
    assert!(flat.r_squared.is_nan());
    // The mean of these is not 0.1 to the last bit.
    for weights in [[1.0; 3], [0.1, 0.7, 0.3]] {
        let x = View::new(&x, &[3, 2]).unwrap();
        let tenth = Ridge::new(1.0).fit_weighted(x, &[0.1; 3], &weights).unwrap();
        assert!(tenth.r_squared.is_nan(), "{}", tenth.r_squared);
    }
    let sloped = Ridge::new(0.0).fit(View::new(&x, &[3, 2]).unwrap(), &[1.0, 2.0, 3.0]).unwrap();
    close(&sloped.coefficients, &[1.0, 0.0], 1e-14);
}

#[test]
fn several_targets_at_once_are_the_fits_of_each() {
    for (n, p, alpha) in [(40, 5, 0.5), (40, 5, 0.0), (12, 30, 2.0), (9, 9, 1.0)] {
        let (x, y) = data(n, p, 3);
        let other: Vec<f64> = y.iter().enumerate().map(|(i, y)| y * (i as f64).sin() + 7.0).collect();
        let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 3) as f64).collect();
        let x = View::new(&x, &[n, p]).unwrap();
        for weights in [None, Some(&weights[..])] {
            for intercept in [true, false] {
                let ridge = Ridge { alpha, intercept };
                let together = ridge.fit_targets(x, &[&y, &other, &y], weights).unwrap();
                for (fit, y) in together.iter().zip([&y, &other, &y]) {
                    let alone = ridge.run(x, y, weights).unwrap();
                    close(&fit.coefficients, &alone.coefficients, 1e-10);
                    close(&[fit.intercept, fit.r_squared], &[alone.intercept, alone.r_squared], 1e-10);
                    assert_eq!(fit.method, alone.method);
                }
            }
        }
    }
    let x = View::new(&[1.0, 2.0, 3.0], &[3, 1]).unwrap();
    assert!(Ridge::new(1.0).fit_targets(x, &[], None).unwrap().is_empty());
    assert!(Ridge::new(1.0).fit_targets(x, &[&[1.0, 2.0, 3.0], &[1.0, f64::NAN, 0.0]], None).is_err());
    assert!(Ridge::new(1.0).fit_targets(x, &[&[1.0, 2.0, 3.0], &[1.0]], None).is_err());
}

#[test]
fn numbers_whose_squares_vanish_are_an_error_that_names_them() {
    let vanishes = |found: Result<Vec<RidgeFit>, LinearError>, name: &str| matches!(found, Err(LinearError::Underflow { argument, .. }) if argument == name);
    for (n, p) in [(40, 5), (5, 40)] {
        let (x, y) = data(n, p, 3);
        let tiny = |v: &[f64]| v.iter().map(|v| 1e-200 * v).collect::<Vec<f64>>();
        let (small_x, small_y) = (tiny(&x), tiny(&y));
        let [x, small_x] = [&x, &small_x].map(|x| View::new(x, &[n, p]).unwrap());
        for intercept in [true, false] {
            let ridge = Ridge { alpha: 0.0, intercept };
            assert!(vanishes(ridge.fit_targets(small_x, &[&y], None), "X"));
            assert!(vanishes(ridge.fit_targets(x, &[&small_y], None), "y"));
            assert!(vanishes(ridge.fit_targets(x, &[&y, &small_y], None), "y"));
            assert!(ridge.fit_targets(x, &[&vec![0.0; n]], None).is_ok());
        }
        // A penalty makes up for small columns; rows that weigh nothing do not count.
        assert!(Ridge::new(1.0).fit(small_x, &y).is_ok());
        let (mut last, mut weights) = (vec![0.0; n], vec![1.0; n]);
        (last[n - 1], weights[n - 1]) = (1.0, 0.0);
        assert!(Ridge::new(1.0).fit_weighted(x, &last, &weights).is_ok());
        let constant = vec![1e-200; n * p];
        assert!(Ridge::new(1.0).fit(View::new(&constant, &[n, p]).unwrap(), &y).is_ok());
    }
}

#[test]
fn a_path_may_span_the_range_of_f64() {
    let path = RidgePath::logarithmic(1e-200, 1e200, 5).unwrap();
    close(&path.alphas[1..4], &[1e-100, 1.0, 1e100], 1e-10);
    assert_eq!([path.alphas[0], path.alphas[4]], [1e-200, 1e200]);
}

#[test]
fn a_penalty_that_bounds_the_condition_number_is_as_good_as_an_estimate() {
    let (x, y) = data(60, 4, 7);
    let view = View::new(&x, &[60, 4]).unwrap();
    // A column's squares about its mean add up to some 60: the bound decides down to a millionth of that, an estimate below.
    for alpha in [1e-2, 1e-3, 1e-6, 1e-9, 0.0] {
        let fit = Ridge::new(alpha).fit(view, &y).unwrap();
        assert_eq!(fit.method, RidgeMethod::Moments, "{alpha}");
        let path = RidgePath::new(vec![alpha]).fit(view, &y).unwrap();
        close(&fit.coefficients, &path[0].coefficients, 1e-11);
    }
    // Two columns alike: without a penalty there is no bound, and a small one leaves it to the estimate.
    let twice: Vec<f64> = x.chunks(4).flat_map(|row| [row[0], row[1], row[0]]).collect();
    let twice = View::new(&twice, &[60, 3]).unwrap();
    for (alpha, method) in
        [(0.0, RidgeMethod::Singular), (1e-8, RidgeMethod::Corrected), (1.0, RidgeMethod::Moments)]
    {
        assert_eq!(Ridge::new(alpha).fit(twice, &y).unwrap().method, method, "{alpha}");
    }
}
