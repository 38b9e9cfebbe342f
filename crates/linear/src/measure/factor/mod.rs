//! A table's columns as one small triangle, made in one pass, on which all else about columns is measured.
//!
//! ```text
//! [1, X, Y] = Q R      lengths, angles and combinations of the columns of R are those of [1, X, Y]
//! ```
//!
//! What is known of a column besides (which rows it is large in, say) is lost; norms that are sums of magnitudes are gathered
//! beside it. Rows that are in memory are factored as they lie; rows that come in batches go through a
//! [`SummaryStream`](crate::SummaryStream), so that a table of any length takes the memory of its columns' triangle.

mod stream;
#[cfg(test)]
mod tests;

pub use stream::FactorStream;

use super::angles::{basis, between, between_spaces};
use super::collinearity::{condition_indices_of, factor_of, inflation_of};
use super::norms::AbsoluteSums;
use super::{
    Condition, ConditionIndices, Dependency, EffectiveRank, Independent, Inflation, MatrixNorms,
    NearDependency, Orthogonality, Rank, SpanMembership,
};
use super::{condition, dependencies, effective_rank, is_inflated, orthogonality, rank, span};
use crate::check::{Argument, argument};
use crate::dense::{
    self, Reflectors, column_norms, compensated, leading_columns, load_rows, multiply_transposed, norm,
    norm_inf, power_of_two_near, r_factor_of_rows, unit_columns,
};
use crate::summary::times_power_of_two;
use crate::{Extent, LinearError, Summary};
use spanwise_kernels::{Element, Matrix, View};
use std::ops::Range;

const X: Argument = argument("measure", "X");
const Y: Argument = argument("measure", "Y");

/// The columns X of a table (n × p), and others Y (n × t) to compare with them, reduced to a triangle.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_linear::measure::FactorStream;
///
/// // Two batches of rows, of which nothing is kept but the triangle.
/// let mut stream = FactorStream::new(2, 0);
/// let nothing = View::new(&[], &[2, 0])?;
/// stream.push(View::new(&[1.0, 3.0, 5.0, 7.0], &[2, 2])?, nothing)?;
/// stream.push(View::new(&[2.0, 4.0, 8.0, 10.0], &[2, 2])?, nothing)?;
/// let factor = stream.finish()?;
/// assert_eq!(factor.rank().rank, 2);
/// let formula = factor.dependencies(true, None)?[0].formula(&["price", "gross"]);
/// assert_eq!(formula, "gross = price + 2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Factor {
    /// The factor of [1, X], (p + 1) × (p + 1).
    with_ones: Matrix,
    /// The factor of [X, Y], k × (p + t).
    joint: Matrix,
    /// The factor of [1, X, Y], k × (1 + p + t).
    whole: Matrix,
    /// Singular values of X: min(n, p).
    singular_values: Vec<f64>,
    /// The same with columns of length 1.
    unit_singular_values: Vec<f64>,
    sums: AbsoluteSums,
    rows: usize,
    precision: f64,
    /// The same of Y.
    others_precision: f64,
}

/// Two columns and the angle between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnAngle {
    /// The first column.
    pub first: usize,
    /// The second, after it.
    pub second: usize,
    /// From 0 to π.
    pub angle: f64,
    /// The same after each column's mean is subtracted: its cosine is their correlation. `None` where one is constant.
    pub centred: Option<f64>,
}

/// Principal angles between the columns and others, and how many directions each side has.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanAngles {
    /// Smallest first, as many as the smaller rank.
    pub angles: Vec<f64>,
    /// The rank of the columns, and of the others.
    pub ranks: (usize, usize),
    /// An angle whose sine is at most this counts as 0.
    pub tolerance: f64,
}

