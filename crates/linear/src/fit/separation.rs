//! Whether the classes can be told apart without error, which leaves an unpenalised fit without an answer.
//!
//! For each row and each class `k` other than its own let `z = (c_y − cₖ) ⊗ x̃`, scaled to unit length. A direction
//! `d ≠ 0` *separates* if `z·d ≥ 0` for all of them and `> 0` for some; following it, the likelihood rises for ever.
//! Stiemke's theorem: such a direction exists exactly where no *positive* weights `u` give `Σ u·z = 0`. So
//!
//! ```text
//! minimise ‖Σ (1 + v)·z‖   over   v ≥ 0        non-negative least squares, solved by the active set
//! minimum 0    the classes overlap: an answer exists
//! minimum > 0  d = Σ (1 + v)·z separates: optimality says z·d ≥ 0, and Σ z·d = ‖d‖² > 0
//! ```
//!
//! Rows at a margin of nearly 0 along it may yet lie strictly on their side of another hyperplane: `strict` looks for it.
//! The answer carries its own proof: the direction, and margins that anyone can recompute.

use super::active_set::{Columns, minimise};
use super::newton::sizes;
use super::passes;
use super::softmax::Problem;
use super::strict;
use spanwise_kernels::{Element, Matrix};

/// How the classes are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SeparationKind {
    /// Every row lies strictly on its own class's side.
    Complete,
    /// Every row lies on its own class's side or on the boundary, some strictly inside.
    Quasi,
}

/// A direction along which the classes separate: the unpenalised likelihood has no maximum.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Separation {
    /// Complete or quasi-complete.
    pub kind: SeparationKind,
    /// The direction for the coefficients (1 × p for two classes, else K × p), largest entry 1 in units of the
    /// features' sizes.
    pub direction: Matrix,
    /// The direction for the intercepts.
    pub intercepts: Vec<f64>,
    /// The columns that take part in it, those with the largest part first.
    pub columns: Vec<usize>,
    /// Rows strictly on their own side.
    pub separated_rows: usize,
    /// Rows on the boundary: what estimates there are rest on these alone.
    pub boundary_rows: usize,
}

/// The rows `z` of every (row, other class) pair, with features divided by their sizes.
pub(super) struct Pairs<'a, T> {
    pub(super) problem: &'a Problem<'a, T>,
    pub(super) sizes: Vec<f64>,
    /// Rows of positive weight.
    pub(super) rows: Vec<usize>,
    /// `−Σ z`.
    target: Vec<f64>,
}

impl<T: Element> Pairs<'_, T> {
    fn others(&self) -> usize {
        self.problem.classes() - 1
    }

    /// The row of pair `j`.
    pub(super) fn row_of(&self, j: usize) -> usize {
        self.rows[j / self.others()]
    }

    /// The row's own class and the other one.
    pub(super) fn classes_of(&self, j: usize) -> (usize, usize) {
        let (label, other) = (self.problem.labels[self.row_of(j)], j % self.others());
        (label, if other < label { other } else { other + 1 })
    }

    /// Pair `j` as a vector ((K−1)·width), of unit length unless it is 0.
    fn vector(&self, j: usize) -> Vec<f64> {
        let (row, (label, k)) = (self.row_of(j), self.classes_of(j));
        let (width, contrasts) = (self.problem.width(), &self.problem.contrasts);
        let mut features = vec![0.0; width];
        self.problem.row(row, &mut features);
        let mut z = Vec::with_capacity(width * contrasts.cols());
        for r in 0..contrasts.cols() {
            let difference = contrasts[(label, r)] - contrasts[(k, r)];
            z.extend(features.iter().zip(&self.sizes).map(|(v, s)| difference * v / s));
        }
        let length = passes::dot(&z, &z).sqrt();
        if length > 0.0 {
            for z in &mut z {
                *z /= length;
            }
        }
        z
    }

    fn combined(&self, support: &[usize], w: &[f64]) -> Vec<f64> {
        let mut left = self.target.clone();
        for &j in support {
            left.iter_mut().zip(self.vector(j)).for_each(|(l, z)| *l -= w[j] * z);
        }
        left
    }

    /// `z·v` for every pair.
    pub(super) fn products(&self, v: &[f64]) -> Vec<f64> {
        let per_row = self.others();
        let parts = passes::map_chunks(self.rows.len(), 4 * per_row * v.len(), |chunk| {
            let pairs = chunk.start * per_row..chunk.end * per_row;
            pairs.map(|j| passes::dot(&self.vector(j), v)).collect::<Vec<f64>>()
        });
        parts.concat()
    }
}

