//! Row sources over row sources: some of the rows, scaled columns; and what is sampled before a pass.

use crate::check::SMALLEST_SQUARES;
use crate::{Block, Layout, RowSource};
use spanwise_kernels::crew;

/// A source of any type, sized or not, as a sized one.
pub(crate) struct Borrowed<'a, T: ?Sized>(pub &'a T);

impl<T: RowSource + ?Sized> RowSource for Borrowed<'_, T> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn cols(&self) -> usize {
        self.0.cols()
    }

    fn precision(&self) -> f64 {
        self.0.precision()
    }

    fn block<'a>(&'a self, first: usize, count: usize, scratch: &'a mut Vec<f64>) -> Block<'a> {
        self.0.block(first, count, scratch)
    }
}

/// A source whose numbers were stored with a rounding of at least `precision` before they became f64.
pub(crate) struct Stored<'a> {
    pub source: &'a dyn RowSource,
    pub precision: f64,
}

impl RowSource for Stored<'_> {
    fn rows(&self) -> usize {
        self.source.rows()
    }

    fn cols(&self) -> usize {
        self.source.cols()
    }

    fn precision(&self) -> f64 {
        self.source.precision().max(self.precision)
    }

    fn block<'a>(&'a self, first: usize, count: usize, scratch: &'a mut Vec<f64>) -> Block<'a> {
        self.source.block(first, count, scratch)
    }
}

/// How rows are formed from those of another source.
pub(crate) trait Forming: Sync {
    fn source(&self) -> &dyn RowSource;

    /// How many rows there are.
    fn rows(&self) -> usize {
        self.source().rows()
    }

    /// Appends `count` rows from `first` on to `rows`, which is empty.
    fn form(&self, first: usize, count: usize, rows: &mut Vec<f64>);
}

/// Rows formed from those of another source.
pub(crate) struct Formed<F>(F);

impl<F: Forming> RowSource for Formed<F> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn cols(&self) -> usize {
        self.0.source().cols()
    }

    fn precision(&self) -> f64 {
        self.0.source().precision()
    }

    fn block<'a>(&'a self, first: usize, count: usize, scratch: &'a mut Vec<f64>) -> Block<'a> {
        let cols = self.cols();
        scratch.clear();
        scratch.reserve(count * cols);
        self.0.form(first, count, scratch);
        Block::new(scratch, count, cols, Layout::Rows { stride: cols })
    }
}

/// Some rows of another source, in their order.
pub(crate) type SelectedRows<'a> = Formed<Selected<'a>>;

pub(crate) struct Selected<'a> {
    source: &'a dyn RowSource,
    kept: &'a [usize],
}

impl<'a> SelectedRows<'a> {
    /// Rows `kept`, ascending.
    pub(crate) fn new(source: &'a dyn RowSource, kept: &'a [usize]) -> Self {
        Formed(Selected { source, kept })
    }
}

impl Forming for Selected<'_> {
    fn source(&self) -> &dyn RowSource {
        self.source
    }

    fn rows(&self) -> usize {
        self.kept.len()
    }

    fn form(&self, first: usize, count: usize, rows: &mut Vec<f64>) {
        let (cols, mut own) = (self.source.cols(), Vec::new());
        // Neighbours that are neighbours in the source too are read together.
        for run in self.kept[first..first + count].chunk_by(|a, b| a + 1 == *b) {
            let block = self.source.block(run[0], run.len(), &mut own);
            rows.extend((0..run.len()).flat_map(|i| (0..cols).map(move |j| block.get(i, j))));
        }
    }
}

/// (x − shift) · 2^exponent, column by column.
pub(crate) type Scaled<'a> = Formed<Scale<'a>>;

pub(crate) struct Scale<'a> {
    source: &'a dyn RowSource,
    shift: &'a [f64],
    exponents: &'a [i32],
}

impl<'a> Scaled<'a> {
    /// One shift and one exponent a column.
    pub(crate) fn new(source: &'a dyn RowSource, shift: &'a [f64], exponents: &'a [i32]) -> Self {
        Formed(Scale { source, shift, exponents })
    }
}

impl Forming for Scale<'_> {
    fn source(&self) -> &dyn RowSource {
        self.source
    }

    fn form(&self, first: usize, count: usize, rows: &mut Vec<f64>) {
        let (cols, mut own) = (self.source.cols(), Vec::new());
        let block = self.source.block(first, count, &mut own);
        for i in 0..count {
            // Scaled before it is shifted, so that neither 1e308 − (−1e308) overflows nor a tiny difference vanishes.
            rows.extend((0..cols).map(|j| {
                let scale = |value| times_power_of_two(value, self.exponents[j]);
                scale(block.get(i, j)) - scale(self.shift[j])
            }));
        }
    }
}

