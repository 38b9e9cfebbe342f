//! Attention as anyone would write it in the type sums are formed in: what the rule compares errors with.

use crate::{Problem, Sizes};
use spanwise_kernels::attention::Storage;
use spanwise_kernels::simd::Real;
use spanwise_kernels::{Element, View};

/// `(B, H, N, E)`.
pub(super) fn attend<T: Storage>(problem: &Problem<'_, T>) -> Vec<T> {
    let Sizes { b, h, n, .. } = problem.sizes;
    let mut values = Vec::new();
    for b in 0..b {
        for h in 0..h {
            for i in 0..n {
                values.extend(row(problem, [b, h, i]).into_iter().map(|x| T::from_f64(x.to_f64())));
            }
        }
    }
    values
}

fn row<T: Storage>(problem: &Problem<'_, T>, [b, h, i]: [usize; 3]) -> Vec<T::Real> {
    let Sizes { m, d, e, .. } = problem.sizes;
    let group = problem.sizes.group(h);
    let real = <T::Real as Element>::from_f64;
    let at = |view: &View<'_, T>, index: [usize; 4]| view.get(&index).unwrap().widen_one();
    let score = |j: usize| {
        if !problem.visibility.keeps(b, h, i, j) {
            return T::Real::NEG_INFINITY;
        }
        let mut s = T::Real::ZERO;
        for c in 0..d {
            s += at(&problem.q, [b, h, i, c]) * real(problem.k.at([b, group, j, c]));
        }
        s = s * real(problem.scale);
        if let Some(cap) = problem.softcap {
            s = real((s / real(cap)).to_f64().tanh()) * real(cap);
        }
        if let Some(bias) = &problem.bias {
            s += at(bias, [b, h, i, j]);
        }
        if let Some((slopes, offset)) = problem.alibi {
            let distance = (i as i64 + offset - j as i64).unsigned_abs() as f64;
            s = s - real(slopes[h]) * real(distance);
        }
        s
    };
    let scores: Vec<T::Real> = (0..m).map(score).collect();
    let sink = problem.sinks.map_or(T::Real::NEG_INFINITY, |sinks| real(sinks[h]));
    let mut out = vec![T::Real::ZERO; e];
    if scores.iter().all(|&s| s == T::Real::NEG_INFINITY) {
        return out;
    }
    let max = scores.iter().fold(sink, |max, &s| if s > max { s } else { max });
    let exp = |s: T::Real| real((s - max).to_f64().exp());
    let mut sum = T::Real::ZERO;
    for &s in &scores {
        sum += exp(s);
    }
    sum += exp(sink);
    for (j, &s) in scores.iter().enumerate() {
        if s == T::Real::NEG_INFINITY {
            continue;
        }
        let kept = problem.dropping(b, h).map_or(1.0, |dropping| dropping.factor_at(i, j));
        let weight = exp(s) / sum * real(kept);
        for (c, o) in out.iter_mut().enumerate() {
            *o += weight * real(problem.v.at([b, group, j, c]));
        }
    }
    out
}
