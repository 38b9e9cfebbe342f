//! The R factor of [1, X − c, Y − c], tile by tile: backward stable at any conditioning, one pass, mergeable.
//!
//! The state is one upper triangle R (m × m). A tile of rows A is folded in by Householder reflections that turn
//! [R; A] into [R'; 0]. Because R is triangular, a reflection for column j touches row j of R and the tile, nothing else
//! (structured QR, LAPACK's `tpqrt`):
//!
//! ```text
//!  for each panel of NB = LANES columns:
//!      for each column j of the panel:
//!          v = A[:, j];  α = R[j][j];  β = ∓√(α² + ‖v‖²);  τ = (β − α)/β;  v /= (α − β);  R[j][j] = β
//!          apply I − τ [1; v][1; v]ᵀ to the panel's later columns
//!      T = the triangle with H₁ … H_NB = I − V T Vᵀ                        (compact WY)
//!      for each group of ≤ 3 later columns C:
//!          w = Tᵀ (R[panel][C] + Vᵀ A[:, C]);  R[panel][C] −= w;  A[:, C] −= V w
//! ```
//!
//! Two triangles merge the same way: one of them is the other's tile. Leaves of rows have their own R and are merged
//! along a fixed tree.

use super::tree::{self, Cut};
use super::{Tall, pack};
use crate::simd::{Isa, Kernel, Lanes, Simd, dispatch};
use crate::stop;
use std::ops::Range;

/// Rows to a tile: it should stay in the second cache, with few columns in the first.
const TILE: usize = 256;
/// No instruction set has more lanes.
const MAX_LANES: usize = 8;

/// An upper triangular R with `RᵀR = AᵀA` for all rows A that were folded in.
#[derive(Clone, Debug, PartialEq)]
pub struct Triangle {
    width: usize,
    /// `width × width`, row-major, zero below the diagonal.
    data: Vec<f64>,
}

impl Triangle {
    /// The R of no rows.
    pub fn zeros(width: usize) -> Self {
        Triangle { width, data: vec![0.0; width * width] }
    }

    /// Takes `data` as `width × width`, row-major; what is below the diagonal must be zero.
    pub fn from_row_major(width: usize, data: Vec<f64>) -> Option<Self> {
        let square = width.checked_mul(width) == Some(data.len());
        let upper = square && (0..width).all(|i| data[i * width..i * width + i].iter().all(|&x| x == 0.0));
        upper.then_some(Triangle { width, data })
    }

    /// How many columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All entries, row after row.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All entries, row after row, to be written; what is below the diagonal must stay zero.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// Entry `(i, j)`.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.data[i * self.width + j]
    }

    /// Folds in the rows of another triangle of the same width.
    pub fn merge(&mut self, other: &Triangle) {
        assert_eq!(self.width, other.width, "triangles of one width merge");
        self.merge_on(Isa::detected(), other);
    }

    fn merge_on(&mut self, isa: Isa, other: &Triangle) {
        let m = self.width;
        // Rows of the other triangle as a tile, columns one after another.
        let stride = m.next_multiple_of(MAX_LANES);
        let mut tile = vec![0.0; m * stride];
        for i in 0..m {
            for j in i..m {
                tile[j * stride + i] = other.at(i, j);
            }
        }
        dispatch(isa, Fold { triangle: self, tile: &mut tile, rows: stride, stride });
    }
}

/// The R of √W [1, X − c, Y − c], `(1 + d + t)²`.
pub fn triangle(tall: &Tall<'_>) -> Triangle {
    triangle_on(Isa::detected(), tall)
}

/// [`triangle`] with the instructions of `isa`.
pub(super) fn triangle_on(isa: Isa, tall: &Tall<'_>) -> Triangle {
    tall.check();
    // A merge costs as much as folding in m/3 rows.
    let least = (8 * tall.width()).next_multiple_of(TILE).max(2048);
    tree::reduce(
        Cut { rows: tall.rows(), leaf: tree::leaf_rows(tall.rows(), least), cost: 2 * tall.width().pow(2) },
        &|rows| dispatch(isa, Leaf { tall, rows }),
        &|mut a, b| {
            a.merge_on(isa, &b);
            a
        },
    )
}

/// The R of some rows, on one thread.
struct Leaf<'a> {
    tall: &'a Tall<'a>,
    rows: Range<usize>,
}

