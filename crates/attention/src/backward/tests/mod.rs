//! Gradients: the reference against central differences, the fast ones against the reference on every instruction set.

mod differences;
mod plain;
mod special;
mod table;

use super::{Gradients, Upstream, backward_on};
use crate::forward::forward_on;
use crate::forward::tests::cases::{Case, Data, numbers};
use crate::{Problem, Request};
use spanwise_kernels::View;
use spanwise_kernels::attention::Storage;
use spanwise_kernels::simd::Isa;

/// A gradient of the output, `(B, H, N, E)`.
fn grad_of<T: Storage>(case: &Case) -> Vec<T> {
    numbers(9, case.b * case.h * case.n * case.e, 1.0)
}

/// Forward, then backward.
fn gradients<T: Storage>(isa: Isa, problem: &Problem<'_, T>, grad: &[T]) -> Gradients<T> {
    let sizes = problem.sizes();
    let dims = [sizes.b, sizes.h, sizes.n, sizes.e];
    let forward = forward_on(isa, problem, &Request { lse: true, ..Request::default() });
    let upstream = Upstream {
        output: View::new(&forward.values, &dims).unwrap(),
        lse: &forward.statistics.lse.unwrap(),
        grad: View::new(grad, &dims).unwrap(),
    };
    backward_on(isa, problem, &upstream).unwrap()
}

/// All gradients of a case, one after another.
fn of_case<T: Storage>(isa: Isa, case: &Case) -> Gradients<T> {
    let data = Data::<T>::new(case);
    gradients(isa, &data.problem(), &grad_of(case))
}
