//! What single rows do: outliers, influence, spread and order.

use crate::finding::{Finding, Severity};
use crate::linear::{counted, short};
use spanwise_kernels::{Matrix, View};
use spanwise_linear::fit::least_squares::Influence;
use spanwise_linear::fit::{ChiSquared, Distribution, StudentT};
use spanwise_linear::summary::times_power_of_two;
use spanwise_linear::{LinearError, LinearFit};
use std::borrow::Cow;

/// Up to this many rows each row's leverage is computed; beyond, that of a sample and of extreme rows.
const ALL_ROWS: usize = 100_000;
const SAMPLED: usize = 10_000;
const EXTREME: usize = 100;
/// The chance of one outlier in a table without any.
const OUTLIER_CHANCE: f64 = 1e-3;
/// The chance of calling even spread uneven, or no order one.
const TEST_CHANCE: f64 = 1e-5;
/// At most so many rows are named.
const NAMED: usize = 5;

/// Rows that were looked at one by one.
pub(super) struct RowFacts {
    /// Positions among the fitted rows, rising.
    pub(super) which: Vec<usize>,
    pub(super) fitted: Vec<f64>,
    pub(super) influence: Influence,
    /// Residuals of all rows, in order.
    pub(super) residuals: Vec<f64>,
    /// Fitted values of all rows.
    pub(super) all_fitted: Vec<f64>,
}

