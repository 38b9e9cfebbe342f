//! The loss of logistic and softmax regression, its gradient and its Hessian, in one pass over the rows.
//!
//! Both are one model. With K classes, row `x̃ᵢ` (shifted features, then 1 for the intercept) and parameters `A`
//! ((K−1) × width), the scores are `s = C·A·x̃`, where the contrasts `C` (K × (K−1)) take the redundant direction out:
//!
//! ```text
//! K = 2   C = (0, 1)ᵀ               one weight vector, the log-odds of the second class
//! K > 2   C orthonormal, Cᵀ1 = 0    the weights of all classes sum to 0, and ‖C·A‖ = ‖A‖
//! ```
//!
//! With the penalty `λ/2·‖·‖²` these are the minimisers that scikit-learn's conventions describe. For a row with
//! probabilities `p` the Hessian in the scores is `diag(p) − ppᵀ = Σ_{k<l} pₖpₗ·(eₖ−eₗ)(eₖ−eₗ)ᵀ`, hence
//!
//! ```text
//! loss       Σ ωᵢ·(ln Σₖ e^{sₖ} − s_y)                   + λ/2·‖A‖²
//! gradient   Σₖ cₖ ⊗ Σᵢ ωᵢ·(pₖ − [k = y])·x̃ᵢ              + λ·A
//! Hessian    Σ_{k<l} (cₖ−cₗ)(cₖ−cₗ)ᵀ ⊗ Σᵢ ωᵢ·pₖpₗ·x̃ᵢx̃ᵢᵀ  + λ·I        the intercept not penalised
//! ```
//!
//! K(K−1)/2 Gram matrices, all with weights ≥ 0; one for two classes (whose losses have a short form of their own). `1 − p_y` is the sum of the *other*
//! probabilities, so a confident row loses no digits.

use super::block::Block;
use super::log_odds::{LogOdds, NewtonWeights};
use super::passes;
use faer::Mat;
use spanwise_kernels::tall::{Reweighted, Scored, reweighted_gram};
use spanwise_kernels::{Element, Matrix, View, crew, stop};
use std::ops::Range;

/// The root of a weight that underflows: small enough that its square is 0, and its inverse is still a number.
const LEAST_ROOT: f64 = 1e-170;

/// A classification problem, checked.
pub(crate) struct Problem<'a, T> {
    pub(crate) x: View<'a, T>,
    /// Index of each row's class (n).
    pub(crate) labels: Vec<usize>,
    pub(crate) weights: Option<&'a [f64]>,
    pub(crate) total: f64,
    pub(crate) intercept: bool,
    /// Subtracted from the features (p); 0 without an intercept.
    pub(crate) shift: Vec<f64>,
    /// `C` (K × (K−1)).
    pub(crate) contrasts: Matrix,
    /// `λ`.
    pub(crate) penalty: f64,
}

/// The loss and its derivatives at one point.
pub(crate) struct Evaluation {
    pub(crate) loss: f64,
    /// The same without the penalty.
    pub(crate) plain_loss: f64,
    /// (K−1)·width numbers, contrast by contrast.
    pub(crate) gradient: Vec<f64>,
    pub(crate) hessian: Option<Mat<f64>>,
    /// The largest `|sₖ − sₗ|` of any row.
    pub(crate) spread: f64,
    /// Whether every row's own class has the highest score, strictly.
    pub(crate) separates: bool,
}

/// What is asked of a pass.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) hessian: bool,
    /// Only every so many tiles: 1 for all rows.
    pub(crate) every: usize,
}

/// Sums over some rows.
struct Sums {
    loss: f64,
    weight: f64,
    spread: f64,
    separates: bool,
    gradient: Vec<f64>,
    grams: Vec<Mat<f64>>,
}

