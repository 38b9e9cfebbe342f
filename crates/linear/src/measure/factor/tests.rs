//! What is measured on the triangle is what is measured on the rows.

use super::super::*;
use super::{Factor, FactorStream};
use crate::testing::{awkward, wavy};
use spanwise_kernels::{Matrix, View};

fn nothing(rows: usize) -> View<'static, f64> {
    View::new(&[], &[rows, 0]).unwrap()
}

/// The factor of rows in memory, and of the same rows in batches of seven.
fn both(x: &Matrix, y: &Matrix) -> [Factor; 2] {
    let mut stream = FactorStream::new(x.cols(), y.cols());
    for first in (0..x.rows()).step_by(7) {
        let count = 7.min(x.rows() - first);
        let part = |of: &Matrix| Matrix::from_fn(count, of.cols(), |i, j| of[(first + i, j)]);
        stream.push(part(x).view(), part(y).view()).unwrap();
    }
    [Factor::of(x.view(), y.view()).unwrap(), stream.finish().unwrap()]
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * b.abs().max(1e-300)
}

#[test]
fn every_awkward_matrix_measures_the_same_from_rows_and_from_batches() {
    for (name, x) in awkward() {
        for factor in both(&x, &Matrix::zeros(x.rows(), 0)) {
            let view = x.view();
            let (found, expected) = (factor.rank(), rank(view).unwrap());
            assert_eq!((found.rank, found.tolerance), (expected.rank, expected.tolerance), "{name}");
            assert_eq!(found.rank_in_band, expected.rank_in_band, "{name}");
            assert_eq!(found.singular_values.len(), expected.singular_values.len(), "{name}");
            let (found, expected) = (factor.norms(), matrix_norms(view).unwrap());
            assert_eq!((found.one, found.inf), (expected.one, expected.inf), "{name}");
            assert!(close(found.frobenius, expected.frobenius), "{name}: {found:?} {expected:?}");
            assert!(close(found.spectral, expected.spectral), "{name}: {found:?} {expected:?}");
            let (found, expected) = (factor.effective_rank().unwrap(), effective_rank(view).unwrap());
            assert!(close(found.entropy, expected.entropy) && close(found.stable, expected.stable), "{name}");
            let (found, expected) = (factor.condition().unwrap(), condition(view).unwrap());
            // Of dependent columns it is rounding.
            if expected.unit_scaled < 1e6 {
                assert!(close(found.unit_scaled, expected.unit_scaled), "{name}: {found:?} {expected:?}");
            }
            let (found, expected) = (factor.orthogonality(), orthogonality(view).unwrap());
            assert!(close(found.largest_cosine, expected.largest_cosine), "{name}");
            assert_eq!(found.orthogonal, expected.orthogonal, "{name}");
            for intercept in [false, true] {
                let formulas = |all: Vec<Dependency>| -> Vec<String> {
                    all.iter().map(|one| one.formula::<&str>(&[])).collect()
                };
                assert_eq!(
                    formulas(factor.dependencies(intercept, None).unwrap()),
                    formulas(dependencies(view, intercept, None).unwrap()),
                    "{name}"
                );
                let found = factor.inflation(intercept).unwrap();
                let expected = inflation(view, intercept).unwrap();
                let same = found.vif.iter().zip(&expected.vif).all(|(&a, &b)| close(a, b));
                assert!(same, "{name} {intercept}: {found:?} {expected:?}");
            }
        }
    }
}

