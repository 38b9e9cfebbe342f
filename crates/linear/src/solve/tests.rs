use super::*;
use crate::dense::{multiply_transposed, norm, times, transposed_times};
use crate::testing::{matrices, sized, vectors, vectors_apart, wavy};
use crate::{CsrMatrix, LinearError};
use proptest::prelude::*;
use spanwise_kernels::{Matrix, View};

fn view(v: &[f64]) -> View<'_, f64> {
    View::new(v, &[v.len()]).unwrap()
}

/// The n × n second-difference matrix: 2 on the diagonal, −1 beside it.
fn differences(n: usize) -> Matrix {
    Matrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    })
}

/// Hilbert's matrix: condition number 1.6e13 at 10.
fn hilbert(n: usize) -> Matrix {
    Matrix::from_fn(n, n, |i, j| 1.0 / (i + j + 1) as f64)
}

#[test]
fn every_direct_solver_finds_the_answer_by_hand() {
    // Second differences of 1, 4, 9: A x = (−2, −2, 14).
    let (a, b, x) = (differences(3), [-2.0, -2.0, 14.0], [1.0, 4.0, 9.0]);
    let answers = [
        lu(a.view(), view(&b)).unwrap(),
        cholesky(a.view(), view(&b), 0.0).unwrap(),
        qr(a.view(), view(&b)).unwrap(),
        svd(a.view(), view(&b), None).unwrap(),
        conjugate_gradients(&a, view(&b), CgOptions::default()).unwrap(),
        lsmr(&a, view(&b), LsmrOptions::default()).unwrap(),
    ];
    for answer in answers {
        assert!(vectors_apart(&answer.x, &x) < 1e-10, "{answer:?}");
        assert!(answer.residual_norm < 1e-9 && answer.backward_error < 1e-10, "{answer:?}");
        assert_eq!((answer.rank, answer.jitter), (3, 0.0));
        // The condition number is (2 + √2) / (2 − √2) = 5.83 in the 2-norm and 8 in the 1-norm.
        assert!(answer.condition > 1.5 && answer.condition < 20.0, "{answer:?}");
    }
}

#[test]
fn direct_answers_are_backward_stable_and_refined() {
    let a = hilbert(8);
    let ones = [1.0; 8];
    let b = times(&a, &ones);
    for answer in [
        lu(a.view(), view(&b)).unwrap(),
        cholesky(a.view(), view(&b), 0.0).unwrap(),
        qr(a.view(), view(&b)).unwrap(),
    ] {
        assert!(answer.backward_error < 1e-16, "{answer:?}");
        // The right-hand side itself is rounded, which the condition number magnifies.
        assert!(vectors_apart(&answer.x, &ones) < 1e-16 * answer.condition, "{answer:?}");
        assert!(answer.condition > 1e8 && answer.condition < 1e11, "{answer:?}");
    }
}

#[test]
fn refinement_reaches_the_last_digit_where_the_data_are_exact() {
    // Integer data: the solution of this system is exactly (1, −1, 2, 3, −2).
    let a = Matrix::from_fn(5, 5, |i, j| {
        ((i * i + 3 * j * i + 7 * j) % 13) as f64 + if i == j { 0.001_953_125 } else { 0.0 }
    });
    let x = [1.0, -1.0, 2.0, 3.0, -2.0];
    let b = times(&a, &x);
    assert_eq!(lu(a.view(), view(&b)).unwrap().x, x);
    assert_eq!(qr(a.view(), view(&b)).unwrap().x, x);
}

#[test]
fn scales_of_rows_and_columns_do_not_matter() {
    let base = wavy(4, 4);
    let (rows, columns) = ([1e12, 1.0, 1e-12, 1e3], [1e-12, 1e12, 1.0, 1e6]);
    let a = Matrix::from_fn(4, 4, |i, j| base[(i, j)] * rows[i] * columns[j]);
    let x: Vec<f64> = columns.iter().map(|c| 1.0 / c).collect();
    let b = times(&a, &x);
    let answer = lu(a.view(), view(&b)).unwrap();
    assert!(answer.condition < 1e3, "{answer:?}");
    for (found, expected) in answer.x.iter().zip(&x) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{answer:?}");
    }
    let diagonal = Matrix::from_fn(3, 3, |i, j| if i == j { [1e-12, 1.0, 1e12][i] } else { 0.0 });
    let answer = cholesky(diagonal.view(), view(&[1e-12, 1.0, 1e12]), 0.0).unwrap();
    assert_eq!(answer.x, [1.0; 3]);
}

