//! Gradients of attention, tile by tile, from the outputs and the log-sum-exps that forward gave.
//!
//! Weights are computed again, never stored. The keys of each group of heads are cut into a few ranges at boundaries that
//! depend on the shape alone; whoever takes a range owns its dk and dv, and its share of dq. The shares are added up
//! in their order, so that any number of threads gives the same bits. The memory beyond inputs and outputs grows with
//! `N + M`, and with the bias's own gradient where that is asked for.

mod bias;
mod queries;
mod run;
#[cfg(test)]
mod tests;

use crate::{AttentionError, Problem, Sizes};
use spanwise_kernels::attention::Storage;
use spanwise_kernels::simd::Isa;
use spanwise_kernels::{Shape, View};

/// What backward starts from.
#[derive(Clone, Copy, Debug)]
pub struct Upstream<'a, T> {
    /// `(B, H, N, E)`: what [`crate::forward`] gave for the same problem.
    pub output: View<'a, T>,
    /// `(B, H, N)`: the log-sum-exps it gave.
    pub lse: &'a [f64],
    /// `(B, H, N, E)`: the gradient of the loss with respect to the output.
    pub grad: View<'a, T>,
}

/// Gradients with respect to each argument, row-major.
///
/// Where a batch of 1 was broadcast, the gradients of q, k and v are still those of each batch entry; adding them up is left to the
/// caller. The bias's gradient has the bias's own shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients<T> {
    /// `(B, H, N, D)`.
    pub q: Vec<T>,
    /// `(B, G, M, D)`.
    pub k: Vec<T>,
    /// `(B, G, M, E)`.
    pub v: Vec<T>,
    /// In the bias's own shape; `None` without a bias.
    pub bias: Option<Vec<T>>,
    /// `(H,)`; `None` without sinks.
    pub sinks: Option<Vec<f64>>,
}

/// Memory for gradients; those of bias and sinks are left out where they are not wanted.
#[derive(Debug)]
pub struct GradientsMut<'a, T> {
    /// `(B, H, N, D)`.
    pub q: &'a mut [T],
    /// `(B, G, M, D)`.
    pub k: &'a mut [T],
    /// `(B, G, M, E)`.
    pub v: &'a mut [T],
    /// In the bias's own shape.
    pub bias: Option<&'a mut [T]>,
    /// `(H,)`.
    pub sinks: Option<&'a mut [f64]>,
}

/// The gradients of a loss with respect to q, k, v and, where the problem has them, bias and sinks.
///
/// ```
/// use spanwise_attention::{Options, Problem, Request, Upstream, backward, forward};
/// use spanwise_kernels::View;
///
/// let q = View::new(&[0.0f64], &[1, 1])?;
/// let k = View::new(&[0.0, 0.0], &[2, 1])?;
/// let v = View::new(&[1.0, 3.0], &[2, 1])?;
/// let problem = Problem::new(q, k, v, Options::default())?;
/// let out = forward(&problem, &Request { lse: true, ..Request::default() });
/// let upstream = Upstream {
///     output: View::new(&out.values, &[1, 1])?,
///     lse: &out.statistics.lse.unwrap(),
///     grad: View::new(&[1.0], &[1, 1])?,
/// };
/// let gradients = backward(&problem, &upstream)?;
/// assert_eq!(gradients.v, [0.5, 0.5]); // each value has half of the weight
/// assert_eq!(gradients.q, [0.0]); // both keys are 0
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn backward<T: Storage>(
    problem: &Problem<'_, T>,
    upstream: &Upstream<'_, T>,
) -> Result<Gradients<T>, AttentionError> {
    backward_on(Isa::detected(), problem, upstream)
}

/// [`backward`] into memory the caller has.
pub fn backward_into<T: Storage>(
    problem: &Problem<'_, T>,
    upstream: &Upstream<'_, T>,
    gradients: GradientsMut<'_, T>,
) -> Result<(), AttentionError> {
    let upstream = check(problem, upstream)?;
    check_lengths(problem, &gradients)?;
    run::run(Isa::detected(), problem, &upstream, gradients);
    Ok(())
}

/// [`backward`] with the instructions of `isa`.
fn backward_on<T: Storage>(
    isa: Isa,
    problem: &Problem<'_, T>,
    upstream: &Upstream<'_, T>,
) -> Result<Gradients<T>, AttentionError> {
    let upstream = check(problem, upstream)?;
    let Sizes { b, h, g, n, m, d, e } = problem.sizes;
    let zeros = |count: usize| vec![T::default(); count];
    let mut gradients = Gradients {
        q: zeros(b * h * n * d),
        k: zeros(b * g * m * d),
        v: zeros(b * g * m * e),
        bias: problem.bias_dims().map(|dims| zeros(dims.iter().product())),
        sinks: problem.sinks.map(|sinks| vec![0.0; sinks.len()]),
    };
    let Gradients { q, k, v, bias, sinks } = &mut gradients;
    let into = GradientsMut { q, k, v, bias: bias.as_deref_mut(), sinks: sinks.as_deref_mut() };
    run::run(isa, problem, &upstream, into);
    Ok(gradients)
}

/// With four axes each, if everything has the shape it must have.
fn check<'a, T: Storage>(
    problem: &Problem<'_, T>,
    upstream: &Upstream<'a, T>,
) -> Result<Upstream<'a, T>, AttentionError> {
    let Sizes { b, h, n, e, .. } = problem.sizes;
    let four = |argument, view: View<'a, T>| {
        let wide = view.with_leading_axes(4);
        if wide.dims() == [b, h, n, e] {
            return Ok(wide);
        }
        let expected = Shape::new(&[b, h, n, e]).unwrap_or(view.shape());
        Err(AttentionError::Shape { argument, found: view.shape(), expected, letters: "B, H, N, E" })
    };
    let (found, expected) = (upstream.lse.len(), b * h * n);
    if found != expected {
        return Err(AttentionError::Count { argument: "lse", found, expected, per: "row" });
    }
    Ok(Upstream {
        output: four("output", upstream.output)?,
        lse: upstream.lse,
        grad: four("grad", upstream.grad)?,
    })
}

fn check_lengths<T: Storage>(
    problem: &Problem<'_, T>,
    gradients: &GradientsMut<'_, T>,
) -> Result<(), AttentionError> {
    let Sizes { b, h, g, n, m, d, e } = problem.sizes;
    let bias = problem.bias_dims().map(|dims| dims.iter().product());
    let sinks = problem.sinks.map(<[f64]>::len);
    for (argument, found, expected, letters) in [
        ("q", Some(gradients.q.len()), Some(b * h * n * d), "B·H·N·D"),
        ("k", Some(gradients.k.len()), Some(b * g * m * d), "B·G·M·D"),
        ("v", Some(gradients.v.len()), Some(b * g * m * e), "B·G·M·E"),
        ("bias", gradients.bias.as_ref().map(|bias| bias.len()), bias, "as many as the bias has"),
        ("sinks", gradients.sinks.as_ref().map(|sinks| sinks.len()), sinks, "one per query head"),
    ] {
        match (found, expected) {
            (Some(_), None) => return Err(AttentionError::NoGradient { argument }),
            (Some(found), Some(expected)) if found != expected => {
                return Err(AttentionError::GradientLength { argument, found, expected, letters });
            }
            _ => {}
        }
    }
    Ok(())
}
