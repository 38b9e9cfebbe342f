//! Inner products of rows: `K = ZZᵀ` (n × n), the Gram matrix seen from the other side, for tables wider than tall.
//!
//! ```text
//! Z = diag(r)·(X − 1mᵀ)         r roots of the weights ω, m the weighted column means (or 0)
//! G = XXᵀ                       one pass, each column of X one row of a tall table: no copy, no transpose in memory
//! c = G·ω/Σω,  g = c·ω/Σω       what centring takes away, from G alone
//! K = r rᵀ ∘ (G − c1ᵀ − 1cᵀ + g)
//! ```
//!
//! Where nearly all of G is the means' own (offsets far from zero) the subtraction would cancel; then the columns
//! are centred first, which costs a copy of each tile.
//!
//! Centring leaves `r` in the null space of K. [`Inner::fill`] adds `τ·rrᵀ/Σω`, τ the mean eigenvalue: definite again, and
//! the same solution for every right-hand side without a part along `r`.

use super::dot;
use spanwise_kernels::tall::{Block, Layout, NoColumns, RowSource, Tall, gram_of_columns};
use spanwise_kernels::{Matrix, crew};

/// Centring that keeps less of the trace than this is done on the columns.
const CANCELS: f64 = 0.01;

/// What a number that comes from memory costs, in multiplications at full speed.
const COST: usize = 8;

/// What to form.
pub(crate) struct Inner<'a> {
    /// The columns of X, each as a row (p × n).
    pub(crate) columns: &'a dyn RowSource,
    /// The mean of each column (p), where rows are centred.
    pub(crate) means: Option<&'a [f64]>,
    /// Weights of the rows (n); all 1 where absent.
    pub(crate) weights: Option<&'a [f64]>,
    /// Whether to fill the hole that centring leaves.
    pub(crate) fill: bool,
}

/// What was formed.
pub(crate) struct Products {
    /// K (n × n), both halves.
    pub(crate) square: Matrix,
    /// The trace of K as it is without τ.
    pub(crate) trace: f64,
    /// τ, 0 where nothing was added.
    pub(crate) filled: f64,
}

impl Inner<'_> {
    pub(crate) fn products(&self) -> Products {
        let n = self.columns.cols();
        let total = self.weights.map_or(n as f64, |w| w.iter().sum());
        let shares: Vec<f64> = (0..n).map(|i| self.weight(i) / total).collect();
        let mut raw = raw_products(self.columns);
        let (mut c, mut g) = (vec![0.0; n], 0.0);
        if let Some(means) = self.means {
            c = crew::map(COST * n * n, 0..n, |i| dot(raw.row(i), &shares));
            g = dot(&c, &shares);
            let before: f64 = (0..n).map(|i| raw[(i, i)] * self.weight(i)).sum();
            if self.trace(&raw, &c, g) < CANCELS * before {
                raw = raw_products(&Centred { columns: self.columns, means });
                (c, g) = (vec![0.0; n], 0.0);
            }
        }
        let trace = self.trace(&raw, &c, g);
        let filled = match self.means {
            Some(_) if self.fill => {
                if trace > 0.0 {
                    trace / n as f64
                } else {
                    1.0
                }
            }
            _ => 0.0,
        };
        let roots: Option<Vec<f64>> = self.weights.map(|w| w.iter().map(|w| w.sqrt()).collect());
        let square = centred(raw, &c, g + filled / total, roots.as_deref());
        Products { square, trace, filled }
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }

    fn trace(&self, raw: &Matrix, c: &[f64], g: f64) -> f64 {
        c.iter().enumerate().map(|(i, c)| self.weight(i) * (raw[(i, i)] - 2.0 * c + g)).sum()
    }
}

/// G.
fn raw_products(columns: &dyn RowSource) -> Matrix {
    let (p, n) = (columns.rows(), columns.cols());
    let shift = vec![0.0; n];
    gram_of_columns(&Tall { x: columns, y: &NoColumns(p), weights: None, shift: &shift })
}