impl Factor {
    /// Of rows that are in memory: `x` (n × p) and `y` (n × t), neither empty but for t = 0. Shorter types than f64 are
    /// converted tile by tile, and count as [`Factor::stored_bits`] has it.
    pub fn of<T: Element, U: Element>(x: View<'_, T>, y: View<'_, U>) -> Result<Self, LinearError> {
        X.not_empty(&x)?;
        let ((n, p), (m, t)) = (X.matrix(&x)?, Y.matrix(&y)?);
        Y.fits(Extent::Rows(m), "X", Extent::Rows(n))?;
        let with_ones = factor_of(&x, true)?;
        // Of [X, Y], after as many columns of ones.
        let beside = |ones: usize| {
            let width = ones + p + t;
            r_factor_of_rows(n, width, |start, tile| {
                let rows = tile.len() / width;
                let (mut left, mut right) = (vec![0.0; rows * p], vec![0.0; rows * t]);
                load_rows(X, &x, start, &mut left)?;
                load_rows(Y, &y, start, &mut right)?;
                for (i, to) in tile.chunks_exact_mut(width).enumerate() {
                    to[..ones].fill(1.0);
                    to[ones..ones + p].copy_from_slice(&left[i * p..(i + 1) * p]);
                    to[ones + p..].copy_from_slice(&right[i * t..(i + 1) * t]);
                }
                Ok(())
            })
        };
        let joint = beside(0)?;
        let whole = if t == 0 { with_ones.clone() } else { beside(1)? };
        let mut sums = AbsoluteSums::new(p);
        add_rows(&mut sums, &x)?;
        let factor = Factor::finished([with_ones, joint, whole], sums, n)?;
        Ok(factor.stored_bits(T::DTYPE.bits()).others_stored_bits(U::DTYPE.bits()))
    }

    /// Of the rows that a summary has seen: its targets are Y.
    fn of_summary(summary: &Summary, sums: AbsoluteSums) -> Result<Self, LinearError> {
        let (p, k) = (summary.columns(), summary.columns() + summary.targets());
        let (triangle, shift, exponents) = (summary.triangle(), summary.shift(), summary.exponents());
        // The columns as given: the shift is back in the row of the ones, the power of two taken out.
        let at = |i: usize, j: usize| -> f64 {
            if j == 0 || i > j {
                return if i <= j { triangle.at(i, j) } else { 0.0 };
            }
            let back = |x: f64| times_power_of_two(x, -exponents[j - 1]);
            let moved = if i == 0 { triangle.at(0, 0) * shift[j - 1] } else { 0.0 };
            back(triangle.at(i, j)) + moved
        };
        let with_ones = Matrix::from_fn(p + 1, p + 1, at);
        // Without the ones: their row is one row more of what is left.
        let stack = Matrix::from_fn(k + 1, k, |i, j| at(i, j + 1));
        let joint = Reflectors::of_rows(stack.as_slice(), k).r();
        let whole = Matrix::from_fn(k + 1, k + 1, at);
        Factor::finished([with_ones, joint, whole], sums, summary.rows() as usize)
    }

    /// Of the factors of [1, X], [X, Y] and [1, X, Y].
    fn finished(factors: [Matrix; 3], sums: AbsoluteSums, rows: usize) -> Result<Self, LinearError> {
        if factors.iter().flat_map(Matrix::as_slice).any(|x| !x.is_finite()) {
            return Err(LinearError::Overflow { operation: X.operation, argument: X.name });
        }
        let [with_ones, joint, whole] = factors;
        let p = with_ones.cols() - 1;
        let plain = leading_columns(&joint, p);
        let values = |x: &Matrix| -> Result<Vec<f64>, LinearError> {
            let failed = |_| LinearError::Unconverged { operation: X.operation, argument: X.name };
            let mut values = dense::singular_values(x).map_err(failed)?;
            // Of fewer rows than columns a summary has more: rounding.
            values.truncate(rows.min(p));
            Ok(values)
        };
        Ok(Factor {
            singular_values: values(&plain)?,
            unit_singular_values: values(&unit_columns(&plain).0)?,
            with_ones,
            joint,
            whole,
            sums,
            rows,
            precision: f64::EPSILON / 2.0,
            others_precision: f64::EPSILON / 2.0,
        })
    }

