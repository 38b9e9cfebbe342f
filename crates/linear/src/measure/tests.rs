use super::*;
use crate::LinearError;
use crate::dense::{dot, norm, times, transposed_times};
use crate::testing::{awkward, matrices, vectors, vectors_apart, wavy};
use proptest::prelude::*;
use spanwise_kernels::{Matrix, View};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

fn view(v: &[f64]) -> View<'_, f64> {
    View::new(v, &[v.len()]).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-13 * b.abs().max(1.0)
}

#[test]
fn norms_by_hand() {
    let x = Matrix::new(vec![1.0, -2.0, 3.0, 4.0], 2, 2).unwrap();
    let norms = matrix_norms(x.view()).unwrap();
    assert!(close(norms.frobenius, 30.0_f64.sqrt()));
    assert_eq!((norms.one, norms.inf), (6.0, 7.0));
    // XᵀX = [[10, 10], [10, 20]] has the largest eigenvalue 15 + √125.
    assert!(close(norms.spectral, (15.0 + 125.0_f64.sqrt()).sqrt()));
    let huge = vector_norms(view(&[3e200, -4e200])).unwrap();
    assert!(close(huge.two / 5e200, 1.0));
    assert_eq!(vector_norms(view(&[])).unwrap(), VectorNorms { one: 0.0, two: 0.0, inf: 0.0 });
    let none = matrix_norms(View::<f64>::new(&[], &[0, 3]).unwrap()).unwrap();
    assert_eq!(none.frobenius + none.spectral + none.one + none.inf, 0.0);
}

#[test]
fn angles_keep_their_digits_at_both_ends() {
    let x = view(&[1.0, 0.0]);
    for (b, expected) in [
        ([2.0, 0.0], 0.0),
        ([1.0, 1.0], FRAC_PI_4),
        ([0.0, 3.0], FRAC_PI_2),
        ([-5.0, 0.0], PI),
        ([1.0, 1e-12], 1e-12),
        ([-1.0, 1e-12], PI - 1e-12),
        ([1e-200, 1e-200], FRAC_PI_4),
        ([1e200, 1e200], FRAC_PI_4),
    ] {
        let found = angle(x, view(&b)).unwrap().unwrap();
        assert!((found - expected).abs() <= 1e-15 * expected.max(1e-12), "{b:?}: {found}");
    }
    assert_eq!(angle(x, view(&[0.0, 0.0])).unwrap(), None);
    assert!(angle(x, view(&[1.0])).is_err());
    assert!(angle(x, view(&[1.0, f64::NAN])).is_err());
}

#[test]
fn principal_angles_by_hand() {
    // The plane of axes 1 and 2 against the plane of axis 1 and a line 1e-9 above axis 2.
    let a = Matrix::new(vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0], 3, 2).unwrap();
    let b = Matrix::new(vec![1.0, 1.0, 0.0, 1.0, 0.0, 1e-9], 3, 2).unwrap();
    let angles = principal_angles(a.view(), b.view()).unwrap();
    assert!(angles[0].abs() < 1e-15 && (angles[1] - 1e-9).abs() < 1e-16, "{angles:?}");
    let up = Matrix::new(vec![0.0, 0.0, 2.0], 3, 1).unwrap();
    assert_eq!(principal_angles(a.view(), up.view()).unwrap(), [FRAC_PI_2]);
    assert_eq!(principal_angles(a.view(), Matrix::zeros(3, 2).view()).unwrap(), Vec::<f64>::new());
    assert!(principal_angles(a.view(), wavy(2, 2).view()).is_err());
}

#[test]
fn the_rank_of_every_awkward_matrix() {
    let expected = [1, 1, 1, 5, 3, 3, 0, 2, 1, 2, 3, 2, 2];
    for ((name, x), rank_expected) in awkward().into_iter().zip(expected) {
        let found = rank(x.view()).unwrap();
        assert_eq!(found.rank, rank_expected, "{name}");
        assert!(found.is_sure(), "{name}: {found:?}");
        assert!(found.gap > 1e3, "{name}: {found:?}");
        assert_eq!(found.is_full(), found.rank == x.cols(), "{name}");
    }
    assert_eq!(rank(View::<f64>::new(&[], &[0, 2]).unwrap()).unwrap().rank, 0);
    assert_eq!(rank(View::<f64>::new(&[], &[2, 0]).unwrap()).unwrap().rank, 0);
}

