//! A symmetric matrix made tridiagonal: `A = Q·T·Qᵀ`, with Q a product of reflections.
//!
//! Each step turns what one row has left of its diagonal into a single number, by a reflection `H = 1 − τ·v·vᵀ` from both sides:
//! `H·A·H = A − v·wᵀ − w·vᵀ` with `p = τ·A·v`, `w = p − (τ/2)(pᵀv)·v`. That is a product and an update, and both go through the
//! whole triangle; done together, each number comes from the cache once a step:
//!
//! ```text
//!  for k from the last row to the second:
//!      row k −= the last step's v·wᵀ + w·vᵀ;  v, τ from the part before its diagonal
//!      for each two rows i < k:                     their part up to the diagonal, from the first column on: always aligned
//!          A[i] −= vᵢ·w + wᵢ·v                       the last step's
//!          pᵢ += A[i]·v,  p += vᵢ·A[i]               this step's: one triangle stands for both
//! ```
//!
//! Four multiply-adds for a number that is loaded and stored once: two rows at a time keep the pipes busy, and their nine
//! operands the registers. Squares of eight on the diagonal are kept whole, so that no loop ends within a vector.

#![allow(unsafe_code)] // the innermost loop goes through pointers

use crate::Matrix;
use crate::simd::{Isa, Kernel, Lanes, Simd, dispatch};
use crate::stop;
use crate::tall::Aligned;

/// Numbers in a cache line, and the side of the squares on the diagonal. A multiple of every vector's length.
const LINE: usize = 8;

/// `A = Q·T·Qᵀ`, T tridiagonal.
pub struct Tridiagonal {
    /// T's diagonal (n).
    pub diagonal: Vec<f64>,
    /// T beside its diagonal (n − 1).
    pub beside: Vec<f64>,
    /// In row k, up to its diagonal, the vector of reflection k; further on nothing of use (n × stride).
    rows: Aligned,
    stride: usize,
    /// The factors τ of the reflections (n); none at 0.
    factors: Vec<f64>,
}

impl Tridiagonal {
    /// Of a symmetric matrix, both of its halves given, whose entries are not so large or small that their squares leave the range
    /// of f64.
    ///
    /// # Panics
    /// Where the matrix is not square.
    pub fn of(a: &Matrix) -> Self {
        Self::on(Isa::detected(), a)
    }

    fn on(isa: Isa, a: &Matrix) -> Self {
        let n = a.rows();
        assert_eq!(n, a.cols(), "a symmetric matrix is square");
        let stride = apart(n);
        let mut rows = Aligned::zeros(n * stride);
        for (i, to) in rows.chunks_exact_mut(stride).enumerate() {
            let whole = (i + 1).next_multiple_of(LINE).min(n);
            to[..whole].copy_from_slice(&a.row(i)[..whole]);
        }
        let (diagonal, beside) = (vec![0.0; n], vec![0.0; n.saturating_sub(1)]);
        let mut found = Tridiagonal { diagonal, beside, rows, stride, factors: vec![0.0; n] };
        dispatch(isa, Reduction { of: &mut found });
        found
    }

    /// `Q·z` for each vector `z` (n), in place.
    pub fn turn_back(&self, vectors: &mut [Vec<f64>]) {
        self.reflect(Isa::detected(), 1..self.diagonal.len(), vectors);
    }

    /// `Qᵀ·b` for each vector `b` (n), in place.
    pub fn turn(&self, vectors: &mut [Vec<f64>]) {
        self.reflect(Isa::detected(), (1..self.diagonal.len()).rev(), vectors);
    }

    fn reflect(&self, isa: Isa, order: impl Iterator<Item = usize>, vectors: &mut [Vec<f64>]) {
        dispatch(isa, Reflections { of: self, order, vectors });
    }
}

/// Numbers from one row to the next, for rows of `n`: whole lines, and far from a multiple of 4 KiB, since a load seems to wait
/// for a store that agrees with it in the last twelve bits of the address.
fn apart(n: usize) -> usize {
    const PAGE: usize = 4096 / size_of::<f64>();
    let lines = n.max(1).next_multiple_of(LINE);
    let beyond = lines % PAGE;
    let close = !(PAGE / 4..=3 * PAGE / 4).contains(&beyond);
    if n > PAGE / 4 && close { lines.next_multiple_of(PAGE) + 3 * PAGE / 8 + LINE } else { lines }
}

struct Reduction<'a> {
    of: &'a mut Tridiagonal,
}

