//! What is known of one head.

use super::Run;
use crate::LessonError;
use crate::explain::SATURATED;
use crate::explain::random::Random;
use crate::explain::seen::Matrices;
use rayon::prelude::*;
use spanwise_attention::weights;
use spanwise_kernels::attention::Storage;
use spanwise_kernels::{Element, Matrix, View};
use spanwise_linear::decompose::{self, PcaOptions};
use spanwise_linear::measure::effective_rank;

/// Multiplications that recomputing weights may cost, over all heads; where the whole attention costs more than so many
/// times that, its share.
const RECOMPUTED: usize = 60_000_000;
const RECOMPUTED_SHARE: usize = 500;
/// Heads beyond this many have no weights recomputed and no values decomposed.
const MOST_LOOKED_AT: usize = 64;
/// Queries and keys of a sample of scores.
const SCORES: (usize, usize) = (32, 128);

/// Numbers about one head.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    pub(super) batch: usize,
    pub(super) index: usize,
    /// Rows that see several keys. A row with one key has no choice: the next four numbers leave it out.
    pub(super) several: usize,
    /// Mean entropy as a share of what the keys a row sees could have.
    pub(super) entropy: f64,
    /// Rows with a weight above [`SATURATED`], as a share.
    pub(super) saturated: f64,
    /// The median over rows of a·(1 − a) for the largest weight a: the largest slope of the softmax there.
    pub(super) slope: f64,
    /// Variance of a sample of scores.
    pub(super) variance: f64,
    /// The key that receives most, and its share of all mass.
    pub(super) top_key: usize,
    pub(super) top_share: f64,
    /// Keys that receive less than a ten-thousandth of their even share.
    pub(super) unattended: usize,
    /// The largest `|Σ weights − 1|`.
    pub(super) row_sum_error: f64,
    pub(super) looked: Option<Looked>,
}

/// What took a closer look.
#[derive(Clone, Debug, Default)]
pub(super) struct Looked {
    /// Rows of weights that were recomputed.
    pub(super) rows: usize,
    /// Their effective rank; `None` where no weight is above 0.
    pub(super) rank: Option<f64>,
    /// Keys whose values are not finite. No query sees them, and what is said of the values leaves them out.
    pub(super) left_out: usize,
    /// The largest distance of an output from Σ a·v, as a share of the largest value.
    pub(super) distance: f64,
    /// Mean distance of those outputs from the mean value, as a share of the values' root mean square distance.
    pub(super) moved: f64,
    /// Shares of the values' variation along their principal directions.
    pub(super) directions: Vec<f64>,
    /// The first two directions and the mean.
    pub(super) plane: Option<(Matrix, Vec<f64>)>,
}

impl Looked {
    /// Directions that hold 99 % of the values' variation.
    pub(super) fn span(&self) -> usize {
        let mut sum = 0.0;
        let few = self.directions.iter().take_while(|&&share| {
            let before = sum;
            sum += share;
            before < 0.99
        });
        few.count()
    }
}

impl Head {
    pub(super) fn new<T: Storage>(
        run: &Run<'_, T>,
        matrices: &Matrices<'_, T>,
        [batch, head]: [usize; 2],
    ) -> Result<Self, LessonError> {
        let s = run.sizes;
        let at = batch * s.h + head;
        let mut found = Head { batch, index: head, ..Head::default() };
        if s.n == 0 || s.m == 0 {
            return Ok(found);
        }
        let rows = at * s.n..(at + 1) * s.n;
        let statistics = &run.done.statistics;
        let keys = &run.keys[rows.clone()];
        let several: Vec<usize> = (0..s.n).filter(|&i| keys[i] > 1).collect();
        found.several = several.len();
        if let Some(peaks) = &statistics.largest {
            let peaks = &peaks[rows.clone()];
            let sizes: Vec<f64> = several.iter().map(|&i| peaks[i].weight).filter(|a| *a > 0.0).collect();
            found.saturated =
                sizes.iter().filter(|&&a| a > SATURATED).count() as f64 / sizes.len().max(1) as f64;
            found.slope = median(sizes.iter().map(|a| a * (1.0 - a)).collect());
        }
        if let Some(received) = &statistics.received {
            let mass = &received[at * s.m..(at + 1) * s.m];
            let total: f64 = mass.iter().sum();
            let top = (0..s.m).fold(0, |a, b| if mass[b] > mass[a] { b } else { a });
            (found.top_key, found.top_share) = (top, if total > 0.0 { mass[top] / total } else { 0.0 });
            found.unattended = mass.iter().filter(|&&x| x < 1e-4 * total / s.m as f64).count();
        }
        if let Some(errors) = &statistics.row_sum_error {
            found.row_sum_error = errors[rows.clone()].iter().copied().fold(0.0, f64::max);
        }
        found.variance = run.score_variance(matrices, [batch, head], &several);
        if let Some(entropy) = &statistics.entropy {
            let shares = several.iter().map(|&i| entropy[rows.start + i] / (keys[i] as f64).ln());
            found.entropy = if several.is_empty() { 1.0 } else { shares.sum::<f64>() / several.len() as f64 };
        }
        if s.b * s.h <= MOST_LOOKED_AT && s.e > 0 {
            found.looked = Some(run.look(batch, head)?);
        }
        Ok(found)
    }
}

