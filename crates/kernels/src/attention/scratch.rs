//! Memory that blocks work in.
//!
//! A block needs some hundred kilobytes. Asking for them anew, and having them zeroed, would take as long as attention on a
//! small problem, so a thread that gives its scratch back ([`Scratch::lent`]) finds it again the next time. What a large problem needed
//! is not kept.

use super::buffer::Buffer;
use super::dots::DotBuffers;
use super::run::Run;
use super::tiles::TileBuffers;
use super::wide::WideBuffers;
use crate::simd::Real;
use std::cell::Cell;
use std::ops::{Deref, DerefMut};

/// Bytes up to which a thread keeps its scratch: what all statistics of the largest blocks need. Memory that is asked for in every call
/// comes page by page, which takes longer than the statistics.
const KEPT_BYTES: usize = 6 << 20;

thread_local! {
    static SINGLE: Cell<Option<Box<Scratch<f32>>>> = const { Cell::new(None) };
    static DOUBLE: Cell<Option<Box<Scratch<f64>>>> = const { Cell::new(None) };
}

/// Memory a block works in; one per thread, reused from block to block.
pub struct Scratch<A> {
    pub(super) room: Room<A>,
    pub(super) wide: WideBuffers<A>,
    pub(super) dots: DotBuffers,
    pub(super) tiles: TileBuffers,
    /// Where the next [`Rowwise`](super::Rowwise) adds up, if somebody has given it back.
    run: Run<A>,
}

/// What a block needs beside its products.
pub(super) struct Room<A> {
    pub(super) lines: Buffer<A>,
    pub(super) scores: Buffer<A>,
    pub(super) dropped: Buffer<A>,
    pub(super) out: Buffer<A>,
    pub(super) rows: Buffer<A>,
    pub(super) notes: Buffer<A>,
    pub(super) candidates: Vec<(A, usize)>,
}

/// A float whose scratch threads keep.
pub trait Kept: Sized + 'static {
    /// What this thread has kept, which it then has no longer.
    #[doc(hidden)]
    fn taken() -> Option<Box<Scratch<Self>>>;
    /// Keeps it for the next time.
    #[doc(hidden)]
    fn kept(scratch: Box<Scratch<Self>>);
}

impl Kept for f32 {
    fn taken() -> Option<Box<Scratch<f32>>> {
        SINGLE.try_with(Cell::take).ok().flatten()
    }

    fn kept(scratch: Box<Scratch<f32>>) {
        // A thread that is ending keeps nothing.
        SINGLE.try_with(|kept| kept.set(Some(scratch))).ok();
    }
}

impl Kept for f64 {
    fn taken() -> Option<Box<Scratch<f64>>> {
        DOUBLE.try_with(Cell::take).ok().flatten()
    }

    fn kept(scratch: Box<Scratch<f64>>) {
        DOUBLE.try_with(|kept| kept.set(Some(scratch))).ok();
    }
}

impl<A: Real> Scratch<A> {
    /// Empty; it grows with the first block.
    pub const fn new() -> Self {
        let room = Room {
            lines: Buffer::new(),
            scores: Buffer::new(),
            dropped: Buffer::new(),
            out: Buffer::new(),
            rows: Buffer::new(),
            notes: Buffer::new(),
            candidates: Vec::new(),
        };
        let run = Run { out: Vec::new(), max: Vec::new(), sum: Vec::new() };
        let dots = DotBuffers::new();
        Scratch { room, wide: WideBuffers::new(), dots, tiles: TileBuffers::new(), run }
    }

    /// This thread's own, until it is dropped.
    pub fn lent() -> Lent<A>
    where
        A: Kept,
    {
        Lent(Some(A::taken().unwrap_or_default()))
    }

    /// Takes back what [`Rowwise`](super::Rowwise) gave, for the next one to use its memory.
    pub fn give_back(&mut self, run: Run<A>) {
        self.run = run;
    }

    /// A run of no keys yet.
    pub(super) fn run(&mut self, rows: usize, width: usize) -> Run<A> {
        let mut run = std::mem::take(&mut self.run);
        run.begin(rows, width);
        run
    }

    fn bytes(&self) -> usize {
        let Room { lines, scores, dropped, out, rows, notes, candidates } = &self.room;
        let room: usize = [lines, scores, dropped, out, rows, notes].into_iter().map(Buffer::bytes).sum();
        room + candidates.capacity() * size_of::<(A, usize)>()
            + self.wide.bytes()
            + self.dots.bytes()
            + self.tiles.bytes()
            + self.run.bytes()
    }
}

impl<A: Real> Default for Scratch<A> {
    fn default() -> Self {
        Scratch::new()
    }
}

/// A thread's scratch while it is in use.
pub struct Lent<A: Real + Kept>(Option<Box<Scratch<A>>>);

impl<A: Real + Kept> Deref for Lent<A> {
    type Target = Scratch<A>;

    fn deref(&self) -> &Scratch<A> {
        self.0.as_ref().expect("it is taken out when this is dropped")
    }
}

impl<A: Real + Kept> DerefMut for Lent<A> {
    fn deref_mut(&mut self) -> &mut Scratch<A> {
        self.0.as_mut().expect("it is taken out when this is dropped")
    }
}

impl<A: Real + Kept> Drop for Lent<A> {
    fn drop(&mut self) {
        if let Some(scratch) = self.0.take()
            && scratch.bytes() <= KEPT_BYTES
        {
            A::kept(scratch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_finds_its_scratch_again_unless_it_is_large() {
        let held = |scratch: &Scratch<f32>| scratch.bytes();
        Scratch::<f32>::lent().room.out.reserve(1000);
        assert!(held(&Scratch::<f32>::lent()) >= 4000);
        Scratch::<f32>::lent().room.out.reserve(KEPT_BYTES);
        assert_eq!(held(&Scratch::<f32>::lent()), 0);
    }

    #[test]
    fn scratch_that_is_lent_twice_is_not_shared() {
        let (mut one, mut other) = (Scratch::<f64>::lent(), Scratch::<f64>::lent());
        one.room.out.reserve(8).fill(1.0);
        other.room.out.reserve(8).fill(2.0);
        assert_eq!(one.room.out.reserve(8)[0], 1.0);
    }
}
