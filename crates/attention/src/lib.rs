//! Attention: every output is a weighted sum of value rows, `o = Σ aᵢ vᵢ` with `a = softmax(scale·q·K)`.
//!
//! [`Problem`] takes q, k, v and [`Options`] and checks all of it once; [`forward()`] evaluates it, with statistics of the
//! weights on request, [`backward()`] gives its gradients; [`mod@reference`] does the same in plain f64, one step after another, and is what the tests compare
//! with. The letters are the same everywhere: `B` batch, `H` query heads, `G` key/value
//! heads, `N` queries, `M` keys, `D` key width, `E` value width.
//!
//! ```
//! use spanwise_attention::{Options, Problem, reference};
//! use spanwise_kernels::View;
//!
//! let q = View::new(&[1.0, 0.0], &[1, 2])?;
//! let k = View::new(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], &[3, 2])?;
//! let v = View::new(&[1.0, 0.0, 0.0, 2.0, 1.0, 1.0], &[3, 2])?;
//! let answer = reference::attend(&Problem::new(q, k, v, Options::default())?);
//! assert!((answer.values[0] - 0.802_224_19).abs() < 1e-8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// `docs/numerics.md`, whose code runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/numerics.md")]
pub mod numerics {}

mod backward;
mod cache;
mod error;
mod forward;
mod mask;
mod packed;
mod problem;
pub mod reference;
mod sequence;
mod share;

pub use backward::{Gradients, GradientsMut, Upstream, backward, backward_into};
pub use cache::{Cache, CacheSizes};
pub use error::AttentionError;
pub use forward::{
    Forward, Map, MapSize, Peak, Request, Statistics, Top, forward, forward_into, forward_told, scores,
    weights,
};
pub use mask::{Alignment, Blocks, Causal, Window};
pub use packed::{Offsets, Packed, PackedForward, PackedGradients, backward_packed, forward_packed};
pub use problem::{Dropout, Options, Problem, Sizes};
pub use share::Team;