#[test]
fn a_singular_system_says_so_and_never_gives_nan() {
    let b = view(&[1.0, 2.0, 3.0]);
    let dependent = Matrix::new(vec![1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 1.0, 0.0, 1.0], 3, 3).unwrap();
    for a in [Matrix::zeros(3, 3), dependent.clone()] {
        for error in [lu(a.view(), b).unwrap_err(), qr(a.view(), b).unwrap_err()] {
            assert!(matches!(error, LinearError::Singular { expected: 3, .. }), "{error}");
        }
        let shortest = svd(a.view(), b, None).unwrap();
        assert!(shortest.x.iter().all(|x| x.is_finite()) && shortest.rank < 3);
    }
    let error = lu(dependent.view(), b).unwrap_err();
    assert!(
        error.to_string().starts_with("solve: `A` is singular to working precision; rank 2 of 3"),
        "{error}"
    );
    assert_eq!(error.hint().unwrap(), "method `svd` gives the minimum-norm answer");
    let wide = qr(wavy(2, 3).view(), view(&[1.0, 2.0])).unwrap_err();
    assert!(matches!(wide, LinearError::Singular { rank: 2, expected: 3, .. }), "{wide}");
}

#[test]
fn a_dependency_hidden_by_rounding_is_not_solved_with_huge_numbers() {
    // An intercept, three columns, and a fourth that is the third plus 2.
    let base = wavy(200, 4);
    let a = Matrix::from_fn(200, 5, |i, j| match j {
        0 => 1.0,
        4 => base[(i, 3)] + 2.0,
        _ => base[(i, j)],
    });
    let b: Vec<f64> = (0..200).map(|i| f64::from(i).sin()).collect();
    let error = qr(a.view(), view(&b)).unwrap_err();
    assert!(matches!(error, LinearError::Singular { rank: 4, expected: 5, .. }), "{error}");
    let shortest = svd(a.view(), view(&b), None).unwrap();
    assert!(shortest.rank == 4 && shortest.x.iter().all(|x| x.abs() < 1.0), "{shortest:?}");
    // Square: the last column is the sum of the others.
    for n in [3, 8, 20] {
        let base = wavy(n, n);
        let a = Matrix::from_fn(
            n,
            n,
            |i, j| if j + 1 < n { base[(i, j)] } else { base.row(i)[..j].iter().sum() },
        );
        let error = lu(a.view(), view(&vec![1.0; n])).unwrap_err();
        assert!(matches!(error, LinearError::Singular { rank, .. } if rank == n - 1), "{error}");
    }
}

#[test]
fn cholesky_refuses_what_does_not_curve_upwards() {
    let b = view(&[1.0, 1.0]);
    let saddle = Matrix::new(vec![1.0, 2.0, 2.0, 1.0], 2, 2).unwrap();
    let error = cholesky(saddle.view(), b, 0.0).unwrap_err();
    // Along (−2, 1): (1 − 4) / 5.
    assert!(
        matches!(error, LinearError::NotPositiveDefinite { curvature, .. } if (curvature + 0.6).abs() < 1e-15)
    );
    assert!(cholesky(saddle.view(), b, 1e-6).is_err());
    assert!(matches!(
        cholesky(Matrix::zeros(2, 2).view(), b, 0.5),
        Err(LinearError::NotPositiveDefinite { curvature: 0.0, .. })
    ));
    let skew = Matrix::new(vec![1.0, 2.0, 0.0, 1.0], 2, 2).unwrap();
    assert!(matches!(cholesky(skew.view(), b, 0.0), Err(LinearError::NotSymmetric { .. })));
    for jitter in [-1.0, f64::NAN, 2.0] {
        assert!(matches!(cholesky(saddle.view(), b, jitter), Err(LinearError::OutOfRange { .. })));
    }
}

