//! Literals from scikit-learn 1.9: `KernelRidge(alpha=0.5, kernel="rbf", gamma=1/(2·X.var()))` and
//! `kernel="poly", gamma=0.5, degree=3, coef0=1`; the leave-one-out error by refitting without each row.

use super::*;

/// 12 training rows, then 2 to predict; targets of the first 12.
fn example() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let row =
        |i: i32| [f64::from((i * 7) % 13 - 6) + 0.05 * f64::from(i), f64::from((i * i * 3 + i) % 17 - 8)];
    let y = (0..12).map(|i| f64::from((i * 5) % 7 - 2)).collect();
    ((0..12).flat_map(row).collect(), (20..22).flat_map(row).collect(), y)
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= tolerance * (1.0 + e.abs()), "{found:?} against {expected:?}");
    }
}

#[test]
fn rbf_agrees_with_scikit_learn_and_its_default_width() {
    let (x, new, y) = example();
    let x = View::new(&x, &[12, 2]).unwrap();
    let fit = KernelRidge { alpha: 0.5, ..KernelRidge::default() }.fit(x, &y).unwrap();
    let Kernel::Rbf { gamma: Some(gamma) } = fit.kernel else { panic!("a radial kernel was asked for") };
    close(&[gamma], &[0.019_885_835_968_091_518], 1e-14);
    let expected = [
        -4.431_450_938_274_398,
        4.250_765_350_762_587,
        0.197_092_297_123_504_32,
        -3.744_799_988_193_114_4,
        6.233_038_190_079_694,
        2.280_733_774_452_814_4,
        -1.996_893_314_609_221,
        -5.814_811_763_415_963,
        3.920_809_736_520_733_5,
        0.677_677_628_290_832_8,
        -4.022_255_039_719_936,
        5.329_034_484_199_137,
    ];
    close(&fit.coefficients, &expected, 1e-12);
    let predicted = fit.predict(View::new(&new, &[2, 2]).unwrap()).unwrap();
    close(&predicted, &[0.745_401_540_540_452_7, 1.037_000_657_337_593_4], 1e-12);
    close(&[fit.leave_one_out_error.unwrap()], &[11.354_618_248_030_4], 1e-12);
    let fitted = fit.predict(x).unwrap();
    let squares: f64 = fitted.iter().zip(&y).map(|(f, y)| (y - f).powi(2)).sum();
    close(&[fit.residual_sum_of_squares], &[squares], 1e-11);
    assert!(fit.exact && fit.jitter == 0.0);
}

#[test]
fn polynomial_agrees_with_scikit_learn() {
    let (x, new, y) = example();
    let kernel = Kernel::Polynomial { degree: 3, gamma: Some(0.5), constant: 1.0 };
    let model = KernelRidge { alpha: 0.5, kernel, ..KernelRidge::default() };
    let fit = model.fit(View::new(&x, &[12, 2]).unwrap(), &y).unwrap();
    let predicted = fit.predict(View::new(&new, &[2, 2]).unwrap()).unwrap();
    close(&predicted, &[4.949_805_230_901_802, 3.982_722_138_676_308_5], 1e-9);
    close(
        &[fit.coefficients[1], fit.coefficients[10]],
        &[3.031_499_688_891_412, -2.797_431_951_907_174_4],
        1e-9,
    );
}

fn sine(n: usize) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..n).map(|i| 8.0 * i as f64 / n as f64 + 100.0).collect();
    let y = x.iter().enumerate().map(|(i, x)| x.sin() + 0.1 * (i as f64 * 12.9898).sin()).collect();
    (x, y)
}

#[test]
fn nystrom_comes_close_to_the_exact_fit_and_is_seeded() {
    let (x, y) = sine(600);
    let x = View::new(&x, &[600, 1]).unwrap();
    let kernel = Kernel::Rbf { gamma: Some(1.0) };
    let exact = KernelRidge { kernel, alpha: 0.1, ..KernelRidge::default() };
    let part = KernelRidge { landmarks: Landmarks::Count(60), ..exact };
    let (whole, some) = (exact.fit(x, &y).unwrap(), part.fit(x, &y).unwrap());
    assert!(!some.exact && some.landmarks.rows() == 60);
    let largest =
        whole.predict(x).unwrap().into_iter().zip(some.predict(x).unwrap()).map(|(a, b)| (a - b).abs());
    assert!(largest.fold(0.0, f64::max) < 1e-3);
    let ratio = some.leave_one_out_error.unwrap() / whole.leave_one_out_error.unwrap();
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    let squares: f64 = some.predict(x).unwrap().iter().zip(&y).map(|(f, y)| (y - f).powi(2)).sum();
    close(&[some.residual_sum_of_squares], &[squares], 1e-6);
    assert_eq!(some, part.fit(x, &y).unwrap());
    assert_ne!(some.landmarks, KernelRidge { seed: 1, ..part }.fit(x, &y).unwrap().landmarks);
}

#[test]
fn repeated_rows_without_penalty_need_jitter_and_it_is_reported() {
    let x = View::new(&[1.0, 1.0, 2.0, 3.0], &[4, 1]).unwrap();
    let fit = KernelRidge { alpha: 0.0, ..KernelRidge::default() }.fit(x, &[1.0, 1.0, 2.0, 0.0]).unwrap();
    assert!(fit.jitter > 0.0);
    close(&fit.predict(x).unwrap(), &[1.0, 1.0, 2.0, 0.0], 1e-5);
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let (x, y) = sine(700);
    let x = View::new(&x, &[700, 1]).unwrap();
    for landmarks in [Landmarks::All, Landmarks::Count(50)] {
        let model = KernelRidge { landmarks, ..KernelRidge::default() };
        let expected = model.fit(x, &y).unwrap();
        for threads in [1, 2, 3, 8] {
            assert_eq!(
                spanwise_kernels::crew::with_exactly(threads, || model.fit(x, &y).unwrap()),
                expected,
                "{threads} threads"
            );
        }
    }
}