#[test]
fn a_near_dependency_is_told_from_an_exact_one() {
    // The third column is the sum of the others, plus `noise` of something new.
    let x = wavy(200, 3);
    let near = |noise: f64| {
        Matrix::from_fn(
            200,
            3,
            |i, j| {
                if j < 2 { x[(i, j)] } else { x[(i, 0)] + x[(i, 1)] + noise * x[(i, 2)] }
            },
        )
    };
    let at = |noise: f64| rank(near(noise).view()).unwrap();
    assert_eq!((at(0.0).rank, at(0.0).is_sure()), (2, true));
    assert_eq!((at(1e-9).rank, at(1e-9).is_sure()), (3, true));
    // Just above the tolerance: counted, but not surely.
    assert_eq!((at(1e-12).rank, at(1e-12).is_sure()), (3, false));
    let condition = condition(near(1e-9).view()).unwrap().unit_scaled;
    assert!(condition > 1e8 && condition < 1e11, "{condition:e}");
}

#[test]
fn the_tolerance_does_not_grow_with_the_rows() {
    let x = |n: usize| {
        Matrix::from_fn(n, 3, |i, j| {
            let t = i as f64;
            [1.0, t, t + 2.0][j]
        })
    };
    let (few, many) = (rank(x(10).view()).unwrap(), rank(x(100_000).view()).unwrap());
    assert_eq!((few.rank, many.rank), (2, 2));
    assert_eq!(few.tolerance, many.tolerance);
    assert!(many.is_sure(), "{many:?}");
}

#[test]
fn condition_numbers_raw_and_scaled() {
    let x = Matrix::new(vec![1e-12, 0.0, 0.0, 1e12], 2, 2).unwrap();
    let found = condition(x.view()).unwrap();
    assert!(close(found.raw / 1e24, 1.0) && close(found.unit_scaled, 1.0));
    let zero = condition(Matrix::zeros(3, 2).view()).unwrap();
    assert_eq!((zero.raw, zero.unit_scaled), (f64::INFINITY, f64::INFINITY));
    assert!(matches!(condition(View::<f64>::new(&[], &[0, 2]).unwrap()), Err(LinearError::Empty { .. })));
}

#[test]
fn inflation_by_hand() {
    // Correlation r between two columns: VIF = 1 / (1 − r²). Here r = 0.8: columns u and 0.8u + 0.6v.
    let (u, v) = ([1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]);
    let x = Matrix::from_fn(4, 2, |i, j| if j == 0 { u[i] + 7.0 } else { 0.8 * u[i] + 0.6 * v[i] - 3.0 });
    let found = inflation(x.view(), true).unwrap();
    for (vif, r_squared) in found.vif.iter().zip(&found.r_squared) {
        assert!((vif - 1.0 / 0.36).abs() < 1e-12 && (r_squared - 0.64).abs() < 1e-12);
    }
    // A constant column is the intercept's, a duplicated pair is each other's, the third is free.
    let x = Matrix::from_fn(4, 4, |i, j| [5.0, u[i], u[i], v[i]][j]);
    let found = inflation(x.view(), true).unwrap();
    assert_eq!(found.vif[..3], [f64::INFINITY; 3]);
    assert!((found.vif[3] - 1.0).abs() < 1e-12);
    assert_eq!(inflation(wavy(3, 6).view(), true).unwrap().vif, [f64::INFINITY; 6]);
}

