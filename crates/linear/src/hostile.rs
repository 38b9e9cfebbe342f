//! Nothing the user gives makes the library panic, and nothing it returns is NaN.

use crate::decompose::{self, PcaMethod, PcaOptions, Sketch};
use crate::solve::{self, CgOptions, LsmrOptions, Preconditioner};
use crate::{CsrMatrix, measure, project};
use proptest::prelude::*;
use spanwise_kernels::{Matrix, View};

/// Numbers at the edges of the format, and ordinary ones.
fn hostile_number(finite: bool) -> impl Strategy<Value = f64> {
    let edge =
        vec![0.0, -0.0, 1.0, -1.0, 1e-300, -1e300, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e154, 1e-162, 1e16];
    let not_finite = if finite { vec![2.0] } else { vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY] };
    prop_oneof![6 => prop::sample::select(edge), 6 => -3.0..3.0_f64, 1 => prop::sample::select(not_finite)]
}

fn hostile(finite: bool) -> impl Strategy<Value = (Matrix, Vec<f64>, Vec<f64>)> {
    (0_usize..6, 0_usize..5).prop_flat_map(move |(n, p)| {
        let numbers = |count: usize| prop::collection::vec(hostile_number(finite), count);
        let matrix = numbers(n * p).prop_map(move |data| Matrix::new(data, n, p).expect("n × p entries"));
        (matrix, numbers(n), numbers(p))
    })
}

fn view(v: &[f64]) -> View<'_, f64> {
    View::new(v, &[v.len()]).expect("one axis")
}

