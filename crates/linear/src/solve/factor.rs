//! Any of the factors: the one that was asked for, or the one that suits the matrix.

use super::{CholeskyFactor, LuFactor, QrFactor, Solution, SvdFactor};
use crate::LinearError;
use spanwise_kernels::{Element, View};

/// How to factor a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// By the matrix: Cholesky where it is symmetric and positive definite, otherwise LU where it is square, QR where it is tall. Where it
    /// is wide, and where those find its columns dependent, singular values, cut off at this tolerance as in [`Way::Svd`].
    Auto {
        /// As of [`Way::Svd`].
        tolerance: Option<f64>,
    },
    /// For square matrices.
    Lu,
    /// For symmetric positive definite matrices.
    Cholesky {
        /// The largest share of the diagonal that may be added to it.
        max_jitter: f64,
    },
    /// Least squares of full rank.
    Qr,
    /// Least squares of minimum norm.
    Svd {
        /// Singular values up to so many times the largest count as zero; a rounding per column where `None`.
        tolerance: Option<f64>,
    },
}

/// A matrix factored once, to solve with many right-hand sides.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::solve::{Factor, Method, Way};
///
/// let a = View::new(&[4.0, 2.0, 2.0, 3.0], &[2, 2])?;
/// let factor = Factor::new(a, Way::Auto { tolerance: None })?;
/// let answer = factor.solve(View::new(&[8.0, 8.0], &[2])?)?;
/// assert_eq!((answer.x, answer.method), (vec![1.0, 2.0], Method::Cholesky));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Factor {
    /// Of a square matrix.
    Lu(LuFactor),
    /// Of a symmetric positive definite one.
    Cholesky(CholeskyFactor),
    /// Of a tall one.
    Qr(QrFactor),
    /// Of any.
    Svd(SvdFactor),
}

impl Factor {
    /// Factors `a` (n × p).
    pub fn new<T: Element>(a: View<'_, T>, way: Way) -> Result<Self, LinearError> {
        match way {
            Way::Auto { tolerance } => Self::suited(a, tolerance),
            Way::Lu => LuFactor::new(a).map(Factor::Lu),
            Way::Cholesky { max_jitter } => CholeskyFactor::new(a, max_jitter).map(Factor::Cholesky),
            Way::Qr => QrFactor::new(a).map(Factor::Qr),
            Way::Svd { tolerance } => SvdFactor::new(a, tolerance).map(Factor::Svd),
        }
    }

    fn suited<T: Element>(a: View<'_, T>, tolerance: Option<f64>) -> Result<Self, LinearError> {
        let found = match *a.dims() {
            [n, p] if n < p => return Self::new(a, Way::Svd { tolerance }),
            [n, p] if n > p => Self::new(a, Way::Qr),
            _ => Self::new(a, Way::Cholesky { max_jitter: 0.0 }).or_else(|error| match error {
                LinearError::NotSymmetric { .. } | LinearError::NotPositiveDefinite { .. } => {
                    Self::new(a, Way::Lu)
                }
                error => Err(error),
            }),
        };
        found.or_else(|error| SvdFactor::after(error, a, tolerance).map(Factor::Svd))
    }

    /// Solves `A x = b` for `b` (n).
    pub fn solve<T: Element>(&self, b: View<'_, T>) -> Result<Solution, LinearError> {
        match self {
            Factor::Lu(factor) => factor.solve(b),
            Factor::Cholesky(factor) => factor.solve(b),
            Factor::Qr(factor) => factor.solve(b),
            Factor::Svd(factor) => factor.solve(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::Method;

    #[test]
    fn the_factor_that_suits_a_matrix_answers_as_that_factor_does() {
        let definite = [4.0, 2.0, 2.0, 3.0];
        let (lopsided, indefinite, alike) =
            ([4.0, 2.0, 1.0, 3.0], [1.0, 2.0, 2.0, 1.0], [1.0, 2.0, 2.0, 4.0]);
        let (tall, thin) = ([1.0, 0.0, 1.0, 1.0, 1.0, 2.0], [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
        let svd = Way::Svd { tolerance: None };
        for (numbers, dims, way, method) in [
            (&definite[..], [2, 2], Way::Cholesky { max_jitter: 0.0 }, Method::Cholesky),
            (&lopsided, [2, 2], Way::Lu, Method::Lu),
            (&indefinite, [2, 2], Way::Lu, Method::Lu),
            (&alike, [2, 2], svd, Method::Svd),
            (&tall, [3, 2], Way::Qr, Method::Qr),
            (&thin, [3, 2], svd, Method::Svd),
            (&tall, [2, 3], svd, Method::Svd),
        ] {
            let a = View::new(numbers, &dims).unwrap();
            let b = View::new(&[1.0, -2.0, 0.5][..dims[0]], &[dims[0]]).unwrap();
            let by = |way| Factor::new(a, way).and_then(|factor| factor.solve(b)).unwrap();
            let found = by(Way::Auto { tolerance: None });
            assert_eq!(found.method, method, "{numbers:?}");
            assert_eq!(found, by(way), "{numbers:?}");
        }
    }
}
