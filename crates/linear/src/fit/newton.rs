//! Minimising the loss of `softmax`: Newton's method where the Hessian is affordable, L-BFGS where it is not.
//!
//! ```text
//! Newton    many rows: first a few steps on every 64th tile, then on every 16th and 4th, each until a step is sure to end within
//!           the sampling error of its answer; from there two or three full passes finish
//!           step = −H⁻¹g by Cholesky; the pass that tests the new point is also the next iteration's pass
//!           halve the step until the loss falls by 1e-4 of what the slope promises
//!           done when the decrement √(gᵀH⁻¹g/Σω) ≤ tolerance, or must be after this step: the same whatever the units
//! L-BFGS    twelve pairs, scaled by the features' sizes; bisection for the weak Wolfe conditions
//!           done when the gradient per unit weight and feature size ≤ tolerance
//! ```
//!
//! Without a penalty a separable problem has no minimiser: scores grow without bound. The search stops once some score
//! difference passes [`SUSPICIOUS`] and the loss hardly falls, and `separation` decides what that means.

use super::factor::{Cholesky, cholesky_with_jitter};
use super::passes;
use super::softmax::{Evaluation, Problem, Request};
use spanwise_kernels::Element;

/// A score difference (probability below 1e-13) that makes separation worth testing.
pub(crate) const SUSPICIOUS: f64 = 30.0;

/// From this many rows on a part of them gives the starting point.
const WARM_ROWS: usize = 40_000;

/// Which part of the tiles each stage of that reads: every so many.
const STAGES: [usize; 3] = [64, 16, 4];

/// A step from below this decrement ends far closer than what a part of the rows knows of the answer: no pass confirms it there.
const SURE_BELOW: f64 = 0.1;

/// Multiplications of a pass that is not worth saving: then the last point is evaluated too.
const CHEAP_PASS: usize = 20_000_000;

/// Below this decrement Newton's steps square the error: the next decrement is about `λ³/λ′²`, λ′ being the one before λ. On large
/// problems a pass that would only confirm that is saved, and the promised decrement is what is reported.
const QUADRATIC_BELOW: f64 = 0.05;

/// Pairs of steps and gradient changes that L-BFGS keeps.
const MEMORY: usize = 12;

/// When to stop.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) tolerance: f64,
    pub(crate) iterations: usize,
    /// Without a penalty, the score difference beyond which the search stops.
    pub(crate) suspicious: f64,
}

/// Where the search ended.
pub(crate) struct Minimum {
    pub(crate) a: Vec<f64>,
    pub(crate) at: Evaluation,
    /// Factor of the Hessian at `a`, and the jitter it needed.
    pub(crate) factor: Option<(Cholesky, f64)>,
    /// Iterations over all rows.
    pub(crate) iterations: usize,
    /// The measure compared with the tolerance.
    pub(crate) measure: f64,
    pub(crate) converged: bool,
}

const ALL: Request = Request { hessian: true, every: 1 };

pub(crate) fn newton<T: Element>(problem: &Problem<'_, T>, limits: Limits) -> Minimum {
    let zero = vec![0.0; problem.parameters()];
    if problem.labels.len() >= WARM_ROWS {
        let mut start = zero.clone();
        for every in STAGES {
            let loose = Limits { tolerance: SURE_BELOW, iterations: 12, suspicious: SUSPICIOUS };
            let warm = descend(problem, start.clone(), loose, Request { every, ..ALL });
            // A part without some class, or with an accident in it, may lead astray: then the start is what it was.
            let astray = problem.penalty == 0.0 && warm.at.spread >= SUSPICIOUS;
            if !astray && warm.at.loss.is_finite() {
                start = warm.a;
            }
        }
        let there = descend(problem, start, limits, ALL);
        let nothing = problem.total * (problem.classes() as f64).ln();
        if there.converged || there.at.loss < nothing {
            return there;
        }
    }
    descend(problem, zero, limits, ALL)
}

