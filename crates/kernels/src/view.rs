//! An array seen through a shape and strides over borrowed memory.

use crate::{Element, MAX_RANK, Shape, ShapeError};
use std::fmt;
use std::ops::Range;

/// A checked, strided, read-only view of up to [`MAX_RANK`] dimensions over borrowed memory.
///
/// Transposing, permuting, slicing off leading axes and broadcasting change the shape and the strides, never the
/// memory. Every element of a view lies inside its memory: that is checked once, where the view is made.
///
/// ```
/// use spanwise_kernels::View;
///
/// let x = View::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2])?;
/// assert_eq!(x.transposed().get(&[1, 2]), Some(6.0));
/// assert_eq!(x.broadcast_to(&[10, 3, 2])?.get(&[9, 0, 1]), Some(2.0));
/// # Ok::<(), spanwise_kernels::ShapeError>(())
/// ```
#[derive(Clone, Copy)]
pub struct View<'a, T> {
    /// All the memory the view may touch.
    data: &'a [T],
    /// Where element `(0, …, 0)` lies in `data`.
    start: usize,
    shape: Shape,
    /// In elements; only the first `shape.rank()` count.
    strides: [isize; MAX_RANK],
}

impl<'a, T: Copy> View<'a, T> {
    /// Rows one after another, without gaps: `data` holds exactly as many elements as `dims` says.
    pub fn new(data: &'a [T], dims: &[usize]) -> Result<Self, ShapeError> {
        let shape = Shape::new(dims)?;
        if data.len() != shape.len() {
            return Err(ShapeError::Length { shape, found: data.len(), expected: shape.len() });
        }
        Ok(View { data, start: 0, shape, strides: shape.row_major_strides() })
    }

    /// Element `(i, j, …)` lies at `data[start + i·strides[0] + j·strides[1] + …]`; strides may be 0 or negative.
    pub fn strided(
        data: &'a [T],
        start: usize,
        dims: &[usize],
        strides: &[isize],
    ) -> Result<Self, ShapeError> {
        let shape = Shape::new(dims)?;
        if strides.len() != dims.len() {
            return Err(ShapeError::StrideCount { found: strides.len(), expected: dims.len() });
        }
        if !shape.is_empty() {
            // i128: neither a huge stride nor a long axis can wrap around.
            let (mut lowest, mut highest) = (start as i128, start as i128);
            for (&n, &stride) in dims.iter().zip(strides) {
                let reach = (n as i128 - 1) * stride as i128;
                lowest += reach.min(0);
                highest += reach.max(0);
            }
            if lowest < 0 || highest >= data.len() as i128 {
                let reached = if lowest < 0 { lowest } else { highest };
                return Err(ShapeError::Strides {
                    shape,
                    strides: strides.to_vec(),
                    reached: reached.clamp(isize::MIN as i128, isize::MAX as i128) as isize,
                    found: data.len(),
                });
            }
        }
        let mut all = [0; MAX_RANK];
        all[..strides.len()].copy_from_slice(strides);
        Ok(View { data, start, shape, strides: all })
    }

