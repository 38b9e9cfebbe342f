//! The small factors, by faer, always sequential: SVD, symmetric eigen, LU.
//!
//! Each matrix is first divided by a power of two near its largest entry: an exact step after which nothing inside
//! overflows.

use super::product::seen;
use super::{extreme_unit, norm_inf, power_of_two_near, scaled, thin_qr};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd;
use faer::linalg::lu::partial_pivoting::factor::{PartialPivLuParams, lu_in_place, lu_in_place_scratch};
use faer::linalg::svd::{self, ComputeSvdVectors};
use faer::{Auto, Mat, Par, Spec};
use spanwise_kernels::{Matrix, stop};

/// Which singular vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vectors {
    /// As many as there are singular values.
    Thin,
    /// Complete orthonormal bases.
    Full,
}

/// `A = U diag(s) Vᵀ`, s falling.
pub(crate) struct Factors {
    /// m × k, or m × m.
    pub(crate) u: Matrix,
    /// k = min(m, n).
    pub(crate) s: Vec<f64>,
    /// n × k, or n × n.
    pub(crate) v: Matrix,
}

/// What an iteration inside a factorisation did not reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unconverged;

/// The singular value decomposition of `a` (m × n).
pub(crate) fn svd(a: &Matrix, vectors: Vectors) -> Result<Factors, Unconverged> {
    let (m, n) = (a.rows(), a.cols());
    let unit = extreme_unit(a.as_slice());
    if unit != 1.0 {
        let Factors { u, s, v } = svd(&divided(a, unit), vectors)?;
        return Ok(Factors { u, s: scaled(&s, unit), v });
    }
    if m < n {
        let flipped = svd(&a.transposed(), vectors)?;
        return Ok(Factors { u: flipped.v, s: flipped.s, v: flipped.u });
    }
    if vectors == Vectors::Thin && m > n && n > 0 {
        // Only the small triangular factor is iterated on.
        let (q, r) = thin_qr(a);
        let small = square_svd(&r, true)?;
        return Ok(Factors { u: super::multiply(&q, &small.u), s: small.s, v: small.v });
    }
    square_svd(a, true)
}

/// The singular values alone, falling.
pub(crate) fn singular_values(a: &Matrix) -> Result<Vec<f64>, Unconverged> {
    let unit = extreme_unit(a.as_slice());
    if unit != 1.0 {
        return Ok(scaled(&singular_values(&divided(a, unit))?, unit));
    }
    if a.rows() < a.cols() {
        return singular_values(&a.transposed());
    }
    if a.rows() > a.cols() && a.cols() > 0 {
        return Ok(square_svd(&thin_qr(a).1, false)?.s);
    }
    Ok(square_svd(a, false)?.s)
}

fn divided(a: &Matrix, unit: f64) -> Matrix {
    Matrix::new(a.as_slice().iter().map(|x| x / unit).collect(), a.rows(), a.cols()).expect("same shape")
}

/// m ≥ n; full vectors or none.
fn square_svd(a: &Matrix, vectors: bool) -> Result<Factors, Unconverged> {
    let (m, n) = (a.rows(), a.cols());
    let unit = power_of_two_near(norm_inf(a.as_slice()));
    if a.as_slice().iter().all(|&x| x == 0.0) {
        return Ok(Factors { u: super::identity(m), s: vec![0.0; n], v: super::identity(n) });
    }
    let source = Matrix::new(scaled(a.as_slice(), 1.0 / unit), m, n).expect("same shape");
    let compute = if vectors { ComputeSvdVectors::Full } else { ComputeSvdVectors::No };
    let (u, s, v) = svd_of(seen(&source).to_owned(), compute).ok_or(Unconverged)?;
    let s = scaled(&s, unit);
    if s.iter().any(|s| s.is_nan()) {
        return Err(Unconverged);
    }
    Ok(Factors { u: owned(&u), s, v: owned(&v) })
}

/// Eigenvalues, rising, and eigenvectors (columns) of the symmetric `a` (n × n); the lower triangle is read.
pub(crate) fn symmetric_eigen(a: &Matrix) -> Result<(Vec<f64>, Matrix), Unconverged> {
    let n = a.rows();
    if n == 0 {
        return Ok((Vec::new(), Matrix::zeros(0, 0)));
    }
    let unit = power_of_two_near(norm_inf(a.as_slice()));
    let source = Matrix::new(scaled(a.as_slice(), 1.0 / unit), n, n).expect("same shape");
    let (values, vectors) = eigen_of(seen(&source).to_owned()).ok_or(Unconverged)?;
    let values = scaled(&values, unit);
    if values.iter().any(|value| value.is_nan()) {
        return Err(Unconverged);
    }
    Ok((values, owned(&vectors)))
}

/// `U`, the singular values, falling, and `V` of `a`; `None` where it holds NaN or infinity.
pub(crate) fn svd_of(a: Mat<f64>, vectors: ComputeSvdVectors) -> Option<(Mat<f64>, Vec<f64>, Mat<f64>)> {
    let (m, n) = a.shape();
    let k = m.min(n);
    let [rows, cols] = [m, n].map(|size| match vectors {
        ComputeSvdVectors::No => (0, 0),
        ComputeSvdVectors::Thin => (size, k),
        ComputeSvdVectors::Full => (size, size),
    });
    stop::beside(move || {
        let (mut u, mut v) = (Mat::zeros(rows.0, rows.1), Mat::zeros(cols.0, cols.1));
        let mut s = Diag::<f64>::zeros(k);
        let params: Spec<svd::SvdParams, f64> = Spec::new(Auto::<f64>::auto());
        let mut memory = MemBuffer::new(svd::svd_scratch::<f64>(m, n, vectors, vectors, Par::Seq, params));
        let stack = MemStack::new(&mut memory);
        let wanted = vectors != ComputeSvdVectors::No;
        let (left, right) = (wanted.then(|| u.as_mut()), wanted.then(|| v.as_mut()));
        svd::svd(a.as_ref(), s.as_mut(), left, right, Par::Seq, stack, params).ok()?;
        Some((u, (0..k).map(|i| s[i].max(0.0)).collect(), v))
    })
}

