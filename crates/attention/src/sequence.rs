//! Where keys or values lie: one array, or the pages of a cache.

use spanwise_kernels::attention::{Paged, Storage, Table};
use spanwise_kernels::{Element, Shape, View};

/// `(B, G, M, width)`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sequence<'a, T> {
    Whole(View<'a, T>),
    Pages(Pages<'a, T>),
}

/// Each page holds `(B, G, rows_per_page, width)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pages<'a, T> {
    pub(crate) memory: &'a [Vec<T>],
    pub(crate) shape: Shape,
    pub(crate) rows_per_page: usize,
    /// How far apart two batch entries are on a page; 0 where one is repeated.
    pub(crate) batch_step: usize,
}

impl<T> Pages<'_, T> {
    /// `[G, M, width]`.
    fn dims(&self) -> [usize; 3] {
        let dims = self.shape.dims();
        [dims[1], dims[2], dims[3]]
    }

    /// Where a head begins on each page.
    fn offset(&self, b: usize, g: usize) -> usize {
        b * self.batch_step + g * self.rows_per_page * self.dims()[2]
    }
}

impl<T: Element> Sequence<'_, T> {
    pub(crate) fn shape(&self) -> Shape {
        match self {
            Sequence::Whole(view) => view.shape(),
            Sequence::Pages(pages) => pages.shape,
        }
    }

    /// One number, in f64.
    pub(crate) fn at(&self, index: [usize; 4]) -> f64 {
        let number = match self {
            Sequence::Whole(view) => view.get(&index),
            Sequence::Pages(pages) => {
                let [b, g, row, column] = index;
                let at = pages.offset(b, g) + row % pages.rows_per_page * pages.dims()[2] + column;
                pages.memory.get(row / pages.rows_per_page).and_then(|page| page.get(at)).copied()
            }
        };
        number.expect("the problem has checked the shapes").to_f64()
    }
}

impl<'a, T: Storage> Sequence<'a, T> {
    /// The rows of head `g` in batch entry `b`.
    pub(crate) fn table(&self, b: usize, g: usize) -> Table<'a, T> {
        match self {
            Sequence::Whole(view) => Table::Whole(crate::forward::plan::matrix(view, b, g)),
            Sequence::Pages(pages) => {
                let [_, rows, width] = pages.dims();
                let paged = Paged::new(pages.memory, pages.offset(b, g), pages.rows_per_page, [rows, width]);
                Table::Paged(paged.expect("a cache has a page for each of its rows"))
            }
        }
    }
}
