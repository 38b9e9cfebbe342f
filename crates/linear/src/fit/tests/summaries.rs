//! Fits of summaries beside fits of the rows that they have seen.

use super::{Folds, LeaveOneOut, NonNegative, Ridge, RidgeFit, RidgePath, Simplex};
use crate::{Seeded, Summary, SummaryStream};
use spanwise_kernels::{Matrix, View};

/// One table: rows, a target and weights, of which some are 0.
struct Case {
    name: &'static str,
    x: Matrix,
    y: Vec<f64>,
    weights: Vec<f64>,
}

fn case(name: &'static str, n: usize, p: usize, column: impl Fn(usize, &[f64], f64) -> f64) -> Case {
    let mut random = Seeded::new((n * 31 + p) as u64);
    let mut x = Matrix::zeros(n, p);
    for i in 0..n {
        for j in 0..p {
            let value = column(j, &x.row(i)[..j], random.normal());
            x.row_mut(i)[j] = value;
        }
    }
    let y = (0..n).map(|i| 3.0 + 0.5 * x.row(i).iter().sum::<f64>() + random.normal()).collect();
    let weights = (0..n).map(|i| if i % 5 == 3 { 0.0 } else { 0.5 + (i % 4) as f64 }).collect();
    Case { name, x, y, weights }
}

fn cases() -> Vec<Case> {
    let repeated = |j: usize, before: &[f64], random: f64| match j {
        2 => before[0] - 2.0 * before[1] + 1.0,
        _ => random,
    };
    vec![
        case("tall", 300, 4, |j, _, random| random + j as f64),
        case("one column", 40, 1, |_, _, random| random),
        case("many columns", 260, 90, |_, _, random| random),
        case("far from nought", 500, 3, |j, _, random| random + 1e6 * (j as f64 + 1.0)),
        case("units apart", 120, 3, |j, _, random| random * [1e-6, 1.0, 1e6][j]),
        case("a dependent column", 80, 4, repeated),
        case("a constant column", 60, 3, |j, _, random| if j == 1 { 7.0 } else { random }),
        case("as many columns as rows", 12, 12, |_, _, random| random),
        case("more columns than rows", 9, 30, |_, _, random| random + 2.0),
        case("one row", 1, 3, |_, _, random| random),
    ]
}

impl Case {
    /// Both kinds: without weights, and with.
    fn weighings(&self) -> [Option<&[f64]>; 2] {
        [None, Some(&self.weights)]
    }

    fn rows(&self, rows: std::ops::Range<usize>) -> Matrix {
        Matrix::from_fn(rows.len(), self.x.cols(), |i, j| self.x[(rows.start + i, j)])
    }

    /// As a stream of unequal batches leaves it.
    fn summary(&self, weights: Option<&[f64]>) -> Summary {
        let (n, mut stream) = (self.y.len(), SummaryStream::new(self.x.cols(), 1));
        for (from, to) in [(0, n / 7), (n / 7, n / 2), (n / 2, n)] {
            let part = self.rows(from..to);
            stream.push(&part.view(), &self.y[from..to], weights.map(|w| &w[from..to])).unwrap();
        }
        stream.finish()
    }
}

/// To a share of the size of both: the coefficients in the units of their columns, the rest of the target.
fn alike(found: &RidgeFit, expected: &RidgeFit, case: &Case, share: f64) {
    let reach = |w: &[f64]| {
        let column = |(j, w): (usize, &f64)| w.abs() * spread(&case.x, j);
        w.iter().enumerate().map(column).collect::<Vec<f64>>()
    };
    let (a, b) = (reach(&found.coefficients), reach(&expected.coefficients));
    let size = b.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(*v));
    for (j, (a, b)) in a.iter().zip(&b).enumerate() {
        assert!((a - b).abs() <= share * size, "{}: column {j}: {a} {b}", case.name);
    }
    let squares: f64 = case.y.iter().map(|y| y * y).sum();
    let residuals = [found, expected].map(|fit| fit.residual_sum_of_squares);
    assert!((residuals[0] - residuals[1]).abs() <= share * squares * 6.0, "{}: {residuals:?}", case.name);
    let offset = |fit: &RidgeFit| {
        let row = case.x.row(0);
        fit.intercept + fit.coefficients.iter().zip(row).map(|(w, x)| w * x).sum::<f64>()
    };
    let (a, b) = (offset(found), offset(expected));
    assert!((a - b).abs() <= share * 1e3 * (size + a.abs()), "{}: {a} {b}", case.name);
    if let (Some(a), Some(b)) = (found.degrees_of_freedom, expected.degrees_of_freedom) {
        assert!((a - b).abs() < 1e-6 * b, "{}: {a} {b} degrees of freedom", case.name);
    }
    let undefined = [found, expected].map(|fit| fit.r_squared.is_nan());
    assert_eq!(undefined[0], undefined[1], "{}", case.name);
}

