//! What can be wrong with a shape.

use crate::Shape;

/// Why an array cannot be seen the way it was asked for.
///
/// Neither the array's name (`q`, `mask`, `X`) nor the operation's is known here; the crate that performs the
/// operation adds both.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// More than [`crate::MAX_RANK`] dimensions.
    #[error("found {found} dimensions; at most {max} are supported", max = crate::MAX_RANK)]
    Rank {
        /// How many dimensions were asked for.
        found: usize,
    },

    /// The product of the dimensions does not fit an address.
    #[error("shape {dims:?} has more elements than can be addressed")]
    Overflow {
        /// The dimensions as given.
        dims: Vec<usize>,
    },

    /// The memory does not hold as many elements as the shape says.
    #[error("found {found} elements; shape {shape} needs {expected}")]
    Length {
        /// The shape asked for.
        shape: Shape,
        /// Elements in the memory.
        found: usize,
        /// Elements the shape has.
        expected: usize,
    },

    /// The strides reach outside the memory.
    #[error("strides {strides:?} over shape {shape} reach element {reached}; the memory holds {found}")]
    Strides {
        /// The shape asked for.
        shape: Shape,
        /// The strides asked for, in elements.
        strides: Vec<isize>,
        /// The element furthest outside.
        reached: isize,
        /// Elements in the memory.
        found: usize,
    },

    /// As many strides as dimensions are needed.
    #[error("found {found} strides for {expected} dimensions")]
    StrideCount {
        /// Strides given.
        found: usize,
        /// Dimensions given.
        expected: usize,
    },

    /// A dimension is neither equal to the wanted one nor 1.
    #[error("shape {found} does not broadcast to {expected}")]
    Broadcast {
        /// The array's shape.
        found: Shape,
        /// The shape it should take.
        expected: Shape,
    },

    /// The order of axes is not a permutation.
    #[error("{order:?} does not name each of the {rank} axes once")]
    Axes {
        /// The order as given.
        order: Vec<usize>,
        /// How many axes there are.
        rank: usize,
    },
}
