//! Sums in twice the working precision, for residuals that must not cancel.
//!
//! Each product and each sum is split without error into a rounded value and what the rounding lost; the losses are
//! added up on the side. The result is as good as if computed in some 106 bits and rounded once.

/// `start + Σ aᵢbᵢ`, as if in twice the precision.
pub(crate) fn dot(start: f64, a: impl IntoIterator<Item = f64>, b: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (start, 0.0);
    for (x, y) in a.into_iter().zip(b) {
        let product = x * y;
        let product_lost = x.mul_add(y, -product);
        let next = sum + product;
        let kept = next - sum;
        let sum_lost = (sum - (next - kept)) + (product - kept);
        sum = next;
        lost += product_lost + sum_lost;
    }
    sum + lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancellation_loses_nothing() {
        let (a, b) = ([1e16, 1.0, -1e16], [1.0, 1.0, 1.0]);
        assert_eq!(dot(0.0, a, b), 1.0);
        // (1 + ε)² − 1 − 2ε = ε², which a plain sum rounds away.
        let x = 1.0 + f64::EPSILON;
        assert_eq!(dot(-1.0, [x, -2.0], [x, f64::EPSILON]), f64::EPSILON * f64::EPSILON);
    }
}
