//! A symmetric positive definite matrix factored: `G = RᵀR`, R upper (Cholesky).
//!
//! Nearly all of the work is what the Gram matrix of a table is made of, sums of outer products of rows: the rows of R that are known,
//! subtracted from what is left of G. So G is kept the way Gram matrices are summed (`tall/outer.rs`), by panels of eight columns,
//! row after row, and negated: then the same kernel *adds*, and its tile of packed rows is a block of rows of R.
//!
//! ```text
//!  H = −G, by panels
//!  for each block of rows:
//!      corner   for each eight rows: H += products of the rows above them; factor 8 × 8; solve for the panels to their right
//!      right    the same without a factor, for the panels beyond the corner                           (parallel over panels)
//!      rest     H += products of the block's rows, everything below and to the right of the corner     (parallel over panels)
//! ```
//!
//! A solved panel of a block is a packed panel already; nothing is packed. Which thread does what changes no sum: each entry
//! receives the products of one block after another, each summed in the order of its rows.

use crate::simd::{Isa, Kernel, Lanes, Simd, dispatch};
use crate::tall::outer::{self, Across, Tile, Update, shares, start};
use crate::tall::{Aligned, PANEL};
use crate::{Matrix, crew, stop};

/// Rows to a block: a multiple of [`PANEL`].
const BLOCK: usize = 128;
/// Rows from one packed panel to the next; not a power of two, or all panels would fall into the same sets of the caches.
const STRIDE: usize = BLOCK + 1;
/// Numbers of one packed panel.
const PACKED: usize = STRIDE * PANEL;
/// Numbers of eight rows of a panel.
const SQUARE: usize = PANEL * PANEL;
/// What a number costs that is only moved, in multiplications at full speed.
const COST: usize = 8;

/// The upper half of `g` becomes R, with `G = RᵀR`; what is below the diagonal is neither read nor written. Otherwise the first
/// pivot that is not positive, or no finite number; then what `g` holds is of no use.
///
/// # Panics
/// Where the matrix is not square.
pub fn cholesky(g: &mut Matrix) -> Result<(), usize> {
    cholesky_on(Isa::detected(), g)
}

/// [`cholesky`] with the instructions of `isa`.
fn cholesky_on(isa: Isa, g: &mut Matrix) -> Result<(), usize> {
    assert_eq!(g.rows(), g.cols(), "a symmetric matrix is square");
    let n = g.rows();
    let panels = n.div_ceil(PANEL);
    let mut h = negated(g);
    let mut packed = Aligned::zeros(panels * PACKED);
    for first in (0..panels).step_by(BLOCK / PANEL) {
        stop::check();
        let own = (panels - first).min(BLOCK / PANEL);
        let (corner, right) = packed[..(panels - first) * PACKED].split_at_mut(own * PACKED);
        // From the block's first row and column on.
        let left = &mut h[start(first) + first * SQUARE..];
        let end = left.len().min(start(first + own) - start(first));
        let (block, beyond) = left.split_at_mut(end);
        let done = dispatch(isa, Corner { h: block, before: first, packed: corner });
        done.map_err(|pivot| first * PANEL + pivot)?;
        let (corner, rest) = (&*corner, first + own..panels);
        let share = panels_to_a_share(rest.len());
        let (height, width) = (own * PANEL, rest.len() * PANEL);
        let of_h = shares(beyond, rest.clone(), share).into_iter();
        let of_right = of_h.zip(right.chunks_mut(share * PACKED));
        crew::each(height * height * width / 2, of_right, |((panels, h), packed)| {
            dispatch(isa, Right { h, before: panels.start, corner, packed });
        });
        let (rows, before) = (first * PANEL, rest.start);
        let tile = Tile { packed: right, stride: STRIDE, rows: own * PANEL, panels: rest.len() };
        // What is below the block's rows.
        let below = shares(beyond.get_mut(own * SQUARE..).unwrap_or_default(), rest, share);
        crew::each(height * width * width / 2, below.into_iter(), |(panels, out)| {
            stop::check();
            let panels = panels.start - before..panels.end - before;
            dispatch(isa, Update { tile, before, panels, out, next: None });
        });
        let packed = packed.chunks_exact(PACKED);
        let of_block = g.as_mut_slice()[rows * n..].chunks_mut(n).take(height);
        crew::each(COST * height * width, of_block.enumerate(), |(r, row)| {
            let to = row[rows..].chunks_mut(PANEL).enumerate();
            for ((p, to), panel) in to.zip(packed.clone()).skip(r / PANEL) {
                let from = &panel[r * PANEL..][..to.len()];
                let diagonal = r.saturating_sub(p * PANEL);
                to[diagonal..].copy_from_slice(&from[diagonal..]);
            }
        });
    }
    Ok(())
}

