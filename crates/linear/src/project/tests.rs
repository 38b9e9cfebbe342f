use super::*;
use crate::LinearError;
use crate::decompose::{PcaOptions, pca};
use crate::dense::{multiply_transposed, norm, times, transposed_times};
use crate::testing::{apart, awkward, matrices, sized, skewness, vectors, vectors_apart, wavy};
use proptest::prelude::*;
use spanwise_kernels::{Matrix, View};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

fn view(v: &[f64]) -> View<'_, f64> {
    View::new(v, &[v.len()]).unwrap()
}

#[test]
fn a_plane_splits_a_vector_by_hand() {
    let plane = Matrix::new(vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0], 3, 2).unwrap();
    let split = project(plane.view(), view(&[3.0, 4.0, 5.0])).unwrap();
    assert!(vectors_apart(&split.inside, &[3.0, 4.0, 0.0]) < 1e-15);
    assert!(vectors_apart(&split.outside, &[0.0, 0.0, 5.0]) < 1e-15);
    assert!((split.angle.unwrap() - FRAC_PI_4).abs() < 1e-15);
    assert!(vectors_apart(&split.coefficients, &[3.0, 4.0]) < 1e-15);
    assert_eq!(split.rank, 2);
}

#[test]
fn awkward_matrices_still_have_a_span() {
    for (name, x) in awkward() {
        let v: Vec<f64> = (0..x.rows()).map(|i| (i as f64 * 0.7).cos()).collect();
        let split = project(x.view(), view(&v)).unwrap();
        let sum: Vec<f64> = split.inside.iter().zip(&split.outside).map(|(a, b)| a + b).collect();
        assert!(vectors_apart(&sum, &v) < 1e-15, "{name}");
        let unit = crate::measure::unit_columns_of(&x);
        assert!(norm(&transposed_times(&unit, &split.outside)) < 1e-13 * norm(&v), "{name}");
        let basis = orthonormal_basis(x.view()).unwrap();
        let beside = complement_basis(x.view()).unwrap();
        assert_eq!((basis.cols(), beside.cols()), (split.rank, x.rows() - split.rank), "{name}");
        if x.rows() < 100 {
            assert!(skewness(&basis) < 1e-13 && skewness(&beside) < 1e-13, "{name}");
            let across = multiply_transposed(&basis, &beside);
            assert!(norm(across.as_slice()) < 1e-13, "{name}");
        }
    }
}

#[test]
fn without_columns_everything_is_outside() {
    let none = View::<f64>::new(&[], &[3, 0]).unwrap();
    let split = project(none, view(&[1.0, 2.0, 2.0])).unwrap();
    assert_eq!(split.outside, [1.0, 2.0, 2.0]);
    assert_eq!(split.angle, Some(FRAC_PI_2));
    assert_eq!(complement_basis(none).unwrap(), crate::dense::identity(3));
    let zero = project(wavy(3, 2).view(), view(&[0.0; 3])).unwrap();
    assert_eq!(zero.angle, None);
    let empty = project(View::<f64>::new(&[], &[0, 2]).unwrap(), view(&[])).unwrap();
    assert_eq!((empty.rank, empty.coefficients), (0, vec![0.0, 0.0]));
}

#[test]
fn what_does_not_fit_is_refused() {
    let x = wavy(3, 2);
    let error = project(x.view(), view(&[1.0, 2.0])).unwrap_err();
    assert_eq!(error.to_string(), "project: `v` has length 2, `X` has 3 rows; they must be equal");
    assert!(project_matrix(x.view(), wavy(2, 2).view()).is_err());
    assert!(matches!(
        project(x.view(), view(&[1.0, f64::NAN, 0.0])),
        Err(LinearError::NotFinite { row: 1, .. })
    ));
    assert!(change_of_basis(x.view(), view(&[1.0]), wavy(2, 2).view()).is_err());
    assert!(change_of_basis(x.view(), view(&[1.0, 2.0]), wavy(3, 3).view()).is_err());
    let singular = Matrix::new(vec![1.0, 2.0, 2.0, 4.0], 2, 2).unwrap();
    let error = change_of_basis(x.view(), view(&[1.0, 2.0]), singular.view()).unwrap_err();
    assert!(matches!(error, LinearError::Singular { argument: "B", rank: 1, expected: 2, .. }), "{error}");
}

#[test]
fn a_matrix_is_projected_column_by_column() {
    let (x, y) = (wavy(20, 3), wavy(20, 2));
    let all = project_matrix(x.view(), y.view()).unwrap();
    for j in 0..2 {
        let one = project(x.view(), view(&y.col(j))).unwrap();
        assert_eq!((all.inside.col(j), all.outside.col(j)), (one.inside, one.outside));
        assert_eq!((all.coefficients.col(j), all.angles[j]), (one.coefficients, one.angle));
    }
}

