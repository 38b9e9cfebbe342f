//! A model's output is a weighted sum, and Spanwise computes both kinds.
//!
//! - A linear prediction `ŷ = Xw = Σ wⱼ X[:,j]` lies in the *span* of the feature columns: [`linear`].
//! - An attention output `o = Σ aᵢ vᵢ`, `a = softmax(q·K/√D)`, lies in the *convex hull* of the value rows: [`attend`].
//!
//! Arrays are seen through a [`View`]: memory that is borrowed, a shape, and any strides, so that nothing is copied. Shapes are
//! checked once, where a problem is built. Results are plain data.
//!
//! | you have | you want | call |
//! |---|---|---|
//! | q, k and v | the output, and statistics of the weights | [`attend::forward`]; [`attend::backward`] for gradients, [`attend::Cache`] for decoding |
//! | X and y | a fit with the digits to trust | [`linear::LeastSquares`]; the other models are in [`linear::fit`] |
//! | named columns, some of words | the matrix X | [`linear::design::Design`] |
//! | more rows than memory | the same fit | [`linear::SummaryStream`] |
//! | any of these | findings, figures, a page | [`explain`], then [`report`] |
//! | files | arrays and tables | the crate `spanwise-io`, which stands beside this one |
//!
//! # Attention
//!
//! ```
//! use spanwise::attend::{Causal, Options, Problem, Request, forward};
//! use spanwise::View;
//!
//! // 2 heads, 3 tokens, width 4; f64, bf16 and f16 work the same way.
//! let numbers: Vec<f32> = (0..2 * 3 * 4).map(|i| (i as f32 * 0.7).sin()).collect();
//! let x = View::new(&numbers, &[2, 3, 4])?;
//! let options = Options { causal: Some(Causal::Square), ..Options::default() };
//! let problem = Problem::new(x, x, x, options)?;
//! let found = forward(&problem, &Request { entropy: true, ..Request::default() });
//! assert_eq!(problem.output_dims(), [2, 3, 4]);
//! assert_eq!(found.values[..4], numbers[..4]); // the first query sees the first key only
//! assert_eq!(found.statistics.entropy.unwrap()[0], 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`attend::reference`] says the same in plain loops, for reading and for comparing.
//!
//! # Least squares
//!
//! ```
//! use spanwise::linear::LeastSquares;
//! use spanwise::View;
//!
//! let x = View::new(&[0.0, 1.0, 1.0, 3.0, 2.0, 2.0, 3.0, 5.0], &[4, 2])?; // 4 rows, 2 columns
//! let y = [1.0, 6.0, 7.0, 12.0]; // 2·a + 1·b, but for the second row
//! let fit = LeastSquares::new().fit(&x, &y[..])?;
//! assert_eq!(fit.target().coefficients.len(), 2); // and `intercept`
//! let first = fit.target().coefficients[0];
//! println!("{} to {:.0} digits", first.value, first.digits());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What follows from it
//!
//! ```
//! use spanwise::explain::{AttentionInput, explain_attention};
//! use spanwise::report::{Ink, explained_text, page_html};
//! # use spanwise::{View, attend::Options};
//! # let numbers: Vec<f32> = (0..2 * 16 * 8).map(|i| (i as f32 * 0.7).sin()).collect();
//! # let x = View::new(&numbers, &[2, 16, 8])?;
//! let input = AttentionInput { source: "a layer", q: x, k: x, v: x, options: Options::default(), command: "" };
//! let found = explain_attention(&input, &mut |_| ())?;
//! println!("{}", explained_text(&found, &[], Ink::Plain)); // one screen
//! let page = page_html(&found); // one file, complete in itself
//! # assert!(page.starts_with("<!doctype html>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Tables go through [`explain::explain_table`] in the same way. [`example`] holds worked examples that compute and check themselves.

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
    // What a `TableInput` is made of.
    pub use spanwise_lens::linear::{FitFacts, Label};
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
