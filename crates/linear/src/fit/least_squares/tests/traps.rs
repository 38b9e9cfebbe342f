//! Inputs that break other programs: the right rank, the right formula, a clear error, never a panic.

use crate::LinearError;
use crate::fit::least_squares::{Deficiency, LeastSquares, LinearFit};
use spanwise_kernels::{Matrix, View};

/// Numbers between −1 and 1 that depend on `seed` alone.
pub(super) fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn table(n: usize, d: usize, seed: u64) -> Matrix {
    let mut next = random(seed);
    Matrix::from_fn(n, d, |_, _| next())
}

fn target(n: usize, seed: u64) -> Vec<f64> {
    let mut next = random(seed);
    (0..n).map(|_| next()).collect()
}

fn fit(x: &Matrix, y: &[f64]) -> LinearFit {
    LeastSquares::new().fit(&x.view(), y).unwrap()
}

fn values(model: &LinearFit) -> Vec<f64> {
    model.target().coefficients.iter().map(|c| c.value).collect()
}

fn predictions(model: &LinearFit, x: &Matrix) -> Vec<f64> {
    model.predict(&x.view()).unwrap().col(0)
}

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn formulas(model: &LinearFit) -> Vec<String> {
    model.dependencies().iter().map(|d| d.formula(&NAMES)).collect()
}

#[test]
fn a_column_that_is_another_plus_two_is_found_with_its_formula() {
    let mut x = table(100, 4, 1);
    for i in 0..100 {
        x[(i, 3)] = x[(i, 2)] + 2.0;
    }
    let y = target(100, 2);
    let model = fit(&x, &y);
    assert_eq!((model.rank().rank, model.rank().terms), (4, 5));
    assert_eq!(model.rank().dependent, [3]);
    assert_eq!(formulas(&model), ["d = c + 2"]);
    assert!(!model.rank().would_change() && model.rank().gap() > 1e10);
    assert!(values(&model).iter().all(|w| w.abs() < 2.0), "{:?}", values(&model));
    // Minimum norm: both halves the same, and the same predictions as without the column.
    assert!((values(&model)[2] - values(&model)[3]).abs() < 1e-13);
    let without = Matrix::from_fn(100, 3, |i, j| x[(i, j)]);
    let reference = predictions(&fit(&without, &y), &without);
    for (a, b) in predictions(&model, &x).iter().zip(&reference) {
        assert!((a - b).abs() < 1e-12);
    }
    let dropped = LeastSquares::new().deficiency(Deficiency::Drop).fit(&x.view(), &y[..]).unwrap();
    assert_eq!(values(&dropped)[3], 0.0);
    assert!((values(&dropped)[2] - 2.0 * values(&model)[2]).abs() < 1e-12);
}

#[test]
fn of_numbers_stored_as_f32_terms_of_their_rounding_are_no_part_of_a_formula() {
    let rounded = |x: f64| f64::from(x as f32);
    for rows in [60, 500, 20_000] {
        let mut x = table(rows, 6, 1);
        for i in 0..rows {
            (0..3).for_each(|j| x[(i, j)] = rounded(x[(i, j)]));
            x[(i, 3)] = rounded(x[(i, 2)] + 2.0);
            x[(i, 4)] = rounded(3.0 * x[(i, 0)] - 0.5 * x[(i, 1)]);
            x[(i, 5)] = rounded(x[(i, 1)] / 3.0);
        }
        let (y, expected) = (target(rows, 2), ["d = c + 2", "e = 3·a - 0.5·b", "f = 1/3·b"]);
        let least = LeastSquares::new().stored_bits(24);
        assert_eq!(formulas(&least.fit(&x.view(), &y[..]).unwrap()), expected, "{rows}");
        let mut summary = crate::SummaryStream::new(6, 1);
        summary.push(&x.view(), &y[..], None).unwrap();
        assert_eq!(formulas(&least.fit_summary(&summary.finish()).unwrap()), expected, "{rows}");
        // The same numbers as f32, fitted and measured.
        let short: Vec<f32> = x.as_slice().iter().map(|&x| x as f32).collect();
        let short = View::new(&short, &[rows, 6]).unwrap();
        assert_eq!(formulas(&LeastSquares::new().fit(&short, &y[..]).unwrap()), expected, "{rows}");
        let measured = crate::measure::dependencies(short, true, None).unwrap();
        let measured: Vec<String> = measured.iter().map(|found| found.formula(&NAMES)).collect();
        assert_eq!(measured, expected, "{rows}");
    }
}

