//! A table with a target, explained.
//!
//! ```text
//!  rows ──► fit ──► rank, dependencies, near-dependencies, digits       trust.rs
//!       ──► triangle ──► inflation, spectrum                            factor.rs
//!       ──► sample ──► squares, products, kernel on rows left out       reach.rs, smooth.rs
//!       ──► residuals, leverage ──► outliers, spread, order             rows.rs
//! ```
//!
//! All rows are read by the fit, the triangle and the residuals. Reach and ridge look at a sample of at most a few
//! thousand rows, leverage beyond 100,000 rows at a sample and at extreme rows; the explanation says so.

mod classes;
mod factor;
mod figures;
mod reach;
mod ridge;
mod rows;
mod smooth;
mod sweep;
#[cfg(test)]
mod tests;
mod trust;
mod words;

use super::random::Random;
use super::{Explanation, Figure, Subject, Table, settled};
use crate::linear::common::{self, conditions};
use crate::linear::{FitFacts, Label, counted};
use factor::Factor;
use reach::{Candidate, SampleRows};
use rows::RowFacts;
use spanwise_kernels::{Matrix, View};
use spanwise_linear::measure::NearDependency;
use spanwise_linear::{LeastSquares, LinearError, LinearFit};
use std::time::Instant;
use trust::Columns;
use words::{computation, noise_finding, structure, verdict};

/// Rows must outnumber terms by this factor, and by [`SPARE_ROWS`], to leave some out.
const ROWS_A_TERM: usize = 2;
const SPARE_ROWS: usize = 10;
/// Structure is worth an alarm where it is this share of what the columns leave.
const WORTH: f64 = 0.1;

/// What is explained.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// Numbers: least squares.
    Numbers(&'a [f64]),
    /// Classes: logistic regression, softmax beyond two.
    Classes(&'a [Label]),
}

/// A table with a target.
#[derive(Clone, Copy)]
pub struct TableInput<'a> {
    /// The file, or what stands for it.
    pub source: &'a str,
    /// The columns after encoding, `n × d`.
    pub x: View<'a, f64>,
    /// The target, `n`.
    pub y: Values<'a>,
    /// Weights, none negative.
    pub weights: Option<&'a [f64]>,
    /// Which rows of the table these are, from 0; all in order where `None`.
    pub index: Option<&'a [u64]>,
    /// Names and settings.
    pub facts: &'a FitFacts,
    /// The command line that makes the explanation again.
    pub command: &'a str,
}

impl TableInput<'_> {
    /// The table's row number, from 1, of a fitted row.
    fn row_number(&self, i: usize) -> u64 {
        1 + self.index.map_or(i as u64, |index| index[i])
    }

    fn subject(&self, classes: Vec<String>, rows: u64) -> Subject {
        Subject::Table {
            source: self.source.to_owned(),
            rows,
            rows_read: self.facts.rows_read,
            columns: self.facts.names.len(),
            target: self.facts.target.clone(),
            classes,
            weights: self.facts.weights.clone(),
            intercept: self.facts.intercept,
        }
    }

    /// `6 columns and an intercept`.
    fn span(&self) -> String {
        let columns = counted(self.facts.names.len(), "column", "columns");
        if self.facts.intercept { format!("{columns} and an intercept") } else { columns }
    }
}

/// Explains a table. `stage` is told what is being done, in a few words, before it is.
///
/// ```
/// use spanwise_kernels::View;
/// use spanwise_lens::explain::{TableInput, Values, explain_table};
/// use spanwise_lens::linear::FitFacts;
///
/// // Twelve rows of a, b and a + b: the third column repeats the others.
/// let x: Vec<f64> = (0..12).flat_map(|i| [f64::from(i), f64::from(i * i), f64::from(i + i * i)]).collect();
/// let y: Vec<f64> = (0..12).map(|i| 3.0 * f64::from(i) + f64::from(i % 3)).collect();
/// let input = TableInput {
///     source: "twelve rows",
///     x: View::new(&x, &[12, 3])?,
///     y: Values::Numbers(&y),
///     weights: None,
///     index: None,
///     facts: &FitFacts::new("y", &["a", "b", "c"], 12),
///     command: "",
/// };
/// let found = explain_table(&input, &mut |_| ())?;
/// assert!(found.findings[0].sentence.contains('c'), "{}", found.findings[0].sentence);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn explain_table(
    input: &TableInput<'_>,
    stage: &mut dyn FnMut(&'static str),
) -> Result<Explanation, LinearError> {
    match input.y {
        Values::Numbers(y) => numbers(input, y, stage),
        Values::Classes(labels) => classes::explain(input, labels, stage),
    }
}

