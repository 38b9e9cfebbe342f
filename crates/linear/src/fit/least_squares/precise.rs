//! Standard errors of small tables to the last digit.
//!
//! A triangle in f64 knows the rows of its inverse to about uκ: three or four digits are gone where polynomials of degree five are
//! fitted. For a small table the inner products of the terms can be formed with twice the precision, which squares the condition
//! number at no cost that shows:
//!
//! ```text
//!  G = AᵀWA = LDLᵀ (twofold);   (G⁻¹)ⱼⱼ = Σᵢ (L⁻¹)ᵢⱼ² / Dᵢ
//! ```

use super::solver::Solver;
use spanwise_kernels::tall::{Tall, Twofold};

/// Terms at most.
const MOST_TERMS: usize = 64;
/// Products of three numbers at most.
const MOST_WORK: usize = 1 << 22;
/// A pivot below this fraction of its column has lost too much even so.
const LEAST_PIVOT: f64 = 1e-22;

/// The norms of the rows of A⁺ for the kept terms as given; `None` where the table is large or too near to dependent.
pub(super) fn row_norms(tall: &Tall<'_>, solver: &Solver) -> Option<Vec<f64>> {
    let (n, k) = (tall.rows(), solver.len());
    if k > MOST_TERMS || n.saturating_mul(k * k) > MOST_WORK {
        return None;
    }
    let mut scratch = Vec::new();
    let block = tall.x.block(0, n, &mut scratch);
    let first = usize::from(solver.intercept);
    let mut g = vec![vec![Twofold::ZERO; k]; k];
    let mut row = vec![1.0; k];
    for i in 0..n {
        for (value, &term) in row.iter_mut().zip(&solver.kept).skip(first) {
            *value = block.get(i, term - first);
        }
        let weight = tall.weights.map_or(1.0, |w| w[i]);
        for p in 0..k {
            for q in 0..=p {
                g[p][q] += Twofold::product(row[p], row[q]) * weight;
            }
        }
    }
    inverse_diagonal(g).map(|diagonal| diagonal.into_iter().map(f64::sqrt).collect())
}

/// The diagonal of G⁻¹; the lower half of G is read.
fn inverse_diagonal(mut g: Vec<Vec<Twofold>>) -> Option<Vec<f64>> {
    let k = g.len();
    for p in 0..k {
        let whole = g[p][p].high;
        for q in 0..p {
            // g[p][..q] holds L D so far.
            let done = (0..q).fold(Twofold::ZERO, |sum, l| sum + g[p][l] * g[q][l]);
            g[p][q] = g[p][q] - done;
        }
        for q in 0..p {
            let factor = g[p][q] / g[q][q];
            g[p][p] = g[p][p] - g[p][q] * factor;
            g[p][q] = factor;
        }
        let pivot = g[p][p].high;
        if !(pivot > LEAST_PIVOT * whole && pivot.is_finite()) {
            return None;
        }
    }
    let diagonal = (0..k).map(|j| {
        let mut column = vec![Twofold::ZERO; k];
        column[j] = Twofold::from(1.0);
        for i in j + 1..k {
            let sum = (j..i).fold(Twofold::ZERO, |sum, l| sum + g[i][l] * column[l]);
            column[i] = -sum;
        }
        (j..k).fold(Twofold::ZERO, |sum, i| sum + column[i] * column[i] / g[i][i]).high
    });
    let diagonal: Vec<f64> = diagonal.collect();
    // Columns of very unlike scales leave the range.
    diagonal.iter().all(|d| d.is_finite() && *d > 0.0).then_some(diagonal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_of_a_hilbert_matrix_has_whole_numbers_on_its_diagonal() {
        let one = Twofold::from(1.0);
        let hilbert =
            (0..5).map(|i| (0..5).map(|j| one / Twofold::from(f64::from(i + j + 1))).collect()).collect();
        let found = inverse_diagonal(hilbert).unwrap();
        assert_eq!(found, [25.0, 4800.0, 79_380.0, 179_200.0, 44_100.0]);
        assert!(inverse_diagonal(vec![vec![one; 3]; 3]).is_none());
    }
}
