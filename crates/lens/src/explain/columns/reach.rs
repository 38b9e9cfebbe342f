//! How far the columns reach, and whether squares and products would reach further: measured on rows left out.
//!
//! The sample's columns are standardised, so that with `a` and `b` in the model the products `a·b`, `a²` and `a³` span what
//! those of the raw columns would. Each fold orthogonalises by Gram and Schmidt with inner products over its training rows
//! only, but subtracts over all rows: what is then left of the target on the other rows is their prediction error, and no
//! coefficient is ever formed.
//!
//! ```text
//!  for each fold, and once for all rows
//!      r ← y; for each column c (ones first): r and all other columns lose their part along c
//!      error of the columns alone ← Σ r² over rows left out
//!      repeat at most MOST_TERMS times: take the candidate t with the largest (t·r)²/(t·t), if that beats chance
//!          r and all other candidates lose their part along t;  gain of t ← what Σ r² over rows left out loses
//! ```

use super::factor::dot;
use crate::explain::random::Random;
use spanwise_kernels::crew;
use spanwise_linear::fit::{Distribution, FisherF};
use std::collections::BTreeMap;

const FOLDS: usize = 5;
const MOST_TERMS: usize = 6;
/// The chance of taking a term that is none, over all candidates.
const CHANCE: f64 = 1e-3;
/// Products are formed of at most this many columns.
const MOST_CROSSED: usize = 24;
/// Squares and cubes are formed of at most this many.
const MOST_POWERS: usize = 100;
/// A candidate of which less than this is left lies in the span already (squared).
const NOTHING_LEFT: f64 = 1e-10;

/// A term that is not a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Candidate {
    Square(usize),
    Cube(usize),
    Product(usize, usize),
}

impl Candidate {
    /// In column names: `a²`, `a³`, `a·b`.
    pub(super) fn name(self, names: &[String]) -> String {
        match self {
            Candidate::Square(a) => format!("{}²", names[a]),
            Candidate::Cube(a) => format!("{}³", names[a]),
            Candidate::Product(a, b) => format!("{}·{}", names[a], names[b]),
        }
    }

    /// Its value from the values of columns.
    pub(super) fn of(self, value: impl Fn(usize) -> f64) -> f64 {
        match self {
            Candidate::Square(a) => value(a).powi(2),
            Candidate::Cube(a) => value(a).powi(3),
            Candidate::Product(a, b) => value(a) * value(b),
        }
    }

    fn is_power(self) -> bool {
        !matches!(self, Candidate::Product(..))
    }
}

/// A sample of rows: standardised columns by number, the target, and roots of the weights.
pub(super) struct SampleRows {
    /// The column's number and its values.
    pub(super) columns: Vec<(usize, Vec<f64>)>,
    pub(super) y: Vec<f64>,
    /// `√w`, where there are weights.
    pub(super) roots: Option<Vec<f64>>,
    pub(super) intercept: bool,
}

/// What was reached, as shares of the target's variation on rows left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reached {
    pub(super) inside: f64,
    pub(super) powers: f64,
    pub(super) products: f64,
    /// Terms that beat chance over all rows, with the share each adds.
    pub(super) terms: Vec<(Candidate, f64)>,
    pub(super) candidates: usize,
    pub(super) rows: usize,
}

/// What one fold leaves, for those who look further.
pub(super) struct Fold {
    /// Rows of the sample: those it was fitted to, then those left out.
    pub(super) order: Vec<usize>,
    /// How many it was fitted to.
    pub(super) fitted: usize,
    /// What is left of the target after columns and terms, in that order.
    pub(super) rest: Vec<f64>,
    /// Of the target about its mean, over rows left out.
    pub(super) total: f64,
    inside: f64,
    steps: Vec<(Candidate, f64)>,
}

/// How many rows make the work worth it, for so many columns.
pub(super) fn sample_size(columns: usize) -> usize {
    let crossed = columns.min(MOST_CROSSED);
    let candidates = 3 * columns.min(MOST_POWERS) + crossed * crossed / 2;
    (600_000 / candidates.max(1)).clamp(500, 4000)
}