/// `r rᵀ ∘ (G − c1ᵀ − 1cᵀ + g)`, in the memory of G.
fn centred(mut raw: Matrix, c: &[f64], g: f64, roots: Option<&[f64]>) -> Matrix {
    let n = c.len();
    crew::each(COST * n * n, raw.as_mut_slice().chunks_mut(n.max(1)).enumerate(), |(i, row)| {
        let own = g - c[i];
        row.iter_mut().zip(c).for_each(|(v, c)| *v += own - c);
        if let Some(roots) = roots {
            row.iter_mut().zip(roots).for_each(|(v, root)| *v *= root * roots[i]);
        }
    });
    raw
}

/// Columns with their means subtracted.
pub(crate) struct Centred<'a> {
    /// p × n.
    pub(crate) columns: &'a dyn RowSource,
    /// p.
    pub(crate) means: &'a [f64],
}

impl RowSource for Centred<'_> {
    fn rows(&self) -> usize {
        self.columns.rows()
    }

    fn cols(&self) -> usize {
        self.columns.cols()
    }

    fn block<'a>(&'a self, first: usize, count: usize, scratch: &'a mut Vec<f64>) -> Block<'a> {
        let (mut inner, n, means) = (Vec::new(), self.cols(), &self.means[first..first + count]);
        let block = self.columns.block(first, count, &mut inner);
        scratch.clear();
        scratch.reserve(count * n);
        match block.layout() {
            Layout::Columns { stride } => {
                for i in 0..n {
                    let column = &block.data()[i * stride..][..count];
                    scratch.extend(column.iter().zip(means).map(|(x, mean)| x - mean));
                }
                Block::new(scratch, count, n, Layout::Columns { stride: count })
            }
            Layout::Rows { stride } => {
                for (j, mean) in means.iter().enumerate() {
                    scratch.extend(block.data()[j * stride..][..n].iter().map(|x| x - mean));
                }
                Block::new(scratch, count, n, Layout::Rows { stride: n })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spanwise_kernels::View;

    #[test]
    fn products_are_their_definition_with_and_without_weights_means_and_offsets() {
        for (n, p, offset) in
            [(1, 1, 0.0), (3, 5, 1.0), (40, 330, 1e6), (300, 40, 0.5), (300, 9, 1e6), (200, 1030, 0.0)]
        {
            let x = Matrix::from_fn(n, p, |i, j| ((i * 7 + j * 3) as f64).sin() + offset * (j % 3) as f64);
            let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 4) as f64).collect();
            for weights in [None, Some(&weights[..])] {
                for centre in [false, true] {
                    check(&x, weights, centre);
                }
            }
        }
    }

    fn check(x: &Matrix, weights: Option<&[f64]>, centre: bool) {
        let (n, p) = (x.rows(), x.cols());
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let total: f64 = (0..n).map(weight).sum();
        let mean = |j: usize| (0..n).map(|i| weight(i) * x[(i, j)]).sum::<f64>() / total;
        let means: Vec<f64> = (0..p).map(|j| if centre { mean(j) } else { 0.0 }).collect();
        let z = Matrix::from_fn(n, p, |i, j| (x[(i, j)] - means[j]) * weight(i).sqrt());
        let data = x.transposed();
        for columns in [data.view(), View::new(x.as_slice(), &[n, p]).unwrap().transposed()] {
            let inner =
                Inner { columns: &columns, means: centre.then_some(&means[..]), weights, fill: centre };
            let found = inner.products();
            let scale = found.trace.max(1e-300);
            for i in 0..n {
                for k in 0..n {
                    let added = found.filled / total * (weight(i) * weight(k)).sqrt();
                    let expected = dot(z.row(i), z.row(k)) + added;
                    assert!((found.square[(i, k)] - expected).abs() <= 1e-9 * scale + 1e-9, "{n} × {p}");
                }
            }
        }
    }
}