impl Kernel for Leaf<'_> {
    type Output = Triangle;

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> Triangle {
        let Tall { x, y, weights, shift } = *self.tall;
        let (d, m) = (x.cols(), self.tall.width());
        let mut triangle = Triangle::zeros(m);
        let stride = TILE.min(self.rows.len().next_multiple_of(MAX_LANES));
        let mut tile = vec![0.0; m * stride];
        let mut scratch = Vec::new();
        for first in self.rows.clone().step_by(TILE) {
            stop::check();
            let count = TILE.min(self.rows.end - first);
            let roots: Option<Vec<f64>> =
                weights.map(|w| w[first..first + count].iter().map(|w| w.sqrt()).collect());
            let (ones, columns) = tile.split_at_mut(stride);
            ones.fill(0.0);
            ones[..count].fill(1.0);
            if let Some(roots) = &roots {
                ones[..count].copy_from_slice(roots);
            }
            let (x_columns, y_columns) = columns.split_at_mut(d * stride);
            pack::columns(isa, &x.block(first, count, &mut scratch), stride, x_columns);
            pack::columns(isa, &y.block(first, count, &mut scratch), stride, y_columns);
            for (column, &shift) in columns.chunks_exact_mut(stride).zip(shift) {
                pack::shift_and_weight(&mut column[..count], shift, roots.as_deref());
            }
            let rows = count.next_multiple_of(S::LANES);
            Fold { triangle: &mut triangle, tile: &mut tile, rows, stride }.run(isa);
        }
        triangle
    }
}

/// Folds a tile into a triangle; the tile is used up.
struct Fold<'a> {
    triangle: &'a mut Triangle,
    /// Columns one after another, `stride` apart.
    tile: &'a mut [f64],
    /// Rows that count, a multiple of LANES, zero-padded.
    rows: usize,
    stride: usize,
}

impl Kernel for Fold<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, isa: S) {
        let m = self.triangle.width;
        assert!(
            self.rows.is_multiple_of(S::LANES)
                && self.rows <= self.stride
                && m * self.stride <= self.tile.len()
        );
        for panel in (0..m).step_by(S::LANES) {
            let end = m.min(panel + S::LANES);
            let mut tau = [0.0; MAX_LANES];
            for j in panel..end {
                tau[j - panel] = self.reflect(isa, j, end);
            }
            if end < m {
                self.apply_panel(isa, panel, &tau);
            }
        }
    }
}

