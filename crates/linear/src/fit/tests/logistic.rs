//! Literals from statsmodels 0.15 (`Logit` and `MNLogit`, Newton, `tol=1e-14`) and scikit-learn 1.9
//! (`LogisticRegression(C, solver="newton-cholesky", tol=1e-14)`) on the formulas of `example` below.

use super::*;
use crate::Seeded;
use crate::fit::SeparationKind;

const ROWS: i32 = 40;

/// Features (40 × 2), two classes, three classes.
fn example() -> (Vec<f64>, Vec<u8>, Vec<u8>) {
    let row =
        |i: i32| [f64::from((i * 7) % 13 - 6) + 0.05 * f64::from(i), f64::from((i * i * 3 + i) % 17 - 8)];
    let score = |i: i32| f64::from((i * 11) % 19 - 9) + 0.6 * row(i)[0] + 0.3 * row(i)[1];
    let two = (0..ROWS).map(|i| u8::from(score(i) > 0.0)).collect();
    let three = (0..ROWS).map(|i| u8::from(score(i) >= -4.0) + u8::from(score(i) >= 5.0)).collect();
    ((0..ROWS).flat_map(row).collect(), two, three)
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= tolerance * (1e-3 + e.abs()), "{found:?} against {expected:?}");
    }
}

fn data(n: usize, p: usize, classes: usize, seed: u64) -> (Vec<f64>, Vec<usize>) {
    let mut random = Seeded::new(seed);
    let x: Vec<f64> = (0..n * p).map(|at| random.normal() + (at % p) as f64).collect();
    let label = |row: &[f64]| {
        let score = row[0] - row[p - 1] + (p - 1) as f64 + 2.0 * random.normal();
        ((score + 1.5) * classes as f64 / 3.0).clamp(0.0, classes as f64 - 1.0) as usize
    };
    let y = x.chunks(p).map(label).collect();
    (x, y)
}

#[test]
fn maximum_likelihood_agrees_with_statsmodels() {
    let (x, y, _) = example();
    let fit = Logistic::unpenalised().fit(View::new(&x, &[40, 2]).unwrap(), &y).unwrap();
    assert!(fit.convergence.converged && fit.convergence.gradient_norm < 1e-8);
    close(&fit.intercepts, &[0.180_770_697_174_045_37], 1e-12);
    close(fit.coefficients.row(0), &[0.178_726_859_702_187_07, 0.102_965_822_181_286_08], 1e-10);
    close(&fit.intercept_standard_errors.clone().unwrap(), &[0.350_649_826_740_533_2], 1e-10);
    let errors = fit.standard_errors.clone().unwrap();
    close(errors.row(0), &[0.095_232_872_299_801_24, 0.067_559_037_113_451_74], 1e-10);
    close(fit.p_values().unwrap().row(0), &[0.060_554_430_139_733_655, 0.127_487_083_275_997_9], 1e-10);
    let positive: f64 = y.iter().map(|&y| f64::from(y)).sum();
    let null = -2.0 * (positive * (positive / 40.0).ln() + (40.0 - positive) * (1.0 - positive / 40.0).ln());
    let deviance = 49.383_774_194_431_84;
    close(&[fit.deviance, fit.null_deviance, fit.r_squared], &[deviance, null, 1.0 - deviance / null], 1e-12);
}

#[test]
fn penalised_fits_agree_with_scikit_learn() {
    let (x, y, three) = example();
    let x = View::new(&x, &[40, 2]).unwrap();
    let fit = Logistic::with_c(0.5).fit(x, &y).unwrap();
    close(&fit.intercepts, &[0.181_256_799_555_074_7], 1e-9);
    close(fit.coefficients.row(0), &[0.175_196_912_080_529_43, 0.101_408_416_686_365_1], 1e-9);
    let weights: Vec<f64> = (0..ROWS).map(|i| f64::from(1 + i % 3)).collect();
    let fit = Logistic::with_c(0.5).fit_weighted(x, &y, &weights).unwrap();
    close(&fit.intercepts, &[0.023_760_233_380_988_472], 1e-9);
    close(fit.coefficients.row(0), &[0.140_898_414_804_436_38, 0.083_115_690_035_982_06], 1e-9);
    let fit = Logistic::with_c(2.0).fit(x, &three).unwrap();
    close(
        &fit.intercepts,
        &[0.047_860_148_353_435_994, 0.723_909_322_753_699_1, -0.771_769_471_107_135_1],
        1e-9,
    );
    let expected = [
        [-0.217_806_103_104_333_7, -0.129_200_438_008_070_88],
        [-0.094_700_716_654_818_77, -0.002_768_953_062_837_211_3],
        [0.312_506_819_759_147_46, 0.131_969_391_070_922_1],
    ];
    for (k, expected) in expected.iter().enumerate() {
        close(fit.coefficients.row(k), expected, 1e-9);
    }
}