/// Goes on from where another search stopped.
pub(crate) fn newton_from<T: Element>(problem: &Problem<'_, T>, from: Vec<f64>, limits: Limits) -> Minimum {
    descend(problem, from, limits, ALL)
}

fn descend<T: Element>(
    problem: &Problem<'_, T>,
    start: Vec<f64>,
    limits: Limits,
    request: Request,
) -> Minimum {
    let mut a = start;
    let mut at = problem.evaluate(&a, request);
    let mut outcome = (None, f64::INFINITY, false);
    let mut iterations = 0;
    // The decrement of the iteration before; none is promised after the first.
    let mut before = 0.0_f64;
    let large = problem.labels.len() * problem.width().pow(2) >= CHEAP_PASS;
    while let Some((factor, jitter)) = at.hessian.as_ref().and_then(cholesky_with_jitter) {
        let step: Vec<f64> = factor.solve_vector(&at.gradient).iter().map(|s| -s).collect();
        let slope = passes::dot(&at.gradient, &step);
        let mut decrement = (-slope / problem.total * request.every as f64).max(0.0).sqrt();
        let promised = decrement.powi(3) / before.powi(2);
        before = decrement;
        if large && decrement < QUADRATIC_BELOW && promised <= 0.5 * limits.tolerance {
            decrement = promised;
        }
        let done = decrement <= limits.tolerance;
        outcome = (Some((factor, jitter)), decrement, done);
        let runaway = problem.penalty == 0.0 && at.spread > limits.suspicious;
        if done {
            // This last step is paid for; what is reported of the point before it bounds what holds after it.
            a.iter_mut().zip(&step).for_each(|(a, s)| *a += s);
            if request.every == 1 && !large {
                let there = problem.evaluate(&a, request);
                outcome.0 = there.hessian.as_ref().and_then(cholesky_with_jitter);
                at = there;
            }
        }
        if done || iterations >= limits.iterations || runaway {
            break;
        }
        iterations += 1;
        let Some((next, there)) = search_back(problem, &a, &at, (&step, slope), request) else { break };
        (a, at) = (next, there);
    }
    let (factor, measure, converged) = outcome;
    Minimum { a, at, factor, iterations, measure, converged }
}

/// The first point on the way back from a full step whose loss has fallen enough. `None` where rounding hides any fall.
fn search_back<T: Element>(
    problem: &Problem<'_, T>,
    a: &[f64],
    at: &Evaluation,
    (step, slope): (&[f64], f64),
    request: Request,
) -> Option<(Vec<f64>, Evaluation)> {
    let mut length = 1.0;
    // Differences of the loss below this are rounding.
    let noise = 1e-14 * at.loss.abs();
    for _ in 0..40 {
        let next: Vec<f64> = a.iter().zip(step).map(|(a, s)| a + length * s).collect();
        let there = problem.evaluate(&next, request);
        if there.loss <= at.loss + 1e-4 * length * slope + noise {
            return Some((next, there));
        }
        length /= 2.0;
    }
    None
}

/// Sizes of the features (width), from at most 512 rows taken evenly; 1 where a feature is 0 in all of them.
pub(crate) fn sizes<T: Element>(problem: &Problem<'_, T>) -> Vec<f64> {
    let (n, width) = (problem.labels.len(), problem.width());
    let sampled = n.min(512);
    let mut squares = vec![0.0; width];
    let mut row = vec![0.0; width];
    for s in 0..sampled {
        let i = s * n / sampled;
        problem.row(i, &mut row);
        squares.iter_mut().zip(&row).for_each(|(sum, v)| *sum += v * v / sampled as f64);
    }
    squares.iter().map(|&s| if s > 0.0 { s.sqrt() } else { 1.0 }).collect()
}