    /// The dimensions.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The dimensions as a slice, outermost first.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        self.shape.dims()
    }

    /// How many dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Steps between neighbours along each axis, in elements.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        &self.strides[..self.rank()]
    }

    /// How many elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.shape.len()
    }

    /// Whether some dimension is 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape.is_empty()
    }

    /// The element at `index`, or `None` outside the shape.
    #[inline]
    pub fn get(&self, index: &[usize]) -> Option<T> {
        let inside = index.len() == self.rank() && index.iter().zip(self.dims()).all(|(i, n)| i < n);
        inside.then(|| self.data[self.offset(index)])
    }

    /// The elements as one slice, where they lie row after row without gaps.
    pub fn as_slice(&self) -> Option<&'a [T]> {
        if self.is_empty() {
            return Some(&[]);
        }
        let expected = self.shape.row_major_strides();
        // The stride of an axis of length 1 is never used, so it may be anything.
        let gapless = (0..self.rank()).all(|a| self.dims()[a] == 1 || self.strides[a] == expected[a]);
        gapless.then(|| &self.data[self.start..self.start + self.len()])
    }

    /// Row `i` of a view whose last axis has no gaps: `index` names all axes but the last.
    pub fn row(&self, index: &[usize]) -> Option<&'a [T]> {
        let last = self.rank().checked_sub(1)?;
        let inside = index.len() == last && index.iter().zip(self.dims()).all(|(i, n)| i < n);
        let width = self.dims()[last];
        if !inside || (width > 1 && self.strides[last] != 1) {
            return None;
        }
        if width == 0 {
            return Some(&[]);
        }
        let start = self.offset(index);
        Some(&self.data[start..start + width])
    }

    /// All elements in row-major order.
    pub fn iter(&self) -> Elements<'a, T> {
        Elements { view: *self, index: [0; MAX_RANK], left: self.len() }
    }

    /// A copy of the elements in row-major order.
    pub fn to_vec(&self) -> Vec<T> {
        self.as_slice().map_or_else(|| self.iter().collect(), <[T]>::to_vec)
    }

    /// The last two axes exchanged. A view of fewer than two axes is its own transpose.
    #[must_use]
    pub fn transposed(mut self) -> Self {
        if let Some(row) = self.rank().checked_sub(2) {
            self.shape = self.shape.swapped(row, row + 1);
            self.strides.swap(row, row + 1);
        }
        self
    }

    /// The axes in another order: axis `a` of the result is axis `order[a]` of this view.
    pub fn permuted(self, order: &[usize]) -> Result<Self, ShapeError> {
        let rank = self.rank();
        let names_each_once = order.len() == rank && (0..rank).all(|axis| order.contains(&axis));
        if !names_each_once {
            return Err(ShapeError::Axes { order: order.to_vec(), rank });
        }
        let dims: Vec<usize> = order.iter().map(|&a| self.dims()[a]).collect();
        let mut strides = [0; MAX_RANK];
        for (axis, &from) in order.iter().enumerate() {
            strides[axis] = self.strides[from];
        }
        Ok(View { shape: Shape::new(&dims)?, strides, ..self })
    }

    /// The view at position `i` of the first axis, one dimension fewer; `None` outside.
    #[inline]
    pub fn at(&self, i: usize) -> Option<Self> {
        if i >= *self.dims().first()? {
            return None;
        }
        let [step, a, b, c] = self.strides;
        // Nothing is read through an empty view, and its offset need not lie inside the memory.
        let step = if self.shape.is_empty() { 0 } else { i as isize * step };
        let start = self.start.wrapping_add_signed(step);
        Some(View { data: self.data, start, shape: self.shape.inner(), strides: [a, b, c, 0] })
    }

    /// The positions `range` of axis `axis` alone; `None` where there is no such axis, or not so many.
    pub fn narrowed(&self, axis: usize, range: Range<usize>) -> Option<Self> {
        let inside = axis < self.rank() && range.start <= range.end && range.end <= self.dims()[axis];
        if !inside {
            return None;
        }
        let mut dims = [0; MAX_RANK];
        dims[..self.rank()].copy_from_slice(self.dims());
        dims[axis] = range.len();
        let shape = Shape::new(&dims[..self.rank()]).ok()?;
        // Nothing is read through an empty view, and its offset need not lie inside the memory.
        let step = if shape.is_empty() { 0 } else { range.start as isize * self.strides[axis] };
        Some(View { start: self.start.wrapping_add_signed(step), shape, ..*self })
    }

    /// The same elements seen with shape `dims`: missing leading axes are added, axes of length 1 repeat.
    pub fn broadcast_to(self, dims: &[usize]) -> Result<Self, ShapeError> {
        let shape = Shape::new(dims)?;
        let refuse = || ShapeError::Broadcast { found: self.shape, expected: shape };
        let added = shape.rank().checked_sub(self.rank()).ok_or_else(refuse)?;
        let mut strides = [0; MAX_RANK];
        for axis in 0..self.rank() {
            let (from, to) = (self.dims()[axis], dims[added + axis]);
            strides[added + axis] = match from {
                _ if from == to => self.strides[axis],
                1 => 0,
                _ => return Err(refuse()),
            };
        }
        Ok(View { shape, strides, ..self })
    }

    /// Leading axes of length 1 are added until there are `rank` of them; a view of that rank or more stays.
    #[must_use]
    pub fn with_leading_axes(self, rank: usize) -> Self {
        let rank = rank.clamp(self.rank(), MAX_RANK);
        let mut dims = [1; MAX_RANK];
        dims[rank - self.rank()..rank].copy_from_slice(self.dims());
        // Axes of length 1 neither change the size nor the reach, so this cannot fail.
        self.broadcast_to(&dims[..rank]).unwrap_or(self)
    }

    /// All the memory the view may touch, and where element `(0, …, 0)` lies in it.
    #[inline]
    pub(crate) fn memory(&self) -> (&'a [T], usize) {
        (self.data, self.start)
    }

    /// Where `index` (all axes, or the leading ones) lies in `data`. The caller has checked the index.
    #[inline]
    fn offset(&self, index: &[usize]) -> usize {
        let steps = index.iter().zip(&self.strides).map(|(&i, &stride)| i as isize * stride);
        self.start.wrapping_add_signed(steps.sum())
    }
}