#[test]
fn three_classes_without_penalty_agree_with_statsmodels() {
    let (x, _, y) = example();
    let fit = Logistic::unpenalised().fit(View::new(&x, &[40, 2]).unwrap(), &y).unwrap();
    let against_first = |k: usize| -> Vec<f64> {
        let w = &fit.coefficients;
        let b = fit.intercepts[k] - fit.intercepts[0];
        vec![b, w[(k, 0)] - w[(0, 0)], w[(k, 1)] - w[(0, 1)]]
    };
    close(
        &against_first(1),
        &[0.678_515_122_395_922, 0.124_383_289_267_290_2, 0.127_045_380_692_865_97],
        1e-9,
    );
    close(
        &against_first(2),
        &[-0.830_335_703_257_538_6, 0.535_868_014_458_510_5, 0.263_440_192_843_451_7],
        1e-9,
    );
    // 12, 18 and 10 rows of each class.
    let null = -2.0 * (12.0 * 0.3_f64.ln() + 18.0 * 0.45_f64.ln() + 10.0 * 0.25_f64.ln());
    close(&[fit.deviance, fit.null_deviance], &[67.913_450_632_140_18, null], 1e-12);
}

#[test]
fn two_classes_by_softmax_contrasts_give_the_same_probabilities() {
    // A third class of weight 0 leaves a two-class problem; the labels keep their order.
    let (x, y, _) = example();
    let x = View::new(&x, &[40, 2]).unwrap();
    let names: Vec<&str> = y.iter().map(|&y| if y == 1 { "one" } else { "none" }).collect();
    let mut padded = names.clone();
    padded[3] = "absent";
    let weights: Vec<f64> = (0..40).map(|i| if i == 3 { 0.0 } else { 1.0 }).collect();
    let fit = Logistic::default().fit_weighted(x, &padded, &weights).unwrap();
    assert_eq!(fit.classes, ["none", "one"]);
    let same = Logistic::default().fit_weighted(x, &names, &weights).unwrap();
    assert_eq!(fit, same);
    let p = fit.predict_proba(x).unwrap();
    let decision = fit.decision(x).unwrap();
    for i in 0..40 {
        assert!((p.row(i).iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!((p[(i, 1)] - 1.0 / (1.0 + (-decision[(i, 0)]).exp())).abs() < 1e-15);
    }
    assert_eq!(fit.predict(x).unwrap()[0], if p[(0, 1)] > 0.5 { "one" } else { "none" });
}

#[test]
fn newton_and_lbfgs_reach_the_same_optimum() {
    for (n, p, classes) in [(300, 4, 2), (400, 3, 4), (30, 60, 2)] {
        let (x, y) = data(n, p, classes, 8);
        let x = View::new(&x, &[n, p]).unwrap();
        let newton = Logistic { optimiser: Optimiser::Newton, ..Logistic::default() }.fit(x, &y).unwrap();
        let lbfgs = Logistic { optimiser: Optimiser::Lbfgs, ..Logistic::default() }.fit(x, &y).unwrap();
        assert!(newton.convergence.converged && lbfgs.convergence.converged, "{n} × {p}, {classes} classes");
        assert!(lbfgs.standard_errors.is_none());
        for (a, b) in newton.coefficients.as_slice().iter().zip(lbfgs.coefficients.as_slice()) {
            assert!((a - b).abs() < 1e-5, "{a} against {b}");
        }
    }
}

#[test]
fn the_warm_start_on_part_of_the_rows_changes_nothing_but_the_passes() {
    let (x, y) = data(50_000, 3, 2, 13);
    let view = View::new(&x, &[50_000, 3]).unwrap();
    let fit = Logistic::default().fit(view, &y).unwrap();
    assert!(fit.convergence.converged && fit.convergence.iterations <= 4, "{:?}", fit.convergence);
    // Sorted by class, so that leading rows alone would mislead.
    let mut order: Vec<usize> = (0..50_000).collect();
    order.sort_by_key(|&i| y[i]);
    let x_sorted: Vec<f64> = order.iter().flat_map(|&i| x[i * 3..i * 3 + 3].to_vec()).collect();
    let y_sorted: Vec<usize> = order.iter().map(|&i| y[i]).collect();
    let sorted = Logistic::default().fit(View::new(&x_sorted, &[50_000, 3]).unwrap(), &y_sorted).unwrap();
    close(sorted.coefficients.row(0), fit.coefficients.row(0), 1e-9);
}

#[test]
fn complete_separation_is_said_with_its_direction() {
    // The second column is noise; the first separates between 2 and 3.
    let x = [0.0, 5.0, 1.0, -3.0, 2.0, 4.0, 3.0, 5.0, 4.0, -2.0, 5.0, 1.0];
    let y = [false, false, false, true, true, true];
    let view = View::new(&x, &[6, 2]).unwrap();
    let fit = Logistic::unpenalised().fit(view, &y).unwrap();
    let separation = fit.separation.clone().unwrap();
    assert_eq!(separation.kind, SeparationKind::Complete);
    assert_eq!((separation.separated_rows, separation.boundary_rows), (6, 0));
    assert_eq!(separation.columns, [0]);
    for (row, y) in x.chunks(2).zip(y) {
        let d = separation.direction.row(0);
        let side = d[0] * row[0] + d[1] * row[1] + separation.intercepts[0];
        assert!(if y { side > 0.0 } else { side < 0.0 });
    }
    assert!(!fit.convergence.converged && fit.standard_errors.is_none());
    assert_eq!(fit.predict(view).unwrap(), y);
    // A penalty makes it an ordinary problem.
    let penalised = Logistic::default().fit(view, &y).unwrap();
    assert!(penalised.separation.is_none() && penalised.convergence.converged);
}

#[test]
fn of_columns_in_which_classes_touch_the_one_with_the_fewest_such_rows_is_named() {
    // In both no value of the first class is above one of the second; a keeps one row apart, b keeps three.
    let (a, b) = ([0.0, 1.0, 1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0, 1.0, 2.0]);
    let y = [false, false, false, true, true, true];
    for (columns, expected) in [([a, b], 1), ([b, a], 0)] {
        let x: Vec<f64> = (0..6).flat_map(|i| columns.map(|column| column[i])).collect();
        let fit = Logistic::unpenalised().fit(View::new(&x, &[6, 2]).unwrap(), &y).unwrap();
        let found = fit.separation.unwrap();
        assert_eq!((found.kind, found.columns), (SeparationKind::Quasi, vec![expected]));
        assert_eq!((found.separated_rows, found.boundary_rows), (3, 3));
    }
}

#[test]
fn the_one_column_that_separates_is_named_among_many_and_several_by_their_part() {
    let (n, p) = (300, 8);
    let (noise, _) = data(n, p, 2, 21);
    let mut x = noise.clone();
    for (i, row) in x.chunks_mut(p).enumerate() {
        row[5] = 100.0 + 20.0 * (i as f64 * 0.7).sin();
    }
    let y: Vec<bool> = x.chunks(p).map(|row| row[5] < 97.0).collect();
    let found = Logistic::unpenalised().fit(View::new(&x, &[n, p]).unwrap(), &y).unwrap().separation.unwrap();
    assert_eq!((found.kind, found.columns, found.separated_rows), (SeparationKind::Complete, vec![5], n));
    assert!(found.direction[(0, 5)] < 0.0);
    // Two columns together, and neither alone.
    let sums: Vec<f64> = noise.chunks(p).map(|row| 3.0 * row[6] + row[2]).collect();
    let mean = sums.iter().sum::<f64>() / n as f64;
    let y: Vec<bool> = sums.iter().map(|&sum| sum > mean).collect();
    let found =
        Logistic::unpenalised().fit(View::new(&noise, &[n, p]).unwrap(), &y).unwrap().separation.unwrap();
    assert_eq!(found.kind, SeparationKind::Complete);
    assert_eq!(found.columns[..2], [6, 2]);
}

#[test]
fn quasi_complete_separation_is_said_and_names_its_column() {
    // b is 1 only for positives; a overlaps. The likelihood rises for ever along b alone.
    let x = [1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 1.5, 0.0, 2.5, 0.0, 2.2, 0.0, 1.0, 1.0, 2.0, 1.0, 3.0, 1.0];
    let y = [0, 1, 0, 1, 1, 0, 1, 1, 1];
    let fit = Logistic::unpenalised().fit(View::new(&x, &[9, 2]).unwrap(), &y).unwrap();
    let separation = fit.separation.unwrap();
    assert_eq!(separation.kind, SeparationKind::Quasi);
    assert_eq!(separation.columns, [1]);
    assert_eq!((separation.separated_rows, separation.boundary_rows), (3, 6));
    assert!(separation.direction[(0, 1)] > 0.0);
}

#[test]
fn a_narrow_gap_is_complete_separation_and_a_shared_boundary_is_not() {
    for gap in [1e-3, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14] {
        // One column; then a second one along the boundary, at a slant.
        let mut x: Vec<f64> = (0..100).map(|i| f64::from(i) / 100.0).collect();
        let mut y: Vec<bool> = x.iter().map(|&x| x >= 0.5).collect();
        x.push(0.5 - gap);
        y.push(false);
        let fit = Logistic::unpenalised().fit(View::new(&x, &[101, 1]).unwrap(), &y).unwrap();
        let found = fit.separation.unwrap();
        assert_eq!((found.kind, found.boundary_rows), (SeparationKind::Complete, 0), "gap {gap:e}");
        let wide: Vec<f64> = x
            .iter()
            .enumerate()
            .flat_map(|(i, &x)| [x + f64::from(i as u32 % 7), f64::from(i as u32 % 7)])
            .collect();
        let fit = Logistic::unpenalised().fit(View::new(&wide, &[101, 2]).unwrap(), &y).unwrap();
        let found = fit.separation.unwrap();
        if gap > 1e-13 {
            assert_eq!(
                (found.kind, found.boundary_rows),
                (SeparationKind::Complete, 0),
                "slanted, gap {gap:e}"
            );
        }
    }
    // The same place in both classes: on the boundary, whatever the direction.
    let x = [0.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0];
    let y = [0, 0, 0, 0, 1, 1, 1];
    let fit = Logistic::unpenalised().fit(View::new(&x, &[7, 1]).unwrap(), &y).unwrap();
    let found = fit.separation.unwrap();
    assert_eq!((found.kind, found.boundary_rows), (SeparationKind::Quasi, 2));
}

#[test]
fn three_separated_classes_are_recognised() {
    let x = [0.0, 1.0, 10.0, 11.0, 20.0, 21.0];
    let y = ['a', 'a', 'b', 'b', 'c', 'c'];
    let fit = Logistic::unpenalised().fit(View::new(&x, &[6, 1]).unwrap(), &y).unwrap();
    assert_eq!(fit.separation.unwrap().kind, SeparationKind::Complete);
    let overlapping = ['a', 'b', 'a', 'b', 'c', 'a'];
    let fit = Logistic::unpenalised().fit(View::new(&x, &[6, 1]).unwrap(), &overlapping).unwrap();
    assert_ne!(fit.separation.map(|s| s.kind), Some(SeparationKind::Complete));
}

#[test]
fn confident_but_overlapping_classes_are_not_called_separated() {
    // Far apart but for one exchanged pair.
    let x: Vec<f64> = (0..40).map(|i| if i < 20 { f64::from(i) } else { 1000.0 + f64::from(i) }).collect();
    let y: Vec<bool> = (0..40)
        .map(|i| {
            if i == 0 {
                true
            } else if i == 39 {
                false
            } else {
                i >= 20
            }
        })
        .collect();
    let fit = Logistic::unpenalised().fit(View::new(&x, &[40, 1]).unwrap(), &y).unwrap();
    assert!(fit.separation.is_none() && fit.convergence.converged, "{:?}", fit.convergence);
}

#[test]
fn dependent_columns_are_said_by_jitter_and_predictions_stand() {
    let (x, y, _) = example();
    let doubled: Vec<f64> = x.chunks(2).flat_map(|r| [r[0], r[1], 2.0 * r[0]]).collect();
    let fit = Logistic::unpenalised().fit(View::new(&doubled, &[40, 3]).unwrap(), &y).unwrap();
    let plain = Logistic::unpenalised().fit(View::new(&x, &[40, 2]).unwrap(), &y).unwrap();
    assert!(fit.convergence.jitter > 0.0 && fit.standard_errors.is_none());
    assert!((fit.deviance - plain.deviance).abs() < 1e-9);
    let combined = fit.coefficients[(0, 0)] + 2.0 * fit.coefficients[(0, 2)];
    assert!((combined - plain.coefficients[(0, 0)]).abs() < 1e-6);
}

#[test]
fn order_weightless_rows_offsets_and_units_change_nothing() {
    let (x, y) = data(500, 3, 2, 3);
    let plain = Logistic::default().fit(View::new(&x, &[500, 3]).unwrap(), &y).unwrap();
    let order = Seeded::new(1).permutation(500);
    let x_mixed: Vec<f64> = order.iter().flat_map(|&i| x[i * 3..i * 3 + 3].to_vec()).collect();
    let y_mixed: Vec<usize> = order.iter().map(|&i| y[i]).collect();
    let mixed = Logistic::default().fit(View::new(&x_mixed, &[500, 3]).unwrap(), &y_mixed).unwrap();
    close(mixed.coefficients.row(0), plain.coefficients.row(0), 1e-12);
    let weights: Vec<f64> = (0..500).map(|i| f64::from(u8::from(i < 400))).collect();
    let zeroed = Logistic::default().fit_weighted(View::new(&x, &[500, 3]).unwrap(), &y, &weights).unwrap();
    let short = Logistic::default().fit(View::new(&x[..1200], &[400, 3]).unwrap(), &y[..400]).unwrap();
    close(zeroed.coefficients.row(0), short.coefficients.row(0), 1e-11);
    // Without a penalty, units scale the coefficient and offsets move into the intercept.
    let moved: Vec<f64> = x.chunks(3).flat_map(|r| [1e6 * r[0], r[1] + 1e5, 1e-6 * r[2]]).collect();
    let moved = Logistic::unpenalised().fit(View::new(&moved, &[500, 3]).unwrap(), &y).unwrap();
    let base = Logistic::unpenalised().fit(View::new(&x, &[500, 3]).unwrap(), &y).unwrap();
    let w = moved.coefficients.row(0);
    close(&[w[0] * 1e6, w[1], w[2] * 1e-6], base.coefficients.row(0), 1e-7);
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let (x, y) = data(9000, 5, 3, 5);
    let x = View::new(&x, &[9000, 5]).unwrap();
    let expected = Logistic::default().fit(x, &y).unwrap();
    for threads in [1, 2, 3, 8] {
        assert_eq!(
            spanwise_kernels::crew::with_exactly(threads, || Logistic::default().fit(x, &y).unwrap()),
            expected,
            "{threads} threads"
        );
    }
}

#[test]
fn bad_input_is_an_error_that_names_it() {
    let x = View::new(&[1.0, 2.0, 3.0, f64::NAN], &[2, 2]).unwrap();
    let error = Logistic::default().fit(x, &[0, 1]).unwrap_err();
    assert!(matches!(error, LinearError::NotFinite { row: 1, column: 1, .. }), "{error}");
    let x = View::new(&[1.0, 2.0], &[2, 1]).unwrap();
    assert_eq!(
        Logistic::default().fit(x, &[7, 7]).unwrap_err(),
        LinearError::OneClass { operation: OPERATION, found: 1 }
    );
    let one_left = Logistic::default().fit_weighted(x, &[0, 1], &[1.0, 0.0]).unwrap_err();
    assert!(matches!(one_left, LinearError::OneClass { .. }));
    assert!(Logistic { penalty: -1.0, ..Logistic::default() }.fit(x, &[0, 1]).is_err());
    let labels: Vec<usize> = (0..1001).collect();
    let many =
        Logistic::default().fit(View::new(&vec![1.0; 1001], &[1001, 1]).unwrap(), &labels).unwrap_err();
    assert!(many.to_string().contains("`y` is 1001; expected at most 1000 different labels"), "{many}");
    assert!(Logistic::with_c(0.0).fit(x, &[0, 1]).is_err());
    assert!(Logistic::default().fit(x, &[0]).is_err());
    assert!(Logistic::default().fit_weighted(x, &[0, 1], &[1.0, -1.0]).is_err());
    assert!(Logistic::default().fit(View::<f64>::new(&[], &[0, 1]).unwrap(), &[] as &[u8]).is_err());
    // No variation at all: the base rate is the answer.
    let flat = View::new(&[3.0, 3.0, 3.0, 3.0], &[4, 1]).unwrap();
    let fit = Logistic::unpenalised().fit(flat, &[0, 1, 1, 1]).unwrap();
    assert!((fit.predict_proba(flat).unwrap()[(0, 1)] - 0.75).abs() < 1e-9);
}