#[test]
fn jitter_is_added_only_where_needed_and_reported() {
    // Rank 1, positive semidefinite.
    let a = Matrix::new(vec![1.0, 2.0, 2.0, 4.0], 2, 2).unwrap();
    let b = view(&[5.0, 10.0]);
    assert!(matches!(cholesky(a.view(), b, 0.0), Err(LinearError::Singular { rank: 1, .. })));
    let answer = cholesky(a.view(), b, 1e-6).unwrap();
    assert!(answer.jitter > 0.0 && answer.jitter <= 1e-6);
    assert!(answer.relative_residual < 1e-6, "{answer:?}");
    assert_eq!(cholesky(differences(2).view(), b, 1e-6).unwrap().jitter, 0.0);
}

#[test]
fn the_shortest_solution_is_chosen() {
    // x + y + z = 3 and twice the same: (1, 1, 1) is the shortest.
    let a = Matrix::new(vec![1.0, 1.0, 1.0, 2.0, 2.0, 2.0], 2, 3).unwrap();
    let b = [3.0, 6.0];
    let direct = svd(a.view(), view(&b), None).unwrap();
    let iterated = lsmr(&a, view(&b), LsmrOptions::default()).unwrap();
    assert_eq!(direct.rank, 1);
    for answer in [direct, iterated] {
        assert!(vectors_apart(&answer.x, &[1.0; 3]) < 1e-14, "{answer:?}");
    }
}

#[test]
fn iterations_solve_what_is_known_by_its_products() {
    struct Differences(usize);
    impl Operator for Differences {
        fn rows(&self) -> usize {
            self.0
        }
        fn cols(&self) -> usize {
            self.0
        }
        fn apply(&self, x: &[f64], out: &mut [f64]) {
            let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
            for (i, out) in out.iter_mut().enumerate() {
                *out = 2.0 * x[i] - at(i + 1) - if i > 0 { x[i - 1] } else { 0.0 };
            }
        }
        fn apply_transposed(&self, y: &[f64], out: &mut [f64]) {
            self.apply(y, out);
        }
    }
    let n = 200;
    let b: Vec<f64> = (0..n).map(|i| (i as f64 * 0.3).sin()).collect();
    let direct = cholesky(differences(n).view(), view(&b), 0.0).unwrap();
    let halved = |r: &[f64], z: &mut [f64]| z.iter_mut().zip(r).for_each(|(z, r)| *z = 0.5 * r);
    for preconditioner in [Preconditioner::None, Preconditioner::Jacobi, Preconditioner::Custom(&halved)] {
        let options = CgOptions { tolerance: 1e-12, preconditioner, ..CgOptions::default() };
        let answer = conjugate_gradients(&Differences(n), view(&b), options).unwrap();
        assert!(vectors_apart(&answer.x, &direct.x) < 1e-9, "{preconditioner:?}");
        // 4/π² · n²: 16 373 for 200.
        assert!(answer.condition > 1.0e4 && answer.condition < 2.0e4, "{}", answer.condition);
        assert!(answer.iterations <= 2 * n && answer.relative_residual <= 1e-12);
    }
}

#[test]
fn a_preconditioner_for_bad_scales_saves_steps() {
    let base = differences(60);
    let scale = |i: usize| 10.0_f64.powf(i as f64 / 20.0);
    let a =
        Matrix::from_fn(60, 60, |i, j| (base[(i, j)] + f64::from(u8::from(i == j))) * scale(i) * scale(j));
    let b = vec![1.0; 60];
    let run = |preconditioner| {
        let options = CgOptions { preconditioner, max_iterations: Some(20_000), ..CgOptions::default() };
        conjugate_gradients(&a, view(&b), options)
    };
    let with = run(Preconditioner::Jacobi).unwrap().iterations;
    let without = run(Preconditioner::None).map_or(usize::MAX, |answer| answer.iterations);
    assert!(2 * with < without, "{with} {without}");
}