impl Fold<'_> {
    #[inline(always)]
    fn column(&mut self, j: usize) -> &mut [f64] {
        &mut self.tile[j * self.stride..][..self.rows]
    }

    /// Makes the reflection of column `j` and applies it to columns `j + 1 .. end`. Returns τ.
    #[inline(always)]
    fn reflect<S: Lanes<f64>>(&mut self, isa: S, j: usize, end: usize) -> f64 {
        let m = self.triangle.width;
        let [squares] = self.dots_with_one::<S, 1>(isa, j, j);
        if squares == 0.0 {
            return 0.0;
        }
        let alpha = self.triangle.data[j * m + j];
        let norm = (alpha * alpha + squares).sqrt();
        let beta = if alpha > 0.0 { -norm } else { norm };
        let tau = (beta - alpha) / beta;
        let scale = isa.splat(1.0 / (alpha - beta));
        for v in self.column(j).chunks_exact_mut(S::LANES) {
            isa.store(isa.mul(isa.load(v), scale), v);
        }
        self.triangle.data[j * m + j] = beta;
        let mut c = j + 1;
        while c < end {
            c += match end - c {
                1 => self.reflect_columns::<S, 1>(isa, j, c, tau),
                2 => self.reflect_columns::<S, 2>(isa, j, c, tau),
                _ => self.reflect_columns::<S, 3>(isa, j, c, tau),
            };
        }
        tau
    }

    /// Applies the reflection of column `j` to columns `c .. c + N`. Returns N.
    #[inline(always)]
    fn reflect_columns<S: Lanes<f64>, const N: usize>(
        &mut self,
        isa: S,
        j: usize,
        c: usize,
        tau: f64,
    ) -> usize {
        let m = self.triangle.width;
        let dots = self.dots_with_one::<S, N>(isa, j, c);
        let mut factors = [isa.zero(); N];
        for n in 0..N {
            let r = &mut self.triangle.data[j * m + c + n];
            let w = tau * (*r + dots[n]);
            *r -= w;
            factors[n] = isa.splat(w);
        }
        let tile = self.tile.as_mut_ptr();
        for k in (0..self.rows).step_by(S::LANES) {
            // SAFETY: columns j and c .. c + N ≤ m lie inside the tile, k + LANES ≤ rows ≤ stride: asserted in `run`.
            unsafe {
                let v = isa.load_at(tile.add(j * self.stride + k));
                for (n, &factor) in factors.iter().enumerate() {
                    let at = tile.add((c + n) * self.stride + k);
                    isa.store_at(isa.neg_mul_add(v, factor, isa.load_at(at)), at);
                }
            }
        }
        N
    }

    /// Column `j` times columns `c .. c + N`.
    #[inline(always)]
    fn dots_with_one<S: Lanes<f64>, const N: usize>(&self, isa: S, j: usize, c: usize) -> [f64; N] {
        let tile = self.tile.as_ptr();
        let mut sums = [isa.zero(); N];
        for k in (0..self.rows).step_by(S::LANES) {
            // SAFETY: columns j and c .. c + N ≤ m lie inside the tile, k + LANES ≤ rows ≤ stride: asserted in `run`.
            unsafe {
                let v = isa.load_at(tile.add(j * self.stride + k));
                for (n, sum) in sums.iter_mut().enumerate() {
                    *sum = isa.mul_add(v, isa.load_at(tile.add((c + n) * self.stride + k)), *sum);
                }
            }
        }
        sums.map(|sum| isa.sum(sum))
    }

    /// Applies the whole panel's reflections to all later columns.
    #[inline(always)]
    fn apply_panel<S: Lanes<f64>>(&mut self, isa: S, panel: usize, tau: &[f64; MAX_LANES]) {
        let (lanes, m) = (S::LANES, self.triangle.width);
        // T[k][i] for k ≤ i: T[i][i] = τᵢ, T[..i][i] = −τᵢ T[..i][..i] (Vᵀ vᵢ).
        let mut t = [[0.0; MAX_LANES]; MAX_LANES];
        for i in 0..lanes {
            let [products] = self.dots_with_panel::<S, 1>(isa, panel, panel + i);
            t[i][i] = tau[i];
            for k in 0..i {
                let sum: f64 = (k..i).map(|l| t[k][l] * products[l]).sum();
                t[k][i] = -tau[i] * sum;
            }
        }
        let mut c = panel + lanes;
        while c < m {
            c += match m - c {
                1 => self.apply_panel_to::<S, 1>(isa, panel, &t, c),
                2 => self.apply_panel_to::<S, 2>(isa, panel, &t, c),
                _ => self.apply_panel_to::<S, 3>(isa, panel, &t, c),
            };
        }
    }

    /// Applies the panel's reflections to columns `c .. c + N`. Returns N.
    #[inline(always)]
    fn apply_panel_to<S: Lanes<f64>, const N: usize>(
        &mut self,
        isa: S,
        panel: usize,
        t: &[[f64; MAX_LANES]; MAX_LANES],
        c: usize,
    ) -> usize {
        let (lanes, m) = (S::LANES, self.triangle.width);
        let mut products = self.dots_with_panel::<S, N>(isa, panel, c);
        let mut factors = [isa.square(isa.zero()); N];
        for n in 0..N {
            for i in 0..lanes {
                products[n][i] += self.triangle.data[(panel + i) * m + c + n];
            }
            for i in 0..lanes {
                let w: f64 = (0..=i).map(|l| t[l][i] * products[n][l]).sum();
                self.triangle.data[(panel + i) * m + c + n] -= w;
                factors[n].as_mut()[i] = isa.splat(w);
            }
        }
        let tile = self.tile.as_mut_ptr();
        for k in (0..self.rows).step_by(lanes) {
            // SAFETY: the panel and columns c .. c + N ≤ m lie inside the tile, k + LANES ≤ rows ≤ stride.
            unsafe {
                let mut column = [isa.zero(); N];
                for (n, column) in column.iter_mut().enumerate() {
                    *column = isa.load_at(tile.add((c + n) * self.stride + k));
                }
                for i in 0..lanes {
                    let v = isa.load_at(tile.add((panel + i) * self.stride + k));
                    for n in 0..N {
                        column[n] = isa.neg_mul_add(v, factors[n].as_ref()[i], column[n]);
                    }
                }
                for (n, &column) in column.iter().enumerate() {
                    isa.store_at(column, tile.add((c + n) * self.stride + k));
                }
            }
        }
        N
    }

    /// The LANES columns of a panel times columns `c .. c + N`: `result[n][i] = vᵢ · column (c + n)`.
    #[inline(always)]
    fn dots_with_panel<S: Lanes<f64>, const N: usize>(
        &self,
        isa: S,
        panel: usize,
        c: usize,
    ) -> [[f64; MAX_LANES]; N] {
        let tile = self.tile.as_ptr();
        let mut sums = [isa.square(isa.zero()); N];
        for k in (0..self.rows).step_by(S::LANES) {
            // SAFETY: the panel and columns c .. c + N ≤ m lie inside the tile, k + LANES ≤ rows ≤ stride.
            unsafe {
                let mut column = [isa.zero(); N];
                for (n, column) in column.iter_mut().enumerate() {
                    *column = isa.load_at(tile.add((c + n) * self.stride + k));
                }
                for i in 0..S::LANES {
                    let v = isa.load_at(tile.add((panel + i) * self.stride + k));
                    for n in 0..N {
                        let sum = &mut sums[n].as_mut()[i];
                        *sum = isa.mul_add(v, column[n], *sum);
                    }
                }
            }
        }
        let mut products = [[0.0; MAX_LANES]; N];
        for (products, sums) in products.iter_mut().zip(sums) {
            let sums = isa.transpose(sums);
            let total = sums.as_ref().iter().fold(isa.zero(), |total, &v| isa.add(total, v));
            isa.store_first(total, products);
        }
        products
    }
}