#[test]
fn variance_proportions_name_the_columns_that_go_together() {
    let base = wavy(100, 3);
    let x = Matrix::from_fn(100, 3, |i, j| match j {
        2 => base[(i, 0)] + 1e-4 * base[(i, 2)],
        _ => base[(i, j)],
    });
    let found = condition_indices(x.view(), true).unwrap();
    assert!(found.indices.windows(2).all(|pair| pair[0] <= pair[1]) && close(found.indices[0], 1.0));
    assert!(found.indices[3] > 1e4 && found.indices[2] < 10.0, "{:?}", found.indices);
    let worst = found.proportions.row(3);
    assert!(worst[1] > 0.99 && worst[3] > 0.99 && worst[0] < 0.1 && worst[2] < 0.1, "{worst:?}");
    for j in 0..4 {
        assert!(close(found.proportions.col(j).iter().sum(), 1.0));
    }
    let zero = condition_indices(Matrix::zeros(3, 2).view(), false).unwrap();
    assert!(zero.proportions.as_slice().iter().all(|x| x.is_finite()));
}

#[test]
fn exact_dependencies_take_all_variance_of_their_columns_and_none_of_others() {
    // Columns 2 and 4 are made of the intercept, 0 and 1; column 3 stands by itself.
    let base = wavy(60, 5);
    let x = Matrix::from_fn(60, 5, |i, j| match j {
        2 => base[(i, 0)] + 2.0,
        4 => 3.0 * base[(i, 1)] - base[(i, 0)],
        _ => base[(i, j)],
    });
    let found = condition_indices(x.view(), true).unwrap();
    assert_eq!(found.indices[4..], [f64::INFINITY; 2]);
    assert!(found.indices[3] < 30.0, "{:?}", found.indices);
    for k in 4..6 {
        assert_eq!(found.proportions.row(k), [0.5, 0.5, 0.5, 0.5, 0.0, 0.5]);
    }
    assert!(close(found.proportions.col(4).iter().sum(), 1.0));
}

fn formulas(x: &Matrix, intercept: bool) -> Vec<String> {
    let found = dependencies(x.view(), intercept, None).unwrap();
    found.iter().map(|one| one.formula::<&str>(&[])).collect()
}

#[test]
fn dependencies_are_formulas_in_column_names() {
    let base = wavy(50, 4);
    let made = |f: &dyn Fn(usize, usize) -> f64, p: usize| Matrix::from_fn(50, p, f);
    let shifted = made(&|i, j| if j == 3 { base[(i, 2)] + 2.0 } else { base[(i, j)] }, 4);
    assert_eq!(formulas(&shifted, true), ["x[3] = x[2] + 2"]);
    assert_eq!(formulas(&shifted, false), Vec::<String>::new());
    let twice = made(&|i, j| base[(i, j % 2)], 3);
    assert_eq!(formulas(&twice, false), ["x[2] = x[0]"]);
    let one_hot = made(&|i, j| f64::from(u8::from(i % 3 == j)), 3);
    assert_eq!(formulas(&one_hot, true), ["x[2] = -x[0] - x[1] + 1"]);
    let constant = made(&|i, j| if j == 1 { 5.0 } else { base[(i, j)] }, 2);
    assert_eq!(formulas(&constant, true), ["x[1] = 5"]);
    assert_eq!(formulas(&Matrix::zeros(4, 1), true), ["x[0] = 0"]);
    let mixed = made(&|i, j| if j == 3 { 0.5 * base[(i, 0)] - base[(i, 1)] / 3.0 } else { base[(i, j)] }, 4);
    assert_eq!(formulas(&mixed, true), ["x[3] = 0.5·x[0] - 1/3·x[1]"]);
    let named = dependencies(mixed.view(), true, None).unwrap();
    assert_eq!(named[0].formula(&["a", "b", "c", "d"]), "d = 0.5·a - 1/3·b");
    assert!(named[0].exact && named[0].residual < 1e-14);
}

