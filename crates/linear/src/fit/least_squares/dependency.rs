//! Each dependent column as a formula in the others.

use super::reduced::Reduced;
use crate::measure::{Formula, rank_tolerance, short_number};
use crate::small::{Columns, norm, solve_upper};
use spanwise_kernels::Matrix;

/// Terms whose part in a formula is below this fraction of the column are rounding, not structure; unless the column would be called
/// constant without them, and is not, or is given to rounding only with them.
const NEGLIGIBLE: f64 = 1e-10;

/// One column written in others: `x[column] = Σ coefficient · x[other] + constant`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Dependency {
    /// The dependent column.
    pub column: usize,
    /// The others: column and coefficient.
    pub terms: Vec<(usize, f64)>,
    /// The constant, which the intercept carries; 0 where there is no intercept.
    pub constant: f64,
    /// The norm of what the formula leaves unexplained, as a fraction of the column's norm.
    pub relative_residual: f64,
    /// Whether short numbers near the coefficients explain the column as well as they do; then those are shown.
    pub exact: bool,
    /// Whether the column is its constant but for a negligible part, which the formula has in full.
    pub(super) nearly_constant: bool,
}

impl Dependency {
    /// The formula in the names of the columns, such as `total = 2·price + tax - 3`. A column without a name is `x[j]`.
    ///
    /// `≈` instead of `=` says that a coefficient is shown rounded and the formula was not verified with it.
    pub fn formula(&self, names: &[&str]) -> String {
        let shown = |c: f64| self.shown(c);
        let terms: Vec<(usize, f64)> = self.terms.iter().map(|&(j, c)| (j, shown(c))).collect();
        let (column, constant) = (self.column, shown(self.constant));
        Formula { column, constant, terms: &terms, exact: self.exact }.written(names)
    }

    /// The same with no more than `most` terms, and how many more there are: `a = b + 2·c + … and 41 more`.
    pub fn short_formula(&self, names: &[&str], most: usize) -> String {
        if self.terms.len() <= most {
            return self.formula(names);
        }
        let shown = Dependency { terms: self.terms[..most].to_vec(), constant: 0.0, ..self.clone() };
        let more = self.terms.len() - most + usize::from(self.constant != 0.0);
        format!("{} + … and {more} more", shown.formula(names))
    }

    /// A coefficient as the formula shows it.
    fn shown(&self, c: f64) -> f64 {
        if self.exact { short_number(c).unwrap_or(c) } else { c }
    }

    /// Whether a row breaks the formula by more than `share` of the sizes of its terms.
    pub(super) fn is_broken(&self, share: f64, value: impl Fn(usize) -> f64) -> bool {
        let (own, constant) = (value(self.column), self.shown(self.constant));
        let (mut left, mut size) = (own - constant, own.abs() + constant.abs());
        for &(j, c) in &self.terms {
            let part = self.shown(c) * value(j);
            left -= part;
            size += part.abs();
        }
        left.abs() > share * size
    }

    /// Whether the formula speaks of column `j`.
    pub(super) fn touches(&self, j: usize) -> bool {
        self.column == j || self.terms.iter().any(|&(i, _)| i == j)
    }
}

/// The dropped terms in the kept ones, as coefficients of the terms as given: `kept × dropped`, by columns.
pub(super) struct Formulas {
    /// For each dropped term, one coefficient a kept term.
    pub coefficients: Vec<Vec<f64>>,
    /// For each, the fraction left unexplained.
    pub residuals: Vec<f64>,
    /// For each, whether short numbers near the coefficients leave no more than rounding either.
    pub exact: Vec<bool>,
    /// For each, whether the ones give it but for a negligible part.
    pub nearly_constant: Vec<bool>,
}