/// Eigenvalues, rising, and eigenvectors of a symmetric matrix whose lower half is read; `None` where it holds NaN or
/// infinity.
pub(crate) fn eigen_of(a: Mat<f64>) -> Option<(Vec<f64>, Mat<f64>)> {
    stop::beside(move || {
        let n = a.nrows();
        let mut values = Diag::<f64>::zeros(n);
        let mut vectors = Mat::<f64>::zeros(n, n);
        let params: Spec<evd::SelfAdjointEvdParams, f64> = Spec::new(Auto::<f64>::auto());
        let wanted = evd::ComputeEigenvectors::Yes;
        let mut memory = MemBuffer::new(evd::self_adjoint_evd_scratch::<f64>(n, wanted, Par::Seq, params));
        let stack = MemStack::new(&mut memory);
        let out = Some(vectors.as_mut());
        evd::self_adjoint_evd(a.as_ref(), values.as_mut(), out, Par::Seq, stack, params).ok()?;
        Some(((0..n).map(|i| values[i]).collect(), vectors))
    })
}

/// `A[order, :] = L U`, L unit lower triangular; both in one matrix.
pub(crate) struct Lu {
    pub(crate) factors: Matrix,
    pub(crate) order: Vec<usize>,
}

/// LU with partial pivoting of the square `a`.
pub(crate) fn lu(a: &Matrix) -> Lu {
    let n = a.rows();
    let mut factors = Mat::from_fn(n, n, |i, j| a[(i, j)]);
    stop::beside(move || {
        let (mut order, mut inverse) = (vec![0_usize; n], vec![0_usize; n]);
        let params: Spec<PartialPivLuParams, f64> = Spec::new(Auto::<f64>::auto());
        let mut memory = MemBuffer::new(lu_in_place_scratch::<usize, f64>(n, n, Par::Seq, params));
        let stack = MemStack::new(&mut memory);
        lu_in_place(factors.as_mut(), &mut order, &mut inverse, Par::Seq, stack, params);
        Lu { factors: owned(&factors), order }
    })
}

fn owned(x: &Mat<f64>) -> Matrix {
    Matrix::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, j)])
}

#[cfg(test)]
mod tests {
    use super::super::{multiply, scale_columns};
    use super::*;

    fn close(a: &Matrix, b: &Matrix, tolerance: f64) {
        for (a, b) in a.as_slice().iter().zip(b.as_slice()) {
            assert!((a - b).abs() <= tolerance, "{a} {b}");
        }
    }

    #[test]
    fn singular_vectors_multiply_back_at_any_scale() {
        for scale in [1.0, 1e-300, 1e300] {
            for (m, n) in [(4, 4), (9, 3), (3, 9), (1, 1)] {
                let a = Matrix::from_fn(m, n, |i, j| scale * ((i * 5 + j * 3) as f64).sin());
                for vectors in [Vectors::Thin, Vectors::Full] {
                    let Factors { u, s, v } = svd(&a, vectors).unwrap();
                    let k = s.len();
                    let mut left = super::super::leading_columns(&u, k);
                    scale_columns(&mut left, &s);
                    let right = super::super::leading_columns(&v, k).transposed();
                    close(&multiply(&left, &right), &a, 1e-14 * scale * 4.0);
                    assert!(s.windows(2).all(|pair| pair[0] >= pair[1]));
                }
            }
        }
    }

    #[test]
    fn zero_matrices_have_zero_factors() {
        let Factors { u, s, v } = svd(&Matrix::zeros(3, 2), Vectors::Thin).unwrap();
        assert_eq!(s, [0.0, 0.0]);
        assert!(u.as_slice().iter().chain(v.as_slice()).all(|x| x.is_finite()));
        assert_eq!(symmetric_eigen(&Matrix::zeros(2, 2)).unwrap().0, [0.0, 0.0]);
        assert_eq!(singular_values(&Matrix::zeros(0, 0)).unwrap(), Vec::<f64>::new());
    }

    #[test]
    fn a_hand_made_spectrum_comes_back() {
        let a = Matrix::new(vec![2.0, 1.0, 1.0, 2.0], 2, 2).unwrap();
        let (values, _) = symmetric_eigen(&a).unwrap();
        assert!((values[0] - 1.0).abs() < 1e-15 && (values[1] - 3.0).abs() < 1e-15);
    }

    #[test]
    fn lu_rows_come_back_in_their_order() {
        let a = Matrix::new(vec![0.0, 2.0, 1.0, 4.0, 1.0, 0.0, 2.0, 2.0, 2.0], 3, 3).unwrap();
        let Lu { factors, order } = lu(&a);
        let l = Matrix::from_fn(3, 3, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => factors[(i, j)],
        });
        let u = Matrix::from_fn(3, 3, |i, j| if i <= j { factors[(i, j)] } else { 0.0 });
        let permuted = Matrix::from_fn(3, 3, |i, j| a[(order[i], j)]);
        close(&multiply(&l, &u), &permuted, 1e-15);
    }
}
