//! Exact attention in one pass, a tile of keys at a time, with statistics of its weights on the way.
//!
//! The memory beyond inputs and outputs does not grow with `N·M`. Work is cut into blocks of query rows at boundaries
//! that depend on the shape alone; whichever thread takes a block, it computes the same bits.

mod decode;
mod merge;
pub(crate) mod plan;
mod run;
mod statistics;
#[cfg(test)]
pub(crate) mod tests;
mod weights;

pub use statistics::{Map, MapSize, Peak, Request, Statistics, Top};
pub use weights::{scores, weights};

use crate::{AttentionError, Problem};
use spanwise_kernels::attention::Storage;
use spanwise_kernels::simd::Isa;

/// What came out of [`forward`].
#[derive(Clone, Debug, PartialEq)]
pub struct Forward<T> {
    /// `(B, H, N, E)`, row-major.
    pub values: Vec<T>,
    /// What was asked for.
    pub statistics: Statistics,
}

/// Attention, and what `request` asks about its weights.
///
/// ```
/// use spanwise_attention::{Options, Problem, Request, forward};
/// use spanwise_kernels::View;
///
/// let q = View::new(&[1.0f32, 0.0], &[1, 2])?;
/// let k = View::new(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], &[3, 2])?;
/// let v = View::new(&[1.0, 0.0, 0.0, 2.0, 1.0, 1.0], &[3, 2])?;
/// let problem = Problem::new(q, k, v, Options::default())?;
/// let request = Request { entropy: true, received: true, ..Request::default() };
/// let forward = forward(&problem, &request);
/// assert!((forward.values[0] - 0.802_224_2).abs() < 1e-6);
/// // The second key scores 0 and receives e⁰ of the denominator 2·e^(1/√2) + 1.
/// assert!((forward.statistics.received.unwrap()[1] - 0.197_775_8).abs() < 1e-6);
/// assert!(forward.statistics.entropy.unwrap()[0] < 3f64.ln());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn forward<T: Storage>(problem: &Problem<'_, T>, request: &Request) -> Forward<T> {
    forward_on(Isa::detected(), problem, request)
}

/// [`forward`] that tells how far it is: `told` is called, by whichever thread, with a number of query rows just done; all
/// heads together have `B·H·N`.
pub fn forward_told<T: Storage>(
    problem: &Problem<'_, T>,
    request: &Request,
    told: &(dyn Fn(usize) + Sync),
) -> Forward<T> {
    let mut values = vec![T::default(); output_len(problem)];
    let statistics = run::run(Isa::detected(), problem, request, &mut values, told);
    Forward { values, statistics }
}

/// [`forward`] into memory the caller has: `out` is `(B, H, N, E)`, row-major.
///
/// ```
/// use spanwise_attention::{Options, Problem, Request, forward_into};
/// use spanwise_kernels::View;
///
/// let one = View::new(&[2.0f64], &[1, 1])?;
/// let problem = Problem::new(one, one, one, Options::default())?;
/// let mut out = [0.0];
/// let statistics = forward_into(&problem, &Request { lse: true, ..Request::default() }, &mut out)?;
/// assert_eq!(out, [2.0]);
/// assert!((statistics.lse.unwrap()[0] - 4.0).abs() < 1e-15);
/// assert!(forward_into(&problem, &Request::default(), &mut [0.0, 0.0]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn forward_into<T: Storage>(
    problem: &Problem<'_, T>,
    request: &Request,
    out: &mut [T],
) -> Result<Statistics, AttentionError> {
    let expected = output_len(problem);
    if out.len() != expected {
        return Err(AttentionError::OutputLength { found: out.len(), expected });
    }
    Ok(run::run(Isa::detected(), problem, request, out, &|_| ()))
}

/// [`forward`] with the instructions of `isa`.
pub(crate) fn forward_on<T: Storage>(isa: Isa, problem: &Problem<'_, T>, request: &Request) -> Forward<T> {
    // Outputs are formed where they are to be: one that is read before it is written, or never written, shows in every test.
    let start = if cfg!(test) { T::from_f64(f64::NAN) } else { T::default() };
    let mut values = vec![start; output_len(problem)];
    let statistics = run::run(isa, problem, request, &mut values, &|_| ());
    Forward { values, statistics }
}

fn output_len<T>(problem: &Problem<'_, T>) -> usize {
    let sizes = problem.sizes;
    sizes.b * sizes.h * sizes.n * sizes.e
}