    /// The numbers of X had this many binary digits before they became f64, such as 24 of f32: a column that others give to that rounding, or
    /// to that of f32 where it is coarser, is dependent.
    #[must_use]
    pub fn stored_bits(self, bits: u32) -> Self {
        Factor { precision: rank::stored_precision(bits), ..self }
    }

    /// The same of Y: it decides with X's whether a vector lies in the span of X and whether an angle is 0, and nothing about X alone.
    #[must_use]
    pub fn others_stored_bits(self, bits: u32) -> Self {
        Factor { others_precision: rank::stored_precision(bits), ..self }
    }

    /// Of what X and Y are asked together.
    fn common_precision(&self) -> f64 {
        self.precision.max(self.others_precision)
    }

    /// How many rows there were.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns X has.
    pub fn columns(&self) -> usize {
        self.with_ones.cols() - 1
    }

    /// The columns of X as seen in the triangle (k × p): their lengths and angles are those of X.
    fn plain(&self) -> Matrix {
        leading_columns(&self.joint, self.columns())
    }

    /// The square factor of the columns, after the ones where `intercept`.
    fn square(&self, intercept: bool) -> Matrix {
        if intercept {
            return self.with_ones.clone();
        }
        // Below row p of the factor of [X, Y] the columns of X are 0.
        let p = self.columns();
        Matrix::from_fn(p, p, |i, j| if i < self.joint.rows() { self.joint[(i, j)] } else { 0.0 })
    }

    /// See [`rank`](super::rank()).
    pub fn rank(&self) -> Rank {
        rank::of_singular_values(self.unit_singular_values.clone(), self.columns(), self.precision)
    }

    /// See [`condition`](super::condition()).
    pub fn condition(&self) -> Result<Condition, LinearError> {
        condition::of_singular_values(X, &self.singular_values, &self.unit_singular_values)
    }

    /// See [`matrix_norms`](super::matrix_norms).
    pub fn norms(&self) -> MatrixNorms {
        MatrixNorms {
            frobenius: norm(self.plain().as_slice()),
            spectral: self.singular_values.first().copied().unwrap_or(0.0),
            one: self.sums.one(),
            inf: self.sums.inf(),
        }
    }

    /// The Euclidean length of each column of X (p).
    pub fn lengths(&self) -> Vec<f64> {
        column_norms(&self.plain())
    }

    /// See [`inflation`](super::inflation).
    pub fn inflation(&self, intercept: bool) -> Result<Inflation, LinearError> {
        inflation_of(&self.square(intercept), intercept, self.precision)
    }

    /// See [`condition_indices`](super::condition_indices).
    pub fn condition_indices(&self, intercept: bool) -> Result<ConditionIndices, LinearError> {
        condition_indices_of(&self.square(intercept), intercept, self.precision)
    }

    /// What may be left of a column for it to count as dependent where no other `tolerance` is given.
    pub fn dependency_tolerance(&self, tolerance: Option<f64>) -> Result<f64, LinearError> {
        dependencies::checked_tolerance(self.columns(), self.precision, tolerance)
    }

    /// See [`dependencies`](super::dependencies()).
    pub fn dependencies(
        &self,
        intercept: bool,
        tolerance: Option<f64>,
    ) -> Result<Vec<Dependency>, LinearError> {
        let tolerance = self.dependency_tolerance(tolerance)?;
        Ok(dependencies::of_factor(&self.square(intercept), intercept, tolerance))
    }

