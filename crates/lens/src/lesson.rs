//! A worked example as plain data: what is given, every step, what is claimed, and how each claim was checked.

use crate::array::numbers;
use crate::{Array, Claim, number};
use serde::Serialize;

/// A worked example, computed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lesson {
    /// The example's number in the text.
    pub number: u32,
    /// The example's name as one word.
    pub slug: &'static str,
    /// The example's name as a reader says it.
    pub title: &'static str,
    /// What is to be shown.
    pub problem: &'static str,
    /// The results in a few lines, most important first.
    pub headlines: Vec<Headline>,
    /// The way there, in the order of the text.
    pub parts: Vec<Part>,
}

impl Lesson {
    /// Every claim of every part.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.parts.iter().flat_map(|part| &part.claims)
    }

    /// Whether every claim holds.
    pub fn holds(&self) -> bool {
        self.claims().all(|claim| claim.holds)
    }
}

/// One result: an equation, its value, and where it helps the same value as a weighted sum.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headline {
    /// What was computed, such as `ŷ = Xw`.
    pub equation: String,
    /// What came out.
    pub value: Array,
    /// The same as a weighted sum of named vectors; empty where there is none to show.
    pub combination: Vec<Term>,
    /// The rest of the sentence.
    pub remark: Option<String>,
}

/// One line of thought from inputs to claims.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What the part shows.
    pub title: &'static str,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// What follows, checked.
    pub claims: Vec<Claim>,
    /// What there is to see.
    pub pictures: Vec<Picture>,
}

impl Part {
    /// The first step with this symbol.
    pub fn step(&self, symbol: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.symbol == symbol)
    }
}

/// One quantity: what it is called, how it is made, what it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Its letter.
    pub symbol: String,
    /// How it is made from the letters before; `None` for what is given.
    pub formula: Option<String>,
    /// What it means, in a few words.
    pub note: String,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub value: Array,
    /// The arithmetic, written out.
    pub working: Working,
}

impl Step {
    /// Something given.
    pub(crate) fn given(symbol: &str, note: &str, value: Array) -> Self {
        let shape = value.dims().to_vec();
        let (symbol, note) = (symbol.to_owned(), note.to_owned());
        Step { symbol, formula: None, note, shape, value, working: Working::None }
    }

    /// Something made from the steps before.
    pub(crate) fn made(symbol: &str, formula: &str, note: &str, value: Array) -> Self {
        Step { formula: Some(formula.to_owned()), ..Step::given(symbol, note, value) }
    }

    /// The same step with its arithmetic written out.
    pub(crate) fn with(self, working: Working) -> Self {
        Step { working, ..self }
    }
}

/// The arithmetic behind a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "rows", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Working {
    /// Nothing to write out.
    None,
    /// One sum of products per entry.
    Dots(Vec<Dot>),
    /// One weighted sum of vectors per row.
    Combinations(Vec<Combination>),
}

/// `target = Σ left[i]·right[i] = value`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dot {
    /// What it makes, such as `ŷ[0]`.
    pub target: String,
    /// The left factors.
    #[serde(serialize_with = "numbers")]
    pub left: Vec<f64>,
    /// The right factors.
    #[serde(serialize_with = "numbers")]
    pub right: Vec<f64>,
    /// The sum of the products.
    #[serde(serialize_with = "number")]
    pub value: f64,
}

/// `target = Σ coefficient·vector`, every term kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Combination {
    /// What it makes.
    pub target: String,
    /// The terms in order.
    pub terms: Vec<Term>,
    /// Their sum.
    #[serde(serialize_with = "numbers")]
    pub sum: Vec<f64>,
}

/// `coefficient·vector`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Term {
    /// The weight.
    #[serde(serialize_with = "number")]
    pub coefficient: f64,
    /// The vector's name, such as `X[:,0]` or `v0`.
    pub vector: String,
    /// The product.
    #[serde(serialize_with = "numbers")]
    pub value: Vec<f64>,
}

/// Something to draw. What is drawn is decided here; how, by whoever draws.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Picture {
    /// Weights between 0 and 1 as a grid of shaded cells.
    Weights {
        /// One label per row: the queries.
        rows: Vec<String>,
        /// One label per column: the keys.
        columns: Vec<String>,
        /// Rows × columns.
        weights: Array,
    },
    /// Outputs among the vectors they are mixed from.
    Hull {
        /// The value vectors.
        values: Vec<Mark>,
        /// The outputs.
        outputs: Vec<Mark>,
        /// The values that are corners of the hull, counter-clockwise; two ends on a line.
        corners: Vec<usize>,
        /// How many coordinates the vectors have; the first one or two are drawn.
        width: usize,
    },
}

/// A labelled point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// Its name.
    pub label: String,
    /// Its first one or two coordinates.
    #[serde(serialize_with = "numbers")]
    pub at: Vec<f64>,
}