fn spread(x: &Matrix, j: usize) -> f64 {
    let column = x.col(j);
    let mean = column.iter().sum::<f64>() / column.len() as f64;
    let squares: f64 = column.iter().map(|x| (x - mean).powi(2)).sum();
    (squares / column.len() as f64).sqrt()
}

#[test]
fn ridge_of_a_summary_is_ridge_of_its_rows() {
    for case in cases() {
        for weights in case.weighings() {
            let summary = case.summary(weights);
            for (alpha, intercept) in [(0.7, true), (0.7, false), (1e3, true), (0.0, true)] {
                let model = Ridge { alpha, intercept };
                let expected = match weights {
                    Some(weights) => model.fit_weighted(case.x.view(), &case.y, weights),
                    None => model.fit(case.x.view(), &case.y),
                };
                let found = model.fit_summary(&summary, 0).unwrap();
                alike(&found, &expected.unwrap(), &case, 1e-9);
                assert!(intercept || found.intercept == 0.0);
            }
        }
    }
}

#[test]
fn a_path_of_a_summary_equals_single_fits_of_it() {
    for case in cases() {
        let summary = case.summary(Some(&case.weights));
        let path = RidgePath::logarithmic(1e-2, 1e4, 7).unwrap();
        for fit in path.fit_summary(&summary, 0).unwrap() {
            let single = Ridge::new(fit.alpha).fit_summary(&summary, 0).unwrap();
            alike(&fit, &single, &case, 1e-9);
        }
    }
}

#[test]
fn folds_of_summaries_have_the_errors_of_folds_of_rows() {
    let path = RidgePath::logarithmic(1e-2, 1e3, 5).unwrap();
    for case in cases().iter().filter(|case| case.y.len() > 4) {
        for (weights, intercept) in case.weighings().into_iter().zip([true, false]) {
            let path = RidgePath { intercept, ..path.clone() };
            let expected = path.choose_folds(case.x.view(), &case.y, weights, 4, 0).unwrap();
            let mut parts = vec![SummaryStream::new(case.x.cols(), 1); 4];
            for (i, fold) in Folds::new(4, 0).take(case.y.len()).enumerate() {
                let weight = weights.map(|w| &w[i..=i]);
                parts[fold].push(&case.rows(i..i + 1).view(), &case.y[i..=i], weight).unwrap();
            }
            let parts: Vec<Summary> = parts.iter().map(SummaryStream::finish).collect();
            let found = path.choose_folds_of(&parts, 0).unwrap();
            for (a, b) in found.errors.iter().zip(&expected.errors) {
                assert!((a - b).abs() <= 1e-7 * b, "{}: {a} {b}", case.name);
            }
            assert_eq!(found.fit.alpha, expected.fit.alpha, "{}", case.name);
            alike(&found.fit, &expected.fit, case, 1e-9);
        }
    }
}

#[test]
fn rows_read_again_have_the_errors_of_rows_that_were_kept() {
    let path = RidgePath::logarithmic(1e-2, 1e3, 5).unwrap();
    for case in cases().iter().filter(|case| case.y.len() > 1) {
        // Offsets without an intercept make columns nearly alike: squares then leave few digits, whoever forms them. So do units.
        let far = case.name == "far from nought";
        let share = if case.name == "units apart" { 1e-3 } else { 1e-7 };
        for (weights, intercept) in case.weighings().into_iter().zip([true, far]) {
            let path = RidgePath { intercept, ..path.clone() };
            let expected = match weights {
                Some(weights) => path.choose_leave_one_out_weighted(case.x.view(), &case.y, weights),
                None => path.choose_leave_one_out(case.x.view(), &case.y),
            };
            let expected = expected.unwrap();
            let mut again = LeaveOneOut::new(&path, &case.summary(weights), 0).unwrap();
            let (n, half) = (case.y.len(), case.y.len() / 2);
            for (from, to) in [(0, half), (half, half), (half, n)] {
                let weights = weights.map(|w| &w[from..to]);
                again.push(case.rows(from..to).view(), &case.y[from..to], weights).unwrap();
            }
            let found = again.choose().unwrap();
            for (a, b) in found.errors.iter().zip(&expected.errors) {
                assert!((a - b).abs() <= share * b || a == b, "{}: {a} {b}", case.name);
            }
            assert_eq!(found.fit.alpha, expected.fit.alpha, "{}", case.name);
        }
    }
}