#[test]
fn conjugate_gradients_refuse_what_does_not_curve_upwards() {
    let b = view(&[1.0, 1.0]);
    let saddle = Matrix::new(vec![1.0, 2.0, 2.0, 1.0], 2, 2).unwrap();
    let negative = Matrix::new(vec![-1.0, 0.0, 0.0, -1.0], 2, 2).unwrap();
    let b_saddle = view(&[1.0, -1.0]);
    for (a, b) in [(&saddle, b_saddle), (&negative, b)] {
        for preconditioner in [Preconditioner::None, Preconditioner::Jacobi] {
            let options = CgOptions { preconditioner, ..CgOptions::default() };
            let error = conjugate_gradients(a, b, options).unwrap_err();
            assert!(
                matches!(error, LinearError::NotPositiveDefinite { curvature, .. } if curvature < 0.0),
                "{error}"
            );
        }
    }
    let options = CgOptions { max_iterations: Some(2), ..CgOptions::default() };
    let error = conjugate_gradients(&differences(50), view(&[1.0; 50]), options).unwrap_err();
    assert!(matches!(error, LinearError::NoConvergence { iterations: 2, .. }), "{error}");
    assert!(conjugate_gradients(&wavy(2, 3), b, CgOptions::default()).is_err());
    let options = CgOptions { tolerance: 0.0, ..CgOptions::default() };
    assert!(conjugate_gradients(&saddle, b, options).is_err());
}

#[test]
fn nothing_to_solve_for_gives_zero() {
    let zero = [0.0; 3];
    let a = differences(3);
    for answer in [
        lu(a.view(), view(&zero)).unwrap(),
        cholesky(a.view(), view(&zero), 0.0).unwrap(),
        qr(a.view(), view(&zero)).unwrap(),
        svd(a.view(), view(&zero), None).unwrap(),
        conjugate_gradients(&a, view(&zero), CgOptions::default()).unwrap(),
        lsmr(&a, view(&zero), LsmrOptions::default()).unwrap(),
        lsmr(&Matrix::zeros(3, 2), view(&[1.0; 3]), LsmrOptions::default()).unwrap(),
    ] {
        assert!(answer.x.iter().all(|&x| x == 0.0), "{answer:?}");
        assert!(answer.backward_error.is_finite() && answer.relative_residual.is_finite());
    }
}

#[test]
fn empty_systems_have_empty_answers() {
    let none = View::<f64>::new(&[], &[0, 0]).unwrap();
    assert_eq!(lu(none, view(&[])).unwrap().x, Vec::<f64>::new());
    assert_eq!(cholesky(none, view(&[]), 0.0).unwrap().x, Vec::<f64>::new());
    assert_eq!(qr(none, view(&[])).unwrap().x, Vec::<f64>::new());
    assert_eq!(svd(View::<f64>::new(&[], &[0, 2]).unwrap(), view(&[]), None).unwrap().x, [0.0, 0.0]);
    assert_eq!(qr(View::<f64>::new(&[], &[2, 0]).unwrap(), view(&[1.0, 2.0])).unwrap().x, Vec::<f64>::new());
}

#[test]
fn what_is_not_finite_or_does_not_fit_is_refused() {
    let a = differences(2);
    let bad = Matrix::new(vec![1.0, f64::NAN, 0.0, 1.0], 2, 2).unwrap();
    let b = view(&[1.0, 2.0]);
    assert!(matches!(lu(bad.view(), b), Err(LinearError::NotFinite { row: 0, column: 1, .. })));
    assert!(matches!(qr(bad.view(), b), Err(LinearError::NotFinite { .. })));
    assert!(matches!(svd(bad.view(), b, None), Err(LinearError::NotFinite { .. })));
    assert!(matches!(cholesky(bad.view(), b, 0.0), Err(LinearError::NotFinite { .. })));
    assert!(matches!(lsmr(&bad, b, LsmrOptions::default()), Err(LinearError::Overflow { .. })));
    assert!(conjugate_gradients(&bad, b, CgOptions::default()).is_err());
    let infinite = [1.0, f64::INFINITY];
    assert!(matches!(
        lu(a.view(), view(&infinite)),
        Err(LinearError::NotFinite { argument: "b", row: 1, .. })
    ));
    let error = lu(a.view(), view(&[1.0; 3])).unwrap_err();
    assert_eq!(error.to_string(), "solve: `b` has length 3, `A` has 2 rows; they must be equal");
    assert!(matches!(lu(wavy(2, 3).view(), b), Err(LinearError::NotSquare { .. })));
    assert!(svd(a.view(), b, Some(1.5)).is_err());
    assert!(lsmr(&a, b, LsmrOptions { damping: -1.0, ..LsmrOptions::default() }).is_err());
}