/// `x · 2^exponent`, in steps that do not overflow on the way: a summary keeps its columns in units of powers of two.
pub fn times_power_of_two(x: f64, exponent: i32) -> f64 {
    let (mut x, mut left) = (x, exponent);
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        x *= 2f64.powi(step);
        left -= step;
    }
    x
}

/// The mean of a few hundred rows, spread over the table, of each column of `x`, then of `y`.
///
/// Subtracting a number near the mean keeps the inner products of the columns from being dominated by their
/// offsets; it need not be the mean itself.
pub(crate) fn sampled_means(x: &dyn RowSource, y: &dyn RowSource) -> Vec<f64> {
    sampled(x, y).0
}

/// The same with zeros for all columns of `x` where no digit is lost by that: then its rows can be used as they lie.
pub(crate) fn sampled_shift(x: &dyn RowSource, y: &dyn RowSource) -> Vec<f64> {
    let (mut means, small) = sampled(x, y);
    if small {
        means[..x.cols()].fill(0.0);
    }
    means
}

/// The sampled means, and whether those of `x` are small beside its columns.
fn sampled(x: &dyn RowSource, y: &dyn RowSource) -> (Vec<f64>, bool) {
    const RUNS: usize = 8;
    let n = x.rows();
    let run = n.div_ceil(RUNS).min(32);
    let starts: Vec<usize> = (0..RUNS).map(|q| q * (n - run) / RUNS.max(1)).collect();
    let (mut means, mut small) = (Vec::new(), None);
    for source in [x, y] {
        let mut seen = 0.0;
        let mut of_source = vec![0.0; source.cols()];
        let mut squares = vec![0.0; source.cols()];
        let mut scratch = Vec::new();
        for &start in &starts {
            let block = source.block(start, run, &mut scratch);
            for i in 0..run {
                seen += 1.0;
                let share = 1.0 / seen;
                for (j, (mean, square)) in of_source.iter_mut().zip(&mut squares).enumerate() {
                    let x = block.get(i, j);
                    *mean += share * (x - *mean);
                    *square += share * (x * x - *square);
                }
            }
        }
        small.get_or_insert_with(|| offsets_are_small(&of_source, &squares));
        means.extend(of_source);
    }
    (means, small.unwrap_or(false))
}

/// Whether every column's mean is at most half of its standard deviation, from means and mean squares: squares about 0 are then at
/// most a quarter larger than those about the mean, and no digit is lost by not subtracting it.
pub(crate) fn offsets_are_small(means: &[f64], squares: &[f64]) -> bool {
    means.iter().zip(squares).all(|(&mean, &square)| {
        let known = square.is_finite() && square >= SMALLEST_SQUARES;
        mean == 0.0 || (known && 5.0 * mean * mean <= square)
    })
}

/// The largest |x − shift| of each column.
pub(crate) fn largest_by_column(source: &dyn RowSource, shift: &[f64]) -> Vec<f64> {
    let (rows, cols) = (source.rows(), source.cols());
    let chunk = (65_536 / cols.max(1)).max(1);
    let parts = crew::map(4 * rows * cols, 0..rows.div_ceil(chunk), |c| {
        let count = chunk.min(rows - c * chunk);
        let mut scratch = Vec::new();
        let block = source.block(c * chunk, count, &mut scratch);
        (0..cols)
            .map(|j| (0..count).fold(0.0f64, |m, i| m.max((block.get(i, j) - shift[j]).abs())))
            .collect::<Vec<f64>>()
    });
    parts.iter().fold(vec![0.0; cols], |a, b| a.iter().zip(b).map(|(a, b)| a.max(*b)).collect())
}

/// Exponents that bring columns of extreme scale near 1; 0 for all others.
pub(super) fn exponents(x: &dyn RowSource, y: &dyn RowSource, shift: &[f64]) -> Vec<i32> {
    let (x_shift, y_shift) = shift.split_at(x.cols());
    let mut largest = largest_by_column(x, x_shift);
    largest.extend(largest_by_column(y, y_shift));
    largest
        .into_iter()
        .map(|m| match m {
            0.0 => 0,
            m if m.is_infinite() => -1023,
            m if (1e-100..1e100).contains(&m) => 0,
            m => -(m.log2().floor() as i32),
        })
        .collect()
}
