//! Rows of keys or values, where they lie or where they were copied to.

use super::storage::Storage;
use super::table::Table;
use crate::Element;
use crate::simd::{Float, prefetch};
use std::ops::Range;

/// Bytes that memory brings at once.
const LINE: usize = 64;

/// Asks for numbers that lie one after another, a line at a time; nobody has to read or write them.
#[inline(always)]
pub(super) fn fetch<T>(numbers: &[T]) {
    let mut at = 0;
    while at < numbers.len() {
        prefetch(numbers[at..].as_ptr());
        at += LINE / size_of::<T>();
    }
}

/// How far ahead of the row that is read memory is asked for, in bytes: a page. Farther, a processor that has not yet looked up where a
/// page lies lets the question drop.
const AHEAD: usize = 4096;

/// Rows of numbers at a fixed distance from each other, each without gaps: keys or values.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a, A> {
    data: &'a [A],
    start: isize,
    stride: isize,
    width: usize,
}

impl<'a, A: Element> Rows<'a, A> {
    /// Rows `first` to `last` (not included) of a matrix as they lie, or copied into `packed`: rows of `width` with zeros at
    /// their end.
    #[inline(always)]
    pub(super) fn stored(
        from: &Table<'a, A>,
        [first, last]: [usize; 2],
        width: usize,
        packed: &'a mut [A],
    ) -> Self
    where
        A: Storage,
    {
        if from.width() == width
            && let Some(rows) = Rows::lying(from, [first, last])
        {
            return rows;
        }
        for row in first..last {
            let to = &mut packed[(row - first) * width..][..width];
            let (numbers, rest) = to.split_at_mut(from.width());
            from.copy_row(row, numbers);
            rest.fill(A::default());
        }
        Rows { data: packed, start: 0, stride: width as isize, width }
    }

    /// Rows `first` to `last` (not included) of a matrix: as they lie, if that is possible and `width` is the matrix's
    /// own, and otherwise widened into `packed`, rows of `width` with zeros at their end.
    #[inline(always)]
    pub(super) fn of<T: Storage<Real = A>, S: Float<A>>(
        isa: S,
        from: &Table<'a, T>,
        [first, last]: [usize; 2],
        width: usize,
        packed: &'a mut [A],
    ) -> Self {
        if from.width() == width
            && let Some((data, start, stride)) = from.memory([first, last])
            && let Some(data) = T::as_reals(data)
        {
            return Rows { data, start, stride, width };
        }
        from.widen_rows(isa, [first, last], width, packed);
        Rows { data: packed, start: 0, stride: width as isize, width }
    }

    /// Rows `first` to `last` (not included) of a matrix as they lie; `None` where they have gaps.
    #[inline(always)]
    pub(super) fn lying(from: &Table<'a, A>, range: [usize; 2]) -> Option<Self>
    where
        A: Storage,
    {
        let (data, start, stride) = from.memory(range)?;
        Some(Rows { data, start, stride, width: from.width() })
    }

    /// Rows that lie one after another in `data`.
    #[inline(always)]
    pub(super) fn gapless(data: &'a [A], width: usize) -> Self {
        Rows { data, start: 0, stride: width as isize, width }
    }

    /// Rows of `width` numbers that begin `stride` apart in `data`.
    #[inline(always)]
    pub(super) fn spaced(data: &'a [A], stride: usize, width: usize) -> Self {
        assert!(width <= stride);
        Rows { data, start: 0, stride: stride as isize, width }
    }

    /// The columns from `first` on, `width` of them.
    #[inline(always)]
    pub(super) fn columns(self, first: usize, width: usize) -> Self {
        assert!(first + width <= self.width);
        Rows { start: self.start + first as isize, width, ..self }
    }

    /// The rows from `first` on.
    #[inline(always)]
    pub(super) fn from(self, first: usize) -> Self {
        Rows { start: self.start + first as isize * self.stride, ..self }
    }

    /// The numbers of row `row`.
    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> &'a [A] {
        &self.data[(self.start + row as isize * self.stride) as usize..][..self.width]
    }

    /// Where row 0 begins, once it is certain that the first `rows` rows lie within the data: row `i` begins `i·stride` behind.
    #[inline(always)]
    pub(super) fn first_of(&self, rows: usize) -> *const A {
        let _ends = (self.row(0), self.row(rows - 1));
        self.start()
    }

    /// Asks for some rows, which nobody has to read.
    #[inline(always)]
    pub(super) fn fetch(&self, rows: Range<usize>) {
        for row in rows.start..rows.end {
            fetch(self.row(row));
        }
    }

    /// Where row 0 begins, if there is one.
    #[inline(always)]
    pub(super) fn start(&self) -> *const A {
        self.data.as_ptr().wrapping_offset(self.start)
    }

    /// Asks for `width` numbers from `column` on of the row that is a page of rows behind `row`, at least the next; it need not be there.
    #[inline(always)]
    pub(super) fn ask(&self, row: usize, column: usize, width: usize) {
        let rows = (AHEAD / (self.width * size_of::<A>()).max(1)).max(1);
        let from = self.start().wrapping_offset((row + rows) as isize * self.stride).wrapping_add(column);
        let mut at = 0;
        while at < width {
            prefetch(from.wrapping_add(at));
            at += LINE / size_of::<A>();
        }
    }

    /// Numbers to a row.
    #[inline(always)]
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// How far row `i + 1` lies behind row `i`.
    #[inline(always)]
    pub(super) fn stride(&self) -> isize {
        self.stride
    }
}
