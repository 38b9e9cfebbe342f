//! What the examples show of attention: q (N × D), k (M × D), v (M × E).
//!
//! The steps come from the attention reference; each output row is formed once more as an explicit combination of
//! value rows, whose terms come from the linear reference: `oᵀ = Vᵀ a` is a weighted sum of the columns of `Vᵀ`. They
//! are added in another order, so that the comparison can fail.

use super::{backwards, check_size};
use crate::claim::{Measured, compare};
use crate::{Array, Claim, Combination, Headline, LessonError, Picture, Step, Term, Working, hull};
use spanwise_attention::reference::{Steps, attend, steps};
use spanwise_attention::{Options, Problem};
use spanwise_kernels::View;
use spanwise_linear::reference::combination;

/// How the quantities are called: small letters for the one query of a text, capitals for many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names {
    q: &'static str,
    a: &'static str,
    o: &'static str,
}

impl Names {
    pub(super) const ONE_QUERY: Names = Names { q: "q", a: "a", o: "o" };
    pub(super) const MANY_QUERIES: Names = Names { q: "Q", a: "A", o: "O" };

    fn one_query(self) -> bool {
        self.q == "q"
    }
}

/// Attention with every step kept.
pub(super) struct Attention {
    names: Names,
    q: Array,
    k: Array,
    v: Array,
    steps: Steps,
    /// One per query.
    combinations: Vec<Combination>,
    /// What attention says its output's dimensions are.
    output_dims: Vec<usize>,
}

impl Attention {
    pub(super) fn new(q: Array, k: Array, v: Array, names: Names) -> Result<Self, LessonError> {
        let problem = Problem::new(q.view(), k.view(), v.view(), Options::default())?;
        let (n, m, e) = (problem.sizes().n, problem.sizes().m, problem.sizes().e);
        check_size("the weights", &[n, m])?;
        check_size("the explicit combinations", &[n, m, e])?;
        let (steps, output_dims) = (steps(&problem), problem.output_dims());
        let combinations = steps
            .weights
            .chunks_exact(m)
            .enumerate()
            .map(|(i, weights)| explicit(row_name(names, i), weights, &v))
            .collect::<Result<_, LessonError>>()?;
        Ok(Attention { names, q, k, v, steps, combinations, output_dims })
    }

    fn n(&self) -> usize {
        self.q.dims()[0]
    }

    fn m(&self) -> usize {
        self.k.dims()[0]
    }

    fn d(&self) -> usize {
        self.q.dims()[1]
    }

    fn e(&self) -> usize {
        self.v.dims()[1]
    }

    /// `(rows, cols)`, or `(cols,)` for the one query of a text.
    fn shaped(&self, data: &[f64], cols: usize) -> Array {
        if self.names.one_query() {
            return Array::vector(data.to_vec());
        }
        self.matrix(data, cols)
    }

    fn matrix(&self, data: &[f64], cols: usize) -> Array {
        Array::new(data.to_vec(), &[self.n(), cols]).expect("the reference gives N rows")
    }

    fn weights(&self) -> Array {
        self.shaped(&self.steps.weights, self.m())
    }

    fn outputs(&self) -> Array {
        self.shaped(&self.steps.answer.values, self.e())
    }

    fn row_sums(&self) -> Vec<f64> {
        self.steps.weights.chunks_exact(self.m()).map(|row| row.iter().sum()).collect()
    }

