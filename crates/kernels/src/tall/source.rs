//! Where rows come from.

use crate::{Element, View};

/// How a [`Block`] lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Row `i` is the slice that starts at `i · stride`.
    Rows {
        /// From one row to the next.
        stride: usize,
    },
    /// Column `j` is the slice that starts at `j · stride`.
    Columns {
        /// From one column to the next.
        stride: usize,
    },
}

/// Some rows of a table in f64, row after row or column after column.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    data: &'a [f64],
    rows: usize,
    cols: usize,
    layout: Layout,
}

impl<'a> Block<'a> {
    /// `rows × cols` numbers in `data`, which must hold all of them.
    pub fn new(data: &'a [f64], rows: usize, cols: usize, layout: Layout) -> Self {
        let reach = match layout {
            _ if rows == 0 || cols == 0 => 0,
            Layout::Rows { stride } => (rows - 1) * stride + cols,
            Layout::Columns { stride } => (cols - 1) * stride + rows,
        };
        assert!(reach <= data.len(), "a block of {rows} × {cols} reaches {reach} of {} numbers", data.len());
        Block { data, rows, cols, layout }
    }

    /// How many rows.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns.
    #[inline(always)]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// How it lies in memory.
    #[inline(always)]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The memory the layout's strides count in.
    #[inline(always)]
    pub fn data(&self) -> &'a [f64] {
        self.data
    }

    /// Element `(i, j)`.
    #[inline(always)]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        match self.layout {
            Layout::Rows { stride } => self.data[i * stride + j],
            Layout::Columns { stride } => self.data[j * stride + i],
        }
    }
}

/// A table whose rows can be read in blocks, again and again, from several threads.
pub trait RowSource: Sync {
    /// How many rows.
    fn rows(&self) -> usize;

    /// How many columns.
    fn cols(&self) -> usize;

    /// The relative rounding of the numbers as they are stored: that of f64 unless they come from a shorter type.
    fn precision(&self) -> f64 {
        f64::EPSILON / 2.0
    }

    /// Rows `first .. first + count`, all within the table: borrowed where they lie as f64, otherwise converted
    /// into `scratch`.
    fn block<'a>(&'a self, first: usize, count: usize, scratch: &'a mut Vec<f64>) -> Block<'a>;
}

/// A table with rows and no columns: the targets of a problem that has none.
#[derive(Clone, Copy, Debug)]
pub struct NoColumns(
    /// How many rows.
    pub usize,
);

impl RowSource for NoColumns {
    fn rows(&self) -> usize {
        self.0
    }

    fn cols(&self) -> usize {
        0
    }

    fn block<'a>(&'a self, _first: usize, count: usize, _scratch: &'a mut Vec<f64>) -> Block<'a> {
        Block::new(&[], count, 0, Layout::Rows { stride: 0 })
    }
}

/// One column, as it lies in memory.
impl RowSource for [f64] {
    fn rows(&self) -> usize {
        self.len()
    }

    fn cols(&self) -> usize {
        1
    }

    fn block<'a>(&'a self, first: usize, count: usize, _scratch: &'a mut Vec<f64>) -> Block<'a> {
        Block::new(&self[first..first + count], count, 1, Layout::Columns { stride: count })
    }
}

/// A matrix (rank 2) or one column (rank 1), any strides; f64 with a gapless axis is borrowed, all else converted.
impl<T: Element> RowSource for View<'_, T> {
    fn rows(&self) -> usize {
        self.dims().first().copied().unwrap_or(1)
    }

    fn cols(&self) -> usize {
        if self.rank() < 2 { 1 } else { self.dims()[1] }
    }

    fn precision(&self) -> f64 {
        f64::powi(0.5, T::DTYPE.bits() as i32)
    }

    fn block<'a>(&'a self, first: usize, count: usize, scratch: &'a mut Vec<f64>) -> Block<'a> {
        let cols = RowSource::cols(self);
        assert!(
            self.rank() <= 2 && first + count <= RowSource::rows(self),
            "rows {first} + {count} of {self:?}"
        );
        if count == 0 || cols == 0 {
            return Block::new(&[], count, cols, Layout::Rows { stride: 0 });
        }
        let row_stride = self.strides().first().copied().unwrap_or(1);
        let col_stride = if self.rank() < 2 { 1 } else { self.strides()[1] };
        let (data, start) = self.memory();
        let start = start.wrapping_add_signed(first as isize * row_stride);
        // As the whole table lies, so that a single row of it is computed as it would be among others.
        if let Some(layout) = borrowed_layout([row_stride, col_stride], RowSource::rows(self), [count, cols])
            && let Some(numbers) = as_f64(&data[start..])
        {
            return Block::new(numbers, count, cols, layout);
        }
        scratch.clear();
        scratch.reserve(count * cols);
        for i in 0..count as isize {
            let row = start.wrapping_add_signed(i * row_stride);
            scratch
                .extend((0..cols as isize).map(|j| data[row.wrapping_add_signed(j * col_stride)].to_f64()));
        }
        Block::new(scratch, count, cols, Layout::Rows { stride: cols })
    }
}

/// The layout of memory that can be used as it is, for some rows of a table of `all`: one axis without gaps, the other going forward.
fn borrowed_layout(
    [row_stride, col_stride]: [isize; 2],
    all: usize,
    [rows, cols]: [usize; 2],
) -> Option<Layout> {
    // The stride of an axis of length 1 is never used.
    let row_stride = if all == 1 { cols as isize } else { row_stride };
    let col_stride = if cols == 1 { rows as isize } else { col_stride };
    if row_stride == 1 && col_stride >= 0 {
        Some(Layout::Columns { stride: col_stride as usize })
    } else if (col_stride == 1 || cols == 1) && row_stride >= 0 {
        Some(Layout::Rows { stride: row_stride as usize })
    } else {
        None
    }
}

/// The same memory, where `T` is f64.
fn as_f64<T: Element>(data: &[T]) -> Option<&[f64]> {
    use std::any::TypeId;
    if TypeId::of::<T>() != TypeId::of::<f64>() {
        return None;
    }
    // SAFETY: `T` is f64, so this is the same slice of the same type.
    Some(unsafe { std::slice::from_raw_parts(data.as_ptr().cast::<f64>(), data.len()) })
}
