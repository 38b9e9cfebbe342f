//! The condition number of a factored matrix, estimated without its inverse.
//!
//! Hager's method, as refined by Higham: climb from vertex to vertex of the unit ball of the 1-norm along the gradient
//! of `‖A⁻¹x‖₁`. Each step costs one solve with A and one with Aᵀ; the result is a lower bound, rarely off by more
//! than 3.

use crate::LinearError;
use crate::check::Argument;
use crate::dense::{UNIT_ROUNDOFF, norm_inf};
use crate::measure::{rank_of_factor, rank_tolerance};
use spanwise_kernels::Matrix;

/// An estimate of `‖A⁻¹‖₁` for an `n` × `n` matrix known by its solves.
pub(super) fn inverse_norm(
    n: usize,
    solve: impl Fn(&mut [f64]),
    solve_transposed: impl Fn(&mut [f64]),
) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let one_norm = |x: &[f64]| x.iter().map(|x| x.abs()).sum::<f64>();
    let mut x = vec![1.0 / n as f64; n];
    let mut best = 0.0_f64;
    for _ in 0..5 {
        let mut y = x.clone();
        solve(&mut y);
        let size = one_norm(&y);
        if size.is_nan() {
            return f64::INFINITY;
        }
        if size <= best {
            break;
        }
        best = size;
        let mut z: Vec<f64> = y.iter().map(|y| 1.0_f64.copysign(*y)).collect();
        solve_transposed(&mut z);
        let largest = (0..n).fold(0, |at, i| if z[i].abs() > z[at].abs() { i } else { at });
        let here: f64 = z.iter().zip(&x).map(|(z, x)| z * x).sum();
        if norm_inf(&z) <= here {
            break;
        }
        x = vec![0.0; n];
        x[largest] = 1.0;
    }
    // An alternating, growing vector catches what the climb can miss.
    let mut probe: Vec<f64> = (0..n)
        .map(|i| (1.0 + i as f64 / (n.max(2) - 1) as f64) * if i % 2 == 0 { 1.0 } else { -1.0 })
        .collect();
    solve(&mut probe);
    let probed = 2.0 * one_norm(&probe) / (3.0 * n as f64);
    if probed.is_nan() { f64::INFINITY } else { best.max(probed) }
}

/// The numerical rank of `a` (scaled by the caller) where it is below the number of columns; `None` where it is full.
///
/// A dependent column leaves rounding on the diagonal of a triangular factor, not zero, so a finite condition number
/// proves nothing. Singular values are computed only where the estimate comes near the tolerance.
pub(super) fn deficient_rank(
    name: Argument,
    a: &Matrix,
    condition: f64,
) -> Result<Option<usize>, LinearError> {
    let p = a.cols();
    if p == 0 || condition * rank_tolerance(p) * (p as f64) < 0.1 {
        return Ok(None);
    }
    let rank = rank_of_factor(name, a)?;
    if rank < p {
        return Ok(Some(rank));
    }
    // Full by the tolerance, yet of no use: a pivot was zero or the estimate overflowed.
    Ok((condition.is_nan() || condition * UNIT_ROUNDOFF >= 1.0).then_some(p - 1))
}

/// The largest sum of magnitudes of a column.
pub(super) fn one_norm(a: &Matrix) -> f64 {
    let mut sums = vec![0.0; a.cols()];
    for i in 0..a.rows() {
        sums.iter_mut().zip(a.row(i)).for_each(|(sum, x)| *sum += x.abs());
    }
    norm_inf(&sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagonal_matrix_is_estimated_exactly() {
        let diagonal = [4.0, 0.5, 2.0];
        let solve = |x: &mut [f64]| x.iter_mut().zip(&diagonal).for_each(|(x, d)| *x /= d);
        assert_eq!(inverse_norm(3, solve, solve), 2.0);
        assert_eq!(inverse_norm(0, solve, solve), 0.0);
        assert_eq!(inverse_norm(1, |x| x[0] /= 0.0, |x| x[0] /= 0.0), f64::INFINITY);
    }
}