    /// Columns that others almost give, each with its formula, among those that are not `dependent`: up to eight of 500 columns,
    /// fewer of more, one from 800 on. `inflation` is that of all columns, as [`inflation`](Self::inflation) gives it.
    /// Columns it does not have are taken for inflated.
    pub fn near_dependencies(
        &self,
        intercept: bool,
        dependent: &[usize],
        inflation: &Inflation,
    ) -> Vec<NearDependency> {
        let numbers: Vec<usize> = (0..self.columns()).filter(|j| !dependent.contains(j)).collect();
        // Among fewer columns none is inflated more, unless by rounding. An infinite one says nothing of what it is without the dependent.
        let may_be_inflated = |&j: &usize| {
            let inflated =
                |vif: &f64| !vif.is_finite() || is_inflated(2.0 * vif, self.rows as u64, numbers.len());
            inflation.vif.get(j).is_none_or(inflated)
        };
        if !numbers.iter().any(may_be_inflated) {
            return Vec::new();
        }
        let (square, first) = (self.square(intercept), usize::from(intercept));
        let mean = |&j: &usize| if intercept { square[(0, j + 1)] / square[(0, 0)] } else { 0.0 };
        let independent = Independent {
            columns: Matrix::from_fn(square.rows() - first, numbers.len(), |i, j| {
                square[(i + first, numbers[j] + first)]
            }),
            means: numbers.iter().map(mean).collect(),
            exponents: vec![0; numbers.len()],
            rows: self.rows as u64,
            weight: self.rows as f64,
            numbers,
        };
        independent.near_dependencies()
    }

    /// See [`effective_rank`](super::effective_rank()).
    pub fn effective_rank(&self) -> Result<EffectiveRank, LinearError> {
        effective_rank::of_singular_values(&self.singular_values)
    }

    /// See [`orthogonality`](super::orthogonality()).
    pub fn orthogonality(&self) -> Orthogonality {
        orthogonality::of_factor(&self.plain(), self.precision)
    }

    /// The `most` pairs of columns that are nearest to lying on one line (at 0 or π to each other), nearest first. A column of zeros has
    /// no direction and is in no pair.
    pub fn column_angles(&self, most: usize) -> Vec<ColumnAngle> {
        let (unit, lengths) = unit_columns(&self.plain());
        let p = self.columns();
        let cosines = multiply_transposed(&unit, &unit);
        let rounding = f64::EPSILON * unit.rows().max(8) as f64;
        let mut nearest: Vec<(f64, usize, usize)> = Vec::new();
        let mut room = most.saturating_mul(2);
        let keep = |pairs: &mut Vec<(f64, usize, usize)>| {
            // The earlier of equals, so that the answer does not depend on how the rest was cut.
            pairs.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            // To rounding all small angles have one cosine: which of them is smaller is not decided here.
            match most.checked_sub(1).map(|last| pairs.get(last).map(|pair| pair.0)) {
                None => pairs.clear(),
                Some(Some(last)) => pairs.retain(|pair| pair.0 >= last - rounding),
                Some(None) => {}
            }
        };
        for i in (0..p).filter(|&i| lengths[i] > 0.0) {
            let others = (i + 1..p).filter(|&j| lengths[j] > 0.0);
            nearest.extend(others.map(|j| (cosines[(i, j)].abs(), i, j)));
            if nearest.len() > room {
                keep(&mut nearest);
                room = most.max(nearest.len()).saturating_mul(2);
            }
        }
        keep(&mut nearest);
        let centred = self.centred();
        let angle = |&(_, first, second): &(f64, usize, usize)| {
            let both = centred[first].as_ref().zip(centred[second].as_ref());
            Some(ColumnAngle {
                first,
                second,
                angle: between(&unit.col(first), &unit.col(second))?,
                centred: both.and_then(|(a, b)| between(a, b)),
            })
        };
        let mut all: Vec<ColumnAngle> = nearest.iter().filter_map(angle).collect();
        let from_line = |found: &ColumnAngle| found.angle.min(std::f64::consts::PI - found.angle);
        // A cosine does not tell the smallest angles apart; they themselves do.
        all.sort_by(|a, b| {
            from_line(a).total_cmp(&from_line(b)).then((a.first, a.second).cmp(&(b.first, b.second)))
        });
        all.truncate(most);
        all
    }

