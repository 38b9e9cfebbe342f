use super::*;
use crate::dense::{multiply, norm};
use crate::testing::{apart, awkward, matrices, skewness, vectors_apart, wavy};
use crate::{LinearError, NoColumns, Summary, SummaryStream};
use proptest::prelude::*;
use spanwise_kernels::{Matrix, View};

fn rebuilt(factors: &Qr) -> Matrix {
    multiply(&factors.q, &factors.r)
}

#[test]
fn qr_multiplies_back_for_every_awkward_matrix() {
    for (name, x) in awkward() {
        let full = (x.rows() < 100).then(|| qr_full(x.view()).unwrap());
        assert!(full.as_ref().is_none_or(|full| full.q.cols() == x.rows()));
        for factors in [qr(x.view()).ok(), full].into_iter().flatten() {
            // Each column is rebuilt to its own scale.
            let back = rebuilt(&factors);
            for j in 0..x.cols() {
                assert!(vectors_apart(&back.col(j), &x.col(j)) < 1e-14, "{name}");
            }
            assert!(skewness(&factors.q) < 1e-13, "{name}");
            for i in 0..factors.r.rows() {
                assert!(factors.r.row(i)[..i.min(x.cols())].iter().all(|&below| below == 0.0), "{name}");
                assert!(i >= x.cols() || factors.r[(i, i)] >= 0.0, "{name}");
            }
        }
    }
}

#[test]
fn pivoted_qr_knows_the_rank_of_every_awkward_matrix() {
    let expected = [1, 1, 1, 5, 3, 3, 0, 2, 1, 2, 3, 2, 2];
    for ((name, x), rank) in awkward().into_iter().zip(expected) {
        let factors = pivoted_qr(x.view()).unwrap();
        assert_eq!(factors.rank, rank, "{name}");
        let back = multiply(&factors.q, &factors.r);
        for (j, &from) in factors.order.iter().enumerate() {
            assert!(vectors_apart(&back.col(j), &x.col(from)) < 1e-13, "{name}");
        }
        assert_eq!(factors.independent().len() + factors.dependent().len(), x.cols());
    }
}

#[test]
fn svd_multiplies_back_for_every_awkward_matrix() {
    for (name, x) in awkward() {
        let full = (x.rows() < 100).then(|| svd_full(x.view()).unwrap());
        assert!(full.as_ref().is_none_or(|full| full.u.cols() == x.rows() && full.v.cols() == x.cols()));
        for factors in [svd(x.view()).ok(), full].into_iter().flatten() {
            assert!(apart(&factors.matrix(), &x) < 1e-14, "{name}");
            assert!(skewness(&factors.u) < 1e-13 && skewness(&factors.v) < 1e-13, "{name}");
            assert!(factors.singular_values.windows(2).all(|pair| pair[0] >= pair[1] && pair[1] >= 0.0));
        }
    }
}

#[test]
fn empty_matrices_decompose_into_empty_factors() {
    for dims in [[0, 3], [3, 0], [0, 0]] {
        let none = View::<f64>::new(&[], &dims).unwrap();
        assert_eq!(rebuilt(&qr(none).unwrap()).as_slice().len(), 0);
        assert_eq!(rebuilt(&qr_full(none).unwrap()).rows(), dims[0]);
        assert_eq!(pivoted_qr(none).unwrap().rank, 0);
        assert_eq!(svd(none).unwrap().singular_values.len(), 0);
        assert!(matches!(low_rank(none, 1), Err(LinearError::OutOfRange { .. })));
        assert!(matches!(pca(none, PcaOptions::default()), Err(LinearError::Empty { .. })));
    }
    assert_eq!(symmetric_eigen(View::<f64>::new(&[], &[0, 0]).unwrap()).unwrap().values.len(), 0);
}

