//! The query rows of a block, and the gradients of their outputs, as the products of backward read them.

use super::backward::GradientRows;
use super::rows::Rows;
use super::storage::{Storage, widen_row};
use crate::simd::{Float, Real};
use crate::{Element, View};
use std::f64::consts::LOG2_E;

/// Where rows are widened to, if they cannot be read where they lie.
pub(super) struct Room<'a, A> {
    /// `(panels·LANES, stride)`.
    pub(super) memory: &'a mut [A],
    pub(super) stride: usize,
    /// The rows' own width, and that rounded up to whole vectors.
    pub(super) width: usize,
    pub(super) padded: usize,
}

impl<'b, T: Storage> GradientRows<'b, T> {
    /// The queries, `(panels·LANES, D)`.
    #[inline(always)]
    pub(super) fn queries<'a, S: Float<T::Real>>(&self, room: Room<'a, T::Real>) -> Rows<'a, T::Real>
    where
        'b: 'a,
    {
        self.load::<S>(|part| self.block.parts[part].queries, room)
    }

    /// The gradients of the outputs, `(panels·LANES, E)`; zeros where a row sees nothing.
    #[inline(always)]
    pub(super) fn upstream<'a, S: Float<T::Real>>(&self, room: Room<'a, T::Real>) -> Rows<'a, T::Real>
    where
        'b: 'a,
    {
        if self.lse.contains(&f64::NEG_INFINITY) {
            let Room { memory, stride, width, padded } = room;
            self.widen::<S>(|part| self.grads[part], Room { memory: &mut *memory, stride, width, padded });
            for row in 0..self.lse.len() {
                if self.lse[row] == f64::NEG_INFINITY {
                    memory[row * stride..][..width].fill(T::Real::ZERO);
                }
            }
            return Rows::spaced(memory, stride, padded);
        }
        self.load::<S>(|part| self.grads[part], room)
    }

    /// Where they lie, if they lie one after another and fill whole panels and vectors; otherwise widened. Rows that are far
    /// apart would fall into the same few sets of the cache.
    #[inline(always)]
    fn load<'a, S: Float<T::Real>>(
        &self,
        of: impl Fn(usize) -> View<'b, T>,
        room: Room<'a, T::Real>,
    ) -> Rows<'a, T::Real>
    where
        'b: 'a,
    {
        if let [part] = self.block.parts
            && part.count % S::LANES == 0
            && room.width == room.padded
            && of(0).strides() == [room.width as isize, 1]
        {
            let (data, start) = of(0).memory();
            if let Some(data) = T::as_reals(data) {
                return Rows::gapless(&data[start + part.first * room.width..], room.width);
            }
        }
        let Room { memory, stride, width, padded } = room;
        self.widen::<S>(of, Room { memory: &mut *memory, stride, width, padded });
        Rows::spaced(memory, stride, padded)
    }

    /// All rows, and zeros behind the last column and the last row.
    #[inline(always)]
    fn widen<S: Float<T::Real>>(&self, of: impl Fn(usize) -> View<'b, T>, room: Room<'_, T::Real>) {
        let (Room { memory, stride, width, .. }, rows) = (room, self.block.spans.len());
        if width % S::LANES != 0 {
            memory[..rows * stride].fill(T::Real::ZERO);
        }
        memory[rows * stride..].fill(T::Real::ZERO);
        for (p, part) in self.block.parts.iter().enumerate() {
            for i in 0..part.count {
                let to = &mut memory[(part.row + i) * stride..][..width];
                widen_row(&of(p), part.first + i, 0, to);
            }
        }
    }

    /// Log-sum-exps in units of log₂ and δ, each `(panels·LANES,)`.
    #[inline(always)]
    pub(super) fn totals(&self, lse: &mut [T::Real], delta: &mut [T::Real]) {
        for row in 0..lse.len() {
            // A row that sees nothing, or is none, weighs nothing: 2^(s − ∞).
            let seen = row < self.lse.len() && self.lse[row] != f64::NEG_INFINITY;
            lse[row] = T::Real::from_f64(if seen { self.lse[row] * LOG2_E } else { f64::INFINITY });
            delta[row] = T::Real::from_f64(if seen { self.delta[row] } else { 0.0 });
        }
    }
}

/// `to[panel][i][lane] = factor·from[row][i]` for `i` below `width`.
#[inline(always)]
pub(super) fn pack<A: Real, S: Float<A>>(isa: S, from: Rows<'_, A>, width: usize, factor: f64, to: &mut [A]) {
    let lanes = S::LANES;
    let factor = isa.splat(A::from_f64(factor));
    for panel in 0..to.len() / (width * lanes).max(1) {
        for i in (0..width).step_by(lanes) {
            let mut square = isa.square(factor);
            for lane in 0..lanes {
                let x = isa.load(&from.row(panel * lanes + lane)[i..]);
                square.as_mut()[lane] = isa.mul(x, factor);
            }
            let square = isa.transpose(square);
            for column in 0..lanes.min(width - i) {
                isa.store(square.as_ref()[column], &mut to[(panel * width + i + column) * lanes..]);
            }
        }
    }
}
