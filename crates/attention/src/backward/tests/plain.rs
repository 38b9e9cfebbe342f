//! Gradients as anyone would write them in the type sums are formed in: what the rule compares errors with.

use crate::reference::Gradients;
use crate::{Problem, Sizes};
use spanwise_kernels::attention::Storage;
use spanwise_kernels::simd::Real;
use spanwise_kernels::{Element, View};

/// Row by row, every sum in the accumulators' type; rounded to the storage type at the end.
pub(super) fn backward<T: Storage>(problem: &Problem<'_, T>, grad: View<'_, T>) -> Gradients {
    let Sizes { b, h, g, n, m, d, e } = problem.sizes;
    let zeros = |count: usize| vec![T::Real::ZERO; count];
    let (mut dq, mut dk, mut dv) = (zeros(b * h * n * d), zeros(b * g * m * d), zeros(b * g * m * e));
    let own = problem.bias_dims();
    let mut dbias = zeros(own.map_or(0, |dims| dims.iter().product()));
    let mut dsinks = vec![0.0; problem.sinks.map_or(0, <[f64]>::len)];
    let real = <T::Real as Element>::from_f64;
    let at = |view: &View<'_, T>, index: [usize; 4]| view.get(&index).unwrap().widen_one();
    let scale = real(problem.scale);
    for row in 0..b * h * n {
        let (b, h, i) = (row / (h * n), row / n % h, row % n);
        let group = problem.sizes.group(h);
        let mut scores = vec![T::Real::NEG_INFINITY; m];
        let mut slopes = vec![T::Real::ONE; m];
        for j in 0..m {
            let mut s = T::Real::ZERO;
            for c in 0..d {
                s += at(&problem.q, [b, h, i, c]) * real(problem.k.at([b, group, j, c]));
            }
            s = s * scale;
            if let Some(cap) = problem.softcap {
                let t = real((s / real(cap)).to_f64().tanh());
                (s, slopes[j]) = (t * real(cap), T::Real::ONE - t * t);
            }
            // What comes behind the soft cap is the score of a product of 0.
            let rest = crate::reference::score(problem, [b, h, i, j], 0.0);
            scores[j] = if rest == f64::NEG_INFINITY { real(rest) } else { s + real(rest) };
        }
        let sink = problem.sinks.map_or(T::Real::NEG_INFINITY, |sinks| real(sinks[h]));
        let max = scores.iter().fold(sink, |max, &s| if s > max { s } else { max });
        if scores.iter().all(|&s| s == T::Real::NEG_INFINITY) {
            continue;
        }
        let exp = |s: T::Real| real((s - max).to_f64().exp());
        let mut sum = exp(sink);
        for &s in &scores {
            sum += exp(s);
        }
        let (mut da, mut delta) = (zeros(m), T::Real::ZERO);
        let kept: Vec<T::Real> =
            (0..m).map(|j| real(problem.dropping(b, h).map_or(1.0, |x| x.factor_at(i, j)))).collect();
        for j in 0..m {
            for c in 0..e {
                da[j] += at(&grad, [b, h, i, c]) * real(problem.v.at([b, group, j, c]));
            }
            da[j] = da[j] * kept[j];
            delta += exp(scores[j]) / sum * da[j];
        }
        if let Some(dsink) = dsinks.get_mut(h) {
            *dsink -= (exp(sink) / sum * delta).to_f64();
        }
        for j in 0..m {
            let weight = exp(scores[j]) / sum;
            let ds = weight * (da[j] - delta);
            if let Some(dims) = own {
                let index = [b, h, i, j];
                let to = (0..4).fold(0, |to, a| to * dims[a] + if dims[a] == 1 { 0 } else { index[a] });
                dbias[to] += ds;
            }
            let key = (b * g + group) * m + j;
            for c in 0..e {
                dv[key * e + c] += weight * kept[j] * at(&grad, [b, h, i, c]);
            }
            let dt = ds * slopes[j] * scale;
            for c in 0..d {
                dq[row * d + c] += dt * real(problem.k.at([b, group, j, c]));
                dk[key * d + c] += dt * at(&problem.q, [b, h, i, c]);
            }
        }
    }
    let rounded = |numbers: Vec<T::Real>| -> Vec<f64> {
        numbers.into_iter().map(|x| T::from_f64(x.to_f64()).to_f64()).collect()
    };
    Gradients {
        q: rounded(dq),
        k: rounded(dk),
        v: rounded(dv),
        bias: own.map(|_| rounded(dbias)),
        sinks: problem.sinks.map(|_| dsinks),
    }
}
