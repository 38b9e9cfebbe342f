//! Nothing at all, what is no number, and what does not fit.

use super::{grad_of, gradients};
use crate::forward::tests::cases::{Ask, Case, Data, numbers};
use crate::forward::tests::{distance, to_f64};
use crate::{
    Alignment, AttentionError, Causal, GradientsMut, Options, Problem, Upstream, backward, backward_into,
    reference,
};
use spanwise_kernels::attention::Storage;
use spanwise_kernels::simd::Isa;
use spanwise_kernels::{View, bf16};

#[test]
fn rows_that_see_nothing_have_no_gradient_and_give_none() {
    let case = Case::new([1, 1, 1, 100, 40, 8, 8], Ask::Causal(Alignment::BottomRight));
    let data = Data::<f32>::new(&case);
    for isa in Isa::available() {
        let mut grad = grad_of::<f32>(&case);
        let found = gradients(isa, &data.problem(), &grad);
        assert!(found.q[..60 * 8].iter().all(|&x| x == 0.0), "{isa}");
        assert!(found.q[61 * 8..].iter().any(|&x| x != 0.0), "{isa}");
        // Whatever the gradient of such a row is, it changes nothing.
        grad[..60 * 8].fill(f32::NAN);
        assert_eq!(gradients(isa, &data.problem(), &grad), found, "{isa}");
    }
}

#[test]
fn rows_give_the_same_gradients_wherever_they_lie() {
    let (width, apart) = (16, 24);
    for n in [64, 80, 61] {
        let [q, k, v, grad]: [Vec<f32>; 4] = [1, 2, 3, 4].map(|seed| numbers(seed, n * width, 1.0));
        let mut far = vec![f32::NAN; n * apart];
        for (to, from) in far.chunks_exact_mut(apart).zip(q.chunks_exact(width)) {
            to[..width].copy_from_slice(from);
        }
        let near = |data| View::new(data, &[n, width]).unwrap();
        let far = View::strided(&far, 0, &[n, width], &[apart as isize, 1]).unwrap();
        let causal = Options { causal: Some(Causal::Square), ..Options::default() };
        for isa in Isa::available() {
            let of = |q| gradients(isa, &Problem::new(q, near(&k), near(&v), causal).unwrap(), &grad);
            assert_eq!(of(near(&q)), of(far), "{isa} {n}");
        }
    }
}

#[test]
fn no_keys_and_no_queries_have_empty_gradients() {
    let of = |n: usize, m: usize| {
        let (q, k) = (vec![1.0f64; n * 2], vec![1.0; m * 2]);
        let problem = Problem::new(
            View::new(&q, &[n, 2]).unwrap(),
            View::new(&k, &[m, 2]).unwrap(),
            View::new(&k, &[m, 2]).unwrap(),
            Options::default(),
        );
        gradients(Isa::detected(), &problem.unwrap(), &q)
    };
    assert_eq!(of(3, 0).q, [0.0; 6]);
    assert!(of(3, 0).k.is_empty());
    assert_eq!(of(0, 2).k, [0.0; 4]);
    assert_eq!(of(0, 2).v, [0.0; 4]);
}

/// Puts `bad` into one number of q, k, v or the output's gradient, where causal hides it from some.
fn stays_where_it_is<T: Storage>(bad: f64, place: usize) {
    let (n, width, at) = (90, 8, 70);
    let mut arrays: [Vec<T>; 4] = [1, 2, 3, 4].map(|seed| numbers(seed, n * width, 1.0));
    arrays[place][at * width + 3] = T::from_f64(bad);
    let [q, k, v, grad] = &arrays;
    let view = |data| View::new(data, &[n, width]).unwrap();
    let causal = Options { causal: Some(Causal::Square), ..Options::default() };
    let problem = Problem::new(view(q), view(k), view(v), causal).unwrap();
    let exact = reference::backward(&problem, View::new(grad, &[1, 1, n, width]).unwrap());
    let lost = |numbers: &[f64]| -> Vec<bool> {
        numbers.chunks(width).map(|row| row.iter().any(|x| !x.is_finite())).collect()
    };
    for isa in Isa::available() {
        let found = gradients(isa, &problem, grad);
        for (what, found, exact) in [
            ("dq", to_f64(&found.q), &exact.q),
            ("dk", to_f64(&found.k), &exact.k),
            ("dv", to_f64(&found.v), &exact.v),
        ] {
            assert_eq!(lost(&found), lost(exact), "{isa} {bad} in {place}: {what}");
            let whole = |numbers: &[f64]| -> Vec<f64> {
                let kept = numbers.chunks(width).zip(lost(exact)).filter(|(_, lost)| !lost);
                kept.flat_map(|(row, _)| row.to_vec()).collect()
            };
            assert!(distance(&whole(&found), &whole(exact)) < 3e-2, "{isa} {bad} in {place}: {what}");
        }
    }
}

#[test]
fn what_is_hidden_never_reaches_a_gradient() {
    for place in 0..4 {
        stays_where_it_is::<f32>(f64::NAN, place);
        stays_where_it_is::<f64>(f64::NAN, place);
        stays_where_it_is::<bf16>(f64::NAN, place);
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let x = [1.0f64, 2.0];
    let view = View::new(&x, &[2, 1]).unwrap();
    let problem = Problem::new(view, view, view, Options::default()).unwrap();
    let lse = [0.0, 0.0];
    let upstream = Upstream { output: view, lse: &lse, grad: view };
    let message = |result: Result<(), AttentionError>| result.unwrap_err().to_string();
    let refused = |upstream| message(backward(&problem, &upstream).map(|_| ()));
    let wide = View::new(&x, &[1, 2]).unwrap();
    assert_eq!(
        refused(Upstream { grad: wide, ..upstream }),
        "attention: `grad` has shape (1, 2); expected (1, 1, 2, 1) (B, H, N, E)"
    );
    assert_eq!(
        refused(Upstream { lse: &lse[..1], ..upstream }),
        "attention: `lse` has 1 entry; expected 2, one per row"
    );
    let (mut a, mut b, mut c, mut d) = ([0.0; 2], [0.0; 2], [0.0; 3], [0.0; 1]);
    let into = GradientsMut { q: &mut a, k: &mut b, v: &mut c, bias: None, sinks: None };
    assert_eq!(
        message(backward_into(&problem, &upstream, into)),
        "attention: the gradient of `v` has 3 elements; expected 2, B·G·M·E"
    );
    let into = GradientsMut { q: &mut a, k: &mut b, v: &mut c[..2], bias: Some(&mut d), sinks: None };
    assert_eq!(
        message(backward_into(&problem, &upstream, into)),
        "attention: the gradient of `bias` is asked for; the problem has no `bias`"
    );
}