/// Contrasts for `classes` classes.
pub(crate) fn contrasts(classes: usize) -> Matrix {
    if classes == 2 {
        return Matrix::from_fn(2, 1, |k, _| k as f64);
    }
    // Helmert: column r compares class r + 1 with the mean of the classes before it.
    Matrix::from_fn(classes, classes - 1, |k, r| {
        let length = (((r + 1) * (r + 2)) as f64).sqrt();
        match k.cmp(&(r + 1)) {
            std::cmp::Ordering::Less => -1.0 / length,
            std::cmp::Ordering::Equal => (r + 1) as f64 / length,
            std::cmp::Ordering::Greater => 0.0,
        }
    })
}

/// Probabilities from scores, in place; returns `ln Σ eˢ − s_label` and the probability of all other classes.
fn softmax(scores: &mut [f64], label: usize) -> (f64, f64) {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let own = scores[label];
    for s in scores.iter_mut() {
        *s = if *s == top { 1.0 } else { (*s - top).exp() };
    }
    let others: f64 = scores.iter().enumerate().filter(|&(k, _)| k != label).map(|(_, e)| e).sum();
    let sum = others + scores[label];
    let loss = if own == top { others.ln_1p() } else { top - own + sum.ln() };
    for s in scores.iter_mut() {
        *s /= sum;
    }
    (loss, others / sum)
}

