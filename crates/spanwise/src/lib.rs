//! A model's output is a weighted sum, and Spanwise computes both kinds.
//!
//! - A linear prediction `ŷ = Xw = Σ wⱼ X[:,j]` lies in the *span* of the feature columns: [`linear`].
//! - An attention output `o = Σ aᵢ vᵢ`, `a = softmax(q·K/√D)`, lies in the *convex hull* of the value rows: [`attend`].
//!
//! Arrays are seen through a [`View`], with any strides and without a copy; shapes are checked once, where a problem is
//! built. Results are plain data, and [`report`] writes them as text or JSON. [`example`] holds worked examples that
//! compute and check themselves.
//!
//! ```
//! use spanwise::attend::{Options, Problem, reference};
//! use spanwise::View;
//!
//! let q = View::new(&[1.0, 0.0], &[1, 2])?; // one query
//! let k = View::new(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], &[3, 2])?; // three keys
//! let v = View::new(&[1.0, 0.0, 0.0, 2.0, 1.0, 1.0], &[3, 2])?; // three values
//! let problem = Problem::new(q, k, v, Options::default())?;
//! let steps = reference::steps(&problem);
//! assert!((steps.weights.iter().sum::<f64>() - 1.0).abs() < 1e-15);
//! assert!((steps.answer.values[0] - 0.80222419).abs() < 1e-8);
//!
//! // The same as a page that shows every step and checks every claim.
//! let lesson = spanwise::example::lesson(66, &spanwise::example::Inputs::default())?;
//! assert!(lesson.holds());
//! println!("{}", spanwise::report::lesson_text(&lesson, spanwise::report::Ink::Plain));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use spanwise_kernels::simd::{Isa, IsaError};
pub use spanwise_kernels::{Dtype, Element, MAX_RANK, Matrix, Shape, ShapeError, View, bf16, f16};

/// Attention in all its forms, and what a run of it says about itself.
pub mod attend {
    pub use spanwise_attention::{
        Alignment, AttentionError, Blocks, Causal, Options, Problem, Sizes, Window, reference,
    };
    pub use spanwise_attention::{
        Cache, CacheSizes, Dropout, Gradients, GradientsMut, Offsets, Packed, PackedForward, PackedGradients,
        Upstream, backward, backward_into, backward_packed, forward_packed,
    };
    pub use spanwise_attention::{
        Forward, Map, MapSize, Peak, Request, Statistics, Team, Top, forward, forward_into, forward_told,
        scores, weights,
    };
    pub use spanwise_kernels::attention::Storage;
    pub use spanwise_lens::{AskedFor, Attended, Summary, attend as summarised};
}

/// Worked examples, computed from their inputs each time, every claim checked.
pub mod example {
    pub use spanwise_lens::example::{CATALOGUE, Entry, Inputs, LARGEST, lesson};
    pub use spanwise_lens::{
        Array, Claim, Combination, Dot, Headline, Lesson, LessonError, Mark, Part, Picture, Step, Term,
        Working,
    };
}

/// From a table or from q, k and v to findings a person can act on.
pub mod explain {
    pub use spanwise_lens::explain::*;
}

/// Linear models: the weighted sum `Xw` and what can be said of it.
pub mod linear {
    pub use spanwise_linear::*;

    /// What the computations say about themselves: findings, certificates and tables, as plain data.
    pub mod told {
        pub use spanwise_lens::linear::*;
    }
}

/// Findings as text for a terminal and as JSON.
pub mod report {
    pub use spanwise_report::*;
}

/// The README's Rust, compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
