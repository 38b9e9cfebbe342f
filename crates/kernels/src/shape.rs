//! The dimensions of an array.

use crate::ShapeError;
use std::fmt;

/// The largest number of dimensions: batch, head, row, column.
pub const MAX_RANK: usize = 4;

/// Up to [`MAX_RANK`] dimensions whose product is known to fit an address.
///
/// Printed as Python does: `(2, 3)`, `(5,)`, `()`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    dims: [usize; MAX_RANK],
    rank: usize,
}

impl Shape {
    /// Checks rank and size.
    pub fn new(dims: &[usize]) -> Result<Self, ShapeError> {
        if dims.len() > MAX_RANK {
            return Err(ShapeError::Rank { found: dims.len() });
        }
        // A zero anywhere makes the array empty, but the other dimensions must still multiply without overflow,
        // because strides are formed from them.
        let product = dims.iter().try_fold(1_usize, |n, &d| n.checked_mul(d.max(1)));
        if product.is_none_or(|n| n > isize::MAX as usize / 8) {
            return Err(ShapeError::Overflow { dims: dims.to_vec() });
        }
        let mut shape = Shape { dims: [0; MAX_RANK], rank: dims.len() };
        shape.dims[..dims.len()].copy_from_slice(dims);
        Ok(shape)
    }

    /// The dimensions, outermost first.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.dims[..self.rank]
    }

    /// How many dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.dims().iter().product()
    }

    /// Whether some dimension is 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.dims().contains(&0)
    }

    /// The shape without its first axis; what has none stays as it is.
    #[inline]
    pub(crate) fn inner(self) -> Self {
        let [_, b, c, d] = self.dims;
        Shape { dims: [b, c, d, 0], rank: self.rank.saturating_sub(1) }
    }

    /// The shape with two axes exchanged.
    pub(crate) fn swapped(mut self, a: usize, b: usize) -> Self {
        self.dims.swap(a, b);
        self
    }

    /// Strides, in elements, of an array that lies row after row without gaps.
    pub(crate) fn row_major_strides(&self) -> [isize; MAX_RANK] {
        let mut strides = [0; MAX_RANK];
        let mut step = 1;
        for axis in (0..self.rank).rev() {
            strides[axis] = step;
            step *= self.dims[axis].max(1) as isize;
        }
        strides
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dims() {
            [n] => write!(f, "({n},)"),
            dims => {
                let inner: Vec<String> = dims.iter().map(ToString::to_string).collect();
                write!(f, "({})", inner.join(", "))
            }
        }
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_print_as_python_prints_tuples() {
        let show = |dims: &[usize]| Shape::new(dims).unwrap().to_string();
        assert_eq!(show(&[]), "()");
        assert_eq!(show(&[5]), "(5,)");
        assert_eq!(show(&[2, 3, 4]), "(2, 3, 4)");
    }

    #[test]
    fn too_many_dimensions_or_elements_are_refused() {
        assert_eq!(Shape::new(&[1; 5]), Err(ShapeError::Rank { found: 5 }));
        assert!(matches!(Shape::new(&[usize::MAX, 2]), Err(ShapeError::Overflow { .. })));
        assert!(matches!(Shape::new(&[0, usize::MAX, 2]), Err(ShapeError::Overflow { .. })));
    }

    #[test]
    fn an_empty_dimension_makes_an_empty_shape() {
        let shape = Shape::new(&[3, 0, 2]).unwrap();
        assert!(shape.is_empty());
        assert_eq!(shape.len(), 0);
    }
}