#[test]
fn the_same_trap_in_a_large_table_is_found_too() {
    let mut x = table(20_000, 5, 3);
    for i in 0..20_000 {
        x[(i, 4)] = 3.0 * x[(i, 0)] - 0.5 * x[(i, 1)] + 2.0;
    }
    let model = fit(&x, &target(20_000, 4));
    assert_eq!(model.rank().rank, 5);
    assert_eq!(formulas(&model), ["e = 3·a - 0.5·b + 2"]);
    assert!(values(&model).iter().all(|w| w.abs() < 1.0));
}

#[test]
fn a_duplicated_column_shares_its_coefficient() {
    let mut x = table(50, 3, 5);
    for i in 0..50 {
        x[(i, 2)] = x[(i, 0)];
    }
    let model = fit(&x, &target(50, 6));
    assert_eq!(formulas(&model), ["c = a"]);
    assert!((values(&model)[0] - values(&model)[2]).abs() < 1e-14);
    assert!(model.target().coefficients[0].standard_error.is_nan());
    assert!(model.target().coefficients[1].standard_error > 0.0);
}

#[test]
fn one_hot_columns_with_an_intercept_are_one_too_many() {
    let x = Matrix::from_fn(30, 3, |i, j| f64::from(u8::from(i % 3 == j)));
    let y: Vec<f64> = (0..30).map(|i| [1.0, 2.0, 6.0][i % 3]).collect();
    let model = fit(&x, &y);
    assert_eq!(model.rank().rank, 3);
    assert_eq!(formulas(&model), ["c = -a - b + 1"]);
    let without = LeastSquares::new().intercept(false).fit(&x.view(), &y[..]).unwrap();
    assert!(without.rank().is_full());
    for (w, expected) in values(&without).iter().zip([1.0, 2.0, 6.0]) {
        assert!((w - expected).abs() < 1e-14);
    }
}

#[test]
fn a_near_dependency_at_1e_9_keeps_its_rank_and_its_coefficients() {
    let mut x = table(200, 3, 7);
    let noise = target(200, 8);
    for i in 0..200 {
        x[(i, 2)] = x[(i, 0)] + x[(i, 1)] + 1e-9 * noise[i];
    }
    let y: Vec<f64> = (0..200).map(|i| x[(i, 0)] - 2.0 * x[(i, 1)] + 3.0 * x[(i, 2)] + 1.0).collect();
    let model = fit(&x, &y);
    assert!(model.rank().is_full());
    assert!(model.rank().smallest_kept < 1e-8 && model.condition_bound() > 1e8);
    for (c, expected) in model.target().coefficients.iter().zip([1.0, -2.0, 3.0]) {
        let had = -((c.value - expected) / expected).abs().log10();
        assert!(had > 6.0 && c.digits() <= had, "{c:?}");
    }
}

#[test]
fn scales_of_1e_12_and_1e12_side_by_side_are_full_rank() {
    let mut x = table(300, 2, 9);
    for i in 0..300 {
        x[(i, 0)] *= 1e-12;
        x[(i, 1)] *= 1e12;
    }
    let y: Vec<f64> = (0..300).map(|i| 3e12 * x[(i, 0)] + 5e-12 * x[(i, 1)] + 7.0).collect();
    let model = fit(&x, &y);
    assert!(model.rank().is_full());
    assert!((values(&model)[0] / 3e12 - 1.0).abs() < 1e-13);
    assert!((values(&model)[1] / 5e-12 - 1.0).abs() < 1e-13);
    assert!((model.target().intercept.unwrap().value - 7.0).abs() < 1e-12);
}

#[test]
fn scales_whose_squares_overflow_or_vanish_are_fitted_too() {
    let mut x = table(40, 2, 10);
    for i in 0..40 {
        x[(i, 0)] *= 1e-200;
        x[(i, 1)] *= 1e200;
    }
    let y: Vec<f64> = (0..40).map(|i| 3e200 * x[(i, 0)] + 5e-200 * x[(i, 1)] + 7.0).collect();
    let model = fit(&x, &y);
    assert!(model.rank().is_full(), "{:?}", model.rank());
    assert!((values(&model)[0] / 3e200 - 1.0).abs() < 1e-12, "{:?}", values(&model));
    assert!((values(&model)[1] / 5e-200 - 1.0).abs() < 1e-12);
}

#[test]
fn a_constant_column_depends_on_the_intercept() {
    for constant in [0.0, 0.1, 5.0, -1e9] {
        let mut x = table(60, 3, 11);
        for i in 0..60 {
            x[(i, 1)] = constant;
        }
        let model = fit(&x, &target(60, 12));
        assert_eq!(model.rank().rank, 3, "{constant}");
        assert_eq!(formulas(&model), [format!("b = {constant}")]);
        assert!(values(&model).iter().all(|w| w.abs() < 2.0));
    }
}

