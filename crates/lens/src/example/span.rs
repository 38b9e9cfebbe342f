//! Example 66: `Xw` lies in the span of the columns of `X`, an attention output in the hull of the values.

use super::attention::{Attention, Names};
use super::{Entry, Inputs, backwards, check_size, matrix};
use crate::claim::{Measured, compare};
use crate::{Array, Claim, Combination, Dot, Headline, Lesson, LessonError, Part, Step, Term, Working};
use spanwise_linear::reference::{combination, product};

pub(super) const ENTRY: Entry = Entry {
    number: 66,
    slug: "span_in_ml_xw_and_attention_as_weighted_sums",
    title: "Span in ML: Xw and attention as weighted sums",
    problem: "Show that linear predictions lie in the span of the feature columns, and attention outputs \
              in the span, even the convex hull, of the value vectors: compute both as products and again as \
              explicit combinations.",
    inputs: "x, w, q, k, v",
};

const X: (&[f64], [usize; 2]) = (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [3, 2]);
const W: (&[f64], [usize; 2]) = (&[2.0, -1.0], [2, 1]);
const Q: (&[f64], [usize; 2]) = (&[1.0, 0.0], [1, 2]);
const K: (&[f64], [usize; 2]) = (&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], [3, 2]);
const V: (&[f64], [usize; 2]) = (&[1.0, 0.0, 0.0, 2.0, 1.0, 1.0], [3, 2]);

pub(super) fn lesson(inputs: &Inputs) -> Result<Lesson, LessonError> {
    let x = matrix("x", inputs.x.as_ref(), X)?;
    let w = weights(inputs.w.as_ref())?;
    let (linear_headline, linear_part) = linear(&x, &w)?;

    let q = matrix("q", inputs.q.as_ref(), Q)?;
    let k = matrix("k", inputs.k.as_ref(), K)?;
    let v = matrix("v", inputs.v.as_ref(), V)?;
    let names = if q.dims()[0] == 1 { Names::ONE_QUERY } else { Names::MANY_QUERIES };
    let attention = Attention::new(q, k, v, names)?;
    let attention_part = Part {
        title: "Attention outputs are convex combinations of values",
        steps: attention.steps(),
        claims: vec![attention.not_negative(), attention.sums_to_one(), attention.in_the_hull()],
        pictures: attention.pictures(),
    };

    let mut headlines = vec![linear_headline];
    headlines.extend(attention.headlines());
    Ok(Lesson {
        number: ENTRY.number,
        slug: ENTRY.slug,
        title: ENTRY.title,
        problem: ENTRY.problem,
        headlines,
        parts: vec![linear_part, attention_part],
    })
}

/// w as a vector: a row or a column of numbers is one too.
fn weights(given: Option<&Array>) -> Result<Array, LessonError> {
    let as_matrix = given.map(|w| match w.dims() {
        [n] => Array::new(w.data().to_vec(), &[*n, 1]),
        _ => Ok(w.clone()),
    });
    let w = matrix("w", as_matrix.transpose()?.as_ref(), W)?;
    if !w.dims().contains(&1) {
        return Ok(w);
    }
    Ok(Array::vector(w.data().to_vec()))
}

/// `ŷ = Xw` by rows and by columns: x (n × p), w (p,).
fn linear(x: &Array, w: &Array) -> Result<(Headline, Part), LessonError> {
    if let ([rows, cols], [found]) = (x.dims(), w.dims())
        && found != cols
    {
        return Err(LessonError::Weights { found: *found, rows: *rows, cols: *cols });
    }
    let prediction = product(x.view(), w.view())?;
    let by_columns = combination(x.view(), w.view())?;
    check_size("the scaled columns", x.dims())?;
    let dot = |(i, (row, &value)): (usize, (&[f64], &f64))| Dot {
        target: format!("ŷ[{i}]"),
        left: row.to_vec(),
        right: w.data().to_vec(),
        value,
    };
    let dots = x.rows().zip(&prediction).enumerate().map(dot).collect();
    let terms: Vec<Term> = (0..w.data().len())
        .map(|j| Term {
            coefficient: by_columns.weights[j],
            vector: format!("X[:,{j}]"),
            value: by_columns.terms.col(j),
        })
        .collect();
    let sum = backwards(&terms, prediction.len());
    let columns = Combination { target: "ŷ".to_owned(), terms: terms.clone(), sum: sum.clone() };

    // Each side adds p rounded products: an error of p·ε·Σ|terms| covers either.
    let p = terms.len();
    let measured = Measured::worst((0..prediction.len()).map(|i| {
        let absolute = by_columns.terms.row(i).iter().map(|term| term.abs()).sum();
        compare(prediction[i], sum[i], 2 * p, absolute)
    }));
    let claim = Claim::new(
        "Both ways give the same ŷ, so ŷ is a weighted sum of the columns of X: it lies in their span.",
        "max |Xw − Σ w[j]·X[:,j]|",
        &format!("2·{p}·ε·Σ|w[j]·X[i,j]|"),
        measured,
    );
    let value = Array::vector(prediction);
    let steps = vec![
        Step::given("X", "examples × features", x.clone()),
        Step::given("w", "weights", w.clone()),
        Step::made("ŷ", "Xw", "row by row", value.clone()).with(Working::Dots(dots)),
        Step::made("ŷ", "Σ w[j]·X[:,j]", "column by column", Array::vector(sum))
            .with(Working::Combinations(vec![columns])),
    ];
    let headline = Headline { equation: "ŷ = Xw".to_owned(), value, combination: terms, remark: None };
    let title = "Linear predictions are weighted sums of columns";
    Ok((headline, Part { title, steps, claims: vec![claim], pictures: Vec::new() }))
}