#[test]
fn near_dependencies_are_the_same_where_inflation_has_nothing_to_say() {
    // b is nearly a, and both are there once more; alone, beside exact ones, and not at all.
    let base = wavy(90, 4);
    let column = |i: usize, j: usize| match j {
        1 | 3 => base[(i, 0)] + 1e-8 * base[(i, 1)],
        2 => base[(i, 0)],
        _ => base[(i, j % 4)],
    };
    let of = |columns: &[usize]| Matrix::from_fn(90, columns.len(), |i, j| column(i, columns[j]));
    let tables = [&[0, 1, 6][..], &[0, 1, 2, 3, 6, 7], &[0, 2, 6, 7], &[0, 6, 7]].map(of);
    let near = [1, 1, 0, 0];
    let awkward = awkward().into_iter().map(|(_, x)| (x, None));
    for (x, near) in tables.into_iter().zip(near.map(Some)).chain(awkward) {
        let factor = Factor::of(x.view(), nothing(x.rows())).unwrap();
        for intercept in [false, true] {
            let dependent: Vec<usize> =
                factor.dependencies(intercept, None).unwrap().iter().map(|found| found.column).collect();
            let inflation = factor.inflation(intercept).unwrap();
            let unknown = Inflation { vif: vec![f64::INFINITY; x.cols()], ..inflation.clone() };
            let found = factor.near_dependencies(intercept, &dependent, &inflation);
            assert_eq!(found, factor.near_dependencies(intercept, &dependent, &unknown));
            assert!(near.is_none_or(|near| near == found.len()), "{found:?}");
        }
    }
}

#[test]
fn far_columns_keep_their_formula_and_their_rank() {
    let x = Matrix::from_fn(500, 4, |i, j| {
        let (a, b) = (1e7 + (i as f64 * 0.37).sin(), (i as f64 * 0.71).cos());
        [a, b, a + 2.0, 3.0 * b - 1.0][j]
    });
    for factor in both(&x, &Matrix::zeros(500, 0)) {
        let names = ["a", "b", "c", "d"];
        let found = factor.dependencies(true, None).unwrap();
        let formulas: Vec<String> = found.iter().map(|one| one.formula(&names)).collect();
        assert_eq!(formulas, ["c = a + 2", "d = 3·b - 1"]);
        assert_eq!(factor.rank().rank, 3, "the columns give a constant together, in two ways");
    }
}

#[test]
fn angles_between_columns_are_those_of_the_rows_nearest_first() {
    let x = Matrix::from_fn(60, 4, |i, j| {
        let (a, b) = ((i as f64 * 0.37).sin() + 3.0, (i as f64 * 0.71).cos());
        [a, -2.0 * a + 1e-7 * b, b, 0.0][j]
    });
    for factor in both(&x, &Matrix::zeros(60, 0)) {
        let found = factor.column_angles(10);
        assert_eq!(found.len(), 3, "a column of zeros has no direction");
        assert_eq!((found[0].first, found[0].second), (0, 1));
        for one in &found {
            let (a, b) = (x.col(one.first), x.col(one.second));
            let view =
                |v: &[f64]| angle(View::new(v, &[60]).unwrap(), View::new(&b, &[60]).unwrap()).unwrap();
            assert!((one.angle - view(&a).unwrap()).abs() < 1e-13, "{one:?}");
            let centred = |v: &[f64]| -> Vec<f64> {
                let mean = v.iter().sum::<f64>() / 60.0;
                v.iter().map(|v| v - mean).collect()
            };
            let (a, b) = (centred(&a), centred(&b));
            let expected = angle(View::new(&a, &[60]).unwrap(), View::new(&b, &[60]).unwrap()).unwrap();
            assert!((one.centred.unwrap() - expected.unwrap()).abs() < 1e-12, "{one:?}");
        }
        assert_eq!(factor.column_angles(1), found[..1]);
    }
    // Angles of which every cosine is 1 to rounding: the last two are the nearest.
    let slopes = [0.0, 1e-9, 3e-9, 5e-9, 5.1e-9];
    let narrow = Matrix::from_fn(2, 5, |i, j| if i == 0 { 1.0 } else { slopes[j] });
    for factor in both(&narrow, &Matrix::zeros(2, 0)) {
        let found = factor.column_angles(1);
        assert_eq!(found.iter().map(|one| (one.first, one.second)).collect::<Vec<_>>(), [(3, 4)]);
        assert!(factor.column_angles(0).is_empty());
    }
    let constant = Matrix::from_fn(5, 2, |i, j| if j == 0 { 7.0 } else { i as f64 });
    for factor in both(&constant, &Matrix::zeros(5, 0)) {
        assert_eq!(factor.column_angles(9)[0].centred, None);
    }
}

