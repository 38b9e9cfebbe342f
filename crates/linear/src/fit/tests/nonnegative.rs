//! Literals from scipy 1.17 `optimize.nnls`, and for the simplex from trying every support with `numpy.linalg.solve`.

use super::*;
use crate::Seeded;

fn example() -> (Vec<f64>, Vec<f64>) {
    let x = (0..8).flat_map(|i| (0..4).map(move |j| f64::from((i * 5 + j * 3) % 11 - 4)));
    (x.collect(), (0..8).map(|i| f64::from((i * 7) % 10 - 3)).collect())
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= tolerance * (1.0 + e.abs()), "{found:?} against {expected:?}");
    }
}

#[test]
fn non_negative_least_squares_agrees_with_scipy() {
    let (x, y) = example();
    let fit = NonNegative::default().fit(View::new(&x, &[8, 4]).unwrap(), &y).unwrap();
    let expected = [0.492_000_752_870_318, 0.470_893_495_738_216_26, 0.058_401_226_103_089_41, 0.0];
    close(&fit.coefficients, &expected, 1e-13);
    assert_eq!(fit.support, [0, 1, 2]);
    close(&[fit.residual_sum_of_squares.sqrt()], &[8.769_620_331_415_291], 1e-13);
    assert!(fit.certificate.holds(), "{:?}", fit.certificate);
}

#[test]
fn simplex_least_squares_agrees_with_trying_every_support() {
    let (x, y) = example();
    let fit = Simplex.fit(View::new(&x, &[8, 4]).unwrap(), &y).unwrap();
    let expected = [0.484_018_264_840_182_5, 0.461_187_214_611_872_07, 0.054_794_520_547_945_17, 0.0];
    close(&fit.coefficients, &expected, 1e-12);
    close(&[fit.residual_sum_of_squares], &[76.913_242_009_132_42], 1e-13);
    assert!(fit.certificate.holds(), "{:?}", fit.certificate);
}

#[test]
fn the_optimality_conditions_hold_on_random_problems() {
    let mut random = Seeded::new(17);
    for round in 0..60 {
        let (n, p) = (3 + random.below(40), 1 + random.below(25));
        let x: Vec<f64> = (0..n * p).map(|_| random.normal() + 0.3).collect();
        let y: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let weights: Vec<f64> = (0..n).map(|_| random.uniform() + 0.1).collect();
        let view = View::new(&x, &[n, p]).unwrap();
        let intercept = round % 2 == 0;
        let cone = NonNegative { intercept }.fit_weighted(view, &y, &weights).unwrap();
        let simplex = Simplex.fit_weighted(view, &y, &weights).unwrap();
        for fit in [&cone, &simplex] {
            assert!(fit.certificate.holds(), "{n} × {p}: {:?}", fit.certificate);
            assert!(fit.coefficients.iter().all(|w| *w >= 0.0));
            assert!(fit.support.iter().all(|&j| fit.coefficients[j] > 0.0));
        }
        assert!((simplex.coefficients.iter().sum::<f64>() - 1.0).abs() < 1e-13);
    }
}

#[test]
fn a_positive_least_squares_solution_is_left_as_it_is() {
    let x = [1.0, 0.5, 2.0, 1.5, 3.0, 0.0, 4.0, 2.0];
    let y: Vec<f64> = x.chunks(2).map(|r| 2.0 * r[0] + 3.0 * r[1] + 7.0).collect();
    let fit = NonNegative { intercept: true }.fit(View::new(&x, &[4, 2]).unwrap(), &y).unwrap();
    close(&fit.coefficients, &[2.0, 3.0], 1e-12);
    close(&[fit.intercept], &[7.0], 1e-12);
    close(&fit.predict(View::new(&x, &[4, 2]).unwrap()).unwrap(), &y, 1e-12);
}

#[test]
fn a_target_that_points_away_from_every_column_gets_no_weight() {
    let x = [1.0, 0.0, 0.0, 1.0];
    let fit = NonNegative::default().fit(View::new(&x, &[2, 2]).unwrap(), &[-1.0, -2.0]).unwrap();
    assert_eq!(fit.coefficients, [0.0, 0.0]);
    assert!(fit.support.is_empty() && fit.certificate.holds());
    assert_eq!(fit.residual_sum_of_squares, 5.0);
}

#[test]
fn dependent_and_repeated_columns_do_no_harm() {
    let x: Vec<f64> = (0..10).flat_map(|i| [f64::from(i), f64::from(i), 2.0 * f64::from(i), 1.0]).collect();
    let y: Vec<f64> = (0..10).map(|i| 3.0 * f64::from(i) + 1.0).collect();
    let view = View::new(&x, &[10, 4]).unwrap();
    let fit = NonNegative::default().fit(view, &y).unwrap();
    assert!(fit.certificate.holds());
    let w = &fit.coefficients;
    close(&[w[0] + w[1] + 2.0 * w[2], w[3]], &[3.0, 1.0], 1e-11);
    let mixture = Simplex.fit(view, &y).unwrap();
    assert!(mixture.certificate.holds(), "{:?}", mixture.certificate);
    // A zero column, a zero target, one column alone.
    let zero = View::new(&[0.0, 1.0, 0.0, 2.0], &[2, 2]).unwrap();
    assert_eq!(NonNegative::default().fit(zero, &[0.0, 0.0]).unwrap().coefficients, [0.0, 0.0]);
    close(&Simplex.fit(zero, &[0.5, 1.0]).unwrap().coefficients, &[0.5, 0.5], 1e-14);
    assert_eq!(Simplex.fit(View::new(&[3.0], &[1, 1]).unwrap(), &[9.0]).unwrap().coefficients, [1.0]);
}

#[test]
fn a_point_outside_the_hull_is_projected_to_its_nearest_face() {
    // Triangle (0,0), (4,0), (0,4); the nearest point to (5, 5) is (2, 2).
    let x = [0.0, 4.0, 0.0, 0.0, 0.0, 4.0];
    let fit = Simplex.fit(View::new(&x, &[2, 3]).unwrap(), &[5.0, 5.0]).unwrap();
    close(&fit.coefficients, &[0.0, 0.5, 0.5], 1e-14);
    close(&[fit.residual_sum_of_squares], &[18.0], 1e-13);
}

#[test]
fn a_weightless_row_is_a_dropped_row_and_bad_input_an_error() {
    let (x, y) = example();
    let weights = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0];
    let zeroed = NonNegative::default().fit_weighted(View::new(&x, &[8, 4]).unwrap(), &y, &weights).unwrap();
    let short = NonNegative::default().fit(View::new(&x[..24], &[6, 4]).unwrap(), &y[..6]).unwrap();
    close(&zeroed.coefficients, &short.coefficients, 1e-12);
    let nan = View::new(&[1.0, f64::NAN], &[2, 1]).unwrap();
    let error = Simplex.fit(nan, &[1.0, 1.0]).unwrap_err().to_string();
    assert!(error.starts_with("simplex least squares: `X` holds NaN at row 1, column 0"), "{error}");
    assert!(NonNegative::default().fit(nan, &[1.0]).is_err());
}

#[test]
fn columns_whose_squares_vanish_get_no_certificate() {
    let x = View::new(&[1e-170, 2e-170, 3e-170], &[3, 1]).unwrap();
    let found = NonNegative::default().fit(x, &[2.0, 4.0, 6.0]);
    assert!(matches!(found, Err(LinearError::Underflow { argument: "X", .. })));
}