impl<T: Storage> Run<'_, T> {
    /// The variance of scale·q·k over a few of the queries `several` and of the keys that they see; 0 without one.
    fn score_variance(
        &self,
        matrices: &Matrices<'_, T>,
        [batch, head]: [usize; 2],
        several: &[usize],
    ) -> f64 {
        let s = self.sizes;
        let views = (|| {
            let q = self.arrays.q.at(batch)?.at(head)?;
            Some((q, self.arrays.k.at(batch)?.at(s.group(head))?))
        })();
        let Some((q, k)) = views else { return 0.0 };
        let mut random = Random::new(21);
        let rows: Vec<usize> =
            random.rows(several.len(), SCORES.0).into_iter().map(|at| several[at]).collect();
        let number = |view: &View<'_, T>, i: usize, c: usize| view.get(&[i, c]).map_or(0.0, Element::to_f64);
        let mut scores = Vec::with_capacity(rows.len() * SCORES.1);
        for &i in &rows {
            let seen = matrices.keys(self.problem, [batch, head, i]);
            // The same draws for every row: rows that see the same keys are compared over the same of them.
            for j in random.clone().rows(seen.len(), SCORES.1).into_iter().map(|at| seen[at]) {
                let product: f64 = (0..s.d).map(|c| number(&q, i, c) * number(&k, j, c)).sum();
                scores.push(self.problem.scale() * product);
            }
        }
        // An infinity that makes a score −∞ only hides the key.
        scores.retain(|score: &f64| score.is_finite());
        let n = scores.len().max(1) as f64;
        let mean = scores.iter().sum::<f64>() / n;
        scores.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n
    }

    /// Recomputes some rows of weights, and decomposes the values.
    fn look(&self, batch: usize, head: usize) -> Result<Looked, LessonError> {
        let s = self.sizes;
        let cost = (s.m * (s.d + s.e) * s.b * s.h).max(1);
        let count = (RECOMPUTED / cost).max(s.n / RECOMPUTED_SHARE).clamp(4, 64);
        let rows = Random::new(22).rows(s.n, count);
        let lse = self.done.statistics.lse.as_deref().unwrap_or_default();
        let of_row = |&i: &usize| weights(self.problem, lse, [batch, head], i..i + 1, 0..s.m);
        let recomputed = rows.par_iter().map(of_row).collect::<Result<Vec<_>, _>>()?;
        let sampled = Matrix::from_fn(rows.len(), s.m, |at, j| recomputed[at][j]);
        let Some(values) = self.arrays.v.at(batch).and_then(|view| view.at(s.group(head))) else {
            return Ok(Looked::default());
        };
        // Values that are not finite are hidden, else they had been refused: no output can be made of them.
        let number = |j: usize, c: usize| values.get(&[j, c]).map_or(0.0, Element::to_f64);
        let finite: Vec<usize> = (0..s.m).filter(|&j| (0..s.e).all(|c| number(j, c).is_finite())).collect();
        let values = Matrix::from_fn(finite.len(), s.e, |at, c| number(finite[at], c));
        let sampled = Matrix::from_fn(rows.len(), finite.len(), |at, j| sampled[(at, finite[j])]);
        let mut found = self.outputs(batch, head, &rows, &sampled, &values);
        found.left_out = s.m - finite.len();
        found.rank =
            effective_rank(sampled.view()).ok().map(|rank| rank.entropy).filter(|rank| rank.is_finite());
        if finite.len() > 1
            && let Ok(pca) = decompose::pca(values.view(), PcaOptions::default())
        {
            let directions = pca.components.rows().min(2);
            found.plane = (directions > 0)
                .then(|| (Matrix::from_fn(directions, s.e, |i, c| pca.components[(i, c)]), pca.mean.clone()));
            found.directions = pca.explained_variance_ratio;
        }
        Ok(found)
    }

    /// Outputs against Σ a·v, and against the mean value.
    fn outputs(
        &self,
        batch: usize,
        head: usize,
        rows: &[usize],
        sampled: &Matrix,
        values: &Matrix,
    ) -> Looked {
        let (s, m) = (self.sizes, values.rows());
        let mean: Vec<f64> =
            (0..s.e).map(|c| (0..m).map(|j| values[(j, c)]).sum::<f64>() / m.max(1) as f64).collect();
        let largest = values.as_slice().iter().map(|x| x.abs()).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let apart = |row: &[f64]| row.iter().zip(&mean).map(|(x, m)| (x - m).powi(2)).sum::<f64>();
        let spread = ((0..m).map(|j| apart(values.row(j))).sum::<f64>() / m.max(1) as f64).sqrt();
        let mut found = Looked { rows: rows.len(), ..Looked::default() };
        let mut moved = 0.0;
        for (at, &i) in rows.iter().enumerate() {
            let mut mixed = vec![0.0; s.e];
            for (j, &a) in sampled.row(at).iter().enumerate().filter(|(_, a)| **a > 0.0) {
                mixed.iter_mut().zip(values.row(j)).for_each(|(o, v)| *o += a * v);
            }
            let start = ((batch * s.h + head) * s.n + i) * s.e;
            let output = &self.done.values[start..start + s.e];
            let gap = output.iter().zip(&mixed).map(|(o, m)| (o.to_f64() - m).powi(2)).sum::<f64>().sqrt();
            found.distance = found.distance.max(gap / largest);
            moved += apart(&mixed).sqrt();
        }
        found.moved = if spread > 0.0 { moved / (rows.len().max(1) as f64 * spread) } else { 0.0 };
        found
    }
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
