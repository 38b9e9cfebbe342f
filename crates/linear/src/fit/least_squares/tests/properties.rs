//! What must hold for any data.

use super::traps::random;
use crate::fit::least_squares::{LeastSquares, LinearFit};
use crate::{CsrRows, Summary};
use proptest::prelude::*;
use spanwise_kernels::{Matrix, View};

#[derive(Clone, Debug)]
struct Problem {
    x: Matrix,
    y: Vec<f64>,
    weights: Vec<f64>,
}

fn problem() -> impl Strategy<Value = Problem> {
    (1usize..8, 0usize..60, any::<u64>(), -3i32..4).prop_map(|(d, more, seed, scale)| {
        let n = d + 2 + more;
        let mut next = random(seed);
        let factor = 10f64.powi(scale);
        let x = Matrix::from_fn(n, d, |_, j| (next() + j as f64) * factor);
        let y = (0..n).map(|_| next()).collect();
        let weights = (0..n).map(|_| next().abs() + 0.1).collect();
        Problem { x, y, weights }
    })
}

fn values(model: &LinearFit) -> Vec<f64> {
    let target = model.target();
    target.coefficients.iter().chain(&target.intercept).map(|c| c.value).collect()
}

fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let scale = a.iter().chain(b).fold(0.0f64, |m, v| m.max(v.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * scale)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_residual_is_orthogonal_to_the_columns(p in problem()) {
        let model = LeastSquares::new().fit_weighted(&p.x.view(), &p.y[..], &p.weights).unwrap();
        let fitted = model.predict(&p.x.view()).unwrap();
        for j in 0..p.x.cols() {
            let (mut sum, mut size) = (0.0, 0.0);
            for i in 0..p.x.rows() {
                let term = p.weights[i] * p.x[(i, j)] * (p.y[i] - fitted[(i, 0)]);
                sum += term;
                size += p.weights[i] * p.x[(i, j)].abs() * (p.y[i].abs() + fitted[(i, 0)].abs());
            }
            prop_assert!(f64::abs(sum) <= 1e-11 * size);
        }
    }

    #[test]
    fn scaling_a_column_by_a_power_of_two_scales_its_coefficient(p in problem(), k in -30i32..30) {
        let model = LeastSquares::new().fit(&p.x.view(), &p.y[..]).unwrap();
        let factor = 2f64.powi(k);
        let scaled = Matrix::from_fn(p.x.rows(), p.x.cols(), |i, j| p.x[(i, j)] * if j == 0 { factor } else { 1.0 });
        let other = LeastSquares::new().fit(&scaled.view(), &p.y[..]).unwrap();
        let mut back = values(&other);
        back[0] *= factor;
        prop_assert!(close(&values(&model), &back, 1e-12));
    }

    #[test]
    fn appending_a_dependent_column_leaves_the_predictions(p in problem(), a in -3.0f64..3.0, b in -3.0f64..3.0) {
        let (n, d) = (p.x.rows(), p.x.cols());
        let model = LeastSquares::new().fit(&p.x.view(), &p.y[..]).unwrap();
        let longer = Matrix::from_fn(n, d + 1, |i, j| if j < d { p.x[(i, j)] } else { a * p.x[(i, 0)] + b });
        let other = LeastSquares::new().fit(&longer.view(), &p.y[..]).unwrap();
        prop_assert_eq!(other.rank().rank, model.rank().rank);
        let before = model.predict(&p.x.view()).unwrap().col(0);
        let after = other.predict(&longer.view()).unwrap().col(0);
        prop_assert!(close(&before, &after, 1e-9));
    }

    #[test]
    fn a_zero_weight_is_a_dropped_row_to_the_last_bit(p in problem(), drop in 0usize..10) {
        let n = p.x.rows();
        let mut weights = p.weights.clone();
        weights[drop % n] = 0.0;
        // Whatever a row of weight zero holds does not matter.
        let mut x = p.x.clone();
        x[(drop % n, 0)] = f64::NAN;
        let zeroed = LeastSquares::new().fit_weighted(&x.view(), &p.y[..], &weights).unwrap();
        let keep: Vec<usize> = (0..n).filter(|&i| i != drop % n).collect();
        let x = Matrix::from_fn(n - 1, p.x.cols(), |i, j| p.x[(keep[i], j)]);
        let y: Vec<f64> = keep.iter().map(|&i| p.y[i]).collect();
        let weights: Vec<f64> = keep.iter().map(|&i| p.weights[i]).collect();
        let dropped = LeastSquares::new().fit_weighted(&x.view(), &y[..], &weights).unwrap();
        prop_assert_eq!(zeroed.targets().len(), dropped.targets().len());
        prop_assert_eq!(values(&zeroed), values(&dropped));
        prop_assert_eq!(zeroed.rows(), dropped.rows());
    }

    #[test]
    fn layouts_and_storage_do_not_change_the_model(p in problem()) {
        let (n, d) = (p.x.rows(), p.x.cols());
        let single = Matrix::from_fn(n, d, |i, j| f64::from(p.x[(i, j)] as f32));
        let reference = LeastSquares::new().fit(&single.view(), &p.y[..]).unwrap();
        let columns = single.transposed();
        let by_columns = LeastSquares::new().fit(&columns.view().transposed(), &p.y[..]).unwrap();
        prop_assert_eq!(values(&reference), values(&by_columns));
        let short: Vec<f32> = single.as_slice().iter().map(|&v| v as f32).collect();
        let view = View::new(&short, &[n, d]).unwrap();
        prop_assert_eq!(values(&reference), values(&LeastSquares::new().fit(&view, &p.y[..]).unwrap()));
        let indptr: Vec<usize> = (0..=n).map(|i| i * d).collect();
        let indices: Vec<usize> = (0..n * d).map(|k| k % d).collect();
        let sparse = CsrRows::new(d, &indptr, &indices, single.as_slice()).unwrap();
        prop_assert_eq!(values(&reference), values(&LeastSquares::new().fit(&sparse, &p.y[..]).unwrap()));
    }

    #[test]
    fn a_summary_in_pieces_gives_the_model_of_the_whole(p in problem(), pieces in 1usize..5) {
        let (n, d) = (p.x.rows(), p.x.cols());
        let whole = LeastSquares::new().fit(&p.x.view(), &p.y[..]).unwrap();
        let mut summary = Summary::new(d, 1);
        for c in 0..pieces {
            let rows = c * n / pieces..(c + 1) * n / pieces;
            let x = Matrix::from_fn(rows.len(), d, |i, j| p.x[(rows.start + i, j)]);
            summary.push(&x.view(), &p.y[rows], None).unwrap();
        }
        let model = LeastSquares::new().fit_summary(&summary).unwrap();
        prop_assert_eq!(model.rank().rank, whole.rank().rank);
        prop_assert!(close(&values(&model), &values(&whole), 1e-12 * whole.condition_bound()));
    }
}

#[test]
fn several_targets_are_fitted_as_if_alone() {
    let mut next = random(5);
    let x = Matrix::from_fn(9000, 12, |_, _| next());
    let y = Matrix::from_fn(9000, 3, |_, _| next());
    let together = LeastSquares::new().fit(&x.view(), &y.view()).unwrap();
    for q in 0..3 {
        let alone = LeastSquares::new().fit(&x.view(), &y.col(q)[..]).unwrap();
        for (a, b) in together.targets()[q].coefficients.iter().zip(&alone.target().coefficients) {
            assert!((a.value - b.value).abs() < 1e-15);
            assert!((a.standard_error / b.standard_error - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let mut next = random(6);
    let x = Matrix::from_fn(12_000, 9, |_, _| next());
    let y: Vec<f64> = (0..12_000).map(|_| next()).collect();
    let run = |threads: usize| {
        spanwise_kernels::crew::with_exactly(threads, || {
            let model = LeastSquares::new().fit(&x.view(), &y[..]).unwrap();
            let summary = Summary::of(&x.view(), &y[..], None).unwrap();
            (model.targets().to_vec(), summary.to_bytes())
        })
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        assert!(run(threads) == one, "{threads} threads");
    }
}