    /// Scores and weights, then outputs.
    pub(super) fn steps_in_two(&self) -> [Vec<Step>; 2] {
        let Names { q, a, o } = self.names;
        let one = self.names.one_query();
        let d = self.d();
        let sums = self.row_sums();
        let sums = if one { Array::scalar(sums[0]) } else { Array::vector(sums) };
        let explicit: Vec<f64> = self.combinations.iter().flat_map(|c| c.sum.iter().copied()).collect();
        let sums_of = if one { format!("Σ {a}[i]") } else { format!("Σ {a}[i,:]") };
        let (sum_symbol, sum_note) = if one { ("sum", "scalar") } else { ("row sums", "one per query") };
        let (mixed, mix) = if one { ("o", "Σ a[i]·v[i]") } else { ("O[i]", "Σ A[i,j]·v[j]") };
        let product = if one { "[q·k[j]]" } else { "[q[i]·k[j]]" };
        let (m, e) = (self.m(), self.e());
        let where_to_look = vec![
            Step::given(q, if one { "query" } else { "queries" }, self.q.clone()),
            Step::given("K", "keys", self.k.clone()),
            Step::made(&format!("{q}Kᵀ"), product, "products", self.matrix(&self.steps.products, m)),
            Step::made("S", &format!("{q}Kᵀ/√{d}"), "scores", self.matrix(&self.steps.scores, m)),
            Step::made(a, "softmax(S)", if one { "weights" } else { "weights, row by row" }, self.weights()),
            Step::made(sum_symbol, &sums_of, sum_note, sums),
        ];
        let what_to_retrieve = vec![
            Step::given("V", "values", self.v.clone()),
            Step::made(o, &format!("{a}V"), "as a matrix product", self.outputs()),
            Step::made(mixed, mix, "term by term", self.shaped(&explicit, e))
                .with(Working::Combinations(self.combinations.clone())),
        ];
        [where_to_look, what_to_retrieve]
    }

    /// All steps, with the three inputs first.
    pub(super) fn steps(&self) -> Vec<Step> {
        let [mut steps, mut rest] = self.steps_in_two();
        steps.insert(2, rest.remove(0));
        steps.extend(rest);
        steps
    }

    pub(super) fn headlines(&self) -> Vec<Headline> {
        let Names { q, a, o } = self.names;
        let (one, d) = (self.names.one_query(), self.d());
        // The same value to every reader: 1, however the last bit fell, is checked among the claims.
        let remark = if one { "summing to 1" } else { "rows sum to 1" };
        let hull = if one { "inside the hull of V's rows" } else { "each row inside the hull of V's rows" };
        let terms = if one { self.combinations[0].terms.clone() } else { Vec::new() };
        let holds = |claim: Claim, remark: &str| claim.holds.then(|| remark.to_owned());
        vec![
            Headline {
                equation: format!("{a} = softmax({q}Kᵀ/√{d})"),
                value: self.weights(),
                combination: Vec::new(),
                remark: holds(self.sums_to_one(), remark),
            },
            Headline {
                equation: format!("{o} = {a}V"),
                value: self.outputs(),
                combination: terms,
                remark: holds(self.in_the_hull(), hull),
            },
        ]
    }

    pub(super) fn not_negative(&self) -> Claim {
        let a = self.names.a;
        // NaN.max(0) would be 0, so a lost weight is looked for first.
        let lost = self.steps.weights.iter().any(|weight| weight.is_nan());
        let below = self.steps.weights.iter().fold(0.0_f64, |most, &weight| most.max(-weight));
        Claim::new(
            "No weight is negative.",
            &format!("max(0, −min {a})"),
            "exact",
            Measured::exact(if lost { f64::NAN } else { below }),
        )
    }

    pub(super) fn sums_to_one(&self) -> Claim {
        let (one, a) = (self.names.one_query(), self.names.a);
        // M rounded exponentials, their sum, a division each, and the sum of the M weights: 2M roundings of terms
        // that add up to 1.
        let sums = self.row_sums();
        Claim::new(
            if one { "The weights sum to 1." } else { "Each row of weights sums to 1." },
            &(if one { format!("|Σ {a}[i] − 1|") } else { format!("max |Σ {a}[i,:] − 1|") }),
            &format!("2·{}·ε", self.m()),
            Measured::worst(sums.iter().map(|&sum| compare(sum, 1.0, 2 * self.m(), 1.0))),
        )
    }

    /// The terms of output entry `(i, c)`, in absolute value, summed.
    fn absolute_sum(&self, i: usize, c: usize) -> f64 {
        self.combinations[i].terms.iter().map(|term| term.value[c].abs()).sum()
    }

    /// The worst entry of `other` (N × E) against the outputs.
    fn against(&self, other: &[f64], operations: usize) -> Measured {
        let outputs = self.steps.answer.values.iter().zip(other).enumerate();
        Measured::worst(outputs.map(|(at, (&output, &other))| {
            compare(output, other, operations, self.absolute_sum(at / self.e(), at % self.e()))
        }))
    }

