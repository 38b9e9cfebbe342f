//! Any rectangle of the scores or of the weights, on demand.

use super::plan::matrix;
use crate::{AttentionError, Problem, Sizes, reference};
use rayon::prelude::*;
use spanwise_kernels::Element;
use std::ops::Range;

/// The weights of the queries `rows` and the keys `cols` of head `head` in batch entry `batch`, row-major, from q, k and
/// the log-sum-exp `(B, H, N)` that [`crate::forward`] gave: `exp(s − lse)`, nothing else is computed or stored.
///
/// ```
/// use spanwise_attention::{Options, Problem, Request, forward, weights};
/// use spanwise_kernels::View;
///
/// let x: Vec<f64> = (0..40).map(|i| (f64::from(i) * 0.7).sin()).collect();
/// let x = View::new(&x, &[10, 4])?;
/// let problem = Problem::new(x, x, x, Options::default())?;
/// let lse = forward(&problem, &Request { lse: true, ..Request::default() }).statistics.lse.unwrap();
/// let row = weights(&problem, &lse, [0, 0], 3..4, 0..10)?;
/// assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
/// assert_eq!(weights(&problem, &lse, [0, 0], 3..4, 5..7)?, row[5..7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn weights<T: Element>(
    problem: &Problem<'_, T>,
    lse: &[f64],
    of: [usize; 2],
    rows: Range<usize>,
    cols: Range<usize>,
) -> Result<Vec<f64>, AttentionError> {
    let Sizes { b, h, n, .. } = problem.sizes;
    if lse.len() != b * h * n {
        return Err(AttentionError::Count {
            argument: "lse",
            found: lse.len(),
            expected: b * h * n,
            per: "row",
        });
    }
    let [batch, head] = of;
    rectangle(problem, of, rows, cols, |row, score| {
        // A hidden key weighs 0, in an empty row too.
        if score == f64::NEG_INFINITY { 0.0 } else { (score - lse[(batch * h + head) * n + row]).exp() }
    })
}

/// The scores of the queries `rows` and the keys `cols` of head `head` in batch entry `batch`, row-major: what the softmax
/// sees, −inf where a key is hidden. A problem without masks, bias or soft cap has the scores before these.
///
/// ```
/// use spanwise_attention::{Causal, Options, Problem, scores};
/// use spanwise_kernels::View;
///
/// let x = View::new(&[1.0, 2.0, 3.0], &[3, 1])?;
/// let options = Options { causal: Some(Causal::Square), ..Options::default() };
/// let problem = Problem::new(x, x, x, options)?;
/// assert_eq!(scores(&problem, [0, 0], 1..2, 0..3)?, [2.0, 4.0, f64::NEG_INFINITY]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn scores<T: Element>(
    problem: &Problem<'_, T>,
    of: [usize; 2],
    rows: Range<usize>,
    cols: Range<usize>,
) -> Result<Vec<f64>, AttentionError> {
    rectangle(problem, of, rows, cols, |_, score| score)
}

/// `finish(row, score)` of each score in a rectangle, row-major.
fn rectangle<T: Element>(
    problem: &Problem<'_, T>,
    [batch, head]: [usize; 2],
    rows: Range<usize>,
    cols: Range<usize>,
    finish: impl Fn(usize, f64) -> f64 + Sync,
) -> Result<Vec<f64>, AttentionError> {
    let Sizes { b, h, n, m, d, .. } = problem.sizes;
    for (argument, found, expected) in [
        ("batch", batch..batch.saturating_add(1), b),
        ("head", head..head.saturating_add(1), h),
        ("rows", rows.clone(), n),
        ("cols", cols.clone(), m),
    ] {
        if found.start > found.end || found.end > expected {
            return Err(AttentionError::Range { argument, start: found.start, end: found.end, expected });
        }
    }
    let (queries, group) = (matrix(&problem.q, batch, head), problem.sizes.group(head));
    let (width, first) = (cols.len(), rows.start);
    let mut numbers = vec![0.0; rows.len() * width];
    if width == 0 {
        return Ok(numbers);
    }
    numbers.par_chunks_mut(width).enumerate().for_each(|(r, to)| {
        if problem.is_stopped() {
            return;
        }
        let row = first + r;
        for (j, number) in cols.clone().zip(to) {
            let query = |c| queries.get(&[row, c]).map_or(0.0, Element::to_f64);
            let product = (0..d).map(|c| query(c) * problem.k.at([batch, group, j, c])).sum();
            *number = finish(row, reference::score(problem, [batch, head, row, j], product));
        }
    });
    Ok(numbers)
}