#[test]
fn a_coefficient_that_is_no_short_number_is_not_rounded() {
    let base = wavy(30, 2);
    let x =
        Matrix::from_fn(30, 3, |i, j| if j == 2 { PI * base[(i, 0)] + base[(i, 1)] } else { base[(i, j)] });
    let found = &dependencies(x.view(), true, None).unwrap()[0];
    assert_eq!(found.formula::<&str>(&[]), "x[2] ≈ 3.14159·x[0] + x[1]");
    assert!((found.terms[0].1 - PI).abs() < 1e-13 && !found.exact);
    // Near 2, but not 2: the digits that matter are kept.
    let x = Matrix::from_fn(30, 2, |i, j| if j == 1 { 2.000_000_1 * base[(i, 0)] } else { base[(i, j)] });
    let found = &dependencies(x.view(), true, None).unwrap()[0];
    assert!(!found.exact && (found.terms[0].1 - 2.000_000_1).abs() < 1e-13, "{found:?}");
}

#[test]
fn near_dependencies_are_found_with_a_wider_tolerance() {
    let base = wavy(80, 3);
    let x = Matrix::from_fn(80, 3, |i, j| {
        if j == 2 { base[(i, 0)] - base[(i, 1)] + 1e-9 * base[(i, 2)] } else { base[(i, j)] }
    });
    assert!(dependencies(x.view(), true, None).unwrap().is_empty());
    let found = &dependencies(x.view(), true, Some(1e-6)).unwrap()[0];
    assert_eq!(found.formula::<&str>(&[]), "x[2] = x[0] - x[1]");
    assert!(found.residual > 1e-10 && found.residual < 1e-8, "{found:?}");
    assert!(dependencies(x.view(), true, Some(-1.0)).is_err());
}

#[test]
fn scales_apart_and_many_rows_do_not_hide_a_formula() {
    let x = Matrix::from_fn(100_000, 4, |i, j| {
        let (a, b) = ((i as f64 * 0.37).sin() * 1e12, (i as f64 * 0.71).cos() * 1e-12);
        [a, b, a * 2.0, b + a * 1e-24][j]
    });
    let found = dependencies(x.view(), true, None).unwrap();
    let text: Vec<String> = found.iter().map(|one| one.formula(&["a", "b", "c", "d"])).collect();
    assert_eq!(text, ["c = 2·a", "d = 1e-24·a + b"]);
    assert_eq!(rank(x.view()).unwrap().rank, 2);
}

#[test]
fn every_awkward_matrix_has_as_many_formulas_as_it_lacks_rank() {
    for (name, x) in awkward() {
        let found = dependencies(x.view(), false, None).unwrap();
        assert_eq!(found.len(), x.cols() - rank(x.view()).unwrap().rank, "{name}");
        for one in found {
            let mut sum = vec![0.0; x.rows()];
            one.terms.iter().for_each(|&(j, c)| crate::dense::axpy(&mut sum, c, &x.col(j)));
            assert!(vectors_apart(&sum, &x.col(one.column)) < 1e-12, "{name}: {one:?}");
        }
    }
}

#[test]
fn a_span_is_certified_both_ways() {
    let x = Matrix::new(vec![1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], 3, 3).unwrap();
    let inside = span_membership(x.view(), view(&[2.0, 3.0, 0.0])).unwrap();
    assert!(inside.inside && !inside.unique && inside.rank == 2);
    assert!(vectors_apart(&times(&x, &inside.coefficients), &[2.0, 3.0, 0.0]) < 1e-15);
    let outside = span_membership(x.view(), view(&[3.0, 0.0, 4.0])).unwrap();
    assert!(!outside.inside && close(outside.residual, 0.8) && outside.orthogonality < 1e-15);
    assert!(vectors_apart(&outside.outside, &[0.0, 0.0, 4.0]) < 1e-15);
    let zero = span_membership(x.view(), view(&[0.0; 3])).unwrap();
    assert!(zero.inside && zero.residual == 0.0);
    assert!(span_membership(x.view(), view(&[1.0; 2])).is_err());
}