pub(crate) fn lbfgs<T: Element>(problem: &Problem<'_, T>, limits: Limits) -> Minimum {
    let request = Request { hessian: false, every: 1 };
    let sizes = sizes(problem);
    let width = problem.width();
    let size = |at: usize| sizes[at % width];
    let measure = |e: &Evaluation| {
        let scaled = e.gradient.iter().enumerate().map(|(at, g)| (g / size(at)).abs());
        scaled.fold(0.0, f64::max) / problem.total
    };
    let mut a = vec![0.0; problem.parameters()];
    let mut at = problem.evaluate(&a, request);
    let mut memory: Vec<(Vec<f64>, Vec<f64>, f64)> = Vec::new();
    let mut iterations = 0;
    while iterations < limits.iterations && measure(&at) > limits.tolerance {
        if problem.penalty == 0.0 && at.spread > limits.suspicious {
            break;
        }
        iterations += 1;
        let first = |at: usize, g: f64| g / (size(at).powi(2) * problem.total * 0.25);
        let direction = two_loops(&memory, &at.gradient, &first);
        let slope = passes::dot(&direction, &at.gradient);
        let Some((next, there)) = wolfe(problem, &a, &at, (&direction, slope), request) else { break };
        let step: Vec<f64> = next.iter().zip(&a).map(|(n, a)| n - a).collect();
        let change: Vec<f64> = there.gradient.iter().zip(&at.gradient).map(|(n, g)| n - g).collect();
        let curvature = passes::dot(&step, &change);
        if curvature > 0.0 {
            if memory.len() == MEMORY {
                memory.remove(0);
            }
            memory.push((step, change, 1.0 / curvature));
        }
        (a, at) = (next, there);
    }
    let measure = measure(&at);
    Minimum { a, at, factor: None, iterations, measure, converged: measure <= limits.tolerance }
}

/// The L-BFGS direction: two loops over the kept pairs, with `first` as the initial inverse Hessian.
fn two_loops(
    memory: &[(Vec<f64>, Vec<f64>, f64)],
    gradient: &[f64],
    first: &impl Fn(usize, f64) -> f64,
) -> Vec<f64> {
    let mut q = gradient.to_vec();
    let mut alphas = Vec::with_capacity(memory.len());
    for (step, change, inverse) in memory.iter().rev() {
        let alpha = inverse * passes::dot(step, &q);
        q.iter_mut().zip(change).for_each(|(q, c)| *q -= alpha * c);
        alphas.push(alpha);
    }
    let mut r: Vec<f64> = q.iter().enumerate().map(|(at, &g)| first(at, g)).collect();
    if let Some((_, change, inverse)) = memory.last() {
        // The last pair sets the overall length.
        let through: f64 = change.iter().enumerate().map(|(at, &c)| c * first(at, c)).sum();
        let scale = 1.0 / (inverse * through);
        for r in &mut r {
            *r *= scale;
        }
    }
    for ((step, change, inverse), alpha) in memory.iter().zip(alphas.iter().rev()) {
        let beta = inverse * passes::dot(change, &r);
        r.iter_mut().zip(step).for_each(|(r, s)| *r += (alpha - beta) * s);
    }
    r.iter().map(|r| -r).collect()
}

/// A step length that satisfies the weak Wolfe conditions, by doubling and bisection.
fn wolfe<T: Element>(
    problem: &Problem<'_, T>,
    a: &[f64],
    at: &Evaluation,
    (direction, slope): (&[f64], f64),
    request: Request,
) -> Option<(Vec<f64>, Evaluation)> {
    let (mut low, mut high, mut length) = (0.0, f64::INFINITY, 1.0);
    let noise = 1e-14 * at.loss.abs();
    let mut best = None;
    for _ in 0..40 {
        let next: Vec<f64> = a.iter().zip(direction).map(|(a, d)| a + length * d).collect();
        let there = problem.evaluate(&next, request);
        if there.loss > at.loss + 1e-4 * length * slope + noise || !there.loss.is_finite() {
            high = length;
        } else {
            let steep = passes::dot(direction, &there.gradient) < 0.9 * slope;
            best = Some((next, there));
            if !steep {
                break;
            }
            low = length;
        }
        length = if high.is_finite() { f64::midpoint(low, high) } else { 2.0 * low };
    }
    best
}
