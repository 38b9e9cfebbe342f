//! Shapes and values are checked here, once, before any arithmetic.

mod regression;
mod rows;

pub(crate) use regression::{
    blame, blame_either, features, not_negative, positive, same_columns, target, weights,
};
pub(crate) use rows::{SMALLEST_SQUARES, finite_rows, spreads, table, vanishes, weights_or_none};

use crate::{Extent, LinearError};
use spanwise_kernels::{Element, View};

/// The verb and the argument an error will name.
#[derive(Clone, Copy)]
pub(crate) struct Argument {
    pub(crate) operation: &'static str,
    pub(crate) name: &'static str,
}

/// `argument("solve", "A")` reads as it is printed: ``solve: `A` …``.
pub(crate) const fn argument(operation: &'static str, name: &'static str) -> Argument {
    Argument { operation, name }
}

impl Argument {
    /// Rows and columns of a view of two dimensions.
    pub(crate) fn matrix<T: Copy>(self, x: &View<'_, T>) -> Result<(usize, usize), LinearError> {
        match *x.dims() {
            [rows, cols] => Ok((rows, cols)),
            _ => Err(self.dimensions(x, 2)),
        }
    }

    /// The length of a view of one dimension.
    pub(crate) fn vector<T: Copy>(self, v: &View<'_, T>) -> Result<usize, LinearError> {
        match *v.dims() {
            [n] => Ok(n),
            _ => Err(self.dimensions(v, 1)),
        }
    }

    fn dimensions<T: Copy>(self, x: &View<'_, T>, expected: usize) -> LinearError {
        LinearError::Dimensions { operation: self.operation, argument: self.name, found: x.shape(), expected }
    }

    /// The extent found must be the one that array `other` has.
    pub(crate) fn fits(
        self,
        found: Extent,
        other: &'static str,
        expected: Extent,
    ) -> Result<(), LinearError> {
        let size = |extent| match extent {
            Extent::Length(n) | Extent::Rows(n) | Extent::Columns(n) => n,
        };
        if size(found) == size(expected) {
            return Ok(());
        }
        Err(LinearError::Mismatch { operation: self.operation, argument: self.name, found, other, expected })
    }

    /// At least one element.
    pub(crate) fn not_empty<T: Copy>(self, x: &View<'_, T>) -> Result<(), LinearError> {
        if x.is_empty() {
            return Err(LinearError::Empty {
                operation: self.operation,
                argument: self.name,
                found: x.shape(),
            });
        }
        Ok(())
    }

    /// As many rows as columns.
    pub(crate) fn square<T: Copy>(self, x: &View<'_, T>) -> Result<usize, LinearError> {
        let (rows, cols) = self.matrix(x)?;
        if rows != cols {
            return Err(LinearError::NotSquare {
                operation: self.operation,
                argument: self.name,
                found: x.shape(),
            });
        }
        Ok(rows)
    }

    /// No NaN and no infinity; the first one found is named by row and column.
    pub(crate) fn finite<T: Element>(self, x: &View<'_, T>) -> Result<(), LinearError> {
        let cols = x.dims().last().copied().unwrap_or(1).max(1);
        match x.iter().map(Element::to_f64).enumerate().find(|(_, v)| !v.is_finite()) {
            None => Ok(()),
            // A vector is a column: its elements are rows.
            Some((at, value)) if x.rank() < 2 => Err(self.not_finite(at, 0, value)),
            Some((at, value)) => Err(self.not_finite(at / cols, at % cols, value)),
        }
    }

    pub(crate) fn not_finite(self, row: usize, column: usize, value: f64) -> LinearError {
        LinearError::NotFinite { operation: self.operation, argument: self.name, row, column, value }
    }

    /// A setting that must satisfy `holds`.
    pub(crate) fn in_range(self, found: f64, holds: bool, expected: &'static str) -> Result<(), LinearError> {
        if holds {
            return Ok(());
        }
        Err(LinearError::OutOfRange { operation: self.operation, argument: self.name, found, expected })
    }
}