#[test]
fn weights_of_a_summary_that_are_not_negative_are_those_of_its_rows() {
    for case in cases().iter().filter(|case| case.y.len() > case.x.cols()) {
        for weights in case.weighings() {
            let summary = case.summary(weights);
            let view = case.x.view();
            let both = [false, true].map(|intercept| {
                let model = NonNegative { intercept };
                let found = model.fit_summary(&summary, 0).unwrap();
                match weights {
                    Some(weights) => (found, model.fit_weighted(view, &case.y, weights).unwrap()),
                    None => (found, model.fit(view, &case.y).unwrap()),
                }
            });
            let mixed = Simplex.fit_summary(&summary, 0).unwrap();
            let mixed = match weights {
                Some(weights) => (mixed, Simplex.fit_weighted(view, &case.y, weights).unwrap()),
                None => (mixed, Simplex.fit(view, &case.y).unwrap()),
            };
            for (found, expected) in both.into_iter().chain([mixed]) {
                let left = [&found, &expected].map(|fit| fit.residual_sum_of_squares);
                let squares: f64 = case.y.iter().map(|y| y * y).sum();
                assert!((left[0] - left[1]).abs() <= 1e-9 * squares, "{}: {left:?}", case.name);
                assert!(found.certificate.holds(), "{}: {:?}", case.name, found.certificate);
                // A dependent column leaves a choice of weights, and of what carries them.
                if case.name == "a dependent column" {
                    continue;
                }
                assert_eq!(found.support, expected.support, "{}", case.name);
                for (j, (a, b)) in found.coefficients.iter().zip(&expected.coefficients).enumerate() {
                    assert!((a - b).abs() <= 1e-7 * b.abs(), "{}: column {j}: {a} {b}", case.name);
                }
                assert!(
                    (found.intercept - expected.intercept).abs() <= 1e-7 * (1.0 + expected.intercept.abs())
                );
            }
        }
    }
}

#[test]
fn each_target_of_a_summary_has_its_own_fit() {
    let case = case("two targets", 50, 3, |_, _, random| random);
    let other: Vec<f64> = case.y.iter().map(|y| 2.0 * y - 1.0).collect();
    let both: Vec<f64> = case.y.iter().zip(&other).flat_map(|(a, b)| [*a, *b]).collect();
    let summary = Summary::of(&case.x.view(), &View::new(&both, &[50, 2]).unwrap(), None).unwrap();
    for (target, y) in [&case.y, &other].into_iter().enumerate() {
        let found = Ridge::new(2.0).fit_summary(&summary, target).unwrap();
        alike(&found, &Ridge::new(2.0).fit(case.x.view(), y).unwrap(), &case, 1e-12);
    }
    let error = Ridge::new(2.0).fit_summary(&summary, 2).unwrap_err();
    assert_eq!(error.to_string(), "ridge: `target` is 2; expected one of the summary's targets");
}

#[test]
fn summaries_that_determine_nothing_are_refused_in_words() {
    let empty = Summary::new(2, 1);
    let message = Ridge::new(1.0).fit_summary(&empty, 0).unwrap_err().to_string();
    assert_eq!(message, "ridge: `X` has shape (0, 2); expected at least one row and one column");
    let mut weightless = Summary::new(1, 1);
    weightless.push(&View::new(&[1.0, 2.0], &[2, 1]).unwrap(), &[1.0, 2.0][..], Some(&[0.0, 0.0])).unwrap();
    let message = NonNegative::default().fit_summary(&weightless, 0).unwrap_err().to_string();
    assert!(message.contains("`sum of weights` is 0"), "{message}");
    let message = RidgePath::new(vec![1.0]).choose_folds_of(&[], 0).unwrap_err().to_string();
    assert!(message.contains("`folds` is 0"), "{message}");
    assert!(RidgePath::new(vec![]).fit_summary(&empty, 0).is_err());
    // Other rows than those of the summary.
    let case = case("rows gone", 20, 2, |_, _, random| random);
    let path = RidgePath::new(vec![1.0]);
    let again = LeaveOneOut::new(&path, &case.summary(None), 0).unwrap();
    let message = again.choose().err().unwrap().to_string();
    assert!(message.contains("`rows that were read again` is 0"), "{message}");
    let mut again = LeaveOneOut::new(&path, &case.summary(None), 0).unwrap();
    assert!(again.push(View::new(&[f64::NAN, 1.0], &[1, 2]).unwrap(), &[1.0], None).is_err());
    assert!(again.push(View::new(&[1.0], &[1, 1]).unwrap(), &[1.0], None).is_err());
}

#[test]
fn numbers_beyond_squares_are_refused_as_they_are_of_rows() {
    for scale in [1e200, 1e-200] {
        let case = case("extreme", 30, 2, |_, _, random| random * scale);
        let y: Vec<f64> = case.x.col(0).iter().map(|x| x / scale).collect();
        let summary = Summary::of(&case.x.view(), &y[..], None).unwrap();
        let (of_rows, of_summary) =
            (Ridge::new(0.0).fit(case.x.view(), &y), Ridge::new(0.0).fit_summary(&summary, 0));
        assert_eq!(of_rows.unwrap_err().to_string(), of_summary.unwrap_err().to_string());
    }
}