impl<T: Element> Problem<'_, T> {
    pub(crate) fn width(&self) -> usize {
        self.shift.len() + usize::from(self.intercept)
    }

    pub(crate) fn classes(&self) -> usize {
        self.contrasts.rows()
    }

    pub(crate) fn parameters(&self) -> usize {
        self.width() * self.contrasts.cols()
    }

    pub(crate) fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }

    /// One row as it enters the model: shifted, with a 1 where there is an intercept (width).
    pub(crate) fn row(&self, i: usize, out: &mut [f64]) {
        passes::load(&self.x, i..i + 1, self.width(), out);
        let (features, rest) = out.split_at_mut(self.shift.len());
        features.iter_mut().zip(&self.shift).for_each(|(v, c)| *v -= c);
        rest.fill(1.0);
    }

    /// Scores of the classes (K) from the products of one row with the contrasts' parameters (K−1).
    pub(crate) fn scores(&self, products: &[f64], scores: &mut [f64]) {
        for (k, score) in scores.iter_mut().enumerate() {
            *score = self.contrasts.row(k).iter().zip(products).map(|(c, v)| c * v).sum();
        }
    }

    /// Loss, gradient and, where asked for, the Hessian at `a`; on part of the rows the penalty shrinks with them.
    pub(crate) fn evaluate(&self, a: &[f64], request: Request) -> Evaluation {
        if request.hessian && self.classes() == 2 {
            return self.finish(a, self.sum_two_classes(a, request.every), request);
        }
        let block = Block::most_rows(self.width());
        let tiles: Vec<usize> = (0..self.labels.len().div_ceil(block)).step_by(request.every).collect();
        // As everywhere: groups at fixed boundaries, each summed in order, then added in order.
        let per_group = tiles.len().div_ceil(32).max(1);
        let products = if request.hessian { a.len() * self.width() } else { 4 * a.len() };
        let groups = crew::map(tiles.len() * block * products, tiles.chunks(per_group), |group| {
            self.sum_tiles(a, group, request.hessian)
        });
        let mut groups = groups.into_iter();
        let mut sums = groups.next().unwrap_or_else(|| self.no_sums(request.hessian));
        for group in groups {
            sums.loss += group.loss;
            sums.weight += group.weight;
            sums.spread = sums.spread.max(group.spread);
            sums.separates &= group.separates;
            sums.gradient.iter_mut().zip(group.gradient).for_each(|(sum, g)| *sum += g);
            sums.grams.iter_mut().zip(group.grams).for_each(|(sum, g)| *sum += g);
        }
        self.finish(a, sums, request)
    }

    /// The sums of two classes: gradient and Hessian from one Gram matrix, whose weights are `ω·p·q` and whose target is the
    /// residual over the weight.
    fn sum_two_classes(&self, a: &[f64], every: usize) -> Sums {
        let d = self.shift.len();
        let (w, b) = a.split_at(d);
        let offset = b.first().copied().unwrap_or(0.0);
        let problem = Reweighted { x: &self.x, shift: &self.shift, w, offset, every };
        let nothing = || Sums { gradient: Vec::new(), grams: Vec::new(), ..self.no_sums(false) };
        let weigh = |scored: Scored<'_>| {
            let Scored { rows, scores, roots, targets } = scored;
            let mut sums = nothing();
            let mut probabilities = vec![0.0; 2 * rows.len()];
            targets.copy_from_slice(scores);
            self.sum_log_odds(rows.clone(), targets, &mut probabilities, &mut sums);
            let (first, second) = probabilities.split_at(rows.len());
            let weights = self.weights.map(|weights| &weights[rows]);
            NewtonWeights { weights, first, second, least: LEAST_ROOT, roots, residuals: targets }.compute();
            sums
        };
        let (gram, sums) = reweighted_gram(&problem, &weigh, &|a, b| Sums {
            loss: a.loss + b.loss,
            weight: a.weight + b.weight,
            spread: a.spread.max(b.spread),
            separates: a.separates && b.separates,
            ..a
        });
        let mut sums = sums.unwrap_or_else(nothing);
        // Columns of the Gram matrix: the features, the target, the ones.
        let at = |i: usize| if i < d { i } else { d + 1 };
        sums.gradient = (0..self.width()).map(|i| gram[(at(i), d)]).collect();
        sums.grams = vec![Mat::from_fn(self.width(), self.width(), |i, j| gram[(at(i), at(j))])];
        sums
    }

    fn no_sums(&self, hessian: bool) -> Sums {
        let (width, classes) = (self.width(), self.classes());
        let pairs = if hessian { classes * (classes - 1) / 2 } else { 0 };
        Sums {
            loss: 0.0,
            weight: 0.0,
            spread: 0.0,
            separates: true,
            gradient: vec![0.0; self.parameters()],
            grams: (0..pairs).map(|_| Mat::zeros(width, width)).collect(),
        }
    }

    fn sum_tiles(&self, a: &[f64], tiles: &[usize], hessian: bool) -> Sums {
        stop::check();
        let (width, classes, contrasts) = (self.width(), self.classes(), self.contrasts.cols());
        let (n, most) = (self.labels.len(), Block::most_rows(width));
        let mut sums = self.no_sums(hessian);
        let mut block = Block::new(width);
        // For the t rows of a tile: (K−1) × t products, then residuals; K × t probabilities; t weights of one pair.
        let mut products = vec![0.0; contrasts * most];
        let mut probabilities = vec![0.0; classes * most];
        let mut pair_weights = vec![0.0; most];
        for &index in tiles {
            let rows = index * most..((index + 1) * most).min(n);
            let t = rows.len();
            let (products, probabilities) =
                (&mut products[..contrasts * t], &mut probabilities[..classes * t]);
            block.read(&self.x, rows.clone(), &self.shift);
            for (r, products) in products.chunks_exact_mut(t).enumerate() {
                block.times(&a[r * width..(r + 1) * width], products);
            }
            self.sum_losses(rows.clone(), products, probabilities, &mut sums);
            for (r, residuals) in products.chunks_exact(t).enumerate() {
                block.add_transposed_times(residuals, &mut sums.gradient[r * width..(r + 1) * width]);
            }
            let pairs = (0..classes).flat_map(|k| (k + 1..classes).map(move |l| (k, l)));
            for (gram, (k, l)) in sums.grams.iter_mut().zip(pairs) {
                let both = probabilities[k * t..].iter().zip(&probabilities[l * t..]);
                for ((weight, row), (p, q)) in pair_weights.iter_mut().zip(rows.clone()).zip(both) {
                    *weight = self.weight(row) * p * q;
                }
                block.add_gram(&pair_weights[..t], gram.as_mut());
            }
        }
        sums
    }

    /// Turns the products of some rows into residuals and probabilities, and adds up their losses.
    fn sum_losses(
        &self,
        rows: Range<usize>,
        products: &mut [f64],
        probabilities: &mut [f64],
        sums: &mut Sums,
    ) {
        let (classes, contrasts, t) = (self.classes(), self.contrasts.cols(), rows.len());
        if classes == 2 {
            return self.sum_log_odds(rows, products, probabilities, sums);
        }
        let mut row_products = vec![0.0; contrasts];
        let mut p = vec![0.0; classes];
        for (i, row) in rows.enumerate() {
            let (label, weight) = (self.labels[row], self.weight(row));
            for (r, product) in row_products.iter_mut().enumerate() {
                *product = products[r * t + i];
            }
            self.scores(&row_products, &mut p);
            if weight > 0.0 {
                let (low, high) = p.iter().fold((f64::MAX, f64::MIN), |(l, h), &s| (l.min(s), h.max(s)));
                sums.spread = sums.spread.max(high - low);
                sums.separates &= p.iter().enumerate().all(|(k, s)| k == label || *s < p[label]);
            }
            let (loss, others) = softmax(&mut p, label);
            sums.loss += weight * loss;
            sums.weight += weight;
            for (k, p) in p.iter().enumerate() {
                probabilities[k * t + i] = *p;
            }
            // From here on `p` is the residual in the scores.
            p[label] = -others;
            for r in 0..contrasts {
                let residual: f64 = p.iter().enumerate().map(|(k, p)| p * self.contrasts[(k, r)]).sum();
                products[r * t + i] = weight * residual;
            }
        }
    }

    /// The same for two classes, where the product is the log-odds of the second.
    fn sum_log_odds(
        &self,
        rows: Range<usize>,
        products: &mut [f64],
        probabilities: &mut [f64],
        sums: &mut Sums,
    ) {
        let (first, second) = probabilities.split_at_mut(rows.len());
        let (labels, weights) = (&self.labels[rows.clone()], self.weights.map(|weights| &weights[rows]));
        let found = LogOdds { scores: products, labels, weights, first, second }.compute();
        sums.loss += found.loss;
        sums.weight += found.weight;
        sums.spread = sums.spread.max(found.spread);
        sums.separates &= found.separates;
    }

    fn finish(&self, a: &[f64], mut sums: Sums, request: Request) -> Evaluation {
        let (width, classes, contrasts) = (self.width(), self.classes(), self.contrasts.cols());
        let penalty = if request.every == 1 { self.penalty } else { self.penalty * sums.weight / self.total };
        let penalised = |at: usize| !self.intercept || at % width != width - 1;
        let mut square = 0.0;
        for at in (0..a.len()).filter(|at| penalised(*at)) {
            sums.gradient[at] += penalty * a[at];
            square += a[at] * a[at];
        }
        let hessian = request.hessian.then(|| {
            let mut hessian = Mat::zeros(contrasts * width, contrasts * width);
            let pairs = (0..classes).flat_map(|k| (k + 1..classes).map(move |l| (k, l)));
            for (gram, (k, l)) in sums.grams.iter().zip(pairs) {
                let difference = |r: usize| self.contrasts[(k, r)] - self.contrasts[(l, r)];
                for r in 0..contrasts {
                    for s in 0..contrasts {
                        let factor = difference(r) * difference(s);
                        if factor != 0.0 {
                            let mut block =
                                hessian.as_mut().submatrix_mut(r * width, s * width, width, width);
                            block += faer::Scale(factor) * gram;
                        }
                    }
                }
            }
            for at in (0..contrasts * width).filter(|at| penalised(*at)) {
                hessian[(at, at)] += penalty;
            }
            hessian
        });
        Evaluation {
            loss: sums.loss + 0.5 * penalty * square,
            plain_loss: sums.loss,
            gradient: sums.gradient,
            hessian,
            spread: sums.spread,
            separates: sums.separates,
        }
    }
}

#[cfg(test)]
#[path = "tests/softmax.rs"]
mod tests;
