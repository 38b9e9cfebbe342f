//! Numbers near the ends of the range: no square of them may pass for a fit, and no coefficient be lost in silence.

use super::traps::random;
use crate::fit::least_squares::{LeastSquares, LinearFit, Method};
use spanwise_kernels::Matrix;

/// Noise around a line, the target in units of 2^exponent.
fn line(exponent: i32) -> (Matrix, Vec<f64>) {
    let mut next = random(5);
    let x = Matrix::from_fn(40, 2, |_, _| next());
    let unit = 2f64.powi(exponent);
    let y = (0..40).map(|i| (x[(i, 0)] + 2.0 * next() + 0.5) * unit).collect();
    (x, y)
}

fn fit(x: &Matrix, y: &[f64]) -> LinearFit {
    LeastSquares::new().fit(&x.view(), y).unwrap()
}

#[test]
fn statistics_do_not_depend_on_the_unit_of_the_target() {
    let (x, y) = line(0);
    let model = fit(&x, &y);
    let (plain, rows) = (model.statistics(0).unwrap(), model.influence(&x.view(), &y[..], None, 0).unwrap());
    for exponent in [-1000, -600, 600, 900] {
        let (x, y) = line(exponent);
        let model = fit(&x, &y);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-10 * b.abs();
        let found = model.statistics(0).unwrap();
        assert!(close(model.target().unexplained(), 1.0 - plain.r_squared), "{exponent}");
        assert!(!model.target().is_exact() && model.target().out_of_range().is_empty());
        assert!(close(found.residual_deviation, plain.residual_deviation * 2f64.powi(exponent)));
        let moved = plain.log_likelihood - 40.0 * f64::from(exponent) * std::f64::consts::LN_2;
        assert!(close(found.log_likelihood, moved), "{exponent}: {} {moved}", found.log_likelihood);
        let influence = model.influence(&x.view(), &y[..], None, 0).unwrap();
        let alike = influence.externally_studentised.iter().zip(&rows.externally_studentised);
        assert!(alike.into_iter().all(|(a, b)| (a - b).abs() < 1e-9), "{exponent}");
    }
}

#[test]
fn coefficients_that_cannot_be_stored_are_named_and_predictions_are_right() {
    let (plain, y) = line(0);
    let expected = fit(&plain, &y).predict(&plain.view()).unwrap().col(0);
    for (column, target) in [(-1035, 0), (-900, 700), (900, -700)] {
        let (x, y) = line(target);
        let unit = |value: f64| value * 2f64.powi(column / 2) * 2f64.powi(column - column / 2);
        let x = Matrix::from_fn(x.rows(), 2, |i, j| if j == 0 { unit(x[(i, j)]) } else { x[(i, j)] });
        let model = fit(&x, &y);
        assert_eq!(model.target().out_of_range(), [0], "{column}");
        assert!(!model.target().coefficients[0].value.is_normal());
        let found = model.predict(&x.view()).unwrap().col(0);
        let influence = model.influence(&x.view(), &y[..], None, 0).unwrap();
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let found = found / 2f64.powi(target);
            // Numbers as small as 2^-1035 have 39 bits.
            assert!((found - expected).abs() < 1e-9, "{column}, row {i}: {found} {expected}");
            let residual = influence.residuals[i] / 2f64.powi(target);
            assert!((residual - (y[i] / 2f64.powi(target) - expected)).abs() < 1e-9);
        }
    }
}

#[test]
fn tiny_targets_of_tall_tables_vary() {
    let mut next = random(5);
    let x = Matrix::from_fn(40_000, 2, |_, _| next());
    let plain: Vec<f64> = (0..40_000).map(|i| 3.0 * x[(i, 0)] + next()).collect();
    let expected = fit(&x, &plain).target().unexplained();
    for size in [1e-140, 1e-160, 1e-200, 1e-290, 1e140, 1e200, 1e290] {
        let y: Vec<f64> = plain.iter().map(|y| y * size).collect();
        let model = fit(&x, &y);
        let found = model.target();
        assert!(found.varies() && !found.is_exact(), "{size}");
        assert!((found.unexplained() - expected).abs() < 1e-12, "{size}: {} {expected}", found.unexplained());
    }
}

#[test]
fn a_constant_column_has_a_coefficient_of_nought_among_other_dependencies() {
    let mut next = random(11);
    let mut x = Matrix::from_fn(60, 5, |_, _| next());
    for i in 0..60 {
        x[(i, 3)] = x[(i, 0)] + 2.0 * x[(i, 1)] - 3.0;
        x[(i, 4)] = 5.0;
    }
    let y: Vec<f64> = (0..60).map(|i| x[(i, 0)] - x[(i, 2)] + next()).collect();
    let model = fit(&x, &y);
    assert_eq!(model.rank().dependent, [3, 4]);
    assert_eq!(model.target().coefficients[4].value, 0.0);
    let w: Vec<f64> = model.target().coefficients.iter().map(|c| c.value).collect();
    // Minimum norm: nothing along (1, 2, 0, −1, 0), which changes no prediction.
    assert!((w[0] + 2.0 * w[1] - w[3]).abs() < 1e-12, "{w:?}");
}