    /// Each column without its mean (p long); `None` for one of which nothing but rounding is left.
    fn centred(&self) -> Vec<Option<Vec<f64>>> {
        let p = self.columns();
        let tolerance = super::rank_tolerance_of(p, self.precision);
        let column = |j: usize| {
            let whole = self.with_ones.col(j + 1);
            (norm(&whole[1..]) > tolerance * norm(&whole)).then(|| whole[1..].to_vec())
        };
        (0..p).map(column).collect()
    }

    /// See [`span_membership`](super::span_membership): whether column `q` of Y lies in the span of X. The part outside, and
    /// how orthogonal it is, are those of the triangle; of the rows [`cosine_outside`](Self::cosine_outside) says it.
    ///
    /// # Panics
    /// Where Y has no such column.
    pub fn span_membership(&self, q: usize) -> Result<SpanMembership, LinearError> {
        let v = self.joint.col(self.columns() + q);
        span::membership(&self.plain(), &v, self.precision, self.common_precision())
    }

    /// The same with a constant beside the columns, whose coefficient comes first.
    ///
    /// # Panics
    /// Where Y has no such column.
    pub fn span_membership_with_constant(&self, q: usize) -> Result<SpanMembership, LinearError> {
        let with_ones = leading_columns(&self.whole, self.columns() + 1);
        let v = self.whole.col(self.columns() + 1 + q);
        span::membership(&with_ones, &v, self.precision, self.common_precision())
    }

    /// The largest magnitude of a cosine between a column and `v - X · coefficients`, computed on the rows `x` (n × p) that the factor is
    /// of, with `v` (n) and `coefficients` (p); `None` where nothing is left of `v`.
    pub fn cosine_outside(
        &self,
        x: View<'_, f64>,
        v: &[f64],
        coefficients: &[f64],
    ) -> Result<Option<f64>, LinearError> {
        let (n, p) = X.matrix(&x)?;
        X.fits(Extent::Columns(p), "coefficients", Extent::Length(coefficients.len()))?;
        argument("measure", "v").fits(Extent::Length(v.len()), "X", Extent::Rows(n))?;
        let (lengths, unit) = (self.lengths(), power_of_two_near(norm_inf(v)));
        let (mut row, mut products, mut left) = (vec![0.0; p], vec![0.0; p], Vec::with_capacity(n));
        for (i, &v) in v.iter().enumerate() {
            load_rows(X, &x, i, &mut row)?;
            let inside = row.iter().map(|x| -x);
            let outside = compensated::dot(v, inside, coefficients.iter().copied()) / unit;
            left.push(outside);
            for ((sum, x), &length) in products.iter_mut().zip(&row).zip(&lengths) {
                *sum += if length > 0.0 { x / length * outside } else { 0.0 };
            }
        }
        let size = norm(&left);
        Ok((size > 0.0).then(|| norm_inf(&products) / size))
    }

    /// See [`principal_angles`](super::principal_angles): between the span of X and that of columns `others` of Y.
    ///
    /// # Panics
    /// Where Y has no such columns.
    pub fn span_angles(&self, others: Range<usize>) -> Result<SpanAngles, LinearError> {
        let p = self.columns();
        let y =
            Matrix::from_fn(self.joint.rows(), others.len(), |i, j| self.joint[(i, p + others.start + j)]);
        let (a, b) = (basis(&self.plain(), self.precision)?, basis(&y, self.others_precision)?);
        Ok(SpanAngles {
            angles: between_spaces(&a, &b)?,
            ranks: (a.cols(), b.cols()),
            tolerance: super::rank_tolerance_of(p + others.len(), self.common_precision()),
        })
    }
}

fn add_rows<T: Element>(sums: &mut AbsoluteSums, x: &View<'_, T>) -> Result<(), LinearError> {
    let (n, p) = X.matrix(x)?;
    let mut row = vec![0.0; p];
    for i in 0..n {
        load_rows(X, x, i, &mut row)?;
        sums.add(&row);
    }
    Ok(())
}