impl Kernel for Reduction<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) {
        let Tridiagonal { diagonal, beside, rows, stride, factors } = self.of;
        let (n, stride) = (diagonal.len(), *stride);
        // Of the last step; behind their end they are zero, which the squares on the diagonal rely on.
        let mut last = Update { v: Aligned::zeros(stride), w: Aligned::zeros(stride) };
        let (mut v, mut p) = (Aligned::zeros(stride), Aligned::zeros(stride));
        for k in (0..n).rev() {
            stop::check();
            let (before, row) = rows.split_at_mut(k * stride);
            let row = &mut row[..stride];
            last.apply(k, row);
            diagonal[k] = row[k];
            if k == 0 {
                break;
            }
            (beside[k - 1], factors[k]) = reflection(isa, &mut row[..k]);
            v[..k].copy_from_slice(&row[..k]);
            v[k..].fill(0.0);
            p.fill(0.0);
            let mut pass = Pass { last: &last, v: &v, p: &mut p };
            let mut pairs = before.chunks_exact_mut(2 * stride);
            for (pair, two) in pairs.by_ref().enumerate() {
                let (one, other) = two.split_at_mut(stride);
                pass.rows(isa, 2 * pair, [one, other]);
            }
            pass.rows(isa, k - 1, [pairs.into_remainder()]);
            // w = τ·p − (τ²/2)(pᵀv)·v.
            let factor = factors[k];
            let along = -0.5 * factor * factor * dot(isa, &p[..k], &v[..k]);
            for ((w, p), v) in last.w.iter_mut().zip(&*p).zip(&*v) {
                *w = factor * p + along * v;
            }
            std::mem::swap(&mut last.v, &mut v);
        }
    }
}

/// `A −= v·wᵀ + w·vᵀ`, not yet done.
struct Update {
    v: Aligned,
    w: Aligned,
}

impl Update {
    /// On row `k` alone, up to its diagonal.
    #[inline(always)]
    fn apply(&self, k: usize, row: &mut [f64]) {
        let (vk, wk) = (self.v[k], self.w[k]);
        for ((a, v), w) in row[..=k].iter_mut().zip(&*self.v).zip(&*self.w) {
            *a -= vk * w + wk * v;
        }
    }
}

/// Turns `x` into the vector v of a reflection, 1 at its end, that leaves of `x` one number at its end; gives that number and τ.
#[inline(always)]
fn reflection<S: Simd>(isa: S, x: &mut [f64]) -> (f64, f64) {
    let Some((end, rest)) = x.split_last_mut() else { return (0.0, 0.0) };
    let square = dot(isa, rest, rest);
    let own = std::mem::replace(end, 1.0);
    if square == 0.0 {
        rest.fill(0.0);
        return (own, 0.0);
    }
    let left = -(own * own + square).sqrt().copysign(own);
    let scale = 1.0 / (own - left);
    for x in rest.iter_mut() {
        *x *= scale;
    }
    (left, (left - own) / left)
}

/// One step through the rows: the last step's update, and this step's product.
struct Pass<'a> {
    last: &'a Update,
    v: &'a [f64],
    p: &'a mut [f64],
}

impl Pass<'_> {
    /// On the rows from `first` on, all in one square of the diagonal; empty ones are passed over.
    #[inline(always)]
    fn rows<S: Simd, const R: usize>(&mut self, isa: S, first: usize, rows: [&mut [f64]; R]) {
        if rows[0].is_empty() {
            return;
        }
        let square = first / LINE * LINE;
        let (mut vs, mut ws, mut own) = ([isa.zero(); R], [isa.zero(); R], [isa.zero(); R]);
        for r in 0..R {
            vs[r] = isa.splat(self.last.v[first + r]);
            ws[r] = isa.splat(self.last.w[first + r]);
            own[r] = isa.splat(self.v[first + r]);
        }
        let mut sums = [isa.zero(); R];
        let end = square + LINE;
        let given = [&*self.last.v, &*self.last.w, self.v, &*self.p];
        assert!(given.iter().all(|x| x.len() >= end) && rows.iter().all(|row| row.len() >= end));
        let (last_v, last_w) = (self.last.v.as_ptr(), self.last.w.as_ptr());
        let (v, p) = (self.v.as_ptr(), self.p.as_mut_ptr());
        let rows = rows.map(<[f64]>::as_mut_ptr);
        for j in (0..end).step_by(S::LANES) {
            // SAFETY: j + LANES ≤ end, which is a multiple of LANES, and all of them have that many numbers.
            unsafe {
                let (vj, wj) = (isa.load_at(last_v.add(j)), isa.load_at(last_w.add(j)));
                let (xj, mut pj) = (isa.load_at(v.add(j)), isa.load_at(p.add(j)));
                for r in 0..R {
                    let a = isa.neg_mul_add(ws[r], vj, isa.load_at(rows[r].add(j)));
                    let a = isa.neg_mul_add(vs[r], wj, a);
                    isa.store_at(a, rows[r].add(j));
                    sums[r] = isa.mul_add(a, xj, sums[r]);
                    pj = isa.mul_add(a, own[r], pj);
                }
                // The square on the diagonal has both halves: nothing of it stands for something else.
                if j < square {
                    isa.store_at(pj, p.add(j));
                }
            }
        }
        for (r, sum) in sums.into_iter().enumerate() {
            self.p[first + r] += isa.sum(sum);
        }
    }
}

