//! Fits: least squares, ridge, logistic and softmax, constrained least squares, polynomial and kernel
//! features, and the distributions their tests are read from.
//!
//! Settings and fitted models are different types, so predicting before fitting does not compile. Results are plain
//! public fields.

mod active_set;
mod block;
mod distributions;
mod factor;
mod folds;
mod kernel;
mod kernel_ridge;
pub mod least_squares;
mod left_out;
mod log_odds;
mod logistic;
mod logistic_fit;
mod moments;
mod newton;
mod nonnegative;
mod passes;
mod polynomial;
mod ridge;
mod ridge_path;
mod separation;
mod singular;
mod softmax;
mod special;
mod stand_in;
mod strict;

pub use distributions::{ChiSquared, Distribution, FisherF, Normal, StudentT};
pub use folds::Folds;
pub use kernel::Kernel;
pub use kernel_ridge::{KernelRidge, KernelRidgeFit, Landmarks};
#[doc(inline)]
pub use least_squares::{Deficiency, LeastSquares, LinearFit};
pub use left_out::LeaveOneOut;
pub use logistic::{Logistic, Optimiser};
pub use logistic_fit::{Convergence, LogisticFit};
pub use moments::Method as RidgeMethod;
pub use nonnegative::{ConstrainedFit, NonNegative, Optimality, Simplex};
pub use polynomial::{Polynomial, PolynomialFeatures};
pub use ridge::{Ridge, RidgeFit};
pub use ridge_path::{RidgeChoice, RidgePath};
pub use separation::{Separation, SeparationKind};

#[cfg(test)]
#[path = "tests/hostile.rs"]
mod hostile;
#[cfg(test)]
#[path = "tests/summaries.rs"]
mod summaries;
