//! The ground under Spanwise: how a number lies in memory ([`Element`]), how an array lies in memory
//! ([`View`]), and the hot loops over both.
//!
//! This is the only crate of the workspace that contains `unsafe`.

pub mod attention;
pub mod crew;
pub mod definite;
mod element;
mod error;
mod mapped;
mod matrix;
mod memory;
mod shape;
pub mod simd;
pub mod stop;
pub mod symmetric;
pub mod tall;
mod view;

pub use element::{Dtype, Element};
pub use error::ShapeError;
pub use half::{bf16, f16};
pub use mapped::MappedFile;
pub use matrix::Matrix;
pub use shape::{MAX_RANK, Shape};
pub use view::{Elements, View};
