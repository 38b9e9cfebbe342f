//! The gradients of attention, in f64, one query after another.
//!
//! With `g` the gradient of the loss with respect to the output, for each query:
//!
//! ```text
//!     da[j] = (g · v[j])·r[j]               r[j] = 0 or 1/(1 − p) with dropout, 1 without
//!     δ     = Σ a[j]·da[j]
//!     ds[j] = a[j]·(da[j] − δ)              the softmax; a sink's a·v is 0, so its ds is −a_sink·δ
//!     dt[j] = ds[j]·(1 − tanh²)             the soft cap, if any
//!
//!     dv[j] += a[j]·r[j]·g                  dbias[i,j] += ds[j]       dsink += −a_sink·δ
//!     dq[i] += scale·dt[j]·k[j]             dk[j] += scale·dt[j]·q[i]
//! ```
//!
//! A hidden key takes part in none of these sums. A query without a key has no gradient.

use super::{Row, at, row};
use crate::{Problem, Sizes};
use spanwise_kernels::{Element, View};

/// Gradients with respect to each argument, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients {
    /// `(B, H, N, D)`.
    pub q: Vec<f64>,
    /// `(B, G, M, D)`.
    pub k: Vec<f64>,
    /// `(B, G, M, E)`.
    pub v: Vec<f64>,
    /// In the bias's own shape; `None` without a bias.
    pub bias: Option<Vec<f64>>,
    /// `(H,)`; `None` without sinks.
    pub sinks: Option<Vec<f64>>,
}

/// The gradients of `Σ grad·output`, where `grad` is `(B, H, N, E)`.
///
/// Weights are computed anew, in f64. Panics where the shape of `grad` is another; [`crate::backward()`] checks.
pub fn backward<T: Element>(problem: &Problem<'_, T>, grad: View<'_, T>) -> Gradients {
    let Sizes { b, h, g, n, m, d, e } = problem.sizes;
    let own = problem.bias_dims();
    let mut gradients = Gradients {
        q: vec![0.0; b * h * n * d],
        k: vec![0.0; b * g * m * d],
        v: vec![0.0; b * g * m * e],
        bias: own.map(|dims| vec![0.0; dims.iter().product()]),
        sinks: problem.sinks.map(|sinks| vec![0.0; sinks.len()]),
    };
    for b in 0..b {
        for h in 0..h {
            for i in 0..n {
                add_row(problem, grad, [b, h, i], &mut gradients);
            }
        }
    }
    gradients
}

/// What one query adds.
fn add_row<T: Element>(
    problem: &Problem<'_, T>,
    grad: View<'_, T>,
    [b, h, i]: [usize; 3],
    to: &mut Gradients,
) {
    let Sizes { h: heads, g: groups, n, m, d, e, .. } = problem.sizes;
    let Row { products, scores, weights, lse, .. } = row(problem, b, h, i);
    let group = problem.sizes.group(h);
    let dropping = problem.dropping(b, h);
    let kept = |j: usize| dropping.map_or(1.0, |dropping| dropping.factor_at(i, j));
    let seen: Vec<usize> = (0..m).filter(|&j| scores[j] != f64::NEG_INFINITY).collect();
    if seen.is_empty() {
        return;
    }
    let key_row = |j: usize| (b * groups + group) * m + j;

    // da[j] and δ.
    let dot = |j: usize| -> f64 {
        (0..e).map(|c| at(grad, [b, h, i, c]) * problem.v.at([b, group, j, c])).sum::<f64>() * kept(j)
    };
    let da: Vec<f64> = (0..m).map(|j| if seen.contains(&j) { dot(j) } else { 0.0 }).collect();
    let delta: f64 = seen.iter().map(|&j| weights[j] * da[j]).sum();
    if let (Some(dsinks), Some(sinks)) = (&mut to.sinks, problem.sinks) {
        dsinks[h] -= (sinks[h] - lse).exp() * delta;
    }
    for &j in &seen {
        let ds = weights[j] * (da[j] - delta);
        if let (Some(dbias), Some(dims)) = (&mut to.bias, problem.bias_dims()) {
            dbias[own_index(dims, [b, h, i, j])] += ds;
        }
        let dt = match problem.softcap {
            Some(c) => ds * (1.0 - (problem.scale * products[j] / c).tanh().powi(2)),
            None => ds,
        };
        for c in 0..e {
            to.v[key_row(j) * e + c] += weights[j] * kept(j) * at(grad, [b, h, i, c]);
        }
        for c in 0..d {
            to.q[((b * heads + h) * n + i) * d + c] += problem.scale * dt * problem.k.at([b, group, j, c]);
            to.k[key_row(j) * d + c] += problem.scale * dt * at(problem.q, [b, h, i, c]);
        }
    }
}

/// Where `index` lies in an array of `dims`, whose axes of length 1 repeat.
fn own_index(dims: [usize; 4], index: [usize; 4]) -> usize {
    (0..4).fold(0, |at, axis| at * dims[axis] + if dims[axis] == 1 { 0 } else { index[axis] })
}
