//! One table of cases, run by every instruction set in every storage type and held against the reference.
//!
//! The tolerance is a rule: the error against the f64 reference is at most twice that of a plain implementation in the
//! same type ([`plain`]), plus two units in the last place of the largest output. In f64 the reference rounds as much as
//! anyone, and an exponential magnifies the rounding of its score by the score's size, so there the rule allows
//! sixteen units, or two for each unit of the largest score.

pub(crate) mod cases;
mod plain;
mod properties;
mod special;
pub(crate) mod table;
mod threads;

use crate::forward::forward_on;
use crate::{Problem, Request, reference};
use cases::{Case, Data};
use spanwise_kernels::attention::Storage;
use spanwise_kernels::simd::Isa;
use spanwise_kernels::{Dtype, Element};

/// The distance between 1 and the next number of a storage type.
pub(crate) fn epsilon(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 => f64::EPSILON,
        Dtype::F32 => f64::from(f32::EPSILON),
        Dtype::F16 => 2f64.powi(-10),
        Dtype::Bf16 => 2f64.powi(-7),
    }
}

/// The largest distance between two lists, where NaN equals NaN and an infinity itself.
pub(crate) fn distance(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let one = |(&x, &y): (&f64, &f64)| {
        if x == y || (x.is_nan() && y.is_nan()) {
            0.0
        } else if x.is_finite() && y.is_finite() {
            (x - y).abs()
        } else {
            f64::INFINITY
        }
    };
    found.iter().zip(expected).map(one).fold(0.0, f64::max)
}

pub(crate) fn largest(values: &[f64]) -> f64 {
    values.iter().filter(|x| x.is_finite()).fold(0.0, |max, x| x.abs().max(max))
}

pub(crate) fn to_f64<T: Element>(values: &[T]) -> Vec<f64> {
    values.iter().map(|x| x.to_f64()).collect()
}

/// The output of `case` on every instruction set, by the rule.
fn outputs_follow_the_rule<T: Storage>(case: &Case) {
    let data = Data::<T>::new(case);
    let problem = data.problem();
    let exact = reference::attend(&problem);
    let plain = to_f64(&plain::attend(&problem));
    let units = match T::DTYPE {
        Dtype::F64 => 2.0 * largest(&reference::steps(&problem).scores).max(8.0),
        _ => 2.0,
    };
    let floor = units * epsilon(T::DTYPE) * largest(&exact.values);
    let allowed = 2.0 * distance(&plain, &exact.values) + floor;
    for isa in Isa::available() {
        // Alone, and as a backward pass needs them.
        let alone = forward_on(isa, &problem, &Request::default());
        let forward = forward_on(isa, &problem, &Request { lse: true, ..Request::default() });
        for values in [&alone.values, &forward.values] {
            let error = distance(&to_f64(values), &exact.values);
            assert!(error <= allowed, "{isa} {} {case:?}: error {error:e}, allowed {allowed:e}", T::DTYPE);
        }
        let lse = forward.statistics.lse.unwrap();
        let allowed = 8.0 * epsilon(<T::Real as Element>::DTYPE) * largest(&exact.lse).max(8.0);
        let error = distance(&lse, &exact.lse);
        assert!(error <= allowed, "{isa} {} {case:?}: log-sum-exp is off by {error:e}", T::DTYPE);
        assert_eq!(forward.statistics.empty_rows, exact.empty_rows, "{isa} {case:?}");
    }
}

/// The same bits, NaN or not.
pub(crate) fn same_bits<T: Element>(a: &[T], b: &[T]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_f64().to_bits() == y.to_f64().to_bits())
}

/// A problem of two-dimensional arrays without options.
fn simple<'a>(q: &'a [f64], k: &'a [f64], v: &'a [f64], width: usize) -> Problem<'a, f64> {
    let view = |data: &'a [f64]| spanwise_kernels::View::new(data, &[data.len() / width, width]).unwrap();
    Problem::new(view(q), view(k), view(v), crate::Options::default()).unwrap()
}