#[test]
fn more_columns_than_rows_meet_every_target_with_the_smallest_coefficients() {
    let x = table(5, 9, 13);
    let y = target(5, 14);
    let model = fit(&x, &y);
    assert_eq!((model.rank().rank, model.dependencies().len()), (5, 5));
    for (p, y) in predictions(&model, &x).iter().zip(&y) {
        assert!((p - y).abs() < 1e-12);
    }
    // Orthogonal to the null space: a combination of the centred rows.
    let means: Vec<f64> = (0..9).map(|j| x.col(j).iter().sum::<f64>() / 5.0).collect();
    let centred = Matrix::from_fn(9, 4, |j, i| x[(i, j)] - means[j]);
    let w = values(&model);
    let inside = LeastSquares::new().intercept(false).fit(&centred.view(), &w[..]).unwrap();
    assert!(inside.target().residual_squares.sqrt() < 1e-12);
    assert!(model.target().intercept.unwrap().standard_error.is_nan());
}

#[test]
fn one_row_is_met_exactly() {
    let x = Matrix::new(vec![1.0, 2.0], 1, 2).unwrap();
    let model = fit(&x, &[5.0]);
    assert_eq!(model.rank().rank, 1);
    assert_eq!(values(&model), [0.0, 0.0]);
    assert_eq!(model.target().intercept.unwrap().value, 5.0);
    let without = LeastSquares::new().intercept(false).fit(&x.view(), &[5.0][..]).unwrap();
    assert!((values(&without)[0] - 1.0).abs() < 1e-14 && (values(&without)[1] - 2.0).abs() < 1e-14);
}

#[test]
fn no_rows_and_no_columns_are_errors() {
    let none = Matrix::zeros(0, 3);
    let error = LeastSquares::new().fit(&none.view(), &[][..]).unwrap_err();
    assert_eq!(error.to_string(), "fit: `X` has shape (0, 3); expected at least one row and one column");
    let narrow = Matrix::zeros(3, 0);
    let error = LeastSquares::new().fit(&narrow.view(), &[1.0, 2.0, 3.0][..]).unwrap_err();
    assert_eq!(error.to_string(), "fit: `X` has shape (3, 0); expected at least one row and one column");
    let error = LeastSquares::new().fit(&table(3, 1, 1).view(), &[1.0][..]).unwrap_err();
    assert_eq!(error.to_string(), "fit: `y` has 1 row, `X` has 3 rows; they must be equal");
}

#[test]
fn a_number_that_is_not_finite_is_located() {
    for (n, d) in [(10, 2), (30_000, 3)] {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut x = table(n, d, 15);
            x[(n - 3, 1)] = bad;
            let error = LeastSquares::new().fit(&x.view(), &target(n, 16)[..]).unwrap_err();
            let LinearError::NotFinite { argument: "X", row, column: 1, .. } = error else {
                panic!("{error}")
            };
            assert_eq!(row, n - 3);
            let mut y = target(n, 17);
            y[2] = bad;
            let error = LeastSquares::new().fit(&table(n, d, 15).view(), &y[..]).unwrap_err();
            assert!(matches!(error, LinearError::NotFinite { argument: "y", row: 2, .. }), "{error}");
        }
    }
}

#[test]
fn a_constant_target_has_no_r_squared_and_zero_coefficients() {
    let x = table(40, 2, 18);
    let model = fit(&x, &[4.0; 40]);
    assert_eq!(values(&model), [0.0, 0.0]);
    assert_eq!(model.target().intercept.unwrap().value, 4.0);
    assert!(model.statistics(0).unwrap().r_squared.is_nan());
}

#[test]
fn weights_must_not_be_negative_nor_all_zero() {
    let (x, y) = (table(4, 1, 19), target(4, 20));
    let fit = |weights: &[f64]| LeastSquares::new().fit_weighted(&x.view(), &y[..], weights).unwrap_err();
    assert_eq!(
        fit(&[1.0, -2.0, 1.0, 1.0]).to_string(),
        "fit: `weights` holds -2 at row 1; expected numbers ≥ 0"
    );
    let weightless = "fit: `sum of weights` is 0; expected a finite number above 0";
    assert_eq!(fit(&[0.0; 4]).to_string(), weightless);
    let summary = crate::Summary::of(&x.view(), &y[..], Some(&[0.0; 4])).unwrap();
    assert_eq!(LeastSquares::new().fit_summary(&summary).unwrap_err().to_string(), weightless);
    assert!(matches!(fit(&[1.0; 3]), LinearError::Mismatch { argument: "weights", .. }));
    assert!(matches!(
        fit(&[1.0, f64::NAN, 1.0, 1.0]),
        LinearError::NotFinite { argument: "weights", row: 1, .. }
    ));
}