impl<T: Element> Columns for Pairs<'_, T> {
    fn count(&self) -> usize {
        self.rows.len() * self.others()
    }

    fn inner(&self, i: usize, j: usize) -> f64 {
        passes::dot(&self.vector(i), &self.vector(j))
    }

    fn toward(&self, j: usize) -> f64 {
        passes::dot(&self.vector(j), &self.target)
    }

    fn gradient(&self, support: &[usize], w: &[f64]) -> Vec<f64> {
        self.products(&self.combined(support, w))
    }
}

/// Looks for a separating direction; `known`, if given, already separates every row strictly.
pub(crate) fn find<T: Element>(problem: &Problem<'_, T>, known: Option<&[f64]>) -> Option<Separation> {
    let rows: Vec<usize> = (0..problem.labels.len()).filter(|&i| problem.weight(i) > 0.0).collect();
    let mut pairs = Pairs { problem, sizes: sizes(problem), rows, target: vec![0.0; problem.parameters()] };
    let width = problem.width();
    let direction = if let Some(a) = known {
        a.iter().enumerate().map(|(at, a)| a * pairs.sizes[at % width]).collect()
    } else {
        let mut target = vec![0.0; problem.parameters()];
        for j in 0..pairs.count() {
            target.iter_mut().zip(pairs.vector(j)).for_each(|(t, z)| *t -= z);
        }
        pairs.target = target;
        let scale = passes::dot(&pairs.target, &pairs.target).sqrt();
        let found = minimise(&pairs, false, 1e-12 * scale.max(1.0));
        let direction: Vec<f64> = pairs.combined(&found.support, &found.w).iter().map(|d| -d).collect();
        let reached = passes::dot(&direction, &direction).sqrt();
        let weight: f64 = found.w.iter().sum::<f64>() + pairs.count() as f64;
        if !found.finished || reached <= 1e-10 * weight {
            return None;
        }
        direction
    };
    let found = certify(&pairs, direction)?;
    // One column that does as much by itself says more than a combination of many.
    let simpler = |one: &Separation| {
        one.columns.len() < found.columns.len() && one.separated_rows >= found.separated_rows
    };
    let alone = alone(&pairs).and_then(|direction| certify(&pairs, direction)).filter(simpler);
    Some(alone.unwrap_or(found))
}

