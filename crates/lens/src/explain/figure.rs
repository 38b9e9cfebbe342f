//! What figures show, as numbers. Drawing is elsewhere.

use crate::array::numbers;
use crate::number;
use serde::Serialize;

/// A figure: what it is called, what it says, and its numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Unique in its explanation, in kebab case; findings point here.
    pub id: &'static str,
    /// A few words.
    pub title: String,
    /// What to see in it, in a sentence or two.
    pub caption: String,
    /// What is drawn.
    #[serde(flatten)]
    pub kind: FigureKind,
}

/// What a figure draws. In JSON the field `kind` tells which.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FigureKind {
    /// Singular values, largest first, on a logarithmic axis.
    Spectrum(Spectrum),
    /// Coefficients with their intervals and trust.
    Coefficients(Coefficients),
    /// Which columns depend on which.
    Dependencies(Dependencies),
    /// What of the target is inside the span, what further terms reach, and what is beyond.
    Reach(Reach),
    /// Residuals against fitted values.
    ResidualsFitted(Scatter),
    /// Sorted studentised residuals against quantiles of the normal distribution.
    QuantileQuantile(Scatter),
    /// The square root of the size of studentised residuals against fitted values.
    ScaleLocation(Scatter),
    /// Studentised residuals against leverage, with curves of Cook's distance.
    ResidualsLeverage(Scatter),
    /// Actual values against predicted ones; for two classes, probabilities by class.
    PredictedActual(Scatter),
    /// The leverage of each row in order.
    Leverage(Scatter),
    /// What each column adds beyond the others.
    Shares(Shares),
    /// One small map per head.
    Heads(Heads),
    /// Entropy per layer and head.
    Entropy(Entropy),
    /// What each key receives, head by head.
    Received(Received),
    /// One large map of weights.
    Map(HeadMap),
    /// Values and outputs in the plane of the values' first two principal directions.
    Hull(Hull),
}

/// Singular values of the columns scaled to length 1, the intercept among them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spectrum {
    /// Largest first.
    #[serde(serialize_with = "numbers")]
    pub singular_values: Vec<f64>,
    /// For each: the columns that direction mainly consists of, in words; empty where many take part.
    pub names: Vec<String>,
    /// A value of at most this share of the largest counts as zero.
    #[serde(serialize_with = "number")]
    pub tolerance: f64,
    /// The band around the tolerance: where the rank would be doubtful.
    pub band: (f64, f64),
    /// How many count as not zero.
    pub rank: usize,
}

/// Coefficients, the intercept first where there is one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Coefficients {
    /// One per term.
    pub rows: Vec<CoefficientRow>,
    /// Of the intervals, such as 0.95.
    pub confidence: f64,
    /// What `effect` is measured in: the target's name, or `log-odds of …`.
    pub unit: String,
}

/// One coefficient.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CoefficientRow {
    /// `intercept`, or the column.
    pub name: String,
    /// In units of the target per unit of the column.
    #[serde(serialize_with = "number")]
    pub value: f64,
    /// Lower end of the interval; `None` where there is no interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What a standard deviation of the column does to the target, which makes columns comparable. `None` for the
    /// intercept. Its interval is `low` and `high` times the same factor, `effect_scale`.
    pub effect: Option<f64>,
    /// The standard deviation of the column; `None` for the intercept.
    pub effect_scale: Option<f64>,
    /// Decimal digits of the value that can be trusted.
    pub digits: Option<f64>,
    /// Why the coefficient means nothing by itself; `None` where it does.
    pub meaningless: Option<String>,
}

/// Formulas among columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Dependencies {
    /// The columns that occur, in the table's order.
    pub columns: Vec<String>,
    /// The formulas.
    pub formulas: Vec<Formula>,
}

/// `left = constant + Σ coefficient · column`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Formula {
    /// The column that is expressed in the others.
    pub left: String,
    /// Coefficient and column; may be empty for a constant column.
    pub terms: Vec<(f64, String)>,
    /// The constant.
    #[serde(serialize_with = "number")]
    pub constant: f64,
    /// What the formula leaves: of an exact one the share of the column's length, of a near one the share of its
    /// standard deviation.
    #[serde(serialize_with = "number")]
    pub size: f64,
    /// Whether it holds to rounding.
    pub exact: bool,
    /// The formula as a line of text.
    pub text: String,
}

/// Shares of the target's variation that add up to 1, each beyond those before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reach {
    /// By the columns as they are.
    pub inside: f64,
    /// By squares and cubes of single columns, beyond that; `None` where it was not tried.
    pub squares: Option<f64>,
    /// By products of two columns, beyond that.
    pub interactions: Option<f64>,
    /// By a kernel fit, beyond that.
    pub kernel: Option<f64>,
    /// By nothing that was tried.
    pub beyond: f64,
    /// Whether shares were measured on rows left out of the fit, and not on the rows it was fitted to.
    pub held_out: bool,
    /// Rows the shares were measured on.
    pub rows: usize,
    /// The few terms that bring most, each with the held-out share it adds.
    pub terms: Vec<ReachTerm>,
    /// What is shared out: `variation of y`, or `deviance`.
    pub of: String,
}

/// A term that reaches further.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReachTerm {
    /// Such as `a²` or `a·b`, in column names.
    pub name: String,
    /// The share of the target's variation it adds.
    #[serde(serialize_with = "number")]
    pub gain: f64,
}

