//! The text's worked examples, computed from their inputs each time.

mod attention;
mod span;
mod transformer;

use crate::{Array, Lesson, LessonError, Term};

/// The largest array an example shows: every step is kept and written out.
pub const LARGEST: usize = 1 << 16;

/// What an example is about, without computing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Entry {
    /// Its number in the text.
    pub number: u32,
    /// Its name as one word.
    pub slug: &'static str,
    /// Its name as a reader says it.
    pub title: &'static str,
    /// What is to be shown.
    pub problem: &'static str,
    /// The inputs that can be changed.
    pub inputs: &'static str,
}

/// Every example there is, in the order of their numbers.
pub const CATALOGUE: [Entry; 2] = [transformer::ENTRY, span::ENTRY];

/// Inputs in place of the text's own; `None` keeps those.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// The feature matrix, n × p.
    pub x: Option<Array>,
    /// The weights of the features, p; a row or a column will do.
    pub w: Option<Array>,
    /// The queries, N × D.
    pub q: Option<Array>,
    /// The keys, M × D.
    pub k: Option<Array>,
    /// The values, M × E.
    pub v: Option<Array>,
}

/// Example `number`, computed from `inputs` where given and from the text's own otherwise.
///
/// Inputs must be finite matrices that fit each other. Claims that do not hold are no error: they are part of the
/// lesson, with `holds` false.
pub fn lesson(number: u32, inputs: &Inputs) -> Result<Lesson, LessonError> {
    match number {
        66 => span::lesson(inputs),
        48 => transformer::lesson(inputs),
        found => Err(LessonError::Unknown { found, known: "48 and 66".to_owned() }),
    }
}

/// The input given, or the text's; a finite matrix with at least one entry.
fn matrix(
    argument: &'static str,
    given: Option<&Array>,
    text: (&[f64], [usize; 2]),
) -> Result<Array, LessonError> {
    let Some(given) = given else {
        return Ok(Array::new(text.0.to_vec(), &text.1)?);
    };
    let found = given.shape();
    if found.rank() != 2 {
        return Err(LessonError::Dimensions { argument, found });
    }
    if found.is_empty() {
        return Err(LessonError::Empty { argument, found });
    }
    check_size(argument, found.dims())?;
    let cols = given.row_len();
    match given.data().iter().position(|value| !value.is_finite()) {
        None => Ok(given.clone()),
        Some(at) => Err(LessonError::NotFinite {
            argument,
            row: at / cols + 1,
            column: at % cols + 1,
            value: given.data()[at],
        }),
    }
}

/// The sum of `terms`, vectors of `len` entries, from the last to the first.
///
/// A product adds the same terms from the first on. In the same order both would round alike, and comparing them could
/// not fail.
fn backwards(terms: &[Term], len: usize) -> Vec<f64> {
    (0..len).map(|c| terms.iter().rev().fold(0.0, |sum, term| sum + term.value[c])).collect()
}

/// Refuses arrays beyond what anyone reads.
fn check_size(what: &'static str, dims: &[usize]) -> Result<(), LessonError> {
    let found = dims.iter().fold(1_usize, |n, &d| n.saturating_mul(d));
    if found > LARGEST {
        return Err(LessonError::TooLarge { what, found, limit: LARGEST });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_not_finite_is_named_by_its_place_counted_from_1() {
        let x = Array::new(vec![1.0, 2.0, 3.0, f64::NAN, 5.0, 6.0], &[2, 3]).unwrap();
        let error = lesson(66, &Inputs { x: Some(x), ..Inputs::default() }).unwrap_err();
        assert_eq!(error.to_string(), "example: `x` holds NaN at row 2, column 1; expected finite numbers");
    }
}
