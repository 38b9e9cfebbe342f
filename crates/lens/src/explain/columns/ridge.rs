//! Whether ridge would help where columns share what they explain.

use super::reach::SampleRows;
use super::trust::Columns;
use crate::finding::{Finding, Severity};
use crate::linear::{percent, short};
use spanwise_kernels::Matrix;
use spanwise_linear::LinearError;
use spanwise_linear::fit::RidgePath;

/// Inflation below which there is nothing to mend.
const INFLATED: f64 = 30.0;
/// Rows and columns beyond which leaving one out costs too much.
const MOST_ROWS: usize = 2000;
const MOST_COLUMNS: usize = 200;

/// A penalty by leave-one-out, and what it does to the error on rows left out.
pub(super) fn finding(sample: &SampleRows, columns: &Columns<'_>) -> Result<Option<Finding>, LinearError> {
    let worst = columns.kept.iter().map(|&j| columns.inflation[j]).fold(0.0, f64::max);
    if worst < INFLATED || sample.roots.is_some() || sample.columns.len() > MOST_COLUMNS {
        return Ok(None);
    }
    let rows = sample.y.len().min(MOST_ROWS);
    let x = Matrix::from_fn(rows, sample.columns.len(), |i, j| sample.columns[j].1[i]);
    let mut path = RidgePath::logarithmic(1e-6 * rows as f64, 10.0 * rows as f64, 36)?;
    path.intercept = sample.intercept;
    path.alphas.push(0.0);
    let chosen = path.choose_leave_one_out(x.view(), &sample.y[..rows])?;
    let plain = chosen.errors.last().copied().unwrap_or(f64::NAN);
    let best = chosen.errors.iter().copied().fold(f64::INFINITY, f64::min);
    let (lambda, ratio) = (chosen.fit.alpha, best / plain);
    if !ratio.is_finite() {
        return Ok(None);
    }
    let sentence = if ratio < 0.98 {
        format!(
            "ridge helps a little: λ = {} on standardised columns lowers the squared error on rows left out by {}",
            short(lambda),
            percent(1.0 - ratio)
        )
    } else {
        "ridge would settle the coefficients, not the predictions: no penalty lowers the error on rows left out by 2 %"
            .to_owned()
    };
    let cost =
        columns.fit.statistics(0).map_or(f64::NAN, |statistics| statistics.r_squared) - chosen.fit.r_squared;
    Ok(Some(
        Finding::new(Severity::Note, sentence)
            .named("ridge")
            .certified(format!("leave-one-out over {rows} rows and 37 penalties"))
            .evident("λ", lambda)
            .evident("error on rows left out, share of least squares'", ratio)
            .evident("R² it costs on the rows of the fit", cost)
            .shown("coefficients"),
    ))
}
