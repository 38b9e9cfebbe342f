//! Keys or values of one head: a matrix, or rows on pages.

use super::rows::Rows;
use super::storage::{Storage, copy_row, widen, widen_row};
use crate::View;
use crate::simd::Float;

/// A matrix whose rows may lie on pages of equal size.
#[derive(Clone, Copy, Debug)]
pub enum Table<'a, T> {
    /// All in one place.
    Whole(View<'a, T>),
    /// On pages.
    Paged(Paged<'a, T>),
}

/// Rows on pages: row `r` lies on page `r / rows_per_page`, `offset + r % rows_per_page · width` numbers behind its start.
#[derive(Clone, Copy, Debug)]
pub struct Paged<'a, T> {
    pages: &'a [Vec<T>],
    offset: usize,
    rows_per_page: usize,
    rows: usize,
    width: usize,
}

impl<'a, T: Copy> Paged<'a, T> {
    /// The first `[rows, width]` of pages that hold `rows_per_page` each; `None` where they do not.
    pub fn new(
        pages: &'a [Vec<T>],
        offset: usize,
        rows_per_page: usize,
        [rows, width]: [usize; 2],
    ) -> Option<Self> {
        let needed = rows.checked_div(rows_per_page)? + usize::from(rows % rows_per_page > 0);
        let behind = rows_per_page.checked_mul(width)?.checked_add(offset)?;
        let whole = needed <= pages.len() && pages[..needed].iter().all(|page| behind <= page.len());
        whole.then_some(Paged { pages, offset, rows_per_page, rows, width })
    }

    /// Rows from `row` on that lie one after another: those of its page.
    #[inline(always)]
    fn from(&self, row: usize) -> &'a [T] {
        let first = self.offset + row % self.rows_per_page * self.width;
        let end = self.offset + self.rows_per_page * self.width;
        &self.pages[row / self.rows_per_page][first..end]
    }
}

impl<'a, T: Storage> Table<'a, T> {
    /// How many rows.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        match self {
            Table::Whole(view) => view.dims()[0],
            Table::Paged(paged) => paged.rows,
        }
    }

    /// Numbers to a row.
    #[inline(always)]
    pub fn width(&self) -> usize {
        match self {
            Table::Whole(view) => view.dims()[1],
            Table::Paged(paged) => paged.width,
        }
    }

    /// One number; `None` outside.
    pub fn get(&self, row: usize, column: usize) -> Option<T> {
        match self {
            Table::Whole(view) => view.get(&[row, column]),
            Table::Paged(paged) => {
                (row < paged.rows && column < paged.width).then(|| paged.from(row)[column])
            }
        }
    }

    /// Row `row`, as it is stored, into `to`, which has the table's width.
    #[inline(always)]
    pub(super) fn copy_row(&self, row: usize, to: &mut [T]) {
        match self {
            Table::Whole(view) => copy_row(view, row, to),
            Table::Paged(paged) => to.copy_from_slice(&paged.from(row)[..paged.width]),
        }
    }

    /// Row `row`, widened into `to`, which has the table's width.
    #[inline(always)]
    pub(super) fn widen_row(&self, row: usize, to: &mut [T::Real]) {
        match self {
            Table::Whole(view) => widen_row(view, row, 0, to),
            Table::Paged(paged) => T::widen(&paged.from(row)[..paged.width], to),
        }
    }

    /// The rows `first..last`, widened, into rows of `to` that begin `stride` apart; zeros fill the rows' ends.
    #[inline(always)]
    pub(super) fn widen_rows<S: Float<T::Real>>(
        &self,
        isa: S,
        [first, last]: [usize; 2],
        stride: usize,
        to: &mut [T::Real],
    ) {
        let lying = Rows::lying(self, [first, last]);
        for row in first..last {
            let to = &mut to[(row - first) * stride..][..stride];
            let (numbers, rest) = to.split_at_mut(self.width());
            match &lying {
                Some(rows) => widen(isa, rows.row(row - first), numbers),
                None => self.widen_row(row, numbers),
            }
            rest.fill(<T::Real as crate::simd::Real>::ZERO);
        }
    }

    /// The memory in which the rows `first..last` lie, where the first of them begins, and how far apart they are; `None`
    /// where they do not lie at equal distances, or have gaps.
    #[inline(always)]
    pub(super) fn memory(&self, [first, last]: [usize; 2]) -> Option<(&'a [T], isize, isize)> {
        match self {
            // Rows without columns lie nowhere, however far apart they are.
            Table::Whole(view) if view.dims()[1] == 0 => Some((&[], 0, 0)),
            Table::Whole(view) => {
                let ((data, start), stride) = (view.memory(), view.strides()[0]);
                let gapless = view.strides()[1] == 1 || view.dims()[1] == 1;
                gapless.then_some((data, start as isize + first as isize * stride, stride))
            }
            Table::Paged(paged) => {
                let one_page = first / paged.rows_per_page == (last.max(1) - 1) / paged.rows_per_page;
                (one_page && first < last).then(|| (paged.from(first), 0, paged.width as isize))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_on_pages_are_the_rows_of_the_matrix() {
        let numbers: Vec<f32> = (0..70).map(|i| i as f32).collect();
        let pages: Vec<Vec<f32>> = numbers.chunks(30).map(|page| [page, &[0.0; 30]].concat()).collect();
        let whole = Table::Whole(View::new(&numbers, &[7, 10]).unwrap());
        let paged = Table::Paged(Paged::new(&pages, 0, 3, [7, 10]).unwrap());
        let isa = crate::simd::Scalar::new();
        let (mut a, mut b) = ([0.0; 5 * 12], [1.0; 5 * 12]);
        whole.widen_rows(isa, [1, 6], 12, &mut a);
        paged.widen_rows(isa, [1, 6], 12, &mut b);
        assert_eq!(a, b);
        assert_eq!(paged.get(6, 9), Some(69.0));
        assert_eq!(paged.get(7, 0), None);
        assert!(paged.memory([3, 6]).is_some());
        assert!(paged.memory([2, 4]).is_none());
        assert!(Paged::new(&pages, 0, 3, [10, 10]).is_none());
        assert!(Paged::new(&pages, 40, 3, [7, 10]).is_none());
    }
}