/// How many panels of so many are a work item: later ones are higher, so items are to be several for each thread. A multiple of
/// every register tile's width.
fn panels_to_a_share(panels: usize) -> usize {
    panels.div_ceil(32).next_multiple_of(3).clamp(1, outer::BLOCK)
}

/// `−G` on and above the diagonal, by panels; where G ends within a panel, the identity goes on.
fn negated(g: &Matrix) -> Aligned {
    let n = g.rows();
    let panels = n.div_ceil(PANEL);
    let mut h = Aligned::zeros(start(panels));
    crew::each(COST * n * n / 2, shares(&mut h, 0..panels, outer::BLOCK).into_iter(), |(panels, h)| {
        for row in 0..n.min(panels.end * PANEL) {
            for p in panels.start.max(row / PANEL)..panels.end {
                let to = &mut h[start(p) - start(panels.start) + row * PANEL..][..PANEL];
                to.iter_mut().zip(&g.row(row)[p * PANEL..]).for_each(|(to, from)| *to = -from);
            }
        }
    });
    for i in n..panels * PANEL {
        h[start(panels - 1) + i * PANEL + i % PANEL] = -1.0;
    }
    h
}

/// The square on the diagonal that a block of rows begins with. Its answer is the pivot that is not positive.
struct Corner<'a> {
    /// Panels of H, from the block's first row on.
    h: &'a mut [f64],
    /// The first of them.
    before: usize,
    /// As many packed panels, which become R.
    packed: &'a mut [f64],
}

impl Kernel for Corner<'_> {
    type Output = Result<(), usize>;

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) -> Result<(), usize> {
        let panels = self.packed.len() / PACKED;
        for p in 0..panels {
            let before = self.before + p;
            let rows = Rows { first: p * PANEL, before };
            let h = &mut self.h[start(before) - start(self.before)..];
            let right = &mut self.packed[p * PACKED..];
            rows.add(isa, right, 0, right, h);
            let square = factored(&h[p * SQUARE..][..SQUARE]).map_err(|pivot| p * PANEL + pivot)?;
            let (own, right) = right.split_at_mut(PACKED);
            own[p * SQUARE..][..SQUARE].copy_from_slice(square.as_flattened());
            if !right.is_empty() {
                let rows = Rows { before: before + 1, ..rows };
                rows.solve(isa, &square, &h[start(before + 1) - start(before)..], right);
            }
        }
        Ok(())
    }
}

/// The rows of a block, beyond its corner.
struct Right<'a> {
    /// Panels of H, from the block's first row on.
    h: &'a mut [f64],
    /// The first of them.
    before: usize,
    /// The corner's panels of R.
    corner: &'a [f64],
    /// As many packed panels as of H, which become R.
    packed: &'a mut [f64],
}

impl Kernel for Right<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) {
        for (p, own) in self.corner.chunks_exact(PACKED).enumerate() {
            let rows = Rows { first: p * PANEL, before: self.before };
            rows.add(isa, self.corner, p, self.packed, self.h);
            let (square, _) = own[p * SQUARE..][..SQUARE].as_chunks::<PANEL>();
            rows.solve(isa, square, self.h, self.packed);
        }
    }
}

/// Eight rows of a block, in some panels of H.
struct Rows {
    /// The first of the rows.
    first: usize,
    /// The first of the panels.
    before: usize,
}

impl Rows {
    /// Adds the products of the block's rows above: panel `panel` of `left` against all of `right`.
    #[inline(always)]
    fn add<S: Simd>(&self, isa: S, left: &[f64], panel: usize, right: &[f64], h: &mut [f64]) {
        let tile = |packed| Tile { packed, stride: STRIDE, rows: self.first, panels: packed.len() / PACKED };
        let out = &mut h[(self.first - panel * PANEL) * PANEL..];
        Across { left: tile(left), panel, right: tile(right), before: self.before, out }.run(isa);
    }

