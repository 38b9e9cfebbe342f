//! The table of cases, type by type, and the same bits for any number of threads.

use super::{grad_of, gradients, of_case, plain};
use crate::forward::tests::cases::{Ask, Case, Data};
use crate::forward::tests::table::table;
use crate::forward::tests::{distance, epsilon, largest, same_bits, to_f64};
use crate::{Alignment, reference};
use rayon::ThreadPoolBuilder;
use spanwise_kernels::attention::Storage;
use spanwise_kernels::simd::Isa;
use spanwise_kernels::{Dtype, View, bf16, f16};

/// Each gradient on every instruction set: at most twice the error of a plain implementation in the same type, plus a few
/// units in the last place. In f64 the reference itself rounds as much as anyone.
fn gradients_follow_the_rule<T: Storage>(case: &Case) {
    let data = Data::<T>::new(case);
    let problem = data.problem();
    let grad = grad_of::<T>(case);
    let view = View::new(&grad, &[case.b, case.h, case.n, case.e]).unwrap();
    let exact = reference::backward(&problem, view);
    let plain = plain::backward(&problem, view);
    let scores = largest(&reference::steps(&problem).scores);
    let units = if T::DTYPE == Dtype::F64 { 4.0 * scores.max(16.0) } else { 4.0 };
    for isa in Isa::available() {
        let found = gradients(isa, &problem, &grad);
        let close = |what: &str, found: &[f64], exact: &[f64], plain: &[f64]| {
            // A single row or key leaves sums that cancel to nothing but rounding, and so does a bias that repeats along
            // the keys: its gradient is exactly 0.
            let least = if what == "dbias" { 1.0 } else { 0.05 };
            let floor = units * epsilon(T::DTYPE) * largest(exact).max(least);
            let allowed = 2.0 * distance(plain, exact) + floor;
            let error = distance(found, exact);
            assert!(
                error <= allowed,
                "{isa} {} {case:?}: {what} is off by {error:e}, allowed {allowed:e}",
                T::DTYPE
            );
        };
        close("dq", &to_f64(&found.q), &exact.q, &plain.q);
        close("dk", &to_f64(&found.k), &exact.k, &plain.k);
        close("dv", &to_f64(&found.v), &exact.v, &plain.v);
        let bias = [&found.bias.map(|bias| to_f64(&bias)), &exact.bias, &plain.bias];
        if let [Some(found), Some(exact), Some(plain)] = bias {
            close("dbias", found, exact, plain);
        }
        if let [Some(found), Some(exact), Some(plain)] = [&found.sinks, &exact.sinks, &plain.sinks] {
            close("dsinks", found, exact, plain);
        }
        assert_eq!(bias[0].is_some(), problem.options().bias.is_some());
        assert_eq!(found.sinks.is_some(), problem.options().sinks.is_some());
    }
}

#[test]
fn gradients_follow_the_rule_in_f32() {
    table().iter().for_each(gradients_follow_the_rule::<f32>);
}

#[test]
fn gradients_follow_the_rule_in_f64() {
    table().iter().for_each(gradients_follow_the_rule::<f64>);
}

#[test]
fn gradients_follow_the_rule_in_bf16() {
    table().iter().step_by(2).for_each(gradients_follow_the_rule::<bf16>);
}

#[test]
fn gradients_follow_the_rule_in_f16() {
    table().iter().skip(1).step_by(2).for_each(gradients_follow_the_rule::<f16>);
}

#[test]
fn a_bias_of_each_broadcast_shape_has_a_gradient_of_its_own_shape() {
    for bits in 0..16 {
        let own = [0, 1, 2, 3].map(|axis| bits >> axis & 1 == 1);
        gradients_follow_the_rule::<f64>(&Case::new([2, 4, 2, 19, 30, 5, 7], Ask::Bias(own)));
    }
    gradients_follow_the_rule::<f32>(&Case::new(
        [1, 2, 2, 70, 600, 8, 8],
        Ask::Bias([false, true, false, true]),
    ));
}

fn any_number_of_threads_gives_the_same<T: Storage>(case: &Case) {
    let run = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| of_case::<T>(Isa::detected(), case))
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        let many = run(threads);
        assert!(same_bits(&one.q, &many.q), "{threads} threads: dq of {case:?}");
        assert!(same_bits(&one.k, &many.k), "{threads} threads: dk of {case:?}");
        assert!(same_bits(&one.v, &many.v), "{threads} threads: dv of {case:?}");
        assert_eq!(one.bias, many.bias, "{threads} threads: {case:?}");
        assert_eq!(one.sinks, many.sinks, "{threads} threads: {case:?}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_gradients() {
    let causal = Ask::Causal(Alignment::BottomRight);
    any_number_of_threads_gives_the_same::<f32>(&Case::new([1, 2, 1, 300, 1100, 16, 16], causal));
    any_number_of_threads_gives_the_same::<f64>(&Case::new(
        [2, 3, 3, 100, 600, 8, 24],
        Ask::Bias([false, false, false, true]),
    ));
    any_number_of_threads_gives_the_same::<bf16>(&Case::new([1, 4, 2, 90, 1300, 20, 12], Ask::Dropout(0.3)));
    any_number_of_threads_gives_the_same::<f32>(&Case::new([1, 1, 1, 130, 2100, 16, 16], Ask::Everything));
}
