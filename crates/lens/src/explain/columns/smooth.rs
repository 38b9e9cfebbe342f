//! Whether a kernel fit reaches what columns, squares and products leave.

use super::reach::{Fold, SampleRows};
use spanwise_kernels::Matrix;
use spanwise_linear::LinearError;
use spanwise_linear::fit::{Kernel, KernelRidge, KernelRidgeFit, Landmarks};

/// Rows a kernel is fitted to, and points it is expressed in.
const MOST_ROWS: usize = 1000;
const LANDMARKS: usize = 150;
/// Standard errors the gain must be away from nothing.
const SURE: f64 = 4.0;

/// What a kernel fit gains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct KernelGain {
    /// As a share of the target's variation over rows left out.
    pub(super) gain: f64,
    /// Whether it is more than chance.
    pub(super) sure: bool,
    /// `γ` and `λ`, for standardised columns and residuals.
    pub(super) gamma: f64,
    pub(super) penalty: f64,
}

/// Fits what is left of the target, fold by fold, and predicts the rows left out.
pub(super) fn kernel_gain(sample: &SampleRows, folds: &[Fold]) -> Result<Option<KernelGain>, LinearError> {
    let (Some(first), false) = (folds.first(), sample.columns.is_empty()) else { return Ok(None) };
    let few = if sample.y.len() > MOST_ROWS { 2 } else { folds.len() };
    let mut choice = KernelGain::default();
    let mut best = f64::INFINITY;
    for width in [0.3, 1.5] {
        for penalty in [1.0, 10.0] {
            let gamma = width / sample.columns.len() as f64;
            let fit = fitted(sample, first, gamma, penalty, true)?;
            let error = fit.leave_one_out_error.unwrap_or(f64::INFINITY);
            if error < best {
                best = error;
                choice = KernelGain { gamma, penalty, ..choice };
            }
        }
    }
    let mut gains: Vec<f64> = Vec::new();
    let mut total = 0.0;
    for fold in &folds[..few] {
        let fit = fitted(sample, fold, choice.gamma, choice.penalty, false)?;
        let unit = deviation(&fold.rest[..fold.fitted]);
        let out = fold.fitted..fold.order.len();
        let predicted = fit.predict(rows(sample, &fold.order[out.clone()]).view())?;
        let gain = |(rest, f): (&f64, f64)| rest * rest - (rest - unit * f).powi(2);
        gains.extend(fold.rest[out].iter().zip(predicted).map(gain));
        total += fold.total;
    }
    let n = gains.len() as f64;
    let sum: f64 = gains.iter().sum();
    let mean = sum / n;
    let variance = gains.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    choice.gain = if total > 0.0 { sum / total } else { 0.0 };
    choice.sure = mean > SURE * (variance / n).sqrt();
    Ok(Some(choice))
}

fn fitted(
    sample: &SampleRows,
    fold: &Fold,
    gamma: f64,
    penalty: f64,
    leave_one_out: bool,
) -> Result<KernelRidgeFit, LinearError> {
    let count = fold.fitted.min(MOST_ROWS);
    let unit = deviation(&fold.rest[..fold.fitted]);
    let y: Vec<f64> = fold.rest[..count].iter().map(|r| r / unit).collect();
    let settings = KernelRidge {
        kernel: Kernel::Rbf { gamma: Some(gamma) },
        alpha: penalty,
        landmarks: Landmarks::Count(LANDMARKS.min(count.div_ceil(4))),
        seed: 1,
        leave_one_out,
    };
    settings.fit(rows(sample, &fold.order[..count]).view(), &y)
}

/// Rows of the sample (count × columns).
fn rows(sample: &SampleRows, which: &[usize]) -> Matrix {
    Matrix::from_fn(which.len(), sample.columns.len(), |i, j| sample.columns[j].1[which[i]])
}

fn deviation(values: &[f64]) -> f64 {
    let size = (values.iter().map(|x| x * x).sum::<f64>() / values.len().max(1) as f64).sqrt();
    if size > 0.0 { size } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::super::reach::reach;
    use super::*;
    use crate::explain::random::Random;

    fn gain(truth: impl Fn(f64) -> f64, seed: u64) -> KernelGain {
        let mut random = Random::new(seed);
        let x: Vec<f64> = (0..300).map(|_| random.between(-1.7, 1.7)).collect();
        let y = x.iter().map(|&x| truth(x) + 0.3 * random.normal()).collect();
        let sample = SampleRows { columns: vec![(0, x)], y, roots: None, intercept: true };
        let (_, folds) = reach(&sample);
        kernel_gain(&sample, &folds).unwrap().unwrap()
    }

    #[test]
    fn a_wave_is_reached_by_the_kernel_alone() {
        let found = gain(|x| (6.0 * x).sin(), 1);
        assert!(found.sure && found.gain > 0.3, "{found:?}");
    }

    #[test]
    fn a_line_leaves_the_kernel_nothing() {
        for seed in 0..10 {
            let found = gain(|x| x, 20 + seed);
            assert!(!found.sure && found.gain < 0.02, "{found:?}");
        }
    }
}