#[test]
fn what_is_not_a_finite_matrix_is_refused() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let data = [1.0, 2.0, 2.0, bad];
        let x = View::new(&data, &[2, 2]).unwrap();
        let error =
            LinearError::NotFinite { operation: "decompose", argument: "X", row: 1, column: 1, value: bad };
        assert_eq!(qr(x).unwrap_err().to_string(), error.to_string());
        assert_eq!(svd(x).unwrap_err().to_string(), error.to_string());
        for found in [qr_full(x).err(), pivoted_qr(x).err(), svd_full(x).err(), symmetric_eigen(x).err()] {
            assert!(matches!(found, Some(LinearError::NotFinite { .. })));
        }
        for method in
            [PcaMethod::Auto, PcaMethod::Exact, PcaMethod::Covariance, PcaMethod::Dual, PcaMethod::Randomized]
        {
            let options = PcaOptions { method, ..PcaOptions::default() };
            assert!(matches!(pca(x, options), Err(LinearError::NotFinite { .. })));
        }
        assert!(svd_randomized(x, 1, Sketch::default()).is_err() && low_rank(x, 1).is_err());
    }
    let cube = View::new(&[0.0; 8], &[2, 2, 2]).unwrap();
    assert!(matches!(qr(cube), Err(LinearError::Dimensions { .. })));
}

#[test]
fn more_than_the_range_of_f64_is_an_error_not_infinity() {
    let data = [f64::MAX; 4];
    let x = View::new(&data, &[2, 2]).unwrap();
    assert!(matches!(svd(x), Err(LinearError::Overflow { .. })));
    assert!(matches!(pivoted_qr(x), Err(LinearError::Overflow { .. })));
}

#[test]
fn variances_below_the_range_of_f64_are_an_error_not_zero() {
    let tiny: Vec<f64> = wavy(300, 3).as_slice().iter().map(|x| 1e-200 * x).collect();
    let x = View::new(&tiny, &[300, 3]).unwrap();
    assert!(matches!(pca(x, PcaOptions::default()), Err(LinearError::Underflow { .. })));
    let still = View::new(&[1e-200; 20], &[10, 2]).unwrap();
    assert_eq!(pca(still, PcaOptions::default()).unwrap().explained_variance_ratio, [0.0; 2]);
}

#[test]
fn constant_columns_near_the_end_of_the_range_are_taken_off() {
    let mut x = wavy(300, 3);
    let expected = pca(x.view(), PcaOptions { components: Some(2), ..PcaOptions::default() }).unwrap();
    (0..300).for_each(|i| x[(i, 1)] = 1e306);
    let found = pca(x.view(), PcaOptions { components: Some(2), ..PcaOptions::default() }).unwrap();
    assert_eq!(found.mean[1], 1e306);
    assert!(found.components[(0, 1)].abs() < 1e-12 && found.explained_variance_ratio[0] < 1.0);
    assert!(found.explained_variance[0] <= expected.explained_variance[0] * (1.0 + 1e-12));
}

#[test]
fn half_precision_decomposes_like_its_values() {
    let x = wavy(20, 3);
    let single: Vec<f32> = x.as_slice().iter().map(|&x| x as f32).collect();
    let double: Vec<f64> = single.iter().map(|&x| f64::from(x)).collect();
    let from_single = svd(View::new(&single, &[20, 3]).unwrap()).unwrap();
    assert_eq!(from_single, svd(View::new(&double, &[20, 3]).unwrap()).unwrap());
}

#[test]
fn a_hundred_thousand_rows_keep_their_digits() {
    let x = wavy(100_000, 4);
    let factors = qr(x.view()).unwrap();
    assert!(apart(&rebuilt(&factors), &x) < 1e-13);
    assert!(skewness(&factors.q) < 1e-13);
    let columns = View::new(x.as_slice(), &[100_000, 4]).unwrap();
    let exact = pca(columns, PcaOptions { method: PcaMethod::Exact, ..PcaOptions::default() }).unwrap();
    let fast = pca(columns, PcaOptions::default()).unwrap();
    assert_eq!(fast.method, PcaMethod::Covariance);
    assert!(vectors_apart(&fast.explained_variance, &exact.explained_variance) < 1e-12);
    assert!(apart(&fast.components, &exact.components) < 1e-8);
}