/// Seconds by part.
struct Clock<'a> {
    stage: &'a mut dyn FnMut(&'static str),
    since: Instant,
    part: &'static str,
    seconds: Vec<(String, f64)>,
}

impl<'a> Clock<'a> {
    fn new(stage: &'a mut dyn FnMut(&'static str)) -> Self {
        Clock { stage, since: Instant::now(), part: "", seconds: Vec::new() }
    }

    fn start(&mut self, part: &'static str) {
        self.stop();
        (self.stage)(part);
        (self.part, self.since) = (part, Instant::now());
    }

    fn stop(&mut self) {
        if !self.part.is_empty() {
            self.seconds.push((self.part.to_owned(), self.since.elapsed().as_secs_f64()));
        }
        self.part = "";
    }
}

/// What is known of the columns alone, for both kinds of target.
struct Looked {
    fit: LinearFit,
    factor: Factor,
    kept: Vec<usize>,
    near: Vec<NearDependency>,
    inflation: Vec<f64>,
    inflation_of_all: Vec<f64>,
    condition: (f64, f64),
}

impl Looked {
    fn new(input: &TableInput<'_>, y: &[f64], clock: &mut Clock<'_>) -> Result<Self, LinearError> {
        let intercept = input.facts.intercept;
        clock.start("fit");
        let settings = LeastSquares::new().intercept(intercept).stored_bits(input.facts.bits);
        let fit = match input.weights {
            Some(weights) => settings.fit_weighted(&input.x, y, weights)?,
            None => settings.fit(&input.x, y)?,
        };
        clock.start("columns");
        let factor = Factor::new(&input.x, y, input.weights, &fit)?;
        let d = input.facts.names.len();
        let kept: Vec<usize> = (0..d).filter(|j| !fit.rank().dependent.contains(j)).collect();
        let near = fit.near_dependencies();
        let mut inflation = vec![f64::INFINITY; d];
        for (&j, value) in kept.iter().zip(factor.inflation(&kept, intercept)?) {
            inflation[j] = value;
        }
        let mut inflation_of_all = inflation.clone();
        // Whatever a formula is made of could be left out as well as the column that was.
        for &(j, _) in fit.dependencies().iter().flat_map(|dependency| &dependency.terms) {
            inflation_of_all[j] = f64::INFINITY;
        }
        let condition = conditions(&fit)?;
        Ok(Looked { fit, factor, kept, near, inflation, inflation_of_all, condition })
    }

    fn columns<'a>(&'a self, facts: &'a FitFacts) -> Columns<'a> {
        Columns {
            facts,
            fit: &self.fit,
            factor: &self.factor,
            kept: &self.kept,
            near: &self.near,
            inflation: &self.inflation,
            inflation_of_all: &self.inflation_of_all,
            condition: self.condition,
        }
    }

    /// A sample of rows with standardised columns, those that matter most first; `None` where rows are too few.
    fn sample(
        &self,
        input: &TableInput<'_>,
        y: &dyn Fn(usize) -> f64,
        n: usize,
        without: &[usize],
    ) -> Option<SampleRows> {
        let terms = self.fit.rank().rank;
        if n < ROWS_A_TERM * terms + SPARE_ROWS || self.kept.is_empty() {
            return None;
        }
        let rows = Random::new(3).rows(n, reach::sample_size(self.kept.len()));
        let usable = |&i: &usize| input.weights.is_none_or(|w| w[i] > 0.0) && !without.contains(&i);
        let rows: Vec<usize> = rows.into_iter().filter(usable).collect();
        let mut order = self.kept.clone();
        let size = |j: usize| self.fit.target().coefficients[j].t().abs();
        order.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
        let columns = order
            .into_iter()
            .filter_map(|j| {
                let (mean, deviation) = (self.factor.mean(j), self.factor.deviation(j));
                let standard = |&i: &usize| (input.x.get(&[i, j]).unwrap_or(mean) - mean) / deviation;
                (deviation > 0.0).then(|| (j, rows.iter().map(standard).collect()))
            })
            .collect();
        Some(SampleRows {
            columns,
            y: rows.iter().map(|&i| y(i)).collect(),
            roots: input.weights.map(|w| rows.iter().map(|&i| w[i].sqrt()).collect()),
            intercept: input.facts.intercept,
        })
    }
}

