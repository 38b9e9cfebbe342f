//! Vectors: products and norms that neither overflow nor underflow on the way.

/// `Σ aᵢbᵢ`, in eight independent partial sums so that the compiler can use vector registers.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut partial = [0.0; 8];
    let (a_eights, a_rest) = a.as_chunks::<8>();
    let (b_eights, b_rest) = b.as_chunks::<8>();
    for (x, y) in a_eights.iter().zip(b_eights) {
        for lane in 0..8 {
            partial[lane] += x[lane] * y[lane];
        }
    }
    let tail: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    partial.iter().sum::<f64>() + tail
}

/// `y ← y + a·x`.
pub(crate) fn axpy(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// `a·x`.
pub(crate) fn scaled(x: &[f64], a: f64) -> Vec<f64> {
    x.iter().map(|x| a * x).collect()
}

/// The largest magnitude.
pub(crate) fn norm_inf(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |big, x| big.max(x.abs()))
}

/// The Euclidean norm.
pub(crate) fn norm(x: &[f64]) -> f64 {
    let squares = dot(x, x);
    // Inside this range neither the squares that matter nor their sum have left the normal numbers.
    if (1e-280..1e280).contains(&squares) {
        return squares.sqrt();
    }
    let big = norm_inf(x);
    if big == 0.0 || !big.is_finite() {
        return big;
    }
    let unit = power_of_two_near(big);
    let small = scaled(x, 1.0 / unit);
    dot(&small, &small).sqrt() * unit
}

/// The power of two just below `x`, kept where both it and its reciprocal are normal; 1 for 0.
pub(crate) fn power_of_two_near(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 1.0;
    }
    2.0_f64.powi((x.abs().log2().floor() as i32).clamp(-1020, 1020))
}

/// A power of two to divide `x` by so that no square of its entries overflows or underflows: 1 for all but extreme
/// numbers.
pub(crate) fn extreme_unit(x: &[f64]) -> f64 {
    let unit = power_of_two_near(norm_inf(x));
    if (1e-100..1e100).contains(&unit) { 1.0 } else { unit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_norm_survives_extreme_scales() {
        assert_eq!(norm(&[3.0, 4.0]), 5.0);
        assert!((norm(&[3e200, 4e200]) / 5e200 - 1.0).abs() < 1e-15);
        assert!((norm(&[3e-200, 4e-200]) / 5e-200 - 1.0).abs() < 1e-15);
        assert_eq!(norm(&[]), 0.0);
        assert_eq!(norm(&[0.0, -0.0]), 0.0);
    }

    #[test]
    fn dots_of_any_length_agree_with_the_plain_sum() {
        for n in 0..20 {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let plain: f64 = a.iter().map(|x| x * x).sum();
            assert_eq!(dot(&a, &a), plain);
        }
    }
}