/// Solves for the dropped terms in the kept ones, of which those were dropped that are given to `tolerance`.
pub(super) fn formulas(reduced: &Reduced, kept: &[usize], dropped: &[usize], tolerance: f64) -> Formulas {
    let mut result = Formulas {
        coefficients: Vec::new(),
        residuals: Vec::new(),
        exact: Vec::new(),
        nearly_constant: Vec::new(),
    };
    if dropped.is_empty() {
        return result;
    }
    let mut columns = Columns::of(&reduced.r, 0..reduced.terms());
    for (step, &j) in kept.iter().enumerate() {
        columns.reflect(j, step);
    }
    let r = columns.upper(kept);
    for &j in dropped {
        let term = Term { reduced, kept, j, r: &r, along: &columns.columns[j][..kept.len()] };
        let (a, nearly_constant) = term.expressed(tolerance);
        let left = term.unexplained(&a);
        let short: Option<Vec<f64>> = a.iter().map(|&a| short_number(a)).collect();
        let holds = |short: Vec<f64>| term.unexplained(&short) <= term.allowed(&a);
        result.exact.push(short.is_some_and(holds));
        result.residuals.push(if reduced.norms[j] > 0.0 { left / reduced.norms[j] } else { 0.0 });
        result.coefficients.push(a);
        result.nearly_constant.push(nearly_constant);
    }
    result
}

/// A dropped term, to be expressed in the kept ones.
struct Term<'a> {
    reduced: &'a Reduced,
    kept: &'a [usize],
    j: usize,
    /// The kept terms, scaled and shifted, as a triangle, and the dropped one beside it.
    r: &'a Matrix,
    along: &'a [f64],
}