    /// The rows themselves: what is left of them, `−H`, with the triangle of `square` before it taken away.
    #[inline(always)]
    fn solve<S: Lanes<f64>>(&self, isa: S, square: &[[f64; PANEL]], h: &[f64], packed: &mut [f64]) {
        for (p, packed) in (self.before..).zip(packed.chunks_exact_mut(PACKED)) {
            let h = &h[start(p) - start(self.before) + self.first * PANEL..][..SQUARE];
            let packed = &mut packed[self.first * PANEL..][..SQUARE];
            for v in (0..PANEL).step_by(S::LANES) {
                let mut x = [isa.zero(); PANEL];
                for r in 0..PANEL {
                    let mut left = isa.sub(isa.zero(), isa.load(&h[r * PANEL + v..]));
                    for s in 0..r {
                        left = isa.neg_mul_add(isa.splat(square[s][r]), x[s], left);
                    }
                    x[r] = isa.mul(left, isa.splat(1.0 / square[r][r]));
                    isa.store(x[r], &mut packed[r * PANEL + v..]);
                }
            }
        }
    }
}

/// R of the 8 × 8 numbers `−h`, of which the upper half is read; or the pivot that is not positive.
#[inline(always)]
fn factored(h: &[f64]) -> Result<[[f64; PANEL]; PANEL], usize> {
    let mut r = [[0.0; PANEL]; PANEL];
    for i in 0..PANEL {
        for j in i..PANEL {
            let known: f64 = (0..i).map(|k| r[k][i] * r[k][j]).sum();
            let rest = -h[i * PANEL + j] - known;
            if i == j && !(rest > 0.0 && rest.is_finite()) {
                return Err(i);
            }
            r[i][j] = if i == j { rest.sqrt() } else { rest / r[i][i] };
        }
    }
    Ok(r)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `AᵀA + 1`, of some A.
    fn definite(n: usize) -> Matrix {
        let a = Matrix::from_fn(n + 3, n, |i, j| ((i * 31 + j * 17) as f64 * 0.7).sin());
        Matrix::from_fn(n, n, |i, j| {
            let sum: f64 = (0..n + 3).map(|k| a[(k, i)] * a[(k, j)]).sum();
            sum + f64::from(u8::from(i == j))
        })
    }

    /// The plain algorithm, one entry after another.
    fn plain(g: &Matrix) -> Matrix {
        let mut r = Matrix::zeros(g.rows(), g.rows());
        for i in 0..g.rows() {
            for j in i..g.rows() {
                let rest = g[(i, j)] - (0..i).map(|k| r[(k, i)] * r[(k, j)]).sum::<f64>();
                r[(i, j)] = if i == j { rest.sqrt() } else { rest / r[(i, i)] };
            }
        }
        r
    }

    const SIZES: [usize; 16] = [0, 1, 2, 7, 8, 9, 16, 25, 70, 127, 128, 129, 136, 200, 257, 301];

    #[test]
    fn the_factor_is_the_plain_one_at_every_size_and_on_every_instruction_set() {
        for n in SIZES {
            let g = definite(n);
            let expected = plain(&g);
            for isa in Isa::available() {
                let mut found = g.clone();
                assert_eq!(cholesky_on(isa, &mut found), Ok(()), "{isa:?} n = {n}");
                for i in 0..n {
                    for j in i..n {
                        let (a, b) = (found[(i, j)], expected[(i, j)]);
                        assert!((a - b).abs() < 1e-12 * n as f64, "{isa:?} n = {n} ({i}, {j}): {a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_below_the_diagonal_is_neither_read_nor_written() {
        for n in [5, 150] {
            let g = definite(n);
            let mut upper = Matrix::from_fn(n, n, |i, j| if i > j { f64::NAN } else { g[(i, j)] });
            let mut whole = g.clone();
            assert!(cholesky(&mut upper).is_ok() && cholesky(&mut whole).is_ok());
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let expected = if i > j { f64::NAN.to_bits() } else { whole[(i, j)].to_bits() };
                assert_eq!(upper[(i, j)].to_bits(), expected, "({i}, {j})");
                assert!(i <= j || whole[(i, j)].to_bits() == g[(i, j)].to_bits());
            }
        }
    }

    #[test]
    fn the_pivot_that_is_not_positive_is_named() {
        for (n, at, bad) in [(1, 0, 0.0), (12, 9, -1.0), (300, 290, f64::NAN), (300, 140, f64::INFINITY)] {
            let mut g = definite(n);
            g[(at, at)] = bad;
            assert_eq!(cholesky(&mut g), Err(at), "{n} {at} {bad}");
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let g = definite(401);
        let on = |threads: usize| {
            let mut r = g.clone();
            crew::with_exactly(threads, || cholesky(&mut r).unwrap());
            r
        };
        assert_eq!(on(1), on(3));
    }
}
