//! The reference's gradients against central differences of its output, in f64.

use super::grad_of;
use crate::forward::tests::cases::{ASKS, Ask, Case, Data};
use crate::{Options, reference};
use spanwise_kernels::View;

/// Steps both ways that balance truncation and rounding.
const STEP: f64 = 1e-5;

/// `Σ grad·output`.
fn loss(data: &Data<f64>, options: &Options<'_, f64>, grad: &[f64]) -> f64 {
    reference::attend(&data.with(options)).values.iter().zip(grad).map(|(o, g)| o * g).sum()
}

/// Central differences with respect to each number that `place` finds in a fresh copy of the data.
fn differences(
    case: &Case,
    grad: &[f64],
    count: usize,
    place: impl Fn(&mut Data<f64>, usize) -> &mut f64,
) -> Vec<f64> {
    let at = |i: usize, step: f64| {
        let mut data = Data::<f64>::new(case);
        *place(&mut data, i) += step;
        loss(&data, &data.options(), grad)
    };
    (0..count).map(|i| (at(i, STEP) - at(i, -STEP)) / (2.0 * STEP)).collect()
}

fn close(what: &str, case: &Case, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what} {case:?}");
    for (i, (x, y)) in found.iter().zip(expected).enumerate() {
        assert!((x - y).abs() < 1e-8 * (1.0 + y.abs()), "{what}[{i}] of {case:?}: {x} is not {y}");
    }
}

fn agrees(case: &Case) {
    let data = Data::<f64>::new(case);
    let grad: Vec<f64> = grad_of(case);
    let problem = data.problem();
    let view = View::new(&grad, &[case.b, case.h, case.n, case.e]).unwrap();
    let found = reference::backward(&problem, view);
    close("dq", case, &found.q, &differences(case, &grad, found.q.len(), |data, i| &mut data.q[i]));
    close("dk", case, &found.k, &differences(case, &grad, found.k.len(), |data, i| &mut data.k[i]));
    close("dv", case, &found.v, &differences(case, &grad, found.v.len(), |data, i| &mut data.v[i]));
    if let Some(bias) = &found.bias {
        // −∞ stays −∞: no difference, no gradient.
        let slopes = differences(case, &grad, bias.len(), |data, i| &mut data.bias[i]);
        close("dbias", case, bias, &slopes);
    }
    if let Some(sinks) = &found.sinks {
        close("dsinks", case, sinks, &differences(case, &grad, sinks.len(), |data, i| &mut data.sinks[i]));
    }
}

#[test]
fn the_references_gradients_are_the_slopes_of_its_output() {
    for &ask in ASKS {
        for shape in [[1, 1, 1, 4, 5, 3, 2], [2, 2, 1, 3, 4, 2, 3], [1, 4, 2, 2, 6, 3, 4]] {
            agrees(&Case::new(shape, ask));
        }
    }
    agrees(&Case::new([2, 3, 3, 1, 1, 1, 1], Ask::Bias([false, true, true, false])));
    agrees(&Case::new([2, 3, 1, 3, 4, 2, 2], Ask::Bias([true, false, false, false])));
}