#[test]
fn orthogonality_names_the_worst_pair() {
    let x = Matrix::new(vec![1.0, 0.0, 0.6, 0.0, 1.0, 0.8], 2, 3).unwrap();
    let found = orthogonality(x.view()).unwrap();
    assert!(!found.orthogonal && !found.orthonormal);
    assert_eq!(found.worst_pair, Some((1, 2)));
    assert!(close(found.largest_cosine, 0.8) && found.length_error < 1e-15);
    let axes = orthogonality(crate::dense::identity(3).view()).unwrap();
    assert!(axes.orthonormal);
    let none = orthogonality(View::<f64>::new(&[], &[2, 0]).unwrap()).unwrap();
    assert!(none.orthonormal && none.worst_pair.is_none());
}

#[test]
fn definiteness_comes_with_its_direction() {
    for (entries, definite, semidefinite, least) in [
        ([2.0, 1.0, 1.0, 2.0], true, true, 1.0),
        ([1.0, 1.0, 1.0, 1.0], false, true, 0.0),
        ([1.0, 2.0, 2.0, 1.0], false, false, -1.0),
        ([0.0, 0.0, 0.0, 0.0], false, true, 0.0),
    ] {
        let a = View::new(&entries, &[2, 2]).unwrap();
        let found = definiteness(a).unwrap();
        assert_eq!(
            (found.positive_definite, found.positive_semidefinite),
            (definite, semidefinite),
            "{entries:?}"
        );
        assert!((found.smallest - least).abs() < 1e-15 && (found.curvature - least).abs() < 1e-15);
        assert!(close(norm(&found.direction), 1.0));
    }
    assert!(definiteness(View::<f64>::new(&[], &[0, 0]).unwrap()).is_err());
    assert!(matches!(
        definiteness(View::new(&[1.0, 2.0, 0.0, 1.0], &[2, 2]).unwrap()),
        Err(LinearError::NotSymmetric { .. })
    ));
}

#[test]
fn effective_ranks_by_hand() {
    // σ = 3, 4: σ/Σ = 3/7, 4/7; Σσ² = 25, Σσ⁴ = 337.
    let x = Matrix::new(vec![3.0, 0.0, 0.0, 4.0], 2, 2).unwrap();
    let found = effective_rank(x.view()).unwrap();
    let (p, q) = (3.0_f64 / 7.0, 4.0_f64 / 7.0);
    assert!(close(found.entropy, (-p * p.ln() - q * q.ln()).exp()));
    assert!(close(found.participation, 625.0 / 337.0) && close(found.stable, 25.0 / 16.0));
    let zero = effective_rank(Matrix::zeros(2, 2).view()).unwrap();
    assert_eq!((zero.entropy, zero.participation, zero.stable), (0.0, 0.0, 0.0));
    let tiny = effective_rank(Matrix::new(vec![3e-200, 0.0, 0.0, 4e-200], 2, 2).unwrap().view()).unwrap();
    assert!(close(tiny.participation, found.participation));
}

#[test]
fn what_is_not_finite_is_refused_everywhere() {
    for bad in [f64::NAN, f64::INFINITY] {
        let data = [1.0, 0.0, bad, 1.0];
        let x = View::new(&data, &[2, 2]).unwrap();
        let v = view(&[1.0, 2.0]);
        let refusals = [
            matrix_norms(x).err(),
            rank(x).err(),
            condition(x).err(),
            inflation(x, true).err(),
            condition_indices(x, false).err(),
            dependencies(x, true, None).err(),
            effective_rank(x).err(),
            orthogonality(x).err(),
            definiteness(x).err(),
            span_membership(x, v).err(),
            hull_membership(x, v).err(),
            principal_angles(x, x).err(),
            vector_norms(view(&data)).err(),
        ];
        for (at, error) in refusals.into_iter().enumerate() {
            assert!(matches!(error, Some(LinearError::NotFinite { .. })), "{at}: {error:?}");
        }
    }
}