#[test]
fn truncated_and_randomized_agree_where_values_fall_fast() {
    // Singular values 1, 1/10, 1/100, …: left and right directions from two random matrices.
    let (left, right) = (qr(wavy(60, 6).view()).unwrap().q, qr(wavy(40, 6).view()).unwrap().q);
    let mut scaled = left.clone();
    crate::dense::scale_columns(&mut scaled, &[1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5]);
    let x = multiply(&scaled, &right.transposed());
    let exact = svd_truncated(x.view(), 3).unwrap();
    let sketch = Sketch { oversampling: 2, power_iterations: 2, seed: 7 };
    let random = svd_randomized(x.view(), 3, sketch).unwrap();
    assert!(vectors_apart(&random.singular_values, &[1.0, 0.1, 0.01]) < 1e-12);
    assert!(apart(&random.matrix(), &exact.matrix()) < 1e-10);
    assert_eq!(random, svd_randomized(x.view(), 3, sketch).unwrap());
    for k in [0, 41] {
        assert!(matches!(svd_truncated(x.view(), k), Err(LinearError::OutOfRange { .. })));
        assert!(matches!(svd_randomized(x.view(), k, sketch), Err(LinearError::OutOfRange { .. })));
    }
}

#[test]
fn an_asymmetric_matrix_has_no_symmetric_axes() {
    let x = View::new(&[1.0, 2.0, 3.0, 1.0], &[2, 2]).unwrap();
    let error = symmetric_eigen(x).unwrap_err();
    assert_eq!(error.to_string(), "decompose: `A` is not symmetric; entries (1, 0) and (0, 1) differ by 1e0");
    assert!(matches!(symmetric_eigen(wavy(2, 3).view()), Err(LinearError::NotSquare { .. })));
}

#[test]
fn eigenvectors_turn_the_matrix_diagonal() {
    let b = wavy(6, 6);
    let a = Matrix::from_fn(6, 6, |i, j| b[(i, j)] + b[(j, i)]);
    let SymmetricEigen { values, vectors } = symmetric_eigen(a.view()).unwrap();
    assert!(skewness(&vectors) < 1e-14);
    let mut scaled = vectors.clone();
    crate::dense::scale_columns(&mut scaled, &values);
    assert!(apart(&multiply(&a, &vectors), &scaled) < 1e-14);
    assert!(values.windows(2).all(|pair| pair[0] >= pair[1]));
}

/// Points along (3, 4)/5 with variance 25/2·… around (10, 20), none across.
#[test]
fn principal_components_of_a_line_by_hand() {
    let x = Matrix::new(vec![7.0, 16.0, 10.0, 20.0, 13.0, 24.0], 3, 2).unwrap();
    for method in [PcaMethod::Exact, PcaMethod::Covariance, PcaMethod::Dual, PcaMethod::Randomized] {
        let options = PcaOptions { components: Some(1), method, ..PcaOptions::default() };
        let found = pca(x.view(), options).unwrap();
        assert_eq!(found.mean, [10.0, 20.0]);
        assert!(vectors_apart(found.components.row(0), &[0.6, 0.8]) < 1e-14, "{method:?}");
        assert!((found.explained_variance[0] - 25.0).abs() < 1e-12);
        assert!((found.explained_variance_ratio[0] - 1.0).abs() < 1e-14);
        assert!((found.singular_values[0] - 50.0_f64.sqrt()).abs() < 1e-13);
        let scores = found.transform(x.view()).unwrap();
        assert!(vectors_apart(scores.as_slice(), &[-5.0, 0.0, 5.0]) < 1e-14);
        assert!(apart(&found.inverse_transform(scores.view()).unwrap(), &x) < 1e-14);
    }
}

#[test]
fn every_method_finds_the_same_components() {
    // Columns of different spread, so that components are well apart; a large mean, so that centring matters.
    let spread = |i: usize, j: usize, base: &Matrix| base[(i, j)] * 3.0_f64.powi(-(j as i32)) + 1e4;
    for (n, p) in [(400, 6), (6, 40), (30, 30)] {
        let base = wavy(n, p);
        let x = Matrix::from_fn(n, p, |i, j| spread(i, j, &base));
        let run = |method| {
            pca(x.view(), PcaOptions { components: Some(3), method, ..PcaOptions::default() }).unwrap()
        };
        let exact = run(PcaMethod::Exact);
        assert_eq!(exact.method, PcaMethod::Exact);
        for method in [PcaMethod::Covariance, PcaMethod::Dual, PcaMethod::Randomized, PcaMethod::Auto] {
            let found = run(method);
            assert!(
                vectors_apart(&found.explained_variance, &exact.explained_variance) < 1e-9,
                "{method:?} {n} {p}"
            );
            assert!(apart(&found.components, &exact.components) < 1e-6, "{method:?} {n} {p}");
            assert!((found.total_variance / exact.total_variance - 1.0).abs() < 1e-9);
            assert!(skewness(&found.components.transposed()) < 1e-9);
        }
    }
}