/// Points, with what helps to read them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Scatter {
    /// The horizontal axis, in words, with unit.
    pub x: String,
    /// The vertical axis, in words, with unit.
    pub y: String,
    /// At most a few thousand: all rows, or an even sample in which extreme rows are kept.
    pub points: Vec<Point>,
    /// How many rows there are.
    pub of: usize,
    /// A smooth line through all rows, from left to right; may be empty.
    pub smooth: Vec<(f64, f64)>,
    /// Straight lines to compare with, in words and as `y = offset + slope · x`.
    pub lines: Vec<Rule>,
    /// Levels of Cook's distance to draw as curves `y = ±√(level · terms · (1 − x) / x)`; residuals against leverage only.
    pub cook: Vec<f64>,
    /// How many terms the model has.
    pub terms: usize,
}

/// A row of the table as a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Along the horizontal axis.
    #[serde(serialize_with = "number")]
    pub x: f64,
    /// Along the vertical axis.
    #[serde(serialize_with = "number")]
    pub y: f64,
    /// The row of the table, counted from 1 below the header.
    pub row: u64,
    /// Whether it is worth a label.
    pub marked: bool,
}

/// A line to compare with.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rule {
    /// What it means.
    pub name: String,
    /// `y` where `x` is 0.
    pub offset: f64,
    /// 0 for a level.
    pub slope: f64,
}

/// What each column adds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// One per column, in the table's order.
    pub rows: Vec<ShareRow>,
    /// R² of all columns together.
    pub together: f64,
}

/// What one column adds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ShareRow {
    /// The column.
    pub column: String,
    /// R² of the column alone.
    #[serde(serialize_with = "number")]
    pub alone: f64,
    /// R² lost when the column is left out.
    #[serde(serialize_with = "number")]
    pub beyond: f64,
    /// The share of the column's own variation that lies outside the span of the others: `1 / VIF`.
    #[serde(serialize_with = "number")]
    pub own: f64,
}

/// Small maps, one per head.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Heads {
    /// The heads, at most a few dozen. Heads of different layers may have maps of different shapes.
    pub heads: Vec<HeadMap>,
    /// How many heads there are.
    pub of: usize,
}

/// The map of one head.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeadMap {
    /// Such as `head 3`, or `batch 0, head 3`.
    pub label: String,
    /// Batch entry, from 0.
    pub batch: usize,
    /// Query head, from 0.
    pub head: usize,
    /// Cells along the queries.
    pub rows: usize,
    /// Cells along the keys.
    pub cols: usize,
    /// Queries.
    pub queries: usize,
    /// Keys.
    pub keys: usize,
    /// Batch entries that a cell is the mean of.
    pub entries: usize,
    /// `rows × cols` mean weights, row after row.
    #[serde(serialize_with = "numbers")]
    pub mean: Vec<f64>,
    /// `rows × cols` largest weights.
    #[serde(serialize_with = "numbers")]
    pub max: Vec<f64>,
    /// Mean entropy of its rows as a share of a uniform row's.
    #[serde(serialize_with = "number")]
    pub entropy: f64,
}

impl HeadMap {
    /// Queries and keys to a cell.
    pub fn pooled_by(&self) -> (f64, f64) {
        (self.queries as f64 / self.rows.max(1) as f64, self.keys as f64 / self.cols.max(1) as f64)
    }
}

/// Entropy by layer (or batch entry) and head, as a share of what uniform weights have.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Entropy {
    /// Names of the rows: layers or batch entries.
    pub layers: Vec<String>,
    /// How many heads each has.
    pub heads: usize,
    /// `layers × heads`, row after row: 0 all on one key, 1 uniform.
    #[serde(serialize_with = "numbers")]
    pub values: Vec<f64>,
}

/// The mass keys receive.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Received {
    /// The heads, at most a few dozen; those with the same number of keys stand together.
    pub heads: Vec<ReceivedHead>,
    /// How many heads there are.
    pub of: usize,
}

/// The mass the keys of one head receive.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReceivedHead {
    /// Such as `head 3`.
    pub label: String,
    /// How many keys it has.
    pub keys: usize,
    /// One per cell, the mean over its keys, as multiples of what uniform weights would give.
    #[serde(serialize_with = "numbers")]
    pub mean: Vec<f64>,
    /// The largest key of each cell.
    #[serde(serialize_with = "numbers")]
    pub max: Vec<f64>,
}

impl ReceivedHead {
    /// What each of `mass` receives, pooled to at most `cells` cells, in multiples of an even share.
    pub(crate) fn new(label: String, mass: &[f64], cells: usize) -> Self {
        let (keys, bars) = (mass.len(), mass.len().min(cells));
        let even = mass.iter().sum::<f64>() / keys.max(1) as f64;
        let unit = if even > 0.0 { 1.0 / even } else { 0.0 };
        let parts = || (0..bars).map(|c| &mass[c * keys / bars..(c + 1) * keys / bars]);
        let mean = |part: &[f64]| unit * (part.iter().sum::<f64>() / part.len().max(1) as f64);
        let max = |part: &[f64]| unit * part.iter().copied().fold(0.0, f64::max);
        ReceivedHead { label, keys, mean: parts().map(mean).collect(), max: parts().map(max).collect() }
    }

    /// Keys to a cell.
    pub fn pooled_by(&self) -> f64 {
        self.keys as f64 / self.mean.len().max(1) as f64
    }
}

/// Values and outputs in a plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Hull {
    /// Of which head.
    pub label: String,
    /// Values, all or a sample.
    pub values: Vec<(f64, f64)>,
    /// Outputs, all or a sample.
    pub outputs: Vec<(f64, f64)>,
    /// Corners of the hull of all values in this plane, counter-clockwise.
    pub polygon: Vec<(f64, f64)>,
    /// Shares of the values' variation along the two directions.
    pub explained: (f64, f64),
    /// How many values there are.
    pub of_values: usize,
    /// How many outputs there are.
    pub of_outputs: usize,
}