#[test]
fn rows_are_rebuilt_from_their_components() {
    let x = Matrix::new(vec![7.0, 16.0, 10.0, 20.0, 13.0, 24.0], 3, 2).unwrap();
    let line = pca(x.view(), PcaOptions { components: Some(1), ..PcaOptions::default() }).unwrap();
    // (0.8, −0.6) is across the line: it is lost, and the distance says so.
    let beside = Matrix::new(vec![10.8, 19.4], 1, 2).unwrap();
    let found = onto_components(beside.view(), &line).unwrap();
    assert!(found.scores.as_slice()[0].abs() < 1e-13);
    assert!(vectors_apart(found.reconstruction.as_slice(), &[10.0, 20.0]) < 1e-14);
    assert!((found.distances[0] - 1.0).abs() < 1e-13 && (found.relative_error - 1.0).abs() < 1e-13);
    assert!(onto_components(x.view(), &line).unwrap().relative_error < 1e-14);
}

#[test]
fn a_hundred_thousand_rows_are_projected() {
    let x = wavy(100_000, 3);
    let w = [1.0, -2.0, 0.5];
    let split = project(x.view(), view(&times(&x, &w))).unwrap();
    assert!(norm(&split.outside) < 1e-13 * norm(&split.inside));
    assert!(vectors_apart(&split.coefficients, &w) < 1e-13);
}

fn problem() -> impl Strategy<Value = (Matrix, Vec<f64>)> {
    matrices(10, 5).prop_flat_map(|x| {
        let n = x.rows();
        (Just(x), vectors(n))
    })
}

fn model() -> impl Strategy<Value = (Matrix, Vec<f64>, Matrix)> {
    (1_usize..9, 1_usize..5).prop_flat_map(|(n, p)| (sized(n, p), vectors(p), sized(p, p)))
}

#[test]
fn a_complement_beyond_memory_is_refused_before_it_is_made() {
    let x = Matrix::from_fn(COMPLEMENT_ROWS + 1, 1, |i, _| i as f64);
    let error = complement_basis(x.view()).unwrap_err();
    assert_eq!(error.to_string(), "project: `rows of X` is 16385; expected at most 16384");
}

#[test]
fn numbers_that_f32_cannot_tell_apart_span_fewer_directions() {
    let short = |x: f64| f64::from(x as f32);
    let x = Matrix::from_fn(50, 3, |i, j| {
        let (a, b) = (short((i as f64 * 0.37).sin()), short((i as f64 * 0.71).cos()));
        [a, b, short(0.3 * a + 0.7 * b)][j]
    });
    assert_eq!(ColumnSpace::new(x.view()).unwrap().rank(), 3);
    assert_eq!(ColumnSpace::of_stored(x.view(), 24).unwrap().rank(), 2);
    let as_f32: Vec<f32> = x.as_slice().iter().map(|&x| x as f32).collect();
    assert_eq!(ColumnSpace::new(View::new(&as_f32, &[50, 3]).unwrap()).unwrap().rank(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn projecting_twice_changes_nothing_and_the_rest_is_orthogonal((x, v) in problem()) {
        let space = ColumnSpace::new(x.view()).unwrap();
        let once = space.project(view(&v)).unwrap();
        let twice = space.project(view(&once.inside)).unwrap();
        prop_assert!(norm(&twice.outside) <= 1e-13 * norm(&v));
        let unit = crate::measure::unit_columns_of(&x);
        prop_assert!(norm(&transposed_times(&unit, &once.outside)) <= 1e-12 * norm(&v));
        let squares = norm(&once.inside).powi(2) + norm(&once.outside).powi(2);
        prop_assert!((squares - norm(&v).powi(2)).abs() <= 1e-12 * norm(&v).powi(2));
    }

    #[test]
    fn the_prediction_does_not_depend_on_the_basis((x, w, b) in model()) {
        match change_of_basis(x.view(), view(&w), b.view()) {
            Ok(same) => {
                let again = times(&same.features, &same.weights);
                // Intermediate terms may be much larger than their sum: compare with what was added up.
                let size = norm(same.features.as_slice()) * norm(&same.weights) + norm(x.as_slice()) * norm(&w);
                let difference: Vec<f64> = again.iter().zip(&same.prediction).map(|(a, b)| a - b).collect();
                prop_assert!(norm(&difference) <= 1e-13 * size, "{} of {size}", norm(&difference));
            }
            Err(error) => prop_assert!(matches!(error, LinearError::Singular { .. }), "{error}"),
        }
    }

    #[test]
    fn a_dependent_column_leaves_the_projection_as_it_was((x, v) in problem()) {
        let more = Matrix::from_fn(x.rows(), x.cols() + 1, |i, j| {
            if j < x.cols() { x[(i, j)] } else { x.row(i).iter().sum::<f64>() }
        });
        let before = project(x.view(), view(&v)).unwrap();
        let after = project(more.view(), view(&v)).unwrap();
        prop_assert_eq!(before.rank, after.rank);
        let inside = Matrix::new(after.inside, x.rows(), 1).unwrap();
        prop_assert!(apart(&inside, &Matrix::new(before.inside, x.rows(), 1).unwrap()) < 1e-9);
    }
}
