//! What the tests of every verb share: awkward matrices, random ones, and how far apart two are.

use proptest::prelude::*;
use spanwise_kernels::Matrix;

/// Deterministic, without structure, entries between −1 and 1.
pub(crate) fn wavy(rows: usize, cols: usize) -> Matrix {
    Matrix::from_fn(rows, cols, |i, j| {
        let t = (i as f64 + 1.0) * 12.9898 + (j as f64 + 1.0) * 78.233;
        2.0 * (t.sin() * 43_758.545_3).rem_euclid(1.0) - 1.0
    })
}

/// Matrices that break careless code, each with its name.
pub(crate) fn awkward() -> Vec<(&'static str, Matrix)> {
    let scales = [1e-12, 1.0, 1e12];
    let dependent = |x: Matrix| {
        Matrix::from_fn(x.rows(), 3, |i, j| if j == 2 { x[(i, 0)] - 2.0 * x[(i, 1)] } else { x[(i, j)] })
    };
    vec![
        ("one entry", wavy(1, 1)),
        ("one row", wavy(1, 5)),
        ("one column", wavy(6, 1)),
        ("square", wavy(5, 5)),
        ("wide", wavy(3, 8)),
        ("tall", wavy(3000, 3)),
        ("zeros", Matrix::zeros(4, 3)),
        ("a zero column", Matrix::from_fn(5, 3, |i, j| if j == 1 { 0.0 } else { (i * 2 + j) as f64 + 0.5 })),
        ("one repeated row", Matrix::from_fn(4, 3, |_, j| j as f64 + 1.0)),
        ("a dependent column", dependent(wavy(9, 2))),
        ("scales apart", Matrix::from_fn(6, 3, |i, j| wavy(6, 3)[(i, j)] * scales[j])),
        ("huge", Matrix::from_fn(4, 2, |i, j| wavy(4, 2)[(i, j)] * 1e200)),
        ("tiny", Matrix::from_fn(4, 2, |i, j| wavy(4, 2)[(i, j)] * 1e-200)),
    ]
}

/// The largest difference of two entries, over the largest magnitude of the second.
pub(crate) fn apart(a: &Matrix, b: &Matrix) -> f64 {
    assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()));
    vectors_apart(a.as_slice(), b.as_slice())
}

/// The same for vectors; the plain difference where the second is zero.
pub(crate) fn vectors_apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(0.0_f64, |big, x| big.max(x.abs()));
    let difference = a.iter().zip(b).fold(0.0_f64, |big, (a, b)| {
        assert!(a.is_finite(), "{a} where {b} was expected");
        big.max((a - b).abs())
    });
    if size > 0.0 { difference / size } else { difference }
}

/// How far the columns of `q` are from orthonormal.
pub(crate) fn skewness(q: &Matrix) -> f64 {
    apart(&crate::dense::multiply_transposed(q, q), &crate::dense::identity(q.cols()))
}

/// Matrices of up to `rows` × `cols` with entries of very different size, zeros among them.
pub(crate) fn matrices(rows: usize, cols: usize) -> impl Strategy<Value = Matrix> {
    (1..=rows, 1..=cols).prop_flat_map(|(n, p)| sized(n, p))
}

/// Matrices of `n` × `p`.
pub(crate) fn sized(n: usize, p: usize) -> impl Strategy<Value = Matrix> {
    let entry = prop_oneof![4 => -10.0..10.0_f64, 1 => Just(0.0), 1 => -1e4..1e4_f64];
    prop::collection::vec(entry, n * p).prop_map(move |data| Matrix::new(data, n, p).expect("n × p entries"))
}

/// Vectors of `n` numbers.
pub(crate) fn vectors(n: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-10.0..10.0_f64, n)
}