#[test]
fn powers_up_to_the_twentieth_give_every_row_of_a_wide_table() {
    let mut next = random(2);
    let base = Matrix::from_fn(60, 2, |_, j| next() * if j == 0 { 1.0 } else { 9.0 });
    let terms: Vec<(i32, i32)> = (1..=33).flat_map(|k| (0..=k).map(move |a| (a, k - a))).collect();
    let x = Matrix::from_fn(60, terms.len(), |i, j| {
        base[(i, 0)].powi(terms[j].0) * base[(i, 1)].powi(terms[j].1)
    });
    let y: Vec<f64> = (0..60).map(|_| next()).collect();
    let model = fit(&x, &y);
    assert_eq!((model.method(), model.rank().rank), (Method::UnitColumns, 60));
    assert!(model.target().unexplained() < 1e-20, "{}", model.target().unexplained());
    let found = model.predict(&x.view()).unwrap().col(0);
    assert!(found.iter().zip(&y).all(|(found, y)| (found - y).abs() < 1e-8));
}

#[test]
fn long_formulas_are_cut_after_a_few_terms() {
    let mut next = random(3);
    let mut x = Matrix::from_fn(80, 13, |_, _| next());
    for i in 0..80 {
        x[(i, 12)] = (0..12).map(|j| x[(i, j)]).sum::<f64>() + 1.0;
    }
    let y: Vec<f64> = (0..80).map(|_| next()).collect();
    let model = fit(&x, &y);
    let found = &model.dependencies()[0];
    assert_eq!(found.short_formula(&[], 2), "x[12] = x[0] + x[1] + … and 11 more");
    assert_eq!(found.short_formula(&[], 12), found.formula(&[]));
}

#[test]
fn weights_that_push_the_columns_out_of_range_are_refused() {
    let (x, y) = line(0);
    let far = Matrix::from_fn(40, 2, |i, j| 1e10 * x[(i, j)]);
    let found = LeastSquares::new().fit_weighted(&far.view(), &y[..], &[1e300; 40]);
    match found {
        Ok(model) => assert!(model.target().coefficients.iter().all(|c| c.value.is_finite())),
        Err(error) => assert!(error.to_string().contains("too large"), "{error}"),
    }
}

#[test]
fn a_copy_in_units_beyond_each_other_is_found_and_no_coefficient_is_nan() {
    let (x, y) = line(0);
    let copied = Matrix::from_fn(40, 2, |i, j| x[(i, 0)] * if j == 0 { 1e-160 } else { 1e160 });
    let model = fit(&copied, &y);
    assert_eq!(model.rank().rank, 2);
    assert!(model.target().coefficients.iter().all(|c| !c.value.is_nan()));
    let wide = Matrix::from_fn(4, 600, |i, j| 1e-170 * x[(i + j % 20, j % 2)]);
    assert!(LeastSquares::new().fit(&wide.view(), &y[..4]).is_err());
    assert!(LeastSquares::new().fit(&Matrix::from_fn(4, 600, |_, _| 1e-170).view(), &y[..4]).is_ok());
}

#[test]
fn columns_of_very_unlike_units_have_standard_errors() {
    let (x, y) = line(0);
    let plain = fit(&x, &y);
    let unlike = fit(&Matrix::from_fn(40, 2, |i, j| x[(i, j)] * if j == 0 { 1e-80 } else { 1e80 }), &y);
    for (j, unit) in [1e-80, 1e80].into_iter().enumerate() {
        let [a, b] = [&plain, &unlike].map(|model| model.target().coefficients[j]);
        assert!((b.standard_error * unit / a.standard_error - 1.0).abs() < 1e-9, "{b:?}");
        assert!((b.value * unit / a.value - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_column_far_from_nought_that_follows_another_is_not_called_constant() {
    let mut next = random(9);
    let mut x = Matrix::from_fn(1000, 4, |_, _| next());
    for far in [2e10, -3e12] {
        (0..1000).for_each(|i| x[(i, 3)] = x[(i, 2)] + far);
        let y: Vec<f64> = (0..1000).map(|i| x[(i, 0)] + x[(i, 2)] + next()).collect();
        let model = fit(&x, &y);
        assert_eq!((model.rank().rank, &model.rank().dependent[..]), (4, &[3][..]));
        let found = &model.dependencies()[0];
        assert_eq!(found.terms.iter().map(|&(j, _)| j).collect::<Vec<_>>(), [2], "{}", found.formula(&[]));
        assert!(found.relative_residual <= model.rank().tolerance, "{far}: {}", found.relative_residual);
        assert!((found.terms[0].1 - 1.0).abs() < 1e-3 && (found.constant / far - 1.0).abs() < 1e-12);
        // Nor does its constant take digits from the predictions.
        assert_eq!(model.target().coefficients[3].value, 0.0);
        let without = fit(&Matrix::from_fn(1000, 3, |i, j| x[(i, j)]), &y);
        let expected = without.predict(&Matrix::from_fn(1000, 3, |i, j| x[(i, j)]).view()).unwrap().col(0);
        let predicted = model.predict(&x.view()).unwrap().col(0);
        assert!(predicted.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}

#[test]
fn a_summary_counts_what_only_dropped_columns_could_explain_as_unexplained() {
    let mut next = random(12);
    let mut x = Matrix::from_fn(30, 4, |_, _| next());
    (0..30).for_each(|i| x[(i, 3)] = x[(i, 2)] + 2e10);
    let y: Vec<f64> = (0..30).map(|_| next()).collect();
    let (rows, summary) = (fit(&x, &y), crate::Summary::of(&x.view(), &y[..], None).unwrap());
    let streamed = LeastSquares::new().fit_summary(&summary).unwrap();
    let unrefined = LeastSquares::new().refinement(0).fit(&x.view(), &y[..]).unwrap();
    for other in [&streamed, &unrefined] {
        let [found, expected] = [other, &rows].map(|model| model.target().unexplained());
        assert!((found - expected).abs() < 1e-10, "{found} {expected}");
    }
}
