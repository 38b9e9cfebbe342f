//! Attention as the text writes it, in f64, one query after another: the oracle for everything faster.
//!
//! ```text
//! for each batch entry b, head h, query i:                 g = the key/value head of h
//!     t[j] = q[b,h,i,:] · k[b,g,j,:]                       products  (M,)
//!     s[j] = scale·t[j]; soft cap; + bias; −inf if hidden  scores    (M,)
//!     a[j] = exp(s[j] − max) / (Σ exp(s − max) + sink)     weights   (M,)
//!     o[:] = Σ a[j]·v[b,g,j,:]                             output    (E,); with dropout a[j] is 0 or a[j]/(1 − p)
//! ```
//!
//! A hidden key (masked, or with a score of −inf) takes no part at all, so that a NaN behind a mask stays there. A
//! query with no key left gives zeros and a log-sum-exp of −inf.

use crate::{Problem, Sizes};
use spanwise_kernels::Element;

mod backward;

pub use backward::{Gradients, backward};

/// Outputs of a problem, without the weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// `(B, H, N, E)`.
    pub values: Vec<f64>,
    /// `(B, H, N)`: the logarithm of each row's softmax denominator, sink included.
    pub lse: Vec<f64>,
    /// How many rows had no key left.
    pub empty_rows: usize,
}

/// Every step of a problem, kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// `q·k`, `(B, H, N, M)`.
    pub products: Vec<f64>,
    /// What the softmax sees, `(B, H, N, M)`; −inf where the key is hidden.
    pub scores: Vec<f64>,
    /// `(B, H, N, M)`; rows sum to 1, or to less with a sink, or to 0 without a key.
    pub weights: Vec<f64>,
    /// What comes out.
    pub answer: Answer,
}

/// The outputs of `problem`, in memory that does not grow with `N·M`.
pub fn attend<T: Element>(problem: &Problem<'_, T>) -> Answer {
    let mut answer = Answer { values: Vec::new(), lse: Vec::new(), empty_rows: 0 };
    each_row(problem, |row| answer.push(&row));
    answer
}

/// The outputs of `problem` with all that leads to them.
pub fn steps<T: Element>(problem: &Problem<'_, T>) -> Steps {
    let answer = Answer { values: Vec::new(), lse: Vec::new(), empty_rows: 0 };
    let mut steps = Steps { products: Vec::new(), scores: Vec::new(), weights: Vec::new(), answer };
    each_row(problem, |row| {
        steps.answer.push(&row);
        steps.products.extend(row.products);
        steps.scores.extend(row.scores);
        steps.weights.extend(row.weights);
    });
    steps
}

/// One query's way through attention.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `q·k`, `(M,)`.
    pub products: Vec<f64>,
    /// What the softmax sees, `(M,)`.
    pub scores: Vec<f64>,
    /// `(M,)`.
    pub weights: Vec<f64>,
    /// `(E,)`.
    pub output: Vec<f64>,
    /// The logarithm of the softmax's denominator, sink included; −inf without a key.
    pub lse: f64,
}

impl Answer {
    fn push(&mut self, row: &Row) {
        self.values.extend(&row.output);
        self.lse.push(row.lse);
        self.empty_rows += usize::from(row.lse == f64::NEG_INFINITY);
    }
}

/// Hands over one query after another, in the order `(B, H, N)`; nothing is kept in between.
pub fn each_row<T: Element>(problem: &Problem<'_, T>, mut consume: impl FnMut(Row)) {
    let Sizes { b, h, n, .. } = problem.sizes;
    for b in 0..b {
        for h in 0..h {
            for i in 0..n {
                consume(row(problem, b, h, i));
            }
        }
    }
}

fn row<T: Element>(problem: &Problem<'_, T>, b: usize, h: usize, i: usize) -> Row {
    let products = products(problem, b, h, i);
    let scores: Vec<f64> =
        products.iter().enumerate().map(|(j, &t)| score(problem, [b, h, i, j], t)).collect();
    let (weights, lse) = softmax(&scores, problem.sinks.map(|sinks| sinks[h]));

    // o = Σ a[j]·v[j]; a hidden key's value is not even looked at.
    let mut output = vec![0.0; problem.sizes.e];
    let group = problem.sizes.group(h);
    let dropping = problem.dropping(b, h);
    for (j, &weight) in weights.iter().enumerate() {
        if scores[j] > f64::NEG_INFINITY || scores[j].is_nan() {
            let weight = weight * dropping.map_or(1.0, |dropping| dropping.factor_at(i, j));
            for (c, o) in output.iter_mut().enumerate() {
                *o += weight * problem.v.at([b, group, j, c]);
            }
        }
    }
    Row { products, scores, weights, output, lse }
}

/// `t[j] = q·k[j]`, `(M,)`.
fn products<T: Element>(problem: &Problem<'_, T>, b: usize, h: usize, i: usize) -> Vec<f64> {
    let Sizes { m, d, .. } = problem.sizes;
    let group = problem.sizes.group(h);
    let dot = |j| (0..d).map(|c| at(problem.q, [b, h, i, c]) * problem.k.at([b, group, j, c])).sum();
    (0..m).map(dot).collect()
}

/// Scale, soft cap, bias, masks: in this order.
pub(crate) fn score<T: Element>(problem: &Problem<'_, T>, [b, h, i, j]: [usize; 4], product: f64) -> f64 {
    if !problem.visibility.keeps(b, h, i, j) {
        return f64::NEG_INFINITY;
    }
    let mut s = problem.scale * product;
    if let Some(c) = problem.softcap {
        s = c * (s / c).tanh();
    }
    if let Some(bias) = problem.bias {
        let bias = at(bias, [b, h, i, j]);
        if bias == f64::NEG_INFINITY {
            // Hidden, whatever the product was: NaN − ∞ would be NaN.
            return f64::NEG_INFINITY;
        }
        s += bias;
    }
    if let Some((slopes, offset)) = problem.alibi {
        let place = i as i64 + offset;
        s -= slopes[h] * (place - j as i64).unsigned_abs() as f64;
    }
    s
}

/// Weights and the log-sum-exp. The maximum is subtracted first, so that no exponential overflows.
fn softmax(scores: &[f64], sink: Option<f64>) -> (Vec<f64>, f64) {
    if scores.iter().all(|&s| s == f64::NEG_INFINITY) {
        return (vec![0.0; scores.len()], f64::NEG_INFINITY);
    }
    let sink = sink.unwrap_or(f64::NEG_INFINITY);
    let max = scores.iter().copied().fold(sink, f64::max);
    // A hidden key weighs 0 even in a row that is lost to a NaN.
    let hidden = |s: f64| s == f64::NEG_INFINITY;
    let exps: Vec<f64> = scores.iter().map(|&s| if hidden(s) { 0.0 } else { (s - max).exp() }).collect();
    let sum = exps.iter().sum::<f64>() + (sink - max).exp();
    // With max = ∞ or a NaN score, `sum` is NaN and takes the whole row with it, and no other row.
    let weights = exps.iter().zip(scores).map(|(&e, &s)| if hidden(s) { 0.0 } else { e / sum });
    (weights.collect(), max + sum.ln())
}

fn at<T: Element>(view: spanwise_kernels::View<'_, T>, index: [usize; 4]) -> f64 {
    view.get(&index).expect("the problem has checked the shapes").to_f64()
}