#[test]
fn a_hundred_thousand_rows_are_solved_directly_and_by_iteration() {
    let a = wavy(100_000, 3);
    let b = times(&a, &[1.0, -2.0, 0.5]);
    let direct = qr(a.view(), view(&b)).unwrap();
    assert!(vectors_apart(&direct.x, &[1.0, -2.0, 0.5]) < 1e-14);
    let iterated = lsmr(&a, view(&b), LsmrOptions::default()).unwrap();
    assert!(vectors_apart(&iterated.x, &direct.x) < 1e-11);
}

#[test]
fn damping_is_ridge_regression() {
    let a = wavy(30, 4);
    let b: Vec<f64> = (0..30).map(|i| f64::from(i).cos()).collect();
    let damping = 0.7;
    let mut normal = multiply_transposed(&a, &a);
    (0..4).for_each(|i| normal[(i, i)] += damping * damping);
    let expected = cholesky(normal.view(), view(&transposed_times(&a, &b)), 0.0).unwrap();
    let answer = lsmr(&a, view(&b), LsmrOptions { damping, ..LsmrOptions::default() }).unwrap();
    assert!(vectors_apart(&answer.x, &expected.x) < 1e-10);
}

#[test]
fn a_large_sparse_system_is_solved_without_a_dense_copy() {
    // A path of 20,000 nodes, each tied to its neighbours and to itself.
    let n = 20_000_usize;
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        for (j, value) in [(i.wrapping_sub(1), -1.0), (i, 3.0), (i + 1, -1.0)] {
            if j < n {
                columns.push(j);
                values.push(value);
            }
        }
        starts.push(values.len());
    }
    let a = CsrMatrix::new(n, n, starts, columns, values).unwrap();
    let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.01).sin()).collect();
    let mut b = vec![0.0; n];
    a.apply(&x, &mut b);
    let gradients = conjugate_gradients(&a, view(&b), CgOptions::default()).unwrap();
    let squares = lsmr(&a, view(&b), LsmrOptions::default()).unwrap();
    for answer in [gradients, squares] {
        assert!(vectors_apart(&answer.x, &x) < 1e-9 && answer.iterations < 100, "{}", answer.iterations);
    }
}

fn square_system() -> impl Strategy<Value = (Matrix, Vec<f64>)> {
    (1_usize..7).prop_flat_map(|n| (sized(n, n), vectors(n)))
}