/// Checks a membership by its own certificate.
fn certified(points: &Matrix, query: &[f64], found: &HullMembership) {
    assert!(found.weights.iter().all(|&w| w >= 0.0));
    assert!((found.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    let rebuilt = transposed_times(points, &found.weights);
    let size = points.as_slice().iter().chain(query).fold(0.0_f64, |big, x| big.max(x.abs()));
    let gap: Vec<f64> = query.iter().zip(&rebuilt).map(|(q, r)| q - r).collect();
    assert!((norm(&gap) - found.distance).abs() <= 1e-14 * size);
    assert_eq!(found.inside, found.separating.is_none());
    if let Some(plane) = &found.separating {
        assert!(close(norm(&plane.normal), 1.0) && plane.margin > 0.0);
        for i in 0..points.rows() {
            assert!(dot(&plane.normal, points.row(i)) <= plane.offset + 1e-14 * size);
        }
        assert!((dot(&plane.normal, query) - plane.offset - plane.margin).abs() <= 1e-14 * size);
        // The nearest point and the margin prove each other.
        assert!((plane.margin - found.distance).abs() <= 1e-9 * size, "{} {}", plane.margin, found.distance);
    } else {
        assert!(norm(&gap) <= found.tolerance);
    }
}

#[test]
fn a_square_by_hand() {
    let square = Matrix::new(vec![0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0], 4, 2).unwrap();
    let hull = Hull::new(square.view()).unwrap();
    for (query, inside, distance) in [
        ([0.5, 0.5], true, 0.0),
        ([0.0, 0.0], true, 0.0),
        ([1.0, 0.25], true, 0.0),
        ([2.0, 0.5], false, 1.0),
        ([2.0, 2.0], false, 2.0_f64.sqrt()),
        ([-3.0, -4.0], false, 5.0),
        ([1.0 + 1e-9, 0.5], false, 1e-9),
    ] {
        let found = hull.membership(view(&query)).unwrap();
        certified(&square, &query, &found);
        assert_eq!((found.inside, found.in_affine_hull, found.unique), (inside, true, false), "{query:?}");
        assert!((found.distance - distance).abs() < 1e-15, "{query:?}: {}", found.distance);
    }
}

#[test]
fn outside_the_flat_and_outside_the_hull_are_different_answers() {
    // A triangle in the plane z = 1.
    let points = Matrix::new(vec![0.0, 0.0, 1.0, 4.0, 0.0, 1.0, 0.0, 4.0, 1.0], 3, 3).unwrap();
    let above = hull_membership(points.view(), view(&[1.0, 1.0, 3.0])).unwrap();
    assert!(!above.inside && !above.in_affine_hull && above.unique);
    assert!(close(above.affine_distance, 2.0) && close(above.distance, 2.0));
    assert!(vectors_apart(&above.nearest, &[1.0, 1.0, 1.0]) < 1e-14);
    let beside = hull_membership(points.view(), view(&[5.0, 5.0, 1.0])).unwrap();
    assert!(!beside.inside && beside.in_affine_hull);
    let within = hull_membership(points.view(), view(&[1.0, 2.0, 1.0])).unwrap();
    assert!(within.inside && vectors_apart(&within.weights, &[0.25, 0.25, 0.5]) < 1e-14);
    for (query, found) in [([1.0, 1.0, 3.0], above), ([5.0, 5.0, 1.0], beside), ([1.0, 2.0, 1.0], within)] {
        certified(&points, &query, &found);
    }
}

#[test]
fn degenerate_point_sets_have_hulls_too() {
    let one = Matrix::new(vec![3.0, 4.0], 1, 2).unwrap();
    assert!(hull_membership(one.view(), view(&[3.0, 4.0])).unwrap().inside);
    let away = hull_membership(one.view(), view(&[0.0, 0.0])).unwrap();
    assert!(!away.inside && !away.in_affine_hull && close(away.distance, 5.0) && away.unique);
    let same = Matrix::from_fn(4, 2, |_, j| j as f64);
    let found = hull_membership(same.view(), view(&[0.0, 1.0])).unwrap();
    assert!(found.inside && !found.unique);
    let zeros = hull_membership(Matrix::zeros(3, 2).view(), view(&[0.0, 0.0])).unwrap();
    assert!(zeros.inside);
    assert!(matches!(
        hull_membership(View::<f64>::new(&[], &[0, 2]).unwrap(), view(&[0.0, 0.0])),
        Err(LinearError::Empty { .. })
    ));
    assert!(hull_membership(one.view(), view(&[0.0])).is_err());
    let scales = Matrix::new(vec![1e-12, 0.0, 0.0, 1e12, 0.0, 0.0], 3, 2).unwrap();
    let found = hull_membership(scales.view(), view(&[1e12, 1e12])).unwrap();
    certified(&scales, &[1e12, 1e12], &found);
}

#[test]
fn a_large_common_offset_leaves_a_small_gap_visible() {
    let points = Matrix::new(vec![1e6, 1e6, 1e6 + 1.0, 1e6, 1e6, 1e6 + 1.0], 3, 2).unwrap();
    let found = hull_membership(points.view(), view(&[1e6 - 1e-3, 1e6])).unwrap();
    assert!(!found.inside && (found.separating.unwrap().margin - 1e-3).abs() < 1e-9);
}

#[test]
fn many_queries_agree_with_one_at_a_time() {
    let (points, queries) = (wavy(200, 6), wavy(20, 6));
    let many = hull_membership_of_many(points.view(), queries.view()).unwrap();
    assert_eq!(many.len(), 20);
    for (i, found) in many.iter().enumerate() {
        certified(&points, queries.row(i), found);
        assert_eq!(*found, hull_membership(points.view(), view(queries.row(i))).unwrap());
        // Wolfe's active set is affinely independent, so at most 7 of 200 weights are in use.
        assert!(found.weights.iter().filter(|&&w| w > 0.0).count() <= 7);
    }
    assert!(hull_membership_of_many(points.view(), wavy(3, 5).view()).is_err());
}

fn cloud() -> impl Strategy<Value = (Matrix, Vec<f64>, Vec<f64>)> {
    matrices(12, 5).prop_flat_map(|points| {
        let (m, d) = (points.rows(), points.cols());
        (Just(points), prop::collection::vec(0.0..1.0_f64, m), vectors(d))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_weighted_mean_is_inside_and_its_weights_verify((points, weights, _) in cloud()) {
        let total: f64 = weights.iter().sum();
        prop_assume!(total > 1e-3);
        let query = transposed_times(&points, &crate::dense::scaled(&weights, 1.0 / total));
        let found = hull_membership(points.view(), view(&query)).unwrap();
        prop_assert!(found.inside, "{found:?}");
        certified(&points, &query, &found);
    }

    #[test]
    fn any_point_gets_a_certificate((points, _, query) in cloud()) {
        let found = hull_membership(points.view(), view(&query)).unwrap();
        certified(&points, &query, &found);
    }

    #[test]
    fn a_combination_of_columns_is_in_their_span((x, w, v) in matrices(10, 4).prop_flat_map(|x| {
        let (n, p) = (x.rows(), x.cols());
        (Just(x), vectors(p), vectors(n))
    })) {
        let inside = times(&x, &w);
        let found = span_membership(x.view(), view(&inside)).unwrap();
        // Terms that cancel leave a vector that is mostly rounding.
        let terms: f64 = (0..x.cols()).map(|j| (w[j] * norm(&x.col(j))).abs()).sum();
        prop_assert!(found.inside || norm(&inside) < 1e-2 * terms, "{found:?}");
        let any = span_membership(x.view(), view(&v)).unwrap();
        prop_assert!(any.inside || any.orthogonality < 1e-9, "{any:?}");
    }

    #[test]
    fn the_rank_does_not_change_with_the_units(x in matrices(8, 5), powers in prop::collection::vec(-12_i32..12, 5)) {
        let scaled = Matrix::from_fn(x.rows(), x.cols(), |i, j| x[(i, j)] * 10.0_f64.powi(powers[j]));
        prop_assert_eq!(rank(x.view()).unwrap().rank, rank(scaled.view()).unwrap().rank);
    }
}
