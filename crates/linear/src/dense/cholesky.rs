//! Cholesky's factor of a symmetric positive definite matrix, of any size, with the same bits for any number of threads.
//!
//! The factor itself is `spanwise_kernels::definite`; here is what is done with it. One text for every user: [`cholesky`] where R itself
//! is wanted, [`Cholesky`] where systems are solved. Row after row, upper, is column after column, lower: `G = RᵀR` with `R = Lᵀ` in
//! the same memory. The library's solves are only ever called sequentially: it may choose its order of summation by the
//! number of threads.

use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place as solve_lower, solve_upper_triangular_in_place as solve_upper,
};
use faer::{Mat, MatMut, MatRef, Par};
use spanwise_kernels::{Matrix, definite};

/// The upper R with `G = RᵀR` (the upper triangle of `g` is read), or the first pivot that is not positive.
pub(crate) fn cholesky(g: &Matrix) -> Result<Matrix, usize> {
    let mut r = g.clone();
    definite::cholesky(&mut r)?;
    for i in 0..r.rows() {
        r.row_mut(i)[..i].fill(0.0);
    }
    Ok(r)
}

/// `A = L·Lᵀ` of a symmetric positive definite `A`, to solve with.
pub(crate) struct Cholesky {
    /// `R = Lᵀ` on and above the diagonal; what is below is not used.
    upper: Matrix,
}

impl Cholesky {
    /// Reads the lower half of `a`. `None` where a pivot is not positive.
    pub(crate) fn new(a: &Mat<f64>) -> Option<Self> {
        let mut upper = Matrix::zeros(a.nrows(), a.nrows());
        (0..a.nrows()).for_each(|j| upper.row_mut(j).copy_from_slice(a.col_as_slice(j)));
        Self::of(upper)
    }

    /// Reads the upper half of `a`, and keeps its memory.
    pub(crate) fn of(mut a: Matrix) -> Option<Self> {
        definite::cholesky(&mut a).ok()?;
        Some(Cholesky { upper: a })
    }

    /// Entry `i` of L's diagonal.
    pub(crate) fn pivot(&self, i: usize) -> f64 {
        self.upper[(i, i)]
    }

    /// L, as the library sees it.
    fn lower(&self) -> MatRef<'_, f64> {
        let n = self.upper.rows();
        MatRef::from_column_major_slice(self.upper.as_slice(), n, n)
    }

    /// `A⁻¹·B`, in place.
    pub(crate) fn solve(&self, mut b: MatMut<'_, f64>) {
        self.forward(b.as_mut());
        self.backward(b);
    }

    /// `L⁻¹·B`, in place.
    pub(crate) fn forward(&self, b: MatMut<'_, f64>) {
        solve_lower(self.lower(), b, Par::Seq);
    }

    /// `L⁻ᵀ·B`, in place.
    pub(crate) fn backward(&self, b: MatMut<'_, f64>) {
        solve_upper(self.lower().transpose(), b, Par::Seq);
    }

    /// `A⁻¹·v`.
    pub(crate) fn solve_vector(&self, v: &[f64]) -> Vec<f64> {
        let mut out = v.to_vec();
        super::solve_upper_transposed(&self.upper, &mut out);
        super::solve_upper(&self.upper, &mut out);
        out
    }

    /// `A⁻¹` as a matrix, for its entries alone (standard errors); systems are solved, never multiplied by it.
    pub(crate) fn inverse(&self) -> Mat<f64> {
        let mut inverse = Mat::identity(self.upper.rows(), self.upper.rows());
        self.solve(inverse.as_mut());
        inverse
    }

    /// An estimate of `‖D·A⁻¹·D‖` with `D` the square roots of `diagonal` (A's own): how far the unit-scaled
    /// matrix is from singular. A few steps of inverse iteration from a fixed start; never above the truth.
    pub(crate) fn scaled_inverse_norm(&self, diagonal: &[f64]) -> f64 {
        let scale: Vec<f64> = diagonal.iter().map(|d| d.sqrt()).collect();
        let mut v: Vec<f64> =
            (0..scale.len()).map(|i| ((i * 7919 + 13) % 1013) as f64 / 1013.0 - 0.45).collect();
        let mut norm = 0.0;
        // Where one solve reads megabytes, two steps must do; they find the order of magnitude.
        let steps = if scale.len() > 512 { 2 } else { 4 };
        for _ in 0..steps {
            let length = super::norm(&v);
            let scaled: Vec<f64> = v.iter().zip(&scale).map(|(v, d)| v / length * d).collect();
            v = self.solve_vector(&scaled).iter().zip(&scale).map(|(v, d)| v * d).collect();
            norm = super::norm(&v);
        }
        norm
    }
}

/// A slice as a matrix of one column.
pub(crate) fn column(v: &[f64]) -> Mat<f64> {
    Mat::from_fn(v.len(), 1, |i, _| v[i])
}

/// The diagonal of a square matrix.
pub(crate) fn diagonal(a: &Mat<f64>) -> Vec<f64> {
    (0..a.nrows()).map(|i| a[(i, i)]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::multiply_transposed;
    use super::*;

    fn positive_definite(n: usize) -> Matrix {
        let a = Matrix::from_fn(n + 3, n, |i, j| ((i * 31 + j * 17) as f64 * 0.7).sin());
        let mut square = multiply_transposed(&a, &a);
        (0..n).for_each(|i| square[(i, i)] += 1.0);
        square
    }

    const SIZES: [usize; 9] = [0, 1, 2, 5, 70, 256, 257, 300, 401];

    #[test]
    fn below_the_diagonal_the_factor_is_zero() {
        let r = cholesky(&positive_definite(20)).unwrap();
        assert!((0..20).all(|i| r.row(i)[..i].iter().all(|&x| x == 0.0) && r[(i, i)] > 0.0));
        assert_eq!(cholesky(&Matrix::new(vec![1.0, 2.0, 2.0, 1.0], 2, 2).unwrap()), Err(1));
    }

    #[test]
    fn both_storages_solve_the_same_system() {
        for n in SIZES {
            let g = positive_definite(n);
            let truth: Vec<f64> = (0..n).map(|i| (i % 7) as f64 - 3.0).collect();
            let b = super::super::times(&g, &truth);
            let mut found = b.clone();
            let r = cholesky(&g).unwrap();
            super::super::solve_upper_transposed(&r, &mut found);
            super::super::solve_upper(&r, &mut found);
            let other = Cholesky::new(&Mat::from_fn(n, n, |i, j| g[(i, j)])).unwrap().solve_vector(&b);
            for ((found, other), truth) in found.iter().zip(other).zip(&truth) {
                assert!((found - truth).abs() < 1e-8 && (other - truth).abs() < 1e-8, "n = {n}");
            }
        }
    }

    #[test]
    fn the_scaled_inverse_norm_does_not_depend_on_units() {
        let unit = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 0.99 });
        let scale = [1e-6, 1e6];
        let scaled = Mat::from_fn(2, 2, |i, j| unit[(i, j)] * scale[i] * scale[j]);
        let norm = |a: Mat<f64>| {
            let d = diagonal(&a);
            Cholesky::new(&a).unwrap().scaled_inverse_norm(&d)
        };
        assert!((norm(unit) - 100.0).abs() < 1e-6);
        assert!((norm(scaled) - 100.0).abs() < 1e-6);
    }
}