/// Measures the reach over a sample; `order` ranks columns for products where there are too many of them.
pub(super) fn reach(sample: &SampleRows) -> (Reached, Vec<Fold>) {
    let n = sample.y.len();
    let candidates = candidates(sample);
    let shuffled = Random::new(5).permutation(n);
    let runs = FOLDS + 1;
    let cost = runs * n * candidates.len() * (MOST_TERMS + sample.columns.len());
    let folds = crew::map(cost, 0..runs, |f| {
        // The last one leaves nothing out: it names the terms.
        let out = |i: usize| f < FOLDS && i * FOLDS / n == f;
        let kept = (0..n).filter(|&i| !out(i)).map(|i| shuffled[i]);
        let left = (0..n).filter(|&i| out(i)).map(|i| shuffled[i]);
        let fitted = (0..n).filter(|&i| !out(i)).count();
        pursue(sample, &candidates, kept.chain(left).collect(), fitted)
    });
    let (whole, folds) =
        folds.split_last().map_or((&[][..], &[][..]), |(last, rest)| (std::slice::from_ref(last), rest));
    let total: f64 = folds.iter().map(|fold| fold.total).sum();
    let share = |part: f64| if total > 0.0 { part / total } else { 0.0 };
    let mut gains: BTreeMap<Candidate, f64> = BTreeMap::new();
    for &(candidate, gain) in folds.iter().flat_map(|fold| &fold.steps) {
        *gains.entry(candidate).or_default() += share(gain);
    }
    let sum = |power: bool| gains.iter().filter(|(c, _)| c.is_power() == power).map(|(_, g)| g).sum::<f64>();
    let named = whole.iter().flat_map(|fold| &fold.steps);
    let reached = Reached {
        inside: 1.0 - share(folds.iter().map(|fold| fold.inside).sum()),
        powers: sum(true),
        products: sum(false),
        terms: named.map(|&(c, _)| (c, gains.get(&c).copied().unwrap_or(0.0))).collect(),
        candidates: candidates.len(),
        rows: n,
    };
    (reached, take_folds(folds))
}

/// The folds by value, without what names the terms.
fn take_folds(folds: &[Fold]) -> Vec<Fold> {
    folds
        .iter()
        .map(|fold| Fold {
            order: fold.order.clone(),
            fitted: fold.fitted,
            rest: fold.rest.clone(),
            total: fold.total,
            inside: fold.inside,
            steps: Vec::new(),
        })
        .collect()
}

fn candidates(sample: &SampleRows) -> Vec<(Candidate, Vec<f64>)> {
    let columns = &sample.columns;
    let mut all = Vec::new();
    let values = |f: &dyn Fn(usize) -> f64| (0..sample.y.len()).map(f).collect::<Vec<f64>>();
    for (j, x) in columns.iter().take(MOST_POWERS) {
        all.push((Candidate::Square(*j), values(&|i| x[i] * x[i])));
        all.push((Candidate::Cube(*j), values(&|i| x[i] * x[i] * x[i])));
    }
    let crossed = columns.len().min(MOST_CROSSED);
    for a in 0..crossed {
        for b in a + 1..crossed {
            let ((i, x), (j, z)) = (&columns[a], &columns[b]);
            all.push((Candidate::Product(*i.min(j), *i.max(j)), values(&|k| x[k] * z[k])));
        }
    }
    all
}

fn pursue(
    sample: &SampleRows,
    candidates: &[(Candidate, Vec<f64>)],
    order: Vec<usize>,
    fitted: usize,
) -> Fold {
    let root = |i: usize| sample.roots.as_ref().map_or(1.0, |roots| roots[i]);
    let ordered = |values: &[f64]| order.iter().map(|&i| values[i] * root(i)).collect::<Vec<f64>>();
    let ones: Vec<f64> = order.iter().map(|&i| root(i)).collect();
    let first = if sample.intercept { vec![ones] } else { Vec::new() };
    let mut columns: Vec<Vec<f64>> =
        first.into_iter().chain(sample.columns.iter().map(|(_, x)| ordered(x))).collect();
    let mut terms: Vec<Vec<f64>> = candidates.iter().map(|(_, values)| ordered(values)).collect();
    let lengths: Vec<f64> = terms.iter().map(|t| square(t, fitted)).collect();
    let mut rest = ordered(&sample.y);
    let left_out = |rest: &[f64]| dot(&rest[fitted..], &rest[fitted..]);
    let mut total = left_out(&rest);
    let mut used = 0;
    for j in 0..columns.len() {
        let column = std::mem::take(&mut columns[j]);
        let size = square(&column, fitted);
        if size > NOTHING_LEFT * fitted as f64 {
            let others = columns[j + 1..].iter_mut().chain(&mut terms).chain([&mut rest]);
            others.for_each(|other| subtract(&column, size, fitted, other));
            used += 1;
        }
        if j == 0 && sample.intercept {
            total = left_out(&rest);
        }
    }
    let inside = left_out(&rest);
    let (mut steps, mut error) = (Vec::new(), inside);
    while steps.len() < MOST_TERMS {
        let Some(best) = beats_chance(&terms, &lengths, &rest, fitted, used) else { break };
        let term = std::mem::take(&mut terms[best]);
        let size = square(&term, fitted);
        let others = terms.iter_mut().filter(|term| !term.is_empty()).chain([&mut rest]);
        others.for_each(|other| subtract(&term, size, fitted, other));
        used += 1;
        let now = left_out(&rest);
        steps.push((candidates[best].0, error - now));
        error = now;
    }
    Fold { order, fitted, rest, total, inside, steps }
}