#[test]
fn squared_methods_hand_small_components_to_the_exact_one() {
    let x = Matrix::from_fn(50, 3, |i, j| wavy(50, 3)[(i, j)] * [1.0, 1e-5, 1e-9][j]);
    for method in [PcaMethod::Covariance, PcaMethod::Dual] {
        let found = pca(x.view(), PcaOptions { method, ..PcaOptions::default() }).unwrap();
        assert_eq!(found.method, PcaMethod::Exact);
        assert!(found.singular_values[2] > 1e-10);
    }
}

#[test]
fn rows_that_do_not_vary_have_no_variance_to_explain() {
    let x = Matrix::from_fn(4, 3, |_, j| j as f64 + 0.1);
    let found = pca(x.view(), PcaOptions::default()).unwrap();
    assert_eq!(found.explained_variance_ratio.len(), 3);
    assert!(found.total_variance < 1e-30);
    assert!(found.components.as_slice().iter().all(|x| x.is_finite()));
    let one = pca(wavy(1, 3).view(), PcaOptions::default());
    assert_eq!(one.unwrap_err().to_string(), "decompose: `rows of X` is 1; expected at least 2");
    assert!(found.transform(wavy(2, 2).view()).is_err());
    assert!(found.inverse_transform(wavy(2, 2).view()).is_err());
}