impl RowFacts {
    pub(super) fn new(
        fit: &LinearFit,
        x: &View<'_, f64>,
        y: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<Self, LinearError> {
        let all_fitted = fit.predict(x)?.col(0);
        let residuals: Vec<f64> = y.iter().zip(&all_fitted).map(|(y, f)| y - f).collect();
        if y.len() <= ALL_ROWS {
            let influence = fit.influence(x, y, weights, 0)?;
            let fitted = all_fitted.clone();
            return Ok(RowFacts { which: (0..y.len()).collect(), fitted, influence, residuals, all_fitted });
        }
        let which = chosen(x, &residuals);
        let rows = Matrix::from_fn(which.len(), fit.columns(), |i, j| x.get(&[which[i], j]).unwrap_or(0.0));
        let pick = |values: &[f64]| which.iter().map(|&i| values[i]).collect::<Vec<f64>>();
        let weights = weights.map(pick);
        let influence = fit.influence(&rows.view(), &pick(y)[..], weights.as_deref(), 0)?;
        let fitted = pick(&all_fitted);
        Ok(RowFacts { which, fitted, influence, residuals, all_fitted })
    }
}

/// An even sample, the rows with the largest residuals, and those farthest from the middle of the columns.
fn chosen(x: &View<'_, f64>, residuals: &[f64]) -> Vec<usize> {
    let (n, d) = (residuals.len(), x.dims().get(1).copied().unwrap_or(0));
    let mut rows: Vec<usize> = (0..SAMPLED).map(|i| i * n / SAMPLED).collect();
    let sampled = |f: &dyn Fn(usize) -> f64| rows.iter().map(|&i| f(i)).sum::<f64>() / rows.len() as f64;
    let entry = |i: usize, j: usize| x.get(&[i, j]).unwrap_or(0.0);
    let middle: Vec<f64> = (0..d).map(|j| sampled(&|i| entry(i, j))).collect();
    let spread: Vec<f64> = (0..d)
        .map(|j| {
            let variance = sampled(&|i| (entry(i, j) - middle[j]).powi(2));
            if variance > 0.0 { 1.0 / variance } else { 0.0 }
        })
        .collect();
    let far = |i: usize| match x.row(&[i]) {
        Some(row) => row.iter().zip(&middle).zip(&spread).map(|((x, m), s)| (x - m) * (x - m) * s).sum(),
        None => (0..d).map(|j| (entry(i, j) - middle[j]).powi(2) * spread[j]).sum::<f64>(),
    };
    rows.extend(largest(n, EXTREME, |i| residuals[i].abs()));
    rows.extend(largest(n, EXTREME, far));
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// The `count` of `n` with the largest size, in no order.
fn largest(n: usize, count: usize, size: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut best: Vec<(f64, usize)> = Vec::with_capacity(2 * count);
    let mut bar = f64::NEG_INFINITY;
    for i in 0..n {
        let s = size(i);
        if s > bar {
            best.push((s, i));
            if best.len() == 2 * count {
                best.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
                best.truncate(count);
                bar = best[count - 1].0;
            }
        }
    }
    best.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    best.into_iter().take(count).map(|(_, i)| i).collect()
}

/// What rows say; `row_number` turns a position into the table's row number.
pub(super) fn findings(facts: &RowFacts, fit: &LinearFit, row_number: &dyn Fn(usize) -> u64) -> Vec<Finding> {
    let freedom = fit.degrees_of_freedom() as f64;
    let exact = fit.target().is_exact() || fit.target().unexplained() <= 1e-24;
    if freedom < 3.0 || exact {
        return Vec::new();
    }
    let mut all = Vec::new();
    all.extend(outliers(facts, fit, row_number));
    all.extend(leverage(facts, fit, row_number));
    all.extend(uneven_spread(facts));
    all.extend(order_effects(facts));
    all
}

/// The chance of a residual as large as that of row `i` among all rows.
fn chance(facts: &RowFacts, fit: &LinearFit, i: usize) -> f64 {
    let t = facts.influence.externally_studentised[i].abs();
    match StudentT::new(fit.degrees_of_freedom() as f64 - 1.0) {
        Ok(student) if !t.is_nan() => fit.rows() as f64 * 2.0 * student.upper(t),
        _ => 1.0,
    }
}

/// Rows no chance explains, as positions among those looked at, largest residual first.
fn far_off(facts: &RowFacts, fit: &LinearFit) -> Vec<usize> {
    let size = |i: usize| facts.influence.externally_studentised[i].abs();
    // No distribution calls a residual of three deviations an outlier among many.
    let far = |&i: &usize| size(i) > 3.0 && chance(facts, fit, i) < OUTLIER_CHANCE;
    let mut found: Vec<usize> = (0..facts.which.len()).filter(far).collect();
    found.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
    found
}

/// The positions, among all rows, of a few rows so far off that they would pass for structure.
pub(super) fn few_far_off(facts: &RowFacts, fit: &LinearFit) -> Vec<usize> {
    let found = far_off(facts, fit);
    let few = (facts.residuals.len() / 50).max(1);
    if found.len() > few { Vec::new() } else { found.into_iter().map(|i| facts.which[i]).collect() }
}

fn outliers(facts: &RowFacts, fit: &LinearFit, row_number: &dyn Fn(usize) -> u64) -> Vec<Finding> {
    let influence = &facts.influence;
    let chance = |i: usize| chance(facts, fit, i);
    let found = far_off(facts, fit);
    if let Some(&worst) = found.first() {
        let cook = found.iter().map(|&i| influence.cooks_distance[i]).fold(0.0, f64::max);
        let severity = if cook > 1.0 { Severity::Serious } else { Severity::Caution };
        let moved =
            if cook > 1.0 { ", and moves the coefficients: Cook's distance " } else { "; Cook's distance " };
        let others = if found.len() > 1 {
            format!(" ({} in all)", counted(found.len(), "row", "rows"))
        } else {
            String::new()
        };
        let sentence = format!(
            "{} {} away from the model by {} standard deviations{others}{moved}{}",
            rows_in_words(&found, facts, row_number),
            if found.len() > 1 { "lie" } else { "lies" },
            short(influence.externally_studentised[worst].abs()),
            short(cook),
        );
        let certificate = format!(
            "studentised without the row itself; the chance of one such row among {} is {}",
            fit.rows(),
            short(chance(worst))
        );
        return vec![
            Finding::new(severity, sentence)
                .named("outlier")
                .advised("check how the row was recorded; fit once without it and compare")
                .certified(certificate)
                .evident("row", row_number(facts.which[worst]) as f64)
                .evident("studentised residual", influence.externally_studentised[worst])
                .evident("Cook's distance", cook)
                .evident("leverage", influence.leverage[worst])
                .shown("residuals-leverage"),
        ];
    }
    let worst = (0..facts.which.len())
        .fold(0, |a, b| if influence.cooks_distance[b] > influence.cooks_distance[a] { b } else { a });
    let cook = influence.cooks_distance.get(worst).copied().unwrap_or(0.0);
    if cook <= 1.0 || cook.is_nan() {
        return Vec::new();
    }
    let row = row_number(facts.which[worst]);
    let sentence = format!("row {row} alone moves the coefficients: its Cook's distance is {}", short(cook));
    vec![
        Finding::new(Severity::Caution, sentence)
            .named("influential-row")
            .advised("fit once without it and compare")
            .certified("a distance of 1 moves the coefficients to the edge of their joint confidence region")
            .evident("row", row as f64)
            .evident("Cook's distance", cook)
            .evident("leverage", influence.leverage[worst])
            .shown("residuals-leverage"),
    ]
}

fn rows_in_words(found: &[usize], facts: &RowFacts, row_number: &dyn Fn(usize) -> u64) -> String {
    let numbers: Vec<String> =
        found.iter().take(NAMED).map(|&i| row_number(facts.which[i]).to_string()).collect();
    format!("row{} {}", if found.len() > 1 { "s" } else { "" }, numbers.join(", "))
}

fn leverage(facts: &RowFacts, fit: &LinearFit, row_number: &dyn Fn(usize) -> u64) -> Option<Finding> {
    let heavy: Vec<usize> = (0..facts.which.len()).filter(|&i| facts.influence.leverage[i] > 0.95).collect();
    let &first = heavy.first()?;
    if fit.rows() < 2 * fit.rank().rank as u64 {
        return None; // few rows: said elsewhere
    }
    let sentence = format!(
        "{} {} by itself what the model says there: leverage {} of 1",
        rows_in_words(&heavy, facts, row_number),
        if heavy.len() > 1 { "decide each" } else { "decides" },
        short(facts.influence.leverage[first])
    );
    Some(
        Finding::new(Severity::Caution, sentence)
            .named("lone-row")
            .advised("no other row is like it: its coefficient rests on one measurement")
            .certified("the diagonal of the hat matrix")
            .evident("leverage", facts.influence.leverage[first])
            .shown("leverage"),
    )
}

/// After Koenker: n times the squared correlation of r² with the fitted values is χ² with one degree of freedom.
fn uneven_spread(facts: &RowFacts) -> Option<Finding> {
    let (fitted, _) = in_reach(&facts.all_fitted);
    let (r, unit) = in_reach(&facts.residuals);
    let n = r.len() as f64;
    let squares: Vec<f64> = r.iter().map(|r| r * r).collect();
    let correlation = correlation(&fitted, &squares);
    let chance = ChiSquared::new(1.0).ok()?.upper(n * correlation * correlation);
    let mut order: Vec<usize> = (0..r.len()).collect();
    let third = r.len() / 3;
    if third < 5 || chance > TEST_CHANCE {
        return None;
    }
    order.sort_unstable_by(|&a, &b| fitted[a].total_cmp(&fitted[b]));
    let spread = |part: &[usize]| (part.iter().map(|&i| squares[i]).sum::<f64>() / part.len() as f64).sqrt();
    let (low, high) = (spread(&order[..third]), spread(&order[order.len() - third..]));
    let ratio = if high > low { high / low } else { low / high };
    if ratio < 1.5 {
        return None;
    }
    let sentence = format!(
        "errors are {} times larger where predictions are {}: standard errors and intervals do not hold",
        short(ratio),
        if high > low { "high" } else { "low" }
    );
    Some(
        Finding::new(Severity::Caution, sentence)
            .named("uneven-spread")
            .advised("weight the rows, or explain the logarithm of the target")
            .certified(format!(
                "squared residuals against fitted values; by chance with probability {}",
                short(chance)
            ))
            .evident("residual deviation, lowest third of predictions", low * unit)
            .evident("residual deviation, highest third", high * unit)
            .shown("scale-location"),
    )
}

/// Neighbours that err alike: the first autocorrelation of the residuals.
fn order_effects(facts: &RowFacts) -> Option<Finding> {
    let (r, _) = in_reach(&facts.residuals);
    let n = r.len() as f64;
    if r.len() < 20 {
        return None;
    }
    let squares: f64 = r.iter().map(|r| r * r).sum();
    let neighbours: f64 = r.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let (first, steps) =
        (neighbours / squares, r.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum::<f64>());
    let chance = ChiSquared::new(1.0).ok()?.upper(n * first * first);
    if !(chance < TEST_CHANCE && first.abs() > 0.1) {
        return None;
    }
    let sentence = format!(
        "rows are not independent: errors of neighbouring rows correlate by {}, so standard errors are {}",
        short(first),
        if first > 0.0 { "too small" } else { "too large" }
    );
    Some(
        Finding::new(Severity::Caution, sentence)
            .named("order-effects")
            .advised("if rows are ordered in time, add time or lagged columns")
            .certified(format!(
                "by chance with probability {}; Durbin-Watson {}",
                short(chance),
                short(steps / squares)
            ))
            .evident("first autocorrelation", first)
            .evident("Durbin-Watson", steps / squares),
    )
}

/// Values in a unit, a power of two and mostly 1, in which their squares' squares neither overflow nor vanish; and the unit.
fn in_reach(values: &[f64]) -> (Cow<'_, [f64]>, f64) {
    let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    if largest == 0.0 || !largest.is_finite() || (1e-60..1e60).contains(&largest) {
        return (Cow::Borrowed(values), 1.0);
    }
    let exponent = (largest.log2().floor() as i32).clamp(-1020, 1020);
    let kept = values.iter().map(|&value| times_power_of_two(value, -exponent)).collect();
    (Cow::Owned(kept), f64::from(exponent).exp2())
}

pub(super) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let (ma, mb) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x - ma, y - mb);
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    if aa > 0.0 && bb > 0.0 { ab / (aa * bb).sqrt() } else { 0.0 }
}
