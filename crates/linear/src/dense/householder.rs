//! Householder QR of one tile, in blocks of columns.
//!
//! ```text
//! A (m × n), k = min(m, n)
//! for each panel of columns:
//!     for each column j: v, τ with (I − τvvᵀ) A[j.., j] = ±‖A[j.., j]‖ e₁;  apply to the rest of the panel
//!     T (b × b) with H₁…H_b = I − V T Vᵀ
//!     C ← C − V Tᵀ (Vᵀ C)     for the columns right of the panel: two matrix products
//! ```
//!
//! No column is ever dropped: a column whose remainder is tiny gets a reflector like any other, so R carries
//! whatever the data say about near-dependence. Only an exactly zero remainder gets none.

use super::{axpy, dot, norm, norm_inf, power_of_two_near};
use faer::linalg::matmul::matmul;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, MatRef, Par};
use spanwise_kernels::{Matrix, stop};

/// Columns of one panel.
const PANEL: usize = 32;

/// Makes the reflector `I − τ[1;v][1;v]ᵀ` that maps `x` onto a multiple of the first axis: `x[0]` becomes that multiple,
/// `x[1..]` becomes `v`, and τ is returned. τ = 0 where nothing has to be reflected.
pub(super) fn reflector(x: &mut [f64]) -> f64 {
    let Some((head, tail)) = x.split_first_mut() else { return 0.0 };
    let tail_norm = norm(tail);
    if tail_norm == 0.0 {
        return 0.0;
    }
    let beta = -head.hypot(tail_norm).copysign(*head);
    let pivot = *head - beta;
    for v in tail.iter_mut() {
        *v /= pivot;
    }
    let tau = -pivot / beta;
    *head = beta;
    tau
}

/// Applies `I − τ[1;v][1;v]ᵀ` to `y`.
pub(super) fn reflect(v: &[f64], tau: f64, y: &mut [f64]) {
    let Some((head, tail)) = y.split_first_mut() else { return };
    let by = tau * (*head + dot(v, tail));
    *head -= by;
    axpy(tail, -by, v);
}

/// A matrix factored as `Q R`, with `Q` kept as reflectors.
pub(crate) struct Reflectors {
    rows: usize,
    cols: usize,
    /// Column after column (m × n): R on and above the diagonal, the reflectors' tails below.
    data: Vec<f64>,
    /// One per reflector (k).
    tau: Vec<f64>,
    /// What the values were divided by.
    unit: f64,
}

impl Reflectors {
    /// Factors `rows` × n values that lie row after row.
    pub(crate) fn of_rows(values: &[f64], cols: usize) -> Self {
        let rows = values.len().checked_div(cols).unwrap_or(0);
        // Only numbers near the end of the range are scaled, by a power of two: sums of two of them must not overflow.
        let largest = norm_inf(values);
        let unit = if largest > 1e300 { power_of_two_near(largest) } else { 1.0 };
        let mut data = vec![0.0; rows * cols];
        for (i, row) in values.chunks_exact(cols.max(1)).enumerate() {
            for (j, &value) in row.iter().enumerate() {
                data[j * rows + i] = value / unit;
            }
        }
        let mut factored = Reflectors { rows, cols, data, tau: Vec::new(), unit };
        factored.factor();
        factored
    }

    fn size(&self) -> usize {
        self.rows.min(self.cols)
    }

    fn factor(&mut self) {
        let (m, k) = (self.rows, self.size());
        for start in (0..k).step_by(PANEL) {
            stop::check();
            let end = k.min(start + PANEL);
            let panel = &mut self.data[..end * m];
            for j in start..end {
                let (this, right) = panel[j * m..].split_at_mut(m);
                let tau = reflector(&mut this[j..]);
                self.tau.push(tau);
                if tau != 0.0 {
                    right
                        .chunks_exact_mut(m)
                        .for_each(|column| reflect(&this[j + 1..], tau, &mut column[j..]));
                }
            }
            if end < self.cols {
                let block = self.block(start);
                block.apply(&mut self.data[end * m..], m, true);
            }
        }
    }

    /// The reflectors `start..` of one panel as `I − V T Vᵀ`.
    fn block(&self, start: usize) -> Block {
        let (m, end) = (self.rows, self.size().min(start + PANEL));
        let (height, width) = (m - start, end - start);
        let mut v = vec![0.0; height * width];
        for j in 0..width {
            let column = &mut v[j * height..(j + 1) * height];
            column[j] = 1.0;
            column[j + 1..].copy_from_slice(&self.data[(start + j) * m + start + j + 1..(start + j + 1) * m]);
        }
        // T[..j, j] = −τⱼ T[..j, ..j] (V[:, ..j]ᵀ vⱼ)
        let mut t = vec![0.0; width * width];
        for j in 0..width {
            let tau = self.tau[start + j];
            let column = &v[j * height..(j + 1) * height];
            let overlap: Vec<f64> =
                (0..j).map(|i| dot(&v[i * height + j..(i + 1) * height], &column[j..])).collect();
            for i in 0..j {
                let sum: f64 = (i..j).map(|l| t[l * width + i] * overlap[l]).sum();
                t[j * width + i] = -tau * sum;
            }
            t[j * width + j] = tau;
        }
        Block { start, height, width, v, t }
    }