impl<T: Element> View<'_, T> {
    /// A copy in f64, row-major.
    pub fn to_f64_vec(&self) -> Vec<f64> {
        self.iter().map(Element::to_f64).collect()
    }
}

impl<T> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "View<{}> {} strides {:?}",
            std::any::type_name::<T>(),
            self.shape,
            &self.strides[..self.shape.rank()]
        )
    }
}

/// The elements of a [`View`] in row-major order.
#[derive(Clone, Debug)]
pub struct Elements<'a, T> {
    view: View<'a, T>,
    index: [usize; MAX_RANK],
    left: usize,
}

impl<T: Copy> Iterator for Elements<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        let rank = self.view.rank();
        let item = self.view.data[self.view.offset(&self.index[..rank])];
        // Count up like an odometer, last axis fastest.
        for axis in (0..rank).rev() {
            self.index[axis] += 1;
            if self.index[axis] < self.view.dims()[axis] {
                break;
            }
            self.index[axis] = 0;
        }
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<'a, T: Copy> IntoIterator for &View<'a, T> {
    type Item = T;
    type IntoIter = Elements<'a, T>;

    fn into_iter(self) -> Elements<'a, T> {
        self.iter()
    }
}

impl<T: Copy> ExactSizeIterator for Elements<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    const SIX: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    #[test]
    fn a_row_major_view_needs_exactly_its_elements() {
        let error = View::new(&SIX, &[2, 2]).unwrap_err();
        assert_eq!(error.to_string(), "found 6 elements; shape (2, 2) needs 4");
    }

    #[test]
    fn transposing_changes_no_memory() {
        let x = View::new(&SIX, &[3, 2]).unwrap();
        let t = x.transposed();
        assert_eq!(t.dims(), [2, 3]);
        assert_eq!(t.to_vec(), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
        assert_eq!(t.transposed().as_slice(), Some(&SIX[..]));
        assert_eq!(t.as_slice(), None);
    }

    #[test]
    fn negative_and_zero_strides_are_views_too() {
        let backwards = View::strided(&SIX, 5, &[6], &[-1]).unwrap();
        assert_eq!(backwards.to_vec(), [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
        let repeated = View::strided(&SIX, 1, &[2, 2], &[0, 2]).unwrap();
        assert_eq!(repeated.to_vec(), [2.0, 4.0, 2.0, 4.0]);
    }

    #[test]
    fn strides_that_leave_the_memory_are_refused() {
        for (start, dims, strides) in [
            (0, &[3, 2][..], &[3, 1][..]),
            (0, &[2][..], &[-1][..]),
            (6, &[1][..], &[1][..]),
            (0, &[2][..], &[isize::MAX][..]),
            (0, &[2, 2][..], &[isize::MIN, isize::MIN][..]),
        ] {
            let error = View::strided(&SIX, start, dims, strides).unwrap_err();
            assert!(matches!(error, ShapeError::Strides { .. }), "{error}");
        }
    }

    #[test]
    fn empty_views_touch_nothing() {
        let none = View::strided(&SIX, 100, &[0, 3], &[7, 7]).unwrap();
        assert_eq!(none.to_vec(), Vec::<f64>::new());
        assert_eq!(none.as_slice(), Some(&[][..]));
        let wide = View::<f64>::new(&[], &[2, 0]).unwrap();
        assert_eq!(wide.at(1).unwrap().dims(), [0]);
        assert_eq!(wide.row(&[1]), Some(&[][..]));
    }

    #[test]
    fn broadcasting_repeats_axes_of_length_one_and_adds_leading_ones() {
        let row = View::new(&SIX[..2], &[1, 2]).unwrap();
        let grid = row.broadcast_to(&[2, 3, 2]).unwrap();
        assert_eq!(grid.to_vec(), [1.0, 2.0].repeat(6));
        let error = row.broadcast_to(&[3, 3]).unwrap_err();
        assert_eq!(error.to_string(), "shape (1, 2) does not broadcast to (3, 3)");
        assert!(grid.broadcast_to(&[2]).is_err());
    }

    #[test]
    fn batch_row_head_memory_is_a_view_of_batch_head_row() {
        // (B, N, H, D) = (1, 2, 3, 1) in memory, seen as (B, H, N, D).
        let view = View::new(&SIX, &[1, 2, 3, 1]).unwrap().permuted(&[0, 2, 1, 3]).unwrap();
        assert_eq!(view.dims(), [1, 3, 2, 1]);
        assert_eq!(view.to_vec(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert!(view.permuted(&[0, 0, 1, 2]).is_err());
        assert!(view.permuted(&[0, 1]).is_err());
    }

    #[test]
    fn slicing_off_leading_axes_reaches_each_row() {
        let x = View::new(&SIX, &[3, 2]).unwrap();
        assert_eq!(x.at(2).unwrap().to_vec(), [5.0, 6.0]);
        assert_eq!(x.row(&[1]), Some(&SIX[2..4]));
        assert_eq!(x.row(&[3]), None);
        assert_eq!(x.transposed().row(&[0]), None);
        assert!(x.at(3).is_none());
        assert_eq!(x.with_leading_axes(4).dims(), [1, 1, 3, 2]);
        assert_eq!(x.get(&[2, 2]), None);
        assert_eq!(x.get(&[2]), None);
    }

    #[test]
    fn an_axis_can_be_narrowed_to_a_range() {
        let x = View::new(&SIX, &[3, 2]).unwrap();
        assert_eq!(x.narrowed(0, 1..3).unwrap().to_vec(), [3.0, 4.0, 5.0, 6.0]);
        assert_eq!(x.narrowed(1, 1..2).unwrap().to_vec(), [2.0, 4.0, 6.0]);
        assert!(x.narrowed(0, 3..3).unwrap().is_empty());
        assert!(x.narrowed(0, 2..4).is_none());
        assert!(x.narrowed(2, 0..0).is_none());
    }

    #[test]
    fn a_scalar_has_one_element() {
        let one = View::new(&SIX[..1], &[]).unwrap();
        assert_eq!(one.iter().collect::<Vec<_>>(), [1.0]);
        assert_eq!(one.get(&[]), Some(1.0));
    }
}