#[test]
fn a_factor_and_the_means_are_enough() {
    let x = wavy(500, 4);
    let direct = pca(x.view(), PcaOptions { method: PcaMethod::Exact, ..PcaOptions::default() }).unwrap();
    // [1, X] = Q R: the block of R right of and below the first entry belongs to the centred columns.
    let with_ones = Matrix::from_fn(500, 5, |i, j| if j == 0 { 1.0 } else { x[(i, j - 1)] });
    let r = qr(with_ones.view()).unwrap().r;
    let block = Matrix::from_fn(4, 4, |i, j| r[(i + 1, j + 1)]);
    let mean = View::new(&direct.mean, &[4]).unwrap();
    let found = pca_from_factor(block.view(), mean, 500, None).unwrap();
    assert!(apart(&found.components, &direct.components) < 1e-12);
    assert!(vectors_apart(&found.explained_variance, &direct.explained_variance) < 1e-13);
    assert!(pca_from_factor(block.view(), mean, 1, None).is_err());
    assert!(pca_from_factor(block.view(), mean, 500, Some(5)).is_err());
    assert!(pca_from_factor(wavy(4, 3).view(), mean, 500, None).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn factors_are_orthonormal_and_rebuild(x in matrices(9, 7)) {
        let (qr, svd) = (qr(x.view()).unwrap(), svd(x.view()).unwrap());
        prop_assert!(apart(&rebuilt(&qr), &x) < 1e-13);
        prop_assert!(apart(&svd.matrix(), &x) < 1e-13);
        prop_assert!(skewness(&qr.q) < 1e-13 && skewness(&svd.u) < 1e-13 && skewness(&svd.v) < 1e-13);
    }

    #[test]
    fn the_error_of_a_low_rank_matrix_is_what_it_says(x in matrices(8, 6), k in 1_usize..6) {
        let k = k.min(x.rows().min(x.cols()));
        let found = low_rank(x.view(), k).unwrap();
        let near = found.matrix();
        let left = Matrix::from_fn(x.rows(), x.cols(), |i, j| x[(i, j)] - near[(i, j)]);
        let size = norm(x.as_slice());
        prop_assert!((norm(left.as_slice()) - found.frobenius_error).abs() <= 1e-13 * size);
        let spectral = svd(left.view()).unwrap().singular_values[0];
        prop_assert!((spectral - found.spectral_error).abs() <= 1e-13 * size);
        prop_assert!(found.spectral_error <= found.frobenius_error * (1.0 + 1e-15));
    }

    #[test]
    fn all_components_rebuild_the_rows(x in matrices(9, 5)) {
        prop_assume!(x.rows() >= 2);
        let found = pca(x.view(), PcaOptions::default()).unwrap();
        let scores = found.transform(x.view()).unwrap();
        prop_assert!(apart(&found.inverse_transform(scores.view()).unwrap(), &x) < 1e-12);
        let ratio: f64 = found.explained_variance_ratio.iter().sum();
        prop_assert!(found.total_variance == 0.0 || (ratio - 1.0).abs() < 1e-12);
    }
}

#[test]
fn pivoting_by_length_takes_the_longest_first_and_gives_the_table_back() {
    // Scaled, the small column is as independent as the others; by length it comes last.
    let x = Matrix::from_fn(5, 3, |i, j| [1.0, 1e-9, 3.0][j] * ((i * (j + 2) + j) as f64).cos());
    let found = pivoted_qr_by_length(x.view()).unwrap();
    assert_eq!(found.order, [2, 0, 1]);
    let back = multiply(&found.q, &found.r);
    for (to, &from) in found.order.iter().enumerate() {
        for i in 0..5 {
            assert!((back[(i, to)] - x[(i, from)]).abs() < 1e-15, "{i} {from}");
        }
    }
    assert_eq!(found.rank, 3);
    let huge = Matrix::from_fn(5, 3, |i, j| 1e300 * x[(i, j)]);
    assert_eq!(pivoted_qr_by_length(huge.view()).unwrap().order, found.order);
    assert_eq!(pivoted_qr_by_length(Matrix::zeros(4, 2).view()).unwrap().rank, 0);
}

#[test]
fn summaries_have_the_components_and_singular_values_of_their_rows() {
    for (name, x) in awkward().into_iter().filter(|(_, x)| x.rows() > 1) {
        let mut stream = SummaryStream::new(x.cols(), 1);
        let cut = x.rows() / 3;
        for rows in [0..cut, cut..x.rows()] {
            let part = Matrix::from_fn(rows.len(), x.cols(), |i, j| x[(rows.start + i, j)]);
            stream.push(&part.view(), &vec![1.0; rows.len()][..], None).unwrap();
        }
        let summary = stream.finish();
        let exact = PcaOptions { method: PcaMethod::Exact, ..PcaOptions::default() };
        match (pca(x.view(), exact), pca_from_summary(&summary, None)) {
            (Ok(expected), Ok(found)) => {
                assert!(
                    vectors_apart(&found.explained_variance, &expected.explained_variance) < 1e-12,
                    "{name}"
                );
                assert!(vectors_apart(&found.mean, &expected.mean) < 1e-14, "{name}");
                assert!(skewness(&found.components.transposed()) < 1e-13, "{name}");
            }
            (expected, found) => {
                assert_eq!(found.unwrap_err().to_string(), expected.unwrap_err().to_string(), "{name}");
            }
        }
        let (expected, found) = (svd(x.view()).unwrap(), svd_from_summary(&summary, None).unwrap());
        assert!(vectors_apart(&found.singular_values, &expected.singular_values) < 1e-13, "{name}");
        assert!(skewness(&found.v) < 1e-13, "{name}");
    }
    let tall = wavy(50, 3);
    let summary = Summary::of(&tall.view(), &NoColumns(50), None).unwrap();
    let (expected, found) = (svd(tall.view()).unwrap(), svd_from_summary(&summary, Some(2)).unwrap());
    assert!(apart(&found.v, &crate::dense::leading_columns(&expected.v, 2)) < 1e-12);
    let components = pca(tall.view(), PcaOptions::default()).unwrap().components;
    assert!(apart(&pca_from_summary(&summary, None).unwrap().components, &components) < 1e-12);
    assert!(pca_from_summary(&summary, Some(4)).is_err() && svd_from_summary(&summary, Some(0)).is_err());
    assert!(pca_from_summary(&Summary::new(2, 0), None).is_err());
}