/// Calls everything; gives back all numbers of answers that were not refused.
fn everything(x: &Matrix, rows: &[f64], columns: &[f64]) -> Vec<(&'static str, f64)> {
    let (a, v, w) = (x.view(), view(rows), view(columns));
    let mut numbers: Vec<(&'static str, f64)> = Vec::new();
    let mut keep = |name: &'static str, found: &[f64]| numbers.extend(found.iter().map(|&x| (name, x)));
    let square = Matrix::from_fn(x.cols(), x.cols(), |i, j| {
        let (low, high) = (i.min(j), i.max(j));
        x.as_slice().get(low * x.cols() + high).copied().unwrap_or(1.0)
    });
    for found in [decompose::qr(a), decompose::qr_full(a)].into_iter().flatten() {
        keep("qr", found.q.as_slice());
        keep("qr", found.r.as_slice());
    }
    if let Ok(found) = decompose::pivoted_qr(a) {
        keep("pivoted_qr", found.q.as_slice());
        keep("pivoted_qr", found.r.as_slice());
    }
    let sketch = Sketch { oversampling: 2, power_iterations: 1, seed: 3 };
    let svds = [
        decompose::svd(a),
        decompose::svd_full(a),
        decompose::svd_truncated(a, 2),
        decompose::svd_randomized(a, 1, sketch),
    ];
    for found in svds.into_iter().flatten() {
        keep("svd", &found.singular_values);
        keep("svd", found.u.as_slice());
        keep("svd", found.v.as_slice());
    }
    if let Ok(found) = decompose::symmetric_eigen(square.view()) {
        keep("eigen", &found.values);
        keep("eigen", found.vectors.as_slice());
    }
    if let Ok(found) = decompose::low_rank(a, 1) {
        keep("low_rank", &[found.frobenius_error, found.spectral_error, found.relative_error]);
    }
    for method in
        [PcaMethod::Auto, PcaMethod::Exact, PcaMethod::Covariance, PcaMethod::Dual, PcaMethod::Randomized]
    {
        if let Ok(found) = decompose::pca(a, PcaOptions { method, ..PcaOptions::default() }) {
            keep("pca", found.components.as_slice());
            keep("pca", &found.explained_variance);
            keep("pca", &found.explained_variance_ratio);
            let _ = project::onto_components(a, &found);
        }
    }
    let solutions = [
        ("lu", solve::lu(square.view(), w)),
        ("cholesky", solve::cholesky(square.view(), w, 0.0)),
        ("cholesky", solve::cholesky(square.view(), w, 1e-3)),
        ("qr solve", solve::qr(a, v)),
        ("svd solve", solve::svd(a, v, None)),
        ("lsmr", solve::lsmr(x, v, LsmrOptions::default())),
        ("cg", solve::conjugate_gradients(&square, w, CgOptions::default())),
        (
            "cg",
            solve::conjugate_gradients(
                &square,
                w,
                CgOptions { preconditioner: Preconditioner::None, ..CgOptions::default() },
            ),
        ),
    ];
    for (name, found) in solutions {
        if let Ok(found) = found {
            keep(name, &found.x);
            keep(
                name,
                &[found.residual_norm, found.relative_residual, found.backward_error, found.condition],
            );
        }
    }
    if let Ok(sparse) = CsrMatrix::from_dense(a) {
        let _ = solve::lsmr(&sparse, v, LsmrOptions { damping: 1.0, ..LsmrOptions::default() });
    }
    if let Ok(found) = project::project(a, v) {
        keep("project", &found.inside);
        keep("project", &found.outside);
        keep("project", found.angle.as_slice());
    }
    let _ = project::complement_basis(a).map(|found| keep("complement", found.as_slice()));
    let _ = project::change_of_basis(a, w, square.view()).map(|found| keep("basis", &[found.error]));
    measures(x, rows, columns, &square, &mut keep);
    numbers
}

fn measures(
    x: &Matrix,
    rows: &[f64],
    columns: &[f64],
    square: &Matrix,
    keep: &mut impl FnMut(&'static str, &[f64]),
) {
    let (a, v, w) = (x.view(), view(rows), view(columns));
    if let Ok(found) = measure::vector_norms(v) {
        keep("norms", &[found.one, found.two, found.inf]);
    }
    if let Ok(found) = measure::matrix_norms(a) {
        keep("norms", &[found.frobenius, found.spectral, found.one, found.inf]);
    }
    let _ = measure::angle(v, v).map(|found| keep("angle", found.as_slice()));
    let _ = measure::principal_angles(a, a).map(|found| keep("angles", &found));
    if let Ok(found) = measure::rank(a) {
        keep("rank", &[found.gap, found.tolerance]);
        keep("rank", &found.singular_values);
    }
    if let Ok(found) = measure::condition(a) {
        keep("condition", &[found.raw, found.unit_scaled]);
    }
    for intercept in [false, true] {
        let _ = measure::inflation(a, intercept).map(|found| keep("vif", &found.vif));
        if let Ok(found) = measure::condition_indices(a, intercept) {
            keep("indices", &found.indices);
            keep("proportions", found.proportions.as_slice());
        }
        for found in measure::dependencies(a, intercept, None).unwrap_or_default() {
            keep("dependency", &[found.residual, found.constant]);
            let _ = found.formula::<&str>(&[]);
        }
    }
    if let Ok(found) = measure::span_membership(a, v) {
        keep("span", &[found.residual, found.orthogonality]);
    }
    if let Ok(found) = measure::hull_membership(a, w) {
        keep("hull", &found.weights);
        keep("hull", &[found.distance, found.affine_distance]);
    }
    let _ = measure::orthogonality(a)
        .map(|found| keep("orthogonality", &[found.largest_cosine, found.length_error]));
    if let Ok(found) = measure::definiteness(square.view()) {
        keep("definiteness", &[found.smallest, found.curvature]);
    }
    if let Ok(found) = measure::effective_rank(a) {
        keep("effective rank", &[found.entropy, found.participation, found.stable]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn finite_numbers_at_the_edges_give_answers_or_errors((x, rows, columns) in hostile(true)) {
        for (name, number) in everything(&x, &rows, &columns) {
            prop_assert!(!number.is_nan(), "{name} gave NaN");
        }
    }

    #[test]
    fn not_a_number_and_infinity_give_answers_or_errors((x, rows, columns) in hostile(false)) {
        for (name, number) in everything(&x, &rows, &columns) {
            prop_assert!(!number.is_nan(), "{name} gave NaN");
        }
    }
}