/// The reflections in some order, on each vector.
struct Reflections<'a, I> {
    of: &'a Tridiagonal,
    order: I,
    vectors: &'a mut [Vec<f64>],
}

impl<I: Iterator<Item = usize>> Kernel for Reflections<'_, I> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, isa: S) {
        for k in self.order {
            let v = &self.of.rows[k * self.of.stride..][..k];
            for z in self.vectors.iter_mut() {
                let z = &mut z[..k];
                let along = self.of.factors[k] * dot(isa, v, z);
                z.iter_mut().zip(v).for_each(|(z, v)| *z -= along * v);
            }
        }
    }
}

/// `Σ aᵢ·bᵢ` of as many numbers as both have, in four sums of a vector each.
#[inline(always)]
fn dot<S: Lanes<f64>>(isa: S, a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [isa.zero(); 4];
    let (a_wide, b_wide) = (a.chunks_exact(4 * S::LANES), b.chunks_exact(4 * S::LANES));
    let rest: f64 = a_wide.remainder().iter().zip(b_wide.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_wide.zip(b_wide) {
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = isa.mul_add(isa.load(&a[i * S::LANES..]), isa.load(&b[i * S::LANES..]), *sum);
        }
    }
    let [a, b, c, d] = sums;
    isa.sum(isa.add(isa.add(a, b), isa.add(c, d))) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symmetric(n: usize) -> Matrix {
        Matrix::from_fn(n, n, |i, j| {
            (1.0 + (i * j) as f64 * 0.37).sin() + (2.0 * ((i + j) as f64) + 0.3).cos()
        })
    }

    /// `Q·T·Qᵀ`, column by column.
    fn product(isa: Isa, t: &Tridiagonal) -> Matrix {
        let n = t.diagonal.len();
        let mut columns: Vec<Vec<f64>> =
            (0..n).map(|j| (0..n).map(|i| f64::from(u8::from(i == j))).collect()).collect();
        t.reflect(isa, (1..n).rev(), &mut columns);
        for column in &mut columns {
            let at = |i: usize| column[i];
            let image = (0..n).map(|i| {
                let before = if i > 0 { t.beside[i - 1] * at(i - 1) } else { 0.0 };
                let after = if i + 1 < n { t.beside[i] * at(i + 1) } else { 0.0 };
                t.diagonal[i] * at(i) + before + after
            });
            *column = image.collect();
        }
        t.reflect(isa, 1..n, &mut columns);
        Matrix::from_fn(n, n, |i, j| columns[j][i])
    }

    fn assert_same(found: &Matrix, expected: &Matrix, what: &str) {
        let size = expected.as_slice().iter().fold(0.0_f64, |big, x| big.max(x.abs()));
        for (found, expected) in found.as_slice().iter().zip(expected.as_slice()) {
            assert!(
                (found - expected).abs() <= 1e-14 * expected.abs().max(20.0 * size),
                "{what}: {found} {expected}"
            );
        }
    }

    #[test]
    fn the_factors_multiply_to_the_matrix_at_every_size_and_on_every_instruction_set() {
        for isa in Isa::available() {
            for n in (0..40).chain([63, 64, 65, 100, 129]) {
                let a = symmetric(n);
                assert_same(&product(isa, &Tridiagonal::on(isa, &a)), &a, &format!("{isa:?} {n}"));
            }
        }
    }

    #[test]
    fn what_is_diagonal_or_falls_apart_stays_as_it_is() {
        for n in [1, 2, 9, 24] {
            let diagonal = Matrix::from_fn(n, n, |i, j| if i == j { i as f64 } else { 0.0 });
            let t = Tridiagonal::of(&diagonal);
            assert!(t.beside.iter().all(|b| *b == 0.0));
            assert_eq!(product(Isa::detected(), &t), diagonal);
            let blocks =
                Matrix::from_fn(n, n, |i, j| if i / 3 == j / 3 { 1.0 + (i * j) as f64 } else { 0.0 });
            assert_same(&product(Isa::detected(), &Tridiagonal::of(&blocks)), &blocks, "blocks");
        }
    }

    #[test]
    fn only_the_lower_half_and_the_squares_on_the_diagonal_are_read() {
        let a = symmetric(30);
        let lower = Matrix::from_fn(30, 30, |i, j| if j / LINE <= i / LINE { a[(i, j)] } else { f64::NAN });
        let (found, expected) = (Tridiagonal::of(&lower), Tridiagonal::of(&a));
        assert_eq!(found.diagonal, expected.diagonal);
        assert_eq!(found.beside, expected.beside);
        assert_eq!(found.factors, expected.factors);
    }
}