#[test]
fn settings_out_of_range_and_bad_data_are_errors() {
    let x = View::new(&[1.0, 2.0], &[2, 1]).unwrap();
    let y = [1.0, 2.0];
    let with = |kernel| KernelRidge { kernel, ..KernelRidge::default() }.fit(x, &y);
    assert!(with(Kernel::Rbf { gamma: Some(0.0) }).is_err());
    assert!(with(Kernel::Polynomial { degree: 0, gamma: None, constant: 0.0 }).is_err());
    assert!(with(Kernel::Polynomial { degree: 2, gamma: None, constant: -1.0 }).is_err());
    assert!(KernelRidge { alpha: -1.0, ..KernelRidge::default() }.fit(x, &y).is_err());
    assert!(KernelRidge { landmarks: Landmarks::Count(3), ..KernelRidge::default() }.fit(x, &y).is_err());
    assert!(KernelRidge { landmarks: Landmarks::Count(0), ..KernelRidge::default() }.fit(x, &y).is_err());
    let nan = View::new(&[1.0, f64::NAN], &[2, 1]).unwrap();
    let error = KernelRidge::default().fit(nan, &y).unwrap_err();
    assert!(matches!(error, LinearError::NotFinite { row: 1, column: 0, .. }));
    assert!(KernelRidge::default().fit(x, &[1.0]).is_err());
    // All rows equal: a constant is all there is to learn.
    let flat = KernelRidge::default().fit(View::new(&[5.0, 5.0], &[2, 1]).unwrap(), &y).unwrap();
    assert!(flat.coefficients.iter().all(|a| a.is_finite()));
}

#[test]
fn a_whole_weight_counts_a_row_so_often_and_weight_zero_leaves_it_out() {
    let (x, new, y) = example();
    let counts = [1, 2, 0, 1, 3, 1, 0, 1, 1, 2, 1, 1];
    let repeated: Vec<usize> =
        counts.iter().enumerate().flat_map(|(i, &count)| std::iter::repeat_n(i, count)).collect();
    let many: Vec<f64> = repeated.iter().flat_map(|&i| x[2 * i..2 * i + 2].iter().copied()).collect();
    let many_y: Vec<f64> = repeated.iter().map(|&i| y[i]).collect();
    let weights = counts.map(|count| count as f64);
    let (x, new) = (View::new(&x, &[12, 2]).unwrap(), View::new(&new, &[2, 2]).unwrap());
    let model = KernelRidge { alpha: 0.5, leave_one_out: false, ..KernelRidge::default() };
    let expected = model.fit(View::new(&many, &[many_y.len(), 2]).unwrap(), &many_y).unwrap();
    let found = model.fit_weighted(x, &y, &weights).unwrap();
    assert_eq!(found.landmarks.rows(), 10);
    close(&found.predict(new).unwrap(), &expected.predict(new).unwrap(), 1e-10);
    close(&[found.residual_sum_of_squares], &[expected.residual_sum_of_squares], 1e-10);
    // Weights of 1 are none.
    let ones = model.fit_weighted(x, &y, &[1.0; 12]).unwrap();
    assert_eq!(ones, model.fit(x, &y).unwrap());
    for (weights, expected) in
        [(vec![1.0; 11], "weights"), (vec![-1.0; 12], "weights"), (vec![0.0; 12], "sum of weights")]
    {
        let error = model.fit_weighted(x, &y, &weights).unwrap_err().to_string();
        assert!(error.contains(&format!("`{expected}`")), "{error}");
    }
}

#[test]
fn weights_mean_the_same_with_landmarks_and_without() {
    let n = 300;
    let x: Vec<f64> = (0..n).map(|i| f64::from(i) / 30.0).collect();
    let y: Vec<f64> = x.iter().map(|x| x.sin() + 0.1 * (37.0 * x).cos()).collect();
    let weights: Vec<f64> = (0..n).map(|i| f64::from(i % 4) + 0.5).collect();
    let x = View::new(&x, &[n as usize, 1]).unwrap();
    let exact =
        KernelRidge { alpha: 0.1, kernel: Kernel::Rbf { gamma: Some(0.5) }, ..KernelRidge::default() };
    let few = KernelRidge { landmarks: Landmarks::Count(60), ..exact };
    let (exact, few) = (exact.fit_weighted(x, &y, &weights), few.fit_weighted(x, &y, &weights));
    let (exact, few) = (exact.unwrap(), few.unwrap());
    assert!(exact.exact && !few.exact);
    close(&few.predict(x).unwrap(), &exact.predict(x).unwrap(), 1e-6);
    close(&[few.residual_sum_of_squares], &[exact.residual_sum_of_squares], 1e-6);
    close(&[few.leave_one_out_error.unwrap()], &[exact.leave_one_out_error.unwrap()], 1e-6);
}

#[test]
fn a_width_that_cannot_be_formed_is_an_error() {
    let x = [1e-170, 2e-170, 3e-170];
    let found = KernelRidge::default().fit(View::new(&x, &[3, 1]).unwrap(), &[1.0, 2.0, 4.0]);
    assert!(found.unwrap_err().to_string().contains("gamma"));
    assert!(KernelRidge::default().fit(View::new(&[2.0; 3], &[3, 1]).unwrap(), &[1.0, 2.0, 4.0]).is_ok());
}
