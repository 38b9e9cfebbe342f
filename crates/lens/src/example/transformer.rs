//! Example 48: attention is two matrix products with a softmax between them.

use super::attention::{Attention, Names};
use super::{Entry, Inputs, matrix};
use crate::{Lesson, LessonError, Part};

pub(super) const ENTRY: Entry = Entry {
    number: 48,
    slug: "transformers_attention_as_qk_t_then_av",
    title: "Transformers: attention as QKᵀ, then AV",
    problem: "Compute scores, attention weights and outputs of a small attention head; verify that the \
              weights of each row sum to 1 and that each output is the combination of values they say.",
    inputs: "q, k, v",
};

const Q: (&[f64], [usize; 2]) = (&[1.0, 0.0, 0.0, 1.0], [2, 2]);
const K: (&[f64], [usize; 2]) = (&[1.0, 0.0, 1.0, 1.0, 0.0, 1.0], [3, 2]);
const V: (&[f64], [usize; 2]) = (&[1.0, 0.0, 0.0, 2.0, 1.0, 1.0], [3, 2]);

pub(super) fn lesson(inputs: &Inputs) -> Result<Lesson, LessonError> {
    for (argument, given) in [("x", &inputs.x), ("w", &inputs.w)] {
        if given.is_some() {
            let (number, expected) = (ENTRY.number, ENTRY.inputs);
            return Err(LessonError::Unused { number, argument, expected });
        }
    }
    let q = matrix("q", inputs.q.as_ref(), Q)?;
    let k = matrix("k", inputs.k.as_ref(), K)?;
    let v = matrix("v", inputs.v.as_ref(), V)?;
    let attention = Attention::new(q, k, v, Names::MANY_QUERIES)?;
    let [where_to_look, what_to_retrieve] = attention.steps_in_two();
    Ok(Lesson {
        number: ENTRY.number,
        slug: ENTRY.slug,
        title: ENTRY.title,
        problem: ENTRY.problem,
        headlines: attention.headlines(),
        parts: vec![
            Part {
                title: "Where to look: QKᵀ compares every query with every key",
                steps: where_to_look,
                claims: vec![attention.not_negative(), attention.sums_to_one()],
                pictures: Vec::new(),
            },
            Part {
                title: "What to retrieve: AV mixes the values",
                steps: what_to_retrieve,
                claims: vec![
                    attention.in_the_hull(),
                    attention.order_does_not_matter()?,
                    attention.shape_follows_the_values(),
                ],
                pictures: attention.pictures(),
            },
        ],
    })
}