    pub(super) fn in_the_hull(&self) -> Claim {
        let Names { a, o, .. } = self.names;
        let explicit: Vec<f64> = self.combinations.iter().flat_map(|c| c.sum.iter().copied()).collect();
        let (statement, check) = if self.names.one_query() {
            (
                "The product is the explicit combination, so o lies in the convex hull of the values; the \
                 weights are its certificate.",
                format!("max |{a}V − Σ {a}[i]·v[i]|"),
            )
        } else {
            (
                "Each output row is the combination of values that its weights say, so it lies in their \
                 convex hull; the weights are its certificate.",
                format!("max |{o}[i] − Σ {a}[i,j]·v[j]|"),
            )
        };
        // As for Xw: either side adds M rounded products.
        let rule = format!("2·{}·ε·Σ|a·v|", self.m());
        Claim::new(statement, &check, &rule, self.against(&explicit, 2 * self.m()))
    }

    /// Keys and values in reverse order give the same outputs: reversing moves every key but a middle one.
    pub(super) fn order_does_not_matter(&self) -> Result<Claim, LessonError> {
        let k = reversed_rows(&self.k)?;
        let v = reversed_rows(&self.v)?;
        let problem = Problem::new(self.q.view(), k.view(), v.view(), Options::default())?;
        let other = attend(&problem).values;
        // The scores are the same bits; both sums (of the exponentials, of the terms) are formed in another order.
        Ok(Claim::new(
            "Permuting the keys together with the values (here: reversing both) leaves O as it was.",
            "max |O − O from reversed K, V|",
            &format!("4·{}·ε·Σ|a·v|", self.m() + 1),
            self.against(&other, 4 * (self.m() + 1)),
        ))
    }

    pub(super) fn shape_follows_the_values(&self) -> Claim {
        let expected = [self.n(), self.e()];
        let found = &self.output_dims;
        let differing = found.iter().zip(expected).filter(|&(&found, expected)| found != expected).count();
        let differing = (differing + found.len().abs_diff(expected.len())) as f64;
        let statement = format!(
            "The output has one row per query and the width of the values: ({}, {}), whatever the width {} of \
             the keys.",
            self.n(),
            self.e(),
            self.d()
        );
        Claim::new(
            &statement,
            "dimensions of O other than (rows of Q, columns of V)",
            "exact",
            Measured::exact(differing),
        )
    }

    /// The weights as a map, and the outputs among the values.
    pub(super) fn pictures(&self) -> Vec<Picture> {
        let rows =
            (0..self.n()).map(|i| if self.names.one_query() { "q".to_owned() } else { format!("q{i}") });
        let weights = Picture::Weights {
            rows: rows.collect(),
            columns: (0..self.m()).map(|j| format!("k{j}")).collect(),
            weights: self.matrix(&self.steps.weights, self.m()),
        };
        let values: Vec<&[f64]> = self.v.rows().collect();
        let outputs: Vec<&[f64]> = self.steps.answer.values.chunks_exact(self.e()).collect();
        let small_names = Names { o: "o", ..self.names };
        let names: Vec<String> = (0..self.n()).map(|i| point_name(small_names, i)).collect();
        let hull = hull::picture(&values, &outputs, &names);
        std::iter::once(weights).chain(hull).collect()
    }
}

fn row_name(names: Names, i: usize) -> String {
    if names.one_query() { names.o.to_owned() } else { format!("{}[{i}]", names.o) }
}

fn point_name(names: Names, i: usize) -> String {
    if names.one_query() { names.o.to_owned() } else { format!("{}{i}", names.o) }
}

/// `Σ a[j]·v[j]`, every term kept: weights (M,), v (M × E).
fn explicit(target: String, weights: &[f64], v: &Array) -> Result<Combination, LessonError> {
    let sum = combination(v.view().transposed(), View::new(weights, &[weights.len()])?)?;
    let terms: Vec<Term> = (0..weights.len())
        .map(|j| Term { coefficient: weights[j], vector: format!("v{j}"), value: sum.terms.col(j) })
        .collect();
    let sum = backwards(&terms, v.row_len());
    Ok(Combination { target, terms, sum })
}

/// The rows in reverse order.
fn reversed_rows(x: &Array) -> Result<Array, LessonError> {
    let data = x.rows().rev().flatten().copied().collect();
    Ok(Array::new(data, x.dims())?)
}
