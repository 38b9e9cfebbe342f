use super::*;
use crate::Seeded;

const WHOLE: Request = Request { hessian: true, every: 1 };

#[test]
fn gradient_and_hessian_are_the_derivatives_of_the_loss() {
    let mut random = Seeded::new(6);
    let (n, p) = (300, 3);
    let x: Vec<f64> = (0..n * p).map(|_| random.normal()).collect();
    let weights: Vec<f64> = (0..n).map(|_| random.uniform()).collect();
    for (classes, intercept) in [(2, true), (2, false), (3, true), (5, false)] {
        let problem = Problem {
            x: View::new(&x, &[n, p]).unwrap(),
            labels: (0..n).map(|_| random.below(classes)).collect(),
            weights: Some(&weights),
            total: weights.iter().sum(),
            intercept,
            shift: vec![0.1, -0.2, 0.3],
            contrasts: contrasts(classes),
            penalty: 0.7,
        };
        let a: Vec<f64> = (0..problem.parameters()).map(|_| random.normal()).collect();
        let at = problem.evaluate(&a, WHOLE);
        let hessian = at.hessian.unwrap();
        for k in 0..a.len() {
            let step = 1e-5;
            let moved = |by: f64| {
                let mut a = a.clone();
                a[k] += by;
                problem.evaluate(&a, WHOLE)
            };
            let (up, down) = (moved(step), moved(-step));
            let slope = (up.loss - down.loss) / (2.0 * step);
            assert!((slope - at.gradient[k]).abs() < 1e-5, "{classes} classes: {slope} {}", at.gradient[k]);
            for l in 0..a.len() {
                let curvature = (up.gradient[l] - down.gradient[l]) / (2.0 * step);
                assert!((curvature - hessian[(l, k)]).abs() < 1e-5, "{classes} classes, ({l}, {k})");
            }
        }
    }
}

#[test]
fn contrasts_are_orthonormal_and_leave_out_the_common_part() {
    for classes in [3, 4, 9] {
        let c = contrasts(classes);
        for r in 0..classes - 1 {
            assert!(c.col(r).iter().sum::<f64>().abs() < 1e-15);
            for s in 0..classes - 1 {
                let product: f64 = c.col(r).iter().zip(c.col(s)).map(|(a, b)| a * b).sum();
                assert!((product - f64::from(u8::from(r == s))).abs() < 1e-15);
            }
        }
    }
}

#[test]
fn confident_rows_lose_no_digits() {
    // ln(1 + e⁻⁵⁰) is e⁻⁵⁰ to all digits; 1 − p would be 0.
    let mut scores = [0.0, 50.0];
    let (loss, others) = softmax(&mut scores, 1);
    assert_eq!(loss, (-50.0_f64).exp());
    assert_eq!(others, (-50.0_f64).exp());
    let mut scores = [0.0, 800.0, -800.0];
    let (loss, others) = softmax(&mut scores, 2);
    assert_eq!((loss, others), (1600.0, 1.0));
}

#[test]
fn the_short_form_for_two_classes_agrees_with_the_general_one() {
    for score in [-800.0, -30.0, -1.5, -1e-9, 0.0, 1e-9, 0.7, 30.0, 800.0] {
        for label in [0, 1] {
            let data = [score];
            let problem = Problem {
                x: View::new(&data, &[1, 1]).unwrap(),
                labels: vec![label],
                weights: None,
                total: 1.0,
                intercept: false,
                shift: vec![0.0],
                contrasts: contrasts(2),
                penalty: 0.0,
            };
            let found = problem.evaluate(&[1.0], WHOLE);
            let mut p = [0.0, score];
            let (loss, others) = softmax(&mut p, label);
            let residual = if label == 1 { -others } else { p[1] };
            for (found, expected) in [
                (found.plain_loss, loss),
                (found.gradient[0], residual * score),
                (found.hessian.unwrap()[(0, 0)], p[0] * p[1] * score * score),
            ] {
                assert!(
                    (found - expected).abs() <= 2e-15 * expected.abs(),
                    "{score}: {found} against {expected}"
                );
            }
            let own_side = if label == 1 { score > 0.0 } else { score < 0.0 };
            assert_eq!((found.separates, found.spread), (own_side, f64::abs(score)));
        }
    }
}
