//! What follows from a computation, as plain data: worked examples whose claims are checked anew each time, and
//! summaries of attention.
//!
//! Nothing here draws or prints; every type serialises with serde. Numbers come from the references of
//! `spanwise-attention` and `spanwise-linear`.
//!
//! ```
//! use spanwise_lens::example::{Inputs, lesson};
//!
//! let span = lesson(66, &Inputs::default())?;
//! assert!(span.holds());
//! assert_eq!(span.parts[0].step("ŷ").unwrap().value.data(), [0.0, 2.0, 4.0]);
//! # Ok::<(), spanwise_lens::LessonError>(())
//! ```

mod array;
mod attended;
mod claim;
mod error;
pub mod example;
pub mod explain;
pub mod finding;
mod hull;
mod lesson;
pub mod linear;

pub use array::{Array, number};
pub use attended::{AskedFor, Attended, Summary, attend};
pub use claim::Claim;
pub use error::LessonError;
pub use finding::{Evidence, Finding, Severity};
pub use lesson::{Combination, Dot, Headline, Lesson, Mark, Part, Picture, Step, Term, Working};
