//! Numbers at the edge of the format, in every fit: an answer or an error, never a panic and never an endless loop.

use super::*;
use crate::Seeded;
use spanwise_kernels::View;

const EDGES: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    5e-324,
    f64::MIN_POSITIVE,
    1e-160,
    1e-20,
    1e20,
    1e100,
    -1e153,
    1e155,
    f64::MAX,
    f64::MIN,
];

#[test]
fn no_finite_input_makes_a_fit_panic() {
    let mut random = Seeded::new(99);
    for round in 0..400 {
        let (n, p) = (1 + random.below(7), 1 + random.below(4));
        // A few edges among small integers, or nothing but edges.
        let rare = 1 + 5 * (round % 2);
        let mut number = || {
            if random.below(rare) == 0 {
                EDGES[random.below(EDGES.len())]
            } else {
                random.below(7) as f64 - 3.0
            }
        };
        let x: Vec<f64> = (0..n * p).map(|_| number()).collect();
        let y: Vec<f64> = (0..n).map(|_| number()).collect();
        let weights: Vec<f64> = (0..n).map(|_| number().abs()).collect();
        let alpha = number().abs();
        let labels: Vec<usize> = (0..n).map(|i| (i + round) % 3).collect();
        let x = View::new(&x, &[n, p]).unwrap();

        for intercept in [true, false] {
            let ridge = Ridge { alpha, intercept };
            if let Ok(fit) = ridge.fit(x, &y) {
                let _ = fit.predict(x);
            }
            let _ = ridge.fit_weighted(x, &y, &weights);
            let path = RidgePath { alphas: vec![alpha, 0.0, 1.0], intercept };
            let _ = path.fit(x, &y);
            let _ = path.choose_leave_one_out_weighted(x, &y, &weights);
            let _ = path.choose_folds(x, &y, Some(&weights), 2, 1);
            let _ = NonNegative { intercept }.fit_weighted(x, &y, &weights);
            for penalty in [0.0, alpha] {
                let logistic = Logistic { penalty, intercept, iterations: 20, ..Logistic::default() };
                let _ = logistic.fit_weighted(x, &labels, &weights);
                if let Ok(fit) = logistic.fit(x, &labels) {
                    let _ = (fit.predict(x), fit.p_values());
                }
                let _ = Logistic { optimiser: Optimiser::Lbfgs, ..logistic }.fit(x, &labels);
            }
        }
        let _ = Simplex.fit(x, &y);
        let _ = Polynomial::new(3).of_columns(p).unwrap().transform(x);
        for kernel in
            [Kernel::Rbf { gamma: None }, Kernel::Polynomial { degree: 3, gamma: None, constant: 1.0 }]
        {
            for landmarks in [Landmarks::All, Landmarks::Count(1)] {
                let model = KernelRidge { kernel, alpha, landmarks, ..KernelRidge::default() };
                if let Ok(fit) = model.fit(x, &y) {
                    let _ = fit.predict(x);
                }
            }
        }
    }
}

#[test]
fn tails_of_every_distribution_are_probabilities_at_every_edge() {
    for nu in [1e-3, 0.5, 1.0, 30.0, 1e6, 1e12] {
        for x in EDGES.into_iter().chain([f64::INFINITY, f64::NEG_INFINITY]) {
            let student = StudentT::new(nu).unwrap();
            let chi = ChiSquared::new(nu).unwrap();
            let fisher = FisherF::new(nu, 3.0).unwrap();
            let both = [student.lower(x), student.upper(x), chi.lower(x), chi.upper(x), fisher.lower(x)];
            for tail in both.into_iter().chain([fisher.upper(x), Normal.upper(x), Normal.lower(x)]) {
                assert!((-1e-9..=1.0 + 1e-9).contains(&tail), "{tail} for {nu:e} degrees at {x:e}");
            }
        }
    }
}