fn least_squares() -> impl Strategy<Value = (Matrix, Vec<f64>)> {
    matrices(9, 5).prop_flat_map(|a| {
        let n = a.rows();
        (Just(a), vectors(n))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_answer_has_a_small_backward_error_or_there_is_none((a, b) in square_system()) {
        match lu(a.view(), view(&b)) {
            Ok(answer) => prop_assert!(answer.backward_error < 1e-15, "{answer:?}"),
            Err(error) => prop_assert!(matches!(error, LinearError::Singular { .. }), "{error}"),
        }
    }

    #[test]
    fn the_least_squares_residual_is_orthogonal((a, b) in least_squares()) {
        let answer = svd(a.view(), view(&b), None).unwrap();
        let left: Vec<f64> = times(&a, &answer.x).iter().zip(&b).map(|(ax, b)| b - ax).collect();
        let across = norm(&transposed_times(&a, &left));
        // A solution much longer than b brings the rounding of A x along.
        let (size, allowed) = (norm(a.as_slice()), norm(&b) + 1e-3 * norm(a.as_slice()) * norm(&answer.x));
        prop_assert!(across <= 1e-11 * size * allowed, "{across}");
    }

    #[test]
    fn iterations_agree_with_direct_solvers((a, b) in least_squares()) {
        let mut normal = multiply_transposed(&a, &a);
        (0..a.cols()).for_each(|i| normal[(i, i)] *= 1.5);
        prop_assume!((0..a.cols()).all(|i| normal[(i, i)] > 1e-3));
        let right = transposed_times(&a, &b);
        prop_assume!(norm(&right) > 1e-6);
        let direct = cholesky(normal.view(), view(&right), 0.0).unwrap();
        let options = CgOptions { tolerance: 1e-12, ..CgOptions::default() };
        let gradients = conjugate_gradients(&normal, view(&right), options).unwrap();
        prop_assert!(vectors_apart(&gradients.x, &direct.x) < 1e-11 * direct.condition.max(10.0));
        let options = LsmrOptions { tolerance: 1e-15, max_iterations: Some(10_000), ..LsmrOptions::default() };
        let squares = lsmr(&normal, view(&right), options).unwrap();
        let raw = crate::measure::condition(normal.view()).unwrap().raw;
        prop_assert!(vectors_apart(&squares.x, &direct.x) < 1e-13 * raw.max(10.0), "{raw}");
    }
}

#[test]
fn iterations_answer_right_hand_sides_near_the_ends_of_the_range() {
    let (a, b) = (differences(12), wavy(12, 1).col(0));
    let plain = [
        conjugate_gradients(&a, view(&b), CgOptions::default()).unwrap(),
        lsmr(&a, view(&b), LsmrOptions::default()).unwrap(),
    ];
    for unit in [1e-170, 1e170] {
        let b: Vec<f64> = b.iter().map(|b| unit * b).collect();
        let far = [
            conjugate_gradients(&a, view(&b), CgOptions::default()).unwrap(),
            lsmr(&a, view(&b), LsmrOptions::default()).unwrap(),
        ];
        for (far, plain) in far.iter().zip(&plain) {
            let close = |(f, p): (&f64, &f64)| (f / unit - p).abs() < 1e-8 * p.abs().max(1e-3);
            assert!(far.x.iter().zip(&plain.x).all(close));
        }
    }
}

#[test]
fn an_answer_beyond_f64_is_said_to_be_that_and_not_that_the_matrix_is_large() {
    let (small, b) = ([1e-200, 0.0, 0.0, 1e-200], [1e200, 1.0]);
    let (a, view_b) = (View::new(&small, &[2, 2]).unwrap(), View::new(&b, &[2]).unwrap());
    let dense = Matrix::new(small.to_vec(), 2, 2).unwrap();
    let refused = [
        cholesky(a, view_b, 0.0).unwrap_err(),
        lu(a, view_b).unwrap_err(),
        qr(a, view_b).unwrap_err(),
        svd(a, view_b, None).unwrap_err(),
        conjugate_gradients(&dense, view_b, CgOptions::default()).unwrap_err(),
        lsmr(&dense, view_b, LsmrOptions::default()).unwrap_err(),
    ];
    for error in refused {
        let words = "solve: `x` lies outside what f64 can hold: the numbers of `b` are too large for it";
        assert_eq!(error.to_string(), words);
        let hint = "divide `b` by a power of ten: `x` becomes smaller by the same factor";
        assert_eq!(error.hint().as_deref(), Some(hint));
    }
    // Where the length of b overflows, it is b that is named.
    let large = [1e308, 1e308, 1e308, 1e308];
    let error =
        svd(View::new(&[1.0; 4], &[4, 1]).unwrap(), View::new(&large, &[4]).unwrap(), None).unwrap_err();
    assert!(matches!(error, LinearError::Overflow { argument: "b", .. }), "{error}");
}

#[test]
fn ranks_that_differ_with_the_units_of_columns_are_no_answer() {
    let numbers = [1e20, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 2.0, 2.0];
    let far_apart = View::new(&numbers, &[3, 3]).unwrap();
    let error = LuFactor::new(far_apart).err().unwrap();
    assert!(matches!(error, LinearError::Singular { rank: 2, .. }), "{error}");
    // The singular values of the matrix as it is see rank 1, and would answer [1, 0, 0].
    assert!(matches!(SvdFactor::after(error, far_apart, None), Err(LinearError::Singular { rank: 2, .. })));
    let alike = [3.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 2.0, 2.0];
    let alike = View::new(&alike, &[3, 3]).unwrap();
    let factor = SvdFactor::after(LuFactor::new(alike).err().unwrap(), alike, None).unwrap();
    let x = factor.solve(View::new(&[3.0, 1.0, 2.0], &[3]).unwrap()).unwrap().x;
    assert!(x.iter().zip([1.0, 0.5, 0.5]).all(|(x, expected)| (x - expected).abs() < 1e-14), "{x:?}");
}