/// The direction of the one column that keeps two classes apart, all its values in one at least as large as all in the other: of several
/// the one with the widest gap, and where classes touch in each of them, the one with the fewest rows where they do.
fn alone<T: Element>(pairs: &Pairs<'_, T>) -> Option<Vec<f64>> {
    let problem = pairs.problem;
    let (width, p) = (problem.width(), problem.shift.len());
    if problem.classes() != 2 || !problem.intercept {
        return None;
    }
    let mut ranges = vec![[(f64::INFINITY, f64::NEG_INFINITY); 2]; p];
    let mut features = vec![0.0; width];
    for &row in &pairs.rows {
        problem.row(row, &mut features);
        for (range, &x) in ranges.iter_mut().zip(&features) {
            let (low, high) = &mut range[problem.labels[row]];
            (*low, *high) = (low.min(x), high.max(x));
        }
    }
    let gap = |j: usize| {
        let [zero, one] = ranges[j];
        let (up, down) = (one.0 - zero.1, zero.0 - one.1);
        if up >= down { (up, 1.0, one.0, zero.1) } else { (down, -1.0, zero.0, one.1) }
    };
    let varies = |j: usize| ranges[j][0] != ranges[j][1] || ranges[j][0].0 < ranges[j][0].1;
    let apart: Vec<usize> = (0..p).filter(|&j| varies(j) && gap(j).0 >= 0.0).collect();
    let width_of = |j: usize| gap(j).0 / pairs.sizes[j];
    let widest = apart.iter().copied().map(width_of).fold(0.0, f64::max);
    let mut touching = vec![0_usize; p];
    if widest == 0.0 {
        for &row in &pairs.rows {
            problem.row(row, &mut features);
            for &j in &apart {
                touching[j] += usize::from(features[j] == gap(j).2);
            }
        }
    }
    let j = apart.into_iter().filter(|&j| width_of(j) >= widest).min_by_key(|&j| touching[j])?;
    let (_, sign, above, below) = gap(j);
    // The second class lies where the contrasts put it.
    let sign = sign * (problem.contrasts[(1, 0)] - problem.contrasts[(0, 0)]).signum();
    let mut direction = vec![0.0; width];
    direction[j] = sign;
    direction[p] = -sign * f64::midpoint(above, below) * pairs.sizes[p] / pairs.sizes[j];
    Some(direction)
}

/// Checks every margin along `direction` and describes it; `None` where one is clearly negative.
fn certify<T: Element>(pairs: &Pairs<'_, T>, mut direction: Vec<f64>) -> Option<Separation> {
    let largest = direction.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    for d in &mut direction {
        *d /= largest;
    }
    let margins = pairs.products(&direction);
    let best = margins.iter().copied().fold(0.0, f64::max);
    let zero = 1e-7 * best;
    if best <= 0.0 || margins.iter().any(|&m| m < -zero) {
        return None;
    }
    let complete = if strict::separates(pairs, &direction) {
        true
    } else if let Some(better) = strict::tilted(pairs, &direction, &margins, |m| m <= zero) {
        direction = better;
        true
    } else {
        false
    };
    // A row counts as separated if it is strictly inside against every other class.
    let inside = |row: &[f64]| complete || row.iter().all(|&m| m > zero);
    let separated_rows = margins.chunks(pairs.others()).filter(|row| inside(row)).count();
    let boundary_rows = pairs.rows.len() - separated_rows;
    let problem = pairs.problem;
    let (width, p) = (problem.width(), problem.shift.len());
    let part = |j: usize| direction.iter().skip(j).step_by(width).fold(0.0, |most: f64, d| most.max(d.abs()));
    let mut columns: Vec<usize> = (0..p).filter(|&j| part(j) > 1e-6).collect();
    columns.sort_by(|&a, &b| part(b).total_cmp(&part(a)));
    let unscaled: Vec<f64> =
        direction.iter().enumerate().map(|(at, d)| d / pairs.sizes[at % width]).collect();
    let (direction, intercepts) = by_class(problem, &unscaled);
    let kind = if complete { SeparationKind::Complete } else { SeparationKind::Quasi };
    Some(Separation { kind, direction, intercepts, columns, separated_rows, boundary_rows })
}

/// Parameters of the contrasts as coefficients and intercepts of the classes, for unshifted features: one row for two
/// classes, else one per class.
pub(crate) fn by_class<T: Element>(problem: &Problem<'_, T>, a: &[f64]) -> (Matrix, Vec<f64>) {
    let (width, p, classes) = (problem.width(), problem.shift.len(), problem.classes());
    let first = usize::from(classes == 2);
    let of_class = |k: usize, at: usize| -> f64 {
        let row = problem.contrasts.row(k);
        row.iter().enumerate().map(|(r, c)| c * a[r * width + at]).sum()
    };
    let coefficients = Matrix::from_fn(classes - first, p, |k, j| of_class(k + first, j));
    let intercept = |k: usize| {
        if !problem.intercept {
            return 0.0;
        }
        of_class(k + first, p) - passes::dot(coefficients.row(k), &problem.shift)
    };
    let intercepts = (0..classes - first).map(intercept).collect();
    (coefficients, intercepts)
}