    /// `Q C`, or `Qᵀ C`, in place; `c` is m × n column after column.
    pub(crate) fn apply(&self, c: &mut [f64], transposed: bool) {
        if self.rows == 0 || c.is_empty() {
            return;
        }
        let starts: Vec<usize> = (0..self.size()).step_by(PANEL).collect();
        // Q = (block 1)(block 2)…: Qᵀ takes them in their order, Q from the last to the first.
        if transposed {
            for &start in &starts {
                self.block(start).apply(c, self.rows, true);
            }
        } else {
            for &start in starts.iter().rev() {
                self.block(start).apply(c, self.rows, false);
            }
        }
    }

    /// R, k × n.
    pub(crate) fn r(&self) -> Matrix {
        Matrix::from_fn(self.size(), self.cols, |i, j| {
            if i <= j { self.data[j * self.rows + i] * self.unit } else { 0.0 }
        })
    }

    /// The first `count` columns of Q, m × `count`.
    pub(crate) fn q(&self, count: usize) -> Matrix {
        let m = self.rows;
        let mut columns = vec![0.0; m * count];
        for j in 0..count.min(m) {
            columns[j * m + j] = 1.0;
        }
        self.apply(&mut columns, false);
        Matrix::from_fn(m, count, |i, j| columns[j * m + i])
    }
}

/// `I − V T Vᵀ` on rows `start..`.
struct Block {
    start: usize,
    height: usize,
    width: usize,
    /// Column after column, height × width.
    v: Vec<f64>,
    /// Column after column, width × width, upper triangular.
    t: Vec<f64>,
}

impl Block {
    /// `C ← C − V T (Vᵀ C)`, with `Tᵀ` where `transposed`; `c` is m × n column after column.
    fn apply(&self, c: &mut [f64], m: usize, transposed: bool) {
        let n = c.len() / m;
        let v = MatRef::from_column_major_slice(&self.v, self.height, self.width);
        let t = MatRef::from_column_major_slice(&self.t, self.width, self.width);
        let t = if transposed { t.transpose() } else { t };
        let (mut first, mut second) = (vec![0.0; self.width * n], vec![0.0; self.width * n]);
        let mut c = MatMut::from_column_major_slice_mut(c, m, n).subrows_mut(self.start, self.height);
        let mut inner = MatMut::from_column_major_slice_mut(&mut first, self.width, n);
        matmul(inner.rb_mut(), Accum::Replace, v.transpose(), c.rb(), 1.0, Par::Seq);
        let mut weighted = MatMut::from_column_major_slice_mut(&mut second, self.width, n);
        matmul(weighted.rb_mut(), Accum::Replace, t, inner.rb(), 1.0, Par::Seq);
        matmul(c.rb_mut(), Accum::Add, v, weighted.rb(), -1.0, Par::Seq);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{identity, multiply, multiply_transposed};
    use super::*;

    fn largest_difference(a: &Matrix, b: &Matrix) -> f64 {
        assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()));
        a.as_slice().iter().zip(b.as_slice()).fold(0.0, |big, (a, b)| big.max((a - b).abs()))
    }

    fn wavy(m: usize, n: usize) -> Matrix {
        Matrix::from_fn(m, n, |i, j| ((i * n + j) as f64 * 1.7).sin() + f64::from(u8::from(i == j)))
    }

    #[test]
    fn the_factors_multiply_back_in_one_panel_and_in_several() {
        for (m, n) in [(1, 1), (5, 3), (3, 5), (40, 40), (90, 70), (70, 90)] {
            let a = wavy(m, n);
            let factored = Reflectors::of_rows(a.as_slice(), n);
            let q = factored.q(m.min(n));
            assert!(largest_difference(&multiply(&q, &factored.r()), &a) < 1e-13, "{m} × {n}");
            assert!(largest_difference(&multiply_transposed(&q, &q), &identity(m.min(n))) < 1e-13);
            let full = factored.q(m);
            assert!(largest_difference(&multiply_transposed(&full, &full), &identity(m)) < 1e-13);
        }
    }

    #[test]
    fn a_tiny_remainder_is_kept() {
        // The second column is the first plus 1e-11 in one row: R's second diagonal entry must say so.
        let a = Matrix::from_fn(4096, 2, |i, j| if i == 7 && j == 1 { 1.0 + 1e-11 } else { 1.0 });
        let r = Reflectors::of_rows(a.as_slice(), 2).r();
        assert!((0.9e-11..1.1e-11).contains(&r[(1, 1)].abs()), "{}", r[(1, 1)]);
    }

    #[test]
    fn zeros_need_no_reflector() {
        let factored = Reflectors::of_rows(&[0.0; 12], 3);
        assert_eq!(factored.r(), Matrix::zeros(3, 3));
        assert_eq!(factored.q(4), identity(4));
        assert_eq!(Reflectors::of_rows(&[], 3).r(), Matrix::zeros(0, 3));
    }
}