fn numbers(
    input: &TableInput<'_>,
    y: &[f64],
    stage: &mut dyn FnMut(&'static str),
) -> Result<Explanation, LinearError> {
    let mut clock = Clock::new(stage);
    let looked = Looked::new(input, y, &mut clock)?;
    let columns = looked.columns(input.facts);
    let target = looked.fit.target();
    let varies = target.varies();
    let inside_exactly = common::gives_every_row(&looked.fit);

    clock.start("rows");
    let row_number = |i: usize| input.row_number(i);
    let looked_rows = RowFacts::new(&looked.fit, &input.x, y, input.weights)?;
    // One row far off would pass for a curve.
    let odd = rows::few_far_off(&looked_rows, &looked.fit);

    clock.start("reach");
    let sample = if varies && !inside_exactly {
        // In a unit of its own: squares of the target must neither overflow nor vanish.
        looked.sample(input, &|i| looked.factor.kept_target(y[i]), y.len(), &odd)
    } else {
        None
    };
    let (mut reached, mut kernel) = (None, None);
    if let Some(sample) = &sample {
        let (found, folds) = reach::reach(sample);
        reached = Some(found);
        if sample.roots.is_none() {
            kernel = smooth::kernel_gain(sample, &folds)?;
        }
    }
    let structure = reached.as_ref().and_then(|reached| structure(reached, kernel, input.facts));

    clock.start("rows again");
    let terms: Vec<Candidate> = match (&structure, &reached) {
        (Some(_), Some(reached)) => reached.terms.iter().map(|term| term.0).collect(),
        _ => Vec::new(),
    };
    let row_findings = if terms.is_empty() {
        rows::findings(&looked_rows, &looked.fit, &row_number)
    } else {
        // A row is only odd if it is so beside the structure that was found.
        let (fit, facts) = with_terms(input, y, &terms, &looked)?;
        rows::findings(&facts, &fit, &row_number)
    };

    clock.start("ridge");
    let ridge = sample.as_ref().map_or(Ok(None), |sample| ridge::finding(sample, &columns))?;

    clock.start("figures");
    let r_squared = looked.fit.statistics(0).map_or(f64::NAN, |statistics| statistics.r_squared);
    let shares = figures::shares(&columns, r_squared);
    let mut tables = figures::tables(&columns, &shares)?;
    tables.push(sweep::table(&columns)?);
    tables.push(figures::row_table(&looked_rows, &|i| y[i], &row_number));
    // Of a target that does not vary there are no shares.
    let mut drawn: Vec<Figure> =
        varies.then(|| figures::reach(reached.as_ref(), kernel, r_squared, &columns)).into_iter().collect();
    drawn.push(figures::coefficients(&columns)?);
    drawn.extend(figures::dependencies(&columns));
    drawn.push(figures::spectrum(&columns)?);
    drawn.push(shares);
    drawn.extend(figures::rows(&looked_rows, &|i| y[i], &columns, &row_number));
    clock.stop();

    let noise = reached.as_ref().filter(|_| structure.is_none() && varies);
    let noise = noise.map(|reached| noise_finding(reached, input.facts));
    let mut findings = columns.findings();
    findings.extend(structure);
    findings.extend(row_findings);
    findings.extend(ridge);
    findings.extend(noise);
    findings.extend(input.facts.missing());
    let findings = settled(findings, &drawn);
    Ok(Explanation {
        subject: input.subject(Vec::new(), looked.fit.rows()),
        verdict: verdict(input, &columns, &findings, reached.as_ref(), r_squared),
        findings,
        figures: drawn,
        tables,
        computation: computation(
            input,
            &columns,
            None,
            reached.as_ref().map(|reached| (reached, kernel)),
            clock.seconds,
        ),
    })
}

/// The model with its terms, for judging rows.
fn with_terms(
    input: &TableInput<'_>,
    y: &[f64],
    terms: &[Candidate],
    looked: &Looked,
) -> Result<(LinearFit, RowFacts), LinearError> {
    let kept = &looked.kept;
    let value = |i: usize, j: usize| {
        (input.x.get(&[i, j]).unwrap_or(0.0) - looked.factor.mean(j))
            / looked.factor.deviation(j).max(f64::MIN_POSITIVE)
    };
    let wide = Matrix::from_fn(y.len(), kept.len() + terms.len(), |i, c| match c.checked_sub(kept.len()) {
        None => value(i, kept[c]),
        Some(t) => terms[t].of(|j| value(i, j)),
    });
    let settings = LeastSquares::new().intercept(input.facts.intercept);
    let view = wide.view();
    let fit = match input.weights {
        Some(weights) => settings.fit_weighted(&view, y, weights)?,
        None => settings.fit(&view, y)?,
    };
    let facts = RowFacts::new(&fit, &view, y, input.weights)?;
    Ok((fit, facts))
}

/// The figures and tables that need only columns.
fn column_parts(columns: &Columns<'_>) -> Result<(Vec<Figure>, Vec<Table>), LinearError> {
    let shares = figures::shares(columns, f64::NAN);
    let tables = figures::tables(columns, &shares)?;
    let mut drawn: Vec<Figure> = figures::dependencies(columns).into_iter().collect();
    drawn.push(figures::spectrum(columns)?);
    Ok((drawn, tables))
}
