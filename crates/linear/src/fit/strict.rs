//! Whether classes that separate do so *completely*, however narrow the gap.
//!
//! The direction that `separation` finds may leave rows at a margin of nearly 0. Either no direction does better (the rows share
//! the boundary), or the gap is narrow beside the spread of the features. Gordan's theorem decides it on those rows alone:
//!
//! ```text
//! some e has z·e > 0 for all of them   ⇔   0 is no weighted mean of the z   ⇔   the shortest weighted mean p is not 0;  e = p
//! ```
//!
//! In the features' own units p would drown in rounding. So the rows are first written in an orthonormal basis of their columns
//! (x̃ = q·R), where a gap of 1e-10 is as wide as their spread. Tilting the first direction by a little of e keeps the other rows
//! where they are. Nothing rests on a tolerance: the direction counts if every margin, formed with twice the precision
//! from the data as given, is above 0.

use super::active_set::{Columns, minimise};
use super::passes;
use super::separation::Pairs;
use crate::dense::{dot, pivoted_qr};
use spanwise_kernels::tall::Twofold;
use spanwise_kernels::{Element, Matrix};

/// What twofold sums of products may be wrong by, beside the sum of their sizes.
const ROUNDING: f64 = 1e-28;
/// A direction of the features in which the rows spread less than this share of the largest is not used.
const FLAT: f64 = 4.0 * f64::EPSILON;

/// Numbers that are copied at most (64 MiB, and as much again for each factor): of more rows an even choice has to do. The
/// direction it gives is tested on all of them.
const COPIED: usize = 1 << 23;

/// Whether every row lies strictly on its own side along `direction` (of features divided by their sizes).
pub(super) fn separates<T: Element>(pairs: &Pairs<'_, T>, direction: &[f64]) -> bool {
    let problem = pairs.problem;
    let (p, width, contrasts) = (problem.shift.len(), problem.width(), &problem.contrasts);
    let unscaled: Vec<Twofold> = (0..direction.len())
        .map(|at| Twofold::from(direction[at]) / Twofold::from(pairs.sizes[at % width]))
        .collect();
    let one = Twofold::from(1.0);
    let mut given = vec![0.0; width];
    pairs.rows.iter().all(|&row| {
        passes::load(&problem.x, row..row + 1, width, &mut given);
        let shifted = given.iter().zip(&problem.shift).map(|(&x, &c)| Twofold::from(x) - Twofold::from(c));
        let features: Vec<Twofold> = shifted.chain((p < width).then_some(one)).collect();
        let products: Vec<(Twofold, f64)> = (0..contrasts.cols())
            .map(|r| {
                let terms = features.iter().zip(&unscaled[r * width..]).map(|(&x, &d)| x * d);
                terms.fold((Twofold::ZERO, 0.0), |(sum, size), term| (sum + term, size + term.high.abs()))
            })
            .collect();
        let label = problem.labels[row];
        (0..problem.classes()).filter(|&k| k != label).all(|k| {
            let mut margin = (Twofold::ZERO, 0.0);
            for (r, &(product, size)) in products.iter().enumerate() {
                let difference = Twofold::from(contrasts[(label, r)]) - Twofold::from(contrasts[(k, r)]);
                margin = (margin.0 + product * difference, margin.1 + size * difference.high.abs());
            }
            margin.0.high > ROUNDING * margin.1
        })
    })
}

/// `direction`, tilted so that the pairs for which `near` holds (margin almost 0) lie strictly inside as well; `None` where no
/// direction is found that puts all pairs there. `margins` are those along `direction`.
pub(super) fn tilted<T: Element>(
    pairs: &Pairs<'_, T>,
    direction: &[f64],
    margins: &[f64],
    near: impl Fn(f64) -> bool,
) -> Option<Vec<f64>> {
    let mut chosen: Vec<usize> = (0..margins.len()).filter(|&j| near(margins[j])).collect();
    thin(&mut chosen, COPIED / direction.len().max(1));
    let tilt = inwards(pairs, &chosen)?;
    let along = pairs.products(&tilt);
    let outside = |j: &usize| !near(margins[*j]) && along[*j] < 0.0;
    let most =
        (0..margins.len()).filter(outside).map(|j| margins[j] / -along[j]).fold(f64::INFINITY, f64::min);
    if most.is_infinite() {
        return separates(pairs, &tilt).then_some(tilt);
    }
    let moved: Vec<f64> = direction.iter().zip(&tilt).map(|(d, t)| d + 0.5 * most * t).collect();
    separates(pairs, &moved).then_some(moved)
}