#[test]
fn vectors_and_spans_are_compared_on_the_triangle() {
    let x = wavy(40, 3);
    let noise = wavy(40, 6);
    // In the span, outside it, then two columns of which one lies in the span.
    let y = Matrix::from_fn(40, 4, |i, j| match j {
        0 => 2.0 * x[(i, 0)] - x[(i, 2)],
        1 => noise[(i, 4)],
        2 => x[(i, 0)] + x[(i, 1)],
        _ => noise[(i, 5)],
    });
    let column = |j: usize| y.col(j);
    for factor in both(&x, &y) {
        for q in 0..2 {
            let v = column(q);
            let expected = span_membership(x.view(), View::new(&v, &[40]).unwrap()).unwrap();
            let found = factor.span_membership(q).unwrap();
            assert_eq!((found.inside, found.unique), (expected.inside, expected.unique));
            assert!((found.residual - expected.residual).abs() < 1e-14);
            for (a, b) in found.coefficients.iter().zip(&expected.coefficients) {
                assert!((a - b).abs() < 1e-13);
            }
        }
        let others = Matrix::from_fn(40, 2, |i, j| y[(i, 2 + j)]);
        let expected = principal_angles(x.view(), others.view()).unwrap();
        let found = factor.span_angles(2..4).unwrap();
        assert_eq!(found.ranks, (3, 2));
        assert!(found.angles[0].sin() <= found.tolerance && found.angles[1] > 0.1);
        for (a, b) in found.angles.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-14, "{a} {b}");
        }
    }
}

#[test]
fn numbers_stored_as_f32_depend_to_their_own_rounding() {
    let short = |x: f64| f64::from(x as f32);
    let x = Matrix::from_fn(300, 3, |i, j| {
        let (a, b) = (short((i as f64 * 0.37).sin()), short((i as f64 * 0.71).cos()));
        [a, b, short(b + 2.0)][j]
    });
    for factor in both(&x, &Matrix::zeros(300, 0)) {
        assert!(factor.dependencies(true, None).unwrap().is_empty());
        let factor = factor.stored_bits(24);
        let found = factor.dependencies(true, None).unwrap();
        assert_eq!(found[0].formula(&["a", "b", "c"]), "c = b + 2");
        assert_eq!(factor.rank().tolerance, rank_tolerance_of(3, f64::from(f32::EPSILON) / 2.0));
        // A view of f32 says so itself.
        let short: Vec<f32> = x.as_slice().iter().map(|&x| x as f32).collect();
        let of_f32 = Factor::of(View::new(&short, &[300, 3]).unwrap(), nothing(300)).unwrap();
        assert_eq!(
            (of_f32.rank().tolerance, of_f32.rank().rank),
            (factor.rank().tolerance, factor.rank().rank)
        );
        assert_eq!(of_f32.dependencies(true, None).unwrap()[0].formula(&["a", "b", "c"]), "c = b + 2");
        // Shorter types count as f32: to their own rounding nearly everything would depend.
        assert_eq!(factor.clone().stored_bits(11).rank(), factor.rank());
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    assert!(FactorStream::new(2, 0).finish().is_err());
    let x = wavy(4, 2);
    assert!(Factor::of(x.view(), nothing(3)).is_err());
    assert!(Factor::of(View::<f64>::new(&[], &[0, 2]).unwrap(), nothing(0)).is_err());
    let bad = [1.0, f64::NAN];
    assert!(Factor::of(View::new(&bad, &[2, 1]).unwrap(), nothing(2)).is_err());
    assert!(FactorStream::new(1, 0).push(View::new(&bad, &[2, 1]).unwrap(), nothing(2)).is_err());
    assert!(FactorStream::new(3, 0).push(x.view(), nothing(4)).is_err());
    let huge = [f64::MAX, f64::MAX];
    assert!(Factor::of(View::new(&huge, &[2, 1]).unwrap(), nothing(2)).is_err());
}