impl Term<'_> {
    /// The coefficients of the terms as given, without those of rounding; and whether the ones give the term but for a negligible part.
    fn expressed(&self, tolerance: f64) -> (Vec<f64>, bool) {
        let Term { reduced, kept, j, .. } = *self;
        let mut a = self.along.to_vec();
        solve_upper(self.r, &mut a);
        self.unscale(&mut a);
        let (mut shown, fine) = (self.without_small_terms(&a, NEGLIGIBLE), tolerance.min(NEGLIGIBLE));
        // A column far from 0 that follows another: small beside its constant, and above what f64 rounds away.
        let only_ones = reduced.intercept && shown.iter().zip(kept).all(|(&a, &i)| a == 0.0 || i == 0);
        let leaves_more = |a: &[f64]| self.unexplained(a) > tolerance * reduced.norms[j];
        let nearly_constant = only_ones && leaves_more(&shown);
        if leaves_more(&shown) {
            // And where other small terms are no rounding: a constant of 2 beside numbers of 1e12.
            let all = self.without_small_terms(&a, fine);
            if nearly_constant || !leaves_more(&all) {
                shown = all;
            }
        }
        (self.without_rounding(&shown).unwrap_or(shown), nearly_constant)
    }

    /// The same in fewer terms, where some contribute no more than what is left out anyway: of numbers that were stored as f32 that is
    /// far more than what is negligible. `None` where there are none, or the others leave more without them.
    fn without_rounding(&self, a: &[f64]) -> Option<Vec<f64>> {
        let Term { reduced, kept, j, .. } = *self;
        let noise = 10.0 * self.unexplained(a);
        let is_ones = |i: usize| reduced.intercept && i == 0;
        // Beside the ones a term contributes what is left of it without its mean: of one far from 0, the rest is the constant's.
        let centred = |i: usize| reduced.scales[i] * norm(&reduced.r.col(i)[1..]);
        let beyond = |i: usize| if reduced.intercept && i > 0 { centred(i) } else { reduced.norms[i] };
        let is_noise = |place: usize| a[place] != 0.0 && (a[place] * beyond(kept[place])).abs() <= noise;
        if !(0..kept.len()).any(is_noise) {
            return None;
        }
        let matter = |&place: &usize| is_ones(kept[place]) || (a[place] != 0.0 && !is_noise(place));
        let again = self.solved(&(0..kept.len()).filter(matter).collect::<Vec<_>>());
        // Without the constant, if that is rounding too, or with it.
        [noise / reduced.norms[j], NEGLIGIBLE]
            .map(|negligible| self.without_small_terms(&again, negligible.max(NEGLIGIBLE)))
            .into_iter()
            .find(|fewer| self.unexplained(fewer) <= self.allowed(a))
    }

    /// Coefficients of the shifted terms at these places of the kept ones alone; 0 for the others.
    fn solved(&self, places: &[usize]) -> Vec<f64> {
        let mut columns = Columns::of(self.r, places.iter().copied());
        columns.columns.push(self.along.to_vec());
        (0..places.len()).for_each(|step| columns.reflect(step, step));
        let order: Vec<usize> = (0..places.len()).collect();
        let mut some = columns.columns[places.len()][..places.len()].to_vec();
        solve_upper(&columns.upper(&order), &mut some);
        let mut a = vec![0.0; self.kept.len()];
        places.iter().zip(some).for_each(|(&place, value)| a[place] = value);
        self.unscale(&mut a);
        a
    }

    /// Scaled, shifted terms: `x_j − c_j = Σ a_i (D_j/D_i) (x_i − c_i)`, with the ones unshifted.
    fn unscale(&self, a: &mut [f64]) {
        let scales = &self.reduced.scales;
        a.iter_mut().zip(self.kept).for_each(|(a, &i)| *a *= scales[self.j] / scales[i]);
    }

    fn shift(&self, term: usize) -> f64 {
        if self.reduced.intercept && term > 0 { self.reduced.shift[term - 1] } else { 0.0 }
    }

    /// The coefficients `a` of the shifted terms as those of the terms as given, without parts of the term up to `negligible`.
    fn without_small_terms(&self, a: &[f64], negligible: f64) -> Vec<f64> {
        let Term { reduced, kept, j, .. } = *self;
        let is_small = |a: f64, i: usize| (a * reduced.norms[i]).abs() <= negligible * reduced.norms[j];
        let mut a = a.to_vec();
        for (a, &i) in a.iter_mut().zip(kept) {
            if is_small(*a, i) && !(reduced.intercept && i == 0) {
                *a = 0.0;
            }
        }
        if reduced.intercept && kept.first() == Some(&0) {
            let moved: f64 = a.iter().zip(kept).skip(1).map(|(a, &i)| a * self.shift(i)).sum();
            a[0] += self.shift(j) - moved;
            if is_small(a[0], 0) {
                a[0] = 0.0;
            }
        }
        a
    }

    /// The norm of `x[j] − Σ a · x[kept]`, of terms as given.
    fn unexplained(&self, a: &[f64]) -> f64 {
        let Term { reduced, kept, j, .. } = *self;
        let mut rest: Vec<f64> = reduced.r.col(j).iter().map(|x| x * reduced.scales[j]).collect();
        // Of the ones, on top of their own coefficient: what the shifts of the others come to.
        let mut ones = -self.shift(j);
        for (a, &i) in a.iter().zip(kept) {
            rest.iter_mut().zip(reduced.r.col(i)).for_each(|(rest, x)| *rest -= a * x * reduced.scales[i]);
            ones += a * self.shift(i);
        }
        if reduced.intercept {
            rest.iter_mut().zip(reduced.r.col(0)).for_each(|(rest, x)| *rest -= ones * x * reduced.scales[0]);
        }
        norm(&rest)
    }

    /// What other numbers than `a` may leave and still hold: rounding, or twice what `a` leaves.
    fn allowed(&self, a: &[f64]) -> f64 {
        let Term { reduced, kept, j, .. } = *self;
        let size: f64 = a.iter().zip(kept).map(|(a, &i)| (a * reduced.norms[i]).abs()).sum();
        let rounding = rank_tolerance(reduced.terms()) * (reduced.norms[j] + size);
        (2.0 * self.unexplained(a)).max(rounding)
    }
}

/// The formulas as what users see: features by column number, the ones as a constant.
pub(super) fn dependencies(
    formulas: &Formulas,
    intercept: bool,
    kept: &[usize],
    dropped: &[usize],
) -> Vec<Dependency> {
    let first = usize::from(intercept);
    let mut all = Vec::new();
    for (at, &j) in dropped.iter().enumerate() {
        let a = &formulas.coefficients[at];
        if j < first {
            continue; // the ones cannot depend on a feature: they are taken first
        }
        let pairs = || kept.iter().copied().zip(a.iter().copied()).filter(|&(_, a)| a != 0.0);
        all.push(Dependency {
            column: j - first,
            terms: pairs().filter(|&(i, _)| i >= first).map(|(i, a)| (i - first, a)).collect(),
            constant: pairs().find(|&(i, _)| i < first).map_or(0.0, |(_, a)| a),
            relative_residual: formulas.residuals[at],
            exact: formulas.exact[at],
            nearly_constant: formulas.nearly_constant[at],
        });
    }
    all
}