#[test]
fn f32_columns_that_depend_up_to_f32_rounding_are_dependent() {
    let x = table(400, 3, 21);
    let mut single: Vec<f32> = x.as_slice().iter().map(|&v| v as f32).collect();
    for row in single.chunks_exact_mut(3) {
        row[2] = row[0] + 0.3 * row[1];
    }
    let view = View::new(&single, &[400, 3]).unwrap();
    let model = LeastSquares::new().fit(&view, &target(400, 22)[..]).unwrap();
    assert_eq!(model.rank().rank, 3);
    assert_eq!(model.dependencies()[0].terms.len(), 2);
}

#[test]
fn a_tolerance_outside_its_range_is_refused() {
    let (x, y) = (table(4, 1, 23), target(4, 24));
    for bad in [-1.0, 1.0, f64::NAN] {
        let error = LeastSquares::new().tolerance(bad).fit(&x.view(), &y[..]).unwrap_err();
        assert!(matches!(error, LinearError::OutOfRange { argument: "tolerance", .. }));
    }
}

#[test]
fn a_coefficient_of_nothing_is_zero_or_has_no_digits() {
    let mut next = random(5);
    // A constant beside the intercept; a sum of two columns whose difference is the target.
    let x = Matrix::from_fn(40, 5, |_, j| if j == 2 { 3.0 } else { 1e3 * next() });
    let x = Matrix::from_fn(40, 5, |i, j| if j == 4 { x[(i, 0)] + x[(i, 1)] } else { x[(i, j)] });
    let y: Vec<f64> = (0..40).map(|i| x[(i, 0)] - x[(i, 1)] + 0.1 * x[(i, 3)] + 7.0).collect();
    let model = LeastSquares::new().fit(&x.view(), &y[..]).unwrap();
    let found = &model.target().coefficients;
    assert_eq!(model.rank().rank, 4);
    for c in [&found[2], &found[4]] {
        assert!(c.value.abs() < 1e-12 && (c.value == 0.0 || c.digits() < 1.0), "{c:?}");
    }
    assert!((found[0].value - 1.0).abs() < 1e-12 && found[0].digits() > 10.0, "{:?}", found[0]);
}

#[test]
fn a_constant_column_beside_the_intercept_weighs_exactly_nothing() {
    let mut next = random(6);
    let x = Matrix::from_fn(30, 3, |_, j| if j == 1 { 1.0 } else { next() });
    let y: Vec<f64> = (0..30).map(|i| 3.0 * x[(i, 0)] - x[(i, 2)] + next()).collect();
    let model = LeastSquares::new().fit(&x.view(), &y[..]).unwrap();
    assert_eq!(model.target().coefficients[1].value, 0.0);
}

#[test]
fn coefficients_of_least_norm_claim_the_digits_they_have() {
    let x = |i: usize| i as f64;
    // The intercept is exactly −500 beside x + 1000, and exactly 0 beside x + 1.
    let far =
        fit(&Matrix::from_fn(10, 2, |i, j| x(i) + 1000.0 * j as f64), &(0..10).map(x).collect::<Vec<_>>());
    let near = fit(
        &Matrix::from_fn(10, 2, |i, j| x(i) + j as f64),
        &(0..10).map(|i| x(i) + 0.5).collect::<Vec<_>>(),
    );
    let [far, near] = [far, near].map(|model| model.target().intercept.unwrap());
    assert!((far.value + 500.0).abs() < 1e-9 && far.digits() > 10.0, "{far:?}");
    assert!(near.value.abs() < 1e-12 && near.digits() < 1.0, "{near:?}");
    // b = −a/3 + 2b/3 + (a + b)/3.
    let two = table(30, 2, 3);
    let sum = Matrix::from_fn(30, 3, |i, j| if j < 2 { two[(i, j)] } else { two[(i, 0)] + two[(i, 1)] });
    let model = fit(&sum, &two.col(1));
    for (c, third) in model.target().coefficients.iter().zip([-1.0, 2.0, 1.0]) {
        let exact = third / 3.0;
        assert!(
            c.digits() > 10.0 && (c.value - exact).abs() <= exact.abs() * 10f64.powf(-c.digits()),
            "{c:?}"
        );
    }
}

#[test]
fn a_constant_far_below_its_column_stays_in_the_formula_where_it_is_no_rounding() {
    for (factor, constant) in [(1e12, 2.0), (1e10, -1.0), (1e10, 0.0), (3.0, 0.0)] {
        // Quarters, of which f64 holds all digits.
        let a = |i: usize| (i * i % 7) as f64 / 4.0;
        let x = Matrix::from_fn(60, 2, |i, j| if j == 0 { a(i) } else { factor * a(i) + constant });
        let model = fit(&x, &target(60, 4));
        let found = &model.dependencies()[0];
        assert!((found.constant - constant).abs() <= 1e-3 * constant.abs(), "{found:?}");
        assert!(found.relative_residual < 1e-13, "{found:?}");
    }
}