/// The candidate that explains most of what is left, if it is more than chance would.
fn beats_chance(
    terms: &[Vec<f64>],
    lengths: &[f64],
    rest: &[f64],
    fitted: usize,
    used: usize,
) -> Option<usize> {
    let freedom = fitted as f64 - used as f64 - 1.0;
    if freedom < 5.0 {
        return None;
    }
    let gain = |j: usize| {
        let size = if terms[j].is_empty() { 0.0 } else { square(&terms[j], fitted) };
        let along = if size > 1e-8 * lengths[j] { dot(&terms[j][..fitted], &rest[..fitted]) } else { 0.0 };
        if along == 0.0 { 0.0 } else { along * along / size }
    };
    let (best, most) = (0..terms.len())
        .map(|j| (j, gain(j)))
        .fold((0, 0.0), |best, next| if next.1 > best.1 { next } else { best });
    let left = square(rest, fitted) - most;
    if most <= 0.0 || left <= 0.0 {
        return None;
    }
    let chance = FisherF::new(1.0, freedom).ok()?.upper(most / (left / freedom));
    (chance * (terms.len() as f64) < CHANCE).then_some(best)
}

fn square(values: &[f64], fitted: usize) -> f64 {
    dot(&values[..fitted], &values[..fitted])
}

/// Takes from `other` its part along `column`, as the first `fitted` rows have it.
fn subtract(column: &[f64], size: f64, fitted: usize, other: &mut [f64]) {
    let along = dot(&column[..fitted], &other[..fitted]) / size;
    other.iter_mut().zip(column).for_each(|(x, c)| *x -= along * c);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(truth: impl Fn(f64, f64, f64) -> f64, noise: f64, seed: u64) -> SampleRows {
        let mut random = Random::new(seed);
        let columns: Vec<(usize, Vec<f64>)> =
            (0..3).map(|j| (j, (0..400).map(|_| random.normal()).collect())).collect();
        let y = (0..400)
            .map(|i| truth(columns[0].1[i], columns[1].1[i], columns[2].1[i]) + noise * random.normal())
            .collect();
        SampleRows { columns, y, roots: None, intercept: true }
    }

    #[test]
    fn squares_and_products_are_named_and_reach_the_ceiling_on_rows_left_out() {
        let (reached, _) = reach(&sample(|a, b, c| a + 2.0 * b * b + 1.5 * a * c, 0.5, 3));
        let named: Vec<Candidate> = reached.terms.iter().map(|term| term.0).collect();
        assert_eq!(named, [Candidate::Square(1), Candidate::Product(0, 2)]);
        // The truth's variance is 1 + 8 + 2.25, the noise's 0.25.
        let ceiling = 1.0 - 0.25 / 11.5;
        let all = reached.inside + reached.powers + reached.products;
        assert!((all - ceiling).abs() < 0.02, "{reached:?}");
        assert!(reached.inside < 0.3);
    }

    #[test]
    fn noise_gives_no_terms() {
        for seed in 0..40 {
            let (reached, folds) = reach(&sample(|a, b, _| a - b, 1.0, 100 + seed));
            assert_eq!(reached.terms, [], "seed {seed}");
            assert!(folds.iter().all(|fold| fold.rest.len() == 400 && fold.fitted == 320));
        }
    }
}