/// Leaves at most `most` of them, evenly chosen.
fn thin(chosen: &mut Vec<usize>, most: usize) {
    let step = chosen.len().div_ceil(most.max(1)).max(1);
    let mut at = 0_usize;
    chosen.retain(|_| {
        at += 1;
        (at - 1).is_multiple_of(step)
    });
}

/// The pairs' rows in an orthonormal basis.
struct Whitened {
    /// Of each pair a vector of unit length.
    vectors: Vec<Vec<f64>>,
}

impl Whitened {
    fn mean(&self, support: &[usize], w: &[f64]) -> Vec<f64> {
        let mut mean = vec![0.0; self.vectors[0].len()];
        for &j in support {
            mean.iter_mut().zip(&self.vectors[j]).for_each(|(m, z)| *m += w[j] * z);
        }
        mean
    }
}

impl Columns for Whitened {
    fn count(&self) -> usize {
        self.vectors.len()
    }

    fn inner(&self, i: usize, j: usize) -> f64 {
        dot(&self.vectors[i], &self.vectors[j])
    }

    fn toward(&self, _: usize) -> f64 {
        0.0
    }

    fn gradient(&self, support: &[usize], w: &[f64]) -> Vec<f64> {
        let mean = self.mean(support, w);
        self.vectors.iter().map(|z| -dot(z, &mean)).collect()
    }
}

/// A direction with a margin above 0 for the `chosen` pairs, where the shortest weighted mean of them is not 0.
fn inwards<T: Element>(pairs: &Pairs<'_, T>, chosen: &[usize]) -> Option<Vec<f64>> {
    let (problem, contrasts) = (pairs.problem, &pairs.problem.contrasts);
    let (width, count) = (problem.width(), contrasts.cols());
    let mut rows: Vec<usize> = chosen.iter().map(|j| pairs.row_of(*j)).collect();
    rows.dedup();
    let mut scaled = Matrix::zeros(rows.len(), width);
    for (i, &row) in rows.iter().enumerate() {
        problem.row(row, scaled.row_mut(i));
        scaled.row_mut(i).iter_mut().zip(&pairs.sizes).for_each(|(x, size)| *x /= size);
    }
    let factored = pivoted_qr(&scaled);
    let largest = if scaled.rows() > 0 { factored.r[(0, 0)].abs() } else { 0.0 };
    let most = factored.r.rows().min(width);
    let rank = (0..most).take_while(|&i| factored.r[(i, i)].abs() > FLAT * largest).count();
    if rank == 0 {
        return None;
    }
    let vector = |j: &usize| {
        let place = rows.binary_search(&pairs.row_of(*j)).ok()?;
        let (label, k) = pairs.classes_of(*j);
        let differences = (0..count).map(|r| contrasts[(label, r)] - contrasts[(k, r)]);
        let mut z: Vec<f64> = differences
            .flat_map(|difference| factored.q.row(place)[..rank].iter().map(move |q| difference * q))
            .collect();
        let length = dot(&z, &z).sqrt();
        for z in &mut z {
            *z /= length;
        }
        (length > 0.0).then_some(z)
    };
    let whitened = Whitened { vectors: chosen.iter().map(vector).collect::<Option<_>>()? };
    let found = minimise(&whitened, true, 1e-13);
    let mean = whitened.mean(&found.support, &found.w);
    // x̃·e = q·mean for the rows in question: R e = mean, contrast by contrast.
    let mut direction = vec![0.0; count * width];
    for (part, mean) in direction.chunks_exact_mut(width).zip(mean.chunks_exact(rank)) {
        let mut solved = mean.to_vec();
        for i in (0..rank).rev() {
            let known: f64 = (i + 1..rank).map(|j| factored.r[(i, j)] * solved[j]).sum();
            solved[i] = (solved[i] - known) / factored.r[(i, i)];
        }
        solved.into_iter().enumerate().for_each(|(i, value)| part[factored.order[i]] = value);
    }
    let size = direction.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    if !(size > 0.0 && size.is_finite()) {
        return None;
    }
    for d in &mut direction {
        *d /= size;
    }
    Some(direction)
}

#[cfg(test)]
mod tests {
    use super::thin;

    #[test]
    fn no_more_rows_are_copied_than_there_is_room_for_and_they_are_spread() {
        for (count, most) in [(0, 5), (5, 5), (6, 5), (1000, 7), (1_000_000, 160_000), (3, 0)] {
            let mut chosen: Vec<usize> = (0..count).map(|j| 2 * j).collect();
            thin(&mut chosen, most);
            assert!(chosen.len() <= most.max(1) && (count == 0 || 3 * chosen.len() >= most.min(count)));
            assert!(chosen.windows(2).all(|two| two[0] < two[1]));
        }
    }
}
